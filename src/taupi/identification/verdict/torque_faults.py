"""What is wrong with the torque by itself: clipped at a limit, computed by a model instead of measured, or in another unit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from taupi.identification.results.verdict import Level, Reason, percent
from taupi.identification.verdict.candidate import CREDIBLE
from taupi.identification.verdict.sample import Head
from taupi.identification.verdict.trials import Trials
from taupi.signals.checking import rules

# Below this share of samples, clipping changes nothing that a fit would show.
_MATTERS = 0.01
# No drive, and no sensor behind one, has so little friction and noise at every joint: 1 % of the torque.
_EXACT = 0.01
# Noise of q below this share of its range is that of rounding.
_ROUNDED = 1e-9
# For white noise, the 8th differences are 3.7 times the 6th ones; for a motion that is smooth at this rate, they are smaller.
_WHITE = 2.0
_ORDER, _GAIN = 6, 924.0  # and the variance that 6th differences of unit white noise have
# Factors beyond these, either way, are not just a rough description: doubtful, and wrong.
_DOUBTFUL, _WRONG = 5.0, 10.0
# Factors of joints that differ by more than this are not one common factor.
_ALIKE = 2.5
_UNITS = {1e3: "mN m", 1e2: "N cm", 1e-3: "kN m"}


def clipping_reasons(heads: Sequence[Head], joints: Sequence[str]) -> Iterator[Reason]:
    """Yield one reason for the joints whose torque, or current, stays at its extreme for more than 1 % of the samples."""
    shares: dict[str, float] = {}
    for j, joint in enumerate(joints):
        counts = [max(_clipped(v[:, j]) for n, v in h.log.signals.items() if n in rules.EFFORTS) for h in heads]
        shares[joint] = sum(counts) / max(sum(len(h.log) for h in heads), 1)
    clipped = {joint: share for joint, share in shares.items() if share > _MATTERS}
    if not clipped:
        return
    worst = max(clipped, key=lambda joint: clipped[joint])
    others = f" (also {', '.join(j for j in clipped if j != worst)})" if len(clipped) > 1 else ""
    yield Reason(
        "clipped",
        f"tau of {worst}{others} is clipped: {percent(clipped[worst])} of its samples share one largest or smallest value.",
        Level.DOUBTFUL,
        tuple(clipped),
        {"share": clipped[worst]},
        "Record again with a larger limit or a slower motion, or leave these samples out.",
    )


def _clipped(x: np.ndarray) -> int:
    """Return the number of samples at the extremes of a channel; 0 if it hardly ever has another value."""
    known = x[np.isfinite(x)]
    if rules.most_common(known)[1] > rules.DEAD:
        return 0
    return rules.saturation(known).count


def computed_reason(trials: Trials) -> Reason | None:
    """Return the reason if a model without friction explains tau of every joint, though q has the noise of a measurement.

    A simulation without noise is not such a log: its q is smooth.
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


def scale_reason(trials: Trials) -> Reason | None:
    """Return the reason if the torques of most joints are those of the description times one and the same large factor."""
    factors = described_factors(trials)
    if len(factors) < max(1, trials.n / 2):
        return None
    middle = float(np.exp(np.median(np.log(factors))))
    far = max(middle, 1 / middle)
    if far < _DOUBTFUL or np.mean(np.abs(np.log(factors / middle)) < np.log(_ALIKE)) < 0.5:
        return None
    unit = next((u for f, u in _UNITS.items() if abs(np.log(middle / f)) < np.log(_ALIKE)), None)
    guess = f": it looks like {unit}" if unit else ""
    remedy = f"Give the unit in a mapping: unit = '{unit.replace(' ', '')}'." if unit else ""
    return Reason(
        "torque_unit",
        f"tau is {middle:.3g} times what the masses of the description give{guess}.",
        Level.WRONG if far >= _WRONG else Level.DOUBTFUL,
        (),
        {"factor": middle},
        remedy or "Check gear ratios, torque constants and the unit of tau, or the masses of the description.",
    )


def described_factors(trials: Trials) -> np.ndarray:
    """Return s of tau_j = s (Y_j pi of the described links) + friction, for each joint of which this explains most."""
    rows, result = trials.own_rows, []
    free, columns = np.isnan(rows.links), rows.y.shape[2]
    for j, r in enumerate(rows.triangles):
        z = r[:, columns + j]
        model = r[:, :columns][:, ~free] @ rows.links[~free]
        own = r[:, :columns][:, free]
        matrix = np.column_stack([model, own[:, np.linalg.norm(own, axis=0) > 0]])
        size = float(np.linalg.norm(z))
        if rows.dead[j] or not size or not model.any():
            continue
        length = np.linalg.norm(matrix, axis=0)
        x = np.linalg.lstsq(matrix / length, z, rcond=1e-6)[0]
        links = float(np.linalg.norm(model * x[0] / length[0])) / size
        error = float(np.linalg.norm(matrix / length @ x - z)) / size
        if x[0] > 0 and error < CREDIBLE and links > CREDIBLE:
            result.append(float(x[0] / length[0]))
    return np.array(result)
