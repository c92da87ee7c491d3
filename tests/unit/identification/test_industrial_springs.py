"""Stiff gears with encoders on both sides, of a simulated industrial arm: springs, delay, offsets, and what is not determined.

Before, the stiffnesses of this arm were found 30 to 5000 times too small, the link of the first joint was explained with an error
of 12841 %, and nothing was said.
"""

import dataclasses
import json
from functools import cache

import industrial
import numpy as np
import pytest
from pages import Page

import taupi as tp
from taupi.identification.results.plausibility import reasons_of_springs
from taupi.identification.rows.recording import encoder_delays
from taupi.identification.springs.spring_rows import Deflection, linearised
from taupi.reporting.report import report_text
from taupi.signals.filtering.filters import butterworth

# What the issue that led to this asked for; the arm is found better.
SPRING, DELAY = 0.3, 3e-4
# The first joint is vertical and slow: the unevenness of its gear bends it more than its load does.
SPRUNG, LOADED = ("joint1", "joint2", "joint3"), ("joint2", "joint3")
CUTOFF = 5.0  # Hz, where the choice of a cutoff is not what is tested


@cache
def fitted(late_links=industrial.LATE, late_motors=0.0, cutoff_hz=CUTOFF, estimator="wls"):
    with pytest.warns(tp.TaupiWarning, match="The spring of joint1 is not determined"):
        return tp.identify(
            industrial.described(),
            industrial.logs(late_links=late_links, late_motors=late_motors),
            estimator,
            cutoff_hz=cutoff_hz,
        )


def stiffness(fit, joint):
    k = fit.names.index(f"{joint}.stiffness")
    return fit.values[k], fit.stderr[k]


def springs(fit):
    return {spring.joint: spring for spring in fit.springs}


def assert_springs(fit, delay):
    """Springs that carry load are found, and the delay (s, one per elastic joint) of the motors' encoders."""
    for i, joint in enumerate(SPRUNG):
        if joint in LOADED:
            value, error = stiffness(fit, joint)
            assert abs(value / industrial.STIFFNESS[i] - 1) < SPRING and error < SPRING * value
        assert abs(springs(fit)[joint].delay - delay[i]) < DELAY


def test_springs_and_delay_are_found_by_default():
    fit = fitted(cutoff_hz=None, estimator="consistent")
    assert_springs(fit, [-industrial.LATE] * 3)
    for joint, truth in zip(LOADED, industrial.STIFFNESS[1:3], strict=True):  # well within what was asked
        assert abs(stiffness(fit, joint)[0] / truth - 1) < 0.03
    assert fit.fits_deflection and fit.relative < 0.03
    assert any(note.startswith("q lags behind theta and was shifted earlier") for note in fit.notes)


@pytest.mark.parametrize(
    ("late_links", "late_motors"), [(0.0, industrial.LATE), ((0.0, industrial.LATE, 0.0, 0.0, 0.0, 0.0), 0.0)]
)
def test_whichever_channel_is_late(late_links, late_motors):
    fit = fitted(late_links, late_motors)
    delay = np.broadcast_to(late_motors, 6) - np.broadcast_to(late_links, 6)
    assert_springs(fit, delay[:3])
    assert np.allclose(fit.settings["preparation"]["encoder_delay"][:3], delay[:3], atol=DELAY)


def test_the_late_encoder_is_the_one_that_is_shifted():
    equations = tp.estimators.build_problem(
        industrial.described(), industrial.logs(), preparation=tp.Preparation(cutoff_hz=CUTOFF, encoder_delay=0.0)
    ).recordings[0].layout  # fmt: skip
    late = tp.Preparation(encoder_delay=(0.001, -0.002, 0.0, 0.0, 0.0, 0.0))
    delays = encoder_delays(late, equations)
    assert delays == {"theta": (0.001, 0.0, 0.0, 0.0, 0.0, 0.0), "q": (0.0, 0.002, 0.0, 0.0, 0.0, 0.0)}
    assert encoder_delays(tp.Preparation(), equations) == {}


def test_a_spring_that_carries_no_load_is_said_to_be_unknown():
    """Its stiffness is that of the description, its standard error infinite, and its link's row is not used."""
    fit, record = fitted(), springs(fitted())["joint1"]
    assert not record.determined and record.reason.startswith("its compliance changes sign between the logs")
    value, error = stiffness(fit, "joint1")
    assert np.isclose(value, 4.0e6) and np.isinf(error)
    assert np.isinf(fit.relative_error[fit.names.index("joint1.stiffness")])
    assert next(j for j in fit.joints if j.name == "joint1.link").rows == 0
    assert any(note.startswith("the spring of joint1 is not determined") for note in fit.notes)
    assert all(springs(fit)[joint].determined and not springs(fit)[joint].reason for joint in LOADED)


def test_offsets_are_found_log_by_log():
    for i, joint in enumerate(SPRUNG):
        offsets = springs(fitted())[joint].offsets
        assert np.allclose(offsets, industrial.OFFSETS[:, i], atol=1e-4 if joint == "joint1" else 2e-5)


def test_compliance_against_a_regression_by_hand():
    """The same from the true torque of the links, by plain NumPy: filter, stack, solve."""
    arm = industrial.arm()
    bodies = tp.inverse_dynamics(arm.with_transmissions(stiffness=None, rotor_inertia=0), terms=())
    rows, target = [], []
    for seed, log in enumerate(industrial.logs()):
        run = industrial.run(seed)
        at = np.searchsorted(run.time, log.time - 1e-6)
        qdd = np.gradient(run.qd, run.time, axis=0)
        keep = slice(100, -100)
        load = butterworth(bodies(run.q, run.qd, qdd)[at], 250, CUTOFF)[keep]
        bend = butterworth(log.theta - log.q, 250, CUTOFF)[keep]
        offset = np.zeros((len(load), 3))
        offset[:, seed] = 1.0
        rows.append((load, offset))
        target.append(bend)
    for i, joint in enumerate(SPRUNG[1:], start=1):
        matrix = np.vstack([np.column_stack([load[:, i], offset]) for load, offset in rows])
        by_hand = np.linalg.lstsq(matrix, np.concatenate([t[:, i] for t in target]), rcond=None)[0][0]
        assert np.isclose(springs(fitted(0.0))[joint].compliance, by_hand, rtol=0.03)
        assert np.isclose(1 / by_hand, industrial.STIFFNESS[i], rtol=0.03)


@pytest.mark.parametrize(
    "estimator", ["ols", "feasible", "friction_shapes", tp.estimators.WeightedLeastSquares(covariance="full")]
)
def test_every_estimator_takes_these_rows(estimator):
    with pytest.warns(tp.TaupiWarning, match="joint1"):
        fit = tp.identify(
            industrial.described(), industrial.logs(late_links=industrial.LATE), estimator, cutoff_hz=CUTOFF
        )
    assert_springs(fit, [-industrial.LATE] * 3)
    assert np.isinf(stiffness(fit, "joint1")[1])


def test_rows_read_again_are_those_of_the_factors():
    """Estimators that pass over the rows, and those that use triangles, minimise the same sum of squares."""
    problem = tp.estimators.build_problem(
        industrial.described(),
        industrial.logs(late_links=industrial.LATE),
        preparation=tp.Preparation(cutoff_hz=CUTOFF),
    )
    assert problem.springs.rows is not None
    x = fitted().values * np.random.default_rng(0).uniform(0.9, 1.1, len(fitted().values))
    squares = {(f.file, f.joint): float(np.sum((f.r @ np.append(x, -1.0)) ** 2)) for f in problem.factors}
    for file in range(3):
        total = np.zeros(problem.regressor.outputs[0].shape[0])
        for rows in problem.rows(file):
            total += np.sum(np.where(rows.use, rows.residual(x), 0.0) ** 2, axis=0)
        assert np.allclose(total, [squares[file, j] for j in range(len(total))], rtol=1e-6)


def test_streams_and_parallel_work_find_the_same(tmp_path):
    paths = []
    for k, log in enumerate(industrial.logs(late_links=industrial.LATE)):
        paths.append(tmp_path / f"run{k}.parquet")
        tp.write_log(log, paths[-1])

    def values(**settings):
        with pytest.warns(tp.TaupiWarning, match="joint1"):
            fit = tp.identify(industrial.described(), paths, "wls", cutoff_hz=CUTOFF, trim=False, **settings)
        return fit.values, np.array([spring.delay for spring in fit.springs])

    at_once, delay = values(workers=1)
    for settings in ({"stream": True, "block": 700}, {"workers": 3}):
        other, late = values(**settings)
        assert np.allclose(other, at_once, rtol=1e-7, atol=1e-7)
        assert np.allclose(late, delay, rtol=0, atol=1e-9)


# A motion that was not fitted ------------------------------------------------------------------------------------------


def test_another_run_with_other_offsets_is_predicted():
    fit, log = fitted(), industrial.log(4, late_links=industrial.LATE)
    validation = fit.validate(log)
    errors = {j.name: j.relative for j in validation.joints}
    assert "joint1.link" not in errors and errors["joint2.link"] < 0.05 and errors["joint3.link"] < 0.05
    assert all(errors[f"{joint}.motor"] < 0.03 for joint in SPRUNG) and validation.relative < 0.03
    # Raw torques have the offsets of the encoders taken off, as those that they are compared with.
    raw, measured = validation.raw, validation.measured
    assert (np.abs((raw - measured).mean(axis=0)) < 0.05 * measured.std(axis=0)).all()
    predicted = fit.predict(log)
    motors = np.column_stack([predicted[:, 6:], predicted[:, 3:6]])
    assert np.linalg.norm(motors - log.tau) < 0.05 * np.linalg.norm(log.tau)
    load = industrial.STIFFNESS[1] * np.std(log.theta[:, 1] - log.q[:, 1])
    assert abs(predicted[:, 1].mean()) < 1 and predicted[:, 1].std() < 0.5 * load


# Springs that cannot be right ------------------------------------------------------------------------------------------


def test_a_spring_far_from_its_description_is_warned_of_and_not_exported(tmp_path):
    far = industrial.described(stiffness=(4.0e6, 7.0e8, 5.0e6, None, None, None))
    logs = industrial.logs(late_links=industrial.LATE)
    with pytest.warns(tp.TaupiWarning, match=r"joint2\.stiffness would be 5.*description says 7e.08"):
        fit = tp.identify(far, logs, "wls", cutoff_hz=CUTOFF)
    assert [r.joints for r in reasons_of_springs(fit)] == [("joint2",)] and fit.verdict.level == "wrong"
    with pytest.raises(tp.TaupiError, match=r"joint2\.stiffness would be"):
        tp.write_toml(fit, tmp_path / "arm.toml")


def test_a_link_explained_worse_than_by_nothing_is_warned_of():
    fit = fitted()
    assert reasons_of_springs(fit) == ()
    joints = tuple(dataclasses.replace(j, relative=1.3) if j.name == "joint3.link" else j for j in fit.joints)
    (reason,) = reasons_of_springs(dataclasses.replace(fit, joints=joints))
    assert str(reason).startswith("joint3.link is explained worse than by nothing: its relative error is 130 %")


GOOD = Deflection(
    2e-7,
    1e-9,
    np.zeros(2),
    np.zeros(2),
    np.zeros(3),
    np.zeros(3),
    np.array([2e-7, 2.1e-7, 1.9e-7]),
    np.ones(3),
    0.5,
    0.9,
)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({}, ""),
        ({"runs": np.array([2e-7, -1e-7, 2e-7])}, "changes sign between the logs (2e-07, -1e-07, 2e-07)"),
        ({"runs": np.array([2e-7, -1e-7, 2e-7]), "information": np.array([1.0, 0.01, 1.0])}, ""),
        ({"compliance_error": 1e-7}, "is not clearly positive"),
        ({"explained": 0.3}, "explains 30% of how"),
        ({"compliance_error": np.inf}, "no torque that changes"),
    ],
)
def test_why_a_spring_is_not_determined(change, reason):
    doubt = dataclasses.replace(GOOD, **change).doubt
    assert reason in doubt if reason else not doubt


def test_rows_of_a_link_are_linearised_about_an_estimate():
    """At the estimate the residual is K times the error of the deflection, and its slope that of K m(pi, K) by differences.

    A known torque t takes its part of the load from the spring.
    """
    rng = np.random.default_rng(1)
    y, bend, known = rng.normal(size=(20, 3)), rng.normal(size=20), rng.normal(size=20)
    block = np.column_stack([y, -bend, known])
    values = np.array([0.3, -0.7, 1.1, 50.0])

    def residual(v):
        return values[3] * (bend - (y @ v[:3] - known) / v[3])

    rows = linearised(block, 3, values)
    assert np.allclose(rows[:, -1] - rows[:, :-1] @ values, residual(values))
    for k in range(4):
        step = 1e-5 * np.eye(4)[k] * abs(values[k])
        slope = (residual(values + step) - residual(values - step)) / (2 * step[k])
        assert np.allclose(-rows[:, k], slope, rtol=1e-6, atol=1e-9)


# What is kept ---------------------------------------------------------------------------------------------------------


def test_facts_are_kept_in_files_and_reports(tmp_path):
    fit = fitted()
    tp.write_fit(fit, tmp_path / "fit.json")
    tp.write_fit(fit, tmp_path / "fit.txt")
    back = tp.load_fit(tmp_path / "fit.json")
    assert back.springs == fit.springs and back.fits_deflection
    (first, *_) = json.loads((tmp_path / "fit.json").read_text())["springs"]
    assert first["joint"] == "joint1" and first["determined"] is False and len(first["offsets"]) == 3
    log = industrial.log(4, late_links=industrial.LATE)
    assert np.array_equal(back.predict(log), fit.predict(log))
    text = (tmp_path / "fit.txt").read_text()
    assert "springs and encoders" in text and "theta late, ms" in text
    page = Page(report_text(fit))
    head, *rows = next(t for t in page.tables if t[0][:2] == ["joint", "stiffness"])
    assert [row[0] for row in rows] == list(SPRUNG) and head[5] == "theta late, ms"
    assert rows[0][-1] == "not determined" and rows[1][5] == f"{1e3 * springs(fit)['joint2'].delay:.4g}"


def test_a_record_without_all_numbers_reads_back():
    record = dataclasses.replace(fitted().springs[0], delay_error=np.inf, offset_errors=(np.inf, 1.0, 2.0))
    assert json.loads(json.dumps(record.to_dict()))["delay_error"] is None
    assert type(record).from_dict(json.loads(json.dumps(record.to_dict()))) == record
    assert (record.angle_unit, dataclasses.replace(record, unit="N/m").angle_unit) == ("rad", "m")
