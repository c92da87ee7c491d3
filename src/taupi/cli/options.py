"""Options that `taupi simulate` and `taupi control` share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

RobotArgument = Annotated[
    str, typer.Argument(metavar="ROBOT", help="A built-in robot, or a .urdf, .xml (MJCF) or .toml file.")
]
ReferenceOption = Annotated[
    str,
    typer.Option(
        "--reference",
        help="sine, planar2, puma560, none, [[q], [q], ...] or minjerk:[...] (way-points), bspline:[...] (control points), "
        '{"offset": ..., "amplitude": ..., "omega": ...} (sines), or a file of positions.',
    ),
]
DurationOption = Annotated[float, typer.Option("--duration", help="Seconds.")]
RateOption = Annotated[float, typer.Option("--rate", help="Control periods a second.")]
IntegratorOption = Annotated[
    str, typer.Option("--integrator", help="euler, semi_implicit, midpoint, rk4, rk45, dop853 or lsoda.")
]
SubstepsOption = Annotated[int, typer.Option("--substeps", help="Steps of the integrator in a period.")]
InitialOption = Annotated[
    str | None, typer.Option("--initial", help="Where it starts, at rest: JSON list q. By default on the reference.")
]
PayloadOption = Annotated[
    list[str] | None, typer.Option("--payload-at", help="time:mass at the tip, such as 2s:1.5kg; may be repeated.")
]
TorqueLimitOption = Annotated[
    str | None, typer.Option("--torque-limit", help="N m: one, one a joint by commas, or 'description'.")
]
RateLimitOption = Annotated[str | None, typer.Option("--rate-limit", help="N m/s: one, or one a joint by commas.")]
DelayOption = Annotated[str, typer.Option("--delay", help="From command to torque: 0.002, 2ms.")]
DisturbanceOption = Annotated[
    str | None, typer.Option("--disturbance", help="N m that the motors have to make up for, one a joint by commas.")
]
ResolutionOption = Annotated[
    float | None, typer.Option("--resolution", help="Encoder step in rad; velocities are then differences.")
]
NoiseOption = Annotated[float, typer.Option("--noise", help="Standard deviation of measured positions, rad.")]
SnrOption = Annotated[
    float | None, typer.Option("--snr-db", help="The same by decibels below the reference's root mean square.")
]
VelocityOption = Annotated[
    str | None,
    typer.Option("--velocity", help="exact, difference, or filter:HZ: how the law gets velocities."),
]
SensorDelayOption = Annotated[str, typer.Option("--sensor-delay", help="From motion to measurement: 0.001, 1ms.")]
SeedOption = Annotated[int, typer.Option("--seed", help="Seed of the noise.")]
GainOption = Annotated[
    list[str] | None,
    typer.Option("--gain", help="NAME=VALUE or LAW.NAME=VALUE: Lambda=5, K=[20,10], walker.gamma=8; may be repeated."),
]
LockOption = Annotated[list[str] | None, typer.Option("--lock", help="Joint held at zero; may be repeated.")]
TipOption = Annotated[str | None, typer.Option("--tip", help="Link at the end of the chain.")]
SnapOption = Annotated[
    bool, typer.Option("--snap/--no-snap", help="Take near-right angles of the file as right angles.")
]
OutputOption = Annotated[
    Path | None, typer.Option("--output", "-o", help="Directory for report.html, arm.svg and the runs.")
]
ForceOption = Annotated[bool, typer.Option("--force", help="Overwrite results.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
