"""The motion that a simulated arm is to follow, and where it starts: what `--reference` and `--initial` stand for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from taupi.cli.parsing import json_value
from taupi.errors import Argument, TaupiError, unknown
from taupi.settings import Settings

if TYPE_CHECKING:
    import numpy as np

    from taupi.model.robot import Robot
    from taupi.simulation.references import Reference, Sinusoids

_FILES = (".csv", ".txt", ".tsv", ".dat", ".gz", ".parquet", ".npz", ".mat", ".mcap", ".bag", ".db3")
_DOCUMENTS = ("planar2", "puma560")
_KNOWN = ("sine", *_DOCUMENTS, "none", "[[q], [q], ...]", "minjerk:[[q], ...]", "bspline:[[q], ...]", "a file")


@dataclass(frozen=True)
class MotionOptions(Settings):
    """What an arm should follow.

    Attributes:
        reference: sine (sums of sines that repeat every 4 s), planar2 or puma560 (motions from the papers), none, way-points
            [[q], [q], ...] or minjerk:[...], control points bspline:[...], sines {"offset": ..., "amplitude": ...,
            "omega": ...}, or a file of positions.
        initial: Where it starts, at rest: a JSON list q. By default on the reference.
    """

    reference: str = "sine"
    initial: str | None = None

    def motion(self, robot: Robot, duration: float) -> Reference | None:
        """Return the motion to follow, None for none."""
        return build_reference(self.reference, robot, duration)

    def start(self, n: int) -> np.ndarray | None:
        """Return the position that an arm of n joints starts from, None for that of the reference."""
        if self.initial is None:
            return None
        point = _array(self.initial)
        if point.shape != (n,):
            raise TaupiError(Argument("initial"), f" is {self.initial[:60]!r}, expected {n} numbers: [...].")
        return point


def build_reference(text: str, robot: Robot, duration: float) -> Reference | None:
    """Return the motion that a text describes, None for "none".

    It is "sine", a motion from a paper, way-points, control points, the sines of a JSON object, or a file of positions.
    """
    import numpy as np

    import taupi as tp
    from taupi.signals.formats.sources import file_name
    from taupi.simulation.default_motions import gentle_sines

    if text == "none":
        return None
    if text in _DOCUMENTS:
        return tp.Sinusoids.document(text)
    if text == "sine":
        return gentle_sines(robot)
    value = text.strip()
    kind, colon, rest = value.partition(":")
    if value.startswith("[") or (colon and kind == "minjerk"):
        way = _points(value if value.startswith("[") else rest, robot.n)
        return tp.MinimumJerk(way, np.linspace(0.0, duration, len(way)))
    if colon and kind == "bspline":
        return tp.BSpline(_points(rest, robot.n), duration)
    if value.startswith("{"):
        return _sines(value)
    if Path(file_name(text)).suffix.lower() in _FILES:
        return tp.SampledMotion.read(text, robot)
    raise unknown("reference", text, _KNOWN)


def _sines(text: str) -> Sinusoids:
    import taupi as tp

    needed, keys = {"offset", "amplitude", "omega"}, json_value(text)
    if not isinstance(keys, dict) or not needed <= set(keys) <= needed | {"phase"}:
        raise TaupiError(
            Argument("reference"),
            f" is {text[:60]!r}, expected a JSON object with offset, amplitude, omega and, if you like, phase.",
        )
    return tp.Sinusoids(keys["offset"], keys["amplitude"], keys["omega"], keys.get("phase", 0.0))


def _points(text: str, n: int) -> np.ndarray:
    """Return way-points or control points from a JSON list of lists."""
    points = _array(text)
    if points.ndim != 2 or points.shape[1] != n or len(points) < 2:
        raise TaupiError(
            Argument("reference"),
            f" is {text[:60]!r}, expected at least two way-points of {n} numbers: [[...], [...]].",
        )
    return points


def _array(text: str) -> np.ndarray:
    """Return a JSON list as an array, or an empty array if the text is not a list."""
    import numpy as np

    try:
        return np.array(json_value(text), dtype=float)
    except (TypeError, ValueError):
        return np.zeros(0)
