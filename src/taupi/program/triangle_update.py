"""Recursive least squares with a triangle, the square root of a covariance: loops run as machine code, and the same in C.

A state z holds b estimates x and then the columns of an upper triangle S, each without the zeros below its diagonal; S S^T is the
covariance. Written out for a given b this would be tens of thousands of instructions; as loops it is a page.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from taupi.program.array_loops import Floats, compiled


def _dot(x: Floats, y: Floats, n: int) -> float:
    total = 0.0
    for i in range(n):
        total += x[i] * y[i]
    return total


def _forget(z: Floats, bounds: Floats, work: Floats, grow: float, b: int) -> None:
    """Let standard deviations grow by a factor, none beyond its bound."""
    for i in range(b):
        work[i] = 0.0
    s = z[b:]
    for j in range(b):
        for i in range(j + 1):
            work[i] += s[i] * s[i]
        s = s[j + 1 :]
    for i in range(b):
        room = bounds[i] / sqrt(work[i])
        least = room if room > 1.0 else 1.0
        work[i] = grow if grow < least else least
    s = z[b:]
    for j in range(b):
        for i in range(j + 1):
            s[i] *= work[i]
        s = s[j + 1 :]


def _learn(z: Floats, y: Floats, e: float, variance: float, gain: Floats, b: int) -> float:
    """Learn one row y with its torque e; return e - y x before that (Carlson 1973)."""
    for i in range(b):
        gain[i] = 0.0
    innovation = e - _dot(z, y, b)
    alpha = variance
    s = z[b:]
    for j in range(b):
        f = _dot(s, y, j + 1)
        larger = alpha + f * f
        keep = sqrt(alpha / larger)
        share = f / (sqrt(alpha) * sqrt(larger))
        for i in range(j + 1):
            old = s[i]
            g = gain[i]
            s[i] = keep * old - share * g
            gain[i] = g + f * old
        alpha = larger
        s = s[j + 1 :]
    step = innovation / alpha
    for i in range(b):
        z[i] += step * gain[i]
    return innovation


def _update(
    z: Floats,
    y: Floats,
    e: Floats,
    variance: Floats,
    innovation: Floats,
    bounds: Floats,
    work: Floats,
    grow: float,
    n: int,
    b: int,
) -> None:
    """Forget, then learn `n` rows."""
    if grow > 1.0:
        _forget(z, bounds, work, grow, b)
    for k in range(n):
        innovation[k] = _learn(z, y[k * b :], e[k], variance[k], work, b)


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
    compiled(_update)(*(a.ctypes.data for a in arrays), grow, n, b)
    return innovation
