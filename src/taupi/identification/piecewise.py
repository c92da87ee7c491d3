"""Logs compressed where they are recorded, with an earlier fit, and the fit of such pieces: only these are transferred."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from taupi.dynamics.terms import modulated_terms
from taupi.errors import Argument, TaupiError, shown
from taupi.files import write_file
from taupi.identification.build import pooled_problem
from taupi.identification.estimators import EstimatorLike, LogEstimator, resolve_estimator
from taupi.identification.identify import TRIANGLE_ESTIMATORS
from taupi.identification.inputs import FitInputs
from taupi.identification.modulated_friction import ModulatedFriction
from taupi.identification.results.fit import Fit
from taupi.identification.rows.piece_file import read_piece, write_piece
from taupi.identification.rows.pieces import Piece, make_piece
from taupi.identification.rows.plan import Plan, most_stretches
from taupi.settings import takes
from taupi.signals.formats.sources import expand_pattern, file_name, source_of
from taupi.signals.log import Log
from taupi.signals.read import LogLike, PathLike
from taupi.signals.reading import Streaming
from taupi.threads import small_algebra

# Stretches of time into which a piece is divided, for standard errors: with many logs, whole logs are compared instead.
_STRETCHES = 8


def plan_of_fit(fit: Fit) -> Plan:
    """Return the plan by which further logs become the same rows as those of a `fit`: its terms, shapes, cutoff and load."""
    if fit.basis.elastic or fit.robot.multiple_joints:
        raise TaupiError(Argument("fit"), " is of an elastic or floating robot, whose rows are not made log by log.")
    least = np.max([log.least_speeds for log in fit.logs if log.least_speeds] or [(0.0,) * fit.robot.n], axis=0)
    if np.any(least > np.asarray(fit.preparation.threshold or 0.0)):
        raise TaupiError(
            Argument("fit"),
            " has joints that never reverse, so that it does not say how their friction acts in other logs.",
            remedy="Fit logs in which every joint turns both ways.",
        )
    first = fit.values[: fit.basis.linear.count] if modulated_terms(fit.terms) else np.zeros(0)
    return Plan(fit.basis, fit.preparation, Streaming(), fit.cutoffs, least, first=first, most_stretches=_STRETCHES)


@takes(reading=Streaming)
@small_algebra
def compress_log(fit: Fit, log: LogLike, path: PathLike, *, force: bool = False, reading: Streaming) -> None:
    """Write what a fit needs of a `log`, a Log or a file, to the file at a `path`: triangles of its rows, for `identify_pieces`.

    An earlier `fit` says how: terms and shapes of friction, cutoff, and the load that friction depends on. So the log itself, a
    hundred bytes per sample, need not leave the robot that recorded it; a piece has a few hundred kB. A file that exists is
    overwritten only with `force`, False by default.

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
    plan = plan_of_fit(_checked(fit))
    if not isinstance(log, Log | str | os.PathLike):
        raise TaupiError(Argument("log"), f" is {shown(log)}, expected a Log or the path of a file.")
    piece = make_piece(log, replace(plan, reading=reading))
    write_file(path, lambda stream: write_piece(piece, stream, {"plan": plan.fingerprint}), force)


@small_algebra
def identify_pieces(fit: Fit, pieces: PathLike | Sequence[PathLike], estimator: EstimatorLike = "consistent") -> Fit:
    """Return the fit of logs of which only `pieces` are available, written by `compress_log` with the same earlier `fit`.

    `pieces` is a path, a pattern, an address, or a list of them. `estimator` is one that starts from triangles, "consistent" by
    default, as in `taupi.identify`. The verdict is based on the fit alone: nothing can be tried on logs that are elsewhere.

    >>> import taupi as tp
    >>> later = tp.identify_pieces(tp.load_fit("out"), "pieces/*.piece")  # doctest: +SKIP
    """
    plan, resolved = plan_of_fit(_checked(fit)), resolve_estimator(estimator)
    name = getattr(resolved, "name", "")
    if isinstance(resolved, LogEstimator) or name not in TRIANGLE_ESTIMATORS:
        known = ", ".join(TRIANGLE_ESTIMATORS)
        raise TaupiError(
            Argument("estimator"), f" is {name!r}, which needs the logs themselves, expected one of {known}."
        )
    files = [pieces] if isinstance(pieces, str | os.PathLike) else list(pieces)
    paths = [path for each in files for path in expand_pattern(each)]
    if not paths:
        raise TaupiError(Argument("pieces"), " is empty, expected files that compress_log wrote.")
    most = most_stretches(len(paths))
    parts = [_read(path, plan).at(k).with_stretches(most).of_many(len(paths)) for k, path in enumerate(paths)]
    inputs = FitInputs(
        fit.robot,
        paths,
        fit.terms,
        False,
        fit.basis,
        fit.prior,
        seed=int(fit.record.get("seed", 0)),
        preparation=fit.preparation,
    )
    modulated = modulated_terms(fit.terms)
    friction = None
    if modulated:
        speeds = np.abs(np.concatenate([part.compressed.extremes for part in parts], axis=1)[0]).max(axis=0)
        friction = ModulatedFriction(fit.basis, modulated, plan.first, tuple(speeds.tolist()))
    result: Fit = resolved.fit(
        pooled_problem(inputs, fit.basis.linear, parts, friction, fit.cutoffs, modulated=modulated)
    )
    return result


def _checked(fit: Fit) -> Fit:
    if not isinstance(fit, Fit):
        raise TaupiError(Argument("fit"), f" is {shown(fit)}, expected a Fit: taupi.load_fit(...).")
    return fit


def _read(path: PathLike, plan: Plan) -> Piece:
    name = file_name(path)
    try:
        with source_of(path).open("rb") as stream:
            piece, facts = read_piece(stream.read(), name)
    except OSError as error:
        raise TaupiError(f"{name} cannot be read: {error.strerror}.") from None
    if facts.get("plan") != plan.fingerprint:
        raise TaupiError(
            f"{name} was compressed by another fit, or by another version of taupi.",
            remedy="Give the fit that it was compressed by.",
        )
    return piece
