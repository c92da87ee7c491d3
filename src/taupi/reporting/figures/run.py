"""Pictures over time: of a simulated run, of an exciting motion beside its limits, of the signals of a log."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from taupi.control.law_trial import Trial
from taupi.control.lyapunov import LyapunovRecord
from taupi.errors import TaupiError
from taupi.excitation.excitation import Excitation
from taupi.reporting.figures.figure import Axes, PathLike, check_path, drawn_text, finished, new_figure, plot
from taupi.reporting.figures.robot import INK
from taupi.reporting.sections.excitation import ExcitationContent
from taupi.signals.log import Log
from taupi.simulation.run import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_MOST_SAMPLES = 4000  # more samples than pixels only cost time
_MOST_NAMES = 12


@plot.register(Run)
def plot_run(run: Run, path: PathLike | None = None, force: bool = False) -> Figure:
    """Draw a run over time; see `plot`."""
    check_path(path, force)
    return finished(_run_figure(run, 0), path, force)


@plot.register(Trial)
def plot_trial(trial: Trial, path: PathLike | None = None, force: bool = False) -> Figure:
    """Draw a run under a law over time, and below it the Lyapunov function and its rate, if the law has one; see `plot`."""
    check_path(path, force)
    record = trial.lyapunov
    figure = _run_figure(trial.run, 0 if record is None else 2)
    if record is not None:
        figure.axes[-3].set_xlabel("")
        _draw_lyapunov(record, *figure.axes[-2:])
    return finished(figure, path, force)


@plot.register(LyapunovRecord)
def plot_lyapunov(record: LyapunovRecord, path: PathLike | None = None, force: bool = False) -> Figure:
    """Draw a Lyapunov function along a run, and its rate: as in the proof, and by differences; see `plot`."""
    check_path(path, force)
    if len(record.time) < 2:
        raise TaupiError("The run has {count} samples, too few to draw.", count=len(record.time))
    figure = new_figure(8.0, 4.4)
    _draw_lyapunov(record, *np.ravel(figure.subplots(2, 1, sharex=True)))
    return finished(figure, path, force)


def _draw_lyapunov(record: LyapunovRecord, value: Axes, rate: Axes) -> None:
    step = max(1, len(record.time) // _MOST_SAMPLES)
    time = record.time[::step]
    for axes, series, label in (
        (value, {"V": record.V, "without parameters": record.V_1}, "Lyapunov function"),
        (rate, {"dV/dt in the proof": record.claimed, "by differences": record.numerical}, "its rate"),
    ):
        for name, values in series.items():
            axes.plot(time, values[::step], lw=1.1, label=name)
        axes.set_ylabel(label, fontsize=8)
        axes.grid(alpha=0.3)
        axes.legend(fontsize=7, ncols=2, loc="upper right")
    rate.set_xlabel("time (s)")


def _run_figure(run: Run, more: int) -> Figure:
    """Return the figure of a run, with `more` empty axes below it."""
    if len(run) < 2:
        raise TaupiError("The run has {count} samples, too few to draw.", count=len(run))
    tracks = run.tracks
    rows = 3 + tracks + (run.parameters is not None) + (run.theta is not None) + more
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
    axes[-1 - more].set_xlabel("time (s)")
    facts = run.provenance
    axes[0].set_title(
        f"{drawn_text(facts.get('robot', 'robot'))} under {drawn_text(facts.get('controller', 'a controller'))}",
        color=INK,
    )
    return figure


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
        raise TaupiError("The log has {count} samples, too few to draw.", count=len(log))
    signals = [(label, log.signals[name]) for name, label in _SIGNALS.items() if name in log.signals]
    figure, step = new_figure(8.0, 1.8 * len(signals) + 0.6), max(1, len(log) // _MOST_SAMPLES)
    every = np.ravel(figure.subplots(len(signals), 1, sharex=True))
    for k, (axes, (label, values)) in enumerate(zip(every, signals, strict=True)):
        _lines(axes, log.time[::step], np.asarray(values)[::step], label, log.names if k == 0 else ())
    every[-1].set_xlabel("time (s)")
    return finished(figure, path, force)
