"""The whole friction of a joint as a known curve: viscous, Coulomb and two exponentials."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import casadi as cs
import numpy as np

from taupi.dynamics.terms.coulomb import Coulomb
from taupi.dynamics.terms.per_joint import Shape, checked_shape, shape_of
from taupi.dynamics.terms.stribeck_fall import StribeckFall
from taupi.dynamics.terms.stribeck_rise import StribeckRise
from taupi.dynamics.terms.viscous import Viscous
from taupi.model.robot import Joint
from taupi.model.scalars import Scalar

_NAMES = ("viscous", "coulomb", "rise", "rise_velocity", "fall", "fall_slowness")
_NUDGE = 1e-300  # a speed above zero
_UNITS = ("N m s/rad", "N m", "N m", "rad/s", "N m", "s/rad")


@dataclass(frozen=True, slots=True)
class StribeckCurve:
    """tau = f_1 v + f_2 sgn v - f_3 sgn v exp(-|v| / f_4) - f_5 sgn v exp(-1 / (f_6 |v|)), 0 at v = 0 (Zollo et al. 2014, 43).

    A friction to simulate with: `viscous` f_1, `coulomb` f_2, `rise` f_3, `rise_velocity` f_4, `fall` f_5, `fall_slowness` f_6,
    each one number or one a joint. Its one parameter scales the whole curve and is 1. `smoothing` (rad/s, m/s) makes sgn v
    tanh(v / smoothing). `columns` are the terms that it is linear in.

    >>> import taupi as tp
    >>> tp.StribeckCurve.document().torque([[0.02, 0.02], [0.5, 0.5]]).round(4).tolist()
    [[0.1461, 0.1546], [0.1367, 0.1468]]
    """

    viscous: Shape
    coulomb: Shape
    rise: Shape = 0.0
    rise_velocity: Shape = 0.1
    fall: Shape = 0.0
    fall_slowness: Shape = 10.0
    smoothing: float = 0.0
    name: ClassVar[str] = "stribeck_curve"

    def __post_init__(self) -> None:
        for name, unit in zip(_NAMES, _UNITS, strict=True):
            zero = name not in ("rise_velocity", "fall_slowness")
            object.__setattr__(self, name, checked_shape(getattr(self, name), name, unit, zero))
        object.__setattr__(self, "smoothing", checked_shape(self.smoothing, "smoothing", "rad/s, m/s", zero=True))

    @classmethod
    def document(cls) -> StribeckCurve:
        """Return the friction of the two-joint study (Zollo et al. 2014, 44)."""
        return cls(
            (0.1434, 0.1391), (0.3302, 0.3576), (0.2499, 0.2451), (0.0537, 0.1073), (0.2991, 0.3389), (16.624, 10.097)
        )

    @property
    def columns(self) -> tuple[Coulomb, Viscous, StribeckRise, StribeckFall]:
        """The terms for a regressor, of parameters f_2, f_1, f_3, f_5, with the shapes f_4 and f_6 of this curve."""
        return Coulomb(), Viscous(), StribeckRise(self.rise_velocity), StribeckFall(self.fall_slowness)

    def at(self, joint: int) -> StribeckCurve:
        """Return the term of one joint."""
        own = {name: shape_of(getattr(self, name), joint, name) for name in _NAMES}
        return dataclasses.replace(self, **own)

    def smooth(self, velocity: float) -> StribeckCurve:
        """Return the curve with sgn v smoothed to tanh(v / velocity)."""
        return dataclasses.replace(self, smoothing=velocity)

    def unit(self, prismatic: bool) -> str:
        """Return the unit of the scale, which has none."""
        return "1"

    def value(self, joint: Joint) -> Scalar:
        """Return 1: the curve as it is given."""
        return Fraction(1)

    def column(self, q: Any, qd: Any, qdd: Any) -> Any:
        """Return the curve at qd."""
        speed = cs.fabs(qd)
        sign = cs.tanh(qd / self.smoothing) if self.smoothing else cs.sign(qd)
        # The columns of the two exponentials at a speed above 0, where sgn is 1.
        moving = cs.fmax(speed, _NUDGE)
        rise = StribeckRise(self.rise_velocity).column(q, moving, qdd)
        fall = StribeckFall(self.fall_slowness).column(q, moving, qdd)
        return self.viscous * qd + sign * (self.coulomb + self.rise * rise + self.fall * fall)

    def torque(self, velocity: Any) -> np.ndarray:
        """Return the friction (..., n) at velocities (..., n) in rad/s or m/s, in N m or N."""
        v = np.asarray(velocity, dtype=float)
        x, made = cs.SX.sym("v"), np.empty_like(v)
        for i in range(v.shape[-1]):
            curve = cs.Function("curve", [x], [self.at(i).column(x, x, x)])
            made[..., i] = np.asarray(curve(v[..., i].reshape(1, -1))).reshape(v.shape[:-1])
        return made
