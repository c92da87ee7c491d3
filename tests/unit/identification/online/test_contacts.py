"""Contacts: thresholds from tails, pushes in simulation (when, where, how hard), with and without friction that follows."""

import dataclasses
import json
from types import SimpleNamespace

import numpy as np
import pytest
from fits import friction_fit, friction_log
from online import panda, panda_log, panda_observer
from refusals import refused
from support import error

import taupi as tp
from taupi.identification.online.contacts import ContactDetector, contact_force
from taupi.identification.online.thresholds import (
    Calibration,
    Residuals,
    Tail,
    Thresholds,
    _shape_at_rest,
    _shape_in_motion,
    felt_torque,
    find_thresholds,
    raised_by_left_out,
    read_thresholds,
    with_together,
    write_thresholds,
)

# The acceptance: a push of 10 N on the elbow is seen within 10 ms.
SEEN_WITHIN = 0.010
PUSH = (1.5, 1.9, (0.0, 10.0, 0.0))


@pytest.fixture(scope="module")
def quiet():
    return panda_log(2, 20.0)


@pytest.mark.parametrize("tracker", [False, True])
def test_a_push_on_the_elbow_is_felt_at_once_and_placed(quiet, tracker):
    detector = panda_observer(tracker).calibrated(quiet)
    assert detector.contacts(panda_log(3, 3.0)) == []
    pushed = panda_log(4, 3.0, PUSH)
    (contact,) = detector.contacts(pushed)
    assert 0 < contact.start - PUSH[0] < SEEN_WITHIN
    assert abs(contact.end - PUSH[1]) < 0.05
    assert contact.joint in ("panda_joint1", "panda_joint2", "panda_joint3")
    at = np.searchsorted(pushed.time, contact.peak)
    elbow = tp.forward_kinematics(panda(), frame="panda_link4")(pushed.q[at])[:3, 3]
    assert np.linalg.norm(contact.force.point - elbow) < 0.15
    assert abs(contact.force.size - 10) < 3 and contact.force.force[1] > 7
    assert contact.level > 1 and contact.force.unexplained < 0.3
    assert "panda_link" in str(contact) and contact.to_dict()["force"]["link"] == contact.link
    # Sample by sample it is the same.
    state, levels = detector.init(), []
    signals = detector.observer.log_signals(pushed)[1]
    for k in range(1600):
        level, state = detector.step(state, *(x[k] for x in signals), 0.001)
        levels.append(level.max())
    assert pushed.time[np.flatnonzero(np.array(levels) > 1)[0]] == pytest.approx(contact.start)


def test_a_friction_tracker_does_not_learn_a_contact(quiet):
    """A push that lasts is still felt at its end: what is above half of the threshold is no drift."""
    detector = panda_observer(tracker=True).calibrated(quiet)
    pushed = panda_log(5, 3.0, (0.5, 2.9, (0.0, 25.0, 0.0)))
    tau_ext, _ = detector.levels(pushed)
    plain = panda_observer().external_torque(pushed)
    end = (pushed.time > 2.6) & (pushed.time < 2.85)
    assert np.abs(tau_ext[end] - plain[end]).max() < 0.15 * np.abs(plain[end]).max()


def test_thresholds_are_kept_in_a_file_and_say_what_logs_can_show(quiet, tmp_path):
    detector = panda_observer().calibrated(quiet, false_alarms_per_hour=10)
    thresholds = detector.thresholds
    assert thresholds.hours == pytest.approx(20 / 3600, rel=1e-3)
    seen, most = thresholds.alarms_per_hour
    assert seen == thresholds.alarms / thresholds.hours
    if thresholds.alarms == 0:  # the rule of three: no event in T excludes 3 / T
        assert most == pytest.approx(3 / thresholds.hours, rel=2e-3)
    assert "10 false alarms per hour" in thresholds.sentence
    write_thresholds(thresholds, tmp_path / "t.json")
    again = read_thresholds(tmp_path / "t.json", panda())
    assert repr(again) == repr(thresholds) and again.to_dict() == thresholds.to_dict()
    log = panda_log(4, 3.0, PUSH)
    same = ContactDetector(detector.observer, again)
    assert error(same.levels(log)[1], detector.levels(log)[1]) == 0
    fewer = panda_observer().calibrated(quiet, false_alarms_per_hour=0.1).thresholds
    assert (fewer.torques > thresholds.torques).all()
    with pytest.raises(tp.TaupiError, match="has thresholds of panda_joint1"):
        read_thresholds(tmp_path / "t.json", tp.load("elbow2r"))
    (tmp_path / "no.json").write_text("{}")
    with pytest.raises(tp.TaupiError, match="holds no thresholds"):
        read_thresholds(tmp_path / "no.json", panda())


def test_thresholds_belong_to_the_residual_of_one_observer(quiet, tmp_path):
    thresholds = tp.momentum_observer(panda(), bandwidth_hz=8).calibrated(quiet).thresholds
    write_thresholds(thresholds, tmp_path / "t.json")
    again = read_thresholds(tmp_path / "t.json", panda())
    assert (again.bandwidth_hz, again.tracked) == (8.0, False)
    with pytest.raises(tp.TaupiError, match=r"for an observer of 8 Hz without a tracker.*this one is of 20 Hz without"):
        ContactDetector(tp.momentum_observer(panda()), again)
    tracked = panda_observer(tracker=True).calibrated(quiet).thresholds
    assert tracked.tracked
    with pytest.raises(tp.TaupiError, match="with a tracker of friction, this one is of 20 Hz without"):
        ContactDetector(panda_observer(), tracked)


def test_thresholds_with_a_tracker_hold_before_it_has_learnt(quiet):
    """Those of a residual that has always learnt would be too low: an alarm in the quiet log, here and in the elbow's."""
    tracked, plain = (panda_observer(tracker).calibrated(quiet) for tracker in (True, False))
    assert (tracked.thresholds.torques >= plain.thresholds.torques).all()
    assert tracked.thresholds.alarms == 0 and not tracked.contacts(panda_log(4, 3.0))
    log = friction_log(2)
    elbow = tp.momentum_observer(friction_fit(), 10, tracker=True).calibrated(log)
    assert elbow.thresholds.alarms == 0 and not elbow.contacts(log) and not elbow.contacts(friction_log(3))


def test_tails_extrapolate_to_rare_events():
    """Exponential excesses: the level that is exceeded once per hour, from a tenth of it; a bounded tail stays in its bound."""
    rng = np.random.default_rng(0)
    peaks = rng.exponential(2.0, 20_000)
    tail = Tail.of([peaks[:10_000], peaks[10_000:]])
    # 20 000 peaks in 0.1 h: one in 200 000 peaks exceeds what is exceeded once per hour.
    assert tail.exceeded(1.0, 0.1, 0.0) == pytest.approx(2 * np.log(200_000), rel=0.05)
    bounded = Tail.of([rng.uniform(0, 1, 20_000)])
    for shape in (_shape_in_motion, _shape_at_rest):
        assert shape([tail]) == pytest.approx(0, abs=0.1) and shape([]) == 0
        assert shape([bounded]) == -0.75
        # The tails of short logs are taken for heavier.
        assert -0.75 < shape([Tail.of([rng.uniform(0, 1, 60)])]) <= 0
    # Excesses over the 80 % quantile of a triangle have c = -1/2.
    triangle = Tail.of([1 - np.sqrt(rng.uniform(0, 1, 100_000))])
    assert _shape_in_motion([triangle]) == pytest.approx(-0.5, abs=0.03)
    assert _shape_at_rest([triangle]) == pytest.approx(-0.5, abs=0.1)
    assert 0.97 < bounded.exceeded(1.0, 0.1, -0.75) < 1.1
    assert Tail.of([np.full(5, 3.0)]).exceeded(1.0, 1.0, 0.0) == 3.0
    spoilt = Tail.of([np.append(peaks, [1e6])])
    assert spoilt.exceeded(1.0, 0.1, 0.0) == pytest.approx(tail.exceeded(1.0, 0.1, 0.0), rel=1e-2)


def test_a_promise_of_false_alarms_is_kept():
    """From four minutes of noise: in three further hours about as many alarms as were asked for, of joints alone and together."""
    rate, asked = 100, 2.0
    sizes = np.array([0.1, 1.0, 3.0])

    def noise(seconds, seed):
        rng = np.random.default_rng(seed)
        white = rng.normal(size=(seconds * rate, 3)) * sizes
        time = np.arange(len(white)) / rate
        log = tp.Log(time, np.zeros_like(white), tau=white)
        return Residuals.along(log, white, np.ones_like(white))

    known = [noise(60, seed) for seed in range(4)]
    alone = find_thresholds(("a", "b", "c"), np.full(3, 0.01), known, Calibration(asked))
    thresholds = with_together(alone, known)
    assert 1 <= thresholds.together < np.sqrt(3) and alone.together == np.inf
    assert np.ptp(alone.torques / sizes[:, None]) < 0.35 * alone.torques[0, 1] / sizes[0]  # noise scales thresholds
    later = noise(3 * 3600, 9)
    above = (later.torque > thresholds.torques[:, 2]).any(axis=1) | (thresholds.norm(later) > thresholds.together)
    # 99.9 % of counts with a mean of 6 are below 15.
    assert above.sum() < 15
    # What single samples have is no measure: thresholds of |r| are far higher.
    white = np.abs(np.random.default_rng(9).normal(size=(3 * 3600 * rate, 3)) * sizes)
    assert ((white > thresholds.torques[:, 2]).any(axis=1)).sum() > 100


def test_what_is_felt_lasts_two_samples():
    r = np.array([[3.0], [2.0], [-4.0], [-5.0], [0.0]])
    assert felt_torque(r).ravel().tolist() == [0, 2, 0, 4, 0]


def test_joints_feel_together_what_none_feels_alone(quiet):
    """Levels are shares of thresholds, raised where their norm is above that of all joints together."""
    detector = panda_observer().calibrated(quiet)
    pushed = panda_log(4, 3.0, PUSH)
    level = detector.levels(pushed)[1]
    alone = ContactDetector(detector.observer, dataclasses.replace(detector.thresholds, together=np.inf))
    shares = alone.levels(pushed)[1]
    norm, most = np.linalg.norm(shares, axis=1), shares.max(axis=1)
    factor = np.maximum(norm / detector.thresholds.together / np.maximum(most, 1e-9), 1.0)
    assert error(level, shares * factor[:, None]) < 1e-12 and (factor > 1).any()
    together, first = (np.flatnonzero(x.max(axis=1) > 1)[0] for x in (level, shares))
    assert together <= first
    again = Thresholds.from_dict(detector.thresholds.to_dict())
    assert again.together == detector.thresholds.together
    assert "together" not in alone.thresholds.to_dict()


def test_standing_joints_may_hold_their_friction():
    """At rest a joint holds up to its breakaway friction: no contact, whatever the quiet logs had; in motion it is one."""
    arm = tp.load("elbow2r").with_friction(coulomb=[4.0, 2.0])
    terms = (tp.terms.Coulomb(0.02),)
    observer = tp.momentum_observer(arm, terms=terms)
    t = np.arange(0, 20, 0.002)
    w = np.array([1.0, 1.7])
    q, qd, qdd = np.sin(np.outer(t, w)), w * np.cos(np.outer(t, w)), -w * w * np.sin(np.outer(t, w))
    noise = 0.05 * np.random.default_rng(0).normal(size=q.shape)
    tau = tp.inverse_dynamics(arm, terms=terms)(q, qd, qdd) + noise
    detector = observer.calibrated(tp.Log(t, q, qd=qd, tau=tau, names=arm.joint_names))
    rest = np.zeros(2)
    held = tp.gravity_torque(arm)([0.2, 0.3])
    for share, contact in ((1.4, False), (1.7, True)):
        state = detector.init()
        for _ in range(200):
            level, state = detector.step(state, [0.2, 0.3], rest, held + share * np.array([0.0, 2.0]), 0.002)
        assert bool(level[1] > 1) is contact and level[0] < 0.1


def test_one_sample_is_no_contact():
    arm = tp.load("elbow2r")
    t = np.arange(4000) / 1000
    noise = 0.02 * np.random.default_rng(0).normal(size=(4000, 2))
    tau = tp.gravity_torque(arm)([0.2, 0.3]) + noise
    log = tp.Log(t, np.tile([0.2, 0.3], (4000, 1)), qd=np.zeros((4000, 2)), tau=tau, names=arm.joint_names)
    detector = tp.momentum_observer(arm, bandwidth_hz=500).calibrated(log)
    jerk, push = np.zeros((4000, 2)), tau.copy()
    jerk[2000] = 7e-5
    push[2000:2010] += 5.0
    assert (np.abs(detector.levels(log.with_(qd=jerk))[0]).max(axis=0) > 1.5 * detector.thresholds.torques[:, 0]).any()
    assert detector.contacts(log.with_(qd=jerk)) == []
    assert len(detector.contacts(log.with_(tau=push))) == 1


def test_a_push_on_a_sliding_joint_is_a_force():
    """A slide and a turning link, each pushed for a while: N and N m."""
    links = [{"m": 3.0, "com": (0, 0, 0), "inertia": np.diag([0.1] * 3).tolist()}] * 2
    rows = [
        {"a": 0.0, "alpha": np.pi / 2, "d": 0.0, "theta": 0.0, "joint": "prismatic"},
        {"a": 0.5, "alpha": 0.0, "d": 0.0, "theta": 0.0, "joint": "revolute"},
    ]
    arm = tp.Robot.from_dh(rows, links=links)
    t = np.arange(8000) / 1000
    tau = tp.gravity_torque(arm)([0.1, 0.2]) + 0.02 * np.random.default_rng(0).normal(size=(8000, 2))
    log = tp.Log(t, np.tile([0.1, 0.2], (8000, 1)), qd=np.zeros((8000, 2)), tau=tau, names=arm.joint_names)
    pushed = tau.copy()
    pushed[2000:3000, 0] -= 7.0
    pushed[5000:6000, 1] -= 3.0
    slide, turn = tp.momentum_observer(arm).calibrated(log).contacts(log.with_(tau=pushed))
    assert (slide.unit, turn.unit) == ("N", "N m")
    assert slide.torque == pytest.approx(7.0, abs=0.2) and turn.torque == pytest.approx(3.0, abs=0.2)
    assert " N at most" in str(slide) and " N m at most" in str(turn)
    assert slide.to_dict()["unit"] == "N"


def test_the_force_is_that_of_the_jacobian():
    arm = tp.load("panda")
    q = np.array([0.2, -0.4, 0.3, -1.9, 0.1, 1.7, 0.4])
    force = np.array([4.0, -7.0, 5.0])
    tau = tp.jacobian(arm, frame="tip")(q)[3:].T @ force
    result = contact_force(arm, 6, q, tau, np.full(7, 0.01))
    assert result.link == "panda_link7" and error(result.force, force) < 0.05 and result.share == 1.0
    assert error(result.point, tp.forward_kinematics(arm, frame="tip")(q)[:3, 3]) < 1e-9
    assert result.unexplained < 1e-3


def test_refusals():
    observer = panda_observer()
    with pytest.raises(tp.TaupiError, match="logs is empty"):
        observer.calibrated([])
    with refused("false_alarms_per_hour", got=0):
        observer.calibrated([panda_log(2, 20.0)], false_alarms_per_hour=0)
    with refused("breakaway", got=-1):
        observer.calibrated([panda_log(2, 20.0)], breakaway=-1)
    with pytest.raises(tp.TaupiError, match="joints"):
        observer.calibrated(tp.Log([0.0, 1.0], np.zeros((2, 2)), tau=np.zeros((2, 2))))
    assert Thresholds.__doc__


@pytest.mark.parametrize(
    ("path", "value", "sentence"),
    [
        ("joints/elbow/torques/0", float("nan"), "a torque of elbow is nan, expected a finite number above 0."),
        ("joints/elbow/torques/0", "nan", "a torque of elbow is nan, expected a finite number above 0."),
        ("joints/elbow/torques/1", float("inf"), "a torque of elbow is inf, expected a finite number above 0."),
        ("joints/elbow/torques/1", -1.0, "a torque of elbow is -1.0, expected a finite number above 0."),
        ("joints/elbow/speeds", [0.2, 0.1], "speeds of elbow are [0.2, 0.1], expected finite ones in rising order."),
        ("joints/elbow/speeds", [0.0, "inf"], "speeds of elbow are [0.0, inf], expected finite ones in rising order."),
        ("joints/elbow/standing", "nan", "standing of elbow is nan, expected a finite number above 0."),
        ("joints/elbow/standing", -1, "standing of elbow is -1.0, expected a finite number above 0."),
        ("joints/elbow/speeds", [], "the joints do not all have the same number of speeds and torques."),
        ("joints/elbow/torques", [1, 2, 3], "the joints do not all have the same number of speeds and torques."),
        ("hours", 0, "hours is 0.0, expected a finite number above 0."),
        ("alarms", -2, "alarms is -2, expected a whole number of at least 0."),
        ("alarms", 2.5, "is damaged: alarms is 2.5, expected a whole number. Write thresholds with taupi contacts"),
        ("breakaway", None, "breakaway: None is not a number."),
        ("bandwidth_hz", 1e300, "bandwidth_hz is 1e+300, expected at most 1e+06 Hz."),
        ("together", 0.5, "together is 0.5, expected at least 1."),
        ("schema", 99, "has schema 99, this version reads 2."),
        ("joints", {}, "each joint needs as many speeds as torques, two at least, and one standing."),
    ],
)
def test_a_file_of_thresholds_holds_numbers_that_can_be_some(path, value, sentence, tmp_path):
    arm, knots = tp.load("elbow2r"), np.array([[0.0, 0.1]] * 2)
    good = Thresholds(arm.joint_names, knots, np.ones((2, 2)), np.ones(2), Calibration(), hours=2.0)
    write_thresholds(good, tmp_path / "t.json")
    assert read_thresholds(tmp_path / "t.json", arm).to_dict() == good.to_dict()
    data = json.loads((tmp_path / "t.json").read_text())
    *folders, last = path.split("/")
    place = data
    for folder in folders:
        place = place[folder]
    place[int(last) if isinstance(place, list) else last] = value
    (tmp_path / "t.json").write_text(json.dumps(data))
    with pytest.raises(tp.TaupiError) as refused:
        read_thresholds(tmp_path / "t.json", arm)
    assert sentence in str(refused.value)


def test_the_upper_limit_of_a_rate_is_that_of_poisson():
    """95 % limits of the mean of a Poisson variable after 0, 1 and 5 events: 2.996, 4.744 and 10.513 (any table)."""
    one = Thresholds(("a",), np.array([[0.0, 0.1]]), np.ones((1, 2)), np.ones(1), Calibration(), hours=2.0)
    for alarms, limit in ((0, 2.996), (1, 4.744), (5, 10.513)):
        seen, most = dataclasses.replace(one, alarms=alarms).alarms_per_hour
        assert seen == alarms / 2 and most == pytest.approx(limit / 2, rel=1e-3)


def test_the_outermost_joint_that_is_above_its_threshold_is_named():
    """Shares of 1.5 and 0.9 on the two outer joints of three: the middle one felt it."""
    arm = tp.load("planar3r").bind(l1=1, l2=1, l3=1)
    detector = SimpleNamespace(robot=arm, _at_threshold=lambda log, row: np.ones(3))
    log = tp.Log(np.arange(5) / 100, np.tile([0.1, 0.2, 0.3], (5, 1)))
    level = np.tile([3.0, 1.5, 0.9], (5, 1))
    contact = ContactDetector._contact(detector, log, level.copy(), level, np.arange(1, 3))
    assert contact.joint == arm.joint_names[1] and contact.level == 3.0


@pytest.mark.parametrize(("share", "learnt"), [(0.75, False), (0.25, True)])
def test_what_is_above_half_of_the_threshold_is_not_learnt(share, learnt):
    """A steady torque from outside, in motion, below the alarm: near it, it may be a contact, and friction stays as it was."""
    observer, plain = (tp.momentum_observer(friction_fit(), 10, tracker=tracked) for tracked in (True, False))
    names, level = observer.robot.joint_names, 0.4
    thresholds = Thresholds(
        names, np.array([[0.0, 0.01]] * 2), np.full((2, 2), level), np.full(2, 1e-3), Calibration(breakaway=1e-6),
        hours=1.0, bandwidth_hz=10.0, tracked=True,
    )  # fmt: skip
    log = friction_log(5, noise=0.0)
    pushed = log.with_(tau=log.tau - share * level)
    followed, felt = ContactDetector(observer, thresholds).levels(pushed)[0], plain.external_torque(pushed)
    taken = np.abs(followed - felt)[-200:].mean() / (share * level)
    assert (taken > 0.2) if learnt else (taken < 0.02)


SHOULDERS = """<mujoco><worldbody>
  <body name="trunk"><joint name="x" type="slide" axis="1 0 0"/><joint name="y" type="slide" axis="0 1 0"/>
    <joint name="turn" axis="0 0 1"/><joint name="lean" axis="0 1 0"/><joint name="tilt" axis="1 0 0"/>
    <inertial pos="0 0 0.2" mass="3" diaginertia="0.1 0.1 0.1"/>
    <body name="left" pos="0 0.4 0.5"><joint name="left" axis="0 1 0"/>
      <inertial pos="0.1 0 0" mass="1" diaginertia="0.01 0.01 0.01"/></body>
    <body name="right" pos="0.1 -0.4 0.6"><joint name="right" axis="0 1 0"/>
      <inertial pos="0.1 0 0" mass="1" diaginertia="0.01 0.01 0.01"/></body>
  </body></worldbody></mujoco>"""


@pytest.mark.parametrize("arm", ["left", "right"])
def test_a_force_is_looked_for_towards_every_joint_that_follows(arm, tmp_path):
    """A trunk that carries two arms: a push half-way to either shoulder is found there."""
    (tmp_path / "two.xml").write_text(SHOULDERS)
    robot, q = tp.load(tmp_path / "two.xml"), np.array([0.1, 0.2, 0.3, -0.5, 0.7, 0.2, 0.1])
    trunk, shoulder = (tp.forward_kinematics(robot, frame=frame)(q)[:3, 3] for frame in ("trunk", arm))
    jacobian, force = tp.jacobian(robot, frame="trunk")(q), np.array([8.0, -5.0, 6.0])
    lever = np.cross(jacobian[:3].T, (shoulder - trunk) / 2) + jacobian[3:].T
    result = contact_force(robot, 4, q, lever @ force, np.full(7, 0.01))
    assert result.share == 0.5 and result.link == "trunk" and error(result.point, (trunk + shoulder) / 2) < 1e-6
    assert error(result.force, force) < 0.05


def test_thresholds_hold_where_the_model_errs_more_than_it_was_seen_to():
    """A residual that depends on the position: left-out regions raise thresholds, and say how many alarms they had."""
    rng, t = np.random.default_rng(0), np.arange(60_000) / 1000
    arm = tp.load("elbow2r")
    q = np.stack([np.sin(0.9 * t), np.cos(0.55 * t)], axis=1)
    log = tp.Log(t, q)

    def residuals(bump):
        torque = 0.1 * rng.normal(size=q.shape) * (1 + bump * (q[:, :1] > 0.7))
        return [Residuals.along(log, np.repeat(torque[::2], 2, axis=0), np.gradient(q, t, axis=0))]

    calibration, found = Calibration(), []
    for bump in (0.0, 6.0):
        seen = residuals(bump)
        own = find_thresholds(arm.joint_names, np.full(2, 0.01), seen, calibration)
        found.append(raised_by_left_out(with_together(own, seen), seen, calibration))
    even, uneven = found
    assert even.raised == 1.0 and even.left_out <= 1
    assert uneven.raised > 1.01 and uneven.left_out > 0 and f"{uneven.left_out}" in uneven.sentence
    back = Thresholds.from_dict(uneven.to_dict())
    assert back.raised == uneven.raised and back.left_out == uneven.left_out
