"""`taupi bounds`: bounds of M, c and g, and the properties of a robot."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from taupi.cli.exit_codes import ExitCode
from taupi.cli.options import Description, JsonOption, RobotArgument
from taupi.errors import TaupiError

if TYPE_CHECKING:
    from taupi.model.robot import Robot


def bounds(
    robot: RobotArgument,
    *,
    ranges: Annotated[
        list[str] | None,
        typer.Option(
            "--range", help="lo:hi for all joints, or joint=lo:hi. May be repeated. By default the joint limits."
        ),
    ] = None,
    tolerance: Annotated[float, typer.Option("--tolerance", help="Relative gap that is small enough.")] = 1e-6,
    boxes: Annotated[int, typer.Option("--boxes", help="Largest number of boxes to examine per bound.")] = 20_000,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the random points.")] = 0,
    check: Annotated[
        bool, typer.Option("--properties", help="Check symmetry, positivity, passivity and power balance instead.")
    ] = False,
    as_json: JsonOption = False,
    description: Description,
) -> None:
    """Show guaranteed bounds of M, c and g over a joint range, with their gap; or check the properties of the robot.

    \b
    taupi bounds lecture2r --range -1.5708:1.5708 --tolerance 1e-9
    taupi bounds puma560 --range joint2=-1:1 --range joint3=0:2 --json
    """
    import taupi as tp

    arm = description.load(robot)
    if check:
        if ranges:
            raise TaupiError("--properties draws its own states: leave --range out.")
        properties = tp.properties(arm, seed=seed)
        print(json.dumps(properties.to_dict(), indent=2) if as_json else properties)
        if not properties.holds:
            raise typer.Exit(ExitCode.NOT_ACHIEVED)
        return
    result = tp.bounds(arm, joint_ranges(arm, ranges or []), tolerance, boxes, seed)
    print(json.dumps(result.to_dict(), indent=2) if as_json else result)


def joint_ranges(robot: Robot, texts: Sequence[str]) -> dict[str, tuple[float, float]] | None:
    """Return ranges by joint name from `lo:hi`, for all joints, and `joint=lo:hi`, for one; None where there are none.

    >>> import taupi as tp
    >>> joint_ranges(tp.load("elbow2r"), ["-1:1", "elbow=0:2"])
    {'shoulder': (-1.0, 1.0), 'elbow': (0.0, 2.0)}
    """
    ranges: dict[str, tuple[float, float]] = {}
    for text in sorted(texts, key=lambda t: "=" in t):  # the range of a single joint overrides the range of all joints
        joint, _, span = text.rpartition("=")
        lo, colon, hi = span.partition(":")
        try:
            ends = (float(lo), float(hi))
        except ValueError:
            colon = ""
        if not colon:
            raise TaupiError("--range is {got!r}, expected lo:hi or joint=lo:hi, as in --range joint2=-1:1.", got=text)
        ranges.update(dict.fromkeys([joint] if joint else robot.joint_names, ends))
    return ranges or None
