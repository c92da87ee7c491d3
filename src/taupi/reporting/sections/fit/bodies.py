"""The bodies of the links, as described and as identified: a picture that can be rotated, and what has moved."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from taupi.reporting.bodies import BodyComparison, bodies_figure
from taupi.reporting.fit_content import FitContent
from taupi.reporting.link_body import Body
from taupi.reporting.sections.base import cell, head, number, percent


class BodiesSection:
    """An ellipsoid per link, twice, beside a table of masses, centres and sizes; and the torque error without identification."""

    name: ClassVar[str] = "bodies"
    title: ClassVar[str] = "The description, and what was identified"

    def fields(self, content: FitContent) -> dict[str, str] | None:
        """Return the picture and both tables; None if there is nothing to compare."""
        bodies = content.bodies
        if bodies is None and not content.described:
            return None
        errors = "".join(
            f"<tr>{cell(log, 'name')}{cell(role)}{cell(percent(fit), 'number')}{cell(percent(without), 'number')}</tr>"
            for log, role, fit, without in content.described
        )
        titles = ("log", "", "torque error, identified", "of the description alone")
        table = (
            f'<div class="wide"><table>{head(titles, (2, 3))}<tbody>{errors}</tbody></table></div>' if errors else ""
        )
        if bodies is None:
            return {"errors": table, "picture": "", "table": ""}
        each = zip(bodies.links, bodies.described, bodies.identified, strict=True)
        rows = "".join(_row(bodies, link, before, after) for link, before, after in each)
        names = ("link", "kg described", "identified", "centre moved, mm", "size described, mm", "identified")
        return {
            "errors": table,
            "picture": bodies_figure(bodies),
            "table": f'<div class="wide"><table>{head(names, range(1, 6))}<tbody>{rows}</tbody></table></div>',
        }


def _row(bodies: BodyComparison, link: str, described: Body | None, identified: Body | None) -> str:
    moved = (
        "-"
        if described is None or identified is None
        else number(1000 * float(np.linalg.norm(identified.com - described.com)), 3)
    )
    masses = [cell("-" if b is None else number(b.mass), "number") for b in (described, identified)]
    sizes = [cell(_size(bodies, b), "number") for b in (described, identified)]
    return f"<tr>{cell(link, 'name')}{''.join(masses)}{cell(moved, 'number')}{''.join(sizes)}</tr>"


def _size(bodies: BodyComparison, body: Body | None) -> str:
    """Return the three diameters of a body, the longest first."""
    if body is None:
        return "-"
    if not bodies.drawn(body):
        return "longer than the arm"
    return " x ".join(f"{2000 * v:.0f}" for v in sorted(body.lengths, reverse=True))
