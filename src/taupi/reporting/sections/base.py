"""What a section of a report is, the small pieces of HTML that sections share, and the section that every page has."""

from __future__ import annotations

import html
import json
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any, Protocol

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

    Its text is a template with `$field`s, which `fields` fills in: the class attribute `template`, or without one the file
    `<name>.html` beside the module of the class.
    """

    @property
    def name(self) -> str:
        """Its anchor on the page."""
        ...

    @property
    def title(self) -> str:
        """Its heading."""
        ...

    def fields(self, content: Any) -> dict[str, str] | None:
        """Return the fields of the template, as HTML; None if there is nothing to show here.

        Args:
            content: What the page is about, such as a `FitContent` or a `RunContent`.
        """
        ...


def rendered(section: Section, content: PageContent) -> str | None:
    """Return a section as HTML, None if it has nothing to show."""
    fields = section.fields(content)
    if fields is None:
        return None
    return part(section.name, section.title, _template(type(section), section.name).substitute(fields))


def part(name: str, title: str, body: str) -> str:
    """Return a part of a page as HTML: its anchor, its heading and its body."""
    return f'<section id="{name}"><h2>{html.escape(title)}</h2>\n{body}</section>'


@cache
def _template(kind: type[Section], name: str) -> Template:
    text = getattr(kind, "template", None)
    if text is None:
        module = sys.modules[kind.__module__]
        folder = files(module.__package__) if module.__package__ else Path(str(module.__file__)).parent
        text = folder.joinpath(f"{name}.html").read_text(encoding="utf-8")
    return Template(text)


class Html(str):
    """Text that is HTML already, so that it is not escaped."""

    __slots__ = ()


def cell(text: str, kind: str = "") -> str:
    """Return a table's cell, its words escaped unless they are `Html`.

    Args:
        text: Words of the cell.
        kind: A class of the style sheet: name, number, long or short; or "unit", or "" for a plain cell. A short one is cut off
            if it is longer than its column; pointing at it shows the rest, and a click or the Tab key opens it.
    """
    if kind == "unit":
        return f"<td>{html.escape(printed_unit(text))}</td>"
    words = text if isinstance(text, Html) else html.escape(text)
    if kind == "short":
        return f'<td class="short" tabindex="0" title="{words}">{words}</td>'
    return f'<td class="{kind}">{words}</td>' if kind else f"<td>{words}</td>"


def head(titles: Iterable[str], numbers: Sequence[int] = ()) -> str:
    """Return a table's heading; the columns whose indices are in `numbers` are aligned to the right."""
    right = ' class="number"'
    cells = (f'<th scope="col"{right if k in numbers else ""}>{html.escape(t)}</th>' for k, t in enumerate(titles))
    return f"<thead><tr>{''.join(cells)}</tr></thead>"


def table(
    titles: Sequence[str], kinds: str, rows: Iterable[Sequence[str]], marked: Mapping[int, str] | None = None
) -> str:
    """Return a table as HTML that can be scrolled sideways where it is too wide; its words are escaped.

    Args:
        titles: Heading of each column.
        kinds: Kind of each column, separated by spaces, as `cell` takes them, with "text" for a plain one. The last is the kind
            of all further columns. Numbers are aligned to the right.
        rows: Words of each row; those without a title are left out.
        marked: Classes of rows, by index.

    >>> table(("joint", "rms"), "name number", [("<elbow>", "0.1")]).partition("<tbody>")[2]
    '<tr><td class="name">&lt;elbow&gt;</td><td class="number">0.1</td></tr></tbody></table></div>'
    """
    given = ["" if kind == "text" else kind for kind in kinds.split()]
    columns = given + given[-1:] * (len(titles) - len(given))
    lines = []
    for k, row in enumerate(rows):
        mark = f' class="{marked[k]}"' if marked and k in marked else ""
        lines.append(f"<tr{mark}>{''.join(map(cell, row, columns))}</tr>")
    heading = head(titles, [k for k, kind in enumerate(columns) if kind == "number"])
    return f'<div class="wide"><table>{heading}<tbody>{"".join(lines)}</tbody></table></div>'


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


class Recorded(Protocol):
    """A content that knows where it comes from."""

    @property
    def provenance(self) -> dict[str, Any]:
        """Facts by name; under `files`, one row per file."""
        ...


class ProvenanceSection:
    """Everything needed to do it again."""

    name = "provenance"
    title = "Provenance"
    template = """
<table><tbody>$facts</tbody></table>
$files
"""

    def fields(self, content: Recorded) -> dict[str, str] | None:
        """Return the facts and the files."""
        if not content.provenance:
            return None
        facts = "".join(
            f"<tr>{cell(name.replace('_', ' '))}<td><code>{html.escape(_fact(value))}</code></td></tr>"
            for name, value in content.provenance.items()
            if name != "files"
        )
        files: list[dict[str, Any]] = list(content.provenance.get("files", ()))
        keys = list(dict.fromkeys(k for f in files for k in f))
        rows = ([_fact(f.get(k, "")) for k in keys] for f in files)
        return {"facts": facts, "files": table(keys, "long", rows) if files else ""}


def _fact(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
