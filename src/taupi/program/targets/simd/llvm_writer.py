"""A writer of LLVM text: numbered registers, vector constants, calls."""

from __future__ import annotations

import struct

import numpy as np


class Writer:
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
