"""The sine and cosine of a vector of doubles, computed together."""

from __future__ import annotations

from collections.abc import Sequence

from taupi.program.targets.simd.llvm_writer import Writer

# Up to this angle (rad) the argument is reduced in double-double arithmetic; beyond it, the C library is called.
MAX_ANGLE = 1e5

# pi/2 as three parts of 33 bits and a remainder, so that k times each part is exact for k < 2^20 (fdlibm, Sun 1993).
_PI_2 = (1.57079632673412561417e00, 6.07710050630396597660e-11, 2.02226624871116645580e-21, 8.47842766036889956997e-32)
_TWO_OVER_PI = 6.36619772367581382433e-01
# Minimax coefficients of sine and cosine on [-pi/4, pi/4] (fdlibm).
_SIN = (
    -1.66666666666666324348e-01,
    8.33333333332248946124e-03,
    -1.98412698298579493134e-04,
    2.75573137070700676789e-06,
    -2.50507602534068634195e-08,
    1.58969099521155010221e-10,
)
_COS = (
    4.16666666666666019037e-02,
    -1.38888888888741095749e-03,
    2.48015872894767294178e-05,
    -2.75573143513906633035e-07,
    2.08757232129817482790e-09,
    -1.13596475577881948265e-11,
)


def sincos(width: int, inline: bool) -> str:
    """Return @sincos: within 2 ulps for |x| <= 1e5, and as the C library beyond; NaN and infinity give NaN."""
    w = Writer(width)
    vector, pair = w.vector, f"{{ {w.vector}, {w.vector} }}"
    size = w.call("fabs", "%x")
    small = w.compare("ole", size, w.constant(MAX_ANGLE))  # false for NaN
    every = w.emit(f"call i1 @llvm.vector.reduce.and.v{width}i1(<{width} x i1> {small})")
    w.lines += [f"  br i1 {every}, label %fast, label %slow", "slow:"]
    s, c = w.lanes("sin", "%x"), w.lanes("cos", "%x")
    w.lines += [
        f"  %s0 = insertvalue {pair} poison, {vector} {s}, 0",
        f"  %s1 = insertvalue {pair} %s0, {vector} {c}, 1",
    ]
    w.lines += [f"  ret {pair} %s1", "fast:"]
    k = w.call("rint", w.binary("fmul", "%x", w.constant(_TWO_OVER_PI)))
    hi, lo = _reduced(w, k)
    sine, cosine = _kernel_sin(w, hi, lo), _kernel_cos(w, hi, lo)
    quarter = w.emit(f"fptosi {vector} {k} to <{width} x i32>")
    odd = _bit(w, quarter, 1)
    s, c = w.choose(odd, cosine, sine), w.choose(odd, sine, cosine)
    s = w.choose(_bit(w, quarter, 2), w.emit(f"fneg {vector} {s}"), s)
    c = w.choose(
        _bit(w, w.emit(f"add <{width} x i32> {quarter}, {_integers(w, 1)}"), 2), w.emit(f"fneg {vector} {c}"), c
    )
    w.lines += [
        f"  %f0 = insertvalue {pair} poison, {vector} {s}, 0",
        f"  %f1 = insertvalue {pair} %f0, {vector} {c}, 1",
    ]
    how = "alwaysinline" if inline else "noinline"
    return "\n".join([f"define internal {pair} @sincos({vector} %x) {how} {{", *w.lines, f"  ret {pair} %f1", "}"])


def _integers(w: Writer, value: int) -> str:
    return "<" + ", ".join([f"i32 {value}"] * w.width) + ">"


def _bit(w: Writer, x: str, value: int) -> str:
    """Return the lanes in which a bit is set."""
    masked = w.emit(f"and <{w.width} x i32> {x}, {_integers(w, value)}")
    return w.emit(f"icmp ne <{w.width} x i32> {masked}, {_integers(w, 0)}")


def _two_difference(w: Writer, a: str, b: str) -> tuple[str, str]:
    """Return a - b and its rounding error (Knuth 1997, section 4.2.2)."""
    difference = w.binary("fsub", a, b)
    back = w.binary("fsub", difference, a)
    error = w.binary("fsub", w.binary("fsub", a, w.binary("fsub", difference, back)), w.binary("fadd", b, back))
    return difference, error


def _reduced(w: Writer, k: str) -> tuple[str, str]:
    """Return x - k pi/2 as an unevaluated sum of two doubles."""
    minus = w.emit(f"fneg {w.vector} {k}")
    first = w.fma(minus, w.constant(_PI_2[0]), "%x")  # exact: the product has 50 bits and lies near x
    second, e1 = _two_difference(w, first, w.binary("fmul", k, w.constant(_PI_2[1])))
    third, e2 = _two_difference(w, second, w.binary("fmul", k, w.constant(_PI_2[2])))
    rest = w.fma(minus, w.constant(_PI_2[3]), w.binary("fadd", e1, e2))
    hi = w.binary("fadd", third, rest)
    return hi, w.binary("fadd", w.binary("fsub", third, hi), rest)


def _polynomial(w: Writer, z: str, coefficients: Sequence[float]) -> str:
    result = w.constant(coefficients[-1])
    for c in reversed(coefficients[:-1]):
        result = w.fma(result, z, w.constant(c))
    return result


def _kernel_sin(w: Writer, x: str, y: str) -> str:
    """Return sin(x + y) for |x| <= pi/4: x - ((z (y/2 - v r) - y) - v S1), z = x^2, v = z x."""
    z = w.binary("fmul", x, x)
    v = w.binary("fmul", z, x)
    r = _polynomial(w, z, _SIN[1:])
    inner = w.fma(w.emit(f"fneg {w.vector} {v}"), r, w.binary("fmul", w.constant(0.5), y))
    outer = w.binary("fsub", w.binary("fmul", z, inner), y)
    return w.binary("fsub", x, w.binary("fsub", outer, w.binary("fmul", v, w.constant(_SIN[0]))))


def _kernel_cos(w: Writer, x: str, y: str) -> str:
    """Return cos(x + y) for |x| <= pi/4: u + (((1 - u) - z/2) + (z r - x y)), u = 1 - z/2."""
    z = w.binary("fmul", x, x)
    r = w.binary("fmul", z, _polynomial(w, z, _COS))
    half = w.binary("fmul", z, w.constant(0.5))
    u = w.binary("fsub", w.constant(1.0), half)
    lost = w.binary("fsub", w.binary("fsub", w.constant(1.0), u), half)
    return w.binary("fadd", u, w.binary("fadd", lost, w.binary("fsub", w.binary("fmul", z, r), w.binary("fmul", x, y))))
