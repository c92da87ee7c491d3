"""The payload at a glance: its mass, and a picture of the body at the frame that carries it."""

from __future__ import annotations

import html
from typing import Any, ClassVar

import numpy as np

from taupi.identification.payloads.payload_estimate import AXES, PayloadEstimate
from taupi.reporting.body_views import body_views, inertia_known, is_drawn
from taupi.reporting.sections.base import figure, percent


class BodySection:
    """Figures, a sentence, and three views of an ellipsoid of the same mass and inertia."""

    name: ClassVar[str] = "body"
    title: ClassVar[str] = "The body"

    def fields(self, content: Any) -> dict[str, str]:
        """Return figures, sentence and picture."""
        load = content.load
        half = load.intervals()
        tiles = [
            figure(f"{load.mass:.4g} kg", f"mass, 95 % interval ± {half.mass:.2g} kg", "" if load.present else "warn"),
            figure(f"{1000 * float(np.linalg.norm(load.com)):.0f} mm", f"from {load.frame} to the centre of mass"),
            figure(percent(load.before), "torque error on the log without the payload"),
            figure(percent(load.relative), "torque error with it"),
        ]
        return {
            "figures": "".join(tiles),
            "level": "" if load.present else " doubtful",
            "sentence": html.escape(load.summary),
            "views": body_views(load),
            "shape": html.escape(_shape(load)),
        }


def _shape(load: PayloadEstimate) -> str:
    """Return what the picture shows of the body, and what the log does not determine."""
    unknown = [axis for axis, error in zip(AXES, load.stderr.com, strict=True) if not np.isfinite(error)]
    along = f"The log does not determine where it lies along {' and '.join(unknown)}. " if unknown else ""
    return along + _ellipsoid(load)


def _ellipsoid(load: PayloadEstimate) -> str:
    if inertia_known(load):
        return "The ellipsoid is solid and has the same mass and inertia as the payload."
    if is_drawn(load):
        return "The log does not determine the inertia: the dashed ellipsoid is a likely body, not a measured one."
    return "The log does not determine the inertia, so no body is drawn."
