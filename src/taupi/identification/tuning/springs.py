"""The springs of an elastic robot over all logs: which rows to fit, and the delay between the encoders."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from taupi.identifiability.base_parameters import BaseParameters
from taupi.identification.friction.dry_friction import friction_plan
from taupi.identification.problem import prior_metric
from taupi.identification.row_layout import RowLayout
from taupi.identification.rows.factors import JointFactor
from taupi.identification.rows.passes import LocalPasses, OpenedLogs
from taupi.identification.rows.pieces import Compressed, Piece, compress_recordings, piece_of, with_speeds
from taupi.identification.rows.plan import Plan
from taupi.identification.rows.recording import Extent, Recording
from taupi.identification.rows.workers import Workers
from taupi.identification.springs.estimate import SpringAnalysis, SpringProblem, analyse_springs
from taupi.identification.springs.spring_rows import WIDTH, SpringLayout

# A delay is removed if it is this many standard errors from zero, and at least this share of a sample.
_SIGNIFICANT, _LEAST_DELAY = 4.0, 0.1


@dataclasses.dataclass(frozen=True, eq=False)
class SpringSearch:
    """The recordings, without the delay of their encoders, their factors, and what they show about the springs."""

    recordings: list[Recording]
    compressed: list[Compressed]
    analysis: SpringAnalysis

    def with_delays(self, removed: np.ndarray) -> SpringSearch:
        """Return the search with the delays (n,) that were already removed added to the remaining ones."""
        springs = zip(self.analysis.records, self.analysis.layout.sprung, strict=True)
        records = tuple(dataclasses.replace(r, delay=r.delay + float(removed[link])) for r, link in springs)
        return dataclasses.replace(self, analysis=dataclasses.replace(self.analysis, records=records))

    def pieces(self) -> list[Piece]:
        """Return the pieces of the recordings."""
        recordings = with_speeds(self.recordings, self.compressed)
        return [piece_of(r, part) for r, part in zip(recordings, self.compressed, strict=True)]


class SpringPasses(LocalPasses):
    """Passes over recordings of an elastic robot, of which the first finds the springs and the delays of their encoders."""

    def __init__(self, pool: Workers, recordings: Sequence[Recording], opened: OpenedLogs, prior: np.ndarray) -> None:
        super().__init__(pool, recordings, opened)
        self._prior = prior
        self._search: SpringSearch | None = None

    @property
    def analysis(self) -> SpringAnalysis:
        """What the logs show about the springs."""
        assert self._search is not None  # there is a pass before anything else
        return self._search.analysis

    def pieces(self, plan: Plan) -> list[Piece]:
        """Return the pieces of all logs according to a plan, in the order of the logs."""
        self._search = search_springs(self._pool, plan.base, self._recordings, self._prior)
        self._recordings = with_speeds(self._search.recordings, self._search.compressed)
        return self._search.pieces()


def search_springs(
    pool: Workers, base: BaseParameters, recordings: list[Recording], prior: np.ndarray, draft: bool = False
) -> SpringSearch:
    """Return what recordings of an elastic robot show about its springs; an encoder delay that is not set is removed.

    `prior` (p,) are standard parameters. In a `draft` the delay is not removed, but only separated from the springs.
    """
    stated = recordings[0].preparation.encoder_delay
    if stated is not None or draft:
        search = _search(pool, base, recordings, prior, delay_known=stated is not None)
        return search.with_delays(np.broadcast_to(stated or 0.0, base.robot.n))
    search = _search(pool, base, recordings, prior)
    delays = np.zeros(base.robot.n)
    delays[list(search.analysis.layout.sprung)] = _significant_delays(search.analysis, recordings)
    late: tuple[float, ...] | float = tuple(delays.tolist()) if delays.any() else 0.0
    recordings = [r.with_preparation(dataclasses.replace(r.preparation, encoder_delay=late)) for r in recordings]
    if not delays.any():
        return dataclasses.replace(search, recordings=recordings)
    return _search(pool, base, recordings, prior).with_delays(delays)


def _search(
    pool: Workers, base: BaseParameters, recordings: list[Recording], prior: np.ndarray, delay_known: bool = False
) -> SpringSearch:
    layout = SpringLayout(base, _widths(base, recordings))
    extended = compress_recordings(pool, friction_plan(base), recordings, layout)
    pieces = tuple(factor for part in extended for factor in part.factors)
    analysis = analyse_springs(SpringProblem(layout, pieces, base.project(prior), prior_metric(base), delay_known))
    fitted = [dataclasses.replace(part, factors=_fitted(analysis, part.factors)) for part in extended]
    return SpringSearch(recordings, fitted, analysis)


def _fitted(analysis: SpringAnalysis, extended: tuple[JointFactor, ...]) -> tuple[JointFactor, ...]:
    """Return the factors that are fitted: changed, or those of links and motors without their extensions."""
    if analysis.rows is not None:
        return analysis.rows.factors(extended)
    layout = analysis.layout
    count, columns = layout.row_layout.count, layout.measured
    return tuple(dataclasses.replace(f, stored=f.r[:, columns]) for f in extended if f.joint < count)


def _widths(base: BaseParameters, recordings: Sequence[Recording]) -> np.ndarray:
    """Return the velocities (e,) over which the sign of the motors' speed changes."""
    row_layout = RowLayout.of(base)
    motors = np.eye(row_layout.count)[[row_layout.motors[i] for i in row_layout.sprung]]
    speed = Extent.of([r.extent(motors) for r in recordings]).speed
    return WIDTH * np.where(speed > 0, speed, 1.0)


def _significant_delays(analysis: SpringAnalysis, recordings: Sequence[Recording]) -> list[float]:
    """Return the delays that are worth removing, 0 for the others."""
    least = _LEAST_DELAY / max(r.source.rate_hz for r in recordings)
    return [r.delay if abs(r.delay) > max(_SIGNIFICANT * r.delay_error, least) else 0.0 for r in analysis.records]
