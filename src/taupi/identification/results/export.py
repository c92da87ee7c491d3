"""What people take away: the robot with its identified parameters, as a robot, a URDF, or TOML."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from functools import singledispatch
from typing import Any

from taupi.errors import Argument, TaupiError, TaupiWarning, shown
from taupi.identification.physical.region import inconsistencies
from taupi.identification.results.fit import Fit
from taupi.identification.results.plausibility import doubts
from taupi.model.formats import toml, urdf
from taupi.model.parameters import Parameter
from taupi.model.robot import Robot

_FRICTION = ("viscous", "coulomb", "offset", "stribeck")
# Of elastic joints, whose rotors are identified by themselves.
_TRANSMISSION = ("rotor_inertia", "stiffness", "damping", "link_viscous", "link_coulomb")


def identified_robot(fit: Fit, anyway: bool = False) -> Robot:
    """Return the robot with the parameters of a fit: its links' inertias, its joints' friction, rotors and springs.

    tau = inverse_dynamics(robot, terms=fit.terms), or elastic_inverse_dynamics, is then what the fit predicts. Refused with the
    reason: parameters that no real bodies have; a fit that is plainly wrong; terms that a
    description has no place for (springs to a rest position, friction of coupled motors). With `anyway` the last two are
    warnings, and such terms are left out.
    """
    _refuse(_homeless_sentences(fit), anyway)
    return _identified(fit, anyway)


def _identified(fit: Fit, anyway: bool) -> Robot:
    pi = fit.parameters
    wrong = inconsistencies(pi)
    if wrong:
        more = f" ({len(wrong)} such in all)" if len(wrong) > 1 else ""
        raise TaupiError(
            f"{wrong[0]}{more}",
            remedy=("Use ", Argument("estimator", "feasible"), ", whose parameters can be exported."),
        )
    _refuse(doubts(fit), anyway)
    robot = fit.robot
    links = len(robot.parameters)
    values: dict[str, list[Any]] = {}
    for e, value in zip(pi.layout.entries[links:], pi.values[links:].tolist(), strict=True):
        if _has_place(fit, e):
            values.setdefault(e.kind, [None] * len(robot.joints))[e.index] = value
    result = robot.with_parameters(pi.values[:links])
    result = result.with_friction(**{k: v for k, v in values.items() if k in _FRICTION})
    drives = {k: v for k, v in values.items() if k in _TRANSMISSION}
    return _with_rotors(result.with_transmissions(**drives) if drives else result, values)


def _refuse(sentences: Sequence[str], anyway: bool) -> None:
    """Refuse what speaks against an export, all of it in one sentence after the other; or warn of it."""
    if not sentences:
        return
    if not anyway:
        raise TaupiError(
            f"{' '.join(sentences)} It is not exported;", remedy=(Argument("anyway", True), " does so all the same.")
        )
    warnings.warn(" ".join(sentences), TaupiWarning, stacklevel=4)


def _has_place(fit: Fit, entry: Parameter) -> bool:
    return entry.owner == fit.robot.joints[entry.index].name and entry.kind in (*_FRICTION, *_TRANSMISSION, "rotor")


def _homeless_sentences(fit: Fit) -> list[str]:
    entries = fit.basis.standard.layout.entries[len(fit.robot.parameters) :]
    homeless = [e.name for e in entries if not _has_place(fit, e)]
    if not homeless:
        return []
    told = ", ".join(homeless[:6]) + (", ..." if len(homeless) > 6 else "")
    return [
        f"{len(homeless)} parameters have no place in a description: {told}. Without them it predicts another torque."
    ]


def _with_rotors(robot: Robot, values: Mapping[str, list[Any]]) -> Robot:
    """Return the robot with I_a = gear_ratio^2 rotor_inertia."""
    if "rotor" not in values:
        return robot
    pairs = zip(robot.joints, values["rotor"], strict=True)
    own = [None if v is None else v / float(j.transmission.gear_ratio) ** 2 for j, v in pairs]
    return robot.with_transmissions(rotor_inertia=own)


@singledispatch
def write_urdf(given: Any, path: str | os.PathLike[str], force: bool = False, anyway: bool = False) -> None:
    """Write the URDF that a robot, or a fit's robot, was read from, with its parameters; only inertials change.

    A fit is written with `fit.parameters`: physically consistent, or refused with the reason. One that is plainly wrong, as
    from a flipped torque, is refused too, unless `anyway`. `force` overwrites. See `taupi.model.formats.urdf_write.write` for
    what happens to links that are fixed to others.

    >>> import tempfile, pathlib, taupi as tp
    >>> text = (
    ...     '<robot name="r"><link name="base"/><link name="arm"/><joint name="j" type="revolute">'
    ...     '<parent link="base"/><child link="arm"/></joint></robot>'
    ... )
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = pathlib.Path(folder, "r.urdf").write_text(text)
    ...     robot = tp.load(f"{folder}/r.urdf").with_parameters([2, 0, 0, 0, 1, 0, 0, 1, 0, 1])
    ...     tp.write_urdf(robot, f"{folder}/new.urdf")
    ...     float(tp.load(f"{folder}/new.urdf").parameters["arm.m"])
    2.0
    """
    raise TaupiError(
        f"{shown(given)} is no robot and no fit, expected one of them: taupi.load(...), taupi.identify(...)."
    )


@write_urdf.register
def _(given: Robot, path: str | os.PathLike[str], force: bool = False, anyway: bool = False) -> None:
    urdf.write(given, path, force)


@write_urdf.register
def _(given: Fit, path: str | os.PathLike[str], force: bool = False, anyway: bool = False) -> None:
    if given.basis.elastic:
        told = "A URDF holds no springs and no rotors behind them: inertias alone are written. Use write_toml for all of it."
        warnings.warn(told, TaupiWarning, stacklevel=2)
    urdf.write(_identified(given, anyway), path, force)  # of inertials alone: no term has a place in them


@singledispatch
def write_toml(given: Any, path: str | os.PathLike[str], force: bool = False, anyway: bool = False) -> None:
    """Write a robot, or a fit's robot with its identified parameters, friction and rotors, as TOML.

    Reading a robot's file gives the same joints, links, gravity, frames and symbols exactly. A fit that is plainly wrong, or that
    has terms which a description cannot hold, is refused unless `anyway`. `force` overwrites.

    >>> import tempfile, taupi as tp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tp.write_toml(tp.load("ur10"), f"{folder}/mine.toml")
    ...     tp.load(f"{folder}/mine.toml").joints == tp.load("ur10").joints
    True
    """
    raise TaupiError(
        f"{shown(given)} is no robot and no fit, expected one of them: taupi.load(...), taupi.identify(...)."
    )


@write_toml.register
def _(given: Robot, path: str | os.PathLike[str], force: bool = False, anyway: bool = False) -> None:
    toml.write(given, path, force)


@write_toml.register
def _(given: Fit, path: str | os.PathLike[str], force: bool = False, anyway: bool = False) -> None:
    toml.write(identified_robot(given, anyway), path, force)
