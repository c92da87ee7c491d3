"""Directories of results: all old files or all new ones, whatever happens in between."""

import os
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

from taupi import files
from taupi.errors import TaupiError
from taupi.files import refuse_to_replace, write_file, write_folder, write_private, write_text, write_texts
from taupi.program import disk_cache
from taupi.program.targets.simd import machine_code

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
            time.sleep(0.001)
        time.sleep(0.01)
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
        assert len(set(content(out).values())) == 1 and set(content(out)) == set(NAMES)


# What killed processes leave --------------------------------------------------------------------------------------------

UNFINISHED = """
import sys, time
from taupi.files import write_file, write_folder
def wait(place):
    print("ready", flush=True)
    time.sleep(60)
(write_folder if sys.argv[1] == "folder" else write_file)(sys.argv[2], wait, force=True)
"""


def writing(kind, target):
    """A process that is in the middle of writing."""
    child = subprocess.Popen([sys.executable, "-c", UNFINISHED, kind, str(target)], stdout=subprocess.PIPE)
    assert child.stdout.readline() == b"ready\n"
    return child


@pytest.mark.skipif(sys.platform == "win32", reason="locks are POSIX")
@pytest.mark.parametrize("kind", ["folder", "file"])
def test_the_next_run_removes_what_a_killed_one_left_and_nothing_else(tmp_path, kind):
    target = tmp_path / "out"
    alive, dead = writing(kind, target), writing(kind, target)
    dead.kill()
    dead.wait()
    others = [".out.part", ".out.abc.part", ".other.12345678.part", "out.12345678.part"]
    for name in others:
        (tmp_path / name).touch()
    assert len(list(tmp_path.glob(".out.????????.part"))) == 2
    if kind == "folder":
        write_folder(target, filled("new"))
    else:
        write_text(target, "new")
    assert len(list(tmp_path.glob(".out.????????.part"))) == 1  # of the one that is alive
    alive.kill()
    alive.wait()
    alive.stdout.close(), dead.stdout.close()
    write_folder(target, filled("newer"), force=True) if kind == "folder" else write_text(target, "newer", force=True)
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([*others, "out"])


def test_a_failure_leaves_nothing(tmp_path):
    def fail(stream):
        stream.write(b"half")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        write_file(tmp_path / "a.txt", fail)
    assert not list(tmp_path.iterdir())


def test_several_files_are_complete_before_the_first_is_renamed(tmp_path, monkeypatch):
    (tmp_path / "a.c").write_text("old")
    write_texts({tmp_path / "a.c": "new", tmp_path / "b.h": "new"})
    assert content(tmp_path) == {"a.c": "new", "b.h": "new"}
    with pytest.raises(TaupiError, match="cannot be written"):  # the second has no folder: the first stays as it was
        write_texts({tmp_path / "a.c": "newer", tmp_path / "a.c" / "b.h": "newer"})
    assert content(tmp_path) == {"a.c": "new", "b.h": "new"}


def test_long_names_are_written(tmp_path):
    name = "é" * 120 + ".txt"  # 244 bytes: the system allows 255
    write_text(tmp_path / name, "x")
    assert [p.name for p in tmp_path.iterdir()] == [name]


def test_text_that_is_no_unicode_is_written_nevertheless(tmp_path):
    write_text(tmp_path / "a.txt", "a\ud800b")
    assert (tmp_path / "a.txt").read_text() == "a?b"


@pytest.mark.skipif(sys.platform == "win32", reason="modes are POSIX")
def test_private_files_are_private(tmp_path):
    os.umask(mask := os.umask(0))
    write_private(tmp_path / "cache" / "x.o", b"code")
    assert (tmp_path / "cache" / "x.o").stat().st_mode & 0o077 == 0
    os.umask(mask)


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
@pytest.mark.parametrize(
    "write", [lambda path: write_text(path, "new", force=True), lambda path: write_texts({path: "new"})]
)
def test_a_link_stays_a_link_to_what_is_written(tmp_path, write):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "page.html").write_text("old")
    (tmp_path / "page.html").symlink_to("real/page.html")
    write(tmp_path / "page.html")
    assert (tmp_path / "page.html").is_symlink() and (tmp_path / "real" / "page.html").read_text() == "new"
    (tmp_path / "loop.html").symlink_to("loop.html")
    with pytest.raises(TaupiError, match="symbolic link"):
        write_text(tmp_path / "loop.html", "new", force=True)


@pytest.mark.skipif(sys.platform != "linux", reason="limits of file sizes")
def test_a_disk_that_is_full_leaves_no_folder(tmp_path):
    script = (
        "import resource, signal, sys, taupi as tp\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
        "tp.emit(tp.mass_matrix(tp.load('elbow2r')), 'c', sys.argv[1])\n"
    )
    (tmp_path / "here").mkdir()
    for place in ("a/b/c", "here/c"):
        words = [sys.executable, "-c", script, str(tmp_path / place)]
        done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
        assert "c cannot be written: File too large" in done.stderr
    assert [path.name for path in tmp_path.rglob("*")] == ["here"]


# The cache --------------------------------------------------------------------------------------------------------------

TEXT = "define void @kernel() {\n  ret void\n}\n"


@pytest.mark.skipif(sys.platform == "win32", reason="homes are found otherwise there")
@pytest.mark.parametrize("environment", [{"HOME": ""}, {"HOME": " "}, {"XDG_CACHE_HOME": "here"}, {"HOME": "here"}])
def test_without_a_home_nothing_is_cached(monkeypatch, environment):
    for name, value in {"TAUPI_CACHE": "", "XDG_CACHE_HOME": "", **environment}.items():
        monkeypatch.setenv(name, value)
    assert machine_code.folder() is None
    monkeypatch.setenv("HOME", "/home/someone")
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    assert str(machine_code.folder()).startswith("/home/someone/.cache/taupi/")


def test_what_was_stored_long_ago_is_removed(tmp_path):
    place = tmp_path / "objects"
    disk_cache.store(place / "first.o", b"x")
    for name, days in (("old.o", 91), ("old.program", 91), ("young.o", 89), ("old.txt", 91)):
        (place / name).write_bytes(b"x")
        os.utime(place / name, (time.time() - days * 86400,) * 2)
    disk_cache._remove_old.cache_clear()
    disk_cache.store(place / "second.o", b"y")
    assert {p.name for p in place.iterdir()} == {"first.o", "second.o", "young.o", "old.txt"}


@pytest.mark.skipif(sys.platform == "win32", reason="pipes are POSIX")
@pytest.mark.parametrize("kind", ["pipe", "folder", "damaged", "device"])
def test_pipes_folders_and_damage_in_the_cache_are_no_machine_code(tmp_path, monkeypatch, kind):
    monkeypatch.setenv("TAUPI_CACHE", str(tmp_path))
    assert machine_code.load(TEXT).get_function_address("kernel")
    (entry,) = tmp_path.glob("objects-*/*.o")
    stored = entry.read_bytes()
    entry.unlink()
    change = {"pipe": os.mkfifo, "folder": os.mkdir, "damaged": lambda path: path.write_bytes(b"x" * 100)}
    change.get(kind, lambda path: path.symlink_to("/dev/zero"))(entry)
    assert machine_code.load(TEXT).get_function_address("kernel")
    assert entry.is_dir() if kind == "folder" else entry.read_bytes() == stored  # mended, where it can be
    assert not list(tmp_path.rglob("*.part"))


@pytest.mark.skipif(sys.platform == "win32", reason="modes are POSIX")
def test_a_cache_that_others_may_write_to_is_not_used(tmp_path, monkeypatch):
    monkeypatch.setenv("TAUPI_CACHE", str(tmp_path))
    machine_code.load(TEXT)
    (entry,) = tmp_path.glob("objects-*/*.o")
    assert disk_cache.stored(entry) is not None
    entry.parent.chmod(0o777)
    assert disk_cache.stored(entry) is None
    entry.unlink()
    machine_code.load(TEXT)
    assert not list(tmp_path.glob("objects-*/*.o"))
    entry.parent.chmod(0o700)
    monkeypatch.setenv("TAUPI_CACHE", "~nobody-of-that-name/cache")
    with pytest.raises(TaupiError, match=r"^TAUPI_CACHE is '~nobody-of-that-name/cache', expected a folder"):
        machine_code.load(TEXT)


def test_a_cell_that_is_run_again_overwrites_what_it_wrote_and_nothing_else(tmp_path, monkeypatch):
    file, folder, others = tmp_path / "a.txt", tmp_path / "out", tmp_path / "theirs.txt"
    others.write_text("theirs")

    def cell(text):
        files.write_text(file, text)
        files.write_folder(folder, lambda staged: (staged / "b.txt").write_text(text))

    monkeypatch.setattr(files, "_WRITTEN", {})
    cell("in a script")
    with pytest.raises(TaupiError):
        cell("again")
    kernel = SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=object()))
    monkeypatch.setitem(sys.modules, "IPython", kernel)
    with pytest.raises(TaupiError):
        cell("another session wrote it")
    file.unlink()
    (folder / "b.txt").unlink()
    for text in ("once", "twice"):
        cell(text)
        assert file.read_text() == (folder / "b.txt").read_text() == text
    with pytest.raises(TaupiError):
        files.write_text(others, "mine")
    file.write_text("edited by hand")
    with pytest.raises(TaupiError):
        cell("thrice")
    assert file.read_text() == "edited by hand" and others.read_text() == "theirs"
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: None))
    with pytest.raises(TaupiError):
        files.write_folder(folder, lambda staged: (staged / "b.txt").write_text("not in a notebook"))
