"""The sections of the page of runs, in order."""

from __future__ import annotations

from taupi.reporting.sections.base import Section
from taupi.reporting.sections.provenance import ProvenanceSection
from taupi.reporting.sections.run.arm import ArmSection
from taupi.reporting.sections.run.drives import DrivesSection
from taupi.reporting.sections.run.energy import EnergySection
from taupi.reporting.sections.run.estimates import EstimatesSection
from taupi.reporting.sections.run.lyapunov import LyapunovSection
from taupi.reporting.sections.run.overview import OverviewSection
from taupi.reporting.sections.run.remarks import RemarksSection
from taupi.reporting.sections.run.settings import SettingsSection
from taupi.reporting.sections.run.surface import SurfaceSection
from taupi.reporting.sections.run.tracking import TrackingSection

# `taupi.report(run, ...)`, one or several; a section gets a `RunContent`.
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
