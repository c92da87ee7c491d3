"""Runs emitted source: each language's text built with what the machine has, and called with a batch."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from itertools import pairwise

import numpy as np
import pytest

from taupi.program.emit import sources
from taupi.program.emitters.cuda import kernel_source

STRICT = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
# A GPU in eight lines: the kernel is a C++ function, and the test says which thread runs.
SHIM = r"""
#include <math.h>
#include <string.h>
#define __global__
static struct { unsigned x; } blockIdx, blockDim, threadIdx;
static inline double __longlong_as_double(long long k) { double x; memcpy(&x, &k, 8); return x; }
template <class T> static inline void __stcs(T *to, T value) { *to = value; }
static inline float __int_as_float(int k) { float x; memcpy(&x, &k, 4); return x; }
extern "C" void choose(unsigned i) { blockDim.x = 4; blockIdx.x = i / 4; threadIdx.x = i % 4; }
"""


def run(*command, cwd=None):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, cwd=cwd, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
    return done.stdout


def need(tool):
    if not shutil.which(tool):
        pytest.skip(f"no {tool} here")
    return tool


def pointer(array):
    return array.ctypes.data_as(ctypes.c_void_p)


def result(program, arrays):
    shaped = tuple(a.reshape(len(a), *p.shape) for a, p in zip(arrays, program.outputs, strict=True))
    return shaped[0] if len(shaped) == 1 else shaped


def flat(program, inputs, dtype):
    return [
        np.ascontiguousarray(x, dtype=dtype).reshape(len(x), p.size)
        for x, p in zip(inputs, program.inputs, strict=True)
    ]


def by_c(program, folder, dtype="float64", compiler="gcc", optimise="-O1"):
    texts = sources(program, "c", "emitted", dtype)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    library = folder / f"emitted-{compiler}-{dtype}.so"
    run(need(compiler), *STRICT, optimise, "-shared", "-fPIC", folder / "emitted.c", "-o", library, "-lm")
    function = ctypes.CDLL(str(library)).emitted
    function.restype = None

    def call(*inputs):
        arrays = flat(program, inputs, dtype)
        n = len(arrays[0])
        outputs = [np.full((n, p.size), 77.0, dtype) for p in program.outputs]  # zeros must be written too
        for k in range(n):
            function(*(pointer(x[k]) for x in arrays), *(pointer(y[k]) for y in outputs))
        return result(program, outputs)

    return call


def by_clang(program, folder, dtype="float64"):
    return by_c(program, folder, dtype, "clang")


def by_python(program, folder, dtype="float64"):
    (text,) = sources(program, "python", "emitted", dtype).values()
    namespace: dict = {}
    exec(compile(text, "emitted.py", "exec"), namespace)
    return namespace["emitted"]


def by_octave(program, folder, dtype="float64"):
    need("octave")
    (text,) = sources(program, "matlab", "emitted", dtype).values()
    (folder / "emitted.m").write_text(text, encoding="utf-8")

    def call(*inputs):
        arrays = [np.asarray(x, dtype=float) for x in inputs]
        n = len(arrays[0])
        lines, names = [], [f"out{k}" for k in range(len(program.outputs))]
        for k in range(n):
            written = (x[k].reshape(-1, order="F") for x in arrays)
            shapes = (
                f"reshape([{' '.join(map(repr, v.tolist()))}], {sizes(p.shape)})" for v, p in pairs(written, program)
            )
            lines.append(f"[{', '.join(names)}] = emitted({', '.join(shapes)});")
            lines += [f"printf('%.17g\\n', {y}); assert(isa({y}, '{KINDS[dtype]}'));" for y in names]
        (folder / "script.m").write_text("\n".join(lines).replace("nan", "NaN").replace("inf", "Inf"), encoding="utf-8")
        environment = os.environ | {"DISPLAY": ""}
        done = subprocess.run(
            ["octave", "--no-gui", "--no-init-file", "script.m"],
            cwd=folder, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-2000:]
        values = np.array(done.stdout.split(), dtype=float).reshape(n, -1)
        ends = np.cumsum([0] + [p.size for p in program.outputs])
        parts = [values[:, a:b] for a, b in pairwise(ends)]
        return result(program, [unfortran(part, p.shape) for part, p in zip(parts, program.outputs, strict=True)])

    return call


KINDS = {"float64": "double", "float32": "single"}


def pairs(values, program):
    return zip(values, program.inputs, strict=True)


def sizes(shape):
    return ", ".join(map(str, shape if len(shape) > 1 else (*shape, 1, 1)[:2]))


def unfortran(values, shape):
    return np.stack([v.reshape(shape, order="F").ravel() for v in values])


def by_cuda(program, folder, dtype="float64", layout="batch_last"):
    (folder / "kernel.cpp").write_text(SHIM + kernel_source(program, dtype, layout, "emitted"), encoding="utf-8")
    library = folder / f"kernel-{dtype}-{layout}.so"
    run(need("g++"), "-Wall", "-Werror", "-O1", "-shared", "-fPIC", folder / "kernel.cpp", "-o", library)
    loaded = ctypes.CDLL(str(library))

    def call(*inputs):
        arrays = flat(program, inputs, dtype)
        n = max(map(len, arrays))
        shapes = [(p.size, n) if layout == "batch_last" else (n, p.size) for p in program.outputs]
        outputs = [np.zeros(s, dtype) for s in shapes]
        # The entries of a sample are `stride` apart here, to see that strides are honoured; one sample is shared by stride 0.
        columns = [np.asfortranarray(x) for x in arrays]
        arguments = []
        for x in columns:
            sample, entry = ctypes.c_longlong(int(len(x) > 1)), ctypes.c_longlong(len(x))
            arguments += [pointer(x), sample, entry]
        arguments += [pointer(y) for y in outputs] + [ctypes.c_longlong(n)]
        for i in range(n + 3):  # threads beyond the last sample do nothing
            loaded.choose(i)
            loaded.emitted(*arguments)
        if layout == "batch_last":
            outputs = [
                y.reshape(*p.shape[::-1], n).T.reshape(n, p.size) for y, p in zip(outputs, program.outputs, strict=True)
            ]
        return result(program, outputs)

    return call


def by_cpu(program, folder, dtype="float64"):
    """The compiled target, held to the same suite."""
    return program.compile("cpu", dtype=dtype)


RUNNERS = {"cpu": by_cpu, "gcc": by_c, "clang": by_clang, "python": by_python, "octave": by_octave, "cuda": by_cuda}
