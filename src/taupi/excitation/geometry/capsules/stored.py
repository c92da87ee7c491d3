"""The results of a search for capsules, kept on disk beside compiled programs so that the next process starts at once.

A plan says where to cut triangles and which segment encloses each part, but nothing that safety depends on: radii are
always computed from the triangles.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from pathlib import Path

import numpy as np

from taupi.errors import TaupiError
from taupi.excitation.geometry.capsules.cuts import Cut
from taupi.excitation.geometry.capsules.smallest import Segment
from taupi.files import write_private
from taupi.input_files import parse_json, read_text
from taupi.program.disk_cache import folder

# Change this together with the search, or with what is stored.
_VERSION = 2
_MOST_CUTS = 64  # successive cuts; a search makes a handful

Plan = list[tuple[list[Cut], Segment]]


def key_of(triangles: np.ndarray) -> str:
    """Return the name under which the plan of triangles is kept: a hash of their corners."""
    return hashlib.sha256(np.ascontiguousarray(triangles, dtype=float).tobytes()).hexdigest()


def load(key: str) -> Plan | None:
    """Return the plan that is stored under a key, or None."""
    file = _file(key)
    if file is None:
        return None
    try:
        return plan_from_text(read_text(file, "a plan of capsules"))
    except TaupiError:
        return None


def save(key: str, plan: Plan) -> None:
    """Store a plan, completely or not at all; a folder that cannot be written to is not an error."""
    file = _file(key)
    if file is None:
        return
    with suppress(OSError):
        write_private(file, plan_to_text(plan).encode())


def plan_to_text(plan: Plan) -> str:
    """Return a plan as JSON."""
    return json.dumps(
        [
            {"cuts": [[*c.normal, c.offset] for c in cuts], "segment": [list(map(float, end)) for end in segment]}
            for cuts, segment in plan
        ]
    )


def plan_from_text(text: str) -> Plan | None:
    """Return a plan from JSON, None if it is not a complete plan: a file on disk may contain anything."""
    try:
        plan: Plan = []
        for row in parse_json(text, "a plan of capsules", "a list"):
            cuts = [Cut((float(x), float(y), float(z)), float(o)) for x, y, z, o in row["cuts"]]
            a, b = (np.array([float(v) for v in end]).reshape(3) for end in row["segment"])
            if not np.isfinite([a, b]).all():
                return None
            plan.append((cuts, (a, b)))
            if len(cuts) > _MOST_CUTS:
                return None
    except (ValueError, TypeError, KeyError, OverflowError):
        return None
    return plan if plan and _complete([cuts for cuts, _ in plan]) else None


def _complete(parts: list[list[Cut]]) -> bool:
    """Return whether parts leave nothing out: both sides of every cut exist, down to the last."""
    if any(not cuts for cuts in parts):
        return len(parts) == 1
    first = parts[0][0]
    sides = [[cuts[1:] for cuts in parts if cuts[0] == side] for side in (first, first.other)]
    if sum(map(len, sides)) != len(parts):
        return False
    return all(side and _complete(side) for side in sides)


def _file(key: str) -> Path | None:
    objects = folder()
    return None if objects is None else objects.parent / f"capsules-{_VERSION}" / f"{key}.json"
