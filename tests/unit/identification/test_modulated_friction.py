"""Friction that depends on load and bends with speed: found where a robot has it, zero where it has none."""

import dataclasses

import numpy as np
import pytest

import taupi as tp
from taupi.identification.estimators import ESTIMATORS
from taupi.identification.friction.dry_friction import friction_plan

LINEAR = ("rotor", "viscous", "coulomb", "offset")
MU, BEND = (0.05, 0.08), (0.4, -0.3)
SLOW, RATE = 0.02, 200.0
SOLVERS = ("consistent", "wls", "ols", "huber", "ridge", "feasible")
# Of a normal number, one in 16 000 is farther from its mean, in standard deviations.
FAR = 4.0


def motion(seed=0, seconds=30.0):
    """Return time, q, qd, qdd of a sum of sines."""
    rng, t = np.random.default_rng(seed), np.arange(round(seconds * RATE)) / RATE
    w = 2 * np.pi * np.array([0.1, 0.23, 0.41, 0.67])[:, None]
    a, phase = rng.uniform(0.15, 0.5, (4, 2)), rng.uniform(0, 6, (4, 2))
    angle = w * t[:, None, None] + phase
    return (
        t,
        (a * np.sin(angle)).sum(axis=1),
        (a * w * np.cos(angle)).sum(axis=1),
        -(a * w * w * np.sin(angle)).sum(axis=1),
    )


def arm(mu=MU, bend=BEND):
    friction = {"viscous": [2.0, 1.0], "coulomb": [1.5, 0.8], "offset": [0.3, -0.2]}
    robot = tp.load("elbow2r").with_friction(**friction, load=mu, curve=bend)
    return robot.with_transmissions(rotor_inertia=[0.5, 0.3])


def recorded(robot, seed=0, noise=0.3, **options):
    """Return a log with noise on the torque, and the motion itself."""
    t, q, qd, qdd = motion(seed, **options)
    speeds = tuple(float(f"{v:.3g}") for v in np.abs(qd).max(axis=0))
    terms = ("rotor", "viscous", tp.terms.Coulomb(SLOW), "offset", "load", tp.terms.Curve(velocity=speeds))
    tau = tp.inverse_dynamics(robot, terms=terms)(q, qd, qdd)
    rng = np.random.default_rng(100 + seed)
    return tp.Log(t, q, qd=qd, qdd=qdd, tau=tau + noise * rng.normal(size=q.shape), names=robot.joint_names)


def alone(log):
    """Return a log without its derivatives, as it is recorded."""
    return tp.Log(log.time, log.q, tau=log.tau, names=log.names)


def identify(log, estimator="consistent", **options):
    return tp.identify(tp.load("elbow2r"), log, estimator, cutoff_hz=10, slow=SLOW, **options)


def values_of(fit, kind, what="values"):
    """Return the values, or standard errors, of one kind of parameter, joint by joint."""
    pairs = dict(zip(fit.names, getattr(fit, what), strict=True))
    return np.array([pairs[f"{name}.{kind}"] for name in fit.robot.joint_names])


@pytest.fixture(scope="module")
def fit():
    return identify(alone(recorded(arm())))


@pytest.mark.parametrize("estimator", SOLVERS)
def test_both_are_found_by_every_estimator(estimator):
    fit = identify(alone(recorded(arm())), estimator)
    for kind, truth in (("load", MU), ("curve", BEND)):
        assert (np.abs(values_of(fit, kind) - truth) < FAR * values_of(fit, kind, "stderr")).all(), kind
    assert (values_of(fit, "load", "stderr") < 0.02).all() and (values_of(fit, "curve", "stderr") < 0.3).all()
    assert fit.names[-4:] == ("shoulder.load", "elbow.load", "shoulder.curve", "elbow.curve")
    assert fit.basis.parameters.units[-4:] == ("1", "1", "N m", "N m")


@pytest.mark.parametrize("estimator", SOLVERS)
def test_none_is_found_where_there_is_none(estimator):
    """Noise would make half of the shares negative: those are zero instead, and the others are not significant."""
    zeros = 0
    for seed in range(3):
        fit = identify(alone(recorded(arm((0, 0), (0, 0)), seed)), estimator)
        mu = values_of(fit, "load")
        assert (mu >= 0).all() and (values_of(fit, "load", "stderr") > 0).all()
        zeros += int((mu == 0).sum())
        for kind in ("load", "curve"):
            assert (np.abs(values_of(fit, kind)) < FAR * values_of(fit, kind, "stderr")).all()
    assert 0 < zeros < 6


def test_estimates_of_the_rest_are_right_too(fit):
    truth = arm()
    for kind in ("viscous", "coulomb", "offset"):
        want = [float(getattr(j.friction, kind)) for j in truth.joints]
        assert (np.abs(values_of(fit, kind) - want) < FAR * values_of(fit, kind, "stderr")).all(), kind
    pi_b = fit.basis.project(np.concatenate([truth.parameters.values, fit.basis.standard.values[20:]]))
    links = [k for k, n in enumerate(fit.names) if n.rpartition(".")[2].removesuffix("R") in ("mx", "my")]
    assert (np.abs(fit.values - pi_b)[links] < FAR * fit.stderr[links]).all()


def test_a_prediction_is_linear_torque_and_what_dry_friction_adds(fit):
    """By the regressor with its input `load`, which shares no code with `predict`."""
    log = recorded(arm(), seed=5, noise=0.0)
    motion = (log.q, log.qd, log.qdd)
    linear = fit.basis.linear
    rigid = np.array([n.rpartition(".")[2] not in ("viscous", "coulomb", "offset") for n in linear.names])
    load = linear.regressor()(*motion) @ np.where(rigid, fit.values[: linear.count], 0.0)
    torque = fit.basis.regressor()(*motion, load) @ fit.values
    assert np.abs(fit.predict(log) - torque).max() < 1e-10 * np.abs(torque).max()
    # And by hand.
    s, speed = np.tanh(log.qd / SLOW), np.array(fit.terms[-1].velocity)
    extra = s * (
        values_of(fit, "load") * np.abs(load) + values_of(fit, "curve") * np.exp(-np.abs(log.qd) / (0.3 * speed))
    )
    assert np.abs(torque - linear.regressor()(*motion) @ fit.values[: linear.count] - extra).max() < 1e-10
    assert np.linalg.norm(torque - log.tau) < 0.01 * np.linalg.norm(log.tau)


def test_the_identified_robot_is_what_the_fit_predicts(fit, tmp_path):
    log = recorded(arm(), seed=5)
    robot = fit.robot_identified()
    torque = tp.inverse_dynamics(robot, terms=fit.terms)(log.q, log.qd, log.qdd)
    assert np.abs(torque - fit.predict(log)).max() < 1e-6 * np.abs(torque).max()
    back = tp.forward_dynamics(robot, terms=fit.terms)(log.q, log.qd, torque)
    assert np.abs(back - log.qdd).max() < 1e-9 * np.abs(log.qdd).max()
    tp.write_toml(fit, tmp_path / "arm.toml")
    again = tp.load(tmp_path / "arm.toml")
    assert [float(j.friction.load) for j in again.joints] == pytest.approx(values_of(fit, "load").tolist())
    assert [float(j.friction.curve) for j in again.joints] == pytest.approx(values_of(fit, "curve").tolist())


def test_it_predicts_other_motions_better_than_without():
    log, other = alone(recorded(arm())), alone(recorded(arm(), seed=7))
    with_both, without = identify(log), identify(log, terms=LINEAR)
    assert with_both.validate(other).relative < 0.7 * without.validate(other).relative
    assert with_both.relative < without.relative


def test_files_read_back_to_the_same_predictions(fit, tmp_path):
    tp.write_fit(fit, tmp_path / "fit.json")
    again, log = tp.load_fit(tmp_path / "fit.json"), recorded(arm(), seed=5)
    assert again.terms == fit.terms and again.names == fit.names
    assert np.array_equal(again.predict(log), fit.predict(log))
    assert again.validate(alone(log)).relative == fit.validate(alone(log)).relative
    text = (tmp_path / "fit.json").read_text()
    assert '"shoulder.load"' in text and '"curve"' in text
    tp.report(again, tmp_path / "report.html")
    assert "share of the load" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_blocks_and_workers_change_nothing(tmp_path):
    """The second pass is over the same rows, with the load of the same first fit."""
    paths = [tmp_path / f"{k}.parquet" for k in range(2)]
    for k, path in enumerate(paths):
        tp.write_log(alone(recorded(arm(), seed=k)), path)
    at_once = identify(paths, stream=False, workers=1)
    for options in ({"stream": True, "block": 700}, {"stream": True, "block": 2500, "workers": 2}, {"workers": 2}):
        fit = identify(paths, **options)
        assert fit.terms == at_once.terms
        assert np.abs(fit.values - at_once.values).max() < 1e-9 * np.abs(at_once.values).max()
        assert np.allclose(fit.stderr, at_once.stderr, rtol=1e-6)


def test_files_share_them():
    """Of two logs, each with its own noise, the estimate lies between those of each, nearer to that of the better one."""
    logs = [alone(recorded(arm(), seed=k, noise=n)) for k, n in ((0, 0.2), (1, 1.0))]
    good, poor, both = (identify(log, "wls") for log in (logs[0], logs[1], logs))
    for kind in ("load", "curve"):
        assert (values_of(both, kind, "stderr") < values_of(poor, kind, "stderr")).all()
        assert (
            np.abs(values_of(both, kind) - values_of(good, kind)).max()
            < np.abs(values_of(both, kind) - values_of(poor, kind)).max()
        )


def test_parameters_that_a_log_says_nothing_about_stay_small():
    """Two seconds with much noise: without a prior, the curve would be of any size."""
    log = alone(recorded(arm((0, 0), (0, 0)), noise=3.0, seconds=4.0))
    fit = identify(log, "wls")
    friction = values_of(fit, "coulomb") + values_of(fit, "viscous") * fit.terms[-1].velocity
    assert (np.abs(values_of(fit, "curve")) < np.abs(friction)).all() and (values_of(fit, "load") < 0.3).all()
    problem = tp.estimators.build_problem(tp.load("elbow2r"), log, cutoff_hz=10, slow=SLOW)
    loose = tp.estimators.WeightedLeastSquares().fit(dataclasses.replace(problem, shrinkage=()))
    assert np.abs(values_of(loose, "curve")).max() > 2 * np.abs(values_of(fit, "curve")).max()


def test_the_prior_is_as_strong_as_it_says():
    """One row per parameter: noise / (sd sqrt(independent share)), with the noise of the first fit."""
    log = alone(recorded(arm()))
    problem = tp.estimators.build_problem(tp.load("elbow2r"), log, cutoff_hz=10, slow=SLOW)
    first = tp.estimators.Consistent().fit(
        tp.estimators.build_problem(tp.load("elbow2r"), log, terms=LINEAR, cutoff_hz=10, slow=SLOW)
    )
    assert np.array_equal(problem.first, first.values)
    recording = problem.recordings[0]
    bandwidth = 10 * (np.pi / 8) / np.sin(np.pi / 8) * 7 / 8  # of white noise behind |H|^2 = 1 / (1 + x^8)^2
    share, speed = 2 * bandwidth / recording.rate_hz, np.array(problem.terms[-1].velocity)
    level = np.abs(values_of(first, "coulomb")) + np.abs(values_of(first, "viscous")) * speed
    for j, name in enumerate(problem.robot.joint_names):
        pulls = problem.shrinkage[j].r
        for row, kind, sd in ((0, "load", 0.1), (1, "curve", 0.1 * level[j])):
            want = np.zeros(len(problem.names) + 1)
            want[problem.names.index(f"{name}.{kind}")] = first.joints[j].rms / (sd * np.sqrt(share))
            assert np.allclose(pulls[row], want, rtol=2e-3)


def test_terms_decide(tmp_path):
    log = alone(recorded(arm()))
    assert identify(log, terms=LINEAR).names == identify(log).basis.linear.names
    only = identify(log, "wls", terms=("load", "coulomb", tp.terms.Curve(share=0.5, velocity=4.0), "viscous"))
    assert [t.name for t in only.terms] == ["coulomb", "viscous", "load", "curve"]
    assert only.terms[-1] == tp.terms.Curve(0.5, 4.0)
    half = identify(log, "wls", terms=("coulomb", tp.terms.Curve(velocity=(4.0, 0.0)), "viscous"))
    fastest = identify(log, "wls", terms=("coulomb", "curve", "viscous")).terms[-1].velocity[1]
    assert half.terms[-1] == tp.terms.Curve(velocity=(4.0, fastest))  # stated for the first joint alone
    base = tp.base_parameters(tp.load("elbow2r"), terms=(*LINEAR, "load", "curve"))
    assert np.allclose(identify(log, "wls", base=base).values, identify(log, "wls").values, rtol=1e-9)
    with pytest.raises(tp.TaupiError, match="changes dry friction, and there is none"):
        identify(log, terms=("viscous", "load"))
    with pytest.raises(tp.TaupiError) as info:
        tp.identify(tp.load("zollo2r"), log, terms=("coulomb", "curve"))
    assert info.value.argument == "terms"
    assert set(SOLVERS) <= set(ESTIMATORS)


def test_shapes_of_friction_can_be_searched_beside_them():
    result = tp.estimators.identify_shapes(
        tp.load("elbow2r"), alone(recorded(arm(), seconds=15.0)), lambda s: (tp.terms.Stribeck(float(s[0])),), [0.1],
        cutoff_hz=10, slow=SLOW,
    )  # fmt: skip
    assert (values_of(result.fit, "load") > 0.02).all()


def test_a_urdf_file_has_no_place_for_them(tmp_path):
    text = (
        '<robot name="r"><link name="base"/><link name="arm"><inertial><origin xyz="0.3 0 0"/><mass value="2"/>'
        '<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link><joint name="j" '
        'type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/></joint></robot>'
    )
    (tmp_path / "r.urdf").write_text(text)
    robot = tp.load(tmp_path / "r.urdf")
    real = robot.with_friction(viscous=1.0, coulomb=0.5, load=0.1)
    t, q, qd, qdd = (x[..., :1] if x.ndim > 1 else x for x in motion())
    tau = tp.inverse_dynamics(real, terms=("viscous", tp.terms.Coulomb(SLOW), "load"))(q, qd, qdd)
    log = tp.Log(t, q, tau=tau + 0.05 * np.random.default_rng(0).normal(size=tau.shape))
    fit = tp.identify(robot, log, cutoff_hz=10, slow=SLOW)
    with pytest.warns(tp.TaupiWarning, match="no friction that depends on load or bends with speed"):
        tp.write_urdf(fit, tmp_path / "new.urdf")
    assert tp.load(tmp_path / "new.urdf").parameters["arm.m"] > 0


def test_joints_that_slide_and_never_reverse_are_no_trouble():
    """A slide under gravity, whose weight and offset are one, and a joint that turns one way only."""
    rows = [{"a": 0.0, "alpha": 0, "joint": "prismatic"}, {"a": 0.4, "alpha": "pi/2"}]
    links = [{"m": 3, "com": (0.1, 0, 0), "inertia": (0.1, 0, 0, 0.2, 0, 0.3), "name": f"l{i}"} for i in range(2)]
    robot = tp.Robot.from_dh(rows, links=links)
    real = robot.with_friction(viscous=3.0, coulomb=[4.0, 0.5], load=0.05)
    t, q, qd, qdd = motion()
    q[:, 1], qd[:, 1], qdd[:, 1] = q[:, 1] + 8 * t, qd[:, 1] + 8, qdd[:, 1]
    tau = tp.inverse_dynamics(real, terms=("viscous", tp.terms.Coulomb(SLOW), "load"))(q, qd, qdd)
    log = tp.Log(t, q, tau=tau + 0.1 * np.random.default_rng(0).normal(size=tau.shape))
    fit = tp.identify(robot, log, cutoff_hz=10)
    assert (values_of(fit, "load") >= 0).all() and fit.validate(log).relative < 0.02


def test_columns_are_those_of_the_first_fit():
    problem = tp.estimators.build_problem(tp.load("elbow2r"), alone(recorded(arm())), cutoff_hz=10, slow=SLOW)
    rigid = friction_plan(problem.base, problem.first).modulation.rigid
    kinds = [n.rpartition(".")[2].removesuffix("R") for n in problem.base.linear.names]
    friction = np.isin(kinds, ("viscous", "coulomb", "offset"))
    assert not rigid[friction].any() and np.array_equal(rigid[~friction], problem.first[~friction])
    rows = next(problem.rows(0))
    assert rows.y.shape[0] == len(problem.names)
    assert not rows.y[-4, 1].any() and not rows.y[-1, 0].any() and rows.y[-4, 0].any() and rows.y[-1, 1].any()
