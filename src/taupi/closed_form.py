"""Dynamics as explicit formulas and stacked matrices, as textbooks print them; to compute them, the recursions are faster."""

from typing import TYPE_CHECKING

from taupi.public_names import lazily

__getattr__, __dir__ = lazily(__name__)

# Below: written by tools/write_public_names.py from taupi/public_names.py.
# isort: off

__all__ = [
    "bound_formulas",
    "explicit_regressor",
    "generalised_transpose",
    "inertia_basis",
    "lagrangian_blocks",
    "link_mass_matrices",
    "link_mass_tensors",
    "momentum",
    "momentum_blocks",
    "moving_base_dynamics",
    "newton_euler_matrices",
    "newton_euler_motion",
    "parameter_matrices",
    "skew",
    "skew_basis",
    "spatial_cross",
    "spatial_displacement",
    "spatial_dynamics",
    "spatial_inertia",
    "spatial_parameter_matrices",
    "spatial_regressor",
    "spatial_stacks",
    "spatial_transpose",
    "velocity_gradient",
]

if TYPE_CHECKING:
    from taupi.analysis.symbolic_bounds import bound_formulas
    from taupi.control.spatial_algebra import spatial_dynamics
    from taupi.control.spatial_stacks import spatial_parameter_matrices
    from taupi.control.spatial_stacks import spatial_regressor
    from taupi.control.spatial_stacks import spatial_stacks
    from taupi.dynamics.basis_tensors import generalised_transpose
    from taupi.dynamics.basis_tensors import inertia_basis
    from taupi.dynamics.basis_tensors import parameter_matrices
    from taupi.dynamics.basis_tensors import skew
    from taupi.dynamics.basis_tensors import skew_basis
    from taupi.dynamics.basis_tensors import spatial_cross
    from taupi.dynamics.basis_tensors import spatial_displacement
    from taupi.dynamics.basis_tensors import spatial_inertia
    from taupi.dynamics.basis_tensors import spatial_transpose
    from taupi.dynamics.closed_form import moving_base_dynamics
    from taupi.dynamics.closed_form import newton_euler_matrices
    from taupi.dynamics.closed_form import newton_euler_motion
    from taupi.dynamics.coriolis import velocity_gradient
    from taupi.regressors.explicit import explicit_regressor
    from taupi.regressors.lagrangian import lagrangian_blocks
    from taupi.regressors.tensors import link_mass_matrices
    from taupi.regressors.tensors import link_mass_tensors
    from taupi.regressors.tensors import momentum
    from taupi.regressors.tensors import momentum_blocks
