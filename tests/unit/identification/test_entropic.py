"""The entropic estimator against its definition, solved by other means, and what it promises where logs are short."""

import warnings

import numpy as np
import pytest
from estimation import FRICTION, SIGMA, crossed, rigid_held, rigid_log, sprung_arm
from excite import motion, simulated
from problems import assert_real
from refusals import refused
from scipy.optimize import minimize
from scipy.stats import multivariate_normal, wishart

import taupi as tp
from taupi.errors import TaupiWarning
from taupi.identification.physical.cones import packed, unpacked
from taupi.identification.physical.entropy import EntropicPrior, entropic_least_squares
from taupi.identification.physical.region import pseudo_inertia_map

# Newton's method and a search without derivatives of ours, both stopped far below standard errors.
SOLVED = 1e-4


def pseudo(ten):
    """Return P of ten parameters, from its definition: second moments, first moments, mass."""
    m, h, inertia = ten[0], ten[1:4], np.zeros((3, 3))
    inertia[np.triu_indices(3)] = ten[4:]
    inertia = inertia + np.triu(inertia, 1).T
    p = np.zeros((4, 4))
    p[:3, :3] = 0.5 * np.trace(inertia) * np.eye(3) - inertia
    p[:3, 3] = p[3, :3] = h
    p[3, 3] = m
    return p


def ten_of(p):
    """Return the ten parameters of P."""
    inertia = np.trace(p[:3, :3]) * np.eye(3) - p[:3, :3]
    return np.concatenate([[p[3, 3]], p[:3, 3], inertia[np.triu_indices(3)]])


def fitted(log, strength=10.0, iterations=20, guess=None, terms=FRICTION, **settings):
    estimator = tp.estimators.Entropic(strength, iterations)
    return tp.identify(guess or crossed(scale=1.2), log, estimator, terms, **{"slow": 0, **settings})


def test_it_minimises_its_definition():
    """Divergences of clouds of points from the description, over Cholesky factors, with rows written out."""
    log, guess, strength = rigid_log(samples=40), crossed(scale=1.2), 3.0
    fit = fitted(log, strength, iterations=0, guess=guess)
    y = tp.regressor(guess, terms=FRICTION)(log.q, log.qd, log.qdd)  # (m, 2, 26)
    prior = tp.regressor(guess, terms=FRICTION).parameters.values
    weights = 1 / np.sqrt(np.mean(log.tau**2, axis=0))
    rows, tau = (y * weights[:, None]).reshape(-1, y.shape[2]), (log.tau * weights).ravel()
    left = log.tau - y @ prior
    # Of viscous, coulomb, offset: at both joints what would explain all that the description leaves, and the median of the two.
    own = np.array([[np.sum(y[:, j, 20 + 2 * k + j] ** 2) for j in range(2)] for k in range(3)])
    medians = np.median(np.sqrt(np.sum(left**2, axis=0) / own), axis=1) * [1, 1, 0.1]
    scales = np.repeat(medians, 2)
    described = [pseudo(prior[10 * i : 10 * i + 10]) for i in range(2)]

    def parameters(v):
        bodies = []
        for i, p0 in enumerate(described):
            lower = np.zeros((4, 4))
            lower[np.tril_indices(4)] = v[10 * i : 10 * i + 10]
            half = np.linalg.cholesky(p0) @ lower
            bodies.append(ten_of(half @ half.T))
        return np.concatenate([*bodies, prior[20:] + scales * v[20:]])

    def value(v):
        pi = parameters(v)
        total = 0.5 * np.sum((rows @ pi - tau) ** 2) + 0.5 * np.sum(v[20:] ** 2)
        for i, p0 in enumerate(described):
            ratio = np.linalg.solve(p0, pseudo(pi[10 * i : 10 * i + 10]))
            total += strength * (np.trace(ratio) - np.linalg.slogdet(ratio)[1] - 4)
        return total

    start = np.concatenate([np.eye(4)[np.tril_indices(4)]] * 2 + [np.zeros(6)])
    other = minimize(value, start, method="BFGS", options={"gtol": 1e-7, "maxiter": 2000})
    assert np.allclose(
        fit.basis.project(parameters(other.x)), fit.values, rtol=0, atol=SOLVED * np.abs(fit.values).max()
    )
    assert value(start) > other.fun + 1


def drawn(rng, strength):
    """Return an arm whose links are drawn from the prior around the crossed arm, a Wishart density, and its friction too."""
    base = crossed()
    links = base.parameters.values.reshape(-1, 10)
    tens = [
        ten_of(wishart(df=2 * strength + 5, scale=pseudo(ten) / (2 * strength)).rvs(random_state=rng)) for ten in links
    ]
    friction = {"viscous": ((2.0, 1.0), 0.4), "coulomb": ((1.5, 0.8), 0.4), "offset": ((0.3, -0.2), 0.05)}
    return base.with_parameters(np.concatenate(tens)).with_friction(
        **{k: (np.array(v) + sd * rng.normal(size=2)).tolist() for k, (v, sd) in friction.items()}
    )


def test_intervals_hold_truths_drawn_from_the_prior():
    """Of robots as wrong as the strength says, 95 % intervals hold the truth 95 times of 100; a log of 0.6 s leaves much open."""
    rng, inside, wide = np.random.default_rng(1), [], []
    for seed in range(60):
        truth = drawn(rng, 10.0)
        log = simulated(truth, FRICTION, seed, SIGMA, 60, noise_seed=seed)
        fit = fitted(log, guess=crossed())
        z = (fit.values - fit.basis.project(tp.regressor(truth, terms=FRICTION).parameters)) / np.sqrt(
            np.diag(fit.covariance)
        )
        inside.append(np.abs(z) < 1.96)
        wide.append(np.sqrt(np.diag(fit.covariance)) / np.abs(fit.values))
    # 840 intervals of 60 draws; those of one draw are correlated, so that they count as some 300: 2.6 sd are 0.033. A normal
    # density for the Wishart's, and scales of friction from two joints, take a percent.
    assert 0.91 < np.mean(inside) < 0.985
    assert np.median(wide) > 0.05  # the prior decides much of it


@pytest.mark.parametrize("strength", [0.1, 10.0, 300.0])
def test_the_integral_of_the_prior_is_wisharts(strength):
    """log of the density of a Wishart distribution, by SciPy, is -s D - log of the integral."""
    prior = EntropicPrior(np.zeros(10), np.eye(10), (0,), np.zeros(10, dtype=bool), np.zeros(10, dtype=bool))
    p = wishart(df=7, scale=np.eye(4) / 7).rvs(random_state=3)
    density = wishart(df=2 * strength + 5, scale=np.eye(4) / (2 * strength)).logpdf(p)
    # Off-diagonal coordinates are sqrt(2) times the entries: six of them.
    ours = -prior.value(packed(p), strength) - prior.log_integral(strength) + 3 * np.log(2)
    assert ours == pytest.approx(density, rel=1e-9)


def test_the_evidence_of_a_gaussian_prior_is_exact():
    """Without links it is the density of y ~ N(a f_0, a S a^T + I)."""
    rng = np.random.default_rng(0)
    a, y, scales, origin = rng.normal(size=(7, 3)), rng.normal(size=7), np.array([0.5, 2.0, 1.0]), rng.normal(size=3)
    prior = EntropicPrior(origin, np.diag(scales), (), np.zeros(3, dtype=bool), np.zeros(3, dtype=bool))
    solution = entropic_least_squares(a, y, prior, 10.0)
    want = multivariate_normal(a @ origin, a @ np.diag(scales**2) @ a.T + np.eye(7)).logpdf(y)
    assert solution.log_evidence - 3.5 * np.log(2 * np.pi) == pytest.approx(want)
    assert solution.ok and np.allclose(
        solution.covariance, np.linalg.inv(np.diag(scales) @ a.T @ a @ np.diag(scales) + np.eye(3))
    )


def test_derivatives_are_those_of_the_value():
    rng, p = np.random.default_rng(2), 13
    described, positive = np.arange(p) == 11, np.arange(p) == 12
    prior = EntropicPrior(np.zeros(p), np.eye(p), (0,), described, positive)
    z = prior.start + 0.1 * rng.normal(size=p)
    z[11:] = 1.3, 0.7
    step = 1e-5
    numeric = [(prior.value(z + step * e, 7.0) - prior.value(z - step * e, 7.0)) / (2 * step) for e in np.eye(p)]
    gradient, hessian = prior.derivatives(z, 7.0)
    assert np.allclose(gradient, numeric, rtol=1e-6, atol=1e-6)
    slopes = [
        (prior.derivatives(z + step * e, 7.0)[0] - prior.derivatives(z - step * e, 7.0)[0]) / (2 * step)
        for e in np.eye(p)
    ]
    assert np.allclose(hessian, slopes, rtol=1e-5, atol=1e-5)
    assert prior.value(np.zeros(p), 7.0) == np.inf


def test_the_description_is_where_the_coordinates_say():
    guess = crossed(scale=1.2)
    standard = tp.regressor(guess, terms=FRICTION).parameters
    prior = EntropicPrior.of(guess, standard, standard.values, np.ones(len(standard.values)))
    assert np.allclose(prior.parameters(prior.start), standard.values)
    assert np.allclose(unpacked(pseudo_inertia_map() @ standard.values[:10]), pseudo(standard.values[:10]))


def test_strength_goes_from_least_squares_to_the_description():
    log, guess = rigid_log(), crossed(scale=1.2)
    weak, strong = fitted(log, 1e-2), fitted(log, 1e7)
    wls = tp.identify(guess, log, "wls", FRICTION, slow=0)
    assert np.abs((weak.values - wls.values) / wls.stderr).max() < 0.5  # the prior of friction stays
    assert np.allclose(strong.parameters.values[:20], guess.parameters.values, rtol=1e-3, atol=1e-3)
    assert strong.relative > 1.3 * weak.relative


def test_a_part_of_a_log_that_shows_everything_everywhere_moves_little():
    """By a few standard errors, as for least squares, and no note says that a part decides."""
    fit = fitted(rigid_log(samples=2000))
    assert (fit.shifts > 0).all() and (fit.shifts < 4 * fit.stderr).all()
    assert (np.abs(fit.values) > 20 * fit.stderr).any()  # by all of its value, it would have been seen
    assert not any("part of the logs" in note for note in fit.notes)


def test_a_short_log_of_a_robot_that_is_well_described():
    """0.4 s of motion: an order of magnitude better than least squares on another motion, and bodies that can exist."""
    robot, terms = tp.load("ur10"), ("viscous", "coulomb", "offset")
    rng = np.random.default_rng(0)
    truth = robot.with_parameters(robot.parameters.values * np.repeat(rng.uniform(0.8, 1.25, 6), 10))
    truth = truth.with_friction(viscous=[5.0] * 6, coulomb=[4.0] * 6)
    log = simulated(truth, terms, 2, 0.5, 40)
    q, qd, qdd = motion(6, 9, 300, 100.0)[1:]
    want = tp.inverse_dynamics(truth, terms=terms)(q, qd, qdd)
    errors = {}
    for name in ("wls", "entropic"):
        fit = tp.identify(robot, log, name, terms, slow=0)
        tau = fit.basis.regressor()(q, qd, qdd) @ fit.values
        errors[name] = np.linalg.norm(tau - want) / np.linalg.norm(want)
        offered = [n for n in fit.notes if '"entropic" keeps' in n]
        assert bool(offered) == (name == "wls")
    assert errors["entropic"] < 0.2 < errors["wls"]
    assert errors["entropic"] < 0.2 * errors["wls"]
    assert_real(fit.parameters.values, 6)
    assert "has the highest evidence" in fit.notes[-1] and set(fit.settings["log_evidence"]) == {
        "0.1",
        "1",
        "10",
        "100",
        "1000",
    }


def test_it_is_offered_only_where_it_may_help():
    note = '"entropic" keeps'
    long = tp.identify(crossed(scale=1.2), rigid_log(samples=1200), "wls", FRICTION, slow=0)
    assert not any(note in n for n in long.notes)
    held = tp.identify(crossed(scale=1.2), rigid_held(), "wls", FRICTION, slow=0)
    assert held.undetermined.any() and any(note in n and "0 s of motion" not in n for n in held.notes)
    log = rigid_log(samples=200)
    short = tp.identify(crossed(scale=1.2), log, "wls", FRICTION, slow=0)
    assert any("have 2.0 s of motion" in n and note in n for n in short.notes)
    # Torque of the other sign: the description explains none of it.
    wrong = tp.identify(crossed(), log.with_(tau=-log.tau), "wls", FRICTION, slow=0)
    assert not any(note in n for n in wrong.notes)


def test_a_drive_that_compensates_gravity_contradicts_the_description():
    log = rigid_log(samples=400)
    weight = tp.gravity_torque(crossed())(log.q) * [0, 1]
    with pytest.warns(TaupiWarning, match=r"The description contradicts the log: .*: joint2 \d+%"):
        fitted(log.with_(tau=log.tau - weight))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted(log)
        fitted(rigid_log(noise=20.0, samples=400))  # noise is no contradiction
    assert not any("contradicts" in str(w.message) for w in caught)


def test_a_description_that_no_body_has_is_a_start_too():
    """The catalogue's PUMA 560 has a link with a negative eigenvalue; the fit's links are real."""
    robot = tp.load("puma560")
    fit = tp.identify(robot, simulated(robot, ("viscous",), 3, 0.5, 60), "entropic", ("viscous",))
    assert_real(fit.parameters.values, 6)


def test_what_it_cannot_do_is_refused():
    for strength in (0, -1, "x"):
        with refused("strength"):
            tp.estimators.Entropic(strength=strength)
    with refused("iterations"):
        tp.estimators.Entropic(iterations=-1)
    empty = crossed().with_parameters(np.zeros(20))
    with pytest.raises(tp.TaupiError, match="states no inertias"):
        tp.identify(empty, rigid_log(), "entropic", FRICTION, slow=0)
    from estimation import elastic_log

    with pytest.raises(tp.TaupiError, match="no prior for springs"):
        tp.identify(sprung_arm(), elastic_log(), "entropic", ("coulomb", "viscous"), slow=0)
