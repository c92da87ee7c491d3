"""The reference interpreter: one NumPy operation per instruction, over the complete batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from taupi.program.ports import batch
from taupi.program.program import Program
from taupi.program.tape import OPERATIONS


def build(program: Program) -> Callable[..., object]:
    """Return the program as a NumPy function of arrays with any leading batch axes."""
    tape = program.tape
    places = [program.nonzeros(k) for k in range(len(program.outputs))]
    by_kind: dict[str, list[Any]] = {"input": [], "const": [], "output": []}
    steps = []
    for i in tape.instructions:
        if i.op in by_kind:
            by_kind[i.op].append(i)
        else:
            steps.append((OPERATIONS[i.op], i.out, i.args))
    constants = {i.out: np.float64(i.value) for i in by_kind["const"]}

    def run(*args: object, **kwargs: object) -> Any:
        arrays, shape = batch(program.name, program.inputs, args, kwargs)
        n = int(np.prod(shape, dtype=int))
        results = [np.zeros((n, p.size)) for p in program.outputs]
        registers: dict[int, Any] = {**constants, **{i.out: arrays[i.port][:, i.slot] for i in by_kind["input"]}}
        with np.errstate(all="ignore"):  # NaN and infinity pass through, as documented
            for function, out, operands in steps:
                registers[out] = function(*[registers[a] for a in operands])
        for i in by_kind["output"]:
            results[i.port][:, places[i.port][i.slot]] = registers[i.args[0]]
        shaped = tuple(r.reshape(shape + p.shape) for r, p in zip(results, program.outputs, strict=True))
        return shaped[0] if len(shaped) == 1 else shaped

    return run
