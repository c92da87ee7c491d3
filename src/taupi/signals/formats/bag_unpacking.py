"""Compressed parts of bags, unpacked up to the budget: a chunk of a kilobyte can hold gigabytes of zeros."""

from __future__ import annotations

import bz2
import importlib
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, Protocol

from taupi.budget import budget

_STEP = 1 << 20  # bytes that are unpacked at once
_SWAPPING = threading.RLock()


class _Unpacker(Protocol):
    """What the decompressors of bz2, lz4 and zstd have in common."""

    eof: bool
    needs_input: bool

    def decompress(self, data: bytes, max_length: int = -1) -> bytes: ...


@contextmanager
def bounded_unpacking(size: int, where: str) -> Iterator[None]:
    """Let rosbags unpack no more at a time than a file of `size` bytes may; `where` names the file in errors.

    rosbags unpacks a chunk at once, however large. Its tables of decompressors are replaced meanwhile, for one reader at a time.
    A ROS 1 bag has one chunk in memory. Chunks of an MCAP file whose times overlap are in memory together, and may have been
    scanned before, so that all of them together may unpack to twice as much.
    """
    modules: list[Any] = [
        importlib.import_module(f"rosbags.{name}")
        for name in ("rosbag1.reader", "rosbag2.reader", "rosbag2.storage_mcap")
    ]
    bag1, bag2, mcap = modules
    zstd = bag2.zstd
    lz4 = importlib.import_module("lz4.frame")

    total = [0]

    def each(new: Callable[[], Any]) -> Callable[..., bytes]:
        return lambda data, *_: _unpacked(new, data, size, where)

    def together(new: Callable[[], Any]) -> Callable[..., bytes]:
        def unpack(data: bytes, *_: object) -> bytes:
            content = _unpacked(new, data, size, where)
            total[0] += len(content)
            budget().check_unpacked(total[0] // 2, size, where)
            return content

        return unpack

    packed1 = {"bz2": each(bz2.BZ2Decompressor), "lz4": each(lz4.LZ4FrameDecompressor)}
    packed2 = {"lz4": together(lz4.LZ4FrameDecompressor), "zstd": together(zstd.ZstdDecompressor)}
    files = SimpleNamespace(
        decompress=each(zstd.ZstdDecompressor), open=lambda *words: _Counted(zstd.open(*words), size, where)
    )
    with _SWAPPING:
        before = bag1.decompressors, mcap.DECOMPRESSORS
        bag1.decompressors, mcap.DECOMPRESSORS = {**before[0], **packed1}, {**before[1], **packed2}
        bag2.zstd = files
        try:
            yield
        finally:
            bag1.decompressors, mcap.DECOMPRESSORS = before
            bag2.zstd = zstd


def _unpacked(new: Callable[[], _Unpacker], data: bytes, size: int, where: str) -> bytes:
    """Return what some bytes unpack to, which may be several consecutive streams."""
    parts: list[bytes] = []
    count = 0
    while data:
        unpacker = new()
        while not unpacker.eof:
            part = unpacker.decompress(data, _STEP)
            data = b""
            if not part and unpacker.needs_input:
                raise EOFError("a compressed part ends too early")
            count += len(part)
            budget().check_unpacked(count, size, where)
            parts.append(part)
        data = getattr(unpacker, "unused_data", None) or b""
    return b"".join(parts)


class _Counted:
    """A stream of unpacked bytes that raises an error when there are too many."""

    def __init__(self, stream: Any, size: int, where: str) -> None:
        self._stream, self._size, self._where, self._count = stream, size, where, 0

    def read(self, count: int = -1) -> bytes:
        """Return the next bytes."""
        data: bytes = self._stream.read(count if count >= 0 else sys.maxsize)
        self._count += len(data)
        budget().check_unpacked(self._count, self._size, self._where)
        return data

    def __enter__(self) -> _Counted:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()
