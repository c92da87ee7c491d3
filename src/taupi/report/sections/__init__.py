"""The parts of a report: a small class and a template each. A report is a list of them, in this order."""

from __future__ import annotations

from taupi.report.sections.arm import ArmSection
from taupi.report.sections.base import Section
from taupi.report.sections.drives import DrivesSection
from taupi.report.sections.energy import EnergySection
from taupi.report.sections.estimates import EstimatesSection
from taupi.report.sections.lyapunov import LyapunovSection
from taupi.report.sections.overview import OverviewSection
from taupi.report.sections.parameters import ParametersSection
from taupi.report.sections.provenance import ProvenanceSection
from taupi.report.sections.remarks import RemarksSection
from taupi.report.sections.residuals import ResidualsSection
from taupi.report.sections.settings import SettingsSection
from taupi.report.sections.signals import SignalsSection
from taupi.report.sections.summary import SummarySection
from taupi.report.sections.surface import SurfaceSection
from taupi.report.sections.torque import TorqueSection
from taupi.report.sections.tracking import TrackingSection
from taupi.report.sections.validation import ValidationSection
from taupi.report.sections.warnings import WarningsSection

SECTIONS: tuple[Section, ...] = (
    SummarySection(),
    TorqueSection(),
    ValidationSection(),
    ParametersSection(),
    ResidualsSection(),
    WarningsSection(),
    SignalsSection(),
    ProvenanceSection(),
)

# Of runs of control laws.
RUN_SECTIONS: tuple[Section, ...] = (
    OverviewSection(),
    ArmSection(),
    TrackingSection(),
    SurfaceSection(),
    LyapunovSection(),
    EstimatesSection(),
    DrivesSection(),
    EnergySection(),
    RemarksSection(),
    SettingsSection(),
    ProvenanceSection(),
)
