"""The verb `excite`: a motion that makes identification as precise as a robot's limits allow."""

from __future__ import annotations

from typing import Any

from taupi.analysis.joint_range import require_numbers
from taupi.dynamics.terms import TermsLike
from taupi.excitation.design import prepared, searched
from taupi.excitation.excitation import Excitation
from taupi.excitation.limits.motion_limits import LimitsLike
from taupi.excitation.settings import Course, Goal, Margins, Search
from taupi.model.robot import Robot
from taupi.progress import progress
from taupi.settings import takes
from taupi.threads import small_algebra

TERMS = ("viscous", "coulomb")


@takes(course=Course, goal=Goal, margins=Margins, search=Search)
@small_algebra
def excite(
    robot: Robot,
    *,
    terms: TermsLike = TERMS,
    sigma: Any = None,
    given: Any = None,
    start: Any = None,
    limits: LimitsLike = None,
    course: Course,
    goal: Goal,
    margins: Margins,
    search: Search,
) -> Excitation:
    """Return a motion that identifies a `robot`'s base parameters as precisely as its limits allow, with a proof of the limits.

    The information in N samples of a motion is G = G0 + sum_k Y_k^T S^-1 Y_k, with Y the base regressor and S = diag(sigma^2) the
    noise of the torques; G^-1 is the covariance of the parameters. The motion minimises -log det G (Goodwin & Payne 1977), or
    another criterion, by a gradient that costs about two regressors. Position, speed, acceleration and jerk keep their limits
    at all times by hulls of control points, torques by interval arithmetic.

    `terms` are the columns that will be fitted besides links. `sigma` is the standard deviation of torques in N m at the rate of
    the design, a number, one per joint, or a `Fit`; by default 1 % of the effort limits. `given` are earlier logs, fits or
    excitations that the motion should complement. `start` (n,), or a log that ends there, is where the robot is: a slow approach
    to the motion's start is put before it. `limits` state what the description does not, by quantity or by joint: lower,
    upper, velocity, acceleration, jerk, effort, torque_rate, as a mapping or as a TOML file.

    >>> import taupi as tp
    >>> arm = tp.load("elbow2r")
    >>> limits = {"lower": -2, "upper": 2, "velocity": 3, "acceleration": 10, "effort": 60}
    >>> plan = tp.excite(arm, duration=4.0, limits=limits, starts=1)
    >>> plan.certified, plan.std_factor > 1
    (True, True)
    >>> q, qd, qdd = plan.motion(0.0)
    >>> run = tp.simulate(tp.RigidPlant(arm), tp.ComputedTorque(arm, 5.0), plan.motion, duration=plan.duration)
    """
    require_numbers(robot)
    with progress("excite", 1) as step:
        step("limits and geometry")
        design = prepared(robot, terms, sigma, given, start, limits, course, goal, margins, search)
    return searched(design)
