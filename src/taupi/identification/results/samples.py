"""Posterior samples of a fit: robots that could all have made its logs, each with bodies that exist."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from taupi.checks import whole_number
from taupi.dynamics.terms import kind_of
from taupi.dynamics.terms.coulomb import Coulomb
from taupi.errors import TaupiError
from taupi.identification.online.recursive import upper_factor
from taupi.identification.physical.cones import unpacked
from taupi.identification.physical.region import parameter_scales, pseudo_inertia_map
from taupi.identification.physical.standard_parameters import term_sizes
from taupi.identification.results.command_fit import CommandFit
from taupi.identification.results.export import robot_of_fit, robot_with
from taupi.identification.results.fit import Fit
from taupi.identification.results.uncertainty import check_level
from taupi.model.body import bodies_of
from taupi.model.parameters import LINK_SIZE, ParameterLayout
from taupi.model.robot import Robot
from taupi.tables import table
from taupi.threads import small_algebra

# The spread of what the logs leave open, in units of a factor of each link's pseudo-inertia: masses spread by about twice that.
_OPEN = 0.3
# The spread of the terms of joints before the logs are seen, in standard errors of the estimate: wide enough not to matter.
_WIDE = 10.0
# Combinations with less than this share of the largest variance are not determined, if the fit says that some are not.
_UNKNOWN = 1e-10
# In N m, N m s/rad or kg m^2: no joint has friction or a rotor as small as that.
_ROUNDING = 1e-9
# With all determined, none counts as known a thousand times better than its parts, as in `rows_from_covariance`.
_BEST = 1e-6
# A step that gains less than this is the last: costs count squared standard deviations.
_ITERATIONS, _ENOUGH = 40, 1e-2
# How often a step is bent, for the curvature of pseudo-inertias over their factors.
_CORRECTIONS = 3
# Draws that are solved together: enough for products of matrices, few enough for memory.
_AT_ONCE = 64


@dataclass(frozen=True, eq=False, repr=False)
class Samples:
    """Robots that a fit takes as possible. All numbers of one index belong together.

    Attributes:
        fit: The fit.
        parameters: The standard parameters (K, p) of the robots; the first are those of the fit itself.
        seed: The seed of the draws.
        converged: Which of them (K,) are solved to the end.
    """

    fit: Fit
    parameters: np.ndarray
    seed: int
    converged: np.ndarray

    def __len__(self) -> int:
        return len(self.parameters)

    def __getitem__(self, k: int) -> Robot:
        """Return one of the robots, with its friction and rotors where a description has a place for them."""
        return robot_with(self.fit.robot, self.layout, self.parameters[k])

    @property
    def layout(self) -> ParameterLayout:
        """What the standard parameters are, and in which order."""
        return self.fit.parameters.layout

    @property
    def delays(self) -> np.ndarray | None:
        """By how much commands act late on each robot (K,), s; None where the fit says nothing of it."""
        return None

    @property
    def gains(self) -> dict[str, np.ndarray]:
        """The gain on the position error of each robot (K,), by the joints whose gain was fitted as well."""
        return {}

    @property
    def base(self) -> np.ndarray:
        """The base parameters (K, b)."""
        return self.fit.basis.project(self.parameters)

    @property
    def links(self) -> np.ndarray:
        """The ten parameters of each link, (K, 10 per link), as `taupi.simulate_many(links=...)` takes them."""
        return self.parameters[:, : len(self.fit.robot.parameters)]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the standard parameters."""
        return self.layout.names

    @cached_property
    def spread(self) -> np.ndarray:
        """The rms spread of the torque over the fitted logs, all joints together, relative to that by the covariance of the fit.

        NaN for each joint if the fit has no triangle of its rows.
        """
        if self.fit.triangle is None:
            return np.full(len(self.fit.joints), np.nan)
        rows = self.fit.triangle[:, :-1]
        deviations = self.base[1:] - self.fit.values
        return np.sqrt(
            np.mean((deviations @ rows.T) ** 2) / np.mean(np.einsum("kb,bc,kc->k", rows, self.fit.covariance, rows))
        )

    def ranges(self, level: float = 0.9) -> dict[str, tuple[float, float]]:
        """Return the range of each standard parameter that contains a share `level` (0.9) of the samples.

        For engines that only take ranges. They drop the correlations: parameters drawn from them one by one make torques that
        are several times too uncertain, and bodies that may not exist.
        """
        check_level(level)
        ends = np.quantile(
            self.parameters[1:] if len(self) > 1 else self.parameters, [0.5 - level / 2, 0.5 + level / 2], axis=0
        )
        return {name: (float(low), float(high)) for name, low, high in zip(self.names, *ends, strict=True)}

    def __repr__(self) -> str:
        ends = self.ranges()
        estimate = zip(self.names, self.parameters[0], strict=True)
        rows: list[tuple[str, ...]] = [("parameter", "estimate", "5 %", "95 %")]
        rows += [(name, f"{v:.4g}", *(f"{end:.4g}" for end in ends[name])) for name, v in estimate]
        head = f"{len(self) - 1} robots that could be {self.fit.robot.name}, and the estimate; ranges drop their correlations"
        return "\n".join([head, *table(rows)])


@small_algebra
def samples(fit: Fit | CommandFit, count: int = 1000, seed: int = 0, anyway: bool = False) -> Samples:
    """Return robots that could have made the logs of a fit: draws from its uncertainty, each with bodies that exist.

    Base parameters b_k are drawn from the estimate and its covariance C, and what the logs leave open, x_k, from a wide prior
    about the estimate. Robot k has the parameters

        pi(x),  x = argmin (B pi(x) - b_k)^T C^-1 (B pi(x) - b_k) + |x - x_k|^2 / 0.3^2,

    by Gauss-Newton steps. For a link, x is the upper triangular factor U of its pseudo-inertia P = U U^T, relative to its size:
    P is that of a real body whatever x is, and linear in its derivatives. Friction and rotors do not fall below zero. Those
    that the logs say nothing of stay as the fit has them.

    Of a fit from commands, the parameters themselves are drawn: drives, delay and masses as far as they were free; what the
    logs leave open comes from its prior. Inertias are then the description's, or the nearest that a real body has.

    Args:
        fit: The fit.
        count: How many robots are drawn, in addition to the estimate itself; 1000 by default.
        seed: The seed of the draws, 0 by default.
        anyway: Whether a fit whose verdict is wrong is taken all the same, False by default.

    Returns:
        The robots, the first of which is the estimate.

    Raises:
        TaupiError: If the verdict is wrong, the robot has elastic joints, or no gain of its drives is known.

    >>> import numpy as np, taupi as tp
    >>> arm, t, w = tp.load("elbow2r").with_friction(viscous=1.0), np.arange(2000)[:, None] / 100, np.array([1.0, 1.7])
    >>> q, qd, qdd = np.sin(w * t), w * np.cos(w * t), -w * w * np.sin(w * t)
    >>> tau = tp.inverse_dynamics(arm, terms="viscous")(q, qd, qdd) + np.random.default_rng(0).normal(0, 0.1, q.shape)
    >>> fit = tp.identify(arm, tp.Log(t[:, 0], q, tau=tau), terms=("viscous",), cutoff_hz=10)
    >>> drawn = tp.samples(fit, 50, seed=1)
    >>> len(drawn), drawn.base.shape, drawn[3].n
    (51, (51, 8), 2)
    """
    number, start = whole_number("count", count), whole_number("seed", seed, least=0)
    if isinstance(fit, CommandFit):
        from taupi.identification.results.command_samples import command_samples

        return command_samples(fit, number, start, anyway)
    if not isinstance(fit, Fit):
        raise TaupiError("{fit} is {got!r}, expected a fit: taupi.identify(...).", got=fit)
    fit.equations.layout.refuse_springs("A set of samples")
    robot_of_fit(fit, anyway)  # refuses a fit that is wrong
    coordinates = _Coordinates.of(fit)
    rows, draws = _draws(fit, number, np.random.default_rng(start), coordinates.size)
    parameters, done = [fit.parameters.values[None]], [np.ones(1, dtype=bool)]
    for k in range(0, number, _AT_ONCE):
        x, converged = _solved(coordinates, rows, *(each[k : k + _AT_ONCE] for each in draws))
        parameters.append(coordinates.parameters(x))
        done.append(converged)
    return Samples(fit, np.concatenate(parameters), start, np.concatenate(done))


@dataclass(frozen=True, eq=False)
class _Coordinates:
    """Coordinates x in which every robot is possible, 0 for the estimate: factors of pseudo-inertias, then terms of joints.

    Attributes:
        base: B (b, p).
        factors: U (links, 4, 4) of the estimate, in units of each link.
        units: What a link's parameters in these units are multiplied by (links, 10).
        sums: T (terms, terms): T times the parameters of terms are the numbers that may have a sign.
        values: These numbers of the estimate (terms,).
        widths: The units of x for them (terms,).
        signed: Whether they may be negative (terms,).
    """

    base: np.ndarray
    factors: np.ndarray
    units: np.ndarray
    sums: np.ndarray
    values: np.ndarray
    widths: np.ndarray
    signed: np.ndarray

    @classmethod
    def of(cls, fit: Fit) -> _Coordinates:
        standard, values = fit.basis.standard, fit.parameters.values
        links = len(fit.robot.parameters)
        scale = _scale(fit)
        units = scale[:links].reshape(-1, LINK_SIZE)
        tens = values[:links].reshape(-1, LINK_SIZE) / units
        factors = np.array([upper_factor(unpacked(pseudo_inertia_map() @ ten)) for ten in tens])
        entries = standard.layout.entries[links:]
        place = {(e.owner, e.kind): k for k, e in enumerate(entries)}
        sums = np.eye(len(entries))
        for (owner, kind), k in place.items():
            if kind_of(kind).with_coulomb and (owner, Coulomb.name) in place:
                sums[k, place[owner, Coulomb.name]] = 1.0
        own = dict(zip(fit.basis.columns, np.sqrt(np.maximum(np.diag(fit.covariance), 0.0)), strict=True))
        errors = np.array([own.get(links + k) or _OPEN * scale[links + k] for k in range(len(entries))])
        signed = np.array([kind_of(e.kind).sign == "any" for e in entries], dtype=bool)
        return cls(fit.basis.projection, factors, units, sums, sums @ values[links:], errors, signed)

    @property
    def size(self) -> int:
        return self.factors.shape[0] * LINK_SIZE + len(self.values)

    def parameters(self, x: np.ndarray) -> np.ndarray:
        """Return the standard parameters (K, p) at x (K, size)."""
        u, bodies = self._factors_at(x), self.units.size
        p = u @ u.transpose(0, 1, 3, 2)
        tens = bodies_of(p) * self.units
        terms = np.linalg.solve(self.sums, self._sums_at(x).T).T
        return np.concatenate([tens.reshape(len(x), bodies), terms], axis=1)

    def derivative(self, rows: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Return the derivative (K, m, size) of rows (m, p) times the parameters with respect to x (K, size)."""
        u, links = self._factors_at(x), len(self.factors)
        # dP = E_j U^T + U E_j^T for entry j of U, and the ten parameters are linear in P.
        half = np.einsum("jab,klcb->kljac", _ENTRIES, u)
        tens = bodies_of(half + half.swapaxes(-1, -2)) * self.units[:, None]
        own = rows[:, : self.units.size].reshape(len(rows), links, LINK_SIZE)
        of_links = np.matmul(own.transpose(1, 0, 2)[None], tens.swapaxes(-1, -2))  # (K, links, m, 10)
        of_links = of_links.transpose(0, 2, 1, 3).reshape(len(x), len(rows), -1)
        of_terms = rows[:, self.units.size :] @ np.linalg.inv(self.sums) * self._unit
        return np.concatenate([of_links, np.broadcast_to(of_terms, (len(x), *of_terms.shape))], axis=2)

    def _factors_at(self, x: np.ndarray) -> np.ndarray:
        moved = x[:, : self.units.size].reshape(len(x), -1, LINK_SIZE)
        return self.factors + np.einsum("klj,jab->klab", moved, _ENTRIES)

    @property
    def least(self) -> np.ndarray:
        """The least x (size,): what has no sign, and what exists for every x, has none."""
        ends = np.where(self.signed, -np.inf, -np.maximum(self.values, 0.0) / self._unit)
        return np.concatenate([np.full(self.units.size, -np.inf), ends])

    @property
    def _unit(self) -> np.ndarray:
        return self.widths * _WIDE / _OPEN

    def _sums_at(self, x: np.ndarray) -> np.ndarray:
        """Return the numbers of terms, zero where x is least."""
        plain = self.values + self._unit * x[:, self.units.size :]
        return np.where(self.signed, plain, np.maximum(plain, 0.0))


# E_j (10, 4, 4): one for each entry of an upper triangular factor.
_ENTRIES = np.zeros((LINK_SIZE, 4, 4))
for _j, (_a, _b) in enumerate((a, b) for a in range(4) for b in range(a, 4)):
    _ENTRIES[_j, _a, _b] = 1.0


def _scale(fit: Fit) -> np.ndarray:
    """Return the size (p,) of each standard parameter; 1 for terms that are zero but for rounding."""
    values = fit.parameters.values
    stated = np.where(values != 0, values, term_sizes(fit.basis, fit.values))
    scale = parameter_scales(fit.robot, fit.basis.standard, stated)
    return np.where(scale > _ROUNDING, scale, 1.0)


def _draws(
    fit: Fit, count: int, rng: np.random.Generator, size: int
) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
    """Return rows W (m, p) with W^T W = B^T C^-1 B, and for each draw W pi_k (count, m) and x_k (count, size)."""
    errors = np.sqrt(np.maximum(np.diag(fit.covariance), 0.0))
    # Covariances say nothing of what is not determined: there, the size of the parameter is the unit, and variances are zero.
    sizes = _OPEN * _scale(fit)[list(fit.basis.columns)]
    errors = np.where(fit.undetermined | (errors == 0), np.maximum(errors, sizes), errors)
    variances, vectors = np.linalg.eigh(fit.covariance / np.outer(errors, errors))
    if fit.undetermined.any():
        known = variances > _UNKNOWN * variances[-1]
        variances, vectors = variances[known], vectors[:, known]
    weights = (vectors / np.sqrt(np.maximum(variances, _BEST))).T / errors
    # Of each row, the estimate moves by its own standard deviation.
    moves = rng.standard_normal((count, len(weights))) * np.sqrt(variances / np.maximum(variances, _BEST))
    return weights @ fit.basis.projection, (weights @ fit.values + moves, _OPEN * rng.standard_normal((count, size)))


def _times(matrices: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Return the products (K, m) of matrices (K, m, s) and vectors (K, s)."""
    return np.matmul(matrices, vectors[..., None])[..., 0]


def _solved(
    coordinates: _Coordinates, rows: np.ndarray, wanted: np.ndarray, centre: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return argmin |rows pi(x) - wanted|^2 + |x - centre|^2 / 0.3^2 for each draw (K, size), and which are solved.

    Steps are those of Levenberg and Marquardt, in the space of the rows, of which there are fewer than coordinates. Coordinates
    that are least, and would fall, are held.
    """
    pull, least = 1 / _OPEN**2, coordinates.least
    x, damping = np.zeros_like(centre), np.full(len(centre), 1e-3)
    done = np.zeros(len(centre), dtype=bool)

    def cost_of(x: np.ndarray, k: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        misfit = coordinates.parameters(x) @ rows.T - wanted[k]
        return misfit, np.sum(misfit**2, axis=1) + pull * np.sum((x - centre[k]) ** 2, axis=1)

    misfit, cost = cost_of(x, np.arange(len(x)))
    for _ in range(_ITERATIONS):
        k = np.flatnonzero(~done)
        if not len(k):
            break
        jacobian = coordinates.derivative(rows, x[k])
        gradient = np.einsum("kms,km->ks", jacobian, misfit[k]) + pull * (x[k] - centre[k])
        held = (x[k] <= least) & (gradient > 0)
        gradient[held] = 0.0
        jacobian = np.where(held[:, None], 0.0, jacobian)
        level = pull * (1 + damping[k])
        gram = jacobian @ jacobian.swapaxes(1, 2)
        gram[:, np.arange(gram.shape[1]), np.arange(gram.shape[1])] += level[:, None]
        inverse = np.linalg.inv(gram)
        inner = _times(inverse, _times(jacobian, gradient))
        step = (np.einsum("kms,km->ks", jacobian, inner) - gradient) / level[:, None]
        linear = misfit[k] + _times(jacobian, step)
        trial = np.maximum(x[k] + step, least)
        new, lower = cost_of(trial, k)
        for _ in range(_CORRECTIONS):
            # Logs know some combinations much better than others: steps bend back to where these stay as they should be.
            back = np.einsum("kms,km->ks", jacobian, _times(inverse, new - linear))
            corrected = np.maximum(trial - back, least)
            misfits, costs = cost_of(corrected, k)
            closer = costs < lower
            trial[closer], new[closer], lower[closer] = corrected[closer], misfits[closer], costs[closer]
        better = lower <= cost[k]
        gain = cost[k] - lower
        damping[k] = np.where(better, damping[k] * 0.2, damping[k] * 8.0)
        done[k] = (better & (gain < _ENOUGH)) | (damping[k] > 1e12)
        kept = k[better]
        x[kept], misfit[kept], cost[kept] = trial[better], new[better], lower[better]
    return x, done
