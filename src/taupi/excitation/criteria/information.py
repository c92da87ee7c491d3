"""The information of a motion, G = G0 + sum_k Y_k^T S^-1 Y_k, and the gradient of its criterion by one reverse sweep."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple, Protocol, runtime_checkable

import casadi as cs
import numpy as np

from taupi.dynamics.terms import Coulomb, Term
from taupi.dynamics.types import Expression
from taupi.errors import Argument, TaupiError
from taupi.excitation.criteria.criteria import Criterion
from taupi.identifiability.base_parameters import BaseParameters, base_parameters
from taupi.identifiability.conditioning import Conditioning, conditioning_of_factor, joint_facts
from taupi.identification.identify import build_problem
from taupi.identification.results.fit import Fit
from taupi.identification.results.fit_file import is_saved_fit, load_torque_fit
from taupi.model.robot import Robot
from taupi.program.ports import Port
from taupi.program.program import Program, trace
from taupi.signals.log import Log
from taupi.signals.read import LogLike

# rad/s (m/s): sgn has no derivative, so dry friction is designed with tanh(qd / this).
SMOOTH = 0.1


@runtime_checkable
class Informed(Protocol):
    """An experiment that is known by its information `information` (b, b) about base parameters, such as a design."""

    base: BaseParameters
    information: np.ndarray


class Gradient(NamedTuple):
    """A criterion and its derivatives with respect to q, qd, qdd (N, n)."""

    phi: float
    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray


def smoothed(terms: tuple[Term, ...]) -> tuple[Term, ...]:
    """Return terms with dry friction that has a derivative."""
    return tuple(Coulomb(velocity=SMOOTH) if isinstance(t, Coulomb) and not t.velocity else t for t in terms)


@dataclass(frozen=True, eq=False)
class InformationProgram:
    """The base regressor of a robot by its structural nonzeros, row by row, and the reverse sweep through it."""

    base: BaseParameters

    @cached_property
    def columns(self) -> tuple[np.ndarray, ...]:
        """For each row, the columns that are not zero at every state."""
        return tuple(np.flatnonzero(row) for row in self.base.regressor().sparsity())

    @cached_property
    def offsets(self) -> np.ndarray:
        """Where each row begins among the nonzeros, and where the last ends."""
        return np.concatenate([[0], np.cumsum([len(c) for c in self.columns])])

    @cached_property
    def nonzeros(self) -> Program:
        """The nonzeros y, row by row."""
        y = Port("y", (int(self.offsets[-1]),))
        return trace("regressor_nonzeros", self._entries, self.base.regressor().inputs, [y])

    @cached_property
    def adjoint(self) -> Program:
        """The gradient of sum a_i y_i with respect to q, qd and qdd, with a as a further input that is held constant."""
        inputs = self.base.regressor().inputs

        def swept(q: object, qd: object, qdd: object, a: object) -> object:
            weighted = cs.dot(a, self._entries(q, qd, qdd))
            return tuple(cs.densify(g) for g in cs.horzsplit(cs.gradient(weighted, cs.horzcat(q, qd, qdd))))

        a = Port("a", (int(self.offsets[-1]),))
        return trace("regressor_adjoint", swept, [*inputs, a], [Port(f"d{p.name}", p.shape) for p in inputs])

    def _entries(self, q: object, qd: object, qdd: object) -> Expression:
        matrix = cs.densify(self.base.regressor()(q, qd, qdd))
        return cs.vertcat(*(matrix[row, columns.tolist()].T for row, columns in enumerate(self.columns)))

    def conditioning(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> Conditioning:
        """Return what a log of a motion (N, n) determines, see `taupi.conditioning`."""
        entries = self.nonzeros.compile("numpy")(q, qd, qdd)
        stacked = np.zeros((len(self.columns), len(q), self.base.count))
        for k, columns in enumerate(self.columns):
            stacked[k][:, columns] = entries[:, self.offsets[k] : self.offsets[k + 1]]
        factor = np.asarray(np.linalg.qr(stacked.reshape(-1, self.base.count), mode="r"))
        facts = joint_facts(self.base.robot.joint_names, qd, qdd)
        return conditioning_of_factor(self.base.regressor(), len(q), factor, facts)


@lru_cache(maxsize=16)
def information_program(robot: Robot, terms: tuple[Term, ...]) -> InformationProgram:
    """Return the programs of a robot and its terms."""
    return InformationProgram(base_parameters(robot, terms=terms))


class Information:
    """The information about base parameters in motions, with noise of standard deviation `sigma` (n,) and `prior` G0 (b, b).

    `target` is what its programs are compiled for: "numpy" is cheapest for a single evaluation.
    """

    def __init__(
        self, program: InformationProgram, sigma: np.ndarray, prior: np.ndarray | None = None, target: str = "cpu"
    ) -> None:
        self.program, self.prior, self._target = program, prior, target
        self.weights = 1 / np.asarray(sigma, dtype=float) ** 2
        self._entries = program.nonzeros.compile(target)
        offsets = program.offsets
        self._rows = [
            (slice(a, b), columns, np.ix_(columns, columns), w)
            for a, b, columns, w in zip(offsets[:-1], offsets[1:], program.columns, self.weights, strict=True)
        ]

    @cached_property
    def _adjoint(self) -> Callable[..., np.ndarray]:
        return self.program.adjoint.compile(self._target)

    def matrix(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        """Return G (b, b) of a motion (N, n)."""
        return self._gathered(self._entries(q, qd, qdd))

    def _gathered(self, entries: np.ndarray) -> np.ndarray:
        b = self.program.base.count
        result = np.zeros((b, b)) if self.prior is None else self.prior.copy()
        for part, _, block, weight in self._rows:
            y = entries[:, part]
            result[block] += weight * (y.T @ y)
        return result

    def gradient(self, criterion: Criterion, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> Gradient | None:
        """Return a criterion and its derivatives along a motion, or None if G is singular.

        d phi = tr(Phi dG) = sum_k <A_k, dY_k> with A_k = 2 S^-1 Y_k Phi held constant: the gradient of one scalar.
        """
        entries = self._entries(q, qd, qdd)
        value = criterion(self._gathered(entries))
        if value is None:
            return None
        a = np.empty_like(entries)
        for part, _, block, weight in self._rows:
            np.matmul(entries[:, part], (2 * weight) * value.slope[block], out=a[:, part])
        return Gradient(value.phi, *self._adjoint(q, qd, qdd, a))


# Share of the effort limit, if nothing is known; without earlier logs, only ratios between joints matter.
USUAL_SHARE = 0.01


def noise_of(robot: Robot, sigma: object, effort: np.ndarray) -> tuple[np.ndarray, str]:
    """Return the standard deviation of each joint's torque (n,) at the rate of the design, and a sentence about it.

    `sigma` is a number, one per joint, or a `Fit`, whose residuals are used; by default 1 % of the effort limits.
    """
    if sigma is None:
        if not np.isfinite(effort).all():
            raise TaupiError(
                "{robot} has joints without an effort limit, from which the noise of torques would be taken.",
                remedy="Give {sigma=...}, one number per joint in N m, or {limits}.",
                robot=robot.name,
                limits=Argument("limits", {"effort": "..."}),
            )
        return USUAL_SHARE * effort, f"Noise of torques: {USUAL_SHARE:.0%} of the effort limits is assumed."
    if isinstance(sigma, Fit):
        noise = {j.name: j.noise for j in sigma.joints}
        missing = [name for name in robot.joint_names if not noise.get(name, 0.0) > 0]
        if missing:
            raise TaupiError("{sigma}: the fit has no noise of {missing:,}.", missing=missing)
        return np.array(
            [noise[name] for name in robot.joint_names]
        ), f"Noise of torques: the residuals of the fit of {sigma.robot.name}."
    return stated_noise(robot, sigma), "Noise of torques: as given."


def stated_noise(robot: Robot, sigma: object) -> np.ndarray:
    """Return the standard deviation of the noise of each joint (n,) from a number, or one per joint."""
    try:
        values = np.broadcast_to(np.asarray(sigma, dtype=float), (robot.n,)).copy()
    except (TypeError, ValueError):
        raise TaupiError(
            "{sigma} is {got!r}, expected a number, or {n}: one per joint.", got=sigma, n=robot.n
        ) from None
    if not (values > 0).all() or not np.isfinite(values).all():
        raise TaupiError("{sigma} is {got!r}, expected finite numbers above 0.", got=sigma)
    return values


def earlier_information(
    robot: Robot, terms: tuple[Term, ...], earlier: Any, sigma: np.ndarray, rate_hz: float
) -> np.ndarray | None:
    """Return G0 (b, b), the information in earlier experiments: logs, paths of logs or fits, fits, or designs.

    Noise is white: at another rate than that of the design its variance is larger or smaller in proportion.
    """
    if earlier is None:
        return None
    items = list(earlier) if isinstance(earlier, Sequence) and not isinstance(earlier, str) else [earlier]
    base = base_parameters(robot, terms=terms)
    total, logs = np.zeros((base.count, base.count)), list[LogLike]()
    for one in items:
        saved = isinstance(one, str | os.PathLike) and is_saved_fit(one)
        item = load_torque_fit(one) if saved else one
        if isinstance(item, Fit):
            total += _of_fit(base, item)
        elif isinstance(item, Informed):
            total += _aligned(base, item.base, item.information)
        elif isinstance(item, Log | str | os.PathLike):
            logs.append(item)
        else:
            raise TaupiError("{given} is {got!r}, expected logs, paths, fits, or excitations.", got=item)
    return total + _of_logs(robot, base, logs, sigma, rate_hz) if logs else total


def _of_logs(robot: Robot, base: BaseParameters, logs: list[LogLike], sigma: np.ndarray, rate_hz: float) -> np.ndarray:
    problem = build_problem(robot, logs, terms=base.terms, elastic=False)
    total = np.zeros((base.count, base.count))
    for factor in problem.factors:
        rate = problem.records[factor.file].rate_hz
        rows = factor.r[:, :-1] / sigma[factor.joint]
        total += (rows.T @ rows) * (rate_hz / rate)
    return _aligned(base, problem.base, total)


def _of_fit(base: BaseParameters, fit: Fit) -> np.ndarray:
    seen = ~np.asarray(fit.undetermined)
    information = np.zeros(fit.covariance.shape)
    information[np.ix_(seen, seen)] = np.linalg.inv(fit.covariance[np.ix_(seen, seen)])
    return _aligned(base, fit.basis, information)


def _aligned(base: BaseParameters, other: BaseParameters, information: np.ndarray) -> np.ndarray:
    if other.names != base.names:
        raise TaupiError(
            "{given} is about other base parameters: {count} of {robot} with the terms {other_terms}, "
            "expected {expected} of {robot_name}.",
            remedy="Use the same {terms}.",
            count=other.count,
            robot=other.robot.name,
            other_terms=", ".join(t.name for t in other.terms) or "none",
            expected=base.count,
            robot_name=base.robot.name,
        )
    return information
