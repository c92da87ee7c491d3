"""What an MJCF joint stores about a robot's joint, as the attributes of its element."""

from __future__ import annotations

from dataclasses import dataclass

from taupi.bridges.identified import JointValues

# A constant torque is written as a soft spring far from rest: over a turn its torque changes by 1e-5 N m.
SOFT = 1e-6


@dataclass(frozen=True)
class JointAttributes:
    """The numbers of an MJCF joint: tau = armature qdd + damping qd + frictionloss sgn(qd) + stiffness (q - springref).

    `springref` is in rad or m, whatever unit the file has for angles.
    """

    armature: float
    damping: float
    frictionloss: float
    stiffness: float
    springref: float

    @classmethod
    def of(cls, values: JointValues) -> JointAttributes:
        """Return the attributes for a joint's values; a constant torque without a spring is written as a very soft one.

        >>> JointAttributes.of(JointValues(offset=2.0)).springref
        -2000000.0
        """
        stiffness = values.stiffness or (SOFT if values.offset else 0.0)
        rest = -values.offset / stiffness if stiffness else 0.0
        return cls(values.armature, values.damping, max(values.dry_friction, 0.0), stiffness, rest)

    def texts(self, degrees: bool) -> dict[str, str]:
        """Return the attributes as texts; `springref` in degrees if the file uses degrees and the joint is revolute."""
        from math import degrees as in_degrees

        rest = in_degrees(self.springref) if degrees else self.springref
        numbers = {
            "armature": self.armature,
            "damping": self.damping,
            "frictionloss": self.frictionloss,
            "stiffness": self.stiffness,
            "springref": rest,
        }
        return {name: number_text(value) for name, value in numbers.items()}


def number_text(value: float) -> str:
    """Return the shortest text of a double that reads back to it; 0 without its point."""
    return repr(float(value)) if value else "0"


def numbers_text(values: object) -> str:
    """Return numbers as one text, separated by blanks."""
    return " ".join(number_text(float(v)) for v in values)  # type: ignore[attr-defined]
