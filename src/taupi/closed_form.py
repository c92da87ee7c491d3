"""Dynamics as explicit formulas and stacked matrices, as textbooks print them; to compute them, the recursions are faster."""

from typing import TYPE_CHECKING

from taupi.public_names import lazily

__getattr__, __dir__ = lazily(__name__)

# Below: written by tools/write_public_names.py from taupi/public_names.py.
# isort: off

__all__ = [
    "bound_formulas",
    "bow_tie",
    "explicit_regressor",
    "generalised_transpose",
    "inertia_basis",
    "lagrangian_blocks",
    "link_energies",
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
    "spatial_force",
    "spatial_inertia",
    "spatial_parameter_matrices",
    "spatial_regressor",
    "spatial_stacks",
    "spatial_transpose",
    "velocity_gradient",
]

if TYPE_CHECKING:
    from taupi.analysis.symbolic_bounds import bound_formulas
    from taupi.control.spatial_algebra import (
        spatial_dynamics,
        spatial_parameter_matrices,
        spatial_regressor,
        spatial_stacks,
    )
    from taupi.dynamics.basis_tensors import (
        bow_tie,
        generalised_transpose,
        inertia_basis,
        parameter_matrices,
        skew,
        skew_basis,
        spatial_cross,
        spatial_displacement,
        spatial_force,
        spatial_inertia,
        spatial_transpose,
    )
    from taupi.dynamics.closed_form import moving_base_dynamics, newton_euler_matrices, newton_euler_motion
    from taupi.dynamics.coriolis import velocity_gradient
    from taupi.dynamics.energy import link_energies
    from taupi.regressors.explicit import explicit_regressor
    from taupi.regressors.lagrangian import lagrangian_blocks
    from taupi.regressors.tensors import link_mass_matrices, link_mass_tensors, momentum, momentum_blocks
