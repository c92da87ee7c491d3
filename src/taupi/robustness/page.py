"""The page of a robustness study."""

from __future__ import annotations

import html
import json
from collections.abc import Sequence

import numpy as np

from taupi.reporting.chart import ChartAxis, chart, coloured
from taupi.reporting.page import assembled
from taupi.reporting.sections.base import cell, head
from taupi.robustness.study import RobustnessStudy, percent
from taupi.version import __version__

_POINTS = 200  # of a distribution
# The verdict is "wrong" if even the best law brings no more than this share of the arms to the reference: for a single arm,
# failing is then at least as likely as not.
_WRONG_UP_TO = 0.5


def study_page(study: RobustnessStudy) -> str:
    """Return the page of a study as the text of an HTML file."""
    first = next(iter(study.summaries.values()))
    where = f"{len(study.links)} arms, {first.provenance['duration']:g} s each, {first.provenance['device']}"
    parts = [
        ("verdict", "Verdict", _verdict(study)),
        ("share", "Share that converges", _share(study)),
        ("errors", "Distribution of errors", _distribution(study)),
        ("worst", "The worst arms", _worst(study)),
        ("settings", "Settings", _settings(study)),
    ]
    sections = [(name, title, f'<section id="{name}"><h2>{title}</h2>{text}</section>') for name, title, text in parts]
    return assembled(f"Robustness of {study.robot.name}", f"{where}, taupi {__version__}", sections)


def _verdict(study: RobustnessStudy) -> str:
    """Return the share of arms that the best law brings to the reference, and the shares of the other laws."""
    shares = {name: study.share(name) for name in study.summaries}
    best = max(shares, key=lambda name: shares[name])
    level = "" if shares[best] == 1 else " doubtful" if shares[best] > _WRONG_UP_TO else " wrong"
    words = f"{best} brings {percent(shares[best])} of the arms to errors below {study.within:g} {study.unit}"
    rest = "; ".join(f"{name}: {percent(share)}" for name, share in shares.items() if name != best)
    others = f"<p>{html.escape(rest)}.</p>" if rest else ""
    return f'<div class="verdict{level}"><b>{html.escape(words)}.</b>{others}</div>'


def _share(study: RobustnessStudy) -> str:
    first = next(iter(study.summaries.values()))
    notes = [
        f"Each arm differs {study.difference} from the {study.robot.name} that the laws know: mass, centre and "
        "inertia of each link, physically possible. All laws have the same arms, from the same starts. "
        f"{_around(study)}",
        f"An arm counts as converged when the rms error from {first.late:g} s on is below {study.within:g} {study.unit} "
        "at every joint. Errors are those of the worst joint.",
    ]
    return _table("Late rms errors of each law, with the gains that it used", study.rows(), range(1, 7), notes)


def _around(study: RobustnessStudy) -> str:
    """Return a sentence on what makes the loop harder than in theory, or that nothing does."""
    data = study.to_dict()
    around = [*data["plant"].items(), *data["sensors"].items()]
    told = [f"{k} = {v.replace(';', ',')}" for k, v in around if k not in ("smoothing", "axes", "frame", "velocity")]
    if not told:
        return "There is no friction, delay, noise or limit of the torque."
    return f"Every loop has {'; '.join(told)}, in SI units."


def _distribution(study: RobustnessStudy) -> str:
    """Return the late errors of all arms, sorted, over the share of arms that have a smaller error."""
    shares = np.linspace(0.0, 1.0, _POINTS)
    lines = []
    for k, name in enumerate(study.summaries):
        errors = study.errors(name)
        values = errors[np.minimum((shares * len(errors)).astype(int), len(errors) - 1)]
        lines.append(coloured(name, k, np.where(np.isfinite(values), values, np.nan)))
    across = ChartAxis("share of the arms with a smaller error, %", "%")
    return chart("late rms error, worst joint", study.unit, 100 * shares, lines, "share", log=True, across=across)


def _worst(study: RobustnessStudy) -> str:
    """Return the error of the worst arm of each law over time, and its masses beside those of the description."""
    runs = list(study.worst.items())
    lines = [coloured(name, k, np.abs(run.error).max(axis=1)) for k, (name, run) in enumerate(runs)]
    times = [run.time for _, run in runs]
    span = max(times, key=len)
    drawn = chart("largest joint error", study.unit, span, lines, "worst", times=times, runaway=True)
    own = study.robot.parameters.values[::10]
    rows: list[tuple[str, ...]] = [("law", "arm", *(f"mass of {name}" for name in study.robot.link_names))]
    for name, data in study.to_dict()["laws"].items():
        k = data["worst"]["roll_out"]
        masses = zip(study.links[k, ::10], own, strict=True)
        rows.append(
            (name, str(k), *(f"{m:.3g} kg ({100 * (m / o - 1):+.0f} %)" if o else f"{m:.3g} kg" for m, o in masses))
        )
    return drawn + _table("Masses of these arms, beside the description", rows, range(1, 2 + len(own)))


def _settings(study: RobustnessStudy) -> str:
    """Return a table of the laws' gains, one of the plant and its sensors, and one of the rest."""
    data = study.to_dict()
    laws = {name: law["settings"] for name, law in data["laws"].items()}
    keys = dict.fromkeys(key for settings in laws.values() for key in settings)
    gains = [("setting", *laws), *((key, *(settings.get(key, "-") for settings in laws.values())) for key in keys)]
    around = [*data["plant"].items(), *((f"sensors: {key}", value) for key, value in data["sensors"].items())]
    shown = ("laws", "provenance", "plant", "sensors")
    settings = {k: v for k, v in data.items() if k not in shown} | data["provenance"]
    rows = [("setting", "value"), *((k, json.dumps(v)) for k, v in settings.items())]
    tables = [_table("Laws and their gains", gains)] if keys else []
    tables += [_table("Every arm, and what is seen of it", [("setting", "value"), *around])] if around else []
    return "".join([*tables, _table("As it was run", rows)])


def _table(title: str, rows: Sequence[Sequence[str]], numbers: Sequence[int] = (), notes: Sequence[str] = ()) -> str:
    """Return a table that scrolls if it is wide; the first row is the heading, columns in `numbers` are right-aligned."""
    first, *rest = rows
    lines = "".join(
        f"<tr>{''.join(cell(text, 'number' if k in numbers else '') for k, text in enumerate(row))}</tr>"
        for row in rest
    )
    caption = f"<caption>{html.escape(title)}</caption>"
    paragraphs = "".join(f'<p class="soft">{html.escape(note)}</p>' for note in notes)
    return f'<div class="wide"><table>{caption}{head(first, numbers)}<tbody>{lines}</tbody></table></div>{paragraphs}'
