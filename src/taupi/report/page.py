"""A report as one HTML file that needs nothing else: no network, no library, a hand's breadth of script for zooming.

Plotly's own script weighs megabytes. Lines drawn as SVG weigh what their points weigh, show without any script, print, and can
be read by other programs; zooming them takes a hundred lines (page.js).
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from importlib.resources import files
from string import Template

from taupi import __version__
from taupi.report.content import Content
from taupi.report.sections import SECTIONS
from taupi.report.sections.base import Section, rendered


def page(content: Content, sections: Sequence[Section] = SECTIONS) -> str:
    """Return a report as the text of an HTML file."""
    parts = [(s, text) for s in sections if (text := rendered(s, content)) is not None]
    links = "".join(f'<a href="#{s.name}">{html.escape(s.title)}</a>' for s, _ in parts)
    logs = sum(run.role == "fitted" for run in content.runs)
    subtitle = f"{content.estimator} on {logs} log{'s' * (logs != 1)}, taupi {__version__}"
    return Template(_text("page.html")).substitute(
        version=__version__,
        title=html.escape(f"Identification of {content.robot}"),
        subtitle=html.escape(subtitle),
        links=links,
        sections="\n".join(text for _, text in parts),
        style=_text("page.css"),
        script=_text("page.js"),
    )


def _text(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
