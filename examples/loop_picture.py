"""The picture of the whole loop: a motion that excites, its simulated log, the parameters found, and another motion predicted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import taupi as tp

INK, SOFT, RULE = "#1d2733", "#5c6b7a", "#dde3e9"
MEASURED, PREDICTED, RESIDUAL = "#7d8fa3", "#c2374b", "#1f6fb4"
COLOURS = ("#c2374b", "#1f6fb4", "#2f8f3e", "#e08a2e", "#7a55a6", "#0f8b8d")
# The joint whose torque is drawn, and how many dots stand for what was measured.
JOINT, DOTS = 1, 100
LARGER = 10  # times the residual is drawn larger than the torque
SURE = 0.5  # parameters whose interval is wider than this share of them are left to the report


def draw(
    path: Path,
    plan: tp.results.Excitation,
    log: tp.Log,
    fit: tp.Fit,
    truth: np.ndarray,
    validation: tp.results.Validation,
) -> None:
    """Write the picture of a design, the log of its motion, the fit of that log beside the truth, and a validation."""
    figure = Figure(figsize=(11.2, 6.6), layout="constrained")
    grid = figure.add_gridspec(4, 2, height_ratios=[3, 1, 3, 1])
    _excite(figure.add_subplot(grid[:2, 0]), plan)
    _simulate(figure.add_subplot(grid[:2, 1]), log)
    _identify(figure.add_subplot(grid[2:, 0]), fit, truth)
    upper = figure.add_subplot(grid[2, 1])
    _validate(upper, figure.add_subplot(grid[3, 1], sharex=upper), validation)
    figure.get_layout_engine().set(hspace=0.03, wspace=0.04)
    figure.savefig(path, dpi=150)


def _excite(axes: Any, plan: tp.results.Excitation) -> None:
    time = np.linspace(0.0, plan.duration, 1000)
    limits = plan.limits
    for k, (name, q) in enumerate(zip(limits.joints, (plan.motion(time).q - limits.middle).T, strict=True)):
        axes.plot(time, 100 * q / limits.half[k], color=COLOURS[k], lw=1.2, label=name)
    for edge in (-100, 100):
        axes.axhline(edge, color=INK, lw=1, ls=(0, (5, 4)))
    _finish(
        axes, "1  excite", f"standard deviations {plan.std_factor:.1f} times smaller than of random motions", "time [s]"
    )
    axes.set_ylabel("position, % of its range", fontsize=8, color=SOFT)
    axes.set_ylim(-112, 128)
    axes.legend(ncols=6, fontsize=7, frameon=False, loc="upper center", handlelength=1.0, columnspacing=1.0)


def _simulate(axes: Any, log: tp.Log) -> None:
    assert log.tau is not None
    axes.plot(log.time, log.tau[:, JOINT], color=MEASURED, lw=0.5)
    _finish(axes, "2  simulate", "counted angles and noisy torques", "time [s]")
    axes.set_ylabel(f"torque of {log.names[JOINT]}, N m", fontsize=8, color=SOFT)


def _identify(axes: Any, fit: tp.Fit, truth: np.ndarray) -> None:
    low, high = fit.intervals().T
    inside = int(((low <= truth) & (truth <= high)).sum())
    size = np.where(truth == 0, np.inf, np.abs(truth))
    width = (high - low) / 2 / size
    kept = np.flatnonzero((truth != 0) & (width < SURE))
    kept = kept[np.argsort(width[kept])]
    off = 100 * (fit.values - truth)[kept] / size[kept]
    place = np.arange(1, len(kept) + 1)
    axes.axhline(0, color=INK, lw=1)
    axes.errorbar(
        place, off, 100 * width[kept], fmt="o", ms=3, color=PREDICTED, ecolor="#e3a3ac", elinewidth=1.4, capsize=0
    )
    hint = f"truth in {inside} of {len(truth)} of the 95 % intervals"
    _finish(axes, "3  identify", hint, f"the {len(kept)} base parameters that are surest, surest first")
    axes.set_yscale("symlog", linthresh=1.0)
    axes.set_yticks([-30, -10, -3, -1, 0, 1, 3, 10, 30], [f"{v:g}" for v in (-30, -10, -3, -1, 0, 1, 3, 10, 30)])
    axes.minorticks_off()
    axes.set_ylabel("estimate less truth, %", fontsize=8, color=SOFT)


def _validate(upper: Any, lower: Any, validation: tp.results.Validation) -> None:
    tau, hat, time = validation.measured[:, JOINT], validation.predicted[:, JOINT], validation.time
    upper.plot(time, hat, color=PREDICTED, lw=1.2, label="predicted", zorder=2)
    step = max(1, len(time) // DOTS)
    upper.plot(time[::step], tau[::step], "o", ms=3.2, mfc="none", mec=INK, mew=0.8, label="measured", zorder=3)
    lower.plot(time, LARGER * (tau - hat), color=RESIDUAL, lw=1.0, label=f"residual, {LARGER} times larger")
    lower.axhline(0, color=INK, lw=0.8, zorder=0)
    _finish(upper, "4  validate", f"on another motion: relative error {validation.relative:.2%} over all joints", "")
    _finish(lower, "", "", "time [s]")
    upper.tick_params(labelbottom=False)
    upper.set_ylabel("torque, N m", fontsize=8, color=SOFT)
    for axes in (upper, lower):
        axes.legend(ncols=2, fontsize=7, frameon=False, loc="upper right", handlelength=1.4)
        low, high = axes.get_ylim()
        axes.set_ylim(low, high + 0.3 * (high - low))  # room for the legend


def _finish(axes: Any, heading: str, remark: str, below: str) -> None:
    if heading:
        axes.set_title(heading, fontsize=12, fontweight="bold", color=INK, loc="left")
        axes.set_title(remark, fontsize=8.5, color=SOFT, loc="right")
    axes.set_xlabel(below, fontsize=8, color=SOFT)
    axes.tick_params(labelsize=7, colors=SOFT)
    axes.margins(x=0.01)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color=RULE, lw=0.5)
    axes.set_axisbelow(True)
