"""The page docs/mutants.md: how many mutants each room's tests kill, and which ones they do not."""

from __future__ import annotations

from collections.abc import Mapping

from mutants.places import Mutant
from mutants.sample import Equivalent, room_of
from mutants.trial import SLOW, UNREACHED, Outcome

INTRODUCTION = """\
# Mutants

Do the tests notice when the code is wrong? `make mutants` puts small faults into the source, one at a time: a comparison
turned round, `+` for `-`, a number changed, a term, a factor, a square root or a statement left out, `sin` for `cos`. It then
runs the tests that reach the changed line until one of them fails. A mutant that no test notices has survived, and names a
fact that nobody has written down. Docstrings, annotations and the text of messages are never changed.

This page is written by that command. The sample is drawn by a seed: each mutant has a number of its own made from the seed and
its line, and those with the smallest numbers are taken, at most one of a line. So a change elsewhere moves nobody in or out.
Changes that cannot be seen from outside are listed with their reason in `tools/mutants/equivalent.toml` and left out.

Missing facts have been written as tests for those of this sample that survived at first (`tests/unit/*/test_*_facts.py`).
So its share says that known gaps are closed; how large the unknown ones are, a sample of another seed says: `--seed 1`.

To look at one room, or at one file, without rewriting this page:

```bash
PYTHONPATH=tools .venv/bin/python -m mutants --only src/taupi/signals --size 20
```

Why a tool of our own: mutmut 3 changes functions alone and all of them at once, which tests of signatures and of builders that
remember their programs notice for the wrong reason; cosmic-ray runs one test command for every mutant, which takes minutes
here. Neither draws a sample by a seed.
"""


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


def page(outcomes: Mapping[Mutant, Outcome], seed: int, least: float, equivalents: tuple[Equivalent, ...]) -> str:
    """Return the page: nothing on it depends on when or where it was written."""
    if not outcomes:
        return f"{INTRODUCTION}\n## Result\n\nNo sample has been run yet.\n"
    slow = sum(o.result == SLOW for o in outcomes.values())
    share = killed_share(outcomes)
    lines = [
        INTRODUCTION,
        "## Result\n",
        f"Seed {seed}, {len(outcomes)} mutants: **{100 * share:.1f} % killed**, {100 * least:.0f} % are asked for. "
        f"{slow} of them were killed by the time limit. {len(equivalents)} changes are listed as equivalent.\n",
        "| room | mutants | killed | share |",
        "|---|---:|---:|---:|",
        *(f"| {name} | {total} | {kills} | {100 * kills / total:.0f} % |" for name, total, kills in rows(outcomes)),
        "",
    ]
    alive = [survivor(m, o) for m, o in outcomes.items() if not o.killed]
    lines += ["## Survivors\n", "```text", *alive, "```"] if alive else ["Nobody survived."]
    return "\n".join(lines) + "\n"
