"""What the words of `taupi simulate` stand for, and what it prints and writes."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np

from taupi.errors import TaupiError, unknown

# Names on the command line and the laws they stand for.
LAWS = {
    "computed-torque": "ComputedTorque",
    "pd-gravity": "PDGravity",
    "slotine-li": "SlotineLi",
    "niemeyer-slotine": "NiemeyerSlotine",
    "walker": "Walker",
    "elastic-pd-gravity": "ElasticPDGravity",
}
ELASTIC = "elastic-pd-gravity"
_TURN = 0.7  # rad: RK4 loses a thousandth of a swing's amplitude in a step of this
_FILES = (".csv", ".txt", ".tsv", ".dat", ".gz", ".parquet", ".npz", ".mat", ".mcap", ".bag", ".db3")


def reference_of(given: str | None, robot: Any, duration: float) -> Any:
    """Return the reference that a word stands for: sine, planar2, puma560, JSON way-points, or a file."""
    import taupi as tp

    if given is None or given == "none":
        return None
    if given in ("planar2", "puma560"):
        return tp.Sinusoids.document(given)
    if given == "sine":
        return gentle(robot)
    if given.lstrip().startswith("["):
        points = waypoints(given, robot.n)
        return tp.MinimumJerk(points, np.linspace(0.0, duration, len(points)))
    if Path(given).suffix.lower() in _FILES:
        return tp.SampledMotion.read(given, robot)
    raise unknown("reference", given, ("sine", "planar2", "puma560", "none", "[[q], [q], ...]", "a file"))


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


def waypoints(text: str, n: int) -> np.ndarray:
    """Return way-points from a JSON list of lists."""
    try:
        points = np.array(json.loads(text), dtype=float)
    except (json.JSONDecodeError, RecursionError, TypeError, ValueError):
        points = np.zeros(0)
    if points.ndim != 2 or points.shape[1] != n or len(points) < 2:
        raise TaupiError(
            f"--reference is {text[:60]!r}, expected at least two way-points of {n} numbers: [[...], [...]]."
        )
    return points


def law_of(given: str, robot: Any, terms: tuple[str, ...]) -> Any:
    """Return the law that a word stands for, with the robot's default gains; None for none."""
    import taupi as tp

    if given == "none":
        return None
    if given not in LAWS:
        raise unknown("law", given, (*LAWS, "none"))
    if given == ELASTIC:
        return tp.ElasticPDGravity(robot)
    known = tuple(t for t in terms if t not in ("coulomb", "stribeck") or given == "computed-torque")
    return getattr(tp, LAWS[given])(robot, terms=known)


def plant_of(robot: Any, terms: tuple[str, ...], payloads: list[tuple[float, Any]], rigid: bool = False) -> Any:
    """Return the plant of a robot: links and motors where it has elastic joints, and say so."""
    import taupi as tp

    if rigid or not robot.elastic_joints:
        return tp.RigidPlant(robot, terms, payloads=payloads)
    plant = tp.ElasticPlant(robot, terms or None, payloads=payloads)
    count, words = len(robot.elastic_joints), ", ".join(t.name for t in plant.terms) or "no friction"
    print(
        f"{robot.name} has {count} elastic joint{'s' * (count > 1)}: simulating links and motors, {words}; --rigid holds the "
        "springs stiff",
        file=sys.stderr,
    )
    return plant


def default_law(plant: Any, otherwise: str) -> str:
    """Return the law where none is named: that of elastic joints for such a plant."""
    return ELASTIC if hasattr(plant, "fastest") else otherwise


def steps_of(plant: Any, integrator: str, rate: float, given: int | None = None) -> int:
    """Return how many steps a period has: as given, or so many that the fastest spring turns by 0.7 rad in one."""
    from taupi.simulation.integrators import UNDAMPED

    if given is not None or integrator not in UNDAMPED or not hasattr(plant, "fastest"):
        return 1 if given is None else given
    swing = plant.fastest(np.zeros(plant.robot.n))
    steps = max(1, math.ceil(swing / rate / _TURN)) if rate > 0 else 1
    told = f"{steps} step{'s' * (steps > 1)} of {integrator} a control period"
    print(f"springs swing at up to {swing:.4g} rad/s: {told}", file=sys.stderr)
    return steps


def payload_changes(given: list[str] | None) -> list[tuple[float, Any]]:
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


def save(run: Any, directory: Path, force: bool) -> list[Path]:
    """Write run.parquet and run.png into a directory, made if missing; return their paths."""
    import taupi as tp
    from taupi.files import refuse_to_overwrite

    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TaupiError(f"{directory} cannot be made: {error.strerror}.") from None
    paths = [directory / "run.parquet", directory / "run.png"]
    for path in paths:
        refuse_to_overwrite(path, force)
    run.save(paths[0], force=force)
    tp.plot(run, path=paths[1], force=force)
    return paths


def run_data(run: Any) -> dict[str, Any]:
    """Return what a run showed as plain data."""
    tracked = run.reference is not None and run.reference.q.shape == run.q.shape
    return {
        "samples": len(run),
        "duration": float(run.time[-1]) if len(run) else 0.0,
        "complete": run.complete,
        "joints": list(run.names),
        "largest_error": np.abs(run.error).max(axis=0).tolist() if tracked and len(run) else None,
        "largest_torque": np.abs(run.tau).max(axis=0).tolist() if len(run) else None,
        "energy_residual": float(np.abs(run.residual).max()) if len(run) else None,
        "notes": list(run.notes),
        "provenance": dict(run.provenance),
    }
