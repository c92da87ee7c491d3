"""Which tests run a line of the source: recorded once, then only for test files that have changed since.

A recording is a folder with the lines of each test, the tests' outcomes and seconds, and the source as it was then, so that a
current line is looked up where it was then. For each test file the newest recording counts.
"""

from __future__ import annotations

import json
import shutil
import threading
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cached_property
from hashlib import sha256
from pathlib import Path

from mutants.places import Mutant
from mutants.recorder import FIXTURE, IMPORT, TEST
from mutants.sample import PACKAGE


@dataclass(frozen=True, order=True)
class TimedTest:
    """A test, and how long it took when it was recorded."""

    seconds: float
    name: str

    @property
    def file(self) -> str:
        """The file that contains it."""
        return self.name.partition("::")[0]

    @property
    def function(self) -> str:
        """Its name without the parameters."""
        return self.name.partition("[")[0]


def files_with_tests(root: Path, only: Iterable[str] = ()) -> list[str]:
    """Return the files with tests or doctests, or those at or below the paths `only`, as paths from `root`."""
    places = list(only) or ["tests", PACKAGE]
    files = {
        p for place in places for p in ((root / place).rglob("*.py") if (root / place).is_dir() else [root / place])
    }
    result = (p.relative_to(root).as_posix() for p in files if p.name.startswith("test_") or _has_examples(p, root))
    return sorted(result)


def _has_examples(path: Path, root: Path) -> bool:
    return path.is_relative_to(root / "src") and ">>> " in path.read_text(encoding="utf-8")


def digest(path: Path) -> str:
    """Return a short hash of a file's content, or, for a folder, of all of its files except caches."""
    if path.is_dir():
        files = sorted(p for p in path.rglob("*") if p.is_file() and p.suffix != ".pyc")
        text = "".join(f"{p.relative_to(path).as_posix()} {digest(p)}\n" for p in files).encode()
    else:
        text = path.read_bytes() if path.is_file() else b""
    return sha256(text).hexdigest()[:16]


@dataclass
class Recording:
    """One run of test files in which their lines were noted."""

    folder: Path
    _contexts: dict[str, dict[int, list[str]]] = field(default_factory=dict)

    @cached_property
    def digests(self) -> dict[str, str]:
        """What the test files held then."""
        return dict(json.loads((self.folder / "digests.json").read_text(encoding="utf-8")))

    @cached_property
    def tests(self) -> dict[str, dict]:
        """What was noted about each test that passed."""
        notes = json.loads((self.folder / "tests.json").read_text(encoding="utf-8"))
        return {name: note for name, note in notes.items() if note["passed"]}

    @cached_property
    def _by_fixture(self) -> dict[str, list[str]]:
        result = defaultdict(list)
        for name, note in self.tests.items():
            for fixture in note["fixtures"]:
                result[fixture].append(name)
        return result

    @cached_property
    def _by_file(self) -> dict[str, list[str]]:
        result = defaultdict(list)
        for name in self.tests:
            result[name.partition("::")[0]].append(name)
        return result

    def contexts(self, file: str) -> dict[int, list[str]]:
        """Return the contexts in which each line of a source file ran."""
        import coverage

        if file not in self._contexts:
            data = coverage.CoverageData(str(self.folder / "lines"))
            data.read()
            self._contexts[file] = data.contexts_by_lineno(file)
        return self._contexts[file]

    def old_lines(self, file: str, text: str) -> dict[int, int]:
        """Return, for the lines of `text` that the file had then, where they were."""
        path = self.folder / "source" / file
        then = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
        now = text.splitlines()
        if now == then:
            return {k: k for k in range(1, len(now) + 1)}
        blocks = SequenceMatcher(None, then, now, autojunk=False).get_matching_blocks()
        return {block.b + k + 1: block.a + k + 1 for block in blocks for k in range(block.size)}

    def names(self, contexts: Iterable[str]) -> set[str]:
        """Return the tests behind contexts."""
        result: set[str] = set()
        for one in contexts:
            kind, _, name = one.partition(" ")
            if kind == TEST:
                result |= {name} & self.tests.keys()
            elif kind == FIXTURE:
                result |= set(self._by_fixture[name])
            elif kind == IMPORT and not name.startswith("src/"):
                result |= set(self._by_file[name])
        return result


class Reach:
    """The recordings in a folder, and what they show about the files below `root`, of which `files` hold the tests."""

    def __init__(self, folder: Path, root: Path, files: Iterable[str]) -> None:
        self.folder, self.root, self.files = folder, root, list(files)
        self._lock = threading.Lock()
        self.recordings = [Recording(p.parent) for p in sorted(folder.glob("*/digests.json"), reverse=True)]

    def newest(self, file: str) -> Recording | None:
        """Return the last recording of a test file."""
        return next((r for r in self.recordings if file in r.digests), None)

    @property
    def outdated(self) -> list[str]:
        """The test files that were never recorded, or not as they are now."""
        result = []
        for file in self.files:
            recording = self.newest(file)
            if recording is None or recording.digests[file] != digest(self.root / file):
                result.append(file)
        return result

    def begin(self) -> Path:
        """Return the folder of a new recording."""
        with self._lock:
            numbers = [int(p.name) for p in self.folder.glob("[0-9]*")]
            new = self.folder / f"{max(numbers, default=0) + 1:04d}"
            new.mkdir(parents=True)
        return new

    def finish(self, folder: Path, files: Iterable[str]) -> None:
        """Add the recording of test files that was made in `folder`."""
        shutil.copytree(
            self.root / PACKAGE, folder / "source" / PACKAGE, ignore=shutil.ignore_patterns("__pycache__", "*.pyc")
        )
        digests = {file: digest(self.root / file) for file in files}
        (folder / "digests.json").write_text(json.dumps(digests), encoding="utf-8")
        self.recordings.insert(0, Recording(folder))

    def tests_of(self, mutant: Mutant, text: str) -> list[TimedTest]:
        """Return the tests that run a mutant's line, in the order in which to try them.

        Code that runs when a module is imported concerns every test that runs anything in the file; these come last.
        """
        direct: set[TimedTest] = set()
        others: set[TimedTest] = set()
        wanted = {self.newest(file) and id(self.newest(file)): None for file in self.files}
        for recording in self.recordings:
            if id(recording) not in wanted:
                continue
            contexts, lines = recording.contexts(mutant.file), recording.old_lines(mutant.file, text)
            own = contexts.get(lines.get(mutant.line, 0), [])
            rows = range(mutant.rows[0], mutant.rows[1] + 1)
            own = own or [c for row in rows for c in contexts.get(lines.get(row, 0), [])]
            if not mutant.imported:
                direct |= self._valid(recording, recording.names(own))
            if mutant.imported or mutant.line not in lines or any(c.startswith(f"{IMPORT} ") for c in own):
                everything = {c for several in contexts.values() for c in several if not c.startswith(f"{IMPORT} ")}
                others |= self._valid(recording, recording.names(everything))
        return _varied(direct) + _varied(others - direct)

    def _valid(self, recording: Recording, names: Iterable[str]) -> set[TimedTest]:
        """Return the tests among `names` whose file was requested and has no newer recording."""
        files = set(self.files)
        tests = {TimedTest(recording.tests[name]["seconds"], name) for name in names}
        return {t for t in tests if t.file in files and self.newest(t.file) is recording}


def _varied(tests: Iterable[TimedTest]) -> list[TimedTest]:
    """Order tests by their seconds, but take one of each function before the second of any."""
    seen: Counter[str] = Counter()
    keyed = []
    for test in sorted(tests):
        keyed.append((seen[test.function], test))
        seen[test.function] += 1
    return [test for _, test in sorted(keyed)]
