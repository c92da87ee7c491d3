"""The payload at a glance: its mass, and a picture of the body at the frame that carries it."""

from __future__ import annotations

import html
from typing import Any, ClassVar

import numpy as np

from taupi.reporting.body_views import body_views
from taupi.reporting.sections.base import figure, percent


class BodySection:
    """Figures, a sentence, and three views of an ellipsoid of the same mass and inertia."""

    name: ClassVar[str] = "body"
    title: ClassVar[str] = "The body"

    def fields(self, content: Any) -> dict[str, str]:
        """Return figures, sentence and picture."""
        load = content.load
        half, determined = load.intervals(), np.isfinite(load.stderr.inertia).any()
        tiles = [
            figure(f"{load.mass:.4g} kg", f"mass, 95 % interval ± {half.mass:.2g} kg", "" if load.present else "warn"),
            figure(f"{1000 * float(np.linalg.norm(load.com)):.0f} mm", f"from {load.frame} to the centre of mass"),
            figure(percent(load.before), "torque error on the log without the payload"),
            figure(percent(load.relative), "torque error with it"),
        ]
        shape = (
            "The ellipsoid is solid and has the same mass and inertia as the payload."
            if determined
            else "The log does not tell the inertia: the dashed ellipsoid is a likely body, not a measured one."
        )
        return {
            "figures": "".join(tiles),
            "sentence": html.escape(load.summary),
            "views": body_views(load),
            "shape": html.escape(shape),
        }
