"""How the joints of a log were driven: the law that turns commands into torques, its gains and its limits."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from taupi.checks import is_number, not_negative, one_of, positive
from taupi.errors import Argument, TaupiError, unknown

Numbers = tuple[float, ...]

LAWS = ("pd", "pd_host", "duty")
HOLDS = ("zero", "linear")
KD_ACTS_ON = ("velocity", "error")
GAINS = ("kp", "kd", "kt", "resistance")
# Fields with a number per joint: whether 0 is a value, and the value if it is not stated (None if there is no such value).
_NUMBERS: dict[str, tuple[bool, float | None]] = {
    "kp": (False, None),
    "kd": (True, 0.0),
    "torque_limit": (False, math.inf),
    "duty_limit": (False, 1.0),
    "current_limit": (False, math.inf),
    "kt": (False, None),
    "resistance": (False, None),
    "volts": (False, None),
}
_OF_DUTY = ("duty_limit", "current_limit", "kt", "resistance", "volts")


@dataclass(frozen=True, slots=True)
class Drive:
    """States how joints were driven by commands, so that the torque on each follows from them and from its encoder.

    "pd", computed in the drive (some kHz: as if in continuous time) and "pd_host", computed at `rate_hz` and held between:

        tau = clip(kp (qdes - q) + kd (qd_des - qd) + tau_ff, -torque_limit, torque_limit).

    "duty", a servo whose firmware sets the duty of the motor's voltage:

        duty = clip(kp (qdes - q) + kd (qd_des - qd), -duty_limit, duty_limit),
        tau = clip(kt / resistance (volts duty - kt qd) + tau_ff, at kt current_limit and at torque_limit).

    qd_des is 0 if kd acts on the joint's own velocity. Where `enabled` of the log is 0, tau = 0. Each number is one for all
    joints, or one per joint; a tuple that is empty is not stated. Units are for a revolute joint.

    Attributes:
        law: "pd", "pd_host" or "duty".
        kp: Gain on the position error, N m/rad; for "duty", duty per rad (1 is full voltage).
        kd: Gain on the velocity, N m s/rad; for "duty", duty s/rad; 0 by default.
        unknown: Which of "kp", "kd", "kt" and "resistance" are only where the search begins; none by default.
        kd_acts_on: "velocity" of the joint, by default, or "error", qd_des - qd, with qd_des as recorded, or else the slope of
            qdes.
        torque_limit: Largest torque, N m; none by default.
        duty_limit: Largest duty; 1 by default.
        current_limit: Largest current of the motor, A; none by default.
        hold: How a command goes on until the next: "zero" keeps its value, by default; "linear" goes straight to the next one.
        rate_hz: How often "pd_host" is computed, Hz.
        kt: Torque per ampere at the joint, N m/A, which is also its back-EMF in V s/rad.
        resistance: Resistance of the motor's winding, ohm.
        volts: Supply voltage, V, where the log has not recorded it.
        servo: The servo, by its name in the catalogue, such as "xl330"; none by default. In a table, it states the law, what the
            data sheet says of kt and resistance, and what `kp_register`, the number that its firmware has for kp, means.
        payload: A known mass that the robot carried beside what its description has, kg; none by default. It makes torques known
            where no gain is.
        payload_com: Where its centre of mass is in the frame, m; the frame's origin by default.
        payload_frame: The frame that carries it; "tip" by default.

    >>> import taupi as tp
    >>> tp.Drive(kp=(80, 120), kd=2.5).per_joint("kd", 2)
    array([2.5, 2.5])
    """

    law: str = "pd"
    kp: Numbers = ()
    kd: Numbers = ()
    unknown: tuple[str, ...] = ()
    kd_acts_on: str = "velocity"
    torque_limit: Numbers = ()
    duty_limit: Numbers = ()
    current_limit: Numbers = ()
    hold: str = "zero"
    rate_hz: float | None = None
    kt: Numbers = ()
    resistance: Numbers = ()
    volts: Numbers = ()
    servo: str = ""
    payload: float = 0.0
    payload_com: Numbers = ()
    payload_frame: str = "tip"

    def __post_init__(self) -> None:
        one_of(LAWS)("drive.law", self.law)
        one_of(HOLDS)("drive.hold", self.hold)
        one_of(KD_ACTS_ON)("drive.kd_acts_on", self.kd_acts_on)
        for name, (zero, _) in _NUMBERS.items():
            object.__setattr__(self, name, _numbers(f"drive.{name}", getattr(self, name), zero))
        if self.rate_hz is not None:
            object.__setattr__(self, "rate_hz", positive("drive.rate_hz", self.rate_hz))
        object.__setattr__(self, "payload", not_negative("drive.payload", self.payload))
        object.__setattr__(self, "payload_com", _point("drive.payload_com", self.payload_com))
        several = isinstance(self.unknown, Iterable) and not isinstance(self.unknown, str)
        gains = tuple(self.unknown) if several else (self.unknown,)
        object.__setattr__(self, "unknown", tuple(one_of(GAINS)("drive.unknown", gain) for gain in gains))
        if not self.kp:
            raise TaupiError(
                "{argument} is missing, expected {expected}, one or one per joint.",
                remedy="If it is not known, state a guess, and {unknown}.",
                argument=Argument("drive.kp"),
                expected="duty per rad" if self.law == "duty" else "N m/rad",
                unknown=Argument("unknown", ["kp"]),
            )
        if self.law == "pd_host" and self.rate_hz is None:
            raise TaupiError(
                "{argument} is missing: a law that the host computes needs the rate at which it does.",
                argument=Argument("drive.rate_hz"),
            )
        if self.law != "pd_host" and self.rate_hz is not None:
            raise TaupiError(
                "{argument} is {got:g} Hz, but the law {law!r} is computed in the drive.",
                remedy="Write law = 'pd_host', or leave the rate out.",
                argument=Argument("drive.rate_hz"),
                got=self.rate_hz,
                law=self.law,
            )
        for name in _OF_DUTY if self.law != "duty" else ():
            if getattr(self, name):
                raise TaupiError(
                    "{argument} belongs to the law 'duty', and the law is {law!r}.",
                    argument=Argument(f"drive.{name}"),
                    law=self.law,
                )

    @classmethod
    def of(cls, value: object, where: str = "drive") -> Drive:
        """Return the drive in a table, such as [drive] of a column mapping; a `Drive` is returned as it is.

        Args:
            value: A mapping of the fields, or a Drive.
            where: What messages call the table.

        Raises:
            TaupiError: A key is not known, or a value cannot be.
        """
        if isinstance(value, Drive):
            return value
        if not isinstance(value, Mapping):
            raise TaupiError(
                "{where} is {got!r}, expected a table such as {expected}.",
                where=where,
                got=value,
                expected="{law = 'pd', kp = 80, kd = 2.5}",
            )
        known = [*(field.name for field in dataclasses.fields(cls)), _REGISTER]
        for key in value:
            if key not in known:
                raise unknown("key", key, known, where)
        return cls(**_with_servo(value, where))

    def table(self) -> dict[str, object]:
        """Return the fields that are stated, as plain data: what `Drive.of` reads."""
        fields = {f.name: (getattr(self, f.name), f.default) for f in dataclasses.fields(self)}
        return {k: list(v) if isinstance(v, tuple) else v for k, (v, default) in fields.items() if v != default}

    def per_joint(self, name: str, n: int) -> np.ndarray:
        """Return one of the numbers for each joint (n,): infinity for a limit that is not stated, 0 for kd.

        Args:
            name: The field, such as "kp".
            n: The number of joints.

        Raises:
            TaupiError: It is not stated, or has the wrong number of values.
        """
        if name not in _NUMBERS:
            raise unknown("number", name, _NUMBERS, "Drive")
        values, unstated = getattr(self, name), _NUMBERS[name][1]
        if not values and unstated is None:
            raise TaupiError("{argument} is not stated.", argument=Argument(f"drive.{name}"))
        if len(values) not in (0, 1, n):
            raise TaupiError(
                "{argument} has {got} values, expected 1 or {expected}: one per joint.",
                argument=Argument(f"drive.{name}"),
                got=len(values),
                expected=n,
            )
        return np.broadcast_to(np.array(values or (unstated,), dtype=float), (n,))

    def of_joints(self, index: Sequence[int], n: int) -> Drive:
        """Return the drive of some joints, with one number per joint for all that is stated.

        Args:
            index: The numbers of the joints, from 0, in the order wanted.
            n: The number of joints.
        """
        stated = [name for name in _NUMBERS if getattr(self, name)]
        chosen = {name: tuple(self.per_joint(name, n)[list(index)].tolist()) for name in stated}
        return dataclasses.replace(self, **chosen)  # type: ignore[arg-type]  # all of these are numbers per joint

    def __str__(self) -> str:
        servo = f"duty of {self.servo or 'a servo'}"
        place = {"pd": "PD in the drive", "pd_host": f"PD on the host at {self.rate_hz} Hz", "duty": servo}
        units = {"kp": "/rad", "kd": " s/rad"} if self.law == "duty" else {"kp": " N m/rad", "kd": " N m s/rad"}
        shown = [
            _stated(name, getattr(self, name), unit, name in self.unknown) for name, unit in (units | _UNITS).items()
        ]
        kd = "" if not any(self.kd) else f", kd on the {'velocity error' if self.kd_acts_on == 'error' else 'velocity'}"
        hold = "" if self.hold == "zero" else ", commands go straight from one to the next"
        carried = f", carrying {self.payload:g} kg at {self.payload_frame}" if self.payload else ""
        return f"{place[self.law]}: {', '.join(filter(None, shown))}{kd}{hold}{carried}"


_REGISTER = "kp_register"  # of a table: kp as the firmware of a servo has it


def _with_servo(value: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return a table with what the catalogue says of its servo, where the table itself says nothing."""
    own = dict(value)
    register, name = own.pop(_REGISTER, None), own.get("servo", "")
    if not name:
        if register is not None:
            raise TaupiError(
                "{where}: kp_register is a number of a servo. Name it: servo = {example!r}.",
                where=where,
                example="xl330",
            )
        return own
    from taupi.signals.servos import servo

    known = servo(name)
    if register is not None and "kp" in own:
        raise TaupiError("{where} states both kp and kp_register. Leave one out.", where=where)
    if register is not None:
        own["kp"] = [known["registers"]["kp"] * v for v in _numbers(f"{where}.{_REGISTER}", register, False)]
    return {**known["drive"], **own}


_UNITS = {
    "torque_limit": " N m",
    "duty_limit": "",
    "current_limit": " A",
    "kt": " N m/A",
    "resistance": " ohm",
    "volts": " V",
}


def _stated(name: str, values: Numbers, unit: str, is_unknown: bool) -> str:
    if not values:
        return ""
    same = values[:1] if len(set(values)) == 1 else values
    numbers = " ".join(f"{v:.4g}" for v in same)
    return f"{name.replace('_', ' ')} {numbers}{unit}{' (unknown: a guess)' if is_unknown else ''}"


def _point(name: str, value: object) -> Numbers:
    point = value.tolist() if isinstance(value, np.ndarray) else value
    if not isinstance(point, list | tuple) or len(point) not in (0, 3) or not all(map(is_number, point)):
        raise TaupiError("{argument} is {got!r}, expected 3 numbers, m.", argument=Argument(name), got=value)
    return tuple(map(float, point))


def _numbers(name: str, value: object, zero: bool) -> Numbers:
    value = value.tolist() if isinstance(value, np.ndarray | np.generic) else value
    items = value if isinstance(value, list | tuple) else (value,)
    check = not_negative if zero else positive
    return tuple(check(name, item) for item in items)
