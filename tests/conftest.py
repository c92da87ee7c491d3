"""Where the robots of other people are; random examples that are the same in every run."""

import os
import re
import sys
import sysconfig
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# The same examples in every run, and nothing that depends on how busy the machine is: no deadline, and no check of how long it
# takes to draw them.
settings.register_profile("seeded", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("seeded")


# Pinocchio has no wheels for Windows: there, and nowhere else, files that need it are left out.
NEEDS_PINOCCHIO = re.compile(r"^(import pinocchio|from plants import)", re.MULTILINE)


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave a test file out where what it compares with cannot be installed."""
    if sys.platform != "win32" or not collection_path.name.startswith("test_"):
        return None
    return bool(NEEDS_PINOCCHIO.search(collection_path.read_text(encoding="utf-8"))) or None


def pytest_configure(config: pytest.Config) -> None:
    """Keep what tests compile in pytest's own cache: neither the user's files nor theirs affect each other."""
    if "TAUPI_CACHE" not in os.environ and hasattr(config, "cache"):
        os.environ["TAUPI_CACHE"] = str(config.cache.mkdir("taupi"))


@pytest.fixture(scope="session", autouse=True)
def every_program_is_traced():
    """Run the algorithms in every test, also those whose machine code is on disk; keep none of what a test has altered."""
    from taupi.program import requested_program

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(requested_program, "_file", lambda build, args, kwargs: None)
        yield


@pytest.fixture(scope="session")
def robots_dir() -> Path:
    """The folder of example-robot-data's descriptions."""
    folder = Path(sysconfig.get_path("purelib")) / "cmeel.prefix" / "share" / "example-robot-data" / "robots"
    assert folder.is_dir(), f"{folder} is missing: install example-robot-data"
    return folder
