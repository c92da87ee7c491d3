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


def number(model, name):
    """The number of a joint; one without a name is called base, if it is the only free one, or joint and its number."""
    k = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, name)
    if k >= 0:
        return k
    return next(i for i in range(model.njnt) if model.jnt_type[i] == 0) if name == "base" else int(name.strip("joint_"))


def driven(model):
    """What actuators add to the inertia of the coordinates of hinges and slides, gear^2 armature."""
    added = np.zeros(model.nv)
    for joint, actuator in enumerate(model.jnt_actuatorid):
        if actuator >= 0 and model.jnt_type[joint] > 1:
            added[model.jnt_dofadr[joint]] = model.actuator_gear[actuator, 0] ** 2 * model.actuator_armature[actuator]
    return added


def in_mujoco(robot, model, q, qd, qdd, follow=None, held=None):
    """MuJoCo's inverse dynamics and mass matrix without armature, of the robot's own coordinates, at one state.

    `follow` are (ratio, offset) of joints that follow another, `held` the positions of joints that are held, by name.
    """
    data, follow = mujoco.MjData(model), follow or {}
    theirs, velocity, acceleration, _ = converted(robot, q, qd, qdd, np.zeros(robot.n))
    for name, value in (held or {}).items():
        data.qpos[model.jnt_qposadr[number(model, name)]] = value
    spread = np.zeros((model.nv, robot.n))
    for joint in robot.joints:
        k = number(model, joint.name)
        place, rate, at = model.jnt_qposadr[k], model.jnt_dofadr[k], robot.position_index(joint.coordinate)
        if joint.dof > 1:
            data.qpos[place : place + joint.size] = theirs[at : at + joint.size]
            spread[rate : rate + joint.dof, joint.coordinate : joint.coordinate + joint.dof] = np.eye(joint.dof)
            continue
        ratio, offset = follow.get(joint.name, (float(joint.ratio), 0.0))
        data.qpos[place] = ratio * theirs[at] + offset
        spread[rate, joint.coordinate] = ratio
    data.qvel[:], data.qacc[:] = spread @ velocity, spread @ acceleration
    mujoco.mj_fwdPosition(model, data)
    mujoco.mj_fwdVelocity(model, data)
    torque, mass = np.zeros(model.nv), np.zeros((model.nv, model.nv))
    mujoco.mj_rne(model, data, 1, torque)
    mujoco.mj_fullM(model, data, mass)
    mass -= np.diag(model.dof_armature + driven(model))
    return spread.T @ torque, spread.T @ mass @ spread


def equalities(robot, model):
    """(ratio, offset) of joints that follow, and positions of joints that are held, by name: solved from MuJoCo's equalities.

    Each active linear equality is a row in the positions of the joints, and so is each of the robot's own coordinates.
    """
    start = model.qpos0[model.jnt_qposadr]
    names = [model.joint(k).name or f"joint{k}" for k in range(model.njnt)]
    rows, rhs = [], []
    for k in range(model.neq):
        a0, a1, *higher = model.eq_data[k][:5]
        second = int(model.eq_obj2id[k])
        if not model.eq_active0[k] or model.eq_type[k] != mujoco.mjtEq.mjEQ_JOINT or (second >= 0 and any(higher)):
            continue
        row = np.eye(model.njnt)[model.eq_obj1id[k]]
        rhs.append(start[model.eq_obj1id[k]] + a0)
        if second >= 0:
            row, rhs[-1] = row - a1 * np.eye(model.njnt)[second], rhs[-1] - a1 * start[second]
        rows.append(row)
    if not rows:
        return {}, {}
    own = [number(model, name) for name in robot.joint_names if name in names]
    matrix = np.vstack([*rows, *np.eye(model.njnt)[own]])
    inverse = np.linalg.pinv(matrix)
    place = inverse[:, : len(rhs)] @ np.array(rhs)
    follow = {
        j.name: (float(inverse[number(model, j.name), len(rhs) + own.index(number(model, driver))]), float(place[k]))
        for j in robot.joints
        if j.dof == 1 and j.mimic
        for k, driver in [(number(model, j.name), robot.joint_names[j.coordinate])]
    }
    moving = {number(model, j.name) for j in robot.joints}
    fixed = np.flatnonzero(np.linalg.norm(inverse[:, : len(rhs)], axis=1) > 1e-9)
    return follow, {names[k]: float(place[k]) for k in fixed if k not in moving}
