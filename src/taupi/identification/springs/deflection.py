"""The deflection of a spring over all logs, regressed on the torque of its link, a delay, lost motion, and an offset per log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from taupi.identification.rows.factors import JointFactor
from taupi.identification.springs.spring_rows import DELAY, LOST_MOTION, NUISANCE, OFFSET, SpringLayout

# A compliance this many standard errors above zero is known to a third.
CLEAR = 3.0
# The load has to explain this share of the deflection that the nuisance leaves. The rest is not noise that an average removes,
# but gears that turn unevenly, and encoders: if it is larger than the effect of the load, the compliance can take any value.
_EXPLAINED = 0.5
# The sign of a compliance in one log counts if the log has at least this share of the information about it.
_SHARE = 0.1


@dataclass(frozen=True, eq=False)
class Deflection:
    """theta - q = c tau_link + coefficients . (thetad, sgn thetad) + offset of the log, by least squares over all logs.

    `errors` are standard errors, by stretches of time; `runs` (files,) are c from each log alone, `information` (files,) the
    sums of squares of tau_link that the nuisance does not explain. `misfit` is the share of the sum of squares of theta - q that
    c tau_link alone leaves; `explained` is the share that c tau_link explains of what the nuisance leaves.
    """

    compliance: float
    compliance_error: float
    coefficients: np.ndarray
    coefficient_errors: np.ndarray
    offsets: np.ndarray
    offset_errors: np.ndarray
    runs: np.ndarray
    information: np.ndarray
    misfit: float
    explained: float

    @property
    def doubt(self) -> str:
        """Why the spring is not determined; empty if it is."""
        share = self.information / max(float(self.information.sum()), 1e-300)
        signs = np.sign(self.runs[share >= _SHARE])
        if not np.isfinite(self.compliance_error):
            return "its link carries no torque that changes"
        if len(set(signs.tolist())) > 1:
            values = ", ".join(f"{c:.2g}" for c in self.runs)
            return f"its compliance changes sign between the logs ({values})"
        if self.compliance < CLEAR * self.compliance_error:
            return (
                f"its compliance, {self.compliance:.2g}, is not clearly positive (standard error {self.compliance_error:.2g}): "
                "it carries too little load"
            )
        if self.explained < _EXPLAINED:
            return f"its load explains {self.explained:.0%} of how its deflection changes"
        return ""


def regress_deflection(
    layout: SpringLayout, pieces: Sequence[JointFactor], k: int, values: np.ndarray, free: Sequence[bool]
) -> Deflection:
    """Return the deflection of elastic joint number `k`, with the torque of its link from base parameters `values` (p,).

    `pieces` are the factors of the extended rows, stretch by stretch; `free` says which of the nuisance columns are fitted.
    """
    link, files = layout.sprung[k], sorted({f.file for f in pieces})
    columns = [_columns(layout, f.r, k, values) for f in pieces if f.joint == link]
    owners = np.array([f.file for f in pieces if f.joint == link])
    design = [_design(c, files.index(file), len(files), free) for c, file in zip(columns, owners, strict=True)]
    solution, errors = _least_squares(design, [c[:, -1] for c in columns])
    runs, information = [], []
    explained = _explained(np.vstack(design), np.concatenate([c[:, -1] for c in columns]))
    for file in files:
        at = np.flatnonzero(owners == file)
        own = np.vstack([_design(columns[a], 0, 1, free) for a in at])
        target = np.concatenate([columns[a][:, -1] for a in at])
        rest = own[:, 0] - _project(own[:, 1:], own[:, 0])
        squares = float(rest @ rest)
        runs.append(float(rest @ target) / squares if squares > 0 else 0.0)
        information.append(squares)
    torque, deflection = (np.concatenate([c[:, a] for c in columns]) for a in (0, -1))
    load, total = float(torque @ torque), float(deflection @ deflection)
    plain = float(torque @ deflection) ** 2 / (load * total) if load > 0 and total > 0 else 0.0
    return Deflection(
        float(solution[0]),
        float(errors[0]),
        solution[1 : 1 + OFFSET],
        errors[1 : 1 + OFFSET],
        solution[1 + OFFSET :],
        errors[1 + OFFSET :],
        np.array(runs),
        np.array(information),
        1 - plain,
        explained,
    )


def _columns(layout: SpringLayout, r: np.ndarray, k: int, values: np.ndarray) -> np.ndarray:
    """Return [tau_link, thetad, sgn thetad, 1, theta - q] (m, 5) of extended rows of a link."""
    stiffness = layout.stiffness(k)
    others = np.delete(np.arange(layout.parameters), stiffness)
    load = r[:, others] @ values[others] - r[:, -1]  # less a known torque, which the spring need not carry
    return np.column_stack([load, r[:, layout.nuisance(k)], -r[:, stiffness]])


def _design(columns: np.ndarray, file: int, files: int, free: Sequence[bool]) -> np.ndarray:
    """Return the design [tau_link, thetad, sgn thetad, one offset per file]; nuisance that is not `free` is 0."""
    result = np.zeros((len(columns), 1 + OFFSET + files))
    result[:, 0] = columns[:, 0]
    for kind in (DELAY, LOST_MOTION):
        result[:, 1 + kind] = columns[:, 1 + kind] * free[kind]
    result[:, 1 + OFFSET + file] = columns[:, 1 + OFFSET] * free[OFFSET]
    return result


def _least_squares(design: Sequence[np.ndarray], target: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return the solution and its standard errors, from the scores of stretches of time; infinite for what has no column."""
    a, b = np.vstack(design), np.concatenate(target)
    size = np.linalg.norm(a, axis=0)
    used = size > 1e-12 * max(float(size.max(initial=0.0)), 1e-300)
    unit = np.where(used, a / np.where(used, size, 1.0), 0.0)
    inverse = np.linalg.pinv(unit, rcond=1e-8)
    x = inverse @ b
    hat = inverse @ inverse.T
    scores, row = [], 0
    for rows in design:
        at = slice(row, row + len(rows))
        scores.append(unit[at].T @ (b[at] - unit[at] @ x))
        row += len(rows)
    g = np.array(scores)
    correction = len(g) / max(len(g) - int(used.sum()), 1)
    covariance = correction * hat @ (g.T @ g) @ hat
    scale = np.where(used, size, 1.0)
    return x / scale, np.where(used, np.sqrt(np.clip(np.diag(covariance), 0.0, None)) / scale, np.inf)


def _explained(design: np.ndarray, target: np.ndarray) -> float:
    """Return the share of a target's sum of squares, without what the other columns explain, that the first column explains."""
    own, rest = (v - _project(design[:, 1:], v) for v in (design[:, 0], target))
    squares = float(own @ own) * float(rest @ rest)
    return float(own @ rest) ** 2 / squares if squares > 0 else 0.0


def _project(columns: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Return the part of a target that columns explain."""
    size = np.linalg.norm(columns, axis=0)
    unit = columns[:, size > 0] / size[size > 0]
    explained: np.ndarray = unit @ (np.linalg.pinv(unit, rcond=1e-8) @ target)
    return explained


def nuisance_projection(
    layout: SpringLayout, factors: Sequence[JointFactor], k: int, free: Sequence[bool]
) -> np.ndarray:
    """Return the combinations (files, 3, p + 1) of nuisance columns nearest to the columns of a link's row and to its target.

    The delay and the lost motion are the same in all logs, each log has its own offset.
    """
    link = layout.sprung[k]
    own = [f for f in factors if f.joint == link]
    files = sorted({f.file for f in own})
    blocks = [np.column_stack([np.zeros(len(f.r)), f.r[:, layout.nuisance(k)]]) for f in own]
    design = np.vstack(
        [_design(b, files.index(f.file), len(files), free)[:, 1:] for b, f in zip(blocks, own, strict=True)]
    )
    size = np.linalg.norm(design, axis=0)
    unit = design / np.where(size > 0, size, 1.0)
    solution = np.linalg.pinv(unit, rcond=1e-8) @ np.vstack([f.r[:, layout.measured] for f in own])
    solution /= np.where(size > 0, size, 1.0)[:, None]
    result = np.zeros((max(files) + 1, len(NUISANCE), layout.parameters + 1))
    for at, file in enumerate(files):
        result[file, :OFFSET] = solution[:OFFSET]
        result[file, OFFSET] = solution[OFFSET + at]
    return result
