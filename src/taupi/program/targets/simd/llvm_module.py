"""A program's tape as the text of a complete LLVM module."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from taupi.program.batch_results import places
from taupi.program.program import Program
from taupi.program.targets.simd.chunk import INTRINSICS, LIBRARY, Chunk, ChunkShape, StreamingChunk, crossing_slots
from taupi.program.targets.simd.llvm_writer import Module, sincos
from taupi.program.targets.simd.loops import LoopWriter, OutputRows, batch_rows, copy_text, sample_rows
from taupi.program.targets.simd.machine_code import LEVEL, LEVEL_OF_LONG

# A tape up to this length is one function, which runs fastest. LLVM's time grows faster than the length of a function, so a
# longer tape, whose values do not fit into registers anyway, is cut into many short functions.
_ONE_FUNCTION = 3000
_CHUNK = 500
# Of a tape longer than _STREAMING: with LLVM's lower level the cut matters less, and longer functions run as fast as shorter ones
# do with the higher level.
_LONG_CHUNK = 1000
# With one lane, values are spilled eight bytes at a time rather than 64, and much longer functions still run fastest.
_ONE_FUNCTION_ONE_LANE = 12_000
# A longer tape computes for so long that copying its results afterwards hardly matters, while code that copies as it computes
# takes LLVM four times as long: 21 s instead of 5 s for Y of 64 joints.
_STREAMING = 20_000
# Up to this many sines and cosines are inlined; a program with more calls a function instead.
_INLINED_SINES = 256
# The bytes of a block of rows, which should stay in the second-level cache.
_BLOCK_BYTES = 64 * 1024


def build_module(program: Program, layout: str, width: int, scalar: str) -> Module:
    """Return the module of a program for a layout, a vector width and a number type ("double" or "float")."""
    tape, inputs = program.tape, len(program.inputs)
    target = [places(program, k, layout) for k in range(len(program.outputs))]
    sizes = [p.size for p in program.outputs]
    rows = _rows(layout, target, sizes, width, scalar)
    constants = {i.out: i.value for i in tape.instructions if i.op == "const"}
    longest = _ONE_FUNCTION if width > 1 else _ONE_FUNCTION_ONE_LANE
    long = len(tape.instructions) > max(longest, _STREAMING)
    length = _LONG_CHUNK if long else longest if len(tape.instructions) <= longest else _CHUNK
    # An empty tape, whose results are all zero, is one empty chunk.
    starts = range(0, max(1, len(tape.instructions)), length)
    chunks = [tape.instructions[k : k + length] for k in starts]
    slots = crossing_slots(chunks, constants)
    shape = ChunkShape(width, scalar, tuple(p.size for p in program.inputs), rows.length, rows.row_of, slots, constants)
    inline = sum(i.op in ("sin", "cos") for i in tape.instructions) <= _INLINED_SINES
    parts = [sincos(width, inline), *(Chunk(c, shape).text(f"chunk{k}") for k, c in enumerate(chunks))]
    streaming = layout != "samples" and len(tape.instructions) <= _STREAMING
    if streaming:
        # Each chunk copies a share of the rows in proportion to its length.
        copies, ends = rows.copies(), np.cumsum([len(c) for c in chunks])
        edges = [0, *(len(copies) * ends // max(1, ends[-1])).tolist()]
        edges[-1] = len(copies)
        shares = [copies[a:b] for a, b in pairwise(edges)]
        parts += [StreamingChunk(c, shape, shares[k], rows.parts).text(f"streaming{k}") for k, c in enumerate(chunks)]
    parts += [
        copy_text(width, scalar),
        LoopWriter(rows, scalar, inputs, len(chunks), streaming).text(),
        _declarations(width),
    ]
    level = LEVEL_OF_LONG if long else LEVEL
    return Module("\n".join(parts), len(slots) * width, 2 * rows.count * rows.length + rows.staged, rows.length, level)


def _rows(layout: str, target: list[np.ndarray], sizes: list[int], width: int, scalar: str) -> OutputRows:
    if layout == "samples":
        return sample_rows(target, sizes, width)
    count = max(1, sum(len(p) for p in target))
    block = _BLOCK_BYTES // ((8 if scalar == "double" else 4) * count)
    return batch_rows(target, sizes, width, max(width, min(8 * width, block // width * width)))


def _declarations(width: int) -> str:
    w, lines = width, []
    for scalar, suffix in (("double", "f64"), ("float", "f32")):
        v, name = f"<{w} x {scalar}>", f"v{w}{suffix}"
        one = sorted({"fabs", "rint", *(n for op, n in INTRINSICS.items() if op in ("sqrt", "fabs", "floor"))})
        lines += [f"declare {v} @llvm.{n}.{name}({v})" for n in one]
        lines += [f"declare {v} @llvm.{n}.{name}({v}, {v})" for n in ("minnum", "maxnum")]
        lines += [
            f"declare {v} @llvm.fma.{name}({v}, {v}, {v})",
            f"declare {v} @llvm.masked.load.{name}.p0(ptr, i32, <{w} x i1>, {v})",
            f"declare void @llvm.masked.store.{name}.p0({v}, ptr, i32, <{w} x i1>)",
        ]
    lines += [
        "declare i64 @llvm.smin.i64(i64, i64)",
        f"declare i1 @llvm.vector.reduce.and.v{w}i1(<{w} x i1>)",
    ]
    names = {"sin": 1, "cos": 1, **{("pow" if n == "constpow" else n): k for n, k in LIBRARY.items()}}
    return "\n".join([*lines, *(f"declare double @{n}({', '.join(['double'] * k)})" for n, k in names.items())])
