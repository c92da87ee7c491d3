"""Random robots with free and ball joints, and their states."""

import dataclasses

import numpy as np
from support import random_body, random_placement, random_robot

from taupi.model.robot import Joint, Link


def with_balls(robot, *places):
    """The robot with ball joints in place of the joints at these places; coordinates are counted anew."""
    joints, coordinate = [], 0
    for i, joint in enumerate(robot.joints):
        new = Joint(joint.name, "ball", joint.parent, coordinate, joint.before, after=joint.after)
        if i not in places:
            new = dataclasses.replace(joint, coordinate=coordinate)
        joints.append(new)
        coordinate += new.dof
    return dataclasses.replace(robot, joints=tuple(joints))


def floating_tree(seed, joints=4, balls=(), mimic=False):
    """A random tree on a free base with a body of its own, and with ball joints at some places."""
    robot = random_robot(seed, joints=joints, mimic=mimic)
    rng = np.random.default_rng(seed + 10**6)
    root = dataclasses.replace(robot.source, root=Link("root", random_body(rng)))
    free = dataclasses.replace(robot, source=root).floating_base()
    tilted = dataclasses.replace(
        free.joints[0], before=random_placement(rng, False), after=random_placement(rng, False)
    )
    return with_balls(dataclasses.replace(free, joints=(tilted, *free.joints[1:])), *balls)


def states(robot, count, seed=0, velocities=2, unit=True):
    """Random q (count, nq) and so many of qd, qdd, ... (count, n); quaternions have length one where `unit` says so."""
    rng = np.random.default_rng(seed)
    q = rng.uniform(-1.5, 1.5, (count, robot.nq))
    for joint in robot.multiple_joints:
        end = robot.position_index(joint.coordinate) + joint.size
        h = rng.standard_normal((count, 4))
        q[:, end - 4 : end] = h / np.linalg.norm(h, axis=1, keepdims=True) * (1.0 if unit else 1.7)
    return q, *rng.uniform(-2, 2, (velocities, count, robot.n))


def moved(robot, q, qd, dt):
    """Positions after a short time at constant velocities, exactly: by the exponential of each twist."""
    from scipy.linalg import expm
    from scipy.spatial.transform import Rotation

    new = np.array(q, dtype=float)
    for joint in dict.fromkeys(robot.driving_joints):
        at, k = robot.position_index(joint.coordinate), joint.coordinate
        if joint.dof == 1:
            new[at] += dt * qd[k]
            continue
        h = slice(at + joint.size - 4, at + joint.size)
        turn = Rotation.from_quat(q[h])
        if joint.dof == 6:
            twist = np.zeros((4, 4))
            w = qd[k : k + 3]
            twist[:3, :3] = [[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]]
            twist[:3, 3] = qd[k + 3 : k + 6]
            new[at : at + 3] += turn.apply(expm(twist * dt)[:3, 3])
        new[h] = (turn * Rotation.from_rotvec(dt * qd[k : k + 3])).as_quat()
    return new
