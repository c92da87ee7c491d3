"""Joint ranges as they are written on the command line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from taupi.errors import TaupiError, shown


def joint_spans(robot: Any, texts: Sequence[str]) -> dict[str, tuple[float, float]] | None:
    """Return ranges by joint name from `lo:hi`, for all joints, and `joint=lo:hi`, for one; None where there are none.

    >>> import taupi as tp
    >>> joint_spans(tp.load("elbow2r"), ["-1:1", "elbow=0:2"])
    {'shoulder': (-1.0, 1.0), 'elbow': (0.0, 2.0)}
    """
    found: dict[str, tuple[float, float]] = {}
    for text in sorted(texts, key=lambda t: "=" in t):  # what is said of one joint counts for more
        name, _, span = text.rpartition("=")
        lo, colon, hi = span.partition(":")
        try:
            ends = (float(lo), float(hi))
        except ValueError:
            colon = ""
        if not colon:
            raise TaupiError(f"--range is {shown(text)}, expected lo:hi or joint=lo:hi, as in --range joint2=-1:1.")
        found.update(dict.fromkeys([name] if name else robot.joint_names, ends))
    return found or None
