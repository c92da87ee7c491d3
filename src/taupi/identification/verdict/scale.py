"""Torques in another unit: all joints are off from what the description's masses give by one factor."""

from __future__ import annotations

import numpy as np

from taupi.identification.results.verdict import Level, Reason
from taupi.identification.verdict.candidate import CREDIBLE
from taupi.identification.verdict.trials import Trials

# Factors beyond these, either way, are no matter of a rough description: doubtful, and wrong.
_DOUBTFUL, _WRONG = 5.0, 10.0
# Factors of joints that differ by more than this are not one.
_ALIKE = 2.5
_UNITS = {1e3: "mN m", 1e2: "N cm", 1e-3: "kN m"}


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
