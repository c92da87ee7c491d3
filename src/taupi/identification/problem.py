"""The problem that estimators solve: a robot, base parameters, and logs compressed to triangular factors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from taupi.dynamics.terms import Term
from taupi.errors import Argument, TaupiError
from taupi.identifiability.base_parameters import BaseParameters
from taupi.identifiability.conditioning import Conditioning
from taupi.identification.friction.dry_friction import friction_plan
from taupi.identification.inputs import PriorLike
from taupi.identification.rows.factors import JointFactor
from taupi.identification.rows.preparation import Preparation
from taupi.identification.rows.recording import Recording
from taupi.identification.rows.row_maker import RowMaker, Rows
from taupi.identification.springs.estimate import SpringAnalysis
from taupi.model.robot import Robot
from taupi.program.program import Program

# If a log cannot separate friction from an offset, friction is more likely by this factor: every joint has it.
_UNLIKELY = {"offset": 10.0, "link_offset": 10.0}


@dataclass(frozen=True, eq=False, repr=False)
class Problem:
    """tau = Y_b pi_b over all logs: minimise |Y_b x - tau|, in whatever norm an estimator uses.

    An estimator that needs more than sums of squares passes over `problem.rows(file)` again.

    Attributes:
        robot: The robot.
        terms: The joint terms, with the shapes of dry friction.
        base: The base parameters.
        regressor: The program of the base regressor Y_b.
        factors: One triangle [Y_b tau] for each (file, joint).
        pieces: The same, one triangle for each stretch of time.
        conditioning: What the logs determine.
        prior: Standard parameters (p,), terms included, for what the logs do not determine.
        recordings: The logs, ready to be read again.
        preparation: How the logs were prepared, with what was chosen from them.
        notes: What was done and chosen, in words.
        seed: Of whatever is random.
        springs: What the logs show of the springs of an elastic robot; None for rigid ones, and for logs that came prepared.
    """

    robot: Robot
    terms: tuple[Term, ...]
    base: BaseParameters
    regressor: Program
    factors: tuple[JointFactor, ...]
    pieces: tuple[JointFactor, ...]
    conditioning: Conditioning
    prior: np.ndarray
    recordings: tuple[Recording, ...]
    preparation: Preparation = field(default_factory=Preparation)
    notes: tuple[str, ...] = ()
    seed: int = 0
    springs: SpringAnalysis | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the base parameters."""
        return self.base.names

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
        plan, springs = friction_plan(self.base), self.springs
        if springs is None or springs.rows is None:
            return recording.rows(RowMaker(plan))
        change = springs.rows.rows
        return (change(file, rows) for rows in recording.rows(RowMaker(plan, springs.layout.shapes)))

    def __repr__(self) -> str:
        head = f"{len(self.names)} base parameters of {self.robot.name} from {len(self.recordings)} logs"
        return "\n".join([head, *self.conditioning.sentences])


def prior_metric(base: BaseParameters) -> np.ndarray:
    """Return how strongly each base parameter is pulled to the prior (b,) if logs leave it open: offsets more than friction."""
    return np.array([_UNLIKELY.get(e.kind.removesuffix("R"), 1.0) for e in base.parameters.layout.entries])


def prior_of(prior: PriorLike, base: BaseParameters) -> np.ndarray:
    """Return the prior (p,): that of the description if None, of another robot, or numbers, with or without those of terms."""
    own = base.standard.values
    if prior is None:
        return own
    if isinstance(prior, Robot):
        prior = prior.parameters.values
    values = np.asarray(getattr(prior, "values", prior), dtype=float)
    links = len(base.robot.parameters)
    if values.shape == (links,) and links < len(own):
        values = np.concatenate([values, own[links:]])
    if values.shape != own.shape or not np.isfinite(values).all():
        raise TaupiError(
            Argument("prior"),
            f" has shape {values.shape}, expected ({len(own)},) or ({links},) finite numbers, as in .standard.",
        )
    return values
