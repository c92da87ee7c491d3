"""Units of files: the factors that convert their numbers to SI."""

from __future__ import annotations

import math

from taupi.errors import TaupiError, shown, unknown

_DEG, _TURN = math.pi / 180, 2 * math.pi

# dimension -> unit -> factor to SI. Lengths are listed with angles: a joint is revolute or prismatic.
UNITS: dict[str, dict[str, float]] = {
    "time": {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "min": 60.0},
    "position": {"rad": 1.0, "deg": _DEG, "mrad": 1e-3, "turn": _TURN, "rev": _TURN, "m": 1.0, "mm": 1e-3, "cm": 1e-2},
    "velocity": {
        **{"rad/s": 1.0, "deg/s": _DEG, "mrad/s": 1e-3, "rpm": _TURN / 60, "turn/s": _TURN, "rev/s": _TURN},
        **{"m/s": 1.0, "mm/s": 1e-3, "cm/s": 1e-2},
    },
    "acceleration": {"rad/s2": 1.0, "deg/s2": _DEG, "mrad/s2": 1e-3, "m/s2": 1.0, "mm/s2": 1e-3, "cm/s2": 1e-2},
    "torque": {"Nm": 1.0, "mNm": 1e-3, "kNm": 1e3, "Ncm": 1e-2, "N": 1.0, "kN": 1e3},
    "current": {"A": 1.0, "mA": 1e-3},
    "voltage": {"V": 1.0, "mV": 1e-3},
}

DIMENSION: dict[str, str] = {
    "time": "time",
    "q": "position",
    "qd": "velocity",
    "qdd": "acceleration",
    "tau": "torque",
    "current": "current",
    "voltage": "voltage",
    "theta": "position",
    "thetad": "velocity",
    "thetadd": "acceleration",
    "tau_m": "torque",
    "tau_known": "torque",
}

# Signals of a floating base, in addition to the joints'; wrenches and contacts are followed by the name of their frame.
_FLOATING: dict[str, dict[str, float]] = {
    "base.w": UNITS["velocity"],
    "base.wd": UNITS["acceleration"],
    "base.a": {"m/s2": 1.0, "mm/s2": 1e-3, "g": 9.80665},
    "base.v": {"m/s": 1.0, "mm/s": 1e-3, "cm/s": 1e-2},
    "base.vd": {"m/s2": 1.0, "mm/s2": 1e-3},
    "base.quaternion": {"1": 1.0},
    "wrench": UNITS["torque"],
    "contact": {"1": 1.0, "N": 1.0, "kN": 1e3},
}

_LENGTH = ("m", "mm", "cm")


def factor(signal: str, unit: str) -> float:
    """Return the factor that converts a signal in some unit to SI: `factor("q", "deg")` is pi / 180.

    >>> factor("time", "ms")
    0.001
    """
    if not isinstance(unit, str):
        raise TaupiError(f"unit of {signal} is {shown(unit)}, expected a text such as {example(signal)}.")
    known = _units_of(signal)
    plain = unit.strip().replace("^", "").replace("**", "").replace(" ", "").replace("·", "").replace("*", "")
    plain = plain.replace("²", "2").replace("µ", "u").replace("μ", "u")
    if plain not in known:
        raise unknown(f"unit of {signal}", unit, known)
    return known[plain]


def example(signal: str) -> str:
    """Return the most common units of a signal, for messages."""
    return ", ".join(repr(u) for u in list(_units_of(signal))[:3])


def _units_of(signal: str) -> dict[str, float]:
    if signal in DIMENSION:
        return UNITS[DIMENSION[signal]]
    return _FLOATING[signal if signal in _FLOATING else signal.partition(".")[0]]


def joint_unit(unit: str) -> str:
    """Return "m" for a position in a unit of length, else "rad"."""
    return "m" if unit.strip() in _LENGTH else "rad"
