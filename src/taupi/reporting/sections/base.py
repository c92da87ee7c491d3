"""What a section of a report is, and the small pieces of HTML that sections share."""

from __future__ import annotations

import html
import math
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any, ClassVar, Protocol

from taupi.model.parameters import printed_unit


class PageContent(Protocol):
    """The content of a page: a heading and a line below it. Everything else is up to the content and its sections."""

    @property
    def title(self) -> str:
        """The heading of the page."""
        ...

    @property
    def subtitle(self) -> str:
        """The line below the heading."""
        ...


class Section(Protocol):
    """A part of a report with its own heading.

    `name` is its anchor on the page, `title` its heading. The text is a template with `$field`s, which `fields` fills in: the
    file `<name>.html` beside the module of the class, or the class attribute `template`, if it has one.
    """

    name: ClassVar[str]
    title: ClassVar[str]

    def fields(self, content: Any) -> dict[str, str] | None:
        """Return the fields of the template, as HTML; None if the content has nothing to show here.

        `content` is a `FitContent` or a `RunContent`, depending on the kind of report.
        """
        ...


def rendered(section: Section, content: PageContent) -> str | None:
    """Return a section as HTML, None if it has nothing to show."""
    fields = section.fields(content)
    if fields is None:
        return None
    return part(section.name, section.title, _template(type(section)).substitute(fields))


def part(name: str, title: str, body: str) -> str:
    """Return a part of a page as HTML: its anchor, its heading and its body."""
    return f'<section id="{name}"><h2>{html.escape(title)}</h2>\n{body}</section>'


@cache
def _template(kind: type[Section]) -> Template:
    text = getattr(kind, "template", None)
    if text is None:
        module = sys.modules[kind.__module__]
        folder = files(module.__package__) if module.__package__ else Path(str(module.__file__)).parent
        text = folder.joinpath(f"{kind.name}.html").read_text(encoding="utf-8")
    return Template(text)


def cell(text: str, kind: str = "") -> str:
    """Return a table's cell; `kind` is a class of the style sheet: name, number, long or short; or it is a unit.

    A short one is cut off if it is longer than its column; pointing at it shows the rest, and a click or the Tab key opens it.
    """
    if kind == "unit":
        return f"<td>{html.escape(printed_unit(text))}</td>"
    if kind == "short":
        words = html.escape(text)
        return f'<td class="short" tabindex="0" title="{words}">{words}</td>'
    return f'<td class="{kind}">{html.escape(text)}</td>' if kind else f"<td>{html.escape(text)}</td>"


def head(titles: Iterable[str], numbers: Sequence[int] = ()) -> str:
    """Return a table's heading; the columns whose indices are in `numbers` are aligned to the right."""
    cells = (
        f'<th scope="col" class="number">{html.escape(t)}</th>'
        if k in numbers
        else f'<th scope="col">{html.escape(t)}</th>'
        for k, t in enumerate(titles)
    )
    return f"<thead><tr>{''.join(cells)}</tr></thead>"


def listed(sentences: Iterable[str], kind: str = "") -> str:
    """Return sentences as a list."""
    mark = f' class="{kind}"' if kind else ""
    return "<ul>" + "".join(f"<li{mark}>{html.escape(s)}</li>" for s in sentences) + "</ul>"


def figure(value: str, what: str, kind: str = "") -> str:
    """Return a number with the words `what` below it."""
    mark = f' class="{kind}"' if kind else ""
    return f"<div><b{mark}>{html.escape(value)}</b><span>{html.escape(what)}</span></div>"


def percent(share: float) -> str:
    """Return a share as percent with three digits, a dash if it is not finite.

    >>> percent(0.01234), percent(1.5), percent(float("nan"))
    ('1.23 %', '150 %', '-')
    """
    if not math.isfinite(share):
        return "-"
    return "> 9900 %" if abs(share) > 99 else f"{100 * share:.0f} %" if abs(share) >= 10 else f"{100 * share:.3g} %"


def number(value: float, digits: int = 4) -> str:
    """Return a number as readable text, a dash if it is not finite."""
    return f"{value:.{digits}g}" if math.isfinite(value) else "-"
