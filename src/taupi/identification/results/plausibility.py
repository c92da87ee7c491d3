"""Objections to a fit that can be found without its logs."""

from __future__ import annotations

import numpy as np

from taupi.errors import TaupiError
from taupi.identification.physical.standard_parameters import FARTHEST
from taupi.identification.results.fit import Fit
from taupi.identification.results.status import Outcome
from taupi.identification.results.verdict import Level, Reason, percent
from taupi.model.parameters import LINK_SIZE

# Above this relative error, a tenth of the power of the fitted torque is not explained.
WEAK = 0.1**0.5
# Above this relative error, a quarter of the power of the fitted torque is not explained: this is not a model of the robot.
POOR = 0.5
# Above this relative error of a joint, half of the power of its torque is not explained.
HARDLY = 0.5**0.5
# A link this many times as heavy as described, and heavier than the whole robot should be, is an error, not a tool.
HEAVIER = 10.0
# Half of the links below this share of the described mass point to a torque in another unit, or of other joints.
LIGHTER = 0.03

# A spring this many times stiffer or softer than described is an error of units, signs or gears, or noise.
SPRING_FACTOR = 10.0

_CHECK = "Check the logs' signs, units and order of joints"


def reasons_of_fit(fit: Fit) -> tuple[Reason, ...]:
    """Return the reasons for which a fit is doubtful or wrong, as far as the fit itself shows; none for a good one.

    The fit explains little of the torque, the estimator fell back to another one, or its bodies or springs speak against it.
    """
    return (*reasons_of_errors(fit), *reasons_of_bodies(fit))


def reasons_of_errors(fit: Fit) -> tuple[Reason, ...]:
    """Return the reasons that cost nothing to find."""
    replaced = fit.status.outcome is Outcome.REPLACED
    fallback = [Reason("fallback", fit.status.message, Level.DOUBTFUL)] if replaced else []
    return (*_poor_fit(fit), *_poor_joints(fit), *fallback, *reasons_of_springs(fit))


def reasons_of_bodies(fit: Fit) -> tuple[Reason, ...]:
    """Return the reasons that need standard parameters, which may take seconds.

    No real bodies have the estimate, and the nearest real bodies explain the torque far worse (a wrong sign); or masses differ
    from the description by an order of magnitude or more.
    """
    return (*_unreal_bodies(fit), *_implausible_masses(fit))


def reasons_of_springs(fit: Fit) -> tuple[Reason, ...]:
    """Return one reason for each spring that cannot be right.

    Its stiffness differs from the description by a factor of more than ten, or the torque that its link needs explains the spring
    torque worse than zero would.
    """
    described = dict(zip(fit.basis.standard.names, fit.basis.standard.values, strict=True))
    reasons = []
    for name, value, undetermined in zip(fit.names, fit.values.tolist(), fit.undetermined, strict=True):
        stated = float(described.get(name, 0.0))
        if not name.endswith(".stiffness") or undetermined or stated <= 0:
            continue
        if not stated / SPRING_FACTOR <= value <= SPRING_FACTOR * stated:
            off = f"more than {SPRING_FACTOR:g} times off"
            sentence = f"{name} would be {value:.3g}, but its description says {stated:.3g}: {off}."
            remedy = "Check that theta is on the joint side of the gears and has the sign of q, and the units of both."
            numbers = {"stiffness": value, "described": stated}
            reasons.append(Reason("spring", sentence, Level.WRONG, (name.rpartition(".")[0],), numbers, remedy))
    for j in fit.joints:
        if j.name.endswith(".link") and j.rows and j.relative > 1:
            sentence = f"{j.name} is explained worse than by nothing: its relative error is {percent(j.relative)}."
            remedy = (
                "Its spring and its link do not belong together in these logs: check theta, or take the joint as rigid."
            )
            reasons.append(Reason("spring", sentence, Level.WRONG, (j.name,), {"error": j.relative}, remedy))
    return tuple(reasons)


def _poor_fit(fit: Fit) -> list[Reason]:
    if fit.relative <= WEAK:
        return []
    worst, level = max(fit.joints, key=lambda j: j.relative), Level.WRONG if fit.relative > POOR else Level.DOUBTFUL
    left = f"{percent(fit.relative)} of the torque it was fitted to unexplained ({percent(worst.relative)} at {worst.name})"
    sentence = f"The fit leaves {left}."
    numbers = {"error": fit.relative, "worst": worst.relative}
    return [Reason("unexplained", sentence, level, (worst.name,), numbers, f"{_CHECK}, and the terms.")]


def _poor_joints(fit: Fit) -> list[Reason]:
    """Return a reason if some joints of a floating robot, or of one with loops, are hardly explained although the rest is.

    The six rows of a base see all links and outweigh the joints, so that a motor with the wrong sign costs the fit
    as a whole little.
    """
    if fit.equations.rows_can_be_repeated:
        return []
    motors = {fit.robot.joint_names[k] for k in fit.robot.actuated}
    joints = [j for j in fit.joints if j.rows and j.name in motors]
    poor = [j.name for j in joints if j.relative > HARDLY]
    if not poor:
        return []
    worst = max(joints, key=lambda j: j.relative)
    names = ", ".join(poor[:6]) + (", ..." if len(poor) > 6 else "")
    sentence = f"The fit hardly explains the torque of {names} ({percent(worst.relative)} is left at {worst.name})."
    level = Level.WRONG if 2 * len(poor) > len(joints) else Level.DOUBTFUL
    return [Reason("unexplained", sentence, level, tuple(poor), {"worst": worst.relative}, f"{_CHECK}.")]


def _unreal_bodies(fit: Fit) -> list[Reason]:
    try:
        consistency = fit.consistency
    except TaupiError as error:
        return [Reason("unreal", str(error), Level.WRONG)]
    if consistency.exact or consistency.after - consistency.before <= FARTHEST:
        return []
    sentence = (
        f"Real bodies explain the logs far worse than the estimate, with a relative error of {percent(consistency.after)} "
        f"instead of {percent(consistency.before)}."
    )
    numbers = {"error_real": consistency.after, "error": consistency.before}
    return [Reason("unreal", sentence, Level.WRONG, (), numbers, f"{_CHECK}.")]


def _implausible_masses(fit: Fit) -> list[Reason]:
    """Return a reason if a link is far too heavy, or many are far too light."""
    links = slice(0, len(fit.robot.parameters), LINK_SIZE)
    try:
        masses, prior = fit.consistency.values[links], fit.prior[links]
    except TaupiError:
        return []
    stated = prior > 0
    if not stated.any():
        return []
    k = int(np.argmax(masses / np.maximum(HEAVIER * prior, prior.sum())))
    name = fit.robot.link_names[k]
    if masses[k] > max(HEAVIER * prior[k], prior.sum()):
        sentence = f"Link {name!r} would weigh {masses[k]:.3g} kg, but its description says {prior[k]:.3g} kg."
        numbers = {"mass": float(masses[k]), "described": float(prior[k])}
        remedy = f"{_CHECK}."
        if unknown := int(fit.undetermined.sum()):  # that may be the only reason
            longer = "record a longer motion, or use the estimator 'entropic'"
            remedy = f"The logs leave {unknown} parameters open: {longer}. {_CHECK}, too."
        return [Reason("masses", sentence, Level.WRONG, (), numbers, remedy)]
    light = stated & (masses < LIGHTER * prior)
    if light.sum() >= max(2, stated.sum() / 2):
        links_text = f"{int(light.sum())} of {int(stated.sum())} links"
        sentence = f"{links_text} would weigh less than {percent(LIGHTER)} of what their description says."
        # Springs and controllers that carry the arm have the same effect: no reason against the fit, but one against an export.
        return [Reason("masses", sentence, Level.GOOD, (), {"light": int(light.sum())}, f"{_CHECK}.")]
    return []
