"""What the words of `taupi simulate` and `taupi control` stand for, and what they print."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from taupi.errors import TaupiError, unknown

_TURN = 0.7  # rad: RK4 loses a thousandth of a swing's amplitude in a step of this
_FILES = (".csv", ".txt", ".tsv", ".dat", ".gz", ".parquet", ".npz", ".mat", ".mcap", ".bag", ".db3")
_DOCUMENTS = ("planar2", "puma560")


@dataclass(frozen=True)
class World:
    """What stands between a law and the motion, in the words of the command line."""

    terms: tuple[str, ...] = ()
    payloads: Sequence[str] | None = None
    torque_limit: str | None = None
    rate_limit: str | None = None
    delay: str = "0"
    disturbance: str | None = None
    stiction: bool = False
    resolution: float | None = None
    noise: float = 0.0
    snr_db: float | None = None
    velocity: str | None = None
    sensor_delay: str = "0"
    rigid: bool = False

    def elastic(self, robot: Any) -> bool:
        """Return whether links and motors are simulated."""
        return bool(robot.elastic_joints) and not self.rigid

    def plant(self, robot: Any) -> Any:
        """Return the plant: links and motors where the robot has elastic joints, and say so."""
        import taupi as tp

        described = self.torque_limit == "description"
        outside: dict[str, Any] = {
            "payloads": payload_changes(self.payloads),
            "torque_limits": True if described else numbers(self.torque_limit, "--torque-limit", robot.n),
            "rate_limits": numbers(self.rate_limit, "--rate-limit", robot.n),
            "delay": seconds(self.delay, "--delay"),
            "disturbance": numbers(self.disturbance, "--disturbance", robot.n),
        }
        if not self.elastic(robot):
            return tp.RigidPlant(robot, self.terms, stiction=self.stiction, **outside)
        if self.stiction:
            raise TaupiError(f"--stiction is for rigid joints, and {robot.name} has elastic ones: add --rigid.")
        plant = tp.ElasticPlant(robot, self.terms or None, **outside)
        count, words = len(robot.elastic_joints), ", ".join(t.name for t in plant.terms) or "no friction"
        told = f"{count} elastic joint{'s' * (count > 1)}: simulating links and motors, {words}"
        print(f"{robot.name} has {told}; --rigid holds the springs stiff", file=sys.stderr)
        return plant

    def sensors(self) -> Any:
        """Return the sensors, None where nothing is said of them."""
        import taupi as tp

        late = seconds(self.sensor_delay, "--sensor-delay")
        if self.resolution is None and not self.noise and self.snr_db is None and self.velocity is None and not late:
            return None
        kind, cutoff = self.velocity or ("exact" if self.resolution is None else "difference"), None
        if kind.startswith("filter:"):
            kind, cutoff = "filter", _one(kind.removeprefix("filter:").removesuffix("Hz"), "--velocity", kind)
        if kind == "filter" and cutoff is None:
            raise TaupiError("--velocity is filter, expected filter:HZ, such as filter:100.")
        return tp.Sensors(self.resolution, self.noise, 0.0, self.snr_db, kind, cutoff, late)


def steps_of(plant: Any, integrator: str, rate: float, given: int | None) -> int:
    """Return how many steps a period has: as given, or so many that the fastest spring turns by 0.7 rad in one."""
    from taupi.simulation.integrators import UNDAMPED

    if given is not None or integrator not in UNDAMPED or not hasattr(plant, "fastest"):
        return 1 if given is None else given
    swing = plant.fastest(np.zeros(plant.robot.n))
    steps = max(1, math.ceil(swing / rate / _TURN)) if rate > 0 else 1
    told = f"{steps} step{'s' * (steps > 1)} of {integrator} a control period"
    print(f"springs swing at up to {swing:.4g} rad/s: {told}", file=sys.stderr)
    return steps


# Words and numbers ----------------------------------------------------------------------------------------------------


def _one(text: str, option: str, given: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise TaupiError(f"{option} is {given[:40]!r}, expected a number.") from None


def numbers(given: str | None, option: str, n: int) -> np.ndarray | None:
    """Return a number for every joint from one, or from n by commas."""
    if given is None:
        return None
    values = [_one(part, option, given) for part in given.strip("[]() ").split(",")]
    if len(values) not in (1, n):
        raise TaupiError(f"{option} has {len(values)} numbers, expected one, or {n} by commas: one per joint.")
    return np.broadcast_to(np.array(values), (n,)).copy()


def seconds(given: str, option: str) -> float:
    """Return a time from 0.002, 2ms or 0.002s.

    >>> seconds("2ms", "--delay"), seconds("0.5s", "--delay")
    (0.002, 0.5)
    """
    text = given.strip()
    if text.endswith("ms"):
        return _one(text.removesuffix("ms"), option, given) / 1000
    return _one(text.removesuffix("s"), option, given)


def payload_changes(given: Sequence[str] | None) -> list[tuple[float, Any]]:
    """Return changes of the load from words such as 2s:1.5kg."""
    import taupi as tp

    changes: list[tuple[float, Any]] = []
    for text in given or []:
        time, _, mass = text.partition(":")
        try:
            at, kg = float(time.strip().removesuffix("s")), float(mass.strip().removesuffix("kg"))
        except ValueError:
            raise TaupiError(f"--payload-at is {text[:40]!r}, expected time:mass, such as 2s:1.5kg.") from None
        changes.append((at, tp.Payload(kg) if kg else None))
    return changes


def warn_late(given: Sequence[str] | None, duration: float) -> None:
    """Say so where a payload comes after the end."""
    for at, _ in payload_changes(given):
        if at >= duration:
            print(
                f"warning: --payload-at {at:g}s is after the end of the run, {duration:g} s: nothing changes",
                file=sys.stderr,
            )


def start_at(given: str | None, n: int) -> np.ndarray | None:
    """Return where the arm starts from a JSON list."""
    if given is None:
        return None
    point = _array(given)
    if point.shape != (n,):
        raise TaupiError(f"--initial is {given[:60]!r}, expected {n} numbers: [...].")
    return point


# References -----------------------------------------------------------------------------------------------------------


def reference_of(given: str, robot: Any, duration: float) -> Any:
    """Return the reference that a word stands for: sine, a document's, way-points, control points, sines, or a file."""
    import taupi as tp

    if given == "none":
        return None
    if given in _DOCUMENTS:
        return tp.Sinusoids.document(given)
    if given == "sine":
        return gentle(robot)
    text = given.strip()
    kind, mark, rest = text.partition(":")
    if text.startswith("[") or (mark and kind == "minjerk"):
        way = points(text if text.startswith("[") else rest, robot.n)
        return tp.MinimumJerk(way, np.linspace(0.0, duration, len(way)))
    if mark and kind == "bspline":
        return tp.BSpline(points(rest, robot.n), duration)
    if text.startswith("{"):
        return _sines(text)
    if Path(given).suffix.lower() in _FILES:
        return tp.SampledMotion.read(given, robot)
    known = ("sine", *_DOCUMENTS, "none", "[[q], [q], ...]", "minjerk:[[q], ...]", "bspline:[[q], ...]", "a file")
    raise unknown("reference", given, known)


def _sines(text: str) -> Any:
    import taupi as tp

    try:
        told = json.loads(text)
    except (json.JSONDecodeError, RecursionError):
        told = None
    if not isinstance(told, dict) or not {"offset", "amplitude", "omega"} <= set(told) <= {
        "offset",
        "amplitude",
        "omega",
        "phase",
    }:
        raise TaupiError(
            f"--reference is {text[:60]!r}, expected a JSON object with offset, amplitude, omega and, if you like, phase."
        )
    return tp.Sinusoids(told["offset"], told["amplitude"], told["omega"], told.get("phase", 0.0))


def gentle(robot: Any) -> Any:
    """Return two sines a joint, of other frequencies for each, about the middle of its range and within half of it."""
    import taupi as tp

    middle, width = [], []
    for joint in robot.driving_joints:
        low, high = joint.limits.lower, joint.limits.upper
        known = low is not None and high is not None and high - low < 20
        middle.append((low + high) / 2 if known else 0.0)
        width.append(min((high - low) / 4 if known else 0.5, 0.2 if joint.prismatic else 0.5))
    omega = np.linspace(1.0, 2.0, robot.n)[:, None] * np.array([1.0, 2.3])
    return tp.Sinusoids(middle, np.array(width)[:, None] * np.array([0.7, 0.3]), omega)


def points(text: str, n: int) -> np.ndarray:
    """Return way-points or control points from a JSON list of lists."""
    found = _array(text)
    if found.ndim != 2 or found.shape[1] != n or len(found) < 2:
        raise TaupiError(
            f"--reference is {text[:60]!r}, expected at least two way-points of {n} numbers: [[...], [...]]."
        )
    return found


def _array(text: str) -> np.ndarray:
    try:
        return np.array(json.loads(text), dtype=float)
    except (json.JSONDecodeError, RecursionError, TypeError, ValueError):
        return np.zeros(0)


# What is told ---------------------------------------------------------------------------------------------------------


def run_data(run: Any) -> dict[str, Any]:
    """Return what a run showed as plain data."""
    return {
        "samples": len(run),
        "duration": float(run.time[-1]) if len(run) else 0.0,
        "complete": run.complete,
        "joints": list(run.names),
        "largest_error": np.abs(run.error).max(axis=0).tolist() if run.tracks and len(run) else None,
        "largest_torque": np.abs(run.tau).max(axis=0).tolist() if len(run) else None,
        "energy_residual": float(np.abs(run.residual).max()) if len(run) else None,
        "notes": list(run.notes),
        "provenance": dict(run.provenance),
    }
