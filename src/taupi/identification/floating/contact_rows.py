"""Contact forces in the rows of a floating robot: measured, avoided, or projected out, like the offsets of force sensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from taupi.dynamics.contacts import contact_jacobian
from taupi.dynamics.loops import loop_jacobian, loop_rows
from taupi.model.robot import Robot

MEASURED, BASE_ROWS, PROJECTED = "measured", "base", "projected"
WAYS = (MEASURED, BASE_ROWS, PROJECTED)
FEET = ("point", "flat")
# Singular values of the contact Jacobian below this share of the largest are not a further constraint: feet in one line.
_DEPENDENT = 1e-9
_HOME = np.array([0.0, 0, 0, 0, 0, 0, 1])  # of a base at the origin, not rotated


@dataclass(frozen=True)
class ContactPlan:
    """How the contact forces of a log are treated: `way` is one of `WAYS`, `feet` says what frames in contact transmit."""

    way: str
    feet: str
    frames: tuple[str, ...]
    loops_note: str = ""

    @property
    def note(self) -> str:
        """What is done, in words."""
        if not self.frames:
            return self.loops_note or "no contact: nothing but the motors acts on the robot"
        where = "; ".join(part for part in (", ".join(self.frames), self.loops_note) if part)
        if self.way == PROJECTED:
            rows = "forces" if self.feet == "point" else "forces and moments"
            return f"unknown contact {rows} at {where} are projected out of the equations"
        rows = "; only the six rows of the base are used" if self.way == BASE_ROWS else ""
        return f"measured wrenches at {where} are part of the equations{rows}"


def wrench_forces(robot: Robot, q: np.ndarray, wrenches: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return sum J^T f (N, n) of measured wrenches, by frame, at joint positions `q`."""
    total = np.zeros((len(q), robot.n))
    for name, value in wrenches.items():
        feet = "point" if value.shape[1] == 3 else "flat"
        jacobian = contact_jacobian(robot, (name,), feet, base="imu")(q)
        total += np.einsum("nij,ni->nj", jacobian, value)
    return total


def projected(
    robot: Robot,
    plan: ContactPlan,
    q: np.ndarray,
    contacts: Mapping[str, np.ndarray],
    rows: np.ndarray,
    scales: np.ndarray,
) -> np.ndarray:
    """Return rows (N, n, k) without the effect of contact and loop forces: S P S^-1 rows, P = 1 - A A^+, A = S^-1 J^T.

    J is stacked over the robot's loops and over the frames in contact at each sample (Mistry et al. 2010); `scales` (n,) are the
    sizes of the rows' noise, S their diagonal matrix. P is unique, so that it is smooth as long as the contacts stay the same.
    """
    result = np.array(rows)
    for at, frames in contact_sets(contacts, len(q)):
        jacobian = _constraints(robot, frames, plan.feet, q[at])
        if not jacobian.shape[1]:
            continue
        pulled = np.swapaxes(jacobian, -1, -2) / scales[:, None]
        u, s, _ = np.linalg.svd(pulled, full_matrices=False)
        u = u * (s > _DEPENDENT * s[:, :1])[:, None, :]
        white = rows[at] / scales[:, None]
        white = white - u @ (np.swapaxes(u, -1, -2) @ white)
        result[at] = white * scales[:, None]
    return result


def _constraints(robot: Robot, frames: tuple[str, ...], feet: str, q: np.ndarray) -> np.ndarray:
    """Return J (N, rows, n) of the loops and of frames in contact, at joint positions q.

    That of loops is in world axes for any orientation of the base: a common rotation changes rows, not what they span.
    """
    parts = [np.zeros((len(q), 0, robot.n))]
    if frames:
        parts.append(contact_jacobian(robot, frames, feet, base="imu")(q))
    if loop_rows(robot):
        home = np.broadcast_to(_HOME[: robot.nq - q.shape[1]], (len(q), robot.nq - q.shape[1]))
        parts.append(loop_jacobian(robot)(np.concatenate([home, q], axis=1)))
    return np.concatenate(parts, axis=1)


def contact_sets(contacts: Mapping[str, np.ndarray], samples: int) -> list[tuple[np.ndarray, tuple[str, ...]]]:
    """Return which frames touch the ground at which samples, one entry per combination that occurs."""
    if not contacts:
        return [(np.arange(samples), ())]
    flags = np.stack(list(contacts.values()), axis=1)
    names = tuple(contacts)
    combinations, which = np.unique(flags, axis=0, return_inverse=True)
    which = which.reshape(-1)
    return [
        (np.flatnonzero(which == k), tuple(n for n, on in zip(names, row, strict=True) if on))
        for k, row in enumerate(combinations)
    ]


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
    """Return rows (m, n, k) without the effect of constant offsets of force sensors, which drift: one for each log.

    A sensor that reads f + o has the rows Y pi + J^T o = tau + J^T f_read. The columns J^T (m, n, o) are projected out of all
    rows of a log at once, so that what is left holds for every offset (Frisch & Waugh 1933; Lovell 1963). Only rows in `use`
    (m, n) count; `scales` (n,) are the sizes of the rows.
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
