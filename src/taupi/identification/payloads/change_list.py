"""What has changed about a robot, in physical terms, each change with its standard error."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from taupi.tables import html_table, table

# A change counts if it is larger than this many standard errors: among 20 numbers, chance does that once in 800 times.
CLEARLY = 4.0


@dataclass(frozen=True)
class Change:
    """One number that may have changed.

    Attributes:
        kind: "mass", "friction" or "offset".
        owner: The frame that carries the mass, or the joint.
        value: The change, in `unit`.
        stderr: Its standard error.
        before: The number before, 0 for a mass that is added.
        unit: kg, N m or N.
        speed: The speed at which friction is compared, rad/s or m/s; 0 for others.
    """

    kind: str
    owner: str
    value: float
    stderr: float
    before: float
    unit: str
    speed: float = 0.0

    @property
    def distance(self) -> float:
        """The change in standard errors."""
        return abs(self.value) / self.stderr if self.stderr > 0 else (np.inf if self.value else 0.0)

    @property
    def clear(self) -> bool:
        """Whether it is larger than chance allows."""
        return self.distance > CLEARLY

    @property
    def sentence(self) -> str:
        """The change in words."""
        more = "more" if self.value > 0 else "less"
        size = f"{abs(self.value):.3g} {self.unit}"
        by = f"({self.distance:.0f} standard errors)"
        if self.kind == "mass":
            return f"{size} {more} on {self.owner} {by}"
        if self.kind == "offset":
            return f"{size} {more} constant torque at {self.owner} {by}"
        unit = "m/s" if self.unit == "N" else "rad/s"
        share = f", {self.value / self.before:+.0%}" if self.before else ""
        return f"{size} {more} friction of {self.owner} at {self.speed:.2g} {unit}{share} {by}"


@dataclass(frozen=True, eq=False, repr=False)
class ChangeList:
    """What has changed about a robot between two fits, or between a fit and a log.

    Attributes:
        first: The reference.
        second: What is compared.
        changes: The changes, largest in standard errors first.
        notes: What they may mean, in words.
    """

    first: str
    second: str
    changes: tuple[Change, ...]
    notes: tuple[str, ...] = ()

    def named(self, first: str, second: str) -> ChangeList:
        """Return the same changes with other names, `first` and `second`."""
        return replace(self, first=first, second=second)

    @property
    def clear(self) -> tuple[Change, ...]:
        """The changes that are larger than chance allows."""
        return tuple(c for c in self.changes if c.clear)

    @property
    def sentence(self) -> str:
        """What has changed, by how many standard errors."""
        if not self.clear:
            largest = self.changes[0]
            return (
                f"Between {self.first} and {self.second} nothing has changed by more than {CLEARLY:.0f} standard errors; the "
                f"largest difference is {largest.sentence}."
            )
        listed = "; ".join(c.sentence for c in self.clear[:4])
        rest = f"; and {len(self.clear) - 4} smaller changes" if len(self.clear) > 4 else ""
        return f"{self.second} has, compared with {self.first}: {listed}{rest}."

    def rows(self) -> list[tuple[str, ...]]:
        """Return the table of all changes; the first row is the heading."""
        result: list[tuple[str, ...]] = [("what", "where", "change", "±", "unit", "standard errors", "before")]
        for c in self.changes:
            before = f"{c.before:.3g}" if c.kind != "mass" else "-"
            numbers = (f"{c.value:+.3g}", f"{c.stderr:.2g}", c.unit, f"{c.distance:.1f}", before)
            result.append((c.kind, c.owner, *numbers))
        return result

    def to_dict(self) -> dict[str, Any]:
        """Return the changes as plain data, ready for JSON."""
        return {
            "schema": "taupi.changes/1",
            "first": self.first,
            "second": self.second,
            "sentence": self.sentence,
            "changes": [
                {
                    "kind": c.kind,
                    "owner": c.owner,
                    "value": c.value,
                    "stderr": c.stderr,
                    "unit": c.unit,
                    "before": c.before,
                    "speed": c.speed,
                    "in_standard_errors": c.distance if np.isfinite(c.distance) else None,
                    "clear": c.clear,
                }
                for c in self.changes
            ],
            "notes": list(self.notes),
        }

    def __repr__(self) -> str:
        return "\n".join([self.sentence, *table(self.rows()), *(f"- {note}" for note in self.notes)])

    def _repr_html_(self) -> str:
        return html_table(self.sentence, self.rows(), self.notes)
