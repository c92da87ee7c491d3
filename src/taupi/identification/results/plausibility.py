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

# A spring this many times stiffer or softer than described is an error of units, signs or gears, or noise.
SPRING_FACTOR = 10.0

_CHECK = "Check the logs' signs, units and order of joints"


def implausibilities(fit: Fit) -> tuple[str, ...]:
    """Return one sentence for each reason not to export the parameters of a fit; none if it may be exported.

    The reasons are: the fit explains little of the torque; no real bodies have the estimate, and the nearest real bodies explain
    the torque far worse (a wrong sign); masses or springs differ from the description by an order of magnitude or more; a link
    behind a spring is explained worse than by nothing.
    """
    return (*_poor_fit(fit), *_unreal_bodies(fit), *_implausible_masses(fit), *implausible_springs(fit))


def implausible_springs(fit: Fit) -> tuple[str, ...]:
    """Return one sentence for each spring that cannot be right.

    Its stiffness is more than ten times off the description, or the torque that its link needs explains the torque of the spring
    worse than nothing does.
    """
    described = dict(zip(fit.basis.standard.names, fit.basis.standard.values, strict=True))
    estimates = zip(fit.names, fit.values.tolist(), fit.undetermined, strict=True)
    sentences = []
    for name, value, undetermined in estimates:
        stated = float(described.get(name, 0.0))
        if not name.endswith(".stiffness") or undetermined or stated <= 0:
            continue
        if not stated / SPRING_FACTOR <= value <= SPRING_FACTOR * stated:
            sentences.append(
                f"{name} would be {value:.3g}, but its description says {stated:.3g}: more than {SPRING_FACTOR:g} times off. "
                "Check that theta is on the joint side of the gears and has the sign of q, and the units of both."
            )
    for j in fit.joints:
        if j.name.endswith(".link") and j.rows and j.relative > 1:
            error = f"{j.relative:.0%}" if j.relative < 99 else "more than 9900%"
            sentences.append(
                f"{j.name} is explained worse than by nothing: its relative error is {error}. Its spring and its link "
                "do not belong together in these logs: check theta, or take the joint as rigid."
            )
    return tuple(sentences)


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
