"""What is specific to each roll-out of a call, and where it runs: settings that batches and summaries share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from taupi.checks import one_of, or_none, whole_number
from taupi.dynamics.types import ArrayLike
from taupi.settings import Settings
from taupi.simulation.rollouts.batch import DEVICES, Initial, Values
from taupi.simulation.rollouts.loads import PayloadLike


@dataclass(frozen=True, eq=False)
class Ensemble(Settings):
    """B roll-outs: fields with a leading axis of B have one entry per roll-out, the others are the same for all.

    >>> import numpy as np, taupi as tp
    >>> plant = tp.RigidPlant(tp.load("elbow2r"))
    >>> starts = tp.ensembles.Ensemble(initial=np.linspace(0, 1, 10).reshape(5, 2))
    >>> tp.simulate_many(plant, duration=0.1, ensemble=starts).q.shape
    (5, 101, 2)

    Attributes:
        initial: (B, n) positions at rest, or a pair (q, qd) of such arrays; by default the beginning of the reference, or zero.
        parameters: (B, p), where the estimate of a law starts; by default at the robot's own parameters.
        inputs: Values of a Program's other inputs by name, (B, ...).
        payloads: B entries, each a Payload, None, or a list of (time, Payload).
        seeds: (B,) seeds of the sensors' noise; by default 0 to B - 1.
        links: (B, 10 per link), other parameters of the plant's links, in the order of `robot.parameters`; the law does not know
            them.
        threads: How many cores are used; by default all.
        device: "cpu", or "cuda", which runs laws and Programs on a GPU, one thread per roll-out, in fixed steps.
    """

    initial: Initial = None
    parameters: ArrayLike | None = None
    inputs: Values | None = None
    payloads: Sequence[PayloadLike] | None = None
    seeds: Sequence[int] | None = None
    links: ArrayLike | None = field(default=None, kw_only=True)
    threads: int | None = field(default=None, kw_only=True)
    device: str = field(default="cpu", kw_only=True)

    checks: ClassVar = {"threads": or_none(whole_number), "device": one_of(DEVICES)}
