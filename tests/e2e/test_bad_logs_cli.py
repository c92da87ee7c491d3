"""Malformed logs and mappings as users meet them: one sentence that names the file, exit code 3, nothing left behind."""

import gzip
import os
import shutil
import signal
import subprocess
import sys
import warnings

import numpy as np
import pytest

import taupi as tp
from taupi.cli.main import run

HEAD = "t,q1,q2,tau1,tau2"
FRICTION = {"viscous": [0.5, 0.3], "coulomb": [0.4, 0.2], "offset": [0.1, -0.1]}


def table(seed=1, rate=200.0, duration=8.0):
    """Return a good log as an array: time, two positions, two torques."""
    rng = np.random.default_rng(seed)
    t = np.arange(0, duration, 1 / rate)
    w = 2 * np.pi / 8 * np.arange(1, 5)
    a, wt = rng.normal(size=(4, 2)) / w[:, None], np.outer(t, w)
    q, qd, qdd = np.sin(wt) @ a, (np.cos(wt) * w) @ a, -(np.sin(wt) * w**2) @ a
    arm = tp.load("elbow2r").with_friction(**FRICTION)
    tau = tp.inverse_dynamics(arm, terms=tuple(FRICTION))(q, qd, qdd)
    return np.column_stack([t, q, tau + 0.02 * rng.normal(size=tau.shape)])


def text(rows, head=HEAD):
    return "\n".join([head, *(",".join(f"{v:.9g}" for v in row) for row in rows)]) + "\n"


def changed(rows, row, column, value):
    rows = rows.copy()
    rows[row, column] = value
    return rows


GOOD = table()
PLAIN = text(GOOD)
WHOLE = slice(None)
LATE = changed(GOOD, slice(700, None), 0, GOOD[700:, 0] + 30)

# What a file holds -> what is said of it.
LOGS = {
    "missing.csv": (None, "No file 'missing.csv'"),
    "empty.csv": ("", "empty.csv is empty"),
    "header.csv": (HEAD + "\n", "header.csv has a header but no rows"),
    "noheader.csv": (PLAIN.split("\n", 1)[1], "noheader.csv: no joint signal is known. Map its columns: --columns"),
    "page.csv": ("<html><body>404</body></html>\n" * 9, "page.csv: no joint signal is known"),
    "bytes.csv": (PLAIN.encode().replace(b"tau1", b"gr\x81\x8de"), "bytes.csv is not UTF-8 text"),
    "zeros.csv": (bytes(4096), "zeros.csv is"),
    "word.csv": (PLAIN.replace("\n0.01,", "\nabc,", 1), "word.csv, line 4: t is 'abc', expected a number"),
    "cut.csv": (PLAIN[: PLAIN.rindex(",")], "has 4 values, expected 5"),
    "cut.csv.gz": (gzip.compress(PLAIN.encode())[:2000], "cut.csv.gz ends before its gzip data does"),
    "torn.parquet": ("PARQUET", "torn.parquet is not a Parquet file, or it is cut off or damaged"),
    "torn.npz": ("NPZ", "torn.npz is not a NumPy archive"),
    "torn.mat": ("MAT", "torn.mat is not a MATLAB file"),
    "odd.xyz": (b"\x00\x01\x02\x03" * 999, "odd.xyz is of no known format"),
    "folder": ("FOLDER", "folder is of no known format"),
    "silent.csv": (text(GOOD[:, :3], "t,q1,q2"), "tau is missing in silent.csv"),
    "onetau.csv": (text(GOOD[:, :4], "t,q1,q2,tau1"), "onetau.csv: tau has the joints 1, but other signals 1, 2"),
    "three.csv": (text(GOOD[:, [0, 1, 2, 2, 3, 4, 4]], "t,q1,q2,q3,tau1,tau2,tau3"), "three.csv has 3 joints, expected 2"),
    "one.csv": (text(GOOD[:1]), "one.csv: log has 1 samples with different time stamps"),
    "thirty.csv": (text(GOOD[:30]), "thirty.csv: q has 30 samples, expected at least 32 to see a spectrum. Give --cutoff"),
    "gap.csv": (text(LATE), "gap.csv: time has 1 gap longer than 0.05 s; the longest, 30 s, is after row 699. Use --gaps"),
    "hole.csv": (text(changed(GOOD, slice(100, 400), 1, np.nan)), "hole.csv: q of shoulder is missing for 1.505 s, rows 100-399"),
    "deaf.csv": (text(changed(GOOD, slice(100, 400), 4, np.nan)), "deaf.csv: tau of elbow is missing for 1.505 s, rows 100-399"),
    "nojoint.csv": (text(changed(GOOD, WHOLE, 2, np.nan)), "nojoint.csv: q of elbow holds no number at all. Leave its columns"),
    "notime.csv": (text(changed(GOOD, WHOLE, 0, np.nan)), "notime.csv: log has 0 samples with different time stamps"),
    "frozen.csv": (text(changed(GOOD, WHOLE, 0, 5.0)), "frozen.csv: log has 1 samples with different time stamps"),
    "millis.csv": (text(GOOD * [1000, 1, 1, 1, 1]), "millis.csv: time steps by 5 s, too slow for a motion"),
    "still.csv": (text(changed(GOOD, WHOLE, slice(1, 3), 0.3)), "still.csv: q does not move"),
    "zero.csv": (text(changed(GOOD, WHOLE, slice(3, 5), 0.0)), "zero.csv: tau of shoulder, elbow is 0 in every row"),
    "hugeq.csv": (text(changed(GOOD, 500, 1, 1e300)), "hugeq.csv: q of shoulder is 1e+300 in row 500, more than any robot has"),
    "hugetau.csv": (text(changed(GOOD, 500, 4, -1e300)), "hugetau.csv: tau of elbow is -1e+300 in row 500"),
}  # fmt: skip

COLUMNS = "q = ['q1', 'q2']\ntau = ['tau1', 'tau2']\n"
CURRENT = COLUMNS.replace("tau =", "current =")
MAPPINGS = {
    "syntax": ("q = [\n", "map.toml is not valid TOML"),
    "binary": (b"\xff\xfe\x00", "map.toml is not UTF-8 text"),
    "empty": ("", "map.toml is empty"),
    "key": ("speed = 'q1'\n", "No key 'speed' in map.toml"),
    "type": ("q = 3\n", "map.toml: q is 3, expected the name of a column"),
    "column": ("q = ['a', 'b']\ntau = ['tau1', 'tau2']\n", "No column 'a' in good.csv"),
    "template": ("q = 'q{k}'\ntau = 'tau{i}'\n", "No column 'q{k}' in good.csv"),
    "twice": ("q = ['q1', 'q1']\ntau = ['tau1', 'tau2']\n", "map.toml: q names the column 'q1' twice"),
    "count": ("q = ['q1']\ntau = ['tau1', 'tau2']\n", "good.csv: tau has 2 columns but q has 1"),
    "unit": ("q = {columns = ['q1', 'q2'], unit = 'furlong'}\ntau = ['tau1', 'tau2']\n", "No unit of q 'furlong'"),
    "gain": ("q = ['q1', 'q2']\ntau = {columns = ['tau1', 'tau2'], gain = [1, 2, 3]}\n", "tau.gain has 3 values, expected 1"),
    "nan": ("q = {columns = ['q1', 'q2'], gain = nan}\ntau = ['tau1', 'tau2']\n", "map.toml: q.gain is nan"),
    "sign": ("q = ['q1', 'q2']\ntau = {columns = ['tau1', 'tau2'], sign = [2, 1]}\n", "map.toml: tau.sign is [2, 1]"),
    "matrix": ("q = {columns = ['q1', 'q2'], matrix = [[1, 0], [0]]}\n", "map.toml: q.matrix has rows of different lengths"),
    "time": ("time = 'zeit'\n" + COLUMNS, "No column 'zeit' in good.csv"),
    "rate": ("rate_hz = -5\n" + COLUMNS, "map.toml: rate_hz is -5"),
    "joints": ("joints = ['a', 'b']\n" + COLUMNS, "No joint 'shoulder' in good.csv. Known: a, b"),
    "motor": ("theta = ['q1', 'q2']\ntau_m = ['tau1', 'tau2']\n", "good.csv: q is missing, only the motor side is known"),
    "current": (CURRENT, "tau is missing in good.csv"),
    "constant": (CURRENT + "[motor]\ntorque_per_ampere = [0, 0]\n", "good.csv: tau of shoulder, elbow is 0 in every row"),
    "gears": ("theta = ['q1', 'q2']\ntau_m = ['tau1', 'tau2']\n[motor]\nratio = [0, 1]\n", "motor.ratio holds 0"),
    "coupling": (COLUMNS + "[motor]\ncoupling = [[1, 1], [1, 1]]\n", "motor.coupling has no inverse"),
    "shape": (COLUMNS + "[motor]\ncoupling = [[1, 1]]\n", "motor.coupling has shape (1, 2), expected (2, 2)"),
}  # fmt: skip

OPTIONS = {
    "--cutoff nan": "--cutoff is nan, expected a finite number above 0",
    "--cutoff 1000": "good.csv: --cutoff is 1000, expected below 100, half the rate",
    "--cutoff 0.01": "good.csv: log has 1600 samples, too few for a cutoff of 0.01 Hz",
    "--decimate -1": "--decimate is -1, expected a whole number",
    "--rate-hz nan": "--rate-hz is nan",
    "--gaps mend": "--gaps is 'mend'",
    "--max-error nan": "--max-error is nan, expected a share of the torque",
    "--terms viscous,viscous": "The term 'viscous' is given twice",
    "good.csv": "good.csv is given twice: give each log once",
    "copy.csv": "good.csv and copy.csv hold the same bytes",
    "gap.csv": "gap.csv: time has 1 gap longer",
    "--validate good.csv": "good.csv is fitted and cannot be held out as well",
    "--validate gap.csv": "gap.csv: time has 1 gap longer",
    "--validate silent.csv": "tau is missing in silent.csv",
    "--validate hugeq.csv": "hugeq.csv: q of shoulder is 1e+300",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """All of these files, and a good one."""
    place = tmp_path_factory.mktemp("bad")
    tp.write_toml(tp.load("elbow2r"), place / "arm.toml")
    log = tp.Log(GOOD[:, 0], GOOD[:, 1:3], tau=GOOD[:, 3:], names=("shoulder", "elbow"))
    for name, (content, _) in {**LOGS, "good.csv": (PLAIN, ""), "copy.csv": (PLAIN, "")}.items():
        path = place / name
        if content in ("PARQUET", "NPZ", "MAT"):
            tp.write_log(log, path)
            path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
        elif content == "FOLDER":
            path.mkdir()
        elif content is not None:
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return place


@pytest.fixture
def refused(monkeypatch, capsys, folder, tmp_path):
    """Run `taupi identify arm.toml ... -o out` in the folder, and check how it ends."""

    def call(*arguments, code=3):
        before = sorted(p.name for p in folder.iterdir())
        monkeypatch.chdir(folder)
        monkeypatch.setattr(
            sys, "argv", ["taupi", "identify", "arm.toml", *map(str, arguments), "-o", str(tmp_path / "out")]
        )
        monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
        with pytest.raises(SystemExit) as end:
            run()
        out, err = capsys.readouterr()
        assert (end.value.code, out) == (code, ""), err
        assert len(err.strip().splitlines()) == 1 and err.startswith("taupi: ") and len(err) < 400, err
        assert not list(tmp_path.glob("out*")) and not list(tmp_path.glob(".out*"))
        assert sorted(p.name for p in folder.iterdir()) == before
        return err

    return call


@pytest.mark.parametrize("name", LOGS)
def test_a_malformed_log_is_one_sentence(refused, name):
    assert LOGS[name][1] in refused(name)


@pytest.mark.parametrize("name", MAPPINGS)
def test_a_malformed_mapping_is_one_sentence(refused, tmp_path, name):
    content, sentence = MAPPINGS[name]
    (tmp_path / "map.toml").write_bytes(content if isinstance(content, bytes) else content.encode())
    assert sentence in refused("good.csv", "--columns", tmp_path / "map.toml")


@pytest.mark.parametrize("words", OPTIONS)
def test_options_that_make_no_sense_are_one_sentence(refused, words):
    assert OPTIONS[words] in refused("good.csv", *words.split(" "))


def test_too_few_equations_are_exit_4(refused):
    assert "1 samples are left, 2 equations for 13 parameters" in refused("good.csv", "--decimate", "5000", code=4)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_what_never_ends_is_not_read(refused, folder):
    os.mkfifo(folder / "pipe.csv")
    try:
        assert "pipe.csv is not a regular file" in refused("pipe.csv")
        assert "zero is not a regular file" in refused("/dev/zero")
    finally:
        (folder / "pipe.csv").unlink()


@pytest.mark.parametrize("way", ["longest", "interpolate"])
def test_gaps_are_handled_as_asked(monkeypatch, capsys, folder, tmp_path, way):
    monkeypatch.chdir(folder)
    arguments = ["taupi", "identify", "arm.toml", "gap.csv", "--gaps", way, "-o", str(tmp_path / "out")]
    monkeypatch.setattr(sys, "argv", arguments)
    with pytest.raises(SystemExit) as end:
        run()
    # Half a second of motion that is guessed leaves half of the torque unexplained, and the verdict says so.
    err = capsys.readouterr().err
    assert (end.value.code or 0) == {"longest": 0, "interpolate": 4}[way] and "degrees" not in err, err
    words = {"longest": "kept the longest stretch without long gaps", "interpolate": "interpolated over 1 long gaps"}
    assert any(words[way] in note for note in tp.load_fit(tmp_path / "out").notes)


@pytest.mark.parametrize(
    "name", ["hole.csv", "hugetau.csv", "gap.csv", "zero.csv", "millis.csv", "silent.csv", "cut.csv"]
)
def test_a_streamed_file_is_refused_in_one_sentence_too(folder, name):
    with pytest.raises(tp.TaupiError, match=name) as error:
        tp.identify(tp.load("elbow2r"), folder / name, stream=True)
    assert "\n" not in str(error.value)


# A file that takes minutes, because each block waits; whoever reads knows when it has begun.
ENDLESS = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background inherits one that is ignored
from taupi.identification.rows import block_source
from taupi.signals import read
block_source.STREAMED_BYTES = 0
real = read.block_reader
def slow(path, size, *others):
    blocks = real(path, 400, *others)
    def forever():
        while True:
            yield next(iter(blocks()))
            print("reading", flush=True)
            time.sleep(0.02)
    return forever
block_source.block_reader = slow
block_source.UniformTime.add = lambda self, time: None  # the same block again and again
from taupi.cli.main import run
run()
"""


@pytest.mark.parametrize("way", [signal.SIGINT, signal.SIGTERM], ids=["interrupted", "ended"])
def test_a_run_that_is_stopped_in_the_middle_of_a_file_ends_and_leaves_the_old_result(folder, tmp_path, way):
    """At once, not at the end of the file, and with nothing beside the result that was there."""
    out = tmp_path / "out"
    out.mkdir()
    (out / "fit.json").write_text("old")
    arguments = ["identify", "arm.toml", "good.csv", "--cutoff", "15", "-o", str(out), "--force"]
    with subprocess.Popen(
        [sys.executable, "-c", ENDLESS, *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        for _ in range(60):  # well into it
            assert child.stdout.readline() == "reading\n", child.stderr.read()
        child.send_signal(way)
        read_since, _ = child.communicate(timeout=600)
    assert read_since.count("reading") < 1000  # of blocks, each of which takes 20 ms or more: at once
    assert child.returncode in ((130, -2) if way == signal.SIGINT else (-15, 143))
    assert [(p.name, p.read_text()) for p in out.iterdir()] == [("fit.json", "old")]
    shutil.rmtree(out)
    assert not list(tmp_path.iterdir())
