"""The bodies of an arm in three dimensions: the solid ellipsoid of each link, as described and as identified.

Seen from far away an ellipsoid {c + A u, |u| <= 1} is an ellipse: with P the projection, that of P A A^T P^T about P c.
"""

from __future__ import annotations

import html
import json
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from taupi.errors import TaupiError
from taupi.identification.results.fit import Fit
from taupi.model.robot import Robot
from taupi.model.zero_pose import ZeroPose, zero_pose
from taupi.reporting.link_body import Body, body_of
from taupi.reporting.viewpoint import AZIMUTH, ELEVATION, FINE


@dataclass(frozen=True, eq=False)
class BodyComparison:
    """The links of a `robot` by name, each with its body as described and as identified; None for a body without mass.

    `pose` is where they are drawn. A link whose mass does not matter may get a mass of almost zero, and then a body that
    is longer than the arm: such a body is not drawn.
    """

    robot: Robot
    links: tuple[str, ...]
    described: tuple[Body | None, ...]
    identified: tuple[Body | None, ...]
    pose: ZeroPose

    def drawn(self, body: Body | None) -> bool:
        """Return whether a body is worth drawing."""
        return body is not None and float(2 * body.lengths.max()) <= self.pose.length


def compare_bodies(fit: Fit) -> BodyComparison | None:
    """Return the bodies of a fit that has standard parameters, None for other fits and for a robot with a free base."""
    if fit.standard is None or fit.robot.floating:
        return None
    try:
        pose = zero_pose(fit.robot)
    except TaupiError:  # a length without a value
        return None
    layout = fit.basis.standard.layout
    spans = [layout.link(k) for k in range(len(fit.robot.links))]
    described, identified = (tuple(body_of(np.asarray(v)[s]) for s in spans) for v in (fit.prior, fit.standard))
    if not any(described) and not any(identified):
        return None
    return BodyComparison(fit.robot, fit.robot.link_names, described, identified, pose)


def bodies_figure(bodies: BodyComparison) -> str:
    """Return the arm with all joints at zero and its bodies, as a figure that can be turned."""
    tubes = bodies.pose.lines
    placed = [(m[:3, :3], m[:3, 3]) for m in bodies.pose.links]
    shapes = [
        (kind, name, R @ body.com + p, R @ body.axes * body.lengths)
        for kind, group in (("described", bodies.described), ("identified", bodies.identified))
        for name, body, (R, p) in zip(bodies.links, group, placed, strict=True)
        if body is not None and bodies.drawn(body)
    ]
    everything = [np.concatenate(tubes), *(c + s * np.linalg.norm(A, axis=1) for _, _, c, A in shapes for s in (-1, 1))]
    stacked = np.vstack(everything)
    centre = (stacked.min(axis=0) + stacked.max(axis=0)) / 2
    reach = float(np.linalg.norm(stacked - centre, axis=1).max()) or 1.0
    scale = FINE / reach
    data = {
        "view": [AZIMUTH, ELEVATION],
        "tubes": [np.rint(scale * (t - centre)).astype(int).tolist() for t in tubes],
        "bodies": [
            {
                "kind": kind,
                "name": name,
                "centre": np.rint(scale * (c - centre)).astype(int).tolist(),
                "shape": np.rint(scale * A).astype(int).tolist(),
            }
            for kind, name, c, A in shapes
        ],
    }
    packed = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    size = int(1.05 * FINE)
    words = (
        f"{bodies.robot.name} with the inertia ellipsoids of its links, described and identified. Arrow keys turn it."
    )
    return (
        '<figure class="bodies"><figcaption>all joints at zero <span class="key described">described</span>'
        '<span class="key identified">identified</span><span class="hint soft">drag to rotate the view</span></figcaption>'
        f'<svg viewBox="{-size} {-size} {2 * size} {2 * size}" role="img" tabindex="0" aria-label="{html.escape(words)}">'
        f'{_still(data)}</svg><script type="application/json">{packed}</script></figure>'
    )


def _still(data: dict[str, Any]) -> str:
    """Return the picture as a page without scripts shows it."""
    ca, sa, ce, se = math.cos(AZIMUTH), math.sin(AZIMUTH), math.cos(ELEVATION), math.sin(ELEVATION)
    P = np.array([[-sa, ca, 0.0], [se * ca, se * sa, -ce]])
    parts = [
        f'<path class="tube" d="M{"L".join(f"{x:.0f} {y:.0f}" for x, y in np.array(t) @ P.T)}"/>' for t in data["tubes"]
    ]
    for body in data["bodies"]:
        (x, y), flat = P @ body["centre"], P @ np.array(body["shape"])
        values, v = np.linalg.eigh(flat @ flat.T)
        b, a = np.sqrt(np.clip(values, 0.0, None))
        turn = math.degrees(math.atan2(v[1, 1], v[0, 1]))
        parts.append(
            f'<ellipse class="{body["kind"]}" rx="{a:.0f}" ry="{b:.0f}" '
            f'transform="translate({x:.0f} {y:.0f}) rotate({turn:.1f})"><title>{html.escape(body["name"])}</title></ellipse>'
        )
    return "".join(parts)
