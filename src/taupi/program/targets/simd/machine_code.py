"""From LLVM text to machine code in this process, cached on disk by content so that the next process starts at once."""

from __future__ import annotations

import hashlib
import os
import sys
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

import llvmlite
import llvmlite.binding as llvm

from taupi.errors import TaupiError
from taupi.files import write_private
from taupi.input_files import open_regular

# To be changed with the format of the stored files; the LLVM text, the compiler and the processor are in the hash anyway.
_VERSION = 2
_DIGEST = 32
# Beginnings of the names of features that are newer than a level of instructions.
_AVX512 = ("avx512", "avx10", "evex512")
_AVX = ("avx", "fma", "f16c", "vaes", "vpclmul", "xop", "gfni", "sha512", "sm3", "sm4", "sse3", "ssse3", "sse4")
# What is being compiled and has not been asked for, by its text.
_BEGUN: dict[str, Future[bytes]] = {}
_NEWER: dict[str, tuple[str, ...]] = {"": (), "avx2": _AVX512, "sse2": (*_AVX512, *_AVX)}


def load(text: str) -> llvm.ExecutionEngine:
    """Return an engine that holds the machine code of an LLVM text, from disk if it was compiled before.

    Keep the engine for as long as its functions may be called. `TAUPI_CACHE=off` never touches the disk, and
    `TAUPI_CACHE=/some/folder` keeps the files there.
    """
    _initialise()
    file = _file(text)
    code = _stored(file)
    if code is not None:
        with suppress(RuntimeError):  # code that the loader refuses is compiled again
            return _engine(code)
    begun = _BEGUN.pop(text, None)
    code = _compiled(text) if begun is None else begun.result()
    _store(file, code)
    return _engine(code)


def begin(text: str) -> None:
    """Begin to compile an LLVM text in a thread of its own, unless it was compiled before; `load` waits for it.

    The compiler works without the interpreter's lock, so that another core has it while this one goes on.
    """
    _initialise()
    if text not in _BEGUN and _stored(_file(text)) is None:
        _BEGUN[text] = _compiler().submit(_compiled, text)


@lru_cache(maxsize=1)
def _compiler() -> ThreadPoolExecutor:
    if hasattr(os, "register_at_fork"):
        # A process that is forked while the compiler works would inherit its locks, but not its thread.
        os.register_at_fork(before=_finish, after_in_child=_compiler.cache_clear)
    return ThreadPoolExecutor(1, "taupi-compiler")


def _finish() -> None:
    wait(list(_BEGUN.values()))


@lru_cache(maxsize=1)
def _initialise() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


def features() -> dict[str, bool]:
    """Return what this processor can do, by LLVM's names.

    `TAUPI_INSTRUCTIONS=avx2` or `sse2` leaves out what is newer, so that code for other processors can be tried on this one.
    """
    known: dict[str, bool] = dict(llvm.get_host_cpu_features())
    level = os.environ.get("TAUPI_INSTRUCTIONS", "").strip().lower()
    if level not in _NEWER:
        raise TaupiError(f"TAUPI_INSTRUCTIONS is {level!r}, expected avx2 or sse2, or nothing.")
    return {name: on and not name.startswith(_NEWER[level]) for name, on in known.items()}


def _flat(known: dict[str, bool]) -> str:
    return ",".join(f"{'+' if on else '-'}{name}" for name, on in sorted(known.items()))


def _machine() -> llvm.TargetMachine:
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(cpu=llvm.get_host_cpu_name(), features=_flat(features()), opt=2, jit=True)


def _compiled(text: str) -> bytes:
    module = llvm.parse_assembly(text)
    machine = _machine()
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


def folder() -> Path | None:
    """Return where compiled code is cached, or None if the cache is switched off."""
    setting = os.environ.get("TAUPI_CACHE", "").strip()
    if setting.lower() in ("off", "0", "no", "false", "none"):
        return None
    if setting:
        return Path(setting).expanduser() / f"objects-{_VERSION}"
    stated = os.environ.get("LOCALAPPDATA") if sys.platform == "win32" else os.environ.get("XDG_CACHE_HOME")
    with suppress(RuntimeError):  # no home folder
        home = Path(stated) if stated else Path.home() / ".cache"
        # With HOME="" the home folder would be the root of the file system, and a relative one is not the user's.
        if home.is_absolute() and (stated or os.environ.get("HOME", "unset").strip()):
            return home / "taupi" / f"objects-{_VERSION}"
    return None


def _file(text: str) -> Path | None:
    place = folder()
    if place is None:
        return None
    compiler = (llvmlite.__version__, llvm.get_host_cpu_name(), _flat(features()), sys.platform)
    return place / (hashlib.sha256("\0".join((text, *compiler)).encode()).hexdigest() + ".o")


def _stored(file: Path | None) -> bytes | None:
    """Return the code in a file, if only this user can write it and it is complete: it begins with a hash of the rest."""
    if file is None:
        return None
    try:
        with open_regular(file, "machine code") as stream:
            status = os.fstat(stream.fileno())
            if hasattr(os, "getuid") and (status.st_uid != os.getuid() or status.st_mode & 0o022):
                return None
            data = stream.read()
    except (OSError, TaupiError):  # a pipe or a folder is not machine code
        return None
    digest, code = data[:_DIGEST], data[_DIGEST:]
    return code if _digest(file, code) == digest else None


def _digest(file: Path, code: bytes) -> bytes:
    """Return a hash that ties the code to the text that it was compiled from, whose hash is the file's name."""
    return hashlib.sha256(file.name.encode() + code).digest()


def _store(file: Path | None, code: bytes) -> None:
    """Write a file, completely or not at all; a folder that cannot be written to is not an error."""
    if file is None:
        return
    with suppress(OSError):
        write_private(file, _digest(file, code) + code)
