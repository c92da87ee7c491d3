"""The verdict on a fit: each cause by a simulated log that has the mistake, and none on one that has not."""

import dataclasses
import json

import numpy as np
import pytest
import spoilt
from excite import fourier
from fits import friction_fit

import taupi as tp
from taupi.errors import NotIdentifiedError, TaupiWarning
from taupi.identification.results.verdict import Level, Reason, Verdict
from taupi.identification.verdict.causes import cause_names
from taupi.identification.verdict.sample import heads_of
from taupi.identification.verdict.trials import Mending, Trials
from taupi.model.robot_parts import Limits
from taupi.signals.checking import rules

FRICTION = ("rotor", "viscous", "coulomb", "offset")


@pytest.fixture(scope="module")
def arm():
    """The first three joints of a PUMA, which is a whole arm, with friction; its description is off by a tenth."""
    rng = np.random.default_rng(3)
    bodies = [
        {"m": 12.0, "com": (-0.05, 0.02, 0.1), "inertia": np.diag([0.4, 0.5, 0.3]).tolist()},
        {"m": 9.0, "com": (-0.2, 0.03, 0.05), "inertia": np.diag([0.1, 0.4, 0.4]).tolist()},
        {"m": 4.0, "com": (0.03, -0.04, 0.12), "inertia": np.diag([0.06, 0.05, 0.02]).tolist()},
    ]
    frames = [
        {"a": 0.05, "alpha": np.pi / 2, "d": 0.4, "theta": 0, "joint": "revolute"},
        {"a": 0.43, "alpha": 0, "d": 0.15, "theta": 0, "joint": "revolute"},
        {"a": 0.1, "alpha": -np.pi / 2, "d": 0.05, "theta": 0, "joint": "revolute"},
    ]
    robot = tp.Robot.from_dh(frames, links=bodies, name="arm3")
    moving = robot.with_friction(viscous=[3.0, 2.5, 1.0], coulomb=[4.0, 3.0, 1.5], offset=[0.2, -0.1, 0.1])
    description = robot.with_parameters(robot.parameters.values * rng.uniform(0.9, 1.1))
    return description, moving


@pytest.fixture(scope="module")
def log(arm):
    """A log of it, as a robot records it."""
    return fourier(arm[1], FRICTION, 5, 4000, 200.0, noise=0.3)


def judged(robot, log, terms=FRICTION, **settings):
    """Return the verdict on a fit, whose warning is expected."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TaupiWarning)
        return tp.identify(robot, log, terms=terms, **settings).verdict


def test_a_good_fit_has_a_good_verdict(arm, log):
    verdict = judged(arm[0], log)
    assert verdict.level == "good" and verdict.reasons == ()


MOTION = ("q", "qd")
MISTAKES = {
    "degrees": (spoilt.degrees, "degrees", ()),
    "seconds as milliseconds": (lambda log: spoilt.milliseconds(log, 1e-3), "milliseconds", ()),
    "swapped": (lambda log: spoilt.swapped(log, 0, 1), "swapped", ("joint1", "joint2")),
    "torques swapped": (lambda log: spoilt.swapped(log, 1, 2, ("tau",)), "swapped", ("joint2", "joint3")),
    "positions swapped": (lambda log: spoilt.swapped(log, 0, 2, MOTION), "swapped", ("joint1", "joint3")),
    "sign of tau": (lambda log: spoilt.flipped(log, 1, ("tau",)), "sign", ("joint2",)),
    "sign of q": (lambda log: spoilt.flipped(log, 1, MOTION), "sign", ("joint2",)),
    "all signs": (lambda log: log.with_(tau=-log.tau), "sign", ()),
    "gear": (lambda log: spoilt.scaled(log, 1, 5.0), "torque_factor", ("joint2",)),
    "mN m": (lambda log: log.with_(tau=1000 * log.tau), "torque_unit", ()),
    "offset": (lambda log: spoilt.offset(log, 1, 1.0), "offset", ("joint2",)),
    "wrapped": (lambda log: spoilt.wrapped(log, 1), "wrapped", ("joint2",)),
    "spike": (lambda log: spoilt.spiked(log, 1), "spikes", ("joint2",)),
    "clipped": (lambda log: spoilt.clipped(log, 0.5), "clipped", ("joint1", "joint2", "joint3")),
    "delay": (lambda log: spoilt.delayed(log, 0.05), "delay", ()),
    "noise": (spoilt.noise, "unrelated", ()),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_named(mistake, arm, log):
    change, cause, joints = MISTAKES[mistake]
    verdict = judged(arm[0], change(log))
    assert verdict.level != "good"
    assert cause in verdict.causes, verdict
    reason = next(reason for reason in verdict.details if reason.cause == cause)
    assert reason.joints == joints and any(character.isdigit() for character in reason.sentence)
    assert reason.numbers and all(np.isfinite(value) for value in reason.numbers.values())


def test_the_sentence_has_the_errors(arm, log):
    verdict = judged(arm[0], spoilt.degrees(log))
    reason = next(reason for reason in verdict.details if reason.cause == "degrees")
    before, after = reason.numbers["error_before"], reason.numbers["error_after"]
    assert before > 0.3 and after < 0.05
    assert reason.sentence.startswith("q looks like degrees: with radians the error falls from ")
    assert f" to {100 * after:.2g} %" in reason.sentence and "unit = 'deg'" in reason.remedy


def test_numbers_of_a_mistake(arm, log):
    """What was done to the log comes back: the oracle is the change itself."""
    for mistake, cause, name, size, tolerance in (
        ("gear", "torque_factor", "factor", 1 / 5, 0.1),
        ("mN m", "torque_unit", "factor", 1000, 0.3),
        ("offset", "offset", "offset", 1.0, 0.1),
        ("delay", "delay", "delay", 0.05, 0.2),
        ("spike", "spikes", "largest", 1e6, 0.01),
    ):
        details = judged(arm[0], MISTAKES[mistake][0](log)).details
        reason = next(reason for reason in details if reason.cause == cause)
        assert reason.numbers[name] == pytest.approx(size, rel=tolerance), mistake


@pytest.mark.parametrize(("gravity", "shown"), [((9.81, 0, 0), "along +x"), ((0, 6.94, -6.94), "45 degrees away")])
def test_a_robot_that_is_mounted_another_way(gravity, shown, arm):
    verdict = judged(arm[0], fourier(arm[1].with_gravity(gravity), FRICTION, 5, 4000, 200.0, noise=0.3))
    assert verdict.level != "good" and "gravity_direction" in verdict.causes
    reason = next(reason for reason in verdict.details if reason.cause == "gravity_direction")
    assert shown in reason.sentence
    direction = [reason.numbers[f"gravity_{axis}"] for axis in "xyz"]
    assert direction == pytest.approx(gravity, abs=0.3)


def test_gravity_that_was_compensated(arm, log):
    gravity = tp.gravity_torque(arm[1])(log.q)
    verdict = judged(arm[0], log.with_(tau=log.tau - gravity))
    assert verdict.level != "good" and "gravity_compensated" in verdict.causes


def test_a_run_with_another_load(arm, log):
    loaded = arm[1].with_parameters(arm[1].parameters.values + np.r_[np.zeros(20), 3.0, 0.3, 0, 0.3, np.zeros(6)])
    second = fourier(loaded, FRICTION, 6, 4000, 200.0, noise=0.3)
    verdict = judged(arm[0], [log, second])
    reason = next(reason for reason in verdict.details if reason.cause == "payload")
    assert verdict.level != "good" and abs(reason.numbers["mass"]) == pytest.approx(3.0, rel=0.3)


def test_joints_out_of_their_limits_are_swapped():
    """Two joints that friction explains as well when exchanged, but not within the limits of the description."""
    frames = [
        {"a": 0, "alpha": 0, "d": 0, "theta": 0, "joint": "prismatic"},
        {"a": 0.3, "alpha": 0, "d": 0, "theta": 0, "joint": "revolute"},
    ]
    limits = [Limits(0.0, 0.35), Limits(-1.5, 1.5)]
    lift = tp.Robot.from_dh(frames, limits=limits, name="lift", gravity=(0, 0, 0))
    t = np.arange(4000) / 100
    q = np.stack([0.17 + 0.12 * np.sin(t), 1.2 * np.sin(1.3 * t)], axis=1)
    qd = np.stack([0.12 * np.cos(t), 1.56 * np.cos(1.3 * t)], axis=1)
    tau = 2.0 * np.tanh(qd / 0.01) + 0.1 * np.random.default_rng(0).normal(size=q.shape)
    recorded = tp.Log(t, q, tau=tau, names=lift.joint_names)
    assert judged(lift, recorded).level == "good"
    verdict = judged(lift, spoilt.swapped(recorded, 0, 1))
    reason = next(reason for reason in verdict.details if reason.cause == "swapped")
    assert verdict.level == "doubtful" and "within the limits" in reason.sentence and reason.joints == lift.joint_names


def test_a_smoothed_motion_is_changed_as_a_recorded_one(arm, log, monkeypatch):
    """Exchanging, turning and shifting commute with filters: the oracle is the change of the log before it is prepared."""
    problems = []
    monkeypatch.setattr(
        "taupi.identification.verdict.judge.judge", lambda fit, problem: problems.append(problem) or Verdict()
    )
    judged(arm[0], log)
    trials = Trials(problems[0], heads_of(problems[0].recordings))
    motion, shift = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]]), np.array([0.3, 0, -0.2])

    def change(recorded):
        return recorded.with_(
            **{name: v @ motion.T + shift * (name == "q") for name, v in recorded.signals.items() if name != "tau"}
        )

    quick, slow = trials.errors(Mending(motion=motion, shift=shift)), trials.errors(Mending(change))
    assert quick.joints == pytest.approx(slow.joints, rel=1e-3)
    assert quick.joints != pytest.approx(trials.baseline.joints, rel=0.1)


def test_a_dead_joint_has_no_say(arm, log):
    """A channel that is zero, but for a few samples, sets off no trial and is named in no cause."""
    tau = log.tau.copy()
    tau[:, 2] = np.where(np.arange(len(tau)) % 7 == 0, np.random.default_rng(0).normal(size=len(tau)), 0.0)
    dead = log.with_(tau=tau)
    assert not {"sign", "swapped", "torque_factor", "offset"} & set(judged(arm[0], dead).causes)
    verdict = judged(arm[0], spoilt.flipped(dead, 1, ("tau",)))
    assert "sign" in verdict.causes


def test_a_torque_that_a_model_computed(arm, log):
    robot, t = arm[0], log.time
    w = np.array([0.7, 1.1, 1.6])
    q, qd, qdd = np.sin(w * t[:, None]), w * np.cos(w * t[:, None]), -w * w * np.sin(w * t[:, None])
    tau = tp.inverse_dynamics(robot)(q, qd, qdd)
    measured = q + 1e-5 * np.random.default_rng(0).normal(size=q.shape)
    computed = judged(robot, tp.Log(t, measured, tau=tau, names=robot.joint_names))
    assert computed.level == "doubtful" and "computed" in computed.causes
    # A simulation is smooth, and a drive has friction: neither is one.
    assert "computed" not in judged(robot, tp.Log(t, q, tau=tau, names=robot.joint_names)).causes
    rubbing = tau + 0.05 * np.abs(tau).max(axis=0) * np.tanh(qd / 0.01)
    assert "computed" not in judged(robot, tp.Log(t, measured, tau=rubbing, names=robot.joint_names)).causes


def test_another_robot(arm, log):
    frames = [
        {"a": 0.4, "alpha": 0, "d": 0.1, "theta": 0, "joint": "revolute"},
        {"a": 0.2, "alpha": np.pi / 2, "d": 0, "theta": 0, "joint": "revolute"},
        {"a": 0.3, "alpha": 0, "d": 0.3, "theta": 1, "joint": "revolute"},
    ]
    other = tp.Robot.from_dh(frames, name="other").with_parameters(arm[0].parameters.values)
    assert judged(other, log).level != "good"


def test_streams_are_judged_alike(arm, log, tmp_path):
    tp.write_log(spoilt.degrees(log), tmp_path / "run.csv")
    causes = [judged(arm[0], tmp_path / "run.csv", stream=stream, block=1500).causes for stream in (False, True)]
    assert "degrees" in causes[0] and "degrees" in causes[1]


def test_a_wrong_fit_warns_and_is_not_exported(arm, log, tmp_path):
    with pytest.warns(TaupiWarning, match=r"The fit is wrong\. .*q looks like degrees"):
        fit = tp.identify(arm[0], spoilt.degrees(log), terms=FRICTION)
    with pytest.raises(NotIdentifiedError, match=r"q looks like degrees.*anyway=True"):
        tp.write_toml(fit, tmp_path / "x.toml")
    with pytest.warns(TaupiWarning):
        tp.write_toml(fit, tmp_path / "x.toml", anyway=True)
    assert (tmp_path / "x.toml").exists()


def test_a_verdict_is_saved_with_its_fit(tmp_path):
    reason = Reason("sign", "tau has the wrong sign.", Level.DOUBTFUL, ("elbow",), {"error": 0.5}, "Flip it.")
    fit = dataclasses.replace(friction_fit(), judged=Verdict.of([reason]))
    tp.write_fit(fit, tmp_path / "fit.json")
    data = json.loads((tmp_path / "fit.json").read_text())["verdict"]
    assert data["level"] == "doubtful" and data["reasons"] == ["tau has the wrong sign. Flip it."]
    assert tp.load_fit(tmp_path / "fit.json").verdict == fit.verdict
    tp.write_fit(fit, tmp_path / "fit.txt")
    assert (tmp_path / "fit.txt").read_text().startswith("verdict: doubtful\n- tau has the wrong sign. Flip it.\n")


def test_the_report_begins_with_it(tmp_path):
    reason = Reason("sign", "tau has <the> wrong sign.", Level.WRONG)
    fit = dataclasses.replace(friction_fit(), judged=Verdict.of([reason]))
    tp.report(fit, tmp_path / "wrong.html")
    tp.report(friction_fit(), tmp_path / "good.html")
    wrong, good = ((tmp_path / name).read_text() for name in ("wrong.html", "good.html"))
    assert 'class="verdict wrong"' in wrong and "tau has &lt;the&gt; wrong sign." in wrong
    assert wrong.index('id="verdict"') < wrong.index('id="summary"') and 'class="verdict good"' in good


def test_levels():
    assert Verdict().level == "good" and Verdict().causes == ()
    several = Verdict.of(
        [Reason("a", "A.", Level.GOOD), Reason("b", "B.", Level.WRONG), Reason("c", "C.", Level.DOUBTFUL)]
    )
    assert several.level == "wrong" and several.causes == ("b", "c", "a") and f"{several.level}" == "wrong"


def test_every_cause_has_one_word():
    names = cause_names()
    assert len(set(names)) == len(names) and all(name.isidentifier() for name in names)


@pytest.mark.parametrize(
    ("x", "rows"),
    [
        (np.sin(np.arange(500.0)), []),
        (np.append(np.sin(np.arange(500.0)), -50.0), [500]),
        (np.r_[np.zeros(450), np.ones(50)], []),  # quantised
        (np.full(100, 2.0), []),
        (np.array([1.0, np.nan]), []),
    ],
)
def test_spikes_stand_out_by_more_than_the_others_range(x, rows):
    assert np.flatnonzero(rules.spikes(x)).tolist() == rows


def test_a_fast_joint_does_not_turn():
    assert not rules.turns(np.cumsum(np.full(50, 2 * np.pi))).any()  # every row: degrees, or a rate far too low
    assert not rules.turns(np.sin(np.arange(200.0) / 10)).any()


def test_a_joint_whose_torque_is_mostly_friction_is_no_sign_turned_round():
    """The last joint of an arm hardly needs torque: what a trial leaves of its friction may look like a negative inertia."""
    terms, rng = ("viscous", tp.terms.Coulomb(0.02)), np.random.default_rng(1)
    arm = tp.load("panda").with_friction(viscous=[1, 1, 1, 1, 0.5, 0.5, 0.5], coulomb=[0.6] * 4 + [0.3] * 3)
    middle, omega = np.array([0, -0.3, 0, -1.8, 0, 1.8, 0.5]), np.array([0.7, 1.3, 2.1]) * rng.uniform(0.8, 1.2)
    motion = tp.Sinusoids(middle, rng.uniform(0.1, 0.25, (7, 3)), omega, rng.uniform(0, 6, (7, 3)))
    law, plant = tp.ComputedTorque(arm, terms=terms), tp.RigidPlant(arm, terms=terms)
    run = tp.simulate(plant, law, motion, duration=20.0, rate=1000)
    qd, tau = run.qd + 5e-4 * rng.normal(size=run.qd.shape), run.tau + 0.1 * rng.normal(size=run.tau.shape)
    verdict = judged(
        arm, tp.Log(run.time, run.q, qd=qd, tau=tau, names=arm.joint_names), ("viscous", "coulomb"), cutoff_hz=20
    )
    assert not {"sign", "swapped"} & set(verdict.causes), verdict
