"""Lyapunov functions of laws as programs: V, its claimed rate and its true rate; a check of a recorded run."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from itertools import pairwise

import casadi as cs
import numpy as np

from taupi.analysis.bounds import bounds
from taupi.analysis.joint_range import RangeLike
from taupi.control.estimate import EstimatedChain
from taupi.control.law import Law, Signals, Truth
from taupi.dynamics.forward import solve_positive
from taupi.dynamics.joint_frames import newton_euler
from taupi.dynamics.mass_matrix import composite_bodies, mass_matrix
from taupi.dynamics.terms import Term, TermsLike, resolve_terms, term_parameters
from taupi.dynamics.types import SX, ArrayLike, Expression, Vector
from taupi.errors import TaupiError, TaupiWarning
from taupi.model.body import smallest_eigenvalue
from taupi.model.parameters import Parameters
from taupi.program.program import Constants, Port, Program, trace

# V from sampled states has the rounding of its sums, and the numerical integration of the run itself changes V by this much.
RISE = 1e-6
NOTHING = 1e-9  # of the largest V: a V at the start so small that a rise cannot be related to it


def plant_parameters(law: Law, terms: TermsLike | None = None) -> Parameters:
    """Return the parameters of the plant, ten per link and its terms'; by default those terms that the law knows."""
    chosen = law.choice().terms if terms is None else resolve_terms(terms)
    return law.robot.parameters + term_parameters(law.robot, chosen)


def lyapunov(law: Law, terms: TermsLike | None = None) -> Program:
    """Return V, V_1, the claimed dV/dt and the true dV/dt of (q, qd, q_des, qd_des, qdd_des, pi_hat, pi), pi the true parameters.

    V is the function of the law, V_1 its part without parameters (s^T H s / 2), the claim what the proof says (Kubozono et al.,
    eqs. 36, 37). The true rate is the chain rule along the closed loop, with the plant's acceleration M^-1 (tau - bias).

    Args:
        law: The law.
        terms: The plant's joint terms, by default those that the law knows.

    Returns:
        The program.

    >>> import taupi as tp
    >>> law = tp.SlotineLi(tp.load("elbow2r"), K=10.0, Gamma_inv=0.5)
    >>> state, pi = [[0.1, 0.2], [0.3, -0.4], [0.0, 0.5], [0.6, 0.1], [0.2, 0.3]], law.parameters.values
    >>> V, V_1, claimed, rate = tp.laws.lyapunov(law)(*state, 0.8 * pi, pi)
    >>> bool(abs(claimed - rate) < 1e-10), bool(rate < 0)
    (True, True)
    """
    if not isinstance(law, Law):
        raise TaupiError(
            "{law} is {got}, expected a control law such as taupi.SlotineLi(robot).", got=type(law).__name__
        )
    chosen = law.choice().terms if terms is None else resolve_terms(terms)
    plant = plant_parameters(law, terms)
    constants = Constants()

    def body(
        q: Vector, qd: Vector, q_des: Vector, qd_des: Vector, qdd_des: Vector, x: Vector, pi: Vector
    ) -> tuple[Expression, ...]:
        signals = Signals(q, qd, q_des, qd_des, qdd_des)
        truth = _truth(law, constants, q, pi, plant, chosen)
        claim = law.claim(truth, signals, x)
        tau, rates = law.control(constants, signals, x)
        rest = SX.zeros(law.robot.n)
        bias = newton_euler(truth.chain, q, qd, rest) + truth.friction(q, qd)
        qdd = solve_positive(truth.mass, tau - bias)
        moving = [(q, qd), (qd, qdd), (q_des, qd_des), (qd_des, qdd_des), (x, rates)]
        rate = sum(cs.jtimes(claim.value, variable, speed) for variable, speed in moving if variable.numel())
        return claim.value, claim.kinetic, claim.rate, rate

    inputs = [*law.ports(), Port("pi", (len(plant),), plant.names, "one per parameter")]
    outputs = [Port("V"), Port("V_1"), Port("claimed"), Port("rate")]
    return trace(f"lyapunov_{law.name}", body, inputs, outputs, constants)


def _truth(law: Law, constants: Constants, q: Vector, pi: Vector, plant: Parameters, terms: tuple[Term, ...]) -> Truth:
    chain = EstimatedChain(law.robot, constants, pi)
    rest = SX.zeros(law.robot.n)
    known = {name: k for k, name in enumerate(plant.names)}
    counted = cs.vertcat(*(pi[known[n]] if n in known else SX(0) for n in law.choice().full.names))
    mass = composite_bodies(chain, q) + chain.term_inertia(terms)
    return Truth(chain, mass, lambda q, qd: chain.term_torque(terms, q, qd, rest), counted)


@dataclass(frozen=True, eq=False)
class LyapunovRecord:
    """Hold V along a run, and its rate in three ways; (N,) each.

    Attributes:
        time: s.
        V: The Lyapunov function.
        V_1: Its part without parameters.
        claimed: dV/dt as in the proof.
        rate: dV/dt by the chain rule.
        numerical: dV/dt by differences of V.
        reasons: Why the rates may differ.
        changes: Rows at which the plant changed, and V with it: such jumps do not count as rises.
    """

    time: np.ndarray
    V: np.ndarray
    V_1: np.ndarray
    claimed: np.ndarray
    rate: np.ndarray
    numerical: np.ndarray
    reasons: tuple[str, ...]
    changes: tuple[int, ...] = ()

    @property
    def largest_rise(self) -> float:
        """The largest rise of V from one sample to the next, relative to its largest value at the start or after a change.

        If V starts at almost zero, because the estimate is right and the arm on its path, it is relative to the largest V.
        """
        steps = np.delete(np.diff(self.V), [k - 1 for k in self.changes])
        start, most = max(float(self.V[k]) for k in (0, *self.changes)), float(np.max(self.V))
        unit = start if start > NOTHING * most else most
        return float(steps.max(initial=-np.inf) / max(unit, np.finfo(float).tiny))

    @property
    def holds(self) -> bool:
        """Whether V never rises by more than a millionth of its start."""
        return bool(np.isfinite(self.V).all()) and self.largest_rise <= RISE

    def __repr__(self) -> str:
        rises = "never rises" if self.holds else f"rises by up to {self.largest_rise:.2g} of it"
        return f"V from {self.V[0]:.4g} to {self.V[-1]:.4g} in {self.time[-1] - self.time[0]:.4g} s, {rises}"


def check_lyapunov(
    law: Law,
    time: ArrayLike,
    q: ArrayLike,
    qd: ArrayLike,
    q_des: ArrayLike,
    qd_des: ArrayLike,
    qdd_des: ArrayLike,
    parameters: ArrayLike | None = None,
    plant: ArrayLike | None = None,
    terms: TermsLike | None = None,
) -> LyapunovRecord:
    """Return V and its rates along a run of a law, and warn if V rises although it must not, with the likely reasons.

    Args:
        law: The law.
        time: (N,), s.
        q: Positions (N, n), rad or m.
        qd: Velocities (N, n).
        q_des: Desired positions (N, n).
        qd_des: Desired velocities (N, n).
        qdd_des: Desired accelerations (N, n).
        parameters: The estimates (N, p), or with the law's memory; by default the robot's own parameters.
        plant: The true parameters, ten per link and then the parameters of `terms`; by default the robot's own.
        terms: The plant's joint terms, by default those that the law knows.

    Returns:
        The record of V.

    >>> import numpy as np, taupi as tp
    >>> law, t, still = tp.PDGravity(tp.load("elbow2r")), [0.0, 0.1, 0.2], np.zeros((3, 2))
    >>> q = np.array([[0.2, 0.1], [0.1, 0.05], [0.05, 0.02]])
    >>> tp.laws.check_lyapunov(law, t, q, still, still, still, still).holds
    True
    """
    record = lyapunov_record(law, time, q, qd, (q_des, qd_des, qdd_des), parameters, plant, terms)
    if not record.holds:
        why = "; ".join(record.reasons) or "the run itself departs from the law: sampling, limits, delay or disturbance"
        warnings.warn(
            TaupiWarning(
                "V rises by up to {largest_rise:.2g} of its start. {why}.", largest_rise=record.largest_rise, why=why
            ),
            stacklevel=2,
        )
    return record


def lyapunov_record(
    law: Law,
    time: ArrayLike,
    q: ArrayLike,
    qd: ArrayLike,
    wanted: tuple[ArrayLike, ArrayLike, ArrayLike],
    parameters: ArrayLike | None = None,
    plant: ArrayLike | None = None,
    terms: TermsLike | None = None,
) -> LyapunovRecord:
    """Return V and its rates along a run without a warning; `wanted` is q_des, qd_des, qdd_des.

    `plant` is (p,), or (N, p) for a plant that changes during the run, by picking something up.
    """
    actual = plant_parameters(law, terms)
    pi = actual.values if plant is None else np.asarray(plant, dtype=float)
    t = np.asarray(time, dtype=float)
    if t.ndim != 1 or len(t) < 2 or not (np.diff(t) > 0).all():
        raise TaupiError("{time} is {got!r}, expected two or more rising values.", got=time)
    if pi.shape not in ((len(actual),), (len(t), len(actual))):
        raise TaupiError(
            "{plant} has shape {got}, expected ({expected},): ten per link and the terms.",
            got=pi.shape,
            expected=len(actual),
        )
    changes = tuple((np.flatnonzero((np.diff(pi, axis=0) != 0).any(axis=1)) + 1).tolist()) if pi.ndim == 2 else ()
    estimate = Law.init(law, parameters).vector  # unchecked: a run that diverged may hold any values
    V, V_1, claimed, rate = lyapunov(law, terms)(q, qd, *wanted, estimate, pi)
    V = np.broadcast_to(V, t.shape)
    reasons = _reasons(law, pi if pi.ndim == 1 else pi[-1], actual, claimed, rate)
    if not np.isfinite(V).all():
        reasons += ("V is not finite: a state is not, or a body has no extent and the law measures bodies",)
    edges = (0, *changes, len(t))
    slopes = [np.gradient(V[a:b], t[a:b]) if b - a > 1 else np.full(b - a, np.nan) for a, b in pairwise(edges)]
    return LyapunovRecord(t, V, V_1, claimed, rate, np.concatenate(slopes), reasons, changes)


def _reasons(law: Law, pi: np.ndarray, plant: Parameters, claimed: np.ndarray, rate: np.ndarray) -> tuple[str, ...]:
    """Return why dV/dt may differ from the claim, as far as the law and the plant show it."""
    result = law.exceptions()
    missing = [n for n in plant.names if n not in law.choice().full.names]
    if missing:
        result.append(
            f"the plant has {', '.join(missing[:3])}{' ...' if len(missing) > 3 else ''}, which the law leaves out"
        )
    for i, name in enumerate(law.robot.link_names):
        low = smallest_eigenvalue(pi[law.robot.parameters.layout.link(i)].tolist())
        if low < -1e-9:
            result.append(
                f"the plant's {name} has a pseudo-inertia with eigenvalue {low:.2g}, so H may not be positive"
            )
    gap = float(np.abs(np.asarray(rate) - claimed).max() / max(1.0, float(np.abs(rate).max())))
    if gap > 1e-6:
        result.append(f"dV/dt differs from the claim by {gap:.2g} of its size")
    return tuple(result)


def convergence_rate(law: Law, ranges: RangeLike = None, tolerance: float = 1e-3, boxes: int = 2000) -> float:
    """Return r, 1/s, with dV_1/dt <= -r V_1 for exact parameters, V_1 = s^T H s / 2.

    These are Kubozono et al., eqs. 47-53, corrected by a factor of two. Walker's law has r = 2 gamma exactly. With a constant K
    it is 2 k / h, k the smallest eigenvalue of K and h a certain bound on the largest eigenvalue of H, rotors included.

    Args:
        law: The law.
        ranges: The joint range, as in `bounds`; by default the robot's limits.
        tolerance: Relative gap of h, by default 1e-3.
        boxes: Budget of h, by default 2000.

    Returns:
        The rate r.

    >>> import taupi as tp
    >>> tp.laws.convergence_rate(tp.Walker(tp.load("elbow2r"), gamma=4.0))
    8.0
    """

    def largest_inertia() -> float:
        rest = np.zeros(law.robot.nq)
        with_rotors, without = (mass_matrix(law.robot, terms=terms)(rest) for terms in (law.choice().terms, ()))
        of_rotors = float(np.max(np.diag(with_rotors - without), initial=0.0))
        return bounds(law.robot, ranges, tolerance, boxes)["mu2"].value + of_rotors

    return law.decay_rate(largest_inertia)
