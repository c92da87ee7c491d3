"""The reference interpreter: one NumPy operation per instruction, over the complete batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from taupi.program.arguments import batch
from taupi.program.program import Program
from taupi.program.tape import OPERATIONS


def build(program: Program) -> Callable[..., Any]:
    """Return the program as a NumPy function of arrays with any leading batch axes."""
    tape = program.tape
    places = [program.nonzeros(k) for k in range(len(program.outputs))]

    def run(*args: Any, **kwargs: Any) -> Any:
        arrays, shape = batch(program.name, program.inputs, args, kwargs)
        n = int(np.prod(shape, dtype=int))
        results = [np.zeros((n, p.size)) for p in program.outputs]
        registers: dict[int, Any] = {}
        with np.errstate(all="ignore"):  # NaN and infinity pass through, as documented
            for i in tape.instructions:
                if i.op == "input":
                    registers[i.out] = arrays[i.port][:, i.slot]
                elif i.op == "const":
                    registers[i.out] = np.float64(i.value)
                elif i.op == "output":
                    results[i.port][:, places[i.port][i.slot]] = registers[i.args[0]]
                else:
                    registers[i.out] = OPERATIONS[i.op](*(registers[a] for a in i.args))
        shaped = tuple(r.reshape(shape + p.shape) for r, p in zip(results, program.outputs, strict=True))
        return shaped[0] if len(shaped) == 1 else shaped

    return run
