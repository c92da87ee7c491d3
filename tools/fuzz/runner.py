"""Runs workers one after the other, ends those that hang, and starts again behind an input that crashed one."""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import select
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from fuzz.worker import PROGRESS, SECONDS, work

BATCH = 4000  # inputs that one process reads


@dataclass
class Tally:
    """What came of a format's inputs: how many were read, in how many seconds, and those that failed, with the reason."""

    inputs: int = 0
    seconds: float = 0.0
    failures: list[tuple[int, str]] = field(default_factory=list)


def seeds_of(folder: Path, name: str) -> list[bytes]:
    """Return the seeds of a format, in the order of their names."""
    return [path.read_bytes() for path in sorted((folder / name).iterdir())]


def fuzz(name: str, numbers: range, seed: int, seeds: list[bytes], say: Callable[[str], None]) -> Tally:
    """Read the inputs of a format with these numbers, in one process after the other."""
    tally, start, at = Tally(), time.monotonic(), numbers.start
    while at < numbers.stop:
        stop = min(at + BATCH, numbers.stop)
        reached, failures = _batch(name, range(at, stop), seed, seeds)
        if failures and failures[-1][1].startswith("took longer"):
            # On a busy machine a process may have waited: an input that hangs does so alone, too.
            failures = failures[:-1] + _batch(name, range(reached - 1, reached), seed, seeds)[1]
        for number, reason in failures:
            say(f"{name} input {number}: {reason}")
        tally.failures += failures
        tally.inputs += reached - at
        at = reached
    tally.seconds = time.monotonic() - start
    return tally


def _batch(name: str, numbers: range, seed: int, seeds: list[bytes]) -> tuple[int, list[tuple[int, str]]]:
    """Read inputs in one process; return the number of the next one, and the failures."""
    progress = mmap.mmap(-1, PROGRESS.size)
    PROGRESS.pack_into(progress, 0, numbers.start, time.monotonic())
    read_end, write_end = os.pipe()
    worker = os.fork()
    if worker == 0:
        os.close(read_end)
        work(name, numbers, seed, seeds, progress, write_end)
    os.close(write_end)
    lines, hung = _listen(read_end, worker, progress)
    os.close(read_end)
    _, status = os.waitpid(worker, 0)
    failures = [(int(number), str(reason)) for number, reason in map(json.loads, lines.decode().splitlines())]
    at = PROGRESS.unpack_from(progress, 0)[0]
    if at == numbers.stop and not hung:
        return at, failures
    if not any(number == at for number, _ in failures):
        ended = (
            f"signal {signal.Signals(os.WTERMSIG(status)).name}" if os.WIFSIGNALED(status) else f"exit {status >> 8}"
        )
        failures.append((at, f"took longer than {SECONDS:.0f} s" if hung else f"the process ended by {ended}"))
    return at + 1, failures


def _listen(handle: int, worker: int, progress: mmap.mmap) -> tuple[bytes, bool]:
    """Return what a worker writes until it ends, and whether it had to be ended because an input took too long."""
    lines, hung = b"", False
    while True:
        ready, _, _ = select.select([handle], [], [], 0.25)
        if ready:
            chunk = os.read(handle, 1 << 16)
            if not chunk:
                return lines, hung
            lines += chunk
        elif time.monotonic() - PROGRESS.unpack_from(progress, 0)[1] > 2 * SECONDS:
            hung = True
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)
