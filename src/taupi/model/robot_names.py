"""Names in a robot: texts, each of them once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from taupi.errors import Argument, TaupiError, shown


def refuse_twice(what: str, names: Sequence[Any], robot: str) -> None:
    """Refuse a name that two things of a robot have."""
    for name, count in Counter(map(checked_name, names)).items():
        if count > 1:
            raise TaupiError(f"{robot}: {what} name {shown(name)} is used twice. Give each {what} its own name.")


def checked_name(name: Any) -> str:
    """Return a name, or refuse what is no text."""
    if not isinstance(name, str):
        raise TaupiError(Argument("name"), f" is {shown(name)}, expected a text.")
    return name
