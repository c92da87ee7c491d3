"""The collision geometry of a robot as capsules, from whatever it was read from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from taupi.errors import Argument, TaupiError
from taupi.excitation.geometry.capsules.enclosing import capsules_around
from taupi.excitation.geometry.shapes.solids import Shape, triangles_of
from taupi.model.capsule import Capsule
from taupi.model.robot import Robot

# Largest number of capsules of one link of a file; if there are more, all of its shapes are enclosed together again.
MANY = 4


class NoGeometryError(TaupiError):
    """A description says nothing about the space that its links occupy."""


def collision_capsules(robot: Robot, packages: Sequence[Path] = ()) -> tuple[Capsule, ...]:
    """Return capsules around the links of a robot: those that it states, or capsules around the shapes of its URDF or MJCF file.

    Each is in the frame of its link, or of a frame fixed to it. `packages` are folders in which meshes are looked for.
    """
    if robot.capsules:
        return robot.capsules
    by_link: dict[str, list[Shape]] = {}
    for shape in _shapes(robot, packages):
        by_link.setdefault(shape.link, []).append(shape)
    if not by_link:
        raise NoGeometryError(
            f"{robot.name} has no collision geometry, so its clearance cannot be checked.",
            remedy=(
                "Give ",
                Argument("capsules", ...),
                " (a TOML file with [[capsule]] tables of link, a, b and r, or a list), or leave clearance unchecked by ",
                Argument("capsules", "none"),
                ".",
            ),
        )
    return tuple(c for link, group in by_link.items() for c in _enclosed(link, group))


def _shapes(robot: Robot, packages: Sequence[Path]) -> Iterable[Shape]:
    if robot.source.format == "urdf":
        from taupi.excitation.geometry.shapes import urdf

        return urdf.shapes(robot, packages)
    if robot.source.format == "mjcf":
        from taupi.excitation.geometry.shapes import mjcf

        return mjcf.shapes(robot)
    return ()


def _enclosed(link: str, shapes: Sequence[Shape]) -> tuple[Capsule, ...]:
    if len(shapes) > 1:
        together = capsules_around(link, np.concatenate([triangles_of(s) for s in shapes]), link)
        if len(together) == 1 or len(shapes) > MANY:
            return together
    capsules: list[Capsule] = []
    for shape in shapes:
        if isinstance(shape, Capsule):
            capsules.append(shape)
        else:
            capsules += capsules_around(link, shape.triangles, shape.place)
    return tuple(capsules)
