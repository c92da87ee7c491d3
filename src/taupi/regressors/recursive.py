"""Both regressors by one outward walk: classical Y and Slotine-Li's Y_r, column by column in link frames."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as cs

from taupi.dynamics.chain import Chain
from taupi.dynamics.spatial import SX, inertia_columns, skew


@dataclass(frozen=True)
class Motion:
    """A link's motion in its own axes: angular velocities w and u, angular acceleration, acceleration of its origin.

    w belongs to qd and u to the reference qrd; in the classical regressor both are the same object. Velocity products are
    polarised, (w, u) -> (f(w, u) + f(u, w)) / 2, which is the Christoffel factor of the Coriolis terms.
    """

    w: Any
    u: Any
    alpha: Any
    a: Any

    def polar(self, f: Any) -> Any:
        """Return the symmetric bilinear form f polarised over w and u."""
        return f(self.w, self.w) if self.u is self.w else (f(self.w, self.u) + f(self.u, self.w)) / 2

    def shifted(self, p: Any) -> Motion:
        """Return the motion at the point p of the same frame: a + alpha x p + w x (w x p)."""
        turning = self.polar(lambda w, u: cs.cross(w, cs.cross(u, p)))
        return Motion(self.w, self.u, self.alpha, self.a + cs.cross(self.alpha, p) + turning)

    def rotated(self, r: Any) -> Motion:
        """Return the motion in the axes of a frame turned by R."""
        back = r.T
        w = back @ self.w
        return Motion(w, w if self.u is self.w else back @ self.u, back @ self.alpha, back @ self.a)

    def seen_from(self, placement: tuple[Any, Any]) -> Motion:
        """Return the motion of a frame fixed at the placement."""
        return self.shifted(placement[1]).rotated(placement[0])


def _joint_motion(chain: Chain, i: int, before: Motion, q: Any, qd: Any, qrd: Any, qdd: Any) -> Motion:
    """Return the motion past joint i: it turns, alpha += z qdd + w x z qd, or slides, a += z qdd + 2 w x z qd."""
    z = chain.axis(i)
    same = before.u is before.w and qrd is qd
    spin = cs.cross(before.w, z) * qd if same else (cs.cross(before.w, z) * qrd + cs.cross(before.u, z) * qd) / 2
    _, motion, _ = chain.stages(i, q)
    if chain.robot.joints[i].prismatic:
        moved = before.shifted(motion[1])
        return Motion(moved.w, moved.u, moved.alpha, moved.a + z * qdd + 2 * spin)
    turned = before.rotated(motion[0])
    spin = motion[0].T @ spin
    w = turned.w + z * qd
    return Motion(w, w if same else turned.u + z * qrd, turned.alpha + z * qdd + spin, turned.a)


def wrench_columns(motion: Motion) -> tuple[Any, Any]:
    """Return force and moment at the link frame's origin as 3 x 10 matrices that multiply the link's parameters.

    f = m a + B h,  n = h x a + J alpha + w x J w,  with B = S(alpha) + S(w) S(w).
    """
    b = skew(motion.alpha) + motion.polar(lambda w, u: skew(w) @ skew(u))
    turning = motion.polar(lambda w, u: skew(w) @ inertia_columns(u))
    force = cs.horzcat(motion.a, b, SX(3, 6))
    moment = cs.horzcat(SX(3, 1), -skew(motion.a), inertia_columns(motion.alpha) + turning)
    return force, moment


def reference_motions(chain: Chain, q: Any, qd: Any, qrd: Any, qrdd: Any) -> list[Motion]:
    """Return the polarised motion of every link in its own axes, of which `wrench_columns` makes its wrench."""
    position, speed, reference, acceleration = (chain.spread(x) for x in (q, qd, qrd, qrdd))
    zero = SX.zeros(3)

    def step(i: int, parent: Motion) -> Motion:
        before, _, after = chain.stages(i, position[i])
        seen = parent.seen_from(before)
        return _joint_motion(chain, i, seen, position[i], speed[i], reference[i], acceleration[i]).seen_from(after)

    return chain.outward(step, Motion(zero, zero, zero, -chain.gravity))


def _seen_axis(axis: tuple[Any, Any], placement: tuple[Any, Any]) -> tuple[Any, Any]:
    """Return a joint's screw (angular, linear) from a frame fixed at the placement: R^T z, R^T (v + z x p)."""
    (z, v), (r, p) = axis, placement
    return r.T @ z, r.T @ (v + cs.cross(z, p))


Axes = dict[int, tuple[Any, Any]]  # by joint: its screw (angular, linear) at the link frame's origin, in its axes


def link_walk(chain: Chain, q: Any, qd: Any, qrd: Any, qrdd: Any) -> list[tuple[Motion, Axes]]:
    """Return the polarised motion of every link, and the screws of the joints before it, in its own axes."""
    position, speed, acceleration = chain.spread(q), chain.spread(qd), chain.spread(qrdd)
    reference = speed if qrd is qd else chain.spread(qrd)
    zero = SX.zeros(3)

    def step(i: int, parent: tuple[Motion, Axes]) -> tuple[Motion, Axes]:
        before, moving, after = chain.stages(i, position[i])
        motion = parent[0].seen_from(before)
        motion = _joint_motion(chain, i, motion, position[i], speed[i], reference[i], acceleration[i]).seen_from(after)
        z = chain.axis(i)
        axes = {j: _seen_axis(_seen_axis(a, before), moving) for j, a in parent[1].items()}
        axes[i] = (zero, z) if chain.robot.joints[i].prismatic else (z, zero)
        return motion, {j: _seen_axis(a, after) for j, a in axes.items()}

    return chain.outward(step, (Motion(zero, zero, zero, -chain.gravity), {}))


def link_regressor(chain: Chain, q: Any, qd: Any, qrd: Any, qrdd: Any) -> Any:
    """Return Y_r, n x 10 links, with Y_r pi = M qrdd + C(q, qd) qrd + g, C the Christoffel matrix (spec 1.6).

    Row j of link i's block is the power of the link's wrench on joint j's screw, for the joints j before i. With qrd = qd it is
    the classical regressor.
    """
    return link_columns(chain, link_walk(chain, q, qd, qrd, qrdd))


def link_columns(chain: Chain, walk: list[tuple[Motion, Axes]]) -> Any:
    """Return the columns of the links' parameters, n x 10 links, from the motions of the links."""
    rows: list[list[Any]] = [[SX(1, 10)] * chain.links for _ in range(chain.links)]
    for i, (motion, axes) in enumerate(walk):
        force, moment = wrench_columns(motion)
        for j, (z, v) in axes.items():
            rows[j][i] = v.T @ force + z.T @ moment
    return chain.gather([cs.densify(cs.horzcat(*row)) for row in rows])
