"""Runs that do not belong to one and the same arm: another load at its end in one of them, or another arm."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from taupi.identification.folds.left_out import Grams, Score
from taupi.identification.verdict.cause import CHANCE_OF_FAMILY, LARGE, Candidate, CandidateTrial, LeftOutCause, Support
from taupi.identification.verdict.study import Study

_LOAD = ("m", "mx", "my", "mz")
# The power of what is left halves, over all joints.
_HALVES = -0.7


class _OneOfSeveralRuns(LeftOutCause):
    """A cause with a family of its own: one candidate per log, or one for all of them."""

    def support(self, trial: CandidateTrial) -> Support:
        """Return what supports it."""
        c = trial.comparison
        held = c.p < CHANCE_OF_FAMILY and c.change <= LARGE and c.pooled <= _HALVES
        return Support.LEFT_OUT if held else Support.NONE


class OtherPayload(_OneOfSeveralRuns):
    """One log of several in which the last link is heavier, or lighter, than in the others."""

    name: ClassVar[str] = "payload"

    def candidates(self, study: Study) -> Iterator[Candidate]:
        """Return a candidate for each log, if there are several."""
        if len(study.logs) < 2:
            return
        base, link = study.problem.base, study.robot.link_names[-1]
        names, y, links = base.standard.names, study.columns(study.rows), study.link_rows(study.rows)
        load = base.projection[:, [names.index(f"{link}.{kind}") for kind in _LOAD]][study.link_columns]
        for k, recording in enumerate(study.recordings):
            more = (links @ load) * (study.rows.log == k)[:, None, None]
            grams = Grams.of(np.concatenate([more, y], axis=2), study.rows.tau, study.blocks)
            score = Score.of(grams, study.live)
            mass = float(score.x[0])
            change, name = "more" if mass > 0 else "less", recording.source.name
            says = f"{name} was recorded with another load, it seems: with {abs(mass):.3g} kg {change} on {link} there"
            remedy = "Fit the runs with and without the load apart."
            yield Candidate(
                self,
                says,
                remedy,
                joints=(),
                numbers={"mass": mass, "log": study.places[k]},
                score=score,
                fitted=len(_LOAD),
            )


class LogsDiffer(_OneOfSeveralRuns):
    """Logs that no one arm explains, though each is explained by an arm of its own."""

    name: ClassVar[str] = "logs_differ"

    def candidates(self, study: Study) -> Iterator[Candidate]:
        """Return one candidate, if there are several logs."""
        score = study.per_log()
        if score is not None:
            says = "The logs are not of one and the same arm, it seems: each with parameters of its own,"
            remedy = "Fit them apart, and compare the fits: taupi compare."
            yield Candidate(
                self, says, remedy, score=score, numbers={"logs": len(study.logs)}, fitted=study.base_score.x.size
            )
