"""Where to write names so that they can be read: together where points coincide, off the lines and off each other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

FONT = 8.0  # points; a character is about 0.58 of it wide
RADII = (10.0, 18.0, 28.0, 40.0, 56.0)
_LONGEST = 60  # characters
ANGLES = np.deg2rad([-45, 0, 45, -90, 135, 180, 225, 90])


def drawn_text(name: str) -> str:
    """Return a name that Matplotlib draws literally: no formula between dollars, no control characters, not too long.

    >>> drawn_text("a$b$"), len(drawn_text("x" * 9000))
    ('a\\\\$b\\\\$', 63)
    """
    plain = "".join(c if c.isprintable() else " " for c in name)
    return (plain if len(plain) <= _LONGEST else plain[:_LONGEST] + "...").replace("$", r"\$")


def merged_labels(names: Sequence[str], points: np.ndarray, near: float) -> list[tuple[str, np.ndarray]]:
    """Return labels and their positions, one for all points (count, 3) within the distance `near` of the first of them.

    >>> [label for label, _ in merged_labels(["a", "b", "c"], np.array([[0, 0, 0], [1, 0, 0], [0.01, 0, 0]]), 0.1)]
    ['a, c', 'b']
    """
    groups: list[tuple[list[str], np.ndarray]] = []
    for name, p in zip(names, points, strict=True):
        for members, at in groups:
            if np.linalg.norm(at - p) < near:
                members.append(name)
                break
        else:
            groups.append(([name], p))
    return [(", ".join(members), at) for members, at in groups]


def free_spots(labels: Sequence[str], at: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """Return the offset of the middle of each label from its point `at` (count, 2); all in typographic points.

    The spot is the nearest one whose box covers least of the labels placed before and of the points `drawn` (count, 2).
    """
    boxes = [np.hstack([p - 3, p + 3]) for p in drawn]
    offsets = []
    for label, p in zip(labels, at, strict=True):
        size = np.array([0.58 * FONT * len(label) + 4, 1.4 * FONT])
        spots = [np.array([np.cos(a), np.sin(a)]) * (r + size / 2) for r in RADII for a in ANGLES]
        taken = np.array(boxes)
        costs = [_covered(np.hstack([p + s - size / 2, p + s + size / 2]), taken) for s in spots]
        best = spots[int(np.argmin(costs))]  # the first of equals, which is the nearest
        boxes.append(np.hstack([p + best - size / 2, p + best + size / 2]))
        offsets.append(best)
    return np.array(offsets)


def _covered(box: np.ndarray, others: np.ndarray) -> float:
    sides = np.minimum(box[2:], others[:, 2:]) - np.maximum(box[:2], others[:, :2])
    return float(np.prod(np.maximum(sides, 0), axis=1).sum())
