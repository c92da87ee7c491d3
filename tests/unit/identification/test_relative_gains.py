"""Gains of joints relative to each other: found where links couple joints, taken out of logs, put into predictions."""

import numpy as np
import pytest

import taupi as tp
from taupi.errors import TaupiError
from taupi.identification.folds.left_out import Blocks
from taupi.identification.gains import drive_gains

RATE = 100.0
TERMS = ("viscous", "coulomb", "offset")
ARM = tp.load("elbow2r").with_friction(viscous=[2.0, 1.0], coulomb=[1.5, 0.8])


def log(gains=(1.0, 1.0), seed=0, seconds=60.0, noise=0.3, arm=ARM):
    """Return a log of a motion that does not repeat, with noise; torques are recorded times `gains`."""
    rng = np.random.default_rng(seed)
    t = np.arange(round(seconds * RATE))[:, None, None] / RATE
    w, phase = rng.uniform(0.5, 4.0, (5, 2)), rng.uniform(0, 6, (5, 2))
    a = rng.uniform(0.2, 0.5, (5, 2))
    q, qd = (a * np.sin(w * t + phase)).sum(axis=1), (a * w * np.cos(w * t + phase)).sum(axis=1)
    qdd = -(a * w * w * np.sin(w * t + phase)).sum(axis=1)
    tau = tp.inverse_dynamics(arm, terms=("viscous", tp.terms.Coulomb(0.05)))(q, qd, qdd)
    return tp.Log(t[:, 0, 0], q, qd=qd, tau=(tau + noise * rng.normal(size=q.shape)) * gains, names=ARM.joint_names)


def fitted(record, **settings):
    return tp.identify(ARM, record, terms=TERMS, cutoff_hz=5.0, slow=0.05, **settings)


@pytest.fixture(scope="module")
def recorded_high():
    return log((1.0, 1.15))


@pytest.fixture(scope="module")
def fit(recorded_high):
    return fitted(recorded_high)


def test_the_ratio_of_two_drives_is_found(fit):
    """What is seen is the ratio: 1.15, whatever the common factor is."""
    ratio = (1 + fit.relative_gains[1]) / (1 + fit.relative_gains[0])
    assert ratio == pytest.approx(1.15, abs=0.03)
    assert any(note.startswith("relative gains") for note in fit.notes)


def test_predictions_are_in_the_unit_of_the_recording(fit, recorded_high):
    other = log((1.0, 1.15), seed=1)
    without = fitted(recorded_high, relative_gains=0.0)
    seen, worse = fit.validate(other), without.validate(other)
    assert seen.relative < 0.8 * worse.relative
    predicted, plain = (np.linalg.norm(f.predict(other) - other.tau) for f in (fit, without))
    assert predicted < 0.9 * plain
    factors = 1 + fit.relative_gains
    friction = tp.identify(ARM, other, terms=TERMS, cutoff_hz=5.0, slow=0.05, relative_gains=0.0)
    viscous = friction.values[friction.names.index("elbow.viscous")]  # in the unit of the recording
    assert factors[1] * fit.values[fit.names.index("elbow.viscous")] == pytest.approx(viscous, rel=0.05)
    assert seen.parts.friction[:, 1] == pytest.approx(worse.parts.friction[:, 1], abs=0.3)


def test_drives_that_read_alike_have_none():
    fit = fitted(log())
    assert not fit.relative_gains.any() and not any("relative gains" in note for note in fit.notes)


def test_they_are_not_taken_for_an_offset_that_the_terms_leave_out():
    record = log()
    fit = tp.identify(ARM, record.with_(tau=record.tau + 1.0), terms=("viscous", "coulomb"), cutoff_hz=5.0, slow=0.05)
    assert not fit.relative_gains.any()


def test_with_a_known_mass_the_search_for_gains_begins_with_them(monkeypatch):
    starts, search = [], drive_gains.most_likely_gains

    def watched(blocks, model, start, noise):
        starts.append(start)
        return search(blocks, model, start, noise)

    monkeypatch.setattr(drive_gains, "most_likely_gains", watched)
    logs = [log((1.0, 1.15), arm=arm) for arm in (ARM, ARM.with_payload(2.0))]
    logs = [each.with_(current=each.tau / 10.0) for each in logs]
    found = tp.identify_gains(ARM, *logs, mass=2.0, terms=TERMS, cutoff_hz=5.0, slow=0.05)
    assert starts[0][1] - starts[0][0] == pytest.approx(np.log(1.15), abs=0.03)
    assert found.values == pytest.approx([10.0, 10.0 / 1.15], rel=0.02)
    monkeypatch.undo()
    plain = tp.identify_gains(ARM, *logs, mass=2.0, terms=TERMS, cutoff_hz=5.0, slow=0.05, relative_gains=0.0)
    assert plain.values == pytest.approx(found.values, rel=1e-3)  # where the search begins is not where it ends


def test_stated_gains_divide_the_log(recorded_high):
    stated = fitted(recorded_high, relative_gains=(0.0, 0.15))
    divided = fitted(recorded_high.with_(tau=recorded_high.tau / [1.0, 1.15]), relative_gains=0.0)
    assert stated.values == pytest.approx(divided.values, rel=1e-9, abs=1e-9)
    other = log((1.0, 1.15), seed=2)
    assert stated.predict(other) == pytest.approx(divided.predict(other) * [1.0, 1.15], rel=1e-9)


def test_what_runs_beside_the_robot_knows_them(fit):
    """Without a contact, the observer sees less than with gains that are ignored; the tracker predicts recorded torque."""
    other = log((1.0, 1.15), seed=3, seconds=10.0)
    ignored = tp.momentum_observer(fitted(log((1.0, 1.0), seed=0)))
    seen = tp.momentum_observer(fit).external_torque(other)
    assert np.std(seen[:, 1]) < 0.7 * np.std(ignored.external_torque(other)[:, 1])
    tracking = fit.track(other)
    assert tracking.measured == pytest.approx(fit.validate(other, cutoff_hz=5.0).measured, abs=0.5)


def test_they_are_saved_with_the_fit(fit, tmp_path):
    tp.write_fit(fit, tmp_path / "fit.json")
    assert tp.load_fit(tmp_path / "fit.json").relative_gains == pytest.approx(fit.relative_gains)


def test_a_channel_that_is_off_by_more_than_any_gain_is_a_cause():
    with pytest.warns(tp.TaupiWarning):
        fit = fitted(log((1.0, 4.0)))
    assert not fit.relative_gains.any()
    assert "torque_factor" in fit.verdict.causes and fit.verdict.level != "good"


@pytest.mark.parametrize("value", [-1.0, (0.1, 0.2, 0.3), float("nan"), "high"])
def test_what_is_no_gain_is_refused(value):
    with pytest.raises(TaupiError) as error:
        fitted(log(seconds=5.0), relative_gains=value)
    assert "relative_gains" in str(error.value)


def test_rows_of_springs_have_no_drive_gains():
    robot = tp.load("zollo2r")
    with pytest.raises(TaupiError):
        tp.identify(robot, log(seconds=5.0), relative_gains=0.1)


def test_regions_hold_what_repeats():
    t = np.linspace(0, 20, 500)
    once = np.stack([np.sin(t), np.cos(1.3 * t)], axis=1)
    regions = Blocks.regions(np.tile(once, (2, 1)), seed=1)
    first, second = np.split(regions.of_row, 2)
    assert (first == second).all() and set(regions.of_row) == set(range(regions.count)) and regions.count == 10
    still = Blocks.regions(np.zeros((30, 2)))
    assert still.count == 1


def test_an_arm_that_stands_still_shows_no_gains():
    """There is one region of positions, of which none can be left out."""
    arm, t = tp.load("elbow2r"), np.arange(400) / 100
    tau = np.stack([np.sin(t), np.cos(1.7 * t)], axis=1)
    with pytest.warns(tp.errors.TaupiWarning):
        fit = tp.identify(arm, tp.Log(t, 0 * tau, tau=tau, names=arm.joint_names), cutoff_hz=8)
    assert fit.verdict.level != "good" and not any("relative gains" in note for note in fit.notes)
