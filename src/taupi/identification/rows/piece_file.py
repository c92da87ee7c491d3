"""A piece as a file: an archive of arrays, and the rest as JSON in it. Nothing in it is ever run."""

from __future__ import annotations

import json
import zipfile
import zlib
from typing import Any, BinaryIO

import numpy as np

from taupi.errors import TaupiError
from taupi.identification.rows.compression import Compressed
from taupi.identification.rows.factors import JointFactor
from taupi.identification.rows.pieces import Piece
from taupi.identification.rows.recording import LogRecord

SCHEMA = 1


def write_piece(piece: Piece, stream: BinaryIO, facts: dict[str, Any]) -> None:
    """Write a piece; `facts` are kept with it, such as the fingerprint of its plan."""
    factors, width = piece.factors, max((f.r.shape[1] for f in piece.factors), default=0)
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


def read_piece(stream: BinaryIO, name: str) -> tuple[Piece, dict[str, Any]]:
    """Return the piece in a file, and the facts that are kept with it."""
    try:
        with np.load(stream, allow_pickle=False) as archive:
            arrays = {key: archive[key] for key in archive.files}
        data = json.loads(str(arrays["data"]))
        if data["schema"] != SCHEMA:
            raise TaupiError(f"{name} has the schema {data['schema']}, expected {SCHEMA}: another version wrote it.")
        factors, start = [], 0
        joints = arrays["joints"].tolist()
        for (file, joint, rows, stretch, length), (total, share) in zip(
            arrays["whole"].tolist(), arrays["real"].tolist(), strict=True
        ):
            columns = arrays["used"][joints.index(joint)]
            stop = start + length * int(columns.sum())
            r = np.zeros((length, len(columns)))
            r[:, columns] = arrays["rows"][start:stop].reshape(length, -1)
            factors.append(JointFactor(file, joint, r, rows, total, stretch, share))
            start = stop
        compressed = Compressed(tuple(factors), int(data["samples"]), arrays["extremes"])
        record = LogRecord.from_dict(data["record"])
        stated, known = tuple(data["stated_torque"]), tuple(data["known_torque"])
        more = bool(data["has_known"]), bool(data["rests_on_gains"])
        return Piece(compressed, record, stated, known, *more), data["facts"]
    except TaupiError:
        raise
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError, KeyError, TypeError):
        raise TaupiError(f"{name} is not a piece of a fit, or it is cut off or damaged.") from None
