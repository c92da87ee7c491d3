"""A film of moving arms: the points of all frames, and the controls; the page's script draws it, solid and lit.

Links are the surfaces in the description, if it has any, else tubes; the reference that an arm follows is a pale
line.
"""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from taupi.excitation.geometry.arrangement import Arrangement
from taupi.model.robot import Robot
from taupi.reporting.link_meshes import link_meshes
from taupi.reporting.stick_figures import Arm, MovingArms, drawn_arm, moving_arms
from taupi.reporting.viewpoint import AZIMUTH, ELEVATION, FINE

FRAME_RATE, FRAMES = 25, 500  # Hz, and the largest number of frames; a longer film has fewer per second
MOST = 350  # triangles of a link's surface
TUBE = 0.028  # of the reach: the radius of a tube


def film(robot: Robot, arms: Sequence[Arm], space: Arrangement | None = None) -> str:
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


def _data(moving: MovingArms, stop: float) -> dict[str, Any]:
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
