"""Payloads from a fit and a log with a load: numbers, errors, and what a log cannot tell."""

import dataclasses

import numpy as np
import pytest
from cli_runs import motion
from loads import ARM, LOAD, TERMS, carried, fit, recorded
from refusals import refused

import taupi as tp
from taupi.errors import NotIdentifiedError, TaupiError
from taupi.identification.payloads.difference import difference, drift_sizes
from taupi.identification.payloads.identify_body import carrying_frame, likely_body, payload_columns
from taupi.identification.results.verdict import Level, Reason, Verdict
from taupi.identification.rows.factors import Compressor
from taupi.model.body import body_from_com, pseudo_inertia, smallest_eigenvalue

# 95 % of normal errors are within 2 standard errors; of ten numbers, some may be beyond, but none beyond 3.5 (1 in 2000).
FAR = 3.5


@pytest.fixture(scope="module")
def load():
    return carried(recorded(ARM.with_payload(**LOAD), 200, drift=1.15))


def test_mass_centre_and_inertia_are_found(load):
    assert load.mass == pytest.approx(LOAD["mass"], rel=0.01)
    assert np.abs(load.com - LOAD["com"]).max() < 0.002
    assert np.abs(load.inertia - LOAD["inertia"]).max() < 0.002
    assert load.present and load.determined.all()
    assert load.relative < 0.1 * load.before
    assert not any("stated gains" in note for note in fit().notes)  # its torques are torques


def test_errors_are_as_large_as_stated(load):
    assert abs(load.mass - LOAD["mass"]) < FAR * load.stderr.mass
    assert (np.abs(load.com - LOAD["com"]) < FAR * load.stderr.com).all()
    assert (np.abs(load.inertia - LOAD["inertia"]) < FAR * load.stderr.inertia).all()
    assert load.stderr.mass < 0.01 * LOAD["mass"]
    half = load.intervals()
    assert half.mass > 1.9 * load.stderr.mass and load.intervals(0.5).mass < half.mass
    assert load.stderr.shape == (10,) and load.stderr[0] == load.stderr["mass"] == load.stderr.mass


def test_a_saved_fit_gives_the_same_payload(load, tmp_path):
    tp.write_fit(fit(), tmp_path / "fit.json")
    log = recorded(ARM.with_payload(**LOAD), 200, drift=1.15)
    again = tp.identify_payload(tmp_path / "fit.json", log, gain_uncertainty=0)
    assert np.allclose(again.parameters, load.parameters, rtol=1e-9, atol=1e-12)
    tp.write_log(log, tmp_path / "loaded.csv")
    from_file = tp.identify_payload(tp.load_fit(tmp_path), tmp_path / "loaded.csv", gain_uncertainty=0)
    assert np.allclose(from_file.parameters, load.parameters, rtol=1e-5, atol=1e-7)


def test_the_robot_with_it_predicts_the_loaded_torque(load):
    q, qd, qdd = np.random.default_rng(3).normal(size=(3, 20, 6))
    wanted = tp.inverse_dynamics(ARM.with_payload(**LOAD))(q, qd, qdd)
    predicted = tp.inverse_dynamics(load.robot)(q, qd, qdd)
    assert np.linalg.norm(predicted - wanted) < 0.02 * np.linalg.norm(wanted)
    assert np.linalg.norm(tp.inverse_dynamics(load.robot_without)(q, qd, qdd) - wanted) > 0.1 * np.linalg.norm(wanted)


def test_a_light_payload_is_seen():
    light = carried(recorded(ARM.with_payload(0.105, (0, 0, 0.05)), 201, drift=0.9))
    assert light.present
    assert abs(light.mass - 0.105) < FAR * light.stderr.mass < FAR * 0.01
    assert smallest_eigenvalue(light.parameters.tolist()) > 0


def test_no_payload_is_called_none():
    nothing = carried(recorded(ARM, 202, drift=1.1))
    assert not nothing.present
    assert nothing.summary.startswith("No payload is seen on")
    assert nothing.mass < 0.02 and np.isinf(nothing.stderr.com).all()


def test_gains_that_may_be_off_widen_the_interval_of_the_mass(load):
    log = recorded(ARM.with_payload(**LOAD), 200, drift=1.15)
    wide = tp.identify_payload(fit(), log)
    assert wide.mass == load.mass
    assert wide.stderr.mass == pytest.approx(np.hypot(load.stderr.mass, 0.05 * load.mass))
    assert (wide.stderr.com >= load.stderr.com).all()


def test_stated_gains_are_less_sure_than_measured_torques(load):
    """Torques that are currents times numbers are taken to be off by twice as much as measured ones."""
    log = recorded(ARM.with_payload(**LOAD), 200, drift=1.15)
    of_currents = tp.identify_payload(fit(), log.with_(current=log.tau / 7.0))
    assert of_currents.gain_uncertainty == 0.1
    assert of_currents.stderr.mass == pytest.approx(np.hypot(load.stderr.mass, 0.1 * load.mass))
    assert tp.identify_payload(fit(), log, gain_uncertainty=0.02).gain_uncertainty == 0.02


def test_a_payload_at_another_frame_is_the_same_body(load):
    log = recorded(ARM.with_payload(**LOAD), 200, drift=1.15)
    arm = fit().robot
    elsewhere = carried(log, at="link5")
    assert elsewhere.frame == "link5"
    assert elsewhere.mass == pytest.approx(load.mass, rel=0.02)
    assert arm.frame("tip").name == load.frame


def test_a_tree_without_a_tip_carries_its_load_at_the_end_of_the_longest_chain():
    """An arm on whose first link a rod turns, which comes last in the description."""
    joints = (*ARM.joints, dataclasses.replace(ARM.joints[1], name="rod_joint", coordinate=6))
    tree = dataclasses.replace(
        ARM, joints=joints, links=(*ARM.links, dataclasses.replace(ARM.links[1], name="rod")), tip=""
    )
    assert tree.frame("tip").name == "rod"
    assert carrying_frame(tree, None).name == "link6"
    pair = dataclasses.replace(ARM, joints=(ARM.joints[0], joints[-1]), links=tree.links[:1] + tree.links[-1:])
    twice = dataclasses.replace(
        pair,
        joints=(dataclasses.replace(pair.joints[0]), dataclasses.replace(pair.joints[1], parent=-1, coordinate=1)),
        frames=(),
        tip="",
    )
    with pytest.raises(TaupiError, match="a tree with several ends: link1, rod"):
        carrying_frame(twice, None)


def test_a_slow_log_with_the_wrist_at_rest_tells_the_mass_but_no_inertia():
    load = carried(recorded(ARM.with_payload(**LOAD), 203, still=(3, 4, 5), pace=0.1))
    assert abs(load.mass - LOAD["mass"]) < FAR * load.stderr.mass
    assert np.isfinite(load.stderr.mass) and np.isinf(load.stderr.inertia).all()
    assert "inertia is not determined" in load.summary
    assert load.to_dict()["inertia"]["value"] == [[None] * 3] * 3
    assert smallest_eigenvalue(load.parameters.tolist()) > 0


def test_a_robot_that_is_lighter_than_its_fit_is_refused():
    lighter = ARM.with_parameters(2 * ARM.parameters.values - ARM.with_payload(**LOAD).parameters.values)
    with pytest.raises(NotIdentifiedError, match="lighter in the log than in the fit, by 2"):
        carried(recorded(lighter, 205))


def test_a_log_that_does_not_tell_the_mass_is_refused():
    pendulum = tp.Robot.from_dh([dict(a=0.5)], links=[dict(m=1.0, com=(-0.2, 0, 0))], gravity=(0, 0, "-9.81"))
    t = np.arange(0, 16, 0.005)
    q, qd, qdd = np.sin(t)[:, None], np.cos(t)[:, None], -np.sin(t)[:, None]

    def log(robot, seed):
        tau = tp.inverse_dynamics(robot)(q, qd, qdd)
        noise = 0.02 * tau.std() * np.random.default_rng(seed).normal(size=tau.shape)
        return tp.Log(t, q, tau=tau + noise, names=robot.joint_names)

    own = tp.identify(pendulum, log(pendulum, 0), terms=())
    with pytest.raises(NotIdentifiedError, match="does not determine the mass"):
        tp.identify_payload(own, log(pendulum.with_payload(0.3, (-0.1, 0, 0)), 1))


def test_a_payload_on_coupled_drives():
    matrix = np.eye(6)
    matrix[2, 1] = -1.0  # the elbow's belt runs over the shoulder
    matrix[5, 4] = 0.5
    coupled = ARM.with_coupling(matrix)
    own = tp.identify(coupled, recorded(coupled, 206))
    load = tp.identify_payload(own, recorded(coupled.with_payload(**LOAD), 207), gain_uncertainty=0)
    assert abs(load.mass - LOAD["mass"]) < FAR * load.stderr.mass < FAR * 0.05
    assert (np.abs(load.com - LOAD["com"]) < FAR * load.stderr.com).all()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"at": "hand"}, "No frame 'hand'"),
        ({"at": 3}, "at is 3, expected the name of a frame"),
        ({"gain_uncertainty": -0.1}, "gain_uncertainty is -0.1, expected a finite number of at least 0"),
    ],
)
def test_bad_settings_are_refused(settings, words):
    with pytest.raises(TaupiError, match=words):
        tp.identify_payload(fit(), recorded(ARM, 202), **settings)


def test_a_payload_says_that_its_fit_is_poor():
    poor = dataclasses.replace(fit(), judged=Verdict.of([Reason("odd", "Something is off.", Level.DOUBTFUL)]))
    load = tp.identify_payload(poor, recorded(ARM.with_payload(**LOAD), 200))
    assert load.notes[0] == "the fit of the robot without the payload is doubtful: Something is off."


def test_what_is_no_fit_is_refused():
    with refused("fit", got=3):
        tp.identify_payload(3, recorded(ARM, 202))


def test_bad_levels_are_refused(load):
    with refused("level", got=2):
        load.intervals(2)


# The robot with a payload ---------------------------------------------------------------------------------------------


def test_a_payload_adds_its_inertia_by_the_jacobian_of_its_centre():
    """M grows by J_c^T diag(I_G, m 1) J_c, with the Jacobian of the centre of mass from differences of its position."""
    arm, q = tp.load("puma560"), np.random.default_rng(0).normal(size=6)
    com, mass, inertia = np.array([0.02, -0.03, 0.12]), 2.0, np.diag([0.02, 0.018, 0.008])
    place = tp.forward_kinematics(arm, "tip")

    def centre(angles):
        t = place(angles)
        return t[:3, :3] @ com + t[:3, 3]

    steps = 1e-6 * np.eye(6)
    linear = np.column_stack([(centre(q + s) - centre(q - s)) / 2e-6 for s in steps])
    turned = []
    for s in steps:
        skew = (place(q + s)[:3, :3] - place(q - s)[:3, :3]) / 2e-6 @ place(q)[:3, :3].T
        turned.append([skew[2, 1], skew[0, 2], skew[1, 0]])
    angular, r = np.array(turned).T, place(q)[:3, :3]
    grown = tp.mass_matrix(arm.with_payload(mass, com, inertia))(q) - tp.mass_matrix(arm)(q)
    assert np.allclose(grown, mass * linear.T @ linear + angular.T @ r @ inertia @ r.T @ angular, atol=1e-7)
    weight = tp.gravity_torque(arm.with_payload(mass, com, inertia))(q) - tp.gravity_torque(arm)(q)
    assert np.allclose(weight, mass * 9.81 * linear[2], atol=1e-6)


def test_a_payload_changes_base_parameters_by_its_columns():
    base = tp.base_parameters(tp.load("puma560"))
    frame = base.robot.frame("tip")
    ten = [float(v) for v in body_from_com(**{"m": LOAD["mass"], "com": LOAD["com"], "inertia": LOAD["inertia"]})]
    change = base.project(base.robot.with_payload(**LOAD).parameters) - base.project(base.robot.parameters)
    assert np.allclose(payload_columns(base, frame) @ ten, change, atol=1e-12)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((-1.0,), "mass is -1.0, expected 0 or more"),
        ((1.0, (0, 0, 0), np.diag([1.0, 0.1, 0.1])), "no real body"),
        ((1.0, (0, 0, 0), (1, 2)), r"expected 3 x 3 or six"),
        ((1.0, (0, 0)), "com"),
        ((1.0, (0, 0, 0), np.eye(3), "hand"), "No frame 'hand'"),
    ],
)
def test_payloads_that_cannot_be_are_refused(arguments, words):
    with pytest.raises(TaupiError, match=words):
        tp.load("puma560").with_payload(*arguments)


# The estimate ---------------------------------------------------------------------------------------------------------


def test_errors_of_a_difference_cover_the_truth():
    """Over 200 random experiments, (estimate - truth) / stated error has a mean square near one."""
    rng, (n, b, k) = np.random.default_rng(0), (2, 6, 2)
    squares = []
    for _ in range(200):
        y, x = rng.normal(size=(b, n, 240)), rng.normal(size=b)
        columns, spread = rng.normal(size=(b, k)), 0.05 * rng.normal(size=(b, 3))
        theta, noise = rng.normal(size=k), np.array([0.3, 2.0])
        at = x + spread @ rng.normal(size=3) + columns @ theta
        tau = np.tensordot(y, at, axes=(0, 0)).T + noise * rng.normal(size=(240, n))
        compressor = Compressor(np.ones((n, b), dtype=bool))
        compressor.add(y, tau, np.ones((240, n), dtype=bool))
        result = difference(compressor.result(0), x, columns, spread, np.full(k, np.inf), np.ones(n))
        squares.append((result.values - theta) ** 2 / np.diag(result.covariance))
        assert np.allclose(result.by_joint.sum(axis=0), result.values)
    # The jackknife of six stretches is taken only where it is larger, so that errors are a little too large.
    assert 0.6 < np.mean(squares) < 1.15


def test_errors_allow_for_noise_that_lasts():
    """Noise that stays the same for 120 samples: without the jackknife, errors would be stated about ten times too small."""
    rng, (n, b) = np.random.default_rng(0), (1, 2)
    ratios = []
    for _ in range(60):
        y = np.repeat(rng.normal(size=(b, n, 12)), 120, axis=2)
        tau = np.tensordot(y, np.array([1.0, 2.0]), axes=(0, 0)).T + np.repeat(rng.normal(size=(12, n)), 120, axis=0)
        compressor = Compressor(np.ones((n, b), dtype=bool))
        compressor.add(y, tau, np.ones(tau.shape, dtype=bool))
        result = difference(
            compressor.result(0), np.zeros(b), np.eye(b), np.zeros((b, 1)), np.full(b, np.inf), np.ones(n)
        )
        ratios.append((result.values - [1.0, 2.0]) ** 2 / np.diag(result.covariance))
    assert np.median(ratios) < 2.0


def test_friction_drifts_by_shares_of_what_it_is():
    own = fit()
    sizes = dict(zip(own.names, drift_sizes(own.basis, own.values, own.speeds), strict=True))
    friction = own.base["joint2.coulomb"] + own.base["joint2.viscous"] * own.speeds["joint2"]
    assert sizes["joint2.coulomb"] == pytest.approx(0.2 * float(friction), rel=1e-6)
    assert sizes["joint2.viscous"] == pytest.approx(0.2 * float(friction) / own.speeds["joint2"], rel=1e-6)
    assert sizes["joint2.offset"] == pytest.approx(0.1 * float(friction), rel=1e-6)
    assert not any(size for name, size in sizes.items() if name.startswith("link"))


def test_friction_that_has_changed_is_not_read_as_mass():
    """Offsets that moved by a share of friction look like gravity of a body, if nobody expects them."""
    offset = [0.3 - 1.5, -0.4 + 2.0, 0.2 - 1.5, 0.05 + 0.15, -0.03 - 0.1, 0.02 + 0.08]
    moved = carried(recorded(ARM.with_friction(offset=offset), 208))
    assert not moved.present


def test_friction_that_depends_on_load_sees_the_payload():
    arm, terms = ARM.with_friction(load=0.1), (*TERMS, "load")

    def log(robot, seed):
        clean = recorded(robot, seed, noise=0.0)
        t, *states = motion(seed, n=6, duration=16.0)
        tau = tp.inverse_dynamics(robot, terms=terms)(*(0.8 * x for x in states))
        noise = 0.005 * tau.std(axis=0) * np.random.default_rng(seed).normal(size=tau.shape)
        return tp.Log(t, clean.q, tau=tau + noise, names=robot.joint_names)

    own = tp.identify(tp.load("puma560"), log(arm, 209))
    load = tp.identify_payload(own, log(arm.with_payload(**LOAD), 210), gain_uncertainty=0)
    assert load.relative < 0.008
    assert load.mass == pytest.approx(LOAD["mass"], rel=0.005)


def test_the_likely_body_is_real_and_keeps_what_is_known():
    rng = np.random.default_rng(1)
    for _ in range(20):
        estimate = np.array([1.0, *rng.normal(scale=0.1, size=3), *rng.normal(scale=0.02, size=6)])
        errors = np.array([0.01, *[0.003] * 3, *[0.02] * 6])
        body = likely_body(estimate, np.diag(errors**2), 0.2)
        assert smallest_eigenvalue(body.tolist()) > 0
        assert abs(body[0] - 1.0) < 0.05 and (np.abs(body - estimate) < 12 * errors).all()


def test_the_likely_body_is_a_minimum_given_its_mass():
    """The defining objective, 1/2 |pi - estimate|^2 in the metric of the covariance - log det P, by differences."""
    estimate = np.array([1.0, 0.05, -0.02, 0.1, 0.01, 0.001, 0.0, 0.012, 0.002, -0.004])
    errors = np.array([0.01, *[0.003] * 3, *[0.01] * 6])
    body = likely_body(estimate, np.diag(errors**2), 0.2)

    def objective(pi):
        return 0.5 * np.sum(((pi - estimate) / errors) ** 2) - np.linalg.slogdet(pseudo_inertia(pi.tolist()))[1]

    for k in range(1, 10):
        step = 1e-3 * errors[k] * np.eye(10)[k]
        slope = (objective(body + step) - objective(body - step)) / 2e-3  # per standard error
        assert abs(slope) < 1e-3
