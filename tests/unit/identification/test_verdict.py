"""The verdict on a fit: each cause by a simulated log that has the mistake, and none on one that has not."""

import dataclasses
import json
from types import SimpleNamespace

import numpy as np
import pytest
import spoilt
from excite import fourier, motion
from fits import friction_fit

import taupi as tp
from taupi.errors import NotIdentifiedError, TaupiWarning
from taupi.identification.results.verdict import Level, Reason, Verdict
from taupi.identification.verdict import shown
from taupi.identification.verdict.causes import cause_names
from taupi.identification.verdict.causes.signs import friction_that_drives
from taupi.identification.verdict.study import LogChange, Study
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


@pytest.mark.parametrize("seed", [5, 6])
def test_friction_that_builds_up_behind_reversals_is_no_delay(arm, seed):
    """In a slow motion it lags behind the sign of the speed, as a torque that is late does."""
    t, q, qd, qdd = motion(arm[1].n, seed, 6000, 100.0, speed=0.15)
    z = np.zeros(q.shape)
    for k, step in enumerate(np.diff(q, axis=0)):
        z[k + 1] = np.sign(step) + (z[k] - np.sign(step)) * np.exp(-np.abs(step) / 0.003)
    tau = tp.inverse_dynamics(arm[1], terms=("viscous", "offset"))(q, qd, qdd) + z * [12.0, 9.0, 4.0]
    noise = np.random.default_rng(seed).normal(0, 0.1, q.shape)
    assert judged(arm[0], tp.Log(t, q, tau=tau + noise)).level == "good"


@pytest.mark.parametrize(("held", "level"), [(True, Level.GOOD), (False, Level.DOUBTFUL)])
def test_a_joint_that_is_held_is_no_stuck_encoder(arm, held, level):
    """Its torque changes as the others move, and the position that stands still explains that; under a stuck encoder it moves."""
    t, q, qd, qdd = motion(arm[1].n, 5, 4000, 200.0)
    seen = q * [1, 1, 0] + [0, 0, 0.3]
    moved = (seen, qd * [1, 1, 0], qdd * [1, 1, 0]) if held else (q, qd, qdd)
    tau = tp.inverse_dynamics(arm[1], terms=("viscous", "offset"))(*moved)
    noise = np.random.default_rng(0).normal(0, 0.3, q.shape)
    (reason,) = (r for r in judged(arm[0], tp.Log(t, seen, tau=tau + noise)).details if r.cause == "stuck")
    assert reason.level is level and reason.joints == (arm[0].joint_names[2],)


def test_stamps_that_jitter_leave_nothing_out(arm, log):
    rng = np.random.default_rng(0)
    time = np.sort(log.time + rng.normal(0, 0.2 / 200, len(log)))
    assert not shown.missing_samples(time, log.q)
    assert "dropped" not in judged(arm[0], log.with_(time=time)).causes


@pytest.mark.parametrize(("moves", "level"), [(True, Level.DOUBTFUL), (False, Level.GOOD)])
def test_a_joint_without_torque_is_fitted_beside_the_others(arm, log, moves, level):
    """A gripper, say, of which zeros are logged: its friction has no size, which is no reason to find no bodies."""
    silent = log.with_(tau=log.tau * [1, 1, 0], q=log.q * [1, 1, moves])
    (reason,) = (r for r in judged(arm[0], silent, terms=None).details if r.cause == "constant")
    assert reason.level is level and reason.joints == (arm[0].joint_names[2],)


def test_an_infinite_torque_makes_no_other_look_constant(arm, log):
    tau = log.tau.copy()
    tau[len(tau) // 2, 1] = np.inf
    assert "constant" not in {r.cause for r in judged(arm[0], log.with_(tau=tau)).details}


def test_a_delay_is_found_under_time_stamps_that_repeat(arm, log):
    late = spoilt.repeated_stamps(log.with_(tau=np.roll(log.tau, 8, axis=0)))
    reasons = {reason.cause: reason for reason in judged(arm[0], late).details}
    assert {"delay", "stamps"} <= reasons.keys()
    assert reasons["delay"].numbers["delay"] == pytest.approx(8 / 200, rel=0.1)


def test_samples_out_of_order_are_judged_in_the_order_of_time(arm, log):
    """A file that was written from its end, and one whose samples change places: both hold the same motion."""
    for places in (np.arange(len(log))[::-1], np.arange(len(log)).reshape(-1, 2)[:, ::-1].ravel()):
        verdict = judged(arm[0], log.rows(places))
        assert verdict.causes == ("stamps",) and "earlier" in verdict.reasons[0]
        assert verdict.left_out.total == pytest.approx(judged(arm[0], log).left_out.total, rel=0.05)


def test_a_missing_stamp_hides_no_later_samples(log):
    time = log.time.copy()
    time[5] = np.nan
    seen = shown.mended(dataclasses.replace(log, time=time))
    assert len(seen) == len(log) - 1 and seen.time[-1] == log.time[-1]


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


def test_a_cause_that_limits_contradict_is_not_named(arm, log):
    """An offset that the torque shows is none if joints would be where the description says that they cannot be."""
    off = spoilt.offset(log, 1, 1.0)
    here = Limits(float(off.q[:, 1].min()), float(off.q[:, 1].max()))
    joints = [dataclasses.replace(j, limits=here) if k == 1 else j for k, j in enumerate(arm[0].joints)]
    limited = dataclasses.replace(arm[0], joints=tuple(joints))
    assert "offset" in judged(arm[0], off).causes
    verdict = judged(limited, off)
    assert not any(r.cause == "offset" and r.joints == ("joint2",) for r in verdict.details), verdict


def test_a_change_of_rows_is_that_of_a_recorded_motion(arm, log, monkeypatch):
    """Exchanging, turning and shifting commute with filters: the oracle is the change of the log before it is prepared."""
    problems = []
    monkeypatch.setattr(
        "taupi.identification.verdict.judge.judge", lambda fit, problem: problems.append(problem) or Verdict()
    )
    motion, shift = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]]), np.array([0.3, 0, -0.2])
    changed = log.with_(
        **{name: v @ motion.T + shift * (name == "q") for name, v in log.signals.items() if name != "tau"}
    )
    judged(arm[0], log)
    judged(arm[0], changed)
    plain, oracle = (Study(problem) for problem in problems)
    quick = plain.score(LogChange(motion=motion, shift=shift))
    # The two studies choose the cutoff by themselves, from spectra that differ in the last digits.
    assert np.sqrt(quick.joints) == pytest.approx(np.sqrt(oracle.base_score.joints), rel=1e-3)
    assert quick.joints != pytest.approx(plain.base_score.joints, rel=0.1)


def test_a_dead_joint_has_no_say(arm, log):
    """A channel that is zero, but for a few samples, sets off no trial and is named in no cause."""
    tau = log.tau.copy()
    tau[:, 2] = np.where(np.arange(len(tau)) % 7 == 0, np.random.default_rng(0).normal(size=len(tau)), 0.0)
    dead = log.with_(tau=tau)
    assert not {"sign", "swapped", "torque_factor", "offset"} & set(judged(arm[0], dead).causes)
    verdict = judged(arm[0], spoilt.flipped(dead, 1, ("tau",)))
    assert "sign" in verdict.causes


def test_links_are_not_seen_in_a_torque_of_friction_alone(arm, log):
    """A factor compares what links do at two joints: where friction explains a torque as well, there is none."""
    speed = np.gradient(log.q[:, 2], log.time)
    alone = 1.5 * np.tanh(speed / 0.02) + 0.01 * np.random.default_rng(0).normal(size=len(log))
    rubbing = log.with_(tau=np.column_stack([log.tau[:, :2], alone]))
    problem = tp.estimators.build_problem(arm[0], rubbing, terms=FRICTION)
    seen = [Study(problem).links_in_torque(j) for j in range(3)]
    assert max(seen[:2]) < -1 < seen[2]
    assert "torque_factor" not in (verdict := judged(arm[0], rubbing)).causes, verdict.reasons


def test_a_factor_of_a_torque_of_friction_alone_is_known_by_its_limit(arm, log):
    """Friction of any size brakes alike: only the limit that the description states tells, beside those of the other joints."""
    speed = np.gradient(log.q[:, 2], log.time)
    alone = 1.5 * np.tanh(speed / 0.02) + 0.01 * np.random.default_rng(0).normal(size=len(log))
    rubbing = log.with_(tau=np.column_stack([log.tau[:, :2], alone]))

    def limited(*efforts):
        joints = [dataclasses.replace(j, limits=Limits(effort=e)) for j, e in zip(arm[0].joints, efforts, strict=True)]
        return dataclasses.replace(arm[0], joints=tuple(joints))

    robot, off = limited(300.0, 300.0, 50.0), spoilt.scaled(rubbing, 2, 1000.0)
    assert "torque_factor" not in judged(robot, rubbing).causes
    assert "torque_factor" not in judged(arm[0], off).causes  # no limit is stated
    assert "torque_factor" not in judged(limited(1.0, 1.0, 1.0), rubbing).causes  # limits are placeholders
    reason = next(reason for reason in judged(robot, off).details if reason.cause == "torque_factor")
    assert reason.joints == ("joint3",) and reason.numbers["share_of_limit"] == pytest.approx(30, rel=0.15)


@pytest.mark.parametrize(
    ("apart", "shared", "named"),
    [
        pytest.param([9, -6, 7], [9, 8, 9], ("b",), id="by links of its own"),
        pytest.param([9, -3, 7], [9, -30, 9], ("b",), id="less clearly, and by shared links, too"),
        pytest.param([9, -3, 7], [9, 8, 9], (), id="not clearly by links of its own"),
        pytest.param([9, 3, 7], [9, -30, 9], (), id="by shared links alone: a fault elsewhere"),
        pytest.param([9, -9, 7], [9, -30, 9], (), id="a joint without a say"),
    ],
)
def test_friction_that_drives_a_joint(apart, shared, named, request):
    live = np.array([True, "without a say" not in request.node.name, True])
    powers = {True: np.array(apart, float), False: np.array(shared, float)}
    study = SimpleNamespace(
        live=live, robot=SimpleNamespace(joint_names=("a", "b", "c")), friction_power=lambda apart=False: powers[apart]
    )
    reason = friction_that_drives(study)
    assert (reason.joints if reason else ()) == named


def test_friction_of_a_joint_that_does_not_turn_back_says_nothing(arm, log):
    """Its friction and its offset are one: no power is told from their sum, while the other joints' is."""
    turns = np.flatnonzero(np.diff(np.sign(np.gradient(log.q[:, 1]))))
    longest = int(np.argmax(np.diff(turns)))
    part = log.rows(slice(turns[longest] + 1, turns[longest + 1]))
    problem = tp.estimators.build_problem(arm[0], [log, part], terms=FRICTION)
    alone = tp.estimators.build_problem(arm[0], part, terms=FRICTION, cutoff_hz=20)
    assert (Study(problem).friction_power() > 4).all() and Study(alone).friction_power()[1] == 0


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


def test_what_signals_show_is_gathered_part_by_part(log):
    """Steps from one part to the next count, too, and what is at an extreme of one part only is at no limit."""
    bad = spoilt.clipped(spoilt.spiked(spoilt.wrapped(spoilt.repeated_stamps(log), 1), 2), 0.5)
    bad = bad.rows(np.r_[0:1000, 1012 : len(bad) - 1])
    whole, parts = shown.ShownSignals(3), shown.ShownSignals(3)
    whole.add(bad, bad.tau)
    for start in range(0, len(bad), 700):
        part = bad.rows(slice(start, start + 700))
        parts.add(part, part.tau)
    assert whole.samples == parts.samples == len(bad) and whole.repeated == parts.repeated > 0
    assert whole.turns.tolist() == parts.turns.tolist() and whole.turns[1] > 0
    for name in ("q", "tau", "moments", "first"):
        assert getattr(parts, name) == pytest.approx(getattr(whole, name), rel=1e-9)
    limits = [[extremes.held for extremes in signals.extremes.values()] for signals in (whole, parts)]
    assert limits[1] == pytest.approx(limits[0], abs=30) and max(limits[0]) > 500  # few stretches end with a part
    found = [[c.count for c in signals.spikes.values()] for signals in (whole, parts)]
    assert found[0] == found[1] and sum(found[0]) > 0


def test_the_end_of_a_stream_is_looked_at_too(arm, log, tmp_path, monkeypatch):
    monkeypatch.setattr(shown, "_PART", 1000)
    late = log.with_(tau=np.where((np.arange(len(log)) == len(log) - 150)[:, None], 1e6, log.tau))
    tp.write_log(late, tmp_path / "run.csv")
    verdicts = [judged(arm[0], tmp_path / "run.csv", stream=stream, block=1500) for stream in (False, True)]
    assert all("spikes" in verdict.causes for verdict in verdicts), verdicts


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


@pytest.mark.parametrize(
    ("shape", "found"),
    [
        pytest.param([0.0, 9.0, 0.0], True, id="spike"),
        pytest.param([0.0, 9.0, 9.0, 0.0], True, id="of-two-samples"),
        pytest.param([0.0, 9.0, 6.8, 4.7, 1.0, 0.5], False, id="fast-decay"),
        pytest.param([0.0, 9.0, 6.7, 4.9, 3.6, 2.7, 2.0, 1.5, 1.1, 0.8], False, id="decay"),
    ],
)
def test_a_spike_comes_back_at_once(shape, found):
    x = np.sin(np.arange(400) / 9)
    x[200 : 200 + len(shape)] = shape
    assert shown.spikes(x).any() == found
    start = np.sin(np.arange(400) / 9)
    start[0] = 9.0  # nothing shows that it comes back: a velocity that was derived begins like this
    assert not shown.spikes(start).any()


def test_blips_of_a_channel_that_carries_nothing_are_a_remark(arm, log):
    tau = log.tau.copy()
    tau[:, 2] = np.where(np.arange(len(tau)) % 397 == 200, 0.35, 0.0)
    (reason,) = [r for r in judged(arm[0], log.with_(tau=tau)).details if r.cause == "spikes"]
    assert reason.level == "good" and reason.joints == ("joint3",)


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


def test_torques_that_all_count_the_other_way_are_seen_where_nothing_is_left_to_explain():
    """Without friction and noise, the negative of all parameters explains negative torques exactly: bodies of negative mass."""
    robot = tp.load("elbow2r")
    log = fourier(robot, (), 5, 4000, 200.0, noise=0.0)
    assert "sign" in judged(robot, log.with_(tau=-log.tau), terms=(), cutoff_hz=20).causes
    assert "sign" not in judged(robot, log, terms=(), cutoff_hz=20).causes
