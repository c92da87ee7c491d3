"""Whether an arm could follow a motion at all: the limits of its range, speed and torque."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from taupi.dynamics.terms import resolve_terms, term_parameters
from taupi.regressors.classical import regressor
from taupi.simulation.plants.rigid_plant import RigidPlant
from taupi.simulation.references import Motion

MOST = 2000  # instants at which torques are computed


def broken_limits(plant: Any, motion: Motion, time: np.ndarray) -> list[str]:
    """Return a sentence for each kind of limit that a motion breaks: the description's range and speed, the plant's torque.

    `motion` has q, qd, qdd (N, n) at `time` (N,) in s; `plant` is any plant; torques are checked for a `RigidPlant` only.
    """
    robot = plant.robot
    joints = robot.driving_joints
    lower = np.array([-np.inf if j.limits.lower is None else j.limits.lower for j in joints])
    upper = np.array([np.inf if j.limits.upper is None else j.limits.upper for j in joints])
    fastest = np.array([np.inf if not j.limits.velocity else j.limits.velocity for j in joints])
    names = robot.joint_names
    units = ["m" if j.prismatic else "rad" for j in joints]
    sentences: list[str] = []
    if np.isfinite(lower).any() or np.isfinite(upper).any():
        excess = np.maximum(motion.q - upper, lower - motion.q)
        limit = np.where(motion.q > upper, upper, lower)
        sentences += _worst("leaves its range", names, units, time, excess, motion.q, limit)
    if np.isfinite(fastest).any():
        speed, speeds = np.abs(motion.qd), [f"{u}/s" for u in units]
        sentences += _worst("is too fast", names, speeds, time, speed - fastest, speed, fastest)
    limits = plant.torque_limits if isinstance(plant, RigidPlant) else None
    if limits is not None and not sentences:  # outside the range, the torque means little
        rows = np.unique(np.linspace(0, len(time) - 1, MOST).astype(int))
        tau = np.abs(_torque(plant, Motion(*(v[rows] for v in motion)), time[rows]))
        forces = ["N" if j.prismatic else "N m" for j in joints]
        sentences += _worst("takes too much torque", names, forces, time[rows], tau - limits, tau, limits)
    return sentences


def _worst(
    what: str,
    names: Sequence[str],
    units: Sequence[str],
    time: np.ndarray,
    excess: np.ndarray,
    values: np.ndarray,
    limit: np.ndarray,
) -> list[str]:
    """Return one sentence about the largest excess, and how many joints have one."""
    beyond = np.flatnonzero((excess > 1e-9 * (1 + np.abs(values))).any(axis=0))
    if not len(beyond):
        return []
    k, j = np.unravel_index(np.nanargmax(excess), excess.shape)
    others = len(beyond) - 1
    more = "" if not others else ", and one more joint does" if others == 1 else f", and {others} more joints do"
    unit, most = units[int(j)], np.broadcast_to(limit, values.shape)[k, j]
    place = f"{names[int(j)]}: {values[k, j]:.4g} {unit} at {time[k]:.4g} s"
    return [f"the reference {what} at {place}, the limit is {most:.4g} {unit}{more}"]


def _torque(plant: RigidPlant, motion: Motion, time: np.ndarray) -> np.ndarray:
    """Return the torque that the motion needs, with what the arm carries at each time."""
    terms = resolve_terms(plant.terms)
    Y = regressor(plant.robot, terms=terms).compile("numpy")(*motion)
    pi = np.concatenate([plant.robot.parameters.values, term_parameters(plant.robot, terms).values])
    rows = np.tile(pi, (len(time), 1))
    for since in [0.0, *(t for t, _ in plant.payloads)] if plant.loads else ():
        later, load = time >= since, plant.load_at(since).reshape(-1, 10)
        for link, body in zip(plant.loads, load, strict=True):
            place = plant.robot.parameters.layout.link(link)
            rows[later, place] = pi[place] + body
    tau: np.ndarray = np.einsum("kij,kj->ki", Y, rows)
    return tau
