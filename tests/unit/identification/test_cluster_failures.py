"""What may go wrong on a cluster: logs that kill workers, a scheduler that dies, machines that differ, addresses with secrets."""

import contextlib
import json
import os
import pickle
import signal
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest
from runs_of_arms import recorded, write_runs

import taupi as tp
from taupi.identification.cluster import client as cluster_client
from taupi.identification.cluster.passes import PieceStore, on_workers

distributed = pytest.importorskip(
    "dask.distributed",
    reason="the extra `cluster` is not installed: pip install 'taupi[cluster]'",
    exc_type=ImportError,
)
import dask  # noqa: E402 - comes with it


class DeadlyLog(distributed.WorkerPlugin):
    """A log of a certain name kills whoever reads it, also workers that were started again."""

    name = "deadly-log"

    def setup(self, worker):
        from taupi.identification.cluster import passes

        make_piece = passes.make_piece

        def deadly(log, plan):
            if "deadly" in str(log):
                os.kill(os.getpid(), signal.SIGKILL)
            return make_piece(log, plan)

        passes.make_piece = deadly


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    paths = write_runs(folder, 9)  # more than settings are chosen from, so that one of them is opened by workers alone
    return paths


@pytest.fixture
def cluster():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of Dask and its event loop
        with (
            dask.config.set({"distributed.scheduler.allowed-failures": 1}),
            distributed.LocalCluster(
                n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1"
            ) as started,
            distributed.Client(started) as client,
        ):
            yield client


def same_numbers(a, b):
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for name in ("values", "covariance", "triangle"))


def test_a_log_that_kills_every_worker_is_put_aside_alone(cluster, runs, tmp_path):
    arm, deadly = tp.load("elbow2r"), tmp_path / "deadly.parquet"
    tp.write_log(recorded(20), deadly)
    # Nothing is left to be chosen from logs, so that the deadly one has no part in the fit.
    options = {"terms": ("viscous", "coulomb", "offset"), "cutoff_hz": 10, "slow": 0.02}
    cluster.register_plugin(DeadlyLog())
    fit = tp.identify(arm, [*runs, deadly], "wls", client=cluster, skip_bad=True, **options)
    assert same_numbers(tp.identify(arm, runs, "wls", **options), fit)
    (skipped,) = fit.record["skipped"]  # and no log that happened to be on a worker that died
    assert skipped["reason"].startswith("deadly.parquet: every worker that was given this log died")


class UnreachableResult:
    """A future whose result never arrives."""

    def __init__(self, future):
        self.future = future

    def result(self, timeout):
        raise TimeoutError


@pytest.mark.parametrize("lost", [1, 4, 5])
def test_results_that_do_not_arrive_are_computed_again_but_not_forever(cluster, runs, monkeypatch, lost):
    from taupi.identification.cluster import passes

    outcome_of, calls = passes._outcome, []

    def outcome(future):
        calls.append(future.key)
        own = [key for key in calls if key.rpartition("-")[0] == future.key.rpartition("-")[0]]
        place = int(future.key.split("-")[-3])
        return outcome_of(UnreachableResult(future)) if place == 1 and len(own) <= lost else outcome_of(future)

    monkeypatch.setattr(passes, "_outcome", outcome)
    options = {"terms": ("viscous", "coulomb"), "cutoff_hz": 10, "slow": 0.02}
    arm = tp.load("elbow2r")
    if lost < 5:
        fit = tp.identify(arm, runs[:3], "wls", client=cluster, **options)
        assert same_numbers(fit, tp.identify(arm, runs[:3], "wls", **options))
        assert len(calls) == 3 + lost
    else:
        with pytest.raises(tp.TaupiError, match=r"run.*: its result did not arrive from any of 5 workers"):
            tp.identify(arm, runs[:3], "wls", client=cluster, **options)


def test_secrets_of_addresses_are_not_shown_by_tasks():
    """A worker may print the arguments of a task that fails."""
    address = "http://me:hunter2@127.0.0.1:1/none.csv?X-Signature=hunter2"
    sent = pickle.loads(pickle.dumps(on_workers(address)))
    assert sent == address
    assert repr(sent) == "'http://127.0.0.1:1/none.csv'" and "hunter2" not in repr((sent, {"log": sent}))


def test_kinds_of_machines_are_recorded_and_differences_noted(cluster, runs, monkeypatch):
    arm = tp.load("elbow2r")
    fit = tp.identify(arm, runs[:2], "wls", client=cluster)
    assert fit.record["machines"] == [cluster_client.machine()]
    assert "openblas" in fit.record["machines"][0].lower() or "," in fit.record["machines"][0]
    assert not any("machines of" in note for note in fit.notes)
    from taupi.identification.cluster import passes

    monkeypatch.setattr(passes, "machines", lambda client: {"one processor", "another"})
    mixed = tp.identify(arm, runs[:2], "wls", client=cluster)
    assert any(note.startswith("machines of 2 kinds read the logs") for note in mixed.notes)
    assert "machines" not in tp.identify(arm, runs[:2], "wls").record


@pytest.mark.parametrize(
    ("address", "warned"),
    [("tcp://10.0.0.7:1", True), ("head:1", True), ("tls://10.0.0.7:1", False), ("tcp://127.0.0.1:1", False)],
)
def test_an_open_port_is_warned_of(address, warned):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        cluster_client._warn_of_open_port(address)
    assert any("can run code there" in str(each.message) for each in caught) == warned


@contextlib.contextmanager
def started(folder, name):
    """A scheduler that says in a file where it is, and a worker by `taupi worker`: the file, and the scheduler's process."""
    file = folder / f"{name}.json"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    scheduler_words = ["distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
    scheduler = subprocess.Popen([sys.executable, "-m", *scheduler_words, "--scheduler-file", str(file)], **quiet)
    processes = [scheduler]
    try:
        while scheduler.poll() is None:
            with contextlib.suppress(OSError, json.JSONDecodeError):
                json.loads(file.read_text())
                break
            time.sleep(0.1)
        worker_words = ["taupi", "worker", "--scheduler-file", str(file), "--workers", "1"]
        processes.insert(0, subprocess.Popen([sys.executable, "-m", *worker_words], **quiet))
        yield file, scheduler
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(10)
            process.kill()
            process.wait()


def test_a_scheduler_that_dies_is_told_and_the_next_one_goes_on(runs, tmp_path, monkeypatch):
    monkeypatch.setattr(cluster_client, "_PATIENCE_S", 600.0)  # a worker starts late on a busy machine
    arm, pieces, write, kept = tp.load("elbow2r"), tmp_path / "pieces", PieceStore.write, []
    with started(tmp_path, "first") as (file, scheduler):

        def deadly(store, *args):
            write(store, *args)
            kept.append(1)
            if len(kept) == 2:
                scheduler.kill()
                scheduler.wait()

        monkeypatch.setattr(PieceStore, "write", deadly)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with pytest.raises(tp.TaupiError, match="The cluster was lost"):
                tp.identify(arm, runs, "wls", client=file, resume=pieces)
    monkeypatch.setattr(PieceStore, "write", write)
    before = {path.name: path.stat().st_mtime_ns for path in pieces.iterdir()}
    assert 2 <= len(before) < len(runs)
    with started(tmp_path, "second") as (file, _):
        fit = tp.identify(arm, runs, "wls", client=file, resume=pieces)
        with distributed.Client(scheduler_file=str(file)) as client:
            environment = next(iter(client.run(lambda: dict(os.environ)).values()))
    assert same_numbers(tp.identify(arm, runs, "wls"), fit)
    after = {path.name: path.stat().st_mtime_ns for path in pieces.iterdir()}
    assert before.items() <= after.items() and len(after) == len(runs)
    assert environment["MALLOC_TRIM_THRESHOLD_"] == environment["MALLOC_MMAP_THRESHOLD_"] == str(1 << 30)
    assert environment["OPENBLAS_NUM_THREADS"] == "1"


@pytest.mark.parametrize("call", ["run", "submit", "nthreads", "cancel"])
def test_a_scheduler_may_die_before_any_call(cluster, runs, monkeypatch, call):
    def dead(*args, **kwargs):
        raise distributed.comm.CommClosedError("closed")

    monkeypatch.setattr(cluster, call, dead)
    with pytest.raises(tp.TaupiError, match="The cluster was lost"):
        tp.identify(tp.load("elbow2r"), runs[:3], "wls", client=cluster, terms=("viscous",), cutoff_hz=10)


def test_a_bad_log_takes_none_of_its_name_along(cluster, tmp_path):
    """Nine folders with a run.csv each, more than settings are chosen from; the first one is empty."""
    paths = []
    for k in range(12):
        path = tmp_path / f"day-{k:02d}" / "run.csv"
        path.parent.mkdir()
        tp.write_log(recorded(k), path)
        paths.append(path)
    for path in paths[:1]:
        path.write_text("")
    options = {"terms": ("viscous", "coulomb", "offset"), "cutoff_hz": 10, "slow": 0.02, "skip_bad": True}
    fit = tp.identify(tp.load("elbow2r"), paths, "wls", client=cluster, **options)
    assert [log.name for log in fit.logs] == [f"day-{k:02d}/run.csv" for k in range(1, 12)]
    assert [each["name"] for each in fit.record["skipped"]] == ["day-00/run.csv"]
    assert same_numbers(fit, tp.identify(tp.load("elbow2r"), paths, "wls", **options))
