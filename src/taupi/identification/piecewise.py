"""Logs compressed where they are recorded, with an earlier fit, and the fit of such pieces: only these are transferred."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from taupi.dynamics.terms import modulated_terms
from taupi.errors import TaupiError
from taupi.files import write_file
from taupi.identification.build import pooled_problem, refuse_duplicates
from taupi.identification.estimators import EstimatorLike, triangle_estimator
from taupi.identification.inputs import FitInputs
from taupi.identification.modulated_friction import ModulatedFriction
from taupi.identification.results.fit import Fit
from taupi.identification.rows.pieces import make_piece, open_piece, write_piece
from taupi.identification.rows.plan import Plan, most_stretches
from taupi.settings import settle
from taupi.signals.formats.sources import expand_pattern
from taupi.signals.log import Log
from taupi.signals.read import LogLike, PathLike
from taupi.signals.reading import Reading, Streaming, StreamingOptions
from taupi.threads import small_algebra

if TYPE_CHECKING:
    from typing_extensions import Unpack

# Stretches of time into which a piece is divided, for standard errors: with many logs, whole logs are compared instead.
_STRETCHES = 8


def plan_of_fit(fit: Fit) -> Plan:
    """Return the plan by which further logs become the same rows as those of a `fit`: its terms, shapes, cutoff and load."""
    if beyond := fit.equations.layout.beyond_rigid:
        raise TaupiError("{fit} is of a robot with {beyond}, whose rows are not made log by log.", beyond=beyond)
    least = np.max([log.least_speeds for log in fit.logs if log.least_speeds] or [(0.0,) * fit.robot.n], axis=0)
    if np.any(least > np.asarray(fit.preparation.threshold or 0.0)):
        raise TaupiError(
            "{fit} has joints that never reverse, so that it does not say how their friction acts in other logs.",
            remedy="Fit logs in which every joint turns both ways.",
        )
    first = fit.values[: fit.basis.linear.count] if modulated_terms(fit.terms) else np.zeros(0)
    return Plan(fit.basis, fit.preparation, Streaming(), fit.cutoffs, least, first=first, most_stretches=_STRETCHES)


@small_algebra
def compress_log(
    fit: Fit,
    log: LogLike,
    path: PathLike,
    *,
    force: bool = False,
    reading: Reading | None = None,
    **options: Unpack[StreamingOptions],
) -> None:
    """Write what a fit needs of a log, triangles of its rows, to a file for `identify_pieces`.

    The log itself, a hundred bytes per sample, need not leave the robot that recorded it; a piece has a few hundred kB.

    Args:
        fit: An earlier fit, which says how: terms and shapes of friction, cutoff, and the load that friction depends on.
        log: A Log, or the path of a file.
        path: Where the piece is written.
        force: Whether a file that exists is overwritten; False by default.
        reading: How the file is read, a `taupi.Streaming`.
        options: The fields of `reading` as keywords.

    Raises:
        TaupiError: If the rows of the fit's robot are not made log by log, or its logs do not say how friction acts in others.

    >>> import os, tempfile, numpy as np, taupi as tp
    >>> arm, t, w = tp.load("elbow2r"), np.arange(3000)[:, None] / 100, np.array([1.0, 1.7])
    >>> def log(k):
    ...     q, qd, qdd = np.sin(w * t + k), w * np.cos(w * t + k), -w * w * np.sin(w * t + k)
    ...     noise = 0.1 * np.random.default_rng(k).normal(size=q.shape)
    ...     return tp.Log(t[:, 0], q, tau=tp.inverse_dynamics(arm)(q, qd, qdd) + noise)
    >>> fit = tp.identify(arm, log(0), terms=("viscous",), cutoff_hz=10)
    >>> paths = [os.path.join(tempfile.mkdtemp(), "run.piece") for k in range(3)]
    >>> for k, path in enumerate(paths):
    ...     tp.compress_log(fit, log(k), path)
    >>> later = tp.identify_pieces(fit, paths)
    >>> len(later.logs), bool(np.mean(later.stderr) < 0.7 * np.mean(fit.stderr))
    (3, True)
    """
    (settings,) = settle(compress_log, options, (Streaming, reading))
    plan = plan_of_fit(_checked(fit))
    if not isinstance(log, Log | str | os.PathLike):
        raise TaupiError("{log} is {got!r}, expected a Log or the path of a file.", got=log)
    piece = make_piece(log, replace(plan, reading=settings))
    write_file(path, lambda stream: write_piece(piece, stream, {"plan": plan.fingerprint}), force)


@small_algebra
def identify_pieces(fit: Fit, pieces: PathLike | Sequence[PathLike], estimator: EstimatorLike = "consistent") -> Fit:
    """Return the fit of logs of which only pieces are available, written by `compress_log` with the same earlier fit.

    The verdict is based on the fit alone: nothing can be tried on logs that are elsewhere.

    Args:
        fit: The fit that the pieces were compressed by.
        pieces: A path, a pattern, an address, or a list of them.
        estimator: An estimator that starts from triangles, as in `taupi.identify`; "consistent" by default.

    Returns:
        The fit of all pieces together.

    >>> import taupi as tp
    >>> later = tp.identify_pieces(tp.load_fit("out"), "pieces/*.piece")  # doctest: +SKIP
    """
    plan = plan_of_fit(_checked(fit))
    resolved = triangle_estimator(estimator, "for pieces: any other needs the logs themselves")
    files = [pieces] if isinstance(pieces, str | os.PathLike) else list(pieces)
    paths = [path for each in files for path in expand_pattern(each)]
    if not paths:
        raise TaupiError("{pieces} is empty, expected files that compress_log wrote.")
    most = most_stretches(len(paths))
    parts = [open_piece(path, plan)[0].at(k).with_stretches(most).of_many(len(paths)) for k, path in enumerate(paths)]
    refuse_duplicates([part.record for part in parts])
    inputs = FitInputs(
        fit.robot,
        paths,
        fit.terms,
        elastic=False,
        base=fit.basis,
        prior=fit.prior,
        seed=int(fit.record.get("seed", 0)),
        preparation=fit.preparation,
    )
    modulated = modulated_terms(fit.terms)
    friction = None
    if modulated:
        speeds = np.abs(np.concatenate([part.compressed.extremes for part in parts], axis=1)[0]).max(axis=0)
        friction = ModulatedFriction(fit.basis, modulated, plan.first, tuple(speeds.tolist()))
    return resolved.fit(pooled_problem(fit.equations, inputs, replace(plan, base=fit.basis.linear), parts, friction))


def _checked(fit: Fit) -> Fit:
    if not isinstance(fit, Fit):
        raise TaupiError("{fit} is {got!r}, expected a Fit: taupi.load_fit(...).", got=fit)
    return fit
