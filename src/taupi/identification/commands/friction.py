"""Friction of the joints as a fit has it, and as the law's torque shows it where nothing is simulated."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from taupi.dynamics.inverse import inverse_dynamics
from taupi.dynamics.parametric import parametric
from taupi.identification.commands.linear_start import SmoothMotion
from taupi.identification.commands.model import DrivenModel
from taupi.identification.commands.stretches import Stretch


@dataclass(frozen=True, eq=False)
class FrictionData:
    """Friction along a motion; all are (N, n).

    Attributes:
        position: rad or m.
        velocity: rad/s or m/s.
        identified: What the fit says, viscous and dry, N m or N.
        shown: The law's torque less everything identified but friction, smoothed as the motion is, N m or N.
    """

    position: np.ndarray
    velocity: np.ndarray
    identified: np.ndarray
    shown: np.ndarray


def friction_along(model: DrivenModel, x: np.ndarray, stretch: Stretch) -> FrictionData:
    """Return the friction of a stretch for parameters (p,), as identified and as its law's torque shows it."""
    motion, values = SmoothMotion.of(stretch), model.values
    theta = model.theta(x, stretch.drive)

    def value(kind: str) -> np.ndarray:
        return theta[values.joints(kind)]

    rigid = parametric(inverse_dynamics, model.robot)
    seen, bodies = motion.q + value("encoder"), theta[values.bodies]
    links = rigid(seen, motion.qd, motion.qdd, bodies)
    torque = motion.torque(stretch, float(theta[values.delay]))
    bend = motion.q - value("centre")
    rest = links + value("rotor") * motion.qdd + value("spring") * bend + value("offset")
    # From outside act gravity and the motion of other joints; only the gear of a servo feels both sides.
    outside = -rigid(seen, motion.qd, np.zeros_like(motion.qdd), bodies)
    fall = np.exp(-((np.abs(motion.qd) / value("stribeck_velocity")) ** value("stribeck_shape")))
    weaker = np.abs(outside) < np.abs(torque)
    square = np.where(weaker, value("quadratic_external") * outside**2, value("quadratic_motor") * torque**2)
    driven = np.abs(value("stribeck_load") * torque - value("stribeck_load_external") * outside)
    dry = (
        value("coulomb")
        + value("coulomb_slope") * bend
        + np.abs(value("load") * torque - value("load_external") * outside)
    )
    dry = dry + fall * (value("stribeck") + driven + np.where(torque * outside < 0, square, 0.0))
    identified = value("viscous") * motion.qd + np.maximum(dry, 0.0) * np.sign(motion.qd)
    use = motion.use
    return FrictionData(motion.q[use], motion.qd[use], identified[use], (torque - rest)[use])
