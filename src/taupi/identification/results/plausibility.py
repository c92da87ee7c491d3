"""Fits that should not be exported: what is plainly wrong with one, in sentences."""

from __future__ import annotations

import numpy as np

from taupi.identification.physical.standard_parameters import FARTHEST
from taupi.identification.results.fit import Fit
from taupi.model.parameters import LINK_SIZE

# Above this relative error, a quarter of the power of the fitted torque is not explained: this is not a model of the robot.
POOR = 0.5
# A link this many times as heavy as described, and heavier than the whole robot should be, is an error, not a tool.
HEAVIER = 10.0
# Half of the links below this share of the described mass point to a torque in another unit, or of other joints.
LIGHTER = 0.03

_CHECK = "Check the logs' signs, units and order of joints"


def implausibilities(fit: Fit) -> tuple[str, ...]:
    """Return one sentence for each reason not to export the parameters of a fit; none if it may be exported.

    The reasons are: the fit explains little of the torque; no real bodies have the estimate, and the nearest real bodies explain
    the torque far worse (a wrong sign); masses differ from the description by an order of magnitude or more.
    """
    return (*_poor_fit(fit), *_unreal_bodies(fit), *_implausible_masses(fit))


def _poor_fit(fit: Fit) -> list[str]:
    if fit.relative <= POOR:
        return []
    worst = max(fit.joints, key=lambda j: j.relative)
    return [
        f"The fit leaves {fit.relative:.0%} of the torque it was fitted to unexplained ({worst.relative:.0%} at {worst.name}). "
        f"{_CHECK}, and the terms."
    ]


def _unreal_bodies(fit: Fit) -> list[str]:
    consistency = fit.consistency
    if consistency.exact or consistency.after - consistency.before <= FARTHEST:
        return []
    return [
        f"Real bodies explain the logs far worse than the estimate, with a relative error of {consistency.after:.0%} instead of "
        f"{consistency.before:.1%}. {_CHECK}."
    ]


def _implausible_masses(fit: Fit) -> list[str]:
    links = slice(0, len(fit.robot.parameters), LINK_SIZE)
    masses, prior = fit.consistency.values[links], fit.prior[links]
    stated = prior > 0
    if not stated.any():
        return []
    k = int(np.argmax(masses / np.maximum(HEAVIER * prior, prior.sum())))
    name = fit.robot.link_names[k]
    if masses[k] > max(HEAVIER * prior[k], prior.sum()):
        return [f"Link {name!r} would weigh {masses[k]:.3g} kg, but its description says {prior[k]:.3g} kg. {_CHECK}."]
    light = stated & (masses < LIGHTER * prior)
    if light.sum() >= max(2, stated.sum() / 2):
        return [
            f"{int(light.sum())} of {int(stated.sum())} links would weigh less than {LIGHTER:.0%} of what their description "
            f"says. {_CHECK}."
        ]
    return []
