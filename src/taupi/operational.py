"""Operational space: dynamics in the coordinates of a task, such as the position of the tip, and what is computed in them."""

from typing import TYPE_CHECKING

from taupi.public_names import lazily

__getattr__, __dir__ = lazily(__name__)

# Below: written by tools/write_public_names.py from taupi/public_names.py.
# isort: off

__all__ = [
    "OperationalSlotineLi",
    "TaskMotion",
    "dynamics",
    "force",
    "mass",
    "mass_ellipses",
    "planar_3r_regressor",
    "regressor",
    "singularity",
    "task_coordinates",
]

if TYPE_CHECKING:
    from taupi.analysis.task_space import mass_ellipses, singularity
    from taupi.control.laws.operational_slotine_li import OperationalSlotineLi
    from taupi.dynamics.kinematics import task_coordinates
    from taupi.dynamics.operational import (
        operational_dynamics as dynamics,
        operational_force as force,
        operational_mass as mass,
    )
    from taupi.papers.aldana.model import planar_3r_regressor
    from taupi.regressors.operational import operational_regressor as regressor
    from taupi.simulation.references import TaskMotion
