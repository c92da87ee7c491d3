"""taupi: robot dynamics that are linear in their parameters, tau = Y(q, qd, qdd) pi.

What most people need is here; each family has a namespace of its own, such as `taupi.terms` or `taupi.laws`. Names are imported
when they are first used, so that `import taupi` costs next to nothing.
"""

from typing import TYPE_CHECKING

from taupi.public_names import lazily
from taupi.version import __version__ as __version__

__getattr__, __dir__ = lazily(__name__)

# Below: written by tools/write_public_names.py from taupi/public_names.py.
# isort: off

__all__ = [
    "BSpline",
    "BaseParameters",
    "CommandFit",
    "ComputedTorque",
    "Course",
    "Drive",
    "ElasticPlant",
    "Fit",
    "Gaps",
    "Goal",
    "Horizon",
    "Log",
    "Margins",
    "MinimumJerk",
    "NiemeyerSlotine",
    "PDGravity",
    "Parameters",
    "Payload",
    "Preparation",
    "Program",
    "Reading",
    "RigidPlant",
    "Robot",
    "Run",
    "SampledMotion",
    "Search",
    "Sensors",
    "Sinusoids",
    "SlotineLi",
    "Smoothing",
    "Streaming",
    "TaupiError",
    "TaupiWarning",
    "Walker",
    "__version__",
    "base_parameters",
    "bias_torque",
    "bounds",
    "bridges",
    "catalogue",
    "check_log",
    "check_model",
    "christoffel_symbols",
    "clean_log",
    "clearance",
    "closed_form",
    "compare",
    "compress_log",
    "conditioning",
    "coriolis_matrix",
    "elastic",
    "elastic_regressor",
    "emit",
    "emit_component",
    "emit_controller",
    "energy_regressor",
    "ensembles",
    "estimators",
    "excite",
    "excite_commands",
    "explicit_regressor",
    "export",
    "floating",
    "forward_dynamics",
    "forward_kinematics",
    "gravity_torque",
    "identify",
    "identify_fleet",
    "identify_gains",
    "identify_payload",
    "identify_pieces",
    "inverse_dynamics",
    "jacobian",
    "jacobian_derivative",
    "kinetic_energy",
    "laws",
    "load",
    "load_fit",
    "loops",
    "lump",
    "mass_matrix",
    "mass_matrix_derivative",
    "momentum_observer",
    "operational",
    "operational_dynamics",
    "operational_regressor",
    "papers",
    "parametric",
    "plot",
    "potential_energy",
    "prepare",
    "program",
    "properties",
    "read_log",
    "record",
    "regressor",
    "report",
    "results",
    "samples",
    "signals",
    "simulate",
    "simulate_many",
    "slotine_li_regressor",
    "terms",
    "validate",
    "view",
    "what_changed",
    "write_fit",
    "write_log",
    "write_mjcf",
    "write_toml",
    "write_urdf",
]

if TYPE_CHECKING:
    from taupi import terms
    from taupi import elastic
    from taupi import operational
    from taupi import floating
    from taupi import loops
    from taupi import closed_form
    from taupi import program
    from taupi import signals
    from taupi import estimators
    from taupi import laws
    from taupi import ensembles
    from taupi import bridges
    from taupi import papers
    from taupi import results
    from taupi.analysis.bounds import bounds
    from taupi.analysis.properties import properties
    from taupi.bridges.export import export
    from taupi.bridges.mujoco.write import write_mjcf
    from taupi.control.emitted_controller import emit_controller
    from taupi.control.laws.computed_torque import ComputedTorque
    from taupi.control.laws.niemeyer_slotine import NiemeyerSlotine
    from taupi.control.laws.pd_gravity import PDGravity
    from taupi.control.laws.slotine_li import SlotineLi
    from taupi.control.laws.walker import Walker
    from taupi.dynamics.coriolis import coriolis_matrix
    from taupi.dynamics.energy import kinetic_energy, potential_energy
    from taupi.dynamics.forward import forward_dynamics
    from taupi.dynamics.inverse import bias_torque, gravity_torque, inverse_dynamics
    from taupi.dynamics.kinematics import forward_kinematics, jacobian, jacobian_derivative
    from taupi.dynamics.mass_matrix import christoffel_symbols, mass_matrix, mass_matrix_derivative
    from taupi.dynamics.operational import operational_dynamics
    from taupi.dynamics.parametric import parametric
    from taupi.errors import TaupiError, TaupiWarning
    from taupi.excitation.commands import excite_commands
    from taupi.excitation.excite import excite
    from taupi.excitation.geometry.watched import clearance_of as clearance
    from taupi.excitation.settings import Course, Goal, Margins, Search
    from taupi.identifiability.base_parameters import BaseParameters, base_parameters
    from taupi.identifiability.conditioning import conditioning
    from taupi.identification.fleet.identify_fleet import identify_fleet
    from taupi.identification.gains.drive_gains import identify_gains
    from taupi.identification.identify import identify
    from taupi.identification.model_check import check_model
    from taupi.identification.online.component import emit_component
    from taupi.identification.payloads.identify_body import identify_payload
    from taupi.identification.payloads.what_has_changed import what_changed
    from taupi.identification.piecewise import compress_log, identify_pieces
    from taupi.identification.results.command_fit import CommandFit
    from taupi.identification.results.export import write_toml, write_urdf
    from taupi.identification.results.fit import Fit
    from taupi.identification.results.fit_file import load_fit, write_fit
    from taupi.identification.results.online_model import momentum_observer
    from taupi.identification.results.samples import samples
    from taupi.identification.results.validation import compare, validate
    from taupi.identification.rows.preparation import Preparation
    from taupi.model.catalogue import names as catalogue
    from taupi.model.load import load
    from taupi.model.parameters import Parameters
    from taupi.model.robot import Robot
    from taupi.program.emit import emit
    from taupi.program.program import Program
    from taupi.regressors.classical import regressor, slotine_li_regressor
    from taupi.regressors.elastic import elastic_regressor
    from taupi.regressors.energy import energy_regressor
    from taupi.regressors.explicit import explicit_regressor
    from taupi.regressors.lump import lump
    from taupi.regressors.operational import operational_regressor
    from taupi.reporting.figures import plot
    from taupi.reporting.report import report
    from taupi.reporting.viewer.view import view
    from taupi.signals.checking.check import check_log
    from taupi.signals.checking.clean import clean_log
    from taupi.signals.drive import Drive
    from taupi.signals.filtering.smoothing import Gaps, Smoothing
    from taupi.signals.log import Log
    from taupi.signals.prepare import prepare
    from taupi.signals.read import read_log, write_log
    from taupi.signals.reading import Reading, Streaming
    from taupi.simulation.horizon import Horizon
    from taupi.simulation.plants.elastic_plant import ElasticPlant
    from taupi.simulation.plants.plant import Payload
    from taupi.simulation.plants.rigid_plant import RigidPlant
    from taupi.simulation.record import record
    from taupi.simulation.references import BSpline, MinimumJerk, SampledMotion, Sinusoids
    from taupi.simulation.run import Run
    from taupi.simulation.sensors import Sensors
    from taupi.simulation.simulate import simulate, simulate_many
