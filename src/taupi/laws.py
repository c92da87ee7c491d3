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
    from taupi.control.composite import CompositeAdaptation
    from taupi.control.computed_torque import ComputedTorque
    from taupi.control.elastic_pd_gravity import ElasticPDGravity
    from taupi.control.emitted import emit_controller
    from taupi.control.law import LawState
    from taupi.control.lyapunov import check_lyapunov
    from taupi.control.lyapunov import convergence_rate
    from taupi.control.lyapunov import lyapunov
    from taupi.control.modifications import DeadZone
    from taupi.control.modifications import Projection
    from taupi.control.modifications import SigmaModification
    from taupi.control.natural import NaturalAdaptation
    from taupi.control.niemeyer_slotine import NiemeyerSlotine
    from taupi.control.operational import OperationalSlotineLi
    from taupi.control.pd_gravity import PDGravity
    from taupi.control.slotine_li import SlotineLi
    from taupi.control.trial import Trial
    from taupi.control.walker import Walker
    from taupi.regressors.classical import reference_motion
