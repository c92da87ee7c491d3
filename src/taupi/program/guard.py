"""What a step that runs beside hardware accepts, and what it gives: one policy, traced into the step in every language."""

from __future__ import annotations

import functools
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

import casadi as cs
import numpy as np

from taupi.program.ports import Port
from taupi.program.program import Program, simplified

# No result of a robot is larger; what is comes from a division by nearly nothing.
MOST_RESULT = 1e15
STATUS = Port("status", ())


class StepStatus(IntEnum):
    """What a guarded step did with its sample."""

    GOOD = 0
    SATURATED = 1
    REFUSED_INPUT = 2
    REFUSED_TIME = 3
    REFUSED_RESULT = 4


@dataclass(frozen=True, eq=False)
class Guard:
    """The limits of a step. A sample beyond them is refused: the state is held, and the results are zero.

    Attributes:
        most: The largest absolute values of signals, by name: (k,) each.
        longest: The longest time since the last sample, s.
        low: Lower bounds of the state (size,), -inf where there are none.
        high: Upper bounds of the state (size,), inf where there are none.
        effort: Limits (n,) of the first result, at which it saturates; inf where there are none. Empty if nothing saturates.
        largest: The largest result that counts as a number.
        positive: The names of signals that are refused below zero, such as gains; by default none.
    """

    most: Mapping[str, np.ndarray]
    longest: float
    low: np.ndarray
    high: np.ndarray
    effort: np.ndarray
    largest: float = MOST_RESULT
    positive: Sequence[str] = ()

    def admitted(self, signals: Mapping[str, cs.SX], dt: cs.SX | None) -> tuple[cs.SX, cs.SX]:
        """Return over SX whether the time and whether the signals of a sample are accepted; a comparison with NaN is false."""
        in_time = cs.SX(1) if dt is None else cs.logic_and(dt > 0, dt <= self.longest)
        possible = [cs.fabs(x) <= cs.DM(self.most[name]) for name, x in signals.items()]
        possible += [signals[name] >= 0 for name in self.positive]
        return in_time, _all(cs.vertcat(*possible))

    def words(self) -> list[str]:
        """Return the policy as sentences, for what is written about a step."""
        most = "; ".join(f"|{name}| > {_numbers(values)}" for name, values in self.most.items())
        most += "".join(f"; {name} < 0" for name in self.positive)
        lines = [
            f"A sample is refused if it is not finite, if dt is not above 0 and at most {self.longest:g} s, or if {most}.",
            "Then the state is held and the results are zero. The status says why: 0 good, 1 saturated, 2 impossible input, "
            "3 impossible dt, 4 a result that is not finite. The next good sample goes on where the last one ended.",
        ]
        if len(self.effort):
            limits = _numbers(self.effort) if np.isfinite(self.effort).any() else "nowhere: no effort limit is known"
            lines.append(f"Torques (N m) or forces (N) are cut off at {limits}. While one is, the state is held too.")
        bounded = np.abs(np.concatenate([self.low, self.high]))
        if (finite := bounded[np.isfinite(bounded)]).size:
            lines.append(
                f"Estimates stay within bounds, ten times the largest own value of the same unit: {finite.min():g} to "
                f"{finite.max():g} in size."
            )
        return lines


def _numbers(values: np.ndarray) -> str:
    """Return numbers in words, once if all are the same."""
    shown = [f"{v:g}" if np.isfinite(v) else "none" for v in values]
    return shown[0] if len(set(shown)) == 1 else f"({', '.join(shown)})"


def largest_like(values: np.ndarray, kinds: Sequence[str]) -> np.ndarray:
    """Return bounds (k,) of numbers: ten times the largest of the same kind, or 10 if all of a kind are zero.

    >>> largest_like(np.array([1.0, -3.0, 0.0]), ("kg", "kg", "m")).tolist()
    [30.0, 30.0, 10.0]
    """
    sizes = {kind: max(abs(v) for v, k in zip(values, kinds, strict=True) if k == kind) for kind in set(kinds)}
    return np.array([10.0 * (sizes[kind] or 1.0) for kind in kinds])


def guarded(program: Program, guard: Guard, signals: Sequence[str], state: str = "") -> Program:
    """Return a step program that keeps to the limits of a `guard`, with its status as one more result.

    Of the inputs `signals`, `state` and dt, the results r and the next state x+:

        refused (dt not in (0, longest], |signal| > most, or a result that is not finite):  0, x
        saturated (|r_1| > effort):  r_1 cut off, x; without a state, all other results are zero
        good:  r, x+ within its bounds

    The sample is replaced by zeros before anything is computed with it, so that a refused one reaches no result.

    Args:
        program: The step; its last output is the next state if it has a `state`.
        guard: The limits.
        signals: The inputs that are measured or wanted.
        state: The input that is the state; empty if the step has none.

    >>> import casadi as cs
    >>> from taupi.program.program import trace
    >>> add = trace("add", lambda x, s, dt: (x, s + dt * x), [Port("x", (1,)), Port("s", (1,)), Port("dt")],
    ...             [Port("y", (1,)), Port("next", (1,))])
    >>> one = np.ones(1)
    >>> step = guarded(add, Guard({"x": 5 * one}, 1.0, -one, one, 2 * one), ["x"], "s")
    >>> for x in (1.0, 3.0, 9.0, np.nan):
    ...     print([np.ravel(v).tolist() for v in step([x], [0.5], 1.0)])
    [[1.0], [1.0], [0.0]]
    [[2.0], [0.5], [1.0]]
    [[0.0], [0.5], [2.0]]
    [[0.0], [0.5], [2.0]]
    """
    inputs = {port.name: cs.SX.sym(port.name, port.size) for port in program.inputs}
    constants = cs.SX.sym("constants", len(program.constants))
    in_time, possible = guard.admitted({name: inputs[name] for name in signals}, inputs.get("dt"))
    accepted = cs.logic_and(in_time, possible)
    safe = {name: x if name == state else _if(accepted, x) for name, x in inputs.items()}
    results = program.function.call([*safe.values(), constants])
    finite = _all(cs.vertcat(*(cs.fabs(cs.vec(r)) <= guard.largest for r in results)))
    kept = cs.logic_and(accepted, finite)
    saturated: cs.SX = cs.SX(0)
    if len(guard.effort):
        limit = cs.DM(np.minimum(guard.effort, MOST_RESULT))
        saturated = 1 - _all(cs.fabs(results[0]) <= limit)
        results[0] = _between(results[0], -limit, limit)
    if state:
        bounded = results[-1]
        low, high = (cs.DM(np.clip(bound, -MOST_RESULT, MOST_RESULT)) for bound in (guard.low, guard.high))
        learns = kept * (1 - saturated)
        results[-1] = cs.if_else(learns, _between(bounded, low, high), inputs[state])
    learns = cs.logic_and(kept, cs.logic_not(saturated))
    others = [results[-1]] if state else [_if(learns, r) for r in results[1:]]
    results = [*(_if(kept, r) for r in (results[:-1] if state else results[:1])), *others]
    status = cs.if_else(saturated, int(StepStatus.SATURATED), int(StepStatus.GOOD))
    status = cs.if_else(finite, status, int(StepStatus.REFUSED_RESULT))
    status = cs.if_else(possible, status, int(StepStatus.REFUSED_INPUT))
    status = cs.if_else(in_time, status, int(StepStatus.REFUSED_TIME))
    function = cs.Function(f"{program.name}_guarded", [*inputs.values(), constants], simplified([*results, status]))
    outputs = (*program.outputs, STATUS)
    return Program(f"{program.name}_guarded", program.inputs, outputs, program.constants, function)


def _if(condition: cs.SX, value: cs.SX) -> cs.SX:
    """Return the value, or zero if the condition is false: chosen, not multiplied, so that a NaN does not pass."""
    return cs.vertcat(*(cs.if_else(condition, entry, 0) for entry in cs.vertsplit(cs.vec(value))))


def _all(conditions: cs.SX) -> cs.SX:
    """Return the product of conditions, 0 or 1 each: a multiplication is faster in C than the call of fmin, or a branch."""
    return cs.SX(functools.reduce(operator.mul, cs.vertsplit(conditions)))


def _between(x: cs.SX, low: cs.DM, high: cs.DM) -> cs.SX:
    """Return x, a number, cut off at bounds: chosen, which needs no call of fmin and fmax in C."""
    return cs.if_else(x > high, high, cs.if_else(x < low, low, x))
