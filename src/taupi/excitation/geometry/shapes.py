"""The geometry of a description: its solids as triangles and capsules, for collisions and for drawing, from URDF and MJCF."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from taupi.errors import Argument, TaupiError, shown, unknown
from taupi.excitation.geometry.capsules import COARSE, capsules_around
from taupi.excitation.geometry.meshes import FORMATS, find_mesh, read_triangles
from taupi.model.capsule import Capsule
from taupi.model.formats import xml_tree
from taupi.model.formats.mjcf import compiled
from taupi.model.formats.xml_tree import Node
from taupi.model.robot import Robot

if TYPE_CHECKING:
    import mujoco
    from mujoco import MjModel


# Corners of the prism around a cylinder: it is larger by 1 / cos(pi / 24), 0.9 %.
_CORNERS = 24


@dataclass(frozen=True, eq=False)
class Solid:
    """A solid in the frame of `link`, inside its `triangles` (m, 3, 3), and inside its `capsule` if a formula gives a small one.

    `place` says where a description states it.
    """

    link: str
    triangles: np.ndarray = field(repr=False)
    place: str = ""
    capsule: Capsule | None = None


def placed(corners: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """Return points (..., 3) moved by a homogeneous matrix (4, 4)."""
    return np.asarray(corners @ matrix[:3, :3].T + matrix[:3, 3])


def hull_triangles(points: np.ndarray) -> np.ndarray:
    """Return the triangles of the convex hull of points (k, 3).

    Points that are much further apart in one direction than in another are flat to Qhull: scale what is found for a shape of unit
    size instead.
    """
    from scipy.spatial import ConvexHull

    return np.asarray(points[ConvexHull(points).simplices])


def box_triangles(size: np.ndarray) -> np.ndarray:
    """Return the triangles of a box of side lengths (3,) about the origin."""
    signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=float)
    return hull_triangles(signs) * (size / 2)


def cylinder_triangles(r: float, length: float) -> np.ndarray:
    """Return the triangles of a prism around a cylinder along z."""
    turn = 2 * math.pi * np.arange(_CORNERS) / _CORNERS
    ring = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    unit = hull_triangles(np.vstack([np.column_stack([ring, np.full(_CORNERS, s)]) for s in (-1.0, 1.0)]))
    around = r / math.cos(math.pi / _CORNERS)
    return unit * np.array([around, around, length / 2])


def ellipsoid_triangles(axes: np.ndarray) -> np.ndarray:
    """Return the triangles of a polyhedron around an ellipsoid of half axes (3,) about the origin."""
    k = np.arange(60) + 0.5
    z, turn = 1 - k / 30, math.pi * (1 + math.sqrt(5)) * k
    ring = np.sqrt(1 - z**2)
    unit = hull_triangles(np.stack([ring * np.cos(turn), ring * np.sin(turn), z], axis=1))
    normal = np.cross(unit[:, 1] - unit[:, 0], unit[:, 2] - unit[:, 0])
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    inner = float(np.abs(np.einsum("ij,ij->i", normal, unit[:, 0])).min())
    return np.asarray(unit / inner * axes)


def rounded(link: str, matrix: np.ndarray, r: float, length: float, place: str = "") -> Solid:
    """Return the points within r of a segment along z of a frame: a capsule, or a sphere if its length is 0."""
    segment = np.array([[0.0, 0.0, -length / 2], [0.0, 0.0, length / 2]])
    ball = ellipsoid_triangles(np.full(3, r))
    around = ball
    if length:
        from scipy.spatial import QhullError

        try:
            around = hull_triangles(np.concatenate([ball.reshape(-1, 3) + end for end in segment]))
        except QhullError:
            raise TaupiError(
                "{place}: the capsule is {length:.3g} m long and has a radius of {r:.3g} m: one of them is wrong.",
                place=place or link,
                length=length,
                r=r,
            ) from None
    a, b = (tuple(map(float, end)) for end in placed(segment, matrix))
    return Solid(link, placed(around, matrix), place, Capsule(link, a, b, r))  # type: ignore[arg-type]


def cylinder(link: str, matrix: np.ndarray, r: float, length: float, place: str = "") -> Solid:
    """Return a cylinder along z, with the smallest capsule around it unless that is more than `COARSE` times as large.

    With its segment from -h to h, the radius reaches the rim: R^2 = r^2 + (l/2 - h)^2.
    """
    from scipy.optimize import minimize_scalar

    unit = max(r, length / 2)  # no power of these lengths is beyond floating point
    radius, half = r / unit, length / 2 / unit

    def volume(h: float) -> float:
        around = math.hypot(radius, half - h)
        return math.pi * around**2 * (2 * h + 4 / 3 * around)

    h = float(minimize_scalar(volume, bounds=(0.0, half), method="bounded").x)
    good = volume(h) <= COARSE * math.pi * radius**2 * 2 * half
    h, half = h * unit, half * unit
    capsule = rounded(link, matrix, math.hypot(r, half - h), 2 * h).capsule if good else None
    return Solid(link, placed(cylinder_triangles(r, length), matrix), place, capsule)


# URDF -----------------------------------------------------------------------------------------------------------------

KINDS = ("box", "cylinder", "sphere", "capsule", "mesh")


def urdf_shapes(robot: Robot, packages: Sequence[Path]) -> Iterator[Solid]:
    """Yield the collision geometry of all links of the URDF that a robot was read from."""
    file = Path(robot.source.path)
    for link in xml_tree.parse(robot.source.text, file.name).all("link"):
        name = link.attributes["name"]
        for collision in link.all("collision"):
            place = f"{file.name}, line {collision.line}: link {shown(name)}"
            geometry = collision.first("geometry")
            children = [] if geometry is None else geometry.children
            if not children:
                raise TaupiError(
                    "{place} has a <collision> without a shape.",
                    remedy="Add one of {kinds:,}.",
                    place=place,
                    kinds=KINDS,
                )
            yield _urdf_shape(name, children[0], origin(collision.first("origin"), place), file, packages, place)


def _urdf_shape(link: str, node: Node, at: np.ndarray, file: Path, packages: Sequence[Path], place: str) -> Solid:
    if node.tag == "mesh":
        path = find_mesh(node.attributes.get("filename", ""), file, packages, place)
        scale = numbers(node, "scale", 3, place, "1 1 1")
        return Solid(link, placed(read_triangles(path) * scale, at), f"{place}, {path.name}")
    if node.tag == "box":
        return Solid(link, placed(box_triangles(sizes(node, "size", 3, place)), at), place)
    if node.tag == "sphere":
        return rounded(link, at, float(sizes(node, "radius", 1, place)[0]), 0.0, place)
    if node.tag not in KINDS:
        raise unknown("shape", node.tag, KINDS, place)
    r, length = (float(sizes(node, key, 1, place)[0]) for key in ("radius", "length"))
    if node.tag == "capsule":
        return rounded(link, at, r, length, place)
    return cylinder(link, at, r, length, place)


def origin(node: Node | None, place: str) -> np.ndarray:
    """Return the homogeneous matrix (4, 4) of an <origin>, the identity where there is none."""
    matrix = np.eye(4)
    if node is None:
        return matrix
    matrix[:3, 3] = numbers(node, "xyz", 3, place, "0 0 0")
    for axis, angle in enumerate(numbers(node, "rpy", 3, place, "0 0 0")):
        turn, (i, j) = np.eye(3), ((axis + 1) % 3, (axis + 2) % 3)
        turn[i, i] = turn[j, j] = math.cos(angle)
        turn[j, i], turn[i, j] = math.sin(angle), -math.sin(angle)
        matrix[:3, :3] = turn @ matrix[:3, :3]
    return matrix


def numbers(node: Node, key: str, count: int, place: str, default: str = "") -> np.ndarray:
    """Return the numbers of an attribute, `count` of them."""
    text = node.attributes.get(key, default)
    try:
        values = np.array([float(word) for word in text.split()])
    except ValueError:
        values = np.zeros(0)
    if len(values) != count or not np.isfinite(values).all():
        expected = "a number" if count == 1 else f"{count} numbers"
        raise TaupiError(
            "{place}: <{tag}> {key} is {got!r}, expected {expected}.",
            place=place,
            tag=node.tag,
            key=key,
            got=text,
            expected=expected,
        )
    return values


def sizes(node: Node, key: str, count: int, place: str) -> np.ndarray:
    """Return the numbers of an attribute, all above 0."""
    values = numbers(node, key, count, place)
    if not (values > 0).all():
        raise TaupiError(
            "{place}: <{tag}> {key} is {got!r}, expected sizes above 0.",
            place=place,
            tag=node.tag,
            key=key,
            got=node.attributes[key],
        )
    return values


_UNBOUNDED = (0, 1)  # planes and height fields: surroundings, stated as a floor
_SPHERE, _CAPSULE, _ELLIPSOID, _CYLINDER, _BOX, _MESH = range(2, 8)


_SHOWN = 3  # MuJoCo draws geoms of the groups below this by default


def mjcf_shapes(robot: Robot, drawn: bool = False) -> Iterator[Solid]:
    """Yield the geoms of the MJCF file that a robot was read from: those that collide, or those that are `drawn`."""
    model = _model(robot)
    bodies = body_names(model)
    for g in range(model.ngeom):
        collides = model.geom_contype[g] or model.geom_conaffinity[g]
        if not (model.geom_group[g] < _SHOWN if drawn else collides) or model.geom_type[g] in _UNBOUNDED:
            continue
        link = bodies[model.geom_bodyid[g]]
        yield _mjcf_shape(model, g, link, f"{Path(robot.source.path).name}: geom {model.geom(g).name or g} of {link}")


def excluded_pairs(robot: Robot) -> Iterator[tuple[str, str]]:
    """Yield the pairs of bodies that the file excludes from contact."""
    model = _model(robot)
    bodies = body_names(model)
    for signature in model.exclude_signature:
        yield bodies[int(signature) >> 16], bodies[int(signature) & 0xFFFF]


def body_names(model: MjModel) -> list[str]:
    """Return the names of bodies as the reader of MJCF gives them to links."""
    return [model.body(b).name or f"body{b}" for b in range(model.nbody)]


def _model(robot: Robot) -> mujoco.MjModel:
    file = Path(robot.source.path)
    if not file.is_file():
        raise TaupiError("{file} no longer exists: its geometry is needed.", remedy="Load the robot again.", file=file)
    return compiled(file)[0]


def _mjcf_shape(model: MjModel, g: int, link: str, place: str) -> Solid:
    at = np.eye(4)
    at[:3, :3], at[:3, 3] = _rotation(model.geom_quat[g]), model.geom_pos[g]
    kind, size = int(model.geom_type[g]), model.geom_size[g]
    if kind == _SPHERE:
        return rounded(link, at, float(size[0]), 0.0, place)
    if kind == _CAPSULE:
        return rounded(link, at, float(size[0]), 2 * float(size[1]), place)
    if kind == _CYLINDER:
        return cylinder(link, at, float(size[0]), 2 * float(size[1]), place)
    if kind == _BOX:
        return Solid(link, placed(box_triangles(2 * np.array(size)), at), place)
    if kind == _ELLIPSOID:
        return Solid(link, placed(ellipsoid_triangles(np.array(size)), at), place)
    if kind == _MESH:
        return Solid(link, placed(_mjcf_mesh(model, int(model.geom_dataid[g])), at), place)
    raise TaupiError(
        "{place} is of a kind that has no extent here ({kind}).",
        remedy="Use a primitive or a mesh.",
        place=place,
        kind=kind,
    )


def _mjcf_mesh(model: MjModel, k: int) -> np.ndarray:
    start, count = model.mesh_vertadr[k], model.mesh_vertnum[k]
    face, faces = model.mesh_faceadr[k], model.mesh_facenum[k]
    points = np.asarray(model.mesh_vert[start : start + count], dtype=float)
    return points[np.asarray(model.mesh_face[face : face + faces])]


def _rotation(quaternion: np.ndarray) -> np.ndarray:
    w, x, y, z = quaternion / np.linalg.norm(quaternion)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def visual_solids(robot: Robot, packages: Sequence[Path] = (), coarse: bool = False) -> tuple[Solid, ...]:
    """Return what a robot's file draws, each solid in the frame of its link; nothing if it draws nothing.

    A file that names a mesh that does not exist, or whose format cannot be read, raises an error that says so. `packages` are
    folders in which meshes are looked for. If `coarse`, the collision meshes of a URDF are used if they can be read
    without another package: they look similar, and are smaller.
    """
    if robot.source.format == "urdf" and robot.source.text:
        return tuple(_urdf_solids(robot, packages, coarse))
    if robot.source.format == "mjcf":
        return tuple(mjcf_shapes(robot, drawn=True))
    return ()


def _urdf_solids(robot: Robot, packages: Sequence[Path], coarse: bool) -> Iterator[Solid]:
    file = Path(robot.source.path)
    for link in xml_tree.parse(robot.source.text, file.name).all("link"):
        name = link.attributes["name"]
        for visual in _chosen(link, coarse):
            place = f"{file.name}, line {visual.line}: link {shown(name)}"
            geometry = visual.first("geometry")
            for node in [] if geometry is None else geometry.children[:1]:
                if node.tag in KINDS:
                    yield _urdf_shape(name, node, origin(visual.first("origin"), place), file, packages, place)


def _chosen(link: Node, coarse: bool) -> list[Node]:
    """Return the elements of a link to draw: its visual ones, or those for collisions if these are meshes that read quickly."""
    collisions, visuals = list(link.all("collision")), list(link.all("visual"))
    meshes = [n for c in collisions if (g := c.first("geometry")) is not None for n in g.children if n.tag == "mesh"]
    quick = all(Path(m.attributes.get("filename", "")).suffix.lower() in FORMATS for m in meshes)
    return collisions if coarse and visuals and meshes and len(meshes) == len(collisions) and quick else visuals


# Largest number of capsules of one link of a file; if there are more, all of its shapes are enclosed together again.
MANY = 4


class NoGeometryError(TaupiError):
    """A description says nothing about the space that its links occupy."""


def capsules_of(robot: Robot, solids: Sequence[Solid], late: Callable[[], bool] = lambda: False) -> tuple[Capsule, ...]:
    """Return capsules around the solids of a robot, link by link; when it is `late`, fewer and larger ones.

    Each is in the frame of its link, or of a frame fixed to it.
    """
    by_link: dict[str, list[Solid]] = {}
    for solid in solids:
        by_link.setdefault(solid.link, []).append(solid)
    if not by_link:
        raise NoGeometryError(
            "{robot} has no collision geometry, so its clearance cannot be checked.",
            remedy="Give {given} (a TOML file with [[capsule]] tables of link, a, b and r, or a list), or leave clearance "
            "unchecked by {none}.",
            robot=robot.name,
            given=Argument("capsules", ...),
            none=Argument("capsules", "none"),
        )
    return tuple(c for link, group in by_link.items() for c in _enclosed(link, group, late))


def collision_solids(robot: Robot, packages: Sequence[Path] = ()) -> Iterable[Solid]:
    """Return the collision geometry that a robot's file states, each solid in the frame of its link; nothing if it has none."""
    if robot.source.format == "urdf":
        return urdf_shapes(robot, packages)
    if robot.source.format == "mjcf":
        return mjcf_shapes(robot)
    return ()


def _enclosed(link: str, shapes: Sequence[Solid], late: Callable[[], bool]) -> tuple[Capsule, ...]:
    if len(shapes) > 1:
        together = capsules_around(link, np.concatenate([s.triangles for s in shapes]), link, late)
        if len(together) == 1 or len(shapes) > MANY:
            return together
    capsules: list[Capsule] = []
    for shape in shapes:
        if shape.capsule is not None:
            capsules.append(shape.capsule)
        else:
            capsules += capsules_around(link, shape.triangles, shape.place, late)
    return tuple(capsules)
