"""The picture of an arm: links as lines, joints as markers by kind, frames as triads with names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from taupi.dynamics.chain import configurations
from taupi.model.robot import Robot
from taupi.reporting.figures.figure import Axes, PathLike, check_path, finished, new_figure, plot
from taupi.reporting.figures.labels import FONT, drawn_text, free_spots, merged_labels
from taupi.reporting.skeleton import Skeleton, drawing_plane, skeleton

if TYPE_CHECKING:
    from matplotlib.figure import Figure

AXIS_NAMES = "xyz"
TRIAD = ("#c8322f", "#2f8f3e", "#2c5fb3")
LINK, PALE, INK = "#3c5a78", "#c3ccd6", "#333333"
MARKERS = {"revolute": ("o", "#e08a2e"), "prismatic": ("s", "#7a55a6")}


@plot.register(Robot)
def plot_robot(
    robot: Robot,
    q: Any = None,
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


def draw_line(axes: Axes, points: np.ndarray, plane: tuple[int, int] | None, *style: Any, **more: Any) -> None:
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
