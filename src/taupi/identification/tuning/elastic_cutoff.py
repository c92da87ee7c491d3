"""The cutoff for elastic joints: the one for which the parameters are most certain.

Behind springs there is motion that a rigid link on a spring cannot have, such as the second mode of a beam. It is not noise, so a
spectrum does not show where it begins; but a filter that lets it pass makes the parameters too small.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from taupi.errors import TaupiError
from taupi.identification.equations import Equations
from taupi.identification.problem import Problem
from taupi.identification.weighting import weighted_least_squares
from taupi.signals.filtering.filters import choose_cutoff
from taupi.signals.log import Log

# The cutoffs tried: 14, from three times what the spectrum suggests down to a hundredth of that, with at least four periods in
# the log.
_TRIED, _ABOVE, _BELOW, _PERIODS = 14, 3.0, 100.0, 4.0
# Among cutoffs that differ by less than this many digits, the lowest is taken: errors are known to about a quarter, and the
# highest frequencies are explained worst.
_ALIKE = 0.1
# Rounds of weighted least squares.
_ROUNDS = 3


def digits(problem: Problem, hz: float, duration: float) -> float:
    """Return the number of certain decimal digits of a parameter, averaged over parameters: -log10 of their relative errors.

    The errors are those of weighted least squares for noise with the bandwidth of the cutoff, which has 2 `hz` independent values
    per second; a row that determines d parameters leaves d fewer values to estimate its noise from.
    """
    solution, weights = weighted_least_squares(problem, _ROUNDS)
    independent, largest = 2 * hz * duration, 1.0
    for f in problem.factors:
        determined = float(np.sum((weights[f.file, f.joint] * f.r[:, :-1] @ solution.spread) ** 2))
        if f.rows and determined >= 0.9 * independent:
            return 0.0
        factor = max(f.rows / independent, 1.0) * (1 - determined / max(f.rows, 1)) / (1 - determined / independent)
        largest = max(largest, factor)
    stderr = np.sqrt(largest) * np.linalg.norm(solution.spread, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.where(solution.undetermined | (solution.x == 0), 1.0, stderr / np.abs(solution.x))
    return float(-np.mean(np.log10(np.clip(error, 1e-16, 1.0))))


def most_informative_cutoff(log: Log, equations: Equations, build: Callable[[float], Problem]) -> tuple[float, str]:
    """Return the cutoff (Hz) for which the parameters of weighted least squares are most certain, and a note on it.

    `build` makes the problem for a cutoff.
    """
    rate = log.rate_hz
    spectrum = choose_cutoff(equations.positions(log), rate)
    high = min(_ABOVE * spectrum.hz, 0.4 * rate)
    low = min(max(high / _BELOW, _PERIODS / log.duration), 0.5 * high)
    certain: dict[float, float] = {}  # digits by cutoff
    for hz in np.geomspace(low, high, _TRIED):
        try:
            certain[float(f"{hz:.3g}")] = digits(build(float(f"{hz:.3g}")), hz, log.duration)
        except TaupiError:  # the log is too short for the edges of a low cutoff
            continue
    if not certain:
        return spectrum.hz, spectrum.note
    most = max(certain.values())
    best = min(hz for hz, count in certain.items() if count >= most - _ALIKE)
    tried = f"at most {most:.2f} from {min(certain):.3g} to {max(certain):.3g} Hz"
    return best, f"cutoff {best:.3g} Hz: {certain[best]:.2f} digits of a parameter are certain on average, {tried}"
