"""Find the units of a log from its numbers: velocities that are not dq/dt, joints that turn too far, large currents."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from taupi.errors import warn
from taupi.model.robot import Joint
from taupi.signals.checking import rules
from taupi.signals.log import Log
from taupi.signals.mapping.units import DIMENSION, UNITS, joint_unit
from taupi.signals.stretches import median_step

# A joint that turns farther than two turns from zero is rare; in degrees, it is the rule.
FAR = 4 * math.pi
# Longer than the rails that robots slide on, m; and how many times beyond its limits a joint is in another unit.
_RAIL, _BEYOND = 50.0, 20.0
# Whole numbers beyond this are more turns than a joint makes in degrees.
_TICKS = 720.0
# No motor of an arm draws this much, A; milliamperes do.
_AMPERES = 100.0
# Rates that logs have, Hz, and speeds that joints have, rad/s: of two explanations, the one within is likelier.
_RATES, _FAST = (4.0, 5e4), 100.0
# Two factors within this share of each other are the same one.
_SAME = 0.06
# Samples between time stamps that are farther apart than this, s, show no motion.
_SLOW = 0.5
_TIMES = ("ms", "us", "ns", "min")
_POSITIONS = ("deg", "mrad", "turn", "dxl_tick")
_SPEEDS = ("deg/s", "rpm", "turn/s", "mrad/s", "dxl_tick", "sts_tick")
_TOGETHER = (("deg", "rpm"), ("dxl_tick", "dxl_tick"), ("sts_tick", "sts_tick"), ("turn", "rpm"), ("deg", "mrad/s"))


@dataclass(frozen=True, slots=True)
class UnitFound:
    """A unit that the numbers of a log suggest.

    Attributes:
        units: The unit by signal, such as {"qd": "deg/s"}.
        channel: What it is about, such as "q of j1".
        message: Why, in a sentence without its full stop.
        certain: Whether it follows from an equation, qd = dq/dt, rather than from how large numbers are.
        values: (name, number) of the numbers in the message.
        kinds: "rad" or "m" for each joint.
    """

    units: dict[str, str]
    channel: str
    message: str
    certain: bool
    values: tuple[tuple[str, float], ...] = ()
    kinds: tuple[str, ...] = ()

    @property
    def stated(self) -> str:
        """How a mapping states the units: one per joint where some turn and some slide.

        >>> UnitFound({"q": "deg"}, "q of a", "degrees?", False, kinds=("rad", "m")).stated
        'q = {columns = ..., unit = ["deg", "m"]}'
        """
        return ", ".join(f"{s} = {{columns = ..., unit = {self._of_joints(s, u)}}}" for s, u in self.units.items())

    def _of_joints(self, signal: str, unit: str) -> str:
        per = {"position": "", "velocity": "/s"}.get(DIMENSION.get(signal, ""))
        if per is None or len(set(self.kinds)) < 2:
            return json.dumps(unit)
        kind = joint_unit(unit.split("/", maxsplit=1)[0])
        return json.dumps([unit if own == kind else own + per for own in self.kinds])


def units_found(log: Log, joints: Sequence[Joint] = ()) -> Iterator[UnitFound]:
    """Yield the units that the numbers of a log suggest, other than those in which it was read.

    Where positions and velocities are recorded, the factor k in dq = k qd dt is compared with the factors of units. Elsewhere,
    and where k is 1, what counts is how far joints turn, and whether numbers are whole.

    Args:
        log: The log.
        joints: The robot's joint for each column, whose limits say how far it may turn; unknown by default.

    >>> t = np.arange(500) / 100
    >>> log = Log(t, np.sin(t)[:, None], qd=np.degrees(np.cos(t))[:, None])
    >>> [(unit.units, unit.certain) for unit in units_found(log)]
    [({'qd': 'deg/s'}, True)]
    """
    found: dict[str, str] = {}
    alike: dict[str, str] = {}  # the velocity that is the derivative of a position as both are read
    for low, high in (("q", "qd"), ("theta", "thetad")):
        slope = slope_of(log, low, high)
        if slope is None or abs(math.log(slope)) < 0.2:
            alike |= {low: high} if slope is not None else {}
            continue
        units = explained(slope, log, low, high)
        if units:
            found |= units
            words = " and ".join(f"{signal} in {unit}" for signal, unit in units.items())
            message = f"d({low})/dt is {slope:.4g} {high}, as it is with {words}"
            yield UnitFound(
                units, f"{high} of {', '.join(log.names)}", message, True, (("factor", slope),), kinds=log.units
            )
    if "time" not in found:
        step = median_step(log.time)
        if step >= _SLOW:
            message = f"steps by {step:.3g} s, which shows no motion: milliseconds?"
            yield UnitFound({"time": "ms"}, "time", message, False, (("step", step),))
    for signal in ("q", "theta"):
        if signal in log.signals and signal not in found:
            for far in _far(log, signal, joints if signal == "q" else (), alike.get(signal, "")):
                found |= far.units
                yield replace(far, kinds=log.units)
    if "current" in log.signals:
        largest = float(np.fmax.reduce(np.abs(log.signals["current"]), axis=None))
        ticks = next((found[s] for s in ("q", "theta") if found.get(s, "").endswith("_tick")), "")
        if ticks and _whole(log.signals["current"]) and largest > 0:
            message = f"whole numbers up to {largest:.4g}, beside positions in ticks: as the servo sends them?"
            yield UnitFound({"current": ticks}, "current", message, False, (("largest", largest),))
        elif largest > _AMPERES:
            message = f"goes up to {largest:.4g} A: milliamperes?"
            yield UnitFound({"current": "mA"}, "current", message, False, (("largest", largest),))


def _far(log: Log, signal: str, joints: Sequence[Joint], velocity: str) -> Iterator[UnitFound]:
    """Yield the unit of positions that are too far for radians: whole numbers are ticks, others are degrees.

    Motors behind gears turn far in radians, too: of them, only ticks are named. Where a `velocity` is their derivative as both
    are read, it is in degrees per second if they are in degrees.
    """
    value = log.signals[signal]
    yield from _far_slides(log, signal, joints, velocity)
    turning = [j for j, unit in enumerate(log.units) if unit == "rad"]
    reach = np.fmax.reduce(np.abs(value[:, turning]), axis=0, initial=0.0)
    # Two turns, or the joint's limits if these are farther.
    far = [(j, float(r)) for j, r in zip(turning, reach, strict=True) if r > max(FAR, _farthest_limit(j, joints))]
    if not far:
        return
    largest = max(r for _, r in far)
    names = ", ".join(log.names[j] for j, _ in far)
    unit = "dxl_tick" if _whole(value[:, turning]) and largest > _TICKS else "deg"
    what = "whole numbers: ticks of an encoder with 4096 per turn?"
    if unit == "deg":
        if signal == "theta":
            return
        what = f"degrees, and {velocity} in degrees per second?" if velocity else "degrees?"
    message = f"goes up to {largest:.4g} rad, {largest / (2 * math.pi):.3g} turns: {what}"
    units = {signal: unit} | ({velocity: "deg/s"} if velocity and unit == "deg" else {})
    yield UnitFound(units, f"{signal} of {names}", message, False, (("largest", largest),))


def _far_slides(log: Log, signal: str, joints: Sequence[Joint], velocity: str) -> Iterator[UnitFound]:
    """Yield millimetres for joints that slide farther than rails are long, or than their limits many times over."""
    reach = np.fmax.reduce(np.abs(log.signals[signal]), axis=0, initial=0.0)
    far = [
        j
        for j, unit in enumerate(log.units)
        if unit == "m" and reach[j] > (_BEYOND * _farthest_limit(j, joints) or _RAIL)
    ]
    if far:
        largest = float(reach[far].max())
        units = {signal: "mm"} | ({velocity: "mm/s"} if velocity else {})
        what = f"goes up to {largest:.4g} m: millimetres{', and ' + velocity + ' in mm/s' if velocity else ''}?"
        names = ", ".join(log.names[j] for j in far)
        yield UnitFound(units, f"{signal} of {names}", what, False, (("largest", largest),))


def _farthest_limit(j: int, joints: Sequence[Joint]) -> float:
    """Return how far from zero the limits of a joint let it be; 0 if none are known."""
    limits = () if j >= len(joints) else (joints[j].limits.lower, joints[j].limits.upper)
    return max((abs(float(limit)) for limit in limits if limit is not None), default=0.0)


def slope_of(log: Log, low: str, high: str) -> float | None:
    """Return the factor k in d(low) = k high dt that all joints have in common; None if they have none.

    The factor is that of least squares over windows of 50 ms; it counts if with it the two agree.
    """
    if low not in log.signals or high not in log.signals or len(log) < 3 or median_step(log.time) <= 0:
        return None
    x, xd = log.signals[low], log.signals[high]
    _, slopes = rules.disagreement(log.time, x, xd)
    moving = [j for j in range(log.n) if rules.travel(x[:, j])[0] > rules.still_travel(log.units[j])]
    if not moving or not np.isfinite(slopes[moving]).all():
        return None
    middle = float(np.median(slopes[moving]))
    if middle <= 0 or np.abs(slopes[moving] / middle - 1).max() > 0.1:
        return None
    errors, _ = rules.disagreement(log.time, x, middle * xd)
    return middle if errors[moving].max() <= rules.DISAGREES else None


def explained(slope: float, log: Log, low: str = "q", high: str = "qd") -> dict[str, str]:
    """Return the units with which `high` is the derivative of `low`, dq = slope qd dt as read; empty if none fit.

    With units of factors f_q, f_qd and f_t, slope = f_qd f_t / f_q. Of several that fit, the one that changes fewest signals and
    leaves a log whose rate, speeds and positions a robot has.
    """
    time, position, speed = UNITS["time"], UNITS["position"], UNITS["velocity"]
    options = [({"time": unit}, time[unit]) for unit in _TIMES]
    options += [({low: unit}, 1 / position[unit]) for unit in _POSITIONS]
    options += [({high: unit}, speed[unit]) for unit in _SPEEDS]
    options += [({low: a, high: b}, speed[b] / position[a]) for a, b in _TOGETHER]
    angles = ({low: "deg"}, 1 / position["deg"]), ({high: "deg/s"}, speed["deg/s"]), ({high: "rpm"}, speed["rpm"])
    options += [
        ({"time": t, **units}, factor * time[t]) for t, (units, factor) in itertools.product(_TIMES[:3], angles)
    ]
    fitting = [
        units
        for units, factor in options
        if abs(math.log(slope / factor)) < _SAME and all(_can_be(log, s, unit) for s, unit in units.items())
    ]
    return min(fitting, key=lambda units: (_implausible(log, units, low, high), len(units)), default={})


def _implausible(log: Log, units: dict[str, str], low: str, high: str) -> int:
    """Return how much of a log would still be implausible in these units: its rate, how far and how fast joints turn."""
    step = median_step(log.time) * UNITS["time"][units.get("time", "s")]
    reach = _largest(log.signals[low]) * UNITS["position"][units.get(low, "rad")]
    fast = _largest(log.signals[high]) * UNITS["velocity"][units.get(high, "rad/s")]
    return int(not 1 / _RATES[1] <= step <= 1 / _RATES[0]) + int(reach > FAR) + int(fast > _FAST)


def _can_be(log: Log, signal: str, unit: str) -> bool:
    """Return whether the numbers of a signal can be in a unit: ticks are whole."""
    return not unit.endswith("_tick") or _whole(log.signals[signal])


def _whole(value: np.ndarray) -> bool:
    known = value[np.isfinite(value)]
    return bool((known == np.round(known)).all())


def _largest(value: np.ndarray) -> float:
    return float(np.fmax.reduce(np.abs(value), axis=None, initial=0.0))


def warn_of_units(log: Log) -> Log:
    """Return a log with a note on each unit that its numbers suggest, and warn of it: a fit in wrong units is a wrong fit."""
    notes = []
    for found in units_found(log):
        notes.append(f"units: {found.channel}: {found.message}")
        place = f"{log.source.path}: " if log.source.path else ""
        warn(
            "{place}{channel}: {why}",
            remedy="If so, state it in the mapping: {stated}.",
            place=place,
            channel=found.channel,
            why=found.message + ("" if found.message.endswith("?") else "."),
            stated=found.stated,
        )
    return log.with_(notes=notes) if notes else log
