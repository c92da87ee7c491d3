"""The signals of a base that moves freely: its angular velocity, its accelerometer's reading, contacts and wrenches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from taupi.checks import real_array
from taupi.errors import Argument, TaupiError


@dataclass(frozen=True, slots=True, eq=False)
class BaseMotion:
    """How the root link of a floating robot moves, in its own axes, N samples; the arrays are read-only.

    Attributes:
        w: Angular velocity (N, 3), rad/s, as a gyroscope reads it.
        a: What an accelerometer at the root frame's origin reads (N, 3), m/s^2: its acceleration minus gravity.
        wd: Angular acceleration (N, 3), rad/s^2; None if it has to be differentiated from w.
    """

    w: np.ndarray
    a: np.ndarray
    wd: np.ndarray | None = None

    def __post_init__(self) -> None:
        for name, value in self.signals.items():
            object.__setattr__(self, name, _frozen(f"base.{name}", value, 3))
        for name, value in self.signals.items():
            if len(value) != len(self.w):
                raise TaupiError(
                    "base.{name} has {count} samples, base.w {w_count}, expected the same number.",
                    name=name,
                    count=len(value),
                    w_count=len(self.w),
                )

    def __len__(self) -> int:
        return len(self.w)

    @property
    def signals(self) -> dict[str, np.ndarray]:
        """Its signals by name: w, a, and wd if it is known."""
        return {name: value for name in ("w", "a", "wd") if (value := getattr(self, name)) is not None}

    def rows(self, index: Any) -> BaseMotion:
        """Return the samples that `index` selects."""
        return BaseMotion(**{name: value[index] for name, value in self.signals.items()})


def joined_bases(parts: Sequence[BaseMotion]) -> BaseMotion:
    """Return the base of consecutive parts of a log."""
    each = [part.signals for part in parts]
    common = [name for name in each[0] if all(name in signals for signals in each)]
    return BaseMotion(**{name: np.concatenate([signals[name] for signals in each]) for name in common})


def checked_base(base: object, samples: int) -> BaseMotion | None:
    """Return the base of a log, or None; refuse anything else, and another number of samples."""
    if base is None:
        return None
    if not isinstance(base, BaseMotion):
        raise TaupiError("{base} is {got!r}, expected tp.floating.BaseMotion(w, a) or None.", got=base)
    if len(base) != samples:
        raise TaupiError(
            "{base} has {got} samples, expected {samples}: one per time stamp.", got=len(base), samples=samples
        )
    return base


def checked_wrenches(wrenches: Mapping[str, object], samples: int) -> dict[str, np.ndarray]:
    """Return wrenches by frame, (N, 6) or forces (N, 3) each."""
    result = {}
    for frame, value in _mapping("wrench", wrenches).items():
        array = real_array("wrench", value)
        if array.ndim != 2 or array.shape[0] != samples or array.shape[1] not in (3, 6):
            raise TaupiError(
                "{wrench} of {frame!r} has shape {got}, expected ({samples}, 6): moment, force; or "
                "({samples}, 3): force.",
                frame=frame,
                got=array.shape,
                samples=samples,
            )
        result[frame] = _frozen(f"wrench of {frame}", array, array.shape[1])
    return result


def checked_contacts(contacts: Mapping[str, object], samples: int) -> dict[str, np.ndarray]:
    """Return contact flags by frame, (N,) of True and False."""
    result = {}
    for frame, value in _mapping("contact", contacts).items():
        array = np.asarray(value)
        if array.shape != (samples,) or not np.isin(array, (0, 1)).all():
            raise TaupiError(
                "{contact} of {frame!r} has shape {got}, expected ({samples},) of 0 and 1, or True and False.",
                frame=frame,
                got=array.shape,
                samples=samples,
            )
        flags = array.astype(bool)
        flags.flags.writeable = False
        result[frame] = flags
    return result


def _mapping(name: str, value: object) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise TaupiError(
            "{argument} is {got!r}, expected a mapping from frames of the robot to arrays.",
            argument=Argument(name),
            got=value,
        )
    return value


def _frozen(name: str, value: object, width: int) -> np.ndarray:
    array = real_array(name, value)
    if array.ndim != 2 or array.shape[1] != width:
        raise TaupiError("{name} has shape {got}, expected (N, {width}).", name=name, got=array.shape, width=width)
    array.flags.writeable = False
    return array
