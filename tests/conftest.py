"""Where the robots of other people are; random examples that are the same in every run."""

import sysconfig
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("seeded", derandomize=True, deadline=None)
settings.load_profile("seeded")


@pytest.fixture(scope="session")
def robots_dir() -> Path:
    """The folder of example-robot-data's descriptions."""
    folder = Path(sysconfig.get_path("purelib")) / "cmeel.prefix" / "share" / "example-robot-data" / "robots"
    assert folder.is_dir(), f"{folder} is missing: install example-robot-data"
    return folder
