"""Tables 3 to 6 of Zollo et al. (2014) in their printed layout, with a line of ours where there can be one."""

from __future__ import annotations

from typing import Any

from taupi.papers.study import Table
from taupi.papers.zollo2014 import published
from taupi.papers.zollo2014.puma import Outcome

# By number: title, first and last parameter, and how many stand side by side.
SHAPES = {
    3: ("joint elasticity and masses", 1, 12, 12),
    4: ("centers of mass", 13, 30, 9),
    5: ("inertia tensors", 31, 66, 9),
    6: ("motor inertias and friction", 67, 84, 9),
}
ZERO, TOGETHER = "no effect", "only in sums"


def printed_tables(outcome: Outcome, pipeline: str) -> dict[str, Table]:
    """Return Tables 3 to 6: real and estimated values as printed, and what one of our pipelines finds for each single parameter.

    A parameter that least squares cannot find alone has a word in place of a number: its column is zero, or it is part of sums.
    """
    real, estimated = published.puma_tables()
    own = [_alone(outcome, name, pipeline) for name in published.puma_names()]
    tables = {}
    for number, (title, first, last, width) in SHAPES.items():
        blocks: list[tuple[Any, ...]] = []
        for start in range(first - 1, last, width):
            span = slice(start, start + width)
            blocks.append(("", *(f"π{k + 1}" for k in range(start, start + width))))
            blocks.append(("Real", *map(float, real[span])))
            blocks.append(("Estimated, printed", *map(float, estimated[span])))
            blocks.append((f"Ours, {pipeline}", *own[span]))
        heading = f"Table {number}: real and estimated parameters related to {title}, as printed, and ours"
        tables[f"table_{number}"] = Table(heading, tuple(blocks[0]), tuple(blocks[1:]))
    return tables


def _alone(outcome: Outcome, name: str, pipeline: str) -> float | str:
    base = outcome.puma.bench.base
    kind = base.classes[name]
    if kind == "unidentifiable":
        return ZERO
    return float(outcome.estimates[pipeline][base.names.index(name)]) if kind == "independent" else TOGETHER
