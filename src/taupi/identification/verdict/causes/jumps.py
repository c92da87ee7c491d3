"""Values that jump: angles that were wrapped to one turn, and single values that are not measurements."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import ClassVar

import numpy as np

from taupi.identification.verdict.candidate import Candidate
from taupi.identification.verdict.trials import Mending, Trials
from taupi.signals.checking import rules
from taupi.signals.log import Log


def unwrapped(log: Log, joints: tuple[int, ...]) -> Log:
    """Return a log in which the angles of some joints do not jump."""
    q = log.q.copy()
    q[:, joints] = np.unwrap(q[:, joints], axis=0)
    return log.with_(q=q)


def without_spikes(log: Log) -> Log:
    """Return a log in which values that are not measurements are interpolated."""
    changed = {}
    for name, value in log.signals.items():
        mended = value.copy()
        for j in range(log.n):
            wrong = rules.spikes(value[:, j])
            if wrong.any():
                mended[:, j] = np.interp(log.time, log.time[~wrong], value[~wrong, j])
        changed[name] = mended
    return log.with_(**changed)


class WrappedAngles:
    """Angles that jump by a turn where they leave the range of the encoder."""

    name: ClassVar[str] = "wrapped"

    def candidates(self, trials: Trials) -> Iterator[Candidate]:
        """Return a candidate if any angle jumps."""
        turning = [j for j, joint in enumerate(trials.robot.driving_joints) if not joint.prismatic]
        jumps = {j: sum(int(rules.turns(head.recorded.q[:, j]).sum()) for head in trials.heads) for j in turning}
        joints = tuple(j for j, count in jumps.items() if count)
        if not joints:
            return
        names, count = [trials.robot.joint_names[j] for j in joints], sum(jumps.values())
        symptom = f"q of {', '.join(names)} jumps by a turn {count} times"
        remedy = "Unwrap it: log.with_(q=np.unwrap(log.q, axis=0))."
        mending = Mending(partial(unwrapped, joints=joints))
        yield Candidate(
            self.name, f"{symptom}: unwrapped,", remedy, mending, joints, {"jumps": count}, symptom=f"{symptom}."
        )


class Spikes:
    """Single values that stand out by more than the whole range of the others."""

    name: ClassVar[str] = "spikes"

    def candidates(self, trials: Trials) -> Iterator[Candidate]:
        """Return a candidate if any signal has such values."""
        worst, count, joints = ("", 0.0), 0, set[int]()
        for head in trials.heads:
            for name in ("q", "qd", "tau"):
                for j, x in enumerate(head.recorded.signals.get(name, np.zeros((0, 0))).T):
                    wrong = rules.spikes(x)
                    if not wrong.any():
                        continue
                    count += int(wrong.sum())
                    joints.add(j)
                    largest = float(x[wrong][np.argmax(np.abs(x[wrong]))])
                    if abs(largest) > abs(worst[1]):
                        worst = f"{name} of {trials.robot.joint_names[j]}", largest
        if count:
            more = f" (and {count - 1} more such values)" if count > 1 else ""
            symptom = f"{worst[0]} has a spike of {worst[1]:.3g}{more}"
            mending = Mending(without_spikes)
            remedy = "Take them out of the log, or mark them as missing (nan)."
            numbers = {"largest": worst[1], "count": count}
            says, some = f"{symptom}: without it", tuple(sorted(joints))
            yield Candidate(self.name, says, remedy, mending, some, numbers, symptom=f"{symptom}.")
