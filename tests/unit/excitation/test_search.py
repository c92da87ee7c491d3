"""What a search watches of its limits, and what becomes of a motion that cannot be proven."""

from types import SimpleNamespace

import numpy as np

import taupi as tp
from taupi.excitation.design import prepared
from taupi.excitation.limits.certificates import Certificate
from taupi.excitation.motions.families import FourierSeries
from taupi.excitation.search.ipopt import Stop
from taupi.excitation.search.problem import LazyRows
from taupi.excitation.search.starts import FoundMotion, proven
from taupi.excitation.settings import Course, Goal, Margins, Search

LIMITS = {"lower": -1.0, "upper": 2.0, "velocity": 3.0, "acceleration": 10.0, "effort": 60.0}


class Positions:
    """The position of a joint as what is limited."""

    name, rate_hz, orders, band, tolerance = "position", 25.25, (0,), 0.25, 1e-5
    lower, upper, groups = np.array([-1.0]), np.array([1.0]), np.array([0])

    def values(self, q):
        return q


def test_of_a_bump_beyond_a_limit_the_top_is_watched_and_samples_beside_it():
    family = FourierSeries(2, 4.0)
    times = (np.arange(101) + 0.5) / 25.25  # the 50th is in the middle
    bump = 0.5 - np.cos(np.pi / 2 * times) + 0.25 * np.cos(np.pi * times)  # at rest at 0 s, 1.75 at 2 s
    x = np.linalg.lstsq(family.sampled(times, 0), bump, rcond=None)[0]
    rows = LazyRows(SimpleNamespace(family=family, n=1), Positions())
    assert rows.watch(x)
    assert rows.samples.tolist() == [48, 50, 52]


def test_a_motion_that_cannot_be_proven_is_drawn_towards_the_middle_as_far_as_needed():
    robot, settings = tp.load("elbow2r"), (Course(4.0), Goal(), Margins(capsules="none"), Search())
    problem = prepared(robot, ("viscous",), None, None, None, LIMITS, *settings).problem()
    centre = problem.linear.centre
    x, stop = problem.start(np.random.default_rng(0)), Stop()
    stop.asked = True  # nothing is searched any more
    size = np.abs(x - centre).max()

    def prove(x):
        reached = np.array([np.abs(x - centre).max()])
        return {"size": Certificate("size", ("all",), reached, np.array([0.86 * size]), "its coefficients", reached)}

    result = proven(problem, FoundMotion(x, problem.phi(x), True, 0, 0), prove, stop)
    assert result.ok and np.abs(centre).max() > 0.1
    np.testing.assert_allclose(result.candidate.x, centre + 0.85 * (x - centre), rtol=1e-12)
