"""A pytest plugin that runs chosen tests in a chosen order and says which one failed first: `pytest -p mutants.only`.

MUTANTS_TESTS names a file with one test per line, MUTANTS_FAILED the file to which the name of the failing test is written.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import hypothesis
import pytest

TESTS, FAILED = "MUTANTS_TESTS", "MUTANTS_FAILED"
MEMORY_BYTES = 12 * 2**30  # of address space: a mutated loop that allocates forever ends here


def pytest_configure() -> None:
    """Limit the memory."""
    limit_memory()


def limit_memory() -> None:
    """Limit the memory of this process and of those that it starts."""
    with contextlib.suppress(ImportError, OSError, ValueError):  # not on every system
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, resource.getrlimit(resource.RLIMIT_AS)[1]))


def pytest_sessionstart() -> None:
    """Take the first example that fails as it is: shrinking it takes long and is of no use here."""
    phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
    hypothesis.settings.register_profile("mutants", hypothesis.settings(), phases=phases, report_multiple_bugs=False)
    hypothesis.settings.load_profile("mutants")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the chosen tests, in their order."""
    places = {name: k for k, name in enumerate(Path(os.environ[TESTS]).read_text(encoding="utf-8").splitlines())}
    chosen = [item for item in items if item.nodeid in places]
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in places])
    items[:] = sorted(chosen, key=lambda item: places[item.nodeid])


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Name the failing test."""
    if report.failed:
        _note(report.nodeid)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """Name the module that cannot be imported."""
    if report.failed:
        _note(report.nodeid)


def _note(name: str) -> None:
    path = Path(os.environ[FAILED])
    if not path.exists():
        path.write_text(name, encoding="utf-8")
