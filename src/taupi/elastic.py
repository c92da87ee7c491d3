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
    "forward_dynamics",
    "gravity_torque",
    "inverse_dynamics",
    "mass_matrix",
    "regressor",
    "regressor_parts",
    "stiffness_matrix",
    "with_motors",
]

if TYPE_CHECKING:
    from taupi.control.laws.elastic_pd_gravity import ElasticPDGravity
    from taupi.dynamics.elastic import elastic_coriolis_matrix as coriolis_matrix
    from taupi.dynamics.elastic import elastic_gravity_torque as gravity_torque
    from taupi.dynamics.elastic import elastic_inverse_dynamics as inverse_dynamics
    from taupi.dynamics.elastic import elastic_mass_matrix as mass_matrix
    from taupi.dynamics.elastic import elastic_stiffness_matrix as stiffness_matrix
    from taupi.dynamics.elastic_forward import elastic_forward_dynamics as forward_dynamics
    from taupi.model.motors import with_motors
    from taupi.regressors.elastic import elastic_regressor as regressor
    from taupi.regressors.elastic import elastic_regressor_parts as regressor_parts
    from taupi.simulation.plants.elastic_plant import ElasticPlant
