"""The picture of a validation: torque measured against predicted, and the residual, joint by joint."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from taupi.identification.results.validation import JointErrors, Validation
from taupi.reporting.figures.figure import Axes, PathLike, check_path, finished, new_figure, plot
from taupi.reporting.figures.labels import drawn_text
from taupi.reporting.figures.robot import INK
from taupi.reporting.traces import thinned

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
        _draw(upper, lower, validation, j, errors)
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


def _draw(upper: Axes, lower: Axes, validation: Validation, j: int, errors: JointErrors) -> None:
    tau, hat = validation.measured[:, j], validation.predicted[:, j]
    at = thinned(POINTS, [tau, hat, tau - hat])
    t = validation.time[at]
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
