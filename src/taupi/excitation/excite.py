"""The verb `excite`: a motion that makes identification as precise as a robot's limits allow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from taupi.analysis.joint_range import require_numbers
from taupi.dynamics.terms import TermsLike
from taupi.excitation.design import prepared, searched
from taupi.excitation.excitation import Excitation
from taupi.excitation.limits.motion_limits import LimitsLike
from taupi.excitation.settings import Course, ExciteOptions, Goal, Margins, Search
from taupi.model.robot import Robot
from taupi.progress import progress
from taupi.settings import settle, without_none
from taupi.threads import small_algebra

if TYPE_CHECKING:
    from typing_extensions import Unpack

TERMS = ("viscous", "coulomb")


@small_algebra
def excite(
    robot: Robot,
    duration: float | None = None,
    *,
    terms: TermsLike = TERMS,
    sigma: object = None,
    given: object = None,
    start: object = None,
    limits: LimitsLike = None,
    course: Course | None = None,
    goal: Goal | None = None,
    margins: Margins | None = None,
    search: Search | None = None,
    **options: Unpack[ExciteOptions],
) -> Excitation:
    """Return a motion that identifies a `robot`'s base parameters as precisely as its limits allow, with a proof of the limits.

    The information in N samples of a motion is G = G0 + sum_k Y_k^T S^-1 Y_k, with Y the base regressor and S = diag(sigma^2) the
    noise of the torques; G^-1 is the covariance of the parameters. The motion minimises -log det G (Goodwin & Payne 1977), or
    another criterion, by a gradient that costs about two regressors. Position, speed, acceleration and jerk keep their limits
    at all times by hulls of control points, torques by interval arithmetic. Links keep clear of each other and of the floor if
    the description has their geometry; what is not checked is in the result's `unchecked`.

    Args:
        robot: A robot with numbers for all parameters, its masses among them unless `effort` is 0.
        duration: Seconds of one period of the motion; 10 by default.
        terms: Names of terms, or terms, that will be fitted besides links; viscous and Coulomb friction by default.
        sigma: Standard deviation of torques in N m at the rate of the design: a number, one per joint (n,), or a `Fit`, whose
            residuals are used; 1 % of the effort limits by default.
        given: Earlier logs, fits or excitations, or paths of logs or fits, that the motion should complement; none by default.
        start: Where the robot is: positions (n,) in rad or m, or the path of a log that ends there. A slow approach to the
            motion's start is put before it; none by default.
        limits: What the description does not state, by quantity or by joint, as a mapping or as the path of a TOML file:
            lower and upper (rad or m), velocity, acceleration and jerk per s, s^2 and s^3, effort (N m or N) and torque_rate
            (N m/s).
        course: What kind of motion is designed: `taupi.Course`.
        goal: What the motion is designed for: `taupi.Goal`.
        margins: How far it stays away from limits, itself, the floor and other surroundings: `taupi.Margins`.
        search: How the best motion is searched for, and for how long: `taupi.Search`.
        **options: The fields of these four, instead of giving them whole.

    Returns:
        The motion with what it will show and the certificates of its limits. If a `budget` is spent before they are complete, it
        exceeds no limit where it was computed, `certified` is false, and `unchecked` names what is not proven.

    Raises:
        TaupiError: A setting is wrong, a limit is missing, or the geometry cannot be read.
        NotIdentifiedError: No motion that keeps all limits and determines all parameters was found.

    >>> import taupi as tp
    >>> arm = tp.load("elbow2r")
    >>> limits = {"lower": -2, "upper": 2, "velocity": 3, "acceleration": 10, "effort": 60}
    >>> plan = tp.excite(arm, duration=4.0, limits=limits, starts=1)
    >>> plan.certified, plan.std_factor > 1
    (True, True)
    >>> q, qd, qdd = plan.motion(0.0)
    >>> run = tp.simulate(tp.RigidPlant(arm), tp.ComputedTorque(arm, 5.0), plan.motion, duration=plan.duration)
    """
    subjects = (Course, course), (Goal, goal), (Margins, margins), (Search, search)
    settings = settle(excite, {**options, **without_none(duration=duration)}, *subjects)
    require_numbers(robot)
    with progress("excite", 1) as step:
        step("limits and geometry")
        design = prepared(robot, terms, sigma, given, start, limits, *settings)
    return searched(design)
