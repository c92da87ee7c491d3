"""`taupi export`: the identified robot of a fit."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from taupi.cli.fit_folder import export_fit, like_the_fit
from taupi.cli.options import FitArgument, ForceOption, ValidationPreparation
from taupi.errors import TaupiError
from taupi.input_files import open_regular
from taupi.signals.reading import Reading

if TYPE_CHECKING:
    from taupi.identification.results.fit import Fit

_TIMESTEP = 0.002  # s


def export(
    fit: FitArgument,
    *,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="A .urdf, .toml or .xml (MJCF) file, or a directory for a C99 project. With --mjcf: that file.",
        ),
    ] = None,
    mjcf: Annotated[
        Path | None,
        typer.Option(
            "--mjcf",
            metavar="MODEL.xml",
            help="An MJCF file to update, its inertials and joints only; created from the robot if there is none.",
        ),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            "--for",
            "--target",
            metavar="TARGET",
            help="mujoco, isaaclab, mjlab, usd, newton, urdf, sdf, genesis or drake: everything for this target, into the "
            "directory that --output names.",
        ),
    ] = None,
    version: Annotated[
        str | None,
        typer.Option("--target-version", "--version", help="The version of the target, by default the newest."),
    ] = None,
    timestep: Annotated[
        float, typer.Option("--timestep", help="The target's step, s, in which delays are counted.")
    ] = _TIMESTEP,
    refit: Annotated[
        list[Path] | None,
        typer.Option(
            "--refit",
            metavar="LOG",
            help="Of a fit from commands: fit its drives again to this log with the target's own steps. May be repeated.",
        ),
    ] = None,
    samples: Annotated[
        int,
        typer.Option("--samples", help="How many possible robots are written as samples.npz beside it, with a loader."),
    ] = 0,
    seed: Annotated[int, typer.Option("--seed", help="The seed of the samples.")] = 0,
    check: Annotated[
        list[Path] | None,
        typer.Option(
            "--check",
            metavar="LOG",
            help="For MJCF and targets that run here: show how much accuracy is lost on this log. May be repeated.",
        ),
    ] = None,
    anyway: Annotated[
        bool,
        typer.Option(
            "--anyway",
            help="Export even a fit with the verdict 'wrong', and leave out terms that a description has no place for.",
        ),
    ] = False,
    force: ForceOption = False,
    reading: Reading,
    preparation: ValidationPreparation,
) -> None:
    """Write the identified robot of a fit: for a simulator, as its URDF, as MJCF, as TOML, or its inverse dynamics as C.

    With --for, what the target has no place for is named, with the torque, or for a fit from commands and a --check the position
    error, that this costs.

    A fit with the verdict "wrong" is refused, and the command exits with 4, unless --anyway is given.

    \b
    taupi export out --for isaaclab -o arm
    taupi export out --for mujoco -o arm --samples 1000 --check run3.csv
    taupi export out --for mujoco -o arm --refit run1.csv --check run3.csv
    taupi export out -o better.urdf
    taupi export out/fit.json -o c
    taupi export out --mjcf model.xml -o identified.xml --check run3.csv
    """
    from taupi.identification.results.fit_file import load_torque_fit

    if target is not None:
        if mjcf is not None or output is None:
            raise TaupiError("--for {target} writes a directory: name it with --output, without --mjcf.", target=target)
        settings = {"version": version, "timestep": timestep, "samples": samples, "seed": seed}
        _export_for(fit, target, output, settings, refit or [], check or [], anyway, force, reading, preparation)
        return
    of_targets = {
        "--target-version": version is not None,
        "--timestep": timestep != _TIMESTEP,
        "--refit": refit,
        "--samples": samples,
        "--seed": seed,
    }
    if unused := [option for option, given in of_targets.items() if given]:
        raise TaupiError("Without a target, there is no use for {unused:and}: name one with --for.", unused=unused)
    form, path = _form_of(output, mjcf)
    if check and form != "mjcf":
        raise TaupiError("--check shows what is lost in MuJoCo: it goes with --for, --mjcf, or an output in .xml.")
    loaded = load_torque_fit(fit)
    if str(loaded.verdict.level) == "doubtful":
        print("\n".join(loaded.verdict.lines), file=sys.stderr)
    if form == "mjcf":
        _export_mjcf(loaded, path, mjcf, check or [], anyway, force, reading, preparation)
    else:
        export_fit(loaded, form, path, anyway, force)
    if not loaded.consistency.exact:
        print(f"warning: {loaded.consistency.sentence}", file=sys.stderr)
    print(f"wrote {path}", file=sys.stderr)


def _export_for(
    fit: Path,
    target: str,
    output: Path,
    settings: dict[str, Any],
    refit: list[Path],
    logs: list[Path],
    anyway: bool,
    force: bool,
    reading: Reading,
    preparation: dict[str, Any],
) -> None:
    """Write a fit for a target; say what is lost, and what that costs on each log."""
    import taupi as tp
    from taupi.bridges.targets.target import target_named

    loaded, kind = tp.load_fit(fit), target_named(target)
    for log in (*refit, *logs):  # before anything is written
        (kind.require_engine if isinstance(loaded, tp.Fit) else kind.require_simulator)()
        _refuse_missing(log)
    reading = like_the_fit(loaded, reading) if refit or logs else reading
    recorded = [tp.read_log(log, loaded.robot, reading=reading) for log in refit]
    written = tp.export(loaded, output, target, **settings, refit=recorded or None, force=force, anyway=anyway)
    for note in written.notes:
        print(note, file=sys.stderr)
    if isinstance(loaded, tp.Fit) and not loaded.consistency.exact:
        print(f"warning: {loaded.consistency.sentence}", file=sys.stderr)
    print(f"wrote {', '.join(str(output / name) for name in written.files)}", file=sys.stderr)
    for log in logs:
        print(repr(tp.bridges.check_export(written, log, reading=reading, **preparation)))


def _refuse_missing(log: Path) -> None:
    from taupi.signals.formats.sources import address_of

    if not log.is_dir() and address_of(log) is None:
        open_regular(log, "a log").close()


def _form_of(output: Path | None, mjcf: Path | None) -> tuple[str, Path]:
    """Return the form to write, and where: the output, or the MJCF itself if there is no other."""
    target = output if output is not None else mjcf
    if target is None:
        raise TaupiError("Name a file to write: -o better.urdf, -o c, or --mjcf model.xml.")
    form = {".urdf": "urdf", ".toml": "toml", ".xml": "mjcf", "": "c"}.get(target.suffix.lower())
    if form is None or (mjcf is not None and form != "mjcf"):
        expected = ".xml" if mjcf is not None else ".urdf, .xml or .toml, or a directory for C"
        raise TaupiError("output is {got!r}, expected a name ending in {expected}.", got=str(target), expected=expected)
    return form, target


def _export_mjcf(
    fit: Fit,
    target: Path,
    model: Path | None,
    logs: list[Path],
    anyway: bool,
    force: bool,
    reading: Reading,
    preparation: dict[str, Any],
) -> None:
    import taupi as tp

    if model is not None and not model.exists():
        if target != model:
            raise TaupiError(
                "No file '{model}' to write into.", remedy="Leave --mjcf out to make a new MJCF.", model=str(model)
            )
        model = None
    for log in logs:  # before anything is written
        _refuse_missing(log)
    export = tp.write_mjcf(fit, target, model, force, anyway)
    for note in export.notes:
        print(note, file=sys.stderr)
    if logs:
        reading = like_the_fit(fit, reading)
    for log in logs:
        print(repr(tp.bridges.check_mjcf(fit, export, log, reading=reading, **preparation)))
