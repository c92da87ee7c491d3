"""The verb `report`: a fit, runs of control laws, or an exciting motion, as one HTML file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from taupi.errors import TaupiError
from taupi.files import path_of, refuse_to_overwrite, write_text
from taupi.identification.fleet.fleet_fit import Fleet
from taupi.identification.results.command_fit import CommandFit
from taupi.identification.results.fit import Fit
from taupi.model.robot import Robot
from taupi.reporting.sections.base import Section
from taupi.reporting.sections.fit import Logs, fit_page

if TYPE_CHECKING:
    from taupi.excitation.commands import CommandPlan
    from taupi.excitation.excitation import Excitation
    from taupi.identification.payloads.payload_estimate import PayloadEstimate
    from taupi.reporting.sections.run import Runs

    Reported = Fit | CommandFit | Fleet | PayloadEstimate | Excitation | CommandPlan | Runs


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
    """Write a result as one self-contained HTML file, which needs no network and no library.

    The page of a fit shows torques, or positions simulated from commands, errors, parameters, and what was done to which files;
    that of a fleet which arms stand out, in which joint, since when and how clearly, and what drifts; that of a payload the body
    at its frame, and its numbers with intervals; that of an excitation the expected errors, the arm as a film, the motion and its
    torque beside their limits, and clearance over time; that of runs the arm as a film, tracking, s, V and its rates,
    parameters, torques, energy and settings.

    Args:
        result: A `Fit`, `CommandFit`, `Fleet`, `PayloadEstimate`, `Excitation`, `CommandPlan`, `Run` or `Trial`, or a list of
            the last two, which are then compared with each other.
        path: File to write, a name ending in .html.
        validation: Logs that were held out of a fit, one or several: `Validation`s, `Log`s or paths.
        fitted: Logs that a fit has seen, to be drawn as well.
        robot: Arm to draw for a `Run`, which does not know its robot; a `Trial` does.
        force: Whether an existing file is replaced; by default it is kept.
        sections: Parts of the page in order; by default those of its kind, such as `FIT_SECTIONS` of
            `taupi.reporting.sections.fit`. Leave some out, or add your own (`taupi.reporting.sections.base.Section`).

    Raises:
        TaupiError: The result has no page, or the file exists.

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
        raise TaupiError("{path} is {got!r}, expected a name ending in .html.", got=str(file))
    refuse_to_overwrite(file, force)
    write_text(file, report_text(result, validation, fitted, sections, robot), force)


def report_text(
    result: Reported,
    validation: Logs = (),
    fitted: Logs = (),
    sections: Sequence[Section] | None = None,
    robot: Robot | None = None,
) -> str:
    """Return a report as the text of an HTML file, with the arguments of `report`."""
    if isinstance(result, CommandFit):
        from taupi.reporting.sections.commands import command_page

        return command_page(result, validation, fitted, sections)
    if isinstance(result, Fit):
        return fit_page(result, validation, fitted, sections)
    if isinstance(result, Fleet):
        from taupi.reporting.sections.fleet import fleet_page

        return fleet_page(result, sections=sections)
    from taupi.identification.payloads.payload_estimate import PayloadEstimate

    if isinstance(result, PayloadEstimate):
        from taupi.reporting.sections.payload import payload_page

        return payload_page(result, sections)
    from taupi.excitation.excitation import Excitation  # the page of a fit needs no simulation

    if isinstance(result, Excitation):
        from taupi.reporting.sections.excitation import excitation_page

        return excitation_page(result, sections)
    from taupi.excitation.commands import CommandPlan

    if isinstance(result, CommandPlan):
        from taupi.reporting.sections.excitation import commands_page

        return commands_page(result, sections)
    from taupi.reporting.sections.run import Run, Trial, run_page

    if not isinstance(result, Run | Trial | list | tuple):
        raise TaupiError(
            "{result} is {got!r}, expected a Fit, a Run, a Trial, an Excitation, a payload, or a list of "
            "runs and trials.",
            got=result,
        )
    if not isinstance(validation, tuple) or validation or fitted:
        raise TaupiError("{validation} and {fitted} are logs of a Fit: runs have none.")
    return run_page(result, robot, sections)
