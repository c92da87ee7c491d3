"""Coriolis matrices: four factors C of c = C qd, two of which keep dM/dt - 2C skew-symmetric."""

from __future__ import annotations

from collections.abc import Callable

from taupi.dynamics.chain import Chain, mass_builder, trace_robot
from taupi.dynamics.kinematics import gathered_columns, link_screws
from taupi.dynamics.mass_matrix import mass_gradient
from taupi.dynamics.spatial import adjoint, bracket, inertia_tensor, inverse, skew
from taupi.dynamics.types import SX, Matrix, Vector
from taupi.errors import Argument, unknown
from taupi.model.requirements import require_coordinates
from taupi.model.robot import Robot
from taupi.program.casadi_on_use import cs
from taupi.program.program import Port, Program


def link_twists(chain: Chain, q: Vector, qd: Vector) -> list[Vector]:
    """Return the twist V_i of every link in its own frame: V_i = X_i V_p + A_i qd_i."""
    position, velocity = chain.places(q), chain.spread(qd)

    def step(i: int, parent: Vector) -> Vector:
        return adjoint(*inverse(*chain.placement(i, position[i]))) @ parent + chain.screw(i) @ velocity[i]

    return chain.outward(step, SX.zeros(6))


BodyFactor = Callable[[Matrix, Vector, Vector], Matrix]


def _by_bodies(chain: Chain, q: Vector, qd: Vector, factor: BodyFactor, moving: bool) -> Matrix:
    """Return C = sum_i J_i^T (G_i Jd_i + B_i J_i), with B_i from `factor`, a function of G_i, body i and V_i.

    Column j of Jd_i is its rate in an inertial frame, ad(V_j) s_j seen from link i; in the moving link axes (`moving`),
    ad(V_i) s_j is subtracted.
    """
    twists, screws = link_twists(chain, q, qd), link_screws(chain, q)
    total = SX.zeros(chain.n, chain.n)
    for i in range(chain.links):
        # s_j and V_j seen from link i: V_j = sum of the screws up to j times their speeds.
        speed, running, rates = chain.spread(qd), SX.zeros(6), {}
        for j in chain.robot.path(i):
            running = running + screws[i][j] @ speed[j]
            rates[j] = bracket(running) @ screws[i][j]
            if moving:
                rates[j] = rates[j] - bracket(twists[i]) @ screws[i][j]
        j_i, jd_i = gathered_columns(chain, screws[i]), gathered_columns(chain, rates)
        g = chain.inertia(i)
        total += j_i.T @ (g @ jd_i + factor(g, chain.body(i), twists[i]) @ j_i)
    return total


def _christoffel_factor(g: Matrix, body: Vector, v: Vector) -> Matrix:
    """Return B with B w = (-ad(V)^T G w - ad(w)^T G V - G ad(V) w) / 2 (Niemeyer & Slotine 1991; Kubozono et al., eq. 12)."""
    momentum = g @ v
    angular, linear = skew(momentum[:3]), skew(momentum[3:])
    swapped = cs.blockcat([[angular, linear], [linear, SX(3, 3)]])
    ad = bracket(v)
    return -(ad.T @ g + swapped + g @ ad) / 2


def _body_factor(g: Matrix, body: Vector, v: Vector) -> Matrix:
    """Return the skew-symmetric B = [[-S(J w), S(h) S(w)], [-S(w) S(h), m S(w)]]; B V is the body's own Coriolis wrench."""
    w, h = v[:3], skew(body[1:4])
    s = skew(w)
    return cs.blockcat([[-skew(inertia_tensor(body) @ w), h @ s], [-s @ h, body[0] * s]])


def _rate_and_u(chain: Chain, q: Vector, qd: Vector) -> tuple[Matrix, Matrix]:
    """Return dM/dt and U, row k of which is qd^T dM/dq_k (equations.md, D7)."""
    require_coordinates(
        chain.robot,
        "whose velocities are not derivatives of coordinates",
        "Use {form='christoffel'} or {form='body'}.",
    )
    d = mass_gradient(chain, q)
    rate = SX.zeros(chain.n, chain.n)
    for k in range(chain.n):
        rate += d[k] * qd[k]
    return rate, cs.vertcat(*(qd.T @ d[k] for k in range(chain.n)))


def _mdot_minus_half_u(chain: Chain, q: Vector, qd: Vector) -> Matrix:
    rate, u = _rate_and_u(chain, q, qd)
    return rate - u / 2


def _ut_minus_half_u(chain: Chain, q: Vector, qd: Vector) -> Matrix:
    _, u = _rate_and_u(chain, q, qd)
    return u.T - u / 2


@mass_builder
def velocity_gradient(robot: Robot) -> Program:
    """Return U(q, qd), n x n, of a `robot`: row k is qd^T dM/dq_k, U = (1 kron qd^T) dM/dq (equations.md, D7).

    c = dM/dt qd - U qd / 2, and C = (dM/dt + U^T - U) / 2 is the Christoffel matrix.

    Args:
        robot: The robot, n velocities, without free or ball joints.

    Returns:
        A program of q and qd (n,) with the output U (n, n).

    >>> import math, taupi as tp
    >>> arm = tp.load("lecture2r").bind(L1=1, L2=1, m1=1, m2=1)
    >>> (tp.closed_form.velocity_gradient(arm)([0.0, math.pi / 2], [1.0, 2.0]).round(12) + 0.0).tolist()
    [[0.0, 0.0], [-4.0, -1.0]]
    """

    def body(chain: Chain, q: Vector, qd: Vector) -> Matrix:
        return _rate_and_u(chain, q, qd)[1]

    return trace_robot("velocity_gradient", robot, body, ["q", "qd"], [Port("U", (robot.n, robot.n))])


FORMS: dict[str, Callable[[Chain, Vector, Vector], Matrix]] = {
    "christoffel": lambda chain, q, qd: _by_bodies(chain, q, qd, _christoffel_factor, moving=False),
    "body": lambda chain, q, qd: _by_bodies(chain, q, qd, _body_factor, moving=True),
    "mdot_minus_half_u": _mdot_minus_half_u,
    "ut_minus_half_u": _ut_minus_half_u,
}


@mass_builder
def coriolis_matrix(robot: Robot, form: str = "christoffel") -> Program:
    """Return C(q, qd) of `robot`, n x n, with c = C qd (equations.md, D7 to D10).

    Args:
        robot: The robot, n velocities.
        form: "christoffel" (the default), C[k, j] = sum_i Gamma[k, i, j] qd_i, or "body", sum_i J_i^T (G_i Jd_i + B_i J_i) with a
            skew-symmetric B_i; both keep dM/dt - 2C skew-symmetric. The textbook factors "mdot_minus_half_u", dM/dt - U/2, and
            "ut_minus_half_u", U^T - U/2, do not, and are for coordinates only: they are refused for free and ball joints, where
            "christoffel" is the factor of the Levi-Civita connection, C v_r = polar(v, v_r) + M [v, v_r] / 2.

    Returns:
        A program of q and qd (n,) with the output C (n, n).

    >>> import math, taupi as tp
    >>> arm = tp.load("lecture2r").bind(L1=1, L2=1, m1=1, m2=1)
    >>> tp.coriolis_matrix(arm)([0.0, math.pi / 2], [1.0, 2.0]).round(12).tolist()
    [[-2.0, -3.0], [1.0, 0.0]]
    """
    if form not in FORMS:
        raise unknown(Argument("form"), form, FORMS)
    return trace_robot("coriolis_matrix", robot, FORMS[form], ["q", "qd"], [Port("C", (robot.n, robot.n))])
