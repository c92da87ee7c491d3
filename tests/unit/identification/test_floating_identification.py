"""Floating robots from logs: a quadruped in MuJoCo, its contact forces measured, left to the base's rows, or projected out."""

import dataclasses
import warnings
from fractions import Fraction

import legged
import numpy as np
import pytest
from floating import floating_tree, states

import taupi as tp
from taupi.identification.floating.contact_rows import ContactPlan, contact_sets, projected
from taupi.identification.floating.floating_rows import ContactSettings, floating_motion, floating_rows, row_scales
from taupi.identification.rows.preparation import Preparation
from taupi.model.placement import Placement, rotation_about
from taupi.model.robot import Frame
from taupi.signals.base_motion import BaseMotion
from taupi.signals.floating_logs import phases

TERMS = ("rotor", "viscous")
EXACT = 1e-6  # of the norm: the contact solver's tolerance


@pytest.fixture(scope="module")
def robot(tmp_path_factory):
    return legged.robot(tmp_path_factory.mktemp("legged"))


@pytest.fixture(scope="module")
def described(robot):
    """The same robot with links that are up to 30 % off."""
    factors = np.random.default_rng(1).uniform(0.75, 1.3, 13).repeat(10)
    return robot.with_parameters(robot.parameters.values * factors)


def log_of(robot, rec, wrenches=True, noise=0.0, seed=0):
    flags = {f: rec["flags"][:, i] for i, f in enumerate(legged.FEET)}
    forces = {f: rec["force"][:, i] for i, f in enumerate(legged.FEET)} if wrenches else {}
    log = tp.floating.log_from_states(
        robot, rec["t"], rec["q"], rec["qd"], rec["qdd"], rec["tau"], flags, forces, convention="mujoco"
    )
    if not noise:
        return log
    rng = np.random.default_rng(seed)
    base = log.base

    def noisy(x, sigma):
        return x + noise * sigma * rng.standard_normal(x.shape)

    return log.with_(
        tau=noisy(log.tau, 0.2),
        qdd=noisy(log.qdd, 0.5),
        base=tp.floating.BaseMotion(base.w, noisy(base.a, 0.05), noisy(base.wd, 0.5)),
        wrench={k: noisy(v, np.array([0.01, 0.01, 0.01, 1, 1, 1])) for k, v in log.wrench.items()},
    )


def error(fit, robot):
    truth = fit.basis.project(np.concatenate([robot.parameters.values, _terms(fit, robot)]))
    return np.linalg.norm(fit.values - truth) / np.linalg.norm(truth)


def _terms(fit, robot):
    own = tp.base_parameters(robot, terms=fit.terms).standard.values
    return own[len(robot.parameters) :]


@pytest.fixture(scope="module")
def rec():
    return legged.record(6.0)


WAYS = {"measured": (True, None, TERMS), "base": (True, "base", None), "projected": (False, None, TERMS)}


@pytest.mark.parametrize("way", WAYS)
def test_a_quadruped_is_identified_from_its_log(robot, described, rec, way):
    wrenches, contact, terms = WAYS[way]
    exact = tp.identify(described, log_of(robot, rec, wrenches), "wls", terms=terms, contact=contact)
    assert error(exact, robot) < (EXACT if way != "projected" else 0.01)  # feet are spheres of 2 mm, not points
    fit = tp.identify(described, log_of(robot, rec, wrenches, noise=1.0), "wls", terms=terms, contact=contact)
    assert error(fit, robot) < 0.01 and fit.conditioning["rank"] == fit.basis.count
    assert fit.verdict.level == "good" and any(legged.FEET[0] in note for note in fit.notes)
    names = [j.name for j in fit.validate(log_of(robot, rec, wrenches)).joints]
    assert names[:6] == list(robot.joint_names[:6]) and len(names) == (6 if way == "base" else 18)
    assert fit.validate(log_of(robot, rec, wrenches)).relative < 0.01


@pytest.mark.parametrize("contact", ["measured", "base"])
def test_offsets_of_force_sensors_are_taken_out(robot, described, rec, contact):
    log = log_of(robot, rec, noise=0.3)
    offset = np.array([0.5, -0.3, 0.2, 8.0, -5.0, 12.0])
    drifted = log.with_(wrench={f: w + offset * (k + 1) for k, (f, w) in enumerate(log.wrench.items())})
    terms = TERMS if contact == "measured" else ()
    wrong = tp.identify(described, drifted, "ols", terms=terms, contact=contact)
    fit = tp.identify(described, drifted, "ols", terms=(*terms, "wrench_offset"), contact=contact)
    assert error(fit, robot) < 0.02 < 0.1 * error(wrong, robot)
    note = next(note for note in fit.notes if note.startswith("FL: the sensor's offset"))
    seen = [float(v) for v in note.split("about ")[1].split(";")[0].split(", ")]
    assert np.abs(np.array(seen) - offset).max() < 1.0
    assert fit.validate(drifted).relative < 0.05 and fit.settings["wrench_offset"] is True
    assert tp.load_fit(_saved(fit)).validate(drifted).relative == pytest.approx(fit.validate(drifted).relative)


WRONG = {
    "all torques turned round": (lambda g: g.with_(tau=-g.tau), "wrong", "hardly explains the torque of FL_hip, FL_thigh"),
    "one torque turned round": (lambda g: g.with_(tau=g.tau * np.r_[-1, np.ones(11)]), "doubtful", "the torque of FL_hip "),
    "forces turned round": (lambda g: g.with_(wrench={k: -v for k, v in g.wrench.items()}), "wrong", "hardly explains"),
    "accelerations in g": (lambda g: g.with_(base=BaseMotion(g.base.w, g.base.a / 9.81, g.base.wd)), "wrong", "weigh"),
    "two legs exchanged": (lambda g: g.with_(tau=np.roll(g.tau, 3, axis=1)), "wrong", "hardly explains"),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_the_verdict_on_mistakes(robot, described, rec, what):
    change, level, reason = WRONG[what]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = tp.identify(described, change(log_of(robot, rec, noise=1.0).rows(slice(0, 600))), "wls", terms=TERMS)
    assert fit.verdict.level == level and any(reason in text for text in fit.verdict.reasons)


@pytest.mark.parametrize("estimator", ["consistent", "ridge", "entropic"])
def test_every_estimator_for_rows_takes_floating_robots(robot, described, rec, estimator):
    fit = tp.identify(described, log_of(robot, rec, noise=1.0).rows(slice(0, 600)), estimator, terms=TERMS)
    assert error(fit, robot) < 0.02 and fit.verdict.level == "good"


def test_projected_rows_of_point_contacts_are_exact(robot):
    """Forces at the frames themselves, of any size, leave no trace in the rows."""
    base = tp.base_parameters(robot, terms=TERMS)
    q, qd, qdd = states(robot, 40, seed=2)
    log = tp.floating.log_from_states(robot, np.arange(40) / 100, q, qd, qdd, np.zeros((40, 12)))
    flags = {f: np.arange(40) % (k + 2) == 0 for k, f in enumerate(legged.FEET)}
    rng = np.random.default_rng(3)
    forces = {f: 100 * rng.standard_normal((40, 3)) * on[:, None] for f, on in flags.items()}
    pushed = sum(
        np.einsum("nij,ni->nj", tp.floating.contact_jacobian(robot, (f,))(q), force) for f, force in forces.items()
    )
    needed = tp.inverse_dynamics(robot, terms=TERMS)(q, qd, qdd)
    # No motor drives the base: what the contacts do not provide there is taken from the measured rows.
    log = log.with_(tau=(needed - pushed)[:, 6:], contact=flags)
    rows = floating_rows(base, log, Preparation(), ContactSettings(), base.standard.values)
    left = rows.tau - rows.y @ base.project(base.standard)
    base_only = np.zeros_like(needed)
    base_only[:, :6] = (needed - pushed)[:, :6]
    scales = row_scales(base, floating_motion(robot, log), base.standard.values)
    plan = ContactPlan("projected", "point", tuple(flags))
    explained = projected(robot, plan, q[:, 7:], flags, base_only[:, :, None], scales)[:, :, 0]
    assert np.abs(left + explained).max() < 1e-8 * np.abs(needed).max()


def test_wrenches_at_frames_in_programs(robot):
    (q,), (qd,), (qdd,) = states(robot, 1, seed=4)
    rng = np.random.default_rng(5)
    wrench, force = rng.standard_normal(6), rng.standard_normal(3)
    free = tp.inverse_dynamics(robot).compile("numpy")(q, qd, qdd)
    program = tp.inverse_dynamics(robot, wrenches=("FL",), points=("RR",))
    assert [p.name for p in program.inputs[3:]] == ["f_FL", "f_RR"]
    tau = program.compile("numpy")(q, qd, qdd, wrench, force)
    full = (
        tp.jacobian(robot, "FL", kind="body").compile("numpy")(q),
        tp.jacobian(robot, "RR", kind="body").compile("numpy")(q),
    )
    assert np.abs(tau - free - full[0].T @ wrench - full[1][3:].T @ force).max() < 1e-10
    again = tp.forward_dynamics(robot, wrenches=("FL",), points=("RR",)).compile("numpy")(q, qd, tau, wrench, force)
    assert np.abs(again - qdd).max() < 1e-8
    tip = tp.inverse_dynamics(robot, tip_wrench="body", frame="FL").compile("numpy")(q, qd, qdd, wrench)
    only = tp.inverse_dynamics(robot, wrenches=("FL",)).compile("numpy")(q, qd, qdd, wrench)
    assert np.abs(tip - only).max() < 1e-12


def test_an_imu_anywhere_on_the_base(robot):
    q, qd, qdd = states(robot, 6, seed=6)
    log = tp.floating.log_from_states(robot, np.arange(6) / 100, q, qd, qdd)
    place = Placement(rotation_about("y", 0.7)[0], (Fraction(1), Fraction(2), Fraction(3)))
    with_imu = dataclasses.replace(robot, frames=(*robot.frames, Frame("imu", 0, place)))
    r, turn = np.array([1.0, 2.0, 3.0]), place.matrix[:3, :3]
    w, wd, a = log.base.w, log.base.wd, log.base.a
    there = a + np.cross(wd, r) + np.cross(w, np.cross(w, r))
    base = tp.floating.base_from_imu(with_imu, "imu", w @ turn, there @ turn, 100.0, wd @ turn)
    for got, expected in ((base.w, w), (base.a, a), (base.wd, wd)):
        assert np.abs(got - expected).max() < 1e-12
    with pytest.raises(tp.TaupiError, match=r"frame 'FL' is fixed to FL_calf, expected to a root link"):
        tp.floating.base_from_imu(robot, "FL", w, a, 100.0)


def test_derivatives_and_filters_stay_within_phases(robot, described, rec):
    log = log_of(robot, rec, wrenches=False)
    bare = log.with_(qdd=None, base=tp.floating.BaseMotion(log.base.w, log.base.a))
    base = tp.base_parameters(robot, terms=TERMS)
    rows = floating_rows(base, bare, Preparation(cutoff_hz=30.0), ContactSettings(), base.standard.values)
    assert any("30 Hz within each phase" in note for note in rows.notes)
    reach = 7  # samples of a period of the cutoff at 200 Hz
    changes = np.concatenate([[s.start, s.stop] for s in phases(log.contact, len(log))])
    at = np.rint((rows.time - log.time[0]) * legged.RATE).astype(int)
    assert np.abs(at[:, None] - changes[None]).min() >= reach - 1
    with pytest.raises(tp.TaupiError, match="No phase of contact is longer than twice the filter's reach"):
        floating_rows(base, bare, Preparation(cutoff_hz=1.0), ContactSettings(), base.standard.values)


def test_a_standing_robot_hides_parameters(robot, described):
    rec = legged.record(3.0, stand=True)
    flags = np.ones_like(rec["flags"])
    log = log_of(robot, {**rec, "flags": flags}, wrenches=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = tp.identify(described, log, "wls", terms=TERMS)
    assert fit.conditioning["rank"] < fit.basis.count
    assert any("No foot ever leaves the ground" in note for note in fit.notes)


@pytest.mark.parametrize(("lifted", "rank"), [("all", 94), ("none", 90), ("pairs", 94), ("one", 94)])
def test_what_contacts_hide(lifted, rank):
    """With unknown forces at all four feet, four combinations never show; with legs lifted by turns all do."""
    solo, count = tp.load("solo12"), 120
    q, qd, qdd = states(solo, count, seed=1)
    log = tp.floating.log_from_states(solo, np.arange(count) / 100, q, qd, qdd, np.zeros((count, 12)))
    flags = np.full((count, 4), lifted != "all")
    if lifted == "pairs":
        flags[::2, [0, 3]] = flags[1::2, [1, 2]] = False
    elif lifted == "one":
        flags[np.arange(count), np.arange(count) % 4] = False
    feet = [name for name in solo.frame_names if name.endswith("FOOT")]
    log = log.with_(contact=dict(zip(feet, flags.T, strict=True)))
    base = tp.base_parameters(solo)
    settings = ContactSettings("projected")
    rows = floating_rows(base, log, Preparation(), settings, base.standard.values).y.reshape(-1, base.count)
    assert tp.loops.numerical_rank(rows, 1e-9) == rank


def test_contact_sets_and_phases():
    flags = {"a": np.array([0, 1, 1, 0], dtype=bool), "b": np.array([1, 1, 1, 1], dtype=bool)}
    assert [(s.start, s.stop) for s in phases(flags, 4)] == [(0, 1), (1, 3), (3, 4)]
    assert {frames: at.tolist() for at, frames in contact_sets(flags, 4)} == {("b",): [0, 3], ("a", "b"): [1, 2]}
    assert phases({}, 5) == [slice(0, 5)]


def bad(change):
    return lambda robot, log: tp.identify(robot, change(log), terms=TERMS)


BAD = {
    "no base": (bad(lambda g: g.with_(base=None)), "the log has no signals of it"),
    "flags of no frame": (bad(lambda g: g.with_(contact={"paw": np.ones(len(g))})), "No frame of contact 'paw'"),
    "contacts without wrenches": (lambda r, g: tp.identify(r, g.with_(wrench={}), contact="measured"), "no wrench of FL"),
    "no torque": (lambda r, g: tp.identify(r, g.with_(tau=None, wrench={})), "tau is missing in the log"),
    "projected without flags": (lambda r, g: tp.identify(r, g.with_(contact={}), contact="projected"), "no contact flags"),
    "an unknown way": (lambda r, g: tp.identify(r, g, contact="guessed"), "No contact 'guessed'"),
    "unknown feet": (lambda r, g: tp.identify(r, g, feet="round"), "No feet 'round'"),
    "an estimator of logs": (lambda r, g: tp.identify(r, g, "huber"), "expected one of consistent, wls"),
    "friction that depends on load": (lambda r, g: tp.identify(r, g, terms=("coulomb", "load")), "depends on load or speed"),
    "other joints": (bad(lambda g: g.with_(names=tuple(f"j{k}" for k in range(12)))), "Give the joints their names"),
    "a file that is none": (lambda r, g: tp.identify(r, "run.csv"), "No file 'run.csv'"),
    "no log": (lambda r, g: tp.identify(r, [3]), "logs holds 3, expected a Log or the path"),
    "a stream": (lambda r, g: tp.identify(r, g, stream=True), "stream=True is not for quadruped"),
    "a cluster": (lambda r, g: tp.identify(r, g, client="tcp://head:1"), "client is not for robots that float"),
    "few samples": (bad(lambda g: g.rows(slice(0, 4))), "equations for"),
    "unknown forces": (lambda r, g: tp.identify(r, g, "ols", terms=TERMS).predict(g.with_(wrench={})), "cannot be predicted"),
}  # fmt: skip


@pytest.mark.parametrize("what", BAD)
def test_bad_logs_are_one_sentence(robot, rec, what):
    call, message = BAD[what]
    log = log_of(robot, rec).rows(slice(0, 200))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(tp.TaupiError, match=message):
            call(robot, log)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"base": 3}, "base is 3, expected tp.floating.BaseMotion"),
        ({"base": tp.floating.BaseMotion(np.zeros((2, 3)), np.zeros((2, 3)))}, "base has 2 samples, expected 3"),
        ({"wrench": {"foot": np.zeros((3, 5))}}, r"wrench of 'foot' has shape \(3, 5\), expected \(3, 6\)"),
        ({"contact": {"foot": [0, 2, 1]}}, "of 0 and 1"),
        ({"contact": [1]}, "expected a mapping"),
    ],
)
def test_bad_signals_of_a_base(fields, message):
    with pytest.raises(tp.TaupiError, match=message):
        tp.Log([0.0, 0.1, 0.2], np.zeros((3, 1)), **fields)


def test_predictions_of_a_small_tree():
    tree = floating_tree(51, joints=3)
    q, qd, qdd = states(tree, 200, seed=8)
    tau = tp.inverse_dynamics(tree)(q, qd, qdd)
    names = tuple(tree.joint_names[6:])
    log = tp.floating.log_from_states(tree, np.arange(200) / 100, q, qd, qdd, tau[:, 6:], joints=names)
    # In the air nothing but the motors acts, so what the base needs is measured as a wrench at its own frame.
    pushed = log.with_(wrench={"root": _in_root(tree, tau[:, :6])})
    fit = tp.identify(tree, pushed, "ols", terms=())
    assert np.abs(fit.predict(pushed)[:, 6:] - tau[:, 6:]).max() < 1e-8 * np.abs(tau).max()
    back = tp.load_fit(_saved(fit))
    assert np.allclose(back.values, fit.values) and back.robot.floating


def _in_root(tree, wrench):
    """The wrench of the free joint's own frame in that of the root link, which sits behind `after`."""
    turn, p = tree.joints[0].after.matrix[:3, :3], tree.joints[0].after.matrix[:3, 3]
    moment = wrench[:, :3] - np.cross(p, wrench[:, 3:])
    return np.concatenate([moment @ turn, wrench[:, 3:] @ turn], axis=1)


def _saved(fit):
    import tempfile
    from pathlib import Path

    folder = Path(tempfile.mkdtemp())
    tp.write_fit(fit, folder / "fit.json")
    return folder / "fit.json"
