"""Logs made to harm, or damaged: bombs, lies in headers, embedded mappings of any type. Each is one sentence, soon."""

import gzip
import io
import json
import os
import struct
import sys
import time
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import taupi as tp
from taupi.errors import TaupiError
from taupi.signals.formats.parquet import RowGroup, row_groups
from taupi.signals.log import Filtering
from taupi.signals.mapping.columns import Columns
from taupi.signals.read import log_blocks

ROWS = "t,q1\n0,1\n1,2\n2,3\n"
OWN = {"taupi_log": 1, "time": "t", "joints": ["a"], "q": "q1"}


def refused(path, **settings):
    start = time.process_time()
    with pytest.raises(TaupiError) as caught:
        tp.read_log(path, **settings)
    assert time.process_time() - start < 5 and "\n" not in str(caught.value)
    return str(caught.value)


def written(path, data):
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def own_csv(path, **changes):
    return written(path / "run.csv", f"# taupi-log {json.dumps({**OWN, **changes})}\n{ROWS}")


# Templates: only {i} and {joint} mean something ------------------------------------------------------------------------


@pytest.mark.parametrize("template", ["q{i.denominator}", "q{i:>3000000000}", "q{i!r}", "q{i.__class__}", "{joint.x}"])
def test_templates_are_never_formatted(tmp_path, template):
    file = written(tmp_path / "run.csv", ROWS)
    assert "expected a template with {i} or {joint} in it" in refused(file, columns={"time": "t", "q": template})
    assert "expected a template" in refused(own_csv(tmp_path, q=template))  # nor from the first line of a file


def test_a_column_may_be_called_like_a_template(tmp_path):
    file = written(tmp_path / "run.csv", "t,q{i.real},x\n0,1,5\n1,2,6\n")
    assert tp.read_log(file, columns={"time": "t", "q": "q{i.real}"}).q[:, 0].tolist() == [1, 2]
    names = written(tmp_path / "names.csv", "t,p_{i}_0,p_b_1\n0,1,5\n1,2,6\n")
    log = tp.read_log(names, columns={"time": "t", "q": "p_{joint}_{i}", "joints": ["{i}", "b"]})
    assert log.q[0].tolist() == [1, 5]  # a label is not a template again


# What a file says about itself -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes",
    [
        *(
            {"q": 5},
            {"q": {"columns": 5}},
            {"q": ["q1", "q1"]},
            {"q": {"columns": "q1", "delay": 1e400}},
            {"time": None},
        ),
        *({"joints": 3}, {"joints": ["a", "b"]}, {"joints": [1]}, {"units": ["kg"]}, {"known_torque": 3}),
        *(
            {"filtering": 4},
            {"filtering": {"kind": 4, "cutoff_hz": "x", "order": [], "derivatives": 1}},
            {"taupi_log": 2},
        ),
        *({"q": {"columns": "q1", "gain": 10**400}}, {"filtering": {"kind": "x"}}, {"rate_hz": "fast"}),
    ],
)
def test_embedded_mappings_of_any_type(tmp_path, changes):
    mapping = json.dumps({**OWN, **changes})
    table = pa.table({"t": [0.0, 1.0, 2.0], "q1": [1.0, 2.0, 3.0]})
    pq.write_table(table.replace_schema_metadata({"taupi_log": mapping}), tmp_path / "run.parquet")
    np.savez(tmp_path / "run.npz", t=np.arange(3.0), q1=np.arange(3.0), taupi_log=np.array(mapping))
    for file in (own_csv(tmp_path, **changes), tmp_path / "run.parquet", tmp_path / "run.npz"):
        refused(file)


def test_embedded_mappings_that_are_no_mappings(tmp_path):
    table = pa.table({"t": [0.0, 1.0], "q1": [1.0, 2.0]})
    for text in (
        b"\xff",
        b"{",
        b"[" * 100_000,
        b"[]",
        b'{"taupi_log": ' + b"9" * 5000 + b"}",
        b'{"taupi_log":1,"q":"\\ud800"}',
    ):
        pq.write_table(table.replace_schema_metadata({"taupi_log": text}), tmp_path / "run.parquet")
        assert "its mapping, taupi_log, is damaged. Give columns" in refused(tmp_path / "run.parquet")
        assert "the line '# taupi-log' is damaged" in refused(
            written(tmp_path / "a.csv", b"# taupi-log " + text + b"\n" + ROWS.encode())
        )
    for odd in (np.arange(3), np.array([["x"]]), np.array(b"{}"), np.array("{}")):
        np.savez(tmp_path / "run.npz", t=np.arange(3.0), q1=np.arange(3.0), taupi_log=odd)
        assert "its mapping, taupi_log, is damaged" in refused(tmp_path / "run.npz")


def test_notes_that_are_none_are_left_out(tmp_path):
    assert tp.read_log(own_csv(tmp_path, notes=5)).notes == ()
    assert tp.read_log(own_csv(tmp_path, notes=["x", 3])).notes == ("x", "3")
    filtering = {"kind": "causal", "cutoff_hz": 5, "order": 4, "derivatives": "central"}
    assert tp.read_log(own_csv(tmp_path, filtering=filtering)).filtering == Filtering("causal", 5.0, 4, "central")


# Bombs -----------------------------------------------------------------------------------------------------------------


def npy(shape, dtype="<f8", data=b""):
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": dtype, "fortran_order": False, "shape": shape})
    return stream.getvalue() + data


def archive(path, **members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as stream:
        for name, data in members.items():
            stream.writestr(f"{name}.npy", data)
    return path


def test_headers_that_claim_terabytes(tmp_path):
    file = archive(tmp_path / "run.npz", time=npy((10**12,)), q=npy((10**12, 7)))
    assert "run.npz unpacks to 61035156 MiB, expected 128 MiB at most" in refused(file)
    with pytest.raises(TaupiError, match="cut off or damaged"):
        list(log_blocks(file))
    for shape in ((-3,), (2**70,), (True,)):
        assert "is cut off or damaged" in refused(archive(file, time=npy(shape), q=npy(shape)))
    assert "has 10001 columns, expected 10000" in refused(archive(file, time=npy((3,)), q=npy((3, 10_001))))


def test_files_that_unpack_to_many_times_their_size(tmp_path):
    zeros = bytes(8 * 400_000)
    files = [
        archive(tmp_path / "a.npz", time=npy((400_000,), data=zeros), q=npy((400_000,), data=zeros)),
        written(tmp_path / "a.csv.gz", gzip.compress(b"t,q1\n" + b"0,0\n" * 400_000, 6)),
        tmp_path / "a.parquet",
        tmp_path / "a.mat",
    ]
    pq.write_table(pa.table({"t": np.zeros(400_000), "q1": np.zeros(400_000)}), files[2])
    from scipy.io import savemat

    savemat(files[3], {"t": np.zeros((400_000, 1)), "q1": np.zeros((400_000, 1))}, do_compression=True)
    for file in files:
        assert file.stat().st_size < 16_000
        with tp.signals.reading_budget(unpacked_bytes=1 << 20):
            assert f"{file.name} unpacks to " in refused(file)
        assert len(tp.read_log(file, rate_hz=100)) == 400_000


def test_two_members_of_one_name(tmp_path):
    """NumPy takes a member `q` before `q.npy`: what is measured against the budget is what is read."""
    file = archive(tmp_path / "run.npz", time=npy((2,), data=bytes(16)), q=npy((2,), data=bytes(16)))
    with zipfile.ZipFile(file, "a", zipfile.ZIP_DEFLATED) as stream:
        stream.writestr("q", npy((400_000,), data=bytes(8 * 400_000)))
    with tp.signals.reading_budget(unpacked_bytes=1 << 20):
        assert tp.read_log(file, rate_hz=100).q.shape == (2, 1)


def test_tables_of_very_many_columns(tmp_path):
    names = ",".join(f"q{k}" for k in range(250_000))
    assert "has 250001 columns, expected 10000 at most" in refused(written(tmp_path / "a.csv", f"t,{names}\n"))
    wide = ",".join(f"q_x{k}y" for k in range(9_000))
    values = ",".join("0" for _ in range(9_001))
    start = time.process_time()
    assert tp.read_log(written(tmp_path / "b.csv", f"t,{wide}\n{values}\n{values}\n")).n == 9_000
    assert time.process_time() - start < 5
    assert "has a line of more than 2 MiB" in refused(written(tmp_path / "c.csv", "t," + "x" * (3 << 20)))
    comment = "#" * (1 << 20)  # the long line begins in one part of the file and ends in the next
    for size, allowed in ((29 << 16, True), (40 << 16, False)):  # 1.8 MiB, 2.5 MiB
        file = written(tmp_path / "d.csv", f"{comment}\nt,q1,{'x' * size}\n0,1,2\n1,2,3\n")
        if allowed:
            assert tp.read_log(file).n == 1
        else:
            assert "has a line of more than 2 MiB" in refused(file)


# Parquet ---------------------------------------------------------------------------------------------------------------

TIME = pa.array([0.0, 0.1, 0.2, 0.3])


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        ({"q": pa.array([[1.0], [1.0, 2.0, 3.0], [1.0, 2.0], [1.0, 2.0]])}, "lists of different lengths"),
        ({"q": pa.array([[1.0, 2.0]] * 3 + [[1.0]])}, "lists of different lengths"),
        ({"q": pa.array([[]] * 4, pa.list_(pa.float64()))}, "lists of different lengths"),
        ({"q": pa.array([[1.0], None, [2.0], [3.0]])}, "lists of different lengths"),
        ({"q": pa.array([[[1.0]]] * 4)}, "no joint signal is known"),
        ({"q": TIME, "time": pa.array([None, 1, 2, 3], pa.timestamp("ns"))}, "rows without a time stamp"),
        (
            {"q": TIME, "time": pa.array([1 - 2**63, 0, 1, 2**63 - 1], pa.timestamp("us"))},
            "time stamps that are not times",
        ),
        ({"q": pa.array(["x"] * 4), "time": pa.array(["y"] * 4)}, "no rows of numbers"),
    ],
)
def test_parquet_that_is_no_table_of_numbers(tmp_path, columns, sentence):
    pq.write_table(pa.table({"time": TIME, **columns}), tmp_path / "run.parquet")
    assert sentence in refused(tmp_path / "run.parquet")


def test_lists_that_change_their_length_between_batches(tmp_path):
    lists = pa.array([[1.0, 2.0]] * 20_000 + [[1.0]] * 20_000)
    pq.write_table(
        pa.table({"time": np.arange(40_000) / 100, "q": lists}), tmp_path / "run.parquet", row_group_size=20_000
    )
    assert "lists of different lengths" in refused(tmp_path / "run.parquet")
    with pytest.raises(TaupiError, match="lists of different lengths"):
        list(log_blocks(tmp_path / "run.parquet", size=1000))


def test_lists_of_a_million_repeated_values(tmp_path):
    """A file of a kilobyte; decoded, it would take memory without end."""
    million = pa.ListArray.from_arrays(pa.array([0, 10**6, 2 * 10**6], pa.int32()), pa.array(np.zeros(2 * 10**6)))
    pq.write_table(pa.table({"time": [0.0, 1.0], "q": million}), tmp_path / "run.parquet")
    assert (tmp_path / "run.parquet").stat().st_size < 2000
    assert "a list has 1000000 columns, expected 10000 at most" in refused(tmp_path / "run.parquet")


def test_footers_are_read_as_arrow_reads_them(tmp_path):
    table = pa.table({"t": np.arange(100.0), "q": pa.array([[1.0, 2.0]] * 100), "s": ["x"] * 100, "b": [True] * 100})
    for options in ({}, {"row_group_size": 7}, {"compression": "none", "version": "1.0"}, {"data_page_version": "2.0"}):
        pq.write_table(table, tmp_path / "a.parquet", **options)
        facts = pq.read_metadata(tmp_path / "a.parquet")
        groups = [facts.row_group(k) for k in range(facts.num_row_groups)]
        values = [tuple(g.column(c).num_values for c in range(g.num_columns)) for g in groups]
        assert row_groups(tmp_path / "a.parquet") == [
            RowGroup(g.num_rows, v) for g, v in zip(groups, values, strict=True)
        ]


def test_two_columns_of_one_name_and_names_that_are_not_utf8(tmp_path):
    file = tmp_path / "run.parquet"
    pq.write_table(pa.table([TIME, TIME, TIME], names=["time", "q", "q"]), file)
    assert "two columns named 'q'" in refused(file)
    pq.write_table(pa.table({"time": TIME, "q_elbow": TIME}), file, compression="none")
    assert "is cut off or damaged" in refused(written(file, file.read_bytes().replace(b"q_elbow", b"q_\xff\xfe\xfdbo")))


def test_whole_numbers_with_nulls_and_times_in_any_unit(tmp_path):
    stamps = pa.array([5, 6, 8, 9], pa.timestamp("ms"))
    pq.write_table(pa.table({"time": stamps, "q": pa.array([1, None, 3, 4])}), tmp_path / "run.parquet")
    log = tp.read_log(tmp_path / "run.parquet")
    assert np.allclose(log.time, [0, 0.001, 0.003, 0.004])
    assert np.array_equal(log.q[:, 0], [1, np.nan, 3, 4], equal_nan=True)


# Archives --------------------------------------------------------------------------------------------------------------


def test_encrypted_and_unknown_archives(tmp_path):
    file = archive(tmp_path / "run.npz", time=npy((2,), data=bytes(16)), q=npy((2,), data=bytes(16)))
    data = bytearray(file.read_bytes())
    for sign, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        place = data.find(sign)
        while place >= 0:
            data[place + offset] |= 1  # encrypted
            place = data.find(sign, place + 4)
    assert "is cut off or damaged" in refused(written(file, bytes(data)))


# Text tables -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("codec", ["utf-16", "utf-8-sig", "cp1252"])
@pytest.mark.parametrize("zipped", [False, True])
def test_text_as_excel_saves_it(tmp_path, codec, zipped):
    text = "t,q_épaule,tau_épaule\r\n" + "".join(f"{k},{k + 1},{k + 2}\r\n" for k in range(50))
    data = text.encode(codec)
    file = written(tmp_path / ("run.csv.gz" if zipped else "run.csv"), gzip.compress(data) if zipped else data)
    log = tp.read_log(file)
    assert log.n == 1 and log.q[:, 0].tolist() == list(range(1, 51))
    assert sum(map(len, log_blocks(file, size=16))) == 50
    assert any("Windows-1252" in note for note in log.notes) == (codec == "cp1252")


def test_utf16_that_is_damaged_or_has_no_mark(tmp_path):
    text = "t,q1\n0,1\n1,2\n"
    assert "binary file" in refused(written(tmp_path / "a.csv", text.encode("utf-16-le")))
    assert "begins as UTF-16 text does, but is not" in refused(
        written(tmp_path / "b.csv", text.encode("utf-16") + b"\x00\xd8\x00")
    )


HOSTILE = [
    'a"b',
    "a;b",
    "a,b",
    "a\nb",
    "a\r\nb",
    "a\tb",
    " a ",
    "'a'",
    "# a",
    "% a",
    "// a",
    "\u2028",
    "a\x00b",
    "joint2",
    "é" * 5000,
]


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".parquet", ".npz", ".mat"])
def test_logs_read_back_whatever_their_joints_are_called(tmp_path, ending):
    q = np.arange(6.0 * len(HOSTILE)).reshape(6, -1)
    log = tp.Log(np.arange(6) / 10, q, tau=-q, names=HOSTILE)
    tp.write_log(log, tmp_path / f"run{ending}")
    again = tp.read_log(tmp_path / f"run{ending}")
    assert again.names == log.names and np.array_equal(again.q, q) and np.array_equal(again.tau, -q)


def test_quoted_headers_of_other_programs(tmp_path):
    file = written(tmp_path / "run.csv", '"t","q ""1""","q;2"\n0,1,2\n1,2,3\n')
    assert tp.read_log(file, columns={"time": "t", "q": ['q "1"', "q;2"]}).q[1].tolist() == [2, 3]


def test_headers_with_numbers_of_thousands_of_digits(tmp_path):
    file = written(tmp_path / "run.csv", f"t,q10,q9,q{'1' * 5000}\n0,1,2,3\n1,2,3,4\n")
    assert tp.read_log(file).q[0].tolist() == [2, 1, 3]
    suggestion = tp.signals.suggest_mapping(file)
    assert [len(name) for name in suggestion.signals[1].columns] == [2, 3, 5001] and not suggestion.missing[1:]


# Arrays and times ------------------------------------------------------------------------------------------------------


def test_masked_values_are_missing():
    q = np.ma.array([[1.0], [2.0], [3.0]], mask=[[0], [1], [0]])
    assert np.array_equal(tp.Log([0.0, 0.1, 0.2], q).q, [[1], [np.nan], [3]], equal_nan=True)
    g = tp.gravity_torque(tp.load("elbow2r"))
    assert np.isnan(g(np.ma.array([[0.1, 0.2]], mask=[[0, 1]]))).any() and not np.isnan(g([[0.1, 0.2]])).any()


@pytest.mark.parametrize("scale", [1e300, 1e-320, 1e13, 1e-13])
def test_times_that_no_clock_has(scale):
    with pytest.raises(TaupiError, match=r"time steps by .* s, expected seconds"):
        tp.Log(np.arange(5) * scale, np.ones((5, 1)))


@pytest.mark.parametrize("time", [np.arange(400)[::-1] / 100, np.zeros(400)], ids=["back", "none"])
def test_times_that_do_not_rise_are_refused_in_a_stream(tmp_path, time):
    q = np.stack([np.sin(np.arange(400) / 20), np.cos(np.arange(400) / 30)], axis=1)
    log = tp.Log(time, q, tau=q, names=("shoulder", "elbow"))
    tp.write_log(log, tmp_path / "run.csv")
    with pytest.raises(TaupiError, match="time does not step forwards"):
        tp.identify(tp.load("elbow2r"), tmp_path / "run.csv", cutoff_hz=5, stream=True)


def test_one_row_has_no_speed(tmp_path):
    file = written(tmp_path / "run.csv", "t,theta1,voltage1\n0,1,2\n")
    motor = {"torque_per_volt": 1.0, "volts_per_speed": 1.0}
    columns = {"time": "t", "theta": "theta{i}", "voltage": "voltage{i}", "motor": motor}
    assert "has 1 rows, expected at least two" in refused(file, columns=columns)


# Places ----------------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(sys.platform != "linux", reason="names are bytes on Linux alone")
def test_names_that_are_not_utf8(tmp_path):
    file = os.fsdecode(os.fsencode(tmp_path) + b"/run\xff.csv")
    written(tmp_path.__class__(file), ROWS)
    log = tp.read_log(file)
    assert log.source.path.endswith("run\ufffd.csv")
    log.source.path.encode()
    missing = os.fsdecode(os.fsencode(tmp_path) + b"/no\xff.csv")
    refused(missing).encode()


@pytest.mark.skipif(sys.platform == "win32", reason="pipes are POSIX")
def test_a_bag_that_holds_a_pipe(tmp_path):
    os.mkfifo(tmp_path / "run.mcap")
    assert "is not a regular file" in refused(tmp_path)


# Matrices and times of a mapping ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mapping", "sentence"),
    [
        ({"time": {"columns": "time", "matrix": [[1, 2]]}}, "time.matrix has 2 columns for 1 columns of the file"),
        ({"time": ["time", "q1"]}, "time has 2 columns, expected one"),
        (
            {"base": {"w": {"columns": "w", "matrix": [[1, 2], [3, 4], [5, 6]]}, "a": "w"}},
            "base.w.matrix has 2 columns",
        ),
        ({"base": {"w": "w"}}, "base has w, expected w"),
        ({"wrench": {"foot": {"columns": "w", "matrix": [[1]]}}}, "wrench.foot.matrix has 1 columns for 3"),
        ({"contact": {"foot": "w"}}, "contact.foot has 3 columns, expected 1"),
        ({"wrench": {"foot": "none"}}, "wrench.foot has no columns"),
    ],
)
def test_mappings_that_do_not_fit_the_file(tmp_path, mapping, sentence):
    np.savez(tmp_path / "run.npz", time=np.arange(5) / 10, q1=np.zeros(5), w=np.zeros((5, 3)), none=np.zeros((5, 0)))
    assert sentence in refused(tmp_path / "run.npz", columns={"time": "time", "q": "q1", **mapping})


def test_headers_of_a_megabyte(tmp_path):
    """Words of a name are compared with those of signals and units: no column has a million of them."""
    header = ",".join(["time", "q1", "q_" * 500_000])
    assert tp.read_log(written(tmp_path / "run.csv", f"{header}\n0,1,2\n1,2,3\n")).q.shape == (2, 1)


def test_very_many_known_torques(tmp_path):
    """Each was once compared with all others: a hundred thousand would have taken minutes."""
    lines = ", ".join(f"'j{k} = 1'" for k in range(50_000))
    mapping = written(tmp_path / "map.toml", f"known_torque = [{lines}]\n")
    start = time.process_time()
    Columns.of(mapping)
    assert time.process_time() - start < 20
    with pytest.raises(TaupiError, match="states 'j7' twice"):
        Columns.of(written(mapping, f"known_torque = [{lines}, 'j7 = 2']\n"))


@pytest.mark.parametrize(
    "formats",
    [
        [*(f"m{k}:m{k + 1}[9999] x;" for k in range(6)), "m6:;"],  # 1e24 messages without a number
        [*(f"m{k}:" + f"m{k + 1} x;" * 5000 for k in range(6)), "m6:;"],
    ],
    ids=["arrays", "fields"],
)
def test_messages_of_flight_logs_that_hold_each_other_very_often(tmp_path, formats):
    def record(kind, content):
        return struct.pack("<HB", len(content), ord(kind)) + content

    data = b"ULog\x01\x12\x35\x01" + bytes(8) + b"".join(record("F", text.encode()) for text in formats)
    data += record("A", struct.pack("<BH", 0, 1) + b"m0") + record("D", struct.pack("<H", 1) + bytes(16))
    assert "no joint signal is known" in refused(written(tmp_path / "a.ulg", data), topic="m0")
