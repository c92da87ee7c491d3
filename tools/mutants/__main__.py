"""The command: `PYTHONPATH=tools python -m mutants --help`."""

from __future__ import annotations

import argparse
import queue
import shutil
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from mutants import sample
from mutants.page import killed_share, page, read_first_runs, rows, survivor, with_first_run
from mutants.places import Mutant
from mutants.reach import Reach, TimedTest, digest, files_with_tests
from mutants.results import Results
from mutants.sample import room_of
from mutants.trial import Copy, Outcome, try_mutant

# Files whose tests are quick and thorough, for a run of a minute.
SHORT_ONLY = (
    "src/taupi/dynamics/joint_frames.py",
    "src/taupi/dynamics/joint_frames.py",
    "src/taupi/regressors/recursive.py",
    "src/taupi/signals/filtering/derivatives.py",
)
SHORT_TESTS = ("tests/reference/test_spec_vectors.py", "tests/unit/signals/test_processing.py")
SHORT_SIZE, SHORT_LEAST = 12, 0.8
SHORT_BUDGET = 3600.0  # s: all of these tests, however busy the machine was when they were timed
PORTION = 12  # test files that are recorded at a time

T = TypeVar("T")


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="mutants", description="Insert small faults into the source: do the tests notice?"
    )
    parser.add_argument(
        "--seed", type=int, default=12, help="of the sample; with --report, the first run of a new seed is kept"
    )
    parser.add_argument("--size", type=int, default=200, help="number of mutants")
    parser.add_argument(
        "--least", type=float, default=0.0, help="share that must be killed, 0 to 1; below it the exit code is 1"
    )
    parser.add_argument(
        "--only", nargs="+", default=[], metavar="PATH", help="files or folders to change (default: the seven rooms)"
    )
    parser.add_argument(
        "--tests",
        nargs="+",
        default=[],
        metavar="PATH",
        help="files or folders of tests (default: all); only lines that they run are changed",
    )
    parser.add_argument(
        "--recorded",
        action="store_true",
        help="record no more: only the tests recorded so far are run, and the share is a lower bound",
    )
    parser.add_argument("--report", type=Path, metavar="FILE", help="write the page there")
    parser.add_argument("--jobs", type=int, default=2, help="mutants that are tried at the same time")
    parser.add_argument(
        "--budget", type=float, default=90.0, metavar="S", help="seconds of tests after the first handful"
    )
    parser.add_argument("--root", type=Path, default=Path.cwd(), help="the checkout")
    parser.add_argument("--list", action="store_true", help="print the sample and end")
    parser.add_argument("--fresh", action="store_true", help="forget what earlier runs have found")
    parser.add_argument(
        "--short",
        action="store_true",
        help="a dozen mutants of well-tested files, of which four in five must be killed",
    )
    result = parser.parse_args(words)
    result.root = result.root.resolve()
    if result.short:
        result.only, result.tests = list(SHORT_ONLY), list(SHORT_TESTS)
        result.size, result.least, result.budget = SHORT_SIZE, SHORT_LEAST, SHORT_BUDGET
    return result


def record(reach: Reach, copies: list[Copy]) -> None:
    """Bring the recordings up to date, in portions that are kept as they are done: an interrupted run goes on from there.

    Test files in folders named after a room come first: they kill most mutants.
    """
    files = sorted(
        reach.outdated, key=lambda file: room_of(file.replace("tests/unit", sample.PACKAGE)) not in sample.ROOMS
    )
    if files:
        print(f"Recording which lines {len(files)} test files run ...", flush=True)

    def attempt(copy: Copy, portion: list[str]) -> None:
        folder = reach.begin()
        try:
            copy.record(folder, portion)
        except BaseException:
            shutil.rmtree(folder)
            raise
        reach.finish(folder, portion)
        print(f"{len(reach.outdated)} test files left", flush=True)

    on_free_copies(attempt, [files[k : k + PORTION] for k in range(0, len(files), PORTION)], copies)


def on_free_copies(work: Callable[[Copy, T], None], todo: Iterable[T], copies: list[Copy]) -> None:
    """Do each piece of work in a copy that is free; if one fails, or the user interrupts, stop all."""
    free: queue.Queue[Copy] = queue.Queue()
    for copy in copies:
        free.put(copy)

    def attempt(piece: T) -> None:
        copy = free.get()
        try:
            work(copy, piece)
        finally:
            free.put(copy)

    pool = ThreadPoolExecutor(len(copies))
    try:
        list(pool.map(attempt, todo))
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for copy in copies:
            copy.stop()
        pool.shutdown()  # what was stopped tidies up before the copies go
        raise


def try_all(
    mutants: list[Mutant], texts: dict[str, str], reach: Reach, results: Results, copies: list[Copy], budget: float
) -> dict[Mutant, Outcome]:
    """Try every mutant whose outcome is not known, each in a copy that is free; return all outcomes in their order."""
    outcomes = {m: results.get(m) for m in mutants}
    todo = [m for m in mutants if outcomes[m] is None]
    selected = {m: reach.tests_of(m, texts[m.file]) for m in todo}  # beforehand: the recordings are read by one thread
    print(f"{len(mutants)} mutants, {len(mutants) - len(todo)} of them known from before", flush=True)

    def attempt(copy: Copy, mutant: Mutant) -> None:
        outcome = try_mutant(copy, mutant, texts[mutant.file], selected[mutant], budget)
        results.put(mutant, outcome)
        outcomes[mutant] = outcome
        known = sum(o is not None for o in outcomes.values())
        place = f"{mutant.file}:{mutant.line} {mutant.change}"
        print(f"[{known}/{len(mutants)}] {outcome.result}, {outcome.seconds:.0f} s: {place}", flush=True)

    on_free_copies(attempt, todo, copies)
    return {m: o for m, o in outcomes.items() if o is not None}


def check_killers(outcomes: dict[Mutant, Outcome], copy: Copy) -> None:
    """Run the tests that killed a mutant on the unchanged source: a test that fails by itself proves nothing."""
    names = sorted({o.test for o in outcomes.values() if "::" in o.test})
    failed = copy.failing([TimedTest(0.0, name) for name in names]) if names else ""
    if failed:
        sys.exit(f"{failed} fails on the unchanged source, so its kills prove nothing. Fix it and run again.")


def main() -> None:
    """Record, draw, try, report."""
    options = arguments()
    equivalents = sample.read_equivalents()
    texts = {
        file: (options.root / file).read_text(encoding="utf-8") for file in sample.files_of(options.root, options.only)
    }
    if options.list:
        for mutant in sample.draw(texts, options.size, options.seed, equivalents):
            print(f"{mutant.file}:{mutant.line}  {mutant.kind}: {mutant.change}\n    {mutant.code}")
        return
    cache = options.root / ".mutants"
    if options.fresh:
        shutil.rmtree(cache, ignore_errors=True)
    reach = Reach(cache / "recordings", options.root, files_with_tests(options.root, options.tests))
    tests = "all"
    if options.recorded:
        tests = f"those of {len(reach.files) - len(reach.outdated)} of {len(reach.files)} files"
        reach.files = sorted(set(reach.files) - set(reach.outdated))
    trees = [digest(options.root / name) for name in ("src", "tests", "docs")]
    results = Results(
        cache / "results.json", options.root, " ".join([*trees, *options.tests, tests, str(options.budget)])
    )
    copies = [Copy(options.root, cache / "objects") for _ in range(options.jobs)]

    def wanted(mutant: Mutant) -> bool:
        """If only some tests run, a line that none of them runs says nothing about them."""
        return not options.tests or bool(reach.tests_of(mutant, texts[mutant.file]))

    try:
        record(reach, copies)
        mutants = sample.draw(texts, options.size, options.seed, equivalents, wanted)
        outcomes = try_all(mutants, texts, reach, results, copies, options.budget)
        check_killers(outcomes, copies[0])
    finally:
        for copy in copies:
            copy.remove()
    conclude(outcomes, options, equivalents, tests)


def conclude(
    outcomes: dict[Mutant, Outcome], options: argparse.Namespace, equivalents: tuple[sample.Equivalent, ...], tests: str
) -> None:
    """Print what survived `tests` and the shares, write the page, and exit with 1 if too few were killed."""
    for mutant, outcome in outcomes.items():
        if not outcome.killed:
            print(f"survived: {survivor(mutant, outcome)}")
    for name, total, kills in rows(outcomes):
        print(f"{name}: {kills} of {total} killed")
    if options.report:
        whole = not (options.only or options.tests)
        first = with_first_run(outcomes, options.seed, options.root, tests) if whole else read_first_runs(options.root)
        text = page(outcomes, options.seed, options.least, equivalents, first)
        options.report.write_text(text, encoding="utf-8")
    if killed_share(outcomes) < options.least:
        sys.exit(f"{100 * killed_share(outcomes):.1f} % were killed, {100 * options.least:.0f} % are required.")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("Stopped. The same command continues from here.")
