"""All the friction of a joint as one known curve: viscous, Coulomb and two exponentials."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from taupi.dynamics.terms.coulomb import Coulomb
from taupi.dynamics.terms.stribeck_fall import StribeckFall
from taupi.dynamics.terms.stribeck_rise import StribeckRise
from taupi.dynamics.terms.term import PerJoint, Term, checked_per_joint, value_at
from taupi.dynamics.terms.viscous import Viscous
from taupi.dynamics.types import SX, ArrayLike, Expression
from taupi.model.robot_parts import Joint
from taupi.model.scalars import Scalar
from taupi.program.casadi_on_use import cs

_NAMES = ("viscous", "coulomb", "rise", "rise_velocity", "fall", "fall_slowness")
_NUDGE = 1e-300  # a speed above zero
_UNITS = ("N m s/rad", "N m", "N m", "rad/s", "N m", "s/rad")


@dataclass(frozen=True, slots=True)
class StribeckCurve(Term):
    """tau = f_1 v + f_2 sgn v - f_3 sgn v exp(-|v| / f_4) - f_5 sgn v exp(-1 / (f_6 |v|)), and 0 at v = 0.

    A friction to simulate with (Zollo et al. 2014, eq. 43): `viscous` f_1 (N m s/rad), `coulomb` f_2 (N m), `rise` f_3 (N m, 0
    by default), `rise_velocity` f_4 (rad/s, 0.1), `fall` f_5 (N m, 0) and `fall_slowness` f_6 (s/rad, 10), each one number or
    one per joint, with N and m at sliding joints. `smoothing` (rad/s or m/s, 0 by default) replaces sgn v by tanh(v /
    smoothing). The term's only parameter scales the curve and is 1. `columns` are the terms in whose parameters the curve is
    linear.

    >>> import taupi as tp
    >>> tp.terms.StribeckCurve.document().torque([[0.02, 0.02], [0.5, 0.5]]).round(4).tolist()
    [[0.1461, 0.1546], [0.1367, 0.1468]]
    """

    viscous: PerJoint
    coulomb: PerJoint
    rise: PerJoint = 0.0
    rise_velocity: PerJoint = 0.1
    fall: PerJoint = 0.0
    fall_slowness: PerJoint = 10.0
    smoothing: float = 0.0
    name: ClassVar[str] = "stribeck_curve"
    label: ClassVar[str] = "friction as a known curve"
    jumps: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for name, unit in zip(_NAMES, _UNITS, strict=True):
            zero = name not in ("rise_velocity", "fall_slowness")
            object.__setattr__(self, name, checked_per_joint(name, getattr(self, name), unit, zero))
        object.__setattr__(self, "smoothing", checked_per_joint("smoothing", self.smoothing, "rad/s, m/s", zero=True))

    @classmethod
    def document(cls) -> StribeckCurve:
        """Return the friction of the two-joint study (Zollo et al. 2014, eq. 44)."""
        return cls(
            (0.1434, 0.1391), (0.3302, 0.3576), (0.2499, 0.2451), (0.0537, 0.1073), (0.2991, 0.3389), (16.624, 10.097)
        )

    @property
    def columns(self) -> tuple[Coulomb, Viscous, StribeckRise, StribeckFall]:
        """The terms of a regressor with the parameters f_2, f_1, f_3, f_5, given the shape f_4 and f_6 of this curve."""
        return Coulomb(), Viscous(), StribeckRise(self.rise_velocity), StribeckFall(self.fall_slowness)

    def at(self, joint: int) -> StribeckCurve:
        """Return the term of one joint, by its place `joint` in the robot."""
        return dataclasses.replace(self, **{name: value_at(name, getattr(self, name), joint) for name in _NAMES})

    def smooth(self, velocity: float) -> StribeckCurve:
        """Return the curve with tanh(v / `velocity`), in rad/s or m/s, for sgn v; at 0 it stays as it is."""
        return self if not velocity else dataclasses.replace(self, smoothing=velocity)

    def unit(self, prismatic: bool) -> str:
        """Return "1": the scale has no unit, whether the joint slides (`prismatic`) or turns."""
        return "1"

    def value(self, joint: Joint) -> Scalar:
        """Return 1, which is the curve itself, for every `joint`."""
        return Fraction(1)

    def column(self, q: Expression, qd: Expression, qdd: Expression) -> Expression:
        """Return the curve at `qd`; `q` and `qdd` do not matter."""
        speed = cs.fabs(qd)
        sign = cs.tanh(qd / self.smoothing) if self.smoothing else cs.sign(qd)
        # The columns of the two exponentials are taken at a speed above 0, where sgn is 1.
        moving = cs.fmax(speed, _NUDGE)
        rise = StribeckRise(self.rise_velocity).column(q, moving, qdd)
        fall = StribeckFall(self.fall_slowness).column(q, moving, qdd)
        return self.viscous * qd + sign * (self.coulomb + self.rise * rise + self.fall * fall)

    def torque(self, velocity: ArrayLike) -> np.ndarray:
        """Return the friction (..., n), in N m or N, at a `velocity` (..., n) in rad/s or m/s."""
        v = np.asarray(velocity, dtype=float)
        x, tau = SX.sym("v"), np.empty_like(v)
        for i in range(v.shape[-1]):
            curve = cs.Function("curve", [x], [self.at(i).column(x, x, x)])
            tau[..., i] = np.asarray(curve(v[..., i].reshape(1, -1))).reshape(v.shape[:-1])
        return tau
