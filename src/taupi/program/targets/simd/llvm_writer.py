"""A writer of LLVM text: numbered registers, vector constants, calls."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


class InstructionWriter:
    """Writes vector instructions as text; building a module from llvmlite's objects takes longer than compiling it."""

    def __init__(self, width: int, scalar: str = "double") -> None:
        self.width, self.scalar = width, scalar
        self.vector = f"<{width} x {scalar}>"
        self.suffix = f"v{width}{'f64' if scalar == 'double' else 'f32'}"
        self.size = 8 if scalar == "double" else 4
        self.lines: list[str] = []
        self.count = 0

    def line(self, text: str) -> None:
        """Write an instruction without a value."""
        self.lines.append(f"  {text}")

    def label(self, name: str) -> None:
        """Begin a block."""
        self.lines.append(f"{name}:")

    def emit(self, text: str) -> str:
        """Write an instruction and return the register of its value."""
        self.count += 1
        self.lines.append(f"  %t{self.count} = {text}")
        return f"%t{self.count}"

    def constant(self, value: float) -> str:
        """Return a vector of equal numbers, written as bits, which LLVM reads exactly."""
        rounded = value if self.scalar == "double" else float(np.float32(value))
        bits = f"0x{struct.unpack('<Q', struct.pack('<d', rounded))[0]:016X}"
        return "<" + ", ".join([f"{self.scalar} {bits}"] * self.width) + ">"

    def binary(self, op: str, a: str, b: str, flags: str = "") -> str:
        """Write a vector operation with two operands."""
        return self.emit(f"{op} {flags}{self.vector} {a}, {b}")

    def call(self, name: str, *arguments: str) -> str:
        """Call a vector intrinsic."""
        typed = ", ".join(f"{self.vector} {a}" for a in arguments)
        return self.emit(f"call {self.vector} @llvm.{name}.{self.suffix}({typed})")

    def fma(self, a: str, b: str, c: str) -> str:
        """Write a b + c with one rounding."""
        return self.call("fma", a, b, c)

    def lanes(self, function: str, *arguments: str) -> str:
        """Call a function of the C library lane by lane, in double."""
        result = "poison"
        for k in range(self.width):
            scalars = [self.emit(f"extractelement {self.vector} {a}, i32 {k}") for a in arguments]
            if self.scalar == "float":
                scalars = [self.emit(f"fpext float {s} to double") for s in scalars]
            value = self.emit(f"call double @{function}({', '.join(f'double {s}' for s in scalars)})")
            if self.scalar == "float":
                value = self.emit(f"fptrunc double {value} to float")
            result = self.emit(f"insertelement {self.vector} {result}, {self.scalar} {value}, i32 {k}")
        return result

    def choose(self, condition: str, a: str, b: str) -> str:
        """Write a lane-wise choice."""
        return self.emit(f"select <{self.width} x i1> {condition}, {self.vector} {a}, {self.vector} {b}")

    def compare(self, relation: str, a: str, b: str) -> str:
        """Write a lane-wise comparison."""
        return self.emit(f"fcmp {relation} {self.vector} {a}, {b}")

    def mask(self, count: int) -> str:
        """Return the mask of the first `count` lanes."""
        return "<" + ", ".join(f"i1 {'true' if k < count else 'false'}" for k in range(self.width)) + ">"

    def lane_pointers(self, base: str, step: str) -> list[str]:
        """Return where the sample of each lane begins: samples %i, %i + 1, ..., and %last for lanes beyond it."""
        pointers = []
        for lane in range(self.width):
            ahead = self.emit(f"add i64 %i, {lane}")
            sample = self.emit(f"call i64 @llvm.smin.i64(i64 {ahead}, i64 %last)")
            offset = self.emit(f"mul i64 {sample}, {step}")
            pointers.append(self.emit(f"getelementptr {self.scalar}, ptr {base}, i64 {offset}"))
        return pointers

    def transposed(self, rows: list[str]) -> list[str]:
        """Return the transpose of `width` vectors, by exchanging entries at the distances 1, 2, 4, ..."""
        w, rows = self.width, list(rows)
        distance = 1
        while distance < w:
            for k in range(w):
                if k & distance:
                    continue
                a, b = rows[k], rows[k + distance]
                low = [lane if not lane & distance else w + lane - distance for lane in range(w)]
                high = [lane + distance if not lane & distance else w + lane for lane in range(w)]
                rows[k], rows[k + distance] = self._shuffled(a, b, low), self._shuffled(a, b, high)
            distance *= 2
        return rows

    def _shuffled(self, a: str, b: str, places: list[int]) -> str:
        mask = ", ".join(f"i32 {p}" for p in places)
        return self.emit(f"shufflevector {self.vector} {a}, {self.vector} {b}, <{self.width} x i32> <{mask}>")

    def argument(self, place: int, kind: str) -> str:
        """Load an entry of the kernel's table of arguments: a pointer or an integer."""
        at = self.emit(f"getelementptr i64, ptr %args, i64 {place}")
        return self.emit(f"load {kind}, ptr {at}")


# What is set in the flags of a call: the output is so large that it bypasses the cache; it is not zero before the call.
STREAM, STALE = 1, 2


@dataclass(frozen=True)
class Module:
    """The text of a module, how many scalars of scratch memory its kernel needs, and the samples per block.

    `level` is how much LLVM should optimise it.
    """

    text: str
    kept: int
    rows: int
    block: int
    level: int


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
    w = InstructionWriter(width)
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


def _integers(w: InstructionWriter, value: int) -> str:
    return "<" + ", ".join([f"i32 {value}"] * w.width) + ">"


def _bit(w: InstructionWriter, x: str, value: int) -> str:
    """Return the lanes in which a bit is set."""
    masked = w.emit(f"and <{w.width} x i32> {x}, {_integers(w, value)}")
    return w.emit(f"icmp ne <{w.width} x i32> {masked}, {_integers(w, 0)}")


def _two_difference(w: InstructionWriter, a: str, b: str) -> tuple[str, str]:
    """Return a - b and its rounding error (Knuth 1997, section 4.2.2)."""
    difference = w.binary("fsub", a, b)
    back = w.binary("fsub", difference, a)
    error = w.binary("fsub", w.binary("fsub", a, w.binary("fsub", difference, back)), w.binary("fadd", b, back))
    return difference, error


def _reduced(w: InstructionWriter, k: str) -> tuple[str, str]:
    """Return x - k pi/2 as an unevaluated sum of two doubles."""
    minus = w.emit(f"fneg {w.vector} {k}")
    first = w.fma(minus, w.constant(_PI_2[0]), "%x")  # exact: the product has 50 bits and lies near x
    second, e1 = _two_difference(w, first, w.binary("fmul", k, w.constant(_PI_2[1])))
    third, e2 = _two_difference(w, second, w.binary("fmul", k, w.constant(_PI_2[2])))
    rest = w.fma(minus, w.constant(_PI_2[3]), w.binary("fadd", e1, e2))
    hi = w.binary("fadd", third, rest)
    return hi, w.binary("fadd", w.binary("fsub", third, hi), rest)


def _polynomial(w: InstructionWriter, z: str, coefficients: Sequence[float]) -> str:
    result = w.constant(coefficients[-1])
    for c in reversed(coefficients[:-1]):
        result = w.fma(result, z, w.constant(c))
    return result


def _kernel_sin(w: InstructionWriter, x: str, y: str) -> str:
    """Return sin(x + y) for |x| <= pi/4: x - ((z (y/2 - v r) - y) - v S1), z = x^2, v = z x."""
    z = w.binary("fmul", x, x)
    v = w.binary("fmul", z, x)
    r = _polynomial(w, z, _SIN[1:])
    inner = w.fma(w.emit(f"fneg {w.vector} {v}"), r, w.binary("fmul", w.constant(0.5), y))
    outer = w.binary("fsub", w.binary("fmul", z, inner), y)
    return w.binary("fsub", x, w.binary("fsub", outer, w.binary("fmul", v, w.constant(_SIN[0]))))


def _kernel_cos(w: InstructionWriter, x: str, y: str) -> str:
    """Return cos(x + y) for |x| <= pi/4: u + (((1 - u) - z/2) + (z r - x y)), u = 1 - z/2."""
    z = w.binary("fmul", x, x)
    r = w.binary("fmul", z, _polynomial(w, z, _COS))
    half = w.binary("fmul", z, w.constant(0.5))
    u = w.binary("fsub", w.constant(1.0), half)
    lost = w.binary("fsub", w.binary("fsub", w.constant(1.0), u), half)
    return w.binary("fadd", u, w.binary("fadd", lost, w.binary("fsub", w.binary("fmul", z, r), w.binary("fmul", x, y))))
