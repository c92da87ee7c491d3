"""The motion and its torque beside their limits, and what is proven about them for all times."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from taupi.excitation.limits.certificates import Certificate
from taupi.reporting.excitation_content import ExcitationContent
from taupi.reporting.sections.base import cell, head, number, percent


class LimitsSection:
    """A chart for each kind of limit, and the table of proofs."""

    name: ClassVar[str] = "limits"
    title: ClassVar[str] = "Limits"

    def fields(self, content: ExcitationContent) -> dict[str, str]:
        """Return charts and the table."""
        plan, limits = content.plan, content.plan.limits
        q, qd, qdd = (state @ limits.spread.T for state in content.states)
        charts = [
            content.shares("position from mid-range", limits.joints, q - limits.middle, limits.half),
            content.shares("speed", limits.joints, qd, limits.velocity),
            content.shares("acceleration", limits.joints, qdd, limits.acceleration),
        ]
        if np.any(plan.robot.parameters.values):
            charts.append(content.shares("torque", plan.robot.joint_names, content.torque, limits.effort))
        proofs = [c for c in plan.certificates.values() if isinstance(c, Certificate)]
        return {"charts": "".join(charts), "proofs": "".join(map(_rows, proofs)), "head": _HEAD}


_HEAD = head(("limit", "joint", "at most", "limit", "used", "by"), (2, 3, 4))


def _rows(proof: Certificate) -> str:
    values = zip(proof.joints, proof.bound, proof.limit, proof.used, strict=True)
    return "".join(
        f"<tr>{cell(proof.quantity)}{cell(joint, 'name')}{cell(number(bound), 'number')}{cell(number(limit), 'number')}"
        f"{cell(percent(used), 'number')}{cell(proof.how)}</tr>"
        for joint, bound, limit, used in values
    )
