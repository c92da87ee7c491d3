"""From the records of roll-outs to results: runs with their energy audit and provenance, or one row of summary per roll-out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from taupi.errors import TaupiError, warn
from taupi.model.robot import Robot
from taupi.program.batch_results import fresh
from taupi.simulation.horizon import Horizon
from taupi.simulation.references import Motion
from taupi.simulation.rollouts.batch import Scenario
from taupi.simulation.rollouts.compiled_rollout import Statistics
from taupi.simulation.rollouts.loop import ControlLoop
from taupi.simulation.rollouts.rollout import Records, Rollout
from taupi.simulation.run import ListedRuns, Run, Runs
from taupi.threads import in_shares
from taupi.version import __version__


@dataclass(frozen=True, eq=False)
class RunSummary:
    """Hold what B roll-outs came to without their records: how each ended, and its errors and torques, (B, n).

    Errors and torques are of joints that were finite; errors are None without a reference of the joints.

    Attributes:
        q: Positions at the end, rad or m; of a floating robot with one more column per quaternion.
        qd: Velocities at the end, rad/s or m/s.
        parameters: The estimate at the end, (B, p); None for a controller without one.
        end: The time up to which all numbers were finite, (B,) in s.
        complete: Whether that is the end of the simulation, (B,).
        peak_error: Largest |q - q_des| at the beginnings of the control periods.
        rms_error: Root mean square of the same.
        late_error: Root mean square from the time `late` on; NaN for roll-outs that ended before.
        peak_torque: Largest |tau| of the plant, N m or N.
        rms_torque: Root mean square of the same.
        late: From when on errors are late, s.
        names: Names of the joints.
        units: Units of their positions.
        provenance: What made it.
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
        raise TaupiError("{late} is {got!r}, expected a share of the duration from 0 to below 1.", got=late)
    return round(late * horizon.steps)


def summary_of(scenario: Scenario, rollout: Rollout, statistics: Statistics, late: int) -> RunSummary:
    """Return the summary of roll-outs by their statistics; errors are late from period `late` on."""
    loop, horizon, robot = rollout.loop, rollout.horizon, rollout.loop.plant.robot
    first, z = loop.positions, statistics.z
    count = statistics.periods[:, None].astype(float)
    with np.errstate(all="ignore"):  # of roll-outs that diverged
        q = _unit_quaternions(robot, z[:, : robot.nq].copy())
        rms, rms_torque = np.sqrt(statistics.error_squares / count), np.sqrt(statistics.torque_squares / count)
        late_rms = np.sqrt(statistics.late_squares / np.maximum(count - late, 0.0))
    followed = rollout.motion is not None and loop.controller.of_joints
    return RunSummary(
        q,
        z[:, first : first + loop.n].copy(),
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
        _units(robot),
        provenance_of(scenario, loop) | {"roll_outs": rollout.batch, "device": scenario.device},
    )


_LEAST_SHARE = 128  # roll-outs for which another thread is worth its start, after the loop itself
_AT_ONCE = 256  # roll-outs whose sums stay in the caches
TAME = 1e6  # a state below this has not diverged: a torque that is not finite then comes from the controller itself


def runs_of(scenario: Scenario, rollout: Rollout, records: Records, notes: Sequence[str]) -> Runs:
    """Return the roll-outs as runs; `notes` are those that they all share."""
    return RecordedRuns(rollout, records | _audit(rollout, records), notes, provenance_of(scenario, rollout.loop))


class RecordedRuns(Runs):
    """Runs that are cut out of the records of roll-outs when they are asked for; at once if they ended early, to warn of it."""

    def __init__(
        self, rollout: Rollout, records: Records, notes: Sequence[str], provenance: Mapping[str, object]
    ) -> None:
        horizon, robot, motion = rollout.horizon, rollout.loop.plant.robot, rollout.motion
        self._rollout, self._records, self._notes, self._provenance = rollout, records, tuple(notes), provenance
        self._made: dict[int, Run] = {}
        self._time = np.arange(len(records["z"])) * horizon.every / horizon.rate
        self._motion = None if motion is None else Motion(*(v[:: horizon.every] for v in motion))
        self._words: dict[str, Any] = {
            "names": robot.joint_names,
            "units": _units(robot),
            "position_names": robot.position_names if robot.multiple_joints else (),
            "parameter_names": rollout.loop.controller.labels,
        }
        self._rows = np.full(rollout.batch, len(records["z"]))
        for b in np.flatnonzero(~np.isfinite(_sums(rollout, records))).tolist():
            finite = [np.isfinite(records[name][:, b]).all(axis=1) for name in ("z", "qdd")]
            self._rows[b] = np.append(finite[0] & finite[1], False).argmin()
        for b in np.flatnonzero(~self.complete).tolist():
            self.one(b)

    def __len__(self) -> int:
        return self._rollout.batch

    def __reduce__(self) -> tuple[object, ...]:
        return ListedRuns, (tuple(self),)

    def one(self, b: int) -> Run:
        """Return run `b`, counted from 0."""
        if b not in self._made:
            self._made[b] = self._run(b)
            if len(self._made) == len(self):  # they hold copies of all records
                self._records = Records()
        return self._made[b]

    @property
    def complete(self) -> np.ndarray:
        """Which runs reached their end, (B,)."""
        complete: np.ndarray = self._rows == self._rollout.horizon.rows
        return complete

    @property
    def time(self) -> np.ndarray:
        """The times of the longest run, (N,) in s."""
        return self._time[: self._rows.max()].copy()

    def stack(self, name: str) -> np.ndarray:
        """Return the field `name` of all runs, (B, N, ...); rows beyond the end of a run that diverged are NaN."""
        source = self._recorded(name)
        if source is None:
            return super().stack(name)
        stacked = np.ascontiguousarray(np.swapaxes(source[: self._rows.max()], 0, 1))
        for b in np.flatnonzero(self._rows < stacked.shape[1]).tolist():
            stacked[b, self._rows[b] :] = np.nan
        return stacked

    def _recorded(self, name: str) -> np.ndarray | None:
        """Return the records (rows, B, ...) that are a field of all runs as they are; None if there are none."""
        loop, records = self._rollout.loop, self._records
        if not records or (name == "q" and loop.plant.robot.multiple_joints):
            return None
        first, estimated = loop.positions, loop.parts["pi_hat"].start + loop.controller.estimated
        places = {"q": slice(0, loop.plant.robot.nq), "qd": slice(first, first + loop.n)}
        if loop.controller.size:
            places["parameters"] = slice(loop.parts["pi_hat"].start, estimated)
        if name in places:
            return records["z"][..., places[name]]
        return records[name] if name in ("tau", "tau_command", "qdd", "energy", "residual") else None

    def _run(self, b: int) -> Run:
        """Return one of the roll-outs as a Run, cut where it stopped being finite."""
        rollout, records, motion = self._rollout, self._records, self._motion
        loop, robot = rollout.loop, rollout.loop.plant.robot
        n, first, last = loop.n, loop.positions, loop.positions + loop.plant.size
        rows, complete = int(self._rows[b]), bool(self._rows[b] == rollout.horizon.rows)
        own = {name: value[:rows, b] for name, value in records.items()}
        if rollout.batch > 1:  # a copy, not a view of the array of all runs
            own = {name: np.array(value) for name, value in own.items()}
        p, v, energy = own["z"][:, :first], own["z"][:, first:last], own["z"][:, loop.parts["energy"]]
        estimate = own["z"][:, loop.parts["pi_hat"]][:, : loop.controller.estimated]
        channels = {name[4:]: value for name, value in own.items() if name.startswith("law_")}
        return Run(
            self._time[:rows].copy(),
            _unit_quaternions(robot, p[:, : robot.nq].copy()),
            v[:, :n].copy(),
            own["qdd"],
            own["tau"],
            own["tau_command"],
            None if motion is None else Motion(*(v[:rows] for v in motion)),
            Motion(own["q_seen"], own["qd_seen"], None) if "q_seen" in own else None,
            estimate.copy() if loop.controller.size else None,
            own["energy"],
            energy[:, 0].copy(),
            energy[:, 1].copy(),
            own["residual"],
            channels=_shaped(channels, loop),
            **self._words,
            complete=complete,
            notes=self._notes if complete else (*self._notes, _ended(rollout, records, b, rows)),
            provenance={**self._provenance, "seed": int(rollout.seeds[b % len(rollout.seeds)])},
            theta=p[:, loop.motors] if loop.motors else None,
            thetad=v[:, loop.motors] if loop.motors else None,
            thetadd=own.get("thetadd"),
            measured_motors=Motion(own["theta_seen"], own["thetad_seen"], None) if "theta_seen" in own else None,
        )


def _units(robot: Robot) -> tuple[str, ...]:
    return tuple("m" if slides else "rad" for slides in robot.slides)


def _unit_quaternions(robot: Robot, q: np.ndarray) -> np.ndarray:
    """Return positions with quaternions of length one; the integrator keeps their length only approximately."""
    for joint in robot.multiple_joints:
        end = robot.position_index(joint.coordinate) + joint.size
        q[:, end - 4 : end] /= np.linalg.norm(q[:, end - 4 : end], axis=1, keepdims=True)
    return q


def _ended(rollout: Rollout, records: Records, b: int, rows: int) -> str:
    """Warn of a roll-out that ended early, and return the note that says why."""
    which, z = "" if rollout.single else f" (roll-out {b})", records["z"][:, b]
    period = rollout.horizon.every / rollout.horizon.rate
    tame = rows < len(z) and bool(np.abs(z[rows]).max() < TAME)  # also false if it is not finite
    if tame and not np.isfinite(records["tau_command"][rows, b]).all():
        note = f"the controller gave a torque that is not finite at {rows * period:g} s"
        warn("{note}{which}; the run is kept up to there.", note=note.capitalize(), which=which)
        return note
    last = max(rows - 1, 0) * period
    warn(
        "The loop diverged after {last:g} s{which}; the run is kept up to there: lower the gains, or raise the rate.",
        last=last,
        which=which,
    )
    return f"diverged: not finite after {last:g} s"


def provenance_of(scenario: Scenario, loop: ControlLoop) -> dict[str, object]:
    """Return where runs come from: the robot, the plant, the controller, the horizon and the sensors."""
    robot, horizon, reference = scenario.plant.robot, scenario.horizon, scenario.reference
    return {
        "version": __version__,
        "robot": robot.name,
        "fingerprint": robot.fingerprint,
        "plant": type(scenario.plant).__name__,
        "terms": [t.name for t in scenario.plant.terms],
        "controller": loop.controller.name,
        **horizon.to_dict(),
        "tolerance": horizon.tolerance if horizon.adaptive_steps else None,
        "reference": None if reference is None else str(getattr(reference, "__name__", type(reference).__name__)),
        "coordinates": "joints" if loop.controller.of_joints else "task",
        "sensors": None if scenario.sensors is None else repr(scenario.sensors),
    }


def _audit(rollout: Rollout, records: Records) -> Records:
    """Return the energy (rows, B) and the residual of d/dt (K + P) = qd^T tau - dissipation."""
    z, loop, jump = records["z"], rollout.loop, records["jump"][..., 0]
    work, heat = np.moveaxis(z[..., loop.parts["energy"]], -1, 0)
    samples = [z.reshape(-1, z.shape[-1])[:, loop.parts["x"]]]
    if rollout.loads is not None:
        changes = rollout.change_steps()
        loads = [rollout.loads.at(k * rollout.dt) for k in (0, *changes)]
        current = np.searchsorted(changes, np.arange(len(z)) * rollout.horizon.every, side="right")
        samples.append(np.concatenate([np.broadcast_to(loads[c], (rollout.batch, loads[c].shape[1])) for c in current]))
    energy, residual = fresh(z.shape[:2]), fresh(z.shape[:2])
    loop.plant.energy_program().of_threads(rollout.threads).fill(samples, [energy.reshape(-1)])

    def balance(part: slice) -> None:
        with np.errstate(all="ignore"):  # of roll-outs that diverged
            own = np.subtract(energy[:, part], energy[0, part], out=residual[:, part])
            own -= work[:, part]
            own += heat[:, part]
            own -= jump[:, part]

    in_shares(balance, rollout.batch, rollout.threads, _LEAST_SHARE)
    return {"energy": energy, "residual": residual}


def _sums(rollout: Rollout, records: Records) -> np.ndarray:
    """Return a number for each roll-out that is finite only if its states and accelerations are; it may overflow as well."""
    sums = np.empty(rollout.batch)

    def add(part: slice) -> None:
        with np.errstate(all="ignore"):
            for a in range(part.start, part.stop, _AT_ONCE):
                few = slice(a, min(a + _AT_ONCE, part.stop))
                sums[few] = sum(records[name][:, few].sum(axis=0).sum(axis=1) for name in ("z", "qdd"))

    in_shares(add, rollout.batch, rollout.threads, _LEAST_SHARE)
    return sums


def _shaped(channels: Records, loop: ControlLoop) -> Records:
    shapes = {p.name: p.shape for p in loop.controller.channels(loop.continuous)}
    return {name: value.reshape(len(value), *shapes[name]) for name, value in channels.items()}
