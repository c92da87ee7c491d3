"""Runs workers, several at a time: ends those that hang, and restarts after an input that crashed one."""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import select
import signal
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fuzz.worker import PROGRESS, SECONDS, work

BATCH = 4000  # inputs that one process reads

Failures = list[tuple[int, str]]


@dataclass
class Tally:
    """The results of a format's inputs: how many were read, in how many seconds of one process, and those that failed."""

    inputs: int = 0
    seconds: float = 0.0
    failures: Failures = field(default_factory=list)


@dataclass(frozen=True)
class Batch:
    """Inputs of a format that one process reads; `again` if it is a single one at which an earlier process seemed to hang."""

    name: str
    numbers: range
    again: bool = False


def seeds_of(folder: Path, name: str) -> list[bytes]:
    """Return the seeds of a format, in the order of their names."""
    return [path.read_bytes() for path in sorted((folder / name).iterdir())]


def fuzz(
    inputs: Mapping[str, range], seed: int, seeds: Mapping[str, list[bytes]], say: Callable[[str], None], jobs: int = 1
) -> dict[str, Tally]:
    """Read inputs with these numbers of each format, in `jobs` processes at a time."""
    tallies = {name: Tally() for name in inputs}
    waiting = deque(
        Batch(name, numbers[k : k + BATCH]) for name, numbers in inputs.items() for k in range(0, len(numbers), BATCH)
    )
    running: list[_Running] = []
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                batch = waiting.popleft()
                running.append(_Running(batch, seed, seeds[batch.name]))
            select.select([one.handle for one in running], [], [], 0.25)
            for one in [one for one in running if one.ended()]:
                running.remove(one)
                waiting.extendleft(reversed(_settled(one, tallies[one.batch.name], say)))
    finally:
        for one in running:
            one.end()
    return tallies


def _settled(one: _Running, tally: Tally, say: Callable[[str], None]) -> list[Batch]:
    """Add the results of a process to the tally; return what is left to be read."""
    batch, numbers = one.batch, one.batch.numbers
    reached, failures = one.outcome()
    rest = [Batch(batch.name, range(reached, numbers.stop))] if reached < numbers.stop else []
    if one.hung and not batch.again:
        # On a busy machine a process may have waited: an input that really hangs also hangs on its own.
        failures, rest = failures[:-1], [Batch(batch.name, range(reached - 1, reached), again=True), *rest]
        reached -= 1
    tally.inputs += reached - numbers.start
    for number, reason in failures:
        say(f"{batch.name} input {number}: {reason}")
    tally.failures += failures
    tally.seconds += time.monotonic() - one.start
    return rest


class _Running:
    """A process that reads a batch."""

    def __init__(self, batch: Batch, seed: int, seeds: list[bytes]) -> None:
        self.batch, self.hung, self.start = batch, False, time.monotonic()
        self._progress = mmap.mmap(-1, PROGRESS.size)
        PROGRESS.pack_into(self._progress, 0, batch.numbers.start, self.start)
        self._lines = b""
        self.handle, write_end = os.pipe()
        self._worker = os.fork()
        if self._worker == 0:
            os.close(self.handle)
            work(batch.name, batch.numbers, seed, seeds, self._progress, write_end)
        os.close(write_end)

    def ended(self) -> bool:
        """Read what the process has written; return whether it has ended, or was ended because an input took too long."""
        while select.select([self.handle], [], [], 0)[0]:
            chunk = os.read(self.handle, 1 << 16)
            if not chunk:
                return True
            self._lines += chunk
        patience = (24 if self.batch.again else 2) * SECONDS  # on the clock: on a busy machine a process waits
        if not self.hung and time.monotonic() - PROGRESS.unpack_from(self._progress, 0)[1] > patience:
            self.hung = True
            self.end(wait=False)
        return False

    def end(self, wait: bool = True) -> None:
        """End the process."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._worker, signal.SIGKILL)
        if wait:
            os.waitpid(self._worker, 0)

    def outcome(self) -> tuple[int, Failures]:
        """Return the number of the input to continue with, and the failures, once the process has ended."""
        os.close(self.handle)
        _, status = os.waitpid(self._worker, 0)
        failures = [(int(number), str(reason)) for number, reason in map(json.loads, self._lines.decode().splitlines())]
        at = PROGRESS.unpack_from(self._progress, 0)[0]
        if at == self.batch.numbers.stop and not self.hung:
            return at, failures
        if not any(number == at for number, _ in failures):
            killed = os.WIFSIGNALED(status)
            ended = f"signal {signal.Signals(os.WTERMSIG(status)).name}" if killed else f"exit {status >> 8}"
            failures.append((at, f"took longer than {SECONDS:.0f} s" if self.hung else f"the process ended by {ended}"))
        return at + 1, failures
