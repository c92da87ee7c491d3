"""Show the package's docstrings as they are written: plain text with equations, and doctests as code."""

from __future__ import annotations

import importlib
import inspect
import re
from typing import Any

from griffe import Extension, Object

_SPECIAL = re.compile(r"([\\*_\[\]<>#])")
_SECTION = re.compile(r"(Args|Attributes|Returns|Yields|Raises|Warns):$")
_ENTRY = re.compile(r"( {4}[*\w.]+(?: \([^)]*\))?: )(.*)")


_MADE = "taupi.control.laws."  # laws, which describe the settings of their bases too when they are imported


def _made_on_import(path: str) -> str | None:
    module, _, name = path.rpartition(".")
    return inspect.cleandoc(getattr(importlib.import_module(module), name).__doc__ or "") or None


class PlainDocstrings(Extension):
    """Escape what Markdown would take for markup in an equation, and fence the examples."""

    def on_instance(self, *, obj: Object, **_: Any) -> None:
        """Rewrite one object's docstring."""
        if obj.docstring is not None:
            made = _made_on_import(obj.path) if obj.is_class and obj.path.startswith(_MADE) else None
            obj.docstring.value = readable(made or obj.docstring.value)


def readable(text: str) -> str:
    """Return a docstring as Markdown that shows the same characters."""
    result: list[str] = []
    fenced = section = False
    for line in text.splitlines():
        example = line.lstrip().startswith(">>>")
        if example and not fenced:
            result.append("```pycon")
            fenced = True
        if fenced and not line.strip():
            result.append("```")
            fenced = False
        if line and not line.startswith(" "):
            section = bool(_SECTION.match(line))
        if fenced:
            result.append(line.strip())
        elif section:
            entry = _ENTRY.match(line)
            result.append(entry[1] + _escaped(entry[2]) if entry else _escaped(line))
        else:
            result.append(line if line.startswith("    ") else _escaped(line))
    return "\n".join([*result, "```"] if fenced else result)


def _escaped(line: str) -> str:
    """Escape a line of prose outside its `code`."""
    parts = line.split("`")
    return "`".join(part if k % 2 else _SPECIAL.sub(r"\\\1", part) for k, part in enumerate(parts))
