"""A reproduction as a page of the gallery: problem, counts, figures, tables beside ours, slips, and the code that makes them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gallery.openings import OPENINGS
from gallery.stories import STORIES, Story
from taupi.papers.study import GROUPS, Count, Picture, Reproduction, StudyRow, StudyTable, by_part, headings, row_cells

POINTS = 400  # of a line in a picture
LONGEST = 90  # characters of a cell


def page(reproduction: Reproduction, folder: Path) -> str:
    """Return the text of the page of a reproduction; write its pictures into `folder`/images."""
    name = reproduction.study.name
    story = STORIES[name]
    lines = [f"# {story.title}", "", *opening(name, story, folder)]
    lines += [f"*{reproduction.study.document}.* See also: {story.more}.", ""]
    lines += [
        f"**{GROUPS[own]}**: {count}.  " for own, count in zip((False, True), reproduction.counts.values(), strict=True)
    ]
    notes = [_escaped(note) for note in reproduction.notes]
    lines += ["", notes.pop(0)] if story.lead else []
    shell = "bash" if story.slow else "shell"
    lines += ["", "## Make it yourself", "", f"```{shell}", *story.shell.split("\n"), "```", ""]
    lines += ["```python", "import taupi as tp", "", *story.python.split("\n"), "```", ""]
    lines += _figures(reproduction, story, folder)
    for own, rows in ((False, reproduction.paper), (True, reproduction.reference)):
        if rows:
            lines += [f"## {GROUPS[own]}", "", f"{Count.of(rows)}.", ""]
            for part, several in by_part(rows).items():
                lines += [
                    f"### {part}",
                    "",
                    *_markdown(headings(several), [row_cells(several, row) for row in several]),
                ]
    lines += _slips(reproduction.paper)
    for key in story.tables:
        lines += _table(reproduction.tables[key])
    lines += ["## Notes", "", *(f"- {note}" for note in notes), ""]
    return "\n".join(lines)


def opening(name: str, story: Story, folder: Path) -> list[str]:
    """Return what the paper asked, what one call gives today, and what its authors could not do then, with the picture."""
    beyond = OPENINGS[name](folder / f"images/{name}-beyond.svg")
    lines = ["**What it asked.** " + story.problem, "", "**What one call gives today.** " + story.today, ""]
    lines += ["```python", "import taupi as tp", "", story.call, "```", ""]
    return [
        *lines,
        f"**What its authors could not do then.** {_escaped(beyond)}",
        "",
        f"![{story.seen}](images/{name}-beyond.svg)",
        "",
    ]


def _figures(reproduction: Reproduction, story: Story, folder: Path) -> list[str]:
    lines = ["## In pictures", "", _escaped(story.drawn), ""]
    for k, beginning in enumerate(story.pictures):
        picture = next(p for p in reproduction.pictures if p.title.startswith(beginning))
        file = f"images/{reproduction.study.name}-{k + 1}.svg"
        draw(picture, folder / file)
        lines += [f"![{picture.title}]({file})", ""]
    if story.own == "arrows":
        file = f"images/{reproduction.study.name}-arrows.svg"
        draw_arrows(folder / file)
        lines += [f"![Accelerations and forces at the tip of the unit arm]({file})", ""]
    return lines


def draw_arrows(path: Path) -> None:
    """Write the lecture's figure: unit accelerations of the tip, and the forces that they need, at two configurations."""
    import matplotlib

    matplotlib.use("Agg")
    import taupi as tp

    unit = tp.load("lecture2r").bind(L1=1, L2=1, m1=1, m2=1)
    path.parent.mkdir(parents=True, exist_ok=True)
    with matplotlib.rc_context({"svg.hashsalt": "taupi", "svg.fonttype": "path", "font.size": 9}):
        figure = tp.plot(tp.operational.mass_ellipses(unit, [[0.0, np.pi / 2], [0.5, 2.2]]), arrows=8)
        figure.set_size_inches(5.5, 4.5)
        figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})


def draw(picture: Picture, path: Path) -> None:
    """Write a picture as an SVG file that is the same each time."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    path.parent.mkdir(parents=True, exist_ok=True)
    with matplotlib.rc_context({"svg.hashsalt": "taupi", "svg.fonttype": "path", "font.size": 9}):
        figure, axes = pyplot.subplots(figsize=(6.4, 2.6), layout="constrained")
        keep = np.unique(np.linspace(0, len(picture.time) - 1, POINTS).astype(int))
        for label, values in picture.lines.items():
            axes.plot(picture.time[keep], np.asarray(values)[keep], label=label, linewidth=1.2)
        axes.set(title=picture.title, xlabel=picture.across.name, ylabel=picture.unit)
        axes.set_yscale("log" if picture.log else "linear")
        axes.grid(alpha=0.3)
        if len(picture.lines) > 1:
            axes.legend(fontsize=8, frameon=False)
        figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})
        pyplot.close(figure)


def _slips(rows: Sequence[StudyRow]) -> list[str]:
    """Return the rows of the paper that differ, with the reason, or what was tried to find one."""
    reasons: dict[str, list[StudyRow]] = {}
    for row in rows:
        if not row.agrees:
            reasons.setdefault(row.because or f"the reason is not known; {row.tried}", []).append(row)
    lines = ["## Its slips, and what else differs", ""]
    for reason, several in reasons.items():
        names = ", ".join(f"**{_escaped(row.what)}**{_place(row.source)}" for row in several)
        lines.append(f"- {names}: {_escaped(reason)}.")
    return [*lines, ""]


def _place(source: str) -> str:
    """Return the number of an equation behind its name, if the source is one."""
    return f" {_escaped(source)}" if source.startswith("(") else ""


def _table(table: StudyTable) -> list[str]:
    heading, *rows = table.cells()
    return [f"### {table.title}", "", *_markdown(heading, rows)]


def _markdown(heading: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[str]:
    lines = [f"| {' | '.join(heading)} |", "|" + "---|" * len(heading)]
    return [*lines, *(f"| {' | '.join(_escaped(_cut(str(cell))) for cell in row)} |" for row in rows), ""]


def _cut(text: str) -> str:
    return (
        text
        if len(text) <= LONGEST or " " not in text[:LONGEST] or "because" in text or "unknown reason" in text
        else text[:LONGEST].rpartition(" ")[0] + " ..."
    )


def _escaped(text: str) -> str:
    return re.sub(r"([|*_<>])", r"\\\1", text)
