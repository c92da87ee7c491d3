"""The page docs/mutants.md: how many mutants each room's tests kill, and which ones they do not."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path

from mutants.places import Mutant
from mutants.sample import Equivalent, room_of
from mutants.trial import SLOW, UNREACHED, Outcome

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FIRST_RUNS = Path("tools/mutants/first_runs.toml")  # from the root of the checkout

EXPLANATION = """\
## What is done

`make mutants` puts small faults into the source, one at a time: a comparison turned round, `+` for `-`, a number changed, a term,
a factor, a square root or a statement left out, `sin` for `cos`. It then runs the tests that reach the changed line until one of
them fails. A mutant that no test notices has survived, and names a fact that nobody has written down. Docstrings, annotations and
the text of messages are never changed.

The sample is drawn by a seed: each mutant has a number of its own made from the seed and its line, and those with the smallest
numbers are taken, at most one of a line. So a change elsewhere moves nobody in or out. Changes that cannot be seen from outside
are listed with their reason in `tools/mutants/equivalent.toml` and left out.

A seed that was never used before says how many faults tests would notice that nobody had in mind. The first run of each seed is
kept in `tools/mutants/first_runs.toml` by the command itself. Only after that are facts written for what survived
(`tests/unit/*/test_*_facts.py`), so a later share of the same seed says no more than that known gaps are closed.

To look at one room, or at one file, without rewriting this page:

```bash
PYTHONPATH=tools .venv/bin/python -m mutants --only src/taupi/signals --size 20
```

Why a tool of our own: mutmut 3 changes functions alone and all of them at once, which tests of signatures and of builders that
remember their programs notice for the wrong reason; cosmic-ray runs one test command for every mutant, which takes minutes
here. Neither draws a sample by a seed.
"""


@dataclass(frozen=True)
class FirstRun:
    """What the first run of a seed found, before any fact was written for its survivors."""

    seed: int
    date: str
    mutants: int
    killed: int
    tests: str = "all"  # which ones were run


def read_first_runs(root: Path) -> tuple[FirstRun, ...]:
    """Return the first runs of all seeds, in their order."""
    path = root / FIRST_RUNS
    if not path.is_file():
        return ()
    return tuple(FirstRun(**entry) for entry in tomllib.loads(path.read_text(encoding="utf-8"))["run"])


def with_first_run(
    outcomes: Mapping[Mutant, Outcome], seed: int, root: Path, tests: str = "all"
) -> tuple[FirstRun, ...]:
    """Return the first runs of all seeds; a `seed` that is not among them has just been run first, and is added to the file."""
    known, path = read_first_runs(root), root / FIRST_RUNS
    if not outcomes or any(run.seed == seed for run in known):
        return known
    run = FirstRun(seed, date.today().isoformat(), len(outcomes), sum(o.killed for o in outcomes.values()), tests)
    lines = (
        f'{key} = "{value}"' if isinstance(value, str) else f"{key} = {value}" for key, value in asdict(run).items()
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8", newline="\n") as file:
        file.write("\n".join(["[[run]]", *lines, "", ""]))
    return (*known, run)


def killed_share(outcomes: Mapping[Mutant, Outcome]) -> float:
    """Return the share of mutants that were killed, 1 if there are none."""
    return sum(o.killed for o in outcomes.values()) / len(outcomes) if outcomes else 1.0


def rows(outcomes: Mapping[Mutant, Outcome]) -> list[tuple[str, int, int]]:
    """Return room, mutants and kills, room by room and in all."""
    rooms = dict.fromkeys(room_of(m.file) for m in outcomes)
    count = {room: [o.killed for m, o in outcomes.items() if room_of(m.file) == room] for room in rooms}
    result = [(f"`{room}`", len(kills), sum(kills)) for room, kills in count.items()]
    return [*result, ("all", len(outcomes), sum(o.killed for o in outcomes.values()))]


def survivor(mutant: Mutant, outcome: Outcome) -> str:
    """Return what a reader needs in order to kill a survivor: place, change, line."""
    reached = "  (no test runs this line)" if outcome.result == UNREACHED else ""
    return f"{mutant.file}:{mutant.line}  {mutant.kind}: {mutant.change}{reached}\n    {mutant.code}"


def page(
    outcomes: Mapping[Mutant, Outcome],
    seed: int,
    least: float,
    equivalents: tuple[Equivalent, ...],
    first: tuple[FirstRun, ...] = (),
) -> str:
    """Return the page, led by the first run of the newest seed: nothing on it depends on when or where it was written."""
    lines = ["# Mutants\n", "Do the tests notice when the code is wrong?\n"]
    if first:
        lines += _first_runs(first)
    lines.append(EXPLANATION)
    if not outcomes:
        return "\n".join([*lines, "## Result\n", "No sample has been run yet.\n"])
    slow = sum(o.result == SLOW for o in outcomes.values())
    lines += [
        "## The sample now\n",
        f"Seed {seed}, {len(outcomes)} mutants: **{100 * killed_share(outcomes):.1f} % killed**, {100 * least:.0f} % are asked "
        f"for. {slow} of them were killed by the time limit. {len(equivalents)} changes are listed as equivalent.\n",
        "| room | mutants | killed | share |",
        "|---|---:|---:|---:|",
        *(f"| {name} | {total} | {kills} | {100 * kills / total:.0f} % |" for name, total, kills in rows(outcomes)),
        "",
    ]
    alive = [survivor(m, o) for m, o in outcomes.items() if not o.killed]
    lines += ["## Survivors\n", "```text", *alive, "```"] if alive else ["Nobody survived."]
    return "\n".join(lines) + "\n"


def _first_runs(first: tuple[FirstRun, ...]) -> list[str]:
    *earlier, run = first
    partly = run.tests != "all"
    lines = [
        f"{'At least ' * partly}**{100 * run.killed / run.mutants:.1f} %** of a sample that nobody had seen were killed: "
        f"{run.killed} of {run.mutants} mutants of seed {run.seed}, first run on {run.date}, before a fact was written for any "
        "of them." + f" The tests that ran were {run.tests}: others may kill more." * partly + "\n"
    ]
    if earlier:
        before = "; ".join(f"seed {r.seed} on {r.date}: {r.killed} of {r.mutants}" for r in earlier)
        lines.append(f"First runs of earlier seeds: {before}.\n")
    return lines
