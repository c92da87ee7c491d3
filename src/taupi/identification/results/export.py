"""Export a fit: the robot with its identified parameters, as a robot, a URDF file, or a TOML file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import fields
from functools import singledispatch
from typing import Any

import numpy as np

from taupi.dynamics.terms import kind_of, modulated_terms
from taupi.dynamics.terms.elastic import Stiffness
from taupi.errors import Message, NotIdentifiedError, TaupiError, warn
from taupi.identification.physical.region import inconsistencies
from taupi.identification.results.command_fit import CommandFit
from taupi.identification.results.fit import Fit
from taupi.identification.results.plausibility import reasons_of_bodies
from taupi.identification.results.verdict import Level, Verdict
from taupi.model.formats import toml, urdf
from taupi.model.parameters import Parameter, ParameterLayout
from taupi.model.robot import Robot
from taupi.model.robot_parts import Friction, Transmission

_FRICTION, _TRANSMISSION = (tuple(f.name for f in fields(record)) for record in (Friction, Transmission))


def identified_robot(fit: Fit, anyway: bool = False) -> Robot:
    """Return the robot with the parameters of a fit: inertias of links, friction, rotors and springs of joints.

    tau = inverse_dynamics(robot, terms=fit.terms), or elastic_inverse_dynamics, is then what the fit predicts. Refused, with the
    reason, are parameters that no real bodies have, a fit whose verdict is wrong, and terms for which a description has no place
    (springs to a rest position, friction of coupled motors). With `anyway` the last two are warnings, and such terms are left
    out.
    """
    _refuse(_homeless_sentences(fit), anyway)
    return robot_of_fit(fit, anyway)


def robot_of_fit(fit: Fit, anyway: bool = False) -> Robot:
    """Return the robot with the parameters of a fit that have a place in a description; see `identified_robot`."""
    pi = fit.parameters
    wrong = inconsistencies(pi)
    if wrong:
        more = f" ({len(wrong)} of this kind in all)" if len(wrong) > 1 else ""
        raise TaupiError(
            "{wrong}{more}",
            remedy="Use {estimator='feasible'}, whose parameters can be exported.",
            wrong=wrong[0],
            more=more,
        )
    against = fit.verdict if fit.verdict.level is Level.WRONG else Verdict.of(reasons_of_bodies(fit))
    _refuse(against.reasons, anyway, NotIdentifiedError)
    return robot_with(fit.robot, pi.layout, pi.values)


def robot_with(robot: Robot, layout: ParameterLayout, values: np.ndarray) -> Robot:
    """Return the robot with standard parameters `values` (p,) of a `layout`; those without a place in it are left out."""
    links = len(robot.parameters)
    driven = [robot.joints.index(joint) for joint in robot.single_joints]
    # The parameter of a coordinate includes those of the joints that follow it, which then have none of their own.
    none = [0.0 if robot.joints[i] in robot.following_joints else None for i in driven]
    by_kind: dict[str, list[Any]] = {}
    for e, value in zip(layout.entries[links:], values[links:].tolist(), strict=True):
        if _has_place(robot, e):
            rigid = e.kind == Stiffness.name
            by_kind.setdefault(e.kind, [None] * len(none) if rigid else list(none))[driven.index(e.index)] = value
    result = robot.with_parameters(values[:links])
    result = result.with_friction(**{k: v for k, v in by_kind.items() if k in _FRICTION})
    drives = {k: v for k, v in by_kind.items() if k in _TRANSMISSION}
    result = result.with_transmissions(**drives) if drives else result
    if "rotor" in by_kind:  # I_a = gear_ratio^2 rotor_inertia
        pairs = zip(result.single_joints, by_kind["rotor"], strict=True)
        own = [None if v is None else v / float(j.transmission.gear_ratio) ** 2 for j, v in pairs]
        result = result.with_transmissions(rotor_inertia=own)
    return result


def _refuse(sentences: Sequence[str], anyway: bool, kind: type[TaupiError] = TaupiError) -> None:
    """Refuse an export for the reasons in `sentences`, if there are any; with `anyway`, warn instead."""
    if not sentences:
        return
    if not anyway:
        raise kind(
            f"{' '.join(sentences)} It is not exported;", remedy=Message("{anyway=True} exports it all the same.")
        )
    warn("{reasons}", reasons=" ".join(sentences))


def is_placed(kind: str) -> bool:
    """Return whether a description has a place for a kind of parameter of joints.

    >>> is_placed("rotor"), is_placed("link_coulomb"), is_placed("link_offset"), is_placed("spring")
    (True, True, False, False)
    """
    return kind in _TRANSMISSION if kind.startswith("link_") else bool(kind_of(kind).field)


def _has_place(robot: Robot, entry: Parameter) -> bool:
    return entry.owner == robot.joints[entry.index].name and is_placed(entry.kind)


def _homeless_sentences(fit: Fit) -> list[str]:
    entries = fit.basis.standard.layout.entries[len(fit.robot.parameters) :]
    names = [e.name for e in entries if not _has_place(fit.robot, e)]
    known = fit.preparation.known_torque
    sentences = [f"Known torques have no place in a description: {'; '.join(known)}."] if known else []
    if not names:
        return sentences
    listed = ", ".join(names[:6]) + (", ..." if len(names) > 6 else "")
    homeless = f"{len(names)} parameters have no place in a description: {listed}. Without them it predicts a different torque."
    return [homeless, *sentences]


def _modulated_sentence(fit: Fit) -> str:
    """Return what a URDF file loses of friction that depends on load or bends with speed; nothing if none is significant."""
    kinds = {t.name for t in modulated_terms(fit.terms)}
    entries = zip(fit.basis.parameters.layout.entries, fit.significant, strict=True)
    names = [e.name for e, significant in entries if e.kind in kinds and significant]
    if not names:
        return ""
    listed = ", ".join(names[:6]) + (", ..." if len(names) > 6 else "")
    return (
        f"A URDF file has no friction that depends on load or bends with speed ({listed}): only inertias are written. Use "
        "write_toml to write everything, and fit.terms for the shapes of friction."
    )


@singledispatch
def write_urdf(source: object, path: str | os.PathLike[str], force: bool = False, anyway: bool = False) -> None:
    """Write a URDF file: the one that a robot or a fit was read from, with its inertials replaced.

    A payload (`taupi.identify_payload`) is written as another link, fixed to its frame of the identified robot. A fit is written
    with `fit.parameters`, which are physically consistent; what the format has no place for, such as friction that depends on
    load, is left out with a warning. See `taupi.model.formats.urdf.write` for what happens to links that are fixed to others.

    Args:
        source: A robot, a fit or a payload.
        path: The file.
        force: Whether a file that exists is overwritten; False by default.
        anyway: Whether a fit is written even if its verdict is wrong, for example from a torque of the wrong sign; False by
            default.

    Raises:
        TaupiError: If no real bodies have the parameters of the fit, or if its verdict is wrong, unless `anyway`.

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
    raise _neither_robot_nor_fit(source)


def _neither_robot_nor_fit(source: object) -> TaupiError:
    return TaupiError(
        "{source} is {got!r}, expected a robot or a fit: taupi.load(...), taupi.identify(...).", got=source
    )


@write_urdf.register
def _(source: Robot, path: str | os.PathLike[str], force: bool = False, anyway: bool = False) -> None:
    urdf.write(source, path, force)


@write_urdf.register
def _(source: Fit, path: str | os.PathLike[str], force: bool = False, anyway: bool = False) -> None:
    urdf.write(robot_of_fit(source, anyway), path, force)  # inertials only: terms without a place do not matter here
    if source.equations.layout.sprung:
        warn(
            "A URDF file cannot hold springs and rotors: only inertias are written. Use write_toml to write everything."
        )
    elif lost := _modulated_sentence(source):
        warn("{lost}", lost=lost)


@write_urdf.register
def _(source: CommandFit, path: str | os.PathLike[str], force: bool = False, anyway: bool = False) -> None:
    urdf.write(source.robot_identified(anyway), path, force)


@singledispatch
def write_toml(source: object, path: str | os.PathLike[str], force: bool = False, anyway: bool = False) -> None:
    """Write a robot, or a fit with its identified parameters, friction and rotors, as a TOML file.

    The file of a robot reads back to exactly the same joints, links, gravity, frames and symbols.

    Args:
        source: A robot or a fit.
        path: The file.
        force: Whether a file that exists is overwritten; False by default.
        anyway: Whether a fit is written even if its verdict is wrong; False by default.

    Raises:
        TaupiError: If the verdict is wrong, or the fit has terms that a description cannot hold, unless `anyway`.

    >>> import tempfile, taupi as tp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tp.write_toml(tp.load("ur10"), f"{folder}/mine.toml")
    ...     tp.load(f"{folder}/mine.toml").joints == tp.load("ur10").joints
    True
    """
    raise _neither_robot_nor_fit(source)


@write_toml.register
def _(source: Robot, path: str | os.PathLike[str], force: bool = False, anyway: bool = False) -> None:
    toml.write(source, path, force)


@write_toml.register
def _(source: Fit, path: str | os.PathLike[str], force: bool = False, anyway: bool = False) -> None:
    toml.write(identified_robot(source, anyway), path, force)


@write_toml.register
def _(source: CommandFit, path: str | os.PathLike[str], force: bool = False, anyway: bool = False) -> None:
    toml.write(source.robot_identified(anyway), path, force)
