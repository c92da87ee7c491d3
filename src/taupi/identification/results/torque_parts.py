"""The parts of a predicted torque along a log: friction, and what the description alone predicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from taupi.identification.results.fit import Fit
from taupi.identification.rows.row_maker import Rows

# Kinds of friction by the last part of a parameter's name, and the headings of their columns.
FRICTION_KINDS = {
    "viscous": "viscous",
    "coulomb": "Coulomb",
    "stribeck": "Stribeck",
    "curve": "curve",
    "load": "share of the load",
    "offset": "offset",
}


@dataclass(frozen=True, eq=False)
class TorqueParts:
    """Parts of the predicted torque of a log, row by row.

    Attributes:
        velocity: qd (N, n), rad/s or m/s.
        friction: The torque (N, n) of the identified friction, offsets included.
        described: The torque (N, n) that the description predicts without identification.
    """

    velocity: np.ndarray
    friction: np.ndarray
    described: np.ndarray


def friction_kind(name: str) -> str | None:
    """Return the kind of friction that a parameter is, from its name; None for other parameters.

    >>> friction_kind("elbow.viscous"), friction_kind("forearm.m")
    ('viscous', None)
    """
    kind = name.rpartition(".")[2].removesuffix("R")
    return kind if kind in FRICTION_KINDS else None


def torque_parts(fit: Fit, blocks: Sequence[Rows]) -> TorqueParts:
    """Return the parts of what a fit predicts for rows of a robot with rigid joints."""
    is_friction = np.array([friction_kind(name) is not None for name in fit.names])
    friction, described = np.where(is_friction, fit.values, 0.0), fit.basis.project(fit.prior)

    def torque(values: np.ndarray) -> np.ndarray:
        return np.concatenate([rows.tau - rows.residual(values) for rows in blocks])

    return TorqueParts(np.concatenate([rows.qd for rows in blocks]), torque(friction), torque(described))
