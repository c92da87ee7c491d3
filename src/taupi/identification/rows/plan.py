"""The plan of a fit: everything that turns a log into rows, chosen once for all logs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from taupi.identifiability.base_parameters import BaseParameters
from taupi.identification.friction.dry_friction import FrictionPlan, friction_plan
from taupi.identification.row_layout import RowLayout
from taupi.identification.rows.block_source import BlockSource, errors_naming, open_source
from taupi.identification.rows.factors import MOST_STRETCHES
from taupi.identification.rows.preparation import ChosenCutoffs, Preparation
from taupi.identification.rows.recording import Recording
from taupi.signals.read import LogLike
from taupi.signals.reading import Streaming
from taupi.version import __version__

# Number of stretches of all logs together above which logs are cut into fewer of them: enough to estimate standard errors.
_ALL_STRETCHES = 1024


@dataclass(frozen=True, eq=False)
class Plan:
    """How each log of a fit becomes rows: plain data, which can be sent to other machines.

    Attributes:
        base: The base parameters, with the shapes of dry friction.
        preparation: How logs are prepared.
        reading: How files are read.
        cutoffs: The cutoffs chosen for all logs; None if they are set, or if logs come prepared.
        least_speeds: The speeds (n,) below which rows are not used.
        one_way_signs: The signs of velocities that never reverse, by owner.
        first: The parameters of a first fit, which give the load of friction that depends on it; empty without such friction.
        most_stretches: The most stretches of time into which the factors of a log are divided.
    """

    base: BaseParameters
    preparation: Preparation
    reading: Streaming
    cutoffs: ChosenCutoffs | None
    least_speeds: np.ndarray
    one_way_signs: Mapping[str, float] = field(default_factory=dict)
    first: np.ndarray = field(default_factory=lambda: np.zeros(0))
    most_stretches: int = MOST_STRETCHES

    @property
    def friction(self) -> FrictionPlan:
        """Which columns are dry friction, and how it builds up."""
        return friction_plan(self.base, self.first if len(self.first) else None)

    @property
    def layout(self) -> RowLayout:
        """Whose rows the regressor has."""
        return RowLayout.of(self.base)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of everything in the plan, and of the version: equal plans make equal pieces of equal logs."""
        facts = {
            "version": __version__,
            "robot": self.base.robot.fingerprint,
            "terms": repr(self.base.terms),
            "base": [self.base.names, self.base.elastic, self.base.coupling, _digest(self.base.B)],
            "preparation": self.preparation.to_dict(),
            "reading": repr(self.reading),
            "cutoffs": None if self.cutoffs is None else self.cutoffs.to_dict(),
            "numbers": [_digest(self.least_speeds), _digest(self.first), self.most_stretches],
            "signs": sorted(self.one_way_signs.items()),
        }
        return hashlib.sha256(json.dumps(facts, sort_keys=True, default=repr).encode()).hexdigest()

    def recording(self, log: LogLike, check: Callable[[], None] = lambda: None) -> Recording:
        """Return the recording of a log, or of the file at a path or address."""
        return self.recording_of(open_source(log, self.layout, self.preparation, self.reading, check))

    def recording_of(self, source: BlockSource) -> Recording:
        """Return the recording of blocks that are open."""
        chosen = None if self.cutoffs is None or source.first.is_prepared else self.cutoffs.fit_hz
        with errors_naming(source.first.source.path):
            recording = Recording.at_cutoff(source, self.layout, self.preparation, chosen)
        recording = replace(
            recording,
            least_speeds=np.maximum(recording.least_speeds, self.least_speeds),
            one_way_signs=self.one_way_signs,
        )
        return recording if self.cutoffs is None else recording.with_pooled_cutoffs(self.cutoffs)


def most_stretches(logs: int) -> int:
    """Return the largest number of stretches into which the factors of a log are divided: fewer if there are many logs.

    >>> [most_stretches(logs) for logs in (1, 16, 32, 33, 100, 10_000)]
    [64, 64, 32, 16, 8, 1]
    """
    each = MOST_STRETCHES
    while each > 1 and each * logs > _ALL_STRETCHES:
        each //= 2
    return each


def _digest(values: np.ndarray) -> str:
    return hashlib.sha256(np.ascontiguousarray(values, dtype=float).tobytes()).hexdigest()
