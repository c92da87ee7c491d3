"""Logs on a cluster: real worker processes, of which some are killed. No bit of a fit may depend on any of that."""

import os
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from command_line import taupi
from runs_of_arms import recorded, write_runs

import taupi as tp
from taupi.identification.cluster import client as cluster_client
from taupi.identification.cluster import passes
from taupi.identification.cluster.passes import PieceStore

distributed = pytest.importorskip(
    "dask.distributed",
    reason="the extra `cluster` is not installed: pip install 'taupi[cluster]'",
    exc_type=ImportError,
)

LOGS = 10  # more than settings are chosen from
DRIVER = """
import os, signal, sys
import taupi as tp
from taupi.identification.cluster.passes import PieceStore
write, count = PieceStore.write, []
def dying(*args):
    write(*args)
    count.append(1)
    if len(count) == 4:
        os.kill(os.getpid(), signal.SIGKILL)
PieceStore.write = dying
if __name__ == "__main__":
    tp.identify(tp.load("elbow2r"), sys.argv[1], client=sys.argv[2], resume=sys.argv[3])
"""


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return write_runs(tmp_path_factory.mktemp("runs"), LOGS)


@pytest.fixture(scope="module")
def here(runs):
    """The fit of all logs in this process."""
    return tp.identify(tp.load("elbow2r"), runs)


@pytest.fixture(scope="module")
def cluster():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of Dask and its event loop
        with (
            distributed.LocalCluster(
                n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1"
            ) as started,
            distributed.Client(started) as client,
        ):
            yield client


def same_bits(a, b):
    names = ("values", "covariance", "triangle", "undetermined")
    equal = all(np.array_equal(getattr(a, name), getattr(b, name)) for name in names)
    return equal and a.notes == b.notes and a.logs == b.logs and a.verdict == b.verdict


def kill_workers_in_turn(client, monkeypatch):
    """Kill one worker when the second piece is kept, and the other when the fifth is."""
    write, kept = PieceStore.write, []
    pids = list(client.run(os.getpid).values())

    def deadly(store, *args):
        write(store, *args)
        kept.append(1)
        if len(kept) in (2, 5) and pids:
            os.kill(pids.pop(), signal.SIGKILL)

    monkeypatch.setattr(PieceStore, "write", deadly)
    return pids


def test_a_cluster_changes_no_bit(cluster, runs, here):
    assert same_bits(here, tp.identify(tp.load("elbow2r"), str(runs[0].parent / "run-*.parquet"), client=cluster))


@pytest.mark.parametrize(
    ("per_thread", "most", "count"),
    [(1, None, 3), (1, 1, LOGS + 1), (4, None, LOGS + 1)],
    ids=["shared", "large", "few"],
)
def test_small_logs_share_tasks_and_change_no_bit(cluster, runs, tmp_path, monkeypatch, per_thread, most, count):
    """Ten logs and a bad one: five to a task for two threads; each alone if they are large, or few for the threads."""
    bad = tmp_path / "broken.csv"
    bad.write_text("time,q1,q2,tau1,tau2\n0,1,2,3,4\n")
    monkeypatch.setattr(passes, "_TASKS_PER_THREAD", per_thread)
    monkeypatch.setattr(passes, "_SHARED_BYTES", most or passes._SHARED_BYTES)
    outcome, tasks = passes._outcome, []
    monkeypatch.setattr(passes, "_outcome", lambda future: (tasks.append(future.key), outcome(future))[1])
    # The driver does not look at all of them, so that a worker finds the bad one beside others.
    monkeypatch.setattr("taupi.identification.rows.passes.enough_for_choices", lambda sources: len(sources) == 8)
    arm, logs = tp.load("elbow2r"), [*runs[:3], bad, *runs[3:]]
    options = {"skip_bad": True, "seed": 1}  # of the order in which logs are looked at: the bad one is the last
    alone, spread = (tp.identify(arm, logs, "wls", client=c, **options) for c in (None, cluster))
    assert same_bits(alone, spread) and len(spread.logs) == LOGS
    assert len(set(tasks)) == len(tasks) == count


def test_logs_in_memory_travel_to_workers(cluster):
    logs = [recorded(k) for k in range(2)]
    alone, spread = (tp.identify(tp.load("elbow2r"), logs, "wls", client=c, seed=3) for c in (None, cluster))
    assert same_bits(alone, spread)


def test_workers_that_die_change_no_bit(cluster, runs, here, tmp_path, monkeypatch):
    left = kill_workers_in_turn(cluster, monkeypatch)
    assert same_bits(here, tp.identify(tp.load("elbow2r"), runs, client=cluster, resume=tmp_path / "pieces"))
    assert not left  # both were killed


def test_a_driver_that_dies_goes_on_where_it_was(cluster, runs, here, tmp_path):
    address, pieces = cluster.scheduler.address, tmp_path / "pieces"
    arguments = [sys.executable, "-c", DRIVER, str(runs[0].parent / "run-*.parquet"), address, str(pieces)]
    ended = subprocess.run(arguments, capture_output=True, text=True, check=False, timeout=600)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    before = {path.name: path.stat().st_mtime_ns for path in pieces.glob("*.piece")}
    assert len(before) == 4
    assert same_bits(here, tp.identify(tp.load("elbow2r"), runs, client=address, resume=pieces))
    after = {path.name: path.stat().st_mtime_ns for path in pieces.glob("*.piece")}
    assert len(after) == LOGS  # one for each log: there is one pass
    assert before.items() <= after.items()  # those were not made again


def test_a_log_that_changed_or_another_plan_is_not_taken_from_the_folder(cluster, tmp_path):
    (path,) = write_runs(tmp_path, 1)
    arm, pieces = tp.load("elbow2r"), tmp_path / "pieces"
    for log, settings in ((recorded(0), {}), (recorded(5), {}), (recorded(5), {"cutoff_hz": 9.0})):
        tp.write_log(log, path, force=True)
        os.utime(path, ns=(10**18, 10**18))
        fit = tp.identify(arm, path, "wls", client=cluster, resume=pieces, **settings)
        assert same_bits(tp.identify(arm, path, "wls", **settings), fit)
    for piece in pieces.iterdir():
        piece.write_bytes(piece.read_bytes()[:200])  # damaged ones are made again
    assert same_bits(fit, tp.identify(arm, path, "wls", client=cluster, resume=pieces, cutoff_hz=9.0))


def test_bad_logs_are_named_or_left_out(cluster, runs, here, tmp_path):
    bad = tmp_path / "broken.csv"
    bad.write_text("time,q1,q2,tau1,tau2\n0,1,2,3,4\n")
    arm = tp.load("elbow2r")
    for client in (None, cluster):
        with pytest.raises(tp.TaupiError, match="broken"):
            tp.identify(arm, [*runs, bad], client=client)
    alone, spread = (tp.identify(arm, [*runs, bad], "wls", skip_bad=True, client=c) for c in (None, cluster))
    assert same_bits(alone, spread)
    assert [each["name"] for each in spread.record["skipped"]] == ["broken.csv"]
    assert len(spread.logs) == LOGS
    assert any(note.startswith("broken.csv is left out: ") for note in spread.notes)
    with pytest.raises(tp.TaupiError, match="None of 1 logs can be used"):
        tp.identify(arm, bad, skip_bad=True, client=cluster)


def test_the_command_line_on_a_cluster(cluster, runs, here, tmp_path):
    bad = tmp_path / "broken.csv"
    bad.write_text("time,q1,q2,tau1,tau2\n0,1,2,3,4\n")
    address = cluster.scheduler.address
    options = ["--scheduler", address, "--resume", str(tmp_path / "pieces"), "--estimator", "wls", "--skip-bad"]
    done = taupi("identify", "elbow2r", str(runs[0].parent / "*.parquet"), str(bad), *options, "-o", tmp_path / "out")
    assert done.returncode == 3, done.stderr  # one of eleven logs is more than 5 %
    assert "broken.csv is left out" in done.stderr
    fit = tp.load_fit(tmp_path / "out")
    assert np.array_equal(fit.values, tp.identify(tp.load("elbow2r"), runs, "wls").values)


def test_few_bad_logs_are_warned_of_and_many_end_with_3(tmp_path):
    arm, options = "elbow2r", ["--estimator", "wls", "--skip-bad", "--cutoff", "10", "--slow", "0.02"]
    write_runs(tmp_path, 20)
    (tmp_path / "run-bad.parquet").write_text("no log")
    few = taupi("identify", arm, tmp_path / "run-*.parquet", *options, "-o", tmp_path / "few")
    assert few.returncode == 0, few.stderr  # one of 21 is less than 5 %
    assert "warning: run-bad.parquet is left out: " in few.stderr
    logs = {f"arm-{k}": [f"run-0{k}.parquet"] for k in range(3)} | {"arm-9": ["run-bad.parquet"]}
    (tmp_path / "fleet.toml").write_text("\n".join(f"{name} = {paths}" for name, paths in logs.items()))
    many = taupi("fleet", arm, tmp_path / "fleet.toml", *options[2:], "-o", tmp_path / "many")
    assert many.returncode == 3, many.stderr
    assert "warning: run-bad.parquet is left out: " in many.stderr
    assert (tmp_path / "many" / "fleet.json").is_file()


def test_wrong_clients_and_options_are_refused(cluster, runs, monkeypatch, tmp_path):
    monkeypatch.setattr(cluster_client, "_CONNECT_S", 0.5)
    arm = tp.load("elbow2r")
    (tmp_path / "number.json").write_text('{"address": 3}')
    cases = [
        ({"client": 3}, "client is 3, expected a dask.distributed.Client"),
        ({"client": "tcp://127.0.0.1:1"}, "no scheduler answers there"),
        ({"client": tmp_path / "head.json"}, "no such file of a scheduler"),
        ({"client": tmp_path / "number.json"}, "number.json: address is 3, expected the address of a scheduler"),
        ({"client": "tcp://me:hunter2@127.0.0.1:1"}, "client has an @ in it"),
        ({"client": cluster, "workers": 2}, "client and workers are both given"),
        ({"resume": tmp_path}, "resume is given without client"),
        ({"client": cluster, "resume": runs[0]}, "which is a file, expected a folder"),
        ({"skip_bad": 1}, "skip_bad is 1"),
    ]
    for keywords, message in cases:
        with pytest.raises(tp.TaupiError, match=message):
            tp.identify(arm, runs, **keywords)
    monkeypatch.setattr(cluster_client, "__version__", "0.0.1")
    with pytest.raises(tp.TaupiError, match=r"has taupi \S+, this process 0.0.1: results would differ"):
        tp.identify(arm, runs, client=cluster)


def test_the_example_of_the_page_runs(cluster, runs, tmp_path, monkeypatch):
    page = (Path(__file__).parents[3] / "docs" / "howto" / "cluster.md").read_text()
    code = page.split("```py\n")[2].split("```")[0]
    code = code.replace("tcp://head:8786", cluster.scheduler.address)
    code = code.replace("s3://bucket/arm7", str(runs[0].parent)).replace("resume=", "estimator='wls', resume=")
    monkeypatch.chdir(tmp_path)
    names = {"robot": tp.load("elbow2r"), "tp": tp}
    exec(code, names)
    names["client"].close()
    assert len(names["fit"].logs) == LOGS


def test_without_the_extra_its_name_is_told(runs, monkeypatch):
    monkeypatch.setitem(sys.modules, "dask.distributed", None)
    with pytest.raises(tp.TaupiError, match=r"Install it with pip install 'taupi\[cluster\]'"):
        tp.identify(tp.load("elbow2r"), runs, client="tcp://127.0.0.1:1")
