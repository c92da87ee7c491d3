"""Pictures of fits: identified parameters beside the description, torque beside its prediction, the arms of a fleet."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from taupi.identification.fleet.fleet_fit import Fleet
from taupi.identification.results.fit import Fit
from taupi.identification.results.validation import JointErrors, Validation
from taupi.model.parameters import printed_unit
from taupi.reporting.chart import thinned
from taupi.reporting.figures.figure import Axes, PathLike, check_path, drawn_text, finished, new_figure, plot
from taupi.reporting.figures.robot import INK
from taupi.reporting.sections.fleet import ArmValues, arm_values

if TYPE_CHECKING:
    from matplotlib.figure import Figure


MEASURED, PREDICTED, RESIDUAL, RULE = "#9fb0c3", "#c2374b", "#1f6fb4", "#dde3e9"
POINTS = 4000


@plot.register(Validation)
def plot_validation(validation: Validation, path: PathLike | None = None, force: bool = False) -> Figure:
    """Draw measured and predicted torque with the residual below, one pair of axes per joint; see `plot`."""
    check_path(path, force)
    n = len(validation.joints)
    columns = 1 if n == 1 else 2
    rows = -(-n // columns)
    figure = new_figure(5.6 * columns, 2.3 * rows + 0.6)
    grid = figure.add_gridspec(2 * rows, columns, height_ratios=[3, 1] * rows)
    for j, errors in enumerate(validation.joints):
        row, column = j % rows, j // rows  # down the first column, then down the second
        upper = figure.add_subplot(grid[2 * row, column])
        lower = figure.add_subplot(grid[2 * row + 1, column], sharex=upper)
        _draw_joint(upper, lower, validation, j, errors)
        if row == rows - 1 or j == n - 1:
            lower.set_xlabel("time [s]", fontsize=8)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    residual = figure.axes[1].get_legend_handles_labels()
    figure.legend(
        handles + residual[0], labels + residual[1], loc="outside upper right", ncols=3, frameon=False, fontsize=9
    )
    figure.suptitle(
        f"{drawn_text(validation.name)}: relative error {validation.relative:.2%}",
        x=0.01,
        ha="left",
        fontsize=10,
        color=INK,
    )
    return finished(figure, path, force)


def _draw_joint(upper: Axes, lower: Axes, validation: Validation, j: int, errors: JointErrors) -> None:
    tau, hat = validation.measured[:, j], validation.predicted[:, j]
    at = thinned(POINTS, [tau, hat, tau - hat])
    t = validation.elapsed[at]
    upper.plot(t, tau[at], color=MEASURED, lw=2.6, label="measured")
    upper.plot(t, hat[at], color=PREDICTED, lw=1.1, label="predicted")
    lower.plot(t, (tau - hat)[at], color=RESIDUAL, lw=0.9, label="residual")
    lower.axhline(0, color=RULE, lw=0.8, zorder=0)
    # The residual on the scale of the torque, so that it looks as large as it is.
    reach = max(float(np.ptp(tau)) / 6, 1.05 * float(np.abs(tau - hat).max(initial=0.0)), 1e-12)
    lower.set_ylim(-reach, reach)
    upper.set_title(
        f"{drawn_text(errors.name)}, relative error {errors.relative:.2%}", fontsize=9, color=INK, loc="left"
    )
    upper.tick_params(labelbottom=False)
    upper.set_ylabel("torque (N m, N)", fontsize=7, color=INK)
    for axes in (upper, lower):
        axes.tick_params(labelsize=7, colors=INK)
        axes.margins(x=0)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(color=RULE, lw=0.5)
        axes.set_axisbelow(True)


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
        _draw_arms(axes, panel)
    for axes in every[len(panels) :]:
        axes.set_visible(False)
    count = len({each.arm for each in fleet.outliers()})
    none = "too few to say which one stands out" if fleet.too_few else "none stands out"
    words = none if not count else f"{count} stands out" if count == 1 else f"{count} stand out"
    name = drawn_text(str(fleet.record.get("robot", "robot")))
    figure.suptitle(f"{name}: {len(fleet)} arms, {words}", x=0.01, ha="left", fontsize=10, color=INK)
    return finished(figure, path, force)


def _draw_arms(axes: Axes, panel: ArmValues) -> None:
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
