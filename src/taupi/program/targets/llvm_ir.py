"""A tape as LLVM text: one vector operation an instruction, lanes are samples, sine and cosine inlined.

The text is written directly: building it object by object costs more than compiling it.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np

from taupi.program.tape import Instruction, Tape

# Up to this angle the inlined sine and cosine reduce their argument in double-double; beyond, libm is called.
MAX_ANGLE = 1e5

# pi/2 in three parts of 33 bits and a rest, so that k times each part is exact for k < 2^20 (fdlibm, Sun 1993).
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

_ARITHMETIC = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
_COMPARE = {"lt": "olt", "le": "ole", "eq": "oeq", "ne": "une"}
_INTRINSIC = {"sqrt": "sqrt", "fabs": "fabs", "fmin": "minnum", "fmax": "maxnum"}
_LIBM = {"tan": 1, "asin": 1, "acos": 1, "atan": 1, "exp": 1, "log": 1, "tanh": 1, "atan2": 2, "pow": 2, "constpow": 2}


class _Writer:
    """Lines of a function, numbered registers, and vector constants."""

    def __init__(self, width: int) -> None:
        self.width, self.vector, self.lines, self.count = width, f"<{width} x double>", [], 0  # type: ignore[var-annotated]

    def emit(self, text: str) -> str:
        self.count += 1
        self.lines.append(f"  %t{self.count} = {text}")
        return f"%t{self.count}"

    def constant(self, value: float) -> str:
        bits = f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"
        return "<" + ", ".join([f"double {bits}"] * self.width) + ">"

    def binary(self, op: str, a: str, b: str, flags: str = "") -> str:
        return self.emit(f"{op} {flags}{self.vector} {a}, {b}")

    def call(self, name: str, *arguments: str) -> str:
        told = ", ".join(f"{self.vector} {a}" for a in arguments)
        return self.emit(f"call {self.vector} @llvm.{name}.v{self.width}f64({told})")

    def fma(self, a: str, b: str, c: str) -> str:
        return self.call("fma", a, b, c)

    def lanes(self, function: str, *arguments: str) -> str:
        """Call a scalar function of the C library lane by lane."""
        result = "poison"
        for k in range(self.width):
            scalars = [self.emit(f"extractelement {self.vector} {a}, i32 {k}") for a in arguments]
            value = self.emit(f"call double @{function}({', '.join(f'double {s}' for s in scalars)})")
            result = self.emit(f"insertelement {self.vector} {result}, double {value}, i32 {k}")
        return result

    def choose(self, condition: str, a: str, b: str) -> str:
        return self.emit(f"select <{self.width} x i1> {condition}, {self.vector} {a}, {self.vector} {b}")

    def compare(self, relation: str, a: str, b: str) -> str:
        return self.emit(f"fcmp {relation} {self.vector} {a}, {b}")


# LLVM's time grows faster than the length of a function: a long tape is cut into functions of this many instructions.
_CHUNK = 2000
# Up to this many sines and cosines are inlined; a program with more calls one function instead of growing.
_INLINED_TURNS = 256


def module_text(tape: Tape, inputs: int, sizes: Sequence[int], places: Sequence[np.ndarray], width: int) -> str:
    """Return a module with `kernel(in, stride, ..., out, ..., start, stop)`, which fills samples start..stop.

    Each input is a pointer and the step from one sample to the next; each output is sample-major with `sizes` entries a
    sample, of which the tape's nonzeros go to `places`. Lanes beyond `stop` repeat the last sample, so any number works.
    """
    ports = [f"ptr noalias %in{k}, i64 %step{k}" for k in range(inputs)] + [
        f"ptr noalias %out{k}" for k in range(len(sizes))
    ]
    names = [f"ptr %in{k}, i64 %step{k}" for k in range(inputs)] + [f"ptr %out{k}" for k in range(len(sizes))]
    chunks = [tape.instructions[k : k + _CHUNK] for k in range(0, len(tape.instructions), _CHUNK)]
    inline = sum(i.op in ("sin", "cos") for i in tape.instructions) <= _INLINED_TURNS
    constants = {i.out: i.value for i in tape.instructions if i.op == "const"}
    slots = _crossing(chunks, constants)
    bodies = [_Chunk(c, sizes, places, width, inputs, slots, constants).text(k, ports) for k, c in enumerate(chunks)]
    return "\n".join(
        [_sincos(width, inline), *bodies, _loop(ports, names, len(chunks), len(slots), width), _declarations(width)]
    )


def _crossing(chunks: Sequence[Sequence[Instruction]], constants: dict[int, float]) -> dict[int, int]:
    """Return a slot of scratch memory for each register that a later chunk uses; constants are cheaper written again."""
    home = {i.out: k for k, chunk in enumerate(chunks) for i in chunk}
    crossing = sorted(
        {a for k, c in enumerate(chunks) for i in c for a in i.args if home[a] != k and a not in constants}
    )
    return {register: slot for slot, register in enumerate(crossing)}


def _loop(ports: Sequence[str], names: Sequence[str], chunks: int, slots: int, width: int) -> str:
    """Return the loop over samples, `width` at a time, through all chunks."""
    arguments = ", ".join([*ports, "i64 %start", "i64 %stop"])
    calls = [
        f"  call void @chunk{k}({', '.join([*names, 'i64 %i', 'i64 %last', 'ptr %scratch'])})" for k in range(chunks)
    ]
    lines = [
        f"define void @kernel({arguments}) {{",
        "entry:",
        f"  %scratch = alloca <{width} x double>, i64 {max(1, slots)}, align 64",
        "  %last = sub i64 %stop, 1",
        "  %some = icmp slt i64 %start, %stop",
        "  br i1 %some, label %loop, label %end",
        "loop:",
        "  %i = phi i64 [ %start, %entry ], [ %next, %loop ]",
        *calls,
        f"  %next = add i64 %i, {width}",
        "  %more = icmp slt i64 %next, %stop",
        "  br i1 %more, label %loop, label %end",
        "end:",
        "  ret void",
        "}",
    ]
    return "\n".join(lines)


class _Chunk(_Writer):
    """A stretch of the tape for `width` samples from %i on."""

    def __init__(
        self,
        chunk: Sequence[Instruction],
        sizes: Sequence[int],
        places: Sequence[np.ndarray],
        width: int,
        inputs: int,
        slots: dict[int, int],
        constants: dict[int, float],
    ) -> None:
        super().__init__(width)
        self.chunk, self.sizes, self.places, self.inputs, self.slots = chunk, sizes, places, inputs, slots
        self.constants = constants
        self.values: dict[int, str] = {}
        self.turns: dict[str, tuple[str, str]] = {}
        self.mask = "<" + ", ".join(["i1 true"] * width) + ">"

    def text(self, number: int, ports: Sequence[str]) -> str:
        self._addresses()
        for i in self.chunk:
            if i.op != "const":
                self._instruction(i)
            if i.out in self.slots:
                self.lines.append(f"  store {self.vector} {self.values[i.out]}, ptr {self._slot(i.out)}, align 64")
        arguments = ", ".join([*ports, "i64 %i", "i64 %last", "ptr noalias %scratch"])
        return "\n".join([f"define internal void @chunk{number}({arguments}) {{", *self.lines, "  ret void", "}"])

    def _slot(self, register: int) -> str:
        return self.emit(f"getelementptr {self.vector}, ptr %scratch, i64 {self.slots[register]}")

    def _value(self, register: int) -> str:
        if register in self.constants:
            return self.constant(self.constants[register])
        if register not in self.values:
            self.values[register] = self.emit(f"load {self.vector}, ptr {self._slot(register)}, align 64")
        return self.values[register]

    def _splat(self, value: str) -> str:
        w = self.width
        one = self.emit(f"insertelement <{w} x i64> poison, i64 {value}, i32 0")
        return self.emit(f"shufflevector <{w} x i64> {one}, <{w} x i64> poison, <{w} x i32> zeroinitializer")

    def _addresses(self) -> None:
        """Point each lane at its own sample."""
        w = self.width
        kind = f"<{w} x i64>"
        steps = "<" + ", ".join(f"i64 {k}" for k in range(w)) + ">"
        ahead = self.emit(f"add {kind} {self._splat('%i')}, {steps}")
        sample = self.emit(f"call {kind} @llvm.smin.v{w}i64({kind} {ahead}, {kind} {self._splat('%last')})")
        self.read, self.written = [], []
        for k in range(self.inputs):
            offset = self.emit(f"mul {kind} {sample}, {self._splat(f'%step{k}')}")
            self.read.append(self.emit(f"getelementptr double, ptr %in{k}, {kind} {offset}"))
        for k, size in enumerate(self.sizes):
            offset = self.emit(f"mul {kind} {sample}, {self._splat(str(size))}")
            self.written.append(self.emit(f"getelementptr double, ptr %out{k}, {kind} {offset}"))

    def _instruction(self, i: Instruction) -> None:
        w = self.width
        if i.op == "input":
            at = self.emit(f"getelementptr double, <{w} x ptr> {self.read[i.port]}, i64 {i.slot}")
            gather = f"@llvm.masked.gather.v{w}f64.v{w}p0(<{w} x ptr> {at}, i32 8, <{w} x i1> {self.mask}, {self.vector} poison)"
            self.values[i.out] = self.emit(f"call {self.vector} {gather}")
        elif i.op == "output":
            place = int(self.places[i.port][i.slot])
            at = self.emit(f"getelementptr double, <{w} x ptr> {self.written[i.port]}, i64 {place}")
            stored = f"{self.vector} {self._value(i.args[0])}, <{w} x ptr> {at}, i32 8, <{w} x i1> {self.mask}"
            self.lines.append(f"  call void @llvm.masked.scatter.v{w}f64.v{w}p0({stored})")
        else:
            self.values[i.out] = self._operation(i.op, [self._value(a) for a in i.args])

    def _operation(self, op: str, x: list[str]) -> str:
        flags = "nsz contract "
        a, b = x[0], x[-1]
        if op in _ARITHMETIC:
            return self.binary(_ARITHMETIC[op], a, b, flags)
        if op in ("sq", "twice"):
            return self.binary("fmul" if op == "sq" else "fadd", a, a, flags)
        if op == "neg":
            return self.emit(f"fneg {self.vector} {a}")
        if op == "inv":
            return self.binary("fdiv", self.constant(1.0), a)
        if op in ("sin", "cos"):
            return self._turn(a)[op == "cos"]
        if op in _INTRINSIC:
            return self.call(_INTRINSIC[op], *x)
        if op in _LIBM:
            return self.lanes("pow" if op == "constpow" else op, *x)
        return self._logic(op, a, b)

    def _logic(self, op: str, a: str, b: str) -> str:
        zero, one = self.constant(0.0), self.constant(1.0)
        if op in _COMPARE:
            return self.choose(self.compare(_COMPARE[op], a, b), one, zero)
        if op == "sign":  # zero and NaN stay what they are
            negative = self.choose(self.compare("olt", a, zero), self.constant(-1.0), a)
            return self.choose(self.compare("ogt", a, zero), one, negative)
        if op == "not":
            return self.choose(self.compare("oeq", a, zero), one, zero)
        first, second = self.compare("une", a, zero), self.compare("une", b, zero)
        if op == "if_else_zero":
            return self.choose(first, b, zero)
        both = self.emit(f"{op} <{self.width} x i1> {first}, {second}")  # "and", "or"
        return self.choose(both, one, zero)

    def _turn(self, angle: str) -> tuple[str, str]:
        if angle not in self.turns:
            pair = f"{{ {self.vector}, {self.vector} }}"
            both = self.emit(f"call {pair} @sincos({self.vector} {angle})")
            self.turns[angle] = (
                self.emit(f"extractvalue {pair} {both}, 0"),
                self.emit(f"extractvalue {pair} {both}, 1"),
            )
        return self.turns[angle]


def _sincos(width: int, inline: bool) -> str:
    """Return @sincos: within 1 ulp for |x| <= 1e5, the C library's beyond; NaN and infinity give NaN."""
    w = _Writer(width)
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
    ints = lambda v: "<" + ", ".join([f"i32 {v}"] * width) + ">"  # noqa: E731
    bit = lambda x, v: w.emit(f"icmp ne <{width} x i32> {w.emit(f'and <{width} x i32> {x}, {ints(v)}')}, {ints(0)}")  # noqa: E731
    odd = bit(quarter, 1)
    s, c = w.choose(odd, cosine, sine), w.choose(odd, sine, cosine)
    s = w.choose(bit(quarter, 2), w.emit(f"fneg {vector} {s}"), s)
    c = w.choose(bit(w.emit(f"add <{width} x i32> {quarter}, {ints(1)}"), 2), w.emit(f"fneg {vector} {c}"), c)
    w.lines += [
        f"  %f0 = insertvalue {pair} poison, {vector} {s}, 0",
        f"  %f1 = insertvalue {pair} %f0, {vector} {c}, 1",
    ]
    how = "alwaysinline" if inline else "noinline"
    return "\n".join([f"define internal {pair} @sincos({vector} %x) {how} {{", *w.lines, f"  ret {pair} %f1", "}"])


def _two_difference(w: _Writer, a: str, b: str) -> tuple[str, str]:
    """Return a - b and its rounding error (Knuth)."""
    difference = w.binary("fsub", a, b)
    back = w.binary("fsub", difference, a)
    error = w.binary("fsub", w.binary("fsub", a, w.binary("fsub", difference, back)), w.binary("fadd", b, back))
    return difference, error


def _reduced(w: _Writer, k: str) -> tuple[str, str]:
    """Return x - k pi/2 as an unevaluated sum of two doubles."""
    minus = w.emit(f"fneg {w.vector} {k}")
    first = w.fma(minus, w.constant(_PI_2[0]), "%x")  # exact: the product has 50 bits and lies near x
    second, e1 = _two_difference(w, first, w.binary("fmul", k, w.constant(_PI_2[1])))
    third, e2 = _two_difference(w, second, w.binary("fmul", k, w.constant(_PI_2[2])))
    rest = w.fma(minus, w.constant(_PI_2[3]), w.binary("fadd", e1, e2))
    hi = w.binary("fadd", third, rest)
    return hi, w.binary("fadd", w.binary("fsub", third, hi), rest)


def _polynomial(w: _Writer, z: str, coefficients: Sequence[float]) -> str:
    result = w.constant(coefficients[-1])
    for c in reversed(coefficients[:-1]):
        result = w.fma(result, z, w.constant(c))
    return result


def _kernel_sin(w: _Writer, x: str, y: str) -> str:
    """Return sin(x + y) for |x| <= pi/4: x - ((z (y/2 - v r) - y) - v S1), z = x^2, v = z x."""
    z = w.binary("fmul", x, x)
    v = w.binary("fmul", z, x)
    r = _polynomial(w, z, _SIN[1:])
    inner = w.fma(w.emit(f"fneg {w.vector} {v}"), r, w.binary("fmul", w.constant(0.5), y))
    outer = w.binary("fsub", w.binary("fmul", z, inner), y)
    return w.binary("fsub", x, w.binary("fsub", outer, w.binary("fmul", v, w.constant(_SIN[0]))))


def _kernel_cos(w: _Writer, x: str, y: str) -> str:
    """Return cos(x + y) for |x| <= pi/4: u + (((1 - u) - z/2) + (z r - x y)), u = 1 - z/2."""
    z = w.binary("fmul", x, x)
    r = w.binary("fmul", z, _polynomial(w, z, _COS))
    half = w.binary("fmul", z, w.constant(0.5))
    u = w.binary("fsub", w.constant(1.0), half)
    lost = w.binary("fsub", w.binary("fsub", w.constant(1.0), u), half)
    return w.binary("fadd", u, w.binary("fadd", lost, w.binary("fsub", w.binary("fmul", z, r), w.binary("fmul", x, y))))


def _declarations(width: int) -> str:
    v, w = f"<{width} x double>", width
    lines = [f"declare {v} @llvm.{name}.v{w}f64({v})" for name in ("sqrt", "fabs", "rint")]
    lines += [f"declare {v} @llvm.{name}.v{w}f64({v}, {v})" for name in ("minnum", "maxnum")]
    lines += [
        f"declare {v} @llvm.fma.v{w}f64({v}, {v}, {v})",
        f"declare <{w} x i64> @llvm.smin.v{w}i64(<{w} x i64>, <{w} x i64>)",
        f"declare i1 @llvm.vector.reduce.and.v{w}i1(<{w} x i1>)",
        f"declare {v} @llvm.masked.gather.v{w}f64.v{w}p0(<{w} x ptr>, i32, <{w} x i1>, {v})",
        f"declare void @llvm.masked.scatter.v{w}f64.v{w}p0({v}, <{w} x ptr>, i32, <{w} x i1>)",
    ]
    names = {"sin": 1, "cos": 1, **{("pow" if n == "constpow" else n): k for n, k in _LIBM.items()}}
    return "\n".join([*lines, *(f"declare double @{n}({', '.join(['double'] * k)})" for n, k in names.items())])
