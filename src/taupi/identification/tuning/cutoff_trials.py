"""Trials of cutoffs: how certain parameters are at each, and how well they predict parts of the logs that they have not seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from taupi.identification.friction.dry_friction import FrictionPlan
from taupi.identification.rows.factors import triangle
from taupi.identification.rows.recording import Recording
from taupi.identification.rows.row_maker import RowMaker, Rows
from taupi.identification.solve import solve

# The logs are cut into so many parts, each of which is left out once: the same stretch of every log, or, with at least twice as
# many logs, every fifth log.
PARTS = 5
# Time stamps that differ by less, s, are the same.
_SAME_TIME = 1e-6
# Rounds of weighted least squares.
_ROUNDS = 3

Reference = tuple[np.ndarray, np.ndarray]  # time (N,) and torque (N, n), which all cutoffs have to predict


@dataclass(frozen=True)
class Piece:
    """Rows [Y_b tau reference] of one joint in one part of the logs, compressed."""

    part: int
    joint: int
    r: np.ndarray
    rows: int


@dataclass(frozen=True)
class Trial:
    """The logs at one cutoff.

    Attributes:
        pieces: Their rows.
        without: The parameters (b,) of weighted least squares without a part of the logs, by that part.
        joints: The number of joints.
    """

    pieces: tuple[Piece, ...]
    without: dict[int, np.ndarray]
    joints: int


def references_of(
    plan: FrictionPlan, highest: Sequence[Recording], lowest: Sequence[Recording]
) -> list[Reference | None]:
    """Return the torque at the highest cutoff, over the time in which the lowest has rows; None for a log in which it has none."""
    result: list[Reference | None] = []
    for high, low in zip(highest, lowest, strict=True):
        times = [rows.time for rows in low.rows(RowMaker(plan))]
        if not times:
            result.append(None)
            continue
        log = high.log
        inside = (log.time >= times[0][0]) & (log.time <= times[-1][-1])
        result.append((log.time[inside], high.equations.torque(log)[inside]))
    return result


def try_cutoff(
    plan: FrictionPlan, recordings: Sequence[Recording], references: Sequence[Reference | None]
) -> Trial | None:
    """Return the trial of recordings that have the cutoff to try; None if too few rows are left.

    Rows count in the time of their reference, which is the same for all cutoffs. Each log is cut into stretches of the same duration, unless there are many logs.
    """
    pieces: list[Piece] = []
    many = len(recordings) >= 2 * PARTS
    for k, (recording, reference) in enumerate(zip(recordings, references, strict=True)):
        if reference is None or len(reference[0]) < 2:
            continue
        maker, time = RowMaker(plan), reference[0]
        seconds = float(time[-1] - time[0])
        for rows in recording.rows(maker):
            stretch = np.floor((rows.time - time[0]) / seconds * PARTS).astype(int).clip(0, PARTS - 1)
            pieces += _pieces(rows, reference, np.full(len(rows), k % PARTS) if many else stretch)
    n, p = plan.program.sparsity().shape
    if len({piece.part for piece in pieces}) < 2:
        return None
    return Trial(tuple(pieces), _solutions(pieces, n, p), n)


def _pieces(rows: Rows, reference: Reference, parts: np.ndarray) -> list[Piece]:
    time, torque = reference
    target = np.stack([np.interp(rows.time, time, column) for column in torque.T], axis=1)
    inside = (rows.time >= time[0] - _SAME_TIME) & (rows.time <= time[-1] + _SAME_TIME)
    result = []
    for part in np.unique(parts):
        for j in range(rows.tau.shape[1]):
            used = rows.use[:, j] & (parts == part) & inside
            if used.any():
                block = np.column_stack([rows.y[:, j, used].T, rows.tau[used, j], target[used, j]])
                result.append(Piece(int(part), j, triangle(block), int(used.sum())))
    return result


def _solutions(pieces: Sequence[Piece], n: int, p: int) -> dict[int, np.ndarray]:
    """Return x (p,) of weighted least squares on all parts but one, by the part left out."""
    parts, none = sorted({piece.part for piece in pieces}), np.zeros((0, p + 1))
    joined, rows = dict[tuple[int, int], np.ndarray](), dict[tuple[int, int], int]()
    for part in parts:
        for j in range(n):
            own = [piece for piece in pieces if (piece.part, piece.joint) == (part, j)]
            joined[part, j] = triangle(np.vstack([none, *(piece.r[:, :-1] for piece in own)]))
            rows[part, j] = sum(piece.rows for piece in own)
    result = {}
    for out in parts:
        others = [part for part in parts if part != out]
        factors = [triangle(np.vstack([none, *(joined[part, j] for part in others)])) for j in range(n)]
        result[out] = _weighted(factors, np.array([sum(rows[part, j] for part in others) for j in range(n)], dtype=float))
    return result


def _weighted(factors: Sequence[np.ndarray], rows: np.ndarray) -> np.ndarray:
    """Return x of weighted least squares, each joint with one noise, nearest to zero where nothing decides."""
    torque = np.array([np.linalg.norm(r[:, -1]) for r in factors])
    left, x = torque, np.zeros(factors[0].shape[1] - 1)
    for _ in range(_ROUNDS):
        weights = np.where(torque > 0, np.sqrt(rows) / np.maximum(left, np.maximum(1e-9 * torque, 1e-300)), 0.0)
        x = solve(triangle(np.vstack([w * r for w, r in zip(weights, factors, strict=True)])), np.zeros(len(x))).x
        left = np.array([np.linalg.norm(r @ np.append(x, -1.0)) for r in factors])
    return x


def prediction_errors(pairs: Sequence[tuple[Trial, Trial]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return squares of errors, squares of torques, and numbers of rows, each (pairs, parts, n).

    The parameters of the first trial of a pair, without each part, predict that part with the motion of the second: the errors
    are reference - Y_b x.
    """
    parts = sorted({piece.part for pair in pairs for trial in pair for piece in trial.pieces})
    place = {part: k for k, part in enumerate(parts)}
    result = np.zeros((3, len(pairs), len(parts), pairs[0][0].joints))
    for a, (fitted, motion) in enumerate(pairs):
        for piece in motion.pieces:
            if piece.part in fitted.without:
                torque = piece.r[:, -1]
                error = piece.r[:, :-2] @ fitted.without[piece.part] - torque
                result[:, a, place[piece.part], piece.joint] += error @ error, torque @ torque, piece.rows
    return result[0], result[1], result[2]
