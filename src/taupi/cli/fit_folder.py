"""The files of a fit that commands read and write, and how logs are read that meet a fit."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from taupi.cli.exit_codes import ExitCode
from taupi.command_line import recorded_command
from taupi.errors import TaupiError, warn
from taupi.files import path_of, refuse_to_replace, write_folder
from taupi.settings import Settings
from taupi.signals.reading import Reading

if TYPE_CHECKING:
    from taupi.identification.estimators import AnyFit
    from taupi.identification.results.command_fit import CommandValidation
    from taupi.identification.results.validation import Validation
    from taupi.model.robot import Robot

    AnyValidation = Validation | CommandValidation


RESULTS = ("fit.json", "fit.txt", "report.html")
# Files that may exist beside them; a new result without them removes the old ones.
EXPORTS = {"urdf": "model.urdf", "toml": "model.toml", "c": "c"}
# Largest share of all logs that --skip-bad may leave out.
_FEW_SKIPPED = 0.05
# How many of them are named on a terminal.
_NAMED_SKIPPED = 20


@dataclass(frozen=True)
class ExportOptions(Settings):
    """Forms of the identified robot that are written beside the results.

    Attributes:
        urdf: Write model.urdf too: the original one with the identified inertias.
        toml: Write model.toml too: the identified robot.
        c: Write c/ too: its inverse dynamics as a C99 project.
        anyway: Export even a fit with the verdict "wrong", and exit with 0; leave out terms that a description has no place for.
    """

    urdf: bool = False
    toml: bool = False
    c: bool = False
    anyway: bool = False

    @property
    def forms(self) -> tuple[str, ...]:
        """The names of the forms that are written."""
        return tuple(form for form in EXPORTS if getattr(self, form))

    def refuse_robot(self, robot: Robot) -> None:
        """Refuse to write back a URDF that there is none of, before time is spent on a fit."""
        if self.urdf and robot.source.format != "urdf":
            raise TaupiError(
                "--urdf writes a URDF back with other inertias, and {robot} comes from {format}.",
                remedy="Leave it out; afterwards, taupi export FIT --for urdf -o FOLDER writes a new one.",
                robot=robot.name,
                format=robot.source.format,
            )

    def refuses(self, fit: AnyFit) -> bool:
        """Whether a fit is too wrong to be exported."""
        return str(fit.verdict.level) == "wrong" and not self.anyway


def refuse_results(output: Path, force: bool) -> None:
    """Refuse a directory that holds results already, before time is spent on new ones."""
    refuse_to_replace(output, (*RESULTS, *EXPORTS.values()), force)


def expanded(patterns: Sequence[Path]) -> list[Path]:
    """Return paths and addresses, patterns such as 's3://bucket/run-*.parquet' expanded."""
    from taupi.signals.formats.sources import expand_pattern

    return [Path(path) for pattern in patterns for path in expand_pattern(pattern)]


def refuse_logs(logs: Sequence[Path], held_out: Sequence[Path]) -> None:
    """Refuse logs that do not exist, and logs that are both fitted and held out, before spending minutes on the first."""
    from taupi.signals.formats.sources import address_of, shown_address

    for path in (*logs, *held_out):
        if address_of(path) is None and not path_of(path, "the path or address of a log").exists():
            raise TaupiError("No file '{path}'. Check the path.", path=str(path))
    fitted = {address_of(path) or path.resolve() for path in logs}
    for path in held_out:
        if (address_of(path) or path.resolve()) in fitted:
            raise TaupiError(
                "{path} is fitted and cannot be held out as well: --validate another log.", path=shown_address(path)
            )


def exit_if_many_skipped(record: Mapping[str, Any], logs: int) -> None:
    """Name on standard error the logs that a record lists as left out; exit with 3 if they are more than 5 % of all `logs`."""
    skipped = record.get("skipped", [])
    for each in skipped[:_NAMED_SKIPPED]:
        print(f"warning: {each['name']} is left out: {each['reason']}", file=sys.stderr)
    if len(skipped) > _NAMED_SKIPPED:
        print(
            f"warning: so are {len(skipped) - _NAMED_SKIPPED} more; the record of the result names all.",
            file=sys.stderr,
        )
    if len(skipped) > _FEW_SKIPPED * (len(skipped) + logs):
        every = len(skipped) + logs
        print(f"taupi: {len(skipped)} of {every} logs are left out, more than {_FEW_SKIPPED:.0%}.", file=sys.stderr)
        raise typer.Exit(ExitCode.BAD_INPUT)


def with_record(fit: AnyFit, reading: Reading) -> AnyFit:
    """Return a fit whose record includes the command, how logs were read, and the hashes of the files other than logs."""
    from taupi.signals.formats.files import sha256

    record = {"command": recorded_command()}
    description = Path(fit.robot.source.path)
    if description.is_file():
        record |= {"description": str(description), "description_sha256": sha256(description)}
    return fit.with_record(**record, **reading_record(reading))


def write_results(
    fit: AnyFit,
    output: Path,
    exports: ExportOptions,
    force: bool,
    held_out: Sequence[AnyValidation] = (),
    fitted: Sequence[AnyValidation] = (),
) -> list[Path]:
    """Write a fit, its report with validations of logs that were held out and `fitted`, and its exports; return the paths.

    A fit with the verdict "wrong" is not exported unless the user asks for it.
    """
    from taupi.identification.results.fit_file import fit_json, fit_text
    from taupi.reporting.report import report_text

    forms = () if exports.refuses(fit) else exports.forms
    texts = (fit_json(fit), fit_text(fit), report_text(fit, held_out, fitted))

    def fill(folder: Path) -> None:
        for name, text in zip(RESULTS, texts, strict=True):
            (folder / name).write_text(text, encoding="utf-8")
        for form in forms:
            export_fit(fit, form, folder / EXPORTS[form], exports.anyway)

    write_folder(output, fill, force, own=(*RESULTS, *EXPORTS.values()))
    return [output / name for name in (*RESULTS, *(EXPORTS[form] for form in forms))]


def say_verdict(fit: AnyFit) -> None:
    """Print the objections to a fit on standard error."""
    print("\n".join(fit.verdict.lines), file=sys.stderr)


def exit_if_wrong(fit: AnyFit, exports: ExportOptions) -> None:
    """Exit with 4 if the verdict on a fit is "wrong", unless --anyway is given."""
    if exports.refuses(fit):
        names = ", ".join(EXPORTS[form] for form in exports.forms)
        kept = f"; not written: {names}" if names else ""
        print(f"taupi: The verdict on this fit is wrong{kept}. Add --anyway to use it nevertheless.", file=sys.stderr)
        raise typer.Exit(ExitCode.NOT_ACHIEVED)


def export_fit(fit: AnyFit, form: str, path: Path, anyway: bool = False, force: bool = False) -> None:
    """Write the identified robot as "urdf", "toml" or "c"; what should not be exported is refused, with the reason."""
    import taupi as tp

    if form == "urdf":
        tp.write_urdf(fit, path, force, anyway)
    elif form == "toml":
        tp.write_toml(fit, path, force, anyway)
    else:
        terms = tuple(term for term in fit.terms if term.field)
        dynamics = tp.elastic.inverse_dynamics if fit.elastic else tp.inverse_dynamics
        tp.emit(dynamics(fit.robot_identified(anyway), terms=terms), "c", path, project=True, force=force)


def reading_record(reading: Reading) -> dict[str, object]:
    """Return what a fit's record says of how its logs were read, for `like_the_fit`."""
    from taupi.signals.formats.files import sha256

    record: dict[str, object] = {}
    if reading.encoder_offset is not None:
        record["encoder_offset"] = reading.encoder_offset
    if isinstance(reading.columns, Path):
        record |= {"columns": str(reading.columns), "columns_sha256": sha256(reading.columns)}
    return record


def like_the_fit(fit: AnyFit, reading: Reading) -> Reading:
    """Return how logs are read: as `reading` says, and with the column mapping and encoder offsets of the fit if it says none.

    The mapping is used if its file is where it was and has not changed since; otherwise there is a warning.
    """
    record, kept = fit.record, dict[str, Any]()
    if reading.encoder_offset is None and "encoder_offset" in record:
        offset = record["encoder_offset"]
        kept["encoder_offset"] = tuple(offset) if isinstance(offset, list) else offset
    if reading.columns is None and "columns" in record and _is_unchanged(Path(record["columns"]), record):
        kept["columns"] = Path(record["columns"])
    return replace(reading, **kept)


def _is_unchanged(columns: Path, record: Mapping[str, object]) -> bool:
    from taupi.signals.formats.files import sha256

    if columns.is_file() and sha256(columns) == record.get("columns_sha256"):
        return True
    state = "has changed since" if columns.is_file() else "is not found from here"
    warn(
        "The logs of the fit were read with {other_columns}, which {state}. Columns are guessed from the headers.",
        remedy="Name the file of the mapping: {columns=...}.",
        other_columns=columns,
        state=state,
    )
    return False
