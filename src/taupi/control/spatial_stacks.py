"""The stacked matrices of Kubozono, Yamakita & Furuta as programs: J, J_t, V_s, I, C_1 to C_3, and the regressor's parts."""

from __future__ import annotations

import casadi as cs

from taupi.control.spatial_algebra import cross, displacement, joint_axes, stacked, transpose
from taupi.dynamics.basis_tensors import parameter_matrices
from taupi.dynamics.chain import Chain, builder, trace_robot
from taupi.dynamics.kinematics import link_placements
from taupi.dynamics.types import SX, Matrix, Vector
from taupi.model.robot import Robot
from taupi.program.program import Port, Program
from taupi.regressors.lagrangian import require_coordinates


@builder
def spatial_stacks(robot: Robot) -> Program:
    """Return J, J_t, V_s, I, C_1, C_2, C_3 of (q, qd) for a `robot` (Kubozono et al., eq. 8-10).

    J (6 links, n) has the joint axes s_j below the diagonal, V_s is its rate, and row i of J_t (n, 6 links) has s_i' from block i
    on. I, C_1 = diag(v_i x I_i), C_2 = diag((I_i v_i) x) and C_3 = diag(I_i v_i x) are (6 links, 6 links). H = J_t I J and
    C = J_t (I V_s + (C_1 - C_2 - C_3) J / 2).

    >>> import taupi as tp
    >>> arm, q, qd = tp.load("puma560"), [0.1] * 6, [0.2] * 6
    >>> J, J_t, V_s, I, C_1, C_2, C_3 = tp.closed_form.spatial_stacks(arm)(q, qd)
    >>> bool(abs(J_t @ (I @ V_s + (C_1 - C_2 - C_3) @ J / 2) - tp.coriolis_matrix(arm)(q, qd)).max() < 1e-12)
    True
    """
    require_coordinates(robot)

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
    """Return y (links, 10, 6), Y_1 (6 links, 10 links) and Y (n, 10 links) of (q, qd, r, rd) for a `robot`.

    y_ij = R_ij (wd_i - g) + v_i x R_ij w_i / 2 - (R_ij v_i) x w_i / 2 - R_ij (v_i x w_i) / 2, where w and wd are the motion of
    the reference r, rd. Y_1 is block-diagonal, its block i has the columns y_i1 ... y_i10, and Y = J_t Y_1 is the regressor of
    Slotine and Li: Y a = H rd + C r + G (Kubozono et al., eq. 19-24). Parameters are in the order of `robot.parameters`.

    >>> import taupi as tp
    >>> arm, state = tp.load("elbow2r"), ([0.1, 0.2], [0.3, 0.4], [0.5, 0.6], [0.7, 0.8])
    >>> y, Y_1, Y = tp.closed_form.spatial_regressor(arm)(*state)
    >>> bool(abs(Y - tp.slotine_li_regressor(arm)(*state)).max() < 1e-12)
    True
    """
    require_coordinates(robot)
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
    """Return R (links, 10, 6, 6) of q for a `robot`: R_ij = X_i R_j X_i', I_i = sum_j R_ij a_ij (Kubozono et al., eq. 18).

    >>> import taupi as tp
    >>> tp.closed_form.spatial_parameter_matrices(tp.load("elbow2r"))([0.1, 0.2]).shape
    (2, 10, 6, 6)
    """
    shape = (len(robot.links), 10, 6, 6)
    return trace_robot("spatial_parameter_matrices", robot, _placed_matrices, ["q"], [Port("R", shape)])
