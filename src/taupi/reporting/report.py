"""The verb `report`: a fit, runs of control laws, or an exciting motion, as one HTML file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from taupi.errors import Argument, TaupiError, shown
from taupi.files import path_of, refuse_to_overwrite, write_text
from taupi.identification.fleet.fleet_fit import Fleet
from taupi.identification.results.fit import Fit
from taupi.model.robot import Robot
from taupi.reporting.fit_page import Logs, fit_page
from taupi.reporting.sections.base import Section

if TYPE_CHECKING:
    from taupi.excitation.excitation import Excitation
    from taupi.identification.payloads.payload_estimate import PayloadEstimate
    from taupi.reporting.run_page import Runs

    Reported = Fit | Fleet | PayloadEstimate | Excitation | Runs


def report(
    result: Reported,
    path: str | os.PathLike[str],
    validation: Logs = (),
    *,
    fitted: Logs = (),
    robot: Robot | None = None,
    force: bool = False,
    sections: Sequence[Section] | None = None,
) -> None:
    """Write a result as one self-contained HTML file: no network, no library.

    `result` is a `Fit`, a `Fleet`, or a `Run` or `Trial`, or a list of those two, which are then compared with each other. `path`
    is the file to write, a name ending in .html. An existing file is kept unless `force` is true.

    The page of a fit shows torques, errors, parameters, and what was done to which files. `validation` are logs that were held
    out, one or several: `Validation`s, `Log`s or paths. `fitted` are logs that the fit has seen, to be drawn as well.

    The page of a `Fleet` shows which arms stand out, in which joint, since when and how clearly, and what drifts.

    The page of a payload (`taupi.identify_payload`) shows the body at its frame, and its numbers with intervals.

    The page of an excitation shows the expected errors, the arm as a film, the motion and its torque beside their limits, and
    clearance over time.

    The page of runs shows the arm as a strip and a film, tracking, s, V and its rates, parameters, torques, energy, warnings and
    settings. A bare `Run` does not know its robot: `robot` is the one to draw.

    `sections` are the parts of the page, in order; by default those of the kind of result, `FIT_SECTIONS` of
    `taupi.reporting.sections.fit`, and `PAYLOAD_SECTIONS`, `RUN_SECTIONS` and `EXCITATION_SECTIONS` of `payload`, `run` and
    `excitation` beside it. Leave some out, or add your own (`taupi.reporting.sections.base.Section`).

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


def report_text(
    result: Reported,
    validation: Logs = (),
    fitted: Logs = (),
    sections: Sequence[Section] | None = None,
    robot: Robot | None = None,
) -> str:
    """Return a report as the text of an HTML file; the arguments are those of `report`."""
    if isinstance(result, Fit):
        return fit_page(result, validation, fitted, sections)
    if isinstance(result, Fleet):
        from taupi.reporting.fleet_page import fleet_page

        return fleet_page(result, sections=sections)
    from taupi.identification.payloads.payload_estimate import PayloadEstimate

    if isinstance(result, PayloadEstimate):
        from taupi.reporting.payload_page import payload_page

        return payload_page(result, sections)
    from taupi.excitation.excitation import Excitation  # the page of a fit needs no simulation

    if isinstance(result, Excitation):
        from taupi.reporting.excitation_page import excitation_page

        return excitation_page(result, sections)
    from taupi.reporting.run_page import Run, Trial, run_page

    if not isinstance(result, Run | Trial | list | tuple):
        raise TaupiError(
            Argument("result"),
            f" is {shown(result)}, expected a Fit, a Run, a Trial, an Excitation, a payload, or a list of runs and trials.",
        )
    if not isinstance(validation, tuple) or validation or fitted:
        raise TaupiError(Argument("validation"), " and ", Argument("fitted"), " are logs of a Fit: runs have none.")
    return run_page(result, robot, sections)
