"""`taupi identify`: a robot from logs."""

from __future__ import annotations

import dataclasses
import json
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from taupi.cli.exit_codes import check_threshold, exit_if_missed
from taupi.cli.fit_folder import (
    ExportOptions,
    exit_if_many_skipped,
    exit_if_wrong,
    expanded,
    refuse_logs,
    refuse_results,
    say_verdict,
    with_record,
    write_results,
)
from taupi.cli.options import (
    ClusterOptions,
    Description,
    ForceOption,
    JsonOption,
    LogsArgument,
    MaxErrorOption,
    RobotArgument,
    ValidateOption,
)
from taupi.cli.parsing import term_names
from taupi.identification.rows.preparation import Preparation
from taupi.progress import progress
from taupi.signals.reading import Streaming

if TYPE_CHECKING:
    from taupi.cli.fit_folder import AnyValidation
    from taupi.identification.estimators import AnyFit


OutputOption = Annotated[Path, typer.Option("--output", "-o", help="Directory for the results; created if missing.")]
EstimatorOption = Annotated[
    str,
    typer.Option(
        "--estimator",
        help="consistent, wls, ols, huber, ridge, entropic, feasible, friction_shapes; output_error if only motors were "
        "measured.",
    ),
]
TermsOption = Annotated[
    str | None,
    typer.Option(
        "--terms",
        help="Joint terms, separated by commas, or none. By default rotor,viscous,coulomb,offset,load,curve; stribeck is "
        "another. For elastic joints by default coulomb,viscous,offset; damping is another.",
    ),
]
ElasticOption = Annotated[
    bool | None,
    typer.Option(
        "--elastic/--rigid",
        help="Identify springs in the joints; by default if the description has some.",
        rich_help_panel="Model",
    ),
]
BoundsOption = Annotated[
    Path | None,
    typer.Option(
        "--bounds",
        metavar="FILE.toml",
        help="What is known about links: masses, centres of mass, shapes.",
        rich_help_panel="Model",
    ),
]
PriorOption = Annotated[
    str | None,
    typer.Option(
        "--prior",
        metavar="ROBOT",
        help="Another description, for parameters that the logs do not determine; by default ROBOT.",
        rich_help_panel="Model",
    ),
]
PriorWeightOption = Annotated[
    float | None,
    typer.Option(
        "--prior-weight",
        help="Share by which the sum of squares may grow to come closer to the prior; for ridge, its weight.",
        rich_help_panel="Model",
    ),
]
ContactOption = Annotated[
    str | None,
    typer.Option(
        "--contact",
        help="Contact forces of a floating robot: measured, projected, or base for the six rows of the base alone; by default "
        "what the logs have.",
        rich_help_panel="Floating robots",
    ),
]
FeetOption = Annotated[
    str,
    typer.Option(
        "--feet",
        help="Frames in contact whose forces are projected: point, or flat with moments too.",
        rich_help_panel="Floating robots",
    ),
]
SeedOption = Annotated[int, typer.Option("--seed", help="Seed of everything random.")]


def identify(
    robot: RobotArgument,
    logs: LogsArgument,
    *,
    output: OutputOption,
    validate: ValidateOption = None,
    estimator: EstimatorOption = "consistent",
    terms: TermsOption = None,
    elastic: ElasticOption = None,
    bounds: BoundsOption = None,
    prior: PriorOption = None,
    prior_weight: PriorWeightOption = None,
    exports: ExportOptions,
    contact: ContactOption = None,
    feet: FeetOption = "point",
    max_error: MaxErrorOption = None,
    seed: SeedOption = 0,
    cluster: ClusterOptions,
    force: ForceOption = False,
    as_json: JsonOption = False,
    reading: Streaming,
    preparation: Preparation,
    description: Description,
) -> None:
    """Identify a robot from logs: fit.json, fit.txt and report.html, all of them or none, and a verdict on standard error.

    If the verdict is "wrong", nothing is exported and the command exits with 4, unless --anyway is given.

    \b
    taupi identify panda.urdf run1.csv run2.csv --validate run3.csv -o out
    taupi identify panda.urdf run.parquet --estimator feasible --urdf -o out
    taupi identify go2.urdf --floating walk.parquet --contact projected -o out
    taupi identify panda.urdf 's3://bucket/run-*.parquet' -o out \\
      --scheduler tcp://head:8786 --resume pieces
    """
    from taupi.identification.estimators import with_knowledge
    from taupi.identification.identify import fit_inputs
    from taupi.identification.inputs import FitInputs

    logs, others = expanded(logs), expanded(validate or [])
    check_threshold(max_error)
    refuse_results(output, force)
    refuse_logs(logs, others)
    with progress("identify", 2 + len(others)) as step:
        step("reading and fitting")
        arm = description.load(robot)
        exports.refuse_robot(arm)
        inputs = FitInputs(
            *(arm, logs, None if terms is None else term_names(terms), elastic),
            prior=description.load(prior) if prior else None,
            seed=seed,
            contact=contact,
            feet=feet,
            reading=reading,
            preparation=preparation,
            **cluster.keywords,
        )
        chosen = with_knowledge(estimator, bounds, prior_weight)
        fit, fitted = fit_inputs(inputs, chosen, validated=True)  # for the report, without reading the logs again
        fit = with_record(fit, reading)
        held_out = _validations(fit, others, reading, step)
        step("writing")
        paths = write_results(fit, output, exports, force, held_out, fitted)
    print(json.dumps(fit_data(fit, held_out, paths), indent=2) if as_json else fit_summary(fit, held_out))
    folder = shlex.quote(str(output))
    following = f"open {folder}/report.html in a browser" if others else f"taupi validate {folder} ANOTHER_LOG"
    _say(fit, exports, f"wrote {', '.join(map(str, paths))}; next: {following}")
    exit_if_wrong(fit, exports)
    exit_if_many_skipped(fit.record, len(fit.logs))
    exit_if_missed(max_error, {v.name: v.relative for v in held_out} or {"the fitted logs": fit.relative})


def _own_data(fit: AnyFit) -> dict[str, object]:
    """Return what only one kind of fit has."""
    from taupi.identification.results.fit import Fit

    if isinstance(fit, Fit):
        return {"springs": [spring.to_dict() for spring in fit.springs]}
    return {
        "held_out": None if fit.held_out is None else fit.held_out.to_dict(),
        "aliases": [dataclasses.asdict(alias) for alias in fit.aliases],
        "at_bounds": [n for n, at in zip(fit.names, fit.at_bounds, strict=True) if at],
        "in_units_of_kp": fit.in_units_of_kp,
    }


def _validations(
    fit: AnyFit, logs: Sequence[Path], reading: Streaming, step: Callable[[str], None]
) -> list[AnyValidation]:
    """Return how well a fit predicts logs that were not fitted; `step` is told the name of each."""
    from taupi.signals.formats.sources import file_name
    from taupi.signals.read import whole_logs

    validations: list[AnyValidation] = []
    for path in logs:
        step(file_name(path))
        validations.append(fit.validate(path, reading=whole_logs(reading)))
    return validations


def _say(fit: AnyFit, exports: ExportOptions, written: str) -> None:
    """Print warnings about a fit, and what was written, on standard error."""
    from taupi.identification.results.fit import Fit

    if isinstance(fit, Fit) and exports.forms and not exports.refuses(fit) and not fit.consistency.exact:
        print(f"warning: {fit.consistency.sentence}", file=sys.stderr)
    say_verdict(fit)
    print(written, file=sys.stderr)


def fit_summary(fit: AnyFit, held_out: Sequence[AnyValidation]) -> str:
    """Return a line for the fit, and one for each log that was held out."""
    return "\n".join([fit.summary, *(f"held out: {validation.summary}" for validation in held_out)])


def fit_data(fit: AnyFit, held_out: Sequence[AnyValidation], paths: Sequence[Path]) -> dict[str, object]:
    """Return what `taupi identify --json` prints.

    `summary`: one readable line. `verdict`: its `level`, "good", "doubtful" or "wrong"; its `reasons`, sentences; and its
    `details`, the same as data. `files`: what was written. `estimator`, `parameters` (how many), `not_determined` and
    `not_significant` (their names). `relative_error`: on the fitted logs, over all joints; `joints`: the same by joint.
    `springs`: of elastic joints, `SpringRecord.to_dict`: delay and offsets of the encoders, and whether K is determined.
    `validation`: for each held-out log, `Validation.to_dict`. `notes`: what to know about it. Of a fit from commands,
    `relative_error` is that of positions over the deviation from the commands, and there are `held_out`, errors on parts that
    were not fitted, `aliases`, `at_bounds` and `in_units_of_kp` instead of `springs`.
    """
    weak = ~fit.significant & ~fit.undetermined
    return {
        "schema": "taupi.identify/1",
        "summary": fit.summary,
        "verdict": fit.verdict.to_dict(),
        "files": [str(path) for path in paths],
        "estimator": fit.estimator,
        "parameters": len(fit.values),
        "not_determined": [n for n, u in zip(fit.names, fit.undetermined, strict=True) if u],
        "not_significant": [n for n, w in zip(fit.names, weak, strict=True) if w],
        "relative_error": fit.relative,
        "joints": [dataclasses.asdict(j) for j in fit.joints],
        **_own_data(fit),
        "validation": [validation.to_dict() for validation in held_out],
        "notes": list(fit.notes),
    }
