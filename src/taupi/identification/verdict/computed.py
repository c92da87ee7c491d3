"""Torques that a model gave, not a sensor: links alone explain them, to less than any sensor or drive would let them."""

from __future__ import annotations

import numpy as np

from taupi.identification.results.verdict import Level, Reason, percent
from taupi.identification.verdict.trials import Trials

# No drive, and no sensor behind one, has so little friction and noise at every joint: 1 % of the torque.
_EXACT = 0.01
# Noise of q below this share of its range is that of rounding.
_ROUNDED = 1e-9
# Of white noise, the 8th differences are 3.7 times the 6th ones; of a motion that is smooth at this rate, they are smaller.
_WHITE = 2.0
_ORDER, _GAIN = 6, 924.0  # and the variance that 6th differences of unit white noise have


def computed_reason(trials: Trials) -> Reason | None:
    """Return the reason if a model without friction explains tau of every joint, though q has the noise of a measurement.

    A simulation without noise is no log of this kind: its q is smooth.
    """
    errors = trials.own_rows.of_links_alone().joints[~trials.dead]
    if not len(errors) or not np.isfinite(errors).all() or errors.max() > _EXACT or not _measured(trials):
        return None
    worst = float(errors.max())
    return Reason(
        "computed",
        f"tau looks computed by a model, not measured: links without any friction explain it to {percent(worst)} at every "
        "joint, but q has noise.",
        Level.DOUBTFUL,
        (),
        {"error": worst},
        "Log the torque of the sensors, or of the motor currents, not that of the controller's model.",
    )


def _measured(trials: Trials) -> bool:
    """Return whether q of most joints that move has noise of its own."""
    several = []
    for head in trials.heads:
        q = head.recorded.q[:, ~trials.dead]
        if len(q) < 10 * _ORDER or not np.isfinite(q).all():
            continue
        sixth = np.diff(q, _ORDER, axis=0)
        level, next_level = sixth.std(axis=0), np.diff(sixth, 2, axis=0).std(axis=0)
        several.append((level > np.sqrt(_GAIN) * _ROUNDED * np.ptp(q, axis=0)) & (next_level > _WHITE * level))
    return bool(several) and float(np.mean(several)) > 0.5
