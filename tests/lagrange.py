"""Inverse dynamics by Lagrange's equations over complex numbers: a small kinematics of its own, which shares no code with src.

A body with the placement T(t) (4 x 4) and the pseudo-inertia P acts on the velocity k with tr((T'' - G) P (dT/dv_k)^T), where G
holds the acceleration of gravity (Uicker 1965). T' and T'' are derivatives along the motion q + v t + a t^2 / 2, taken by
Cauchy's integral over a circle of complex t; dT/dv_k by a complex step. A robot is read as data only: placements, axes, bodies.
"""

import numpy as np
from scipy.linalg import expm

STEP, RADIUS, POINTS = 1e-30, 0.5, 32
FREE_LIKE = ("free", "ball")


def skew(v):
    return np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])


def pose(placement):
    result = np.eye(4)
    result[:3, :3] = np.array(placement.rotation, dtype=float)
    result[:3, 3] = np.array(placement.translation, dtype=float)
    return result


def pseudo_inertia(pi):
    m, h = float(pi[0]), np.array(pi[1:4], dtype=float)
    xx, xy, xz, yy, yz, zz = (float(v) for v in pi[4:10])
    inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    result = np.zeros((4, 4))
    result[:3, :3] = np.trace(inertia) / 2 * np.eye(3) - inertia
    result[:3, 3] = result[3, :3] = h
    result[3, 3] = m
    return result


def rotation_of(h):
    x, y, z, w = h
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def joint_ratios(robot):
    """For each joint of one degree of freedom, {velocity: ratio}."""
    return [{j.coordinate: float(j.ratio), **{k: float(r) for k, r in j.also}} for j in robot.joints]


class Oracle:
    """A robot, for a motion through one state; with elastic joints, the motors' coordinates follow those of the links."""

    def __init__(self, robot, motors=False):
        self.robot, self.ratios = robot, joint_ratios(robot)
        self.own = {j.name for j in robot.driving_joints}
        self.elastic = [k for k, j in enumerate(robot.driving_joints) if j.transmission.elastic] if motors else []
        self.size = robot.n + len(self.elastic)
        self.motors = motors
        self.gravity = np.array([float(g) for g in robot.gravity])
        quaternions = [j.coordinate for j in robot.multiple_joints]
        self.start = {j.name: j.coordinate + sum(k < j.coordinate for k in quaternions) for j in robot.joints}

    def angle(self, i, x):
        """The angle of joint i, with x one number per velocity."""
        return sum(c * x[k] for k, c in self.ratios[i].items())

    def placements(self, q, x):
        """T of each link at q moved by the velocities' displacement x (size,), and of rotors."""
        links, base = [], pose(self.robot.base)
        for i, joint in enumerate(self.robot.joints):
            motion = np.eye(4, dtype=complex)
            k = joint.coordinate
            if joint.kind in FREE_LIKE:
                at = self.start[joint.name]
                h = q[at + (3 if joint.kind == "free" else 0) :][:4]
                r = rotation_of(h)
                motion[:3, :3] = r @ expm(skew(x[k : k + 3]))
                if joint.kind == "free":
                    motion[:3, 3] = q[at : at + 3] + r @ x[k + 3 : k + 6]
            else:
                angle = sum(c * (q[self.place(v)] + x[v]) for v, c in self.ratios[i].items())
                axis = np.array([float(a) for a in joint.axis])
                if joint.kind == "prismatic":
                    motion[:3, 3] = axis * angle
                else:
                    motion[:3, :3] = (
                        np.eye(3) + np.sin(angle) * skew(axis) + (1 - np.cos(angle)) * skew(axis) @ skew(axis)
                    )
            parent = base if joint.parent < 0 else links[joint.parent]
            links.append(parent @ pose(joint.before) @ motion @ pose(joint.after))
        return links, self.rotors(links, base, q, x) if self.motors else []

    def place(self, velocity):
        return self.start[self.robot.driving_joints[velocity].name]

    def rotors(self, links, base, q, x):
        """Pairs (T, P): a rotor that turns, and less the same at rest, since the link's body has its inertia."""
        result, n = [], self.robot.n
        for i, joint in enumerate(self.robot.joints):
            drive = joint.transmission
            axis = drive.motor_axis
            z = np.array(
                pose(joint.before)[:3, :3] @ [float(a) for a in joint.axis] if axis is None else axis, dtype=float
            )
            follows = joint.name not in self.own
            if joint.coordinate in self.elastic and not follows:
                angle = x[n + self.elastic.index(joint.coordinate)]  # where it starts does not matter: it is round
            else:
                angle = self.angle(i, x)
            angle = float(drive.gear_ratio) * angle
            tensor = float(drive.rotor_inertia) * np.outer(z, z)
            P = np.zeros((4, 4))
            P[:3, :3] = np.trace(tensor) / 2 * np.eye(3) - tensor
            turn = np.eye(4, dtype=complex)
            turn[:3, :3] = np.eye(3) + np.sin(angle) * skew(z) + (1 - np.cos(angle)) * skew(z) @ skew(z)
            parent = base if joint.parent < 0 else links[joint.parent]
            result += [(parent @ turn, P), (parent + 0j, -P)]
        return result

    def bodies(self, q, x):
        links, rotors = self.placements(q, x)
        return [(t, pseudo_inertia(k.body)) for t, k in zip(links, self.robot.links, strict=True)] + rotors

    def along(self, v, a):
        """The displacement at a complex time t of a motion with velocity v and acceleration a."""
        a = np.array(a, dtype=float)
        for joint in self.robot.joints:
            if joint.kind == "free":  # in the axes of the body, which turn
                k = joint.coordinate
                a[k + 3 : k + 6] += np.cross(v[k : k + 3], v[k + 3 : k + 6])
        return lambda t: np.asarray(v) * t + a * t * t / 2

    def derivatives(self, function, v, a):
        """f', f'' of function(displacement) along a motion."""
        at, turn = self.along(v, a), np.exp(2j * np.pi * np.arange(POINTS) / POINTS)
        values = np.array([function(at(RADIUS * z)) for z in turn])
        spread = turn.reshape(-1, *[1] * (values.ndim - 1))
        return [(c * (values / spread**k).mean(0) / RADIUS**k).real for k, c in ((1, 1), (2, 2))]

    def torque(self, q, v, a, gravity=True):
        """tau (size,) of links and rotors alone."""
        inertias = [p for _, p in self.bodies(q, np.zeros(self.size))]
        _, second = self.derivatives(lambda x: np.array([t for t, _ in self.bodies(q, x)]), v, a)
        pull = np.zeros((4, 4))
        pull[:3, 3] = self.gravity * gravity
        tau = np.zeros(self.size)
        for k in range(self.size):
            moved = self.bodies(q, 1j * STEP * np.eye(self.size)[k])
            tau[k] = sum(
                np.trace((s - pull) @ p @ (t.imag / STEP).T)
                for s, p, (t, _) in zip(second, inertias, moved, strict=True)
            )
        return tau

    def energies(self, q, v):
        """K and P of links, and of rotors with motors."""
        bodies = self.bodies(q, np.zeros(self.size))
        first, _ = self.derivatives(lambda x: np.array([t for t, _ in self.bodies(q, x)]), v, np.zeros(self.size))
        kinetic = sum(np.trace(f @ p @ f.T) / 2 for f, (_, p) in zip(first, bodies, strict=True))
        return kinetic, -sum(self.gravity @ (t[:3] @ p[:, 3]).real for t, p in bodies)

    def by_power(self, q, v, a, entry):
        """sum_j c_j entry(j, joint, c_j^T q, c_j^T v, c_j^T a), what joints add to the torque by virtual work, (n,).

        A joint with a motor has its terms at the motor, which is its coordinate.
        """
        owners = enumerate(self.robot.driving_joints)
        plain = np.array([0.0 if j.kind in FREE_LIKE else q[self.place(k)] for k, j in owners])
        tau = np.zeros(self.robot.n)
        for i, joint in enumerate(self.robot.joints):
            if joint.kind in FREE_LIKE:
                continue
            ratios = {joint.coordinate: 1.0} if joint.name in self.own else self.ratios[i]
            moved = [sum(c * x[k] for k, c in ratios.items()) for x in (plain, v, a)]
            for k, c in ratios.items():
                tau[k] += c * entry(i, joint, *moved)
        return tau
