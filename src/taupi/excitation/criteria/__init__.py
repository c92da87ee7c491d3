"""How much a motion shows: information about parameters, criteria of it, and their gradient along the motion."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from taupi.excitation.criteria.criteria import Criterion

# By name; nothing is imported before a criterion is used.
CRITERIA: dict[str, str] = {
    "d": "Determinant",
    "ds": "SubsetDeterminant",
    "a": "MeanVariance",
    "e": "LargestVariance",
    "p": "PowerMean",
    "cond": "Condition",
}


def criterion_class(name: str) -> type[Criterion]:
    """Return the class of a criterion."""
    found: type[Criterion] = getattr(import_module(f"{__name__}.criteria"), CRITERIA[name])
    return found
