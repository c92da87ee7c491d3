"""Gains: a number, one per joint (or parameter), or a matrix; checked once, and defaults taken from the robot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import casadi as cs
import numpy as np

from taupi.dynamics.imu_form import require_bolted
from taupi.dynamics.mass_matrix import mass_matrix
from taupi.dynamics.types import SX, ArrayLike, Vector
from taupi.errors import Argument, TaupiError, shown
from taupi.model.parameters import INERTIA, MASS, MOMENT, Parameters
from taupi.model.robot import Joint, Robot

# A number, one per joint (or parameter), or a matrix; None for the default. Kept as a diagonal (size,) or a matrix.
Gain: TypeAlias = Any
# How far a matrix may be from its transpose, relative to its largest entry.
SYMMETRIC = 1e-9
# The smallest size that a parameter is taken to have when its gain is chosen, by its kind.
FLOORS = dict.fromkeys(MASS, 0.1) | dict.fromkeys(MOMENT, 1e-2) | dict.fromkeys(INERTIA, 1e-4)
TERM_FLOOR = 1e-2
STATES = 64  # random states in which inertias are evaluated
BANDWIDTH = 5.0  # rad/s: the default Lambda, and that of linear laws
# 1/s: s decays at the first, twelve times as fast as q follows, or slower if a light direction of the arm would be faster than
# the second, which a loop at 1 kHz can still follow. Tried on the built-in arms at 1 kHz and 500 Hz, with exact states and with
# encoders of 20 000 counts followed by a filter of 100 Hz: higher gains improve tracking little, and make the torque of the
# latter rough.
DAMPING, FASTEST = 60.0, 400.0
# rad/s: in the random motions no direction of the estimate answers faster. A sixteenth of a loop at 1 kHz: references that
# are ten times as quick, and velocities by differences of encoders, then still leave the loop stable.
PACE = 60.0
UNSEEN = 1e-9  # of the stiffness of the stiffest part: the limit for a part that no motion excites
# How far groups of parameters, and not links as wholes, learn alike. Tried on six arms with seven motions each: 0 leaves the
# inertias of light links behind, 1 leaves the loop less room for quick motions, and 3/4 has the smallest errors in the end.
BY_GROUP = 0.75
SPEEDS, ACCELERATIONS = 1.0, 5.0  # of the random motions, rad/s and rad/s^2


def gain(
    name: str, value: ArrayLike, size: int, per: str = "joint", symmetric: bool = True, zero: bool = False
) -> np.ndarray:
    """Return a gain as its diagonal (size,) or as a matrix (size, size).

    A gain that is not positive, or with `zero` one that is negative, is refused, and so is a matrix that is not `symmetric`.
    `name` and `per`, what each entry belongs to, are for the message.
    """
    expected = (
        f"expected {'0 or more' if zero else 'positive'}: a number, one per {per} ({size}), or a {size} x {size} matrix"
    )
    try:
        array = np.array(value, dtype=float)
    except (TypeError, ValueError):
        raise TaupiError(Argument(name), f" is {shown(value)}, {expected}.") from None
    if array.shape not in ((), (size,), (size, size)) or (array.ndim == 2 and not size):
        raise TaupiError(Argument(name), f" has shape {array.shape}, {expected}.")
    if not np.isfinite(array).all():
        raise TaupiError(Argument(name), f" has entries that are not finite, {expected}.")
    if array.ndim < 2:
        array = np.broadcast_to(array, (size,)).copy()
        low = array.min(initial=np.inf)
    else:
        if symmetric and np.abs(array - array.T).max() > SYMMETRIC * np.abs(array).max():
            raise TaupiError(Argument(name), f" is not symmetric, {expected}, symmetric.")
        low = float(np.linalg.eigvals(array).real.min()) if not symmetric else float(np.linalg.eigvalsh(array)[0])
        low = 0.0 if zero and low > -SYMMETRIC * np.abs(array).max() else low
    if low < 0 or (low == 0 and not zero):
        kind = "an eigenvalue" if array.ndim == 2 else "an entry"
        raise TaupiError(Argument(name), f" has {kind} of {low:.3g}, {expected}.")
    array.flags.writeable = False
    return array


def times(g: np.ndarray, x: Vector) -> Vector:
    """Return the gain times a column of SX."""
    return SX(cs.DM(g)) @ x if g.ndim == 2 else SX(cs.DM(g)) * x


def as_matrix(g: np.ndarray) -> np.ndarray:
    """Return the gain as a matrix."""
    return g if g.ndim == 2 else np.diag(g)


def inverse(g: np.ndarray) -> np.ndarray:
    """Return Gamma of Gamma^-1; a direction without gain, which never moves, weighs nothing."""
    if g.ndim == 2:
        return np.linalg.pinv(g, hermitian=True)
    return np.divide(1.0, g, out=np.zeros_like(g), where=g > 0)


@dataclass(frozen=True)
class Typical:
    """A robot in random states: M and its inverse (k, n, n), and the motion (q, qd, qdd)."""

    M: np.ndarray
    inverse: np.ndarray
    motion: tuple[np.ndarray, np.ndarray, np.ndarray]


@lru_cache(maxsize=64)
def typical(robot: Robot) -> Typical:
    """Return a robot in random states within its limits, by which default gains are scaled."""
    rng = np.random.default_rng(0)
    spans = [_span(joint) for joint in robot.driving_joints]
    q = rng.uniform([s[0] for s in spans], [s[1] for s in spans], (STATES, robot.n))
    qd, qdd = (rng.uniform(-size, size, q.shape) for size in (SPEEDS, ACCELERATIONS))
    M = mass_matrix(robot).compile("numpy")(q)
    floor = 1e-9 * np.trace(M, axis1=-2, axis2=-1)[:, None, None] + 1e-12  # a joint may move no mass
    return Typical(M, np.linalg.inv(M + floor * np.eye(robot.n)), (q, qd, qdd))


def largest_inertias(robot: Robot) -> np.ndarray:
    """Return the largest M_ii of each joint over random configurations."""
    require_bolted(robot, "A control law")
    return np.maximum(np.diagonal(typical(robot).M, axis1=-2, axis2=-1).max(0), 1e-6)


def _span(joint: Joint) -> tuple[float, float]:
    limits = joint.limits
    reach = 1.0 if joint.prismatic else np.pi
    low = -reach if limits.lower is None else float(limits.lower)
    high = reach if limits.upper is None else float(limits.upper)
    return low, max(low, high)


def default_damping(robot: Robot) -> np.ndarray:
    """Return K_i = min(60/s max M_ii, c m_i), m_i the least inertia 1 / (M^-1)_ii that joint i has while all others are free.

    c is such that no eigenvalue of M^-1 K is above 400/s. An arm has directions that are much lighter than its diagonal says:
    two joints of a wrist whose axes align turn next to nothing against each other. Scaled by max M_ii, such a direction would
    limit all joints; scaled by m_i, each joint has what its own lightest direction allows.
    """
    inverse_mass = typical(robot).inverse
    lightest = 1 / np.diagonal(inverse_mass, axis1=-2, axis2=-1).max(0)
    fastest = float(np.linalg.eigvals(inverse_mass * lightest).real.max())
    return np.minimum(DAMPING * largest_inertias(robot), FASTEST / fastest * lightest)


def default_adaptation(
    robot: Robot, parameters: Parameters, columns: np.ndarray | None = None, pace: float = PACE
) -> np.ndarray:
    """Return the diagonal of Gamma^-1 = kappa scale^2 / (k_group^(3/4) k_link^(1/4)).

    scale is the largest entry of the parameter's group (mass, first moment, inertia, a term) in its link, with a floor. k_group
    and k_link are the stiffness M^-1 Y scale^2 Y^T that the group alone, or the link alone, adds at most in random motions.
    Without them the light links of a wrist, whose inertia is small, would slow down all others; and within a link gravity, which
    excites the first moments, would slow down the inertias: those of a PUMA's hand would be learnt 1600 times slower, and would
    be the only remaining error. kappa is such that the stiffness of all stays below pace^2; `columns` are those of Y (k, n, p).
    """
    weights = scales(parameters) ** 2
    if columns is None or not columns.size:
        return weights
    groups = _groups(parameters)
    by_group, by_link = (_alone(robot, columns, weights, keys) for keys in (groups, [index for index, _ in groups]))
    weights = weights / np.maximum(by_group**BY_GROUP * by_link ** (1 - BY_GROUP), 1e-12)
    return pace**2 / max(_stiffness(robot, columns, weights), 1e-12) * weights


def _alone(robot: Robot, columns: np.ndarray, weights: np.ndarray, keys: Sequence[Any]) -> np.ndarray:
    """Return for each parameter the largest stiffness that the parameters with the same key add by themselves."""
    alone = {key: _stiffness(robot, columns, np.where([k == key for k in keys], weights, 0.0)) for key in set(keys)}
    most = max(alone.values())
    # What no motion excites, such as a link that stands still, could have any weight: it gets that of the stiffest.
    return np.array([alone[key] if alone[key] > UNSEEN * most else most for key in keys])


def _groups(parameters: Parameters) -> list[tuple[int, tuple[str, ...]]]:
    """Return the group of each parameter: its link or joint, and the kinds of entries that belong together."""
    together = {kind: group for group in (MASS, MOMENT, INERTIA) for kind in group}
    kinds = [(e.index, e.kind.removesuffix("R")) for e in parameters.layout.entries]
    return [(index, together.get(kind, (kind,))) for index, kind in kinds]


def _stiffness(robot: Robot, columns: np.ndarray, weights: np.ndarray) -> float:
    """Return the largest eigenvalue of M^-1 Y diag(weights) Y^T over random motions."""
    stiffness = typical(robot).inverse @ ((columns * weights) @ np.swapaxes(columns, -1, -2))
    return float(np.linalg.eigvals(stiffness).real.max())


def scales(parameters: Parameters) -> np.ndarray:
    """Return the size of each parameter: the largest of its group in its link, at least a floor."""
    entries, values = parameters.layout.entries, np.abs(parameters.values)
    groups = _groups(parameters)
    largest: dict[Any, float] = {}
    for group, value in zip(groups, values, strict=True):
        largest[group] = max(largest.get(group, 0.0), float(value))
    floors = [FLOORS.get(e.kind.removesuffix("R"), TERM_FLOOR) for e in entries]
    return np.array([max(largest[g], f) for g, f in zip(groups, floors, strict=True)])
