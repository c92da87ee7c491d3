"""The warning about what a tool has no place for, stated once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from taupi.bridges.identified import Identified
from taupi.errors import warn


def warn_of_unplaced(taken: Identified, fields: Sequence[str], tool: str, others: Sequence[str] = ()) -> None:
    """Warn about parameters that have no place in a tool with these `fields` of `JointValues`, and about `others` by name."""
    names = [*taken.unplaced(fields), *others]
    if names:
        stands_in = taken.lost and taken.base is not None
        stood_in = (
            "; viscous and dry friction stand in for what depends on load or bends with speed" if stands_in else ""
        )
        warn(f"{len(names)} parameters have no place in {tool}: {listed(names)}{stood_in}.")


def listed(names: Iterable[str], most: int = 6) -> str:
    """Return names separated by commas, the first few of many."""
    texts = list(names)
    return ", ".join(texts[:most]) + (", ..." if len(texts) > most else "")
