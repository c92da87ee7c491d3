"""A film of moving arms: the points of all frames, and the controls; the page's script draws it, solid and lit.

Links are the surfaces in the description, if it has any, else tubes; the reference that an arm follows is a pale
line.
"""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from taupi.excitation.geometry.arrangement import Arrangement
from taupi.excitation.geometry.distances import segment_program
from taupi.model.robot import Robot
from taupi.reporting.link_meshes import LinkMesh, link_meshes
from taupi.reporting.skeleton import AZIMUTH, ELEVATION, FINE, drawing_plane, skeleton

PANES, PANE = 7, 170  # how many figures a strip has, and the width of one
FAR = 1e3  # m or rad: a joint that ran away is drawn at most this far
# A page has its own light and dark colours; a strip in a separate file has these.
_STYLE = (
    "path{fill:none;stroke-linecap:round;stroke-linejoin:round}.link{stroke-width:5}.joint{stroke-width:10}.ghost{stroke:#b9c4cf}"
    "text{font:13px sans-serif;fill:#5c6b7a;text-anchor:middle}.hub{stroke:#fff;stroke-width:3}"
    ".c0{stroke:#c2374b}.c1{stroke:#1f6fb4}.c2{stroke:#2f8f3e}.c3{stroke:#e08a2e}"
    ".c4{stroke:#7a55a6}.c5{stroke:#0f8b8d}.c6{stroke:#8c564b}.c7{stroke:#c95f97}"
    ".capsules{opacity:.25}.capsules path{stroke:#1f6fb4}"
)


class DrawnArm(NamedTuple):
    """An arm to draw: its name, its class in the style sheet, its times (N,) and its configurations q (N, n)."""

    name: str
    style: str
    time: np.ndarray
    q: np.ndarray


@dataclass(frozen=True, eq=False)
class MovingArms:
    """Arms at common times (frames,): the points of each (frames, points, 3), and which points are links and joints.

    `capsules` are the two ends of each, as points, and its radius (m). `surfaces` are those that a description draws, and for
    each three points of its frame: the origin, and those at one metre along x and y.
    """

    time: np.ndarray
    names: tuple[str, ...]
    styles: tuple[str, ...]
    points: tuple[np.ndarray, ...]
    ends: tuple[float, ...]  # when each stops: it is not drawn after that
    links: tuple[tuple[int, ...], ...]
    joints: tuple[int, ...]
    tip: int
    plane: tuple[int, int] | None
    capsules: tuple[tuple[int, int, float], ...] = ()
    surfaces: tuple[tuple[LinkMesh, int, int, int], ...] = ()

    @cached_property
    def _arm_points(self) -> np.ndarray:
        """The points of all arms (count, 3), except those that only define the x and y axes of a frame."""
        aside = {k for _, _, *directions in self.surfaces for k in directions}
        kept = [k for k in range(self.points[0].shape[1]) if k not in aside]
        return np.concatenate([p[:, kept].reshape(-1, 3) for p in self.points])

    @cached_property
    def centre(self) -> np.ndarray:
        """The middle of the box around all of them."""
        stacked = self._arm_points
        return (stacked.min(axis=0) + stacked.max(axis=0)) / 2

    @cached_property
    def reach(self) -> float:
        """The largest distance from the middle, capsules and surfaces included."""
        thick = max((r for *_, r in self.capsules), default=0.0)
        size = max((float(np.linalg.norm(m.vertices, axis=1).max()) for m, *_ in self.surfaces), default=0.0)
        return float(np.linalg.norm(self._arm_points - self.centre, axis=1).max()) + max(thick, 0.5 * size) or 1.0

    def projected(self, points: np.ndarray) -> np.ndarray:
        """Return points (..., 3) as (..., 2) on the page, right and up, in metres from the middle."""
        p = points - self.centre
        if self.plane is not None:
            return p[..., list(self.plane)]
        ca, sa, ce, se = np.cos(AZIMUTH), np.sin(AZIMUTH), np.cos(ELEVATION), np.sin(ELEVATION)
        return np.stack(
            [-sa * p[..., 0] + ca * p[..., 1], -se * (ca * p[..., 0] + sa * p[..., 1]) + ce * p[..., 2]], -1
        )


def moving_arms(
    robot: Robot,
    time: np.ndarray,
    arms: Sequence[DrawnArm],
    space: Arrangement | None = None,
    surfaces: Sequence[LinkMesh] = (),
) -> MovingArms:
    """Return arms at common times (frames,), with the capsules of `space`; each holds its configuration from before a time.

    `surfaces` are those of the links, in frames of the robot.
    """
    sampled = []
    for arm in arms:
        rows = np.clip(np.searchsorted(arm.time, time + 1e-12, side="right") - 1, 0, len(arm.time) - 1)
        sampled.append(np.clip(np.nan_to_num(arm.q[rows], posinf=FAR, neginf=-FAR), -FAR, FAR))
    q = np.concatenate(sampled)
    drawn = skeleton(robot, q, ("tip", *(mesh.frame for mesh in surfaces)))
    frames = len(drawn.links)
    corners = drawn.links.reshape(frames, -1, 3)
    tips = drawn.frames[:, :1, :, 3]
    carrier = drawn.carriers[:, :1]
    base = np.broadcast_to(drawn.base, (frames, 1, 3))
    bodies = () if space is None else space.bodies
    ends = segment_program(space).compile("numpy")(q) if space is not None and bodies else np.zeros((frames, 0, 3))
    origins = drawn.frames[:, 1:, :, 3:]
    triads = np.concatenate([origins, origins + drawn.frames[:, 1:, :, :2]], axis=3).swapaxes(2, 3)
    every = np.concatenate([base, corners, carrier, tips, ends.reshape(frames, -1, 3)], axis=1)
    kept, place = _distinct(every)
    count = len(robot.joints)
    tip, segments = 4 * count + 2, place[4 * count + 3 :]
    first = len(kept)
    links = [place[1 + 4 * i : 5 + 4 * i] for i in range(count)] + [place[tip - 1 : tip + 1]]
    joined = tuple(tuple(dict.fromkeys(link)) for link in links)
    points = np.split(np.concatenate([every[:, kept], triads.reshape(frames, -1, 3)], axis=1), len(arms))
    return MovingArms(
        np.asarray(time, dtype=float),
        tuple(arm.name for arm in arms),
        tuple(arm.style for arm in arms),
        tuple(points),
        tuple(float(arm.time[-1]) for arm in arms),
        tuple(link for link in joined if len(link) > 1),
        tuple(dict.fromkeys(place[2 + 4 * i] for i in range(count))),
        place[tip],
        drawing_plane(drawn),
        tuple((segments[2 * k], segments[2 * k + 1], body.r) for k, body in enumerate(bodies)),
        tuple((mesh, *(first + 3 * k + i for i in range(3))) for k, mesh in enumerate(surfaces)),  # type: ignore[misc]
    )


def _distinct(points: np.ndarray) -> tuple[list[int], list[int]]:
    """Return the indices of distinct points (frames, count, 3), and for every point which of these it is."""
    kept: list[int] = []
    place: list[int] = []
    near = 1e-9 * max(1.0, float(np.abs(points).max()))
    for k in range(points.shape[1]):
        same = [j for j, i in enumerate(kept) if np.abs(points[:, k] - points[:, i]).max() < near]
        place.append(same[0] if same else len(kept))
        if not same:
            kept.append(k)
    return kept, place


# The strip ------------------------------------------------------------------------------------------------------------


def strip(robot: Robot, arms: Sequence[DrawnArm], alone: bool = False, space: Arrangement | None = None) -> str:
    """Return the arms at seven moments, side by side, as SVG; `alone` includes colours, for a separate file.

    Where there is a `space`, its capsules are drawn around the links.
    """
    stop = max(float(arm.time[-1]) for arm in arms)
    moving = moving_arms(robot, np.linspace(0.0, stop, PANES), arms, space)
    flat = [moving.projected(p) for p in moving.points]
    thick = max((r for *_, r in moving.capsules), default=0.0)
    low = np.min([f.min(axis=(0, 1)) for f in flat], axis=0) - thick
    high = np.max([f.max(axis=(0, 1)) for f in flat], axis=0) + thick
    span = np.maximum(high - low, 1e-9)
    scale = min((PANE - 24) / span[0], 1.3 * PANE / span[1])
    height = float(scale * span[1]) + 44
    panes = []
    for k, t in enumerate(moving.time):
        shift = np.array([k * PANE + PANE / 2, 10 + scale * span[1] / 2])
        middle = (low + high) / 2
        put = [shift + (f[k] - middle) * [scale, -scale] for f in flat]
        each = zip(put, moving.styles, moving.ends, strict=True)
        drawn = "".join(drawn_arm(p, moving, style, scale) for p, style, end in each if t <= end + 1e-9)
        panes.append(f'{drawn}<text x="{shift[0]:.1f}" y="{height - 8:.1f}">{t:.3g} s</text>')
    description = html.escape(f"{robot.name} at {PANES} moments: {', '.join(moving.names)}")
    size = f'viewBox="0 0 {PANES * PANE} {height:.0f}"'
    own = f' xmlns="http://www.w3.org/2000/svg" width="{PANES * PANE}" height="{height:.0f}"' if alone else ""
    style = f"<style>{_STYLE}</style>" if alone else ""
    return f'<svg class="strip"{own} {size} role="img" aria-label="{description}">{style}{"".join(panes)}</svg>'


def drawn_arm(points: np.ndarray, moving: MovingArms, style: str, scale: float) -> str:
    """Return an arm as SVG: its points on the page (points, 2), at `scale` units per metre."""
    lines = "".join("M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points[list(link)]) for link in moving.links)
    dots = "".join(f"M{x:.1f} {y:.1f}h0" for x, y in points[list(moving.joints)])
    around = "".join(
        f'<path d="M{_place(points[a])}L{_place(points[b])}" stroke-width="{2 * r * scale:.1f}"/>'
        for a, b, r in moving.capsules
    )
    parts = f'<g class="capsules">{around}</g>' if around else ""
    parts += f'<path class="link {style}" d="{lines}"/>'
    return (
        parts if style == "ghost" else f'{parts}<path class="joint {style}" d="{dots}"/><path class="hub" d="{dots}"/>'
    )


def _place(point: np.ndarray) -> str:
    return f"{point[0]:.1f} {point[1]:.1f}"


FRAME_RATE, FRAMES = 25, 500  # Hz, and the largest number of frames; a longer film has fewer per second
MOST = 350  # triangles of a link's surface
TUBE = 0.028  # of the reach: the radius of a tube


def film(robot: Robot, arms: Sequence[DrawnArm], space: Arrangement | None = None) -> str:
    """Return the arms in motion as HTML: a picture of their first moment, the points of all frames, and the controls.

    Where there is a `space`, its capsules are drawn around the links.
    """
    stop = max(float(arm.time[-1]) for arm in arms)
    count = int(min(FRAMES, max(2, np.ceil(FRAME_RATE * stop) + 1)))
    surfaces = link_meshes(robot, MOST).meshes
    moving = moving_arms(robot, np.linspace(0.0, stop, count), arms, space, surfaces)
    legend = "".join(
        f'<span class="key {s}">{html.escape(n)}</span>' for n, s in zip(moving.names, moving.styles, strict=True)
    )
    legend += '<span class="key capsule">capsules</span>' if moving.capsules else ""
    hint = "" if moving.plane is not None else '<span class="hint soft">drag to rotate the view</span>'
    packed = json.dumps(_data(moving, stop), separators=(",", ":")).replace("<", "\\u003c")
    size = int(1.08 * FINE)
    first = np.stack([moving.projected(p[0]) for p in moving.points]) / moving.reach * FINE * [1, -1]
    each = zip(first, moving.styles, strict=True)
    still = "".join(drawn_arm(p, moving, s, FINE / moving.reach) for p, s in each)
    words = f"{html.escape(robot.name)} in motion; arrow keys rotate the view"
    return (
        f'<figure class="film"><figcaption>{html.escape(robot.name)} {legend}{hint}</figcaption>'
        f'<svg viewBox="{-size} {-size} {2 * size} {2 * size}" role="img" aria-label="{words}">{still}</svg>'
        '<div class="controls"><button type="button" aria-label="play or stop">play</button>'
        f'<input type="range" min="0" max="{stop!r}" step="any" value="0" aria-label="time">'
        "<output>0.00 s</output></div>"
        f'<script type="application/json">{packed}</script></figure>'
    )


def _data(moving: MovingArms, stop: float) -> dict[str, object]:
    """Return the film as whole numbers about its middle."""
    centre, scale = moving.centre, FINE / moving.reach

    def whole(points: np.ndarray) -> np.ndarray:
        return np.rint(scale * points).astype(int)

    return {
        "stop": stop,
        "plane": moving.plane,
        "view": [AZIMUTH, ELEVATION],
        "fine": FINE,
        "tube": round(TUBE * FINE),
        "metre": scale,
        "floor": float(-centre[2] * scale) if moving.plane is None else None,
        "base": whole(moving.points[0][0, 0] - centre).tolist(),
        "links": moving.links,
        "joints": moving.joints,
        "tip": moving.tip,
        "capsules": [[a, b, round(2 * r * scale)] for a, b, r in moving.capsules],
        "surfaces": [
            {"at": list(at), "vertices": whole(m.vertices).ravel().tolist(), "faces": m.faces.ravel().tolist()}
            for m, *at in moving.surfaces
        ],
        "arms": [
            {"style": s, "end": e + 1e-9, "frames": whole(p - centre).reshape(len(p), -1).tolist()}
            for s, e, p in zip(moving.styles, moving.ends, moving.points, strict=True)
        ],
    }
