"""The result for a fleet: what arms share, what differs, and which arms stand out, where, since when and how clearly."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from taupi.checks import not_negative, positive
from taupi.errors import unknown
from taupi.identification.fleet.drift import Drift, drift_of, slopes
from taupi.identification.fleet.population import LEAST_ARMS, ParameterSpread, Standing, compare_arms
from taupi.identification.results.fit import Fit
from taupi.schema import finite_or_none
from taupi.tables import estimate_text, table

SCHEMA = "taupi.fleet/1"
# A single log shows a deviation if its own estimate is this many standard deviations out.
_SEEN = 2.0
# Changes over time that a text lists, the clearest; a drift of temperature may change every arm.
MOST_CHANGES = 20
# What is said of a fleet in which arms cannot be compared.
TOO_FEW = f"{{count}} arms are too few to tell whether one of them stands out, expected at least {LEAST_ARMS}"


@dataclass(frozen=True)
class Outlier:
    """A parameter of an arm that is unlike that of the other arms.

    Attributes:
        arm: The arm.
        parameter: The parameter, such as "joint4.viscous".
        value: The arm's value, as its logs alone have it.
        stderr: Its standard error.
        fleet: The value of a typical arm.
        z: Its distance from what the other arms predict, in standard deviations of that prediction and of the estimate.
        first_seen: The name of the first log that shows it on its own; empty if no single log does.
        when: When that log was recorded, as given; its place among the arm's logs by default; None if no single log shows it.
        chance: The probability that anything at all in a fleet without faults lies as far out, by the number of arms and of
            parameters that are looked at.
    """

    arm: str
    parameter: str
    value: float
    stderr: float
    fleet: float
    z: float
    first_seen: str
    when: float | None
    chance: float


@dataclass(frozen=True, eq=False)
class ArmEstimate:
    """What a fleet keeps about an arm besides its fit: own parameters (o,) before they are pulled to the fleet, also per log."""

    own: np.ndarray
    variance: np.ndarray
    log_names: tuple[str, ...]
    when: tuple[float, ...]
    by_log: np.ndarray  # (logs, o)
    by_log_variance: np.ndarray


class ArmFits(Mapping[str, Fit]):
    """The fit of each arm by its name, made by `fit_of` from its index when it is first needed."""

    def __init__(self, arms: Sequence[str], fit_of: Callable[[int], Fit]) -> None:
        self._places = {arm: k for k, arm in enumerate(arms)}
        self._fit_of, self._kept = fit_of, dict[str, Fit]()

    def __getitem__(self, arm: str) -> Fit:
        if arm not in self._kept:
            self._kept[arm] = self._fit_of(self._places[arm])
        return self._kept[arm]

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, arm: object) -> bool:
        return arm in self._places

    def __reduce__(self) -> tuple[object, ...]:
        return dict, (dict(self),)  # another process gets all fits


@dataclass(frozen=True, eq=False)
class Fleet(Mapping[str, Fit]):
    """Arms of one kind: a mapping from the name of an arm to its `Fit`, with shared links and its own friction.

    Attributes:
        fits: The fit of each arm, made when it is needed.
        shared: The shared parameters by name: value and standard error.
        spread: How each own parameter is spread over the fleet, by name.
        odd_arms: Arms that do not share the links of the others, and the ratio of their misfit to its expectation; their
            fits are from their own logs alone.
        estimates: The own parameters of each arm as its logs alone have them, for `outliers` and `drift`.
        notes: What was done, in words.
        record: Version, seed and the like.
    """

    fits: Mapping[str, Fit] = field(repr=False)
    shared: dict[str, tuple[float, float]] = field(repr=False)
    spread: dict[str, ParameterSpread]
    odd_arms: dict[str, float]
    estimates: dict[str, ArmEstimate] = field(repr=False)
    notes: tuple[str, ...] = ()
    record: dict[str, Any] = field(default_factory=dict)

    def __getitem__(self, arm: str) -> Fit:
        if arm not in self.fits:
            raise unknown("arm", arm, self.fits)
        return self.fits[arm]

    def __iter__(self) -> Iterator[str]:
        return iter(self.fits)

    def __len__(self) -> int:
        return len(self.fits)

    @property
    def own(self) -> tuple[str, ...]:
        """The names of the parameters that are separate for each arm."""
        return tuple(self.spread)

    @property
    def compared(self) -> int:
        """How many arms are compared with each other: those that share the links."""
        return sum(arm not in self.odd_arms for arm in self.estimates)

    @property
    def too_few(self) -> bool:
        """Whether there are too few arms to say which of them stands out."""
        return self.compared < LEAST_ARMS

    @cached_property
    def _standing(self) -> Standing:
        """How the arms that share the links compare, in their order."""
        usual = [each for arm, each in self.estimates.items() if arm not in self.odd_arms]
        shape = len(usual), len(self.spread)
        values, variances = (np.reshape([getattr(each, k) for each in usual], shape) for k in ("own", "variance"))
        return compare_arms(values, variances, list(self.spread.values()))

    def outliers(self, limit: float = 4.0, false_alarms: float = 0.02) -> list[Outlier]:
        """Return the parameters of arms that differ from the fleet by more than chance explains, the farthest first.

        |x_k - m| > limit sqrt(s^2 + v_k), where all other arms say what m and s are, and how uncertain both are. The worst of
        many is always far out: of the values of all arms and parameters, one as far out must also be improbable in a
        fleet without faults. Odd arms are left out, and fewer than five arms do not show who stands out.

        Args:
            limit: How far out a parameter must be, in standard deviations; 4 by default.
            false_alarms: The probability that a fleet without faults has any outlier; 0.02 by default.

        Returns:
            An `Outlier` for each parameter of each arm that stands out.
        """
        positive("limit", limit)
        positive("false_alarms", false_alarms)
        usual = [arm for arm in self.estimates if arm not in self.odd_arms]
        standing = self._standing
        outliers = []
        for k, i in np.argwhere((np.abs(standing.z) > limit) & (standing.chance < false_alarms)).tolist():
            arm, (name, spread) = usual[k], list(self.spread.items())[i]
            estimate, z = self.estimates[arm], float(standing.z[k, i])
            by_log, variance = spread.compared(estimate.by_log[:, i], estimate.by_log_variance[:, i])
            each = (by_log - standing.predicted[k, i]) / np.sqrt(standing.deviation[k, i] ** 2 + variance)
            shows = np.flatnonzero(np.nan_to_num(np.sign(z) * each) > _SEEN)
            log, when = (estimate.log_names[shows[0]], estimate.when[shows[0]]) if len(shows) else ("", None)
            stderr = float(np.sqrt(estimate.variance[i]))
            chance = float(standing.chance[k, i])
            outliers.append(Outlier(arm, name, float(estimate.own[i]), stderr, spread.centre, z, log, when, chance))
        return sorted(outliers, key=lambda each: -abs(each.z))

    def drift(self, parameter: str) -> list[Drift]:
        """Return how a `parameter` such as "joint4.viscous" changes over the logs of each arm, the clearest slope first.

        Besides a straight line there is a random walk, which shows a jump and its time: see `Drift`.
        """
        if parameter not in self.spread:
            raise unknown("parameter", parameter, self.spread)
        i = self.own.index(parameter)
        return sorted((self._drift(arm, i) for arm in self.estimates), key=lambda each: -abs(each.z))

    def changes(self, limit: float = 5.0) -> list[Drift]:
        """Return parameters that changed over the logs of an arm: slopes above `limit` (5) standard errors, clearest first.

        An arm's own earlier logs reveal a fault better than other arms do, because friction differs from arm to arm.
        """
        not_negative("limit", limit)
        rows = []
        for arm, estimate in self.estimates.items():
            slope, error = slopes(np.array(estimate.when, dtype=float), estimate.by_log, estimate.by_log_variance)
            rows += [self._drift(arm, i) for i in np.flatnonzero(np.abs(slope) > limit * error).tolist()]
        return sorted(rows, key=lambda each: -abs(each.z))

    def _drift(self, arm: str, i: int) -> Drift:
        """Return how the i-th own parameter of an arm changes over its logs."""
        e = self.estimates[arm]
        return drift_of(arm, self.own[i], np.array(e.when, dtype=float), e.by_log[:, i], e.by_log_variance[:, i])

    def to_dict(self) -> dict[str, object]:
        """Return the result as plain data; the fits are in separate files."""
        return {
            "schema": SCHEMA,
            "record": self.record,
            "notes": list(self.notes),
            "shared": {name: {"value": v, "stderr": finite_or_none(e)} for name, (v, e) in self.shared.items()},
            "spread": {
                s.parameter: asdict(s) | {k: finite_or_none(getattr(s, k)) for k in ("deviation", "deviation_stderr")}
                for s in self.spread.values()
            },
            "odd_arms": self.odd_arms,
            "outliers": [asdict(each) for each in self.outliers()],
            "changes": [
                {name: getattr(each, name) for name in ("arm", "parameter", "first", "last", "since", "slope", "z")}
                for each in self.changes()
            ],
            "arms": {
                arm: {
                    "own": {
                        name: {"value": float(fit.values[k]), "stderr": finite_or_none(float(fit.stderr[k]))}
                        for name in self.own
                        for k in [fit.basis.names.index(name)]
                    },
                    "logs": [log.name for log in fit.logs],
                    "relative_torque_error": fit.relative,
                }
                for arm, fit in self.fits.items()
            },
        }

    def __repr__(self) -> str:
        lines = [f"fleet of {len(self)} arms: {len(self.shared)} shared parameters, {len(self.own)} of each arm's own"]
        for arm, ratio in self.odd_arms.items():
            lines.append(f"  {arm} does not have the links of the others (misfit {ratio:.3g} times the expected one)")
        return "\n".join([*lines, *self._outlier_lines(), *self._change_lines()])

    def _outlier_lines(self) -> list[str]:
        outliers = self.outliers()
        if self.too_few:
            return [f"  {TOO_FEW.format(count=self.compared)}"]
        if not outliers:
            return ["  no parameter of an arm stands out"]
        rows = [("arm", "parameter", "value", "fleet", "z", "first seen")]
        rows += [
            (
                o.arm,
                o.parameter,
                estimate_text(o.value, o.stderr),
                f"{o.fleet:.4g}",
                f"{o.z:+.1f}",
                o.first_seen or "-",
            )
            for o in outliers
        ]
        return [f"  {line}" for line in table(rows)]

    def _change_lines(self) -> list[str]:
        """Return a table of parameters that changed over the logs of an arm, as lines; none if none did."""
        changes = self.changes()
        if not changes:
            return []
        rows = [("arm", "parameter", "first log", "last log", "z", "since")]
        rows += [
            (
                c.arm,
                c.parameter,
                f"{c.first:.4g}",
                f"{c.last:.4g}",
                f"{c.z:+.1f}",
                "-" if c.since is None else f"{c.since:g}",
            )
            for c in changes[:MOST_CHANGES]
        ]
        lines = ["changed over an arm's own logs (|z| > 5):", *table(rows)]
        more = len(changes) - MOST_CHANGES
        return [f"  {line}" for line in [*lines, *([f"and {more} more"] if more > 0 else [])]]
