"""Show the package's docstrings as they are written: plain text with equations, and doctests as code."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object

_SPECIAL = re.compile(r"([\\*_\[\]<>#])")


class PlainDocstrings(Extension):
    """Escape what Markdown would take for markup in an equation, and fence the examples."""

    def on_instance(self, *, obj: Object, **_: Any) -> None:
        """Rewrite one object's docstring."""
        if obj.docstring is not None:
            obj.docstring.value = readable(obj.docstring.value)


def readable(text: str) -> str:
    """Return a docstring as Markdown that shows the same characters."""
    result: list[str] = []
    fenced = False
    for line in text.splitlines():
        example = line.lstrip().startswith(">>>")
        if example and not fenced:
            result.append("```pycon")
            fenced = True
        if fenced and not line.strip():
            result.append("```")
            fenced = False
        result.append(line.strip() if fenced else line if line.startswith("    ") else _escaped(line))
    return "\n".join([*result, "```"] if fenced else result)


def _escaped(line: str) -> str:
    """Escape a line of prose outside its `code`."""
    parts = line.split("`")
    return "`".join(part if k % 2 else _SPECIAL.sub(r"\\\1", part) for k, part in enumerate(parts))
