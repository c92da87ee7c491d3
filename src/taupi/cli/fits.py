"""The commands that make fits and use them: identify, validate, compare, report."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

fits = typer.Typer(rich_markup_mode=None)

LogsArgument = Annotated[
    list[Path],
    typer.Argument(metavar="LOG...", help="CSV (.gz), Parquet, NPZ, MAT, ROS bag or MCAP; several are fine."),
]
FitArgument = Annotated[Path, typer.Argument(metavar="FIT", help="A fit.json, or the directory that holds it.")]
ColumnsOption = Annotated[Path | None, typer.Option("--columns", help="A column mapping, .toml, for all logs.")]
RateOption = Annotated[float | None, typer.Option("--rate-hz", help="Samples a second, where logs have no time.")]
MaxErrorOption = Annotated[
    float | None,
    typer.Option(
        "--max-error", help="Exit with 5 where the relative torque error of a log is above this share (0.05)."
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
ForceOption = Annotated[bool, typer.Option("--force", help="Overwrite results that are there.")]
ValidateOption = Annotated[
    list[Path] | None, typer.Option("--validate", help="A log to hold out and predict; may be repeated.")
]


@fits.command()
def identify(
    robot: Annotated[
        str, typer.Argument(metavar="ROBOT", help="A built-in robot, or a .urdf, .xml (MJCF) or .toml file.")
    ],
    logs: LogsArgument,
    output: Annotated[Path, typer.Option("--output", "-o", help="Directory for the results; made if missing.")],
    validate: ValidateOption = None,
    columns: ColumnsOption = None,
    rate_hz: RateOption = None,
    estimator: Annotated[
        str, typer.Option("--estimator", help="wls, ols, ..., or output_error for motors alone.")
    ] = "wls",
    terms: Annotated[
        str | None,
        typer.Option(
            "--terms",
            help="Joint terms: rotor,viscous,coulomb,offset (the default), stribeck, ...; or none. Elastic joints by default: "
            "coulomb,viscous,offset,damping.",
        ),
    ] = None,
    cutoff: Annotated[
        float | None, typer.Option("--cutoff", help="Of the filter, Hz; by default from the data.")
    ] = None,
    decimate: Annotated[
        int | None, typer.Option("--decimate", help="Keep every K-th sample; by default ten a period of the cutoff.")
    ] = None,
    elastic: Annotated[
        bool | None,
        typer.Option("--elastic/--rigid", help="Springs in the joints; by default where the robot has transmissions."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of whatever is random.")] = 0,
    urdf: Annotated[bool, typer.Option("--urdf", help="Write model.urdf too: the given one, identified.")] = False,
    toml: Annotated[bool, typer.Option("--toml", help="Write model.toml too: the identified robot.")] = False,
    c: Annotated[bool, typer.Option("--c", help="Write c/ too: its inverse dynamics as a C99 project.")] = False,
    max_error: MaxErrorOption = None,
    lock: Annotated[list[str] | None, typer.Option("--lock", help="Joint held at zero; may be repeated.")] = None,
    tip: Annotated[str | None, typer.Option("--tip", help="Link at the end of the chain.")] = None,
    snap: Annotated[bool, typer.Option("--snap/--no-snap", help="Take near-right angles as right angles.")] = True,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Identify a robot from logs: fit.json, fit.txt and report.html, all of them or none.

    \b
    taupi identify panda.urdf run1.csv run2.csv --validate run3.csv -o out
    taupi identify panda.urdf run.parquet --estimator feasible --urdf -o out --force
    """
    from taupi.cli.identify import Job, data, next_step, run

    chosen = {k: v for k, v in {"lock": lock, "tip": tip, "snap": None if snap else False}.items() if v is not None}
    exports = tuple(kind for kind, wanted in {"urdf": urdf, "toml": toml, "c": c}.items() if wanted)
    job = Job(
        robot,
        tuple(logs),
        tuple(validate or ()),
        output,
        chosen,
        columns,
        rate_hz,
        estimator,
        terms,
        cutoff,
        decimate,
        elastic,
        seed,
        exports,
        force,
    )
    done = run(job)
    told = [done.fit.summary, *(f"held out: {v.summary}" for v in done.held_out)]
    print(json.dumps(data(done), indent=2) if as_json else "\n".join(told))
    for remark in done.remarks:
        print(f"warning: {remark}", file=sys.stderr)
    print(f"wrote {', '.join(map(str, done.paths))}; next: {next_step(job)}", file=sys.stderr)
    _threshold(max_error, {v.name: v.relative for v in done.held_out} or {"the fitted logs": done.error})


@fits.command()
def validate(
    fit: FitArgument,
    logs: LogsArgument,
    columns: ColumnsOption = None,
    rate_hz: RateOption = None,
    max_error: MaxErrorOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show how a fit predicts the torque of logs, joint by joint.

    \b
    taupi validate out run3.csv
    taupi validate out/fit.json run3.csv run4.csv --max-error 0.05 --json
    """
    import taupi as tp

    loaded = tp.load_fit(fit)
    found = [loaded.validate(log, columns=columns, rate_hz=rate_hz) for log in logs]
    shown = json.dumps([v.to_dict() for v in found], indent=2) if as_json else "\n\n".join(map(repr, found))
    print(shown)
    _threshold(max_error, {v.name: v.relative for v in found})


@fits.command()
def compare(
    first: Annotated[Path, typer.Argument(metavar="FIT_A", help="A fit.json, or the directory that holds it.")],
    second: Annotated[Path, typer.Argument(metavar="FIT_B", help="Another fit of the same robot.")],
    logs: LogsArgument,
    columns: ColumnsOption = None,
    rate_hz: RateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show two fits beside each other on logs.

    \b
    taupi compare out_ols out_wls run3.csv
    taupi compare out_ols/fit.json out_wls/fit.json run3.csv run4.csv --json
    """
    import taupi as tp

    a, b = tp.load_fit(first), tp.load_fit(second)
    found = [tp.compare(a, b, log, columns=columns, rate_hz=rate_hz) for log in logs]
    print(json.dumps([c.to_dict() for c in found], indent=2) if as_json else "\n\n".join(map(repr, found)))


@fits.command()
def report(
    fit: FitArgument,
    output: Annotated[Path, typer.Option("--output", "-o", help="The .html file to write.")],
    validate: ValidateOption = None,
    fitted: Annotated[
        list[Path] | None, typer.Option("--fitted", help="A log that was fitted, to be drawn too; may be repeated.")
    ] = None,
    columns: ColumnsOption = None,
    rate_hz: RateOption = None,
    force: ForceOption = False,
) -> None:
    """Write the report of a fit: one HTML file that needs nothing else.

    \b
    taupi report out -o report.html --validate run3.csv
    taupi report out/fit.json -o report.html --fitted run1.csv --force
    """
    import taupi as tp
    from taupi.files import refuse_to_overwrite

    refuse_to_overwrite(output, force)
    loaded = tp.load_fit(fit)
    held_out, seen = (
        [loaded.validate(log, columns=columns, rate_hz=rate_hz) for log in several or ()]
        for several in (validate, fitted)
    )
    tp.report(loaded, output, held_out, fitted=seen, force=force)
    print(f"wrote {output}; next: open it in a browser", file=sys.stderr)


def _threshold(most: float | None, errors: dict[str, float]) -> None:
    """End with 5 where an error is above what the user would accept."""
    missed = [f"{name} {error:.2%}" for name, error in errors.items() if most is not None and not error <= most]
    if missed:
        print(f"taupi: the relative error is above --max-error {most:g}: {', '.join(missed)}.", file=sys.stderr)
        raise typer.Exit(5)
