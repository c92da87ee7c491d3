"""The sections of a fit's page, in order."""

from __future__ import annotations

from taupi.reporting.sections.base import Section
from taupi.reporting.sections.fit.bodies import BodiesSection
from taupi.reporting.sections.fit.friction import FrictionSection
from taupi.reporting.sections.fit.parameters import ParametersSection
from taupi.reporting.sections.fit.residuals import ResidualsSection
from taupi.reporting.sections.fit.signals import SignalsSection
from taupi.reporting.sections.fit.springs import SpringsSection
from taupi.reporting.sections.fit.summary import SummarySection
from taupi.reporting.sections.fit.torque import TorqueSection
from taupi.reporting.sections.fit.validation import ValidationSection
from taupi.reporting.sections.fit.verdict import VerdictSection
from taupi.reporting.sections.fit.warnings import WarningsSection
from taupi.reporting.sections.provenance import ProvenanceSection

# `taupi.report(fit, ...)`; a section gets a `FitContent`.
FIT_SECTIONS: tuple[Section, ...] = (
    VerdictSection(),
    SummarySection(),
    TorqueSection(),
    ValidationSection(),
    ParametersSection(),
    BodiesSection(),
    SpringsSection(),
    FrictionSection(),
    ResidualsSection(),
    WarningsSection(),
    SignalsSection(),
    ProvenanceSection(),
)
