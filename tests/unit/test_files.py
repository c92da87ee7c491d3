"""Directories of results: all old files or all new ones, whatever happens in between."""

import os
import signal
import subprocess
import sys
import time

import pytest

from taupi.errors import TaupiError
from taupi.files import refuse_to_replace, write_folder

NAMES = ("a.txt", "b.txt")


def filled(text):
    def fill(folder):
        for name in NAMES:
            (folder / name).write_text(text)

    return fill


def content(folder):
    return {p.name: p.read_text() for p in folder.iterdir() if p.is_file()}


def test_a_new_directory_with_its_parents(tmp_path):
    write_folder(tmp_path / "x" / "out", filled("new"))
    assert content(tmp_path / "x" / "out") == dict.fromkeys(NAMES, "new")
    assert [p.name for p in (tmp_path / "x").iterdir()] == ["out"]


def test_old_results_are_replaced_and_other_files_stay(tmp_path):
    out = tmp_path / "out"
    write_folder(out, filled("old"))
    (out / "notes.md").write_text("mine")
    (out / "more").mkdir()
    (out / "more" / "deep.txt").write_text("deep")
    with pytest.raises(TaupiError, match=r"holds a.txt, b.txt already.*force=True"):
        write_folder(out, filled("new"))
    assert content(out) == {"a.txt": "old", "b.txt": "old", "notes.md": "mine"}
    (out / "model.urdf").write_text("old")
    write_folder(out, filled("new"), force=True, own=("a.txt", "model.urdf"))
    assert content(out) == {"a.txt": "new", "b.txt": "new", "notes.md": "mine"}
    assert (out / "more" / "deep.txt").read_text() == "deep"
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_a_failure_leaves_what_was_there(tmp_path):
    out = tmp_path / "out"
    write_folder(out, filled("old"))

    def fails(folder):
        (folder / "a.txt").write_text("new")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_folder(out, fails, force=True)
    assert content(out) == dict.fromkeys(NAMES, "old")
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_refused(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    with pytest.raises(TaupiError, match="is a file, expected the name of a directory"):
        refuse_to_replace(tmp_path / "file", ())
    with pytest.raises(TaupiError, match="cannot be written"):
        write_folder(tmp_path / "file" / "out", filled("new"))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TaupiError, match="the current directory"):
        write_folder(".", filled("new"))


@pytest.mark.parametrize("swaps", [True, False], ids=["one step", "renames"])
def test_both_ways_to_change_places(tmp_path, monkeypatch, swaps):
    if not swaps:
        import ctypes

        monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: object())
    out = tmp_path / "out"
    for text in ("old", "new"):
        write_folder(out, filled(text), force=True)
    assert content(out) == dict.fromkeys(NAMES, "new")


@pytest.mark.skipif(sys.platform != "linux", reason="one step only where the system can")
def test_killed_at_any_time_it_is_old_or_new(tmp_path):
    """A process that replaces the results over and over is killed; no reader ever sees a mixture or nothing."""
    out = tmp_path / "out"
    write_folder(out, filled("0"))
    code = (
        "import sys, itertools\nfrom taupi.files import write_folder\n"
        "def fill(d, k):\n    for n in ('a.txt', 'b.txt'): (d / n).write_text(str(k))\n"
        "for k in itertools.count(1): write_folder(sys.argv[1], lambda d: fill(d, k), force=True)"
    )
    for _ in range(5):
        child = subprocess.Popen([sys.executable, "-c", code, str(out)])
        before = out.stat().st_ino
        while out.stat().st_ino == before:  # it exists at every look; until the child is at work
            pass
        time.sleep(0.01)
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
        assert len(set(content(out).values())) == 1 and set(content(out)) == set(NAMES)
