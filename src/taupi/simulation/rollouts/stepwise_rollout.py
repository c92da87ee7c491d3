"""Roll-outs interval by interval, the plant moved from Python: adaptive integrators, stiction, functions inside."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from taupi.errors import TaupiError
from taupi.simulation.integrators import FIXED, advance, nodes, solve
from taupi.simulation.plants.stiction import Sticking
from taupi.simulation.rollouts.compiled_rollout import Job, Outside, Records, ask, load_jump


def step_out(job: Job) -> Records:
    """Return what `roll_out` does, the plant moved from Python; one roll-out after the other."""
    each = [_one_out(job, b) for b in range(job.batch)]
    rows = max(len(r["z"]) for r in each)
    return {name: np.concatenate([_padded(r[name], rows) for r in each], axis=1) for name in each[0]}


def _padded(array: np.ndarray, rows: int) -> np.ndarray:
    missing = np.full((rows - len(array), *array.shape[1:]), np.nan)
    return np.concatenate([array, missing]) if len(missing) else array


def _chosen(job: Job, b: int) -> Job:
    """Return the job of one roll-out."""

    def row(value: np.ndarray) -> np.ndarray:
        return value[b : b + 1] if len(value) > 1 else value

    loads, settings = job.loads, job.settings
    return dataclasses.replace(
        job,
        start=job.start[b : b + 1],
        seeds=[job.seeds[b % len(job.seeds)]],
        loads=None if loads is None else lambda t: row(loads(t)),
        settings=None if settings is None else {k: row(v) for k, v in settings.items()},
        deviations=job.deviations if job.deviations is None or job.deviations.ndim == 1 else job.deviations[b],
    )


def _one_out(whole: Job, b: int) -> Records:
    job = _chosen(whole, b)
    outside, mover = Outside(job), Mover(job, whole.single)
    kept: dict[str, list[np.ndarray]] = {}
    z, jump, before = job.start[0].copy(), np.zeros((1, 1)), None
    for first, last in job.blocks():
        inputs = outside.block(first, last)
        jump = jump + load_jump(job, z[None], before, inputs.get("load"))
        before = inputs.get("load")
        for k in range(first, last):
            z_next, told = mover.decide(k, z, {n: v[(k - first) % len(v), 0] for n, v in inputs.items()})
            if k % job.every == 0:
                for name, value in {"z": z, **told, "jump": jump[0]}.items():
                    kept.setdefault(name, []).append(np.array(value))
            z = mover.move(k, z_next, told["tau"], inputs.get("load"), outside) if k < job.steps else z_next
            if not np.isfinite(z).all():
                z[:] = np.nan
                break
        if not np.isfinite(z).all():
            break
    return {name: np.stack(parts)[:, None, :] for name, parts in kept.items()}


class Mover:
    """One roll-out's compiled parts: the decision at the beginning of a period, and the plant's derivative within it."""

    def __init__(self, job: Job, single: bool) -> None:
        self.job, self.loop, self.single = job, job.loop, single
        self._decide, self._rate = job.loop.kernels().step(1).bound(), job.loop.kernels().rate.bound()
        self._see = job.loop.kernels().seeing.bound()
        # The law is inside the derivative, or a function is asked there; otherwise the torque is held.
        self.inside = job.loop.inside
        self.asks = job.loop.controller.function is not None
        sticks = getattr(job.loop.plant, "stiction", False)
        self.sticking = Sticking(job.loop.plant, job.method, job.tolerance) if sticks else None

    def decide(self, k: int, z: np.ndarray, inputs: Records) -> tuple[np.ndarray, Records]:
        """Return z with what the controller remembers brought forward, and what the step tells."""
        if self.asks:
            inputs = inputs | {"command": self._ask(k * self.job.dt, z, inputs)}
        for name, value in {"z": z, **inputs}.items():
            self._decide.inputs[name].reshape(-1)[:] = value
        self._decide()
        told = {name: value.reshape(-1).copy() for name, value in self._decide.outputs.items()}
        if self.sticking is not None:
            y, outside = z[: 2 * self.loop.n], {p.name: inputs[p.name] for p in self.loop.plant.externals}
            mode = self.sticking.modes(y, told["tau"], outside)
            told["qdd"] = self.sticking.evaluate(y, told["tau"], mode, outside)[0]
        return told.pop("z_next"), told

    def _ask(self, t: float, z: np.ndarray, inputs: Records) -> np.ndarray:
        self._see.inputs["z"][:] = z
        if "noise" in inputs:
            self._see.inputs["noise"][:] = inputs["noise"]
        self._see()
        seen = (self._see.outputs[f"{name}_seen"] for name in self.loop.signals)
        tau = ask(self.job, t, *(v if self.single else v[None] for v in seen))
        return tau if tau.ndim == 1 else tau[0]

    def move(self, k: int, z: np.ndarray, tau: np.ndarray, load: np.ndarray | None, outside: Outside) -> np.ndarray:
        """Return z at the end of the period."""
        loop, job, start = self.loop, self.job, k * self.job.dt
        width = self._rate.inputs["y"].size
        varies = self.inside or any(p.name != "load" for p in loop.plant.externals)
        if load is not None:
            self._rate.inputs["load"][:] = load[0, 0]
        for name, value in (job.settings or {}).items() if self.inside else ():
            self._rate.inputs[name].reshape(-1)[:] = value[0]

        def rate(t: float, y: np.ndarray) -> np.ndarray:
            self._rate.inputs["y"][:] = y
            if not self.inside:
                self._rate.inputs["tau"][:] = self._continuous(t, y) if self.asks and loop.continuous else tau
            if varies:
                at = np.array([t])
                signals = outside.signals(k, at, (0.0,)) | (outside.motion(at, (0.0,)) if self.inside else {})
                for name, value in signals.items():
                    self._rate.inputs[name].reshape(-1)[:] = value[0, 0]
            self._rate()
            return self._rate.outputs["dy"].copy()

        def acting(t: float) -> Records:
            signals = outside.signals(k, np.array([t]), (0.0,)) if varies else {}
            return signals if load is None else {"load": load[0, 0], **signals}

        moved = z.copy()
        if self.sticking is not None:
            moved[:width] = self.sticking.move(z[:width], tau, start, start + job.dt, acting)
            return moved
        moved[:width] = self._moved(rate, z[:width], start)
        return moved

    def _continuous(self, t: float, y: np.ndarray) -> np.ndarray:
        size, n, motors = self.loop.plant.size, self.loop.n, self.loop.motors
        p, v = y[:size], y[size : 2 * size]
        seen = (p[:n], v[:n], *([p[motors], v[motors]] if motors else []))
        tau = ask(self.job, t, *(s if self.single else s[None] for s in seen))
        return tau if tau.ndim == 1 else tau[0]

    def _moved(self, rate: Callable[[float, np.ndarray], np.ndarray], y: np.ndarray, t: float) -> np.ndarray:
        job, loop = self.job, self.loop
        if job.method not in FIXED:
            try:
                return solve(job.method, rate, y, t, t + job.dt, job.tolerance)
            except TaupiError:
                return np.full_like(y, np.nan)
        tableau, substeps = FIXED[job.method], loop.substeps
        at = nodes(tableau, substeps)
        stepped: np.ndarray = advance(
            tableau, lambda x, node: rate(t + at[node] * job.dt, x), y, job.dt / substeps, substeps, loop.plant.size
        )
        return stepped
