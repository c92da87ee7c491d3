"""STL: a list of triangles, binary or as text."""

from __future__ import annotations

import io
from array import array

import numpy as np

from taupi.errors import TaupiError

_HEAD = 84  # bytes: a comment, and the number of triangles
_RECORD = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])


def triangles(data: bytes, place: str) -> np.ndarray:
    """Return the triangles (m, 3, 3) of a file's bytes; it is binary if its length says so."""
    count = int.from_bytes(data[80:_HEAD], "little") if len(data) >= _HEAD else -1
    if count >= 0 and len(data) == _HEAD + count * _RECORD.itemsize:
        return np.frombuffer(data, _RECORD, count, _HEAD)["corners"].astype(float)
    if data.lstrip()[:5].lower() == b"solid" and b"facet" in data[:4096].lower():
        return _text(data, place)
    if count >= 0 and len(data) > _HEAD + count * _RECORD.itemsize > _HEAD:  # some programs append a footer
        return np.frombuffer(data, _RECORD, count, _HEAD)["corners"].astype(float)
    raise TaupiError(f"{place} is not an STL file, or is cut off: {len(data)} bytes.", remedy="Export the mesh again.")


def _text(data: bytes, place: str) -> np.ndarray:
    corners = array("d")
    try:
        for words in map(bytes.split, io.BytesIO(data)):
            if words and words[0].lower() == b"vertex":
                x, y, z = words[1:4]
                corners.extend((float(x), float(y), float(z)))
        return np.array(corners).reshape(-1, 3, 3)
    except ValueError:
        raise TaupiError(
            f"{place} has vertices that are not three numbers each, three per triangle.",
            remedy="Export the mesh again.",
        ) from None
