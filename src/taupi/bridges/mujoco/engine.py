"""Inverse dynamics of a compiled model by MuJoCo."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from taupi.bridges.alignment import matched_joints
from taupi.errors import TaupiError, warn
from taupi.files import path_of
from taupi.model.coupling import coupling_of
from taupi.model.formats import mjcf
from taupi.model.formats.mjcf_compile import compiled, mujoco_module
from taupi.model.robot import Robot
from taupi.model.robot_parts import MULTIPLE

_SLIDE = 2  # of mjtJoint


@dataclass(frozen=True, eq=False)
class MujocoModel:
    """The torque that a MuJoCo model needs for motions of a robot, its joints found by name.

    Contacts and joint limits are left out; friction, armatures, springs and equalities are in. Joints that the robot does not
    have are held where the model starts.

    Attributes:
        model: The compiled model, as MuJoCo has it.
        addresses: The positions (joints,) of the robot's joints in qpos.
        dofs: Their velocities (joints,) in qvel.
        spread: The matrix (joints, n) by which the robot's coordinates move its joints.
        joints: The names of the robot's joints, as the robot has them.
    """

    model: Any
    addresses: np.ndarray
    dofs: np.ndarray
    spread: np.ndarray
    joints: tuple[str, ...]

    @classmethod
    def of(cls, path: str | os.PathLike[str], robot: Robot) -> MujocoModel:
        """Return the model in the MJCF file at `path`, for the motions of a `robot`."""
        file = path_of(path)
        if any(j.kind in MULTIPLE for j in robot.joints):
            raise TaupiError(
                f"{robot.name} has a free base or ball joints, for which MuJoCo's torques are not compared."
            )
        model = compiled(file)[0]
        names = mjcf.joint_names(model)
        theirs = matched_joints([j.name for j in robot.joints], names, file.name, robot.name)
        at = [names.index(theirs[j.name]) for j in robot.joints]
        odd = [names[k] for k in at if int(model.jnt_type[k]) < 2]
        if odd:
            raise TaupiError(f"{file.name}: {', '.join(odd)} are free or ball joints, expected hinges and slides.")
        for k, joint in zip(at, robot.joints, strict=True):
            kind, theirs_kind = (
                "slide" if slides else "hinge" for slides in (joint.prismatic, model.jnt_type[k] == _SLIDE)
            )
            if kind != theirs_kind:
                raise TaupiError(f"{file.name}: joint {names[k]!r} is a {theirs_kind}, expected a {kind}.")
        if np.any(model.body_gravcomp):
            warn(
                f"{file.name}: MuJoCo compensates gravity of some bodies (gravcomp), so that their weight is not in its torque."
            )
        disable, enable = mujoco_module().mjtDisableBit, mujoco_module().mjtEnableBit
        model.opt.disableflags |= int(disable.mjDSBL_CONTACT) | int(disable.mjDSBL_LIMIT)
        model.opt.enableflags &= ~int(
            enable.mjENBL_INVDISCRETE
        )  # accelerations of a log are not those of MuJoCo's steps
        spread = np.array(coupling_of(robot), dtype=float)
        joints = tuple(j.name for j in robot.joints)
        return cls(model, np.array(model.jnt_qposadr)[at], np.array(model.jnt_dofadr)[at], spread, joints)

    def soft_friction(self) -> dict[str, float]:
        """Return the speeds (rad/s, m/s), by joint, below which MuJoCo does not reach a joint's full dry friction.

        Dry friction is a constraint whose force is min(f, |qdd + B qd| / R), with f the frictionloss, and R and B from its
        solimpfriction, its solreffriction and the inertia at the joint. So at qdd = 0 it is complete above the speed f R / B.
        """
        mujoco = mujoco_module()
        data = mujoco.MjData(self.model)
        mujoco.mj_forward(self.model, data)
        rows = np.flatnonzero(data.efc_type == int(mujoco.mjtConstraint.mjCNSTR_FRICTION_DOF))
        speeds = data.efc_frictionloss[rows] * data.efc_R[rows] / data.efc_KBIP.reshape(-1, 4)[rows, 1]
        by_dof = dict(zip(data.efc_id[rows].tolist(), speeds.tolist(), strict=True))
        return {name: by_dof[dof] for name, dof in zip(self.joints, self.dofs.tolist(), strict=True) if dof in by_dof}

    def __call__(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        """Return the torque (N, n) for `q`, `qd` and `qdd` (N, n), SI units: MuJoCo's qfrc_inverse, gathered by coordinates."""
        mujoco = mujoco_module()
        data = mujoco.MjData(self.model)
        result = np.zeros((len(q), len(self.dofs)))
        for k, motion in enumerate(zip(q, qd, qdd, strict=True)):
            positions, velocities, accelerations = (self.spread @ x for x in motion)
            data.qpos[self.addresses] = positions
            data.qvel[self.dofs], data.qacc[self.dofs] = velocities, accelerations
            mujoco.mj_inverse(self.model, data)
            result[k] = data.qfrc_inverse[self.dofs]
        return result @ self.spread
