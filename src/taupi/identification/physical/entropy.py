"""Least squares with a prior on physical bodies: the entropic divergence of each link from its description.

The divergence of a pseudo-inertia P from P_0, D = tr(P_0^-1 P) - log det(P_0^-1 P) - 4, is convex, zero at P_0, infinite at the
edge of what a body can be, and the same in any frame and any units (Lee, Wensing & Park 2020). e^(-s D) is a Wishart density of
2 s + 5 degrees of freedom, so its integral is known.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from taupi.dynamics.terms import kind_of
from taupi.identification.physical.cones import packed, unpacked
from taupi.identification.physical.region import parameter_scales, pseudo_inertia_map
from taupi.model.parameters import LINK_SIZE, MASS, MOMENT, Parameters
from taupi.model.robot import Robot

# Pseudo-inertias of descriptions have no eigenvalue below this share of the largest, in units of the link's mass and length: rods
# and points of mass, or bodies that cannot exist, are descriptions too.
FLOOR = 1e-4
# Weight of the logarithm that keeps a rotor positive if the description states none: a thousandth of a sample.
_FAINT = 1e-3
_STEPS, _SETTLED = 200, 1e-9
_PAIRS = np.array([unpacked(e) for e in np.eye(LINK_SIZE)])  # (10, 4, 4): an orthonormal basis of symmetric matrices


@dataclass(frozen=True, eq=False)
class EntropicPrior:
    """Coordinates z (p,) in which the prior is simple: pi = `origin` + `basis` z.

    Ten of each link are Q = L^-1 P L^-T with P_0 = L L^T, packed, which is I where the link is as described. A rotor is a
    multiple of the described one. All other terms are in units of their expected deviation.

    Attributes:
        origin: The standard parameters at z = 0 (p,).
        basis: Their change with z (p, p).
        links: Where the coordinates of each link begin.
        described: Which coordinates are multiples of a rotor that is described (p,).
        positive: Which coordinates are a rotor that is not described (p,).
    """

    origin: np.ndarray
    basis: np.ndarray
    links: tuple[int, ...]
    described: np.ndarray
    positive: np.ndarray

    @classmethod
    def of(cls, robot: Robot, standard: Parameters, prior: np.ndarray, scales: np.ndarray) -> EntropicPrior:
        """Return the prior around standard parameters (p,); `scales` (p,) are the expected deviations of terms from it."""
        entries = standard.layout.entries
        starts = tuple(k for k, e in enumerate(entries) if e.kind == MASS[0])
        kinds = np.array([kind_of(e.kind).sign == "positive" for e in entries])
        described, positive = kinds & (prior > 0), kinds & (prior <= 0)
        origin = np.where(kinds, 0.0, prior)
        basis = np.diag(np.where(described, prior, scales))
        sizes = parameter_scales(robot, standard, prior)
        to_parameters = np.linalg.inv(pseudo_inertia_map())
        for start in starts:
            link = slice(start, start + LINK_SIZE)
            root = _root(prior[link], sizes[link], [e.kind for e in entries[link]])
            columns = [to_parameters @ packed(root @ pair @ root.T) for pair in _PAIRS]
            origin[link], basis[link, link] = 0.0, np.column_stack(columns)
        return cls(origin, basis, starts, described, positive)

    @property
    def start(self) -> np.ndarray:
        """z of the description (p,); a rotor that it does not state has a tenth of the expected inertia."""
        z = np.where(self.described, 1.0, np.where(self.positive, 0.1, 0.0))
        for start in self.links:
            z[start : start + LINK_SIZE] = packed(np.eye(4))
        return z

    def parameters(self, z: np.ndarray) -> np.ndarray:
        """Return the standard parameters (p,) at z."""
        return self.origin + self.basis @ z

    @property
    def gaussian(self) -> np.ndarray:
        """Which coordinates have a standard normal prior (p,), or half of one: all terms but rotors that are described."""
        result = ~self.described
        for start in self.links:
            result[start : start + LINK_SIZE] = False
        return result

    def value(self, z: np.ndarray, strength: float) -> float:
        """Return the prior's part of the sum: `strength` times the divergences, and half the squares; infinite outside."""
        single = z[self.described | self.positive]
        if (single <= 0).any():
            return np.inf
        total = 0.5 * float(np.sum(z[self.gaussian] ** 2)) - _FAINT * float(np.sum(np.log(z[self.positive])))
        multiples = z[self.described]
        total += strength * float(np.sum(multiples - np.log(multiples) - 1))
        for start in self.links:
            q = unpacked(z[start : start + LINK_SIZE])
            try:
                diagonal = np.diag(np.linalg.cholesky(q))
            except np.linalg.LinAlgError:
                return np.inf
            total += strength * float(np.trace(q) - 2 * np.sum(np.log(diagonal)) - 4)
        return total

    def derivatives(self, z: np.ndarray, strength: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the gradient (p,) and the Hessian (p, p) of `value`."""
        single = np.where(self.described | self.positive, z, 1.0)
        weight = np.where(self.described, strength, np.where(self.positive, _FAINT, 0.0))
        gradient = np.where(self.gaussian, z, 0.0) + strength * self.described - weight / single
        hessian = np.diag(self.gaussian.astype(float) + weight / single**2)
        for start in self.links:
            at = slice(start, start + LINK_SIZE)
            inverse = np.linalg.inv(unpacked(z[at]))
            gradient[at] = strength * packed(np.eye(4) - inverse)
            turned = inverse @ _PAIRS
            hessian[at, at] = strength * np.einsum("aij,bji->ab", turned, turned)
        return gradient, hessian

    def log_integral(self, strength: float) -> float:
        """Return log of the integral of e^(-value) over z.

        For a link it is the log of the Wishart integral, -4 (s + 5/2) log s + log Gamma_4(s + 5/2) + 4 s, with off-diagonal
        coordinates sqrt(2) times as long as the entries of Q.
        """
        from scipy.special import gammaln, multigammaln

        link = 4 * strength - 4 * (strength + 2.5) * np.log(strength) + multigammaln(strength + 2.5, 4) + 3 * np.log(2)
        rotor = strength - (strength + 1) * np.log(strength) + gammaln(strength + 1)
        normal = 0.5 * np.log(2 * np.pi) * self.gaussian.sum() - np.log(2) * self.positive.sum()
        return float(len(self.links) * link + self.described.sum() * rotor + normal)


@dataclass(frozen=True, eq=False)
class EntropicSolution:
    """The z that minimises the sum, the inverse of the Hessian there, the log of the evidence, and whether it converged."""

    z: np.ndarray
    covariance: np.ndarray
    log_evidence: float
    ok: bool


def entropic_least_squares(a: np.ndarray, y: np.ndarray, prior: EntropicPrior, strength: float) -> EntropicSolution:
    """Return the z that minimises 1/2 |a pi - y|^2 + strength sum_links D + 1/2 |terms|^2, pi = origin + basis z.

    The rows of a (k, p) and y (k,) are divided by their noise, and independent. Solved by Newton's method from the description,
    with shorter steps where full ones would leave the region or not descend. The evidence, the probability of y for this
    strength, is Laplace's approximation, without the constants of the rows.
    """
    a, y = a @ prior.basis, y - a @ prior.origin
    normal, right, z = a.T @ a, a.T @ y, prior.start

    def value(z: np.ndarray) -> float:
        return 0.5 * float(np.sum((a @ z - y) ** 2)) + prior.value(z, strength)

    now, ok = value(z), False
    for _ in range(_STEPS):
        gradient, hessian = prior.derivatives(z, strength)
        gradient, hessian = gradient + normal @ z - right, hessian + normal
        scale = 1 / np.sqrt(np.diag(hessian))
        step = -scale * np.linalg.solve(hessian * np.outer(scale, scale), scale * gradient)
        descent = -float(gradient @ step)
        if descent < _SETTLED:
            ok = True
            break
        length, further = 1.0, value(z + step)
        while not further <= now - 1e-4 * length * descent and length > 1e-12:
            length /= 2
            further = value(z + length * step)
        if length <= 1e-12:  # no descent beyond rounding
            ok = descent < 1e-4
            break
        z, now = z + length * step, further
    hessian = prior.derivatives(z, strength)[1] + normal
    scale = 1 / np.sqrt(np.diag(hessian))
    scaled = hessian * np.outer(scale, scale)
    determinant = float(np.linalg.slogdet(scaled)[1]) - 2 * float(np.sum(np.log(scale)))
    evidence = -now - prior.log_integral(strength) - 0.5 * determinant + 0.5 * len(z) * np.log(2 * np.pi)
    return EntropicSolution(z, np.outer(scale, scale) * np.linalg.inv(scaled), float(evidence), ok)


def _root(ten: np.ndarray, sizes: np.ndarray, kinds: list[str]) -> np.ndarray:
    """Return L with P_0 = L L^T of a link with ten parameters, eigenvalues floored in units of its mass and length, `sizes`."""
    mass = float(sizes[kinds.index(MASS[0])])
    length = float(sizes[kinds.index(MOMENT[0])]) / mass
    unit = np.array([length, length, length, 1.0]) * np.sqrt(mass)
    p = unpacked(pseudo_inertia_map() @ ten) / np.outer(unit, unit)
    values, vectors = np.linalg.eigh(p)
    floored = np.maximum(values, FLOOR * max(float(values[-1]), 1.0))
    return unit[:, None] * np.linalg.cholesky((vectors * floored) @ vectors.T)
