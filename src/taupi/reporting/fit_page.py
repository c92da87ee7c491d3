"""The page of a fit."""

from __future__ import annotations

import os
from collections.abc import Sequence

from taupi.identification.results.fit import Fit
from taupi.identification.results.validation import Validation
from taupi.reporting.fit_content import fit_content
from taupi.reporting.page import page
from taupi.reporting.sections.base import Section
from taupi.reporting.sections.fit import FIT_SECTIONS
from taupi.signals.log import Log

LogLike = Validation | Log | str | os.PathLike[str]
Logs = LogLike | Sequence[LogLike]


def fit_page(fit: Fit, validation: Logs = (), fitted: Logs = (), sections: Sequence[Section] | None = None) -> str:
    """Return the page of a fit as the text of an HTML file; the arguments are those of `taupi.report`."""
    held_out, seen = _validations(fit, validation), _validations(fit, fitted)
    return page(fit_content(fit, held_out, seen), FIT_SECTIONS if sections is None else sections)


def _validations(fit: Fit, logs: Logs) -> list[Validation]:
    several = [logs] if isinstance(logs, Validation | Log | str | os.PathLike) else list(logs)
    return [log if isinstance(log, Validation) else fit.validate(log) for log in several]
