"""A kernel as a built-in function of the interpreter, for one sample: it reads the caller's arrays and allocates results only.

The machine code is the same for all programs and holds no address, so it is compiled once and cached on disk. What it needs to
know of a kernel is a description, an array of numbers, which the interpreter passes to it as `self`. It relies on how CPython and
NumPy lay out floats and arrays, which are public; where that may differ there is no such function, and Python does the same.
"""

from __future__ import annotations

import ctypes
import sys
import sysconfig
from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from taupi.program.batch_results import address_of
from taupi.program.targets.simd.llvm_writer import STALE
from taupi.program.targets.simd.machine_code import load

if TYPE_CHECKING:
    from llvmlite.binding import ExecutionEngine

    from taupi.program.targets.cpu import Kernel

# Flags of a built-in function: arguments in an array, names of keywords.
_FASTCALL, _KEYWORDS = 0x80, 0x02
# The number of PyArray_Empty in NumPy's C interface, which never changes.
_EMPTY = 184
_MOST_AXES = 4
# Words per port in a description: axes, entries, whether they have to be finite, lengths of the axes.
_WORDS = 3 + _MOST_AXES
# Offsets in the header of an object (its type) and of an array (data, axes, lengths, type of number, flags); a float's value.
_TYPE, _DATA, _AXES, _LENGTHS, _NUMBER, _FLAGS, _VALUE = 8, 16, 24, 32, 56, 64, 16
_PLAIN = 0x1 | 0x100  # C-contiguous and aligned


class _Description(np.ndarray):
    """What the machine code knows of a kernel; `kept_alive` is what its addresses point to."""

    kept_alive: Any


def one_sample(kernel: Kernel, finite: int = 0) -> Callable[..., object] | None:
    """Return a function of one array per input that returns a kernel's results; None where that is not possible.

    It returns None for arguments that it does not take: for any but C-contiguous float64 arrays of the inputs' shapes, or floats,
    and if one of the first `finite` inputs, by default none, has an entry that is not finite. It is not safe without the
    interpreter's lock, so it needs a build of CPython that has one.
    """
    program = kernel.program
    ports = (*program.inputs, *program.outputs)
    if kernel.dtype != np.float64 or kernel.layout != "samples" or any(len(p.shape) > _MOST_AXES for p in ports):
        return None
    if not _usable():
        return None
    scratch = kernel.scratch()
    arrays = [np.zeros((1, p.size)) for p in program.inputs]
    table = kernel.table(arrays, [np.zeros((1, p.size)) for p in program.outputs], 1, scratch)
    table[-1] = STALE  # results are fresh memory
    records = np.zeros((len(ports), _WORDS), dtype=np.int64)
    for k, (record, port) in enumerate(zip(records, ports, strict=True)):
        record[:3] = len(port.shape), port.size, k < finite
        record[3 : 3 + len(port.shape)] = port.shape
    own = (len(program.inputs), len(program.outputs), kernel._engine.get_function_address("kernel"))
    places = (address_of(table), address_of(records), address_of(records[len(program.inputs) :]))
    description = np.array([*own, *places, *_interpreter()], dtype=np.int64).view(_Description)
    description.kept_alive = (kernel._engine, scratch, table, records)
    function: Callable[..., object] = _new()(ctypes.addressof(_definition()), description, None)
    return function


@lru_cache(maxsize=1)
def _usable() -> bool:
    """Return whether objects of this interpreter have the layout that the code relies on; what can be tried is tried."""
    if sys.implementation.name != "cpython" or ctypes.sizeof(ctypes.c_void_p) != 8 or sys.byteorder != "little":
        return False
    if any(sysconfig.get_config_var(name) for name in ("Py_GIL_DISABLED", "Py_DEBUG", "Py_TRACE_REFS")):
        return False
    sample, number = np.zeros((2, 3)), 0.5
    word, half = (lambda at: ctypes.c_int64.from_address(at).value), (lambda at: ctypes.c_int32.from_address(at).value)
    header = id(sample)
    return (
        word(header + _TYPE) == id(np.ndarray)
        and word(header + _DATA) == sample.ctypes.data
        and half(header + _AXES) == 2
        and [word(word(header + _LENGTHS) + 8 * k) for k in range(2)] == [2, 3]
        and word(header + _NUMBER) == id(np.dtype(float))
        and half(header + _FLAGS) == sample.flags.num
        and ctypes.c_double.from_address(id(number) + _VALUE).value == number
    )


@lru_cache(maxsize=1)
def _interpreter() -> list[int]:
    """Return what every description ends with: addresses of types and functions of this process."""
    core = "numpy._core" if hasattr(np, "_core") else "numpy.core"  # of NumPy 2 and 1
    interface = import_module(f"{core}._multiarray_umath")._ARRAY_API
    api = ctypes.pythonapi
    pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", api))
    empty = ctypes.cast(pointer(interface, None), ctypes.POINTER(ctypes.c_void_p))[_EMPTY]
    functions = (api.Py_IncRef, api.Py_DecRef, api.PyTuple_New, api.PyTuple_SetItem)
    addresses = [ctypes.cast(f, ctypes.c_void_p).value for f in functions]
    return [id(float), id(np.ndarray), id(np.dtype(float)), id(None), *(a or 0 for a in addresses), empty or 0]


class _MethodDef(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


# Functions refer to the machine code and its definition by address: neither may go before them, whatever a cache forgets.
_KEPT: list[Any] = []


@lru_cache(maxsize=1)
def _engine() -> ExecutionEngine:
    _KEPT.append(load(_TEXT))
    return _KEPT[-1]


@lru_cache(maxsize=1)
def _definition() -> _MethodDef:
    _KEPT.append(_MethodDef(b"one_sample", _engine().get_function_address("one_sample"), _FASTCALL | _KEYWORDS, None))
    definition: _MethodDef = _KEPT[-1]
    return definition


@lru_cache(maxsize=1)
def _new() -> Callable[..., Any]:
    prototype = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
    return prototype(("PyCFunction_NewEx", ctypes.pythonapi))


def _words(names: Sequence[str], kind: str) -> str:
    """Return the text that loads words of the description, in their order."""
    kinds = {"i": "i64", "p": "ptr"}
    lines = []
    for k, (name, letter) in enumerate(zip(names, kind, strict=True)):
        lines.append(
            f"  %{name}.in = getelementptr i64, ptr %d, i64 {k}\n  %{name} = load {kinds[letter]}, ptr %{name}.in"
        )
    return "\n".join(lines)


_NAMES = ("inputs", "outputs", "kernel", "table", "reads", "writes")
_SHARED = ("float", "array", "number", "none", "incref", "decref", "tuple", "setitem", "empty")
_TEXT = f"""
define ptr @one_sample(ptr %self, ptr %args, i64 %count, ptr %names) {{
entry:
  %d.at = getelementptr i8, ptr %self, i64 {_DATA}
  %d = load ptr, ptr %d.at
{_words((*_NAMES, *_SHARED), "iipppp" + "iippppppp")}
  %number.word = ptrtoint ptr %number to i64
  %named = icmp ne ptr %names, null
  %miscounted = icmp ne i64 %count, %inputs
  %wrong = or i1 %named, %miscounted
  br i1 %wrong, label %refuse, label %inspect
inspect:
  %k = phi i64 [ 0, %entry ], [ %k.next, %accepted ]
  %k.more = icmp slt i64 %k, %inputs
  br i1 %k.more, label %argument, label %allocate
argument:
  %o.at = getelementptr ptr, ptr %args, i64 %k
  %o = load ptr, ptr %o.at
  %record.offset = mul i64 %k, {_WORDS}
  %record = getelementptr i64, ptr %reads, i64 %record.offset
  %axes = load i64, ptr %record
  %type.at = getelementptr i8, ptr %o, i64 {_TYPE}
  %type = load i64, ptr %type.at
  %is.float = icmp eq i64 %type, %float
  %is.scalar = icmp eq i64 %axes, 0
  %plain.float = and i1 %is.float, %is.scalar
  br i1 %plain.float, label %floating, label %other
floating:
  %value = getelementptr i8, ptr %o, i64 {_VALUE}
  br label %examined
other:
  %is.array = icmp eq i64 %type, %array
  br i1 %is.array, label %header, label %refuse
header:
  %data.at = getelementptr i8, ptr %o, i64 {_DATA}
  %data = load ptr, ptr %data.at
  %axes.at = getelementptr i8, ptr %o, i64 {_AXES}
  %own.axes = load i32, ptr %axes.at
  %own.axes.wide = sext i32 %own.axes to i64
  %lengths.at = getelementptr i8, ptr %o, i64 {_LENGTHS}
  %lengths = load ptr, ptr %lengths.at
  %number.at = getelementptr i8, ptr %o, i64 {_NUMBER}
  %own.number = load i64, ptr %number.at
  %flags.at = getelementptr i8, ptr %o, i64 {_FLAGS}
  %flags = load i32, ptr %flags.at
  %plain = and i32 %flags, {_PLAIN}
  %same.axes = icmp eq i64 %own.axes.wide, %axes
  %same.number = icmp eq i64 %own.number, %number.word
  %is.plain = icmp eq i32 %plain, {_PLAIN}
  %both = and i1 %same.axes, %same.number
  %all = and i1 %both, %is.plain
  br i1 %all, label %axis, label %refuse
axis:
  %a = phi i64 [ 0, %header ], [ %a.next, %length ]
  %a.more = icmp slt i64 %a, %axes
  br i1 %a.more, label %length, label %examined
length:
  %own.length.at = getelementptr i64, ptr %lengths, i64 %a
  %own.length = load i64, ptr %own.length.at
  %a.place = add i64 %a, 3
  %length.at = getelementptr i64, ptr %record, i64 %a.place
  %length.due = load i64, ptr %length.at
  %same.length = icmp eq i64 %own.length, %length.due
  %a.next = add i64 %a, 1
  br i1 %same.length, label %axis, label %refuse
examined:
  %numbers = phi ptr [ %value, %floating ], [ %data, %axis ]
  %finite.at = getelementptr i64, ptr %record, i64 2
  %finite = load i64, ptr %finite.at
  %entries.at = getelementptr i64, ptr %record, i64 1
  %entries.all = load i64, ptr %entries.at
  %entries = mul i64 %finite, %entries.all
  br label %entry.check
entry.check:
  %e = phi i64 [ 0, %examined ], [ %e.next, %bits ]
  %e.more = icmp slt i64 %e, %entries
  br i1 %e.more, label %bits, label %accepted
bits:
  %bits.at = getelementptr i64, ptr %numbers, i64 %e
  %word = load i64, ptr %bits.at
  %exponent = and i64 %word, {0x7FF0000000000000}
  %endless = icmp eq i64 %exponent, {0x7FF0000000000000}
  %e.next = add i64 %e, 1
  br i1 %endless, label %refuse, label %entry.check
accepted:
  %k.next = add i64 %k, 1
  br label %inspect
refuse:
  call void %incref(ptr %none)
  ret ptr %none
allocate:
  %several = icmp ne i64 %outputs, 1
  br i1 %several, label %make.tuple, label %results
make.tuple:
  %made = call ptr %tuple(i64 %outputs)
  %failed = icmp eq ptr %made, null
  br i1 %failed, label %error, label %results
results:
  %whole = phi ptr [ null, %allocate ], [ %made, %make.tuple ]
  br label %result.check
result.check:
  %j = phi i64 [ 0, %results ], [ %j.next, %placed ]
  %answer = phi ptr [ %whole, %results ], [ %answer.next, %placed ]
  %j.more = icmp slt i64 %j, %outputs
  br i1 %j.more, label %result, label %fill
result:
  %write.offset = mul i64 %j, {_WORDS}
  %write = getelementptr i64, ptr %writes, i64 %write.offset
  %write.axes = load i64, ptr %write
  %write.axes.int = trunc i64 %write.axes to i32
  %write.lengths = getelementptr i64, ptr %write, i64 3
  call void %incref(ptr %number)
  %r = call ptr %empty(i32 %write.axes.int, ptr %write.lengths, ptr %number, i32 0)
  %no.memory = icmp eq ptr %r, null
  br i1 %no.memory, label %undo, label %taken
undo:
  br i1 %several, label %drop, label %error
drop:
  call void %decref(ptr %whole)
  br label %error
taken:
  %r.data.at = getelementptr i8, ptr %r, i64 {_DATA}
  %r.data = load i64, ptr %r.data.at
  %slot = add i64 %inputs, %j
  %slot.place = shl i64 %slot, 1
  %slot.at = getelementptr i64, ptr %table, i64 %slot.place
  store i64 %r.data, ptr %slot.at
  br i1 %several, label %into.tuple, label %alone
into.tuple:
  %set = call i32 %setitem(ptr %whole, i64 %j, ptr %r)
  br label %placed
alone:
  br label %placed
placed:
  %answer.next = phi ptr [ %whole, %into.tuple ], [ %r, %alone ]
  %j.next = add i64 %j, 1
  br label %result.check
error:
  ret ptr null
fill:
  %f = phi i64 [ 0, %result.check ], [ %f.next, %filled ]
  %f.more = icmp slt i64 %f, %inputs
  br i1 %f.more, label %filling, label %run
filling:
  %i.at = getelementptr ptr, ptr %args, i64 %f
  %i = load ptr, ptr %i.at
  %i.type.at = getelementptr i8, ptr %i, i64 {_TYPE}
  %i.type = load i64, ptr %i.type.at
  %i.data.at = getelementptr i8, ptr %i, i64 {_DATA}
  %i.array = icmp eq i64 %i.type, %array
  br i1 %i.array, label %from.array, label %from.float
from.array:
  %i.data = load i64, ptr %i.data.at
  br label %filled
from.float:
  %i.value = getelementptr i8, ptr %i, i64 {_VALUE}
  %i.value.word = ptrtoint ptr %i.value to i64
  br label %filled
filled:
  %source = phi i64 [ %i.data, %from.array ], [ %i.value.word, %from.float ]
  %place = shl i64 %f, 1
  %place.at = getelementptr i64, ptr %table, i64 %place
  store i64 %source, ptr %place.at
  %f.next = add i64 %f, 1
  br label %fill
run:
  call void %kernel(ptr %table, i64 0, i64 1)
  ret ptr %answer
}}
"""
