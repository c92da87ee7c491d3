"""Roll-outs period by period, the plant moved from Python: adaptive steps, stiction, Python functions inside."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from taupi.errors import TaupiError
from taupi.simulation.integrators import FIXED, advance, nodes, solve
from taupi.simulation.plants.rigid_plant import RigidPlant, Sticking
from taupi.simulation.rollouts.compiled_rollout import load_jump, python_torque
from taupi.simulation.rollouts.rollout import Records, Rollout, StepInputs


def step_out(rollout: Rollout) -> Records:
    """Return the same as `roll_out`, with the plant moved from Python, one roll-out after another."""
    each = [_step_one(rollout.part(b, b + 1)) for b in range(rollout.batch)]
    rows = max(len(r["z"]) for r in each)
    return {name: np.concatenate([_padded(r[name], rows) for r in each], axis=1) for name in each[0]}


def _padded(array: np.ndarray, rows: int) -> np.ndarray:
    missing = np.full((rows - len(array), *array.shape[1:]), np.nan)
    return np.concatenate([array, missing]) if len(missing) else array


def _step_one(rollout: Rollout) -> Records:
    step_inputs, mover, steps = StepInputs(rollout), Mover(rollout), rollout.horizon.steps
    kept: dict[str, list[np.ndarray]] = {}
    z, jump, before = rollout.start[0].copy(), np.zeros((1, 1)), None
    for first, last in rollout.blocks():
        inputs = step_inputs.block(first, last)
        jump = jump + load_jump(rollout, z[None], before, inputs.get("load"))
        before = inputs.get("load")
        for k in range(first, last):
            z_next, outputs = mover.decide(k, z, {n: v[(k - first) % len(v), 0] for n, v in inputs.items()})
            if k % rollout.horizon.every == 0:
                for name, value in {"z": z, **outputs, "jump": jump[0]}.items():
                    kept.setdefault(name, []).append(np.array(value))
            z = mover.move(k, z_next, outputs["tau"], inputs.get("load"), step_inputs) if k < steps else z_next
            if not np.isfinite(z).all():
                z[:] = np.nan
                break
        if not np.isfinite(z).all():
            break
    return {name: np.stack(parts)[:, None, :] for name, parts in kept.items()}


class Mover:
    """One roll-out's compiled parts: the decision at the beginning of a period, and the plant's derivative within it."""

    def __init__(self, rollout: Rollout) -> None:
        loop = rollout.loop
        self.rollout, self.loop, self.single = rollout, loop, rollout.single
        self._decide, self._rate = loop.kernels().step(1).bound(), loop.kernels().rate.bound()
        self._see = loop.kernels().seeing.bound()
        # The law is inside the derivative, or a function is called there; otherwise the torque is held.
        self.inside = loop.inside
        self.asks = loop.controller.function is not None
        horizon = rollout.horizon
        plant = loop.plant
        self.sticking: Sticking | None = None
        if isinstance(plant, RigidPlant) and plant.stiction:
            self.sticking = Sticking(plant, horizon.integrator, horizon.tolerance)

    def decide(self, k: int, z: np.ndarray, inputs: Records) -> tuple[np.ndarray, Records]:
        """Return z with the controller's memory advanced, and the other outputs of the step."""
        if self.asks:
            inputs = inputs | {"command": self._ask(k * self.rollout.dt, z, inputs)}
        for name, value in {"z": z, **inputs}.items():
            self._decide.inputs[name].reshape(-1)[:] = value
        self._decide()
        outputs = {name: value.reshape(-1).copy() for name, value in self._decide.outputs.items()}
        if self.sticking is not None:
            y, externals = z[: 2 * self.loop.n], {p.name: inputs[p.name] for p in self.loop.plant.externals}
            mode = self.sticking.modes(y, outputs["tau"], externals)
            outputs["qdd"] = self.sticking.evaluate(y, outputs["tau"], mode, externals)[0]
        return outputs.pop("z_next"), outputs

    def _ask(self, t: float, z: np.ndarray, inputs: Records) -> np.ndarray:
        self._see.inputs["z"][:] = z
        if "noise" in inputs:
            self._see.inputs["noise"][:] = inputs["noise"]
        self._see()
        seen = (self._see.outputs[f"{name}_seen"] for name in self.loop.signals)
        tau = python_torque(self.rollout, t, *(v if self.single else v[None] for v in seen))
        return tau if tau.ndim == 1 else tau[0]

    def move(
        self, k: int, z: np.ndarray, tau: np.ndarray, load: np.ndarray | None, step_inputs: StepInputs
    ) -> np.ndarray:
        """Return z at the end of the period."""
        loop, rollout, start = self.loop, self.rollout, k * self.rollout.dt
        width = self._rate.inputs["y"].size
        varies = self.inside or any(p.name != "load" for p in loop.plant.externals)
        if load is not None:
            self._rate.inputs["load"][:] = load[0, 0]
        for name, value in rollout.inputs.items() if self.inside else ():
            self._rate.inputs[name].reshape(-1)[:] = value[0]

        def rate(t: float, y: np.ndarray) -> np.ndarray:
            self._rate.inputs["y"][:] = y
            if not self.inside:
                self._rate.inputs["tau"][:] = self._continuous(t, y) if self.asks and loop.continuous else tau
            if varies:
                at = np.array([t])
                signals = step_inputs.signals(k, at, (0.0,)) | (step_inputs.motion(at, (0.0,)) if self.inside else {})
                for name, value in signals.items():
                    self._rate.inputs[name].reshape(-1)[:] = value[0, 0]
            self._rate()
            return self._rate.outputs["dy"].copy()

        def acting(t: float) -> Records:
            signals = step_inputs.signals(k, np.array([t]), (0.0,)) if varies else {}
            return signals if load is None else {"load": load[0, 0], **signals}

        moved = z.copy()
        if self.sticking is not None:
            moved[:width] = self.sticking.move(z[:width], tau, start, start + rollout.dt, acting)
            return moved
        moved[:width] = self._moved(rate, z[:width], start)
        return moved

    def _continuous(self, t: float, y: np.ndarray) -> np.ndarray:
        loop, n, motors = self.loop, self.loop.n, self.loop.motors
        p, v = y[: loop.positions], y[loop.positions : loop.positions + loop.plant.size]
        seen = (p[: loop.plant.robot.nq], v[:n], *([p[motors], v[motors]] if motors else []))
        tau = python_torque(self.rollout, t, *(s if self.single else s[None] for s in seen))
        return tau if tau.ndim == 1 else tau[0]

    def _moved(self, rate: Callable[[float, np.ndarray], np.ndarray], y: np.ndarray, t: float) -> np.ndarray:
        horizon, dt = self.rollout.horizon, self.rollout.dt
        if horizon.adaptive_steps:
            try:
                return solve(horizon.integrator, rate, y, t, t + dt, horizon.tolerance)
            except TaupiError:
                return np.full_like(y, np.nan)
        tableau, substeps = FIXED[horizon.integrator], horizon.substeps
        at = nodes(tableau, substeps)
        stepped: np.ndarray = advance(
            tableau, lambda x, node: rate(t + at[node] * dt, x), y, dt / substeps, substeps, self.loop.plant.size
        )
        return stepped
