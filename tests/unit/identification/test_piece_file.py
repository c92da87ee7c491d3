"""Pieces of fits on disk: they read back as they were, and damaged or hostile ones are refused in one sentence."""

import io
import json
import os
import zipfile

import numpy as np
import pytest

import taupi as tp
from taupi.identification.cluster.piece_store import PieceStore
from taupi.identification.rows.compression import Compressed
from taupi.identification.rows.factors import JointFactor
from taupi.identification.rows.piece_file import read_piece, write_piece
from taupi.identification.rows.pieces import Piece
from taupi.identification.rows.recording import LogRecord

RECORD = LogRecord("run.csv", "runs/run.csv", "ab", 100.0, None, (0.1,), ("a note",), (1.0,))
FACTORS = (JointFactor(0, 1, np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 3.0]]), 7, 1.5, 2, 0.5),)
PIECE = Piece(Compressed(FACTORS, 40, np.ones((2, 2, 3))), RECORD, ("a = 1",), (), True, False)


def written(**changes):
    """The bytes of a piece, some of its arrays exchanged."""
    stream = io.BytesIO()
    write_piece(PIECE, stream, {"log": "1"})
    with np.load(io.BytesIO(stream.getvalue())) as archive:
        arrays = {name: archive[name] for name in archive.files}
    stream = io.BytesIO()
    np.savez(stream, **(arrays | changes))
    return stream.getvalue()


def data(**changes):
    with np.load(io.BytesIO(written())) as archive:
        return np.array(json.dumps(json.loads(str(archive["data"])) | changes))


def test_a_piece_reads_back():
    piece, facts = read_piece(written(), "a.piece")
    assert facts == {"log": "1"} and piece.record == RECORD
    assert (piece.stated_torque, piece.known_torque, piece.has_known, piece.rests_on_gains) == (
        ("a = 1",),
        (),
        True,
        False,
    )
    (factor,) = piece.factors
    assert np.array_equal(factor.r, FACTORS[0].r) and np.array_equal(piece.compressed.extremes, np.ones((2, 2, 3)))
    assert (factor.joint, factor.rows, factor.total, factor.stretch, factor.share) == (1, 7, 1.5, 2, 0.5)


COUNTS = np.array([[0, 1, 7, 2, 2]], dtype=np.int64)


@pytest.mark.parametrize(
    "changes",
    [
        {"data": np.array("[" * 100_000)},
        {"data": np.array("[]")},
        {"data": np.array(3)},
        {"data": np.array([1 << 21], dtype=np.uint32).view("=U1").reshape(())},
        {"data": data(schema=9)},
        {"data": data(record=[])},
        {"data": data(record={"name": 3})},
        {"data": data(samples="many")},
        {"data": data(facts=[1])},
        {"whole": COUNTS * [0, 0, 0, 0, 10**12]},
        {"whole": COUNTS * [1, 1, 1, 1, -1]},
        {"whole": COUNTS * [1, 9, 1, 1, 1]},
        {"whole": COUNTS.astype(float)},
        {"whole": COUNTS[0]},
        {"joints": np.array(0)},
        {"used": np.array(True)},
        {"used": np.ones((9, 3), dtype=bool)},
        {"rows": np.zeros(1)},
        {"rows": np.array(["x"])},
        {"real": np.zeros((3, 2))},
        {"extremes": np.array(["x"])},
    ],
)
def test_damaged_pieces(changes):
    with pytest.raises(tp.TaupiError, match=r"^a\.piece") as caught:
        read_piece(written(**changes), "a.piece")
    assert len(str(caught.value)) < 300


def test_pieces_that_unpack_to_gigabytes():
    stream, head = io.BytesIO(), io.BytesIO()
    np.lib.format.write_array_header_1_0(head, {"shape": (10**9,), "fortran_order": False, "descr": "<f8"})
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("rows.npy", head.getvalue() + bytes(1000))
    with pytest.raises(tp.TaupiError, match="unpacks to 7629 MiB"):
        read_piece(stream.getvalue(), "a.piece")
    wide = np.zeros((1, 100_000), dtype=bool)  # triangles of nothing but zeros are not stored
    counts = np.repeat(COUNTS * [1, 1, 1, 1, 50_000], 10, axis=0)
    with pytest.raises(tp.TaupiError, match=r"unpacks to 7629[0-9]+ MiB"):
        read_piece(written(used=wide, whole=counts, real=np.zeros((10, 2)), rows=np.zeros(0)), "a.piece")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_a_pipe_in_the_folder_is_as_good_as_none(tmp_path):
    class Plan:
        fingerprint = "f" * 32

    os.mkfifo(tmp_path / f"{'f' * 16}-log.piece")
    assert PieceStore(tmp_path).read_all(Plan(), ["log"]) == {}
    (tmp_path / f"{'f' * 16}-other.piece").write_bytes(b"PK")
    assert PieceStore(tmp_path).read_all(Plan(), ["other"]) == {}
