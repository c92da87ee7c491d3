"""What logs show about a spring and the encoders on its two sides, as a fit keeps it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class SpringRecord:
    """The deflection theta - q of a joint over all logs: c tau_link - delay thetad + lost_motion sgn(thetad) + offset of the log.

    tau_link is the torque that the motion of the links needs. Deflections are in rad (m for a prismatic joint), torques in N m
    (N), errors are standard errors.

    Attributes:
        joint: The joint.
        unit: The unit of its stiffness.
        described: The stiffness in the description.
        determined: Whether the logs determine the stiffness. If not, the fit keeps that of the description, its standard error is
            infinite, and the row of the link is not used.
        reason: Why they do not; empty if they do.
        compliance: c, 1 over the stiffness.
        compliance_error: Its standard error.
        run_compliances: c from each log alone.
        delay: The delay of the motor's encoder behind that of the link, s; negative if the link's encoder is late.
        delay_error: Its standard error.
        lost_motion: Half the distance between the deflections in the two directions of motion, without load.
        lost_motion_error: Its standard error.
        offsets: The difference between the encoders, theta - q without load, in each log.
        offset_errors: Their standard errors.
        width: The speed v over which the lost motion sets in, tanh(thetad / v), rad/s or m/s.
    """

    joint: str
    unit: str
    described: float
    determined: bool
    reason: str
    compliance: float
    compliance_error: float
    run_compliances: tuple[float, ...]
    delay: float
    delay_error: float
    lost_motion: float
    lost_motion_error: float
    offsets: tuple[float, ...]
    offset_errors: tuple[float, ...]
    width: float

    @property
    def angle_unit(self) -> str:
        """The unit of deflections: rad, or m for a prismatic joint."""
        return "m" if self.unit == "N/m" else "rad"

    def to_dict(self) -> dict[str, Any]:
        """Return the record as plain data; infinite numbers are None."""
        return {k: [_plain(x) for x in v] if isinstance(v, tuple) else _plain(v) for k, v in asdict(self).items()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> SpringRecord:
        """Return the record that `to_dict` returned as `data`."""
        values: dict[str, Any] = {}
        for name, value in data.items():
            values[name] = tuple(_number(v) for v in value) if isinstance(value, list | tuple) else _number(value)
        return cls(**values)


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _number(value: Any) -> Any:
    return math.inf if value is None else value
