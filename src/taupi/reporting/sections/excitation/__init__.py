"""Sections of the page of an exciting motion; a section gets an `ExcitationContent`."""

from __future__ import annotations

from taupi.reporting.sections.base import Section
from taupi.reporting.sections.excitation.clearance import ClearanceSection
from taupi.reporting.sections.excitation.film import FilmSection
from taupi.reporting.sections.excitation.limits import LimitsSection
from taupi.reporting.sections.excitation.promise import PromiseSection
from taupi.reporting.sections.excitation.remarks import RemarksSection
from taupi.reporting.sections.provenance import ProvenanceSection

EXCITATION_SECTIONS: tuple[Section, ...] = (
    PromiseSection(),
    FilmSection(),
    LimitsSection(),
    ClearanceSection(),
    RemarksSection(),
    ProvenanceSection(),
)
