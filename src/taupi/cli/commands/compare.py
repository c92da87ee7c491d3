"""`taupi compare`: two fits, or a fit and a log: what has changed, and which predicts better."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from taupi.cli.fit_folder import like_the_fit
from taupi.cli.options import FrameOption, JsonOption, ValidationPreparation
from taupi.errors import TaupiError
from taupi.identification.rows.preparation import Preparation
from taupi.signals.reading import Reading

if TYPE_CHECKING:
    from taupi.identification.results.fit import Fit


def compare(
    first: Annotated[Path, typer.Argument(metavar="A", help="A fit.json, or the directory that holds it; or a log.")],
    second: Annotated[Path, typer.Argument(metavar="B", help="Another fit of the same robot, or a log.")],
    logs: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[LOG...]",
            help="Logs on which to compare the two fits as well; or more logs like B.",
        ),
    ] = None,
    *,
    at: FrameOption = None,
    robot: Annotated[
        str | None,
        typer.Option("--robot", metavar="ROBOT", help="The robot, if A is a log: it is identified from A first."),
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option(
            "--with",
            "--engine",
            metavar="ENGINE",
            help="mujoco: A is a fit, and B a model of this engine; more logs follow.",
        ),
    ] = None,
    as_json: JsonOption = False,
    reading: Reading,
    preparation: ValidationPreparation,
) -> None:
    """Show what changed in a robot between A and B, in standard errors; and on LOGs, which of two fits predicts better.

    With --with mujoco, B is an MJCF file: its torques in MuJoCo on each LOG are compared with those of fit A, joint by joint.

    Logs are prepared in the same way as those of each fit, unless options say otherwise.

    \b
    taupi compare monday friday
    taupi compare out loaded.csv
    taupi compare out_ols/fit.json out_wls/fit.json run3.csv run4.csv --json
    taupi compare out --with mujoco model.xml run3.csv
    """
    import taupi as tp
    from taupi.identification.results.fit_file import load_torque_fit
    from taupi.signals.formats.sources import shown_address

    if engine is not None:
        if unused := [option for option, given in (("--at", at), ("--robot", robot)) if given is not None]:
            raise TaupiError("With --with {engine}, there is no use for {unused:and}.", engine=engine, unused=unused)
        _compare_engine(first, engine, second, logs or [], as_json, reading, preparation)
        return
    a = load_torque_fit(first) if _is_fit(first) else _identified(first, robot, reading, preparation)
    if logs or not _is_fit(second):
        reading = like_the_fit(a, reading)
    if not logs or not _is_fit(second):
        later = [second, *(logs or [])]
        other = load_torque_fit(second) if _is_fit(second) else later
        changes = tp.what_changed(a, other, at=at, reading=reading, **preparation)
        changes = changes.named(shown_address(first), ", ".join(map(shown_address, later)))
        print(json.dumps(changes.to_dict(), indent=2) if as_json else repr(changes))
        return
    b = load_torque_fit(second)
    comparisons = [tp.compare(a, b, log, reading=reading, **preparation) for log in logs]
    if as_json:
        print(json.dumps([comparison.to_dict() for comparison in comparisons], indent=2))
    else:
        changes = tp.what_changed(a, b, at=at).named(str(first), str(second))
        print("\n\n".join([*map(repr, comparisons), changes.sentence]))


def _compare_engine(
    fit: Path,
    engine: str,
    model: Path,
    logs: list[Path],
    as_json: bool,
    reading: Reading,
    preparation: dict[str, Any],
) -> None:
    """Print the torques that another engine's model predicts for logs, beside those of a fit."""
    import taupi as tp
    from taupi.identification.results.fit_file import load_torque_fit

    if not logs:
        raise TaupiError(
            "--with {engine} needs a fit, a model and a log: taupi compare FIT --with {engine} {model} LOG.",
            engine=engine,
            model=model,
        )
    loaded = load_torque_fit(fit)
    reading = like_the_fit(loaded, reading)
    seen = [tp.bridges.compare_with(loaded, engine, model, log, reading=reading, **preparation) for log in logs]
    print(json.dumps([each.to_dict() for each in seen], indent=2) if as_json else "\n\n".join(map(repr, seen)))


def _is_fit(path: Path) -> bool:
    """Return whether a path names a fit, judging by its form: a directory, a .json file, or a name without a suffix."""
    from taupi.signals.formats.sources import address_of

    return address_of(path) is None and (path.is_dir() or path.suffix in (".json", ""))


def _identified(log: Path, robot: str | None, reading: Reading, preparation: dict[str, Any]) -> Fit:
    import taupi as tp

    if robot is None:
        raise TaupiError("{log} is a log, not a fit.", remedy="Name the robot as well: {robot=...}.", log=log)
    fit = tp.identify(tp.load(robot), log, reading=reading, preparation=Preparation(**preparation))
    if not isinstance(fit, tp.Fit):
        raise TaupiError("{log} has commands and no torque, but torques are compared here.", log=log)
    return fit
