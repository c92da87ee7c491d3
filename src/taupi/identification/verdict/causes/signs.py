"""Signs of single joints that differ between the log and the description."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from taupi.identification.verdict.candidate import Candidate
from taupi.identification.verdict.trials import Mending, Trials


class FlippedTorques:
    """Torques that count in the other direction at all joints: those of the links on the drives."""

    name: ClassVar[str] = "sign"

    def candidates(self, trials: Trials) -> Iterator[Candidate]:
        """Return one candidate."""
        says = "tau of all joints has the wrong sign, it seems: with the other one"
        remedy = "Change the sign of tau in the mapping: it is the torque of the drives on the links."
        yield Candidate(self.name, says, remedy, Mending(torque=-np.eye(trials.n)), signs=True)


class FlippedSigns:
    """A joint whose q, whose torque, or both count in the other direction."""

    name: ClassVar[str] = "sign"

    def candidates(self, trials: Trials) -> Iterator[Candidate]:
        """Return candidates for the torque of each joint, for its q, and for both."""
        names, unit = trials.robot.joint_names, np.eye(trials.n)
        for j, joint in enumerate(names):
            if trials.dead[j]:
                continue
            flip = np.diag(1 - 2 * unit[j])
            for what, mending in (
                ("tau", Mending(torque=flip)),
                ("q", Mending(motion=flip)),
                ("q and tau", Mending(motion=flip, torque=flip)),
            ):
                some = "have" if " " in what else "has"
                says = f"{what} of {joint} {some} the wrong sign, it seems: with the other one"
                remedy = f"Change the sign of {what} of {joint} in the mapping, or the joint's axis in the description."
                yield Candidate(self.name, says, remedy, mending, (j,), signs=True)
