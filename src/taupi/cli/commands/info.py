"""`taupi info`: a robot's card, and its picture."""

from __future__ import annotations

import json
import sys
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from taupi.cli.options import Description, ForceOption, JsonOption
from taupi.cli.parsing import json_value
from taupi.errors import TaupiError
from taupi.tables import table

if TYPE_CHECKING:
    from taupi.model.robot import Joint, Robot


def info(
    robot: Annotated[
        str | None, typer.Argument(metavar="[ROBOT]", help="Leave it out to list the built-in robots.")
    ] = None,
    *,
    as_json: JsonOption = False,
    picture: Annotated[
        Path | None, typer.Option("--picture", help="Draw the robot into this .png, .svg or .pdf file.")
    ] = None,
    at: Annotated[
        str | None, typer.Option("--at", help="Joint positions in the picture: a JSON list q. By default all zero.")
    ] = None,
    force: ForceOption = False,
    description: Description,
) -> None:
    """Show a robot's card: joints, limits, parameters, what the reader did; and its picture.

    \b
    taupi info puma560
    taupi info panda.urdf --lock panda_finger_joint1 --json
    taupi info puma560 --picture puma.png --at '[0,0.7,-0.4,0,0.5,0]'
    """
    import taupi as tp

    if picture is None and (at is not None or force):
        raise TaupiError("--at and --force are for the picture: name its file with --picture.")
    if robot is None and picture is not None:
        raise TaupiError("--picture needs a robot: name one, such as puma560.")
    if robot is None:
        print("\n".join(tp.catalogue()))
        return
    arm = description.load(robot)
    if picture is not None:
        tp.plot(arm, q=_configuration(at), path=picture, force=force)
        print(f"wrote {picture}", file=sys.stderr)
    print(json.dumps(robot_data(arm), indent=2) if as_json else robot_text(arm))


def _configuration(at: str | None) -> list[object] | None:
    """Return a configuration from a JSON list, None where there is none."""
    if at is None:
        return None
    q = json_value(at)
    if not isinstance(q, list):
        raise TaupiError("{at} is {got!r}, expected a JSON list of one number per joint.", got=at[:60])
    return q


def _number(x: Any) -> float | str:
    from taupi.model.scalars import is_symbolic

    return str(x) if is_symbolic(x) else float(x)


def robot_data(robot: Robot) -> dict[str, Any]:
    """Return a robot's card as plain data."""
    from taupi.model.body import why_not_physical

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
    # The reader's own note names all links at once; here each link has its number.
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
    values = {f.name: getattr(joint.transmission, f.name) for f in fields(joint.transmission)}
    return {name: _plain(value) for name, value in values.items()}


def _plain(value: object) -> Any:
    if isinstance(value, tuple):
        return [_number(v) for v in value]
    return None if value is None else _number(value)


def robot_text(robot: Robot) -> str:
    """Return a robot's card as text: its joints, its springs, and what the reader did."""
    data = robot_data(robot)
    rows: list[tuple[str, ...]] = [("joint", "type", "moves link", "on", "mass kg", "range", "speed", "effort")]
    rows += [_joint_row(j) for j in data["joints"]]
    lines = [
        f"{robot.name}: {_count(robot)}, {len(robot.parameters)} standard parameters, read from {data['source']}",
        "",
    ]
    lines += table(rows)
    lines += _elastic_lines(robot)
    lines += ["", f"gravity {', '.join(map(_short, data['gravity']))} m/s^2; tip frame {data['tip']}"]
    if data["symbols"]:
        known = [f"{k} = {v:g}" for k, v in data["symbols"].items() if v is not None]
        unknown = [k for k, v in data["symbols"].items() if v is None]
        lines += [
            f"{what}: {', '.join(names)}" for what, names in (("symbols", known), ("without values", unknown)) if names
        ]
    lines += [f"note: {note}" for note in data["notes"]]
    lines += [f"note: link {name}: {why} (fine for tau = Y pi)" for name, why in data["not_physical"].items()]
    return "\n".join(lines)


def _count(robot: Robot) -> str:
    """Return how many joints a robot has, and how many velocities if that number differs."""
    if len(robot.actuated) == robot.n:
        return f"{robot.n} joints"
    base = " on a base that moves freely" if robot.floating else ""
    return f"{len(robot.actuated)} joints with a motor{base} ({robot.n} velocities)"


def _elastic_lines(robot: Robot) -> list[str]:
    """Return the springs and motors of a robot that has any."""
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
