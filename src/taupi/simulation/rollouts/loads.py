"""What each roll-out of a batch carries over time."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from taupi.dynamics.types import ArrayLike
from taupi.errors import Argument, TaupiError, shown
from taupi.simulation.plants.plant import ArmPlant, Payload, Plant

# A payload from the start, None for nothing, or changes (time in s, Payload or None).
PayloadLike = Payload | None | Sequence[tuple[float, Payload | None]]


@dataclass(frozen=True, eq=False)
class Loads:
    """The loads of B roll-outs over time: those of one plant for all of them, or of one plant each."""

    plants: tuple[ArmPlant, ...]  # 1 or B
    bodies: np.ndarray | None = (
        None  # what links have in addition to the robot's own parameters, (1 or B, 10 per loaded link)
    )

    @property
    def times(self) -> tuple[float, ...]:
        """The times at which any load changes, s."""
        return tuple({t for plant in self.plants for t, _ in plant.payloads})

    def at(self, t: float) -> np.ndarray:
        """Return the loads at a time, (1 or B, 10 per loaded link)."""
        carried = np.stack([plant.load_at(t) for plant in self.plants])
        return carried if self.bodies is None else carried + self.bodies

    def of_members(self, members: Sequence[int]) -> Loads:
        """Return the loads of some of the roll-outs."""
        plants = self.plants if len(self.plants) == 1 else tuple(self.plants[k] for k in members)
        bodies = self.bodies if self.bodies is None or len(self.bodies) == 1 else self.bodies[list(members)]
        return Loads(plants, bodies)

    def of_member(self, k: int) -> Loads:
        """Return the loads of one roll-out."""
        return self.of_members([k])


def with_payload(plant: ArmPlant, payload: PayloadLike) -> ArmPlant:
    """Return the plant with another payload, or with other changes of its payload."""
    changes = ((0.0, payload),) if payload is None or isinstance(payload, Payload) else tuple(payload)
    return dataclasses.replace(plant, payloads=changes)


def loadable(plant: Plant, payloads: Sequence[PayloadLike]) -> ArmPlant:
    """Return the plant without a payload, but with room for one on every link that carries one of the payloads."""
    if not isinstance(plant, ArmPlant):
        raise TaupiError(Argument("payloads"), f" are for arms, and the plant is a {type(plant).__name__}.")
    links = {k for payload in payloads for k in with_payload(plant, payload).loads}
    return dataclasses.replace(plant, payloads=(), loads=tuple(sorted(links)))


def with_links(plant: Plant) -> ArmPlant:
    """Return the plant with room for other parameters of every link."""
    if not isinstance(plant, ArmPlant):
        raise TaupiError(Argument("links"), f" are those of arms, and the plant is a {type(plant).__name__}.")
    return dataclasses.replace(plant, loads=tuple(range(len(plant.robot.links))))


def link_changes(plant: ArmPlant, links: ArrayLike) -> np.ndarray:
    """Return what links with these parameters, (10 L,) or (B, 10 L), have in addition to the plant's own, (1 or B, 10 L)."""
    own = plant.robot.parameters.values
    try:
        rows = np.atleast_2d(np.asarray(links, dtype=float))
    except (TypeError, ValueError):
        raise TaupiError(Argument("links"), f" is {shown(links)}, expected {len(own)} numbers per roll-out.") from None
    if rows.ndim != 2 or rows.shape[1] != len(own):
        raise TaupiError(
            Argument("links"),
            f" has shape {np.shape(links)}, expected (B, {len(own)}): as robot.parameters, per roll-out.",
        )
    if not np.isfinite(rows).all():
        raise TaupiError(Argument("links"), " has entries that are not finite.")
    return rows - own
