"""Logs by address: a real S3 server and a real web server on this machine."""

import contextlib
import functools
import http.server
import socket
import sys
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest
from command_line import taupi
from runs_of_arms import recorded, write_runs

import taupi as tp
from taupi.signals.formats import sources

SKIP = "the extra `remote` is not installed: pip install 'taupi[remote]'"
pytest.importorskip("s3fs", reason=SKIP, exc_type=ImportError)
moto_server = pytest.importorskip("moto.server", reason="moto is not installed", exc_type=ImportError)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("logs")
    write_runs(folder, 2)
    for ending in (".csv", ".csv.gz", ".npz", ".mat"):
        tp.write_log(recorded(0), folder / f"run{ending}")
    log = recorded(0)
    tp.write_log(log.with_(segment=np.arange(len(log)) >= len(log) // 2), folder / "episodes.parquet")
    return folder


@pytest.fixture(scope="module")
def bucket(files):
    """The address of a bucket with all files in a folder arm7, on a server that wants credentials."""
    environment = {"AWS_ACCESS_KEY_ID": "me", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_DEFAULT_REGION": "us-east-1"}
    patch = pytest.MonkeyPatch()
    server = moto_server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    for name, value in environment.items():
        patch.setenv(name, value)
    patch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import s3fs

        system = s3fs.S3FileSystem()
        system.mkdir("fleet")
        for path in files.iterdir():
            system.put_file(str(path), f"fleet/arm7/{path.name}")
        yield "s3://fleet/arm7"
    patch.undo()
    server.stop()


@pytest.fixture(scope="module")
def web(files):
    """The address of a web server without ranges."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args):
            pass

    handler = functools.partial(Quiet, directory=str(files))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize("name", ["run-00.parquet", "run.csv", "run.csv.gz", "run.npz", "run.mat"])
def test_a_log_is_the_same_by_address(bucket, web, files, name):
    expected = tp.read_log(files / name)
    for place in (bucket, Path(bucket), web):
        log = tp.read_log(f"{place}/{name}")
        assert np.array_equal(log.time, expected.time)
        assert all(np.array_equal(log.signals[k], v) for k, v in expected.signals.items())
        assert log.notes == expected.notes
        assert log.source.path == sources.shown_address(f"{place}/{name}")


def test_a_pattern_is_expanded_and_streams_read_the_same(bucket, files):
    arm = tp.load("elbow2r")
    expected = tp.identify(arm, sorted(files.glob("run-*.parquet")), "wls")
    for stream in (None, True):
        fit = tp.identify(arm, f"{bucket}/run-*.parquet", "wls", stream=stream, block=500)
        assert np.abs(fit.values - expected.values).max() < 1e-9 * np.abs(expected.values).max()
    assert [log.path for log in fit.logs] == [f"{bucket}/run-0{k}.parquet" for k in (0, 1)]
    assert len({log.sha256 for log in fit.logs}) == 2
    local = tp.identify(arm, str(files / "run-*.parquet"), "wls")
    assert np.array_equal(local.values, expected.values)


def test_the_runs_of_a_file_at_an_address_are_logs_of_their_own(bucket, files):
    arm = tp.load("elbow2r")
    expected = tp.identify(arm, files / "episodes.parquet", "wls")
    assert len(expected.logs) == 2
    for stream in (None, True):
        fit = tp.identify(arm, f"{bucket}/episodes.parquet", "wls", stream=stream, block=500)
        assert np.abs(fit.values - expected.values).max() < 1e-9 * np.abs(expected.values).max()
        assert [log.path for log in fit.logs] == [f"{bucket}/episodes.parquet"] * 2


def test_signatures_and_passwords_are_recorded_nowhere(web, tmp_path):
    address = web.replace("127", "me:hunter2@127") + "/run.csv?X-Signature=hunter2"
    done = taupi("identify", "elbow2r", address, "--estimator", "wls", "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert "hunter2" not in done.stdout + done.stderr
    for path in (tmp_path / "out").iterdir():
        assert "hunter2" not in path.read_text()
    assert tp.load_fit(tmp_path / "out").logs[0].path == f"{web}/run.csv"
    assert "hunter2" not in repr(sources.RemoteFile(address))
    with pytest.raises(tp.TaupiError) as caught:
        tp.read_log(address.replace("run.csv", "none.csv"))
    assert "hunter2" not in str(caught.value)


def test_commands_that_read_a_log_show_its_address_without_secrets(web, files, tmp_path):
    address = web.replace("127", "me:hunter2@127") + "/run.csv?X-Signature=hunter2"
    tp.write_fit(tp.identify(tp.load("elbow2r"), files / "run.csv", "wls"), tmp_path / "fit.json")
    limits = "\n".join(f"{joint}.velocity = 3\n{joint}.effort = 100" for joint in ("shoulder", "elbow"))
    (tmp_path / "limits.toml").write_text(limits)
    search = ("--limits", "limits.toml", "--starts", "1", "--budget", "2", "--duration", "4")
    for words in (
        ("compare", "fit.json", address),
        ("compare", "fit.json", address, "--json"),
        ("contacts", "fit.json", address),
        ("contacts", "fit.json", address, "--json"),
        ("log", address, "--suggest", "columns.toml"),
        ("simulate", "elbow2r", "--reference", address, "-o", "run"),
        ("excite", "elbow2r", "--given", address, *search, "-o", "motion"),
    ):
        done = taupi(*words, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert "hunter2" not in done.stdout + done.stderr
        if words[0] in ("compare", "contacts", "log"):
            assert f"{web}/run.csv" in done.stdout + done.stderr
    for path in tmp_path.rglob("*.*"):
        assert path.is_dir() or b"hunter2" not in path.read_bytes(), path


def test_wrong_addresses_are_told_in_a_sentence(bucket, monkeypatch):
    cases = [
        (f"{bucket}/none.csv", "There is nothing at s3://fleet/arm7/none.csv. Check the address."),
        ("s3://nobucket/run.csv", "There is nothing at s3://nobucket/run.csv"),
        ("http://127.0.0.1:1/run.csv", "http://127.0.0.1:1/run.csv cannot be read: "),
    ]
    for address, message in cases:
        with pytest.raises(tp.TaupiError) as caught:
            tp.read_log(address)
        assert str(caught.value).startswith(message)
    with pytest.raises(tp.TaupiError, match="No file matches 's3://fleet/arm7/none-"):
        tp.identify(tp.load("elbow2r"), f"{bucket}/none-*.parquet")
    with pytest.raises(tp.TaupiError, match="No file matches 'none-"):
        tp.identify(tp.load("elbow2r"), "none-*.parquet")


def test_a_silent_server_meets_our_deadline(monkeypatch):
    monkeypatch.setattr(sources, "DEADLINE_S", 0.2)
    with (
        pytest.raises(tp.TaupiError, match=r"there cannot be read: no answer for 0.2 s"),
        sources.reading_error("there"),
    ):
        sources.watched(threading.Event().wait, 600)


def test_servers_that_accept_and_stay_silent_are_left_after_the_deadline(monkeypatch):
    """Of the web and of S3: a socket that takes a connection and never sends a byte."""
    import s3fs

    monkeypatch.setattr(sources, "DEADLINE_S", 0.5)
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(8)
        port = listening.getsockname()[1]
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.setenv(name, "anything")
        s3fs.S3FileSystem.clear_instance_cache()  # those of other tests have another server
        try:
            for address in (f"http://127.0.0.1:{port}/run.csv", "s3://silent/run.csv"):
                with pytest.raises(tp.TaupiError, match=r"run\.csv cannot be read: no answer for 0\.5 s"):
                    tp.read_log(address)
        finally:
            s3fs.S3FileSystem.clear_instance_cache()


def test_a_log_that_is_replaced_while_it_is_read_is_told(bucket, monkeypatch):
    import s3fs

    system = s3fs.S3FileSystem()
    monkeypatch.setattr(sources, "_AHEAD", 1000)  # so that it is read in parts
    content = ("time,q1,q2,tau1,tau2\n" + "0.01,1,2,3,4\n" * 300_000).encode()  # several megabytes
    system.pipe_file("fleet/arm7/replaced.csv", content)
    file = sources.RemoteFile(f"{bucket}/replaced.csv")
    with pytest.raises(tp.TaupiError, match=r"replaced\.csv was replaced while it was read"), file.open() as stream:
        stream.read(10)
        system.pipe_file("fleet/arm7/replaced.csv", content[: len(content) // 2] + content[: len(content) // 2])
        stream.seek(len(content) - 50)
        stream.read()


def test_what_may_not_be_read_is_told_with_what_to_check(monkeypatch):
    with (
        pytest.raises(tp.TaupiError, match=r"run\.csv may not be read .* AWS_ACCESS_KEY_ID"),
        sources.reading_error("s3://closed/run.csv"),
    ):
        raise PermissionError("Forbidden")


def test_pieces_are_kept_in_a_bucket(bucket, files):
    distributed = pytest.importorskip("dask.distributed")
    arm = tp.load("elbow2r")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of Dask and its event loop
        cluster = distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None)
    with cluster, distributed.Client(cluster) as client:
        fits = [
            tp.identify(arm, f"{bucket}/run-*.parquet", "wls", client=client, resume="s3://fleet/pieces")
            for _ in range(2)
        ]
    import s3fs

    kept = s3fs.S3FileSystem().ls("fleet/pieces", detail=False)
    assert len(kept) == 2
    assert np.array_equal(fits[0].values, fits[1].values)
    local = tp.identify(arm, sorted(files.glob("run-*.parquet")), "wls")
    assert np.abs(fits[0].values - local.values).max() < 1e-9 * np.abs(local.values).max()


def test_a_server_that_never_ends_is_left(monkeypatch):
    class Endless(http.server.BaseHTTPRequestHandler):
        def log_message(self, *args):
            pass

        def do_HEAD(self):
            self.send_response(200)
            self.end_headers()

        def do_GET(self):
            self.do_HEAD()
            with contextlib.suppress(OSError):
                while True:
                    self.wfile.write(b"0,0\n" * 10_000)

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Endless) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with tp.signals.reading_budget(unpacked_bytes=1 << 24), pytest.raises(tp.TaupiError, match="more than 16 MiB"):
            tp.read_log(f"http://127.0.0.1:{server.server_port}/run.csv")
        server.shutdown()


def test_without_the_extra_its_name_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(tp.TaupiError, match=r"needs the package s3fs.*pip install 'taupi\[remote\]'"):
        tp.read_log("s3://bucket/run.csv")


def test_a_windows_path_or_another_colon_is_no_address():
    for path in ("C:/runs/a.csv", "C:\\runs\\a.csv", "run:1.csv", "file.csv", "mailto:x"):
        assert sources.address_of(path) is None


@pytest.mark.parametrize(("address", "protocol"), [("gs://fleet/arm7", "gs"), ("az://fleet/arm7", "az")])
def test_the_file_system_of_the_address_is_asked(files, address, protocol, monkeypatch):
    """No server of Google or Azure runs here: a file system in memory stands in for theirs, under their protocol."""
    from fsspec.implementations.memory import MemoryFileSystem

    asked = []

    class Stand(MemoryFileSystem):
        store, pseudo_dirs, cachable = {}, [""], False

        @classmethod
        def _strip_protocol(cls, path):
            return "/" + path.removeprefix(f"{protocol}://").strip("/")

        def unstrip_protocol(self, name):
            return f"{protocol}://{name.lstrip('/')}"

        def info(self, path, **options):
            asked.append(path)
            return super().info(path, **options) | {"etag": "abc"}

    Stand.protocol = (protocol,)
    monkeypatch.setitem(sys.modules["fsspec.registry"]._registry, protocol, Stand)
    system = Stand()
    for k in range(2):
        system.pipe_file(f"/fleet/arm7/run-0{k}.parquet", (files / f"run-0{k}.parquet").read_bytes())
    log = tp.read_log(f"{address}/run-00.parquet")
    assert np.array_equal(log.tau, tp.read_log(files / "run-00.parquet").tau)
    assert asked and all(path.startswith("/fleet/arm7") for path in asked)
    matches = sources.expand_pattern(f"{address}/run-*.parquet")
    assert list(matches) == [f"{address}/run-0{k}.parquet" for k in range(2)]
    with pytest.raises(tp.TaupiError, match="none"):
        tp.read_log(f"{address}/none.parquet")
