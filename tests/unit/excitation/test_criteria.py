"""Information and criteria of motions, and their gradient, against differences and against the stacked regressor itself."""

import numpy as np
import pytest

import taupi as tp
from taupi.dynamics.terms import resolve_terms
from taupi.excitation.criteria.criteria import choose
from taupi.excitation.criteria.information import Information, information_program, smoothed
from taupi.excitation.motions.families import FourierSeries, Splines
from taupi.excitation.settings import CRITERIA, Goal

ROBOTS = ("elbow2r", "lecture2r", "zollo2r", "planar3r", "puma560", "puma560_elastic", "ur10", "panda")
TERMS = smoothed(resolve_terms(("viscous", "coulomb")))
TIMES = (np.arange(400) + 0.5) / 40


def criterion_of(base, name, **settings):
    return choose(Goal(criterion=name, **settings), base).criterion


def any_criterion(base, name):
    return criterion_of(base, name, **{"ds": {"only": base.names[-3:]}, "p": {"power": 3.5}}.get(name, {}))


def sampled(family, coefficients):
    return [family.sampled(TIMES, order) @ coefficients for order in range(3)]


def parts(robot, terms=TERMS, seed=0):
    program = information_program(robot, terms)
    rng = np.random.default_rng(seed)
    sigma = rng.uniform(0.5, 2.0, robot.n)
    family = Splines(30, 10.0)
    return program, Information(program, sigma), sigma, family, 0.6 * family.random(robot.n, rng)


def derivative(value, h=4e-3):
    """Return f'(0) by the central difference of order 8: its error is about h^8, rounding about 1e-12 / h."""
    weights = (4 / 5, -1 / 5, 4 / 105, -1 / 280)
    return sum(w * (value(k * h) - value(-k * h)) for k, w in enumerate(weights, start=1)) / h


@pytest.mark.parametrize("name", CRITERIA)
@pytest.mark.parametrize("robot", ROBOTS)
def test_gradient_is_that_of_differences(robot, name):
    """Along random directions, to 1e-6 of what the differences themselves are."""
    program, information, _, family, c = parts(tp.load(robot))
    criterion = any_criterion(program.base, name)
    slope = information.gradient(criterion, *sampled(family, c))
    along = sum(family.sampled(TIMES, k).T @ slope[k + 1] for k in range(3))
    directions = np.random.default_rng(1).standard_normal((4, *c.shape))
    directions /= np.linalg.norm(directions, axis=(1, 2), keepdims=True)

    def value(step, direction):
        return criterion(information.matrix(*sampled(family, c + step * direction))).phi

    differences = np.array([derivative(lambda step, d=d: value(step, d)) for d in directions])
    error = np.einsum("kij,ij->k", directions, along) - differences
    assert np.linalg.norm(error) <= 1e-6 * np.linalg.norm(differences)


@pytest.mark.parametrize("robot", ["elbow2r", "puma560", "panda"])
def test_information_is_that_of_the_stacked_regressor(robot):
    program, information, sigma, family, c = parts(tp.load(robot))
    q, qd, qdd = sampled(family, c)
    W = (program.base.regressor()(q, qd, qdd) / sigma[:, None]).reshape(-1, program.base.count)
    G = information.matrix(q, qd, qdd)
    np.testing.assert_allclose(G, W.T @ W, rtol=1e-10, atol=1e-10 * np.abs(G).max())


def test_prior_information_adds_up():
    program, information, sigma, family, c = parts(tp.load("elbow2r"))
    motion = sampled(family, c)
    G = information.matrix(*motion)
    np.testing.assert_allclose(Information(program, sigma, prior=G).matrix(*motion), 2 * G)


def test_determinant_does_not_care_about_units_and_subset_is_a_schur_complement():
    base = information_program(tp.load("elbow2r"), TERMS).base
    rng = np.random.default_rng(3)
    W = rng.normal(size=(50, base.count))
    G, s = W.T @ W, rng.uniform(0.1, 10, base.count)
    d = criterion_of(base, "d")
    assert d(G * s[:, None] * s).phi == pytest.approx(d(G).phi - 2 * np.log(s).sum())
    only = base.names[2:4]
    ds = criterion_of(base, "ds", only=only)
    assert ds(G).phi == pytest.approx(np.linalg.slogdet(np.linalg.inv(G)[2:4, 2:4])[1])
    values = np.linalg.eigvalsh(G)
    for name, p in (("a", 1.0), ("p", 2.5), ("e", 8.0)):
        settings = {"scale": 1.0} | ({"power": p} if name == "p" else {})
        phi = criterion_of(base, name, **settings)(G).phi
        assert phi == pytest.approx(base.count * np.log(np.mean(values**-p)) / p)
    scaled = criterion_of(base, "a", scale=tuple(s))(G).phi  # errors relative to s: the mean of var / s^2
    assert scaled == pytest.approx(base.count * np.log(np.mean(np.diag(np.linalg.inv(G)) / s**2)))
    cond = criterion_of(base, "cond")(G).phi / base.count
    assert 0 <= cond - 0.5 * np.log(values[-1] / values[0]) < np.log(base.count) / 6
    e = criterion_of(base, "e", scale=1.0)(G).phi / base.count
    assert -np.log(base.count) / 8 <= e + np.log(values[0]) <= 0


def test_singular_information_has_no_value():
    program, information, _, family, c = parts(tp.load("elbow2r"))
    still = sampled(family, 0 * c)
    for name in CRITERIA:
        assert information.gradient(any_criterion(program.base, name), *still) is None


def test_bad_criteria_say_what_to_do():
    base = information_program(tp.load("elbow2r"), TERMS).base
    for settings, sentence in (
        ({"criterion": "ds"}, r"only=.*link6"),
        ({"criterion": "ds", "only": "wrist.*"}, "Known:"),
        ({"only": base.names[0]}, "only has no meaning for the criterion 'd'. Use criterion='ds'"),
        ({"power": 3.0}, "power has no meaning for the criterion 'd'. Use criterion='p'"),
        ({"criterion": "ds", "only": base.names[0], "scale": 1.0}, "scale has no meaning for the criterion 'ds'"),
        ({"criterion": "p"}, r"none is given. Give it by power=4"),
        ({"criterion": "p", "power": 0.5}, "power is 0.5, expected a number from 1 to 20"),
        ({"criterion": "a", "scale": [1.0]}, "scale has 1 numbers, expected 10: one per base parameter"),
        ({"criterion": "a", "scale": -1.0}, "scale is -1.0, expected a finite number above 0"),
    ):
        with pytest.raises(tp.TaupiError, match=sentence):
            choose(Goal(**settings), base)


def test_fourier_series_and_splines_are_their_own_motions():
    for family in (FourierSeries(5, 10.0), Splines(20, 10.0), Splines(20, 10.0, closed=False)):
        c = family.random(3, np.random.default_rng(0))
        for a, b in zip(family.motion(c)(TIMES), sampled(family, c), strict=True):
            np.testing.assert_allclose(a, b, atol=1e-12 * np.abs(b).max())
        ends = family.motion(c)(np.array([0.0, 10.0]))
        assert np.abs(ends.qd).max() < 1e-12 * 100 and np.abs(ends.qdd).max() < 1e-10
        assert (np.abs(np.diff(ends.q, axis=0)).max() < 1e-12) == family.closed
        np.testing.assert_allclose(family.sampled(TIMES, 0) @ family.constant, 1.0)
