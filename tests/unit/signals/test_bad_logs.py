"""Bad logs: whatever is wrong with a file is one clear sentence, never a traceback. And odd ones that are good."""

import gzip
import os
import time
import zipfile

import numpy as np
import pytest
from refusals import refused

import taupi as tp
from taupi.errors import TaupiError

GOOD = "t,q1,q2\n0,1,2\n0.1,3,4\n0.2,5,6\n"

BAD = {
    "empty": (b"", "run.csv is empty"),
    "blank": (b"\n \n", "run.csv has no rows"),
    "comments only": (b"# t q1\n# 0 1\n", "has no rows"),
    "header only": (b"t,q1,q2\n", "has a header but no rows"),
    "binary": (bytes(range(256)), "binary file|no known format"),
    "no text": (b"t,q1,q2,\x81\n0,1,2,3\n", "is not UTF-8 text"),
    "text in numbers": (GOOD.replace("3,4", "3,four"), "run.csv, line 3: q2 is 'four', expected a number"),
    "too few": (GOOD.replace("3,4", "3"), "run.csv, line 3 has 2 values, expected 3. Correct or delete the line"),
    "too many": (GOOD.replace("3,4", "3,4,5"), "line 3 has 4 values, expected 3"),
    "cut in a row": (GOOD[:-4], "line 4 has 2 values, expected 3"),
    "header twice": (GOOD.replace("0.1,3,4", "t,q1,q2"), "line 3: t is 't', expected a number"),
    "same name": (GOOD.replace("q2", "q1"), "two columns named 'q1'"),
    "two delimiters": (GOOD.replace("0.1,3,4", "0.1;3;4"), "line 3 has 1 values, expected 3"),
    "own line damaged": ("# taupi-log {nonsense\n" + GOOD, "the line '# taupi-log' is damaged"),
    "own line of another": ('# taupi-log {"taupi_log": 99}\n' + GOOD, "the line '# taupi-log' is damaged"),
    "no header": ("0,1,2\n0.1,3,4\n", "no joint signal is known"),
    "bad character": (GOOD.encode().replace(b"3,4", b"3,\xff"), "line 3: q2 is 'ÿ', expected a number"),
}  # fmt: skip


@pytest.mark.parametrize("what", BAD)
def test_a_bad_table_is_one_sentence(tmp_path, what):
    content, message = BAD[what]
    file = tmp_path / "run.csv"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    start = time.process_time()
    with pytest.raises(TaupiError, match=message) as caught:
        tp.read_log(file)
    assert time.process_time() - start < 5
    assert len(str(caught.value)) < 400 and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        GOOD.replace("\n", "\r\n"),
        GOOD.replace(",", ";"),
        GOOD.replace(",", "\t"),
        GOOD.replace(",", "   "),
        "  " + GOOD.replace(",", " ").replace("\n", " \n  "),
        GOOD.replace(",", ";").replace("0.", "0,"),
        "\ufeff" + GOOD,
        "# made by a robot\n% and so\n" + GOOD.replace("0.1", "# in between\n0.1"),
        "# t q1 q2\n" + GOOD.split("\n", 1)[1].replace(",", " "),
        "# t, q1, q2\n" + GOOD.split("\n", 1)[1],
        GOOD.rstrip("\n"),
        GOOD + "\n\n",
        '"t","q1","q2"\n' + GOOD.split("\n", 1)[1],
        GOOD.replace("t,q1,q2", "q1,t,q2")
        .replace("0,1,2", "1,0,2")
        .replace("0.1,3,4", "3,0.1,4")
        .replace("0.2,5,6", "5,0.2,6"),
        GOOD.replace("\n", ",x\n").replace("q2,x", "q2,who"),
        "Recorded by a controller, on Monday\n" + GOOD,
        "ACME v3\n\nat 10 Hz\n" + GOOD.replace(",", ";").replace("0.", "0,"),
    ],
)
def test_odd_tables_that_are_good(tmp_path, text):
    file = tmp_path / "run.txt"
    file.write_bytes(text.encode())
    for path in (file, tmp_path / "run.csv.gz"):
        if path != file:
            path.write_bytes(gzip.compress(text.encode()))
        log = tp.read_log(path)
        assert np.array_equal(log.time, [0, 0.1, 0.2]) and np.array_equal(log.q, [[1, 2], [3, 4], [5, 6]])


def test_missing_numbers_are_nan(tmp_path):
    (tmp_path / "run.csv").write_text("t,q1,q2\n0,,2\n1,nan,NaN\n2,5,NA\n3,7,8\n")
    assert np.array_equal(np.isnan(tp.read_log(tmp_path / "run.csv").q), [[1, 0], [1, 1], [0, 1], [0, 0]])


def test_tables_without_a_header_by_place(tmp_path):
    (tmp_path / "run.dat").write_text("0 1 2\n1 3 4\n")
    log = tp.read_log(tmp_path / "run.dat", columns={"time": "column1", "q": {"columns": "column{i}", "first": 2}})
    assert np.array_equal(log.q, [[1, 2], [3, 4]])


@pytest.mark.parametrize("cut", [3, 15, 60, -9, -1])
def test_truncated_gzip(tmp_path, cut):
    text = "t,q1\n" + "".join(f"{k},{k * k}\n" for k in range(2000))
    (tmp_path / "run.csv.gz").write_bytes(gzip.compress(text.encode())[:cut])
    with pytest.raises(TaupiError, match=r"cut off or damaged|no rows|gzip"):
        tp.read_log(tmp_path / "run.csv.gz")


@pytest.mark.parametrize("ending", [".parquet", ".npz", ".mat"])
def test_damaged_archives(tmp_path, ending):
    rng = np.random.default_rng(0)
    file = tmp_path / f"run{ending}"
    log = tp.Log(np.arange(200) / 100, rng.normal(size=(200, 2)), tau=rng.normal(size=(200, 2)))
    tp.write_log(log, file)
    data = file.read_bytes()
    for cut in [1, 5, 100, len(data) // 2, len(data) - 3]:
        file.write_bytes(data[:cut])
        with pytest.raises(TaupiError) as caught:
            tp.read_log(file)
        assert "\n" not in str(caught.value)
    wrong = 0
    for place in rng.integers(0, len(data), 60):  # flipped bytes are found, or they are in what nobody reads
        changed = bytearray(data)
        changed[place] ^= 0xFF
        file.write_bytes(bytes(changed))
        try:
            tp.read_log(file)
        except TaupiError as error:
            wrong += 1
            assert "\n" not in str(error) and len(str(error)) < 400
    assert wrong > 10


def test_archives_of_other_things(tmp_path):
    file = tmp_path / "run.npz"
    np.savez(file, q=np.array([{}, {}]))
    with pytest.raises(TaupiError, match=r"Python objects|no array of numbers"):
        tp.read_log(file)
    np.savez(file, t=np.arange(3), q=np.zeros((4, 2)))
    with refused("q"):
        tp.read_log(file)
    with pytest.raises(TaupiError, match="arrays of different lengths"):
        list(tp.signals.log_blocks(file))
    np.savez(file, t=np.arange(4), q=np.asfortranarray(np.arange(8.0).reshape(4, 2)))
    assert np.array_equal(tp.read_log(file).q, np.arange(8.0).reshape(4, 2))
    with pytest.raises(TaupiError, match="stored column by column"):
        list(tp.signals.log_blocks(file))
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("readme.txt", "hello")
    with pytest.raises(TaupiError, match=r"not a NumPy archive|no array"):
        tp.read_log(file)


def test_matlab_files_as_people_save_them(tmp_path):
    from scipy.io import savemat

    file = tmp_path / "run.mat"
    t, q = np.arange(50) / 100, np.random.default_rng(0).normal(size=(50, 3))
    savemat(file, {"t": t, "q": q.T, "tau": -q.T, "gains": np.eye(3), "who": "me"})
    log = tp.read_log(file, columns={"time": "t", "q": "q", "tau": "tau"})
    assert np.array_equal(log.q, q) and np.array_equal(log.tau, -q) and "transposed" in log.notes[0]
    savemat(file, {"data": {"time": t, "q": q, "inner": {"tau": q}}})
    log = tp.read_log(file, columns={"time": "data.time", "q": "data.q", "tau": "data.inner.tau"})
    assert np.array_equal(log.time, t) and np.array_equal(log.tau, q)
    file.write_bytes(b"MATLAB 7.3 MAT-file, Platform" + b" " * 200)
    with pytest.raises(TaupiError, match=r"run\.mat is not an HDF5 file, or it is cut off or damaged"):
        tp.read_log(file)


def test_parquet_as_people_save_it(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = tmp_path / "run.parquet"
    q = np.random.default_rng(0).normal(size=(30, 3))
    lists = pa.array(q.tolist())
    stamps = pa.array((17 * 10**17 + np.arange(30) * 10**7), type=pa.timestamp("ns"))
    pq.write_table(pa.table({"timestamp": stamps, "position": lists, "who": ["me"] * 30}), file)
    log = tp.read_log(file)
    assert np.array_equal(log.q, q) and np.allclose(log.time, np.arange(30) / 100)
    assert np.allclose(np.concatenate([b.time for b in tp.signals.log_blocks(file, size=7)]), np.arange(30) / 100)
    pq.write_table(pa.table({"t": [0.0, 1.0], "q": pa.array([[1.0, 2.0], [3.0]])}), file)
    with pytest.raises(TaupiError, match=r"q has lists of different lengths|a joint signal|cut off"):
        tp.read_log(file)
    pq.write_table(pa.table({"t": pa.array([], type=pa.float64())}), file)
    with pytest.raises(TaupiError, match="no rows"):
        tp.read_log(file)


def test_what_is_no_file(tmp_path):
    with pytest.raises(TaupiError, match="No file"):
        tp.read_log(tmp_path / "no.csv")
    with pytest.raises(TaupiError, match=r"is of no known format|is a directory"):
        tp.read_log(tmp_path)
    for bad in (None, 3, "", "a\0b"):
        with refused("path", expected="the path or address of a log"):
            tp.read_log(bad)
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(TaupiError, match="is not a regular file"):
        tp.read_log(tmp_path / "pipe.csv")
    (tmp_path / "run.csv").write_text(GOOD)
    with refused("format", name="excel"):
        tp.read_log(tmp_path / "run.csv", format="excel")
    with refused("size", got=0, expected="of at least 1"):
        tp.signals.log_blocks(tmp_path / "run.csv", size=0)
    with pytest.raises(TaupiError, match="which cannot be read in blocks"):
        tp.signals.log_blocks(tmp_path / "run.csv", format="mat")


def test_random_bytes_never_end_in_a_traceback(tmp_path):
    rng = np.random.default_rng(5)
    heads = [
        b"",
        b"t,q1\n",
        b"PK\x03\x04",
        b"PAR1",
        b"MATLAB 5.0",
        b"#ROSBAG V2.0\n",
        b"\x89MCAP0\r\n",
        b"\x1f\x8b",
        b"0 1\n",
    ]
    endings = ["csv", "npz", "parquet", "mat", "bag", "mcap", "db3", "gz", "xyz"]
    for k in range(180):
        file = tmp_path / f"run{k}.{endings[k % len(endings)]}"
        file.write_bytes(heads[k % 7 if k % 2 else k % 9] + rng.bytes(int(rng.integers(1, 300))))
        try:
            tp.read_log(file)
        except TaupiError as error:
            assert "\n" not in str(error) and len(str(error)) < 500


def test_a_write_that_fails_leaves_nothing(tmp_path, monkeypatch):
    log = tp.Log(np.arange(3.0), np.zeros((3, 1)))

    def broken(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("taupi.signals.formats.npz.write", broken)
    with pytest.raises(KeyboardInterrupt):
        tp.write_log(log, tmp_path / "run.npz")
    assert not list(tmp_path.iterdir())
    with pytest.raises(TaupiError, match="cannot be written"):
        tp.write_log(log, tmp_path / "no" / "run.csv")
