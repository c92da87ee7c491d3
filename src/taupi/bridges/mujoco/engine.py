"""Inverse dynamics of a compiled model by MuJoCo."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from taupi.bridges.alignment import matched_joints
from taupi.errors import TaupiError, warn
from taupi.files import path_of
from taupi.identification.commands.stretches import Stretch
from taupi.model.coupling import coupling_of
from taupi.model.formats import mjcf
from taupi.model.formats.mjcf_compile import compiled, mujoco_module
from taupi.model.robot import Robot
from taupi.model.robot_parts import MULTIPLE

if TYPE_CHECKING:
    import mujoco

_SLIDE = 2  # of mjtJoint
# MuJoCo's dry friction is a soft constraint: by default so soft that a light wrist has little of it below several rad/s.
# This is the hardest setting that it accepts, for its steps of 2 ms.
HARD_SOLREF, HARD_SOLIMP = (0.004, 1.0), (0.9999, 0.9999, 0.001, 0.5, 2.0)


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
        offsets: Where joints (joints,) are in the model while all coordinates are 0: not at 0 if they follow with an offset.
        joints: The names of the robot's joints, as the robot has them.
    """

    model: mujoco.MjModel
    addresses: np.ndarray
    dofs: np.ndarray
    spread: np.ndarray
    offsets: np.ndarray
    joints: tuple[str, ...]

    @classmethod
    def of(cls, path: str | os.PathLike[str], robot: Robot) -> MujocoModel:
        """Return the model in the MJCF file at `path`, for the motions of a `robot`."""
        file = path_of(path)
        if any(j.kind in MULTIPLE for j in robot.joints):
            raise TaupiError(
                "{robot} has a free base or ball joints, for which MuJoCo's torques are not compared.", robot=robot.name
            )
        model = compiled(file)[0]
        names = mjcf.joint_names(model)
        theirs = matched_joints([j.name for j in robot.joints], names, file.name, robot.name)
        at = [names.index(theirs[j.name]) for j in robot.joints]
        odd = [names[k] for k in at if int(model.jnt_type[k]) < 2]
        if odd:
            raise TaupiError(
                "{file}: {odd:,} are free or ball joints, expected hinges and slides.", file=file.name, odd=odd
            )
        for k, joint in zip(at, robot.joints, strict=True):
            kind, theirs_kind = (
                "slide" if slides else "hinge" for slides in (joint.prismatic, model.jnt_type[k] == _SLIDE)
            )
            if kind != theirs_kind:
                raise TaupiError(
                    "{file}: joint {name!r} is a {got}, expected a {kind}.",
                    file=file.name,
                    name=names[k],
                    got=theirs_kind,
                    kind=kind,
                )
        if np.any(model.body_gravcomp):
            warn(
                "{file}: MuJoCo compensates gravity of some bodies (gravcomp), so that their weight is not in "
                "its torque.",
                file=file.name,
            )
        disable, enable = mujoco_module().mjtDisableBit, mujoco_module().mjtEnableBit
        model.opt.disableflags |= int(disable.mjDSBL_CONTACT) | int(disable.mjDSBL_LIMIT)
        model.opt.enableflags &= ~int(
            enable.mjENBL_INVDISCRETE
        )  # a log's accelerations are not what MuJoCo's steps make
        spread = np.array(coupling_of(robot), dtype=float)
        joints = tuple(j.name for j in robot.joints)
        places = np.array(model.jnt_qposadr)[at], np.array(model.jnt_dofadr)[at]
        offsets = np.array(
            [mjcf.follower_offset(model, names[k]) if j.mimic else 0.0 for k, j in zip(at, robot.joints, strict=True)]
        )
        return cls(model, *places, spread, offsets, joints)

    def with_hard_friction(self) -> MujocoModel:
        """Return the model, its dry friction as hard as in the files that are written here; it changes MuJoCo's model too."""
        self.model.dof_solref[:] = HARD_SOLREF
        self.model.dof_solimp[:] = HARD_SOLIMP
        return self

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

    def driven(self, stretch: Stretch) -> np.ndarray:
        """Return the positions (N, n) of a `stretch` of a log: MuJoCo's steps, its position actuators given the commands.

        What a command adds beside a position goes in by it: kp (u - q) - kd qd = kp (qdes - q) + kd (qd_des - qd) + tau_ff with
        u = qdes + (kd qd_des + tau_ff) / kp, which is delayed and clipped like the rest.
        """
        mujoco, model, given = mujoco_module(), self.model, stretch.commands
        if not given.enabled.all():
            raise TaupiError(
                "{log} has drives that are switched off at times, which MuJoCo's actuators are not.", log=stretch.name
            )
        data = mujoco.MjData(model)
        owners = {int(model.jnt_dofadr[joint]): k for k, (joint, _) in enumerate(model.actuator_trnid)}
        missing = [name for name, dof in zip(self.joints, self.dofs.tolist(), strict=True) if dof not in owners]
        if missing or not np.array_equal(self.spread, np.eye(len(self.joints))):
            raise TaupiError("{joints:,} have no position actuator of their own.", joints=missing or self.joints)
        actuators = np.array([owners[dof] for dof in self.dofs.tolist()])
        kp, kd = model.actuator_gainprm[actuators, 0], -model.actuator_biasprm[actuators, 2]
        wanted = given.position + (kd * given.velocity + given.torque) / kp
        data.qpos[self.addresses], data.qvel[self.dofs] = stretch.q[0], stretch.qd
        for k, first in zip(actuators, wanted[0], strict=True):
            if count := int(model.actuator_history[k, 0]):
                times = -model.opt.timestep * np.arange(count, 0, -1.0)
                mujoco.mj_initCtrlHistory(model, data, int(k), times, np.full(count, first))
        seconds = given.time - given.time[0]
        steps = np.arange(int(np.ceil(seconds[-1] / model.opt.timestep)) + 1) * model.opt.timestep
        if given.linear:
            controls = np.stack([np.interp(steps, seconds, column) for column in wanted.T], axis=1)
        else:
            controls = wanted[np.searchsorted(seconds, steps + 1e-9, side="right") - 1]
        seen = np.empty(controls.shape)
        for k, control in enumerate(controls):
            seen[k] = data.qpos[self.addresses]
            data.ctrl[actuators] = control
            mujoco.mj_step(model, data)
        return np.stack([np.interp(seconds, steps, column) for column in seen.T], axis=1)

    def __call__(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        """Return the torque (N, n) for `q`, `qd` and `qdd` (N, n), SI units: MuJoCo's qfrc_inverse, gathered by coordinates."""
        mujoco = mujoco_module()
        data = mujoco.MjData(self.model)
        result = np.zeros((len(q), len(self.dofs)))
        for k, motion in enumerate(zip(q, qd, qdd, strict=True)):
            positions, velocities, accelerations = (self.spread @ x for x in motion)
            data.qpos[self.addresses] = positions + self.offsets
            data.qvel[self.dofs], data.qacc[self.dofs] = velocities, accelerations
            mujoco.mj_inverse(self.model, data)
            result[k] = data.qfrc_inverse[self.dofs]
        return result @ self.spread
