"""Results of many roll-outs as arrays, with one row per roll-out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from taupi.errors import Argument, TaupiError, shown
from taupi.simulation.horizon import Horizon
from taupi.simulation.rollouts.batch import Scenario
from taupi.simulation.rollouts.rollout import Rollout
from taupi.simulation.rollouts.runs_from_records import provenance_of
from taupi.simulation.rollouts.summary import Statistics


@dataclass(frozen=True, eq=False)
class RunSummary:
    """B roll-outs without their records: how each ended, and its errors and torques, (B, n) unless stated otherwise.

    `q` and `qd` are the joints at the end, and `parameters` (B, p) the estimate there, None for a controller without one. `end`
    (B,) is the time up to which all numbers were finite, s, and `complete` (B,) whether that is the end of the simulation.
    `peak_error` and `rms_error` are those of q - q_des at the beginnings of the control periods, `late_error` is the rms from
    `late`, a time in s, on (NaN for roll-outs that ended before); all are None without a reference of the joints. `peak_torque`
    and `rms_torque` are the plant's. `names` and `units` are the joints', and `provenance` says where it comes from.
    """

    q: np.ndarray
    qd: np.ndarray
    parameters: np.ndarray | None
    end: np.ndarray
    complete: np.ndarray
    peak_error: np.ndarray | None
    rms_error: np.ndarray | None
    late_error: np.ndarray | None
    peak_torque: np.ndarray
    rms_torque: np.ndarray
    late: float
    names: tuple[str, ...]
    units: tuple[str, ...]
    provenance: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return len(self.end)

    def converged(self, within: float) -> np.ndarray:
        """Return which roll-outs were complete and had late errors below `within` (rad or m) at every joint, (B,)."""
        if self.late_error is None:
            raise TaupiError("The roll-outs had no reference of the joints, so it is not known whether they converged.")
        return self.complete & (self.late_error < within).all(axis=1)

    def __repr__(self) -> str:
        ended = int((~self.complete).sum())
        text = f"RunSummary: {len(self)} roll-outs of {len(self.names)} joints; {ended} diverged"
        if self.late_error is None or not self.complete.any():
            return text
        worst = self.late_error[self.complete].max(axis=1)
        return f"{text}; late rms error: median {np.median(worst):.3g}, worst {worst.max():.3g}"


def late_period(late: float, horizon: Horizon) -> int:
    """Return the first period that is late: `late` is a share of the duration."""
    if isinstance(late, bool) or not isinstance(late, int | float) or not 0 <= late < 1:
        raise TaupiError(Argument("late"), f" is {shown(late)}, expected a share of the duration from 0 to below 1.")
    return round(late * horizon.steps)


def summary_of(scenario: Scenario, rollout: Rollout, statistics: Statistics, late: int) -> RunSummary:
    """Return the summary of roll-outs by their statistics; errors are late from period `late` on."""
    loop, horizon, robot = rollout.loop, rollout.horizon, rollout.loop.plant.robot
    n, size, z = loop.n, loop.plant.size, statistics.z
    count = statistics.periods[:, None].astype(float)
    with np.errstate(invalid="ignore", divide="ignore"):
        rms, rms_torque = np.sqrt(statistics.error_squares / count), np.sqrt(statistics.torque_squares / count)
        late_rms = np.sqrt(statistics.late_squares / np.maximum(count - late, 0.0))
    followed = rollout.motion is not None and loop.controller.of_joints
    return RunSummary(
        z[:, :n].copy(),
        z[:, size : size + n].copy(),
        z[:, loop.parts["pi_hat"]][:, : loop.controller.estimated].copy() if loop.controller.size else None,
        np.maximum(statistics.periods - 1, 0) / horizon.rate,
        statistics.periods == horizon.steps + 1,
        statistics.error_peak if followed else None,
        rms if followed else None,
        late_rms if followed else None,
        statistics.torque_peak,
        rms_torque,
        late / horizon.rate,
        robot.joint_names,
        tuple("m" if joint.prismatic else "rad" for joint in robot.driving_joints),
        provenance_of(scenario, loop) | {"roll_outs": rollout.batch, "device": scenario.device},
    )
