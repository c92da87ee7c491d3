"""Joints in another order than that of the description."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import ClassVar

import numpy as np

from taupi.identification.verdict.candidate import Candidate
from taupi.identification.verdict.trials import Mending, Trials


class SwappedJoints:
    """Two joints whose columns were exchanged: all of them, those of q, or those of the torque."""

    name: ClassVar[str] = "swapped"

    def candidates(self, trials: Trials) -> Iterator[Candidate]:
        """Return candidates for every pair of joints."""
        names = trials.robot.joint_names
        for i, j in combinations(np.flatnonzero(~trials.dead).tolist(), 2):
            order = list(range(trials.n))
            order[i], order[j] = j, i
            exchange = np.eye(trials.n)[order]
            for what, mending in (
                ("", Mending(motion=exchange, torque=exchange)),
                ("q of ", Mending(motion=exchange)),
                ("tau of ", Mending(torque=exchange)),
            ):
                says = f"{what}{names[i]} and {names[j]} {'are' if not what else 'is'} swapped, it seems: exchanged,"
                yield Candidate(
                    self.name, says, f"Exchange their columns in the mapping{_of(what)}.", mending, (i, j), signs=True
                )


def _of(what: str) -> str:
    return f" of {what.split(maxsplit=1)[0]}" if what else ""
