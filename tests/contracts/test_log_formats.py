"""One suite over every log format: what is written reads back as it was, whole and in blocks."""

import importlib
import json
import shutil
import sys

import bags
import logs_of_others
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import taupi as tp
from taupi.errors import TaupiError
from taupi.signals import formats
from taupi.signals.formats import FORMATS
from taupi.signals.log import SIGNALS
from taupi.signals.read import concatenate_logs

ENDINGS = [".csv", ".csv.gz", ".parquet", ".npz", ".mat"]
STREAMING = [".csv", ".csv.gz", ".parquet", ".npz"]
BAGS = ["bag", "db3", "mcap"]


def made(rows=40, n=3, seed=0, signals=tuple(SIGNALS)):
    rng = np.random.default_rng(seed)
    scale = 10.0 ** rng.integers(-12, 12, (rows, n))
    values = {name: rng.normal(size=(rows, n)) * scale for name in signals}
    time = 1.7e9 + np.cumsum(rng.uniform(0.9e-3, 1.1e-3, rows))
    names = ("shoulder pan", "elbow", "lift.z")[:n]
    return tp.Log(time, **values, names=names, units=("rad", "rad", "m")[:n], notes=("first", 'second, "quoted"'))


def same(a, b):
    assert np.array_equal(a.time, b.time)
    assert list(a.signals) == list(b.signals)
    for name, value in a.signals.items():
        assert np.array_equal(value, b.signals[name], equal_nan=True), name


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("signals", [tuple(SIGNALS), ("q",), ("q", "tau")])
def test_what_is_written_reads_back(tmp_path, ending, signals):
    log = made(signals=signals)
    q = log.q.copy()
    q[3, 1] = np.nan
    log = log.with_(q=q)
    file = tmp_path / f"run{ending}"
    tp.write_log(log, file)
    again = tp.read_log(file)
    same(log, again)
    assert (again.names, again.units, again.notes[:2]) == (log.names, log.units, log.notes)
    assert again.source.path == str(file) and len(again.source.sha256) == 64
    assert again.source.format in FORMATS
    with pytest.raises(TaupiError, match="exists already"):
        tp.write_log(log, file)
    tp.write_log(log.decimate(2), file, force=True)
    assert len(tp.read_log(file)) == 20
    assert [p.name for p in tmp_path.iterdir()] == [file.name]


@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.floats(allow_infinity=True, allow_nan=True, width=64), min_size=1, max_size=12),
    st.sampled_from(ENDINGS),
)
def test_every_double_reads_back(tmp_path_factory, values, ending):
    log = tp.Log(np.arange(len(values)) / 100, np.array(values)[:, None])
    file = tmp_path_factory.mktemp("log") / f"run{ending}"
    tp.write_log(log, file)
    same(log, tp.read_log(file))


@pytest.mark.parametrize("ending", STREAMING)
@pytest.mark.parametrize("size", [1, 7, 40, 1000])
def test_blocks_are_the_whole_in_pieces(tmp_path, ending, size):
    log = made()
    file = tmp_path / f"run{ending}"
    tp.write_log(log, file)
    blocks = list(tp.signals.log_blocks(file, size=size))
    assert [len(b) for b in blocks] == [min(size, 40 - a) for a in range(0, 40, size)]
    for name, value in log.signals.items():
        assert np.array_equal(np.concatenate([b.signals[name] for b in blocks]), value)
    assert np.array_equal(np.concatenate([b.time for b in blocks]), log.time)
    assert blocks[-1].names == log.names


def test_blocks_without_a_time_column_go_on_counting(tmp_path):
    file = tmp_path / "run.csv"
    file.write_text("q1,q2\n" + "".join(f"{i},{-i}\n" for i in range(10)))
    time = np.concatenate([b.time for b in tp.signals.log_blocks(file, size=3, rate_hz=100)])
    assert np.allclose(time, np.arange(10) / 100, atol=1e-15)


def test_large_text_is_read_in_chunks_that_agree(tmp_path, monkeypatch):
    log = made(rows=300)
    file = tmp_path / "run.csv"
    tp.write_log(log, file)
    monkeypatch.setattr("taupi.signals.formats.csv._CHUNK", 1 << 14)
    same(log, tp.read_log(file))


@pytest.mark.parametrize("name", FORMATS)
def test_the_table_of_formats_is_true(name):
    row = FORMATS[name]
    module = importlib.import_module(row.module)
    assert callable(module.sniff) and callable(module.read)
    assert hasattr(module, "write") == row.writes and hasattr(module, "blocks") == row.streams


@pytest.mark.parametrize("ending", ENDINGS)
def test_formats_are_known_by_their_bytes(tmp_path, ending):
    tp.write_log(made(), tmp_path / f"run{ending}")
    plain = tmp_path / "recording"
    shutil.copy(tmp_path / f"run{ending}", plain)
    same(tp.read_log(plain), made())


JSON_LINES = """
import json
import numpy as np
from taupi.signals.formats import read_table
from taupi.signals.mapping.tables import Table

endings = (".jsonl",)

def sniff(path):
    with path.open("rb") as stream:
        return stream.read(5) == b'{"t":'

def head(path, columns, robot):
    with path.open() as stream:
        rows = [json.loads(line) for line in stream]
    return Table({key: np.array([row[key] for row in rows]) for key in rows[0]}, path)

def read(path, columns, robot, source):
    return read_table(head(path, columns, robot), columns, robot, source)

def write(log, stream, path):
    for time, q in zip(log.time.tolist(), log.q.tolist()):
        row = {"t": time} | {f"q{k + 1}": v for k, v in enumerate(q)}
        stream.write(json.dumps(row).encode() + b"\\n")
"""


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Install a distribution with one module and one entry point into a folder of its own."""

    def installed(module, entry, name="jsonlines"):
        folder = tmp_path / "site"
        (folder / "other-1.0.dist-info").mkdir(parents=True)
        (folder / "other-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
        (folder / "other-1.0.dist-info" / "entry_points.txt").write_text(f"[taupi.log_formats]\n{name} = {entry}\n")
        (folder / "other_format.py").write_text(module)
        monkeypatch.syspath_prepend(folder)
        monkeypatch.delitem(sys.modules, "other_format", raising=False)
        formats._registered.cache_clear()

    yield installed
    formats._registered.cache_clear()
    sys.modules.pop("other_format", None)


def test_another_package_registers_a_format(tmp_path, install):
    install(JSON_LINES, "other_format")
    log = made(signals=("q",))
    file = tmp_path / "run.jsonl"
    tp.write_log(log, file)
    again = tp.read_log(file)
    assert (again.q == log.q).all() and (again.time == log.time).all() and again.source.format == "jsonlines"
    plain = tmp_path / "recording"
    shutil.copy(file, plain)
    assert tp.read_log(plain).source.format == "jsonlines"
    shutil.copy(file, tmp_path / "run.csv")
    assert tp.read_log(tmp_path / "run.csv", format="jsonlines").n == 3
    assert tp.read_log(file, columns={"time": "t", "q": {"columns": ["q2"], "unit": "deg"}}).n == 1
    with pytest.raises(tp.TaupiError, match=r"run\.jsonl is a jsonlines file, which cannot be read in blocks"):
        next(tp.signals.log_blocks(file))
    with pytest.raises(tp.TaupiError, match=r"Known: .*rosbag, .*lerobot, jsonlines"):
        tp.read_log(file, format="json")


def test_a_format_of_another_package_that_is_broken_is_named(tmp_path, install):
    (tmp_path / "run.odd").write_text("x")
    install("endings = ('.odd',)", "other_format")
    with pytest.raises(tp.TaupiError, match="'jsonlines' of other_format has no sniff, head, read"):
        tp.read_log(tmp_path / "run.odd")
    formats._registered.cache_clear()
    (tmp_path / "site" / "other_format.py").write_text("import nothing_at_all")
    sys.modules.pop("other_format")
    with pytest.raises(tp.TaupiError, match="'jsonlines' of other_format cannot be loaded: No module"):
        tp.read_log(tmp_path / "run.odd")
    made_file = tmp_path / "run.npz"
    tp.write_log(made(), made_file)
    same(tp.read_log(made_file), made())  # no other package is asked for a file that is known by its ending


# Bags --------------------------------------------------------------------------------------------------------------

START = 1_700_000_000 * 10**9


def states(names, q, qd, tau, topic="/joint_states", start=START, stamped=True):
    """Messages whose stamps are 10 ms apart; they are received 1 ms later."""
    for k in range(len(q)):
        ns = start + k * 10**7

        def make(types, ros1, k=k, ns=ns):
            return bags.joint_state(types, ros1, ns if stamped else 0, names, q[k], qd[k], tau[k])

        yield topic, bags.JOINT_STATE, ns + 10**6, make


def arrays(rows=25, n=2, seed=3):
    return np.random.default_rng(seed).normal(size=(3, rows, n))


@pytest.mark.parametrize("kind", BAGS)
def test_joint_states_of_bags(tmp_path, kind):
    q, qd, tau = arrays()
    path = bags.write_bag(tmp_path, states(["b", "a"], q, qd, tau), kind)
    log = tp.read_log(path)
    assert log.names == ("b", "a") and log.source.format == "rosbag"
    for got, want in ((log.q, q), (log.qd, qd), (log.tau, tau)):
        assert np.array_equal(got, want)
    assert np.allclose(log.time, np.arange(25) / 100, atol=1e-12)
    assert any("/joint_states" in note for note in log.notes) and any(
        "first stamp, 1700000000.000000000 s" in note for note in log.notes
    )


def test_a_single_mcap_file_needs_no_folder(tmp_path):
    q, qd, tau = arrays()
    path = bags.write_bag(tmp_path, states(["b", "a"], q, qd, tau), "mcap")
    alone = tmp_path / "alone.mcap"
    shutil.copy(path, alone)
    assert np.array_equal(tp.read_log(alone).q, q)


@pytest.mark.parametrize("kind", BAGS)
def test_joints_of_bags_are_found_by_name(tmp_path, kind):
    robot = tp.load("elbow2r")
    first, second = robot.joint_names
    q, qd, tau = arrays(n=3)
    other = arrays(rows=5, n=1, seed=4)
    messages = [*states([second, "gripper", first], q, qd, tau), *states(["camera"], *other, start=START + 10**12)]
    log = tp.read_log(bags.write_bag(tmp_path, messages, kind), robot=robot)
    assert log.names == robot.joint_names
    assert np.array_equal(log.q, q[:, [2, 0]]) and np.array_equal(log.tau, tau[:, [2, 0]])
    assert any("5 of 30 messages are about other joints" in note for note in log.notes)


def test_messages_without_stamps_or_velocities(tmp_path):
    q, _, tau = arrays()
    path = bags.write_bag(tmp_path, states(["b", "a"], q, [[]] * 25, tau, stamped=False), "bag")
    log = tp.read_log(path)
    assert log.qd is None and np.array_equal(log.tau, tau)
    assert np.allclose(np.diff(log.time), 0.01) and any("no stamp" in note for note in log.notes)


@pytest.mark.parametrize("kind", BAGS)
def test_controller_states_and_the_choice_of_a_topic(tmp_path, kind):
    q, qd, tau = arrays()
    qdd = -q

    def controller():
        for k in range(25):
            ns = START + k * 10**7

            def make(types, ros1, k=k, ns=ns):
                return bags.controller_state(types, ros1, ns, ["b", "a"], q[k], qd[k], qdd[k], tau[k])

            yield "/arm/state", bags.CONTROLLER, ns, make

    words = [("/words", "std_msgs/msg/String", START, lambda types, ros1: bags.text(types, ros1, "hello"))]
    path = bags.write_bag(tmp_path, [*states(["b", "a"], -q, qd, tau), *controller(), *words], kind)
    with pytest.raises(
        TaupiError, match=r"has 2 topics of joint states: /arm/state, /joint_states. Choose one: topic="
    ):
        tp.read_log(path)
    log = tp.read_log(path, topic="/arm/state")
    for got, want in ((log.q, q), (log.qd, qd), (log.qdd, qdd), (log.tau, tau)):
        assert np.array_equal(got, want)
    assert np.array_equal(tp.read_log(path, columns={"topic": "/joint_states"}).q, -q)
    with pytest.raises(TaupiError, match=r"No topic of joint states '/arm/stat' .*Did you mean '/arm/state'"):
        tp.read_log(path, topic="/arm/stat")
    with pytest.raises(TaupiError, match="/words is a std_msgs/msg/String, expected one of"):
        tp.read_log(path, topic="/words")


def test_efforts_of_a_bag_may_be_currents(tmp_path):
    q, qd, tau = arrays()
    path = bags.write_bag(tmp_path, states(["b", "a"], q, qd, tau), "mcap")
    columns = {"q": "position", "current": "effort", "motor": {"ratio": 100, "torque_per_ampere": [0.1, -0.2]}}
    log = tp.read_log(path, columns=columns)
    assert np.allclose(log.tau, tau * 100 * [0.1, -0.2]) and log.names == ("b", "a")


@pytest.mark.parametrize("kind", BAGS)
def test_bad_bags(tmp_path, kind):
    words = [("/words", "std_msgs/msg/String", START, lambda types, ros1: bags.text(types, ros1, "hello"))]
    path = bags.write_bag(tmp_path, words, kind)
    with pytest.raises(TaupiError, match=r"has no topic of joint states. It has: /words \(std_msgs"):
        tp.read_log(path)
    robot = tp.load("elbow2r")
    q, qd, tau = arrays()
    (tmp_path / "second").mkdir()
    path = bags.write_bag(tmp_path / "second", states(["b", "a"], q, qd, tau), kind)
    with pytest.raises(TaupiError, match=r"No joint .*Known: b, a"):
        tp.read_log(path, robot=robot)
    with pytest.raises(TaupiError, match="is a rosbag file, which cannot be read in blocks"):
        tp.signals.log_blocks(path)
    file = path if path.is_file() else next(path.glob("*.db3"))
    data = file.read_bytes()
    for cut in (1, 20, len(data) // 2, len(data) - 10):
        file.write_bytes(data[:cut])
        try:
            tp.read_log(path, format="rosbag")  # a database may still hold its first pages
        except TaupiError as error:
            assert "\n" not in str(error) and len(str(error)) < 300


def test_bags_cannot_be_written(tmp_path):
    for name in ("run.bag", "run.mcap", "run.xlsx", "run"):
        with pytest.raises(TaupiError, match="expected an ending that can be written"):
            tp.write_log(made(), tmp_path / name)
    with pytest.raises(TaupiError, match="expected a Log"):
        tp.write_log(3, tmp_path / "run.csv")


# Formats that are read only --------------------------------------------------------------------------------------------


def _hdf5_demonstrations(folder):
    h5py = pytest.importorskip("h5py")
    with h5py.File(folder / "demos.h5", "w") as file:
        for k, rows in ((10, 70), (2, 50)):
            q = np.random.default_rng(k).normal(size=(rows, 3))
            options = {"chunks": (16, 3), "compression": "gzip"} if k == 2 else {}
            file.create_dataset(f"data/demo_{k}/obs/robot0_joint_pos", data=q, **options)
            file[f"data/demo_{k}/obs/robot0_joint_vel"] = -q.astype(np.float32)
    return folder / "demos.h5"


def _hdf5_matlab(folder):
    h5py = pytest.importorskip("h5py")
    q = np.random.default_rng(1).normal(size=(90, 2))
    with h5py.File(folder / "run.mat", "w", userblock_size=512) as file:
        for name, value in {"t": np.arange(90)[None, :] / 100, "q": q.T, "tau": q * 3}.items():
            file.create_dataset(name, data=value).attrs["MATLAB_class"] = np.bytes_(b"double")
    return folder / "run.mat"


def _mcap_of_several_kinds(folder):
    """Messages about other joints, in another order, and without velocities are among those that are read."""
    rng, messages = np.random.default_rng(2), []
    for k in range(60):
        names = ["camera"] if k % 7 == 0 else ["b", "a"] if k % 5 == 0 else ["a", "b"]
        state = {"name": names, "position": rng.normal(size=len(names)).tolist()}
        if k % 3:
            state["velocity"] = rng.normal(size=len(names)).tolist()
        messages.append((17 * 10**17 + 10**7 * k, json.dumps(state).encode()))
    return logs_of_others.mcap(folder / "run.mcap", messages, "my.States", "json", "jsonschema")


READ_ONLY = {
    "lerobot, one file": lambda folder: logs_of_others.lerobot(folder / "set", robot_type="openarm"),
    "lerobot, several files": lambda folder: logs_of_others.lerobot(folder / "set", "v2.1", robot_type="openarm"),
    "hdf5, demonstrations": _hdf5_demonstrations,
    "hdf5, matlab": _hdf5_matlab,
    "mcap, json": lambda folder: logs_of_others.foxglove_json(folder / "run.mcap", compression="lz4"),
    "mcap, protobuf": lambda folder: logs_of_others.foxglove_protobuf(folder / "run.mcap", compression=None),
    "mcap, several kinds": _mcap_of_several_kinds,
    "ulog": lambda folder: logs_of_others.ulog(folder / "run.ulg"),
}


@pytest.mark.parametrize("kind", READ_ONLY)
def test_formats_that_are_only_read_are_streamed_as_they_are_whole(tmp_path, monkeypatch, kind):
    path = READ_ONLY[kind](tmp_path)
    whole = tp.read_log(path)
    name = whole.source.format
    assert FORMATS[name].streams
    monkeypatch.setattr(f"taupi.signals.formats.{'parquet' if name == 'lerobot' else name}._BATCH", 13)
    for size in (1, 7, 64, 1000):
        blocks = list(tp.signals.log_blocks(path, size=size))
        assert [len(b) for b in blocks] == [min(size, len(whole) - a) for a in range(0, len(whole), size)]
        same(concatenate_logs(blocks), whole)
        assert all(
            (b.names, b.units, b.notes, b.source) == (whole.names, whole.units, whole.notes, whole.source)
            for b in blocks
        )
        if whole.segment is not None:
            assert np.array_equal(np.concatenate([b.segment for b in blocks]), whole.segment)
