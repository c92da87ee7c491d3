"""Closed-form Newton-Euler: the matrices of all links stacked, for a fixed or moving base."""

from __future__ import annotations

from dataclasses import dataclass

from taupi.checks import truth
from taupi.dynamics.chain import Chain, mass_builder, trace_robot
from taupi.dynamics.spatial import adjoint, bracket, inverse
from taupi.dynamics.types import SX, Matrix, Vector
from taupi.model.robot import BASE, Robot
from taupi.program.casadi_on_use import cs
from taupi.program.program import Port, Program


@dataclass(frozen=True)
class StackedMatrices:
    """The stacked matrices A (6n x n), G, W, L = (I - W)^-1 (6n x 6n), E = Ad(T_i0) of the roots (6n x 6) (equations.md, D11)."""

    screws: Matrix  # A
    inertia: Matrix  # G
    carry: Matrix  # W
    transfer: Matrix  # L
    root: Matrix  # E


def stacked(chain: Chain, q: Vector) -> StackedMatrices:
    """Return the stacked matrices; block (i, parent) of W is Ad(T_ip), and L follows from it block row by block row."""
    joints = chain.places(q)
    x = [adjoint(*inverse(*chain.placement(i, joints[i]))) for i in range(chain.links)]
    n, empty = chain.links, SX(6, 6)
    carry = [[empty] * n for _ in range(n)]
    transfer = [[empty] * n for _ in range(n)]
    root = [empty] * n
    for i, joint in enumerate(chain.robot.joints):
        transfer[i][i] = SX.eye(6)
        if joint.parent == BASE:
            root[i] = x[i]
            continue
        carry[i][joint.parent] = x[i]
        for j in chain.robot.path(joint.parent):
            transfer[i][j] = x[i] @ transfer[joint.parent][j]
    joint_screws = cs.diagcat(*(chain.screw(i) for i in range(n)))
    screws = chain.gather(chain.split(joint_screws.T)).T  # a column per coordinate: what follows it moves with it
    inertia = cs.diagcat(*(chain.inertia(i) for i in range(n)))
    return StackedMatrices(screws, inertia, cs.blockcat(carry), cs.blockcat(transfer), cs.vertcat(*root))


def _brackets(twists: Vector, n: int) -> Matrix:
    return cs.diagcat(*(bracket(twists[6 * i : 6 * i + 6]) for i in range(n)))


@dataclass(frozen=True)
class StackedMotion:
    """The twists V, their rates Vd and the wrenches F of all links, stacked (6n each), and the torque of the coordinates."""

    twists: Vector
    accelerations: Vector
    wrenches: Vector
    torque: Vector


def closed_form(chain: Chain, q: Vector, qd: Vector, qdd: Vector) -> Vector:
    """Return tau by the stacked equations, without recursion, on a fixed base (equations.md, D12)."""
    return stacked_motion(chain, q, qd, qdd).torque


def stacked_motion(
    chain: Chain,
    q: Vector,
    qd: Vector,
    qdd: Vector,
    base_twist: Vector | None = None,
    base_acceleration: Vector | None = None,
    tip: Vector | None = None,
) -> StackedMotion:
    """Return V, Vd, F and tau by the stacked equations, without recursion (equations.md, D12, D13).

    V = L (A qd + E V_0),  Vd = L (A qdd - adA (W V + E V_0) + E Vd_0),  F = L^T (G Vd - adV^T G V + F_tip),  tau = A^T F.
    The base moves with the twist V_0 = `base_twist` and the acceleration `base_acceleration`, by default not at all; gravity
    enters as Vd_0 = (0, -g). `tip` is F_tip, stacked: wrenches on the surroundings in the links' own frames.
    """
    s = stacked(chain, q)
    v0 = SX.zeros(6) if base_twist is None else base_twist
    vd0 = cs.vertcat(SX.zeros(3), -chain.gravity)
    if base_acceleration is not None:
        vd0 = vd0 + base_acceleration
    a_qd = s.screws @ qd
    v = s.transfer @ (a_qd + s.root @ v0)
    ad_a, ad_v = _brackets(a_qd, chain.links), _brackets(v, chain.links)
    vd = s.transfer @ (s.screws @ qdd - ad_a @ (s.carry @ v + s.root @ v0) + s.root @ vd0)
    own = s.inertia @ vd - ad_v.T @ s.inertia @ v
    f = s.transfer.T @ (own if tip is None else own + tip)
    return StackedMotion(v, vd, f, s.screws.T @ f)


def _stacked_tip(chain: Chain, wrench: Vector, frame: str) -> Vector:
    """Return a wrench of `frame`, given in its own axes, stacked in the links' frames: Ad^T F at the link that carries it."""
    link, fixed = chain.frame(frame)
    blocks = [SX.zeros(6) for _ in range(chain.links)]
    if link != BASE:
        blocks[link] = adjoint(*inverse(*fixed)).T @ wrench
    return cs.vertcat(*blocks)


def closed_mass_matrix(chain: Chain, q: Vector) -> Matrix:
    """Return M = A^T L^T G L A (equations.md, D11)."""
    s = stacked(chain, q)
    la = s.transfer @ s.screws
    return la.T @ s.inertia @ la


def closed_mass_derivative(chain: Chain, q: Vector, qd: Vector) -> Matrix:
    """Return dM/dt = -A^T L^T W^T adA^T L^T G L A - A^T L^T G L adA W L A (equations.md, D14)."""
    s = stacked(chain, q)
    la = s.transfer @ s.screws
    ad_a = _brackets(s.screws @ qd, chain.links)
    half = la.T @ s.inertia @ s.transfer @ ad_a @ s.carry @ la
    return -half.T - half


def both_sides(chain: Chain, joints: Matrix) -> Matrix:
    """Return the n x n matrix of the coordinates from the matrix of the joints, gathering its rows and its columns."""
    rows = chain.gather(chain.split(joints))
    return chain.gather(chain.split(rows.T)).T


@mass_builder
def newton_euler_matrices(robot: Robot) -> Program:
    """Return the stacked matrices A, G, W, L of `robot` as functions of q, with M = A^T L^T G L A (equations.md, D11).

    Args:
        robot: The robot, n velocities and k links.

    Returns:
        A program of q (n,) with the outputs A (6k, n), G, W and L (6k, 6k).

    >>> import taupi as tp
    >>> A, G, W, L = tp.closed_form.newton_euler_matrices(tp.load("lecture2r"))([0.1, 0.2])
    >>> A.shape, G.shape, W.shape, L.shape
    ((12, 2), (12, 12), (12, 12), (12, 12))
    """
    n = len(robot.links)

    def body(chain: Chain, q: Vector) -> tuple[Matrix, ...]:
        s = stacked(chain, q)
        return s.screws, s.inertia, s.carry, s.transfer

    square = (6 * n, 6 * n)
    outputs = [
        Port("A", (6 * n, robot.n)),
        Port("G", square),
        Port("W", square),
        Port("L", square),
    ]
    return trace_robot("newton_euler_matrices", robot, body, ["q"], outputs)


_BASE_INPUTS: tuple[str | Port, ...] = ("q", "qd", "qdd", Port("V0", (6,)), Port("Vd0", (6,)))
_TIP = Port("f_tip", (6,), ("nx", "ny", "nz", "fx", "fy", "fz"), "moment, then force")


def _moving(chain: Chain, frame: str | None, state: tuple[Vector, ...]) -> StackedMotion:
    q, qd, qdd, twist, acceleration, *wrench = state
    tip = None if frame is None else _stacked_tip(chain, wrench[0], frame)
    return stacked_motion(chain, q, qd, qdd, twist, acceleration, tip)


@mass_builder
def newton_euler_motion(robot: Robot, tip_wrench: bool = False, frame: str = "tip") -> Program:
    """Return V, Vd, F (6n) and tau (n) of (q, qd, qdd, V0, Vd0) for a `robot`, all links stacked (equations.md, D12, D13).

    V are the twists of the links in their own frames, Vd their rates, with gravity in them as an acceleration of the base, F the
    wrenches that reach a link through its joint, and tau = A^T F. The base moves as in `moving_base_dynamics`.

    Args:
        robot: The robot, n velocities and k links.
        tip_wrench: Adds a last input f_tip (6,): the wrench (moment in N m, force in N) that `frame` applies to its
            surroundings, in its own axes; False by default.
        frame: The frame of the tip wrench, "tip" by default.

    Returns:
        A program with the outputs V, Vd, F (6k,) and tau (n,).

    >>> import taupi as tp
    >>> arm, zero = tp.load("lecture2r"), [0.0] * 6
    >>> V, Vd, F, tau = tp.closed_form.newton_euler_motion(arm)([0.1, 0.2], [1.0, 0.0], [0.0, 0.0], zero, zero)
    >>> V.shape, V[:3].tolist(), bool(abs(tau - tp.bias_torque(arm)([0.1, 0.2], [1.0, 0.0])).max() < 1e-12)
    ((12,), [0.0, 0.0, 1.0], True)
    """
    robot.frame(frame)
    inputs = [*_BASE_INPUTS, *([_TIP] if truth("tip_wrench", tip_wrench) else [])]

    def body(chain: Chain, *state: Vector) -> tuple[Vector, ...]:
        motion = _moving(chain, frame if tip_wrench else None, state)
        return motion.twists, motion.accelerations, motion.wrenches, motion.torque

    stack = (6 * len(robot.links),)
    outputs = [Port("V", stack), Port("Vd", stack), Port("F", stack), Port("tau", (robot.n,))]
    return trace_robot("newton_euler_motion", robot, body, inputs, outputs)


@mass_builder
def moving_base_dynamics(robot: Robot, tip_wrench: bool = False, frame: str = "tip") -> Program:
    """Return tau(q, qd, qdd, V0, Vd0) of `robot` on a base that moves with the twist V0 (equations.md, D13).

    V0 is (angular, linear) in world axes, in rad/s and m/s, and Vd0 the derivative of its components; gravity is added to it.

    Args:
        robot: The robot, n velocities.
        tip_wrench: Adds a last input f_tip (6,): the wrench (moment in N m, force in N) that `frame` applies to its
            surroundings, in its own axes; False by default.
        frame: The frame of the tip wrench, "tip" by default.

    Returns:
        A program with the output tau (n,), N m or N.

    >>> import taupi as tp
    >>> arm = tp.load("puma560")
    >>> q, still = [0.1] * 6, [0.0] * 6
    >>> lift = tp.closed_form.moving_base_dynamics(arm)(q, still, still, still, [0, 0, 0, 0, 0, 9.81])
    >>> bool(abs(lift - 2 * tp.gravity_torque(arm)(q)).max() < 1e-12)
    True
    """
    robot.frame(frame)
    inputs = [*_BASE_INPUTS, *([_TIP] if truth("tip_wrench", tip_wrench) else [])]

    def body(chain: Chain, *state: Vector) -> Vector:
        return _moving(chain, frame if tip_wrench else None, state).torque

    return trace_robot("moving_base_dynamics", robot, body, inputs, [Port("tau", (robot.n,))])
