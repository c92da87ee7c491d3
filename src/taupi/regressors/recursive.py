"""Both regressors, classical Y and Slotine-Li's Y_r, by one outward walk over the links, in link frames."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from taupi.dynamics.chain import Chain
from taupi.dynamics.orientation import turned_back
from taupi.dynamics.spatial import compose, inertia_columns, skew
from taupi.dynamics.types import SX, Expression, Matrix, Pose, Vector
from taupi.model.robot_parts import FREE, MULTIPLE
from taupi.program.casadi_on_use import cs


@dataclass(frozen=True)
class PolarisedMotion:
    """A link's motion in its own axes: angular velocities w and u, angular acceleration alpha, acceleration a of its origin.

    w belongs to qd and u to the reference qrd; in the classical regressor both are the same object. Products of velocities are
    polarised, (w, u) -> (f(w, u) + f(u, w)) / 2, which gives the Christoffel factor of the Coriolis terms.
    """

    w: Vector
    u: Vector
    alpha: Vector
    a: Vector

    def polar(self, f: Callable[[Vector, Vector], Matrix]) -> Matrix:
        """Return the bilinear form `f` polarised over w and u."""
        return f(self.w, self.w) if self.u is self.w else (f(self.w, self.u) + f(self.u, self.w)) / 2

    def shifted(self, p: Vector) -> PolarisedMotion:
        """Return the motion at the point `p` of the same frame: a + alpha x p + w x (w x p)."""
        turning = self.polar(lambda w, u: cs.cross(w, cs.cross(u, p)))
        return PolarisedMotion(self.w, self.u, self.alpha, self.a + cs.cross(self.alpha, p) + turning)

    def rotated(self, r: Matrix) -> PolarisedMotion:
        """Return the motion in the axes of a frame with the rotation `r`."""
        back = r.T
        w = back @ self.w
        return PolarisedMotion(w, w if self.u is self.w else back @ self.u, back @ self.alpha, back @ self.a)

    def seen_from(self, pose: Pose) -> PolarisedMotion:
        """Return the motion of a frame that is fixed to this one at `pose`."""
        return self.shifted(pose[1]).rotated(pose[0])


def _joint_motion(
    chain: Chain, i: int, before: PolarisedMotion, q: Expression, qd: Expression, qrd: Expression, qdd: Expression
) -> PolarisedMotion:
    """Return the motion beyond joint i: turning adds z qdd + w x z qd to alpha, sliding adds z qdd + 2 w x z qd to a."""
    if chain.robot.joints[i].kind in MULTIPLE:
        return _multiple_motion(chain, i, before, q, qd, qrd, qdd)
    z = chain.axis(i)
    same = before.u is before.w and qrd is qd
    spin = cs.cross(before.w, z) * qd if same else (cs.cross(before.w, z) * qrd + cs.cross(before.u, z) * qd) / 2
    _, motion, _ = chain.stages(i, q)
    if chain.robot.joints[i].prismatic:
        slid = before.shifted(motion[1])
        return PolarisedMotion(slid.w, slid.u, slid.alpha, slid.a + z * qdd + 2 * spin)
    turned = before.rotated(motion[0])
    spin = motion[0].T @ spin
    w = turned.w + z * qd
    return PolarisedMotion(w, w if same else turned.u + z * qrd, turned.alpha + z * qdd + spin, turned.a)


def _multiple_motion(
    chain: Chain, i: int, before: PolarisedMotion, q: Vector, qd: Vector, qrd: Vector, qdd: Vector
) -> PolarisedMotion:
    """Return the motion beyond a free or ball joint, whose velocities are given in the axes beyond it.

    The velocities are not derivatives of coordinates, so the symmetric form is not all of C: half of the bracket of the joint's
    own velocities is added, w x w_r / 2 to alpha, and w x v_r in place of its symmetric part to a. With it C is the
    Levi-Civita factor, and dM/dt - 2C stays skew-symmetric.
    """
    same = before.u is before.w and qrd is qd
    turn = chain.stages(i, q)[1][0]
    turned = before.rotated(turn)
    own, reference = qd[:3], qrd[:3]
    w = turned.w + own
    if chain.robot.joints[i].kind == FREE:  # on the ground, which does not turn
        alpha = qdd[:3] if same else qdd[:3] + cs.cross(own, reference) / 2
        lifted = turned_back(q[-4:], before.a)
        return PolarisedMotion(own, own if same else reference, alpha, lifted + qdd[3:] + cs.cross(own, qrd[3:]))
    if same:
        return PolarisedMotion(w, w, turned.alpha + qdd + cs.cross(turned.w, own), turned.a)
    spin = (cs.cross(turned.w, reference) + cs.cross(turned.u, own) + cs.cross(own, reference)) / 2
    return PolarisedMotion(w, turned.u + reference, turned.alpha + qdd + spin, turned.a)


def wrench_columns(motion: PolarisedMotion) -> tuple[Matrix, Matrix]:
    """Return the force and the moment at the link frame's origin, as 3 x 10 matrices that multiply the link's parameters.

    f = m a + B h,  n = h x a + J alpha + w x J w,  with B = S(alpha) + S(w) S(w).
    """
    b = skew(motion.alpha) + motion.polar(lambda w, u: skew(w) @ skew(u))
    turning = motion.polar(lambda w, u: skew(w) @ inertia_columns(u))
    force = cs.horzcat(motion.a, b, SX(3, 6))
    moment = cs.horzcat(SX(3, 1), -skew(motion.a), inertia_columns(motion.alpha) + turning)
    return force, moment


def reference_motions(chain: Chain, q: Vector, qd: Vector, qrd: Vector, qrdd: Vector) -> list[PolarisedMotion]:
    """Return the polarised motion of every link in its own axes, from which `wrench_columns` gives its wrench."""
    position, speed, acceleration = chain.places(q), chain.spread(qd), chain.spread(qrdd)
    reference = speed if qrd is qd else chain.spread(qrd)
    zero = SX.zeros(3)

    def step(i: int, parent: PolarisedMotion) -> PolarisedMotion:
        before, _, after = chain.stages(i, position[i])
        seen = parent.seen_from(before)
        return _joint_motion(chain, i, seen, position[i], speed[i], reference[i], acceleration[i]).seen_from(after)

    return chain.outward(step, PolarisedMotion(zero, zero, zero, -chain.gravity))


Screw = tuple[
    Matrix, Matrix
]  # of a joint: (angular, linear) at the link frame's origin, in its axes; a column per velocity


@dataclass(frozen=True)
class FreeScrews:
    """The six screws of a free joint as seen from a link: the pose (r, p) of the link in the frame that the joint moves."""

    r: Matrix
    p: Vector

    def rows(self, force: Matrix, moment: Matrix) -> Matrix:
        """Return the moment and the force of a link, given at its own origin, in the frame of the free joint."""
        pull = self.r @ force
        return cs.vertcat(self.r @ moment + skew(self.p) @ pull, pull)


Axes = dict[int, Any]  # by joint: its Screw, or the FreeScrews of a free joint


def _seen_axes(axes: Axes, pose: Pose) -> Axes:
    """Return the joints' screws as seen from a frame at `pose`: R^T z, R^T (v + z x p).

    All columns are turned at once: one joint after the other takes CasADi four times as long.
    """
    screws = {j: a for j, a in axes.items() if not isinstance(a, FreeScrews)}
    seen: Axes = {j: FreeScrews(*compose((a.r, a.p), pose)) for j, a in axes.items() if isinstance(a, FreeScrews)}
    if screws:
        r, p = pose
        z, v = (cs.horzcat(*(screw[k] for screw in screws.values())) for k in range(2))
        ends = np.cumsum([0, *(screw[0].shape[1] for screw in screws.values())]).tolist()
        turned = (cs.horzsplit(r.T @ x, ends) for x in (z, v + _columns_cross(z, p)))
        seen.update(zip(screws, zip(*turned, strict=True), strict=True))
    return {j: seen[j] for j in axes}


def _columns_cross(z: Matrix, p: Vector) -> Matrix:
    """Return z x p for each column of `z`."""
    x, y, w = cs.vertsplit(z)
    return cs.vertcat(y * p[2] - w * p[1], w * p[0] - x * p[2], x * p[1] - y * p[0])


def link_walk(chain: Chain, q: Vector, qd: Vector, qrd: Vector, qrdd: Vector) -> list[tuple[PolarisedMotion, Axes]]:
    """Return the polarised motion of every link, and the screws of the joints between base and link, in the link's axes."""
    position, zero = chain.places(q), SX.zeros(3)
    none: Axes = {}

    def step(i: int, parent: Axes) -> Axes:
        before, moving, after = chain.stages(i, position[i])
        z = chain.axis(i)
        axes = _seen_axes(_seen_axes(parent, before), moving)
        joint = chain.robot.joints[i]
        if joint.kind == FREE:
            axes[i] = FreeScrews(SX.eye(3), zero)
        elif joint.kind in MULTIPLE:
            axes[i] = (SX.eye(3), SX(3, 3))
        else:
            axes[i] = (zero, z) if joint.prismatic else (z, zero)
        return _seen_axes(axes, after)

    return list(zip(reference_motions(chain, q, qd, qrd, qrdd), chain.outward(step, none), strict=True))


def link_regressor(chain: Chain, q: Vector, qd: Vector, qrd: Vector, qrdd: Vector) -> Matrix:
    """Return Y_r, n x 10 links, with Y_r pi = M qrdd + C(q, qd) qrd + g and C the Christoffel matrix (equations.md, R4).

    Row j of link i's block is the power of the link's wrench on the screw of joint j, for the joints j between base and link i.
    With qrd = qd it is the classical regressor.
    """
    return link_columns(chain, link_walk(chain, q, qd, qrd, qrdd))


def link_columns(chain: Chain, walk: list[tuple[PolarisedMotion, Axes]]) -> Matrix:
    """Return the columns of the links' parameters, n x 10 links, from what `link_walk` returns."""
    rows: list[list[Matrix]] = [[SX(joint.dof, 10)] * chain.links for joint in chain.robot.joints]
    for i, (motion, axes) in enumerate(walk):
        force, moment = wrench_columns(motion)
        for j, screw in axes.items():
            if isinstance(screw, FreeScrews):
                rows[j][i] = screw.rows(force, moment)
            else:
                z, v = screw
                rows[j][i] = v.T @ force + z.T @ moment
    return chain.gather([cs.densify(cs.horzcat(*row)) for row in rows])
