"""`taupi worker`: what cannot work is refused in a sentence, before Dask is started."""

import os
import time
from types import SimpleNamespace

import pytest
from command_line import taupi

from taupi.cli.commands import worker as worker_command

pytest.importorskip("distributed", reason="the extra `cluster` is not installed", exc_type=ImportError)


class Started(BaseException):  # no error: the process is replaced
    """Dask would run now."""


@pytest.fixture(autouse=True)
def no_dask(monkeypatch):
    def start(program, command, environment):
        raise Started(command)

    monkeypatch.setattr(os, "execve", start)
    monkeypatch.setattr(worker_command, "_PATIENCE_S", 0.0)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("nonsense",),
            "address is 'nonsense', expected the address of a scheduler, such as tcp://head:8786: missing port",
        ),
        (("ftp://x:1",), "the protocols are "),
        (("tcp://me:hunter2@127.0.0.1:1",), "schedulers know no users and passwords"),
        (("me:hunter2@127.0.0.1:1",), "schedulers know no users and passwords"),
        (("tcp://127.0.0.1:1", "--memory-limit", "abc"), "--memory-limit is 'abc', expected an amount of memory"),
        (("tcp://127.0.0.1:1", "--memory-limit", "-1"), "--memory-limit is '-1'"),
        (("tcp://127.0.0.1:1", "--workers", "0"), "--workers is 0, expected a whole number of at least 1"),
        (("--scheduler-file", "none.json"), "--scheduler-file is 'none.json', but no scheduler wrote it"),
        (
            ("--scheduler-file", "number.json"),
            "number.json: address is 3, expected the address of a scheduler",
        ),
        (("--scheduler-file", "list.json"), "list.json is [], expected the file that a scheduler wrote"),
    ],
)
def test_what_cannot_work_is_refused(words, message, tmp_path):
    (tmp_path / "number.json").write_text('{"address": 3}')
    (tmp_path / "list.json").write_text("[]")
    done = taupi("worker", *words, cwd=tmp_path)
    assert done.returncode == 3
    assert message in done.stderr
    assert "hunter2" not in done.stderr


def test_what_can_work_is_started(tmp_path):
    (tmp_path / "head.json").write_text('{"address": "tcp://127.0.0.1:8786"}')
    for words in (("head:8786",), ("tls://[::1]:8786", "--memory-limit", "auto"), ("--scheduler-file", "head.json")):
        with pytest.raises(Started):
            taupi("worker", *words, cwd=tmp_path)


def test_a_file_that_a_scheduler_is_about_to_write_is_waited_for(tmp_path, monkeypatch):
    file = tmp_path / "head.json"
    file.write_text("")

    def written(seconds):
        file.write_text('{"address": "tcp://127.0.0.1:8786"}')

    monkeypatch.setattr(worker_command, "_PATIENCE_S", 600.0)
    monkeypatch.setattr(worker_command, "time", SimpleNamespace(monotonic=time.monotonic, sleep=written))
    with pytest.raises(Started):
        taupi("worker", "--scheduler-file", "head.json", cwd=tmp_path)
