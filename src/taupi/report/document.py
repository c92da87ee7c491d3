"""The verb `report`: a fit, or runs of control laws, as one HTML file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import singledispatch
from typing import Any

from taupi.control.law_trial import Trial
from taupi.errors import TaupiError, shown
from taupi.files import path_of, refuse_to_overwrite, write_text
from taupi.identification.results.fit import Fit
from taupi.identification.results.validation import Validation
from taupi.model.robot import Robot
from taupi.report.gather import gathered
from taupi.report.page import page
from taupi.report.sections import RUN_SECTIONS, SECTIONS
from taupi.report.sections.base import Section
from taupi.report.story import story
from taupi.signals.log import Log
from taupi.simulation.run import Run


def report(
    thing: Any,
    path: str | os.PathLike[str],
    validation: Any = (),
    *,
    fitted: Any = (),
    robot: Robot | None = None,
    force: bool = False,
    sections: Sequence[Section] | None = None,
) -> None:
    """Write a fit, or runs, as one HTML file that needs nothing else.

    A `Fit`: torque, errors, parameters, what was done, where it comes from. `validation` are logs that were held out:
    `Validation`s, logs or paths, one or several. `fitted` are logs that the fit has seen, to be drawn too.

    A `Trial` or a `Run`, or a list of them, which are then put side by side: the arm as a strip and a film, tracking, s, V
    with its rates, parameters, torques, energy, warnings, settings. Of a bare `Run`, say which `robot` it is to have it drawn.

    `sections` are the parts, in order; add your own (`taupi.report.sections.base.Section`).

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
        raise TaupiError(f"path is {str(file)!r}, expected a name ending in .html.")
    refuse_to_overwrite(file, force)
    write_text(file, report_text(thing, validation, fitted, sections, robot), force)


@singledispatch
def report_text(
    thing: Any,
    validation: Any = (),
    fitted: Any = (),
    sections: Sequence[Section] | None = None,
    robot: Robot | None = None,
) -> str:
    """Return a report as the text of an HTML file."""
    raise TaupiError(f"thing is {shown(thing)}, expected a Fit, a Run, a Trial, or a list of runs.")


@report_text.register
def _of_fit(
    thing: Fit,
    validation: Any = (),
    fitted: Any = (),
    sections: Sequence[Section] | None = None,
    robot: Robot | None = None,
) -> str:
    held_out, seen = _validations(thing, validation), _validations(thing, fitted)
    return page(gathered(thing, held_out, seen), SECTIONS if sections is None else sections)


@report_text.register(Run)
@report_text.register(Trial)
@report_text.register(list)
@report_text.register(tuple)
def _of_runs(
    thing: Any,
    validation: Any = (),
    fitted: Any = (),
    sections: Sequence[Section] | None = None,
    robot: Robot | None = None,
) -> str:
    if not isinstance(validation, tuple) or validation or fitted:
        raise TaupiError("validation and fitted are logs of a Fit: runs have none.")
    return runs_text(thing, robot, sections)


def runs_text(
    runs: Any,
    robot: Robot | None = None,
    sections: Sequence[Section] | None = None,
    provenance: dict[str, Any] | None = None,
) -> str:
    """Return the page of a Run, a Trial, or several; `provenance` is what else to tell of where it comes from."""
    return page(story(runs, robot, provenance), RUN_SECTIONS if sections is None else sections)


def _validations(fit: Fit, given: Any) -> list[Validation]:
    several = [given] if isinstance(given, Validation | Log | str | os.PathLike) else list(given)
    return [v if isinstance(v, Validation) else fit.validate(v) for v in several]
