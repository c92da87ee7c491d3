"""The files that `taupi init` writes for a robot: a column mapping to fill in, and a script of the loop."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from taupi.model.robot import Robot

MAPPING, SCRIPT = "columns.toml", "loop.sh"

_SCRIPT = """#!/bin/sh
# The loop for {name}: a motion, recordings, a fit, a report. Run it step by step: sh {script} design, check, fit, export.
set -eu
cd "$(dirname "$0")"
ROBOT={robot}   # the description that every command reads

case "${{1:-help}}" in
design)  # an exciting motion within the limits of the description, as excitation.csv; try it first at 30 % of its speed
  taupi excite "$ROBOT"{options} --duration 10 -o motion
  taupi excite "$ROBOT"{options} --duration 10 --seed 1 -o motion-validation
  echo "next: run both on the robot, save recordings/fit.csv and recordings/validation.csv, then sh {script} check" ;;
check)   # what the recordings hold; {mapping} says which column is which
  taupi log recordings/fit.csv --robot "$ROBOT"{options} --columns {mapping}
  echo "next: sh {script} fit" ;;
fit)     # parameters with their uncertainty, a verdict, and fit/report.html
  taupi identify "$ROBOT" recordings/fit.csv{options} --columns {mapping} --validate recordings/validation.csv -o fit
  echo "next: open fit/report.html, then sh {script} export" ;;
export)  # the identified robot, in the format of its description
  taupi export fit -o identified ;;
*)
  echo "usage: sh {script} design | check | fit | export" ;;
esac
"""

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
    words = "".join(f" {shlex.quote(word)}" for word in options)
    return _SCRIPT.format(
        name=_comment(robot.name), robot=shlex.quote(described_by), options=words, mapping=MAPPING, script=SCRIPT
    )


def _text(text: str) -> str:
    """Return a TOML string: JSON's, which escapes everything but the character DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _comment(text: str) -> str:
    """Return a name for a comment: one line, printable."""
    return "".join(c if c.isprintable() else " " for c in text)
