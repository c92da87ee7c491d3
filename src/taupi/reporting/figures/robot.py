"""Pictures of an arm: links as lines, joints as markers by kind, frames as triads with names; the mass felt at its tip."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from taupi.analysis.task_space import MassEllipses
from taupi.checks import whole_number
from taupi.dynamics.chain import configurations
from taupi.errors import TaupiError
from taupi.model.robot import Robot
from taupi.reporting.figures.figure import (
    FONT,
    Axes,
    PathLike,
    check_path,
    drawn_text,
    finished,
    free_spots,
    merged_labels,
    new_figure,
    plot,
)
from taupi.reporting.skeleton import Skeleton, drawing_plane, skeleton

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike


AXIS_NAMES = "xyz"
TRIAD = ("#c8322f", "#2f8f3e", "#2c5fb3")
LINK, PALE, INK = "#3c5a78", "#c3ccd6", "#333333"
MARKERS = {"revolute": ("o", "#e08a2e"), "prismatic": ("s", "#7a55a6")}


@plot.register(Robot)
def plot_robot(
    robot: Robot,
    q: ArrayLike | None = None,
    path: PathLike | None = None,
    force: bool = False,
    frames: Sequence[str] | None = None,
    names: bool = True,
) -> Figure:
    """Draw an arm at one or several configurations; see `plot`."""
    check_path(path, force)
    arm = skeleton(robot, configurations(robot, q), frames)
    plane = drawing_plane(arm)
    axes = new_axes(arm, plane)
    draw_arm(axes, arm, plane)
    draw_triads(axes, arm, plane)
    frame_view(axes, arm.points, plane)
    draw_legend(axes, arm)
    axes.set_title(drawn_text(robot.name), color=INK)
    if names and arm.names:
        label_frames(axes, arm, plane)
    return finished(axes.figure, path, force)


def new_axes(arm: Skeleton, plane: tuple[int, int] | None) -> Axes:
    """Return the axes of a new figure: flat where the arm is planar, else in three dimensions."""
    if plane is None:
        axes = new_figure(7.0, 6.2).add_subplot(projection="3d")
        axes.view_init(elev=22, azim=-55)
        return axes
    span = np.ptp(arm.points[:, list(plane)], axis=0) + 0.4 * extent(arm.points)
    width, height = 7.0 * span / span.max()
    return new_figure(max(width, 4.0) + 0.8, max(height, 3.5) + 0.8).add_subplot()


def extent(points: np.ndarray) -> float:
    """Return the largest side of the box around points, 1 m where they coincide."""
    return float(np.ptp(points, axis=0).max()) or 1.0


def draw_line(axes: Axes, points: np.ndarray, plane: tuple[int, int] | None, *style: object, **more: object) -> None:
    """Draw a line through points (count, 3) of the world."""
    axes.plot(*(points.T if plane is None else points.T[list(plane)]), *style, **more)


def draw_arm(axes: Axes, arm: Skeleton, plane: tuple[int, int] | None) -> None:
    """Draw links and joints; if there are several configurations, the last is the darkest."""
    count = len(arm.links)
    for k in range(count):
        shade = 1.0 if count == 1 else 0.35 + 0.65 * k / (count - 1)
        for i, joint in enumerate(arm.robot.joints):
            draw_line(
                axes, arm.links[k, i], plane, "-", color=LINK, lw=4, alpha=shade, solid_capstyle="round", zorder=2
            )
            kind = "prismatic" if joint.prismatic else "revolute"
            if joint.prismatic:
                draw_line(axes, arm.links[k, i, 1:3], plane, "-", color=MARKERS[kind][1], lw=1.5, alpha=shade, zorder=3)
            marker, colour = MARKERS[kind]
            at = arm.joints[k, i : i + 1]
            draw_line(axes, at, plane, marker, color=colour, mec="white", ms=9, alpha=shade, zorder=4, label=f"_{kind}")
            if plane is None:
                stub = 0.05 * extent(arm.points) * arm.axes[k, i]
                draw_line(axes, at + np.vstack([-stub, stub]), plane, "-", color=colour, lw=1.5, alpha=shade, zorder=4)
        for carrier, p in zip(arm.carriers[k], arm.frames[k, :, :, 3], strict=True):
            if np.linalg.norm(p - carrier) > 0:
                draw_line(axes, np.vstack([carrier, p]), plane, "-", color=LINK, lw=2, alpha=shade, zorder=2)
    draw_line(axes, arm.base[None], plane, "^", color=INK, ms=16, zorder=1, label="_base")


def draw_triads(axes: Axes, arm: Skeleton, plane: tuple[int, int] | None) -> None:
    """Draw each frame as a triad, x red, y green, z blue."""
    length = 0.09 * extent(arm.points)
    for placed in arm.frames.reshape(-1, 3, 4):
        p = placed[:, 3]
        for axis, colour in zip(placed[:, :3].T, TRIAD, strict=True):
            if plane is None or np.linalg.norm(axis[list(plane)]) > 1e-6:
                draw_line(axes, np.vstack([p, p + length * axis]), plane, "-", color=colour, lw=1.5, zorder=5)


def label_frames(axes: Axes, arm: Skeleton, plane: tuple[int, int] | None) -> None:
    """Write the frames' names beside them in the last configuration, where they cover neither the arm nor each other."""
    axes.figure.draw_without_rendering()  # fixes the layout, so that positions on the page are known
    triads = arm.frames[-1, :, :, 3, None] + 0.09 * extent(arm.points) * arm.frames[-1, :, :, :3]
    drawn = np.vstack([_filled(arm.links.reshape(-1, 4, 3)), np.moveaxis(triads, -1, -2).reshape(-1, 3)])
    together = merged_labels(
        [drawn_text(name) for name in arm.names], arm.frames[-1, :, :, 3], 0.04 * extent(arm.points)
    )
    at = _on_page(axes, np.array([p for _, p in together]), plane)
    unit = 72 / axes.figure.dpi
    spots = free_spots([label for label, _ in together], at * unit, _on_page(axes, drawn, plane) * unit)
    for (label, _), pixel, away in zip(together, at, spots, strict=True):
        axes.annotate(
            label,
            axes.transData.inverted().transform(pixel),
            tuple(away),
            textcoords="offset points",
            fontsize=FONT,
            color=INK,
            ha="center",
            va="center",
            zorder=7,
        )


def _filled(corners: np.ndarray) -> np.ndarray:
    """Return points along lines (lines, corners, 3), close enough to keep names off them."""
    share = np.linspace(0, 1, 24)[:, None]
    return (corners[:, :-1, None] + share * np.diff(corners, axis=1)[:, :, None]).reshape(-1, 3)


def _on_page(axes: Axes, points: np.ndarray, plane: tuple[int, int] | None) -> np.ndarray:
    """Return where points (count, 3) of the world are drawn, in pixels (count, 2)."""
    if plane is not None:
        return axes.transData.transform(points[:, list(plane)])
    from mpl_toolkits.mplot3d import proj3d

    x, y, _ = proj3d.proj_transform(*points.T, axes.get_proj())
    return axes.transData.transform(np.column_stack([x, y]))


def frame_view(axes: Axes, points: np.ndarray, plane: tuple[int, int] | None) -> None:
    """Set equal scales, limits with a margin around points, and axis labels."""
    keep = (0, 1, 2) if plane is None else plane
    low, high = points.min(axis=0), points.max(axis=0)
    margin = 0.16 * extent(points)
    half = np.full(3, extent(points) / 2) if plane is None else (high - low) / 2
    middle = (low + high) / 2
    for name, k in zip(AXIS_NAMES, keep, strict=False):
        getattr(axes, f"set_{name}lim")(middle[k] - half[k] - margin, middle[k] + half[k] + margin)
        getattr(axes, f"set_{name}label")(f"{AXIS_NAMES[k]} [m]")
    if plane is None:
        axes.set_box_aspect((1, 1, 1), zoom=1.06)
        axes.locator_params(nbins=6)
        axes.tick_params(labelsize=8)
    else:
        axes.set_aspect("equal")
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(color=PALE, lw=0.5, alpha=0.6)
        axes.set_axisbelow(True)


def draw_legend(axes: Axes, arm: Skeleton) -> None:
    """Add a legend of the markers that occur."""
    from matplotlib.lines import Line2D

    kinds = dict.fromkeys("prismatic" if j.prismatic else "revolute" for j in arm.robot.joints)
    entries = [Line2D([], [], marker="^", ls="", color=INK, ms=9, label="base")]
    entries += [
        Line2D([], [], marker=MARKERS[k][0], ls="", color=MARKERS[k][1], mec="white", ms=9, label=k) for k in kinds
    ]
    entries += [Line2D([], [], color=c, lw=1.5, label=a) for a, c in zip(AXIS_NAMES, TRIAD, strict=True)]
    axes.figure.legend(handles=entries, loc="outside lower center", ncols=len(entries), fontsize=8, frameon=False)


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
        raise TaupiError("{arrows} is {got}, expected 0: they are drawn in a plane, task 'xy'.", got=arrows)
    if scale is not None and not 0 < scale < np.inf:
        raise TaupiError("{scale} is {got!r}, expected metres per kilogram, more than 0.", got=scale)
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
