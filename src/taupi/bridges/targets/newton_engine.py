"""Newton's inverse dynamics of a USD layer: what it read of bodies, joints, armature, damping and friction."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from taupi.bridges.packages import needed
from taupi.bridges.targets.target import identifier
from taupi.errors import TaupiError

if TYPE_CHECKING:
    from taupi.bridges.targets.passport import Passport

_WORLDS = 256  # samples that are computed at a time, each in a world of its own


@dataclass(frozen=True, eq=False)
class NewtonModel:
    """The torque that Newton needs for motions of a robot, its joints found by name, in single precision.

    Newton's function has the torque of bodies and armature; the damping and dry friction that its model holds are added.

    Attributes:
        model: The model of many worlds, with the robot in each.
        positions: Where the joints' positions are among the positions of one world (n,).
        velocities: The same of velocities (n,).
    """

    model: Any
    positions: np.ndarray
    velocities: np.ndarray

    @classmethod
    def of(cls, path: Path, passport: Passport) -> NewtonModel:
        """Return the model of a layer that was written for a `passport`."""
        newton = _newton()
        if passport.robot.floating:
            raise TaupiError("{robot} floats, and is not checked with Newton.", robot=passport.robot.name)
        one = newton.ModelBuilder()
        newton.solvers.SolverMuJoCo.register_custom_attributes(one)
        one.add_usd(str(path))
        builder = newton.ModelBuilder(gravity=one.gravity)
        builder.replicate(one, _WORLDS)
        model = builder.finalize()
        ends = [label.split("/")[-1] for label in one.joint_label]
        joints = [ends.index(identifier(joint.name)) for joint in passport.robot.single_joints]
        starts = (model.joint_q_start.numpy()[joints], model.joint_qd_start.numpy()[joints])
        return cls(model, *starts)

    def __call__(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        """Return the torque (N, n) for `q`, `qd` and `qdd` (N, n), SI units."""
        parts = [self._of_worlds(*(x[a : a + _WORLDS] for x in (q, qd, qdd))) for a in range(0, len(q), _WORLDS)]
        return np.concatenate(parts) if parts else np.zeros_like(q, dtype=float)

    def _of_worlds(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        """Return the torques of up to as many samples as there are worlds."""
        newton, warp = _newton(), needed("warp", "newton", "This check")
        model, state = self.model, self.model.state()

        def filled(like: Any, values: np.ndarray, places: np.ndarray) -> Any:
            rows = like.numpy().reshape(_WORLDS, -1)
            rows[: len(values), places] = values
            return warp.array(rows.ravel(), dtype=float)

        state.joint_q.assign(filled(state.joint_q, q, self.positions))
        state.joint_qd.assign(filled(state.joint_qd, qd, self.velocities))
        newton.eval_fk(model, state.joint_q, state.joint_qd, state)
        count, widest = model.articulation_count, model.max_dofs_per_articulation
        mass = warp.zeros((count, widest, widest), dtype=float)
        zero = np.zeros((len(q), len(self.velocities)))
        blank = warp.zeros(model.joint_dof_count, dtype=float)
        acceleration = filled(blank, qdd, self.velocities)
        gravity, coriolis, total = (filled(blank, zero, self.velocities) for _ in range(3))
        parts = {"mass_matrix": mass, "gravity_force": gravity, "coriolis_force": coriolis}
        newton.eval_inverse_dynamics_passive(model, state, **parts)
        newton.eval_inverse_dynamics_force(model, state, joint_qdd=acceleration, joint_f=total, **parts)
        of_bodies, damping, friction = (
            x.numpy().reshape(_WORLDS, -1)[: len(q), self.velocities].astype(float)
            for x in (total, model.joint_damping, model.joint_friction)
        )
        torque: np.ndarray = of_bodies + damping * qd + friction * np.sign(qd)
        return torque


def _newton() -> Any:
    """Return Newton, with what it compiles unannounced: results are on standard output."""
    warp = needed("warp", "newton", "This check")
    warp.config.log_level = warp.LOG_WARNING
    return needed("newton", "newton", "This check")
