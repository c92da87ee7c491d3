"""The regressors as programs: classical and Slotine-Li, by either algorithm; of the momentum; and the reference motion."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext

import numpy as np

from taupi.dynamics.chain import Chain, builder, joint_port, trace_robot
from taupi.dynamics.imu_form import (
    base_ports,
    full_acceleration,
    full_position,
    full_velocity,
    is_imu,
    joint_ports,
    weightless,
)
from taupi.dynamics.terms import Load, TermsLike, resolve_terms, term_columns, term_parameters
from taupi.dynamics.types import SX, ArrayLike, Matrix, Vector
from taupi.errors import Argument, TaupiError, unknown
from taupi.model.robot import Robot
from taupi.program.casadi_on_use import cs
from taupi.program.program import Port, Program
from taupi.progress import counted
from taupi.regressors.recursive import link_regressor

# Blocks of ten entries that are written out; 100 joints in a row have 5050.
_MOST_BLOCKS = 5050
_SLOW_BLOCKS = 500  # with more, tracing takes over a second, and a terminal shows a line
ALGORITHMS = ("recursive", "lagrangian")


def _algorithm(name: str, robot: Robot) -> Callable[..., Matrix]:
    """Return the function with which the columns of the links of a `robot` are computed."""
    if name not in ALGORITHMS:
        raise unknown(Argument("algorithm"), name, ALGORITHMS)
    if name == "recursive":
        return link_regressor
    from taupi.regressors.lagrangian import lagrangian_regressor, require_lagrangian

    require_lagrangian(robot)
    return lagrangian_regressor


def _regressor(
    robot: Robot,
    name: str,
    terms: TermsLike,
    columns: tuple[str, ...] | str | None,
    algorithm: str,
    reference: bool,
    base: str,
) -> Program:
    blocks = _blocks(robot)
    chosen = resolve_terms(terms)
    parameters = robot.parameters + term_parameters(robot, chosen)
    links = _algorithm(algorithm, robot)

    def body(chain: Chain, q: Vector, qd: Vector, *more: Vector) -> Matrix:
        qrd, qrdd = more if reference else (qd, more[0])
        load = more[1] if loaded else None
        columns = links(chain, q, qd, qrd, qrdd)
        return cs.horzcat(columns, term_columns(chain, chosen, q, qrd, qrdd, load))

    loaded = not reference and any(isinstance(t, Load) for t in chosen)
    outputs = [Port("Y", (robot.n, len(parameters)))]
    with counted(f"{name} of {robot.n} joints", None) if blocks > _SLOW_BLOCKS else nullcontext():
        if is_imu(robot, base):
            from_imu, ports = _imu_form(robot, body, reference)
            ports += [joint_port(robot, "load")] if loaded else []
            program = trace_robot(name, weightless(robot), from_imu, ports, outputs, parameters)
        else:
            inputs = ["q", "qd", "qrd", "qrdd"] if reference else ["q", "qd", "qdd", *(["load"] if loaded else [])]
            program = trace_robot(name, robot, body, inputs, outputs, parameters)
    return program if columns is None else program.select(columns)


def _imu_form(robot: Robot, body: Callable[..., Matrix], reference: bool) -> tuple[Callable[..., Matrix], list[Port]]:
    """Return a regressor's `body` as a function of what an inertial measurement unit reads, and its inputs."""

    def classical(chain: Chain, w: Vector, wd: Vector, a: Vector, q: Vector, qd: Vector, *more: Vector) -> Matrix:
        velocity = full_velocity(w, qd)
        return body(chain, full_position(q), velocity, full_acceleration(wd, a, more[0]), *more[1:])

    def of_reference(chain: Chain, w: Vector, wr: Vector, wrd: Vector, ar: Vector, *joints: Vector) -> Matrix:
        q, qd, qrd, qrdd = joints
        velocities = full_velocity(w, qd), full_velocity(wr, qrd)
        return body(chain, full_position(q), *velocities, full_acceleration(wrd, ar, qrdd))

    if reference:
        return of_reference, [*base_ports(robot, "w", "wr", "wrd", "ar"), *joint_ports(robot, "q", "qd", "qrd", "qrdd")]
    return classical, [*base_ports(robot, "w", "wd", "a"), *joint_ports(robot, "q", "qd", "qdd")]


def _blocks(robot: Robot) -> int:
    """Return how many blocks of ten entries Y has: one per link and joint that moves it. Too many are refused at once."""
    depths: list[int] = []
    for joint in robot.joints:
        depths.append(1 + (depths[joint.parent] if joint.parent >= 0 else 0))
    blocks = sum(depths)
    if blocks > _MOST_BLOCKS:
        raise TaupiError(
            "The regressor of {robot} has {got} entries, too many to write out one by one, expected at "
            "most {expected}: that of 100 joints in a row takes minutes.",
            remedy=(
                "tau = Y pi itself grows only linearly with the number of joints: use "
                "taupi.inverse_dynamics(robot). Or describe a part of the robot: {lock=['...']} or "
                "{tip='...'} of taupi.load."
            ),
            robot=robot.name,
            got=10 * blocks,
            expected=10 * _MOST_BLOCKS,
        )
    return blocks


@builder
def regressor(
    robot: Robot,
    terms: TermsLike = (),
    columns: tuple[str, ...] | str | None = None,
    algorithm: str = "recursive",
    base: str = "pose",
) -> Program:
    """Return the classical regressor Y(q, qd, qdd) of `robot`, n x p, with tau = Y pi (Gabiccini et al. 2009, eq. 6, 29-34).

    pi has ten parameters per link (`robot.parameters`), then one per joint for each of the terms, term after term.

    Args:
        robot: The robot. A floating one has q (n + 1,), with the position and the quaternion (x, y, z, w) of its base, and
            n = 6 + joints rows, the moment and the force on the base before the joints' torques.
        terms: Friction and drives, by name ("viscous", "coulomb", "offset", "rotor", ...) or as objects; none by default.
            With "load", Y has one more input, `load` (n,): the torque, N m or N, that the gears transmit, which is Y pi without
            friction and offsets.
        columns: The parameters whose columns are kept, by name or pattern ("link2.m", "*.mx", "link3.*"); None, the default,
            keeps all.
        algorithm: "recursive" (the default), or "lagrangian", the explicit route of Gabiccini et al. (2009).
        base: How the motion of a floating base is given: "pose" (the default), or "imu" for Y(w, wd, a, q, qd, qdd), with the
            angular velocity (rad/s) and acceleration (rad/s^2) of the base and what an accelerometer at its origin reads
            (m/s^2), in its own axes.

    Returns:
        The program Y of (q, qd, qdd), each (..., n) in rad or m and s, with results (..., n, p); `Y.parameters` names its columns
        and holds the robot's values.

    Raises:
        TaupiError: If an argument is unknown, or Y has too many entries to be written out one by one.

    >>> import taupi as tp
    >>> Y = tp.regressor(tp.load("elbow2r"), terms=("viscous",))
    >>> Y([0.1, 0.2], [0.3, 0.4], [0.5, 0.6]).shape
    (2, 22)
    >>> Y.parameters.names[-2:]
    ('shoulder.viscous', 'elbow.viscous')
    """
    return _regressor(robot, "regressor", terms, columns, algorithm, reference=False, base=base)


@builder
def slotine_li_regressor(
    robot: Robot,
    terms: TermsLike = (),
    columns: tuple[str, ...] | str | None = None,
    algorithm: str = "recursive",
    base: str = "pose",
) -> Program:
    """Return Slotine and Li's regressor Y_r(q, qd, qrd, qrdd) of `robot`, n x p: Y_r pi = M qrdd + C(q, qd) qrd + g.

    C is the Christoffel matrix, so that dM/dt - 2C is skew-symmetric (Gabiccini et al. 2009, eq. 36, 55-59). For a free or ball
    joint it is the factor of the Levi-Civita connection, the polarised form and M [qd, qrd] / 2.

    Args:
        robot: The robot.
        terms: Friction and drives as in `regressor`, none by default. They are taken at the reference velocity and acceleration,
            so that friction that grows with speed adds damping.
        columns: The parameters whose columns are kept, by name or pattern; None, the default, keeps all.
        algorithm: "recursive" (the default) or "lagrangian".
        base: How the motion of a floating base is given: "pose" (the default), or "imu" for Y_r(w, wr, wrd, ar, q, qd, qrd,
            qrdd), with ar = vrd + w x vr - R^T g.

    Returns:
        The program Y_r of (q, qd, qrd, qrdd), each (..., n) in rad or m and s, with results (..., n, p); its `parameters` name
        the columns.

    >>> import taupi as tp
    >>> arm = tp.load("elbow2r")
    >>> q, qd, qdd = [0.1, 0.2], [0.3, 0.4], [0.5, 0.6]
    >>> bool(abs(tp.slotine_li_regressor(arm)(q, qd, qd, qdd) - tp.regressor(arm)(q, qd, qdd)).max() < 1e-14)
    True
    """
    return _regressor(robot, "slotine_li_regressor", terms, columns, algorithm, reference=True, base=base)


@builder
def momentum_regressor(robot: Robot) -> Program:
    """Return Y_p(q, qd) of `robot`, n x p, with the momentum M qd = Y_p pi.

    It is the regressor without gravity, at zero velocity and the acceleration qd; kinetic energy is qd^T Y_p pi / 2.

    Args:
        robot: The robot.

    Returns:
        The program Y_p of (q, qd), with results (..., n, p). The first six rows of a floating robot are its momentum (angular,
        linear) about the root frame's origin, in that frame's axes.

    >>> import taupi as tp
    >>> arm = tp.load("puma560")
    >>> q, qd = [0.1] * 6, [0.2] * 6
    >>> p = tp.floating.momentum_regressor(arm)(q, qd) @ arm.parameters.values
    >>> bool(abs(p - tp.mass_matrix(arm)(q) @ qd).max() < 1e-12)
    True
    """

    def body(chain: Chain, q: Vector, qd: Vector) -> Matrix:
        still = SX.zeros(chain.n)
        return link_regressor(chain, q, still, still, qd)

    outputs = [Port("Y", (robot.n, len(robot.parameters)))]
    return trace_robot("momentum_regressor", weightless(robot), body, ["q", "qd"], outputs, robot.parameters)


def reference_motion(
    q: ArrayLike, qd: ArrayLike, q_des: ArrayLike, qd_des: ArrayLike, qdd_des: ArrayLike, Lambda: ArrayLike = 1.0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return qrd = qd_des - Lambda (q - q_des), qrdd = qdd_des - Lambda (qd - qd_des) and s = qd - qrd.

    These are the reference velocity, the reference acceleration and the sliding variable (Kubozono et al., eq. 29, 30).

    Args:
        q: The positions (..., n), rad or m.
        qd: The velocities (..., n), rad/s or m/s.
        q_des: The positions (..., n) to follow.
        qd_des: The velocities (..., n) to follow.
        qdd_des: The accelerations (..., n) to follow, rad/s^2 or m/s^2.
        Lambda: A positive number, one per joint (n,), or a matrix (n, n) whose eigenvalues have positive real parts; 1/s, 1 by
            default.

    Returns:
        qrd, qrdd and s, each (..., n).

    >>> qrd, qrdd, s = reference_motion([0.1], [0.0], [0.0], [1.0], [0.0], Lambda=5.0)
    >>> qrd.tolist(), qrdd.tolist(), s.tolist()
    ([0.5], [5.0], [-0.5])
    """
    gain = np.asarray(Lambda, dtype=float)
    positive = np.linalg.eigvals(gain).real if gain.ndim == 2 else gain
    if gain.ndim > 2 or not np.all(positive > 0):
        raise TaupiError("{Lambda} is {got!r}, expected positive: a number, one per joint, or a matrix.", got=Lambda)
    q, qd, q_des, qd_des, qdd_des = (np.asarray(x, dtype=float) for x in (q, qd, q_des, qd_des, qdd_des))
    error, rate = q - q_des, qd - qd_des
    if gain.ndim == 2:
        error, rate = error @ gain.T, rate @ gain.T
    else:
        error, rate = gain * error, gain * rate
    qrd = qd_des - error
    return qrd, qdd_des - rate, qd - qrd
