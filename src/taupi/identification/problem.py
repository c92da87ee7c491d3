"""What every estimator starts from: a robot, base parameters, and logs compressed to triangular factors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from taupi.dynamics.terms import Term
from taupi.errors import TaupiError
from taupi.identifiability.base_parameters import BaseParameters
from taupi.identifiability.conditioning import Conditioning
from taupi.identification.friction.dry_friction import friction_plan
from taupi.identification.rows.factors import JointFactor
from taupi.identification.rows.preparation import Preparation
from taupi.identification.rows.recording import Recording
from taupi.identification.rows.row_maker import RowMaker, Rows
from taupi.model.robot import Robot
from taupi.program.program import Program

# Of friction and an offset that one log cannot tell apart, friction is the likelier by this factor: every joint has it.
_UNLIKELY = {"offset": 10.0, "link_offset": 10.0}


@dataclass(frozen=True, eq=False, repr=False)
class Problem:
    """tau = Y_b pi_b over all runs: minimise |Y_b x - tau| in whatever sense an estimator has.

    `factors` hold one triangle [Y_b tau] for each (file, joint), `pieces` the same stretch of time by stretch of time. What
    is more than quadratic goes through `problem.rows(file)` again. `prior` (p,) are the standard parameters of the
    description, terms included.
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

    @property
    def names(self) -> tuple[str, ...]:
        """The base parameters' names."""
        return self.base.names

    @property
    def prior_base(self) -> np.ndarray:
        """B prior (b,)."""
        return self.base.project(self.prior)

    @property
    def metric(self) -> np.ndarray:
        """How little a deviation from the prior is believed (b,), where the log cannot decide: offsets less than friction."""
        entries = self.base.parameters.layout.entries
        return np.array([_UNLIKELY.get(e.kind.removesuffix("R"), 1.0) for e in entries])

    def rows(self, file: int) -> Iterator[Rows]:
        """Yield the rows of a run again, a block at a time."""
        return self.recordings[file].rows(RowMaker(friction_plan(self.base)))

    def __repr__(self) -> str:
        head = f"{len(self.names)} base parameters of {self.robot.name} from {len(self.recordings)} logs"
        return "\n".join([head, *self.conditioning.sentences])


def prior_of(given: object, base: BaseParameters) -> np.ndarray:
    """Return the prior (p,): the description's own, another robot's, or numbers; terms may be left out."""
    standard = base.standard
    own = standard.values
    if given is None:
        return own
    if isinstance(given, Robot):
        given = given.parameters.values
    values = np.asarray(getattr(given, "values", given), dtype=float)
    links = len(base.robot.parameters)
    if values.shape == (links,) and links < len(own):
        values = np.concatenate([values, own[links:]])
    if values.shape != own.shape or not np.isfinite(values).all():
        raise TaupiError(
            f"prior has shape {values.shape}, expected ({len(own)},) or ({links},) finite numbers, as in .standard."
        )
    return values
