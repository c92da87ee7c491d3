"""From LLVM text to machine code in this process, cached on disk by content so that the next process starts at once."""

from __future__ import annotations

import hashlib
import os
import sys
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import llvmlite
import llvmlite.binding as llvm

from taupi.errors import TaupiError
from taupi.program.disk_cache import folder, store, stored

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

# Beginnings of the names of features that are newer than a level of instructions.
_AVX512 = ("avx512", "avx10", "evex512")
_AVX = ("avx", "fma", "f16c", "vaes", "vpclmul", "xop", "gfni", "sha512", "sm3", "sm4", "sse3", "ssse3", "sse4")
# Code that is being compiled and has not been requested yet, by its text.
_BEGUN: dict[tuple[str, int], Future[bytes]] = {}
# How much effort LLVM spends on the choice and the order of instructions. The lower level takes three quarters of the time, for
# code that takes 2 % longer (Y of 64 joints); it is for tapes that are compiled for seconds.
LEVEL = 2
LEVEL_OF_LONG = 1
_NEWER: dict[str, tuple[str, ...]] = {"": (), "avx2": _AVX512, "sse2": (*_AVX512, *_AVX)}


def load(text: str, level: int = LEVEL) -> llvm.ExecutionEngine:
    """Return an engine that holds the machine code of an LLVM text, from disk if it was compiled before.

    `level` is how much LLVM optimises it, LEVEL by default. Keep the engine for as long as its functions may be called.
    `TAUPI_CACHE=off` never touches the disk, and `TAUPI_CACHE=/some/folder` keeps the files there.
    """
    _initialise()
    file = _file(text, level)
    code = stored(file)
    if code is not None:
        with suppress(RuntimeError):  # code that the loader refuses is compiled again
            return _engine(code)
    begun = _BEGUN.pop((text, level), None)
    code = _compiled(text, level) if begun is None else begun.result()
    store(file, code)
    return _engine(code)


def begin(text: str, level: int = LEVEL) -> None:
    """Start to compile an LLVM text in a separate thread, unless it was compiled before; `load`, with the same `level`, waits.

    The compiler does not hold the interpreter's lock, so it runs on another core while this thread goes on.
    """
    _initialise()
    if (text, level) not in _BEGUN and stored(_file(text, level)) is None:
        _BEGUN[text, level] = _compiler().submit(_compiled, text, level)


@lru_cache(maxsize=1)
def _compiler() -> ThreadPoolExecutor:
    from concurrent.futures import ThreadPoolExecutor

    if hasattr(os, "register_at_fork"):
        # A process that is forked while the compiler works would inherit its locks, but not its thread.
        os.register_at_fork(before=_finish, after_in_child=_compiler.cache_clear)
    return ThreadPoolExecutor(1, "taupi-compiler")


def _finish() -> None:
    from concurrent.futures import wait

    wait(list(_BEGUN.values()))


@lru_cache(maxsize=1)
def _initialise() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


def features() -> dict[str, bool]:
    """Return the features of this processor, by LLVM's names.

    `TAUPI_INSTRUCTIONS=avx2` or `sse2` leaves out newer features, so that code for other processors can be tried on this one.
    """
    known: dict[str, bool] = dict(llvm.get_host_cpu_features())
    level = os.environ.get("TAUPI_INSTRUCTIONS", "").strip().lower()
    if level not in _NEWER:
        raise TaupiError("TAUPI_INSTRUCTIONS is {got!r}, expected avx2 or sse2, or nothing.", got=level)
    return {name: on and not name.startswith(_NEWER[level]) for name, on in known.items()}


def _flat(known: dict[str, bool]) -> str:
    return ",".join(f"{'+' if on else '-'}{name}" for name, on in sorted(known.items()))


def _machine(level: int = LEVEL) -> llvm.TargetMachine:
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(cpu=llvm.get_host_cpu_name(), features=_flat(features()), opt=level, jit=True)


def _compiled(text: str, level: int = LEVEL) -> bytes:
    module = llvm.parse_assembly(text)
    machine = _machine(level)
    # The tape has no repeated terms and no dead code, so all that is left to optimise is to inline sine and cosine: higher
    # levels compile 2 to 10 times slower and run no faster (measured on the Panda's Y).
    tuning = llvm.create_pipeline_tuning_options(speed_level=0)
    passes = llvm.create_pass_builder(machine, tuning)
    passes.getModulePassManager().run(module, passes)
    code: bytes = machine.emit_object(module)
    return code


def _engine(code: bytes) -> llvm.ExecutionEngine:
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _machine())
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return engine


# The files ------------------------------------------------------------------------------------------------------------


def machine() -> str:
    """Return the compiler and the processor in words: code for another compiler or processor is different code."""
    return "\0".join((llvmlite.__version__, llvm.get_host_cpu_name(), _flat(features()), sys.platform))


def object_name(text: str, level: int = LEVEL) -> str:
    """Return the name of the file with the machine code of an LLVM text."""
    return hashlib.sha256("\0".join((text, machine(), str(level))).encode()).hexdigest() + ".o"


def load_object(name: str) -> llvm.ExecutionEngine | None:
    """Return an engine with the machine code in the file called `name`; None if it is not there, or damaged."""
    place = folder()
    code = stored(place / name) if place is not None else None
    if code is None:
        return None
    _initialise()
    with suppress(RuntimeError):
        return _engine(code)
    return None


def _file(text: str, level: int = LEVEL) -> Path | None:
    place = folder()
    return None if place is None else place / object_name(text, level)
