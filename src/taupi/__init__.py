"""taupi: robot dynamics that are linear in their parameters, tau = Y(q, qd, qdd) pi.

Names are imported when they are first used, so that `import taupi` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from taupi.version import __version__ as __version__

_HOME: dict[str, str] = {
    "Accumulator": "taupi.program.accumulator",
    "Along": "taupi.dynamics.terms",
    "BSpline": "taupi.simulation.references",
    "BaseParameters": "taupi.identifiability.base_parameters",
    "Bound": "taupi.analysis.bound_results",
    "Bounds": "taupi.analysis.bound_results",
    "Box": "taupi.identification.physical.link_shapes",
    "Comparison": "taupi.identification.results.validation",
    "CompositeAdaptation": "taupi.control.laws.composite_adaptation",
    "ComputedTorque": "taupi.control.laws.computed_torque",
    "Conditioning": "taupi.identifiability.conditioning",
    "Constants": "taupi.program.program",
    "Coulomb": "taupi.dynamics.terms",
    "Damping": "taupi.dynamics.terms",
    "DeadZone": "taupi.control.modifications",
    "ElasticPDGravity": "taupi.control.laws.elastic_pd_gravity",
    "ElasticPlant": "taupi.simulation.plants.elastic_plant",
    "Ellipsoid": "taupi.identification.physical.link_shapes",
    "Feasible": "taupi.identification.estimators.feasible",
    "Finding": "taupi.signals.check",
    "Fit": "taupi.identification.results.fit",
    "Horizon": "taupi.simulation.horizon",
    "Huber": "taupi.identification.estimators.huber",
    "Hull": "taupi.identification.physical.link_shapes",
    "LawState": "taupi.control.law",
    "LinkSide": "taupi.dynamics.terms",
    "Log": "taupi.signals.log",
    "LogReport": "taupi.signals.check",
    "LyapunovRecord": "taupi.control.lyapunov",
    "MassEllipses": "taupi.analysis.ellipses",
    "MinimumJerk": "taupi.simulation.references",
    "NaturalAdaptation": "taupi.control.laws.natural_adaptation",
    "NiemeyerSlotine": "taupi.control.laws.niemeyer_slotine",
    "Offset": "taupi.dynamics.terms",
    "OperationalSlotineLi": "taupi.control.laws.operational_slotine_li",
    "OrdinaryLeastSquares": "taupi.identification.estimators.ols",
    "PDGravity": "taupi.control.laws.pd_gravity",
    "ParameterLayout": "taupi.model.parameters",
    "Parameters": "taupi.model.parameters",
    "Payload": "taupi.simulation.plants.plant",
    "Port": "taupi.program.program",
    "Preparation": "taupi.identification.rows.preparation",
    "Problem": "taupi.identification.problem",
    "Program": "taupi.program.program",
    "Projection": "taupi.control.modifications",
    "Reproduction": "taupi.papers.study",
    "Ridge": "taupi.identification.estimators.ridge",
    "RigidPlant": "taupi.simulation.plants.rigid_plant",
    "Robot": "taupi.model.robot",
    "Rotor": "taupi.dynamics.terms",
    "Run": "taupi.simulation.run",
    "RunBatch": "taupi.simulation.run",
    "SampledMotion": "taupi.simulation.references",
    "Sensors": "taupi.simulation.sensors",
    "SigmaModification": "taupi.control.modifications",
    "Sinusoids": "taupi.simulation.references",
    "SlotineLi": "taupi.control.laws.slotine_li",
    "Spring": "taupi.dynamics.terms",
    "Stribeck": "taupi.dynamics.terms",
    "StribeckCurve": "taupi.dynamics.terms",
    "StribeckFall": "taupi.dynamics.terms",
    "StribeckRise": "taupi.dynamics.terms",
    "TaupiError": "taupi.errors",
    "TaupiWarning": "taupi.errors",
    "Trial": "taupi.control.law_trial",
    "Validation": "taupi.identification.results.validation",
    "Viscous": "taupi.dynamics.terms",
    "Walker": "taupi.control.laws.walker",
    "Consistent": "taupi.identification.estimators.consistent",
    "WeightedLeastSquares": "taupi.identification.estimators.wls",
    "average_periods": "taupi.signals.periodic",
    "base_parameters": "taupi.identifiability.base_parameters",
    "bias_torque": "taupi.dynamics.inverse",
    "bounds": "taupi.analysis.bounds",
    "build_problem": "taupi.identification.identify",
    "butterworth": "taupi.signals.filters",
    "catalogue": "taupi.model.catalogue:names",
    "check_log": "taupi.signals.check",
    "check_lyapunov": "taupi.control.lyapunov",
    "choose_cutoff": "taupi.signals.filters",
    "christoffel_symbols": "taupi.dynamics.mass_matrix",
    "clean_log": "taupi.signals.clean",
    "compare": "taupi.identification.results.validation",
    "conditioning": "taupi.identifiability.conditioning",
    "convergence_rate": "taupi.control.lyapunov",
    "coriolis_matrix": "taupi.dynamics.coriolis",
    "elastic_coriolis_matrix": "taupi.dynamics.elastic",
    "elastic_forward_dynamics": "taupi.dynamics.elastic_forward",
    "elastic_gravity_torque": "taupi.dynamics.elastic",
    "elastic_inverse_dynamics": "taupi.dynamics.elastic",
    "elastic_mass_matrix": "taupi.dynamics.elastic",
    "elastic_regressor": "taupi.regressors.elastic",
    "elastic_stiffness_matrix": "taupi.dynamics.elastic",
    "emit": "taupi.program.emit",
    "emit_controller": "taupi.control.emitted_controller",
    "energy_regressor": "taupi.regressors.classical",
    "estimate_delay": "taupi.signals.delay",
    "explicit_regressor": "taupi.regressors.explicit",
    "find_period": "taupi.signals.periodic",
    "forward_dynamics": "taupi.dynamics.forward",
    "forward_kinematics": "taupi.dynamics.kinematics",
    "gravity_torque": "taupi.dynamics.inverse",
    "identify": "taupi.identification.identify",
    "identify_shapes": "taupi.identification.estimators.friction_shapes",
    "output_error": "taupi.identification.estimators.output_error",
    "ShapedFit": "taupi.identification.estimators.friction_shapes",
    "inverse_dynamics": "taupi.dynamics.inverse",
    "jacobian": "taupi.dynamics.kinematics",
    "jacobian_derivative": "taupi.dynamics.kinematics",
    "kinetic_energy": "taupi.dynamics.energy",
    "lagrangian_blocks": "taupi.regressors.lagrangian",
    "load": "taupi.model.load",
    "load_fit": "taupi.identification.results.fit_file",
    "log_blocks": "taupi.signals.read",
    "lump": "taupi.regressors.lump",
    "lyapunov": "taupi.control.lyapunov",
    "mass_ellipses": "taupi.analysis.ellipses",
    "mass_matrix": "taupi.dynamics.mass_matrix",
    "mass_matrix_derivative": "taupi.dynamics.mass_matrix",
    "moving_base_dynamics": "taupi.dynamics.closed_form",
    "newton_euler_matrices": "taupi.dynamics.closed_form",
    "operational_dynamics": "taupi.dynamics.operational",
    "operational_force": "taupi.dynamics.operational",
    "operational_mass": "taupi.dynamics.operational",
    "operational_regressor": "taupi.regressors.operational",
    "parallel_filter": "taupi.signals.filters",
    "plot": "taupi.report",
    "potential_energy": "taupi.dynamics.energy",
    "prepare": "taupi.signals.prepare",
    "prepare_blocks": "taupi.signals.prepare",
    "properties": "taupi.analysis.properties",
    "read_log": "taupi.signals.read",
    "reference_motion": "taupi.regressors.classical",
    "record": "taupi.simulation.record",
    "regressor": "taupi.regressors.classical",
    "remove_delay": "taupi.signals.delay",
    "report": "taupi.report:room",
    "reproduce": "taupi.papers.reproduce",
    "simulate": "taupi.simulation.simulate",
    "simulate_many": "taupi.simulation.simulate",
    "singularity": "taupi.analysis.singularity",
    "slotine_li_regressor": "taupi.regressors.classical",
    "spatial_dynamics": "taupi.control.spatial_algebra",
    "studies": "taupi.papers.registry",
    "task_coordinates": "taupi.dynamics.kinematics",
    "trace": "taupi.program.program",
    "validate": "taupi.identification.results.validation",
    "write_fit": "taupi.identification.results.fit_file",
    "write_log": "taupi.signals.read",
    "write_toml": "taupi.identification.results.export",
    "write_urdf": "taupi.identification.results.export",
}

__all__ = sorted([*_HOME, "__version__"])  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'taupi' has no attribute {name!r}")
    module, _, attribute = _HOME[name].partition(":")
    value = getattr(import_module(module), attribute or name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__


if TYPE_CHECKING:
    from taupi.analysis.bound_results import Bound as Bound
    from taupi.analysis.bound_results import Bounds as Bounds
    from taupi.analysis.bounds import bounds as bounds
    from taupi.analysis.ellipses import MassEllipses as MassEllipses
    from taupi.analysis.ellipses import mass_ellipses as mass_ellipses
    from taupi.analysis.properties import properties as properties
    from taupi.analysis.singularity import singularity as singularity
    from taupi.control.emitted_controller import emit_controller as emit_controller
    from taupi.control.law import LawState as LawState
    from taupi.control.law_trial import Trial as Trial
    from taupi.control.laws.composite_adaptation import CompositeAdaptation as CompositeAdaptation
    from taupi.control.laws.computed_torque import ComputedTorque as ComputedTorque
    from taupi.control.laws.elastic_pd_gravity import ElasticPDGravity as ElasticPDGravity
    from taupi.control.laws.natural_adaptation import NaturalAdaptation as NaturalAdaptation
    from taupi.control.laws.niemeyer_slotine import NiemeyerSlotine as NiemeyerSlotine
    from taupi.control.laws.operational_slotine_li import OperationalSlotineLi as OperationalSlotineLi
    from taupi.control.laws.pd_gravity import PDGravity as PDGravity
    from taupi.control.laws.slotine_li import SlotineLi as SlotineLi
    from taupi.control.laws.walker import Walker as Walker
    from taupi.control.lyapunov import LyapunovRecord as LyapunovRecord
    from taupi.control.lyapunov import check_lyapunov as check_lyapunov
    from taupi.control.lyapunov import convergence_rate as convergence_rate
    from taupi.control.lyapunov import lyapunov as lyapunov
    from taupi.control.modifications import DeadZone as DeadZone
    from taupi.control.modifications import Projection as Projection
    from taupi.control.modifications import SigmaModification as SigmaModification
    from taupi.control.spatial_algebra import spatial_dynamics as spatial_dynamics
    from taupi.dynamics.closed_form import moving_base_dynamics as moving_base_dynamics
    from taupi.dynamics.closed_form import newton_euler_matrices as newton_euler_matrices
    from taupi.dynamics.coriolis import coriolis_matrix as coriolis_matrix
    from taupi.dynamics.elastic import elastic_coriolis_matrix as elastic_coriolis_matrix
    from taupi.dynamics.elastic import elastic_gravity_torque as elastic_gravity_torque
    from taupi.dynamics.elastic import elastic_inverse_dynamics as elastic_inverse_dynamics
    from taupi.dynamics.elastic import elastic_mass_matrix as elastic_mass_matrix
    from taupi.dynamics.elastic import elastic_stiffness_matrix as elastic_stiffness_matrix
    from taupi.dynamics.elastic_forward import elastic_forward_dynamics as elastic_forward_dynamics
    from taupi.dynamics.energy import kinetic_energy as kinetic_energy
    from taupi.dynamics.energy import potential_energy as potential_energy
    from taupi.dynamics.forward import forward_dynamics as forward_dynamics
    from taupi.dynamics.inverse import bias_torque as bias_torque
    from taupi.dynamics.inverse import gravity_torque as gravity_torque
    from taupi.dynamics.inverse import inverse_dynamics as inverse_dynamics
    from taupi.dynamics.kinematics import forward_kinematics as forward_kinematics
    from taupi.dynamics.kinematics import jacobian as jacobian
    from taupi.dynamics.kinematics import jacobian_derivative as jacobian_derivative
    from taupi.dynamics.kinematics import task_coordinates as task_coordinates
    from taupi.dynamics.mass_matrix import christoffel_symbols as christoffel_symbols
    from taupi.dynamics.mass_matrix import mass_matrix as mass_matrix
    from taupi.dynamics.mass_matrix import mass_matrix_derivative as mass_matrix_derivative
    from taupi.dynamics.operational import operational_dynamics as operational_dynamics
    from taupi.dynamics.operational import operational_force as operational_force
    from taupi.dynamics.operational import operational_mass as operational_mass
    from taupi.dynamics.terms import Along as Along
    from taupi.dynamics.terms import Coulomb as Coulomb
    from taupi.dynamics.terms import Damping as Damping
    from taupi.dynamics.terms import LinkSide as LinkSide
    from taupi.dynamics.terms import Offset as Offset
    from taupi.dynamics.terms import Rotor as Rotor
    from taupi.dynamics.terms import Spring as Spring
    from taupi.dynamics.terms import Stribeck as Stribeck
    from taupi.dynamics.terms import StribeckCurve as StribeckCurve
    from taupi.dynamics.terms import StribeckFall as StribeckFall
    from taupi.dynamics.terms import StribeckRise as StribeckRise
    from taupi.dynamics.terms import Viscous as Viscous
    from taupi.errors import TaupiError as TaupiError
    from taupi.errors import TaupiWarning as TaupiWarning
    from taupi.identifiability.base_parameters import BaseParameters as BaseParameters
    from taupi.identifiability.base_parameters import base_parameters as base_parameters
    from taupi.identifiability.conditioning import Conditioning as Conditioning
    from taupi.identifiability.conditioning import conditioning as conditioning
    from taupi.identification.estimators.consistent import Consistent as Consistent
    from taupi.identification.estimators.feasible import Feasible as Feasible
    from taupi.identification.estimators.friction_shapes import ShapedFit as ShapedFit
    from taupi.identification.estimators.friction_shapes import identify_shapes as identify_shapes
    from taupi.identification.estimators.huber import Huber as Huber
    from taupi.identification.estimators.ols import OrdinaryLeastSquares as OrdinaryLeastSquares
    from taupi.identification.estimators.output_error import output_error as output_error
    from taupi.identification.estimators.ridge import Ridge as Ridge
    from taupi.identification.estimators.wls import WeightedLeastSquares as WeightedLeastSquares
    from taupi.identification.identify import build_problem as build_problem
    from taupi.identification.identify import identify as identify
    from taupi.identification.physical.link_shapes import Box as Box
    from taupi.identification.physical.link_shapes import Ellipsoid as Ellipsoid
    from taupi.identification.physical.link_shapes import Hull as Hull
    from taupi.identification.problem import Problem as Problem
    from taupi.identification.results.export import write_toml as write_toml
    from taupi.identification.results.export import write_urdf as write_urdf
    from taupi.identification.results.fit import Fit as Fit
    from taupi.identification.results.fit_file import load_fit as load_fit
    from taupi.identification.results.fit_file import write_fit as write_fit
    from taupi.identification.results.validation import Comparison as Comparison
    from taupi.identification.results.validation import Validation as Validation
    from taupi.identification.results.validation import compare as compare
    from taupi.identification.results.validation import validate as validate
    from taupi.identification.rows.preparation import Preparation as Preparation
    from taupi.model.catalogue import names as catalogue  # noqa: F401
    from taupi.model.load import load as load
    from taupi.model.parameters import ParameterLayout as ParameterLayout
    from taupi.model.parameters import Parameters as Parameters
    from taupi.model.robot import Robot as Robot
    from taupi.papers.registry import studies as studies
    from taupi.papers.reproduce import reproduce as reproduce
    from taupi.papers.study import Reproduction as Reproduction
    from taupi.program.accumulator import Accumulator as Accumulator
    from taupi.program.emit import emit as emit
    from taupi.program.program import Constants as Constants
    from taupi.program.program import Port as Port
    from taupi.program.program import Program as Program
    from taupi.program.program import trace as trace
    from taupi.regressors.classical import energy_regressor as energy_regressor
    from taupi.regressors.classical import reference_motion as reference_motion
    from taupi.regressors.classical import regressor as regressor
    from taupi.regressors.classical import slotine_li_regressor as slotine_li_regressor
    from taupi.regressors.elastic import elastic_regressor as elastic_regressor
    from taupi.regressors.explicit import explicit_regressor as explicit_regressor
    from taupi.regressors.lagrangian import lagrangian_blocks as lagrangian_blocks
    from taupi.regressors.lump import lump as lump
    from taupi.regressors.operational import operational_regressor as operational_regressor
    from taupi.report import plot as plot
    from taupi.report.document import report as report
    from taupi.signals.check import Finding as Finding
    from taupi.signals.check import LogReport as LogReport
    from taupi.signals.check import check_log as check_log
    from taupi.signals.clean import clean_log as clean_log
    from taupi.signals.delay import estimate_delay as estimate_delay
    from taupi.signals.delay import remove_delay as remove_delay
    from taupi.signals.filters import butterworth as butterworth
    from taupi.signals.filters import choose_cutoff as choose_cutoff
    from taupi.signals.filters import parallel_filter as parallel_filter
    from taupi.signals.log import Log as Log
    from taupi.signals.periodic import average_periods as average_periods
    from taupi.signals.periodic import find_period as find_period
    from taupi.signals.prepare import prepare as prepare
    from taupi.signals.prepare import prepare_blocks as prepare_blocks
    from taupi.signals.read import log_blocks as log_blocks
    from taupi.signals.read import read_log as read_log
    from taupi.signals.read import write_log as write_log
    from taupi.simulation.horizon import Horizon as Horizon
    from taupi.simulation.plants.elastic_plant import ElasticPlant as ElasticPlant
    from taupi.simulation.record import record as record
    from taupi.simulation.references import BSpline as BSpline
