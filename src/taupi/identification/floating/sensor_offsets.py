"""Offsets of force sensors, which drift: constant in the axes of the sensor, one for each log, taken out of the rows.

A sensor that reads f + o has the rows Y pi + J^T o = tau + J^T f_read. The columns J^T are projected out of all rows of a log at
once, so that what is left holds for every offset (Frisch and Waugh 1933; Lovell 1963).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from taupi.dynamics.contacts import contact_jacobian
from taupi.model.robot import Robot

# The name of the term that requests it.
WRENCH_OFFSET = "wrench_offset"
# Combinations of offsets whose columns are shorter than this share of the longest do not show.
_HIDDEN = 1e-9


def offset_columns(robot: Robot, q: np.ndarray, wrenches: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return J^T (N, n, k) of the frames with force sensors, at joint positions q: six columns each, or three of forces."""
    parts = []
    for name, value in wrenches.items():
        feet = "point" if value.shape[1] == 3 else "flat"
        parts.append(np.swapaxes(contact_jacobian(robot, (name,), feet, base="imu")(q), -1, -2))
    return np.concatenate(parts, axis=2) if parts else np.zeros((len(q), robot.n, 0))


def without_offsets(rows: np.ndarray, columns: np.ndarray, use: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """Return rows (m, n, k) without the effect of constant offsets, which act through the `columns` (m, n, o).

    Only rows in `use` (m, n) count; `scales` (n,) are the sizes of the rows.
    """
    if not columns.shape[2]:
        return rows
    size = np.broadcast_to(scales, use.shape)[use][:, None]
    u, s, _ = np.linalg.svd(columns[use] / size, full_matrices=False)
    u = u[:, s > _HIDDEN * s.max(initial=0.0)]
    white = rows[use] / size
    result = np.array(rows)
    result[use] = (white - u @ (u.T @ white)) * size
    return result


def estimated_offsets(
    rows: np.ndarray, columns: np.ndarray, use: np.ndarray, scales: np.ndarray, frames: Sequence[tuple[str, int]]
) -> list[str]:
    """Return notes on the offsets: those of least squares beside the parameters. `frames` are names and numbers of columns.

    `rows` (m, n, b + 1) have the torque last.
    """
    size = np.broadcast_to(scales, use.shape)[use][:, None]
    both = np.concatenate([rows[use][:, :-1], columns[use]], axis=1) / size
    norms = np.linalg.norm(both, axis=0)
    norms[norms == 0] = 1.0
    solution = np.linalg.lstsq(both / norms, rows[use][:, -1] / size[:, 0], rcond=1e-9)[0] / norms
    offsets, notes, at = solution[rows.shape[2] - 1 :], [], 0
    for name, width in frames:
        values = ", ".join(f"{v:.3g}" for v in offsets[at : at + width])
        kind = "moment and force" if width == 6 else "force"
        notes.append(f"{name}: the sensor's offset, {kind}, is about {values}; it is taken out of the equations")
        at += width
    return notes
