"""Elastic joints: the equations of links and motors with springs between them, and their simulation and control.

The functions are those of a rigid robot, with the motors' positions theta in addition to the links' q:
`tp.elastic.mass_matrix(arm)(q)`.
"""

from typing import TYPE_CHECKING

from taupi.public_names import lazily

__getattr__, __dir__ = lazily(__name__)

# Below: written by tools/write_public_names.py from taupi/public_names.py.
# isort: off

__all__ = [
    "ElasticPDGravity",
    "ElasticPlant",
    "coriolis_matrix",
    "coriolis_parts",
    "forward_dynamics",
    "gravity_parts",
    "gravity_torque",
    "inverse_dynamics",
    "mass_matrix",
    "mass_matrix_parts",
    "rate_regressors",
    "regressor",
    "regressor_parts",
    "stiffness_matrix",
    "with_motors",
]

if TYPE_CHECKING:
    from taupi.control.laws.elastic_pd_gravity import ElasticPDGravity
    from taupi.dynamics.elastic import (
        elastic_coriolis_matrix as coriolis_matrix,
        elastic_coriolis_parts as coriolis_parts,
        elastic_gravity_parts as gravity_parts,
        elastic_gravity_torque as gravity_torque,
        elastic_inverse_dynamics as inverse_dynamics,
        elastic_mass_matrix as mass_matrix,
        elastic_mass_matrix_parts as mass_matrix_parts,
        elastic_stiffness_matrix as stiffness_matrix,
    )
    from taupi.dynamics.elastic_forward import elastic_forward_dynamics as forward_dynamics
    from taupi.model.payload import with_motors
    from taupi.regressors.elastic import (
        elastic_rate_regressors as rate_regressors,
        elastic_regressor as regressor,
        elastic_regressor_parts as regressor_parts,
    )
    from taupi.simulation.plants.elastic_plant import ElasticPlant
