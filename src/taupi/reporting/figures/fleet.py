"""The picture of a fleet: each arm's own parameters beside the typical arm, those that stand out in red."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from taupi.identification.fleet.fleet_fit import Fleet
from taupi.reporting.arm_values import ArmValues, arm_values
from taupi.reporting.figures.figure import Axes, PathLike, check_path, finished, new_figure, plot
from taupi.reporting.figures.labels import drawn_text
from taupi.reporting.figures.robot import INK
from taupi.reporting.figures.validation import PREDICTED, RESIDUAL, RULE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_NAMES = 12  # of arms below an axis; in larger fleets only those that stand out are named


@plot.register(Fleet)
def plot_fleet(fleet: Fleet, path: PathLike | None = None, force: bool = False) -> Figure:
    """Draw each own parameter of each arm with its 95 % interval, one panel per parameter; see `plot`.

    What an arm's logs do not determine is a hollow dot at the value of a typical arm.
    """
    check_path(path, force)
    panels = arm_values(fleet)
    columns = min(len(panels), 2 if len(panels) <= 6 else 3)
    rows = -(-len(panels) // columns)
    figure = new_figure(4.2 * columns, 1.9 * rows + 0.6)
    every = np.ravel(figure.subplots(rows, columns, squeeze=False))
    for axes, panel in zip(every, panels, strict=False):
        _draw(axes, panel)
    for axes in every[len(panels) :]:
        axes.set_visible(False)
    count = len({each.arm for each in fleet.outliers()})
    words = "none stands out" if not count else f"{count} stands out" if count == 1 else f"{count} stand out"
    name = drawn_text(str(fleet.record.get("robot", "robot")))
    figure.suptitle(f"{name}: {len(fleet)} arms, {words}", x=0.01, ha="left", fontsize=10, color=INK)
    return finished(figure, path, force)


def _draw(axes: Axes, panel: ArmValues) -> None:
    x = np.arange(len(panel.arms))
    axes.axhline(panel.typical, color=INK, lw=0.8, ls="--")
    known = panel.determined
    axes.plot(x[~known], np.full(np.sum(~known), panel.typical), "o", ms=3.5, mfc="none", mec=INK, mew=0.8)
    for mask, colour in ((known & ~panel.out, RESIDUAL), (known & panel.out, PREDICTED)):
        axes.errorbar(
            x[mask], panel.values[mask], yerr=panel.half[mask], fmt="o", ms=3.5, lw=1.1, capsize=2, color=colour
        )
    named = x if len(x) <= _MOST_NAMES else x[panel.out]
    axes.set_xticks(named, [drawn_text(panel.arms[k]) for k in named], fontsize=7, rotation=30, ha="right")
    axes.set_title(drawn_text(panel.name), fontsize=9, loc="left", color=INK)
    axes.set_ylabel(panel.unit, fontsize=8, color=INK)
    axes.tick_params(axis="y", labelsize=7, colors=INK)
    axes.grid(axis="y", color=RULE, lw=0.5)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
