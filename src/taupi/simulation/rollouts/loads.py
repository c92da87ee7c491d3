"""What each roll-out of a batch carries over time."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from taupi.errors import Argument, TaupiError
from taupi.simulation.plants.plant import ArmPlant, Payload, Plant

# A payload from the start, None for nothing, or changes (time in s, Payload or None).
PayloadLike = Payload | None | Sequence[tuple[float, Payload | None]]


@dataclass(frozen=True, eq=False)
class Loads:
    """The loads of B roll-outs over time: those of one plant for all of them, or of a plant each."""

    plants: tuple[ArmPlant, ...]  # 1 or B

    @property
    def times(self) -> tuple[float, ...]:
        """The times at which any load changes, s."""
        return tuple({t for plant in self.plants for t, _ in plant.payloads})

    def at(self, t: float) -> np.ndarray:
        """Return the loads at a time, (1 or B, 10 per loaded link)."""
        return np.stack([plant.load_at(t) for plant in self.plants])

    def of_member(self, k: int) -> Loads:
        """Return the loads of one roll-out."""
        return Loads(self.plants[k : k + 1]) if len(self.plants) > 1 else self


def with_payload(plant: ArmPlant, payload: PayloadLike) -> ArmPlant:
    """Return the plant with another payload, or other changes of it."""
    changes = ((0.0, payload),) if payload is None or isinstance(payload, Payload) else tuple(payload)
    return dataclasses.replace(plant, payloads=changes)


def loadable(plant: Plant, payloads: Sequence[PayloadLike]) -> ArmPlant:
    """Return the plant without a payload, but with room for one on every link that one of the payloads is on."""
    if not isinstance(plant, ArmPlant):
        raise TaupiError(Argument("payloads"), f" are for arms, and the plant is a {type(plant).__name__}.")
    links = {k for payload in payloads for k in with_payload(plant, payload).loads}
    return dataclasses.replace(plant, payloads=(), loads=tuple(sorted(links)))
