"""The page of an exciting motion."""

from __future__ import annotations

from collections.abc import Sequence

from taupi.excitation.excitation import Excitation
from taupi.reporting.excitation_content import ExcitationContent
from taupi.reporting.page import page
from taupi.reporting.sections.base import Section
from taupi.reporting.sections.excitation import EXCITATION_SECTIONS


def excitation_page(plan: Excitation, sections: Sequence[Section] | None = None) -> str:
    """Return the page of an excitation as the text of an HTML file."""
    return page(ExcitationContent(plan), EXCITATION_SECTIONS if sections is None else sections)
