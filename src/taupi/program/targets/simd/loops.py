"""The loops around the tape: over samples, and from rows of scratch memory to the caller's arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from taupi.program.targets.simd.llvm_writer import STALE, STREAM, InstructionWriter


@dataclass(frozen=True)
class OutputRows:
    """Where the tape writes its results, and where they go from there.

    Sample-major output consists of groups of `width` neighbouring entries, one row per entry (zeros included), which are
    transposed in registers. Batch-last output has one row per nonzero, which is copied to its place.
    """

    layout: str
    width: int
    length: int  # scalars in a row
    count: int
    row_of: dict[tuple[int, int], int]
    zero_rows: tuple[int, ...]
    starts: tuple[tuple[int, ...], ...]  # per output: a group's first entry, or a nonzero's place
    first: tuple[int, ...]  # per output: its first row
    sizes: tuple[int, ...]

    @property
    def parts(self) -> int:
        """Vectors in a row."""
        return self.length // self.width

    @property
    def staged(self) -> int:
        """Scalars of the memory in which sample-major output is put together before it bypasses the cache: `width` samples."""
        return self.width * sum(self.sizes) if self.layout == "samples" and self.width > 1 else 0

    def copies(self) -> list[tuple[int, int]]:
        """Return (output, number) of each copy: every one of the `parts` vectors of a block copies its share of the rows."""
        return [(port, k) for port, starts in enumerate(self.starts) for k in range(-(-len(starts) // self.parts))]


def sample_rows(places: Sequence[np.ndarray], sizes: Sequence[int], width: int) -> OutputRows:
    """Return groups of `width` entries that cover each nonzero exactly once."""
    row_of: dict[tuple[int, int], int] = {}
    used: set[int] = set()
    starts, first, row = [], [], 0
    for port, nonzeros in enumerate(places):
        groups: list[int] = []
        first.append(row)
        order = np.argsort(nonzeros, kind="stable")
        for slot in order:
            place = int(nonzeros[slot])
            if not groups or place >= groups[-1] + width:
                groups.append(place)
                row += width
            row_of[port, int(slot)] = row - width + place - groups[-1]
            used.add(row_of[port, int(slot)])
        starts.append(tuple(groups))
    zero = tuple(sorted(set(range(row)) - used))
    return OutputRows("samples", width, width, row, row_of, zero, tuple(starts), tuple(first), tuple(sizes))


def batch_rows(places: Sequence[np.ndarray], sizes: Sequence[int], width: int, block: int) -> OutputRows:
    """Return one row of `block` samples per nonzero."""
    row_of: dict[tuple[int, int], int] = {}
    first, row = [], 0
    for port, nonzeros in enumerate(places):
        first.append(row)
        for slot in range(len(nonzeros)):
            row_of[port, slot] = row
            row += 1
    starts = tuple(tuple(int(p) for p in nonzeros) for nonzeros in places)
    return OutputRows("batch_last", width, block, row, row_of, (), starts, tuple(first), tuple(sizes))


class LoopWriter(InstructionWriter):
    """`void kernel(args, start, stop)`, where args has (in, step) per input, (out, step) per output, kept, rows, flags.

    Flags are STREAM, for output that bypasses the cache, and STALE, for output that is not zero: then zeros are written as well.
    """

    def __init__(self, rows: OutputRows, scalar: str, inputs: int, chunks: int, streaming: bool = True) -> None:
        super().__init__(rows.width, scalar)
        self.rows, self.inputs, self.chunks, self.streaming = rows, inputs, chunks, streaming
        self.steps: dict[str, int] = {}

    def text(self) -> str:
        """Return the kernel and its tables."""
        self.label("entry")
        outputs = len(self.rows.sizes)
        self.out = [
            (self.argument(2 * (self.inputs + k), "ptr"), self.argument(2 * (self.inputs + k) + 1, "i64"))
            for k in range(outputs)
        ]
        place = 2 * (self.inputs + outputs)
        self.kept, self.scratch = self.argument(place, "ptr"), self.argument(place + 1, "ptr")
        flags = self.argument(place + 2, "i64")
        self.stream, self.stale = (
            self.emit(f"icmp ne i64 {self.emit(f'and i64 {flags}, {flag}')}, 0") for flag in (STREAM, STALE)
        )
        self.line("%last = sub i64 %stop, 1")
        zero = self.constant(0.0)
        for row in self.rows.zero_rows:
            self.line(f"store {self.vector} {zero}, ptr {self._row(str(row * self.rows.length))}, align 8")
        if self.rows.staged:
            self.even = self.emit(f"and i1 {self.stream}, {self._aligned('0')}")
        self.line("%some = icmp slt i64 %start, %stop")
        self.line("br i1 %some, label %loop, label %end")
        if self.rows.layout == "samples":
            self._samples()
        elif self.streaming:
            self._blocks()
        else:
            self.label("loop")
            self.line("br label %slow")
            self.label("slow")
            self.line("%left = add i64 %start, 0")
            self.line("br label %blocks")
            self._by_blocks()
        self.label("end")
        if self.rows.staged:
            self.line(f"br i1 {self.even}, label %fence, label %return")
            self.label("fence")
        if self.rows.staged or self.rows.layout != "samples":
            self.line("fence seq_cst")  # makes streaming stores visible to other threads
        if self.rows.staged:
            self.line("br label %return")
            self.label("return")
        self.line("ret void")
        head = "define void @kernel(ptr noalias %args, i64 %start, i64 %stop) {"
        return "\n".join([*self._tables(), head, *self.lines, "}", "!0 = !{i32 1}"])

    def _tables(self) -> list[str]:
        """Return tables of the places and rows of groups or nonzeros; the last entry is repeated to fill every copy."""
        tables = []
        for port, starts in enumerate(self.rows.starts):
            first = self.rows.first[port]
            rows = [(first + k) * self.rows.length for k in range(len(starts))]
            padded = max(1, -(-len(starts) // self.rows.parts) * self.rows.parts)
            for name, entries in (("places", list(starts)), ("sources", rows)):
                filled = (entries + entries[-1:] * padded)[:padded] if entries else [0]
                values = ", ".join(f"i64 {e}" for e in filled)
                tables.append(f"@{name}{port} = private constant [{len(filled)} x i64] [{values}]")
        return tables

    def _row(self, offset: str) -> str:
        return self.emit(f"getelementptr {self.scalar}, ptr {self.scratch}, i64 {offset}")

    def _run_chunks(self, sample: str, rows: str) -> None:
        for k in range(self.chunks):
            self.line(f"call void @chunk{k}(ptr %args, i64 {sample}, i64 %last, ptr {self.kept}, ptr {rows})")

    def _counted(self, name: str, before: str, limit: str, after: str, step: int = 1, start: str = "0") -> str:
        """Open a counted loop `for x in range(start, limit, step)` and return x; `_close` ends it."""
        self.line(f"br label %{name}.head")
        self.label(f"{name}.head")
        self.line(f"%{name}.x = phi i64 [ {start}, %{before} ], [ %{name}.next, %{name}.latch ]")
        self.line(f"%{name}.go = icmp slt i64 %{name}.x, {limit}")
        self.line(f"br i1 %{name}.go, label %{name}.body, label %{after}")
        self.label(f"{name}.body")
        self.steps[name] = step
        return f"%{name}.x"

    def _close(self, name: str) -> None:
        self.line(f"br label %{name}.latch")
        self.label(f"{name}.latch")
        self.line(f"%{name}.next = add i64 %{name}.x, {self.steps[name]}")
        self.line(f"br label %{name}.head")

    def _aligned(self, steps: str) -> str:
        """Return whether vectors of the outputs are aligned from the first sample on, and after `steps`, bits of entries."""
        bits = self.emit(f"or i64 %start, {steps}")
        for base, _ in self.out:
            address = self.emit(f"udiv i64 {self.emit(f'ptrtoint ptr {base} to i64')}, {self.size}")
            bits = self.emit(f"or i64 {bits}, {address}")
        return self.emit(f"icmp eq i64 {self.emit(f'and i64 {bits}, {self.width - 1}')}, 0")

    # Sample-major -------------------------------------------------------------------------------------------------

    def _samples(self) -> None:
        self.label("loop")
        outputs = len(self.rows.sizes)
        self.line(f"%i = phi i64 [ %start, %entry ], [ %next, %done{outputs} ]")
        self._run_chunks("%i", self.scratch)
        left = self.emit("sub i64 %stop, %i")
        self.line(f"%count = call i64 @llvm.smin.i64(i64 {left}, i64 {self.width})")
        if self.rows.staged:
            full = self.emit(f"icmp eq i64 %count, {self.width}")
            self.line(f"br i1 {self.emit(f'and i1 {self.even}, {full}')}, label %staged, label %direct")
            self._staged()
        else:
            self.line("br label %direct")
        self.label("direct")
        block = "direct"
        for port, (base, step) in enumerate(self.out):
            block = self._cleared(port, block)
            block = self._store_samples(port, block, self.lane_pointers(base, step), f"direct{port}")
        self.line(f"br label %done{outputs}")
        self.label(f"done{outputs}")
        self.line(f"%next = add i64 %i, {self.width}")
        self.line("%more = icmp slt i64 %next, %stop")
        self.line("br i1 %more, label %loop, label %end")

    def _staged(self) -> None:
        """Collect `width` samples in scratch memory, whose gaps stay zero, and copy them past the cache in one run."""
        self.label("staged")
        block, offset = "staged", self.rows.count * self.rows.length * 2
        for port, size in enumerate(self.rows.sizes):
            stage = self._row(str(offset))
            pointers = [
                self.emit(f"getelementptr {self.scalar}, ptr {stage}, i64 {k * size}") for k in range(self.width)
            ]
            block = self._store_samples(port, block, pointers, f"staged{port}")
            base, step = self.out[port]
            to = self.emit(f"getelementptr {self.scalar}, ptr {base}, i64 {self.emit(f'mul i64 %i, {step}')}")
            k = self._counted(f"past{port}", block, str(self.width * size), f"past{port}.end", self.width)
            source = self.emit(f"getelementptr {self.scalar}, ptr {stage}, i64 {k}")
            target = self.emit(f"getelementptr {self.scalar}, ptr {to}, i64 {k}")
            value = self.emit(f"load {self.vector}, ptr {source}, align {self.size}")
            self.line(f"store {self.vector} {value}, ptr {target}, align {self.width * self.size}, !nontemporal !0")
            self._close(f"past{port}")
            self.label(f"past{port}.end")
            block, offset = f"past{port}.end", offset + self.width * size
        self.line(f"br label %done{len(self.rows.sizes)}")

    def _cleared(self, port: int, block: str) -> str:
        """Write zeros to the samples of the lanes if the memory is not zero, right before their results."""
        base, step = self.out[port]
        first = self.emit(f"getelementptr {self.scalar}, ptr {base}, i64 {self.emit(f'mul i64 %i, {step}')}")
        entries = self.emit(f"mul i64 %count, {step}")
        limit = self.emit(f"select i1 {self.stale}, i64 {entries}, i64 0")
        vectors = self.emit(f"and i64 {limit}, {-self.width}")
        for name, kind, count, step_size in (
            ("clear", self.vector, vectors, self.width),
            ("rest", self.scalar, limit, 1),
        ):
            start = "0" if name == "clear" else vectors
            loop, after = f"{name}{port}", f"{name}{port}.end"
            k = self._counted(loop, block, count, after, step_size, start)
            at = self.emit(f"getelementptr {self.scalar}, ptr {first}, i64 {k}")
            self.line(f"store {kind} zeroinitializer, ptr {at}, align {self.size}")
            self._close(loop)
            self.label(after)
            block = after
        return block

    def _store_samples(self, port: int, block: str, pointers: list[str], name: str) -> str:
        """Store an output's groups: transpose `width` rows of lanes into vectors of `width` neighbours, one per sample."""
        starts, size = self.rows.starts[port], self.rows.sizes[port]
        if not starts:
            return block
        full = len(starts) - (starts[-1] + self.width > size)  # all groups but one that goes beyond the end
        first = self.rows.first[port] * self.rows.length
        if full:
            g = self._counted(f"{name}.group", block, str(full), f"{name}.rest")
            offset = self.emit(f"mul i64 {g}, {self.width * self.rows.length}")
            source = self._row(self.emit(f"add i64 {offset}, {first}"))
            place = self.emit(f"getelementptr i64, ptr @places{port}, i64 {g}")
            start = self.emit(f"load i64, ptr {place}")
            for pointer, value in zip(pointers, self._transposed_rows(source), strict=True):
                at = self.emit(f"getelementptr {self.scalar}, ptr {pointer}, i64 {start}")
                self.line(f"store {self.vector} {value}, ptr {at}, align {self.size}")
            self._close(f"{name}.group")
            self.label(f"{name}.rest")
            block = f"{name}.rest"
        if full < len(starts):
            source = self._row(str(first + full * self.width * self.rows.length))
            mask = self.mask(size - starts[-1])
            for pointer, value in zip(pointers, self._transposed_rows(source), strict=True):
                at = self.emit(f"getelementptr {self.scalar}, ptr {pointer}, i64 {starts[-1]}")
                arguments = f"{self.vector} {value}, ptr {at}, i32 {self.size}, <{self.width} x i1> {mask}"
                self.line(f"call void @llvm.masked.store.{self.suffix}.p0({arguments})")
        return block

    def _transposed_rows(self, source: str) -> list[str]:
        """Return the transpose of `width` neighbouring rows."""
        w = self.width
        rows = []
        for k in range(w):
            at = self.emit(f"getelementptr {self.scalar}, ptr {source}, i64 {k * self.rows.length}")
            rows.append(self.emit(f"load {self.vector}, ptr {at}, align 8"))
        return self.transposed(rows)

    # Batch-last ---------------------------------------------------------------------------------------------------

    def _blocks(self) -> None:
        """Store full blocks while the next ones are computed, if the output streams and is aligned; then do the rest."""
        self.label("loop")
        length, parts = self.rows.length, self.rows.parts
        steps = "0"
        for _, step in self.out:
            steps = self.emit(f"or i64 {steps}, {step}")
        even = self._aligned(steps)
        fits = self.emit(f"udiv i64 {self.emit('sub i64 %stop, %start')}, {length}")
        full = self.emit(f"select i1 {self.emit(f'and i1 {self.stream}, {even}')}, i64 {fits}, i64 0")
        self.line(f"%left = add i64 %start, {self.emit(f'mul i64 {full}, {length}')}")
        k = self._counted("ahead", "loop", full, "drain")
        first = self.emit(f"icmp eq i64 {k}, 0")
        block = self.emit(f"add i64 %start, {self.emit(f'mul i64 {k}, {length}')}")
        before = self.emit(f"sub i64 {block}, {length}")
        odd = self.emit(f"and i64 {k}, 1")
        now = self._row(self.emit(f"mul i64 {odd}, {self.rows.count * length}"))
        done = self._row(self.emit(f"mul i64 {self.emit(f'xor i64 {odd}, 1')}, {self.rows.count * length}"))
        self.line(f"br i1 {first}, label %first, label %later")
        for name in ("first", "later"):
            self.label(name)
            part = self._counted(f"{name}.part", name, str(parts), "ahead.done")
            shift = self.emit(f"mul i64 {part}, {self.width}")
            rows = self.emit(f"getelementptr {self.scalar}, ptr {now}, i64 {shift}")
            sample = self.emit(f"add i64 {block}, {shift}")
            arguments = f"ptr %args, i64 {sample}, i64 %last, ptr {self.kept}, ptr {rows}"
            for c in range(self.chunks):
                more = f", ptr {done}, i64 {before}, i64 {part}" if name == "later" else ""
                self.line(f"call void @{'streaming' if name == 'later' else 'chunk'}{c}({arguments}{more})")
            self._close(f"{name}.part")
        self.label("ahead.done")
        self._close("ahead")
        self._drain(full)

    def _drain(self, full: str) -> None:
        """Copy the last of the full blocks, which no other follows."""
        self.label("drain")
        length = self.rows.length
        some = self.emit(f"icmp sgt i64 {full}, 0")
        self.line(f"br i1 {some}, label %drained, label %slow")
        self.label("drained")
        odd = self.emit(f"and i64 {self.emit(f'sub i64 {full}, 1')}, 1")
        rows = self._row(self.emit(f"mul i64 {odd}, {self.rows.count * length}"))
        at, block = self.emit(f"sub i64 %left, {length}"), "drained"
        for port in range(len(self.rows.sizes)):
            block = self._copied(port, block, "drain", rows, at, str(length))
        self.line("br label %slow")
        self.label("slow")
        self.line("%some.left = icmp slt i64 %left, %stop")
        self.line("br i1 %some.left, label %blocks, label %end")
        self._by_blocks()

    def _by_blocks(self) -> None:
        """Fill a block of rows that fits into the cache, then copy each row to its place in one go."""
        self.label("blocks")
        outputs = len(self.rows.sizes)
        self.line(f"%b = phi i64 [ %left, %slow ], [ %next, %done{outputs} ]")
        ahead = self.emit("sub i64 %stop, %b")
        self.line(f"%count = call i64 @llvm.smin.i64(i64 {ahead}, i64 {self.rows.length})")
        j = self._counted("fill", "blocks", "%count", "filled", self.width)
        sample = self.emit(f"add i64 %b, {j}")
        self._run_chunks(sample, self._row(j))
        self._close("fill")
        self.label("filled")
        block = "filled"
        for port in range(outputs):
            block = self._copied(port, block, "block", self.scratch, "%b", "%count")
        self.line(f"br label %done{outputs}")
        self.label(f"done{outputs}")
        self.line(f"%next = add i64 %b, {self.rows.length}")
        self.line("%more = icmp slt i64 %next, %stop")
        self.line("br i1 %more, label %blocks, label %end")

    def _copied(self, port: int, block: str, name: str, rows: str, at: str, count: str) -> str:
        """Copy an output's rows to their places from sample `at` on."""
        if not self.rows.starts[port]:
            return block
        base, step = self.out[port]
        k = self._counted(f"{name}.row{port}", block, str(len(self.rows.starts[port])), f"{name}.copied{port}")
        row, place = (
            self.emit(f"load i64, ptr {self.emit(f'getelementptr i64, ptr @{t}{port}, i64 {k}')}")
            for t in ("sources", "places")
        )
        source = self.emit(f"getelementptr {self.scalar}, ptr {rows}, i64 {row}")
        far = self.emit(f"add i64 {self.emit(f'mul i64 {place}, {step}')}, {at}")
        target = self.emit(f"getelementptr {self.scalar}, ptr {base}, i64 {far}")
        self.line(f"call void @copy(ptr {target}, ptr {source}, i64 {count}, i1 {self.stream})")
        self._close(f"{name}.row{port}")
        self.label(f"{name}.copied{port}")
        return f"{name}.copied{port}"


def copy_text(width: int, scalar: str) -> str:
    """Return @copy(to, from, count, stream), which copies by vectors and, if it streams, bypasses the cache.

    Streaming stores need complete cache lines, so single numbers are copied before the first and after the last of these.
    """
    size = 8 if scalar == "double" else 4
    vector, line = f"<{width} x {scalar}>", width * size
    return "\n".join(
        [
            "define internal void @copy(ptr noalias %to, ptr noalias %from, i64 %count, i1 %stream) {",
            "entry:",
            "  %address = ptrtoint ptr %to to i64",
            "  %over = sub i64 0, %address",
            f"  %gap = and i64 %over, {line - 1}",
            f"  %gap.numbers = lshr i64 %gap, {size.bit_length() - 1}",
            "  %wanted = select i1 %stream, i64 %gap.numbers, i64 0",
            "  %lead = call i64 @llvm.smin.i64(i64 %wanted, i64 %count)",
            "  br label %head",
            *_copy_loop("head", "entry", "0", "%lead", (scalar, f"align {size}", 1), "main"),
            "main:",
            "  %rest = sub i64 %count, %lead",
            f"  %fit = and i64 %rest, {-width}",
            "  %edge = add i64 %lead, %fit",
            "  br i1 %stream, label %fast, label %plain",
            *_copy_loop(
                "fast", "main", "%lead", "%edge", (vector, f"align {line}, !nontemporal !0", width), "tail.entry"
            ),
            *_copy_loop("plain", "main", "%lead", "%edge", (vector, f"align {size}", width), "tail.entry"),
            "tail.entry:",
            "  br label %tail",
            *_copy_loop("tail", "tail.entry", "%edge", "%count", (scalar, f"align {size}", 1), "end"),
            "end:",
            "  ret void",
            "}",
        ]
    )


def _copy_loop(name: str, before: str, start: str, stop: str, what: tuple[str, str, int], after: str) -> list[str]:
    """Return a loop that copies numbers or vectors from `start` to `stop`."""
    kind, how, step = what
    scalar = kind.strip("<>").split()[-1]
    return [
        f"{name}:",
        f"  %{name}.k = phi i64 [ {start}, %{before} ], [ %{name}.next, %{name}.body ]",
        f"  %{name}.go = icmp slt i64 %{name}.k, {stop}",
        f"  br i1 %{name}.go, label %{name}.body, label %{after}",
        f"{name}.body:",
        f"  %{name}.source = getelementptr {scalar}, ptr %from, i64 %{name}.k",
        f"  %{name}.value = load {kind}, ptr %{name}.source, align {8 if scalar == 'double' else 4}",
        f"  %{name}.target = getelementptr {scalar}, ptr %to, i64 %{name}.k",
        f"  store {kind} %{name}.value, ptr %{name}.target, {how}",
        f"  %{name}.next = add i64 %{name}.k, {step}",
        f"  br label %{name}",
    ]
