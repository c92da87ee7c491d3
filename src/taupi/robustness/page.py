"""The page of a robustness study."""

from __future__ import annotations

import html
import json

import numpy as np

from taupi.reporting.chart import chart, coloured
from taupi.reporting.page import assembled
from taupi.robustness.study import RobustnessStudy
from taupi.tables import html_table
from taupi.version import __version__

_POINTS = 200  # of a distribution


def study_page(study: RobustnessStudy) -> str:
    """Return the page of a study as the text of an HTML file."""
    first = next(iter(study.summaries.values()))
    where = f"{len(study.links)} arms, {first.provenance['duration']:g} s each, {first.provenance['device']}"
    parts = [
        ("share", "Share that converges", _share(study)),
        ("errors", "Distribution of errors", _distribution(study)),
        ("worst", "The worst arms", _worst(study)),
        ("settings", "Settings", _settings(study)),
    ]
    sections = [(name, title, f'<section id="{name}"><h2>{title}</h2>{text}</section>') for name, title, text in parts]
    return assembled(f"Robustness of {study.robot.name}", f"{where}, taupi {__version__}", sections)


def _share(study: RobustnessStudy) -> str:
    first = next(iter(study.summaries.values()))
    notes = [
        f"Each arm differs from {study.robot.name} as the laws know it by about {100 * study.spread:g} %: mass, centre and "
        "inertia of each link, all of which can exist. All laws have the same arms, from the same starts.",
        f"An arm counts as converged where the rms error from {first.late:g} s on is below {study.within:g} (rad, m of sliding "
        "joints) at every joint. Errors are those of the worst joint.",
    ]
    return html_table("Laws, with the gains they were given", study.rows(), notes)


def _distribution(study: RobustnessStudy) -> str:
    """Return the late errors of all arms, sorted, over the share of arms that have less."""
    shares = np.linspace(0.0, 1.0, _POINTS)
    lines = []
    for k, name in enumerate(study.summaries):
        errors = study.errors(name)
        values = errors[np.minimum((shares * len(errors)).astype(int), len(errors) - 1)]
        lines.append(coloured(name, k, np.where(np.isfinite(values), values, np.nan)))
    across = "share of the arms with less, %"
    return chart("late rms error, worst joint", "rad or m", 100 * shares, lines, "share", log=True, across=across)


def _worst(study: RobustnessStudy) -> str:
    """Return the error of the worst arm of each law over time, and its masses beside those of the description."""
    runs = list(study.worst.items())
    lines = [coloured(name, k, np.abs(run.error).max(axis=1)) for k, (name, run) in enumerate(runs)]
    times = [run.time for _, run in runs]
    span = max(times, key=len)
    drawn = chart("largest joint error", "rad or m", span, lines, "worst", times=times, runaway=True)
    own = study.robot.parameters.values[::10]
    rows: list[tuple[str, ...]] = [("law", "arm", *(f"mass of {name}" for name in study.robot.link_names))]
    for name, data in study.to_dict()["laws"].items():
        k = data["worst"]["roll_out"]
        masses = zip(study.links[k, ::10], own, strict=True)
        rows.append(
            (name, str(k), *(f"{m:.3g} kg ({100 * (m / o - 1):+.0f} %)" if o else f"{m:.3g} kg" for m, o in masses))
        )
    return drawn + html_table("Who they are", rows)


def _settings(study: RobustnessStudy) -> str:
    data = study.to_dict()
    settings = {k: v for k, v in data.items() if k not in ("laws", "provenance")} | data["provenance"]
    rows = [("setting", "value"), *((k, json.dumps(v)) for k, v in settings.items())]
    return html_table("As run", rows, [f"Written by taupi {html.escape(__version__)}."])
