"""A piece as a file: an archive of arrays, and the rest as JSON in it. Nothing in it is ever run."""

from __future__ import annotations

import json
from typing import Any, BinaryIO, TypedDict

import numpy as np

from taupi.budget import budget
from taupi.errors import TaupiError
from taupi.identification.rows.compression import Compressed
from taupi.identification.rows.factors import JointFactor
from taupi.identification.rows.pieces import Piece
from taupi.identification.rows.recording import LogRecord
from taupi.input_files import parse_json
from taupi.schema import conformed
from taupi.signals.formats.npz import arrays_in, text_in

SCHEMA = 1


class PieceData(TypedDict):
    """What the JSON of a piece must hold."""

    schema: int
    facts: dict[str, str]
    samples: int
    record: LogRecord
    stated_torque: list[str]
    known_torque: list[str]
    has_known: bool
    rests_on_gains: bool


def write_piece(piece: Piece, stream: BinaryIO, facts: dict[str, Any]) -> None:
    """Write a piece; `facts` are kept with it, such as the fingerprint of its plan."""
    factors = [f.unpacked() for f in piece.factors]
    width = max((f.r.shape[1] for f in factors), default=0)
    joints = sorted({f.joint for f in factors})
    used = np.zeros((len(joints), width), dtype=bool)  # the other columns of a joint are zero
    for f in factors:
        used[joints.index(f.joint)] |= f.r.any(axis=0)
    rows = [f.r[:, used[joints.index(f.joint)]].ravel() for f in factors]
    data = {
        "schema": SCHEMA,
        "facts": facts,
        "samples": piece.compressed.samples,
        "record": piece.record.to_dict(),
        "stated_torque": piece.stated_torque,
        "known_torque": piece.known_torque,
        "has_known": piece.has_known,
        "rests_on_gains": piece.rests_on_gains,
    }
    np.savez(
        stream,
        data=np.array(json.dumps(data)),
        extremes=piece.compressed.extremes,
        joints=np.array(joints),
        used=used,
        whole=np.array([[f.file, f.joint, f.rows, f.stretch, len(f.r)] for f in factors], dtype=np.int64).reshape(
            -1, 5
        ),
        real=np.array([[f.total, f.share] for f in factors], dtype=float).reshape(-1, 2),
        rows=np.concatenate([np.zeros(0), *rows]),
    )


def read_piece(content: bytes, name: str) -> tuple[Piece, dict[str, Any]]:
    """Return the piece in the content of a file, and the facts that are kept with it; `name` is the file's, for errors."""
    try:
        arrays = arrays_in(content, name)
        data = parse_json(text_in(arrays["data"]) or "", name, "a piece of a fit")
        if not isinstance(data, dict) or data.get("schema") != SCHEMA:
            raise TaupiError(f"{name} has another schema than {SCHEMA}: another version wrote it.")
        data = conformed(data, PieceData, name)
        compressed = Compressed(
            _factors(arrays, name), data["samples"], _numbers(arrays["extremes"], arrays["extremes"].ndim)
        )
        record = LogRecord.from_dict(data["record"])
        stated, known = tuple(data["stated_torque"]), tuple(data["known_torque"])
        return Piece(compressed, record, stated, known, data["has_known"], data["rests_on_gains"]), data["facts"]
    except TaupiError:
        raise
    except (ValueError, KeyError, TypeError, IndexError, OverflowError):
        raise TaupiError(f"{name} is not a piece of a fit, or it is cut off or damaged.") from None


def _factors(arrays: dict[str, np.ndarray], name: str) -> tuple[JointFactor, ...]:
    """Return the factors in the arrays of a piece; raise ValueError for arrays that do not belong together."""
    counts, sums, rows = _numbers(arrays["whole"], 2, "i"), _numbers(arrays["real"], 2), _numbers(arrays["rows"], 1)
    joints, used = _numbers(arrays["joints"], 1, "if").tolist(), _numbers(arrays["used"], 2, "b")
    lengths = counts[:, 4].tolist()
    # A triangle has no more rows than columns.
    if used.shape[0] != len(joints) or not all(0 <= length <= used.shape[1] for length in lengths):
        raise ValueError
    budget().check_unpacked(8 * used.shape[1] * sum(lengths), rows.nbytes, name)
    factors, start = [], 0
    for (file, joint, count, stretch, length), (total, share) in zip(counts.tolist(), sums.tolist(), strict=True):
        columns = used[joints.index(joint)]
        stop = start + length * int(columns.sum())
        r = np.zeros((length, len(columns)))
        r[:, columns] = rows[start:stop].reshape(length, -1)
        factors.append(JointFactor(file, joint, r, count, total, stretch, share))
        start = stop
    return tuple(factors)


def _numbers(array: np.ndarray, axes: int, kinds: str = "f") -> np.ndarray:
    if array.ndim != axes or array.dtype.kind not in kinds:
        raise ValueError
    return array
