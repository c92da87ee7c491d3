"""Mesh files are read as they are stated, found where they lie, and refused with the file's name."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest

import taupi as tp
from taupi.excitation.geometry.meshes import find_mesh, read_triangles

CORNERS = np.array([[0, 0, 0], [1, 0, 0], [0, 2, 0], [0, 0, 3]], dtype=float)
FACES = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])


def binary_stl(triangles: np.ndarray) -> bytes:
    record = np.zeros(len(triangles), np.dtype([("n", "<f4", 3), ("v", "<f4", (3, 3)), ("a", "<u2")]))
    record["v"] = triangles
    return b"solid looks like text".ljust(80) + len(triangles).to_bytes(4, "little") + record.tobytes()


def text_stl(triangles: np.ndarray) -> bytes:
    facets = "".join(
        " facet normal 0 0 0\n  outer loop\n"
        + "".join(f"   vertex {x:g} {y:g} {z:g}\n" for x, y, z in t)
        + "  endloop\n endfacet\n"
        for t in triangles
    )
    return f"solid thing\n{facets}endsolid thing\n".encode()


OBJ = b"""# a tetrahedron
v 0 0 0
v 1 0 0
v 0 2 0
v 0 0 3
vn 0 0 1
f 1/1/1 3/1/1 2/1/1
f 1//1 2//1 4//1
f 1 4 3
f -3 -2 -1
"""


@pytest.mark.parametrize(
    ("name", "data"), [("a.stl", binary_stl(CORNERS[FACES])), ("b.STL", text_stl(CORNERS[FACES])), ("c.obj", OBJ)]
)
def test_formats_agree(tmp_path, name, data):
    (tmp_path / name).write_bytes(data)
    np.testing.assert_allclose(read_triangles(tmp_path / name), CORNERS[FACES])


def test_bytes_after_the_triangles_of_a_binary_file_do_not_matter(tmp_path):
    (tmp_path / "a.stl").write_bytes(
        binary_stl(CORNERS[FACES]).replace(b"solid", b"a mesh", 1)[1:] + b"made by a program"
    )
    np.testing.assert_allclose(read_triangles(tmp_path / "a.stl"), CORNERS[FACES])


def test_a_face_of_four_corners_is_two_triangles(tmp_path):
    (tmp_path / "a.obj").write_text("v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 2 3 4\n")
    assert read_triangles(tmp_path / "a.obj").shape == (2, 3, 3)


def test_others_are_read_by_trimesh(tmp_path):
    pytest.importorskip("trimesh")
    faces = "".join(f"3 {a} {b} {c}\n" for a, b, c in FACES)
    corners = "".join(f"{x} {y} {z}\n" for x, y, z in CORNERS)
    (tmp_path / "a.off").write_text(f"OFF\n4 4 0\n{corners}{faces}")
    assert sorted(map(tuple, read_triangles(tmp_path / "a.off").reshape(-1, 3).tolist())) == sorted(
        map(tuple, CORNERS[FACES].reshape(-1, 3).tolist())
    )


def test_without_trimesh_the_remedy_is_said(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "trimesh", None)
    (tmp_path / "a.dae").write_text("<COLLADA/>")
    with pytest.raises(tp.TaupiError, match=r"a.dae is neither STL nor OBJ: it needs the package trimesh. Install it"):
        read_triangles(tmp_path / "a.dae")


@pytest.mark.parametrize(
    ("name", "data", "sentence"),
    [
        ("a.stl", binary_stl(CORNERS[FACES])[:-7], "a.stl is not an STL file, or is cut off"),
        ("a.stl", b"", "a.stl is not an STL file"),
        ("a.stl", binary_stl(np.zeros((0, 3, 3))), "a.stl has no triangles"),
        ("a.stl", binary_stl(np.full((1, 3, 3), np.nan)), "not finite"),
        (
            "a.stl",
            text_stl(CORNERS[FACES]).replace(b"vertex 1 0 0", b"vertex 1 0 x"),
            "a.stl has vertices that are not",
        ),
        ("a.obj", OBJ.replace(b"f 1 4 3", b"f 1 4 x"), "a.obj, line 9: the face 'f 1 4 x' names no vertices"),
        ("a.obj", OBJ.replace(b"f 1 4 3", b"f 1 4 9"), "faces of vertices that it does not have"),
        ("a.obj", b"", "a.obj has no triangles"),
    ],
)
def test_broken_files_are_named(tmp_path, name, data, sentence):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(tp.TaupiError, match=re.escape(sentence)):
        read_triangles(tmp_path / name)


def test_meshes_are_found_in_packages_above_the_description_and_where_ros_looks(tmp_path, monkeypatch):
    urdf = tmp_path / "ws" / "arm_description" / "urdf" / "arm.urdf"
    urdf.parent.mkdir(parents=True)
    beside = tmp_path / "ws" / "arm_description" / "meshes" / "a.stl"
    other = tmp_path / "elsewhere" / "tool" / "b.stl"
    shared = tmp_path / "ros" / "share" / "hand" / "c.stl"
    for file in (beside, other, shared):
        file.parent.mkdir(parents=True)
        file.touch()
    assert find_mesh("package://arm_description/meshes/a.stl", urdf) == beside
    assert find_mesh("../meshes/a.stl", urdf).samefile(beside)
    assert find_mesh(f"file://{beside}", urdf) == beside
    assert find_mesh("package://tool/b.stl", urdf, [tmp_path / "elsewhere"]) == other
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path / "ros"))
    assert find_mesh("package://hand/c.stl", urdf) == shared


def test_a_missing_mesh_is_named_with_what_to_give(tmp_path):
    with pytest.raises(
        tp.TaupiError, match=r"x: there is no mesh 'package://arm/a.stl' \(looked in .*\). Give the folder"
    ) as error:
        find_mesh("package://arm/a.stl", Path(tmp_path / "arm.urdf"), (), "x")
    for argument in ("packages=", "capsules="):
        assert argument in str(error.value)


def test_files_of_very_many_triangles(tmp_path):
    """Numbers are kept as numbers while a file is read: as words they took forty times its size."""
    (tmp_path / "a.obj").write_bytes(b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf " + b"1 2 3 " * 1000)
    assert read_triangles(tmp_path / "a.obj").shape == (2998, 3, 3)
    with (
        tp.signals.reading_budget(unpacked_bytes=72 * 2000),
        pytest.raises(tp.TaupiError, match="more than 2000 triangles"),
    ):
        read_triangles(tmp_path / "a.obj")


def test_collada_with_entities(tmp_path):
    bomb = '<!DOCTYPE a [<!ENTITY b "bb"><!ENTITY c "&b;&b;">]><COLLADA>&c;</COLLADA>'
    (tmp_path / "a.dae").write_text(bomb)
    with pytest.raises(tp.TaupiError, match="has a document type or entity declaration"):
        read_triangles(tmp_path / "a.dae")
