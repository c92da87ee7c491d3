"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from taupi.cli.settings import Without
from taupi.identification.rows.preparation import PREDICTION_CHANGES

# Input ----------------------------------------------------------------------------------------------------------------

RobotArgument = Annotated[
    str, typer.Argument(metavar="ROBOT", help="A built-in robot, or a .urdf, .xml (MJCF) or .toml file.")
]
LogsArgument = Annotated[
    list[Path],
    typer.Argument(metavar="LOG...", help="Files: CSV (also .gz), Parquet, NPZ, MAT, ROS bag or MCAP."),
]
FitArgument = Annotated[Path, typer.Argument(metavar="FIT", help="A fit.json, or the directory that holds it.")]
FrameOption = Annotated[
    str | None, typer.Option("--at", metavar="FRAME", help="The frame that the load is fixed to, by default the tip.")
]
ValidateOption = Annotated[
    list[Path] | None, typer.Option("--validate", help="Log to hold out and predict. May be repeated.")
]

# How validation differs from the preparation of the fit's own logs: it uses every row.
ValidationPreparation = Annotated[dict[str, Any], PREDICTION_CHANGES, Without(*PREDICTION_CHANGES.without)]

# Programs -------------------------------------------------------------------------------------------------------------

TermsOption = Annotated[
    str, typer.Option("--terms", help="Joint terms, separated by commas: viscous,coulomb,offset,rotor,stribeck,load.")
]
CouplingOption = Annotated[
    bool,
    typer.Option(
        "--coupling/--no-coupling", help="For elastic joints: whether spinning rotors act on the links that carry them."
    ),
]
TaskOption = Annotated[
    str | None, typer.Option("--task", help="Task of an operational program or law: planar, xy, position, ...")
]

# Output ---------------------------------------------------------------------------------------------------------------

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
ForceOption = Annotated[bool, typer.Option("--force", help="Overwrite existing files.")]
AnywayOption = Annotated[
    bool,
    typer.Option(
        "--anyway",
        help="Export even a fit with the verdict 'wrong', and leave out terms that a description has no place for.",
    ),
]
MaxErrorOption = Annotated[
    float | None,
    typer.Option(
        "--max-error", help="Exit with 5 if the relative torque error of a log is above this share, such as 0.05."
    ),
]

# Simulation -----------------------------------------------------------------------------------------------------------

SubstepsOption = Annotated[
    int | None,
    typer.Option("--substeps", help="Steps of the integrator per control period. By default 1, or enough for springs."),
]
SeedOption = Annotated[int, typer.Option("--seed", help="Seed of the sensor noise.")]
RunsOption = Annotated[
    Path | None, typer.Option("--output", "-o", help="Directory for report.html, arm.svg and the runs.")
]
