"""What the command line prints of a robot and of a regressor."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

import numpy as np

from taupi.errors import TaupiError
from taupi.identifiability.base_parameters import BaseParameters
from taupi.model.body import why_not_physical
from taupi.model.robot import Joint, Robot
from taupi.model.scalars import is_symbolic
from taupi.program.program import Program
from taupi.signals.check import LogReport
from taupi.signals.log import Log
from taupi.tables import table


def _number(x: Any) -> float | str:
    return str(x) if is_symbolic(x) else float(x)


def card_data(robot: Robot) -> dict[str, Any]:
    """Return a robot's card as plain data."""
    joints = [
        {
            "name": j.name,
            "type": j.kind,
            "coordinate": j.coordinate,
            "follows": robot.driving_joints[j.coordinate].name if j.mimic else None,
            "parent": robot.links[j.parent].name if j.parent >= 0 else "base",
            "link": link.name,
            "mass": _number(link.body[0]),
            "lower": j.limits.lower,
            "upper": j.limits.upper,
            "velocity": j.limits.velocity,
            "effort": j.limits.effort,
            "transmission": _drive(j),
        }
        for j, link in zip(robot.joints, robot.links, strict=True)
    ]
    # The readers' own note of it names all links at once; here each has its number.
    reasons = {link.name: why for link in robot.links if (why := why_not_physical(link.body))}
    return {
        "name": robot.name,
        "source": robot.source.format,
        "coordinates": robot.n,
        "joints": joints,
        "gravity": [_number(v) for v in robot.gravity],
        "tip": robot.frame("tip").name,
        "frames": list(robot.frame_names),
        "parameters": len(robot.parameters),
        "symbols": {name: None if value is None else float(value) for name, value in robot.symbols},
        "notes": [n for n in robot.notes if "no real body" not in n],
        "not_physical": reasons,
        "fingerprint": robot.fingerprint,
    }


def _drive(joint: Joint) -> dict[str, Any]:
    """Return a transmission as plain data; a rigid joint has no stiffness."""
    told = {f.name: getattr(joint.transmission, f.name) for f in fields(joint.transmission)}
    return {name: _plain(value) for name, value in told.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_number(v) for v in value]
    return None if value is None else _number(value)


def card(robot: Robot) -> str:
    """Return a robot's card as text."""
    data = card_data(robot)
    rows: list[tuple[str, ...]] = [("joint", "type", "moves link", "on", "mass kg", "range", "speed", "effort")]
    rows += [_joint_row(j) for j in data["joints"]]
    lines = [
        f"{robot.name}: {robot.n} joints, {len(robot.parameters)} standard parameters, read from {data['source']}",
        "",
    ]
    lines += table(rows)
    lines += _elastic_lines(robot)
    lines += ["", f"gravity {', '.join(map(_short, data['gravity']))} m/s^2; tip frame {data['tip']}"]
    if data["symbols"]:
        told = (f"{k} = {v:g}" if v is not None else f"{k} (no value)" for k, v in data["symbols"].items())
        lines.append("symbols: " + ", ".join(told))
    lines += [f"note: {note}" for note in data["notes"]]
    lines += [f"note: link {name}: {why} (fine for tau = Y pi)" for name, why in data["not_physical"].items()]
    return "\n".join(lines)


def _elastic_lines(robot: Robot) -> list[str]:
    """Return the springs and motors of a robot that has some."""
    if not robot.elastic_joints:
        return []
    rows: list[tuple[str, ...]] = [("joint", "stiffness", "damping", "rotor kg m^2", "gear", "motor axis on", "axis")]
    for joint in robot.driving_joints:
        drive = _drive(joint)
        on = robot.links[joint.parent].name if joint.parent >= 0 else "base"
        stiffness = "rigid" if drive["stiffness"] is None else _short(drive["stiffness"])
        numbers = (_short(drive[name]) for name in ("damping", "rotor_inertia", "gear_ratio"))
        axis = "the joint's" if drive["motor_axis"] is None else ", ".join(map(_short, drive["motor_axis"]))
        rows.append((joint.name, stiffness, *numbers, on, axis))
    return ["", f"{len(robot.elastic_joints)} elastic joints", "", *table(rows)]


def _joint_row(joint: dict[str, Any]) -> tuple[str, ...]:
    unit = "m" if joint["type"] == "prismatic" else "rad"
    limits = (joint["lower"], joint["upper"])
    span = "-" if None in limits else f"{limits[0]:.4g} .. {limits[1]:.4g} {unit}"
    rest = ("-" if joint[k] is None else f"{joint[k]:.4g}" for k in ("velocity", "effort"))
    kind = joint["type"] + (f", follows {joint['follows']}" if joint["follows"] else "")
    return (joint["name"], kind, joint["link"], joint["parent"], _short(joint["mass"]), span, *rest)


def _short(x: float | str) -> str:
    return x if isinstance(x, str) else f"{x:.6g}"


def regressor_data(program: Program) -> dict[str, Any]:
    """Return what a regressor is as plain data."""
    counts = program.operations
    acting = set(program.reduced().parameters.names)
    names, units = program.parameters.names, program.parameters.units
    columns = [{"name": n, "unit": u, "acts": n in acting} for n, u in zip(names, units, strict=True)]
    return {
        "name": program.name,
        "inputs": {p.name: list(p.shape) for p in program.inputs},
        "shape": list(program.outputs[0].shape),
        "columns": columns,
        "nonzeros": int(program.sparsity().sum()),
        "multiplications": counts.multiplications,
        "additions": counts.additions,
    }


def regressor_text(program: Program) -> str:
    """Return what a regressor is as text."""
    data = regressor_data(program)
    n, p = data["shape"]
    acting = [c["name"] for c in data["columns"] if c["acts"]]
    told = ", ".join(data["inputs"])
    lines = [f"{program.name}({told}): {n} x {p}, {data['nonzeros']} structural nonzeros, {program.operations}"]
    lines.append(f"{len(acting)} of {p} columns act; the others vanish for every motion:")
    rows = [("parameter", "unit", "acts")] + [
        (c["name"], c["unit"], "yes" if c["acts"] else "-") for c in data["columns"]
    ]
    return "\n".join([*lines, "", *table(rows)])


def configuration(at: str | None) -> list[Any] | None:
    """Return a configuration given as a JSON list, None for none."""
    if at is None:
        return None
    try:
        q = json.loads(at)
    except (json.JSONDecodeError, RecursionError):
        q = None
    if not isinstance(q, list):
        raise TaupiError(f"--at is {at[:60]!r}, expected a JSON list of one number per joint.")
    return q


def base_text(base: BaseParameters) -> str:
    """Return base parameters as text: what each stands for in full, and the classes of the standard parameters."""
    kind = ", elastic joints" if base.elastic else ""
    lines = [f"{base.robot.name}: {base.count} base parameters of {len(base.standard)}{kind}", ""]
    lines += table([("base parameter", "stands for"), *((e.name, str(e)) for e in base.expressions)])
    lines.append("")
    for kind in ("independent", "combined", "unidentifiable"):
        names = [name for name, its in base.classes.items() if its == kind]
        lines.append(f"{kind} ({len(names)}): {', '.join(names) or '-'}")
    if base.sentence:
        lines += ["", base.sentence]
    return "\n".join(lines)


def evaluate(program: Program, at: str, as_json: bool) -> str:
    """Return a program's value at a state given as JSON lists."""
    try:
        state = json.loads(at)
    except (json.JSONDecodeError, RecursionError):
        state = None
    if not isinstance(state, list):
        names = ", ".join(p.name for p in program.inputs)
        raise TaupiError(f"--at is {at[:60]!r}, expected JSON: a list of the vectors {names}.")
    value = program.compile("numpy")(*state)
    if not np.isfinite(value).all():
        raise TaupiError("--at gives a result that is not finite: are all its numbers?")
    if as_json:
        return json.dumps({"columns": list(program.parameters.names), "Y": value.tolist()})
    return "\n".join(" ".join(f"{v: .9g}" for v in row) for row in value.reshape(-1, value.shape[-1]))


def log_data(log: Log, report: LogReport) -> dict[str, Any]:
    """Return what a log holds, and what is wrong with it, as plain data."""
    source = {"path": log.source.path, "sha256": log.source.sha256, "format": log.source.format}
    return {"source": source, "signals": list(log.signals), "notes": list(log.notes), **report.data()}


def log_text(log: Log, report: LogReport) -> str:
    """Return what a log holds, and what is wrong with it, as text."""
    notes = [f"note: {note}" for note in log.notes]
    found = repr(report).splitlines()[1:]
    return "\n".join([repr(log), "", *notes, *([""] if notes else []), *found])
