"""The verb `report`: a fit, or runs of control laws, as one HTML file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import singledispatch
from typing import Any

from taupi.control.law_trial import Trial
from taupi.errors import Argument, TaupiError, shown
from taupi.files import path_of, refuse_to_overwrite, write_text
from taupi.identification.results.fit import Fit
from taupi.identification.results.validation import Validation
from taupi.model.robot import Robot
from taupi.reporting.fit_content import fit_content
from taupi.reporting.page import page
from taupi.reporting.run_content import run_content
from taupi.reporting.sections import FIT_SECTIONS, RUN_SECTIONS
from taupi.reporting.sections.base import Section
from taupi.signals.log import Log
from taupi.simulation.run import Run

PathLike = str | os.PathLike[str]
LogLike = Validation | Log | PathLike
Logs = LogLike | Sequence[LogLike]
Reported = Fit | Run | Trial | Sequence[Run | Trial]


def report(
    result: Reported,
    path: PathLike,
    validation: Logs = (),
    *,
    fitted: Logs = (),
    robot: Robot | None = None,
    force: bool = False,
    sections: Sequence[Section] | None = None,
) -> None:
    """Write a result as one HTML file that needs nothing else: no network, no library.

    `result` is a `Fit`, or a `Run` or `Trial`, or a list of those two, which are then compared with each other. `path` is the
    file to write, a name ending in .html. An existing file is kept unless `force` is true.

    The page of a fit shows torques, errors, parameters, and what was done to which files. `validation` are logs that were held
    out, one or several: `Validation`s, `Log`s or paths. `fitted` are logs that the fit has seen, to be drawn too.

    The page of runs shows the arm as a strip and a film, tracking, s, V and its rates, parameters, torques, energy, warnings and
    settings. A bare `Run` does not know its arm: `robot` says which one to draw.

    `sections` are the parts of the page, in order; by default those of the kind of result, `FIT_SECTIONS` or `RUN_SECTIONS` of
    `taupi.reporting.sections`. Leave some out, or add your own (`taupi.reporting.sections.base.Section`).

    >>> import os, tempfile, numpy as np, taupi as tp
    >>> arm = tp.load("elbow2r")
    >>> t = np.arange(2000)[:, None] / 100
    >>> w = np.array([1.0, 1.7])
    >>> q, qd, qdd = np.sin(w * t), w * np.cos(w * t), -w * w * np.sin(w * t)
    >>> log = tp.Log(t[:, 0], q, tau=tp.inverse_dynamics(arm)(q, qd, qdd))
    >>> path = os.path.join(tempfile.mkdtemp(), "report.html")
    >>> tp.report(tp.identify(arm, log, terms=()), path, fitted=log)
    >>> os.path.getsize(path) < 500_000
    True
    >>> swing = tp.simulate(tp.RigidPlant(arm), duration=1.0, initial=[0.3, 0.5])
    >>> tp.report(swing, path, robot=arm, force=True)
    """
    file = path_of(path, "the path of a report")
    if file.suffix.lower() not in (".html", ".htm"):
        raise TaupiError(Argument("path"), f" is {str(file)!r}, expected a name ending in .html.")
    refuse_to_overwrite(file, force)
    write_text(file, report_text(result, validation, fitted, sections, robot), force)


@singledispatch
def report_text(
    result: Any,
    validation: Logs = (),
    fitted: Logs = (),
    sections: Sequence[Section] | None = None,
    robot: Robot | None = None,
) -> str:
    """Return a report as the text of an HTML file; the arguments are those of `report`."""
    raise TaupiError(
        Argument("result"), f" is {shown(result)}, expected a Fit, a Run, a Trial, or a list of runs and trials."
    )


@report_text.register
def _of_fit(
    result: Fit,
    validation: Logs = (),
    fitted: Logs = (),
    sections: Sequence[Section] | None = None,
    robot: Robot | None = None,
) -> str:
    held_out, seen = _validations(result, validation), _validations(result, fitted)
    return page(fit_content(result, held_out, seen), FIT_SECTIONS if sections is None else sections)


@report_text.register(Run)
@report_text.register(Trial)
@report_text.register(list)
@report_text.register(tuple)
def _of_runs(
    result: Run | Trial | Sequence[Run | Trial],
    validation: Logs = (),
    fitted: Logs = (),
    sections: Sequence[Section] | None = None,
    robot: Robot | None = None,
) -> str:
    if not isinstance(validation, tuple) or validation or fitted:
        raise TaupiError(Argument("validation"), " and ", Argument("fitted"), " are logs of a Fit: runs have none.")
    return runs_text(result, robot, sections)


def runs_text(
    runs: Run | Trial | Sequence[Run | Trial],
    robot: Robot | None = None,
    sections: Sequence[Section] | None = None,
    provenance: dict[str, Any] | None = None,
) -> str:
    """Return the page of a Run, a Trial, or several; `provenance` is added to what the runs say about where they come from."""
    return page(run_content(runs, robot, provenance), RUN_SECTIONS if sections is None else sections)


def _validations(fit: Fit, logs: Logs) -> list[Validation]:
    several = [logs] if isinstance(logs, Validation | Log | str | os.PathLike) else list(logs)
    return [log if isinstance(log, Validation) else fit.validate(log) for log in several]
