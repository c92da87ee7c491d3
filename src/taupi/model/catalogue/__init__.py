"""The built-in robots, one TOML file each, with the sources of their numbers."""

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
    ('elbow2r', 'g1', 'lecture2r', 'panda', 'planar3r', 'puma560', 'puma560_elastic', 'solo12', 'ur10', 'zollo2r')
    """
    files = (entry.name for entry in resources.files(__package__).iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in files if name.endswith(".toml")))


def load(name: str) -> Robot:
    """Return the built-in robot called `name`; its notes say what is suspect in its published numbers.

    >>> from taupi.model import catalogue
    >>> catalogue.load("puma560").n
    6
    """
    if name not in names():
        raise unknown("robot", name, names(), "the catalogue")
    text = resources.files(__package__).joinpath(f"{name}.toml").read_text(encoding="utf-8")
    # A warning is for a user's own numbers; what is suspect in these is known.
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", TaupiWarning)
        robot = reads(text, name, f"{name}.toml")
    notes = tuple(str(w.message) for w in caught if issubclass(w.category, TaupiWarning))
    return dataclasses.replace(robot, notes=robot.notes + notes)
