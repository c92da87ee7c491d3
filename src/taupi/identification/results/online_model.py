"""A fit as a robot with numbers, for programs that run beside it."""

from __future__ import annotations

import dataclasses

import numpy as np

from taupi.dynamics.imu_form import require_motors
from taupi.dynamics.terms import Along, Coulomb, Term
from taupi.dynamics.terms.per_joint import value_at
from taupi.errors import TaupiError
from taupi.identification.online.model import OnlineModel
from taupi.identification.online.recursive import RecursiveLeastSquares, upper_factor
from taupi.identification.results.export import PLACED, robot_with
from taupi.identification.results.fit import Fit

# Below this share of the largest speed, the sign of a measured velocity is noise: dry friction builds up over at least this.
_NOISE = 0.01


def online_model(fit: Fit) -> OnlineModel:
    """Return the robot whose torque is that of the fit for every motion: tau = Y_b pi_b.

    Its standard parameters are the base parameters at their representatives, and 0 elsewhere, so that B pi = pi_b: they act
    alike in every motion, whether or not real bodies could have them.
    """
    require_motors(fit.robot, "What runs beside a robot")
    if fit.basis.elastic:
        raise TaupiError(
            f"{fit.robot.name} was fitted with elastic joints, and what runs online takes joints as rigid.",
            remedy="Fit it as rigid: taupi.identify(robot, log, elastic=False).",
        )
    pi = np.zeros(len(fit.basis.standard))
    pi[list(fit.basis.columns)] = fit.values
    layout = fit.basis.standard.layout
    apart = tuple(t for t in fit.terms if isinstance(t, Along) or t.name not in PLACED)
    owners = {
        t: (t.name,) if isinstance(t, Along) else tuple(f"{j}.{t.name}" for j in fit.robot.joint_names) for t in apart
    }
    cutoffs = [log.cutoff_hz for log in fit.logs if log.cutoff_hz]
    speeds = tuple(fit.speeds[name] for name in fit.robot.joint_names) if fit.speeds else ()
    return OnlineModel(
        robot_with(fit.robot, layout, pi),
        tuple(_for_measured_speeds(t, speeds) for t in fit.terms if t not in apart),
        apart,
        tuple(float(pi[layout.index(name)]) for names in owners.values() for name in names),
        float(np.median(cutoffs)) if cutoffs else None,
        speeds,
        tuple(j.rms for j in fit.joints),
        fit.preparation.known_torque,
    )


def recursive_estimator(fit: Fit, seconds: float) -> RecursiveLeastSquares:
    """Return recursive least squares that starts at a fit; a sample counts for about this many `seconds`.

    Standard deviations may grow to ten times those of the fit and 30 % of the estimate: a motion that excites a parameter shows
    it more precisely within seconds, and a motion that does not leaves it there.
    """
    model, linear = online_model(fit), fit.basis.linear
    b = linear.count
    terms = tuple(_for_measured_speeds(t, model.speeds) for t in linear.terms)
    values, covariance = fit.values[:b], fit.covariance[:b, :b]
    bounds = 10 * np.sqrt(np.clip(np.diag(covariance), 0.0, None)) + 0.3 * np.abs(values)
    return RecursiveLeastSquares(
        dataclasses.replace(linear, terms=terms),
        model,
        values,
        upper_factor(covariance),
        np.maximum(bounds, 1e-9),
        seconds,
    )


def _for_measured_speeds(term: Term, speeds: tuple[float, ...]) -> Term:
    """Return dry friction that builds up over at least 1 % of the largest speed of each joint; other terms as they are."""
    if not isinstance(term, Coulomb) or not speeds:
        return term
    own = [float(value_at("velocity", term.velocity, i)) for i in range(len(speeds))]
    return Coulomb(tuple(max(width, _NOISE * v) for width, v in zip(own, speeds, strict=True)), term.distance)
