"""Gains: a number, one per joint (or parameter), or a matrix; their defaults, and whether they suit the rate of a loop.

At rest a law's torque falls by D per unit of velocity, so an error v of the velocity decays as M^-1 D. A torque that is held for
a period dt changes it to v - dt M^-1 D v instead. That is smaller only if every eigenvalue of dt M^-1 D is below 2: above, the
error changes its sign and grows in every period, however small it was. A stiffness beside the damping leaves this limit as it is
(one coordinate: z^2 + (a + b/2 - 2) z + 1 - a + b/2 has a root below -1 if and only if a = dt d > 2, with b = dt^2 k).

A law that learns adds a stiffness S = M^-1 Y Gamma^-1 Y^T, also at rest, where Y is what gravity and offsets show: with w =
M^-1 Y (pi_hat - pi), v becomes v - dt D v + dt w, and w becomes w - dt S v, which lags by a period. The error of one coordinate
decays if and only if dt S < D; those of several if no eigenvalue of this map is larger than 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

import casadi as cs
import numpy as np

from taupi.dynamics.mass_matrix import mass_matrix
from taupi.dynamics.types import SX, ArrayLike, Vector
from taupi.errors import Argument, TaupiError, warn
from taupi.model.parameters import INERTIA, MASS, MOMENT, Parameters
from taupi.model.requirements import require_bolted
from taupi.model.robot import Joint, Robot

if TYPE_CHECKING:
    from taupi.control.law import Law


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
        raise TaupiError(
            "{argument} is {got!r}, {expected}.", argument=Argument(name), got=value, expected=expected
        ) from None
    if array.shape not in ((), (size,), (size, size)) or (array.ndim == 2 and not size):
        raise TaupiError(
            "{argument} has shape {shape}, {expected}.", argument=Argument(name), shape=array.shape, expected=expected
        )
    if not np.isfinite(array).all():
        raise TaupiError(
            "{argument} has entries that are not finite, {expected}.", argument=Argument(name), expected=expected
        )
    if array.ndim < 2:
        array = np.broadcast_to(array, (size,)).copy()
        low = array.min(initial=np.inf)
    else:
        if symmetric and np.abs(array - array.T).max() > SYMMETRIC * np.abs(array).max():
            raise TaupiError(
                "{argument} is not symmetric, {expected}, symmetric.", argument=Argument(name), expected=expected
            )
        low = float(np.linalg.eigvals(array).real.min()) if not symmetric else float(np.linalg.eigvalsh(array)[0])
        low = 0.0 if zero and low > -SYMMETRIC * np.abs(array).max() else low
    if low < 0 or (low == 0 and not zero):
        kind = "an eigenvalue" if array.ndim == 2 else "an entry"
        raise TaupiError(
            "{argument} has {kind} of {low:.3g}, {expected}.",
            argument=Argument(name),
            kind=kind,
            low=low,
            expected=expected,
        )
    array.flags.writeable = False
    return array


def times(g: np.ndarray | SX, x: Vector) -> Vector:
    """Return a gain times a column of SX, entry by entry unless the gain is a matrix.

    Args:
        g: The gain: numbers (n,) or (n, n), or an input of the program.
        x: The column (n,).

    >>> import casadi as cs, numpy as np
    >>> times(np.array([2.0, 3.0]), cs.SX([1, 10]))
    SX([2, 30])
    """
    return SX(g) @ x if couples(g) else SX(cs.DM(g) if isinstance(g, np.ndarray) else g) * x


def couples(g: np.ndarray | SX) -> bool:
    """Return whether a gain is a matrix, and not one number per entry."""
    return len(g.shape) == 2 and g.shape[1] > 1


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
    return Typical(M, _inverse_of_mass(M), (q, qd, qdd))


def _inverse_of_mass(M: np.ndarray) -> np.ndarray:
    floor = 1e-9 * np.trace(M, axis1=-2, axis2=-1)[:, None, None] + 1e-12  # a joint may move no mass
    return np.linalg.inv(M + floor * np.eye(M.shape[-1]))


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


@lru_cache(maxsize=64)
def default_damping(robot: Robot) -> np.ndarray:
    """Return K_i = min(60/s max M_ii, c m_i), m_i the least inertia 1 / (M^-1)_ii that joint i has while all others are free.

    c is such that no eigenvalue of M^-1 K is above 400/s. An arm has directions that are much lighter than its diagonal says:
    two joints of a wrist whose axes align turn next to nothing against each other. Scaled by max M_ii, such a direction would
    limit all joints; scaled by m_i, each joint has what its own lightest direction allows.
    """
    inverse_mass = typical(robot).inverse
    lightest = 1 / np.diagonal(inverse_mass, axis1=-2, axis2=-1).max(0)
    fastest = float(np.linalg.eigvals(inverse_mass * lightest).real.max())
    damping = np.minimum(DAMPING * largest_inertias(robot), FASTEST / fastest * lightest)
    damping.flags.writeable = False  # others get the same array
    return damping


def default_adaptation(
    robot: Robot, parameters: Parameters, columns: np.ndarray | None = None, pace: float = PACE
) -> np.ndarray:
    """Return the diagonal of Gamma^-1 = kappa scale^2 / (k_group^(3/4) k_link^(1/4)).

    scale is the largest entry of the parameter's group (mass, first moment, inertia, a term) in its link, with a floor. k_group
    and k_link are the stiffness M^-1 Y scale^2 Y^T that the group alone, or the link alone, adds at most in random motions.
    Without them the light links of a wrist, whose inertia is small, would slow down all others; and within a link gravity, which
    excites the first moments, would slow down the inertias: those of a PUMA's hand would be learnt 1600 times slower, and would
    be the only remaining error. kappa is such that the stiffness of all stays below pace^2; `columns` are Y's (k, n, p).
    """
    weights = scales(parameters) ** 2
    if columns is None or not columns.size:
        return weights
    groups = _groups(parameters)
    by_group, by_link = (_alone(robot, columns, weights, keys) for keys in (groups, [index for index, _ in groups]))
    weights = weights / np.maximum(by_group**BY_GROUP * by_link ** (1 - BY_GROUP), 1e-12)
    return pace**2 / max(_stiffness(robot, columns, weights), 1e-12) * weights


def _alone(robot: Robot, columns: np.ndarray, weights: np.ndarray, keys: Sequence[object]) -> np.ndarray:
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
    largest: dict[object, float] = {}
    for group, value in zip(groups, values, strict=True):
        largest[group] = max(largest.get(group, 0.0), float(value))
    floors = [FLOORS.get(e.kind.removesuffix("R"), TERM_FLOOR) for e in entries]
    return np.array([max(largest[g], f) for g, f in zip(groups, floors, strict=True)])


LIMIT = 2.0  # of dt M^-1 D
RATE = 1000.0  # Hz: the loop that emitted laws are taken to run in, unless another rate is stated
GOOD = FASTEST / 1000.0  # of dt M^-1 D: what default gains leave, and what is proposed instead
GROWS = (
    1 + 1e-3
)  # per period: what grows more slowly, by e in a second at 1 kHz, changes with the motion before it is felt
LEAST = 2.0**-60  # of a gain
PULL = GOOD / 4  # of Kp / (rate Kd), what is proposed: the fastest error is then damped critically


@dataclass(frozen=True)
class _Slow:
    """What answers to an error of velocity by more and more torque: what a law learns, or its pull towards a position."""

    gain: str
    rates: np.ndarray  # S (k, n, n), 1/s^2
    learnt: bool
    weight: bool = False  # whether the gain is a weight, of which less makes S larger

    @property
    def swinging(self) -> str:
        """What makes a velocity swing if it is too much, in words."""
        return "what it learns" if self.learnt else "its pull"

    def growth(self, damping: np.ndarray, rate: float, share: float = 1.0) -> np.ndarray:
        """Return by how much the fastest error grows in a period (k,), from D (k, n, n), 1/s, and `share` times S.

        Torques are held for a period. What is learnt grows by Euler's rule, dz = -S v dt; a position moves by v dt + a dt^2 / 2.
        """
        unit, dt, slow = np.broadcast_to(np.eye(damping.shape[-1]), damping.shape), 1 / rate, share * self.rates
        if self.learnt:
            step = np.block([[unit - dt * damping, dt * unit], [-dt * slow, unit]])
        else:
            half = dt * dt / 2
            step = np.block([[unit - dt * damping, -dt * slow], [dt * unit - half * damping, unit - half * slow]])
        finite = np.isfinite(step).all(axis=(-2, -1), keepdims=True)  # others are refused later, by name
        step = np.where(finite, step, 0.0)
        grown: np.ndarray = np.abs(np.linalg.eigvals(step)).max(axis=-1)
        return grown


@dataclass(frozen=True)
class Overshoot:
    """A gain that is too high, or a weight that is too low, for the rate of a loop."""

    law: Law
    rate: float
    gain: str
    joint: str
    growth: float  # by which an error of velocity is multiplied in each period, at worst
    everywhere: bool  # in all states that were looked at
    better: dict[str, np.ndarray]  # gains that would do together, each instead of the law's
    slow: _Slow | None = None  # what makes velocities swing, if they do rather than being overcorrected

    @property
    def text(self) -> str:
        """What is wrong."""
        level, what = "high", f"the velocity of {self.joint} is overcorrected"
        if self.slow is not None:
            level = "low" if self.slow.weight else "high"
            what = f"{self.slow.swinging} makes the velocity of {self.joint} swing"
        return (
            f"{self.gain} of {self.law.name} is too {level} for a loop at {self.rate:g} Hz: {what}, and its error grows "
            f"{self.growth:.4g}-fold in every period{'' if self.everywhere else ' in some postures'}"
        )

    @property
    def remedy(self) -> str:
        """What would do."""
        shown = " with ".join(self._shown(name, value) for name, value in self.better.items())
        faster = "" if self.slow is not None else f", a rate of {(1 + self.growth) * self.rate / GOOD:.2g} Hz"
        return f"{shown} would do{faster}, or rotors that the description leaves out."

    def _shown(self, name: str, value: np.ndarray) -> str:
        rounded = [float(f"{entry:.3g}") for entry in np.ravel(value)]
        if np.ndim(value) < 2 and len(set(rounded)) == 1:
            return f"{name}={rounded[0]}"
        if np.ndim(value) < 2 and len(rounded) <= self.law.robot.n:
            return f"{name}={rounded}"
        times_as_large = float(np.max(value) / np.max(self.law.gain_named(name)))
        return f"{name} {times_as_large:.3g} times as large"


def overshoot(law: Law, rate: float, inverse: np.ndarray, q: np.ndarray) -> Overshoot | None:
    """Return which gain of a law is too high for a loop at `rate` (Hz), None if there is none.

    Args:
        law: The law.
        rate: Periods per second, Hz.
        inverse: Inverse mass matrices of the plant (k, n, n) in the states that are looked at.
        q: Positions (k, n) of these states.
    """
    parts = law.damping_rates(inverse, q)
    if not parts:
        return None
    total = sum(parts.values(), np.zeros_like(inverse))
    slow = _slow_part(law, inverse, q)
    fastest = np.linalg.eigvals(total).real.max(axis=-1) / rate
    if not fastest.max() >= LIMIT:
        return None if slow is None else _swinging(law, rate, total, slow)
    worst = int(np.argmax(fastest))
    gain = max(parts, key=lambda name: float(np.linalg.eigvals(parts[name][worst]).real.max()))
    joint = _mover(law, total[worst])
    better = {gain: _better(law.gain_named(gain), parts[gain], GOOD * rate)}
    if slow is not None:
        changed = law.with_traced_gains(better)
        damped = changed.damping_rates(inverse, q)
        better |= _slower(changed, rate, sum(damped.values(), np.zeros_like(inverse)), slow)
    return Overshoot(law, rate, gain, joint, float(fastest.max() - 1), bool(fastest.min() >= LIMIT), better)


def _slow_part(law: Law, inverse: np.ndarray, q: np.ndarray) -> _Slow | None:
    if (learning := law.learning_rates(inverse, q)) is not None:
        return _Slow(law.learns_by, learning, True, law.learns_by_weight)
    pull = law.pull_rates(inverse, q)
    return None if pull is None else _Slow(law.pulls_by, pull, False)


def _mover(law: Law, rates: np.ndarray) -> str:
    """Return the name of the joint whose gain changes the largest eigenvalue of `rates` (n, n) most."""
    values, right = np.linalg.eig(rates)
    k = int(np.argmax(values.real))
    share = np.abs(np.linalg.inv(right)[k] * right[:, k])
    return law.robot.driving_joints[int(np.argmax(share))].name


def _swinging(law: Law, rate: float, damping: np.ndarray, slow: _Slow) -> Overshoot | None:
    """Return that a law learns faster, or pulls more, than a loop at `rate` (Hz) can damp, None if it does not."""
    growth = slow.growth(damping, rate)
    if not growth.max() > GROWS:
        return None
    better = _slower(law, rate, damping, slow)
    joint = _mover(law, slow.rates[int(np.argmax(growth))])
    return Overshoot(law, rate, slow.gain, joint, float(growth.max()), bool(growth.min() > GROWS), better, slow)


def _slower(law: Law, rate: float, damping: np.ndarray, slow: _Slow) -> dict[str, np.ndarray]:
    """Return the gain by which a law learns or pulls, as low as a loop at `rate` (Hz) needs; nothing if it is low enough."""
    share = 1.0
    while share > LEAST and slow.growth(damping, rate, share).max() > GROWS:
        share /= 2
    if share == 1:
        return {}
    gain = law.gain_named(slow.gain)
    damper = None if slow.learnt else law.gain_named(law.damps_by)
    if damper is not None and gain.ndim < 2 and damper.ndim < 2:
        return {slow.gain: np.minimum(gain, PULL * rate * damper)}
    share /= 2  # what is barely stable swings for long
    return {slow.gain: gain / share if slow.weight else gain * share}


def _better(gain: np.ndarray, rates: np.ndarray, most: float) -> np.ndarray:
    """Return a gain with which no eigenvalue of its `rates` (k, n, n) is above `most`; gains of joints that have room stay."""
    if gain.shape != rates.shape[-1:]:
        fastest = float(np.linalg.eigvals(rates).real.max())
        return gain * min(1.0, most / fastest)
    each = rates / gain  # per unit of each joint's gain
    alone = 1 / np.diagonal(each, axis1=-2, axis2=-1).max(axis=0)
    fastest = float(np.linalg.eigvals(each * alone).real.max())
    return np.minimum(gain, most / fastest * alone)


@lru_cache(maxsize=64)
def _mass(robot: Robot, rotors: bool) -> Callable[..., np.ndarray]:
    return mass_matrix(robot, terms=("rotor",) if rotors else ()).compile("numpy")


def inverse_mass(robot: Robot, rotors: bool, q: np.ndarray) -> np.ndarray:
    """Return M^-1 (k, n, n) of a robot at positions `q` (k, n), with or without its rotors."""
    return _inverse_of_mass(_mass(robot, rotors)(q))


def check_gains(law: Law, rate: float = RATE, refuse: bool = True) -> None:
    """Refuse a law that no loop at `rate` (Hz) can run, by its own model of the robot; warn if that is so in some postures.

    Unless `refuse`, there is a warning in both cases.
    """
    q = typical(law.robot).motion[0]
    found = overshoot(law, rate, inverse_mass(law.robot, True, q), q)
    if found is None:
        return
    if found.everywhere and refuse:
        raise TaupiError(
            "{argument}{found}.",
            remedy=found.remedy,
            argument=Argument(found.gain),
            found=found.text.removeprefix(found.gain),
        )
    warn("{found}. {found_remedy}", found=found.text, found_remedy=found.remedy)
