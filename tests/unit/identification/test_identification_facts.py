"""Single facts of identification: statistics, weights, shapes, bandwidths, sentences."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from excite import motion
from fits import friction_fit, friction_log
from refusals import refused

import taupi as tp
from taupi.errors import TaupiError
from taupi.identification import weighting
from taupi.identification.commands.model import resolve_kinds
from taupi.identification.estimators.output_error import _statistics
from taupi.identification.fleet.drift import random_walk
from taupi.identification.fleet.fleet_fit import Fleet
from taupi.identification.friction.dry_friction import friction_plan
from taupi.identification.gains.gain_estimate import GainEstimate
from taupi.identification.hidden_links.links import drive_of
from taupi.identification.hidden_links.solver import Solver
from taupi.identification.payloads import identify_body as real_body
from taupi.identification.payloads.payload_estimate import PayloadEstimate
from taupi.identification.physical.cones import _solver_settings
from taupi.identification.physical.standard_parameters import Consistency, _moved_inside
from taupi.identification.rows.recording import Extent
from taupi.identification.rows.row_maker import Filter, RowMaker, RowSamples
from taupi.identification.tuning.cutoffs import bandwidths_of
from taupi.identification.tuning.friction_shape import _least_residual, default_shapes
from taupi.identification.tuning.timing import _coefficient
from taupi.identification.verdict.causes.units import Degrees
from taupi.identification.verdict.shown import mended
from taupi.model.body import smallest_eigenvalue


def test_real_bodies_are_said_to_be_so_and_how_far_they_are():
    sentence = Consistency(np.zeros(1), True, 0.01, 0.01, 0.25).sentence
    assert sentence.startswith("Real bodies have these base parameters") and " 0.25 times" in sentence


def test_the_noise_of_a_motor_is_one_over_its_weight():
    base = tp.base_parameters(tp.load("zollo2r"), elastic=True)
    torque = np.random.default_rng(0).normal(size=(50, 2))
    solver = SimpleNamespace(
        residual=lambda v: 0.1 * torque, torque=torque, links=SimpleNamespace(n=2), weight=np.array([4.0, 0.5])
    )
    statistics = _statistics(solver, base, np.zeros(1))
    assert [(s.rows, s.noise) for s in statistics] == [(0, 0.0), (0, 0.0), (50, 0.25), (50, 2.0)]


def test_the_relative_error_counts_a_joint_by_its_weight():
    # Weights are 1 / sigma. The joint of weight 10 is off by 1 of 2, the other one fits: 10 / sqrt(20^2 + 3^2).
    residual, torque = np.array([[1.0, 0.0]]), np.array([[2.0, 3.0]])
    fake = SimpleNamespace(residual=lambda v: residual, torque=torque, weight=np.array([10.0, 1.0]))
    assert np.isclose(Solver.relative(fake, np.zeros(1)), 10 / np.sqrt(409), rtol=1e-14)


def test_another_stiffness_is_taken_where_the_described_one_cannot_be_simulated():
    """The error of a simulation that diverges is no number, and nothing is less than that."""
    base = SimpleNamespace(names=("link.mx", "j1.stiffness"))
    fake = SimpleNamespace(
        links=SimpleNamespace(base=base),
        drive=SimpleNamespace(start=np.zeros(2)),
        relative=lambda v: {2.5: 0.3, 5.0: 0.1}.get(v[-1], np.nan),
        residual=lambda v: np.zeros((1, 1)),
        _search=lambda v, only_start: v,
    )
    assert Solver.solve(fake, np.array([1.0, 10.0])).tolist() == [0.0, 0.0, 1.0, 5.0]


def test_a_point_is_moved_no_farther_than_into_the_cone():
    cone = SimpleNamespace(slack=lambda x: np.array([x[0], x[1] + 10]))  # x0 >= 0, x1 >= -10
    x, inside = np.array([-1.0, 0.0]), np.array([3.0, 8.0])
    moved = _moved_inside(cone, x, inside, 3.0)
    assert np.allclose(moved, [0.0, 2.0], atol=0.02) and moved[0] >= 0  # a quarter of the way, and hardly more


def test_a_model_that_explains_everything_has_the_whole_band():
    tau = np.random.default_rng(0).normal(size=(4000, 1))
    assert np.allclose(bandwidths_of([(tau, 1e-3 * tau, 100.0)], 20.0), 50.0)


def test_a_model_that_explains_slow_torques_has_the_band_up_to_the_others():
    tau = np.random.default_rng(1).normal(size=8000)
    f = np.fft.rfftfreq(len(tau), 0.01)
    residual = np.fft.irfft(np.where(f > 10, 1.2 * np.fft.rfft(tau), 0), len(tau))  # more than the torque above 10 Hz
    half, equal = bandwidths_of([(tau[:, None], residual[:, None], 100.0)], 20.0)
    assert 7 < half <= equal < 14


def test_short_signals_together_show_what_each_alone_does_not():
    """Twenty stretches of 2 s with the same slow torque: together as one of 40 s."""
    rng = np.random.default_rng(2)
    tau = rng.normal(size=8000)
    f = np.fft.rfftfreq(len(tau), 0.005)
    slow = np.fft.irfft(np.where(f < 10, np.fft.rfft(tau), 0), len(tau))
    residual = 1.2 * (tau - slow)  # more than the torque above 10 Hz
    parts = [(tau[k : k + 400, None], residual[k : k + 400, None], 200.0) for k in range(0, 8000, 400)]
    half, equal = bandwidths_of(parts, 20.0)
    assert 6 < half <= equal < 14
    noise = rng.normal(size=(4000, 1))
    assert bandwidths_of([(noise, noise, 100.0)], 20.0) is None  # nothing is explained


def test_springs_are_scaled_by_the_torque_of_the_first_solution(monkeypatch):
    factors = [SimpleNamespace(file=0, joint=j) for j in range(4)]
    problem = SimpleNamespace(base=None, factors=factors, solve=lambda weights: SimpleNamespace(x="first"))
    # Joints 0 and 1 are links behind springs; the spring of joint 1 has no torque at x.
    power = {"first": (36.0, 9.0, 5.0, 5.0), "now": (4.0, 0.0, 1.0, 1.0)}
    monkeypatch.setattr(weighting.RowLayout, "of", lambda base: SimpleNamespace(unmeasured=(0, 1)))
    monkeypatch.setattr(weighting, "first_weights", lambda p: None)
    monkeypatch.setattr(weighting, "torque_squares", lambda p, f, x: power[x][f.joint])
    assert weighting.spring_scales(problem, "now") == {(0, 0): 3.0, (0, 1): 1.0, (0, 2): 1.0, (0, 3): 1.0}


def test_a_joint_that_reverses_has_a_width_and_one_that_does_not_has_none():
    speed = np.array([2.0, 2.0])
    extent = Extent(speed, np.ones(2), low=np.array([-2.0, 0.5]), high=np.array([1.0, 2.0]))
    assert default_shapes(("a", "b"), extent) == {"a": (0.02, 0.0), "b": (0.0, 0.0)}


def test_the_least_residual_is_a_length():
    for seed in range(8):
        r = np.random.default_rng(seed).normal(size=(9, 4))
        x = np.linalg.lstsq(r[:, :-1], r[:, -1], rcond=None)[0]
        assert np.isclose(_least_residual(r), np.linalg.norm(r[:, :-1] @ x - r[:, -1]), rtol=1e-12)


def test_velocities_and_accelerations_of_rows_are_not_filtered():
    arm = tp.load("elbow2r")
    t, q, qd, qdd = motion(arm.n, 0, 400, 100.0)
    samples = RowSamples(q, qd, qdd, np.zeros_like(q), np.ones(q.shape, dtype=bool), t)
    maker = RowMaker(friction_plan(tp.base_parameters(arm, terms=("viscous",))))
    rows = list(maker.rows(iter([samples]), Filter(100.0, 2.0)))
    assert np.array_equal(np.concatenate([r.qd for r in rows]), qd[50:-50])
    assert np.array_equal(np.concatenate([r.qdd for r in rows]), qdd[50:-50])


@pytest.mark.parametrize("level", [0, 1, 2, -0.5, "most", True])
def test_a_level_of_confidence_is_a_share(level):
    with refused("level"):
        GainEstimate.intervals(SimpleNamespace(stderr=np.ones(2), values=np.ones(2)), level)


def test_a_walk_of_exact_values_is_those_values():
    """The likelihoods of two steps differ by more than a double holds: their shares are still numbers."""
    t, y = np.arange(60.0), np.tile([0.0, 1.0], 30)
    x, variance, step = random_walk(t, y, np.full(60, 1e-8))
    assert np.allclose(x, y, atol=1e-3) and np.isfinite(variance).all() and 0.5 < step < 2


def test_motors_are_known_between_their_samples():
    """The grid of the simulation begins at each sample and has `steps` steps between two."""
    t = np.arange(101) / 100
    log = tp.Log(t, np.sin(np.outer(t, [3.0, 4.0])), tau=np.cos(np.outer(t, [3.0, 4.0])))
    drive = drive_of(SimpleNamespace(steps=lambda x, q, rate: 5), np.zeros(1), log, log, 10.0)
    assert drive.steps == 5 and drive.h == pytest.approx(0.002)
    assert np.allclose(drive.motors[:: 2 * 5, :2], log.q, atol=1e-12)
    assert np.allclose(drive.motors[1001 // 2, :2], np.sin([1.5, 2.0]), atol=1e-6)


def test_the_error_of_a_coefficient_is_its_scatter():
    """Ordinary least squares on filtered rows, with white noise before the filter."""
    rng = np.random.default_rng(5)
    row_filter = Filter(100.0, 10.0)
    columns, own = rng.normal(size=(600, 2)).cumsum(axis=0), rng.normal(size=600).cumsum()
    found = np.array(
        [_coefficient(columns, own, 2 * own + columns[:, 0] + rng.normal(size=600), row_filter) for _ in range(200)]
    )
    assert found[:, 0].mean() == pytest.approx(2.0, abs=0.01)
    assert found[:, 1].mean() == pytest.approx(found[:, 0].std(), rel=0.2)


def test_an_unknown_centre_of_mass_makes_inertia_about_it_unknown():
    determined = np.ones(10, dtype=bool)
    load = SimpleNamespace(_jacobian=np.eye(10), determined=determined, mass_is_seen=True)
    assert np.isfinite(np.asarray(PayloadEstimate._errors(load, np.eye(10)))).all()
    determined[2] = False
    unknown = np.isinf(np.asarray(PayloadEstimate._errors(load, np.eye(10))))
    assert unknown.tolist() == [False, False, True, False, *[True] * 6]


@pytest.mark.parametrize("short", [0.0, 1e-3, 0.5])
def test_what_a_solver_misses_of_a_real_body_is_made_up_for(monkeypatch, short):
    """The body of the nearest pseudo-inertia plus a multiple of the identity: its smallest eigenvalue is that of the edge."""
    ball = np.array([1.0, 0, 0, 0, 2.0, 0, 0, 2.0, 0, 2.0])
    monkeypatch.setattr(
        real_body, "least_squares_in_cone", lambda *args: SimpleNamespace(x=(real_body._EDGE - short) * ball)
    )
    nearest = real_body._nearest(-ball, np.eye(10))
    assert smallest_eigenvalue(nearest.tolist()) == pytest.approx(real_body._EDGE, abs=1e-12)


def test_a_robot_without_its_payload_is_had_without_the_warnings_of_its_fit():
    def identified(anyway):
        warnings.warn("the fit is doubtful", tp.TaupiWarning, stacklevel=2)
        return "robot" if anyway else None

    load = SimpleNamespace(fit=SimpleNamespace(robot_identified=identified))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert PayloadEstimate.robot_without.func(load) == "robot"


def test_the_solver_of_cones_gives_at_least_five_digits():
    settings = _solver_settings()
    asked = (settings.tol_feas, settings.tol_gap_abs, settings.tol_gap_rel)
    least = (settings.reduced_tol_feas, settings.reduced_tol_gap_abs, settings.reduced_tol_gap_rel)
    assert max(asked) <= 1e-9 and max(least) <= 1e-5


def test_a_validation_has_every_row_slow_ones_too():
    """Rows near standstill are not fitted if friction is unknown there; how well they are predicted is shown all the same."""
    log = friction_log(3)
    rest = np.clip((log.time - 3) / 2, 0, 1) * 2  # three seconds, two of rest, and on
    still = log.with_(q=np.array([np.interp(log.time - rest, log.time, log.q[:, j]) for j in range(2)]).T)
    fit = tp.identify(tp.load("elbow2r"), friction_log(1), terms=("viscous", "coulomb"), cutoff_hz=15, threshold=0.3)
    assert np.diff(fit.validate(still).time).max() < 1.5 * np.median(np.diff(fit.validate(still).time))


def test_wrapped_angles_are_those_without_jumps():
    t = np.arange(300) / 100
    q = np.stack([4 * t, -3 * t], axis=1)
    wrapped = tp.Log(t, (q + np.pi) % (2 * np.pi) - np.pi)
    assert np.abs(np.diff(wrapped.q, axis=0)).max() > 6
    both = mended(wrapped).q
    assert np.allclose(both - both[0], q - q[0])


@pytest.mark.parametrize(("widest", "factor"), [(200.0, np.pi / 180), (0.05, 180 / np.pi), (2.0, None)])
def test_degrees_and_radians_are_converted_exactly(widest, factor):
    t = np.linspace(0, 1, 50)
    log = tp.Log(t, np.stack([widest * np.sin(6 * t), t], axis=1)[:, :1] * [1.0, 0.5])
    found = list(Degrees().candidates(SimpleNamespace(robot=tp.load("elbow2r"), logs=[log])))
    assert [c.numbers["factor"] for c in found] == ([] if factor is None else [pytest.approx(factor, rel=1e-15)])


def test_friction_that_does_not_change_is_hardly_followed():
    """What a tracker learns of 0.4 N m that stay as they were scatters by noise alone: by less than 3 % of them."""
    tracking = friction_fit().track(friction_log(3))
    late = tracking.theta[len(tracking.theta) // 2 :, :, 1]
    assert late.std(axis=0).max() < 0.012 and np.abs(late).max() < 0.03


def gains_of(*values):
    """Gains of an arm without errors."""
    n = len(values)
    arguments = (np.zeros((n, n)), np.full(n, np.nan), 1.0, np.zeros(10), "tip", np.zeros((2, n)), ())
    return GainEstimate(tp.load("elbow2r"), np.array(values), *arguments)


def test_one_gear_is_that_of_all_joints():
    """And without gears, the motor side is the joint side."""
    gains = gains_of(9.0, 4.0)
    for ratio in (100, [100], [100.0, 100.0]):
        assert gains.motor_table(ratio) == {"torque_per_ampere": [0.09, 0.04]}
    assert gains.motor_table() == {"torque_per_ampere": [9.0, 4.0]}


def test_a_box_has_two_corners():
    with pytest.raises(TaupiError, match="lower, upper"):
        tp.estimators.Feasible(boxes={"forearm": 3})


REST = tp.momentum_observer(tp.load("elbow2r")).init()
SWING = np.sin(np.arange(200)[:, None] / 20 + [0.0, 1.0])
SWINGS = dict.fromkeys(("a", "b"), tp.Log(np.arange(200) / 100, SWING, tau=SWING))


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: tp.momentum_observer(tp.load("elbow2r")).step(REST, [0, 0], [0, 0], [0, 0], "0.1"), "dt"),
        (lambda: tp.momentum_observer(tp.load("elbow2r")).step(REST, [0, 0], [0, 0], [0, 0], None), "dt"),
        (lambda: tp.momentum_observer(tp.load("elbow2r")).step(REST, ["a", "b"], [0, 0], [0, 0], 0.1), "q"),
        (lambda: tp.momentum_observer(tp.load("elbow2r")).step(REST, [0, 0], [0, 1j], [0, 0], 0.1), "qd"),
        (lambda: tp.estimators.FrictionShapes(start="fast"), "start"),
        (lambda: tp.estimators.FrictionShapes(shapes=3), "shapes"),
        (lambda: tp.identify_fleet(tp.load("elbow2r"), SWINGS, when={"a": ["monday"], "b": [0]}), "when"),
        (lambda: tp.identify_fleet(tp.load("elbow2r"), SWINGS, when={"a": [np.nan], "b": [0]}), "when"),
        (lambda: tp.identify_fleet(tp.load("elbow2r"), SWINGS, when={"a": 3, "b": [0]}), "when"),
        (lambda: tp.identify_fleet(tp.load("elbow2r"), SWINGS, own=3), "own"),
        (lambda: tp.validate(3, SWINGS["a"]), "fit"),
        (lambda: tp.compare(3, 4, SWINGS["a"]), "first"),
        (lambda: gains_of(9.0, 4.0).motor_table([1.0, 2.0, 3.0]), "ratio"),
        (lambda: gains_of(9.0, 4.0).motor_table([100.0, 0.0]), "ratio"),
        (lambda: gains_of(9.0, 4.0).calibrated(3), "log"),
        (lambda: Fleet({}, {}, {}, {}, {}).changes("much"), "limit"),
        (lambda: resolve_kinds(3), "terms"),
        (lambda: resolve_kinds((3,)), "terms"),
    ],
)
def test_what_is_no_number_or_name_is_refused_by_its_argument(call, argument):
    with pytest.raises(TaupiError) as caught:
        call()
    assert caught.value.argument == argument
