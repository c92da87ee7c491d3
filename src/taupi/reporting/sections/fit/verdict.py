"""Whether to use the fit, and why not."""

from __future__ import annotations

from typing import ClassVar

from taupi.reporting.fit_content import FitContent
from taupi.reporting.sections.base import listed

_SAYS = {
    "good": "Good: nothing speaks against this fit.",
    "doubtful": "Doubtful: look at this before you use the fit.",
    "wrong": "Wrong: this is not a model of the robot.",
}


class VerdictSection:
    """The verdict, in its colour, with its reasons."""

    name: ClassVar[str] = "verdict"
    title: ClassVar[str] = "Verdict"

    def fields(self, content: FitContent) -> dict[str, str]:
        """Return the level, what it means, and the list of reasons."""
        level, reasons = str(content.verdict.level), content.verdict.reasons
        return {"level": level, "says": _SAYS[level], "reasons": listed(reasons) if reasons else ""}
