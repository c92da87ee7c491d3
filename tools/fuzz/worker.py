"""One process that reads many inputs: it reports its current input, and how each failed input failed."""

from __future__ import annotations

import json
import mmap
import os
import random
import resource
import shutil
import struct
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path

from fuzz.formats import FORMATS
from taupi.errors import TaupiError

GROWTH = 1 << 30  # bytes by which memory may grow on one input
SECONDS = 5.0  # of processor time that one input may take
_ADDRESSES = 3 << 30  # bytes of address space beyond those in use: a reader that asks for more gets none
PROGRESS = struct.Struct("<Qd")  # the number of the input, and when it began


def input_of(name: str, number: int, seed: int, seeds: list[bytes]) -> bytes:
    """Return an input: the same for the same numbers, on any machine."""
    rng = random.Random(f"{seed}/{name}/{number}")
    return FORMATS[name].change(rng.choice(seeds), seeds, rng)


def failure_of(name: str, path: Path) -> str | None:
    """Read a file; return what went wrong, or None if it was read, or refused in one short sentence."""
    before, start = _peak(), time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            FORMATS[name].read(path)
    except TaupiError as error:
        text = str(error)
        if not text or "\n" in text or len(text) > 2000:
            return f"message of {len(text)} characters: {text[:300]!r}"
    except BaseException as error:
        return f"{type(error).__name__}: {str(error)[:200]} {_place(error)}"
    taken, grown = time.process_time() - start, _peak() - before
    if taken > SECONDS:
        return f"took {taken:.1f} s"
    return f"grew by {grown >> 20} MiB" if grown > GROWTH else None


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _place(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    inside = [f for f in frames if "taupi" in f.filename] or frames[-1:]
    return f"at {Path(inside[-1].filename).name}:{inside[-1].lineno}" if inside else ""


def work(name: str, numbers: range, seed: int, seeds: list[bytes], progress: mmap.mmap, failures: int) -> None:
    """Read the inputs of these numbers; write each failure as a line of JSON to the handle `failures`. Never returns."""
    code = 1
    folder = Path(tempfile.mkdtemp(prefix="fuzz", dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
    try:
        os.chdir(folder)
        _silence()
        _limit_memory()
        path = folder / FORMATS[name].file
        for number in numbers:
            data = input_of(name, number, seed, seeds)
            path.write_bytes(data)
            PROGRESS.pack_into(progress, 0, number, time.monotonic())
            reason = failure_of(name, path)
            if reason is not None:
                os.write(failures, json.dumps([number, reason]).encode() + b"\n")
                if reason.startswith("grew") or "MemoryError" in reason:
                    break  # allocated memory stays: continue in a fresh process
        else:
            PROGRESS.pack_into(progress, 0, numbers.stop, time.monotonic())
        code = 0
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os._exit(code)


def _silence() -> None:
    """Discard what native readers print."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
    sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115


def _limit_memory() -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0]) if Path("/proc/self/statm").exists() else 0
    if pages:
        most = pages * mmap.PAGESIZE + _ADDRESSES
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
