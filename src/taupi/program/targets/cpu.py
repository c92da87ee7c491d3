"""The CPU compiler: LLVM vectors over the batch, one lane a sample, built in process."""

from __future__ import annotations

import ctypes
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from taupi.errors import TaupiError
from taupi.program.boundary import batch
from taupi.program.program import Program
from taupi.program.targets.llvm_ir import module_text

# Below this many samples a thread costs more than it saves.
_SAMPLES_A_THREAD = 256


def build(program: Program, threads: int = 1) -> Kernel:
    """Return the program compiled for this machine's vector unit; `threads` share a large batch."""
    return Kernel(program, threads)


class Kernel:
    """A program as machine code. Pure and without shared state, so that any number of threads may call it at once."""

    def __init__(self, program: Program, threads: int = 1) -> None:
        if not isinstance(threads, int) or threads < 1:
            raise TaupiError(f"threads is {threads!r}, expected a whole number of at least 1.")
        self.program, self.threads = program, threads
        self._places = [program.nonzeros(k) for k in range(len(program.outputs))]
        text = module_text(program.tape, len(program.inputs), self._sizes(), self._places, vector_width())
        self._engine = _compile(text)
        arguments = [ctypes.c_void_p, ctypes.c_int64] * len(program.inputs) + [ctypes.c_void_p] * len(program.outputs)
        prototype = ctypes.CFUNCTYPE(None, *arguments, ctypes.c_int64, ctypes.c_int64)
        self._run = prototype(self._engine.get_function_address("kernel"))
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None

    def _sizes(self) -> list[int]:
        return [p.size for p in self.program.outputs]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Evaluate for arrays with any leading batch axes."""
        arrays, shape = batch(self.program.name, self.program.inputs, args, kwargs)
        n = int(np.prod(shape, dtype=int))
        results = [np.zeros((n, size)) for size in self._sizes()]
        if n:
            pointers: list[int] = []
            for a in arrays:
                pointers += [a.ctypes.data, a.shape[1] if len(a) == n else 0]
            pointers += [r.ctypes.data for r in results]
            self._spread(pointers, n)
        shaped = tuple(r.reshape(shape + p.shape) for r, p in zip(results, self.program.outputs, strict=True))
        return shaped[0] if len(shaped) == 1 else shaped

    def _spread(self, pointers: list[int], n: int) -> None:
        """Run samples 0..n, shared out over the threads; ctypes releases the interpreter lock meanwhile."""
        parts = min(self.threads, n // _SAMPLES_A_THREAD)
        if self._pool is None or parts < 2:
            self._run(*pointers, 0, n)
            return
        edges = [n * k // parts for k in range(parts + 1)]
        jobs = [self._pool.submit(self._run, *pointers, a, b) for a, b in pairwise(edges)]
        for job in jobs:
            job.result()


def vector_width() -> int:
    """Return how many doubles this machine's vector registers hold."""
    features = llvm.get_host_cpu_features()
    return 8 if features.get("avx512f") else 4 if features.get("avx") else 2


def _compile(text: str) -> Any:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = llvm.parse_assembly(text)
    machine = _target_machine()
    # The tape has no repeated terms and no dead code left: inlining and cleaning up is all the optimiser is needed for.
    tuning = llvm.create_pipeline_tuning_options(speed_level=1)
    passes = llvm.create_pass_builder(machine, tuning)
    passes.getModulePassManager().run(module, passes)
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    return engine


def _target_machine() -> Any:
    features = llvm.get_host_cpu_features().flatten()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=features, opt=2
    )
