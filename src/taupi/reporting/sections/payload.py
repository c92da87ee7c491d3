"""The page of a payload: its content, and its sections, in the order of PAYLOAD_SECTIONS."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from taupi.identification.payloads.payload_estimate import AXES, PayloadEstimate
from taupi.reporting.ellipsoids import body_views, inertia_known, is_drawn
from taupi.reporting.page import page
from taupi.reporting.sections.base import ProvenanceSection, Section, figure, listed, percent, table
from taupi.tables import with_error


@dataclass(frozen=True, eq=False)
class PayloadContent:
    """A payload on a page."""

    load: PayloadEstimate

    @property
    def title(self) -> str:
        """The heading of the page."""
        return f"Payload of {self.load.fit.robot.name}"

    @property
    def subtitle(self) -> str:
        """The line below the heading."""
        return f"{', '.join(self.load.logs)}, at {self.load.frame}"

    @property
    def provenance(self) -> dict[str, object]:
        """Where it comes from."""
        return dict(self.load.to_dict()["provenance"])


def payload_page(load: PayloadEstimate, sections: Sequence[Section] | None = None) -> str:
    """Return the page of a payload as the text of an HTML file."""
    return page(PayloadContent(load), PAYLOAD_SECTIONS if sections is None else sections)


class BodySection:
    """Figures, a sentence, and three views of an ellipsoid of the same mass and inertia."""

    name = "body"
    title = "The body"
    template = """
<div class="verdict$level"><b>$sentence</b></div>
<div class="figures">$figures</div>
$views
<p class="soft">The frame that carries the payload, seen along its z, y and x axis; the cross is the centre of mass
with its 95 % intervals. $shape</p>
"""

    def fields(self, content: PayloadContent) -> dict[str, str]:
        """Return figures, sentence and picture."""
        load = content.load
        half = load.intervals()
        if load.mass_is_seen:
            tiles = [
                figure(
                    f"{with_error(load.mass, load.stderr.mass)[0]} kg",
                    f"mass, 95 % interval ± {half.mass:.2g} kg",
                    "" if load.present else "warn",
                ),
                figure(f"{1000 * float(np.linalg.norm(load.com)):.0f} mm", f"from {load.frame} to the centre of mass"),
            ]
        else:
            moments = zip(AXES, load.moment, load.moment_intervals(), strict=True)
            tiles = [
                figure(f"{1000 * h:.3g} g m", f"first moment along {a}, 95 % interval ± {1000 * e:.2g} g m")
                for a, h, e in moments
                if np.isfinite(e)
            ]
        tiles += [
            figure(percent(load.before), "torque error on the log without the payload"),
            figure(percent(load.relative), "torque error with it"),
        ]
        return {
            "figures": "".join(tiles),
            "level": "" if load.present else " doubtful",
            "sentence": html.escape(load.summary),
            "views": body_views(load) if load.mass_is_seen else "",
            "shape": html.escape(_shape(load)) if load.mass_is_seen else "The mass is not seen, so no body is drawn.",
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


class NumbersSection:
    """Mass, centre of mass and inertia about it, each with its standard error and interval."""

    name = "numbers"
    title = "Numbers"
    template = """
$table
<p class="soft">The inertia is about the centre of mass, in the axes of the frame.</p>
$notes
"""

    def fields(self, content: PayloadContent) -> dict[str, str]:
        """Return the table and the notes."""
        titles, *rows = content.load.rows()
        return {"table": table(titles, "name number number number unit", rows), "notes": listed(content.load.notes)}


# `taupi.report(load, ...)`; a section gets a `PayloadContent`.
PAYLOAD_SECTIONS: tuple[Section, ...] = (BodySection(), NumbersSection(), ProvenanceSection())
