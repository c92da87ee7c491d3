"""How far the parameters of a fit may be from those of the robot when a later log was recorded."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from taupi.identifiability.base_parameters import BaseParameters
from taupi.identification.physical.standard_parameters import rows_from_covariance
from taupi.identification.results.fit import Fit
from taupi.identification.solve import WEAK

# From one run to the next, friction changes by about these shares of the joint's friction at its largest speed, as gears warm up.
DRIFT = {"viscous": 0.2, "coulomb": 0.2, "offset": 0.1}


def fit_errors(fit: Fit) -> np.ndarray:
    """Return F (b, q) so that F F^T is the covariance of the robot's parameters in a later log about those of a fit.

    It is the sum of that of the fit; that of friction, which drifts from run to run; and, along what the fit's logs left open,
    one that allows for a torque as large as the whole torque.
    """
    eigenvalues, vectors = np.linalg.eigh(fit.covariance)
    own = vectors * np.sqrt(np.clip(eigenvalues, 0.0, None))
    return np.hstack([own, np.diag(drift_sizes(fit.basis, fit.values, fit.speeds)), open_directions(fit)])


def drift_sizes(base: BaseParameters, values: np.ndarray, speeds: Mapping[str, float]) -> np.ndarray:
    """Return the standard deviations (b,) by which friction changes from run to run, 0 for what does not change.

    `values` are base parameters (b,), `speeds` the largest of the joints by name.
    """
    entries = base.parameters.layout.entries
    sizes = {(e.owner, e.kind): abs(float(v)) for e, v in zip(entries, values, strict=True)}
    result = np.zeros(len(entries))
    fastest = max(speeds.values(), default=1.0) or 1.0
    for k, entry in enumerate(entries):
        if entry.kind in DRIFT:
            speed = speeds.get(entry.owner, fastest) or fastest
            size = sizes.get((entry.owner, "coulomb"), 0.0) + sizes.get((entry.owner, "viscous"), 0.0) * speed
            result[k] = DRIFT[entry.kind] * size / (speed if entry.kind == "viscous" else 1.0)
    return result


def open_directions(fit: Fit) -> np.ndarray:
    """Return the combinations of parameters that the fit's logs did not determine (b, d), as large as the torque allows."""
    rows = rows_from_covariance(fit.values, fit.covariance) if fit.triangle is None else fit.triangle
    y, torque = rows[:, :-1], float(np.linalg.norm(rows[:, -1]))
    length = np.linalg.norm(y, axis=0)
    scale = np.where(length > 1e-12 * max(float(length.max(initial=0.0)), 1e-300), length, 1.0)
    unit = np.where(scale == length, y / scale, 0.0)
    _, s, vt = np.linalg.svd(unit, full_matrices=True)
    rank = int((s > WEAK * max(float(s.max(initial=0.0)), 1e-300)).sum())
    return np.asarray(torque * vt[rank:].T / scale[:, None])
