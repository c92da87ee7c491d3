"""The recursions of Niemeyer & Slotine and of Walker: torque and link-local gradient in O(n), no regressor formed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import casadi as cs

from taupi.control.estimate import EstimatedChain
from taupi.control.law import Signals
from taupi.dynamics.chain import Chain
from taupi.dynamics.spatial import adjoint, bracket, inertia_columns, inverse, skew
from taupi.dynamics.terms import Term, term_columns
from taupi.dynamics.types import SX, Matrix, Vector
from taupi.regressors.recursive import PolarisedMotion, wrench_columns


@dataclass(frozen=True)
class LinkTwists:
    """A link's twists in its own frame: of qd, of qrd, and the reference acceleration with gravity taken off."""

    v: Vector
    v_r: Vector
    vd_r: Vector


def momentum_columns(x: Vector) -> Matrix:
    """Return the 6 x 10 matrix A(x) with A(x) pi = G(pi) x for a twist x = (w, v): moment, then force.

    moment = J w + h x v,  force = m v + w x h.
    """
    w, v = x[:3], x[3:]
    moment = cs.horzcat(SX(3, 1), -skew(v), inertia_columns(w))
    return cs.vertcat(moment, cs.horzcat(v, skew(w), SX(3, 6)))


def adjoints(chain: Chain, q: Vector) -> list[Matrix]:
    """Return Ad(T_ip) of every link, which carries a twist from its parent."""
    joints = chain.spread(q)
    return [adjoint(*inverse(*chain.placement(i, joints[i]))) for i in range(chain.links)]


def twists(chain: Chain, x: list[Matrix], speed: Vector) -> list[Vector]:
    """Return V_i = X_i V_p + A_i speed_i of every link."""
    joints = chain.spread(speed)
    return chain.outward(lambda i, parent: x[i] @ parent + chain.screw(i) * joints[i], SX.zeros(6))


def link_twists(chain: Chain, x: list[Matrix], qd: Vector, qrd: Vector, qrdd: Vector) -> list[LinkTwists]:
    """Return v, v_r and vd_r of every link: vd_r = X vd_rp + ad(v) A qrd + A qrdd, from -g at the base.

    These are Kubozono et al., eqs. 39 and 40, in the frames of the links.
    """
    speed, reference, acceleration = chain.spread(qd), chain.spread(qrd), chain.spread(qrdd)

    def out(i: int, parent: LinkTwists) -> LinkTwists:
        a = chain.screw(i)
        v = x[i] @ parent.v + a * speed[i]
        vd_r = x[i] @ parent.vd_r + bracket(v) @ a * reference[i] + a * acceleration[i]
        return LinkTwists(v, x[i] @ parent.v_r + a * reference[i], vd_r)

    start = LinkTwists(SX.zeros(6), SX.zeros(6), cs.vertcat(SX.zeros(3), -chain.gravity))
    return chain.outward(out, start)


def torque(chain: Chain, x: list[Matrix], wrench: Callable[[int], Vector]) -> Vector:
    """Return tau_i = A_i^T f_i with f_i = sum of the children's + wrench(i)."""
    carried = chain.inward(wrench, lambda i, f: x[i].T @ f)
    return chain.gather([chain.screw(i).T @ carried[i] for i in range(chain.links)])


def niemeyer_columns(motion: PolarisedMotion) -> Matrix:
    """Return y_i, 6 x 10, moment before force (Kubozono et al., eq. 41, with gravity).

    y_i a_i = I_i (vd_ri - g) + (v_i x I_i v_ri + v_ri x I_i v_i + I_i (v_ri x v_i)) / 2.
    The half-sum is the polarised form of the velocity terms, the form in which the motion is given here.
    """
    force, moment = wrench_columns(motion)
    return cs.vertcat(moment, force)


def walker_wrench(g: Matrix, m: LinkTwists, pulled: Vector) -> Vector:
    """Return G (vd_r - gamma vt) - ad(v_r)^T G v_r; `pulled` is vd_r - gamma vt (Kubozono et al., eq. 44, corrected)."""
    return g @ pulled - bracket(m.v_r).T @ (g @ m.v_r)


def walker_gradient(m: LinkTwists, pulled: Vector, error: Vector) -> Vector:
    """Return error^T y^w_ij for the ten parameters of a link."""
    row = error.T @ momentum_columns(pulled)
    row -= (bracket(m.v_r) @ error).T @ momentum_columns(m.v_r)
    return row.T


def with_terms(
    chain: EstimatedChain, terms: tuple[Term, ...], signals: Signals, motion: tuple[Vector, Vector], error: Vector
) -> tuple[Vector, Vector]:
    """Return the torque of terms at a reference velocity and acceleration, and their part of the gradient."""
    qrd, qrdd = motion
    gradient = term_columns(chain, terms, signals.q, qrd, qrdd).T @ error
    return chain.term_torque(terms, signals.q, qrd, qrdd), gradient
