"""`taupi validate`: how well a fit predicts logs."""

from __future__ import annotations

import json

from taupi.cli.exit_codes import check_threshold, exit_if_missed
from taupi.cli.fit_folder import like_the_fit
from taupi.cli.options import (
    FitArgument,
    JsonOption,
    LogsArgument,
    MaxErrorOption,
    ValidationPreparation,
)
from taupi.signals.reading import Reading


def validate(
    fit: FitArgument,
    logs: LogsArgument,
    *,
    max_error: MaxErrorOption = None,
    as_json: JsonOption = False,
    reading: Reading,
    preparation: ValidationPreparation,
) -> None:
    """Show how well a fit predicts the torque of logs, joint by joint.

    Logs are read and prepared like those of the fit by default.

    \b
    taupi validate out run3.csv
    taupi validate out/fit.json run3.csv run4.csv --max-error 0.05 --json
    """
    import taupi as tp

    check_threshold(max_error)
    loaded = tp.load_fit(fit)
    reading = like_the_fit(loaded, reading)
    validations = [loaded.validate(log, reading=reading, **preparation) for log in logs]
    if as_json:
        print(json.dumps([validation.to_dict() for validation in validations], indent=2))
    else:
        print("\n\n".join(map(repr, validations)))
    exit_if_missed(max_error, {validation.name: validation.relative for validation in validations})
