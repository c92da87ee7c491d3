"""Dynamics as explicit formulas and stacked matrices, as textbooks print them; for running, the recursions are faster."""

from typing import TYPE_CHECKING

from taupi.public_names import lazily

__getattr__, __dir__ = lazily(__name__)

# Below: written by tools/write_public_names.py from taupi/public_names.py.
# isort: off

__all__ = [
    "explicit_regressor",
    "lagrangian_blocks",
    "moving_base_dynamics",
    "newton_euler_matrices",
    "spatial_dynamics",
]

if TYPE_CHECKING:
    from taupi.control.spatial_algebra import spatial_dynamics
    from taupi.dynamics.closed_form import moving_base_dynamics
    from taupi.dynamics.closed_form import newton_euler_matrices
    from taupi.regressors.explicit import explicit_regressor
    from taupi.regressors.lagrangian import lagrangian_blocks
