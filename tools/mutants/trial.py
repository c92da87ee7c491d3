"""One mutant's trial: a copy of the tree with the change in it, and the tests that run its line, until the first fails."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mutants import only, recorder
from mutants.places import Mutant
from mutants.reach import TimedTest

TOOLS = Path(__file__).resolve().parents[1]
LEFT_OUT = (
    ".git", ".venv", ".mutants", "site", "dist", "out", "__pycache__", ".hypothesis", "*_cache", "*.egg-info",
)  # fmt: skip
FIRST_SECONDS, FIRST_FILES = 5.0, 4  # a first handful of tests, from a few files: it kills most mutants

USAGE, NO_TESTS = 4, 5  # exit codes of pytest

KILLED, SLOW, SURVIVED, UNREACHED = "killed", "killed by the time limit", "survived", "reached by no test"


@dataclass(frozen=True)
class Outcome:
    """The outcome of a mutant: which test killed it, how many were run, how long it took."""

    result: str
    test: str = ""
    tests: int = 0
    seconds: float = 0.0

    @property
    def killed(self) -> bool:
        """Whether the tests noticed."""
        return self.result in {KILLED, SLOW}


class Copy:
    """A copy of the tree in a temporary folder, in which tests run and one file at a time is changed."""

    def __init__(self, root: Path, cache: Path) -> None:
        self._folder = tempfile.mkdtemp(prefix="taupi-mutant-")
        self.root = Path(self._folder) / "tree"
        self.cache = cache
        self._writes = 0
        self._process: subprocess.Popen[str] | None = None
        self._stopped = False
        shutil.copytree(root, self.root, ignore=shutil.ignore_patterns(*LEFT_OUT))

    def remove(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def stop(self) -> None:
        """End what runs here, from another thread; its outcome is discarded."""
        self._stopped = True
        self._kill()

    def _kill(self) -> None:
        if self._process is not None and self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def write(self, file: str, text: str) -> None:
        """Write a file so that Python sees that it is another: byte code is compared with a resolution of a second.

        Its time lies in the past, so that it is never newer than the tests that run.
        """
        path = self.root / file
        path.write_text(text, encoding="utf-8")
        self._writes += 1
        earlier = path.stat().st_mtime - 10 * self._writes
        os.utime(path, (earlier, earlier))

    def pytest(
        self, *arguments: str, variables: Mapping[str, str], seconds: float | None = None
    ) -> tuple[int | None, str]:
        """Run pytest here; return its exit code, None if it ran out of time, and what it printed."""
        path = os.pathsep.join((str(self.root / "src"), str(TOOLS), os.environ.get("PYTHONPATH", "")))
        kept = {k: v for k, v in os.environ.items() if k not in {"TAUPI_RECORDINGS", "PYTEST_ADDOPTS"}}
        own = {"PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1", "TAUPI_CACHE": str(self.cache), "MPLBACKEND": "agg"}
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments]
        self._process = subprocess.Popen(
            command, cwd=self.root, env={**kept, **own, **variables}, start_new_session=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        )  # fmt: skip
        try:
            printed, _ = self._process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            self._kill()
            self._process.communicate()
            return None, ""
        except BaseException:
            self._kill()
            raise
        if self._stopped:
            raise InterruptedError("The run was stopped.")
        return self._process.returncode, printed

    def record(self, folder: Path, files: Sequence[str]) -> None:
        """Run test files and note into `folder` which test runs which line."""
        variables = {recorder.FOLDER: str(folder)}
        code, printed = self.pytest("-p", "mutants.recorder", *files, variables=variables)
        if code not in (0, 1, NO_TESTS):  # a test that fails by itself is only left out
            raise RuntimeError(f"The tests cannot be recorded:\n{printed}")
        if code:
            print("\n".join(line for line in printed.splitlines() if line.startswith(("FAILED", "ERROR"))), flush=True)

    def failing(self, tests: Iterable[TimedTest], seconds: float | None = None) -> str | None:
        """Run tests in their order; return the one that failed first, "" if none did, None if time ran out."""
        tests = list(tests)
        names, failed = self.root.parent / "tests.txt", self.root.parent / "failed.txt"
        names.write_text("\n".join(t.name for t in tests), encoding="utf-8")
        failed.unlink(missing_ok=True)
        files = list(dict.fromkeys(t.file for t in tests))
        variables = {only.TESTS: str(names), only.FAILED: str(failed)}
        code, printed = self.pytest(
            "-p", "mutants.only", "-x", "--no-header", *files, variables=variables, seconds=seconds
        )
        if code == USAGE and "while loading conftest" in printed:
            return "what tests share"
        if code == USAGE:
            raise RuntimeError(f"pytest was called incorrectly:\n{printed}")
        if code is None or code in (0, NO_TESTS):
            return None if code is None else ""
        return failed.read_text(encoding="utf-8") if failed.exists() else "the interpreter"


def stages(tests: Sequence[TimedTest], budget: float) -> list[list[TimedTest]]:
    """Cut tests into a first handful and the rest, of which `budget` seconds at most are run."""
    first: list[TimedTest] = []
    for test in tests:
        if first and sum(t.seconds for t in first) + test.seconds > FIRST_SECONDS:
            continue
        if len({t.file for t in first} | {test.file}) <= FIRST_FILES:
            first.append(test)
    rest, spent = [], 0.0
    for test in tests:
        if test not in first and spent + test.seconds <= budget:
            rest.append(test)
            spent += test.seconds
    return [stage for stage in (first, rest) if stage]


def try_mutant(copy: Copy, mutant: Mutant, text: str, tests: Sequence[TimedTest], budget: float) -> Outcome:
    """Put the change into the copy, run the tests until one fails, and take the change out again.

    A stage may take 45 s and five times as long as when it was recorded; a mutant that takes longer also counts as killed.
    """
    if not tests:
        return Outcome(UNREACHED)
    start, run = time.monotonic(), 0
    copy.write(mutant.file, mutant.apply(text))
    try:
        for stage in stages(tests, budget):
            run += len(stage)
            failed = copy.failing(stage, seconds=45 + 5 * sum(t.seconds for t in stage))
            if failed is None or failed:
                return Outcome(KILLED if failed else SLOW, failed or "", run, time.monotonic() - start)
    finally:
        copy.write(mutant.file, text)
    return Outcome(SURVIVED, "", run, time.monotonic() - start)
