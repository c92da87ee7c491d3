"""Inverse dynamics by one of three algorithms, with friction, tip wrench and disturbance; its gravity and velocity terms."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from taupi.dynamics.chain import Chain, mass_builder, trace_robot
from taupi.dynamics.closed_form import closed_form
from taupi.dynamics.contacts import checked_frames, tip_ports, tip_torque, wrench_ports, wrench_torque
from taupi.dynamics.energy import kinetic, potential
from taupi.dynamics.imu_form import (
    base_ports,
    full_acceleration,
    full_position,
    full_velocity,
    is_imu,
    joint_ports,
    weightless,
)
from taupi.dynamics.joint_frames import newton_euler
from taupi.dynamics.spatial import bracket
from taupi.dynamics.terms import TermsLike, resolve_terms, term_torque, transmitted_torque
from taupi.dynamics.types import SX, Vector
from taupi.errors import Argument, TaupiError, unknown
from taupi.model.robot import Robot
from taupi.program.casadi_on_use import cs
from taupi.program.program import Port, Program


def lagrange(chain: Chain, q: Vector, qd: Vector, qdd: Vector) -> Vector:
    """Return tau = d/dt (dK/dqd) - dK/dq + dP/dq (Gabiccini et al. 2009, eq. 4, 5).

    For the velocities of free and ball joints dK/dq is the derivative along each of them, and -ad(v)^T dK/dv is added
    (Poincare's equations).
    """
    # Fresh symbols, since the caller's may be expressions.
    x, v = SX.sym("x", chain.robot.nq), SX.sym("v", chain.n)
    energy, height = kinetic(chain, x, v), potential(chain, x)
    momentum = cs.gradient(energy, v)
    change = cs.jtimes(momentum, x, chain.rate(x, v)) + cs.jtimes(momentum, v, qdd)
    torque = change - chain.gradient(energy, x) + chain.gradient(height, x)
    for joint in chain.robot.multiple_joints:
        own = slice(joint.coordinate, joint.coordinate + joint.dof)
        twist = cs.vertcat(v[own], SX.zeros(6 - joint.dof))
        torque[own] -= (bracket(twist).T)[: joint.dof, : joint.dof] @ momentum[own]
    return cs.substitute(torque, cs.vertcat(x, v), cs.vertcat(q, qd))


ALGORITHMS: dict[str, Callable[..., Vector]] = {
    "recursive": newton_euler,
    "closed_form": closed_form,
    "lagrange": lagrange,
}


@mass_builder
def inverse_dynamics(
    robot: Robot,
    terms: TermsLike = (),
    algorithm: str = "recursive",
    tip_wrench: str | None = None,
    frame: str = "tip",
    disturbance: bool = False,
    base: str = "pose",
    wrenches: Sequence[str] = (),
    points: Sequence[str] = (),
    axes: str = "body",
) -> Program:
    """Return tau(q, qd, qdd) = M qdd + C qd + g + friction + tau_dist + J^T F_tip of `robot`, in N m or N (equations.md, D1).

    Args:
        robot: The robot, n velocities.
        terms: The robot's own friction and drives to add, by name ("viscous", "coulomb", "offset", "rotor", "stribeck", "load")
            or as objects; none by default. Terms of joints that follow others act by virtual work.
        algorithm: "recursive" Newton-Euler (the default), the stacked "closed_form", or "lagrange", from the energies.
        tip_wrench: Adds an input `f_tip` (6,), the wrench (moment in N m, force in N) that `frame` applies to its surroundings,
            in the axes of the Jacobian that it names: "body", "geometric" or "spatial". None, the default, adds nothing.
        frame: The frame of the tip wrench, "tip" by default.
        disturbance: Adds an input `tau_dist` (n,), N m or N; False by default.
        base: "pose" (the default) or, of a floating robot, "imu": tau(w, wd, a, q, qd, qdd) from the readings of gyroscope and
            accelerometer at the root frame's origin and from the joints, without pose and linear velocity.
        wrenches: Names of frames, each of which adds an input `f_<frame>` (6,), the wrench (moment, force) that it applies to its
            surroundings; none by default.
        points: Names of frames that apply only a force (3,); none by default.
        axes: The axes of `wrenches` and `points`: "body" (the default), "geometric" or "spatial".

    Returns:
        A program with the output tau (n,).

    >>> import taupi as tp
    >>> arm = tp.load("lecture2r").bind(L1=1, L2=1, m1=1, m2=1, g=10)
    >>> tp.inverse_dynamics(arm)([0.0, 0.0], [0.0, 0.0], [0.0, 0.0]).tolist()
    [30.0, 10.0]
    """
    if algorithm not in ALGORITHMS:
        raise unknown(Argument("algorithm"), algorithm, ALGORITHMS)
    robot.frame(frame)
    chosen, imu = resolve_terms(terms), is_imu(robot, base)
    inputs: list[str | Port] = ["q", "qd", "qdd"]
    if imu:
        inputs = [*base_ports(robot, "w", "wd", "a"), *joint_ports(robot, "q", "qd", "qdd")]
        if tip_wrench in ("geometric", "spatial"):
            raise TaupiError(
                "{tip_wrench} is {got!r}, in world axes, which the IMU form does not know.",
                remedy="Use {tip_wrench='body'}.",
                got=tip_wrench,
            )
    checked_frames(robot, wrenches, points, axes)
    if imu and axes != "body" and (wrenches or points):
        raise TaupiError(
            "{axes} is {got!r}, world axes, which the IMU form does not know.",
            remedy="Use {axes='body'}.",
            got=axes,
        )
    inputs += tip_ports(tip_wrench)
    inputs += wrench_ports(wrenches, points)
    inputs += ["tau_dist"] if disturbance else []

    def from_imu(
        chain: Chain, w: Vector, wd: Vector, a: Vector, q: Vector, qd: Vector, qdd: Vector, *x: Vector
    ) -> Vector:
        return body(chain, full_position(q), full_velocity(w, qd), full_acceleration(wd, a, qdd), *x)

    def body(chain: Chain, q: Vector, qd: Vector, qdd: Vector, *more: Vector) -> Vector:
        tau, rest = ALGORITHMS[algorithm](chain, q, qd, qdd), list(more)
        if tip_wrench:
            tau = tau + tip_torque(chain, q, rest.pop(0), frame, tip_wrench)
        count = len(wrenches) + len(points)
        if count:
            tau = tau + wrench_torque(chain, q, rest[:count], wrenches, points, axes)
            rest = rest[count:]
        if disturbance:
            tau = tau + rest.pop(0)
        load = transmitted_torque(chain, chosen, tau, q, qd, qdd)
        return tau + term_torque(chain, chosen, q, qd, qdd, load)

    outputs = [Port("tau", (robot.n,))]
    if imu:
        return trace_robot("inverse_dynamics", weightless(robot), from_imu, inputs, outputs)
    return trace_robot("inverse_dynamics", robot, body, inputs, outputs)


@mass_builder
def gravity_torque(robot: Robot) -> Program:
    """Return g(q) = dP/dq, the torque that holds `robot` still: its inverse dynamics at rest (equations.md, D15).

    Args:
        robot: The robot, n velocities.

    Returns:
        A program of q with the output g (n,), N m or N.

    >>> import taupi as tp
    >>> q = [0, 0.7853981633974483, 3.141592653589793, 0, 0.7853981633974483, 0]
    >>> (tp.gravity_torque(tp.load("puma560"))(q).round(4) + 0.0).tolist()
    [0.0, 31.6399, 6.0351, 0.0, 0.0283, 0.0]
    """

    def body(chain: Chain, q: Vector) -> Vector:
        rest = SX.zeros(chain.n)
        return newton_euler(chain, q, rest, rest)

    return trace_robot("gravity_torque", robot, body, ["q"], [Port("g", (robot.n,))])


@mass_builder
def bias_torque(robot: Robot, terms: TermsLike = ()) -> Program:
    """Return b(q, qd) = C qd + g + friction, the torque of a motion of `robot` without acceleration (equations.md, D15).

    Args:
        robot: The robot, n velocities.
        terms: The robot's own friction and drives, as in `inverse_dynamics`; none by default.

    Returns:
        A program with the output b (n,), N m or N.

    >>> import taupi as tp
    >>> arm = tp.load("puma560")
    >>> q, qd, qdd = [0.1] * 6, [0.2] * 6, [0.3] * 6
    >>> tau = tp.mass_matrix(arm)(q) @ qdd + tp.bias_torque(arm)(q, qd)
    >>> bool(abs(tau - tp.inverse_dynamics(arm)(q, qd, qdd)).max() < 1e-12)
    True
    """
    chosen = resolve_terms(terms)

    def body(chain: Chain, q: Vector, qd: Vector) -> Vector:
        rest = SX.zeros(chain.n)
        tau = newton_euler(chain, q, qd, rest)
        return tau + term_torque(chain, chosen, q, qd, rest, transmitted_torque(chain, chosen, tau, q, qd, rest))

    return trace_robot("bias_torque", robot, body, ["q", "qd"], [Port("b", (robot.n,))])
