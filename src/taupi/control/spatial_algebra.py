"""The spatial algebra of Kubozono, Yamakita & Furuta, and H, C, G stacked in it.

Motions are [w; v_O] and forces [f; n_O], at the base's origin and in base axes. One cross operator serves both; the spatial
transpose pairs a motion with a force. Equation numbers are the document's; where it is wrong, the formulas here are corrected
(docs/concepts/errata.md).
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as cs

from taupi.dynamics.basis_tensors import parameter_matrices
from taupi.dynamics.chain import Chain, builder, mass_builder, trace_robot
from taupi.dynamics.kinematics import link_placements
from taupi.dynamics.spatial import inertia_tensor, skew
from taupi.dynamics.types import SX, Matrix, Vector
from taupi.model.requirements import require_coordinates
from taupi.model.robot import Robot
from taupi.program.program import Port, Program
from taupi.regressors.lagrangian import require_lagrangian


def cross(b: Vector) -> Matrix:
    """Return b x = [[S(b_l), 0], [S(b_f), S(b_l)]] of b = [b_l; b_f]: d/dt of what moves along with b (appendix)."""
    return cs.blockcat([[skew(b[:3]), SX(3, 3)], [skew(b[3:]), skew(b[:3])]])


def transpose(x: Matrix) -> Matrix:
    """Return x': [a; a_0]' = [a_0^T a^T] of a vector, [[A, B], [C, D]]' = [[D^T, B^T], [C^T, A^T]] of a tensor (appendix)."""
    if x.shape[1] == 1:
        return cs.vertcat(x[3:], x[:3]).T
    return cs.blockcat([[x[3:, 3:].T, x[:3, 3:].T], [x[3:, :3].T, x[:3, :3].T]])


def displacement(r: Matrix, p: Vector) -> Matrix:
    """Return X(R, p) = [[R, 0], [S(p) R, R]] of a rigid displacement: X' X = 1 and (X a) x = X (a x) X' (appendix)."""
    return cs.blockcat([[r, SX(3, 3)], [skew(p) @ r, r]])


def inertia(body: Vector) -> Matrix:
    """Return [[-S(h), m 1], [I_o, S(h)]] of ten parameters in link axes; it equals its spatial transpose (appendix)."""
    s = skew(body[1:4])
    return cs.blockcat([[-s, body[0] * SX.eye(3)], [inertia_tensor(body), s]])


@dataclass(frozen=True)
class StackedDynamics:
    """The document's stacked matrices at a state: J and its rate, J_t = J^T P, velocities and inertias link by link."""

    J: Matrix
    J_rate: Matrix
    J_t: Matrix
    J_t_rate: Matrix
    velocities: list[Vector]
    inertias: list[Matrix]

    def times_inertia(self, x: Matrix) -> Matrix:
        """Return I x, I = diag(I_1, ..., I_n)."""
        return cs.vertcat(*(i @ x[6 * k : 6 * k + 6, :] for k, i in enumerate(self.inertias)))


def joint_axes(chain: Chain, q: Vector) -> list[Vector]:
    """Return s_i of every joint: [z; p x z] of a turning one, [0; z] of a sliding one (appendix)."""
    return [displacement(*place) @ chain.screw(i) for i, place in enumerate(link_placements(chain, q))]


def stacked(chain: Chain, q: Vector, qd: Vector) -> StackedDynamics:
    """Return J (6 links x n), dJ/dt, J_t, dJ_t/dt, v_i and I_i (8, 9)."""
    axes, speed = joint_axes(chain, q), chain.spread(qd)
    velocities = chain.outward(lambda i, parent: parent + axes[i] * speed[i], SX.zeros(6))
    rates = [cross(v) @ s for v, s in zip(velocities, axes, strict=True)]
    moved = [displacement(*place) for place in link_placements(chain, q)]
    inertias = [x @ inertia(chain.body(i)) @ transpose(x) for i, x in enumerate(moved)]
    j, j_rate = _stack(chain, axes), _stack(chain, rates)
    return StackedDynamics(j, j_rate, _swapped(j).T, _swapped(j_rate).T, velocities, inertias)


def _stack(chain: Chain, columns: list[Vector]) -> Matrix:
    """Return the matrix whose block (i, j) is column j where joint j is on the way to link i, for coordinates."""
    zero = SX(6, 1)
    paths = [set(chain.robot.path(i)) for i in range(chain.links)]
    rows = [cs.vertcat(*(columns[j] if j in path else zero for path in paths)).T for j in range(chain.links)]
    return chain.gather(rows).T


def _swapped(matrix: Matrix) -> Matrix:
    """Return the halves of every block of six rows exchanged."""
    places = [6 * k + r for k in range(matrix.shape[0] // 6) for r in (3, 4, 5, 0, 1, 2)]
    return matrix[places, :]


def coriolis(chain: Chain, q: Vector, qd: Vector, r: Vector | None = None) -> Matrix:
    """Return C = J_t [I V_s + (C_1 - C_2 - C_3) J / 2] (12), the Christoffel matrix.

    C_1 = diag(v_i x I_i), C_2 = diag((I_i v_i) x), C_3 = diag(I_i v_i x). With `r`, V_s keeps qd and C_1 to C_3 have the
    velocities of r: Walker's C_w (46).
    """
    here = stacked(chain, q, qd)
    velocities = here.velocities if r is None else stacked(chain, q, r).velocities
    blocks = []
    for k, (i, v) in enumerate(zip(here.inertias, velocities, strict=True)):
        factor = cross(v) @ i - cross(i @ v) - i @ cross(v)
        blocks.append(factor @ here.J[6 * k : 6 * k + 6, :] / 2)
    return here.J_t @ (here.times_inertia(here.J_rate) + cs.vertcat(*blocks))


def mass(chain: Chain, q: Vector) -> Matrix:
    """Return H = J_t I J (11)."""
    here = stacked(chain, q, SX.zeros(chain.n))
    return here.J_t @ here.times_inertia(here.J)


def gravity(chain: Chain, q: Vector) -> Vector:
    """Return G = -J_t [I_1 g; ...; I_n g], g = [0; g0] the true acceleration of gravity (13)."""
    here = stacked(chain, q, SX.zeros(chain.n))
    g = cs.vertcat(SX.zeros(3), chain.gravity)
    return -here.J_t @ cs.vertcat(*(i @ g for i in here.inertias))


@mass_builder
def spatial_dynamics(robot: Robot) -> Program:
    """Return H, C, G and N = dH/dt - 2C of (q, qd), by stacked matrices (Kubozono et al., eqs. 11-15).

    H = J_t I J, C = J_t [I V_s + (C_1 - C_2 - C_3) J / 2], G = -J_t I g, N = J_t C_2 J + dJ_t/dt I J - J_t I dJ/dt, skew. C
    is the Christoffel matrix. This is slower than `mass_matrix` and `coriolis_matrix`, but an independent route to the same
    result.

    Args:
        robot: The robot.

    Returns:
        The program: H (n, n), C (n, n), G (n,) and N (n, n).

    >>> import taupi as tp
    >>> arm, q, qd = tp.load("puma560"), [0.1] * 6, [0.2] * 6
    >>> H, C, G, N = tp.closed_form.spatial_dynamics(arm)(q, qd)
    >>> bool(abs(C - tp.coriolis_matrix(arm)(q, qd)).max() < 1e-12), bool(abs(N + N.T).max() < 1e-12)
    (True, True)
    """
    require_coordinates(
        robot,
        "and the document's spatial algebra has one axis per joint",
        "Use tp.mass_matrix and tp.coriolis_matrix, which cover them.",
    )

    def body(chain: Chain, q: Vector, qd: Vector) -> tuple[Matrix, ...]:
        here = stacked(chain, q, qd)
        blocks = [cross(i @ v) for i, v in zip(here.inertias, here.velocities, strict=True)]
        turned = cs.vertcat(*(b @ here.J[6 * k : 6 * k + 6, :] for k, b in enumerate(blocks)))
        mixed = here.J_t_rate @ here.times_inertia(here.J) - here.J_t @ here.times_inertia(here.J_rate)
        return mass(chain, q), coriolis(chain, q, qd), gravity(chain, q), here.J_t @ turned + mixed

    n = robot.n
    ports = [Port("H", (n, n)), Port("C", (n, n)), Port("G", (n,)), Port("N", (n, n))]
    return trace_robot("spatial_dynamics", robot, body, ["q", "qd"], ports)


@mass_builder
def spatial_stacks(robot: Robot) -> Program:
    """Return J, J_t, V_s, I, C_1, C_2, C_3 of (q, qd) (Kubozono et al., eq. 8-10).

    H = J_t I J and C = J_t (I V_s + (C_1 - C_2 - C_3) J / 2).

    Args:
        robot: The robot.

    Returns:
        The program. J (6 links, n) has the joint axes s_j below the diagonal, V_s is its rate, and row i of J_t (n, 6 links) has
        s_i' from block i on. I, C_1 = diag(v_i x I_i), C_2 = diag((I_i v_i) x) and C_3 = diag(I_i v_i x) are (6 links, 6 links).

    >>> import taupi as tp
    >>> arm, q, qd = tp.load("puma560"), [0.1] * 6, [0.2] * 6
    >>> J, J_t, V_s, I, C_1, C_2, C_3 = tp.closed_form.spatial_stacks(arm)(q, qd)
    >>> bool(abs(J_t @ (I @ V_s + (C_1 - C_2 - C_3) @ J / 2) - tp.coriolis_matrix(arm)(q, qd)).max() < 1e-12)
    True
    """
    require_lagrangian(robot)

    def body(chain: Chain, q: Vector, qd: Vector) -> tuple[Matrix, ...]:
        here = stacked(chain, q, qd)
        pairs = list(zip(here.inertias, here.velocities, strict=True))
        blocks = (
            here.inertias,
            [cross(v) @ i for i, v in pairs],
            [cross(i @ v) for i, v in pairs],
            [i @ cross(v) for i, v in pairs],
        )
        return here.J, here.J_t, here.J_rate, *(cs.diagcat(*several) for several in blocks)

    tall, n = 6 * len(robot.links), robot.n
    shapes = {"J": (tall, n), "J_t": (n, tall), "V_s": (tall, n)} | dict.fromkeys(
        ("I", "C_1", "C_2", "C_3"), (tall, tall)
    )
    ports = [Port(name, shape) for name, shape in shapes.items()]
    return trace_robot("spatial_stacks", robot, body, ["q", "qd"], ports)


def _placed_matrices(chain: Chain, q: Vector) -> list[list[Matrix]]:
    """Return R_ij = X_i R_j X_i' of every link (18)."""
    constant = [cs.sparsify(SX(cs.DM(r))) for r in parameter_matrices()]
    moved = [displacement(*place) for place in link_placements(chain, q)]
    return [[x @ r @ transpose(x) for r in constant] for x in moved]


@builder
def spatial_regressor(robot: Robot) -> Program:
    """Return y (links, 10, 6), Y_1 (6 links, 10 links) and Y (n, 10 links) of (q, qd, r, rd) (Kubozono et al., eq. 19-24).

    y_ij = R_ij (wd_i - g) + v_i x R_ij w_i / 2 - (R_ij v_i) x w_i / 2 - R_ij (v_i x w_i) / 2, where w and wd are the motion of
    the reference r, rd.

    Args:
        robot: The robot.

    Returns:
        The program. Y_1 is block-diagonal, its block i has the columns y_i1 ... y_i10, and Y = J_t Y_1 is the regressor of
        Slotine and Li: Y a = H rd + C r + G. Parameters are in the order of `robot.parameters`.

    >>> import taupi as tp
    >>> arm, state = tp.load("elbow2r"), ([0.1, 0.2], [0.3, 0.4], [0.5, 0.6], [0.7, 0.8])
    >>> y, Y_1, Y = tp.closed_form.spatial_regressor(arm)(*state)
    >>> bool(abs(Y - tp.slotine_li_regressor(arm)(*state)).max() < 1e-12)
    True
    """
    require_lagrangian(robot)
    links = len(robot.links)

    def body(chain: Chain, q: Vector, qd: Vector, r: Vector, rd: Vector) -> tuple[object, ...]:
        here, axes = stacked(chain, q, qd), joint_axes(chain, q)
        speed, push = chain.spread(r), chain.spread(rd)
        w = chain.outward(lambda i, parent: parent + axes[i] * speed[i], SX.zeros(6))
        turning = [cross(v) @ s for v, s in zip(here.velocities, axes, strict=True)]
        wd = chain.outward(lambda i, parent: parent + turning[i] * speed[i] + axes[i] * push[i], SX.zeros(6))
        g = cs.vertcat(SX.zeros(3), chain.gravity)
        y = []
        for i, matrices in enumerate(_placed_matrices(chain, q)):
            v = here.velocities[i]
            y.append([_column(x, v, w[i], wd[i] - g) for x in matrices])
        blocks = cs.diagcat(*(cs.horzcat(*several) for several in y))
        return y, blocks, here.J_t @ blocks

    shapes = {"y": (links, 10, 6), "Y_1": (6 * links, 10 * links), "Y": (robot.n, 10 * links)}
    ports = [Port(name, shape) for name, shape in shapes.items()]
    return trace_robot("spatial_regressor", robot, body, ["q", "qd", "r", "rd"], ports)


def _column(x: Matrix, v: Vector, w: Vector, push: Vector) -> Vector:
    """Return y_ij (22)."""
    return x @ push + (cross(v) @ x @ w - cross(x @ v) @ w - x @ cross(v) @ w) / 2


@builder
def spatial_parameter_matrices(robot: Robot) -> Program:
    """Return R (links, 10, 6, 6) of q: R_ij = X_i R_j X_i', I_i = sum_j R_ij a_ij (Kubozono et al., eq. 18).

    Args:
        robot: The robot.

    Returns:
        The program.

    >>> import taupi as tp
    >>> tp.closed_form.spatial_parameter_matrices(tp.load("elbow2r"))([0.1, 0.2]).shape
    (2, 10, 6, 6)
    """
    shape = (len(robot.links), 10, 6, 6)
    return trace_robot("spatial_parameter_matrices", robot, _placed_matrices, ["q"], [Port("R", shape)])
