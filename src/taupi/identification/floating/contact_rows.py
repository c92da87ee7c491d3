"""Rows of a floating robot and how contact forces in them are treated: measured, only the base's rows, or projected."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from taupi.dynamics.contacts import contact_jacobian
from taupi.dynamics.loops import loop_jacobian
from taupi.errors import Argument, TaupiError, unknown
from taupi.model.robot import Robot
from taupi.signals.log import Log

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
    loops: str = ""

    @property
    def note(self) -> str:
        """What is done, in words."""
        if not self.frames:
            return self.loops or "no contact: nothing but the motors acts on the robot"
        where = ", ".join(self.frames) + (f"; {self.loops}" if self.loops else "")
        if self.way == PROJECTED:
            rows = "forces" if self.feet == "point" else "forces and moments"
            return f"unknown contact {rows} at {where} are projected out of the equations"
        rows = "; only the six rows of the base are used" if self.way == BASE_ROWS else ""
        return f"measured wrenches at {where} are part of the equations{rows}"


def contact_plan(robot: Robot, log: Log, way: str | None, feet: str) -> ContactPlan:
    """Return how the contacts of a log are treated; by default as the log allows.

    With wrenches at all frames in contact they are measured, and without torques of the joints only the base's rows are used.
    With flags alone, forces are projected out.
    """
    if way is not None and way not in WAYS:
        raise unknown(Argument("contact"), way, WAYS)
    if feet not in FEET:
        raise unknown(Argument("feet"), feet, FEET)
    for kind, frames in (("wrench", log.wrench), ("contact", log.contact)):
        for name in frames:
            if name not in robot.frame_names:
                raise unknown(f"frame of {kind}", name, robot.frame_names, robot.name)
    unmeasured = [name for name, flags in log.contact.items() if flags.any() and name not in log.wrench]
    if not robot.floating:
        return _bolted_plan(robot, log, way, feet)
    chosen = way or (PROJECTED if unmeasured else BASE_ROWS if log.tau is None else MEASURED)
    if chosen == PROJECTED:
        if not log.contact and log.wrench:
            raise TaupiError(
                "Projecting contact forces needs to know when frames touch the ground, and the log has no contact flags.",
                remedy=("Add them as contact={frame: flags}, or use ", Argument("contact", MEASURED), "."),
            )
        return ContactPlan(chosen, feet, tuple(log.contact), _loops_note(robot))
    if unmeasured:
        raise TaupiError(
            f"The log has no wrench of {', '.join(unmeasured)}, which touch the ground.",
            remedy=("Use ", Argument("contact", PROJECTED), "."),
        )
    return ContactPlan(chosen, feet, tuple(log.wrench), _loops_note(robot))


def _bolted_plan(robot: Robot, log: Log, way: str | None, feet: str) -> ContactPlan:
    """Return the plan of a robot on the ground with closed loops, whose forces are projected out."""
    if way is not None or log.contact or log.wrench:
        raise TaupiError(
            f"{robot.name} is bolted to the ground: contacts and wrenches are for robots whose base moves.",
            remedy=(
                "Leave ",
                Argument("contact"),
                " out, and contacts and wrenches of the log: log.with_(contact={}, wrench={}).",
            ),
        )
    return ContactPlan(PROJECTED, feet, (), _loops_note(robot))


def _loops_note(robot: Robot) -> str:
    if not robot.loops:
        return ""
    return f"unknown forces of {len(robot.loops)} closed loops are projected out of the equations"


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
        if not frames and not robot.loops:
            continue
        jacobian = _constraints(robot, frames, plan.feet, q[at])
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
    parts = [contact_jacobian(robot, frames, feet, base="imu")(q)] if frames else []
    if robot.loops:
        home = np.broadcast_to(_HOME, (len(q), 7)) if robot.floating else np.zeros((len(q), 0))
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
