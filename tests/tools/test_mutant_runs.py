"""Mutants tried on a project of one file: good tests kill, poor ones do not, and nothing is run twice without need."""

import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from mutants import __main__ as command
from mutants.page import page, read_first_runs, with_first_run
from mutants.places import mutants_of
from mutants.reach import Reach, TimedTest, files_with_tests
from mutants.results import Results
from mutants.trial import KILLED, SURVIVED, UNREACHED, Copy, Outcome, stages, try_mutant

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="mutants are tried on Linux and macOS")
ROOT = Path(__file__).parents[2]
SOURCE = '''"""A file to change."""

from functools import lru_cache

LIMIT = 3


@lru_cache
def total(a, b):
    """Return a + b."""
    return a + b


def unseen(a):
    """Return 2 a; no test calls it."""
    return 2 * a


def limited(a):
    """Return a, LIMIT at most."""
    return min(a, LIMIT)
'''
TESTS = """import pytest
from taupi.signals.small import limited, total

AT_IMPORT = limited(5)


@pytest.fixture(scope="module")
def three():
    return total(1, 2)


def test_first(three):
    pass


def test_second(three):
    assert three == 3


def test_cached():
    total(1, 2)


def test_cached_again():
    assert total(1, 2) == 3


def test_import():
    assert AT_IMPORT == 3


def test_that_fails_by_itself():
    assert limited(1) == 7
"""
SMALL = "src/taupi/signals/small.py"


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("project")
    for path, text in {SMALL: SOURCE, "tests/test_small.py": TESTS, "src/taupi/__init__.py": ""}.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    (root / "src/taupi/signals/__init__.py").write_text("")
    (root / "pyproject.toml").write_text("[tool.pytest.ini_options]\n")
    return root


@pytest.fixture(scope="module")
def copy(project):
    result = Copy(project, project / ".mutants" / "objects")
    yield result
    result.remove()


@pytest.fixture(scope="module")
def reach(project, copy) -> Reach:
    result = Reach(project / ".mutants" / "recordings", project, files_with_tests(project))
    assert result.outdated == ["tests/test_small.py"]
    command.record(result, [copy])
    return result


def mutant(line: str, change: str):
    (place,) = [m for m in mutants_of(SMALL, SOURCE) if m.code == line and m.change == change]
    return place


def names(tests) -> set[str]:
    return {t.name.partition("::")[2] for t in tests}


SUM, MINIMUM, LIMIT = ("return a + b", "+ -> -"), ("return min(a, LIMIT)", "min -> max"), ("LIMIT = 3", "3 -> 4")


def test_caches_and_fixtures_hide_no_test(reach):
    """Each of the four runs the line, though only one of them would without the recorder's care."""
    assert names(reach.tests_of(mutant(*SUM), SOURCE)) == {
        "test_first",
        "test_second",
        "test_cached",
        "test_cached_again",
    }


def test_what_runs_at_import_concerns_the_tests_of_the_module_and_of_the_file(reach):
    assert "test_import" in names(reach.tests_of(mutant(*MINIMUM), SOURCE))
    assert names(reach.tests_of(mutant(*LIMIT), SOURCE)) >= {"test_first", "test_cached"}


def test_a_test_that_fails_by_itself_kills_nobody(reach):
    assert "test_that_fails_by_itself" not in names(reach.tests_of(mutant(*MINIMUM), SOURCE))


def test_lines_are_found_where_they_stood(reach):
    moved = SOURCE.replace("LIMIT = 3", "# a new line\nLIMIT = 3").replace("def total", "# another\ndef total")
    (place,) = [m for m in mutants_of(SMALL, moved) if (m.code, m.change) == SUM]
    assert place.line == mutant(*SUM).line + 2
    assert names(reach.tests_of(place, moved)) >= {"test_second", "test_cached_again"}


def test_killed_survived_and_unreached(reach, copy):
    def outcome(which, only=None):
        tests = [t for t in reach.tests_of(which, SOURCE) if only is None or t.name.endswith(only)]
        return try_mutant(copy, which, SOURCE, tests, budget=10)

    killed = outcome(mutant(*SUM))
    assert (killed.result, killed.test.partition("::")[2]) in {(KILLED, "test_second"), (KILLED, "test_cached_again")}
    assert outcome(mutant(*SUM), only="test_first").result == SURVIVED
    assert outcome(mutant("return 2 * a", "2 -> 3")).result == UNREACHED
    assert (copy.root / SMALL).read_text(encoding="utf-8") == SOURCE


def test_a_mutant_with_which_tests_cannot_even_begin_is_killed(project):
    own = Copy(project, project / ".mutants" / "objects")
    (own.root / "tests" / "conftest.py").write_text(
        "from taupi.signals.small import total\n\nassert total(1, 2) == 3\n"
    )
    tests = [TimedTest(1.0, "tests/test_small.py::test_first")]
    assert own.failing(tests) == ""
    assert try_mutant(own, mutant(*SUM), SOURCE, tests, 10) == Outcome(
        KILLED, "what tests share", 1, pytest.approx(0, abs=3600)
    )
    own.remove()


def test_a_mutant_that_never_ends_is_killed(copy, monkeypatch):
    monkeypatch.setattr(Copy, "failing", lambda self, tests, seconds=None: None)
    assert try_mutant(copy, mutant(*SUM), SOURCE, [TimedTest(1.0, "tests/test_small.py::test_second")], 10).killed


def test_an_endless_run_is_ended(copy):
    code, _ = copy.pytest("tests/test_small.py", variables={}, seconds=0.01)
    assert code is None


def test_a_run_that_is_stopped_has_no_outcome(project):
    own = Copy(project, project / ".mutants" / "objects")
    timer = threading.Timer(0.2, own.stop)
    timer.start()
    with pytest.raises(InterruptedError):
        own.failing([TimedTest(1.0, "tests/test_small.py::test_second")])
    own.remove()


def test_a_changed_test_file_alone_is_recorded_again(project, reach):
    new = project / "tests" / "test_more.py"
    new.write_text("def test_nothing():\n    pass\n")
    try:
        again = Reach(reach.folder, project, files_with_tests(project))
        assert again.outdated == ["tests/test_more.py"]
    finally:
        new.unlink()


def test_what_was_recorded_before_an_interruption_is_kept(project, tmp_path, monkeypatch):
    """Of two files the first is recorded and the second interrupted: only that is left, and the first says what it runs."""
    root = tmp_path / "project"
    shutil.copytree(project, root, ignore=shutil.ignore_patterns(".mutants"))
    shutil.copy(root / "tests/test_small.py", root / "tests/test_later.py")
    monkeypatch.setattr(command, "PORTION", 1)
    own, done = Copy(root, root / ".mutants" / "objects"), []
    record = own.record

    def interrupted(folder, files):
        if done:
            raise KeyboardInterrupt
        done.extend(files)
        record(folder, files)

    monkeypatch.setattr(own, "record", interrupted)
    result = Reach(root / ".mutants" / "recordings", root, files_with_tests(root))
    with pytest.raises(KeyboardInterrupt):
        command.record(result, [own])
    own.remove()
    again = Reach(result.folder, root, files_with_tests(root))
    assert done == ["tests/test_later.py"] and again.outdated == ["tests/test_small.py"]
    assert "test_second" in names(again.tests_of(mutant(*SUM), SOURCE))


def test_stages_are_a_handful_and_a_budget():
    tests = [TimedTest(1.0, f"tests/test_{k}.py::test") for k in range(10)] + [TimedTest(50.0, "tests/test_0.py::slow")]
    first, rest = stages(tests, budget=4.0)
    assert [t.file for t in first] == [f"tests/test_{k}.py" for k in range(4)]
    assert len(rest) == 4
    assert TimedTest(50.0, "tests/test_0.py::slow") not in rest


def test_results_are_kept_while_they_can_be_believed(project, tmp_path):
    path, killed, survived = tmp_path / "results.json", mutant(*SUM), mutant(*MINIMUM)
    results = Results(path, project, "now")
    results.put(killed, Outcome(KILLED, "tests/test_small.py::test_second", 2, 1.5))
    results.put(survived, Outcome(SURVIVED, "", 3, 2.0))
    assert Results(path, project, "now").get(survived) == Outcome(SURVIVED, "", 3, 2.0)
    assert Results(path, project, "later").get(survived) is None
    assert Results(path, project, "later").get(killed) is not None
    test = project / "tests" / "test_small.py"
    test.write_text(TESTS + "\n")
    try:
        assert Results(path, project, "now").get(killed) is None
    finally:
        test.write_text(TESTS)


GOOD, POOR = TESTS.replace("limited(1) == 7", "True"), "def test(): pass\n"


@pytest.mark.parametrize(("tests", "expected"), [(GOOD, 0), (POOR, 1)], ids=["good", "poor"])
def test_poor_tests_fail_the_command(project, tmp_path, tests, expected):
    root = tmp_path / "project"
    shutil.copytree(project, root, ignore=shutil.ignore_patterns(".mutants"))
    (root / "tests" / "test_small.py").write_text(tests)
    page_file = root / "mutants.md"
    arguments = [
        "--root",
        root,
        "--only",
        SMALL,
        "--size",
        "2",
        "--seed",
        "3",
        "--least",
        "0.5",
        "--jobs",
        "1",
        "--report",
        page_file,
    ]
    paths = os.pathsep.join([str(ROOT / "tools"), os.environ.get("PYTHONPATH", "")])
    run = subprocess.run(
        [sys.executable, "-m", "mutants", *map(str, arguments)],
        env=os.environ | {"PYTHONPATH": paths}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == expected, run.stdout + run.stderr
    assert ("50 % are required" in run.stderr) == bool(expected)
    assert "Seed 3, 2 mutants" in page_file.read_text(encoding="utf-8")


def test_the_page_says_who_survived():
    outcomes = {mutant(*SUM): Outcome(KILLED, "t", 1, 1.0), mutant(*MINIMUM): Outcome(SURVIVED, "", 1, 1.0)}
    text = page(outcomes, seed=12, least=0.92, equivalents=())
    assert "| `signals` | 2 | 1 | 50 % |" in text
    assert "src/taupi/signals/small.py:21  function: min -> max\n    return min(a, LIMIT)" in text
    assert "No sample has been run yet." in page({}, 12, 0.92, ())


def test_the_page_leads_with_the_first_run_of_the_newest_seed(tmp_path):
    """What was killed before facts were written stays, however many are killed later."""
    both = mutant(*SUM), mutant(*MINIMUM)
    half = dict(zip(both, (Outcome(KILLED, "t", 1, 1.0), Outcome(SURVIVED, "", 1, 1.0)), strict=True))
    whole = dict.fromkeys(both, Outcome(KILLED, "t", 1, 1.0))
    assert read_first_runs(tmp_path) == with_first_run({}, 5, tmp_path) == ()
    (run,) = with_first_run(half, 5, tmp_path)
    assert (run.seed, run.mutants, run.killed) == (5, 2, 1)
    assert with_first_run(whole, 5, tmp_path) == read_first_runs(tmp_path) == (run,)
    text = page(whole, 5, 0.9, (), (run,))
    lead = f"**50.0 %** of a sample that nobody had seen were killed: 1 of 2 mutants of seed 5, first run on {run.date}"
    assert text.index(lead) < text.index("## What is done") < text.index("2 mutants: **100.0 % killed**")
    assert "others may kill more" not in text
    runs = with_first_run(whole, 6, tmp_path, tests="those of 3 of 7 files")
    assert "At least **100.0 %**" in (later := page(whole, 6, 0.9, (), runs)) and "those of 3 of 7 files" in later
    assert runs == read_first_runs(tmp_path) and [r.seed for r in runs] == [5, 6]
    assert "First runs of earlier seeds: seed 5" in page(whole, 6, 0.9, (), runs)


def test_the_short_form_names_files_that_exist():
    options = command.arguments(["--short"])
    assert options.size == 12
    assert options.least >= 0.8
    assert options.budget >= 3600  # a busy machine leaves none of the tests out
    assert all((ROOT / path).is_file() for path in (*options.only, *options.tests))
