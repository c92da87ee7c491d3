"""A moving arm as lines: a strip of stick figures, and the points that the page's script turns into a film."""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from taupi.model.robot import Robot
from taupi.report.skeleton import drawing_plane, skeleton

PANES, PANE = 7, 170  # figures of a strip, and the width of one
FRAMES_A_SECOND, FRAMES = 25, 500  # of the film; beyond so many it has fewer a second, and moves evenly in between
FINE = 2000  # whole numbers from the middle of a film to its edge
AZIMUTH, ELEVATION = np.deg2rad(-55), np.deg2rad(22)
FAR = 1e3  # m or rad: a joint that ran away is drawn no further
# Light and dark colours are the page's; a strip in a file of its own has these.
_STYLE = (
    "path{fill:none;stroke-linecap:round;stroke-linejoin:round}.link{stroke-width:5}.joint{stroke-width:10}.ghost{stroke:#b9c4cf}"
    "text{font:13px sans-serif;fill:#5c6b7a;text-anchor:middle}.hub{stroke:#fff;stroke-width:3}"
    ".c0{stroke:#c2374b}.c1{stroke:#1f6fb4}.c2{stroke:#2f8f3e}.c3{stroke:#e08a2e}"
    ".c4{stroke:#7a55a6}.c5{stroke:#0f8b8d}.c6{stroke:#8c564b}.c7{stroke:#c95f97}"
)


@dataclass(frozen=True, eq=False)
class Figures:
    """Arms in motion: each arm's points (frames, points, 3), and how they are joined to links and joints."""

    time: np.ndarray
    names: tuple[str, ...]
    styles: tuple[str, ...]
    points: tuple[np.ndarray, ...]
    ends: tuple[float, ...]  # when each stopped: it is not drawn afterwards
    links: tuple[tuple[int, ...], ...]
    joints: tuple[int, ...]
    tip: int
    plane: tuple[int, int] | None

    @property
    def centre(self) -> np.ndarray:
        """The middle of the box around all of them."""
        stacked = np.concatenate([p.reshape(-1, 3) for p in self.points])
        return (stacked.min(axis=0) + stacked.max(axis=0)) / 2

    @property
    def reach(self) -> float:
        """The largest distance from the middle."""
        return max(float(np.linalg.norm(p - self.centre, axis=-1).max()) for p in self.points) or 1.0

    def projected(self, points: np.ndarray) -> np.ndarray:
        """Return points (..., 3) as (..., 2) on the page, right and up, in metres from the middle."""
        p = points - self.centre
        if self.plane is not None:
            return p[..., list(self.plane)]
        ca, sa, ce, se = np.cos(AZIMUTH), np.sin(AZIMUTH), np.cos(ELEVATION), np.sin(ELEVATION)
        return np.stack(
            [-sa * p[..., 0] + ca * p[..., 1], -se * (ca * p[..., 0] + sa * p[..., 1]) + ce * p[..., 2]], -1
        )


def figures(robot: Robot, time: np.ndarray, arms: Sequence[tuple[str, str, np.ndarray, np.ndarray]]) -> Figures:
    """Return arms (name, style, their own times (N,), q (N, n)) at common times."""
    sampled = []
    for _, _, own, q in arms:
        rows = np.clip(np.searchsorted(own, time + 1e-12, side="right") - 1, 0, len(own) - 1)
        sampled.append(np.clip(np.nan_to_num(q[rows], posinf=FAR, neginf=-FAR), -FAR, FAR))
    drawn = skeleton(robot, np.concatenate(sampled), ("tip",))
    frames = len(drawn.links)
    corners = drawn.links.reshape(frames, -1, 3)
    tips = drawn.frames[:, :1, :, 3]
    carrier = drawn.carriers[:, :1]
    base = np.broadcast_to(drawn.base, (frames, 1, 3))
    every = np.concatenate([base, corners, carrier, tips], axis=1)
    kept, place = _distinct(every)
    count = len(robot.joints)
    links = [place[1 + 4 * i : 5 + 4 * i] for i in range(count)] + [place[1 + 4 * count :]]
    joined = tuple(tuple(dict.fromkeys(link)) for link in links)
    points = np.split(every[:, kept], len(arms))
    return Figures(
        np.asarray(time, dtype=float),
        tuple(a[0] for a in arms),
        tuple(a[1] for a in arms),
        tuple(points),
        tuple(float(a[2][-1]) for a in arms),
        tuple(link for link in joined if len(link) > 1),
        tuple(dict.fromkeys(place[2 + 4 * i] for i in range(count))),
        place[-1],
        drawing_plane(drawn),
    )


def _distinct(points: np.ndarray) -> tuple[list[int], list[int]]:
    """Return which of points (frames, count, 3) differ from all before them at some time, and of each which one it is."""
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


def strip(robot: Robot, arms: Sequence[tuple[str, str, np.ndarray, np.ndarray]], alone: bool = False) -> str:
    """Return the arms at seven moments, side by side, as SVG; `alone` has its own colours, for a file."""
    stop = max(float(own[-1]) for _, _, own, _ in arms)
    made = figures(robot, np.linspace(0.0, stop, PANES), arms)
    flat = [made.projected(p) for p in made.points]
    low = np.min([f.min(axis=(0, 1)) for f in flat], axis=0)
    high = np.max([f.max(axis=(0, 1)) for f in flat], axis=0)
    span = np.maximum(high - low, 1e-9)
    scale = min((PANE - 24) / span[0], 1.3 * PANE / span[1])
    height = float(scale * span[1]) + 44
    panes = []
    for k, t in enumerate(made.time):
        shift = np.array([k * PANE + PANE / 2, 10 + scale * span[1] / 2])
        middle = (low + high) / 2
        put = [shift + (f[k] - middle) * [scale, -scale] for f in flat]
        each = zip(put, made.styles, made.ends, strict=True)
        drawn = "".join(_arm(p, made, style) for p, style, end in each if t <= end + 1e-9)
        panes.append(f'{drawn}<text x="{shift[0]:.1f}" y="{height - 8:.1f}">{t:.4g} s</text>')
    told = html.escape(f"{robot.name} at {PANES} moments: {', '.join(made.names)}")
    size = f'viewBox="0 0 {PANES * PANE} {height:.0f}"'
    own = f' xmlns="http://www.w3.org/2000/svg" width="{PANES * PANE}" height="{height:.0f}"' if alone else ""
    style = f"<style>{_STYLE}</style>" if alone else ""
    return f'<svg class="strip"{own} {size} role="img" aria-label="{told}">{style}{"".join(panes)}</svg>'


def _arm(points: np.ndarray, made: Figures, style: str) -> str:
    lines = "".join("M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points[list(link)]) for link in made.links)
    dots = "".join(f"M{x:.1f} {y:.1f}h0" for x, y in points[list(made.joints)])
    parts = f'<path class="link {style}" d="{lines}"/>'
    return (
        parts if style == "ghost" else f'{parts}<path class="joint {style}" d="{dots}"/><path class="hub" d="{dots}"/>'
    )


# The film -------------------------------------------------------------------------------------------------------------


def film(robot: Robot, arms: Sequence[tuple[str, str, np.ndarray, np.ndarray]]) -> str:
    """Return the arms in motion: a picture of their last moment, the points of all, and what starts and stops them."""
    stop = max(float(own[-1]) for _, _, own, _ in arms)
    count = int(min(FRAMES, max(2, np.ceil(FRAMES_A_SECOND * stop) + 1)))
    made = figures(robot, np.linspace(0.0, stop, count), arms)
    centre, reach = made.centre, made.reach
    data = {
        "stop": stop,
        "plane": made.plane,
        "view": [AZIMUTH, ELEVATION],
        "fine": FINE,
        "floor": float((np.zeros(3) - centre)[2] / reach * FINE) if made.plane is None else None,
        "base": np.rint((made.points[0][0, 0] - centre) / reach * FINE).astype(int).tolist(),
        "links": made.links,
        "joints": made.joints,
        "tip": made.tip,
        "arms": [
            {
                "style": s,
                "end": e + 1e-9,
                "frames": np.rint((p - centre) / reach * FINE).astype(int).reshape(count, -1).tolist(),
            }
            for s, e, p in zip(made.styles, made.ends, made.points, strict=True)
        ],
    }
    legend = "".join(
        f'<span class="key {s}">{html.escape(n)}</span>' for n, s in zip(made.names, made.styles, strict=True)
    )
    hint = "" if made.plane is not None else '<span class="hint soft">drag to look from elsewhere</span>'
    packed = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    size = int(1.08 * FINE)
    last = np.stack([made.projected(p[-1]) for p in made.points]) / reach * FINE * [1, -1]
    still = "".join(_arm(p, made, s) for p, s in zip(last, made.styles, strict=True))
    return (
        f'<figure class="film"><figcaption>{html.escape(robot.name)} {legend}{hint}</figcaption>'
        f'<svg viewBox="{-size} {-size} {2 * size} {2 * size}" role="img" aria-label="the arm in motion">{still}</svg>'
        '<div class="controls"><button type="button" aria-label="play or stop">play</button>'
        f'<input type="range" min="0" max="{stop!r}" step="any" value="{stop!r}" aria-label="time">'
        f"<output>{stop:.2f} s</output></div>"
        f'<script type="application/json">{packed}</script></figure>'
    )
