"""Pictures of an exciting motion with its torque beside their limits, and of a log's signals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from taupi.errors import TaupiError
from taupi.excitation.excitation import Excitation
from taupi.reporting.excitation_content import ExcitationContent
from taupi.reporting.figures.figure import Axes, PathLike, check_path, finished, new_figure, plot
from taupi.reporting.figures.labels import drawn_text
from taupi.reporting.figures.robot import INK
from taupi.signals.log import Log

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_SAMPLES = 4000  # more samples than pixels only cost time
_MOST_NAMES = 12
# Signals of a log, and what their axes are called.
_SIGNALS = {
    "q": "position (rad, m)",
    "qd": "velocity (rad/s, m/s)",
    "qdd": "acceleration (rad/s², m/s²)",
    "theta": "motor position (rad, m)",
    "tau": "torque (N m, N)",
}


@plot.register(Excitation)
def plot_excitation(plan: Excitation, path: PathLike | None = None, force: bool = False) -> Figure:
    """Draw an exciting motion over time, each joint as a share of its limits; see `plot`."""
    check_path(path, force)
    content, limits = ExcitationContent(plan), plan.limits
    q, qd, qdd = (state @ limits.spread.T for state in content.states)
    panels = [
        ("position", limits.joints, q - limits.middle, limits.half),
        ("speed", limits.joints, qd, limits.velocity),
        ("acceleration", limits.joints, qdd, limits.acceleration),
    ]
    if np.any(plan.robot.parameters.values):
        panels.append(("torque", plan.robot.joint_names, content.torque, limits.effort))
    drawn = [p for p in panels if np.isfinite(p[3]).any()]
    if not drawn:
        raise TaupiError("The motion has no limits to be drawn beside.", remedy="Give limits={...} to taupi.excite.")
    figure = new_figure(8.0, 1.8 * len(drawn) + 0.6)
    for axes, (title, names, values, most) in zip(
        np.ravel(figure.subplots(len(drawn), 1, sharex=True)), drawn, strict=True
    ):
        kept = np.flatnonzero(np.isfinite(most))
        for edge in (-100, 100):
            axes.axhline(edge, color="0.4", lw=0.8, ls="--")
        _lines(axes, content.time, 100 * values[:, kept] / most[kept], f"{title} (% of the limit)")
        if axes is figure.axes[0]:
            axes.legend(
                axes.lines[2:][:_MOST_NAMES], [drawn_text(names[k]) for k in kept][:_MOST_NAMES], fontsize=7, ncols=6
            )
    figure.axes[-1].set_xlabel("time (s)")
    figure.axes[0].set_title(f"{drawn_text(plan.robot.name)}: {plan.duration:.4g} s that excite it", color=INK)
    return finished(figure, path, force)


@plot.register(Log)
def plot_log(log: Log, path: PathLike | None = None, force: bool = False) -> Figure:
    """Draw the signals of a log over time; see `plot`."""
    check_path(path, force)
    if len(log) < 2:
        raise TaupiError(f"The log has {len(log)} samples, too few to draw.")
    signals = [(label, log.signals[name]) for name, label in _SIGNALS.items() if name in log.signals]
    figure, step = new_figure(8.0, 1.8 * len(signals) + 0.6), max(1, len(log) // _MOST_SAMPLES)
    every = np.ravel(figure.subplots(len(signals), 1, sharex=True))
    for axes, (label, values) in zip(every, signals, strict=True):
        _lines(axes, log.time[::step], np.asarray(values)[::step], label)
    every[0].legend(
        every[0].lines[:_MOST_NAMES],
        [drawn_text(name) for name in log.names[:_MOST_NAMES]],
        fontsize=7,
        ncols=6,
        loc="upper right",
    )
    every[-1].set_xlabel("time (s)")
    return finished(figure, path, force)


def _lines(axes: Axes, time: np.ndarray, values: np.ndarray, label: str) -> None:
    axes.plot(time, values, lw=1.1)
    axes.set_ylabel(label, fontsize=8)
    axes.grid(alpha=0.3)
