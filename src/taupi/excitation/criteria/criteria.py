"""Criteria of an information matrix G, whose inverse is the covariance: each is a number and its derivative by G."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np

from taupi.errors import Argument, TaupiError
from taupi.excitation.settings import Goal
from taupi.identifiability.base_parameters import BaseParameters

# Kiefer's mean with this power is close to the largest value; the soft extremes of a condition use the power 6.
_E_POWER = 8
_COND_POWER = 6


class Value(NamedTuple):
    """phi(G) and Phi = d phi / d G, symmetric."""

    phi: float
    slope: np.ndarray


class Criterion(Protocol):
    """What is minimised: a function of the information G (b, b)."""

    @property
    def name(self) -> str:
        """Its name."""
        ...

    def __call__(self, information: np.ndarray) -> Value | None:
        """Return phi and Phi, or None if G is singular."""
        ...


@dataclass(frozen=True)
class Determinant:
    """phi = -log det G: the volume of the confidence ellipsoid. Units and the choice of base parameters do not matter."""

    name: str = "d"

    def __call__(self, information: np.ndarray) -> Value | None:
        """Return phi and Phi = -G^-1."""
        inverse = _inverse(information)
        return None if inverse is None else Value(-inverse[1], -inverse[0])


@dataclass(frozen=True, eq=False)
class SubsetDeterminant:
    """phi = -log det G + log det G_nn: the volume for some parameters, regardless of the others, n."""

    others: np.ndarray
    name: str = "ds"

    def __call__(self, information: np.ndarray) -> Value | None:
        """Return phi and Phi = -G^-1 + (0, 0; 0, G_nn^-1)."""
        block = np.ix_(self.others, self.others)
        full, part = _inverse(information), _inverse(information[block])
        if full is None or part is None:
            return None
        slope = -full[0]
        slope[block] += part[0]
        return Value(part[1] - full[1], slope)


@dataclass(frozen=True, eq=False)
class KieferMean:
    """phi = b log mean_p(mu), with mu the eigenvalues of S^-1 G^-1 S^-1: variances along its axes.

    p = 1 is their mean ("a"), p = 8 is nearly the largest ("e"); with "p" the user chooses it (Kiefer 1974).

    `scale` S (b,) are the sizes of parameters: errors are relative to them. The factor b makes phi comparable to that of "d".
    """

    name: str
    scale: np.ndarray
    power: float

    def __call__(self, information: np.ndarray) -> Value | None:
        """Return phi and Phi."""
        inverse = _inverse(information)
        return (
            None
            if inverse is None
            else _times(len(self.scale), _soft_largest(inverse[0], self.scale, self.power, True))
        )


@dataclass(frozen=True, eq=False)
class Condition:
    """phi = b / 2 log of a soft ratio of the extreme eigenvalues of S G S: the condition of W, for comparison with papers.

    It wastes excitation: a motion with half the information in every direction has the same condition.
    """

    scale: np.ndarray
    name: str = "cond"

    def __call__(self, information: np.ndarray) -> Value | None:
        """Return phi and Phi, of the largest eigenvalue and of the largest of the inverse."""
        inverse = _inverse(information)
        if inverse is None:
            return None
        b = len(self.scale)
        top = _soft_largest(information, 1 / self.scale, _COND_POWER)
        bottom = _soft_largest(inverse[0], self.scale, _COND_POWER, True)
        # Sums of powers instead of means, so that phi is never below the true logarithm.
        phi = top.phi + bottom.phi + 2 * np.log(b) / _COND_POWER
        return _times(b / 2, Value(phi, top.slope + bottom.slope))


def _soft_largest(matrix: np.ndarray, scale: np.ndarray, power: float, inverted: bool = False) -> Value:
    """Return log mean_p of the eigenvalues of S^-1 M S^-1 and its slope with respect to M, or to M^-1 if `inverted`."""
    values, vectors = np.linalg.eigh(matrix / scale[:, None] / scale)
    ratio = np.maximum(values, 0.0) / values[-1]
    total = float((ratio**power).sum())
    inner = (vectors * (ratio ** (power - 1) / (values[-1] * total))) @ vectors.T / scale[:, None] / scale
    phi = float(np.log(values[-1]) + np.log(total / len(values)) / power)
    return Value(phi, -matrix @ inner @ matrix if inverted else inner)


def _times(factor: float, value: Value) -> Value:
    return Value(factor * value.phi, factor * value.slope)


def _inverse(matrix: np.ndarray) -> tuple[np.ndarray, float] | None:
    """Return the inverse and the logarithm of the determinant, or None; the diagonal is scaled to one first."""
    from scipy.linalg.lapack import dpotrf, dpotri

    diagonal = np.diag(matrix)
    if not diagonal.size:
        return np.zeros((0, 0)), 0.0
    if not (diagonal > 0).all() or not np.isfinite(matrix).all():
        return None
    d = 1 / np.sqrt(diagonal)
    factor, failed = dpotrf(matrix * d[:, None] * d, lower=1)
    if failed:
        return None
    lower, failed = dpotri(factor, lower=1)
    inverse = np.tril(lower) + np.tril(lower, -1).T
    logarithm = 2 * float(np.log(np.diag(factor)).sum()) - 2 * float(np.log(d).sum())
    return inverse * d[:, None] * d, logarithm


# From names -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Chosen:
    """A criterion, the parameters that it is about, and notes on it."""

    criterion: Criterion
    of: tuple[str, ...]
    notes: tuple[str, ...] = field(default=())


def choose(goal: Goal, base: BaseParameters) -> Chosen:
    """Return the criterion of a goal for base parameters."""
    name = goal.criterion
    _refuse_idle(goal)
    if name == "d":
        return Chosen(Determinant(), base.names)
    if name == "ds":
        return _subset(base, goal.only)
    sizes, note = _sizes(name, base, goal.scale)
    if name == "cond":
        return Chosen(Condition(sizes), base.names, (note,))
    return Chosen(KieferMean(name, sizes, _power(goal)), base.names, (note,))


def _refuse_idle(goal: Goal) -> None:
    """Refuse settings that are about another criterion."""
    for field_name, value, of in (
        ("only", goal.only or None, ("ds",)),
        ("power", goal.power, ("p",)),
        ("scale", goal.scale, ("a", "e", "p", "cond")),
    ):
        if value is not None and goal.criterion not in of:
            raise TaupiError(
                Argument(field_name),
                f" has no meaning for the criterion {goal.criterion!r}.",
                remedy=("Use ", Argument("criterion", of[0]), ", or leave it out."),
            )


def _power(goal: Goal) -> float:
    if goal.criterion != "p":
        return _E_POWER if goal.criterion == "e" else 1
    if goal.power is None:
        raise TaupiError(
            "The criterion 'p' is a mean of a power of the variances, and none is given.",
            remedy=("Give it by ", Argument("power", 4), "."),
        )
    return goal.power


def _subset(base: BaseParameters, only: tuple[str, ...]) -> Chosen:
    if not only:
        raise TaupiError(
            "The criterion 'ds' is about some of the parameters, and none are named.",
            remedy=("Name them by ", Argument("only", "link6.*"), "."),
        )
    chosen = sorted(set(base.parameters.layout.select(list(only))))
    others = np.setdiff1d(np.arange(base.count), chosen)
    return Chosen(SubsetDeterminant(others), tuple(base.names[k] for k in chosen))


def _sizes(name: str, base: BaseParameters, scale: float | tuple[float, ...] | None) -> tuple[np.ndarray, str]:
    """Return S (b,): what the user states; otherwise ones for "cond", and the description's values for the others."""
    if scale is not None:
        sizes = np.full(base.count, scale) if isinstance(scale, float) else np.array(scale)
        if sizes.shape != (base.count,):
            raise TaupiError(
                Argument("scale"), f" has {len(sizes)} numbers, expected {base.count}: one per base parameter."
            )
        return sizes, f"Criterion {name}: errors are relative to the scale that was given."
    if name == "cond":
        return (
            np.ones(base.count),
            "Criterion cond: of the columns as they are, in SI units; a motion that shows less can have a better condition.",
        )
    values, units = np.abs(base.parameters.values), np.array(base.parameters.units)
    if not values.any():
        raise TaupiError(
            f"The criterion {name!r} counts errors relative to parameters, and the description has none.",
            remedy=("Give their sizes by ", Argument("scale", ...), ", or use ", Argument("criterion", "d"), "."),
        )
    floor = np.array([0.01 * values[units == u].max() for u in units])
    floor[floor == 0] = 0.01 * values.max()
    return (
        np.maximum(values, floor),
        f"Criterion {name}: errors are relative to the description's values, at least to 1 % of the largest of a unit.",
    )
