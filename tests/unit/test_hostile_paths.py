"""Paths and names that no file can have, folders that may not be looked into: one sentence, from every door."""

import os
import stat

import pytest
from refusals import refused

import taupi as tp
from taupi.excitation.geometry.meshes import find_mesh
from taupi.files import path_of, status_of, write_text

LONG = "x" * 5000


@pytest.mark.parametrize(
    "read",
    [
        tp.load,
        lambda path: tp.load(path + ".urdf"),
        tp.load_fit,
        lambda path: tp.read_log(path + ".csv"),
        tp.Run.load,
        lambda path: write_text(path, ""),
        lambda path: tp.read_log("run.csv", columns=path + ".toml"),
    ],
)
def test_names_longer_than_any_file_has(read):
    with pytest.raises(tp.TaupiError) as caught:
        read(LONG)
    assert len(str(caught.value)) < 400


def test_folders_that_may_not_be_looked_into(tmp_path, monkeypatch):
    """Root may look into every folder, so that the system's answer is put in its mouth."""

    def refuse(path, *args, **keywords):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "stat", refuse)
    with refused("path", expected="the path of a file", strerror="Permission denied"):
        path_of("a/b.csv")
    assert status_of(tmp_path) is None


def test_what_is_there():
    assert stat.S_ISDIR(status_of(path_of(os.curdir)).st_mode)
    assert status_of(path_of("none")) is None


@pytest.mark.parametrize("name", [LONG, f"package://{LONG}/a.stl", f"file:///{LONG}", "file:///%00", "\ud800.stl"])
def test_meshes_with_names_that_no_file_has(tmp_path, name):
    with pytest.raises(tp.TaupiError, match="there is no mesh") as caught:
        find_mesh(name, tmp_path / "arm.urdf", place="arm.urdf")
    assert len(str(caught.value)) < 2000


@pytest.mark.parametrize("code", ["\x1b[2J", "\x9b2J", "\u202e", "\u2066", "\x7f", "\x85"])
def test_messages_do_not_steer_a_terminal(code):
    assert code not in str(tp.TaupiError(f"a joint called {code}elbow"))
    assert code not in str(tp.TaupiError("no such file.", remedy=f"Try {code}other.csv."))
