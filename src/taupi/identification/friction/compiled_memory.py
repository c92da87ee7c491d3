"""Friction with a memory as a loop of machine code: a recursion from sample to sample, with a point of reversal in between."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np

# advance: z <- s + (z - s) exp(-|to - from| / d) for each of k distances, s = sgn(to - from).
# dahl: the same along n samples x with velocities v; if these have opposite signs, via the vertex of their parabola.
_TEXT = """
declare double @exp(double)
declare double @llvm.fabs.f64(double)
declare double @llvm.maxnum.f64(double, double)

define internal void @advance(ptr %z, ptr %d, i64 %k, double %from, double %to) {
entry:
  %gap = fsub double %to, %from
  %stays = fcmp oeq double %gap, 0.0
  br i1 %stays, label %end, label %start
start:
  %forth = fcmp ogt double %gap, 0.0
  %s = select i1 %forth, double 1.0, double -1.0
  %travel = call double @llvm.fabs.f64(double %gap)
  br label %check
check:
  %i = phi i64 [ 0, %start ], [ %next, %body ]
  %more = icmp slt i64 %i, %k
  br i1 %more, label %body, label %end
body:
  %at = getelementptr double, ptr %z, i64 %i
  %distance_at = getelementptr double, ptr %d, i64 %i
  %distance = load double, ptr %distance_at
  %share = fdiv double %travel, %distance
  %exponent = fneg double %share
  %left = call double @exp(double %exponent)
  %old = load double, ptr %at
  %apart = fsub double %old, %s
  %rest = fmul double %apart, %left
  %new = fadd double %s, %rest
  store double %new, ptr %at
  %next = add i64 %i, 1
  br label %check
end:
  ret void
}

define void @dahl(ptr %x, ptr %v, i64 %n, i64 %stride, double %seconds, ptr %d, i64 %k, ptr %past, ptr %z, ptr %out,
                  i64 %step) {
entry:
  %past_v = getelementptr double, ptr %past, i64 1
  %x0 = load double, ptr %past
  %v0 = load double, ptr %past_v
  br label %check
check:
  %i = phi i64 [ 0, %entry ], [ %next, %copied ]
  %from = phi double [ %x0, %entry ], [ %to, %copied ]
  %before = phi double [ %v0, %entry ], [ %after, %copied ]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %body, label %end
body:
  %place = mul i64 %i, %stride
  %to_at = getelementptr double, ptr %x, i64 %place
  %after_at = getelementptr double, ptr %v, i64 %place
  %to = load double, ptr %to_at
  %after = load double, ptr %after_at
  %product = fmul double %before, %after
  %turns = fcmp olt double %product, 0.0
  br i1 %turns, label %reversal, label %straight
reversal:
  %up = fcmp ogt double %before, 0.0
  %u = select i1 %up, double 1.0, double -1.0
  %change = fsub double %after, %before
  %size = call double @llvm.fabs.f64(double %change)
  %twice = fmul double %size, 2.0
  %square = fmul double %after, %after
  %timed = fmul double %square, %seconds
  %beyond = fdiv double %timed, %twice
  %up_to = fmul double %u, %to
  %top = fadd double %up_to, %beyond
  %up_from = fmul double %u, %from
  %highest = call double @llvm.maxnum.f64(double %top, double %up_from)
  %vertex = fmul double %u, %highest
  call void @advance(ptr %z, ptr %d, i64 %k, double %from, double %vertex)
  br label %straight
straight:
  %start = phi double [ %from, %body ], [ %vertex, %reversal ]
  call void @advance(ptr %z, ptr %d, i64 %k, double %start, double %to)
  %row = mul i64 %i, %step
  %out_at = getelementptr double, ptr %out, i64 %row
  br label %copy
copy:
  %j = phi i64 [ 0, %straight ], [ %next_j, %copy_one ]
  %more_j = icmp slt i64 %j, %k
  br i1 %more_j, label %copy_one, label %copied
copy_one:
  %z_at = getelementptr double, ptr %z, i64 %j
  %value = load double, ptr %z_at
  %to_copy = getelementptr double, ptr %out_at, i64 %j
  store double %value, ptr %to_copy
  %next_j = add i64 %j, 1
  br label %copy
copied:
  %next = add i64 %i, 1
  br label %check
end:
  ret void
}
"""


@cache
def _dahl() -> tuple[Any, Any]:
    """Return the function, and the engine that holds its code."""
    from taupi.program.targets.simd.machine_code import load

    engine = load(_TEXT)
    integer, address, real = ctypes.c_int64, ctypes.c_void_p, ctypes.c_double
    kinds = (address, address, integer, integer, real, address, integer, address, address, address, integer)
    return ctypes.CFUNCTYPE(None, *kinds)(engine.get_function_address("dahl")), engine


def friction_with_memory(
    x: np.ndarray, v: np.ndarray, seconds: float, distances: np.ndarray, past: tuple[float, float, np.ndarray]
) -> np.ndarray:
    """Return z (N, K) along x (N,) with velocity v (N,), for distances (K,); `past` are x, v and z (K,) before.

    See `dahl_friction`.
    """
    x, v = (np.asarray(a, dtype=float) for a in (x, v))
    if x.strides != v.strides or x.strides[0] % x.itemsize:
        x, v = np.ascontiguousarray(x), np.ascontiguousarray(v)
    d, before = np.ascontiguousarray(distances, dtype=float), np.array([past[0], past[1]], dtype=float)
    z, out = np.array(past[2], dtype=float), np.empty((len(x), len(d)))
    run, _ = _dahl()
    stride = x.strides[0] // x.itemsize
    pointers = (d.ctypes.data, len(d), before.ctypes.data, z.ctypes.data, out.ctypes.data, len(d))
    run(x.ctypes.data, v.ctypes.data, len(x), stride, float(seconds), *pointers)
    return out
