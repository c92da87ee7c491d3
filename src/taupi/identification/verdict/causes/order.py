"""Joints in another order than that of the description."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import ClassVar

import numpy as np

from taupi.identification.verdict.cause import Candidate, LeftOutCause
from taupi.identification.verdict.study import LogChange, Study


class SwappedJoints(LeftOutCause):
    """Two joints whose columns were exchanged: all of them, those of q, or those of the torque."""

    name: ClassVar[str] = "swapped"

    def candidates(self, study: Study) -> Iterator[Candidate]:
        """Return candidates for every pair of joints."""
        names = study.robot.joint_names
        for i, j in combinations(np.flatnonzero(study.live).tolist(), 2):
            order = np.arange(study.n)
            order[[i, j]] = j, i
            exchange = np.eye(study.n)[order]
            for what, change, channels in (
                ("", LogChange(motion=exchange, torque=exchange), order),
                ("q of ", LogChange(motion=exchange), None),
                ("tau of ", LogChange(torque=exchange), order),
            ):
                says = f"{what}{names[i]} and {names[j]} {'are' if not what else 'is'} swapped, it seems: exchanged,"
                of = f" of {what.split(maxsplit=1)[0]}" if what else ""
                yield Candidate(
                    self, says, f"Exchange their columns in the mapping{of}.", change, (i, j), order=channels
                )
