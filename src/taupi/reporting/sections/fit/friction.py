"""The friction of each joint: one row per joint, one column per kind of friction, and a curve over velocity with its data."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from taupi.identification.results.torque_parts import FRICTION_KINDS, friction_kind
from taupi.reporting.fit_content import FitContent, ParameterRow
from taupi.reporting.scatter import friction_chart
from taupi.reporting.sections.base import cell, head, number

_EXPLAINED = (
    "Dots are the measured torque minus everything identified except friction, over all logs drawn on this page; "
    "the line is the identified friction. Where many dots leave the line, there is friction that the model lacks."
)


class FrictionSection:
    """Friction joint by joint, with standard errors."""

    name: ClassVar[str] = "friction"
    title: ClassVar[str] = "Friction"

    def fields(self, content: FitContent) -> dict[str, str] | None:
        """Return the table; None if the fit has no friction."""
        joints: dict[str, dict[str, ParameterRow]] = {}
        for p in content.parameters:
            kind = friction_kind(p.name)
            if kind is not None:
                joints.setdefault(p.name.rpartition(".")[0], {})[kind] = p
        kinds = [kind for kind in FRICTION_KINDS if any(kind in row for row in joints.values())]
        if not kinds:
            return None
        rows = [
            "<tr>" + cell(owner, "name") + "".join(cell(_text(row.get(k)), "number") for k in kinds) + "</tr>"
            for owner, row in joints.items()
        ]
        titles = ["joint", *(FRICTION_KINDS[kind] for kind in kinds)]
        return {
            "table": f"{head(titles, range(1, len(titles)))}<tbody>{''.join(rows)}</tbody>",
            "curves": _curves(content, set(joints)),
        }


def _curves(content: FitContent, owners: set[str]) -> str:
    """Return the curve of each joint that has friction, over all logs that are drawn."""
    traces = [t for t in content.traces if t.parts is not None]
    if not traces:
        return ""
    charts = []
    for j, (joint, unit) in enumerate(zip(traces[0].joints, traces[0].units, strict=True)):
        if joint not in owners:
            continue
        v = np.concatenate([t.parts.velocity[:, j] for t in traces if t.parts])
        model = np.concatenate([t.parts.friction[:, j] for t in traces if t.parts])
        data = model + np.concatenate([t.residual[:, j] for t in traces])
        finite = np.isfinite(v) & np.isfinite(data) & np.isfinite(model)
        if finite.sum() > 1 and np.ptp(v[finite]) > 0:
            units = ("m/s" if unit == "N" else "rad/s", unit)
            charts.append(friction_chart(joint, units, v[finite], data[finite], model[finite]))
    return f'<p class="soft">{_EXPLAINED}</p><div class="charts">{"".join(charts)}</div>' if charts else ""


def _text(p: ParameterRow | None) -> str:
    if p is None:
        return ""
    unit = "" if p.unit == "1" else f" {p.unit}"
    return (
        f"{number(p.value)} ± {number(p.stderr, 2)}{unit}"
        if p.determined
        else f"{number(p.value)}{unit}, not determined"
    )
