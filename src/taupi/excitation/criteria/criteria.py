"""Criteria of an information matrix G, whose inverse is the covariance: each is a number and its derivative by G."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import ClassVar, NamedTuple, cast

import numpy as np

from taupi.errors import Argument, TaupiError
from taupi.excitation.criteria import CRITERIA, criterion_class
from taupi.excitation.settings import Goal
from taupi.identifiability.base_parameters import BaseParameters

# Kiefer's mean with this power is close to the largest value; the soft extremes of a condition use the power 6.
_E_POWER = 8
_COND_POWER = 6


class Value(NamedTuple):
    """phi(G) and Phi = d phi / d G, symmetric."""

    phi: float
    slope: np.ndarray


@dataclass(frozen=True)
class Chosen:
    """A criterion, the parameters that it is about, and notes on it."""

    criterion: Criterion
    of: tuple[str, ...]
    notes: tuple[str, ...] = field(default=())


class Criterion(ABC):
    """What is minimised: a function of the information G (b, b)."""

    name: ClassVar[str]
    # Which of the settings "only", "power" and "scale" it takes.
    uses: ClassVar[tuple[str, ...]] = ()
    # Whether it is the volume of a confidence ellipsoid, which one may compare with that of random motions.
    is_volume: ClassVar[bool] = False
    # Whether rows are weighted by the noise of their joint.
    weighs_noise: ClassVar[bool] = True

    @classmethod
    @abstractmethod
    def of(cls, goal: Goal, base: BaseParameters) -> Chosen:
        """Return the criterion with the settings of a goal, for base parameters."""

    @abstractmethod
    def __call__(self, information: np.ndarray) -> Value | None:
        """Return phi and Phi, or None if G is singular."""


@dataclass(frozen=True)
class Determinant(Criterion):
    """phi = -log det G: the volume of the confidence ellipsoid. Units and the choice of base parameters do not matter."""

    name: ClassVar[str] = "d"
    is_volume: ClassVar[bool] = True

    @classmethod
    def of(cls, goal: Goal, base: BaseParameters) -> Chosen:
        """Return the criterion, which is about all parameters."""
        return Chosen(cls(), base.names)

    def __call__(self, information: np.ndarray) -> Value | None:
        """Return phi and Phi = -G^-1."""
        inverse = _inverse(information)
        return None if inverse is None else Value(-inverse[1], -inverse[0])


@dataclass(frozen=True, eq=False)
class SubsetDeterminant(Criterion):
    """phi = -log det G + log det G_nn: the volume for some parameters, regardless of the others, n.

    Attributes:
        others: The places of the others among the b parameters.
    """

    others: np.ndarray
    name: ClassVar[str] = "ds"
    uses: ClassVar[tuple[str, ...]] = ("only",)
    is_volume: ClassVar[bool] = True

    @classmethod
    def of(cls, goal: Goal, base: BaseParameters) -> Chosen:
        """Return the criterion for the parameters that the goal names."""
        if not goal.only:
            raise TaupiError(
                "The criterion 'ds' is about some of the parameters, and none are named.",
                remedy="Name them by {only='link6.*'}.",
            )
        chosen = sorted(set(base.parameters.layout.select(list(goal.only))))
        others = np.setdiff1d(np.arange(base.count), chosen)
        return Chosen(cls(others), tuple(base.names[k] for k in chosen))

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
class MeanVariance(Criterion):
    """phi = b log mean_p(mu), with mu the eigenvalues of S^-1 G^-1 S^-1: variances along its axes; their mean, p = 1.

    The factor b makes phi comparable to that of "d" (Kiefer 1974).

    Attributes:
        scale: S (b,), the sizes of parameters: errors are relative to them.
        power: p.
    """

    scale: np.ndarray
    power: float = 1
    name: ClassVar[str] = "a"
    uses: ClassVar[tuple[str, ...]] = ("scale",)

    @classmethod
    def of(cls, goal: Goal, base: BaseParameters) -> Chosen:
        """Return the criterion, relative to the sizes that the user states, or to the description's values."""
        sizes, note = _stated_sizes(cls.name, base, goal.scale) or _described_sizes(cls.name, base)
        return Chosen(cls(sizes), base.names, (note,))

    def __call__(self, information: np.ndarray) -> Value | None:
        """Return phi and Phi."""
        inverse = _inverse(information)
        return (
            None
            if inverse is None
            else _times(len(self.scale), _soft_largest(inverse[0], self.scale, self.power, True))
        )


@dataclass(frozen=True, eq=False)
class LargestVariance(MeanVariance):
    """phi of `MeanVariance` with p = 8: nearly the largest variance."""

    power: float = _E_POWER
    name: ClassVar[str] = "e"


@dataclass(frozen=True, eq=False)
class PowerMean(MeanVariance):
    """phi of `MeanVariance` with the user's own p."""

    name: ClassVar[str] = "p"
    uses: ClassVar[tuple[str, ...]] = ("scale", "power")

    @classmethod
    def of(cls, goal: Goal, base: BaseParameters) -> Chosen:
        """Return the criterion with the power of the goal."""
        chosen = super().of(goal, base)
        if goal.power is None:
            raise TaupiError(
                "The criterion 'p' is a mean of a power of the variances, and none is given.",
                remedy="Give it by {power=4}.",
            )
        return replace(chosen, criterion=replace(cast("PowerMean", chosen.criterion), power=goal.power))


@dataclass(frozen=True, eq=False)
class Condition(Criterion):
    """phi = b / 2 log of a soft ratio of the extreme eigenvalues of S G S: the condition of W, for comparison with papers.

    It wastes excitation: a motion with half the information in every direction has the same condition.

    Attributes:
        scale: S (b,), the sizes of parameters.
    """

    scale: np.ndarray
    name: ClassVar[str] = "cond"
    uses: ClassVar[tuple[str, ...]] = ("scale",)
    weighs_noise: ClassVar[bool] = False  # papers state the condition of W as it is

    @classmethod
    def of(cls, goal: Goal, base: BaseParameters) -> Chosen:
        """Return the criterion of the columns as they are, or relative to the sizes that the user states."""
        note = "Criterion cond: of the columns as they are, in SI units; a motion that shows less can have a better condition."
        sizes, said = _stated_sizes(cls.name, base, goal.scale) or (np.ones(base.count), note)
        return Chosen(cls(sizes), base.names, (said,))

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


def choose(goal: Goal, base: BaseParameters) -> Chosen:
    """Return the criterion of a goal for base parameters."""
    kind = criterion_class(goal.criterion)
    for name, value in (("only", goal.only or None), ("power", goal.power), ("scale", goal.scale)):
        if value is not None and name not in kind.uses:
            raise TaupiError(
                "{argument} has no meaning for the criterion {criterion!r}.",
                remedy="Use {other_criterion}, or leave it out.",
                argument=Argument(name),
                criterion=goal.criterion,
                other_criterion=Argument("criterion", next(k for k in CRITERIA if name in criterion_class(k).uses)),
            )
    return kind.of(goal, base)


def _stated_sizes(
    name: str, base: BaseParameters, scale: float | tuple[float, ...] | None
) -> tuple[np.ndarray, str] | None:
    """Return S (b,) as the user states it, with a note; None if nothing is stated."""
    if scale is None:
        return None
    sizes = np.full(base.count, scale) if isinstance(scale, float) else np.array(scale)
    if sizes.shape != (base.count,):
        raise TaupiError(
            "{scale} has {got} numbers, expected {expected}: one per base parameter.",
            got=len(sizes),
            expected=base.count,
        )
    return sizes, f"Criterion {name}: errors are relative to the scale that was given."


def _described_sizes(name: str, base: BaseParameters) -> tuple[np.ndarray, str]:
    """Return the description's values as S (b,), none far below the others of its unit, with a note."""
    values, units = np.abs(base.parameters.values), np.array(base.parameters.units)
    if not values.any():
        raise TaupiError(
            "The criterion {name!r} counts errors relative to parameters, and the description has none.",
            remedy="Give their sizes by {scale=...}, or use {criterion='d'}.",
            name=name,
        )
    floor = np.array([0.01 * values[units == u].max() for u in units])
    floor[floor == 0] = 0.01 * values.max()
    return (
        np.maximum(values, floor),
        f"Criterion {name}: errors are relative to the description's values, at least to 1 % of the largest of a unit.",
    )
