"""What a section of a report is, and the small pieces of HTML that sections share."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files
from string import Template
from typing import Any, ClassVar, Protocol


class Told(Protocol):
    """What a report is about: it has a title, and a line below; the rest is between it and its sections."""

    @property
    def title(self) -> str:
        """The heading of the page."""
        ...

    @property
    def subtitle(self) -> str:
        """The line below it."""
        ...


class Section(Protocol):
    """A part of a report under a heading of its own. `name` is its anchor and that of its template."""

    name: ClassVar[str]
    title: ClassVar[str]

    def fields(self, content: Any) -> dict[str, str] | None:
        """Return what goes into the template, as HTML; None where there is nothing to tell."""
        ...


def rendered(section: Section, content: Told) -> str | None:
    """Return a section as HTML, None where it has nothing to tell."""
    fields = section.fields(content)
    if fields is None:
        return None
    return part(section.name, section.title, _template(section.name).substitute(fields))


def part(name: str, title: str, body: str) -> str:
    """Return a part of a page: its anchor, its heading and what it holds, as HTML."""
    return f'<section id="{name}"><h2>{html.escape(title)}</h2>\n{body}</section>'


@cache
def _template(name: str) -> Template:
    return Template(files(__package__).joinpath(f"{name}.html").read_text(encoding="utf-8"))


def cell(text: str, kind: str = "") -> str:
    """Return a table's cell; kinds are those of the style sheet: name, number, long."""
    return f'<td class="{kind}">{html.escape(text)}</td>' if kind else f"<td>{html.escape(text)}</td>"


def head(titles: Iterable[str], numbers: Sequence[int] = ()) -> str:
    """Return a table's heading; columns `numbers` stand to the right."""
    cells = (
        f'<th class="number">{html.escape(t)}</th>' if k in numbers else f"<th>{html.escape(t)}</th>"
        for k, t in enumerate(titles)
    )
    return f"<thead><tr>{''.join(cells)}</tr></thead>"


def listed(sentences: Iterable[str], kind: str = "") -> str:
    """Return sentences as a list."""
    mark = f' class="{kind}"' if kind else ""
    return "<ul>" + "".join(f"<li{mark}>{html.escape(s)}</li>" for s in sentences) + "</ul>"


def figure(value: str, what: str, kind: str = "") -> str:
    """Return a number with what it is below it."""
    mark = f' class="{kind}"' if kind else ""
    return f"<div><b{mark}>{html.escape(value)}</b><span>{html.escape(what)}</span></div>"


def percent(share: float) -> str:
    """Return a share as percent: three digits, a dash where there is none.

    >>> percent(0.01234), percent(1.5), percent(float("nan"))
    ('1.23 %', '150 %', '-')
    """
    if not math.isfinite(share):
        return "-"
    return "> 9900 %" if abs(share) > 99 else f"{100 * share:.0f} %" if abs(share) >= 10 else f"{100 * share:.3g} %"


def number(value: float, digits: int = 4) -> str:
    """Return a number for people, a dash where there is none."""
    return f"{value:.{digits}g}" if math.isfinite(value) else "-"
