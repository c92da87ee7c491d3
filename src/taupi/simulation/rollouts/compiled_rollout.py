"""Roll-outs compiled from end to end: all control periods in one call of machine code, recorded or only summarised."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from taupi.errors import TaupiError
from taupi.program.batch_results import fresh, fresh_zeros
from taupi.program.step_loop import Call, StepLoop
from taupi.simulation.rollouts.rollout import Records, Rollout, StepInputs


def roll_out(rollout: Rollout) -> Records:
    """Return z, tau, tau_command, qdd, ... as (rows, B, size), every `every`-th period; `jump` is what loads added, J."""
    rows, every, b = rollout.horizon.rows, rollout.horizon.every, rollout.batch
    calls = _period(rollout)
    z = _rows(calls, "z_next", (rows + 1, b, rollout.loop.size))  # one more for the last state
    z[0] = rollout.start
    kept = {p.name: _rows(calls, p.name, (rows, b, p.size)) for p in calls[0].kernel.program.outputs[1:]}
    jumps, jump, before, end = fresh((rows, b, 1)), np.zeros((b, 1)), None, rows
    loop, step_inputs = StepLoop(calls, {"z": z}, kept, every, rollout.threads), StepInputs(rollout)
    for first, last in rollout.blocks():
        inputs = step_inputs.block(first, last)
        loop.begin(first, last, _inputs(rollout, step_inputs, inputs, first, last))
        jump = jump + load_jump(rollout, loop.state("z"), before, inputs.get("load"))
        before = inputs.get("load")
        jumps[-(-first // every) : -(-last // every)] = jump
        if rollout.loop.controller.function is None:
            loop.run(last - first)
        else:
            _ask_and_run(rollout, first, loop, inputs)
        if not any(np.isfinite(state).all() for state in loop.state("z")):
            end = -(-last // every)
            break
    return {name: array[:end] for name, array in {"z": z, **kept, "jump": jumps}.items()}


def _rows(calls: Sequence[Call], name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Return memory for the rows of an output: zero if some entries of it always are, since kernels do not write these."""
    outputs = [each for call in calls for each in zip(call.kernel.program.outputs, call.kernel.nonzeros, strict=True)]
    partial = any(port.name == name and count < port.size for port, count in outputs)
    return (fresh_zeros if partial else fresh)(shape)


def _period(rollout: Rollout) -> list[Call]:
    """Return what runs in each control period: the step, or a decision and then the steps of the plant."""
    loop, kernels, b = rollout.loop, rollout.loop.kernels(), rollout.batch
    steps = [Call(kernels.move(b), loop.substeps)] if loop.split else []
    return [Call(kernels.step(b)), *steps]


def _inputs(rollout: Rollout, step_inputs: StepInputs, inputs: Records, first: int, last: int) -> list[Records]:
    """Return the inputs of what runs in each of the periods first .. last - 1, from the step's `inputs`."""
    if rollout.loop.controller.function is not None:
        inputs["command"] = np.zeros((last - first, rollout.batch, rollout.loop.n))
    return [inputs, step_inputs.inner(first, last, inputs)] if rollout.loop.split else [inputs]


def load_jump(rollout: Rollout, z: np.ndarray, before: np.ndarray | None, after: np.ndarray | None) -> np.ndarray:
    """Return the energy that a change of load added, (B, 1) in J."""
    if before is None or after is None or np.array_equal(before, after):
        return np.zeros((rollout.batch, 1))
    x, energy = z[:, rollout.loop.parts["x"]], rollout.loop.plant.energy_program()
    difference: np.ndarray = energy(x, np.broadcast_to(after[0], (rollout.batch, after.shape[2])))
    return (difference - energy(x, np.broadcast_to(before[0], (rollout.batch, before.shape[2]))))[:, None]


def _ask_and_run(rollout: Rollout, first: int, loop: StepLoop, inputs: Records) -> None:
    """Run a block period by period, asking a Python function for the torque of each."""
    kernel, command, b = rollout.loop.kernels().seeing, inputs["command"], rollout.batch
    seen = [np.zeros((b, p.size)) for p in kernel.program.outputs]
    noise = [inputs[p.name] for p in kernel.program.inputs if p.name == "noise"]
    look = kernel.of_arrays([loop.state("z"), *(rows[0] for rows in noise)], seen)
    for k in range(len(command)):
        look(loop.state("z"), *(rows[k] for rows in noise))
        state = (v[0] if rollout.single else v for v in seen)
        command[k] = python_torque(rollout, (first + k) * rollout.dt, *state)
        loop.run(1)


def python_torque(rollout: Rollout, t: float, q: np.ndarray, *more: np.ndarray) -> np.ndarray:
    """Return the torque of a Python controller at a time, checked; it sees q and `more`: qd (and theta, thetad)."""
    function, n = rollout.loop.controller.function, rollout.loop.n
    assert function is not None
    answer = function(t, q.copy(), *(v.copy() for v in more))
    try:
        tau = np.asarray(answer, dtype=float)
    except (TypeError, ValueError):
        tau = None
    if tau is None or tau.shape not in (q.shape, (n,)):
        expected = f"{n} torques" if tau is None else f"shape {q.shape}: one torque per joint"
        signals = ", ".join(rollout.loop.signals)
        raise TaupiError(
            "controller({t:g}, {signals}) gave {got!r}, expected {expected}.",
            t=t,
            signals=signals,
            got=answer,
            expected=expected,
        )
    return tau


@dataclass(frozen=True, eq=False)
class Statistics:
    """Peaks and sums over the periods of B roll-outs, up to the first value that is not finite."""

    z: np.ndarray  # (B, size of z) at the end
    error_peak: np.ndarray  # (B, n) each
    error_squares: np.ndarray
    late_squares: np.ndarray
    torque_peak: np.ndarray
    torque_squares: np.ndarray
    periods: np.ndarray  # (B,) that were finite

    @classmethod
    def of_table(cls, table: np.ndarray, z: np.ndarray) -> Statistics:
        """Return the statistics in a table (B, 5 n + 1), as a kernel keeps it."""
        n = (table.shape[1] - 1) // 5
        a, b, c, d, e = (np.ascontiguousarray(table[:, k * n : (k + 1) * n]) for k in range(5))
        return cls(np.ascontiguousarray(z), a, b, c, d, e, table[:, -1].astype(int))

    @classmethod
    def joined(cls, parts: Sequence[Statistics]) -> Statistics:
        """Return the statistics of several batches, one after the other."""
        return cls(*(np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(cls)))


def summarise(rollout: Rollout, late: int) -> Statistics:
    """Return the statistics of compiled roll-outs; errors count as late from period `late` on."""
    b, n, size, kernels = rollout.batch, rollout.loop.n, rollout.loop.size, rollout.loop.kernels()
    # One group of all periods: of each array only the first and the last state are kept.
    carried = {name: np.zeros((2, b, k)) for name, k in (("z", size), ("final", size), ("statistics", 5 * n + 1))}
    carried["z"][0] = rollout.start
    calls = [Call(kernels.holding(b)), *_period(rollout), Call(kernels.counting(b))]
    loop = StepLoop(calls, carried, {}, rollout.horizon.steps + 1, rollout.threads)
    target, step_inputs = rollout.wanted(), StepInputs(rollout)
    for first, last in rollout.blocks():
        own = {
            "period": np.arange(first, last, dtype=float)[:, None, None],
            "q_des": np.ascontiguousarray(target[first:last, None]),
            "late": np.full((1, 1, 1), float(late)),
        }
        inputs = step_inputs.block(first, last)
        loop.begin(first, last, [own, *_inputs(rollout, step_inputs, inputs, first, last), own])
        if rollout.loop.controller.function is None:
            loop.run(last - first)
        else:
            _ask_and_run(rollout, first, loop, inputs)
        if (loop.state("statistics")[:, -1] < last).all():
            break
    return Statistics.of_table(loop.state("statistics"), loop.state("final"))
