"""The verb `plot`, and how a figure is created and written."""

from __future__ import annotations

import io
import os
from functools import cache, singledispatch
from typing import TYPE_CHECKING, Any

from taupi.errors import Argument, TaupiError, shown
from taupi.files import path_of, refuse_to_overwrite, write_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Metadata to leave out so that the same picture gives the same file.
_METADATA: dict[str, dict[str, Any]] = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
PathLike = str | os.PathLike[str]
Axes = Any  # Matplotlib's, flat or in three dimensions: their methods differ


@singledispatch
def plot(thing: Any, *settings: Any, **keywords: Any) -> Figure:
    """Draw a `thing` and return its Matplotlib figure (needs the extra `plot`).

    With `path`, the figure is also written to that file, as .png, .svg or .pdf. An existing file is kept unless `force` is true.
    Which `settings` and `keywords` there are depends on the thing:

    `plot(robot, q=None, path=None, force=False, frames=None, names=True)` draws the arm at q, (n,) or several (k, n), by default
    zero: links as lines, joints by their kind, frames as triads. `frames` are the names of the frames to draw, by default those
    of the links and the tip; `names=False` leaves their names out. An arm that moves in a plane of the world's axes is drawn in
    that plane, any other in three dimensions.

    `plot(ellipses, path=None, force=False, scale=None, arrows=0)` draws the result of `taupi.operational.mass_ellipses` on the
    arm; `scale` is in metres per kilogram, by default chosen to fit the arm, and `arrows` draws this many accelerations of
    length one, in all directions of a plane, and the force that each needs.

    `plot(fit, path=None, force=False)` draws identified parameters with their 95 % intervals beside the description's values.

    `plot(fleet, path=None, force=False)` draws each arm's own parameters beside the typical arm, with 95 % intervals; what
    stands out is red.

    `plot(validation, path=None, force=False)` draws torque measured and predicted, and the residual, joint by joint.

    `plot(run, path=None, force=False)` draws a simulated run over time: positions with the reference dashed, errors, torques,
    estimates, and the energy with its audit.

    `plot(excitation, path=None, force=False)` draws an exciting motion and its torque as shares of their limits.

    `plot(log, path=None, force=False)` draws the signals of a log.

    >>> import taupi as tp
    >>> figure = tp.plot(tp.load("puma560"), [0.0, 0.7, -0.4, 0.0, 0.5, 0.0])
    >>> len(figure.axes)
    1
    """
    known = ", ".join(sorted(kind.__name__ for kind in plot.registry if kind is not object))
    raise TaupiError(f"There is no picture of {shown(thing)}, a {type(thing).__name__}. Things that have one: {known}.")


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

    class Picture(base):
        def _repr_png_(self) -> bytes:
            data = io.BytesIO()
            self.savefig(data, format="png", dpi=100)
            return data.getvalue()

    return Picture


def check_path(path: PathLike | None, force: bool) -> None:
    """Refuse a path that the picture could not be written to, before drawing it."""
    if path is None:
        return
    ending = path_of(path, "the path of a picture").suffix.lower().lstrip(".")
    if ending not in _METADATA:
        endings = ", ".join(f".{k}" for k in _METADATA)
        raise TaupiError(Argument("path"), f" is {str(path)!r}, expected a name ending in {endings}.")
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
