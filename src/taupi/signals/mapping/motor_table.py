"""The [motor] table of a column mapping, changed in the text of its file."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

_TABLE = re.compile(r"^[ \t]*\[[ \t]*motor[ \t]*\][^\n]*\n?", re.MULTILINE)
_NEXT = re.compile(r"^[ \t]*\[", re.MULTILINE)


def with_gains(text: str, values: Mapping[str, Sequence[float]]) -> str:
    """Return the text of a mapping whose [motor] table states `values`, one list per key; all else stays as it is.

    >>> print(with_gains('q = "q{i}"', {"torque_per_ampere": [1.5, 2.0]}))
    q = "q{i}"
    <BLANKLINE>
    [motor]
    torque_per_ampere = [1.5, 2.0]
    <BLANKLINE>
    >>> print(with_gains('[motor]  # drives\\nratio = 100\\ntorque_per_ampere = 0.1\\n', {"torque_per_ampere": [1.5]}))
    [motor]  # drives
    ratio = 100
    torque_per_ampere = [1.5]
    <BLANKLINE>
    """
    head = _TABLE.search(text)
    if head is None:
        lines = "".join(f"{name} = {list(v)}\n" for name, v in values.items())
        return (text.rstrip("\n") + "\n\n" if text.strip() else "") + "[motor]\n" + lines
    end = _NEXT.search(text, head.end())
    stop = end.start() if end else len(text)
    body = text[head.end() : stop]
    for name, numbers in values.items():
        line = f"{name} = {list(numbers)}"
        old = re.compile(rf"^[ \t]*{name}[ \t]*=[ \t]*(\[[^\]]*\]|[^\n#]*)", re.MULTILINE)
        body = old.sub(lambda _, line=line: line, body) if old.search(body) else f"{line}\n{body}"  # type: ignore[misc]
    return text[: head.end()] + body + text[stop:]
