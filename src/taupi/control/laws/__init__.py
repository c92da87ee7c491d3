"""The control laws, one file each.

A new one is a frozen dataclass that derives from `AdaptiveLaw` (and `Damped`) or from `FixedLaw`, and says what its torque is
(`control`), what its Lyapunov function does (`claim`) and what it is called (`name`).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from taupi.errors import TaupiError, unknown
from taupi.extensions import Extensions

if TYPE_CHECKING:
    from taupi.control.law import Law

# By the names of the command line; nothing is imported before a law is used.
LAWS: dict[str, str] = {
    "slotine-li": "taupi.control.laws.slotine_li:SlotineLi",
    "niemeyer-slotine": "taupi.control.laws.niemeyer_slotine:NiemeyerSlotine",
    "walker": "taupi.control.laws.walker:Walker",
    "composite": "taupi.control.laws.composite_adaptation:CompositeAdaptation",
    "natural": "taupi.control.laws.natural_adaptation:NaturalAdaptation",
    "computed-torque": "taupi.control.laws.computed_torque:ComputedTorque",
    "pd-gravity": "taupi.control.laws.pd_gravity:PDGravity",
    "operational-slotine-li": "taupi.control.laws.operational_slotine_li:OperationalSlotineLi",
    "elastic-pd-gravity": "taupi.control.laws.elastic_pd_gravity:ElasticPDGravity",
}
# Of installed packages.
ADDED: Extensions[type[Law]] = Extensions("law", "taupi.laws", ("control", "choice"))


def law_class(name: str) -> type[Law]:
    """Return the class of a law by its `name` on the command line: one of taupi, or one of an installed package.

    >>> import taupi as tp
    >>> tp.laws.law_class("pd-gravity")(tp.load("elbow2r"), Kp=100.0, Kd=20.0).name
    'pd_gravity'
    """
    from taupi.control.law import Law

    if name in LAWS:
        module, _, attribute = LAWS[name].partition(":")
        own: type[Law] = getattr(import_module(module), attribute)
        return own
    added = ADDED.find(name)
    if added is None:
        raise unknown("law", name, [*LAWS, *ADDED.names()])
    if not (isinstance(added, type) and issubclass(added, Law)):
        raise TaupiError(
            "The law {name!r} is {got!r}, expected a class that derives from taupi.laws.Law.", name=name, got=added
        )
    return added
