"""The family of motions that the settings specify, within what an elastic robot allows."""

from __future__ import annotations

import math

import numpy as np

from taupi.dynamics.mass_matrix import mass_matrix
from taupi.errors import Argument, TaupiError
from taupi.excitation.motions.family import Family
from taupi.excitation.motions.fourier import LEAST_HARMONICS, USUAL_HARMONICS, FourierSeries
from taupi.excitation.motions.splines import LEAST_POINTS, Splines, points_of_bandwidth, usual_points
from taupi.excitation.settings import Course
from taupi.model.robot import Robot
from taupi.model.scalars import to_float

# A motion stays below this share of the lowest resonance, so that links and motors move as one.
RESONANCE_SHARE = 1 / 3
_POSTURES = 500


def lowest_resonance(robot: Robot, lower: np.ndarray, upper: np.ndarray) -> float | None:
    """Return the lowest frequency (Hz) at which links oscillate on their springs with motors held, None without springs.

    The least eigenvalue of M^-1 K among random postures between `lower` and `upper` (n,), rigid joints held still.
    """
    values = dict(robot.symbols)
    elastic = [k for k, joint in enumerate(robot.driving_joints) if joint.transmission.stiffness is not None]
    if not elastic:
        return None
    springs = [robot.driving_joints[k].transmission.stiffness for k in elastic]
    K = np.array([to_float(s, "stiffness", values) for s in springs if s is not None])
    q = np.random.default_rng(0).uniform(lower, upper, (_POSTURES, robot.n))
    M = mass_matrix(robot)(q)[:, elastic][:, :, elastic]
    root = 1 / np.sqrt(K)
    slowest = np.linalg.eigvalsh(M * root[:, None] * root)[:, -1].max()
    return float(1 / (2 * math.pi * math.sqrt(slowest))) if slowest > 0 else None


def choose_family(course: Course, resonance_hz: float | None = None) -> tuple[Family, tuple[str, ...]]:
    """Return the family of motions, and notes on it."""
    most = None if resonance_hz is None else RESONANCE_SHARE * resonance_hz
    _refuse_both(course)
    spline = course.motion == "bspline"
    asked = course.points if spline else course.harmonics
    bandwidth = course.bandwidth
    notes: list[str] = []
    usual = _family(course, asked or (usual_points(course.duration) if spline else USUAL_HARMONICS))
    if bandwidth is None and asked is None and most is not None and usual.content_hz > most:
        bandwidth = most
    if bandwidth is not None:
        usual = _of_bandwidth(course, bandwidth)
    if most is not None:
        if usual.content_hz > most * (1 + 1e-9):
            raise TaupiError(
                f"The motion has content up to {usual.content_hz:.3g} Hz, and the lowest resonance of the elastic joints is "
                f"{resonance_hz:.3g} Hz.",
                remedy=("Stay below a third of it: ", Argument("bandwidth", float(f"{most:.3g}")), "."),
            )
        notes.append(
            f"Elastic joints: designed on the rigid model, up to {usual.content_hz:.3g} Hz, below a third of the lowest "
            f"resonance ({resonance_hz:.3g} Hz with motors held, in {_POSTURES} postures)."
        )
    return usual, tuple(notes)


def _refuse_both(course: Course) -> None:
    other = "harmonics" if course.motion == "bspline" else "points"
    if getattr(course, other) is not None:
        raise TaupiError(Argument(other), f" has no meaning for the motion {course.motion!r}.", remedy="Leave it out.")
    own = "points" if course.motion == "bspline" else "harmonics"
    if course.bandwidth is not None and getattr(course, own) is not None:
        raise TaupiError(Argument(own), " and ", Argument("bandwidth"), " are both given.", remedy="Leave one out.")


def _family(course: Course, count: int) -> Family:
    if course.motion == "bspline":
        return Splines(count, course.duration, course.closed)
    return FourierSeries(count, course.duration)


def _of_bandwidth(course: Course, bandwidth_hz: float) -> Family:
    spline = course.motion == "bspline"
    count = points_of_bandwidth(bandwidth_hz, course.duration) if spline else int(bandwidth_hz * course.duration)
    least = LEAST_POINTS if spline else LEAST_HARMONICS
    if count < least:
        needed = (least - 5) / (2 * bandwidth_hz) if spline else least / bandwidth_hz
        raise TaupiError(
            Argument("duration"),
            f" is {course.duration:g} s, too short for a motion with content up to {bandwidth_hz:.3g} Hz.",
            remedy=("Use at least ", Argument("duration", math.ceil(needed * 10) / 10), "."),
        )
    return _family(course, count)
