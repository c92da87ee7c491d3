"""Roll-outs prepared and taken apart: what a call shares, where each starts, and the runs that come of it."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from taupi.errors import Argument, TaupiError, TaupiWarning, shown, unknown
from taupi.simulation.arguments import positive, schedule, setting_rows, whole, with_payloads
from taupi.simulation.controller import Controller
from taupi.simulation.integrators import FIXED, UNDAMPED, checked_integrator
from taupi.simulation.loop import Loop
from taupi.simulation.reach import unreachable
from taupi.simulation.references import Motion, as_reference
from taupi.simulation.rollout import Job, Records, roll_out
from taupi.simulation.run import Run
from taupi.simulation.sensors import Sensors
from taupi.simulation.stepwise import step_out
from taupi.version import __version__

MODES = ("sampled", "continuous")
TAME = 1e6  # of a state: one from which a torque that is not finite is the controller's own doing
Start = tuple[np.ndarray | None, np.ndarray | None]  # q and qd, (1 or B, n), or None


class Jobs:
    """What all roll-outs of a call share, checked; `run` does those of one controller."""

    def __init__(
        self,
        plant: Any,
        reference: Any,
        duration: float,
        rate: float,
        integrator: str,
        substeps: int,
        control: str,
        sensors: Sensors | None,
        tolerance: float,
        every: int,
        threads: int,
        single: bool,
    ) -> None:
        if not hasattr(plant, "robot"):
            raise TaupiError(
                f"plant is {shown(plant)}, expected a plant: taupi.RigidPlant(robot), taupi.ElasticPlant(robot)."
            )
        if control not in MODES:
            raise unknown("control", control, MODES)
        self.plant, self.reference, self.sensors, self.single = plant, reference, sensors, single
        self.doubts: list[str] = []
        self.rate, self.tolerance = positive(rate, "rate"), positive(tolerance, "tolerance")
        self.steps = round(positive(duration, "duration") * self.rate)
        if self.steps < 1:
            raise TaupiError(f"duration is {duration:g} s, less than one control period of {1 / self.rate:g} s.")
        self.integrator, self.continuous = checked_integrator(integrator), control == "continuous"
        self.substeps, self.every = whole(substeps, "substeps"), whole(every, "every")
        self.threads, self.n = whole(threads, "threads"), plant.robot.n
        if sensors is not None and not isinstance(sensors, Sensors):
            raise TaupiError(f"sensors is {shown(sensors)}, expected taupi.Sensors(...) or None.")
        if getattr(plant, "stiction", False) and (integrator in FIXED or self.continuous):
            raise TaupiError(
                "stiction needs an adaptive integrator, such as 'rk45', and control='sampled'; or use smoothing= instead."
            )

    def run(
        self,
        controller: Controller,
        starts: Start,
        seeds: Sequence[int],
        settings: Mapping[str, Any],
        payloads: Sequence[Any] | None,
        batch: int = 1,
    ) -> list[Run]:
        """Return the runs of one controller."""
        asked = controller.function is not None and self.continuous
        tableau = None if asked else FIXED.get(self.integrator)
        if controller.sees_motors and not getattr(self.plant, "motors", ()):
            raise TaupiError(
                f"{controller.name} sees motors, but a {type(self.plant).__name__} has none: use taupi.ElasticPlant(robot)."
            )
        loop = Loop(self.plant, controller, self.sensors, 1 / self.rate, tableau, self.substeps, self.continuous)
        reference = self._reference(controller)
        whole_motion = None if reference is None else _floats(reference(np.arange(self.steps + 1) / self.rate))
        z = self._start(loop, controller, starts, reference, batch)
        self._warn_of_springs(z[:, : self.n])
        deviations = None
        if self.sensors is not None:
            deviations = self.sensors.deviations(loop.joints, None if whole_motion is None else whole_motion.q)
        loads, times = self._loads(payloads)
        job = Job(
            loop,
            z,
            self.steps,
            self.every,
            self.threads,
            reference,
            whole_motion,
            deviations,
            seeds,
            setting_rows(controller.settings(self.continuous), settings, batch),
            loads,
            times,
            self.single,
            self.integrator,
            self.tolerance,
        )
        self._doubts(controller, whole_motion)
        records = step_out(job) if job.stepwise else roll_out(job)
        motion = None if whole_motion is None else Motion(*(v[:: self.every] for v in whole_motion))
        records |= _audit(job, records)
        told = self._provenance(loop)
        return [self._run(job, records, motion, told, b) for b in range(batch)]

    def _doubts(self, controller: Controller, motion: Motion | None) -> None:
        """Refuse a motion that is none; warn of one that no arm of this description could follow."""
        if motion is None:
            return
        for name, value in zip(("q", "qd", "qdd"), motion, strict=True):
            if not np.isfinite(value).all():
                row = int(np.argmin(np.isfinite(value).all(axis=1)))
                raise TaupiError(f"reference({row / self.rate:g}) gives {name} that is not finite: {value[row]}.")
        times = np.arange(self.steps + 1) / self.rate
        self.doubts = list(controller.doubts(motion, times)) if controller.doubts is not None else []
        if controller.of_joints:
            self.doubts += unreachable(self.plant, motion, times)
        for doubt in self.doubts:
            warnings.warn(f"{doubt[0].upper()}{doubt[1:]}.", TaupiWarning, stacklevel=4)

    def _warn_of_springs(self, q: np.ndarray) -> None:
        """Say so where a step is too long for the fastest spring."""
        if self.integrator not in UNDAMPED or not hasattr(self.plant, "fastest"):
            return
        step, swing = 1 / (self.rate * self.substeps), self.plant.fastest(q)
        if step * swing > UNDAMPED[self.integrator]:
            enough = math.ceil(swing / self.rate / UNDAMPED[self.integrator] * 1.5)
            problem = (
                f"A spring of {self.plant.robot.name} swings at {swing:.4g} rad/s, too fast for {self.integrator} in steps of "
                f"{step:.3g} s:"
            )
            remedy = ("use ", Argument("substeps", enough), " or more, or ", Argument("integrator", "rosenbrock"), ".")
            warnings.warn(TaupiWarning(problem, remedy=remedy), stacklevel=4)

    def _reference(self, controller: Controller) -> Callable[[np.ndarray], Motion] | None:
        if self.reference is None:
            if controller.needs_reference():
                raise TaupiError(f"{controller.name} follows a reference: give one, such as taupi.Sinusoids(...).")
            return None
        return as_reference(self.reference, controller.reference_size(self.n))

    def _loads(self, payloads: Sequence[Any] | None) -> tuple[Callable[[float], np.ndarray] | None, tuple[float, ...]]:
        plant = self.plant
        if not getattr(plant, "loads", ()):
            return None, ()
        if payloads is None:
            return (lambda t: plant.load_at(t)[None]), tuple(t for t, _ in plant.payloads)
        plants = [with_payloads(plant, schedule(p)) for p in payloads]
        times = tuple({t for p in plants for t, _ in p.payloads})
        return (lambda t: np.stack([p.load_at(t) for p in plants])), times

    def _start(
        self,
        loop: Loop,
        controller: Controller,
        starts: Start,
        reference: Callable[[np.ndarray], Motion] | None,
        batch: int,
    ) -> np.ndarray:
        n, size = self.n, self.plant.size
        q, qd = starts
        if q is None and reference is not None and controller.of_joints:
            motion = reference(np.zeros(1))
            q, qd = motion.q, motion.qd
        z = np.zeros((batch, loop.size))
        for name, value in (("q", q), ("qd", qd)):
            if value is None:
                continue
            if value.shape[-1] not in (n, size):
                raise TaupiError(f"initial {name} has shape {value.shape[1:]}, expected ({n},): one per joint.")
            if not np.isfinite(value).all():
                raise TaupiError(f"initial {name} is {shown(value.tolist())}, expected finite numbers.")
        z[:, loop.parts["x"]] = self._state(q, qd)
        if controller.start is not None:
            if not np.isfinite(controller.start).all():
                raise TaupiError("parameters has entries that are not finite: an estimate has to start somewhere.")
            z[:, loop.parts["pi_hat"]] = controller.start
        if self.sensors is not None:
            seen = self.sensors.start(z[:, :size], z[:, size : 2 * size], loop.dt, loop.sensor_delay)
            for name in set(seen) & set(loop.parts):
                z[:, loop.parts[name]] = seen[name]
        return z

    def _state(self, q: np.ndarray | None, qd: np.ndarray | None) -> np.ndarray:
        """Return positions and velocities (1 or B, 2 size) from those of the joints, or of all; 0 where none are given."""
        n, size = self.n, self.plant.size
        q = np.zeros((1, n)) if q is None else q
        qd = np.zeros((1, q.shape[-1])) if qd is None else qd
        if q.shape[-1] != qd.shape[-1]:
            raise TaupiError(f"initial has {q.shape[-1]} positions and {qd.shape[-1]} velocities, expected as many.")
        if q.shape[-1] < size:
            q, qd = self.plant.started(*np.broadcast_arrays(q, qd))
        return np.concatenate(np.broadcast_arrays(q, qd), axis=-1)

    def _run(self, job: Job, records: Records, motion: Motion | None, told: dict[str, Any], b: int) -> Run:
        """Return one of the roll-outs as a Run, cut where it stopped being finite."""
        loop, n, size = job.loop, self.n, self.plant.size
        z = records["z"][:, b]
        good = np.isfinite(z).all(axis=1) & np.isfinite(records["qdd"][:, b]).all(axis=1)
        rows = len(z) if good.all() else int(np.argmin(good))
        complete = rows == self.steps // self.every + 1
        own = {name: value[:rows, b] for name, value in records.items()}
        if job.batch > 1:  # a run of its own, not a part of all of them
            own = {name: np.array(value) for name, value in own.items()}
        time = np.arange(rows) * self.every / self.rate
        notes = [*self.doubts] if complete else [*self.doubts, self._ended(job, records, b, rows)]
        seen = Motion(own["q_seen"], own["qd_seen"], None) if "q_seen" in own else None
        seen_motors = Motion(own["theta_seen"], own["thetad_seen"], None) if "theta_seen" in own else None
        p, v = own["z"][:, :size], own["z"][:, size : 2 * size]
        robot, channels = self.plant.robot, {k[4:]: v for k, v in own.items() if k.startswith("law_")}
        prismatic = [j.prismatic for j in robot.driving_joints]
        return Run(
            time,
            p[:, :n].copy(),
            v[:, :n].copy(),
            own["qdd"],
            own["tau"],
            own["tau_command"],
            None if motion is None else Motion(*(v[:rows] for v in motion)),
            seen,
            own["z"][:, loop.parts["pi_hat"]][:, : loop.controller.estimated].copy() if loop.controller.size else None,
            own["energy"],
            own["z"][:, loop.parts["energy"]][:, 0].copy(),
            own["z"][:, loop.parts["energy"]][:, 1].copy(),
            own["residual"],
            channels=_shaped(channels, loop),
            names=robot.joint_names,
            units=tuple("m" if p else "rad" for p in prismatic),
            parameter_names=loop.controller.labels,
            complete=complete,
            notes=tuple(notes),
            provenance=told | {"seed": int(job.seeds[b % len(job.seeds)])},
            theta=p[:, loop.motors] if loop.motors else None,
            thetad=v[:, loop.motors] if loop.motors else None,
            thetadd=own.get("thetadd"),
            measured_motors=seen_motors,
        )

    def _ended(self, job: Job, records: Records, b: int, rows: int) -> str:
        """Warn of a roll-out that ended early, and return the note that says why."""
        where, z = "" if self.single else f" (roll-out {b})", records["z"][:, b]
        tame = rows < len(z) and bool(np.abs(z[rows]).max() < TAME)  # false of what is not finite, too
        if tame and not np.isfinite(records["tau_command"][rows, b]).all():
            told = f"the controller gave a torque that is not finite at {rows * job.every / self.rate:g} s"
            warnings.warn(f"{told.capitalize()}{where}; the run is kept up to there.", TaupiWarning, stacklevel=5)
            return told
        last = max(rows - 1, 0) * job.every / self.rate
        remedy = "lower the gains, or raise the rate"
        warnings.warn(
            f"The loop diverged after {last:g} s{where}; the run is kept up to there: {remedy}.",
            TaupiWarning,
            stacklevel=5,
        )
        return f"diverged: not finite after {last:g} s"

    def _provenance(self, loop: Loop) -> dict[str, Any]:
        robot = self.plant.robot
        return {
            "version": __version__,
            "robot": robot.name,
            "fingerprint": robot.fingerprint,
            "plant": type(self.plant).__name__,
            "terms": [t.name for t in getattr(self.plant, "terms", ())],
            "controller": loop.controller.name,
            "control": "continuous" if self.continuous else "sampled",
            "rate": self.rate,
            "integrator": self.integrator,
            "substeps": self.substeps,
            "tolerance": None if self.integrator in FIXED else self.tolerance,
            "reference": None if self.reference is None else _named(self.reference),
            "coordinates": "joints" if loop.controller.of_joints else "task",
            "sensors": None if self.sensors is None else repr(self.sensors),
        }


def _floats(motion: Motion) -> Motion:
    return Motion(*(np.ascontiguousarray(v, dtype=float) for v in motion))


def _named(thing: Any) -> str:
    return str(getattr(thing, "__name__", type(thing).__name__))


def _audit(job: Job, records: Records) -> Records:
    """Return the energy (rows, B) and the residual of d/dt (K + P) = qd^T tau - dissipation."""
    z, loop = records["z"], job.loop
    x, (work, heat) = np.ascontiguousarray(z[..., loop.parts["x"]]), np.moveaxis(z[..., loop.parts["energy"]], -1, 0)
    program = loop.plant.energy_program()
    if job.loads is None:
        energy = program(x)
    else:
        changes = job.change_steps()
        loads = [job.loads(k * job.dt) for k in (0, *changes)]
        current = np.searchsorted(changes, np.arange(len(z)) * job.every, side="right")
        energy = program(x, np.stack([np.broadcast_to(loads[c], (job.batch, loads[c].shape[1])) for c in current]))
    return {"energy": energy, "residual": energy - energy[0] - work + heat - records["jump"][..., 0]}


def _shaped(channels: Records, loop: Loop) -> Records:
    shapes = {p.name: p.shape for p in loop.controller.channels(loop.continuous)}
    return {name: value.reshape(len(value), *shapes[name]) for name, value in channels.items()}
