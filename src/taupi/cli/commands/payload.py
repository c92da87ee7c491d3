"""`taupi payload`: what a robot carries in a log."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from taupi.cli.fit_folder import like_the_fit
from taupi.cli.options import FitArgument, ForceOption, FrameOption, JsonOption, LogsArgument, ValidationPreparation
from taupi.errors import Argument, TaupiError, TaupiWarning, unknown
from taupi.files import refuse_to_overwrite, refuse_to_replace, write_folder, write_text
from taupi.signals.reading import Reading

if TYPE_CHECKING:
    from taupi.identification.payloads.payload_estimate import PayloadEstimate
    from taupi.identification.results.fit import Fit


def payload(
    fit: FitArgument,
    logs: LogsArgument,
    *,
    at: FrameOption = None,
    gain_uncertainty: Annotated[
        float | None,
        typer.Option(
            "--gain-uncertainty",
            help="Relative uncertainty of the drive gains, one standard deviation; masses scale with them. By default "
            "0.1 where torques are currents times stated gains, else 0.05.",
        ),
    ] = None,
    maker: Annotated[
        str | None,
        typer.Option(
            "--for",
            "--maker",
            metavar="MAKER",
            help="ur, franka, franka-desk, kuka, abb, fanuc, xarm, mecademic, doosan, ...: print, or write to the file --output, "
            "what robots of this maker are told, in their units and order.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Directory for payload.json, payload.txt, report.html and, for a URDF robot, model.urdf with the payload as "
            "a link; or one file that ends in .json, .txt, .html, .urdf or .toml.",
        ),
    ] = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
    reading: Reading,
    preparation: ValidationPreparation,
) -> None:
    """Weigh what a robot carries in logs, given a fit without the load: mass, centre of mass and inertia, with intervals.

    The logs that the fit was made from are not needed. If there are several logs, all must have the same payload.

    \b
    taupi payload out loaded.csv
    taupi payload out loaded.csv --at tool0 --for ur
    taupi payload out/fit.json loaded.csv --gain-uncertainty 0.02 -o tool
    """
    import taupi as tp
    from taupi.bridges.makers import MAKERS
    from taupi.identification.results.fit_file import load_torque_fit

    loaded = load_torque_fit(fit)
    if maker is not None and maker not in MAKERS:  # before time is spent
        raise unknown(Argument("maker"), maker, MAKERS)
    if maker is not None and as_json:
        raise TaupiError("With {maker}, there is no use for --json: the text is in the words of the maker.")
    if output is not None and maker is not None:
        refuse_to_overwrite(output, force)
    elif output is not None:
        refuse_payload_files(loaded, output, force)
    reading = like_the_fit(loaded, reading)
    load = tp.identify_payload(loaded, logs, at=at, gain_uncertainty=gain_uncertainty, reading=reading, **preparation)
    if maker is not None:
        _print_for(load, maker, output, force)
        return
    paths = [] if output is None else write_payload(load, output, force)
    print(json.dumps(load.to_dict(), indent=2) if as_json else repr(load))
    if paths:
        print(f"wrote {', '.join(map(str, paths))}", file=sys.stderr)


def _print_for(load: PayloadEstimate, maker: str, output: Path | None, force: bool) -> None:
    """Print a payload in the words of a maker, or write it to a file; notes go to standard error."""
    import taupi as tp

    text = tp.bridges.payload_text(load, maker)
    for note in text.notes:
        print(note, file=sys.stderr)
    if output is None:
        print(text.text, end="")
        return
    write_text(output, text.text, force)
    print(f"wrote {output}", file=sys.stderr)


FILES = ("payload.json", "payload.txt", "report.html", "model.urdf")
_ENDINGS = (".json", ".txt", ".html", ".urdf", ".toml")


def refuse_payload_files(fit: Fit, output: Path, force: bool) -> None:
    """Refuse existing files and unknown suffixes before time is spent."""
    if not output.suffix or output.is_dir():
        refuse_to_replace(output, FILES, force)
        return
    if output.suffix not in _ENDINGS:
        raise TaupiError(
            "{output} is {got!r}, expected a directory, or a name ending in {endings:,}.",
            got=str(output),
            endings=_ENDINGS,
        )
    if output.suffix == ".urdf" and fit.robot.source.format != "urdf":
        raise TaupiError(
            "{robot} comes from {format}, expected URDF: write a .toml instead.",
            robot=fit.robot.name,
            format=fit.robot.source.format,
        )
    refuse_to_overwrite(output, force)


def write_payload(load: PayloadEstimate, output: Path, force: bool) -> list[Path]:
    """Write a payload to a file in the format of its suffix, or everything to a directory; return the paths."""
    if output.suffix and not output.is_dir():
        _write(load, output, force)
        return [output]
    names = FILES if load.fit.robot.source.format == "urdf" and load.mass_is_seen else FILES[:-1]

    def fill(folder: Path) -> None:
        for name in names:
            _write(load, folder / name, force=False)

    write_folder(output, fill, force, own=FILES)
    return [output / name for name in names]


def _write(load: PayloadEstimate, path: Path, force: bool) -> None:
    import taupi as tp

    if path.suffix == ".json":
        write_text(path, json.dumps(load.to_dict(), indent=1) + "\n", force)
    elif path.suffix == ".txt":
        write_text(path, repr(load) + "\n", force)
    elif path.suffix == ".html":
        tp.report(load, path, force=force)
    else:
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", TaupiWarning
            )  # the user saw what a description cannot hold when the fit was made
            (tp.write_urdf if path.suffix == ".urdf" else tp.write_toml)(load, path, force, anyway=True)
