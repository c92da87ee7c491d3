"""The one error type that users meet, and the sentence that helps them on."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class TaupiError(ValueError):
    """Something in the user's input cannot be used; the message says what, and what to do instead."""


class NotRationalError(TaupiError):
    """Exact arithmetic was asked for something whose value is no fraction."""


class NotIdentifiedError(TaupiError):
    """Logs and settings are well-formed, but no parameters come of them: not identifiable, or not converged."""


class TaupiWarning(UserWarning):
    """An answer that is usable but suspect; the message states the number."""


def shown(value: object, limit: int = 60) -> str:
    """Return a value as an error message shows it: its repr, cut to a readable length."""
    try:
        text = repr(value)
    except RecursionError:
        return "a deeply nested value"
    return text if len(text) <= limit else text[:limit] + "..."


def ordinal(k: int) -> str:
    """Return a number as one in a row.

    >>> [ordinal(k) for k in (2, 3, 6, 11, 21, 112)]
    ['2nd', '3rd', '6th', '11th', '21st', '112th']
    """
    ending = "th" if k % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(k % 10, "th")
    return f"{k}{ending}"


def unknown(what: str, name: str, known: Iterable[str], where: str = "") -> TaupiError:
    """Return the error for a name that does not exist: what was asked, the nearest match, what there is."""
    known = [str(k)[:60] for k in known]
    name = str(name)
    place = f" in {where}" if where else ""
    close = difflib.get_close_matches(name[:60], known, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    listed = ", ".join(known[:12]) + (f" and {len(known) - 12} more" if len(known) > 12 else "")
    return TaupiError(f"No {what} {shown(name)}{place}.{hint} Known: {listed or 'none'}.")
