"""Commands in processes of their own: what they say, how far they are, and their end."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from taupi.errors import TaupiError
from taupi.progress import ENVIRONMENT

# The command line as its script runs it: the current folder, which holds other people's files, is no place for modules.
_RUN = "import sys; sys.path[:] = [p for p in sys.path if p]; from taupi.cli.main import run; run()"
_MOST = 200_000  # characters of a stream that are kept: its end
PATIENCE = 3.0  # s: how long a command that was cancelled may take to end


class Job:
    """A command of `taupi` that runs in a folder, in a process of its own.

    Args:
        words: What is typed after `taupi`.
        folder: The current folder of the command.
        output: The folder, within that one, that it writes; "" if it writes none.

    Attributes:
        words: What is typed after `taupi`.
        output: The folder that it writes.
    """

    def __init__(self, words: Sequence[str], folder: Path, output: str = "") -> None:
        self.words, self.output = tuple(words), output
        self._began, self._ended, self._cancelled = time.monotonic(), 0.0, False
        self._lock = threading.Lock()
        self._said: dict[str, str] = {"output": "", "talk": ""}
        self._tasks: dict[int, Mapping[str, object]] = {}
        self._process = subprocess.Popen(
            [sys.executable, "-c", _RUN, *self.words],
            cwd=folder,
            env={**os.environ, ENVIRONMENT: "json", "PYTHONIOENCODING": "utf-8", "NO_COLOR": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,  # what it starts is ended with it
        )
        readers = [("output", self._process.stdout), ("talk", self._process.stderr)]
        self._readers = [threading.Thread(target=self._read, args=pair, daemon=True) for pair in readers]
        for thread in self._readers:
            thread.start()
        self._end = threading.Thread(target=self._wait, daemon=True)
        self._end.start()

    @property
    def command(self) -> str:
        """The command, as it is typed."""
        return shlex.join(["taupi", *self.words])

    @property
    def running(self) -> bool:
        """Whether it has not ended yet."""
        return self._end.is_alive()

    @property
    def state(self) -> str:
        """What has become of it: "running", "done", "failed" or "cancelled"."""
        if self.running:
            return "running"
        return "cancelled" if self._cancelled else "failed" if self.status else "done"

    @property
    def status(self) -> int | None:
        """Its exit status; None while it runs."""
        return self._process.returncode

    @property
    def seconds(self) -> float:
        """How long it has run."""
        return (self._ended or time.monotonic()) - self._began

    @property
    def output_text(self) -> str:
        """What it has written to standard output."""
        return self._said["output"]

    @property
    def talk(self) -> str:
        """What it has said on standard error, other than its progress."""
        return self._said["talk"]

    @property
    def tasks(self) -> list[Mapping[str, Any]]:
        """What it is doing now: each with its `title`, how much is `done`, and the `total`, None if that is not known."""
        with self._lock:
            return [self._tasks[k] for k in sorted(self._tasks)]

    def wait(self, seconds: float | None = None) -> None:
        """Return when it has ended, or after some seconds."""
        self._end.join(seconds)

    def cancel(self) -> None:
        """End it, and what it has started: politely, and after a while in any case."""
        if not self.running:
            return
        self._cancelled = True
        self._signal(signal.SIGTERM)
        self._end.join(PATIENCE)
        if self.running:
            self._signal(getattr(signal, "SIGKILL", signal.SIGTERM))

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            if hasattr(os, "killpg"):
                os.killpg(self._process.pid, number)
            else:
                self._process.terminate()

    def _wait(self) -> None:
        self._process.wait()
        for thread in self._readers:
            thread.join(PATIENCE)  # a process that it left behind may hold its streams open
        self._ended = time.monotonic()
        with self._lock:
            self._tasks = {}

    def _read(self, name: str, stream: IO[str]) -> None:
        with stream:
            for line in stream:
                if name == "talk" and (task := _progress(line)) is not None:
                    with self._lock:
                        if task.get("over"):
                            self._tasks.pop(task["task"], None)
                        else:
                            self._tasks[task["task"]] = task
                    continue
                with self._lock:
                    self._said[name] = (self._said[name] + line)[-_MOST:]


def _progress(line: str) -> Mapping[str, Any] | None:
    """Return what a line says about progress, None if it is no such line."""
    if not line.startswith('{"progress"'):
        return None
    try:
        task = json.loads(line)["progress"]
        numbers = (task["done"], task["total"])
        plain = isinstance(task["task"], int) and isinstance(task["title"], str)
        return task if plain and all(isinstance(n, int | None) for n in numbers) else None
    except (ValueError, KeyError, TypeError):
        return None


class Jobs:
    """The commands of a studio, one at a time.

    Args:
        folder: The folder in which they run.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._lock = folder, threading.Lock()
        self.last: Job | None = None

    def start(self, words: Sequence[str], output: str = "") -> Job:
        """Start a command.

        Raises:
            TaupiError: Another one is running.
        """
        with self._lock:
            if self.last is not None and self.last.running:
                raise TaupiError(
                    "Another command is running: {command}. Wait for it, or cancel it.", command=self.last.command
                )
            self.last = Job(words, self._folder, output)
            return self.last

    def end(self) -> None:
        """Cancel what is running."""
        if self.last is not None:
            self.last.cancel()
