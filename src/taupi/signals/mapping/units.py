"""Units of files: the factors that convert their numbers to SI."""

from __future__ import annotations

import math

import numpy as np

from taupi.errors import TaupiError, unknown

_DEG, _TURN = math.pi / 180, 2 * math.pi
_KILOGRAM, _POUND, _INCH = 9.80665, 4.4482216152605, 0.0254  # the weights of a kilogram and of a pound, N
_TICK = _TURN / 4096  # of the magnetic encoders of Dynamixel X and Feetech STS servos

# A duty is a share of the supply voltage: as a unit of voltage it needs the supply as gain, V.
DUTIES = {"percent": 1e-2, "dxl_tick": 1.13e-3, "sts_tick": 1e-3}
# Servos send whole numbers without a sign. Feetech's have a bit for it, in this place; Dynamixel's are two's complements of this
# many bits. Users who have read them with a sign lose nothing.
_SIGN_BIT = {"position": 15, "velocity": 15, "current": 15, "voltage": 10}
_BITS = {"position": 32, "velocity": 32, "current": 16, "voltage": 16}

# dimension -> unit -> factor to SI. Lengths are listed with angles: a joint is revolute or prismatic.
UNITS: dict[str, dict[str, float]] = {
    "time": {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "min": 60.0},
    "position": {"rad": 1.0, "deg": _DEG, "mrad": 1e-3, "turn": _TURN, "rev": _TURN, "m": 1.0, "mm": 1e-3, "cm": 1e-2}
    | {"dxl_tick": _TICK, "sts_tick": _TICK},
    "velocity": {
        **{"rad/s": 1.0, "deg/s": _DEG, "mrad/s": 1e-3, "rpm": _TURN / 60, "turn/s": _TURN, "rev/s": _TURN},
        **{"m/s": 1.0, "mm/s": 1e-3, "cm/s": 1e-2, "dxl_tick": 0.229 * _TURN / 60, "sts_tick": 50 * _TICK},
    },
    "acceleration": {"rad/s2": 1.0, "deg/s2": _DEG, "mrad/s2": 1e-3, "m/s2": 1.0, "mm/s2": 1e-3, "cm/s2": 1e-2},
    "torque": {"Nm": 1.0, "mNm": 1e-3, "kNm": 1e3, "Ncm": 1e-2, "Nmm": 1e-3, "N": 1.0, "kN": 1e3}
    | {"kgfm": _KILOGRAM, "kgfcm": _KILOGRAM / 100, "kgfmm": _KILOGRAM / 1000, "gfcm": _KILOGRAM / 1e5}
    | {"lbfft": _POUND * 12 * _INCH, "lbfin": _POUND * _INCH, "ozfin": _POUND / 16 * _INCH},
    # Ticks: Dynamixel XM and XH, Feetech STS3215.
    "current": {"A": 1.0, "mA": 1e-3, "dxl_tick": 2.69e-3, "sts_tick": 6.5e-3},
    "voltage": {"V": 1.0, "mV": 1e-3, **DUTIES},
    "temperature": {"C": 1.0, "degC": 1.0},
    "switch": {"bool": 1.0},
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
    "qdes": "position",
    "qd_des": "velocity",
    "tau_ff": "torque",
    "volts": "voltage",
    "temperature": "temperature",
    "enabled": "switch",
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
        raise TaupiError(
            "unit of {signal} is {got!r}, expected a text such as {expected}.",
            signal=signal,
            got=unit,
            expected=example(signal),
        )
    known = _units_of(signal)
    plain = unit.strip().replace("^", "").replace("**", "").replace(" ", "").replace("·", "").replace("*", "")
    plain = plain.replace("²", "2").replace("µ", "u").replace("μ", "u")
    if plain not in known:
        raise unknown(f"unit of {signal}", unit, known)
    return known[plain]


def signed(signal: str, unit: str, numbers: np.ndarray) -> np.ndarray:
    """Return the numbers that a servo sent, with their sign: those in units other than ticks stay as they are.

    >>> signed("voltage", "sts_tick", np.array([100.0, 1124.0])), signed("current", "dxl_tick", np.array([65535.0]))
    (array([ 100., -100.]), array([-1.]))
    """
    if unit not in ("dxl_tick", "sts_tick") or signal not in DIMENSION:
        return numbers
    dimension = DIMENSION[signal]
    if unit == "sts_tick":
        bit = 2.0 ** _SIGN_BIT[dimension]
        return np.where(numbers >= bit, bit - numbers, numbers)
    count = 2.0 ** _BITS[dimension]
    return np.where(numbers >= count / 2, numbers - count, numbers)


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
