"""Fits that nobody should build a robot's model on: what is plainly wrong with one, in sentences."""

from __future__ import annotations

import numpy as np

from taupi.identification.physical.standard_parameters import FARTHEST
from taupi.identification.results.fit import Fit
from taupi.model.parameters import LINK_SIZE

# Above this relative error of the fitted torque a quarter of its power is not explained: no model of a robot.
POOR = 0.5
# A link this many times as heavy as described, and heavier than the whole robot is said to be, carries no tool: it is an error.
HEAVIER = 10.0
# Half of the links below this share of the described mass: a torque in another unit, or of other joints.
LIGHTER = 0.03

_CHECK = "Check the logs' signs, units and order of joints"


def doubts(fit: Fit) -> tuple[str, ...]:
    """Return what speaks against taking the parameters of a fit away: a sentence each, none for a fit that may be exported.

    The fit explains little of the torque; or the estimate is one that no real bodies have, and the nearest that have explain
    the torque far worse (a flipped sign); or masses are far from the description's, by an order of magnitude or more.
    """
    return (*_unexplained(fit), *_unreal(fit), *_far(fit))


def _unexplained(fit: Fit) -> list[str]:
    if fit.relative <= POOR:
        return []
    worst = max(fit.joints, key=lambda j: j.relative)
    return [
        f"The fit leaves {fit.relative:.0%} of the torque it was fitted to unexplained ({worst.relative:.0%} at {worst.name}). "
        f"{_CHECK}, and the terms."
    ]


def _unreal(fit: Fit) -> list[str]:
    found = fit.consistency
    if found.exact or found.after - found.before <= FARTHEST:
        return []
    return [
        f"Real bodies explain the logs far worse than the estimate, with a relative error of {found.after:.0%} instead of "
        f"{found.before:.1%}. {_CHECK}."
    ]


def _far(fit: Fit) -> list[str]:
    links = slice(0, len(fit.robot.parameters), LINK_SIZE)
    masses, prior = fit.consistency.values[links], fit.prior[links]
    stated = prior > 0
    if not stated.any():
        return []
    k = int(np.argmax(masses / np.maximum(HEAVIER * prior, prior.sum())))
    name = fit.robot.link_names[k]
    if masses[k] > max(HEAVIER * prior[k], prior.sum()):
        return [f"Link {name!r} would weigh {masses[k]:.3g} kg, and its description says {prior[k]:.3g} kg. {_CHECK}."]
    light = stated & (masses < LIGHTER * prior)
    if light.sum() >= max(2, stated.sum() / 2):
        return [
            f"{int(light.sum())} of {int(stated.sum())} links would weigh less than {LIGHTER:.0%} of what their description "
            f"says. {_CHECK}."
        ]
    return []
