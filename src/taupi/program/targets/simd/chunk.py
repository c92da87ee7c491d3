"""A chunk of the tape as vector instructions, which leave their results in rows of scratch memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from taupi.program.tape import Instruction
from taupi.program.targets.simd.llvm_writer import InstructionWriter

_ARITHMETIC = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
_COMPARE = {"lt": "olt", "le": "ole", "eq": "oeq", "ne": "une"}
INTRINSICS = {"sqrt": "sqrt", "fabs": "fabs", "floor": "floor", "fmin": "minnum", "fmax": "maxnum"}
LIBRARY = {
    "tan": 1,
    "asin": 1,
    "acos": 1,
    "atan": 1,
    "exp": 1,
    "log": 1,
    "tanh": 1,
    "atan2": 2,
    "pow": 2,
    "constpow": 2,
}


@dataclass(frozen=True)
class ChunkShape:
    """What every chunk needs to know about the program and its scratch memory."""

    width: int  # lanes
    scalar: str  # number type, "double" or "float"
    inputs: tuple[int, ...]  # entries of each input
    row_length: int  # scalars in a row of scratch memory
    row_of: Mapping[tuple[int, int], int]  # (output, nonzero) -> row
    slots: Mapping[int, int]  # register -> slot, for values that a later chunk uses
    constants: Mapping[int, float]  # register -> value


def crossing_slots(chunks: Sequence[Sequence[Instruction]], constants: Mapping[int, float]) -> dict[int, int]:
    """Return a slot for each register that a later chunk uses, except for constants, which are cheaper to write again."""
    home = {i.out: k for k, chunk in enumerate(chunks) for i in chunk}
    used = {a for k, chunk in enumerate(chunks) for i in chunk for a in i.args if home[a] != k and a not in constants}
    return {register: slot for slot, register in enumerate(sorted(used))}


class Chunk(InstructionWriter):
    """`void chunk(args, i, last, kept, rows)`: a part of the tape for `width` samples from i on, with results in rows.

    Lanes beyond `last` repeat that sample, so that any number of samples works. `kept` has values that cross chunks.
    """

    arguments = "ptr noalias %args, i64 %i, i64 %last, ptr noalias %kept, ptr noalias %rows"

    def __init__(self, instructions: Sequence[Instruction], shape: ChunkShape) -> None:
        super().__init__(shape.width, shape.scalar)
        self.instructions, self.shape = instructions, shape
        self.values: dict[int, str] = {}
        self.angles: dict[str, tuple[str, str]] = {}
        self.samples: dict[int, list[str]] = {}
        self.groups: dict[tuple[int, int], list[str]] = {}

    def text(self, name: str) -> str:
        """Return the function's text."""
        for number, i in enumerate(self.instructions):
            self._between(number)
            if i.op != "const":
                self._instruction(i)
            if i.out in self.shape.slots:
                self.line(f"store {self.vector} {self.values[i.out]}, ptr {self._slot(i.out)}, align 8")
        self._after()
        return "\n".join([f"define internal void @{name}({self.arguments}) {{", *self.lines, "  ret void", "}"])

    def _between(self, number: int) -> None:
        """Write what comes before an instruction; nothing here."""

    def _after(self) -> None:
        """Write what comes after the last instruction; nothing here."""

    def _slot(self, register: int) -> str:
        return self.emit(f"getelementptr {self.vector}, ptr %kept, i64 {self.shape.slots[register]}")

    def _value(self, register: int) -> str:
        if register in self.shape.constants:
            return self.constant(self.shape.constants[register])
        if register not in self.values:
            self.values[register] = self.emit(f"load {self.vector}, ptr {self._slot(register)}, align 8")
        return self.values[register]

    def _loaded(self, port: int, slot: int) -> str:
        """Return an input's entry over the lanes: `width` entries at a time are read sample by sample and transposed."""
        w, start = self.width, slot // self.width * self.width
        if (port, start) not in self.groups:
            if port not in self.samples:
                base, step = self.argument(2 * port, "ptr"), self.argument(2 * port + 1, "i64")
                self.samples[port] = self.lane_pointers(base, step)
            count, rows = min(w, self.shape.inputs[port] - start), []
            for pointer in self.samples[port]:
                at = self.emit(f"getelementptr {self.scalar}, ptr {pointer}, i64 {start}")
                arguments = f"ptr {at}, i32 {self.size}, <{w} x i1> {self.mask(count)}, {self.vector} zeroinitializer"
                masked = f"call {self.vector} @llvm.masked.load.{self.suffix}.p0({arguments})"
                rows.append(self.emit(masked if count < w else f"load {self.vector}, ptr {at}, align {self.size}"))
            self.groups[port, start] = self.transposed(rows)
        return self.groups[port, start][slot - start]

    def _instruction(self, i: Instruction) -> None:
        if i.op == "input":
            self.values[i.out] = self._loaded(i.port, i.slot)
        elif i.op == "output":
            value = self._value(i.args[0])
            row = self.shape.row_of[i.port, i.slot] * self.shape.row_length
            at = self.emit(f"getelementptr {self.scalar}, ptr %rows, i64 {row}")
            self.line(f"store {self.vector} {value}, ptr {at}, align 8")
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
            return self._sincos(a)[op == "cos"]
        if op in INTRINSICS:
            return self.call(INTRINSICS[op], *x)
        if op in LIBRARY:
            return self.lanes("pow" if op == "constpow" else op, *x)
        return self._logic(op, a, b)

    def _logic(self, op: str, a: str, b: str) -> str:
        zero, one = self.constant(0.0), self.constant(1.0)
        if op in _COMPARE:
            return self.choose(self.compare(_COMPARE[op], a, b), one, zero)
        if op == "sign":  # zero and NaN stay as they are
            negative = self.choose(self.compare("olt", a, zero), self.constant(-1.0), a)
            return self.choose(self.compare("ogt", a, zero), one, negative)
        if op == "not":
            return self.choose(self.compare("oeq", a, zero), one, zero)
        first, second = self.compare("une", a, zero), self.compare("une", b, zero)
        if op == "if_else_zero":
            return self.choose(first, b, zero)
        both = self.emit(f"{op} <{self.width} x i1> {first}, {second}")  # "and", "or"
        return self.choose(both, one, zero)

    def _sincos(self, angle: str) -> tuple[str, str]:
        if angle not in self.angles:
            doubles = f"<{self.width} x double>"
            pair = f"{{ {doubles}, {doubles} }}"
            wide = angle if self.scalar == "double" else self.emit(f"fpext {self.vector} {angle} to {doubles}")
            both = self.emit(f"call {pair} @sincos({doubles} {wide})")
            s, c = (self.emit(f"extractvalue {pair} {both}, {k}") for k in range(2))
            if self.scalar == "float":
                s, c = (self.emit(f"fptrunc {doubles} {v} to {self.vector}") for v in (s, c))
            self.angles[angle] = (s, c)
        return self.angles[angle]


class StreamingChunk(Chunk):
    """A chunk that also copies rows of the previous block to memory while it computes, one every few instructions.

    `void streaming(args, i, last, kept, rows, done, at, part)`: `done` holds the rows of the block that begins at sample `at`,
    and of every `parts` rows the one numbered `part` is copied. Stores that bypass the cache are slow; interleaved with
    arithmetic they cost less than in a copy after the computation.
    """

    arguments = Chunk.arguments + ", ptr noalias %done, i64 %at, i64 %part"

    def __init__(
        self, instructions: Sequence[Instruction], shape: ChunkShape, copies: Sequence[tuple[int, int]], parts: int
    ) -> None:
        super().__init__(instructions, shape)
        # (output, number) of every copy that this chunk makes, spread evenly over its instructions
        self.copies, self.parts = list(copies), parts
        self.pace = len(instructions) / max(1, len(copies))
        self.bases: dict[int, tuple[str, str]] = {}
        self.copied = 0

    def _between(self, number: int) -> None:
        while self.copied < len(self.copies) and self.copied * self.pace <= number:
            self._copy(*self.copies[self.copied])
            self.copied += 1

    def _after(self) -> None:
        for copy in self.copies[self.copied :]:
            self._copy(*copy)

    def _copy(self, port: int, number: int) -> None:
        if port not in self.bases:
            place = 2 * (len(self.shape.inputs) + port)
            base, step = self.argument(place, "ptr"), self.argument(place + 1, "i64")
            self.bases[port] = (self.emit(f"getelementptr {self.scalar}, ptr {base}, i64 %at"), step)
        base, step = self.bases[port]
        entry = self.emit(f"add i64 %part, {number * self.parts}")
        to, row = (
            self.emit(f"load i64, ptr {self.emit(f'getelementptr i64, ptr @{table}{port}, i64 {entry}')}")
            for table in ("places", "sources")
        )
        near = self.emit(f"getelementptr {self.scalar}, ptr %done, i64 {row}")
        far = self.emit(f"getelementptr {self.scalar}, ptr {base}, i64 {self.emit(f'mul i64 {to}, {step}')}")
        for k in range(0, self.shape.row_length, self.width):
            source = self.emit(f"getelementptr {self.scalar}, ptr {near}, i64 {k}")
            target = self.emit(f"getelementptr {self.scalar}, ptr {far}, i64 {k}")
            value = self.emit(f"load {self.vector}, ptr {source}, align 8")
            self.line(f"store {self.vector} {value}, ptr {target}, align {self.width * self.size}, !nontemporal !0")
