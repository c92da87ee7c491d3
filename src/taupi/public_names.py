"""The public names of the package: one table of what users can write, and where each name is defined.

Names are imported when they are first used, so that `import taupi` and the namespaces cost next to nothing. What type checkers
and editors need to know is written into the modules from this table by `python tools/write_public_names.py`; a test fails when it
has to be run again.

To make something public, add its name here: to the top of the package only if a newcomer needs it in the first week, else to
the namespace of its family.
"""

import sys
import warnings
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

# By namespace ("" is the top of the package), by defining module: names, or "name as public_name".
PUBLIC: dict[str, dict[str, str]] = {
    "": {
        # The robot, and its programs.
        "taupi.model.load": "load",
        "taupi.model.catalogue": "names as catalogue",
        "taupi.model.robot": "Robot",
        "taupi.model.parameters": "Parameters",
        "taupi.program.program": "Program",
        "taupi.program.emit": "emit",
        # Dynamics.
        "taupi.dynamics.kinematics": "forward_kinematics, jacobian, jacobian_derivative",
        "taupi.dynamics.inverse": "inverse_dynamics, bias_torque, gravity_torque",
        "taupi.dynamics.forward": "forward_dynamics",
        "taupi.dynamics.mass_matrix": "mass_matrix, mass_matrix_derivative, christoffel_symbols",
        "taupi.dynamics.coriolis": "coriolis_matrix",
        "taupi.dynamics.energy": "kinetic_energy, potential_energy",
        "taupi.dynamics.operational": "operational_dynamics",
        "taupi.dynamics.parametric": "parametric",
        "taupi.analysis.bounds": "bounds",
        "taupi.analysis.properties": "properties",
        # Regressors, and what can be identified.
        "taupi.regressors.classical": "regressor, slotine_li_regressor",
        "taupi.regressors.energy": "energy_regressor",
        "taupi.regressors.operational": "operational_regressor",
        "taupi.regressors.elastic": "elastic_regressor",
        "taupi.regressors.explicit": "explicit_regressor",
        "taupi.regressors.lump": "lump",
        "taupi.identifiability.base_parameters": "base_parameters, BaseParameters",
        "taupi.identifiability.conditioning": "conditioning",
        # Logs.
        "taupi.signals.log": "Log",
        "taupi.signals.drive": "Drive",
        "taupi.signals.read": "read_log, write_log",
        "taupi.signals.checking.check": "check_log",
        "taupi.signals.checking.clean": "clean_log",
        "taupi.signals.prepare": "prepare",
        # Identification.
        "taupi.identification.identify": "identify",
        "taupi.identification.fleet.identify_fleet": "identify_fleet",
        "taupi.identification.piecewise": "compress_log, identify_pieces",
        "taupi.identification.rows.preparation": "Preparation",
        "taupi.signals.filtering.smoothing": "Gaps, Smoothing",
        "taupi.signals.reading": "Reading, Streaming",
        "taupi.identification.results.command_fit": "CommandFit",
        "taupi.identification.results.fit": "Fit",
        "taupi.identification.results.fit_file": "load_fit, write_fit",
        "taupi.identification.results.validation": "validate, compare",
        "taupi.identification.results.export": "write_urdf, write_toml",
        "taupi.identification.results.online_model": "momentum_observer",
        "taupi.identification.online.component": "emit_component",
        "taupi.identification.payloads.identify_body": "identify_payload",
        "taupi.identification.gains.drive_gains": "identify_gains",
        "taupi.identification.payloads.what_has_changed": "what_changed",
        "taupi.identification.model_check": "check_model",
        # Ways into other tools.
        "taupi.bridges.mujoco.write": "write_mjcf",
        "taupi.bridges.export": "export",
        "taupi.identification.results.samples": "samples",
        # Pictures and reports.
        "taupi.reporting.figures": "plot",
        "taupi.reporting.report": "report",
        "taupi.reporting.viewer.view": "view",
        # Simulation.
        "taupi.simulation.plants.rigid_plant": "RigidPlant",
        "taupi.simulation.plants.elastic_plant": "ElasticPlant",
        "taupi.simulation.plants.plant": "Payload",
        "taupi.simulation.sensors": "Sensors",
        "taupi.simulation.references": "BSpline, Sinusoids, MinimumJerk, SampledMotion",
        "taupi.simulation.simulate": "simulate, simulate_many",
        "taupi.simulation.horizon": "Horizon",
        "taupi.simulation.run": "Run",
        "taupi.simulation.record": "record",
        # Exciting motions.
        "taupi.excitation.excite": "excite",
        "taupi.excitation.commands": "excite_commands",
        "taupi.excitation.settings": "Course, Goal, Margins, Search",
        "taupi.excitation.geometry.watched": "clearance_of as clearance",
        # Control.
        "taupi.control.laws.slotine_li": "SlotineLi",
        "taupi.control.laws.niemeyer_slotine": "NiemeyerSlotine",
        "taupi.control.laws.walker": "Walker",
        "taupi.control.laws.computed_torque": "ComputedTorque",
        "taupi.control.laws.pd_gravity": "PDGravity",
        "taupi.control.emitted_controller": "emit_controller",
        "taupi.errors": "TaupiError, TaupiWarning",
    },
    "terms": {
        "taupi.dynamics.terms.viscous": "Viscous",
        "taupi.dynamics.terms.coulomb": "Coulomb",
        "taupi.dynamics.terms.load": "Load",
        "taupi.dynamics.terms.curve": "Curve",
        "taupi.dynamics.terms.offset": "Offset",
        "taupi.dynamics.terms.rotor": "Rotor",
        "taupi.dynamics.terms.spring": "Spring",
        "taupi.dynamics.terms.stribeck": "Stribeck",
        "taupi.dynamics.terms.stribeck_curve": "StribeckCurve",
        "taupi.dynamics.terms.stribeck_rise": "StribeckRise",
        "taupi.dynamics.terms.stribeck_fall": "StribeckFall",
        "taupi.dynamics.terms.along": "Along",
        "taupi.dynamics.terms.elastic": "Damping, LinkSide",
        "taupi.dynamics.terms.term": "Modulated, Term, register",
    },
    "elastic": {
        "taupi.dynamics.elastic": "elastic_inverse_dynamics as inverse_dynamics, elastic_mass_matrix as mass_matrix, "
        "elastic_coriolis_matrix as coriolis_matrix, elastic_gravity_torque as gravity_torque, "
        "elastic_stiffness_matrix as stiffness_matrix, elastic_mass_matrix_parts as mass_matrix_parts, "
        "elastic_coriolis_parts as coriolis_parts, elastic_gravity_parts as gravity_parts",
        "taupi.dynamics.elastic_forward": "elastic_forward_dynamics as forward_dynamics",
        "taupi.regressors.elastic": "elastic_regressor as regressor, elastic_regressor_parts as regressor_parts, "
        "elastic_rate_regressors as rate_regressors",
        "taupi.model.payload": "with_motors",
        "taupi.simulation.plants.elastic_plant": "ElasticPlant",
        "taupi.control.laws.elastic_pd_gravity": "ElasticPDGravity",
    },
    "operational": {
        "taupi.dynamics.kinematics": "task_coordinates",
        "taupi.dynamics.operational": "operational_dynamics as dynamics, operational_force as force, operational_mass as mass",
        "taupi.regressors.operational": "operational_regressor as regressor",
        "taupi.papers.aldana.model": "planar_3r_regressor",
        "taupi.simulation.references": "TaskMotion",
        "taupi.analysis.task_space": "mass_ellipses, singularity",
        "taupi.control.laws.operational_slotine_li": "OperationalSlotineLi",
    },
    "floating": {
        "taupi.dynamics.base_conventions": "BaseConvention, bases, from_base, to_base",
        "taupi.dynamics.chain": "neutral",
        "taupi.dynamics.momentum": "generalised_momentum, centroidal_momentum, centroidal_momentum_matrix, centre_of_mass",
        "taupi.regressors.classical": "momentum_regressor",
        "taupi.dynamics.contacts": "contact_jacobian",
        "taupi.signals.base_motion": "BaseMotion",
        "taupi.signals.floating_logs": "base_from_imu",
        "taupi.identification.floating.state_logs": "log_from_states",
    },
    "loops": {
        "taupi.model.robot_parts": "Loop",
        "taupi.dynamics.loops": "loop_error, loop_jacobian, loop_jacobian_derivative",
        "taupi.regressors.closed_loops": "ClosedLoops, numerical_rank",
    },
    "closed_form": {
        "taupi.dynamics.closed_form": "newton_euler_matrices, newton_euler_motion, moving_base_dynamics",
        "taupi.dynamics.coriolis": "velocity_gradient",
        "taupi.dynamics.basis_tensors": "inertia_basis, skew_basis, generalised_transpose, skew, bow_tie, spatial_cross, "
        "spatial_transpose, spatial_displacement, spatial_inertia, spatial_force, parameter_matrices",
        "taupi.dynamics.energy": "link_energies",
        "taupi.analysis.symbolic_bounds": "bound_formulas",
        "taupi.regressors.tensors": "momentum, momentum_blocks, link_mass_matrices, link_mass_tensors",
        "taupi.control.spatial_algebra": (
            "spatial_dynamics, spatial_stacks, spatial_regressor, spatial_parameter_matrices"
        ),
        "taupi.regressors.explicit": "explicit_regressor",
        "taupi.regressors.lagrangian": "lagrangian_blocks",
    },
    "program": {
        "taupi.program.program": "Program, trace",
        "taupi.program.ports": "Constants, Port",
        "taupi.program.accumulator": "Accumulator",
        "taupi.program.batch_results": "release_memory",
    },
    "signals": {
        "taupi.signals.log": "Log",
        "taupi.signals.read": "read_log, write_log, log_blocks",
        "taupi.signals.formats": "read_table",
        "taupi.signals.mapping.tables": "Table",
        "taupi.signals.checking.check": "check_log",
        "taupi.signals.checking.clean": "clean_log",
        "taupi.signals.suggestion": "suggest_mapping, mapping_text, Suggestion, SuggestedColumn",
        "taupi.signals.prepare": "prepare_blocks",
        "taupi.signals.filtering.filters": "butterworth, parallel_filter, choose_cutoff",
        "taupi.signals.filtering.periodic": "find_period, average_periods",
        "taupi.signals.filtering.delay": "estimate_delay, remove_delay",
        "taupi.budget": "Budget, reading_budget",
    },
    "estimators": {
        "taupi.identification.estimators.ols": "OrdinaryLeastSquares",
        "taupi.identification.estimators.wls": "WeightedLeastSquares",
        "taupi.identification.estimators.ridge": "Ridge",
        "taupi.identification.estimators.huber": "Huber",
        "taupi.identification.estimators.entropic": "Entropic",
        "taupi.identification.estimators.consistent": "Consistent",
        "taupi.identification.estimators.feasible": "Feasible",
        "taupi.identification.estimators.closed_loop": "ClosedLoop",
        "taupi.identification.estimators.output_error": "OutputError, output_error",
        "taupi.identification.estimators.friction_shapes": "FrictionShapes, identify_shapes",
        "taupi.identification.physical.link_bounds": "Box, Ellipsoid, Hull",
        "taupi.identification.identify": "build_problem",
        "taupi.identification.problem": "Problem",
        "taupi.identification.results.assemble": "assemble",
    },
    "laws": {
        "taupi.simulation.plants.driven_plant": "DrivenPlant",
        "taupi.control.laws.slotine_li": "SlotineLi",
        "taupi.control.laws.niemeyer_slotine": "NiemeyerSlotine",
        "taupi.control.laws.walker": "Walker",
        "taupi.control.laws.composite_adaptation": "CompositeAdaptation",
        "taupi.control.laws.natural_adaptation": "NaturalAdaptation",
        "taupi.control.laws.operational_slotine_li": "OperationalSlotineLi",
        "taupi.control.laws.computed_torque": "ComputedTorque",
        "taupi.control.laws.pd_gravity": "PDGravity",
        "taupi.control.laws.elastic_pd_gravity": "ElasticPDGravity",
        "taupi.control.adaptive_law": "AdaptiveLaw, Damped, DeadZone, Projection, SigmaModification",
        "taupi.control.law": "Claim, FixedLaw, Law, LawState, Signals, Truth",
        "taupi.control.laws": "law_class",
        "taupi.control.gains": "times",
        "taupi.control.law_trial": "Trial",
        "taupi.control.lyapunov": "lyapunov, check_lyapunov, convergence_rate",
        "taupi.control.emitted_controller": "emit_controller",
        "taupi.regressors.classical": "reference_motion",
    },
    "ensembles": {
        "taupi.simulation.simulate": "simulate_many, simulate_summary",
        "taupi.simulation.rollouts.batch": "Ensemble",
        "taupi.simulation.rollouts.results": "RunSummary",
        "taupi.robustness.study": "robustness, RobustnessStudy",
    },
    "bridges": {
        "taupi.bridges.mujoco.write": "write_mjcf, MjcfExport",
        "taupi.bridges.mujoco.engine": "MujocoModel",
        "taupi.bridges.pinocchio": "to_pinocchio",
        "taupi.bridges.drake": "to_drake",
        "taupi.bridges.rtb": "to_rtb",
        "taupi.bridges.ros2.emit_ros2": "emit_ros2",
        "taupi.bridges.export": "Export",
        "taupi.bridges.makers": "payload_text, PayloadText",
        "taupi.bridges.samples_file": "sample_arrays, write_samples",
        "taupi.bridges.targets.passport": "JointDrive, Loss, Passport",
        "taupi.bridges.targets.target": "Place, Target, register as register_target",
        "taupi.bridges.compare": "compare_with, check_export, check_mjcf",
        "taupi.bridges.driven_check": "DrivenComparison",
        "taupi.identification.results.other_models": "ModelComparison",
        "taupi.bridges.fmi.unit": "emit_fmu",
        "taupi.bridges.jax_function": "JaxFunction",
        "taupi.bridges.torch_function": "TorchFunction",
    },
    "papers": {
        "taupi.papers.registry": "studies, reproduce",
        "taupi.papers.study": "Reproduction",
    },
    "results": {
        "taupi.reporting.viewer.view": "View",
        "taupi.model.parameters": "Parameters, ParameterLayout",
        "taupi.analysis.bound_results": "Bound, Bounds",
        "taupi.analysis.task_space": "MassEllipses",
        "taupi.identifiability.base_parameters": "BaseParameters",
        "taupi.identifiability.conditioning": "Conditioning",
        "taupi.signals.checking.check": "LogReport, Finding",
        "taupi.identification.results.fit": "Fit",
        "taupi.identification.results.command_fit": "Alias, CommandFit, CommandValidation, HeldOut, JointPositions",
        "taupi.identification.results.validation": "Validation, Comparison",
        "taupi.identification.fleet.drift": "Drift",
        "taupi.identification.fleet.fleet_fit": "Fleet, Outlier",
        "taupi.identification.fleet.population": "ParameterSpread",
        "taupi.identification.results.uncertainty": "normalised_mean_error, relative_errors",
        "taupi.identification.results.online_model": "Tracking",
        "taupi.identification.results.samples": "Samples",
        "taupi.identification.model_check": "ModelCheck, CheckedParameter",
        "taupi.identification.online.contacts": "Contact",
        "taupi.identification.online.thresholds": "Thresholds",
        "taupi.identification.payloads.payload_estimate": "PayloadEstimate, PayloadErrors",
        "taupi.identification.payloads.what_has_changed": "Change, ChangeList",
        "taupi.identification.gains.gain_estimate": "GainEstimate",
        "taupi.identification.estimators.friction_shapes": "ShapedFit",
        "taupi.simulation.run": "Run, RunBatch",
        "taupi.simulation.rollouts.results": "RunSummary",
        "taupi.excitation.excitation": "Excitation",
        "taupi.excitation.commands": "CommandPlan",
        "taupi.excitation.limits.certificates": "Certificate",
        "taupi.model.capsule": "Capsule",
        "taupi.excitation.geometry.clearance": "Clearance, ClearanceCertificate",
        "taupi.control.law_trial": "Trial",
        "taupi.control.lyapunov": "LyapunovRecord",
        "taupi.papers.study": "Reproduction",
    },
}

NAMESPACES = tuple(name for name in PUBLIC if name)

# Names that were at the top of the package until 0.1, and the namespace that has them now. They still work from the top, with a
# MovedWarning, until the release below.
REMOVED_IN = "0.3"
_MOVED = {
    "terms": "Along, Coulomb, Damping, LinkSide, Offset, Rotor, Spring, Stribeck, StribeckCurve, StribeckFall, "
    "StribeckRise, Viscous",
    "elastic": "elastic_coriolis_matrix, elastic_forward_dynamics, elastic_gravity_torque, elastic_inverse_dynamics, "
    "elastic_mass_matrix, elastic_stiffness_matrix",
    "operational": "operational_force, operational_mass, task_coordinates, mass_ellipses, singularity",
    "closed_form": "lagrangian_blocks, moving_base_dynamics, newton_euler_matrices, spatial_dynamics",
    "program": "Accumulator, Constants, Port, trace",
    "signals": "average_periods, butterworth, choose_cutoff, estimate_delay, find_period, log_blocks, parallel_filter, "
    "prepare_blocks, remove_delay",
    "estimators": "Box, Consistent, Ellipsoid, Feasible, Huber, Hull, OrdinaryLeastSquares, Problem, Ridge, "
    "WeightedLeastSquares, build_problem, identify_shapes, output_error",
    "laws": "CompositeAdaptation, DeadZone, ElasticPDGravity, LawState, NaturalAdaptation, OperationalSlotineLi, Projection, "
    "SigmaModification, Trial, check_lyapunov, convergence_rate, lyapunov, reference_motion",
    "papers": "Reproduction, reproduce, studies",
    "results": "Bound, Bounds, Comparison, Conditioning, Finding, LogReport, LyapunovRecord, MassEllipses, ParameterLayout, "
    "RunBatch, ShapedFit, Validation",
}
# By old name at the top, the new path below it: "elastic_mass_matrix" is "elastic.mass_matrix".
MOVED: dict[str, str] = {
    name: f"{namespace}.{name.removeprefix(f'{namespace}_')}"
    for namespace, names in _MOVED.items()
    for name in names.split(", ")
}


def homes(namespace: str) -> dict[str, tuple[str, str]]:
    """Return where the names of a namespace are defined: by public name, the module and the name there.

    >>> homes("elastic")["mass_matrix"]
    ('taupi.dynamics.elastic', 'elastic_mass_matrix')
    """
    table = {}
    for module, names in PUBLIC[namespace].items():
        for entry in names.split(", "):
            name, _, public = entry.partition(" as ")
            table[public or name] = (module, name)
    return table


@cache
def _addresses() -> dict[tuple[str, str], str]:
    """Return how users write each public name, by the module that defines it and the name there: from the top if possible."""
    spaces = ((space, f"taupi.{space}." if space else "taupi.") for space in reversed(PUBLIC))
    return {home: f"{prefix}{public}" for space, prefix in spaces for public, home in homes(space).items()}


def public_address(kind: type) -> str:
    """Return how users write a class: by its public name, or else by the module that defines it.

    >>> from taupi.budget import Budget, Clock
    >>> public_address(Budget), public_address(Clock)
    ('taupi.signals.Budget', 'taupi.budget.Clock')
    """
    return _addresses().get((kind.__module__, kind.__qualname__), f"{kind.__module__}.{kind.__qualname__}")


def lazily(module: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the `__getattr__` and the `__dir__` of a namespace, which import a public name when it is first used.

    At the top of the package, names that have moved to a namespace are found too, with a warning.
    """
    namespace = module.removeprefix("taupi").removeprefix(".")
    table = homes(namespace)
    spaces, moved = ((), {}) if namespace else (NAMESPACES, MOVED)

    def find(name: str) -> Any:
        if name in moved:
            return _moved(name)
        if name in table:
            home, attribute = table[name]
            value = getattr(import_module(home), attribute)
        elif name in spaces:
            value = import_module(f"taupi.{name}")
        else:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        vars(sys.modules[module])[name] = value
        return value

    return find, lambda: sorted([*table, *spaces, *(() if namespace else ("__version__",))])


def _moved(name: str) -> Any:
    """Return what a public name at its old place stands for, and warn the caller."""
    space, _, new = MOVED[name].partition(".")
    message = f"taupi.{name} has moved to taupi.{space}.{new}; the old name will be removed in taupi {REMOVED_IN}."
    # `from taupi import name` asks twice: the import system whether the name is there, then the statement for its value.
    if sys._getframe(2).f_code.co_name != "_handle_fromlist":
        warnings.warn(message, import_module("taupi.errors").MovedWarning, stacklevel=3)
    return getattr(import_module(f"taupi.{space}"), new)
