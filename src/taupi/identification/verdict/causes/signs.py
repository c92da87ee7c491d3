"""Torques or positions that count in the other direction."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from taupi.identification.results.verdict import Level, Reason
from taupi.identification.verdict.cause import Candidate, CandidateTrial, LeftOutCause, Support
from taupi.identification.verdict.study import LogChange, Study

# No friction drives a single joint beyond this many standard errors either. With links of its own, which no fault elsewhere
# reaches, half of that is enough where the links that it shares with the other joints say the same.
_DRIVES, _DRIVES_TOO = -5.0, -2.5
# No friction drives a joint: below this many standard errors, at half of the joints and above it at none, torques are flipped.
_CERTAIN = 4.0


class FlippedTorques(LeftOutCause):
    """Torques that count in the other direction at all joints: those of the links on the drives.

    x -> -x explains them as well. The description decides, or the power of friction, which cannot be negative.
    """

    name: ClassVar[str] = "sign"
    by_left_out_error_only: ClassVar[bool] = False

    def candidates(self, study: Study) -> Iterator[Candidate]:
        """Return one candidate."""
        says = "tau of all joints has the wrong sign, it seems: with the other one"
        remedy = "Change the sign of tau in the mapping: it is the torque of the drives on the links."
        power = study.friction_power()[study.live]
        share = float((power < -_CERTAIN).mean()) if len(power) else 0.0
        numbers = {"negative_friction": share}
        yield Candidate(self, says, remedy, LogChange(torque=-np.eye(study.n)), (), numbers)

    def support(self, trial: CandidateTrial) -> Support:
        """Return what supports it: the description, which no single inertia can replace, or friction."""
        power = trial.study.friction_power()[trial.study.live]
        rubs = bool((power < -_CERTAIN).mean() >= 0.5 and not (power > _CERTAIN).any())
        if max(trial.credible) >= 0.5 and trial.described > 0:
            return Support.NONE
        return Support.BOTH if rubs else super().support(trial)

    def level(self, trial: CandidateTrial, level: Level) -> Level:
        """Return that it is only worth knowing if the description alone shows it: a convention."""
        return max(level, Level.DOUBTFUL, key=lambda x: x.rank) if self.support(trial) is Support.BOTH else Level.GOOD


class FlippedSigns(LeftOutCause):
    """A joint whose q, whose torque, or both count in the other direction."""

    name: ClassVar[str] = "sign"

    def candidates(self, study: Study) -> Iterator[Candidate]:
        """Return candidates for the torque of each joint, for its q, and for both."""
        names, unit = study.robot.joint_names, np.eye(study.n)
        for j in np.flatnonzero(study.live).tolist():
            flip = np.diag(1 - 2 * unit[j])
            for what, change in (
                ("tau", LogChange(torque=flip)),
                ("q", LogChange(motion=flip)),
                ("q and tau", LogChange(motion=flip, torque=flip)),
            ):
                some = "have" if " " in what else "has"
                says = f"{what} of {names[j]} {some} the wrong sign, it seems: with the other one"
                remedy = (
                    f"Change the sign of {what} of {names[j]} in the mapping, or the joint's axis in the description."
                )
                yield Candidate(self, says, remedy, change, (j,))


def friction_that_drives(study: Study) -> Reason | None:
    """Return the reason if the friction of some joints, each with links of its own, would drive them: a sign, where no
    prediction decides it."""
    power, shared = study.friction_power(apart=True), study.friction_power()
    drives = (power < _DRIVES) | ((power < _DRIVES_TOO) & (shared < _DRIVES))
    joints = np.flatnonzero(study.live & drives)
    if not len(joints):
        return None
    names = tuple(study.robot.joint_names[j] for j in joints)
    worst = float(power[joints].min())
    return Reason(
        FlippedSigns.name,
        f"The friction of {', '.join(names)} would drive instead of brake ({-worst:.0f} standard errors below zero): tau or q "
        "counts in the other direction, it seems.",
        Level.DOUBTFUL,
        names,
        {"friction_power": worst},
        f"Check the sign of tau and of q of {', '.join(names)} in the mapping.",
    )
