"""The page docs/fuzzing.md: how many inputs of each format were read so far, and how many of them failed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from fuzz.runner import Tally

INTRODUCTION = """\
# Fuzzing

Files come from other people. Whatever their bytes, a reader must answer soon: with what the file holds, or with one sentence that
says what is wrong. `make fuzz` changes seeds of every format at random, single bits, numbers at the edge of their range, spans
cut out, doubled, moved or taken from other seeds, words that readers stumble over, also inside of archives and compressed
variables, and reads the result. An input fails if

- the interpreter crashes,
- it takes longer than 5 s,
- memory grows by more than 1 GiB, or
- anything is raised but a `TaupiError` whose message is one short sentence.

What was read is used: fits are shown, validated, exported and joined with pieces, pieces are solved, thresholds watch a log,
logs of moving bases are checked and fitted, robots are drawn in the view, meshes are enclosed, runs get their page. For these,
changes go into the parsed tree, the table or the arrays, so that most inputs stay well-formed.

Thousands of inputs share a process; one that dies or hangs is ended, and the next process goes on behind the input that did it.
An input is made from its number and a seed, so that it can be made again anywhere. Those that ever failed are in
`tests/fuzz/cases`, and a test reads all of them. CI reads 21 000 fresh inputs (`make fuzz-short`).

```bash
PYTHONPATH=tools .venv/bin/python -m fuzz --formats mat parquet --inputs 100000 --seed 7
```

The limits that readers keep are on the page [What reading a file may take](concepts/reading-budget.md).

## Kills

`make kills` ends `identify`, `simulate`, `control`, `export`, `excite`, `fleet` and `reproduce` by SIGKILL, each at a hundred
random instants of its run, and looks at the folder after each: there must be the old result or the new one, byte by byte, and
whatever was half-written must be gone after the next run. Then it ends the driver, a worker and the scheduler of a Dask cluster
twenty times each while a fit runs: the fit is finished with the same bits, or given up in one sentence, and the next run goes on
with the finished pieces.

| ended | times | seen |
|---|---|---|
| `identify`, `simulate`, `control`, `export`, `reproduce` | 500 | 258 old, 242 new; 55 times a half-written one as well |
| `excite`, `fleet`, `reproduce`, also by Ctrl-C and SIGTERM | 144 | 90 old, 49 new; 5 times the best motion before Ctrl-C |
| worker of a cluster | 30 | all fits finished by the other worker |
| driver | 30 | 23 cut off, 7 were finished before; all went on |
| scheduler | 27 | 18 given up with "The cluster was lost", 9 were finished before; all went on |

All fits on clusters had the same bits. The first scheduler that was killed between two passes ended the driver with a message
about a bug; any call of a lost cluster is told as such since.

## Counts so far

This table is written by `make fuzz`, which adds to it. Failures are counted when they were found; all of them are mended since.
Most of the first ten million were read and not used; by 19 November 2026, 184 613 had been used as well, of which 12 failed.

"""
_ROW = re.compile(r"^\| `([^`]+)` \| (\d+) \| (\d+) \|$", re.MULTILINE)


def counts_of(path: Path) -> dict[str, tuple[int, int]]:
    """Return inputs and failures by format, as a page has them."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return {name: (int(inputs), int(failures)) for name, inputs, failures in _ROW.findall(text)}


def page(counts: Mapping[str, tuple[int, int]], tallies: Mapping[str, Tally]) -> str:
    """Return the page, with the inputs of one more run added."""
    added = {name: (t.inputs, len(t.failures)) for name, t in tallies.items()}
    names = list(dict.fromkeys([*counts, *added]))
    sums = {n: tuple(a + b for a, b in zip(counts.get(n, (0, 0)), added.get(n, (0, 0)), strict=True)) for n in names}
    rows = [f"| `{name}` | {inputs} | {failures} |" for name, (inputs, failures) in sums.items()]
    total = [sum(pair[k] for pair in sums.values()) for k in (0, 1)]
    lines = ["| format | inputs | failed |", "|---|---|---|", *rows, f"| all | **{total[0]}** | {total[1]} |"]
    return INTRODUCTION + "\n".join(lines) + "\n"
