"""The picture of the mass that a task sees: ellipses, or ellipsoids, on the arm."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from taupi.analysis.ellipses import MassEllipses
from taupi.checks import whole_number
from taupi.errors import Argument, TaupiError
from taupi.reporting.figures.figure import Axes, PathLike, check_path, finished, new_figure, plot
from taupi.reporting.figures.labels import drawn_text
from taupi.reporting.figures.robot import INK, draw_arm, extent, frame_view, new_axes
from taupi.reporting.skeleton import skeleton

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOUR = "#d1495b"
ACCELERATION = "#2e86ab"


@plot.register(MassEllipses)
def plot_mass_ellipses(
    ellipses: MassEllipses,
    path: PathLike | None = None,
    force: bool = False,
    scale: float | None = None,
    arrows: int = 0,
) -> Figure:
    """Draw the arm in each configuration with its ellipse or ellipsoid, and accelerations and forces as arrows; see `plot`."""
    check_path(path, force)
    whole_number("arrows", arrows, least=0)
    if arrows and ellipses.centres.shape[1] != 2:
        raise TaupiError(Argument("arrows"), f" is {arrows}, expected 0: they are drawn in a plane, task 'xy'.")
    if scale is not None and not 0 < scale < np.inf:
        raise TaupiError(Argument("scale"), f" is {scale!r}, expected metres per kilogram, more than 0.")
    rows = ellipses.centres.shape[1]
    plane = (0, 1) if rows == 2 else None
    arm = None if callable(ellipses.task) else skeleton(ellipses.robot, ellipses.q, (ellipses.frame,))
    reach = extent(arm.points if arm is not None else _spatial(ellipses.centres))
    size = scale or 0.3 * reach / float(ellipses.semi_axes.max())
    outlines = _spatial(np.vstack([_surface(ellipses, k, size).reshape(-1, rows) for k in range(len(ellipses))]))
    points = np.vstack([outlines, arm.points]) if arm is not None else outlines
    axes: Axes = (
        new_axes(arm, plane) if arm is not None else new_figure(7, 6).add_subplot(projection=None if plane else "3d")
    )
    if arm is not None:
        draw_arm(axes, arm, plane)
    for k in range(len(ellipses)):
        _draw(axes, ellipses, k, size)
        _draw_arrows(axes, ellipses, k, size, arrows)
    frame_view(axes, points, plane)
    axes.set_title(
        f"{drawn_text(ellipses.robot.name)}: mass seen at {drawn_text(ellipses.frame)}, 1 m drawn is {1 / size:.3g} kg",
        color=INK,
    )
    return finished(axes.figure, path, force)


def _spatial(points: np.ndarray) -> np.ndarray:
    return np.pad(points, ((0, 0), (0, 3 - points.shape[1])))


def _surface(ellipses: MassEllipses, k: int, scale: float) -> np.ndarray:
    """Return the forces that unit accelerations need, on a circle (samples, 2) or a sphere (samples, samples, 3), as drawn."""
    turn = np.linspace(0, 2 * np.pi, 121)
    if ellipses.centres.shape[1] == 2:
        unit = np.stack([np.cos(turn), np.sin(turn)], axis=-1)
    else:
        tilt, around = np.meshgrid(np.linspace(0, np.pi, 25), turn[::4], indexing="ij")
        unit = np.stack([np.sin(tilt) * np.cos(around), np.sin(tilt) * np.sin(around), np.cos(tilt)], axis=-1)
    return ellipses.centres[k] + scale * unit @ ellipses.matrices[k].T


def _draw_arrows(axes: Axes, ellipses: MassEllipses, k: int, scale: float, count: int) -> None:
    """Draw unit accelerations a in all directions, and the forces f = M_C a that they need: parallel only along the axes."""
    centre = ellipses.centres[k]
    for turn in np.arange(count) * 2 * np.pi / max(count, 1):
        unit = np.array([np.cos(turn), np.sin(turn)])
        for colour, tip, label in (
            (ACCELERATION, centre + scale * unit, f"_acceleration {k}"),
            (COLOUR, centre + scale * ellipses.matrices[k] @ unit, f"_force {k}"),
        ):
            style = {"arrowstyle": "-|>", "color": colour, "lw": 1.2, "shrinkA": 0, "shrinkB": 0}
            axes.annotate("", tip, centre, arrowprops=style, zorder=7, label=label)


def _draw(axes: Axes, ellipses: MassEllipses, k: int, scale: float) -> None:
    surface, centre = _surface(ellipses, k, scale), ellipses.centres[k]
    if surface.ndim == 2:
        axes.fill(*surface.T, fc=COLOUR, ec=COLOUR, alpha=0.25, lw=0, zorder=5)
        axes.plot(*surface.T, color=COLOUR, lw=1.5, zorder=6, label=f"_ellipse {k}")
    else:
        axes.plot_surface(*np.moveaxis(surface, -1, 0), color=COLOUR, alpha=0.3, lw=0, zorder=5)
    for length, direction in zip(ellipses.semi_axes[k], ellipses.directions[k].T, strict=True):
        ends = np.stack([centre - scale * length * direction, centre + scale * length * direction], axis=-1)
        axes.plot(*ends, color=COLOUR, lw=1, zorder=6)
