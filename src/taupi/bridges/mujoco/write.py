"""Write an identified robot as MJCF, and report what has no place there."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from taupi.bridges.identified import Identified, identified, listed
from taupi.bridges.mujoco.edited_mjcf import MjcfFile, updated_text
from taupi.bridges.mujoco.joint_attributes import SOFT
from taupi.bridges.mujoco.new_mjcf import new_text
from taupi.errors import TaupiError, warn
from taupi.files import path_of, write_text
from taupi.identification.results.fit import Fit
from taupi.model.robot import Robot


@dataclass(frozen=True, eq=False)
class MjcfExport:
    """What was written as MJCF.

    Attributes:
        path: The file.
        model: The MJCF that it was written from; None if it is new.
        lost: The names of the parameters that have no place in MJCF.
        notes: What was done, in words.
        source: The robot as it was written.
    """

    path: Path
    model: Path | None
    lost: tuple[str, ...]
    notes: tuple[str, ...]
    source: Identified

    def __repr__(self) -> str:
        return "\n".join([f"MjcfExport({str(self.path)!r})", *(f"  {note}" for note in self.notes)])


def write_mjcf(
    source: Robot | Fit,
    path: str | os.PathLike[str],
    model: str | os.PathLike[str] | None = None,
    force: bool = False,
    anyway: bool = False,
) -> MjcfExport:
    """Write the `source`, a robot, or a fit with what was identified, as an MJCF file for MuJoCo to `path`.

    Inertials, and of each joint `armature`, `damping`, `frictionloss`, `stiffness` and `springref`, are written into an MJCF,
    nothing else of whose text changes. What a fit has not identified becomes 0, as in its predictions. A constant torque is
    written as a spring of 1e-6 N m/rad far from rest. Friction that depends on load or bends with speed has no place in MJCF: it
    is named in `lost`, and the viscous and dry friction that come nearest to it on the fitted logs are written instead.

    Args:
        source: A robot, or a fit.
        path: The path of the file to write.
        model: The path of the MJCF to write into, by default the one that the robot was read from. Its bodies may have other
            frames than the robot's links, and its base may be mounted differently, as long as its joints have the same axes.
            Without one, a new MJCF is made from the robot's links, joints and frames.
        force: Whether a file that exists is overwritten, False by default.
        anyway: Whether a fit whose verdict is wrong is written all the same, False by default.

    Returns:
        What was written, with `notes` and what was `lost`.

    Raises:
        TaupiError: If the robot has drives that MuJoCo has no joints for, or the MJCF is of another robot.

    >>> import tempfile, taupi as tp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = tp.write_mjcf(tp.load("ur10").with_friction(viscous=0.2, coulomb=0.5), f"{folder}/arm.xml")
    ...     robot = tp.load(f"{folder}/arm.xml")
    >>> float(robot.joints[0].friction.viscous), robot.link_names == tp.load("ur10").link_names
    (0.2, True)
    """
    target, taken = path_of(path), identified(source, anyway)
    original = path_of(model) if model is not None else _own_file(taken.robot)
    if original is None:
        text, notes = new_text(taken), ["made from the robot's links and joints; its links are drawn as sticks"]
    else:
        file = MjcfFile.read(original, taken.robot)
        text, notes = updated_text(taken, file), [f"written into {original.name}"]
        _warn_of_assets(file.text, original, target)
    write_text(target, text, force)
    lost = (*taken.lost, *taken.negative("dry_friction"))
    return MjcfExport(target, original, lost, (*notes, *_notes(taken, lost)), taken)


def _own_file(robot: Robot) -> Path | None:
    """Return the MJCF that a robot was read from, if there is one."""
    if robot.source.format != "mjcf":
        return None
    path = Path(robot.source.path)
    if not path.is_file():
        raise TaupiError(
            "{robot} was read from {path}, which is no longer there.",
            remedy="Give an MJCF to write into: model=... in Python, --mjcf on the command line.",
            robot=robot.name,
            path=path,
        )
    return path


def _notes(taken: Identified, lost: tuple[str, ...]) -> list[str]:
    notes = []
    offsets = [name for name, j in taken.joints.items() if j.offset and not j.stiffness]
    if offsets:
        notes.append(f"constant torques of {listed(offsets)} are springs of {SOFT:g} N m/rad that rest far away")
    if lost:
        stood_in = "; viscous and dry friction stand in for them" if taken.stood_in else ""
        notes.append(f"{len(lost)} parameters have no place in MJCF: {listed(lost)}{stood_in}")
    return notes


def _warn_of_assets(text: str, original: Path, target: Path) -> None:
    if original.resolve().parent != target.resolve().parent and (" file=" in text or "meshdir=" in text):
        warn(
            "{original} names files beside itself (meshes, textures, included files): MuJoCo looks for them "
            "beside {target}.",
            original=original.name,
            target=target,
        )
