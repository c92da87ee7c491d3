"""The types of what functions return: for annotations and `isinstance`; users never construct one."""

from typing import TYPE_CHECKING

from taupi.public_names import lazily

__getattr__, __dir__ = lazily(__name__)

# Below: written by tools/write_public_names.py from taupi/public_names.py.
# isort: off

__all__ = [
    "BaseParameters",
    "Bound",
    "Bounds",
    "Capsule",
    "Certificate",
    "Change",
    "ChangeList",
    "Clearance",
    "ClearanceCertificate",
    "Comparison",
    "Conditioning",
    "Contact",
    "Drift",
    "Excitation",
    "Finding",
    "Fit",
    "Fleet",
    "GainEstimate",
    "LogReport",
    "LyapunovRecord",
    "MassEllipses",
    "Outlier",
    "ParameterLayout",
    "ParameterSpread",
    "Parameters",
    "PayloadErrors",
    "PayloadEstimate",
    "Reproduction",
    "Run",
    "RunBatch",
    "RunSummary",
    "ShapedFit",
    "Thresholds",
    "Tracking",
    "Trial",
    "Validation",
    "View",
    "normalised_mean_error",
    "relative_errors",
]

if TYPE_CHECKING:
    from taupi.analysis.bound_results import Bound
    from taupi.analysis.bound_results import Bounds
    from taupi.analysis.ellipses import MassEllipses
    from taupi.control.law_trial import Trial
    from taupi.control.lyapunov import LyapunovRecord
    from taupi.excitation.excitation import Excitation
    from taupi.excitation.geometry.certificate import ClearanceCertificate
    from taupi.excitation.geometry.clearance import Clearance
    from taupi.excitation.limits.certificates import Certificate
    from taupi.identifiability.base_parameters import BaseParameters
    from taupi.identifiability.conditioning import Conditioning
    from taupi.identification.estimators.friction_shapes import ShapedFit
    from taupi.identification.fleet.drift import Drift
    from taupi.identification.fleet.fleet_fit import Fleet
    from taupi.identification.fleet.fleet_fit import Outlier
    from taupi.identification.fleet.population import ParameterSpread
    from taupi.identification.gains.gain_estimate import GainEstimate
    from taupi.identification.online.contacts import Contact
    from taupi.identification.online.thresholds import Thresholds
    from taupi.identification.payloads.change_list import Change
    from taupi.identification.payloads.change_list import ChangeList
    from taupi.identification.payloads.payload_estimate import PayloadErrors
    from taupi.identification.payloads.payload_estimate import PayloadEstimate
    from taupi.identification.results.error_measures import normalised_mean_error
    from taupi.identification.results.error_measures import relative_errors
    from taupi.identification.results.fit import Fit
    from taupi.identification.results.tracking import Tracking
    from taupi.identification.results.validation import Comparison
    from taupi.identification.results.validation import Validation
    from taupi.model.capsule import Capsule
    from taupi.model.parameters import ParameterLayout
    from taupi.model.parameters import Parameters
    from taupi.papers.study import Reproduction
    from taupi.reporting.viewer.view import View
    from taupi.signals.checking.check import Finding
    from taupi.signals.checking.check import LogReport
    from taupi.simulation.run import Run
    from taupi.simulation.run import RunBatch
    from taupi.simulation.run_summary import RunSummary
