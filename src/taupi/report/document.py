"""The verb `report`: a fit as one HTML file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from taupi.errors import TaupiError, shown
from taupi.files import path_of, refuse_to_overwrite, write_text
from taupi.identification.fit import Fit
from taupi.identification.validation import Validation
from taupi.report.gather import gathered
from taupi.report.page import page
from taupi.report.sections import SECTIONS
from taupi.report.sections.base import Section
from taupi.signals.log import Log


def report(
    fit: Fit,
    path: str | os.PathLike[str],
    validation: Any = (),
    *,
    fitted: Any = (),
    force: bool = False,
    sections: Sequence[Section] = SECTIONS,
) -> None:
    """Write a fit as one HTML file that needs nothing else: torque, errors, parameters, what was done, where it comes from.

    `validation` are logs that were held out: `Validation`s, logs or paths, one or several. `fitted` are logs that the fit has
    seen, to be drawn too. `sections` are the parts, in order; add your own (`taupi.report.sections.base.Section`).

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
    """
    file = path_of(path, "the path of a report")
    if file.suffix.lower() not in (".html", ".htm"):
        raise TaupiError(f"path is {str(file)!r}, expected a name ending in .html.")
    refuse_to_overwrite(file, force)
    write_text(file, report_text(fit, validation, fitted, sections), force)


def report_text(fit: Fit, validation: Any = (), fitted: Any = (), sections: Sequence[Section] = SECTIONS) -> str:
    """Return a report as the text of an HTML file."""
    if not isinstance(fit, Fit):
        raise TaupiError(f"fit is {shown(fit)}, expected a Fit: taupi.identify(...) or taupi.load_fit(...).")
    return page(gathered(fit, _validations(fit, validation), _validations(fit, fitted)), sections)


def _validations(fit: Fit, given: Any) -> list[Validation]:
    several = [given] if isinstance(given, Validation | Log | str | os.PathLike) else list(given)
    return [v if isinstance(v, Validation) else fit.validate(v) for v in several]
