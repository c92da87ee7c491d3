"""Arguments and options that several commands share, and how a robot and logs are named on the command line."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from taupi.cli.settings import Changes, Without
from taupi.errors import TaupiError
from taupi.identification.rows.preparation import SET_BY_THE_FIT, Preparation
from taupi.settings import Settings

if TYPE_CHECKING:
    from taupi.model.robot import Robot


@dataclass(frozen=True)
class Description(Settings):
    """How a robot's description is read.

    Attributes:
        lock: Joint to hold at zero.
        tip: Link at which the chain ends.
        snap: Whether nearly right angles in the file are taken as right angles.
        floating: Whether the base moves freely. By default only if the file says so.
        xacro: NAME=VALUE, an argument of a .xacro file.
    """

    lock: tuple[str, ...] = ()
    tip: str | None = None
    snap: bool = True
    floating: bool | None = None
    xacro: tuple[str, ...] = ()

    def load(self, robot: str) -> Robot:
        """Return a built-in robot by its name, or the robot in a file; only settings that the user changed are passed on."""
        import taupi as tp

        changes: dict[str, object] = {
            "lock": list(self.lock) or None,
            "tip": self.tip,
            "snap": None if self.snap else False,
            "floating": self.floating,
            "xacro": _arguments(self.xacro) or None,
        }
        loaded: Robot = tp.load(robot, **{name: value for name, value in changes.items() if value is not None})
        return loaded

    def words(self) -> list[str]:
        """Return the options as they are typed; those that the user did not change are left out."""
        typed = [word for name in self.lock for word in ("--lock", name)]
        typed += ["--tip", self.tip] if self.tip is not None else []
        typed += [] if self.snap else ["--no-snap"]
        typed += [] if self.floating is None else ["--floating" if self.floating else "--no-floating"]
        return typed + [word for pair in self.xacro for word in ("--xacro", pair)]


def _arguments(pairs: tuple[str, ...]) -> dict[str, str]:
    """Return arguments by name from texts of the form NAME=VALUE."""
    for pair in pairs:
        if "=" not in pair:
            raise TaupiError("{xacro} is {got!r}, expected NAME=VALUE.", got=pair)
    return {name: value for name, _, value in (pair.partition("=") for pair in pairs)}


@dataclass(frozen=True)
class ClusterOptions(Settings):
    """Who reads the logs, and what is done about those that cannot be used.

    Attributes:
        scheduler: Dask scheduler whose workers read the logs, such as tcp://head:8786.
        scheduler_file: The same scheduler, named by the file that it wrote.
        resume: Where a cluster keeps finished logs, so that an interrupted run can continue.
        skip_bad: Leave out logs that cannot be used; exit with 3 if these are more than 5 % of all logs.
    """

    scheduler: str | None = None
    scheduler_file: Path | None = None
    resume: str | None = None
    skip_bad: bool = False

    @property
    def keywords(self) -> dict[str, Any]:
        """What `taupi.identify` and `taupi.identify_fleet` are called with."""
        client = self.scheduler or self.scheduler_file
        return {"client": client, "resume": self.resume, "skip_bad": self.skip_bad}


# Input ----------------------------------------------------------------------------------------------------------------

RobotArgument = Annotated[
    str, typer.Argument(metavar="ROBOT", help="A built-in robot, or a .urdf, .xml (MJCF), .sdf, .usd or .toml file.")
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
ValidationPreparation = Annotated[dict[str, Any], Changes(Preparation), Without(*SET_BY_THE_FIT)]

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
MaxErrorOption = Annotated[
    float | None,
    typer.Option(
        "--max-error", help="Exit with 5 if the relative torque error of a log is above this share, such as 0.05."
    ),
]
