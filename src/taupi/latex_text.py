"""Names as LaTeX: whatever a file calls a link, it is text there and never a command."""

from __future__ import annotations

import re

_ESCAPES = {
    **{c: f"\\{c}" for c in "_{}%#$&"},
    "\\": r"\backslash{}",
    "^": r"\hat{}",
    "~": r"\sim{}",
    " ": r"\ ",
}
_SPECIAL = re.compile(r"[_{}%#$&\\^~\s\x00-\x1f\x7f]")


def latex_text(text: str) -> str:
    r"""Return a text for the inside of \mathrm{...}, with everything that LaTeX would act upon escaped.

    >>> print(latex_text("elbow_1"), latex_text(r"\input{/etc/passwd}"))
    elbow\_1 \backslash{}input\{/etc/passwd\}
    """
    return _SPECIAL.sub(lambda place: _ESCAPES.get(place[0], r"\ "), text)
