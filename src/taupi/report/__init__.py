"""Pictures and reports of robots and of results: two verbs, `plot` and `report`, and a file for each thing that they show.

The room has the name of its second verb, so it can be called: `taupi.report(fit, "out.html")` is
`taupi.report.document.report`.
"""

import sys
from types import ModuleType
from typing import Any

from taupi.report import ellipses as ellipses
from taupi.report import fit as fit
from taupi.report import robot as robot
from taupi.report import run as run
from taupi.report import validation as validation
from taupi.report.figure import plot as plot


class _Room(ModuleType):
    """A module that is called as the function of its name."""

    def __call__(self, *given: Any, **named: Any) -> None:
        from taupi.report.document import report

        report(*given, **named)


room = sys.modules[__name__]
room.__class__ = _Room
