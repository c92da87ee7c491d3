"""The verb `plot`, and how a figure is made and written."""

from __future__ import annotations

import io
import os
from functools import singledispatch
from typing import TYPE_CHECKING, Any

from taupi.errors import TaupiError, shown
from taupi.files import path_of, refuse_to_overwrite, write_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# What to leave out so that the same picture is the same file.
_METADATA: dict[str, dict[str, Any]] = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
PathLike = str | os.PathLike[str]
Axes = Any  # Matplotlib's, flat or in three dimensions: their methods differ


@singledispatch
def plot(thing: Any, *settings: Any, **named: Any) -> Figure:
    """Draw a thing and return its Matplotlib figure; with `path`, write it as .png, .svg or .pdf too (extra `plot`).

    `plot(robot, q=None, path=None, force=False, frames=None, names=True)` draws the arm at q, (n,) or several (k, n), by default
    zero: links as lines, joints by their kind, frames as triads with names; `frames` chooses them, by default the links' own and
    the tip. An arm whose motion stays in a plane of the world's axes is drawn in it, any other in three dimensions.

    `plot(ellipses, path=None, force=False, scale=None)` draws `taupi.mass_ellipses` on the arm; `scale` is metres per kilogram.

    `plot(fit, path=None, force=False)` draws identified parameters with their 95 % intervals beside the description's values.
    `plot(validation, path=None, force=False)` draws torque measured and predicted, and what is left, joint by joint.
    `plot(run, path=None, force=False)` draws a simulated run over time: positions with the reference dashed, errors, torques,
    estimates, and the energy with its audit.

    A file that is there already is kept, unless `force`.

    >>> import taupi as tp
    >>> figure = tp.plot(tp.load("puma560"), [0.0, 0.7, -0.4, 0.0, 0.5, 0.0])
    >>> len(figure.axes)
    1
    """
    from taupi.report.figure import plot as verb

    known = ", ".join(sorted(kind.__name__ for kind in verb.registry if kind is not object))
    raise TaupiError(f"There is no picture of {shown(thing)}, a {type(thing).__name__}. Things that have one: {known}.")


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of a size in inches, bound to no window."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise TaupiError('Pictures need Matplotlib: pip install "taupi[plot]".') from None
    return Figure(figsize=(width, height), layout="constrained")


def check_path(path: PathLike | None, force: bool) -> None:
    """Refuse a path that the picture could not be written to, before drawing it."""
    if path is None:
        return
    ending = path_of(path, "the path of a picture").suffix.lower().lstrip(".")
    if ending not in _METADATA:
        raise TaupiError(f"path is {str(path)!r}, expected a name ending in {', '.join('.' + k for k in _METADATA)}.")
    refuse_to_overwrite(path, force)


def finished(figure: Figure, path: PathLike | None, force: bool) -> Figure:
    """Write a figure to its path, if it has one, whole or not at all; return it."""
    if path is not None:
        import matplotlib as mpl

        ending = path_of(path).suffix.lower().lstrip(".")
        data = io.BytesIO()
        with mpl.rc_context({"svg.hashsalt": "taupi"}):
            figure.savefig(data, format=ending, dpi=150, metadata=_METADATA[ending])
        write_file(path, lambda stream: stream.write(data.getvalue()), force)
    return figure
