"""Triangles of mesh files: where a mesh is, and what it holds; STL and OBJ are read here, other formats by trimesh."""

from __future__ import annotations

import io
import os
import stat
import warnings
from array import array
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from urllib.parse import unquote

import numpy as np

from taupi.budget import MIB, budget, over_budget
from taupi.errors import Message, TaupiError, shown
from taupi.files import status_of
from taupi.input_files import printable, read_bytes
from taupi.model.formats import xml_tree
from taupi.model.formats.description import decode

_HEAD = 84  # bytes: a comment, and the number of triangles
_RECORD = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])


def stl_triangles(data: bytes, place: str) -> np.ndarray:
    """Return the triangles (m, 3, 3) of a file's bytes; it is binary if its length says so."""
    count = int.from_bytes(data[80:_HEAD], "little") if len(data) >= _HEAD else -1
    if count >= 0 and len(data) == _HEAD + count * _RECORD.itemsize:
        return np.frombuffer(data, _RECORD, count, _HEAD)["corners"].astype(float)
    if data.lstrip()[:5].lower() == b"solid" and b"facet" in data[:4096].lower():
        return _stl_text(data, place)
    if count >= 0 and len(data) > _HEAD + count * _RECORD.itemsize > _HEAD:  # some programs append a footer
        return np.frombuffer(data, _RECORD, count, _HEAD)["corners"].astype(float)
    raise TaupiError(
        "{place} is not an STL file, or is cut off: {count} bytes.",
        remedy="Export the mesh again.",
        place=place,
        count=len(data),
    )


def _stl_text(data: bytes, place: str) -> np.ndarray:
    corners = array("d")
    try:
        for words in map(bytes.split, io.BytesIO(data)):
            if words and words[0].lower() == b"vertex":
                x, y, z = words[1:4]
                corners.extend((float(x), float(y), float(z)))
        return np.array(corners).reshape(-1, 3, 3)
    except ValueError:
        raise TaupiError(
            "{place} has vertices that are not three numbers each, three per triangle.",
            remedy="Export the mesh again.",
            place=place,
        ) from None


_TRIANGLE = 72  # bytes: three corners of three doubles
_LARGEST_INDEX = 1 << 40


def obj_triangles(data: bytes, place: str) -> np.ndarray:
    """Return the triangles (m, 3, 3) of a file's bytes; a face of more corners is a fan of triangles."""
    points, corners = array("d"), array("q")
    most = budget().unpacked_bytes // _TRIANGLE
    for number, line in enumerate(io.BytesIO(data), 1):
        words = line.split()
        if not words or words[0] not in (b"v", b"f"):
            continue
        try:
            if words[0] == b"v":
                x, y, z = words[1:4]
                points.extend((float(x), float(y), float(z)))
                continue
            if len(corners) // 3 + len(words) > most:
                raise over_budget(
                    f"{place} has more than {most} triangles", "unpacked_bytes", f"{most * _TRIANGLE // MIB} MiB"
                )
            face = [_index(word, len(points) // 3) for word in words[1:]]
        except TaupiError:
            raise
        except (ValueError, OverflowError):
            what = "vertex {} is not three numbers" if words[0] == b"v" else "face {} names no vertices"
            shown = repr(line.strip()[:40].decode("utf-8", "replace"))
            raise TaupiError(
                "{place}, line {number}: the {what}.",
                remedy="Export the mesh again.",
                place=place,
                number=number,
                what=what.format(shown),
            ) from None
        for k in range(1, len(face) - 1):
            corners.extend((face[0], face[k], face[k + 1]))
    try:
        return np.array(points).reshape(-1, 3)[np.array(corners, dtype=np.int64).reshape(-1, 3)]
    except IndexError:
        raise TaupiError(
            "{place} has faces of vertices that it does not have.", remedy="Export the mesh again.", place=place
        ) from None


def _index(word: bytes, count: int) -> int:
    """Return the place of a vertex: 1 is the first, -1 the last so far; texture and normal follow slashes."""
    k = int(word.split(b"/", 1)[0])
    if k == 0 or k < -count or k > _LARGEST_INDEX:
        raise ValueError
    return k - 1 if k > 0 else count + k


_XML = (".dae", ".x3d", ".xaml")
_TRIMESH_REMEDY = "Install it with: pip install taupi[meshes], or convert the mesh to STL or OBJ."


def _read_by_trimesh(path: Path, data: bytes) -> np.ndarray:
    """Return the triangles (m, 3, 3) of a file whose bytes are `data`, in m."""
    if path.suffix.lower() in _XML:  # refuses unbounded input: entities, and more elements than the budget allows
        xml_tree.parse(decode(data, path.name), path.name)
    try:
        import trimesh
    except ImportError:
        raise TaupiError(
            "{file} is neither STL nor OBJ: it needs the package trimesh.", remedy=_TRIMESH_REMEDY, file=path.name
        ) from None
    try:
        with warnings.catch_warnings():  # what NumPy deprecates in its readers is no fault of the file
            warnings.simplefilter("ignore", DeprecationWarning)
            scene = trimesh.load_scene(path)
        scale = trimesh.units.unit_conversion(scene.units, "meters") if scene.units else 1.0
        return np.asarray(scene.to_mesh().triangles, dtype=float) * scale
    except Exception as error:  # its readers raise many kinds of errors
        reason = str(error).split("\n", 1)[0][:120].rstrip(".")
        raise TaupiError(
            "{file} cannot be read: {kind}: {reason}.",
            remedy="Convert it to STL or OBJ.",
            file=path.name,
            kind=type(error).__name__,
            reason=reason,
        ) from None


# What to do if a mesh is not found: stated once, for errors.
REMEDY: Message = Message(
    "Give the folder that holds the package by {packages=['...']}, capsules "
    "by {capsules='capsules.toml'}, or leave clearance unchecked by "
    "{capsules='none'}."
)


def find_mesh(name: str, description: Path, packages: Sequence[Path] = (), place: str = "") -> Path:
    """Return the file of a mesh called `name` in a `description`.

    `package://name/rest` is looked for as `name/rest` in `packages`, in each folder above the description, and where ROS looks
    (ROS_PACKAGE_PATH, and share of AMENT_PREFIX_PATH); any other path is relative to the description.
    """
    candidates = list(dict.fromkeys(_candidates(name, description, packages)))
    for path in candidates:
        status = status_of(path)
        if status is not None and stat.S_ISREG(status.st_mode):
            return path
    looked = ", ".join(printable(p.parent) for p in candidates[:3]) + (", ..." if len(candidates) > 3 else "")
    raise TaupiError(
        "{place}: there is no mesh {name} (looked in {looked}).",
        remedy=REMEDY,
        place=place,
        name=shown(name, 200),
        looked=looked,
    )


def _candidates(name: str, description: Path, packages: Sequence[Path]) -> Iterator[Path]:
    folder = description.resolve().parent
    scheme, separator, rest = name.partition("://")
    if not separator:
        yield folder / name
        yield from (root / name for root in packages)
    elif scheme == "file":
        yield Path(unquote(rest))
    else:  # package, or model as Gazebo writes
        package, _, inner = rest.partition("/")
        for root in (*packages, *folder.parents, folder, *_ros_folders()):
            yield root / package / inner
            if root.name == package:
                yield root / inner


def _ros_folders() -> Iterator[Path]:
    for variable, inner in (("ROS_PACKAGE_PATH", ""), ("AMENT_PREFIX_PATH", "share")):
        for entry in os.environ.get(variable, "").split(os.pathsep):
            if entry:
                yield Path(entry) / inner


# Readers by suffix: functions of the bytes of a file and of what errors call it. Everything else is left to trimesh.
FORMATS: dict[str, Callable[[bytes, str], np.ndarray]] = {".stl": stl_triangles, ".obj": obj_triangles}
# m: the extent of a mesh below which it is not part of a robot.
LEAST = 1e-6


def read_triangles(path: Path) -> np.ndarray:
    """Return the triangles (m, 3, 3) of a mesh file, as they are stated."""
    data, reader = read_bytes(path, "a mesh", budget().data_bytes), FORMATS.get(path.suffix.lower())
    corners = reader(data, path.name) if reader else _read_by_trimesh(path, data)
    if not len(corners):
        raise TaupiError("{file} has no triangles.", remedy="Export the mesh again, or remove it.", file=path.name)
    if not np.isfinite(corners).all():
        raise TaupiError("{file} has coordinates that are not finite.", remedy="Export the mesh again.", file=path.name)
    return np.asarray(corners)
