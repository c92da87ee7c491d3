"""Ctrl-C as a request to stop: the first one ends the search with the best so far, the second one ends the program."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from taupi.excitation.search.ipopt import Stop


@contextmanager
def stopped_by_user(stop: Stop) -> Iterator[None]:
    """Let Ctrl-C set `stop` while the block runs; outside the main thread nothing changes."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def ask(number: int, frame: FrameType | None) -> None:
        if stop.asked:
            raise KeyboardInterrupt
        stop.asked = True

    before = signal.signal(signal.SIGINT, ask)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
