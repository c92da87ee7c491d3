"""The sections of reports: where each is, and in which order it stands on its page.

    sections/fit/   the page of a fit,  in the order of FIT_SECTIONS
    sections/run/   the page of runs,   in the order of RUN_SECTIONS
    sections/*.py   sections that several kinds of page share

A section is a class in a file of its own, with a template of the same name beside it: `torque.py` and `torque.html`. To add one,
write both into the folder of its page and add a line to that page's list below.
"""

from __future__ import annotations

from taupi.reporting.sections.base import Section
from taupi.reporting.sections.fit.parameters import ParametersSection
from taupi.reporting.sections.fit.residuals import ResidualsSection
from taupi.reporting.sections.fit.signals import SignalsSection
from taupi.reporting.sections.fit.summary import SummarySection
from taupi.reporting.sections.fit.torque import TorqueSection
from taupi.reporting.sections.fit.validation import ValidationSection
from taupi.reporting.sections.fit.warnings import WarningsSection
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

# `taupi.report(fit, ...)`; a section gets a `FitContent`.
FIT_SECTIONS: tuple[Section, ...] = (
    SummarySection(),
    TorqueSection(),
    ValidationSection(),
    ParametersSection(),
    ResidualsSection(),
    WarningsSection(),
    SignalsSection(),
    ProvenanceSection(),
)

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
