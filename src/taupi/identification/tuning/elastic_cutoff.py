"""The cutoff at which a log tells most: where the spectrum shows no end of what the model can explain, the fit does.

Behind springs there is motion at frequencies that no rigid link on a spring has, such as a beam's second mode. It is no noise,
so a spectrum does not tell it from what the model is about; a filter that lets it through makes parameters small.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from taupi.errors import TaupiError
from taupi.identification.equations import Equations
from taupi.identification.problem import Problem
from taupi.identification.weighting import weighted
from taupi.signals.filters import choose_cutoff
from taupi.signals.log import Log

# Cutoffs that are tried: up to three times what the spectrum suggests, down to a hundredth of that, four periods in the log.
_TRIED, _ABOVE, _BELOW, _PERIODS = 14, 3.0, 100.0, 4.0
# Of cutoffs that differ by no more digits, the lowest: a quarter of an error is about how well errors are known, and what is
# above is explained worst.
_ALIKE = 0.1
# Rounds of weighted least squares.
_ROUNDS = 3


def digits(problem: Problem, hz: float, duration: float) -> float:
    """Return how many decimal digits of a parameter are sure, the mean over parameters: -log10 of their relative errors.

    Errors are those of weighted least squares for noise of the cutoff's bandwidth, of which a second has 2 hz independent values;
    a row that decides d parameters leaves that many fewer of them to tell its noise by.
    """
    solution, weights = weighted(problem, _ROUNDS)
    independent, most = 2 * hz * duration, 1.0
    for f in problem.factors:
        decided = float(np.sum((weights[f.file, f.joint] * f.r[:, :-1] @ solution.spread) ** 2))
        if f.rows and decided >= 0.9 * independent:
            return 0.0
        own = max(f.rows / independent, 1.0) * (1 - decided / max(f.rows, 1)) / (1 - decided / independent)
        most = max(most, own)
    stderr = np.sqrt(most) * np.linalg.norm(solution.spread, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.where(solution.undetermined | (solution.x == 0), 1.0, stderr / np.abs(solution.x))
    return float(-np.mean(np.log10(np.clip(error, 1e-16, 1.0))))


def telling_cutoff(log: Log, rows: Equations, build: Callable[[float], Problem]) -> tuple[float, str]:
    """Return the cutoff (Hz) at which weighted least squares is surest of its parameters, and why.

    `build` makes the problem of a cutoff.
    """
    rate = log.rate_hz
    spectrum = choose_cutoff(rows.positions(log), rate)
    high = min(_ABOVE * spectrum.hz, 0.4 * rate)
    low = min(max(high / _BELOW, _PERIODS / log.duration), 0.5 * high)
    found: dict[float, float] = {}
    for hz in np.geomspace(low, high, _TRIED):
        try:
            found[float(f"{hz:.3g}")] = digits(build(float(f"{hz:.3g}")), hz, log.duration)
        except TaupiError:  # a log too short for the edges of a low cutoff
            continue
    if not found:
        return spectrum.hz, spectrum.note
    most = max(found.values())
    best = min(hz for hz, sure in found.items() if sure >= most - _ALIKE)
    told = f"{most:.2f} at most from {min(found):.3g} to {max(found):.3g} Hz"
    return best, f"cutoff {best:.3g} Hz: there {found[best]:.2f} digits of a parameter are sure in the mean, {told}"
