"""Control laws, adaptive and not, modifications of their adaptation, and the Lyapunov functions that go with them."""

from typing import TYPE_CHECKING

from taupi.public_names import lazily

__getattr__, __dir__ = lazily(__name__)

# Below: written by tools/write_public_names.py from taupi/public_names.py.
# isort: off

__all__ = [
    "AdaptiveLaw",
    "Claim",
    "CompositeAdaptation",
    "ComputedTorque",
    "Damped",
    "DeadZone",
    "DrivenPlant",
    "ElasticPDGravity",
    "FixedLaw",
    "Law",
    "LawState",
    "NaturalAdaptation",
    "NiemeyerSlotine",
    "OperationalSlotineLi",
    "PDGravity",
    "Projection",
    "SigmaModification",
    "Signals",
    "SlotineLi",
    "Trial",
    "Truth",
    "Walker",
    "check_lyapunov",
    "convergence_rate",
    "emit_controller",
    "law_class",
    "lyapunov",
    "reference_motion",
    "times",
]

if TYPE_CHECKING:
    from taupi.control.adaptive_law import AdaptiveLaw, Damped, DeadZone, Projection, SigmaModification
    from taupi.control.emitted_controller import emit_controller
    from taupi.control.gains import times
    from taupi.control.law import Claim, FixedLaw, Law, LawState, Signals, Truth
    from taupi.control.law_trial import Trial
    from taupi.control.laws import law_class
    from taupi.control.laws.composite_adaptation import CompositeAdaptation
    from taupi.control.laws.computed_torque import ComputedTorque
    from taupi.control.laws.elastic_pd_gravity import ElasticPDGravity
    from taupi.control.laws.natural_adaptation import NaturalAdaptation
    from taupi.control.laws.niemeyer_slotine import NiemeyerSlotine
    from taupi.control.laws.operational_slotine_li import OperationalSlotineLi
    from taupi.control.laws.pd_gravity import PDGravity
    from taupi.control.laws.slotine_li import SlotineLi
    from taupi.control.laws.walker import Walker
    from taupi.control.lyapunov import check_lyapunov, convergence_rate, lyapunov
    from taupi.regressors.classical import reference_motion
    from taupi.simulation.plants.driven_plant import DrivenPlant
