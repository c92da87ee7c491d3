"""Terms: what a joint adds to rigid-body dynamics, such as friction, a rotor or a spring.

Give them to whatever takes `terms`, by name or as objects: `tp.regressor(robot, terms=("viscous", tp.terms.Stribeck(0.1)))`.
"""

from typing import TYPE_CHECKING

from taupi.public_names import lazily

__getattr__, __dir__ = lazily(__name__)

# Below: written by tools/write_public_names.py from taupi/public_names.py.
# isort: off

__all__ = [
    "Along",
    "Coulomb",
    "Curve",
    "Damping",
    "LinkSide",
    "Load",
    "Offset",
    "Rotor",
    "Spring",
    "Stribeck",
    "StribeckCurve",
    "StribeckFall",
    "StribeckRise",
    "Viscous",
]

if TYPE_CHECKING:
    from taupi.dynamics.terms import Along
    from taupi.dynamics.terms import Coulomb
    from taupi.dynamics.terms import Curve
    from taupi.dynamics.terms import Damping
    from taupi.dynamics.terms import LinkSide
    from taupi.dynamics.terms import Load
    from taupi.dynamics.terms import Offset
    from taupi.dynamics.terms import Rotor
    from taupi.dynamics.terms import Spring
    from taupi.dynamics.terms import Stribeck
    from taupi.dynamics.terms import StribeckCurve
    from taupi.dynamics.terms import StribeckFall
    from taupi.dynamics.terms import StribeckRise
    from taupi.dynamics.terms import Viscous
