"""The types of what functions return: for annotations and `isinstance`; users never construct one."""

from typing import TYPE_CHECKING

from taupi.public_names import lazily

__getattr__, __dir__ = lazily(__name__)

# Below: written by tools/write_public_names.py from taupi/public_names.py.
# isort: off

__all__ = [
    "Alias",
    "BaseParameters",
    "Bound",
    "Bounds",
    "Capsule",
    "Certificate",
    "Change",
    "ChangeList",
    "CheckedParameter",
    "Clearance",
    "ClearanceCertificate",
    "CommandFit",
    "CommandPlan",
    "CommandValidation",
    "Comparison",
    "Conditioning",
    "Contact",
    "Drift",
    "Excitation",
    "Finding",
    "Fit",
    "Fleet",
    "GainEstimate",
    "HeldOut",
    "JointPositions",
    "LogReport",
    "LyapunovRecord",
    "MassEllipses",
    "ModelCheck",
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
    "Samples",
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
    from taupi.analysis.bound_results import Bound, Bounds
    from taupi.analysis.task_space import MassEllipses
    from taupi.control.law_trial import Trial
    from taupi.control.lyapunov import LyapunovRecord
    from taupi.excitation.commands import CommandPlan
    from taupi.excitation.excitation import Excitation
    from taupi.excitation.geometry.clearance import Clearance, ClearanceCertificate
    from taupi.excitation.limits.certificates import Certificate
    from taupi.identifiability.base_parameters import BaseParameters
    from taupi.identifiability.conditioning import Conditioning
    from taupi.identification.estimators.friction_shapes import ShapedFit
    from taupi.identification.fleet.drift import Drift
    from taupi.identification.fleet.fleet_fit import Fleet, Outlier
    from taupi.identification.fleet.population import ParameterSpread
    from taupi.identification.gains.gain_estimate import GainEstimate
    from taupi.identification.model_check import CheckedParameter, ModelCheck
    from taupi.identification.online.contacts import Contact
    from taupi.identification.online.thresholds import Thresholds
    from taupi.identification.payloads.payload_estimate import PayloadErrors, PayloadEstimate
    from taupi.identification.payloads.what_has_changed import Change, ChangeList
    from taupi.identification.results.command_fit import Alias, CommandFit, CommandValidation, HeldOut, JointPositions
    from taupi.identification.results.fit import Fit
    from taupi.identification.results.online_model import Tracking
    from taupi.identification.results.samples import Samples
    from taupi.identification.results.uncertainty import normalised_mean_error, relative_errors
    from taupi.identification.results.validation import Comparison, Validation
    from taupi.model.capsule import Capsule
    from taupi.model.parameters import ParameterLayout, Parameters
    from taupi.papers.study import Reproduction
    from taupi.reporting.viewer.view import View
    from taupi.signals.checking.check import Finding, LogReport
    from taupi.simulation.rollouts.results import RunSummary
    from taupi.simulation.run import Run, RunBatch
