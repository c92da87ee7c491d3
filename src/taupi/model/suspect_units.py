"""Units of a description that its numbers contradict: millimetres, grams, kg mm^2, degrees."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from taupi.errors import TaupiError
from taupi.model.robot import Robot

# No link of a robot is as long, m, and no robot with joints as heavy, kg.
_LONGEST, _HEAVIEST = 50.0, 5000.0
# A body's radius of gyration is a fraction of its link's length; inertias in kg mm^2 make it a thousand times as large.
_WIDEST = 100.0
# Limits of joints are a few turns, rad; in degrees, they are up to two circles. Larger ones stand for none.
_TURNS, _CIRCLES = 26.0, 720.0


def suspect_units(robot: Robot) -> tuple[str, ...]:
    """Return notes on units that a description seems to have instead of m, kg, kg m^2 and rad; none if numbers are open.

    With the mass m, the centre c and the inertia I about it, the radius of gyration of a link is sqrt(tr I / 2m); over all links,
    its median is compared with that of their lengths, max(|c|, |p|), p the place of the next joint.

    >>> import taupi as tp
    >>> suspect_units(tp.load("ur10"))
    ()
    """
    try:
        places = [float(np.linalg.norm(joint.before.matrix[:3, 3])) for joint in robot.joints]
        bodies = np.asarray(robot.parameters.values, dtype=float).reshape(-1, 10)
        return (*_notes(np.array(places), bodies), *_limits(robot))
    except (TaupiError, TypeError, ValueError):
        return ()


def _limits(robot: Robot) -> Iterator[str]:
    turning = [joint.limits for joint in robot.single_joints if not joint.prismatic]
    ends = [max(abs(float(v)) for v in (x.lower, x.upper) if v is not None) for x in turning if x.lower is not None]
    many = [end for end in ends if _TURNS < end <= _CIRCLES]
    if many and 2 * len(many) >= len(turning):
        yield f"suspect: joints that turn as far as {max(many):.4g} rad; are their limits degrees?"


def _notes(places: np.ndarray, bodies: np.ndarray) -> Iterator[str]:
    bodies = bodies[bodies[:, 0] > 0]
    m, h = bodies[:, 0], bodies[:, 1:4]
    centres = np.linalg.norm(h, axis=1) / m
    longest = float(max(places.max(initial=0.0), centres.max(initial=0.0)))
    if longest > _LONGEST:
        yield f"suspect: lengths of up to {longest:.4g} m; are they millimetres?"
        return
    if m.sum() > _HEAVIEST:
        yield f"suspect: links of {m.sum():.4g} kg in all; are they grams?"
    lengths = np.concatenate([places[places > 0], centres[centres > 0]])
    about_centre = bodies[:, [4, 7, 9]].sum(axis=1) - 2 * m * centres**2
    radius = np.sqrt(np.maximum(about_centre, 0.0) / (2 * m))
    if len(lengths) and len(radius) and np.median(radius) > _WIDEST * np.median(lengths):
        yield (
            f"suspect: inertias of bodies {np.median(radius):.3g} m wide on links of {np.median(lengths):.3g} m; "
            "are they kg mm^2, or g mm^2?"
        )
