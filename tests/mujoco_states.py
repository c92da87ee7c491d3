"""States of a robot in MuJoCo's coordinates, and MuJoCo's own torque and mass matrix there."""

import mujoco
import numpy as np

import taupi as tp


def states(robot, seed=0, count=1):
    """Random (q, qd, qdd) of a robot, with quaternions of length one."""
    rng = np.random.default_rng(seed)
    q = 0.7 * rng.standard_normal((count, robot.nq))
    for joint in robot.multiple_joints:
        end = robot.position_index(joint.coordinate) + joint.size
        q[:, end - 4 : end] /= np.linalg.norm(q[:, end - 4 : end], axis=1, keepdims=True)
    return q, *rng.standard_normal((2, count, robot.n))


def converted(robot, q, qd, qdd, tau):
    """The same in MuJoCo's convention."""
    if not robot.multiple_joints:
        return q, qd, qdd, tau
    return tp.floating.to_base(robot, "mujoco").compile("numpy")(q, qd, qdd, tau)


def in_mujoco(robot, model, q, qd, qdd, follow=None, held=None):
    """MuJoCo's inverse dynamics and mass matrix without armature, of the robot's own coordinates, at one state.

    `follow` are (ratio, offset) of joints that follow another, `held` the positions of joints that are held, by name.
    """
    data, follow = mujoco.MjData(model), follow or {}
    theirs, velocity, acceleration, _ = converted(robot, q, qd, qdd, np.zeros(robot.n))
    for name, value in (held or {}).items():
        data.qpos[model.jnt_qposadr[mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, name)]] = value
    spread = np.zeros((model.nv, robot.n))
    for joint in robot.joints:
        k = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, joint.name)
        k = next(i for i in range(model.njnt) if model.jnt_type[i] == 0) if k < 0 else k
        place, rate, at = model.jnt_qposadr[k], model.jnt_dofadr[k], robot.position_index(joint.coordinate)
        if joint.dof > 1:
            data.qpos[place : place + joint.size] = theirs[at : at + joint.size]
            spread[rate : rate + joint.dof, joint.coordinate : joint.coordinate + joint.dof] = np.eye(joint.dof)
            continue
        ratio, offset = follow.get(joint.name, (float(joint.ratio), 0.0))
        data.qpos[place] = ratio * theirs[at] + offset
        spread[rate, joint.coordinate] = ratio
    data.qvel[:], data.qacc[:] = spread @ velocity, spread @ acceleration
    model.dof_armature[:] = 0
    mujoco.mj_fwdPosition(model, data)
    mujoco.mj_fwdVelocity(model, data)
    torque, mass = np.zeros(model.nv), np.zeros((model.nv, model.nv))
    mujoco.mj_rne(model, data, 1, torque)
    mujoco.mj_fullM(model, data, mass)
    return spread.T @ torque, spread.T @ mass @ spread
