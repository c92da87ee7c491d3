"""Addresses hold passwords and signatures: no message and no record shows them, and none is taken for a local path."""

import sys
from pathlib import Path

import pytest
from command_line import taupi

import taupi as tp
from taupi.addresses import PROTOCOLS, protocol_of, without_secrets
from taupi.command_line import recorded_command
from taupi.errors import TaupiError, shown
from taupi.files import path_of, write_folder, write_text
from taupi.input_files import printable, read_text
from taupi.signals.formats.sources import RemoteFile, expand_pattern, shown_address

ADDRESS = "http://me:hunter2@host:80/run.csv?token=hunter2"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (ADDRESS, "http://host:80/run.csv"),
        (str(Path(ADDRESS)), "http:/host:80/run.csv"),
        (f"No file '{ADDRESS}'. Check it.", "No file 'http://host:80/run.csv'. Check it."),
        (f"--given={ADDRESS}", "--given=http://host:80/run.csv"),
        (f"simplecache::{ADDRESS}", "simplecache::http://host:80/run.csv"),
        ("ftp://me:hun@ter 2'@host/x?hunter2.", "ftp://host/x."),
        ("tcp://me:hun/ter2@host:1", "tcp://host:1"),
        ("s3://bucket/run-?.csv and s3://b/a@b.csv", "s3://bucket/run-?.csv and s3://b/a@b.csv"),
        ("s3://bucket/run.csv?X-Signature=hunter2", "s3://bucket/run.csv"),
        ("http://[::1/x.csv", "http://[::1/x.csv"),
        ("http://[::1]:80/a@b.csv", "http://[::1]:80/a@b.csv"),
        ("me@home: runs/a?b.csv", "me@home: runs/a?b.csv"),
        ("C:/me@home/a?b.csv", "C:/me@home/a?b.csv"),
    ],
)
def test_texts_are_shown_without_secrets(text, expected):
    assert without_secrets(text) == expected
    assert without_secrets(expected) == expected


def test_everything_that_shows_a_path_hides_secrets_before_it_is_cut():
    for show in (shown, printable, shown_address, lambda text: str(TaupiError(f"No {text}.")), tp.errors.TaupiWarning):
        assert "hunter2" not in str(show(ADDRESS))
    assert "hun" not in shown(ADDRESS, 15) + printable(ADDRESS, 15)


@pytest.mark.parametrize("protocol", ["ftp", "sftp", "file", "memory", "foo", "simplecache::http", "tcp"])
def test_addresses_that_are_not_read_are_refused_with_those_that_are(protocol):
    address = f"{protocol}://me:hunter2@host/run*.csv"
    for path in (address, Path(address)):
        for read in (tp.read_log, expand_pattern, lambda log: tp.identify(tp.load("elbow2r"), log)):
            with pytest.raises(TaupiError, match=f"{protocol}://host/run") as caught:
                read(path)
            assert ", ".join(PROTOCOLS) in str(caught.value)
            assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "use",
    [
        tp.load,
        tp.load_fit,
        path_of,
        lambda path: read_text(path, "limits"),
        lambda path: write_text(path, ""),
        lambda path: write_folder(path, lambda folder: None),
    ],
)
def test_an_address_is_no_local_path(use, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for path in (ADDRESS, Path(ADDRESS)):
        with pytest.raises(TaupiError, match=r"is 'http://host:80/run\.csv', expected ") as caught:
            use(path)
        assert "hunter2" not in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_a_folder_whose_name_ends_in_a_colon_is_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert protocol_of("data:/a.txt") == "data"
    Path("data:").mkdir()
    assert protocol_of("data:/a.txt") is None
    write_text("data:/a.txt", "x")
    assert Path("data:", "a.txt").read_text() == "x"


def test_a_star_on_the_web_is_no_pattern():
    for address in ("http://host/run-*.csv", RemoteFile("https://host/run-*.csv")):
        assert list(expand_pattern(address)) == [address]


def test_commands_are_recorded_without_secrets(monkeypatch):
    monkeypatch.setattr(
        sys, "argv", ["taupi", "excite", f"--given={ADDRESS}", "--scheduler", "tcp://me:hunter2@host:1"]
    )
    assert recorded_command() == "taupi excite --given=http://host:80/run.csv --scheduler tcp://host:1"


@pytest.mark.parametrize(
    "words",
    [
        ("info", ADDRESS),
        ("validate", ADDRESS, "x"),
        ("log", "ftp://me:hunter2@host/x.csv"),
        ("log", "http://[::1/x.csv"),
        ("identify", "elbow2r", "http://[::1/x.csv", "-o", "out"),
        ("identify", "elbow2r", "ftp://me:hunter2@host/x.csv", "-o", "out"),
        ("identify", "elbow2r", __file__, "-o", ADDRESS),
        ("log", __file__, "--columns", ADDRESS),
        ("fleet", "elbow2r", "--by", "http://me:hunter2@host/{arm}/*.csv?token=hunter2", "-o", "out"),
        ("simulate", "elbow2r", "--reference", "ftp://me:hunter2@host/x.csv"),
    ],
)
def test_commands_refuse_in_a_sentence_without_secrets(words, tmp_path):
    done = taupi(*words, cwd=tmp_path)
    assert done.returncode == 3, done
    assert "hunter2" not in done.stdout + done.stderr
    assert done.stderr.startswith("taupi: ")
    assert not list(tmp_path.iterdir())
