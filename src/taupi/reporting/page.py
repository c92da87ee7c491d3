"""A report as one self-contained HTML file: no network, no library, a few lines of script for zooming.

Plotly's own script takes megabytes. Lines drawn as SVG take only the size of their points, need no script, print well, and can
be read by other programs; zooming them takes a hundred lines (page.js).
"""

from __future__ import annotations

import hashlib
import html
from base64 import b64encode
from collections.abc import Sequence
from importlib.resources import files
from string import Template

from taupi.reporting.sections.base import PageContent, Section, rendered
from taupi.version import __version__

SCRIPTS = {"page.js": 'class="chart"', "film.js": 'class="film"', "bodies.js": 'class="bodies"'}  # and what needs them


def page(content: PageContent, sections: Sequence[Section]) -> str:
    """Return a report as the text of an HTML file: the sections that have something to show, in order."""
    parts = [(s.name, s.title, text) for s in sections if (text := rendered(s, content)) is not None]
    return assembled(content.title, f"{content.subtitle}, taupi {__version__}", parts)


def assembled(title: str, subtitle: str, parts: Sequence[tuple[str, str, str]]) -> str:
    """Return the text of an HTML file made of `parts`: the anchor, the heading and the HTML of each."""
    links = "".join(f'<a href="#{name}">{html.escape(heading)}</a>' for name, heading, _ in parts)
    body = "\n".join(text for _, _, text in parts)
    script = "\n".join(_text(name) for name, needed_by in SCRIPTS.items() if needed_by in body)
    return Template(_text("page.html")).substitute(
        version=__version__,
        title=html.escape(title),
        subtitle=html.escape(subtitle),
        links=links,
        sections=body,
        style=_text("page.css"),
        script=script,
        policy=html.escape(_policy(script)),
    )


def _policy(script: str) -> str:
    """Return what a browser may do with the page: run only this script, load nothing, show only pictures inside the page."""
    digest = b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode()
    return f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:"


def _text(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
