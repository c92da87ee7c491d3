"""A run with a different load at the end of the arm than the others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

import numpy as np

from taupi.identification.verdict.candidate import Candidate
from taupi.identification.verdict.trials import Mending, Trials

_LOAD = ("m", "mx", "my", "mz")


class OtherPayload:
    """One log of several in which the last link is heavier, or lighter, than in the others."""

    name: ClassVar[str] = "payload"

    def candidates(self, trials: Trials) -> Iterator[Candidate]:
        """Return a candidate for each log, if there are several."""
        if len(trials.heads) < 2:
            return
        base, rows, link = trials.base, trials.own_rows, trials.robot.link_names[-1]
        names = base.standard.names
        load = base.projection[:, [names.index(f"{link}.{kind}") for kind in _LOAD]]
        for k, head in enumerate(trials.heads):
            columns = (rows.y @ load) * (rows.files == k)[:, None, None]
            extra, _ = rows.coefficients(columns)
            more = replace(
                rows,
                y=np.concatenate([rows.y, columns], axis=2),
                inertia=np.hstack([rows.inertia, np.zeros((trials.n, len(_LOAD)))]),
                links=np.append(rows.links, np.full(len(_LOAD), np.nan)),
            )
            mass = float(extra[0])
            change = "more" if mass > 0 else "less"
            says = f"{head.name} was recorded with another load, it seems: with {abs(mass):.3g} kg {change} on {link} there"
            remedy = "Fit the runs with and without the load apart."
            yield Candidate(self.name, says, remedy, Mending(), (), {"mass": mass, "log": head.index}, more.solved()[1])
