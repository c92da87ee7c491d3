"""How far up in frequency a model explains the torque: beyond, a filter should not let pass."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from taupi.identifiability.base_parameters import BaseParameters
from taupi.identification.friction.dry_friction import friction_plan
from taupi.identification.rows.factors import Compressor, JointFactor, merged, reweighted
from taupi.identification.rows.recording import Run
from taupi.identification.rows.row_maker import RowMaker

# Power is compared over half an octave from each frequency on: between the lines of a periodic motion there is none.
_BAND = 1.5
# A spectrum's resolution, as a share of the cutoff that q alone suggests; at least so many stretches are averaged.
_RESOLUTION, _STRETCHES = 0.1, 4
# The cutoff that q suggests is raised to no more than twice, and halved so often: beyond, it is another motion.
MOST, HALVINGS = 2.0, 4


def agreements(basis: BaseParameters, runs: Sequence[Run]) -> list[float | None]:
    """Return for each run the frequency (Hz) up to which tau - Y_b x has less than half of the torque's power.

    x is from weighted least squares on the runs' beginnings through their filters; the spectra are of what comes before them.
    Of the joints, the median; those of which the model explains nothing have no say. None where no joint has.
    """
    plan = friction_plan(basis)
    factors = [f for k, run in enumerate(runs) for f in _factors(RowMaker(plan), run, k)]
    if not factors:
        return [None] * len(runs)
    x, _ = reweighted([f.r for f in factors], [f.rows for f in factors])
    found: list[float | None] = []
    for run in runs:
        if run.through is None:
            found.append(None)
            continue
        bare = dataclasses.replace(run, through=None, slow=np.zeros(len(run.slow)))
        pairs = [(r.tau, r.left(x)) for r in bare.rows(RowMaker(plan), head=True)]
        if not pairs:
            found.append(None)
            continue
        tau, left = (np.concatenate(parts) for parts in zip(*pairs, strict=True))
        found.append(_agreement(tau, left, run))
    return found


def _factors(maker: RowMaker, run: Run, file: int) -> list[JointFactor]:
    gather = Compressor(maker.used)
    for rows in run.rows(maker, head=True):
        gather.add(rows.y, rows.tau, rows.use)
    return merged(gather.result(file))


def _agreement(tau: np.ndarray, left: np.ndarray, run: Run) -> float | None:
    from scipy.signal import welch

    assert run.through is not None
    rate, length = run.through.rate_hz, len(left)
    window = min(length // _STRETCHES * 2, int(rate / (_RESOLUTION * run.through.cutoff_hz)))
    if window < 16:
        return None
    f, whole = welch(tau, rate, nperseg=window, axis=0)
    _, rest = welch(left, rate, nperseg=window, axis=0)
    k = np.arange(1, int(len(f) / _BAND))
    last = np.ceil(_BAND * k).astype(int)
    sums = [np.vstack([np.zeros(p.shape[1]), np.cumsum(p, axis=0)]) for p in (whole, rest)]
    power = [s[last + 1] - s[k] for s in sums]
    lost = power[1] >= 0.5 * power[0]  # (bands, joints); also of a channel that measures nothing
    ends = [f[k[np.argmax(c)]] * np.sqrt(_BAND) if c.any() else f[-1] for c in lost.T if not c[0]]
    return float(np.median(ends)) if ends else None
