"""The mass matrix by three algorithms, its time derivative, and the Christoffel symbols."""

from __future__ import annotations

from taupi.dynamics.chain import Chain, mass_builder, trace_robot
from taupi.dynamics.closed_form import both_sides, closed_mass_derivative, closed_mass_matrix
from taupi.dynamics.joint_frames import JointFrames, mass
from taupi.dynamics.kinematics import gathered_columns, link_screws
from taupi.dynamics.terms import TermsLike, resolve_terms, term_inertia
from taupi.dynamics.types import SX, Matrix, Vector
from taupi.errors import Argument, unknown
from taupi.model.requirements import require_coordinates
from taupi.model.robot import Robot
from taupi.program.casadi_on_use import cs
from taupi.program.program import Port, Program


def composite_bodies(chain: Chain, q: Vector) -> Matrix:
    """Return M by composite bodies in the frames of the joints (Walker & Orin 1982; Featherstone 2008, 6.2)."""
    return both_sides(chain, mass(JointFrames(chain, q)))


def link_shares(chain: Chain, q: Vector) -> list[Matrix]:
    """Return J_i^T G_i J_i of every link, with J_i its body Jacobian (equations.md, D4)."""
    jacobians = (gathered_columns(chain, columns) for columns in link_screws(chain, q))
    return [j.T @ chain.inertia(i) @ j for i, j in enumerate(jacobians)]


def link_sum(chain: Chain, q: Vector) -> Matrix:
    """Return M = sum_i J_i^T G_i J_i, the shares of all links."""
    return sum(link_shares(chain, q), SX.zeros(chain.n, chain.n))


ALGORITHMS = {"composite": composite_bodies, "links": link_sum, "closed_form": closed_mass_matrix}


@mass_builder
def mass_matrix(robot: Robot, terms: TermsLike = (), algorithm: str = "composite") -> Program:
    """Return M(q) of `robot`, n x n, symmetric and positive definite: K = qd^T M qd / 2 (equations.md, D3).

    Args:
        robot: The robot, n velocities.
        terms: Terms with inertia that are added, such as "rotor"; none by default.
        algorithm: "composite" bodies (the default), "links", sum_i J_i^T G_i J_i, or "closed_form", A^T L^T G L A.

    Returns:
        A program with the output M (n, n), in kg m^2, kg m or kg.

    >>> import math, taupi as tp
    >>> arm = tp.load("lecture2r").bind(L1=1, L2=1, m1=1, m2=1)
    >>> tp.mass_matrix(arm)([0.0, math.pi / 2]).round(12).tolist()
    [[3.0, 1.0], [1.0, 1.0]]
    """
    if algorithm not in ALGORITHMS:
        raise unknown(Argument("algorithm"), algorithm, ALGORITHMS)
    chosen = resolve_terms(terms)

    def body(chain: Chain, q: Vector) -> Matrix:
        return ALGORITHMS[algorithm](chain, q) + term_inertia(chain, chosen)

    return trace_robot("mass_matrix", robot, body, ["q"], [Port("M", (robot.n, robot.n))])


@mass_builder
def mass_matrix_derivative(robot: Robot) -> Program:
    """Return dM/dt(q, qd) of `robot`, n x n, by the stacked closed form (equations.md, D14).

    Args:
        robot: The robot, n velocities.

    Returns:
        A program of q and qd (n,) with the output Md (n, n).

    >>> import taupi as tp
    >>> arm = tp.load("lecture2r")
    >>> Md, C = tp.mass_matrix_derivative(arm)([0.3, 0.7], [1.0, -2.0]), tp.coriolis_matrix(arm)([0.3, 0.7], [1.0, -2.0])
    >>> bool(abs(Md - (C + C.T)).max() < 1e-12)
    True
    """
    return trace_robot(
        "mass_matrix_derivative", robot, closed_mass_derivative, ["q", "qd"], [Port("Md", (robot.n, robot.n))]
    )


def mass_gradient(chain: Chain, q: Vector) -> list[Matrix]:
    """Return dM/dq_k for every coordinate k, or the derivative along velocity k, by differentiation."""
    n = chain.n
    derivative = chain.derivative(cs.vec(composite_bodies(chain, q)), q)
    return [cs.reshape(derivative[:, k], n, n) for k in range(n)]


def christoffel(chain: Chain, q: Vector) -> list[Matrix]:
    """Return Gamma[k] with Gamma[k][i, j] = (dM_kj/dq_i + dM_ki/dq_j - dM_ij/dq_k) / 2 (equations.md, D6)."""
    n, d = chain.n, mass_gradient(chain, q)
    symbols = []
    for k in range(n):
        rows = [[(d[i][k, j] + d[j][k, i] - d[k][i, j]) / 2 for j in range(n)] for i in range(n)]
        symbols.append(cs.vertcat(*(cs.horzcat(*row) for row in rows)))
    return symbols


@mass_builder
def christoffel_symbols(robot: Robot) -> Program:
    """Return Gamma[k, i, j](q) of `robot`, equation index k first: c_k = sum_ij Gamma[k, i, j] qd_i qd_j (equations.md, D6).

    Gamma[k, i, j] = (dM_kj/dq_i + dM_ki/dq_j - dM_ij/dq_k) / 2, symmetric in i and j.

    Args:
        robot: The robot, n velocities, without free or ball joints.

    Returns:
        A program of q (n,) with the output Gamma (n, n, n).

    >>> import math, taupi as tp
    >>> arm = tp.load("lecture2r").bind(L1=1, L2=1, m1=1, m2=1)
    >>> tp.christoffel_symbols(arm)([0.0, math.pi / 2]).round(12).tolist()
    [[[0.0, -1.0], [-1.0, -1.0]], [[1.0, 0.0], [0.0, 0.0]]]
    """
    n = robot.n
    require_coordinates(
        robot,
        "whose velocities are not derivatives of coordinates",
        "Use tp.coriolis_matrix(robot), which is C for them too.",
    )
    return trace_robot("christoffel_symbols", robot, christoffel, ["q"], [Port("Gamma", (n, n, n))])
