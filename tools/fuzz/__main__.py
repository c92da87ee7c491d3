"""The command: `PYTHONPATH=tools python -m fuzz --help`."""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
import time
from pathlib import Path

from fuzz.formats import FORMATS
from fuzz.page import counts_of, page
from fuzz.runner import fuzz, seeds_of
from fuzz.worker import input_of

ROOT = Path(__file__).parents[2]
SEEDS, CASES = ROOT / "tests/fuzz/seeds", ROOT / "tests/fuzz/cases"
SHORT = 21_000  # inputs of the short form


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="fuzz", description="Read mutated files of every format: does each reader answer quickly?"
    )
    parser.add_argument("--inputs", type=int, default=1_000_000, help="in all, shared among the formats")
    parser.add_argument("--seed", type=int, default=1, help="of the changes")
    parser.add_argument("--first", type=int, default=0, help="number of the first input of each format")
    parser.add_argument("--formats", nargs="+", choices=FORMATS, default=list(FORMATS), metavar="NAME")
    parser.add_argument("--short", action="store_true", help=f"{SHORT} inputs, for CI")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at a time")
    parser.add_argument("--keep", action="store_true", help="keep inputs that fail in tests/fuzz/cases")
    parser.add_argument("--report", type=Path, metavar="FILE", help="add the counts to those on this page")
    return parser.parse_args(words)


def main(words: list[str] | None = None) -> int:
    """Run; return 1 if an input failed."""
    options = arguments(words)
    total = SHORT if options.short else options.inputs
    shares = sum(FORMATS[name].share for name in options.formats)
    counts = {name: -(-total * FORMATS[name].share // shares) for name in options.formats}
    numbers = {name: range(options.first, options.first + count) for name, count in counts.items()}
    seeds = {name: seeds_of(SEEDS, name) for name in options.formats}
    start = time.monotonic()
    tallies = fuzz(numbers, options.seed, seeds, lambda text: print(text, flush=True), options.jobs)
    for name, tally in tallies.items():
        rate = tally.inputs / max(tally.seconds, 1e-9)
        print(
            f"{name:9} {tally.inputs:9} inputs, {rate:6.0f}/s of one process, {len(tally.failures)} failed", flush=True
        )
        if options.keep:
            for number, _ in tally.failures:
                data = input_of(name, number, options.seed, seeds[name])
                (CASES / name).mkdir(parents=True, exist_ok=True)
                (CASES / name / hashlib.sha256(data).hexdigest()[:16]).write_bytes(data)
    inputs, failed = (sum(f(t) for t in tallies.values()) for f in (lambda t: t.inputs, lambda t: len(t.failures)))
    print(f"{inputs} inputs in {time.monotonic() - start:.0f} s, {failed} failed")
    if options.report is not None:
        options.report.write_text(page(counts_of(options.report), tallies), encoding="utf-8")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
