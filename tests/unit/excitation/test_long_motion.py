"""A motion of 20 s beside what is usual: a Fourier series of five harmonics, the best by its condition of many."""

import numpy as np

import taupi as tp
from taupi.excitation.design import prepared
from taupi.excitation.motions.families import FourierSeries
from taupi.excitation.settings import Course, Goal, Margins, Search

TERMS = ("viscous", "coulomb")
# How many times larger the standard deviations of a usual motion are at least.
BETTER = 2.8


def test_twenty_seconds_of_a_panda_tell_much_more_than_a_usual_motion():
    """Within the same limits of position, speed and acceleration; the design keeps clear of itself as well."""
    robot = tp.load("panda")
    plan = tp.excite(robot, 20.0, terms=TERMS, starts=1)
    assert plan.certified and plan.duration == 20.0 and "clearance" in plan.certificates
    course = Course(20.0, motion="fourier")
    usual = prepared(robot, TERMS, None, None, None, None, course, Goal(), Margins(capsules="none"), Search()).problem()
    assert usual.family == FourierSeries(5, 20.0)
    rng = np.random.default_rng(3)
    candidates = [usual.matrix(usual.start(rng, 1.0)) for _ in range(60)]
    best = min(candidates, key=np.linalg.cond)
    # Of the design at the same samples, dry friction smooth in both.
    own = usual.information.matrix(*plan.motion(usual.times))
    factor = np.exp((np.linalg.slogdet(own)[1] - np.linalg.slogdet(best)[1]) / (2 * plan.base.count))
    assert factor > BETTER
