"""The sections of a payload's page, in order."""

from __future__ import annotations

from taupi.reporting.sections.base import Section
from taupi.reporting.sections.payload.body import BodySection
from taupi.reporting.sections.payload.numbers import NumbersSection
from taupi.reporting.sections.provenance import ProvenanceSection

# `taupi.report(load, ...)`; a section gets a `PayloadContent`.
PAYLOAD_SECTIONS: tuple[Section, ...] = (BodySection(), NumbersSection(), ProvenanceSection())
