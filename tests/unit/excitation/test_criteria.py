"""Information and criteria of motions, and their gradient, against differences and against the stacked regressor itself."""

import numpy as np
import pytest

import taupi as tp
from taupi.dynamics.terms import resolve_terms
from taupi.excitation.criteria.criteria import CRITERIA, choose
from taupi.excitation.criteria.information import Information, information_program, smoothed
from taupi.excitation.motions.fourier import FourierSeries
from taupi.excitation.motions.splines import Splines

ROBOTS = ("elbow2r", "lecture2r", "zollo2r", "planar3r", "puma560", "puma560_elastic", "ur10", "panda")
TERMS = smoothed(resolve_terms(("viscous", "coulomb")))
TIMES = (np.arange(400) + 0.5) / 40


def sampled(family, coefficients):
    return [family.sampled(TIMES, order) @ coefficients for order in range(3)]


def parts(robot, terms=TERMS, seed=0):
    program = information_program(robot, terms)
    rng = np.random.default_rng(seed)
    sigma = rng.uniform(0.5, 2.0, robot.n)
    family = Splines(30, 10.0)
    return program, Information(program, sigma), sigma, family, 0.6 * family.random(robot.n, rng)


@pytest.mark.parametrize("name", CRITERIA)
@pytest.mark.parametrize("robot", ROBOTS)
def test_gradient_is_that_of_differences(robot, name):
    program, information, _, family, c = parts(tp.load(robot))
    only = program.base.names[-3:] if name == "ds" else None
    criterion = choose(name, program.base, only).criterion
    slope = information.gradient(criterion, *sampled(family, c))
    along = sum(family.sampled(TIMES, k).T @ slope[k + 1] for k in range(3))
    direction = np.random.default_rng(1).standard_normal(c.shape)
    direction /= np.linalg.norm(direction)

    def value(step):
        return criterion(information.matrix(*sampled(family, c + step * direction))).phi

    h = 3e-4  # of the fourth-order difference: its own error is about h^4, rounding about 1e-13 / h
    difference = (8 * (value(h) - value(-h)) - (value(2 * h) - value(-2 * h))) / (12 * h)
    assert abs((along * direction).sum() - difference) <= 1e-6 * max(1.0, abs(difference), np.linalg.norm(along))


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
    d = choose("d", base).criterion
    assert d(G * s[:, None] * s).phi == pytest.approx(d(G).phi - 2 * np.log(s).sum())
    only = base.names[2:4]
    ds = choose("ds", base, only).criterion
    assert ds(G).phi == pytest.approx(np.linalg.slogdet(np.linalg.inv(G)[2:4, 2:4])[1])
    assert choose("a", base, scale=np.ones(base.count)).criterion(G).phi == pytest.approx(
        base.count * np.log(np.mean(1 / np.linalg.eigvalsh(G)))
    )
    values = np.linalg.eigvalsh(G)
    cond = choose("cond", base).criterion(G).phi / base.count
    assert 0 <= cond - 0.5 * np.log(values[-1] / values[0]) < np.log(base.count) / 6
    e = choose("e", base, scale=np.ones(base.count)).criterion(G).phi / base.count
    assert -np.log(base.count) / 8 <= e + np.log(values[0]) <= 0


def test_singular_information_has_no_value():
    program, information, _, family, c = parts(tp.load("elbow2r"))
    still = sampled(family, 0 * c)
    for name in CRITERIA:
        criterion = choose(name, program.base, program.base.names[0] if name == "ds" else None).criterion
        assert information.gradient(criterion, *still) is None


def test_bad_criteria_say_what_to_do():
    base = information_program(tp.load("elbow2r"), TERMS).base
    with pytest.raises(tp.TaupiError, match=r"only=.*link6"):
        choose("ds", base)
    with pytest.raises(tp.TaupiError, match="Known:"):
        choose("ds", base, "wrist.*")
    with pytest.raises(tp.TaupiError, match="criterion='ds'"):
        choose("d", base, base.names[0])
    with pytest.raises(tp.TaupiError, match="one per base parameter"):
        choose("a", base, scale=[1.0])


def test_fourier_series_and_splines_are_their_own_motions():
    for family in (FourierSeries(5, 10.0), Splines(20, 10.0), Splines(20, 10.0, closed=False)):
        c = family.random(3, np.random.default_rng(0))
        for a, b in zip(family.motion(c)(TIMES), sampled(family, c), strict=True):
            np.testing.assert_allclose(a, b, atol=1e-12 * np.abs(b).max())
        ends = family.motion(c)(np.array([0.0, 10.0]))
        assert np.abs(ends.qd).max() < 1e-12 * 100 and np.abs(ends.qdd).max() < 1e-10
        assert (np.abs(np.diff(ends.q, axis=0)).max() < 1e-12) == family.closed
        np.testing.assert_allclose(family.sampled(TIMES, 0) @ family.constant, 1.0)
