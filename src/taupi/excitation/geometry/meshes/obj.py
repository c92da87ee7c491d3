"""Wavefront OBJ: vertices, and faces that name them."""

from __future__ import annotations

import io
from array import array

import numpy as np

from taupi.budget import MIB, budget, over_budget
from taupi.errors import TaupiError

_TRIANGLE = 72  # bytes: three corners of three doubles
_LARGEST_INDEX = 1 << 40


def triangles(data: bytes, place: str) -> np.ndarray:
    """Return the triangles (m, 3, 3) of a file's bytes; a face of more corners is a fan of triangles."""
    points, corners = array("d"), array("q")
    most = budget().unpacked_bytes // _TRIANGLE
    for number, line in enumerate(io.BytesIO(data), 1):
        words = line.split()
        if not words or words[0] not in (b"v", b"f"):
            continue
        try:
            if words[0] == b"v":
                x, y, z = words[1:4]
                points.extend((float(x), float(y), float(z)))
                continue
            if len(corners) // 3 + len(words) > most:
                raise over_budget(
                    f"{place} has more than {most} triangles", "unpacked_bytes", f"{most * _TRIANGLE // MIB} MiB"
                )
            face = [_index(word, len(points) // 3) for word in words[1:]]
        except TaupiError:
            raise
        except (ValueError, OverflowError):
            what = "vertex {} is not three numbers" if words[0] == b"v" else "face {} names no vertices"
            shown = repr(line.strip()[:40].decode("utf-8", "replace"))
            raise TaupiError(
                f"{place}, line {number}: the {what.format(shown)}.", remedy="Export the mesh again."
            ) from None
        for k in range(1, len(face) - 1):
            corners.extend((face[0], face[k], face[k + 1]))
    try:
        return np.array(points).reshape(-1, 3)[np.array(corners, dtype=np.int64).reshape(-1, 3)]
    except IndexError:
        raise TaupiError(
            f"{place} has faces of vertices that it does not have.", remedy="Export the mesh again."
        ) from None


def _index(word: bytes, count: int) -> int:
    """Return the place of a vertex: 1 is the first, -1 the last so far; texture and normal follow slashes."""
    k = int(word.split(b"/", 1)[0])
    if k == 0 or k < -count or k > _LARGEST_INDEX:
        raise ValueError
    return k - 1 if k > 0 else count + k
