"""Floating bases: how other libraries write them, and the momentum of a robot that nothing holds."""

from typing import TYPE_CHECKING

from taupi.public_names import lazily

__getattr__, __dir__ = lazily(__name__)

# Below: written by tools/write_public_names.py from taupi/public_names.py.
# isort: off

__all__ = [
    "BASES",
    "centre_of_mass",
    "centroidal_momentum",
    "centroidal_momentum_matrix",
    "from_base",
    "momentum",
    "momentum_regressor",
    "neutral",
    "to_base",
]

if TYPE_CHECKING:
    from taupi.dynamics.base_conventions import BASES
    from taupi.dynamics.base_conventions import from_base
    from taupi.dynamics.base_conventions import to_base
    from taupi.dynamics.chain import neutral
    from taupi.dynamics.momentum import centre_of_mass
    from taupi.dynamics.momentum import centroidal_momentum
    from taupi.dynamics.momentum import centroidal_momentum_matrix
    from taupi.dynamics.momentum import momentum
    from taupi.regressors.classical import momentum_regressor
