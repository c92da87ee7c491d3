"""A pytest plugin that notes which test runs which line: `pytest -p mutants.recorder`, with MUTANTS_RECORD naming a folder.

Three things would hide a test's lines, and are handled here. Builders cache their programs, so the second test that asks
for one runs nothing: caches are emptied before each test. A fixture of a module or a session runs in the first test that
asks for it: its lines are noted under its own name, and each test notes the names of its fixtures. What a test's module
computes when it is imported is noted under the module's name.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import _lru_cache_wrapper
from pathlib import Path
from typing import Any

import coverage
import pytest

from mutants.only import limit_memory

FOLDER = "MUTANTS_RECORD"
TEST, FIXTURE, IMPORT = "test", "fixture", "import"


def context(kind: str, name: str) -> str:
    """Return the name under which lines are noted."""
    return f"{kind} {name}"


def pytest_configure(config: pytest.Config) -> None:
    """Begin to record. A test that cannot live with a trial's memory, such as a browser's, is left out."""
    limit_memory()
    config.pluginmanager.register(Recorder(Path(os.environ[FOLDER])))


class Recorder:
    """Notes lines under the running context, and for each test its outcome, seconds and fixtures."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.tests: dict[str, dict[str, Any]] = {}
        self._contexts: list[str] = []
        self._modules = 0
        self._caches: list[Any] = []
        self.coverage = coverage.Coverage(data_file=str(folder / "lines"), config_file=False, include=["src/taupi/*"])
        self.coverage.set_option("run:relative_files", True)
        self.coverage.start()

    @contextmanager
    def _under(self, name: str) -> Iterator[None]:
        self._contexts.append(name)
        self.coverage.switch_context(name)
        try:
            yield
        finally:
            self._contexts.pop()
            self.coverage.switch_context(self._contexts[-1] if self._contexts else "")

    def _forget(self) -> None:
        """Empty the caches of the package and of the tests' own modules."""
        if len(sys.modules) != self._modules:
            self._modules = len(sys.modules)
            cached = (o for o in gc.get_objects() if isinstance(o, _lru_cache_wrapper))
            self._caches = [c for c in cached if _is_ours(getattr(c, "__module__", None) or "")]
        for cache in self._caches:
            cache.cache_clear()

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Iterator[None]:
        """Note what a module does when it is imported."""
        with self._under(context(IMPORT, collector.nodeid)):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Iterator[None]:
        """Note what a fixture does that outlives its test."""
        if fixturedef.scope == "function":
            return (yield)
        with self._under(context(FIXTURE, _fixture(fixturedef))):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Note what a test does, from its own fixtures to the end."""
        self._forget()
        definitions = getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", {})
        fixtures = [_fixture(d) for several in definitions.values() for d in several if d.scope != "function"]
        self.tests[item.nodeid] = {"fixtures": fixtures, "passed": True}
        start = time.perf_counter()
        with self._under(context(TEST, item.nodeid)):
            result = yield
        self.tests[item.nodeid]["seconds"] = time.perf_counter() - start
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A test that is skipped or fails by itself kills no mutant."""
        if not report.passed:
            self.tests[report.nodeid]["passed"] = False

    def pytest_sessionfinish(self) -> None:
        """Write down what was noted."""
        self.coverage.stop()
        self.coverage.save()
        (self.folder / "tests.json").write_text(json.dumps(self.tests), encoding="utf-8")


def _fixture(definition: pytest.FixtureDef[Any]) -> str:
    return f"{definition.baseid}::{definition.argname}"


def _is_ours(module: str) -> bool:
    file = getattr(sys.modules.get(module), "__file__", None) or ""
    return module.startswith("taupi") or Path(file).is_relative_to(Path.cwd() / "tests")
