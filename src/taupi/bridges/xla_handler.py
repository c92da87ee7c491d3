"""A program's kernel behind XLA's foreign function interface: a handler in LLVM's language, in the same module as the kernel.

XLA calls a handler with a frame of pointers (`xla/ffi/api/c_api.h`). Ours makes the kernel's table of addresses from it and
calls the kernel on XLA's own memory: nothing is copied, and Python is not involved.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from taupi.program.targets.cpu import vector_width
from taupi.program.targets.simd.llvm_module import build_module
from taupi.program.targets.simd.machine_code import load

if TYPE_CHECKING:
    from llvmlite.binding import ExecutionEngine

    from taupi.program.program import Program

_SCALARS = {"float64": ("double", 8), "float32": ("float", 4)}
_ALIGNMENT = 64
# Offsets in bytes of what is read from XLA_FFI_CallFrame, XLA_FFI_Metadata_Extension, XLA_FFI_Metadata and XLA_FFI_Buffer.
_EXTENSION, _STAGE, _ARGUMENTS, _RESULTS = 8, 32, 72, 112
_EXTENSION_TYPE, _METADATA, _MAJOR, _MINOR, _TRAITS = 8, 24, 24, 28, 32
_DATA, _DIMENSIONS = 24, 40
_METADATA_EXTENSION, _EXECUTE = 1, 3


def build_handler(program: Program, dtype: str, version: tuple[int, int]) -> tuple[ExecutionEngine, int]:
    """Return the machine code of a program for XLA, to be kept alive, and the address of its handler.

    Inputs are (N, size) or (1, size), shared by all samples; outputs are (N, size). `version` is that of XLA's interface.
    """
    scalar, _ = _SCALARS[dtype]
    module = build_module(program, "samples", vector_width(dtype), scalar)
    handler = _Handler(program, dtype, module.kept, module.rows).text(version)
    engine = load(module.text + "\n" + handler, module.level)
    return engine, engine.get_function_address("xla_handler")


class _Handler:
    """The text of `ptr xla_handler(ptr frame)` for one program; `kept` and `rows` are the scalars of its scratch memory."""

    def __init__(self, program: Program, dtype: str, kept: int, rows: int) -> None:
        self.program, self.kept, self.rows = program, kept, rows
        self.size = _SCALARS[dtype][1]
        self.lines: list[str] = []

    def text(self, version: tuple[int, int]) -> str:
        """Return the function; when asked for its metadata, it answers with XLA's own `version`."""
        inputs, outputs = len(self.program.inputs), len(self.program.outputs)
        self.lines = ["declare ptr @malloc(i64)", "declare void @free(ptr)"]
        self.lines += ["declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)", "define ptr @xla_handler(ptr %frame) {"]
        self._preamble(version)
        self.lines += [f"  %table = alloca [{2 * (inputs + outputs) + 3} x i64], align 8"]
        self._load("results", "ptr", "%frame", _RESULTS)
        self._load("arguments", "ptr", "%frame", _ARGUMENTS)
        self._buffer("out0", "%results", 0)
        self._samples("n", "%out0")
        for k, port in enumerate(self.program.inputs):
            self._input(k, port.size)
        for k, port in enumerate(self.program.outputs):
            self._output(k, inputs + k, port.size)
        self._scratch(2 * (inputs + outputs))
        self.lines += ["  call void @kernel(ptr %table, i64 0, i64 %n)", "  call void @free(ptr %memory)"]
        self.lines += ["  ret ptr null", "}"]
        return "\n".join(self.lines)

    def _preamble(self, version: tuple[int, int]) -> None:
        """Answer a request for metadata, and do nothing in the stages before execution."""
        self._load("extension", "ptr", "%frame", _EXTENSION)
        self.lines += ["  %extended = icmp ne ptr %extension, null", "  br i1 %extended, label %kind, label %stage"]
        self.lines += ["kind:"]
        self._load("type", "i32", "%extension", _EXTENSION_TYPE)
        self.lines += [f"  %asked = icmp eq i32 %type, {_METADATA_EXTENSION}"]
        self.lines += ["  br i1 %asked, label %metadata, label %stage", "metadata:"]
        self._load("answer", "ptr", "%extension", _METADATA)
        for name, place, value in (
            ("major", _MAJOR, version[0]),
            ("minor", _MINOR, version[1]),
            ("traits", _TRAITS, 0),
        ):
            self.lines += [f"  %{name}.at = getelementptr i8, ptr %answer, i64 {place}"]
            self.lines += [f"  store i32 {value}, ptr %{name}.at"]
        self.lines += ["  br label %nothing", "stage:"]
        self._load("now", "i32", "%frame", _STAGE)
        self.lines += [f"  %execute = icmp eq i32 %now, {_EXECUTE}", "  br i1 %execute, label %run, label %nothing"]
        self.lines += ["nothing:", "  ret ptr null", "run:"]

    def _load(self, name: str, kind: str, base: str, offset: int) -> None:
        self.lines += [f"  %{name}.at = getelementptr i8, ptr {base}, i64 {offset}"]
        self.lines += [f"  %{name} = load {kind}, ptr %{name}.at"]

    def _buffer(self, name: str, buffers: str, k: int) -> None:
        self._load(name, "ptr", buffers, 8 * k)

    def _samples(self, name: str, buffer: str) -> None:
        """Load the first dimension of a buffer."""
        self._load(f"{name}.dims", "ptr", buffer, _DIMENSIONS)
        self._load(name, "i64", f"%{name}.dims", 0)

    def _store(self, slot: int, kind: str, value: str) -> None:
        self.lines += [f"  %slot{slot} = getelementptr i64, ptr %table, i64 {slot}"]
        self.lines += [f"  store {kind} {value}, ptr %slot{slot}"]

    def _input(self, k: int, size: int) -> None:
        self._buffer(f"in{k}", "%arguments", k)
        self._load(f"in{k}.data", "ptr", f"%in{k}", _DATA)
        self._samples(f"in{k}.n", f"%in{k}")
        self.lines += [f"  %in{k}.own = icmp eq i64 %in{k}.n, %n"]
        self.lines += [f"  %in{k}.step = select i1 %in{k}.own, i64 {size}, i64 0"]
        self._store(2 * k, "ptr", f"%in{k}.data")
        self._store(2 * k + 1, "i64", f"%in{k}.step")

    def _output(self, k: int, place: int, size: int) -> None:
        if k:
            self._buffer(f"out{k}", "%results", k)
        self._load(f"out{k}.data", "ptr", f"%out{k}", _DATA)
        if len(self.program.nonzeros(k)) < size:  # the kernel does not write all structural zeros
            self.lines += [f"  %out{k}.bytes = mul i64 %n, {size * self.size}"]
            self.lines += [f"  call void @llvm.memset.p0.i64(ptr %out{k}.data, i8 0, i64 %out{k}.bytes, i1 false)"]
        self._store(2 * place, "ptr", f"%out{k}.data")
        self._store(2 * place + 1, "i64", str(size))

    def _scratch(self, slot: int) -> None:
        """Allocate separate memory for each call: XLA calls from several threads."""
        needed = (self.kept + self.rows) * self.size + _ALIGNMENT
        self.lines += [f"  %memory = call ptr @malloc(i64 {needed})", "  %memory.int = ptrtoint ptr %memory to i64"]
        self.lines += [f"  %memory.up = add i64 %memory.int, {_ALIGNMENT - 1}"]
        self.lines += [f"  %kept.int = and i64 %memory.up, {-_ALIGNMENT}"]
        self.lines += [f"  %rows.int = add i64 %kept.int, {self.kept * self.size}"]
        self._store(slot, "i64", "%kept.int")
        self._store(slot + 1, "i64", "%rows.int")
        self._store(slot + 2, "i64", "0")
