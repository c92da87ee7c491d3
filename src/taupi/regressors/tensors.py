"""The mass matrix link by link, as a tensor linear in the parameters, and the momentum (Gabiccini et al. 2009)."""

from __future__ import annotations

from taupi.dynamics.chain import Chain, builder, mass_builder, trace_robot
from taupi.dynamics.kinematics import link_placements
from taupi.dynamics.mass_matrix import link_shares
from taupi.dynamics.types import SX, Matrix, Vector
from taupi.model.robot import Robot
from taupi.program.casadi_on_use import cs
from taupi.program.program import Port, Program
from taupi.regressors.lagrangian import OriginJacobian, bilinear, joint_axes, require_lagrangian

PARTS = {"0": slice(0, 1), "1": slice(1, 4), "2": slice(4, 10)}  # mass, first moment, inertia
SIZES: dict[str, tuple[int, ...]] = {"0": (), "1": (3,), "2": (6,)}


def _jacobians(chain: Chain, q: Vector) -> list[OriginJacobian]:
    placements = link_placements(chain, q)
    axes = joint_axes(chain, q, placements)
    return [OriginJacobian(r, p, chain.robot.path(i), axes) for i, (r, p) in enumerate(placements)]


def momentum_rows(chain: Chain, q: Vector, qd: Vector) -> list[Matrix]:
    """Return X of every link, n x 10: row h is the bilinear form of column h of its Jacobian and its twist."""
    speed = chain.spread(qd)
    rows = []
    for j in _jacobians(chain, q):
        twist = j.product(speed)
        empty = SX.zeros(1, 10)
        rows.append(chain.gather([bilinear(j.column(h), twist) if h in j.path else empty for h in range(chain.links)]))
    return rows


def mass_tensor(chain: Chain, j: OriginJacobian) -> list[Matrix]:
    """Return the tensor of a link, n matrices of n x 10: entry [h][k, c] is that of B_hk per unit of parameter c."""
    n, empty = chain.links, SX.zeros(1, 10)
    columns = {h: j.column(h) for h in j.path}
    entries = [
        [bilinear(columns[h], columns[k]) if {h, k} <= columns.keys() else empty for k in range(n)] for h in range(n)
    ]
    gathered = [
        cs.vec(chain.gather(row).T).T for row in entries
    ]  # coordinates in place of joints, for the second index
    first = chain.gather(gathered)
    return [cs.reshape(first[h, :].T, 10, chain.n).T for h in range(chain.n)]


def _ports(symbol: str, shape: tuple[int, ...]) -> list[Port]:
    return [Port(symbol + k, (*shape, *SIZES[k])) for k in PARTS]


@builder
def momentum_blocks(robot: Robot) -> Program:
    """Return X0, X1, X2 (links, n[, 3 or 6]) of (q, qd) for a `robot`: dT/dqd = sum_i X0 m + X1 h + X2 J, link by link.

    These are the undotted blocks, whose time derivative the regressor has (Gabiccini et al. 2009, eq. 14, 19).

    >>> import taupi as tp
    >>> X0, X1, X2 = tp.closed_form.momentum_blocks(tp.load("elbow2r"))([0.1, 0.2], [0.3, 0.4])
    >>> X0.shape, X1.shape, X2.shape
    ((2, 2), (2, 2, 3), (2, 2, 6))
    """
    require_lagrangian(robot)

    def body(chain: Chain, q: Vector, qd: Vector) -> tuple[list[Matrix], ...]:
        rows = momentum_rows(chain, q, qd)
        return tuple([x[:, part] for x in rows] for part in PARTS.values())

    return trace_robot("momentum_blocks", robot, body, ["q", "qd"], _ports("X", (len(robot.links), robot.n)))


@mass_builder
def momentum(robot: Robot) -> Program:
    """Return the momentum dT/dqd = M qd (n,) of a `robot` as a function of (q, qd) (Gabiccini et al. 2009, eq. 13, 14).

    It is in N m s or N s, one per joint.

    >>> import taupi as tp
    >>> arm = tp.load("lecture2r").bind(L1=1, L2=1, m1=1, m2=1)
    >>> tp.closed_form.momentum(arm)([0.0, 0.0], [1.0, 0.0]).round(12).tolist()
    [5.0, 2.0]
    """
    require_lagrangian(robot)

    def body(chain: Chain, q: Vector, qd: Vector) -> Vector:
        rows = momentum_rows(chain, q, qd)
        total = SX.zeros(chain.n)
        for i, x in enumerate(rows):
            total = total + x @ chain.body(i)
        return total

    return trace_robot("momentum", robot, body, ["q", "qd"], [Port("p", (robot.n,))])


@builder
def link_mass_tensors(robot: Robot) -> Program:
    """Return B0 (links, n, n), B1 (links, n, n, 3) and B2 (links, n, n, 6) of q for a `robot`: B of a link is B0 m + B1 h + B2 J.

    B0 = Jv^T Jv, B1 = Jw^T R Q R^T Jv - Jv^T R Q R^T Jw, B2 = Jw^T R E R^T Jw (Gabiccini et al. 2009, eq. 49, 52). Their
    derivatives (53) are `link_mass_tensors(robot).jacobian("q")`.

    >>> import taupi as tp
    >>> B0, B1, B2 = tp.closed_form.link_mass_tensors(tp.load("puma560"))([0.1] * 6)
    >>> B0.shape, B1.shape, B2.shape
    ((6, 6, 6), (6, 6, 6, 3), (6, 6, 6, 6))
    """
    require_lagrangian(robot)

    def body(chain: Chain, q: Vector) -> tuple[list[list[Matrix]], ...]:
        tensors = [mass_tensor(chain, j) for j in _jacobians(chain, q)]
        return tuple([[x[:, part] for x in tensor] for tensor in tensors] for part in PARTS.values())

    return trace_robot("link_mass_tensors", robot, body, ["q"], _ports("B", (len(robot.links), robot.n, robot.n)))


@mass_builder
def link_mass_matrices(robot: Robot) -> Program:
    """Return B (links, n, n) of q for a `robot`: the share of each link in the mass matrix, M = sum_i B_i.

    B_i = J_i^T G_i J_i, with the body Jacobian and the inertia of link i (Gabiccini et al. 2009, eq. 46, 47).

    >>> import taupi as tp
    >>> arm, q = tp.load("puma560"), [0.1] * 6
    >>> B = tp.closed_form.link_mass_matrices(arm)(q)
    >>> B.shape, bool(abs(B.sum(axis=0) - tp.mass_matrix(arm)(q)).max() < 1e-12)
    ((6, 6, 6), True)
    """
    shape = (len(robot.links), robot.n, robot.n)
    return trace_robot("link_mass_matrices", robot, link_shares, ["q"], [Port("B", shape)])
