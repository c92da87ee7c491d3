"""Links in the frames in which their joints move, where recursions cost least.

There a joint's axis is constant, mostly one of coordinates, the way from its parent's frame is constant but for its own motion,
and a vector is turned by four products. The ten parameters of what hangs on a link stay ten when they are carried to its parent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as cs

from taupi.dynamics.chain import Chain
from taupi.dynamics.spatial import SX, compose, inertia_tensor
from taupi.model.robot import BASE


def cross(a: Any, b: Any) -> Any:
    """Return a x b."""
    return cs.vertcat(a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


@dataclass(frozen=True)
class Body:
    """Mass, first moment and inertia about a frame's origin, in its axes."""

    m: Any
    h: Any
    J: Any

    def __add__(self, other: Body) -> Body:
        return Body(self.m + other.m, self.h + other.h, self.J + other.J)

    def shifted(self, p: Any) -> Body:
        """Return the body about an origin from which its own lies at p: h + m p, J + 2 p.k - p k^T - k p^T, k = h + m p / 2."""
        away = self.m * p
        k = self.h + away / 2
        along = [p[a] * k[a] for a in range(3)]
        J = SX(3, 3)
        for a in range(3):
            b, c = (a + 1) % 3, (a + 2) % 3
            J[a, a] = self.J[a, a] + 2 * (along[b] + along[c])
            J[a, b] = J[b, a] = self.J[a, b] - p[a] * k[b] - p[b] * k[a]
        return Body(self.m, self.h + away, J)

    def turned(self, r: Any) -> Body:
        """Return the body in the axes of a frame in which its own has the rotation r."""
        return Body(self.m, r @ self.h, r @ self.J @ r.T)


class JointFrames:
    """A robot at q (n,), each link in the frame of its joint after the motion; `chain` is the robot as SX."""

    def __init__(self, chain: Chain, q: Any) -> None:
        self.chain, position = chain, chain.spread(q)
        self.joints = chain.robot.joints
        self.axis = [chain.axis(i) for i in range(chain.links)]
        stages = [chain.stages(i, position[i]) for i in range(chain.links)]
        still = [
            s[0] if j.parent == BASE else compose(stages[j.parent][2], s[0])
            for j, s in zip(self.joints, stages, strict=True)
        ]
        self._fixed = [r for r, _ in still]
        self._turn = [motion[0] for _, motion, _ in stages]
        # From the parent's origin to the link's, in the parent's axes: constant, unless the joint slides.
        self.arm = [p + r @ motion[1] for (r, p), (_, motion, _) in zip(still, stages, strict=True)]
        self.body = [self._own(i, *stages[i][2]) for i in range(chain.links)]

    def _own(self, i: int, r: Any, p: Any) -> Body:
        ten = self.chain.body(i)
        return Body(ten[0], ten[1:4], inertia_tensor(ten)).turned(r).shifted(p)

    def down(self, i: int, v: Any) -> Any:
        """Return a vector of the parent's axes in those of link i."""
        return self._turn[i].T @ (self._fixed[i].T @ v)

    def up(self, i: int, v: Any) -> Any:
        """Return a vector of link i's axes in those of its parent."""
        return self._fixed[i] @ (self._turn[i] @ v)

    def carried(self, i: int, body: Body) -> Body:
        """Return what is given about link i's frame, about that of its parent."""
        turned = body if self.joints[i].prismatic else Body(body.m, self._turn[i] @ body.h, self._spun(i, body.J))
        return turned.turned(self._fixed[i]).shifted(self.arm[i])

    def _spun(self, i: int, J: Any) -> Any:
        """Return R J R^T for the joint's own rotation, in eight products where the axis is one of coordinates."""
        R, axis = self._turn[i], self.axis[i]
        places = [k for k in range(3) if not axis[k].is_zero()]
        if len(places) != 1:
            return R @ J @ R.T
        z = places[0]
        x, y = (z + 1) % 3, (z + 2) % 3
        c, s = R[x, x], R[y, x]
        t = s * (J[x, x] - J[y, y]) + c * (2 * J[x, y])
        K = SX(3, 3)
        K[x, x], K[y, y], K[z, z] = J[x, x] - s * t, J[y, y] + s * t, J[z, z]
        K[x, y] = K[y, x] = c * t - J[x, y]
        K[x, z] = K[z, x] = c * J[x, z] - s * J[y, z]
        K[y, z] = K[z, y] = s * J[x, z] + c * J[y, z]
        return K

    def along(self, i: int, moment: Any, force: Any) -> Any:
        """Return what a wrench does along joint i."""
        return cs.dot(self.axis[i], force if self.joints[i].prismatic else moment)


def mass(frames: JointFrames) -> Any:
    """Return the mass matrix of the joints, by composite bodies (Walker & Orin 1982; Featherstone 2008, 6.2).

    Inward: B_i = body of link i and of all that hangs on it. Then the momentum of B_i for unit speed of joint i, (J u, u x h) or,
    of one that slides, (h x u, m u), is carried inward; what it does along joint j is M_ij.
    """
    chain = frames.chain
    composite = chain.inward(lambda i: frames.body[i], frames.carried)
    matrix = SX(chain.links, chain.links)
    for i in range(chain.links):
        u, b = frames.axis[i], composite[i]
        moment, force = (cross(b.h, u), b.m * u) if frames.joints[i].prismatic else (b.J @ u, cross(u, b.h))
        j = i
        while j != BASE:
            matrix[i, j] = matrix[j, i] = frames.along(j, moment, force)
            force, moment = frames.up(j, force), frames.up(j, moment)
            moment, j = moment + cross(frames.arm[j], force), frames.joints[j].parent
    return cs.densify(matrix)


@dataclass(frozen=True)
class Motion:
    """Of a link: angular velocity and acceleration, acceleration of its origin less gravity, and S(wd) + S(w) S(w)."""

    w: Any
    wd: Any
    a: Any
    spin: Any


def spin(w: Any, wd: Any) -> Any:
    """Return S(wd) + S(w) S(w): what it does to a point of the body is its acceleration about the origin."""
    x, y, z = w[0], w[1], w[2]
    xy, xz, yz = x * y, x * z, y * z
    return cs.vertcat(
        cs.horzcat(-(y * y + z * z), xy - wd[2], xz + wd[1]),
        cs.horzcat(xy + wd[2], -(x * x + z * z), yz - wd[0]),
        cs.horzcat(xz - wd[1], yz + wd[0], -(x * x + y * y)),
    )


def moment_about_origin(body: Body, motion: Motion) -> Any:
    """Return J wd + w x J w + h x a; the first two by the entries of `spin`, fifteen products instead of twenty-four."""
    J, wd, e = body.J, motion.wd, motion.spin
    x, y, z = motion.w[0], motion.w[1], motion.w[2]
    turning = cs.vertcat(
        J[0, 0] * wd[0]
        + (J[2, 2] - J[1, 1]) * (y * z)
        - J[0, 1] * e[2, 0]
        + J[0, 2] * e[1, 0]
        + J[1, 2] * (y * y - z * z),
        J[1, 1] * wd[1]
        + (J[0, 0] - J[2, 2]) * (x * z)
        - J[1, 2] * e[0, 1]
        + J[0, 1] * e[2, 1]
        + J[0, 2] * (z * z - x * x),
        J[2, 2] * wd[2]
        + (J[1, 1] - J[0, 0]) * (x * y)
        - J[0, 2] * e[1, 2]
        + J[1, 2] * e[0, 2]
        + J[0, 1] * (x * x - y * y),
    )
    return turning + cross(body.h, motion.a)


def torque(frames: JointFrames, qd: Any, qdd: Any, gravity: Any) -> Any:
    """Return tau = M qdd + c + g (Luh, Walker & Paul 1980; the spin matrix as in Khalil & Dombre 2002, 9.5).

    Outward: w = R^T w_p + u qd, wd = R^T wd_p + R^T w_p x u qd + u qdd, a = R^T (a_p + spin_p p); a joint that slides adds
    u qdd + 2 w x u qd to a instead. Inward: f = m a + spin h + sum R_c f_c and n, with tau = u^T n, or u^T f.
    """
    chain = frames.chain
    velocity, acceleration = chain.spread(qd), chain.spread(qdd)

    def out(i: int, parent: Motion) -> Motion:
        u = frames.axis[i]
        w, wd = frames.down(i, parent.w), frames.down(i, parent.wd)
        a = frames.down(i, parent.a + parent.spin @ frames.arm[i])
        if frames.joints[i].prismatic:
            a = a + u * acceleration[i] + 2 * cross(w, u * velocity[i])
        else:
            w, wd = w + u * velocity[i], wd + cross(w, u * velocity[i]) + u * acceleration[i]
        return Motion(w, wd, a, spin(w, wd))

    motions = chain.outward(out, Motion(SX.zeros(3), SX.zeros(3), -gravity, SX.zeros(3, 3)))

    def own(i: int) -> Any:
        b, m = frames.body[i], motions[i]
        return cs.vertcat(moment_about_origin(b, m), b.m * m.a + m.spin @ b.h)

    def carry(i: int, wrench: Any) -> Any:
        force = frames.up(i, wrench[3:])
        return cs.vertcat(frames.up(i, wrench[:3]) + cross(frames.arm[i], force), force)

    wrenches = chain.inward(own, carry)
    return chain.gather([frames.along(i, wrenches[i][:3], wrenches[i][3:]) for i in range(chain.links)])
