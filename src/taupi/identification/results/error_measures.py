"""How far estimates are from known values: the normalised mean error."""

from __future__ import annotations

import numpy as np

from taupi.checks import real_array
from taupi.dynamics.types import ArrayLike
from taupi.errors import Argument, TaupiError


def relative_errors(values: ArrayLike, truth: ArrayLike) -> np.ndarray:
    """Return |values - truth| / |truth|, or |values - truth| where the truth is 0: the terms of the normalised mean error.

    `values` (..., p) are estimates, `truth` (p,) or (..., p) what they should be.

    >>> relative_errors([3.0, 0.5], [2.0, 0.0]).tolist()
    [0.5, 0.5]
    """
    got, real = real_array("values", values), real_array("truth", truth)
    if not real.size:
        raise TaupiError(Argument("truth"), f" has shape {real.shape}, expected (..., p): one value per parameter.")
    if got.shape[-1:] != real.shape[-1:] or not got.size:
        expected = f"(..., {real.shape[-1]})" if real.ndim else "()"
        raise TaupiError(Argument("values"), f" has shape {got.shape}, expected that of the truth, {expected}.")
    off: np.ndarray = np.abs(got - real) / np.where(real == 0, 1.0, np.abs(real))
    return off


def normalised_mean_error(values: ArrayLike, truth: ArrayLike) -> float:
    """Return the mean of |values - truth| / |truth|, or of |value| for a parameter that is 0 (Zollo et al. 2014, section 6).

    `values` (..., p) are estimates, `truth` (p,) or (..., p) what they should be.

    >>> import taupi as tp
    >>> tp.results.normalised_mean_error([2.1, 0.5, -1.0], [2.0, 0.0, -1.0]).__round__(12)
    0.183333333333
    """
    return float(relative_errors(values, truth).mean())
