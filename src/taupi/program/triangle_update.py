"""Recursive least squares with a triangle, the square root of a covariance: loops of machine code, and the same in C.

A state z holds b estimates x and then the columns of an upper triangle S, each without the zeros below its diagonal; S S^T is the
covariance. Written out for a given b this would be tens of thousands of instructions; as loops it is a page.
"""

from __future__ import annotations

import ctypes
from functools import lru_cache
from typing import Any

import numpy as np

from taupi.program.targets.simd.machine_code import load


def _over_entries(name: str, arguments: str, body: str) -> str:
    """Return an LLVM function that runs a body for the entries %i from 0 to %n - 1."""
    return f"""
define internal void @{name}({arguments}, i64 %n) {{
entry:
  br label %check
check:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %body, label %end
body:
{body}
  %next = add i64 %i, 1
  br label %check
end:
  ret void
}}
"""


_TEXT = (
    "declare double @llvm.sqrt.f64(double)\n"
    + _over_entries("zero", "ptr %x", "  %p = getelementptr double, ptr %x, i64 %i\n  store double 0.0, ptr %p")
    + _over_entries(
        "add_multiple",
        "ptr %x, ptr %y, double %a",
        """  %p = getelementptr double, ptr %x, i64 %i
  %r = getelementptr double, ptr %y, i64 %i
  %old = load double, ptr %p
  %more_of = load double, ptr %r
  %scaled = fmul double %a, %more_of
  %sum = fadd double %old, %scaled
  store double %sum, ptr %p""",
    )
    + _over_entries(
        "add_squares",
        "ptr %x, ptr %s",
        """  %p = getelementptr double, ptr %x, i64 %i
  %r = getelementptr double, ptr %s, i64 %i
  %old = load double, ptr %p
  %entry_of = load double, ptr %r
  %square = fmul double %entry_of, %entry_of
  %sum = fadd double %old, %square
  store double %sum, ptr %p""",
    )
    + _over_entries(
        "multiply",
        "ptr %s, ptr %k",
        """  %p = getelementptr double, ptr %s, i64 %i
  %r = getelementptr double, ptr %k, i64 %i
  %old = load double, ptr %p
  %factor = load double, ptr %r
  %product = fmul double %old, %factor
  store double %product, ptr %p""",
    )
    + _over_entries(
        "limit",
        "ptr %k, ptr %bounds, double %grow",
        """  %p = getelementptr double, ptr %k, i64 %i
  %r = getelementptr double, ptr %bounds, i64 %i
  %square = load double, ptr %p
  %spread = call double @llvm.sqrt.f64(double %square)
  %bound = load double, ptr %r
  %room = fdiv double %bound, %spread
  %above = fcmp ogt double %room, 1.0
  %least = select i1 %above, double %room, double 1.0
  %below = fcmp olt double %grow, %least
  %factor = select i1 %below, double %grow, double %least
  store double %factor, ptr %p""",
    )
    + _over_entries(
        "column",
        "ptr %s, ptr %gain, double %keep, double %share, double %f",
        """  %p = getelementptr double, ptr %s, i64 %i
  %r = getelementptr double, ptr %gain, i64 %i
  %old = load double, ptr %p
  %g = load double, ptr %r
  %kept = fmul double %keep, %old
  %less = fmul double %share, %g
  %new = fsub double %kept, %less
  store double %new, ptr %p
  %part = fmul double %f, %old
  %sum = fadd double %g, %part
  store double %sum, ptr %r""",
    )
    + """
define internal double @dot(ptr %x, ptr %y, i64 %n) {
entry:
  br label %check
check:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %total = phi double [ 0.0, %entry ], [ %sum, %body ]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %body, label %end
body:
  %p = getelementptr double, ptr %x, i64 %i
  %r = getelementptr double, ptr %y, i64 %i
  %a = load double, ptr %p
  %b = load double, ptr %r
  %product = fmul double %a, %b
  %sum = fadd double %total, %product
  %next = add i64 %i, 1
  br label %check
end:
  ret double %total
}

define internal void @forget(ptr %z, ptr %bounds, ptr %work, double %grow, i64 %b) {
entry:
  %first = getelementptr double, ptr %z, i64 %b
  call void @zero(ptr %work, i64 %b)
  br label %measure
measure:
  %j = phi i64 [ 0, %entry ], [ %m, %measuring ]
  %s = phi ptr [ %first, %entry ], [ %s_next, %measuring ]
  %more = icmp slt i64 %j, %b
  br i1 %more, label %measuring, label %measured
measuring:
  %m = add i64 %j, 1
  call void @add_squares(ptr %work, ptr %s, i64 %m)
  %s_next = getelementptr double, ptr %s, i64 %m
  br label %measure
measured:
  call void @limit(ptr %work, ptr %bounds, double %grow, i64 %b)
  br label %scale
scale:
  %l = phi i64 [ 0, %measured ], [ %c, %scaling ]
  %t = phi ptr [ %first, %measured ], [ %t_next, %scaling ]
  %again = icmp slt i64 %l, %b
  br i1 %again, label %scaling, label %end
scaling:
  %c = add i64 %l, 1
  call void @multiply(ptr %t, ptr %work, i64 %c)
  %t_next = getelementptr double, ptr %t, i64 %c
  br label %scale
end:
  ret void
}

define internal void @learn(ptr %z, ptr %y, double %e, double %variance, ptr %innovation, ptr %gain, i64 %b) {
entry:
  call void @zero(ptr %gain, i64 %b)
  %predicted = call double @dot(ptr %z, ptr %y, i64 %b)
  %missed = fsub double %e, %predicted
  store double %missed, ptr %innovation
  %first = getelementptr double, ptr %z, i64 %b
  br label %check
check:
  %j = phi i64 [ 0, %entry ], [ %m, %body ]
  %s = phi ptr [ %first, %entry ], [ %s_next, %body ]
  %alpha = phi double [ %variance, %entry ], [ %larger, %body ]
  %more = icmp slt i64 %j, %b
  br i1 %more, label %body, label %end
body:
  %m = add i64 %j, 1
  %f = call double @dot(ptr %s, ptr %y, i64 %m)
  %square = fmul double %f, %f
  %larger = fadd double %alpha, %square
  %ratio = fdiv double %alpha, %larger
  %keep = call double @llvm.sqrt.f64(double %ratio)
  %root = call double @llvm.sqrt.f64(double %alpha)
  %larger_root = call double @llvm.sqrt.f64(double %larger)
  %both = fmul double %root, %larger_root
  %share = fdiv double %f, %both
  call void @column(ptr %s, ptr %gain, double %keep, double %share, double %f, i64 %m)
  %s_next = getelementptr double, ptr %s, i64 %m
  br label %check
end:
  %step = fdiv double %missed, %alpha
  call void @add_multiple(ptr %z, ptr %gain, double %step, i64 %b)
  ret void
}

define void @update(ptr %z, ptr %y, ptr %e, ptr %variance, ptr %innovation, ptr %bounds, ptr %work, double %grow, i64 %n,
                    i64 %b) {
entry:
  %grows = fcmp ogt double %grow, 1.0
  br i1 %grows, label %forgetting, label %rows
forgetting:
  call void @forget(ptr %z, ptr %bounds, ptr %work, double %grow, i64 %b)
  br label %rows
rows:
  br label %check
check:
  %k = phi i64 [ 0, %rows ], [ %next, %body ]
  %more = icmp slt i64 %k, %n
  br i1 %more, label %body, label %end
body:
  %at = mul i64 %k, %b
  %row = getelementptr double, ptr %y, i64 %at
  %own_e = getelementptr double, ptr %e, i64 %k
  %own_variance = getelementptr double, ptr %variance, i64 %k
  %own_innovation = getelementptr double, ptr %innovation, i64 %k
  %torque = load double, ptr %own_e
  %spread = load double, ptr %own_variance
  call void @learn(ptr %z, ptr %row, double %torque, double %spread, ptr %own_innovation, ptr %work, i64 %b)
  %next = add i64 %k, 1
  br label %check
end:
  ret void
}
"""
)

# The same in C, for emitted source; {name} and {b} are to be filled in.
C_TEXT = """/* Standard deviations grown by a factor, none beyond its bound. */
static void {name}_forget(double *z, double grow)
{{
    double scale[{b}] = {{0}}, *s = z + {b};
    for (int j = 0; j < {b}; s += ++j)
        for (int i = 0; i <= j; ++i) scale[i] += s[i] * s[i];
    for (int i = 0; i < {b}; ++i) scale[i] = fmin(grow, fmax({name}_bounds[i] / sqrt(scale[i]), 1));
    s = z + {b};
    for (int j = 0; j < {b}; s += ++j)
        for (int i = 0; i <= j; ++i) s[i] *= scale[i];
}}

/* One row y with its torque e learnt: returns e - y x before that (Carlson 1973). */
static double {name}_learn(double *z, const double *y, double e, double variance)
{{
    double gain[{b}] = {{0}}, alpha = variance, innovation = e, *s = z + {b};
    for (int i = 0; i < {b}; ++i) innovation -= z[i] * y[i];
    for (int j = 0; j < {b}; s += ++j) {{
        double f = 0;
        for (int i = 0; i <= j; ++i) f += s[i] * y[i];
        const double larger = alpha + f * f, keep = sqrt(alpha / larger), share = f / (sqrt(alpha) * sqrt(larger));
        for (int i = 0; i <= j; ++i) {{
            const double old = s[i];
            s[i] = keep * old - share * gain[i];
            gain[i] += f * old;
        }}
        alpha = larger;
    }}
    for (int i = 0; i < {b}; ++i) z[i] += gain[i] * (innovation / alpha);
    return innovation;
}}"""


@lru_cache(maxsize=1)
def _function() -> tuple[Any, Any]:
    engine = load(_TEXT)
    kinds = [*[ctypes.c_void_p] * 7, ctypes.c_double, *[ctypes.c_int64] * 2]
    return engine, ctypes.CFUNCTYPE(None, *kinds)(engine.get_function_address("update"))


def update_triangle(
    z: np.ndarray, y: np.ndarray, e: np.ndarray, variance: np.ndarray, bounds: np.ndarray, grow: float
) -> np.ndarray:
    """Learn rows `y` (n, b) with torques `e` (n,) of a `variance` (n,) each into a state `z`, in place; return innovations (n,).

    First, standard deviations grow by a factor `grow`, but none beyond its bound in `bounds` (b,). All arrays are C-contiguous
    doubles.

    >>> z = np.array([0.0, 2.0])  # x = 0, with a standard deviation of 2
    >>> update_triangle(z, np.array([[1.0]]), np.array([5.0]), np.array([1.0]), np.array([9.0]), 1.0).tolist()
    [5.0]
    >>> z.round(6).tolist()  # x = 5 4 / (1 + 4), with the variance 1 / (1 + 1 / 4)
    [4.0, 0.894427]
    """
    n, b = y.shape
    innovation, work = np.zeros(n), np.empty(b)
    arrays = (z, y, e, variance, innovation, bounds, work)
    _function()[1](*(a.ctypes.data for a in arrays), grow, n, b)
    return innovation
