"""The sections of a fleet's page, in order."""

from taupi.reporting.sections.base import Section
from taupi.reporting.sections.fleet.arms import ArmsSection
from taupi.reporting.sections.fleet.drift import DriftSection
from taupi.reporting.sections.fleet.findings import FindingsSection
from taupi.reporting.sections.fleet.spread import SpreadSection
from taupi.reporting.sections.provenance import ProvenanceSection

FLEET_SECTIONS: tuple[Section, ...] = (
    FindingsSection(),
    ArmsSection(),
    DriftSection(),
    SpreadSection(),
    ProvenanceSection(),
)
