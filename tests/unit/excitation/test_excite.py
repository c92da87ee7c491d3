"""The verb: certified motions of rigid, elastic and coupled arms, what they promise, and how they go on in a simulation."""

import dataclasses
import functools
import json
import signal
import threading

import numpy as np
import pytest
from excite import budgets_by_the_processor

import taupi as tp
from taupi.errors import NotIdentifiedError
from taupi.excitation.limits.certificates import torque_certificate, torque_rate_certificate
from taupi.excitation.limits.motion_limits import motion_limits
from taupi.excitation.motions.bounded import FourierMotion, slowed
from taupi.excitation.search.starts import rough
from taupi.excitation.settings import Margins
from taupi.model.scalars import exact
from taupi.reporting.report import report_text

LIMITS = {"lower": -2.0, "upper": 2.0, "velocity": 3.0, "acceleration": 10.0, "effort": 60.0}
ARM = tp.load("elbow2r")


@functools.cache
def plan(**settings):
    return tp.excite(ARM, 4.0, limits=LIMITS, starts=1, **settings)


def assert_within(plan, limits, effort=0.9, samples=100_000, terms=("rotor", "viscous", "coulomb", "offset")):
    times = np.random.default_rng(0).uniform(0, plan.duration, samples)
    q, qd, qdd = plan.motion(times)
    joints = limits.spread
    for value, low, high in (
        (q, limits.lower, limits.upper),
        (qd, -limits.velocity, limits.velocity),
        (qdd, -limits.acceleration, limits.acceleration),
    ):
        assert (value @ joints.T >= low - 1e-9).all() and (value @ joints.T <= high + 1e-9).all()
    if effort:
        tau = tp.inverse_dynamics(plan.robot, terms=terms)(q, qd, qdd)
        assert (np.abs(tau) <= effort * limits.effort * (1 + 1e-9)).all()
        bound = plan.certificates["torque"].bound
        assert (np.abs(tau).max(axis=0) <= bound).all() and (bound <= 1.05 * np.abs(tau).max(axis=0)).all()


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"motion": "fourier"},
        {"closed": False},
        {"criterion": "a"},
        {"criterion": "e"},
        {"criterion": "cond"},
        {"criterion": "ds", "only": "forearm.*"},
        {"bandwidth": 2.0},
        {"margin": 0.0},
    ],
    ids=str,
)
def test_motion_keeps_its_limits_at_all_times(settings):
    excitation = plan(**settings)
    assert excitation.certified and not excitation.stopped
    assert_within(excitation, motion_limits(ARM, LIMITS))
    assert excitation.std_factor > (0.2 if settings.get("criterion") == "cond" else 1.0)


def test_promised_errors_are_those_of_a_fit():
    excitation = plan()
    sigma = excitation.sigma
    W = tp.base_parameters(ARM, terms=("viscous", "coulomb")).regressor()(*excitation.motion(excitation.times))
    W = (W / sigma[:, None]).reshape(-1, excitation.base.count)
    np.testing.assert_allclose(excitation.expected, np.sqrt(np.diag(np.linalg.inv(W.T @ W))), rtol=1e-6)
    assert excitation.phi == pytest.approx(
        -np.linalg.slogdet(W.T @ W / len(excitation.times))[1] / excitation.base.count, abs=0.1
    )
    assert excitation.conditioning.full_rank


def test_same_seed_gives_the_same_motion_and_another_one_another():
    again = tp.excite(ARM, 4.0, limits=LIMITS, starts=1)
    np.testing.assert_array_equal(again.motion(1.0).q, plan().motion(1.0).q)
    assert np.abs(plan(seed=3).motion(1.0).q - again.motion(1.0).q).max() > 1e-3


def test_more_starts_are_never_worse():
    assert tp.excite(ARM, 4.0, limits=LIMITS, starts=3).phi <= plan().phi + 1e-9


def test_second_experiment_complements_the_first():
    first = plan(criterion="ds", only="forearm.*")
    second = plan(given=first)
    together = np.linalg.slogdet(second.information)[1]
    assert together > np.linalg.slogdet(2 * first.information)[1]


def test_information_of_earlier_logs_counts():
    excitation = plan()
    time = np.arange(0, excitation.duration, 1e-3)
    state = excitation.motion(time)
    tau = tp.inverse_dynamics(ARM)(*state) + np.random.default_rng(0).normal(0, 0.3, state.q.shape)
    log = tp.Log(time, state.q, tau=tau, names=ARM.joint_names)
    second = plan(given=log)
    # The log has about the information that its design promised, and the new motion adds its own.
    gain = np.linalg.slogdet(second.information)[1] - np.linalg.slogdet(excitation.information)[1]
    assert 0.2 < gain / excitation.base.count < 1.2
    fit = tp.identify(ARM, log, terms=("viscous", "coulomb"))
    assert (plan(sigma=fit).sigma > 0).all()


def test_motion_begins_where_the_robot_stands_and_repeats():
    excitation = tp.excite(ARM, 4.0, limits=LIMITS, starts=1, start=[1.0, -1.0], periods=2)
    np.testing.assert_allclose(excitation.motion(0.0).q, [1.0, -1.0])
    begin = excitation.duration - 8.0
    assert begin >= 1.0
    np.testing.assert_allclose(excitation.motion(begin + 1.0).q, excitation.motion(begin + 5.0).q, atol=1e-12)
    assert_within(excitation, motion_limits(ARM, LIMITS))
    slow = excitation.motion(np.linspace(0, begin, 500)).qd
    assert np.abs(slow).max() <= 0.2 * LIMITS["velocity"] + 1e-9
    expected = plan().expected / np.sqrt(2)
    np.testing.assert_allclose(excitation.expected, expected, rtol=1e-6)


def test_torque_rate_and_jerk_are_kept():
    limits = {**LIMITS, "jerk": 100.0, "torque_rate": 100.0}
    excitation = tp.excite(ARM, 4.0, limits=limits, starts=1)
    time = np.linspace(0, 4, 400_001)
    state = excitation.motion(time)
    rate = np.diff(tp.inverse_dynamics(ARM)(*state), axis=0) / np.diff(time)[:, None]
    assert np.abs(rate).max() <= 100.0
    assert np.abs(np.diff(state.qdd, axis=0) / np.diff(time)[:, None]).max() <= 100.0
    assert set(excitation.certificates) >= {"jerk", "torque rate"}


def test_torque_holds_for_parameters_that_are_off():
    excitation = plan(uncertainty=0.2)
    state = excitation.motion(np.linspace(0, 4, 20_001))
    Y, pi = tp.regressor(ARM)(*state), ARM.parameters.values
    rng = np.random.default_rng(0)
    for _ in range(50):
        tau = Y @ (pi * (1 + rng.choice([-0.2, 0.2], len(pi))))
        assert np.abs(tau).max() <= 0.9 * 60.0


def test_coupled_joints_keep_the_limits_of_joints():
    arm = ARM.with_coupling([[1, 0], [-1, 1]])
    excitation = tp.excite(arm, 4.0, limits=LIMITS, starts=1)
    assert excitation.certified
    assert_within(excitation, motion_limits(arm, LIMITS))


MIMIC = """<robot name="follower">
  <link name="base"/>
  {links}
  <joint name="j1" type="revolute"><parent link="base"/><child link="l1"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" velocity="3" effort="80"/></joint>
  <joint name="j2" type="revolute"><parent link="l1"/><child link="l2"/><origin xyz="0.4 0 0"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" velocity="3" effort="60"/></joint>
  <joint name="j3" type="revolute"><parent link="l2"/><child link="l3"/><origin xyz="0.4 0 0"/><axis xyz="0 1 0"/>
    <mimic joint="j2" multiplier="-0.5" offset="0.2"/>
    <limit lower="0" upper="0.5" velocity="0.4" effort="60"/></joint>
</robot>"""
MIMIC_LINK = """<link name="l{}"><inertial><origin xyz="0.2 0 0.02"/><mass value="2"/>
  <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.03"/></inertial></link>"""


def test_joint_that_follows_another_keeps_limits_of_its_own(tmp_path):
    """j3 = 0.2 - j2 / 2 within 0 to 0.5 and 0.4 rad/s, seen in the poses of the links: tighter than j2's own limits."""
    path = tmp_path / "follower.urdf"
    path.write_text(MIMIC.format(links="\n".join(MIMIC_LINK.format(k) for k in (1, 2, 3))))
    arm = tp.load(path)
    excitation = tp.excite(arm, 4.0, starts=1, capsules="none")
    assert arm.n == 2 and excitation.certified
    time = np.linspace(0, 4, 40_001)
    q = excitation.motion(time).q
    poses = [tp.forward_kinematics(arm, name)(q)[:, :3, :3] for name in ("l2", "l3")]
    turn = np.swapaxes(poses[0], 1, 2) @ poses[1]
    angle = np.arctan2(turn[:, 0, 2], turn[:, 0, 0])
    assert angle.min() >= 0 and angle.max() <= 0.5
    assert np.abs(np.diff(angle)).max() <= 0.4 * (time[1] - time[0]) * (1 + 1e-9)
    # ... and they are what binds: 5 % is the margin, 4 % what an optimum may leave.
    used = dict(zip(excitation.certificates["velocity"].joints, excitation.certificates["velocity"].used, strict=True))
    assert used["j3"] > 0.91 and used["j2"] < 0.3


def test_elastic_arm_stays_below_a_third_of_its_lowest_resonance():
    arm = tp.load("zollo2r")
    limits = {"lower": -2.0, "upper": 2.0, "velocity": 3.0, "acceleration": 10.0, "effort": 600.0}
    excitation = tp.excite(arm, 10.0, limits=limits, starts=1)
    note = next(n for n in excitation.notes if "resonance" in n)
    assert "below a third" in note and excitation.certified
    with pytest.raises(tp.TaupiError, match="bandwidth="):
        tp.excite(arm, 10.0, limits=limits, starts=1, bandwidth=100.0)


def test_budget_and_interruption_leave_a_motion_that_is_proven(monkeypatch):
    budgets_by_the_processor(monkeypatch)
    limited = tp.excite(ARM, 4.0, limits=LIMITS, starts=50, budget=0.3)
    assert limited.stopped and limited.certified and len(limited.starts) < 50
    begun = []

    def interrupted(problem, x, stop):
        begun.append(x)
        if len(begun) == 3:  # not before the search has begun: that would interrupt the tests
            threading.Timer(0.05, signal.raise_signal, [signal.SIGINT]).start()
        return rough(problem, x, stop)

    monkeypatch.setattr("taupi.excitation.design.rough", interrupted)
    handler = signal.getsignal(signal.SIGINT)
    stopped = tp.excite(ARM, 4.0, limits=LIMITS, starts=500)
    assert stopped.stopped and stopped.certified and len(stopped.starts) < 500
    assert signal.getsignal(signal.SIGINT) is handler


def test_motion_goes_into_a_simulation_and_back_into_a_fit():
    excitation = plan()
    law = tp.ComputedTorque(ARM, 20.0)
    run = tp.simulate(tp.RigidPlant(ARM), law, excitation.motion, duration=excitation.duration, rate=500, seed=0)
    assert run.complete
    assert np.abs(run.q - excitation.motion(run.time).q).max() < 0.05


def test_result_is_plain_data_and_readable():
    data = json.loads(json.dumps(plan().to_dict(), allow_nan=False))
    assert data["schema"] == "taupi.excitation/1" and data["certified"]
    assert data["motion"][0]["kind"] == "bspline" and len(data["expected"]) == 10
    again = tp.BSpline(data["motion"][0]["points"], data["motion"][0]["duration"])
    np.testing.assert_array_equal(again(1.234).q, plan().motion(1.234).q)
    assert "times smaller than those of random motions" in repr(plan())
    assert "clearance is not checked" in repr(plan())
    assert "<li>" in plan()._repr_html_()


def test_torques_are_told_as_shares_of_the_limits_themselves():
    proof = plan().certificates["torque"]
    assert proof.allowed == 0.9 and proof.used.max() <= 0.9 + 1e-9
    np.testing.assert_array_equal(proof.limit, plan().limits.effort)
    assert "%" in proof.sentence and ", 90% allowed, by" in proof.sentence


def test_a_motion_that_is_worse_than_random_ones_says_so():
    worse = dataclasses.replace(plan(), std_factor=0.5)
    assert "standard deviations 2.00 times larger than those of random motions" in repr(worse)
    assert "times larger standard deviations than random motions" in report_text(worse)


def test_slower_motion_is_proven_again_and_says_that_it_is_slower(tmp_path):
    plan().write(tmp_path / "slow", speed=0.3)
    text = (tmp_path / "slow" / "excitation.txt").read_text()
    assert f"Files have the motion at 0.3 of its speed: {plan().duration / 0.3:.4g} s." in text
    assert "torque at 0.3 of the speed keeps its limits" in text
    data = json.loads((tmp_path / "slow" / "excitation.json").read_text())
    assert data["provenance"]["speed"] == 0.3
    t = np.linspace(0, plan().duration / 0.3, 20_001)
    tau = tp.inverse_dynamics(ARM)(*slowed(plan().motion, 0.3)(t))
    bound = [joint["bound"] for joint in data["certificates"]["torque at 0.3 of the speed"]["joints"].values()]
    assert (np.abs(tau).max(axis=0) <= np.array(bound)).all()


def test_slow_motion_that_gravity_is_too_much_for_is_refused(tmp_path):
    """The limits are put below what the arm needs to stand still where it passes at full speed."""
    t = np.linspace(0, plan().duration, 2001)
    still = np.abs(tp.gravity_torque(ARM)(plan().motion(t).q)).max(axis=0)
    weak = dataclasses.replace(plan(), limits=dataclasses.replace(plan().limits, effort=0.9 * still))
    with pytest.raises(NotIdentifiedError, match=r"torque at 0\.01 of the speed exceeds its limits"):
        weak.write(tmp_path / "slow", speed=0.01)
    assert not (tmp_path / "slow").exists()


def test_slow_motion_whose_torques_change_too_fast_is_refused(tmp_path):
    """An arm that hangs and swings as it would by itself needs hardly any torque; at half of that speed it needs some."""
    hanging, step = np.array([-np.pi / 2, 0.0]), 1e-4 * np.eye(2)
    pull = (tp.gravity_torque(ARM)(hanging + step) - tp.gravity_torque(ARM)(hanging - step)) / 2e-4
    squares, modes = np.linalg.eig(np.linalg.solve(tp.mass_matrix(ARM)(hanging), pull))
    omega = np.sqrt(squares[0].real)
    swing = FourierMotion(hanging, 0.05 * modes[:, :1].real, [[omega]] * 2, duration=2 * np.pi / omega)
    at_most = torque_rate_certificate(ARM, swing, plan().limits).bound
    limits = dataclasses.replace(plan().limits, torque_rate=1.2 * at_most)
    swinging = dataclasses.replace(plan(), motion=swing, limits=limits)
    swinging.write(tmp_path / "full")
    with pytest.raises(NotIdentifiedError, match=r"torque rate at 0\.5 of the speed exceeds its limits"):
        swinging.write(tmp_path / "slow", speed=0.5)
    assert not (tmp_path / "slow").exists()


def test_a_box_is_two_corners_or_six_numbers_with_walls_left_out():
    corners, numbers = [(-1, -1, None), (1, 1, 2)], (-1.0, -1.0, -np.inf, 1.0, 1.0, 2.0)
    assert Margins(box=corners).box == numbers == Margins(box=numbers).box
    assert Margins(box=(-1, -1, None, 1, 1, 2)).box == numbers
    for bad in ((1, 2), 3.0, [(1, 1, 1), (0, 2, 2)], [(1, 1), (2, 2)], (np.inf, 0, 0, 1, 1, 1), "box"):
        with pytest.raises(tp.TaupiError, match=r"box is .* expected x, y, z of the lowest corner"):
            Margins(box=bad)


@pytest.mark.parametrize("uncertainty", [0.0, 0.1])
@pytest.mark.parametrize("stated", ["load", "stribeck", "curve", "spring"])
def test_certified_torque_holds_with_everything_that_a_description_states(stated, uncertainty):
    """What a fit writes into a description, friction that grows with load for example, needs torque as well."""
    size = {"load": 0.2, "stribeck": 5.0, "curve": -3.0, "spring": 4.0}[stated]
    arm = ARM.with_friction(coulomb=1.0)
    if stated == "spring":
        arm = dataclasses.replace(arm, joints=tuple(dataclasses.replace(j, spring=exact(size)) for j in arm.joints))
    else:
        arm = arm.with_friction(coulomb=1.0, **{stated: size})
    motion = plan().motion
    q, qd, qdd = motion(np.linspace(0, motion.duration, 20_001))
    term = tp.terms.Curve(velocity=2.0) if stated == "curve" else stated
    tau = np.abs(tp.inverse_dynamics(arm, terms=("coulomb", term))(q, qd, qdd)).max(axis=0)
    certificate = torque_certificate(arm, motion, motion_limits(arm, LIMITS), 0.9, uncertainty)
    assert (tau * (1 + uncertainty if stated == "load" else 1) <= certificate.bound).all()


@pytest.mark.parametrize(("stated", "size"), [("load", 0.4), ("stribeck", 5.0)])
def test_certified_torque_rates_hold_with_friction_that_changes_between_reversals(stated, size):
    """Dry friction is constant between reversals; friction that grows with load, or falls with speed, is not."""
    arm = ARM.with_friction(coulomb=1.0, **{stated: size})
    motion = plan().motion
    t = np.linspace(0, motion.duration, 20_001)
    q, qd, qdd = motion(t)
    tau = tp.inverse_dynamics(arm, terms=("coulomb", stated))(q, qd, qdd)
    goes_on = (qd[1:] * qd[:-1] > 0) & (np.sign(tau[1:]) == np.sign(tau[:-1]))
    rates = np.abs(np.diff(tau, axis=0) / np.diff(t)[:, None] * goes_on).max(axis=0)
    certificate = torque_rate_certificate(arm, motion, motion_limits(arm, {**LIMITS, "torque_rate": 1000.0}))
    assert (rates <= certificate.bound).all()
    curved = arm.with_friction(curve=-0.5)
    other = torque_rate_certificate(curved, motion, motion_limits(curved, {**LIMITS, "torque_rate": 1000.0}))
    assert "curve" in other.how and "curve" not in certificate.how


@pytest.mark.parametrize("uncertainty", [0.0, 0.1])
@pytest.mark.parametrize("smooth", [0.0, 0.3])
def test_certified_torque_holds_with_friction_that_is_dry_at_low_speed(smooth, uncertainty):
    """At 0.02 rad/s a friction that is smoothed over 0.1 rad/s is a fifth of the dry one, which is what the robot has."""
    arm = ARM.with_friction(coulomb=[7.0, 3.0], viscous=[0.5, 0.2])
    limits = motion_limits(arm, LIMITS)
    slow = slowed(plan().motion, 0.01)
    t = np.linspace(0, slow.duration, 20_001)
    q, qd, qdd = slow(t)
    assert np.abs(qd).max() < 0.05
    terms = ("viscous", tp.terms.Coulomb(smooth)) if smooth else ("viscous", "coulomb")
    tau = np.abs(tp.inverse_dynamics(arm, terms=terms)(q, qd, qdd))
    bound = torque_certificate(arm, slow, limits, 0.9, uncertainty).bound
    assert (tau.max(axis=0) <= bound).all()
    # It is no bound by luck: without friction less is needed, by what dry friction takes.
    bare = torque_certificate(ARM, slow, limits, 0.9, uncertainty).bound
    assert (bound - bare > 0.9 * np.array([7.0, 3.0])).all()
    if not smooth and not uncertainty:
        assert (bound <= 1.05 * tau.max(axis=0)).all()
