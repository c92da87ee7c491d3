"""Maximum likelihood of gains: noise is on currents, so gains are never columns; everything linear is projected out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from taupi.identification.rows.factors import triangle

# Rounds in which the noise is estimated again from the residual; Gauss-Newton steps in each, and when they end.
_ROUNDS, _STEPS, _DONE = 4, 30, 1e-6
# The longest step, in the logarithm of a gain: a factor of two.
_LONGEST = 0.7
# A weak pull to zero, relative to the length of each column, for combinations that no log determines.
_FAINT = 1e-6
# Noise below this share of a current is rounding error.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class CurrentRows:
    """The rows [Y y] of one joint, in logs with or without the load: y = alpha Y x without, alpha Y (x + columns theta) with.

    Attributes:
        joint: The index of the joint.
        loaded: Whether the robot carries the load.
        r: The rows as a triangle (k, b + 1).
        rows: Their number.
        share: How many independent samples a row is worth.
    """

    joint: int
    loaded: bool
    r: np.ndarray
    rows: int
    share: float


@dataclass(frozen=True, eq=False)
class Model:
    """The model of the currents of all joints, apart from the gains.

    Attributes:
        columns: What drifted friction and the load add to the base parameters (b, k); the mass comes last.
        deviations: Their standard deviations about zero (k - 1,), without the mass; infinite where nothing is known.
        mass: The known mass of the load, kg.
        pulls: Rows (m, b + 1) that pull base parameters to zero, in units of their joint's noise, with the joint of each.
        pulled: The joint (m,) of each of these rows.
    """

    columns: np.ndarray
    deviations: np.ndarray
    mass: float
    pulls: np.ndarray
    pulled: np.ndarray


@dataclass(frozen=True, eq=False)
class LikeliestGains:
    """The gains for which currents are most likely.

    Attributes:
        log_alpha: The logarithms (n,) of alpha = stated gain / gain.
        covariance: Their covariance (n, n), if rows are noisy as the model says.
        x: The base parameters (b,).
        theta: What `Model.columns` adds (k,), the mass last.
        noise: The noise of the joints (2, n), without and with the load, in the units of y.
    """

    log_alpha: np.ndarray
    covariance: np.ndarray
    x: np.ndarray
    theta: np.ndarray
    noise: np.ndarray


def most_likely_gains(
    blocks: Sequence[CurrentRows], model: Model, start: np.ndarray, noise: np.ndarray
) -> LikeliestGains:
    """Return the alpha (n,) that minimise sum |y - alpha_j Y_j (x + columns theta)|^2 / sigma_j^2, x and theta projected out.

    Variable projection (Golub & Pereyra 1973) with the derivative of Kaufman (1975), over log alpha, so that gains stay
    positive. `start` (n,) is the initial log alpha, `noise` (2, n) that of the joints, estimated again from the residual.
    """
    v = start.copy()
    for _ in range(_ROUNDS):
        system = _System(blocks, model, noise)
        for _ in range(_STEPS):
            residual, jacobian, _ = system.at(v)
            step, *_ = np.linalg.lstsq(jacobian, -residual, rcond=1e-10)
            step *= min(1.0, _LONGEST / max(float(np.abs(step).max()), 1e-300))
            size, share = float(residual @ residual), 1.0
            while system.cost(v + share * step) > size and share > 1e-6:
                share *= 0.5
            v = v + share * step
            if float(np.abs(share * step).max()) < _DONE:
                break
        noise = system.noise(v, noise)
    system = _System(blocks, model, noise)
    _, jacobian, linear = system.at(v)
    b = len(system.pad) - len(model.deviations)
    information = jacobian.T @ jacobian
    eigenvalues, w = np.linalg.eigh(information)
    covariance = (w / np.maximum(eigenvalues, 1e-12)) @ w.T
    return LikeliestGains(v, covariance, linear[:b], np.append(linear[b:], model.mass), noise)


class _System:
    """Weighted rows of all joints, with those of the prior below them."""

    def __init__(self, blocks: Sequence[CurrentRows], model: Model, noise: np.ndarray) -> None:
        b, k = model.columns.shape
        self.blocks, self.model = blocks, model
        parts, self.owner, self.group = [], [], []
        for block in blocks:
            sigma = noise[int(block.loaded), block.joint]
            weight = np.sqrt(block.share) / sigma if sigma > 0 else 0.0
            extra = block.r[:, :-1] @ model.columns if block.loaded else np.zeros((len(block.r), k))
            parts.append(weight * np.hstack([block.r[:, :-1], extra, block.r[:, -1:]]))
            self.owner.append(np.full(len(block.r), block.joint))
            self.group.append(np.full(len(block.r), int(block.loaded)))
        rows = np.vstack(parts)
        self.owners, self.groups = np.concatenate(self.owner), np.concatenate(self.group)
        # Columns of what is free, that of the known mass, and the measured value.
        self.free, self.known, self.y = rows[:, :-2], model.mass * rows[:, -2], rows[:, -1]
        self.pad = np.linalg.norm(self.free, axis=0)
        self.pad = np.where(self.pad > 0, self.pad, 1.0)
        prior = np.diag(np.concatenate([np.zeros(b), 1 / model.deviations]))[b:]
        sigma = noise[0, model.pulled]
        pulls = np.zeros((len(model.pulls), b + k - 1))
        pulls[:, :b] = model.pulls[:, :-1] / np.where(sigma > 0, sigma, np.inf)[:, None]
        self.prior = np.vstack([prior, pulls, _FAINT * np.diag(self.pad)])

    def _solved(self, v: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return Q of the scaled columns, the measured values minus the known part, the solution, and alpha of each row."""
        alpha = np.exp(v)[self.owners]
        matrix = np.vstack([alpha[:, None] * self.free, self.prior]) / self.pad
        target = np.append(self.y - alpha * self.known, np.zeros(len(self.prior)))
        q, r = np.linalg.qr(matrix)
        return q, target, np.linalg.solve(r, q.T @ target) / self.pad, alpha

    def at(self, v: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the residual with the best x and theta, its derivative with respect to v (rows, n), and x with theta."""
        q, target, x, alpha = self._solved(v)
        predicted = np.append(alpha * (self.free @ x + self.known), np.zeros(len(self.prior)))
        owners = np.append(self.owners, np.full(len(self.prior), -1))
        each = np.where(owners[:, None] == np.arange(len(v)), predicted[:, None], 0.0)
        residual = target - q @ (q.T @ target)
        return residual, -(each - q @ (q.T @ each)), x

    def cost(self, v: np.ndarray) -> float:
        """Return the sum of squares at v, with the best x and theta."""
        q, target, _, _ = self._solved(v)
        return float(target @ target - np.sum((q.T @ target) ** 2))

    def noise(self, v: np.ndarray, before: np.ndarray) -> np.ndarray:
        """Return the noise (2, n) of the joints, from the residual, in the units of y."""
        residual = self.at(v)[0][: len(self.y)]
        result = before.copy()
        for block in self.blocks:
            own = (self.owners == block.joint) & (self.groups == int(block.loaded))
            if not block.rows or not before[int(block.loaded), block.joint] > 0:
                continue
            weight = np.sqrt(block.share) / before[int(block.loaded), block.joint]
            size = float(np.sqrt(np.sum(residual[own] ** 2) / block.rows)) / weight
            power = float(np.sqrt(np.sum(block.r[:, -1] ** 2) / block.rows))
            result[int(block.loaded), block.joint] = max(size, _ROUNDING * power)
        return result


def gains_as_columns(blocks: Sequence[CurrentRows], model: Model, noise: np.ndarray) -> np.ndarray:
    """Return log alpha (n,) by least squares with gains as columns: y / alpha = Y (x + columns theta).

    Noise in y makes these gains too small, by a third or more; they serve as a start if nothing else is known.
    """
    system, n = _System(blocks, model, noise), noise.shape[1]
    own = np.where(system.owners[:, None] == np.arange(n), -system.y[:, None], 0.0)
    matrix = np.vstack([np.hstack([system.free, own]), np.hstack([system.prior, np.zeros((len(system.prior), n))])])
    target = np.append(-system.known, np.zeros(len(system.prior)))
    length = np.linalg.norm(matrix, axis=0)
    length = np.where(length > 0, length, 1.0)
    solution = np.linalg.lstsq(matrix / length, target, rcond=1e-9)[0] / length
    gains = solution[-n:]
    typical = float(np.median(gains[gains > 0])) if (gains > 0).any() else 1.0
    return np.asarray(-np.log(np.maximum(gains, 0.05 * typical)))


def merged(blocks: Sequence[CurrentRows]) -> list[CurrentRows]:
    """Return one block for each joint, with and without the load, from several."""
    groups: dict[tuple[int, bool], list[CurrentRows]] = {}
    for block in blocks:
        groups.setdefault((block.joint, block.loaded), []).append(block)
    return [
        CurrentRows(
            joint,
            loaded,
            triangle(np.vstack([block.r for block in own])),
            sum(block.rows for block in own),
            sum(block.share * block.rows for block in own) / max(sum(block.rows for block in own), 1),
        )
        for (joint, loaded), own in groups.items()
    ]
