"""The noise that a design assumes, and what earlier experiments have already shown."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from taupi.dynamics.terms import Term
from taupi.errors import Argument, TaupiError, shown
from taupi.identifiability.base_parameters import BaseParameters, base_parameters
from taupi.identification.identify import build_problem
from taupi.identification.results.fit import Fit
from taupi.identification.results.fit_file import is_saved_fit, load_fit
from taupi.model.robot import Robot
from taupi.signals.log import Log

# Share of the effort limit, if nothing is known; without earlier logs, only ratios between joints matter.
USUAL_SHARE = 0.01


def noise_of(robot: Robot, sigma: Any, effort: np.ndarray) -> tuple[np.ndarray, str]:
    """Return the standard deviation of each joint's torque (n,) at the rate of the design, and a sentence about it.

    `sigma` is a number, one per joint, or a `Fit`, whose residuals are used; by default 1 % of the effort limits.
    """
    if sigma is None:
        if not np.isfinite(effort).all():
            raise TaupiError(
                f"{robot.name} has joints without an effort limit, from which the noise of torques would be taken.",
                remedy=(
                    "Give ",
                    Argument("sigma", ...),
                    ", one number per joint in N m, or ",
                    Argument("limits", {"effort": "..."}),
                    ".",
                ),
            )
        return USUAL_SHARE * effort, f"Noise of torques: {USUAL_SHARE:.0%} of the effort limits is assumed."
    if isinstance(sigma, Fit):
        noise = {j.name: j.noise for j in sigma.joints}
        missing = [name for name in robot.joint_names if not noise.get(name, 0.0) > 0]
        if missing:
            raise TaupiError(Argument("sigma"), f": the fit has no noise of {', '.join(missing)}.")
        return np.array(
            [noise[name] for name in robot.joint_names]
        ), f"Noise of torques: the residuals of the fit of {sigma.robot.name}."
    try:
        values = np.broadcast_to(np.asarray(sigma, dtype=float), (robot.n,)).copy()
    except (TypeError, ValueError):
        raise TaupiError(
            Argument("sigma"), f" is {shown(sigma)}, expected a number, or {robot.n}: one per joint."
        ) from None
    if not (values > 0).all() or not np.isfinite(values).all():
        raise TaupiError(Argument("sigma"), f" is {shown(sigma)}, expected finite numbers above 0.")
    return values, "Noise of torques: as given."


def earlier_information(
    robot: Robot, terms: tuple[Term, ...], earlier: Any, sigma: np.ndarray, rate_hz: float
) -> np.ndarray | None:
    """Return G0 (b, b), the information in earlier experiments: logs, paths of logs or fits, fits, or designs.

    Noise is white: at another rate than that of the design its variance is larger or smaller in proportion.
    """
    if earlier is None:
        return None
    items = list(earlier) if isinstance(earlier, Sequence) and not isinstance(earlier, str) else [earlier]
    base = base_parameters(robot, terms=terms)
    total, logs = np.zeros((base.count, base.count)), []
    for one in items:
        saved = isinstance(one, str | os.PathLike) and is_saved_fit(one)
        item = load_fit(one) if saved else one
        if isinstance(item, Fit):
            total += _of_fit(base, item)
        elif hasattr(item, "information") and hasattr(item, "base"):
            total += _aligned(base, item.base, item.information)
        elif isinstance(item, Log | str | os.PathLike):
            logs.append(item)
        else:
            raise TaupiError(Argument("given"), f" is {shown(item)}, expected logs, paths, fits, or excitations.")
    return total + _of_logs(robot, base, logs, sigma, rate_hz) if logs else total


def _of_logs(robot: Robot, base: BaseParameters, logs: list[Any], sigma: np.ndarray, rate_hz: float) -> np.ndarray:
    problem = build_problem(robot, logs, terms=base.terms, elastic=False)
    total = np.zeros((base.count, base.count))
    for factor in problem.factors:
        rate = problem.records[factor.file].rate_hz
        rows = factor.r[:, :-1] / sigma[factor.joint]
        total += (rows.T @ rows) * (rate_hz / rate)
    return _aligned(base, problem.base, total)


def _of_fit(base: BaseParameters, fit: Fit) -> np.ndarray:
    seen = ~np.asarray(fit.undetermined)
    information = np.zeros(fit.covariance.shape)
    information[np.ix_(seen, seen)] = np.linalg.inv(fit.covariance[np.ix_(seen, seen)])
    return _aligned(base, fit.basis, information)


def _aligned(base: BaseParameters, other: BaseParameters, information: np.ndarray) -> np.ndarray:
    if other.names != base.names:
        raise TaupiError(
            Argument("given"),
            f" is about other base parameters: {other.count} of {other.robot.name} with the terms "
            f"{', '.join(t.name for t in other.terms) or 'none'}, expected {base.count} of {base.robot.name}.",
            remedy=("Use the same ", Argument("terms"), "."),
        )
    return information
