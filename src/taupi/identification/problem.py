"""The problem that estimators solve: a robot, base parameters, and logs compressed to triangular factors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from taupi.checks import real_array
from taupi.dynamics.terms import Load, Term, kind_of
from taupi.errors import TaupiError
from taupi.identifiability.base_parameters import BaseParameters
from taupi.identifiability.conditioning import Conditioning
from taupi.identification.friction.dry_friction import FrictionPlan, friction_plan
from taupi.identification.inputs import PriorLike
from taupi.identification.rows.factors import JointFactor, stack_factors, triangle
from taupi.identification.rows.passes import SkippedLog
from taupi.identification.rows.preparation import ChosenCutoffs, Preparation
from taupi.identification.rows.recording import LogRecord, OnDemand, Recording
from taupi.identification.rows.row_maker import RowMaker, Rows
from taupi.identification.solve import WEAK, Solution, Weights, solve
from taupi.model.parameters import Parameters
from taupi.model.robot import Robot
from taupi.program.program import Program
from taupi.signals.read import LogLike

if TYPE_CHECKING:
    from taupi.identification.folds.relative_gains import RelativeGains
    from taupi.identification.springs.estimate import SpringAnalysis

# If a log cannot separate friction from an offset, friction is more likely by this factor: every joint has it.
_UNLIKELY = 10.0
# If shrinkage rows contribute more than this share of what is known about a parameter, it is a guess.
_GUESSED = 0.5


@dataclass(frozen=True, eq=False, repr=False)
class Problem:
    """tau = Y_b pi_b over all logs: minimise |Y_b x - tau|, in whatever norm an estimator uses.

    An estimator that needs more than sums of squares passes over `problem.rows(file)` again.

    Attributes:
        robot: The robot.
        terms: The joint terms, with the shapes of dry friction.
        base: The base parameters.
        regressor: The program of the base regressor Y_b, without friction that depends on load or bends with speed.
        factors: One triangle [Y_b tau] for each (file, joint).
        pieces: The same, one triangle for each stretch of time.
        conditioning: What the logs determine, in the columns of the regressor.
        prior: Standard parameters (p,), terms included, for what the logs do not determine.
        recordings: The logs, ready to be read again.
        records: What a fit records of each log.
        logs: The logs as they were given, without those that were left out.
        preparation: How the logs were prepared, with what was chosen from them.
        notes: What was done and chosen, in words.
        seed: The seed of everything random.
        first: The parameters of a first fit, which give the load in the columns of friction that depends on it; empty if the
            problem has no such columns.
        shrinkage: Rows that pull parameters weakly to zero, one factor for each joint that has such parameters.
        shape_spread: What one standard error of each chosen shape of friction does to the first base parameters (b or fewer, k).
        springs: What the logs show about the springs of an elastic robot; None for rigid ones, and for logs that came prepared.
        cutoffs: The cutoffs chosen for all logs together; None if they were set, or if the logs came prepared.
        skipped: Logs that were left out, since they cannot be used.
        gains: What the logs show about the gains of joints relative to each other; None if it was not asked.
        machines: The kinds of machines that read the logs; empty if it was this one alone.
        contact: How contact forces of a floating robot are treated, by the names of settings; None for other robots.
    """

    robot: Robot
    terms: tuple[Term, ...]
    base: BaseParameters
    regressor: Program
    factors: tuple[JointFactor, ...]
    pieces: tuple[JointFactor, ...]
    conditioning: Conditioning
    prior: np.ndarray
    recordings: Sequence[Recording]
    records: tuple[LogRecord, ...] = ()
    preparation: Preparation = field(default_factory=Preparation)
    notes: tuple[str, ...] = ()
    seed: int = 0
    first: np.ndarray = field(default_factory=lambda: np.zeros(0))
    shrinkage: tuple[JointFactor, ...] = ()
    shape_spread: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    springs: SpringAnalysis | None = None
    cutoffs: ChosenCutoffs | None = None
    skipped: tuple[SkippedLog, ...] = ()
    logs: tuple[LogLike, ...] = ()
    contact: Mapping[str, Any] | None = None
    machines: tuple[str, ...] = ()
    gains: RelativeGains | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the base parameters."""
        return self.base.names

    @property
    def in_memory(self) -> list[Recording]:
        """The recordings of logs that are in memory: neither streamed nor read on other machines."""
        if isinstance(self.recordings, OnDemand):
            return []
        return [recording for recording in self.recordings if not recording.source.streamed]

    @property
    def prior_base(self) -> np.ndarray:
        """The prior of the base parameters, B prior (b,)."""
        return self.base.project(self.prior)

    @property
    def metric(self) -> np.ndarray:
        """How strongly each parameter is pulled to the prior (b,) if the logs leave it open: offsets more than friction."""
        return prior_metric(self.base)

    def rows(self, file: int) -> Iterator[Rows]:
        """Yield the rows of the log with the index `file` again, block by block."""
        return self.rows_of(file, self.recordings[file])

    def rows_of(self, file: int, recording: Recording) -> Iterator[Rows]:
        """Yield the rows of a recording of the log with the index `file`, such as one without a filter, block by block."""
        springs = self.springs
        if springs is None or springs.rows is None:
            return recording.rows(RowMaker(self.friction))
        change = springs.rows.rows
        return (change(file, rows) for rows in recording.rows(RowMaker(self.friction, springs.layout.shapes)))

    @property
    def friction(self) -> FrictionPlan:
        """Which columns are dry friction, and how it builds up."""
        return friction_plan(self.base, self.first)

    def stack(self, weights: Weights | None = None) -> np.ndarray:
        """Return one triangle of all rows, with the `weights` of each (file, joint), 1 by default, and of the shrinkage rows."""
        return self.shrunk(stack_factors(self.factors, weights), weights)

    def shrunk(self, r: np.ndarray, weights: Weights | None = None) -> np.ndarray:
        """Return the triangle of weighted rows `r` (k, b + 1) and of the shrinkage rows; `weights` are as in `stack`."""
        return triangle(np.vstack([r, self._pulls(weights)])) if self.shrinkage else r

    def solve(self, weights: Weights | None = None, weak: float = WEAK, rows: np.ndarray | None = None) -> Solution:
        """Return the least-squares solution; a negative share of the load is replaced by zero.

        `weights` are as in `stack`. `rows` (k, b + 1), weighted, replace those of the factors. Combinations of unit columns
        shorter than `weak` (1e-4) times the longest are taken from the prior. Negative shares are dropped, and the rest is solved
        again; how well the solution is determined is stated without that bound. A parameter about which the shrinkage rows say
        more than the logs counts as not determined.
        """
        r = self.stack(weights) if rows is None else self.shrunk(rows, weights)
        free = solution = solve(r, self.prior_base, self.metric, weak)
        loads = np.array([e.kind == Load.name for e in self.base.parameters.layout.entries])
        dropped = np.zeros(len(loads), dtype=bool)
        while (negative := loads & ~dropped & (solution.x < 0)).any():
            dropped |= negative
            rest = np.where(np.append(dropped, False), 0.0, r)
            solution = solve(rest, np.where(dropped, 0.0, self.prior_base), self.metric, weak)
        pulls = np.sum([np.zeros(len(loads)), *(p[:-1] ** 2 for p in self._pulls(weights))], axis=0)
        guessed = pulls * np.sum(free.spread**2, axis=1) > _GUESSED
        return replace(free, x=np.where(dropped, 0.0, solution.x), undetermined=free.undetermined | guessed)

    def _pulls(self, weights: Weights | None) -> np.ndarray:
        """Return the shrinkage rows (k, b + 1), with the typical weight of their joint."""
        rows = [_typical_weight(self.factors, f.joint, weights) * f.r for f in self.shrinkage]
        return np.vstack([np.zeros((0, len(self.names) + 1)), *rows])

    def __repr__(self) -> str:
        head = f"{len(self.names)} base parameters of {self.robot.name} from {len(self.recordings)} logs"
        return "\n".join([head, *self.conditioning.sentences])


def prior_metric(base: BaseParameters) -> np.ndarray:
    """Return how strongly each base parameter is pulled to the prior (b,) if logs leave it open: offsets more than friction."""
    return np.array([_UNLIKELY if kind_of(e.kind).constant else 1.0 for e in base.parameters.layout.entries])


def _typical_weight(factors: Sequence[JointFactor], joint: int, weights: Weights | None) -> float:
    """Return the weight of a joint over all files: 1 / the root mean square of its noise, 1 if rows have no weights."""
    if weights is None:
        return 1.0
    parts = [(f.rows, weights.get((f.file, f.joint), 0.0)) for f in factors if f.joint == joint]
    noise = sum(rows / w**2 for rows, w in parts if w)
    return float(np.sqrt(sum(rows for rows, w in parts if w) / noise)) if noise else 0.0


def prior_values(prior: Robot | Parameters | ArrayLike) -> np.ndarray:
    """Return the numbers of a prior: those of a robot's description, of parameters, or as they are."""
    named = prior.parameters if isinstance(prior, Robot) else prior
    return real_array("prior", named.values if isinstance(named, Parameters) else named)


def prior_of(prior: PriorLike, base: BaseParameters) -> np.ndarray:
    """Return the prior (p,): of the description if None, of another robot, or numbers, with or without those of terms.

    Those of friction that depends on load or bends with speed may also be left out.
    """
    own = base.standard.values
    if prior is None:
        return own
    values = prior_values(prior)
    links = len(base.robot.parameters)
    if values.shape in ((links,), (len(base.linear.standard),)):
        values = np.concatenate([values, own[len(values) :]])
    if values.shape != own.shape or not np.isfinite(values).all():
        raise TaupiError(
            "{prior} has shape {got}, expected ({expected},) or ({links},) finite numbers, as in .standard.",
            got=values.shape,
            expected=len(own),
            links=links,
        )
    return values
