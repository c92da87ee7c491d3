"""`taupi fleet`: arms of one kind from their logs."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from taupi.cli.commands.identify import OutputOption, SeedOption
from taupi.cli.fit_folder import exit_if_many_skipped
from taupi.cli.options import ClusterOptions, Description, ForceOption, JsonOption, RobotArgument
from taupi.cli.parsing import names
from taupi.command_line import recorded_command
from taupi.errors import TaupiError
from taupi.identification.rows.preparation import Preparation
from taupi.progress import progress
from taupi.signals.reading import Streaming

ArmsArgument = Annotated[
    Path | None,
    typer.Argument(metavar="FLEET.toml", help='Arms and their logs, one line per arm: arm-17 = ["a/*.parquet", ...].'),
]
ByOption = Annotated[
    str | None,
    typer.Option(
        "--by",
        metavar="PATTERN",
        help="A pattern with {arm} in place of a file of arms, such as 'logs/{arm}/*.parquet'.",
    ),
]
OwnOption = Annotated[str, typer.Option("--own", help="Terms that are separate for each arm, separated by commas.")]
TermsOption = Annotated[str, typer.Option("--terms", help="Joint terms, separated by commas.")]
LimitOption = Annotated[
    float,
    typer.Option("--limit", help="List parameters that are more than this many standard deviations from the fleet."),
]

RESULTS = ("fleet.json", "fleet.txt", "report.html", "fits")


def fleet(
    robot: RobotArgument,
    arms: ArmsArgument = None,
    *,
    output: OutputOption,
    by: ByOption = None,
    own: OwnOption = "viscous,coulomb,offset",
    terms: TermsOption = "rotor,viscous,coulomb,offset",
    limit: LimitOption = 4.0,
    seed: SeedOption = 0,
    cluster: ClusterOptions,
    force: ForceOption = False,
    as_json: JsonOption = False,
    reading: Streaming,
    preparation: Preparation,
    description: Description,
) -> None:
    """Identify arms of one kind from their logs: shared links, each arm's own friction, and which arms stand out.

    Writes fleet.json, fleet.txt, report.html, and the fit of each arm into fits/.

    \b
    taupi fleet panda fleet.toml -o out
    taupi fleet panda --by 's3://bucket/{arm}/*.parquet' \\
      --scheduler tcp://head:8786 -o out
    """
    from taupi.files import refuse_to_replace, write_folder
    from taupi.identification.fleet.identify_fleet import identify_fleet
    from taupi.identification.results.fit_file import fit_json
    from taupi.reporting.sections.fleet import fleet_page

    refuse_to_replace(output, RESULTS, force)
    with progress("fleet", 2) as step:
        step("reading and fitting")
        result = identify_fleet(
            *(description.load(robot), _logs(arms, by), names(own), names(terms)),
            seed=seed,
            **cluster.keywords,
            reading=reading,
            preparation=preparation,
        )
        result.record["command"] = recorded_command()
        step("writing")
        texts = {
            "fleet.json": json.dumps(result.to_dict(), indent=2),
            "fleet.txt": f"{result!r}\n",
            "report.html": fleet_page(result, limit),
        }

        def fill(folder: Path) -> None:
            for name, text in texts.items():
                (folder / name).write_text(text, encoding="utf-8")
            (folder / "fits").mkdir()
            for arm, name in _file_names(result).items():
                (folder / "fits" / f"{name}.json").write_text(fit_json(result[arm]), encoding="utf-8")

        write_folder(output, fill, force, RESULTS)
    print(texts["fleet.json"] if as_json else repr(result))
    print(f"wrote {output}; next: open {shlex.quote(str(output))}/report.html in a browser", file=sys.stderr)
    exit_if_many_skipped(result.record, sum(len(each.log_names) for each in result.estimates.values()))


def _file_names(arms: Iterable[str]) -> dict[str, str]:
    """Return a file name for each arm: its own name, with underscores for characters that a file name should not contain."""
    names: dict[str, str] = {}
    for arm in arms:
        name = re.sub(r"[^A-Za-z0-9._-]", "_", arm)[:100]
        while name.lower() in {other.lower() for other in names.values()}:  # some file systems ignore case
            name += "_"
        names[arm] = name
    return names


def _logs(arms: Path | None, by: str | None) -> dict[str, Any]:
    """Return the logs of each arm, from a TOML file or by a pattern."""
    from taupi.input_files import parse_toml, printable, read_text
    from taupi.signals.formats.sources import expand_pattern

    if (arms is None) == (by is None):
        raise TaupiError("Give either a file of arms or {by}.")
    if arms is not None:
        data = parse_toml(read_text(arms, "a file of arms and their logs"), printable(arms.name))
        table = data.get("arms", data)
        if not isinstance(table, dict):
            raise TaupiError(
                "{arms}: arms is {got!r}, expected a line for each arm.", arms=printable(arms.name), got=table
            )
        for name, logs in table.items():
            if not isinstance(logs, str | list) or not all(isinstance(log, str) for log in logs):
                raise TaupiError(
                    "{arms}: {name} is {got!r}, expected the path of a log, or a list of them.",
                    arms=printable(arms.name),
                    name=name,
                    got=logs,
                )
        return {
            name: [_beside(arms, log) for log in ([logs] if isinstance(logs, str) else logs)]
            for name, logs in table.items()
        }
    assert by is not None
    if by.count("{arm}") != 1:
        raise TaupiError(
            "{by} is {got!r}, expected a pattern with {{arm}} in it, such as 'logs/{{arm}}/*.parquet'.", got=by
        )
    before, after = (re.escape(part).replace(r"\*", "[^/]*").replace(r"\?", "[^/]") for part in by.split("{arm}"))
    shape, result = re.compile(f"{before}([^/]+){after}"), dict[str, Any]()
    for path in expand_pattern(by.replace("{arm}", "*")):
        match = shape.fullmatch(str(path))
        if match is not None:
            result.setdefault(match[1], []).append(path)
    return result


def _beside(file: Path, log: str) -> str:
    """Return a path relative to the file that names it; addresses and absolute paths are returned unchanged."""
    from taupi.signals.formats.sources import address_of

    return log if address_of(log) or Path(log).is_absolute() else str(file.parent / log)
