"""`taupi export`: the identified robot of a fit."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from taupi.cli.fit_folder import export_fit
from taupi.cli.fit_reading import like_the_fit
from taupi.cli.options import AnywayOption, FitArgument, ForceOption, ValidationPreparation
from taupi.errors import TaupiError
from taupi.input_files import open_regular
from taupi.signals.reading import Reading

if TYPE_CHECKING:
    from taupi.identification.results.fit import Fit


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
    check: Annotated[
        list[Path] | None,
        typer.Option(
            "--check", metavar="LOG", help="For MJCF: show how much accuracy is lost on this log. May be repeated."
        ),
    ] = None,
    anyway: AnywayOption = False,
    force: ForceOption = False,
    reading: Reading,
    preparation: ValidationPreparation,
) -> None:
    """Write the identified robot of a fit: as its URDF, as MJCF for MuJoCo, as TOML, or its inverse dynamics as C.

    A fit with the verdict "wrong" is refused, and the command exits with 4, unless --anyway is given.

    \b
    taupi export out -o better.urdf
    taupi export out/fit.json -o c
    taupi export out --mjcf model.xml -o identified.xml --check run3.csv
    """
    import taupi as tp

    form, target = _form_of(output, mjcf)
    if check and form != "mjcf":
        raise TaupiError("--check shows what is lost in MuJoCo: it goes with --mjcf, or with an output in .xml.")
    loaded = tp.load_fit(fit)
    if str(loaded.verdict.level) == "doubtful":
        print("\n".join(loaded.verdict.lines), file=sys.stderr)
    if form == "mjcf":
        _export_mjcf(loaded, target, mjcf, check or [], anyway, force, reading, preparation)
    else:
        export_fit(loaded, form, target, anyway, force)
    if not loaded.consistency.exact:
        print(f"warning: {loaded.consistency.sentence}", file=sys.stderr)
    print(f"wrote {target}", file=sys.stderr)


def _form_of(output: Path | None, mjcf: Path | None) -> tuple[str, Path]:
    """Return the form to write, and where: the output, or the MJCF itself if there is no other."""
    target = output if output is not None else mjcf
    if target is None:
        raise TaupiError("Name a file to write: -o better.urdf, -o c, or --mjcf model.xml.")
    form = {".urdf": "urdf", ".toml": "toml", ".xml": "mjcf", "": "c"}.get(target.suffix.lower())
    if form is None or (mjcf is not None and form != "mjcf"):
        expected = ".xml" if mjcf is not None else ".urdf, .xml or .toml, or a directory for C"
        raise TaupiError(f"output is {str(target)!r}, expected a name ending in {expected}.")
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
    from taupi.signals.formats.sources import address_of

    if model is not None and not model.exists():
        if target != model:
            raise TaupiError(f"No file {str(model)!r} to write into.", remedy="Leave --mjcf out to make a new MJCF.")
        model = None
    for log in logs:  # before anything is written
        if not log.is_dir() and address_of(log) is None:
            open_regular(log, "a log").close()
    export = tp.write_mjcf(fit, target, model, force, anyway)
    for note in export.notes:
        print(note, file=sys.stderr)
    if logs:
        reading = like_the_fit(fit, reading)
    for log in logs:
        print(repr(tp.bridges.check_mjcf(fit, export, log, reading=reading, **preparation)))
