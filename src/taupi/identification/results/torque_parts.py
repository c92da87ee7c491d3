"""Parts of a predicted torque along a log: friction, what the description alone predicts, and where a fit extrapolates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from taupi.dynamics.terms import friction_headings
from taupi.errors import warn
from taupi.identification.results.fit import Fit
from taupi.identification.rows.row_maker import Rows


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
    return kind if kind in friction_headings() else None


def torque_parts(fit: Fit, blocks: Sequence[Rows]) -> TorqueParts:
    """Return the parts of what a fit predicts for rows of a robot with rigid joints."""
    gains = fit.equations.layout.gains(fit.preparation.relative_gains)
    is_friction = np.array([friction_kind(name) is not None for name in fit.names])
    friction, described = np.where(is_friction, fit.values, 0.0), fit.basis.project(fit.prior)

    def torque(values: np.ndarray) -> np.ndarray:
        return np.concatenate([rows.tau - rows.residual(values) for rows in blocks])

    return TorqueParts(np.concatenate([rows.qd for rows in blocks]), gains * torque(friction), torque(described))


# Friction is extrapolated where a joint moves faster than this many times its largest speed in the fitted logs.
FASTER = 1.2


class Speeds(NamedTuple):
    """The largest speed of a joint in a log, and in the fitted logs, rad/s or m/s."""

    reached: float
    fitted: float


def faster_joints(fit: Fit, speeds: Mapping[str, float]) -> dict[str, Speeds]:
    """Return the rows of a log, by name, that move clearly faster than any fitted log did; none if the fit has no friction."""
    if not any(term.needs_speed for term in fit.terms):
        return {}
    fitted = fit.speeds
    return {
        name: Speeds(float(speed), fitted[name])
        for name, speed in speeds.items()
        if fitted.get(name, 0.0) > 0 and speed > FASTER * fitted[name]
    }


def warn_if_faster(log: str, faster: Mapping[str, Speeds]) -> None:
    """Warn if a log, given by name, moves clearly faster than the fitted ones."""
    if faster:
        pairs = (f"{name} up to {s.reached:.3g}, fitted up to {s.fitted:.3g}" for name, s in faster.items())
        warn(
            "{log} moves faster than the fitted logs, in rad/s or m/s: {pairs}. Friction is extrapolated there.",
            log=log,
            pairs="; ".join(pairs),
        )
