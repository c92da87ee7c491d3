"""Pieces of fits on disk: they read back as they were, and damaged or hostile ones are refused in one sentence."""

import http.server
import io
import json
import os
import threading
import zipfile
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest
from fits import friction_log

import taupi as tp
from taupi.identification.cluster.passes import PieceStore, identity_of
from taupi.identification.piecewise import plan_of_fit
from taupi.identification.rows.factors import JointFactor
from taupi.identification.rows.pieces import Compressed, Piece, open_piece, read_piece, write_piece
from taupi.identification.rows.recording import LogRecord
from taupi.signals.formats.sources import RemoteFile

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
        {"data": data(record=RECORD.to_dict() | {"rate_hz": -1.0})},
        {"data": data(record=RECORD.to_dict() | {"rate_hz": "nan"})},
        {"data": data(record=RECORD.to_dict() | {"cutoff_hz": -3.0})},
        {"data": data(record=RECORD.to_dict() | {"speeds": [-1.0]})},
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
        {"extremes": np.ones((2, 2, 3)) * np.nan},
        {"extremes": np.ones((2, 3, 2))},
        {"extremes": np.array([[[1.0], [-1.0]]] * 2)},
        {"data": data(samples=-1)},
        {"whole": COUNTS * [1, 1, -5, 1, 1]},
        {"whole": COUNTS * [-1, 1, 1, 1, 1] - [[1, 0, 0, 0, 0]]},
        {"whole": COUNTS * [1, 1, 1, -2, 1]},
        {"whole": COUNTS * [1, 1, 0, 1, 1]},
        {"real": np.array([[np.nan, 0.5]])},
        {"real": np.array([[1.0, -0.5]])},
        {"real": np.array([[1.0, 7.0]])},
        {"real": np.array([[np.inf, 0.5]])},
        {"rows": np.array([1.0, np.nan, 0.0, 3.0])},
        {"rows": np.array([1.0, 1e300, 0.0, 3.0])},
        {"rows": np.ones(9)},
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
    counts = np.repeat(COUNTS * [1, 1, 20_000, 1, 50_000], 10, axis=0)
    with pytest.raises(tp.TaupiError, match=r"unpacks to 7629[0-9]+ MiB"):
        read_piece(written(used=wide, whole=counts, real=np.ones((10, 2)), rows=np.zeros(0)), "a.piece")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_pipes_and_devices_are_no_pieces(tmp_path, plan):
    os.mkfifo(tmp_path / f"{plan.fingerprint[:16]}-log.piece")
    assert PieceStore(tmp_path).read_all(plan, ["log"]) == {}
    (tmp_path / f"{plan.fingerprint[:16]}-other.piece").write_bytes(b"PK")
    assert PieceStore(tmp_path).read_all(plan, ["other"]) == {}
    for path in (tmp_path / f"{plan.fingerprint[:16]}-log.piece", "/dev/zero"):
        with pytest.raises(tp.TaupiError, match="is not a regular file, expected a piece of a fit"):
            open_piece(path, plan)


@pytest.fixture(scope="module")
def plan():
    return plan_of_fit(FIT)


FIT = tp.identify(tp.load("elbow2r"), friction_log(1, duration=4.0), "wls", terms=("viscous",), cutoff_hz=15)


def test_pieces_of_other_joints_or_columns_are_refused(tmp_path, plan):
    path = tmp_path / "a.piece"
    tp.compress_log(FIT, friction_log(2, duration=4.0), path)
    piece, facts = open_piece(path, plan)
    last = piece.factors[-1]
    for factors, extremes in (
        ((replace(last, joint=2),), piece.compressed.extremes),
        ((replace(last, stored=last.r[:, 1:]),), piece.compressed.extremes),
        (piece.factors, piece.compressed.extremes[..., :1]),
    ):
        with path.open("wb") as stream:
            write_piece(replace(piece, compressed=Compressed(factors, 40, extremes)), stream, facts)
        with pytest.raises(tp.TaupiError, match=r"^a\.piece is not a piece of a fit"):
            tp.identify_pieces(FIT, path)


def test_a_log_counts_once(tmp_path):
    tp.write_log(friction_log(2, duration=4.0), tmp_path / "run.csv")
    for name in ("a.piece", "b.piece"):
        tp.compress_log(FIT, tmp_path / "run.csv", tmp_path / name)
    with pytest.raises(tp.TaupiError, match=r"^run\.csv is given twice"):
        tp.identify_pieces(FIT, tmp_path / "*.piece")


# Which version of a log a piece is of ------------------------------------------------------------------------------------


def test_a_file_with_the_same_size_and_time_is_another_log(tmp_path):
    path = tmp_path / "run.csv"
    seen = set()
    for content in ("time,q\n0,1\n", "time,q\n0,2\n"):
        path.write_text(content)
        os.utime(path, ns=(10**18, 10**18))
        seen |= {identity_of(path), identity_of(str(path))}
    assert len(seen) == 2
    (tmp_path / "other.csv").write_text(content)
    assert identity_of(tmp_path / "other.csv") not in seen


class Server(http.server.BaseHTTPRequestHandler):
    """Logs on a server; `head` are its validators, `content` what it has for each address."""

    head: ClassVar[dict[str, str]] = {}
    content: ClassVar[dict[str, bytes]] = {}

    def do_GET(self):
        self.send_response(200)
        body = self.content[self.path]
        for name, value in {**self.head, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    do_HEAD = do_GET  # noqa: N815

    def log_message(self, *args):
        pass


@pytest.fixture
def web():
    pytest.importorskip("aiohttp", reason="the extra `remote` is not installed")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize("head", [{}, {"Last-Modified": "Mon, 01 Jan 2024 00:00:00 GMT"}, {"ETag": 'W/"1"'}])
def test_without_a_strong_validator_the_content_decides(web, head):
    Server.head, Server.content = head, {"/run.csv": b"time,q\n0,1\n"}
    first = identity_of(f"http://{web}/run.csv")
    assert identity_of(f"http://{web}/run.csv") == first
    Server.content = {"/run.csv": b"time,q\n0,2\n"}
    assert identity_of(f"http://{web}/run.csv") != first


@pytest.mark.parametrize(
    ("name", "strong"), [("ETag", True), ("Content-MD5", True), ("Digest", True), ("Last-Modified", False)]
)
def test_all_validators_that_a_server_sends_count(web, name, strong):
    Server.content, values = (
        {"/run.csv": b"time,q\n0,1\n"},
        ("Mon, 01 Jan 2024 00:00:00 GMT", "Tue, 02 Jan 2024 00:00:00 GMT"),
    )
    files = []
    for value in values:
        Server.head = {name: value}
        files.append(RemoteFile(f"http://{web}/run.csv"))
        assert files[-1].is_tagged is strong
    assert files[0].identity != files[1].identity


def test_the_query_belongs_to_the_address_and_the_password_does_not(web):
    Server.head = {"ETag": '"1"'}
    Server.content = {f"/run?id={k}": b"time,q\n0,1\n" for k in (1, 2)}
    one, two = (RemoteFile(f"http://{web}/run?id={k}") for k in (1, 2))
    assert one.identity != two.identity and identity_of(one.address) != identity_of(two.address)
    assert RemoteFile(f"http://me:secret@{web}/run?id=1").identity == one.identity
