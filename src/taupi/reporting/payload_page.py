"""The page of a payload."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from taupi.identification.payloads.payload_estimate import PayloadEstimate
from taupi.reporting.page import page
from taupi.reporting.sections.base import Section
from taupi.reporting.sections.payload import PAYLOAD_SECTIONS


@dataclass(frozen=True, eq=False)
class PayloadContent:
    """A payload on a page."""

    load: PayloadEstimate

    @property
    def title(self) -> str:
        """The heading of the page."""
        return f"Payload of {self.load.fit.robot.name}"

    @property
    def subtitle(self) -> str:
        """The line below the heading."""
        return f"{', '.join(self.load.logs)}, at {self.load.frame}"

    @property
    def provenance(self) -> dict[str, Any]:
        """Where it comes from."""
        return dict(self.load.to_dict()["provenance"])


def payload_page(load: PayloadEstimate, sections: Sequence[Section] | None = None) -> str:
    """Return the page of a payload as the text of an HTML file."""
    return page(PayloadContent(load), PAYLOAD_SECTIONS if sections is None else sections)
