"""What commands, positions and torques of a log say about each other, and what is refused or found because of it."""

import dataclasses

import numpy as np
import pytest

import taupi as tp
from taupi.errors import TaupiError
from taupi.signals.checking.commands import is_driven_by_commands, swapped_commands, torque_law

TIME = np.arange(4000) / 200
KP, KD = np.array([80.0, 20.0, 5.0]), np.array([2.5, 0.5, 0.0])


def driven(noise=0.0, **fields):
    """Three joints that follow their commands 40 ms late, and the torque that their drives compute."""
    rates = np.array([2.0, 3.3, 5.1])
    qdes = np.sin(rates * TIME[:, None])
    q = 0.9 * np.sin(rates * (TIME[:, None] - 0.04))
    qd = 0.9 * rates * np.cos(rates * (TIME[:, None] - 0.04))
    tau = KP * (qdes - q) - KD * qd
    tau = tau + noise * tau.std(axis=0) * np.random.default_rng(0).normal(size=tau.shape)
    return tp.Log(TIME, **{"q": q, "qd": qd, "tau": tau, "qdes": qdes, **fields})


def test_the_law_of_a_drive_is_recognised_with_its_gains():
    law = torque_law(driven())
    assert np.allclose(law.kp, KP) and np.allclose(law.kd, KD, atol=1e-9) and law.kd_acts_on == "velocity"
    assert law.table == {"law": "pd", "kp": [80.0, 20.0, 5.0], "kd": [2.5, 0.5, 0.0]}
    assert law.explained > 0.999999


def test_the_law_may_act_on_the_error_of_the_velocity_and_have_a_feed_forward():
    log = driven()
    qd_des = np.gradient(log.qdes, TIME, axis=0)
    ahead = np.sin(TIME)[:, None] * np.ones(3)
    tau = KP * (log.qdes - log.q) + KD * (qd_des - log.qd) + ahead
    law = torque_law(log.with_(tau=tau, qd_des=qd_des, tau_ff=ahead))
    assert law.kd_acts_on == "error" and np.allclose(law.kp, KP) and np.allclose(law.kd, KD, atol=1e-9)


def test_without_a_recorded_velocity_its_differences_serve():
    assert np.allclose(torque_law(driven(qd=None)).kp, KP, rtol=1e-3)


@pytest.mark.parametrize(("noise", "computed"), [(0.01, True), (0.02, True), (0.06, False), (0.3, False)])
def test_a_torque_with_more_than_a_thousandth_of_its_own_is_a_measurement(noise, computed):
    assert (torque_law(driven(noise)) is not None) is computed


def test_a_law_that_is_clipped_is_still_the_law():
    log = driven()
    tau = 0.5 * np.abs(log.tau).max(axis=0)
    clipped = log.with_(tau=np.clip(log.tau, -tau, tau))
    law = torque_law(clipped)
    assert law.kp == pytest.approx(torque_law(log).kp, rel=1e-3)
    assert law.torque_limit == pytest.approx(tau)
    assert law.table["torque_limit"] == pytest.approx(tau, rel=1e-2)
    assert torque_law(log).table.get("torque_limit") is None


def test_a_torque_is_clipped_with_what_was_commanded_ahead():
    log = driven()
    ahead = np.sin(TIME)[:, None] * np.ones(3)
    tau = log.tau + ahead
    limit = 0.5 * np.abs(tau).max(axis=0)
    law = torque_law(log.with_(tau=np.clip(tau, -limit, limit), tau_ff=ahead))
    assert law.kp == pytest.approx(torque_law(log).kp, rel=1e-3)
    assert law.torque_limit == pytest.approx(limit)


def test_a_joint_without_torque_is_not_limited_to_none():
    log = driven()
    tau = log.tau * [1.0, 1.0, 0.0]
    assert torque_law(log.with_(tau=tau)).torque_limit == (np.inf, np.inf, np.inf)


def test_one_measured_joint_is_enough_to_be_a_measurement():
    log = driven()
    tau = log.tau.copy()
    tau[:, 2] += 0.3 * np.sin(11 * TIME)
    assert torque_law(log.with_(tau=tau)) is None
    assert torque_law(driven(qdes=None)) is None and torque_law(driven(tau=None)) is None


def test_rows_where_motors_are_off_do_not_count():
    enabled = np.where(TIME < 10, 1.0, 0.0)[:, None]
    log = driven()
    off = log.with_(tau=log.tau * enabled, enabled=enabled)
    assert np.allclose(torque_law(off).kp, KP)


def test_a_fit_refuses_a_computed_torque_and_says_what_to_write():
    arm = tp.load("elbow2r")
    log = driven().select([0, 1])
    with pytest.raises(TaupiError, match="was not measured") as refused:
        tp.identify(arm, log)
    assert "'drive': {'law': 'pd', 'kp': [80.0, 20.0], 'kd': [2.5, 0.5]}" in str(refused.value)
    log = log.with_(drive={"kp": 80})
    assert is_driven_by_commands(log) and is_driven_by_commands(log.with_(tau=None))
    assert not is_driven_by_commands(log.with_(tau=np.sin(log.q))) and not is_driven_by_commands(driven(tau=None))


def test_a_missing_torque_names_both_ways_out():
    with pytest.raises(TaupiError, match=r"map the columns of tau, or, if none was measured, .* under \[drive\]"):
        driven(tau=None).need("tau")


def kinds(log, robot=None):
    return [f.kind for f in tp.check_log(log, robot).findings]


def found(log, kind, robot=None):
    (finding,) = tp.check_log(log, robot).of(kind)
    return finding


def test_a_sound_log_has_no_findings():
    assert kinds(driven(tau=None)) == []


def test_a_computed_torque_is_found():
    finding = found(driven(), "computed")
    assert 'law = "pd", kp = [80.0, 20.0, 5.0]' in finding.message and finding.value("explained") > 0.999


def test_swapped_commands_are_found():
    log = driven(tau=None)
    assert swapped_commands(log) == {}
    assert swapped_commands(log.with_(qdes=log.qdes[:, [1, 0, 2]])) == {0: 1, 1: 0}
    report = tp.check_log(log.with_(qdes=log.qdes[:, [1, 0, 2]]))
    assert [f.channel for f in report.of("command-swapped")] == ["qdes of j1", "qdes of j2"]


def test_swapped_commands_of_one_wave_at_different_places_are_found():
    wave, places = np.sin(TIME)[:, None], np.array([-1.0, 0.0, 1.0])
    log = tp.Log(TIME, 0.98 * wave + places, qdes=wave + places)
    assert swapped_commands(log) == {}
    assert swapped_commands(log.with_(qdes=log.qdes[:, [2, 1, 0]])) == {0: 2, 2: 0}


def test_a_weak_drive_is_not_taken_for_swapped_commands():
    log = driven(tau=None)
    sagging = log.q * 0.3 + np.array([0.5, -0.5, 0.2])
    assert swapped_commands(log.with_(q=sagging)) == {}


def test_commands_that_never_move():
    log = driven(tau=None)
    qdes = log.qdes.copy()
    qdes[:, 1] = 0.3
    assert found(log.with_(qdes=qdes), "command-still").channel == "qdes of j2"


def test_degrees_and_signs_are_found():
    log = driven(tau=None)
    report = tp.check_log(log.with_(qdes=np.degrees(log.qdes)))
    assert len(report.of("command-unit")) == 3
    assert all("degrees" in f.message for f in report.of("command-unit"))
    turned = tp.check_log(log.with_(qdes=log.qdes * [1, -1, 1]))
    assert [(f.channel, "sign" in f.message) for f in turned.of("command-unit")] == [("qdes of j2", True)]


def test_joints_that_follow_late_or_early():
    slow = np.array([0.7, 1.1, 1.7])
    for delay in (0.4, -0.2):
        log = tp.Log(TIME, np.sin(slow * (TIME[:, None] - delay)), qdes=np.sin(slow * TIME[:, None]))
        late = tp.check_log(log).of("command-late")
        assert len(late) == 3
        assert all(abs(f.value("delay_s") - delay) < 0.02 for f in late)


def test_commands_sent_at_a_lower_rate():
    log = driven(tau=None)
    held = log.qdes[np.arange(len(log)) // 4 * 4]
    finding = found(log.with_(qdes=held), "command-rate")
    assert finding.value("rate_hz") == pytest.approx(50, rel=0.01)


def test_gains_in_another_unit(tmp_path):
    arm = tp.load("puma560")
    joints = tuple(
        dataclasses.replace(j, limits=dataclasses.replace(j.limits, effort=30.0)) for j in arm.driving_joints
    )
    arm = dataclasses.replace(arm, joints=joints)
    log = tp.Log(
        TIME, np.repeat(driven().q, 2, axis=1), qdes=np.repeat(driven().qdes, 2, axis=1), names=arm.joint_names
    )
    assert "gains" not in kinds(log.with_(drive={"kp": 80}), arm)
    for kp in (80 * 180 / np.pi, 80 * np.pi / 180 / 30):
        assert kinds(log.with_(drive={"kp": kp}), arm).count("gains") == 6
    assert "gains" not in kinds(log.with_(drive={"kp": 80 * 180 / np.pi, "torque_limit": 30}), arm)


def test_a_register_for_the_gain_of_a_servo():
    log = driven(tau=None)
    assert found(log.with_(drive={"law": "duty", "kp": [400, 0.5, 0.5], "volts": 7}), "gains").channel == "drive of j1"


def test_a_switch_of_other_numbers():
    log = driven(tau=None)
    assert kinds(log.with_(enabled=np.where(TIME < 1, 3.0, 0.0)[:, None])) == ["switch"]
