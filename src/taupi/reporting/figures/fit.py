"""The picture of a fit: every identified parameter with its 95 % interval beside what the description says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from taupi.identification.results.fit import Fit
from taupi.model.parameters import printed_unit
from taupi.reporting.figures.figure import Axes, PathLike, check_path, finished, new_figure, plot
from taupi.reporting.figures.labels import drawn_text
from taupi.reporting.figures.robot import INK
from taupi.reporting.figures.validation import PREDICTED, RULE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PALE, PRIOR = "#b9c2cc", "#e08a2e"


@plot.register(Fit)
def plot_fit(fit: Fit, path: PathLike | None = None, force: bool = False) -> Figure:
    """Draw base parameters with their intervals, one panel per unit; pale ones could be zero; see `plot`."""
    check_path(path, force)
    units = fit.basis.parameters.units
    groups = [[k for k, u in enumerate(units) if u == unit] for unit in dict.fromkeys(units)]
    columns = _balanced([len(g) for g in groups], 2 if len(units) > 12 else 1)
    heights = [sum(len(groups[g]) + 2.5 for g in column) for column in columns]
    figure = new_figure(5.6 * len(columns), 0.8 + 0.17 * max(heights))
    parts = figure.subfigures(1, len(columns), squeeze=False)[0]
    for part, column in zip(parts, columns, strict=True):
        grid = part.add_gridspec(len(column), 1, height_ratios=[len(groups[g]) + 1 for g in column])
        for row, g in enumerate(column):
            _panel(part.add_subplot(grid[row]), fit, groups[g])
    first = figure.axes[0].get_legend_handles_labels()
    figure.legend(*first, loc="outside lower left", ncols=3, frameon=False, fontsize=8)
    title = f"{drawn_text(fit.robot.name)}: {len(fit.values)} base parameters by {fit.estimator}"
    figure.suptitle(title, x=0.01, ha="left", fontsize=10, color=INK)
    return finished(figure, path, force)


def _panel(axes: Axes, fit: Fit, rows: list[int]) -> None:
    """Draw the parameters of one unit, the first on top, on an axis that is linear near zero and logarithmic far from it."""
    values, prior = fit.values[rows], fit.basis.project(fit.prior)[rows]
    low, high = fit.intervals()[rows].T
    known = ~fit.undetermined[rows]
    y = np.arange(len(rows))[::-1]
    clear = fit.significant[rows] & known
    for mask, colour, label in ((clear, PREDICTED, "identified, 95 % interval"), (~clear, PALE, "could be zero")):
        half = np.where(known, (high - low) / 2, 0.0)
        if mask.any() or label.startswith("identified"):
            axes.errorbar(
                values[mask], y[mask], xerr=half[mask], fmt="o", ms=3.5, lw=1.2, capsize=2, color=colour, label=label
            )
    axes.plot(prior, y, "|", ms=9, mew=1.4, color=PRIOR, label="description", zorder=1)
    sizes = np.abs(np.concatenate([values, prior]))
    sizes = sizes[sizes > 0]
    largest = float(sizes.max(initial=1e-12))
    if len(sizes) and largest > 30 * float(np.median(sizes)):
        linear = max(float(np.median(sizes)), 1e-3 * largest)
        axes.set_xscale("asinh", linear_width=linear)
        axes.set_xticks(_decades(linear, largest, bool((values < 0).any())))
        axes.xaxis.set_major_formatter("{x:g}")
        axes.minorticks_off()
    axes.set_yticks(y, [drawn_text(fit.names[k]) for k in rows], fontsize=7)
    axes.set_ylim(-0.7, len(rows) - 0.3)
    axes.axvline(0, color=INK, lw=0.6)
    axes.set_title(printed_unit(fit.basis.parameters.units[rows[0]]), fontsize=8, loc="left", color=INK)
    axes.tick_params(axis="x", labelsize=7)
    axes.grid(axis="x", color=RULE, lw=0.5)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)


def _decades(linear: float, largest: float, negative: bool) -> list[float]:
    """Return zero and the powers of ten beyond the linear part, on both sides if values are negative.

    >>> _decades(0.02, 3.0, False)
    [0.0, 0.1, 1.0]
    """
    powers = range(int(np.ceil(np.log10(linear) + 0.3)), int(np.floor(np.log10(largest))) + 1)
    up = [float(f"1e{k}") for k in powers]
    return [*((-v for v in reversed(up)) if negative else ()), 0.0, *up]


def _balanced(sizes: list[int], count: int) -> list[list[int]]:
    """Return groups distributed over columns, in order, so that the columns are about equally long.

    >>> _balanced([5, 10, 14, 6, 6], 2)
    [[0, 1], [2, 3, 4]]
    """
    if count == 1 or len(sizes) == 1:
        return [list(range(len(sizes)))]
    cut = min(range(1, len(sizes)), key=lambda k: abs(sum(sizes[:k]) - sum(sizes[k:])))
    return [list(range(cut)), list(range(cut, len(sizes)))]
