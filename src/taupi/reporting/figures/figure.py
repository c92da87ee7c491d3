"""The verb `plot`, how a figure is created and written, and where names are written so that they can be read."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from functools import cache, singledispatch
from typing import TYPE_CHECKING, Any

import numpy as np

from taupi.errors import TaupiError
from taupi.files import path_of, refuse_to_overwrite, write_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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


# Metadata to leave out so that the same picture gives the same file.
_METADATA: dict[str, dict[str, Any]] = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
PathLike = str | os.PathLike[str]
Axes = Any  # Matplotlib's, flat or in three dimensions: their methods differ


@singledispatch
def plot(thing: object, *settings: object, **keywords: object) -> Figure:
    """Draw a `thing` and return its Matplotlib figure (needs the extra `plot`).

    - A `Robot`: links as lines, joints by their kind, frames as triads. An arm that moves in a plane of the world's axes is drawn
      in that plane, any other in three dimensions.
    - A `MassEllipses`, the result of `taupi.operational.mass_ellipses`: the mass felt at the tip, on the arm.
    - A `Fit`: identified parameters with their 95 % intervals beside the description's values.
    - A `Fleet`: each arm's own parameters beside the typical arm, with 95 % intervals; what stands out is red.
    - A `Validation`: torque measured and predicted, and the residual, joint by joint.
    - A `Run`: positions with the reference dashed, errors, torques, estimates, and the energy with its audit, over time.
    - An `Excitation`: the motion and its torque as shares of their limits.
    - A `Log`: its signals.

    Args:
        thing: What to draw.
        settings: The first is q for a robot, (n,) or several (k, n), by default zero; `path` and `force` follow.
        keywords: `path`, a .png, .svg or .pdf file to write the figure to; by default none. `force`, whether an existing file is
            replaced; by default it is kept. For a robot also `frames`, names of the frames to draw, by default those of the links
            and the tip, and `names`, by default True: whether they are written. For ellipses also `scale`, in metres per
            kilogram, by default chosen to fit the arm, and `arrows`, by default 0: how many accelerations of length one are
            drawn, in all directions of a plane, with the force that each needs.

    Returns:
        A `matplotlib.figure.Figure`, which notebooks show.

    Raises:
        TaupiError: Nothing draws such a thing, Matplotlib is missing, or the file exists.

    >>> import taupi as tp
    >>> figure = tp.plot(tp.load("puma560"), [0.0, 0.7, -0.4, 0.0, 0.5, 0.0])
    >>> len(figure.axes)
    1
    """
    known = ", ".join(sorted(kind.__name__ for kind in plot.registry if kind is not object))
    raise TaupiError(
        "There is no picture of {thing!r}, a {kind}. Things that have one: {known}.",
        thing=thing,
        kind=type(thing).__name__,
        known=known,
    )


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of a size in inches, bound to no window."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise TaupiError('Pictures need Matplotlib: pip install "taupi[plot]".') from None
    return _self_showing(Figure)(figsize=(width, height), layout="constrained")


@cache
def _self_showing(base: type[Figure]) -> type[Figure]:
    """Return Matplotlib's figure with a form for notebooks: it is shown as the last line of a cell, without %matplotlib."""

    class NotebookFigure(base):
        def _repr_png_(self) -> bytes:
            data = io.BytesIO()
            self.savefig(data, format="png", dpi=100)
            return data.getvalue()

    return NotebookFigure


def check_path(path: PathLike | None, force: bool) -> None:
    """Refuse a path that the picture could not be written to, before drawing it."""
    if path is None:
        return
    ending = path_of(path, "the path of a picture").suffix.lower().lstrip(".")
    if ending not in _METADATA:
        endings = ", ".join(f".{k}" for k in _METADATA)
        raise TaupiError("{path} is {got!r}, expected a name ending in {endings}.", got=str(path), endings=endings)
    refuse_to_overwrite(path, force)


def finished(figure: Figure, path: PathLike | None, force: bool) -> Figure:
    """Write a figure to `path`, if one is given, completely or not at all; return the figure."""
    if path is not None:
        import matplotlib as mpl

        ending = path_of(path).suffix.lower().lstrip(".")
        data = io.BytesIO()
        with mpl.rc_context({"svg.hashsalt": "taupi"}):
            figure.savefig(data, format=ending, dpi=150, metadata=_METADATA[ending])
        write_file(path, lambda stream: stream.write(data.getvalue()), force)
    return figure
