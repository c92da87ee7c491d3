"""Torques that are off by a factor at one joint: a gear ratio, or a torque constant."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from taupi.identification.verdict.candidate import Candidate
from taupi.identification.verdict.trial_rows import TrialRows
from taupi.identification.verdict.trials import Mending, Trials

# Factors closer to 1 than this, either way, are within the errors of drive data sheets.
_LEAST = 1.5


class TorqueFactor:
    """One joint's torque times a constant: the factor for which it agrees with the torques of the other joints."""

    name: ClassVar[str] = "torque_factor"

    def candidates(self, trials: Trials) -> Iterator[Candidate]:
        """Return a candidate for each joint whose best factor is far from 1."""
        rows = trials.own_rows
        for j, joint in enumerate(trials.robot.joint_names):
            factor = best_factor(rows, j)
            if not np.isfinite(factor) or factor <= 0 or 1 / _LEAST < factor < _LEAST:
                continue
            torque = np.eye(trials.n)
            torque[j, j] = factor
            says = f"tau of {joint} is off by a factor, it seems: times {factor:.3g}"
            remedy = f"Check the gear ratio and the torque constant of {joint}, and its unit."
            yield Candidate(self.name, says, remedy, Mending(torque=torque), (j,), {"factor": factor})


def best_factor(rows: TrialRows, joint: int) -> float:
    """Return the factor g for which g tau of a joint agrees best with the torques of the others, whose parameters it shares.

    sum over the others |Y x - tau|^2 / |tau|^2 + |Y_j x - g tau_j|^2 / |tau_j|^2 is minimised over x and g.
    """
    columns, stacked = rows.y.shape[2], []
    for i, r in enumerate(rows.triangles):
        z = r[:, columns + i]
        size = 0.0 if rows.dead[i] else float(np.linalg.norm(z))
        if size == 0:
            if i == joint:
                return np.nan
            continue
        zero = np.zeros(len(z))
        unknown, target = (-z, zero) if i == joint else (zero, z)
        stacked.append(np.column_stack([r[:, :columns], unknown, target]) / size)
    matrix = np.vstack(stacked)
    length = np.linalg.norm(matrix[:, :-1], axis=0)
    unit = matrix[:, :-1] / np.where(length > 0, length, 1.0)
    x = np.linalg.lstsq(unit, matrix[:, -1], rcond=1e-4)[0]
    return float(x[-1] / length[-1])
