"""Newton-Euler and composite bodies with each link in the frame in which its joint moves, in which recursions cost least.

In that frame a joint's axis is constant, usually a coordinate axis, the step from the parent's frame is constant apart from the
joint's own motion, and four products rotate a vector. A composite body, carried from a link to its parent, still has ten
parameters.
"""

from __future__ import annotations

from dataclasses import dataclass

from taupi.dynamics.chain import Chain
from taupi.dynamics.orientation import turned_back
from taupi.dynamics.spatial import compose, inertia_tensor
from taupi.dynamics.types import SX, Expression, Matrix, Vector
from taupi.model.robot import BASE
from taupi.model.robot_parts import FREE, MULTIPLE
from taupi.program.casadi_on_use import cs


def cross(a: Vector, b: Vector) -> Vector:
    """Return a x b."""
    return cs.vertcat(a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


@dataclass(frozen=True)
class Body:
    """A body's mass m (kg), first moment h (kg m) and inertia J (kg m^2) about a frame's origin, in the frame's axes."""

    m: Expression
    h: Vector
    J: Matrix

    def __add__(self, other: Body) -> Body:
        return Body(self.m + other.m, self.h + other.h, self.J + other.J)

    def shifted(self, p: Vector) -> Body:
        """Return the body about an origin from which its own lies at `p`: h + m p, J + 2 p.k - p k^T - k p^T, k = h + m p / 2."""
        mp = self.m * p
        k = self.h + mp / 2
        along = [p[a] * k[a] for a in range(3)]
        J = SX(3, 3)
        for a in range(3):
            b, c = (a + 1) % 3, (a + 2) % 3
            J[a, a] = self.J[a, a] + 2 * (along[b] + along[c])
            J[a, b] = J[b, a] = self.J[a, b] - p[a] * k[b] - p[b] * k[a]
        return Body(self.m, self.h + mp, J)

    def turned(self, r: Matrix) -> Body:
        """Return the body in the axes of a frame in which its own frame has the rotation `r`."""
        return Body(self.m, r @ self.h, r @ self.J @ r.T)


class JointFrames:
    """A robot at `q` (n,), each link in the frame of its joint after the joint's motion; `chain` is the robot over SX."""

    def __init__(self, chain: Chain, q: Vector) -> None:
        self.chain, position = chain, chain.places(q)
        self.joints, self._position = chain.robot.joints, position
        self.axis = [chain.axis(i) for i in range(chain.links)]
        stages = [chain.stages(i, position[i]) for i in range(chain.links)]
        fixed = [
            s[0] if j.parent == BASE else compose(stages[j.parent][2], s[0])
            for j, s in zip(self.joints, stages, strict=True)
        ]
        self._fixed = [r for r, _ in fixed]
        self._turn = [motion[0] for _, motion, _ in stages]
        # From the parent's origin to the link's, in the parent's axes: constant, unless the joint slides.
        self.arm = [p + r @ motion[1] for (r, p), (_, motion, _) in zip(fixed, stages, strict=True)]
        self.link_axes = [r for _, _, (r, _) in stages]  # rotates from the axes of the link frame to those used here
        self.body = [self._own(i, *stages[i][2]) for i in range(chain.links)]

    def _own(self, i: int, r: Matrix, p: Vector) -> Body:
        parameters = self.chain.body(i)
        return Body(parameters[0], parameters[1:4], inertia_tensor(parameters)).turned(r).shifted(p)

    def to_link(self, i: int, v: Vector) -> Vector:
        """Return a vector `v`, given in the parent's axes, in the axes of link `i`."""
        return self._turn[i].T @ (self._fixed[i].T @ v)

    def lifted(self, i: int, v: Vector) -> Vector:
        """Return a vector `v`, given in the world's axes, in the axes of link `i`, which moves freely; cheap for -g."""
        return turned_back(self._position[i][-4:], self._fixed[i].T @ v)

    def to_parent(self, i: int, v: Vector) -> Vector:
        """Return a vector `v`, given in the axes of link `i`, in its parent's axes."""
        return self._fixed[i] @ (self._turn[i] @ v)

    def carried(self, i: int, body: Body) -> Body:
        """Return a body, given about the frame of link `i`, about the frame of its parent."""
        joint = self.joints[i]
        turned = body if joint.prismatic else Body(body.m, self._turn[i] @ body.h, self._spun(i, body.J))
        return turned.turned(self._fixed[i]).shifted(self.arm[i])

    def _spun(self, i: int, J: Matrix) -> Matrix:
        """Return R J R^T for the rotation of joint `i`, in eight products where its axis is a coordinate axis."""
        R, axis = self._turn[i], self.axis[i]
        if self.joints[i].kind in MULTIPLE:
            return R @ J @ R.T
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

    def along(self, i: int, moment: Vector, force: Vector) -> Expression:
        """Return the component of a wrench along joint `i`: of the moment where it turns, of the force where it slides.

        For a free joint it is all of the wrench, for a ball joint all of the moment.
        """
        if self.joints[i].kind in MULTIPLE:
            return cs.vertcat(moment, force) if self.joints[i].kind == FREE else moment
        return cs.dot(self.axis[i], force if self.joints[i].prismatic else moment)


def mass(frames: JointFrames) -> Matrix:
    """Return the mass matrix over the joints' velocities by composite bodies (Walker & Orin 1982; Featherstone 2008, 6.2).

    Inward: B_i is the body of link i and of all links beyond it. Then the momentum of B_i for unit speed of joint i, (J u, u x
    h), or (h x u, m u) for a sliding joint, is carried inward; its component along joint j is M_ij.
    """
    chain = frames.chain
    composite = chain.inward(lambda i: frames.body[i], frames.carried)
    starts = [0]
    for joint in frames.joints:
        starts.append(starts[-1] + joint.dof)
    matrix = SX(starts[-1], starts[-1])
    for i in range(chain.links):
        for k, momentum in enumerate(_momenta(frames, i, composite[i])):
            column, j, (moment, force) = starts[i] + k, i, momentum
            while j != BASE:
                rows = slice(starts[j], starts[j + 1])
                matrix[column, rows] = frames.along(j, moment, force).T
                matrix[rows, column] = frames.along(j, moment, force)
                force, moment = frames.to_parent(j, force), frames.to_parent(j, moment)
                moment, j = moment + cross(frames.arm[j], force), frames.joints[j].parent
    return cs.densify(matrix)


def _momenta(frames: JointFrames, i: int, b: Body) -> list[tuple[Vector, Vector]]:
    """Return the momentum (moment, force) of the body beyond joint `i` for unit speed of each of the joint's velocities."""
    joint = frames.joints[i]
    axes = [SX.eye(3)[:, k] for k in range(3)] if joint.kind in MULTIPLE else [frames.axis[i]]
    turning = [] if joint.prismatic else [(b.J @ u, cross(u, b.h)) for u in axes]
    sliding = [(cross(b.h, u), b.m * u) for u in axes] if joint.prismatic or joint.kind == FREE else []
    return turning + sliding


@dataclass(frozen=True)
class FrameMotion:
    """How a link moves: angular velocity w and acceleration wd, acceleration a of its origin minus gravity, S(wd) + S(w) S(w)."""

    w: Vector
    wd: Vector
    a: Vector
    spin: Matrix


def spin(w: Vector, wd: Vector) -> Matrix:
    """Return S(wd) + S(w) S(w), which maps a point of the body to its acceleration relative to the origin."""
    x, y, z = w[0], w[1], w[2]
    xy, xz, yz = x * y, x * z, y * z
    return cs.vertcat(
        cs.horzcat(-(y * y + z * z), xy - wd[2], xz + wd[1]),
        cs.horzcat(xy + wd[2], -(x * x + z * z), yz - wd[0]),
        cs.horzcat(xz - wd[1], yz + wd[0], -(x * x + y * y)),
    )


def moment_about_origin(body: Body, motion: FrameMotion) -> Vector:
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


def torque(frames: JointFrames, qd: Vector, qdd: Vector, gravity: Vector) -> Vector:
    """Return tau = M qdd + c + g (Luh, Walker & Paul 1980; the spin matrix as in Khalil & Dombre 2002, 9.5)."""
    return carried_inward(frames, own_wrenches(frames, motions(frames, qd, qdd, gravity)))


def newton_euler(chain: Chain, q: Vector, qd: Vector, qdd: Vector) -> Vector:
    """Return tau = M qdd + c + g in the robot's own gravity, by recursion in the frames of the joints (equations.md, D16)."""
    return torque(JointFrames(chain, q), qd, qdd, chain.gravity)


def motions(frames: JointFrames, qd: Vector, qdd: Vector, gravity: Vector) -> list[FrameMotion]:
    """Return how the links move: w = R^T w_p + u qd, wd = R^T wd_p + R^T w_p x u qd + u qdd, a = R^T (a_p + spin_p p).

    A sliding joint leaves w and wd as they are and adds u qdd + 2 w x u qd to a instead. A ball joint turns by all of its
    angular velocity; a free joint starts afresh, with a = vd + w x v - R^T g.
    """
    velocity, acceleration = frames.chain.spread(qd), frames.chain.spread(qdd)

    def step(i: int, parent: FrameMotion) -> FrameMotion:
        u = frames.axis[i]
        w, wd = frames.to_link(i, parent.w), frames.to_link(i, parent.wd)
        kind = frames.joints[i].kind
        if kind == FREE:
            return _free_motion(velocity[i], acceleration[i], frames.lifted(i, parent.a))
        a = frames.to_link(i, parent.a + parent.spin @ frames.arm[i])
        if kind in MULTIPLE:
            w, wd = w + velocity[i], wd + cross(w, velocity[i]) + acceleration[i]
        elif frames.joints[i].prismatic:
            a = a + u * acceleration[i] + 2 * cross(w, u * velocity[i])
        else:
            w, wd = w + u * velocity[i], wd + cross(w, u * velocity[i]) + u * acceleration[i]
        return FrameMotion(w, wd, a, spin(w, wd))

    return frames.chain.outward(step, FrameMotion(SX.zeros(3), SX.zeros(3), -gravity, SX.zeros(3, 3)))


def _free_motion(twist: Vector, rate: Vector, lifted: Vector) -> FrameMotion:
    """Return the motion of a free link from its twist (w, v) and its rate in its own axes; `lifted` is -g there."""
    w, v, wd = twist[:3], twist[3:], rate[:3]
    return FrameMotion(w, wd, rate[3:] + cross(w, v) + lifted, spin(w, wd))


def own_wrenches(frames: JointFrames, link_motions: list[FrameMotion]) -> list[Vector]:
    """Return the wrench (moment, force) that each link's own motion takes, with the force m a + spin h."""
    pairs = zip(frames.body, link_motions, strict=True)
    return [cs.vertcat(moment_about_origin(b, m), b.m * m.a + m.spin @ b.h) for b, m in pairs]


def carried_inward(frames: JointFrames, wrenches: list[Vector]) -> Vector:
    """Return the torque of the coordinates, u^T n or u^T f, that the links' own wrenches need."""

    def carry(i: int, wrench: Vector) -> Vector:
        force = frames.to_parent(i, wrench[3:])
        return cs.vertcat(frames.to_parent(i, wrench[:3]) + cross(frames.arm[i], force), force)

    chain = frames.chain
    total = chain.inward(lambda i: wrenches[i], carry)
    return chain.gather([frames.along(i, total[i][:3], total[i][3:]) for i in range(chain.links)])
