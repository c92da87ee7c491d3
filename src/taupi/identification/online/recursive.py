"""Base parameters that are updated online: recursive least squares with a triangular square root of the covariance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import casadi as cs
import numpy as np

from taupi.dynamics.chain import Chain, joint_port
from taupi.dynamics.types import SX, ArrayLike, Expression, Vector
from taupi.identifiability.base_parameters import BaseParameters
from taupi.identification.online.component import Component, OnlineState
from taupi.identification.online.model import OnlineModel
from taupi.model.parameters import Parameters
from taupi.model.robot import Robot
from taupi.program.emitters.c_package import number_rows
from taupi.program.guard import MOST_RESULT, Guard, guarded, largest_like
from taupi.program.program import Constants, Port, Program, trace
from taupi.program.triangle_update import C_TEXT, update_triangle

# The row of a standing joint holds for any friction: below this |s| it says nothing.
_MOVES = 0.9
_NOTHING = 1e200  # the variance of a row that says nothing

_BODY = """    double Y[{n} * {b}], e[{n}], variance[{n}], grow, status, kept[{size}];
    {name}({inputs}, &dt, Y, e, variance, &grow, &status);
    memcpy(kept, c->state, sizeof kept);
    if (status == 0 && grow > 1) {name}_forget(c->state, grow);
    for (int j = 0; j < {n}; ++j) innovation[j] = status == 0 ? {name}_learn(c->state, Y + {b} * j, e[j], variance[j]) : 0.0;
    for (int i = 0; i < {size}; ++i) {{
        if (!(fabs(c->state[i]) <= {most}) && status == 0) status = {name}_refused_result;
        if (i < {b}) c->state[i] = fmin(fmax(c->state[i], -{name}_most[i]), {name}_most[i]);
    }}
    if (status != 0) {{
        memcpy(c->state, kept, sizeof kept);
        for (int j = 0; j < {n}; ++j) innovation[j] = 0.0;
    }}
    memcpy(parameters, c->state, {b} * sizeof *parameters);
    return (int)status;"""


@dataclass(frozen=True, eq=False)
class EstimatorState(OnlineState):
    """What a recursive estimator remembers.

    Attributes:
        vector: All of it (size,): the estimate x (b,), then the columns of the triangle S, with S S^T the covariance.
        count: The number of parameters b.
        innovation: Measured minus predicted torque of each joint (n,) before its row was learnt, N m or N; None at the start.
    """

    count: int = 0
    innovation: np.ndarray | None = None

    @property
    def values(self) -> np.ndarray:
        """The base parameters (b,)."""
        return self.vector[: self.count]

    @property
    def covariance(self) -> np.ndarray:
        """Their covariance (b, b)."""
        s = np.zeros((self.count, self.count))
        s.T[np.tril_indices(self.count)] = self.vector[self.count :]
        return s @ s.T

    @property
    def stderr(self) -> np.ndarray:
        """Their standard errors (b,)."""
        return np.sqrt(np.diag(self.covariance))


@dataclass(frozen=True, eq=False, repr=False)
class RecursiveLeastSquares(Component):
    """x += P y (tau - y^T x) / (R + y^T P y) for the row y of each joint, with P = S S^T kept as a triangle S (Carlson 1973).

    The covariance P stays symmetric and positive despite rounding. Old samples are forgotten: in dt, standard deviations grow
    by exp(dt / (2 seconds)), but none beyond its bound, so that parameters without excitation keep their values. While no joint
    moves nothing is learnt and nothing forgotten, and the row of a joint that stands is left out. R = noise^2 / (2 cutoff dt):
    samples are correlated up to the cutoff.

    Attributes:
        base: The base parameters, without friction that depends on load or bends with speed, which stays that of the model.
        model: The robot with numbers.
        values: The parameters (b,) to start from.
        factor: The upper triangle S (b, b) of their covariance to start from.
        bounds: The largest standard deviations (b,).
        seconds: How long a sample counts, s.
    """

    base: BaseParameters
    model: OnlineModel
    values: np.ndarray
    factor: np.ndarray
    bounds: np.ndarray
    seconds: float = 60.0
    name: ClassVar[str] = "estimator"
    title: ClassVar[str] = "recursive least squares estimator"
    meaning: ClassVar[str] = (
        "parameters: the base parameters; innovation: measured minus predicted torque (N m) or force (N)."
    )
    signals: ClassVar[tuple[str, ...]] = ("q", "qd", "qdd", "tau")
    results: ClassVar[tuple[str, ...]] = ("parameters", "innovation")

    @property
    def robot(self) -> Robot:
        """The robot whose parameters are estimated, with those to start from."""
        return self.model.robot

    @property
    def parameters(self) -> Parameters:
        """The base parameters, with their names and units."""
        return self.base.parameters

    # Sample by sample ---------------------------------------------------------------------------------------------

    def init(self) -> EstimatorState:
        """Return the state to start with: the parameters of the fit with their covariance."""
        return EstimatorState(self.start(), len(self.values))

    def step(
        self, state: EstimatorState, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, tau: ArrayLike, dt: float
    ) -> tuple[np.ndarray, EstimatorState]:
        """Return the base parameters after a sample, and the state that has learnt from it.

        Args:
            state: What `init` or the last `step` returned.
            q: Positions (n,), rad or m.
            qd: Velocities (n,), rad/s or m/s.
            qdd: Accelerations (n,), rad/s^2 or m/s^2.
            tau: The measured torque (n,), N m or N.
            dt: The time since the last sample, s.

        Returns:
            The base parameters (b,), and the next state.
        """
        self.check(state, dt, (q, qd, qdd, tau))
        y, e, variance, grow = self.program()(q, qd, qdd, tau, dt)
        vector = np.array(state.vector, dtype=float)
        innovation = update_triangle(vector, y, e, variance, self.bounds, float(grow))
        return vector[: len(self.values)].copy(), EstimatorState(vector, len(self.values), innovation)

    def over(self, seconds: np.ndarray, signals: Sequence[np.ndarray]) -> Mapping[str, np.ndarray]:
        """Return parameters (N, b), innovation (N, n) and "state" (N, size) after each sample, by name.

        `signals` are (N, n), and `seconds` (N,) is the time before each sample; the loops run in machine code.
        """
        y, e, variance, grow = self.program()(*signals, seconds)
        states, innovation = np.empty((len(seconds), self.size)), np.empty((len(seconds), self.robot.n))
        z = self.start()
        for k, factor in enumerate(grow.tolist()):
            innovation[k] = update_triangle(z, y[k], e[k], variance[k], self.bounds, factor)
            states[k] = z
        return {"parameters": states[:, : len(self.values)].copy(), "innovation": innovation, "state": states}

    # The programs -------------------------------------------------------------------------------------------------

    def program(self) -> Program:
        """Return the rows of a sample, Y (n, b), e (n,), their variance (n,), and grow, of (q, qd, qdd, tau, dt).

        grow is the factor exp(dt / (2 seconds)) by which standard deviations grow, or 1 while no joint moves.
        """
        return self._rows

    @cached_property
    def _rows(self) -> Program:
        constants, n, b = Constants(), self.robot.n, len(self.values)
        chain, regressor = Chain(self.robot, constants), self.base.regressor()
        cutoff = 1.0 if self.model.cutoff_hz is None else self.model.cutoff_hz
        noise = np.array(self.model.noise or (1.0,) * n)

        def body(
            q: Vector, qd: Vector, qdd: Vector, tau: Vector, dt: Expression
        ) -> tuple[SX, Vector, Vector, Expression]:
            y = regressor(q, qd, qdd)
            # What depends on load or bends with speed.
            beside = self.model.torque(chain, q, qd, qdd) - y @ cs.DM(self.values)
            moves = cs.fabs(self.model.dry_state(qd)) > _MOVES
            variance = cs.DM(noise**2) / cs.fmin(2 * cutoff * dt, 1.0)
            grow = cs.if_else(cs.mmax(moves) > 0, cs.exp(dt / (2 * self.seconds)), 1.0)
            return y, tau / self.model.factors - beside, cs.if_else(moves, variance, _NOTHING), grow

        ports = [*(joint_port(self.robot, name) for name in self.signals), Port("dt")]
        outputs = [Port("Y", (n, b)), Port("e", (n,)), Port("variance", (n,)), Port("grow")]
        return trace("estimator_rows", body, ports, outputs, constants)

    def start(self) -> np.ndarray:
        """Return the state (size,) that it starts with: the parameters, then the columns of the triangle."""
        b = len(self.values)
        return np.concatenate([self.values, *(self.factor[: j + 1, j] for j in range(b))])

    @cached_property
    def size(self) -> int:
        """The number of entries of the state."""
        b = len(self.values)
        return b + b * (b + 1) // 2

    # As C ---------------------------------------------------------------------------------------------------------

    @property
    def described_state(self) -> tuple[str, ...]:
        """What the entries of the state are, in words."""
        pairs = zip(self.parameters.names, self.parameters.units, strict=True)
        return (*(f"{name}, {unit}" for name, unit in pairs), "and on: S column by column, S S^T is the covariance")

    def emitted_outputs(self) -> Sequence[Port]:
        """Return the ports of the results in C."""
        return [Port("parameters", (len(self.values),)), Port("innovation", (self.robot.n,))]

    def emitted_programs(self, name: str) -> dict[str, tuple[Program, str]]:
        """Return the program behind a step in C, which is called `name`."""
        return {name: (self.emitted_step(), "the rows of a sample")}

    def guard(self) -> Guard:
        """Return the limits that emitted code keeps: what cannot be a sample is refused, and estimates stay within bounds."""
        most = np.full(self.size, np.inf)
        most[: len(self.values)] = largest_like(self.values, self.parameters.units)
        return replace(super().guard(), low=-most, high=most, largest=2 * _NOTHING)

    def emitted_step(self) -> Program:
        """Return the rows of a sample as emitted source has them: `program` within the limits of `guard`."""
        return guarded(self.program(), self.guard(), self.signals)

    def emitted_body(self) -> str:
        """Return the text of the step in C."""
        return _BODY.replace("{b}", str(len(self.values))).replace("{most}", repr(MOST_RESULT))

    def emitted_helpers(self, name: str) -> str:
        """Return the loops that learn a row, in C, for functions called `name`."""
        b = len(self.values)
        table = f"static const double {name}_bounds[{b}] = {{\n{number_rows(self.bounds[None])}\n}};"
        most = self.guard().high[:b]
        table += f"\nstatic const double {name}_most[{b}] = {{\n{number_rows(most[None])}\n}};"
        return f"#include <math.h>\n\n{table}\n\n{C_TEXT.format(name=name, b=b)}\n"

    def __repr__(self) -> str:
        b = len(self.values)
        total = self.program().operations.total + self.robot.n * (5 * b * (b + 1) // 2) + 3 * b * (b + 1) // 2
        return f"RecursiveLeastSquares of {self.robot.name}: {b} parameters, about {total} operations per step"


def upper_factor(covariance: np.ndarray) -> np.ndarray:
    """Return the upper triangle S with S S^T = P, for a symmetric P that may be singular.

    >>> s = upper_factor(np.array([[2.0, 1.0], [1.0, 1.0]]))
    >>> (s @ s.T).round(12).tolist(), float(s[1, 0])
    ([[2.0, 1.0], [1.0, 1.0]], 0.0)
    """
    values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    # P = root root^T, and root = S Q with Q orthogonal: the QR decomposition of the reversed transpose.
    triangle = np.asarray(np.linalg.qr(root[::-1].T, mode="r")).T[::-1, ::-1]
    signs = np.where(np.diag(triangle) < 0, -1.0, 1.0)
    return np.triu(triangle * signs)
