"""The page of a fleet: which arm, which joint, since when, and how certain that is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from taupi.identification.fleet.fleet_fit import Fleet
from taupi.reporting.page import page
from taupi.reporting.sections.base import Section
from taupi.reporting.sections.fleet import FLEET_SECTIONS


@dataclass(frozen=True, eq=False)
class FleetContent:
    """A fleet on a page; parameters with |z| above the `limit` stand out."""

    fleet: Fleet
    limit: float = 4.0

    @property
    def title(self) -> str:
        """The heading of the page."""
        return f"{self.fleet.record.get('robot', 'A robot')}: a fleet of {len(self.fleet)} arms"

    @property
    def subtitle(self) -> str:
        """The line below the heading."""
        logs = sum(len(fit.logs) for fit in self.fleet.values())
        return f"{logs} logs, {len(self.fleet.shared)} shared parameters, {len(self.fleet.own)} of each arm's own"

    @property
    def provenance(self) -> dict[str, Any]:
        """Facts by name."""
        return self.fleet.record


def fleet_page(fleet: Fleet, limit: float = 4.0, sections: Sequence[Section] | None = None) -> str:
    """Return the page of a fleet as the text of an HTML file."""
    return page(FleetContent(fleet, limit), FLEET_SECTIONS if sections is None else sections)
