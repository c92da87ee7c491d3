"""Coupled drives: joints moved by several motors, and motors that move several joints."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from taupi.errors import Argument, TaupiError
from taupi.model.requirements import require_coordinates
from taupi.model.robot_parts import Joint
from taupi.model.scalars import Scalar, ScalarLike, exact, is_symbolic, items_of

if TYPE_CHECKING:
    from taupi.model.robot import Robot

MATRIX = Argument("matrix")


def coupled_joints(robot: Robot, matrix: Sequence[Sequence[ScalarLike]] | np.ndarray) -> tuple[Joint, ...]:
    """Return the joints of a robot as its motors move them: joint angles = matrix (joints, motors) motor angles."""
    require_coordinates(robot, "which no motor drives", "Couple the fixed_base().")
    rows = _matrix(matrix, len(robot.joints))
    owner = _owners(rows)
    joints = []
    for i, (joint, row) in enumerate(zip(robot.joints, rows, strict=True)):
        drives = [k for k, c in enumerate(row) if c != 0]
        if not drives:
            raise TaupiError(
                "{matrix} lets no motor move joint {joint!r}, expected a number other than 0 in row {i}.",
                matrix=MATRIX,
                joint=joint.name,
                i=i,
            )
        own = owner.get(i, drives[0])
        also = tuple((k, row[k]) for k in drives if k != own)
        joints.append(dataclasses.replace(joint, coordinate=own, ratio=row[own], mimic=i not in owner, also=also))
    return tuple(joints)


def coupling_of(robot: Robot) -> np.ndarray:
    """Return the matrix (joints, coordinates) by which coordinates move joints, as exact scalars.

    >>> import taupi as tp
    >>> coupling_of(tp.load("elbow2r").with_coupling([[1, 0], [-1, 1]])).tolist()
    [[Fraction(1, 1), Fraction(0, 1)], [Fraction(-1, 1), Fraction(1, 1)]]
    """
    result = np.full((len(robot.joints), robot.n), exact(0), dtype=object)
    for i, joint in enumerate(robot.joints):
        for k, ratio in ((joint.coordinate, joint.ratio), *joint.also):
            result[i, k] = ratio
    return result


def _matrix(matrix: object, joints: int) -> list[list[Scalar]]:
    rows = items_of(matrix)
    entries = [items_of(row) for row in rows] if rows is not None else []
    widths = {len(row) if row is not None else -1 for row in entries}
    if len(entries) != joints or len(widths) != 1 or not 0 < min(widths) <= joints:
        raise TaupiError(
            "{matrix} is {got!r}, expected {joints} rows, one per joint, each with one number per motor.",
            matrix=MATRIX,
            got=matrix,
            joints=joints,
        )
    result = [[exact(v, f"matrix[{i}][{k}]") for k, v in enumerate(row or ())] for i, row in enumerate(entries)]
    symbols = [v for row in result for v in row if is_symbolic(v)]
    if symbols:
        raise TaupiError(
            "{matrix} holds {got}, expected numbers: they decide which motor is named after which joint.",
            matrix=MATRIX,
            got=symbols[0],
        )
    if np.linalg.matrix_rank(np.array(result, dtype=float)) < min(widths):
        raise TaupiError(
            "{matrix} has motors that move the joints alike, expected linearly independent columns.", matrix=MATRIX
        )
    return result


def _owners(rows: Sequence[Sequence[Scalar]]) -> dict[int, int]:
    """Return {joint: motor}: each motor is named after a joint that it alone moves, or else after the best one left."""
    owner: dict[int, int] = {}
    motors = range(len(rows[0]))
    alone = {
        i: next(k for k, c in enumerate(row) if c != 0) for i, row in enumerate(rows) if sum(c != 0 for c in row) == 1
    }
    for k in motors:
        joint = next((i for i, only in alone.items() if only == k), None)
        if joint is not None:
            owner[joint] = k
    for k in motors:
        if k in owner.values():
            continue
        # The last motor in a joint's row is most often its own: the others act on it from joints before it.
        left = [i for i, row in enumerate(rows) if i not in owner and row[k] != 0]
        if not left:
            raise TaupiError(
                "{matrix} has motor {k} move only joints that other motors are named after.", matrix=MATRIX, k=k
            )
        owner[min(left, key=lambda i: sum(c != 0 for c in rows[i][k + 1 :]))] = k
    return owner
