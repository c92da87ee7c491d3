"""Predictions of a fit in which deflections are measurements: of whole drives, and of links without encoder errors."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from taupi.identification.equations import Equations
from taupi.identification.results.fit import Fit


def with_drives(fit: Fit, rows: np.ndarray) -> np.ndarray:
    """Return rows Y_b pi_b (N, count) with those of motors replaced by those of drives, link + motor, in which springs cancel."""
    result, equations = rows.copy(), Equations.of(fit.basis)
    for link in equations.sprung:
        result[:, equations.motors[link]] += rows[:, link]
    return result


def encoder_torque(
    fit: Fit, xd: np.ndarray, surplus: np.ndarray, smooth: Callable[[np.ndarray], np.ndarray] = lambda x: x
) -> np.ndarray:
    """Return the apparent torque (N, count) that encoder errors of a log cause in the rows of links: K (lost motion + offset).

    `xd` (N', count) are the velocities, which `smooth` brings to the N rows. `surplus` (N, count) is the torque of the springs
    minus that of the links. Encoders have another offset in each log: the one for which the surplus is 0 on average.
    """
    equations, result = Equations.of(fit.basis), np.zeros(surplus.shape)
    names = list(fit.names)
    for link, record in zip(equations.sprung, fit.springs, strict=True):
        stiffness = fit.values[names.index(f"{record.joint}.stiffness")]
        speed = xd[:, equations.motors[link]]
        result[:, link] = stiffness * record.lost_motion * smooth(np.tanh(speed / record.width))
        result[:, link] += np.mean(surplus[:, link] - result[:, link])
    return result


def compared_rows(fit: Fit) -> list[int]:
    """Return the rows that are compared with a log: all but those of links whose springs are not determined."""
    equations = Equations.of(fit.basis)
    left_out = {
        link for link, record in zip(equations.sprung, fit.springs, strict=bool(fit.springs)) if not record.determined
    }
    return [j for j in range(equations.count) if not fit.fits_deflection or j not in left_out]
