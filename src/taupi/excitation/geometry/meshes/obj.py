"""Wavefront OBJ: vertices, and faces that name them."""

from __future__ import annotations

import numpy as np

from taupi.errors import TaupiError


def triangles(data: bytes, place: str) -> np.ndarray:
    """Return the triangles (m, 3, 3) of a file's bytes; a face of more corners is a fan of triangles."""
    vertices: list[list[str]] = []
    corners: list[tuple[int, int, int]] = []
    for number, line in enumerate(data.decode("utf-8", errors="replace").splitlines(), 1):
        words = line.split()
        if not words:
            continue
        if words[0] == "v":
            vertices.append(words[1:4])
        elif words[0] == "f":
            try:
                face = [_index(word, len(vertices)) for word in words[1:]]
            except ValueError:
                raise TaupiError(
                    f"{place}, line {number}: the face {line.strip()[:40]!r} names no vertices.",
                    remedy="Export the mesh again.",
                ) from None
            corners += [(face[0], face[k], face[k + 1]) for k in range(1, len(face) - 1)]
    try:
        points = np.array(vertices, dtype=float).reshape(-1, 3)
        return points[np.array(corners, dtype=int).reshape(-1, 3)]
    except (ValueError, IndexError, OverflowError):
        raise TaupiError(
            f"{place} has vertices that are not three numbers, or faces of vertices that it does not have.",
            remedy="Export the mesh again.",
        ) from None


def _index(word: str, count: int) -> int:
    """Return the place of a vertex: 1 is the first, -1 the last so far; texture and normal follow slashes."""
    k = int(word.split("/", 1)[0])
    if k == 0 or k < -count:
        raise ValueError
    return k - 1 if k > 0 else count + k
