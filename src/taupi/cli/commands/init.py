"""`taupi init`: a folder to start with, for your own robot."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from taupi.cli.options import Description, ForceOption, RobotArgument

if TYPE_CHECKING:
    from taupi.model.robot import Robot


MAPPING, SCRIPT = "columns.toml", "loop.sh"

_SCRIPT = """#!/bin/sh
# The loop for {name}: a motion, recordings, a fit, a report. Run it step by step: sh {script} design, check, fit, export.
set -eu
cd "$(dirname "$0")"
ROBOT={robot}   # the description that every command reads
FLOOR=base   # the plane that the base is bolted to; or a height in m, or none for a robot that hangs or reaches below its base

case "${{1:-help}}" in
design)  # an exciting motion within the limits of the description, as excitation.csv; try it first at 30 % of its speed
  taupi excite "$ROBOT"{options} --floor "$FLOOR" --duration 10 -o motion
  taupi excite "$ROBOT"{options} --floor "$FLOOR" --duration 10 --seed 1 -o motion-validation
  echo "next: run both on the robot, save recordings/fit.csv and recordings/validation.csv, then sh {script} check" ;;
check)   # what the recordings hold; {mapping} says which column is which
  taupi log recordings/fit.csv --robot "$ROBOT"{options} --columns {mapping}
  echo "next: sh {script} fit" ;;
fit)     # parameters with their uncertainty, a verdict, and fit/report.html
  taupi identify "$ROBOT" recordings/fit.csv{options} --columns {mapping} --validate recordings/validation.csv -o fit
  echo "next: open fit/report.html, then sh {script} export" ;;
export)  # the identified robot, in the format of its description
  taupi export fit {export} ;;
*)
  echo "usage: sh {script} design | check | fit | export" ;;
esac
"""

# By the format of a description: how the identified robot is written in it. Robots of the catalogue have no file but a TOML.
_EXPORTS = {"urdf": "-o identified.urdf", "mjcf": '--mjcf "$ROBOT" -o identified.xml'}

_BASE = """
# What an IMU on the base reads, and which feet touch the ground; wrenches at the feet go into a table [wrench].
# [base]
# w = { columns = ["gx", "gy", "gz"], unit = "rad/s" }
# a = { columns = ["ax", "ay", "az"], unit = "m/s2" }   # +9.81 upwards at rest
# [contact]
# FRAME = "touches"   # 0 or 1, by the name of a frame of the robot
"""


def column_mapping(robot: Robot) -> str:
    """Return a column mapping for logs of a robot, to fill in: its joints by name, and columns numbered from 1."""
    from taupi.signals.mapping.columns import recorded_joints

    names = recorded_joints(robot)
    count, joints = len(names), "".join(f"    {_text(name)},\n" for name in names)
    return f"""# Which column of a log holds what, for {_text(robot.name)}.
# "{{i}}" counts from 1 to {count}, in the order of `joints`; a list of names does as well.
# `taupi log FILE --robot ROBOT --suggest guessed.toml` guesses all of this from a file.

joints = [
{joints}]
time = {{ columns = "t", unit = "s" }}        # ms, us, ns too; without a time column: rate_hz = 250
q = {{ columns = "q{{i}}", unit = "rad" }}      # or deg; what is measured at the joints
tau = {{ columns = "tau{{i}}" }}              # N m at the joints; for motor currents, delete this line and fill in the last ones
# qd = {{ columns = "qd{{i}}", unit = "rad/s" }}   # only if it is measured, not differentiated by the robot

# If motors were recorded: currents, and the gears between motors and joints.
# current = {{ columns = "current{{i}}" }}      # A
# theta = {{ columns = "motor{{i}}", unit = "rad" }}   # in place of q
# [motor]
# torque_per_ampere = {[0.1] * count}   # N m/A of the motors; `taupi gains` calibrates them with a known mass
# ratio = {[100] * count}   # d(motor angle)/d(joint angle); leave it out if q and torques are those of the joints
{_BASE if robot.floating else ""}"""


def loop_script(robot: Robot, described_by: str, options: list[str]) -> str:
    """Return the script; `described_by` is how the robot is named on the command line, and `options` how it is read."""
    return _SCRIPT.format(
        name=_comment(robot.name),
        robot=shlex.quote(described_by),
        options="".join(f" {shlex.quote(word)}" for word in options),
        mapping=MAPPING,
        script=SCRIPT,
        export=_EXPORTS.get(robot.source.format, "-o identified.toml"),
    )


def _text(text: str) -> str:
    """Return a TOML string: JSON's, which escapes everything but the character DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _comment(text: str) -> str:
    """Return a name for a comment: one line, printable."""
    return "".join(c if c.isprintable() else " " for c in text)


def init(
    robot: RobotArgument,
    *,
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder to write.")],
    force: ForceOption = False,
    description: Description,
) -> None:
    """Write a folder to start with: columns.toml, a commented mapping of log columns, and loop.sh, the loop step by step.

    \b
    taupi init panda.urdf -o my-panda
    sh my-panda/loop.sh
    """
    from taupi.files import write_folder

    arm = description.load(robot)
    described_by = str(Path(robot).resolve()) if Path(robot).is_file() else robot
    texts = {MAPPING: column_mapping(arm), SCRIPT: loop_script(arm, described_by, description.words())}

    def fill(folder: Path) -> None:
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")

    write_folder(output, fill, force, own=texts)
    print(f"wrote {output}: {', '.join(texts)}; next: sh {shlex.quote(str(output / SCRIPT))} design", file=sys.stderr)
