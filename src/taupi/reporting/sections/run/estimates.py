"""What the laws have learnt: the parameters that moved most, over time, and all of them in a table."""

from __future__ import annotations

import html
from typing import ClassVar

import numpy as np

from taupi.control.law_trial import Trial
from taupi.reporting.chart import Line
from taupi.reporting.run_content import RunContent
from taupi.reporting.sections.base import cell, head, number

SHOWN = 8  # charts
FLOOR = 1e-3  # share of the largest parameter of the same unit that counts as a move


class EstimatesSection:
    """Charts of the parameters that moved most, with the truth; a table of all."""

    name: ClassVar[str] = "estimates"
    title: ClassVar[str] = "Parameters"

    def fields(self, content: RunContent) -> dict[str, str] | None:
        """Return charts and table."""
        learning = [t for t in content.trials if _learns(t)]
        if not learning:
            return None
        names = list(dict.fromkeys(n for t in learning for n in t.run.parameter_names))
        units = {
            n: u for t in learning if t.law for n, u in zip(t.law.parameters.names, t.law.parameters.units, strict=True)
        }
        moved = {n: max(_moves(t, n) for t in learning) for n in names}
        most = sorted(names, key=lambda n: -moved[n])[:SHOWN]
        charts = [_chart(content, learning, n, units.get(n, "")) for n in names if n in most]
        return {
            "payload": _payload(content, learning),
            "charts": "".join(charts),
            "shown": f"The {len(charts)} of {len(names)} that moved most, relative to their size.",
            "count": str(len(names)),
            "table": _table(learning, names, units),
        }


def _payload(content: RunContent, learning: list[Trial]) -> str:
    """Return a chart of the payload's mass, true and estimated; empty without a payload."""
    carried = {id(t): t.carried for t in learning if t.carried is not None}
    if not carried:
        return ""
    true = next((c[0] for t in learning if t.run is content.longest and (c := t.carried) is not None), None)
    beside = [] if true is None else [Line("true", "ghost", true)]
    drawn = content.chart("payload", "kg", lambda t: carried[id(t)][1] if id(t) in carried else None, beside)
    words = "The payload: the mass whose torque along the run is nearest to that of the estimate beyond the bare arm."
    return f'<div class="charts">{drawn}</div><p class="soft">{words}</p>'


def _learns(trial: Trial) -> bool:
    p = trial.run.parameters
    return p is not None and bool(trial.run.parameter_names) and bool((p != p[0]).any())


def _column(trial: Trial, name: str) -> np.ndarray | None:
    if trial.run.parameters is None or name not in trial.run.parameter_names:
        return None
    column: np.ndarray = trial.run.parameters[:, trial.run.parameter_names.index(name)]
    return column


def _true(trial: Trial, name: str) -> np.ndarray | None:
    """Return the true value over time (N,)."""
    if trial.truth is None or name not in trial.run.parameter_names:
        return None
    k = trial.run.parameter_names.index(name)
    return np.broadcast_to(trial.truth[..., k], (len(trial.run),))


def _moves(trial: Trial, name: str) -> float:
    column, true = _column(trial, name), _true(trial, name)
    if column is None:
        return 0.0
    p = trial.run.parameters
    size = max(float(np.abs(v).max()) for v in (column[:1], column if true is None else true))
    return float(np.ptp(column) / max(size, FLOOR * float(np.abs(p[0]).max() if p is not None else 1.0), 1e-12))


def _chart(content: RunContent, learning: list[Trial], name: str, unit: str) -> str:
    known = next((v for t in learning if t.run is content.longest and (v := _true(t, name)) is not None), None)
    beside = [] if known is None else [Line("true", "ghost", known)]
    return content.chart(name, unit, lambda t: _column(t, name) if t in learning else None, beside)


def _table(learning: list[Trial], names: list[str], units: dict[str, str]) -> str:
    titles = [
        "parameter",
        "unit",
        "true",
        "at first",
        *(f"at last, {t.name}" if len(learning) > 1 else "at last" for t in learning),
    ]
    rows = []
    for name in names:
        true = next((v for t in learning if (v := _true(t, name)) is not None), None)
        first = next(v for t in learning if (v := _column(t, name)) is not None)
        values = [
            None if true is None else true[-1],
            first[0],
            *(None if (v := _column(t, name)) is None else v[-1] for t in learning),
        ]
        numbers = "".join(cell("-" if v is None else number(float(v)), "number") for v in values)
        rows.append(f"<tr>{cell(name, 'name')}{cell(units.get(name, ''))}{numbers}</tr>")
    return f"{head([html.unescape(t) for t in titles], range(2, len(titles)))}<tbody>{''.join(rows)}</tbody>"
