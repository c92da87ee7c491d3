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
    "Modulated",
    "Offset",
    "Rotor",
    "Spring",
    "Stribeck",
    "StribeckCurve",
    "StribeckFall",
    "StribeckRise",
    "Term",
    "Viscous",
    "register",
]

if TYPE_CHECKING:
    from taupi.dynamics.terms.along import Along
    from taupi.dynamics.terms.coulomb import Coulomb
    from taupi.dynamics.terms.curve import Curve
    from taupi.dynamics.terms.elastic import Damping, LinkSide
    from taupi.dynamics.terms.load import Load
    from taupi.dynamics.terms.offset import Offset
    from taupi.dynamics.terms.rotor import Rotor
    from taupi.dynamics.terms.spring import Spring
    from taupi.dynamics.terms.stribeck import Stribeck
    from taupi.dynamics.terms.stribeck_curve import StribeckCurve
    from taupi.dynamics.terms.stribeck_fall import StribeckFall
    from taupi.dynamics.terms.stribeck_rise import StribeckRise
    from taupi.dynamics.terms.term import Modulated, Term, register
    from taupi.dynamics.terms.viscous import Viscous
