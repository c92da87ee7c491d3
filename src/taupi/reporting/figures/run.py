"""The picture of a simulated run: positions with their reference, errors, torques, energy, estimates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from taupi.errors import TaupiError
from taupi.reporting.figures.figure import Axes, PathLike, check_path, finished, new_figure, plot
from taupi.reporting.figures.labels import drawn_text
from taupi.reporting.figures.robot import INK
from taupi.simulation.run import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_SAMPLES = 4000  # more samples than pixels only cost time
_MOST_NAMES = 12


@plot.register(Run)
def plot_run(run: Run, path: PathLike | None = None, force: bool = False) -> Figure:
    """Draw a run over time; see `plot`."""
    check_path(path, force)
    if len(run) < 2:
        raise TaupiError(f"The run has {len(run)} samples, too few to draw.")
    tracks = run.tracks
    rows = 3 + tracks + (run.parameters is not None) + (run.theta is not None)
    figure = new_figure(8.0, 1.9 * rows + 0.6)
    axes = list(np.ravel(figure.subplots(rows, 1, sharex=True)))
    step = max(1, len(run) // _MOST_SAMPLES)
    time = run.time[::step]
    panel = iter(axes)
    first = next(panel)
    _lines(first, time, run.q[::step], f"position {_unit(run, 'rad', 'm')}", run.names)
    if tracks and run.reference is not None:
        first.set_prop_cycle(None)
        first.plot(time, run.reference.q[::step], ls="--", lw=0.9)
        _lines(next(panel), time, run.error[::step], f"error {_unit(run, 'rad', 'm')}")
    if run.theta is not None:
        _lines(next(panel), time, (run.theta - run.q)[::step], f"deflection {_unit(run, 'rad', 'm')}")
    _lines(next(panel), time, run.tau[::step], f"torque {_unit(run, 'N m', 'N')}")
    if run.parameters is not None:
        change = run.parameters - run.parameters[0]
        _lines(next(panel), time, change[::step], "estimate, change")
    _energy(next(panel), run, step)
    axes[-1].set_xlabel("time (s)")
    facts = run.provenance
    axes[0].set_title(
        f"{drawn_text(facts.get('robot', 'robot'))} under {drawn_text(facts.get('controller', 'a controller'))}",
        color=INK,
    )
    return finished(figure, path, force)


def _unit(run: Run, turning: str, sliding: str) -> str:
    kinds = {sliding if unit == "m" else turning for unit in run.units}
    return f"({', '.join(sorted(kinds))})"


def _lines(axes: Axes, time: np.ndarray, values: np.ndarray, label: str, names: tuple[str, ...] = ()) -> None:
    lines = axes.plot(time, values, lw=1.1)
    axes.set_ylabel(label, fontsize=8)
    axes.grid(alpha=0.3)
    if names:
        axes.legend(
            lines[:_MOST_NAMES],
            [drawn_text(name) for name in names[:_MOST_NAMES]],
            fontsize=7,
            ncols=min(6, len(names)),
            loc="upper right",
        )


def _energy(axes: Axes, run: Run, step: int) -> None:
    """Draw what was stored, put in and lost since the start."""
    series = {"K + P": run.energy, "work": run.work, "heat": run.heat}
    for name, value in series.items():
        if value is not None:
            axes.plot(run.time[::step], (value - value[0])[::step], lw=1.1, label=name)
    axes.set_ylabel("energy, change (J)", fontsize=8)
    axes.grid(alpha=0.3)
    if run.residual is not None:
        axes.set_title(f"audit within {np.abs(run.residual).max():.2g} J", fontsize=8, loc="right", color=INK)
    axes.legend(fontsize=7, ncols=3, loc="upper left")
