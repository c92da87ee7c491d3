"""The built-in robots, a TOML file each, with the sources of their numbers."""

from __future__ import annotations

import dataclasses
import warnings
from importlib import resources

from taupi.errors import TaupiWarning, unknown
from taupi.model.formats.toml import reads
from taupi.model.robot import Robot


def names() -> tuple[str, ...]:
    """Return the names of the built-in robots.

    >>> import taupi as tp
    >>> tp.catalogue()
    ('elbow2r', 'lecture2r', 'panda', 'planar3r', 'puma560', 'puma560_elastic', 'ur10', 'zollo2r')
    """
    files = (entry.name for entry in resources.files(__package__).iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in files if name.endswith(".toml")))


def load(name: str) -> Robot:
    """Return a built-in robot; what is suspect in its published numbers is said in its notes.

    >>> from taupi.model import catalogue
    >>> catalogue.load("puma560").n
    6
    """
    if name not in names():
        raise unknown("robot", name, names(), "the catalogue")
    text = resources.files(__package__).joinpath(f"{name}.toml").read_text(encoding="utf-8")
    # A warning is for numbers that a user brought; these are known.
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", TaupiWarning)
        robot = reads(text, name, f"{name}.toml")
    notes = tuple(str(w.message) for w in caught if issubclass(w.category, TaupiWarning))
    return dataclasses.replace(robot, notes=robot.notes + notes)
