"""Control laws, adaptive and not, modifications of their adaptation, and the Lyapunov functions that go with them."""

from typing import TYPE_CHECKING

from taupi.public_names import lazily

__getattr__, __dir__ = lazily(__name__)

# Below: written by tools/write_public_names.py from taupi/public_names.py.
# isort: off

__all__ = [
    "CompositeAdaptation",
    "ComputedTorque",
    "DeadZone",
    "ElasticPDGravity",
    "LawState",
    "NaturalAdaptation",
    "NiemeyerSlotine",
    "OperationalSlotineLi",
    "PDGravity",
    "Projection",
    "SigmaModification",
    "SlotineLi",
    "Trial",
    "Walker",
    "check_lyapunov",
    "convergence_rate",
    "emit_controller",
    "lyapunov",
    "reference_motion",
]

if TYPE_CHECKING:
    from taupi.control.emitted_controller import emit_controller
    from taupi.control.law import LawState
    from taupi.control.law_trial import Trial
    from taupi.control.laws.composite_adaptation import CompositeAdaptation
    from taupi.control.laws.computed_torque import ComputedTorque
    from taupi.control.laws.elastic_pd_gravity import ElasticPDGravity
    from taupi.control.laws.natural_adaptation import NaturalAdaptation
    from taupi.control.laws.niemeyer_slotine import NiemeyerSlotine
    from taupi.control.laws.operational_slotine_li import OperationalSlotineLi
    from taupi.control.laws.pd_gravity import PDGravity
    from taupi.control.laws.slotine_li import SlotineLi
    from taupi.control.laws.walker import Walker
    from taupi.control.lyapunov import check_lyapunov
    from taupi.control.lyapunov import convergence_rate
    from taupi.control.lyapunov import lyapunov
    from taupi.control.modifications import DeadZone
    from taupi.control.modifications import Projection
    from taupi.control.modifications import SigmaModification
    from taupi.regressors.classical import reference_motion
