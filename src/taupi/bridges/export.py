"""Write an identified robot for a simulator or a controller, and say what is lost on the way."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from taupi.bridges.identified import STOOD_IN
from taupi.bridges.refit import refitted
from taupi.bridges.samples_file import write_samples
from taupi.bridges.targets.passport import DrivesLike, Passport
from taupi.bridges.targets.target import QUANTITIES, target_named
from taupi.checks import positive, whole_number
from taupi.errors import TaupiError
from taupi.files import path_of, write_folder
from taupi.identification.results.command_fit import CommandFit, milli
from taupi.identification.results.fit import Fit
from taupi.identification.results.samples import samples as draw
from taupi.model.robot import Robot
from taupi.signals.read import LogLike
from taupi.version import __version__

RECORD, SAMPLES, LOADER = "passport.json", "samples.npz", "load_samples.py"


@dataclass(frozen=True, eq=False, repr=False)
class Export:
    """What was written for a target.

    Attributes:
        folder: The directory.
        files: The names of the files in it.
        passport: The robot as the target has it, with what is lost.
    """

    folder: Path
    files: tuple[str, ...]
    passport: Passport

    @property
    def lost(self) -> tuple[str, ...]:
        """The parameters that have no place in the target."""
        return tuple(name for loss in self.passport.losses for name in loss.names)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user of the files should know: what is lost, joint by joint, and the remarks of the target."""
        passport = self.passport
        title = passport.target.title
        lost = tuple(f"{title} has no place for {loss}" for loss in passport.losses)
        replaced = (STOOD_IN,) if passport.taken.stood_in else ()
        return (*lost, *replaced, *self._of_commands, *passport.target.remarks)

    @property
    def _of_commands(self) -> tuple[str, ...]:
        """What to know of a robot that was identified from commands."""
        passport, fit, target = self.passport, self.passport.source, self.passport.target
        if not isinstance(fit, CommandFit):
            return ()
        if passport.refit is not None:
            means = [milli(e, fit.position_units) for e in (passport.refit.before, passport.refit.after)]
            return (
                f"delay, damping, friction and inertia were fitted again with {target.title}'s own steps of "
                f"{1e3 * passport.timestep:.3g} ms, to {', '.join(passport.refit.logs)}: its mean position error is {means[1]}, "
                f"and {means[0]} with the numbers of the fit",
            )
        fitted = (
            f"delay, damping and inertia were fitted with taupi's own steps of {1e3 * fit.step:.3g} ms, not with those of "
            f"{target.title}"
        )
        cost = (
            "check_export, --check LOG, shows what this and all that is left out cost in position; refit=, --refit LOG, fits "
            "them with its steps"
        )
        return (fitted, cost) if target.simulator else (fitted,)

    def __repr__(self) -> str:
        return "\n".join([f"Export({str(self.folder)!r}: {', '.join(self.files)})", *(f"  {n}" for n in self.notes)])


def export(
    source: Robot | Fit | CommandFit,
    folder: str | os.PathLike[str],
    target: str = "mujoco",
    *,
    version: str | None = None,
    drives: DrivesLike = None,
    timestep: float = 0.002,
    refit: LogLike | Sequence[LogLike] | None = None,
    samples: int = 0,
    seed: int = 0,
    force: bool = False,
    anyway: bool = False,
) -> Export:
    """Write the `source`, a robot or a fit with what was identified, for a simulator or a controller into `folder`.

    Numbers are written in full precision, in the units of the target. What a target has no place for is named in `lost`, and for
    a fit in `notes` with the torque that this costs on the fitted logs. Friction that depends on load or bends with speed is
    replaced by the viscous and dry friction that come nearest to it on these logs. passport.json records it all.

    Args:
        source: A robot, or a fit; one from commands brings its drive, fitted with its own steps (`fit.step`) unless `refit`.
        folder: The directory to write into.
        target: "mujoco" (the default), "isaaclab", "mjlab", "usd", "newton", "urdf", "sdf", "genesis", "drake", or a target of an
            installed package.
        version: The version of the target, by default the newest that is known.
        drives: What makes torques of position commands: the `taupi.Drive` of a log, or a `taupi.bridges.JointDrive` for all
            joints, or some by joint; by default none, so that joints take torques.
        timestep: The step of the simulation, s; 0.002 by default. Delays are counted in it.
        refit: Of a fit from commands, a log or several, by default none: delay, inertia and friction of the drives, and a
            constant torque, are fitted again so that the target itself, by its own steps and without what it has no place for,
            moves as these logs show.
        samples: How many posterior samples of a fit are written beside the estimate, as samples.npz with the lines that load them
            into the target; 0, the default, for none.
        seed: The seed of these samples, 0 by default.
        force: Whether files that exist are overwritten, False by default.
        anyway: Whether a fit whose verdict is wrong is written all the same, False by default.

    Returns:
        What was written, with `lost` and `notes`.

    Raises:
        TaupiError: If the target cannot hold the robot, or the verdict is wrong.

    >>> import tempfile, taupi as tp
    >>> arm = tp.load("ur10").with_friction(viscous=0.2, coulomb=0.5)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     seen = tp.export(arm, folder + "/out", target="drake")
    >>> seen.files, seen.lost[0]
    (('passport.json', 'ur10.urdf'), 'shoulder_pan_joint.coulomb')
    """
    if not isinstance(source, Robot | Fit | CommandFit):
        raise TaupiError("{source} is {got!r}, expected a robot or a fit: taupi.load(...).", got=source)
    where = path_of(folder, "the path of a directory", "folder")
    passport = Passport.of(source, target_named(target), version, drives, positive("timestep", timestep), anyway=anyway)
    passport = passport if refit is None else refitted(passport, refit)
    number = whole_number("samples", samples, least=0)
    if number and isinstance(source, Robot):
        raise TaupiError(
            "{samples} are drawn from the uncertainty of a fit, and {robot} has none.", robot=passport.name
        )
    drawn = draw(source, number, seed, anyway) if number and not isinstance(source, Robot) else None
    loader = passport.target.loader if drawn is not None else ""
    texts = {
        **passport.target.files(passport),
        **({LOADER: loader} if loader else {}),
        RECORD: json.dumps(_record(passport), indent=1) + "\n",
    }

    def fill(into: Path) -> None:
        for name, text in texts.items():
            (into / name).write_text(text, encoding="utf-8", newline="")
        if drawn is not None:
            write_samples(drawn, into / SAMPLES, passport.drives, passport.target.frames)

    names = (*texts, *([SAMPLES] if drawn is not None else []))
    write_folder(where, fill, force, own=(*texts, SAMPLES, LOADER))
    return Export(where, tuple(sorted(names)), passport)


def _record(passport: Passport) -> dict[str, object]:
    """Return a passport as plain data: what was written, in SI units and radians, and what is lost."""
    source = passport.source
    return {
        "schema": "taupi.passport/1",
        "taupi": __version__,
        "robot": passport.robot.name,
        "target": passport.target.name,
        "version": passport.version,
        "timestep": passport.timestep,
        "units": {name: quantity.unit for name, quantity in QUANTITIES.items()},
        "joints": {
            name: {**asdict(values), **asdict(passport.drives[name])} for name, values in passport.joints.items()
        },
        "lost": [asdict(loss) for loss in passport.losses],
        "refitted_to": list(passport.refit.logs) if passport.refit is not None else [],
        "verdict": None if isinstance(source, Robot) else str(source.verdict.level),
        "logs": [] if isinstance(source, Robot) else [log.name for log in source.logs],
    }
