"""Floating bases: how other libraries write them, and the momentum of a robot that nothing holds."""

from typing import TYPE_CHECKING

from taupi.public_names import lazily

__getattr__, __dir__ = lazily(__name__)

# Below: written by tools/write_public_names.py from taupi/public_names.py.
# isort: off

__all__ = [
    "BaseConvention",
    "BaseMotion",
    "base_from_imu",
    "bases",
    "centre_of_mass",
    "centroidal_momentum",
    "centroidal_momentum_matrix",
    "contact_jacobian",
    "from_base",
    "generalised_momentum",
    "log_from_states",
    "momentum_regressor",
    "neutral",
    "to_base",
]

if TYPE_CHECKING:
    from taupi.dynamics.base_conventions import BaseConvention, bases, from_base, to_base
    from taupi.dynamics.chain import neutral
    from taupi.dynamics.contacts import contact_jacobian
    from taupi.dynamics.momentum import (
        centre_of_mass,
        centroidal_momentum,
        centroidal_momentum_matrix,
        generalised_momentum,
    )
    from taupi.identification.floating.state_logs import log_from_states
    from taupi.regressors.classical import momentum_regressor
    from taupi.signals.base_motion import BaseMotion
    from taupi.signals.floating_logs import base_from_imu
