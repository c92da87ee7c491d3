"""Payloads whose mass no torque shows: first moments with intervals, and never a mass that is not seen."""

import json
import re

import numpy as np
import pytest

import taupi as tp
from taupi.errors import NotIdentifiedError

# A pan and a tilt whose axes meet: the mass of what they carry acts on no joint, its first moment about the tilt does.
PAN_TILT = tp.Robot.from_dh(
    [dict(a=0, alpha=np.pi / 2, d=0, theta=0, joint="revolute"), dict(a=0, alpha=0, d=0, theta=0, joint="revolute")],
    links=[
        dict(m=2, com=(0, 0, 0.1), inertia=0.1 * np.eye(3)),
        dict(m=1, com=(0.1, 0.02, 0.0), inertia=0.05 * np.eye(3)),
    ],
)
CENTRE = (0.3, 0.05, 0.0)


def log(robot, seed):
    rng = np.random.default_rng(seed)
    t = np.arange(4000)[:, None, None] / 100
    w, a, p = rng.uniform(0.5, 3, (4, 2)), rng.uniform(0.2, 0.5, (4, 2)), rng.uniform(0, 6, (4, 2))
    q, qd, qdd = (
        x.sum(axis=1) for x in (a * np.sin(w * t + p), a * w * np.cos(w * t + p), -a * w * w * np.sin(w * t + p))
    )
    tau = tp.inverse_dynamics(robot)(q, qd, qdd) + 0.02 * rng.normal(size=q.shape)
    return tp.Log(t[:, 0, 0], q, tau=tau, names=robot.joint_names)


@pytest.fixture(scope="module")
def fit():
    return tp.identify(PAN_TILT, log(PAN_TILT, 0), terms=("viscous",), cutoff_hz=5)


@pytest.mark.parametrize("mass", [0.5, 0.1])
def test_first_moments_are_stated_and_no_mass(fit, mass):
    load = tp.identify_payload(fit, log(PAN_TILT.with_payload(mass, CENTRE), 1), gain_uncertainty=0.02)
    assert not load.mass_is_seen and np.isnan(load.mass) and np.isinf(load.stderr.mass) and load.present
    half = load.moment_intervals()
    assert np.abs(load.moment - mass * np.array(CENTRE))[:2] == pytest.approx(np.zeros(2), abs=half[:2].max())
    assert load.moment[:2] == pytest.approx(mass * np.array(CENTRE[:2]), rel=0.1) and np.isinf(load.moment_stderr[2])
    assert "first moment" in load.summary and load.relative < 0.2 * load.before
    data = json.loads(json.dumps(load.to_dict(), allow_nan=False))
    assert data["mass"]["value"] is None and data["moment"]["value"][2] is None
    with pytest.raises(NotIdentifiedError):
        _ = load.robot


def test_no_payload_has_moments_about_zero(fit):
    """What the log determines is stated, also if it is nothing; a refusal would say that it shows no first moment."""
    load = tp.identify_payload(fit, log(PAN_TILT, 1), gain_uncertainty=0.02)
    assert not load.present and not load.mass_is_seen
    assert (np.abs(load.moment[:2]) < load.moment_intervals()[:2]).all() and np.isinf(load.moment_stderr[2])
    assert load.to_dict()["present"] is False


def test_intervals_of_moments_are_ends_like_those_of_the_mass(fit):
    load = tp.identify_payload(fit, log(PAN_TILT.with_payload(0.5, CENTRE), 1), gain_uncertainty=0.02)
    interval, half = load.to_dict()["moment"]["interval"], load.moment_intervals()
    assert interval[0] == pytest.approx([load.moment[0] - half[0], load.moment[0] + half[0]])
    assert interval[2] == [None, None]


def test_a_page_and_files_do_without_the_mass(fit, tmp_path):
    load = tp.identify_payload(fit, log(PAN_TILT.with_payload(0.5, CENTRE), 1))
    tp.report(load, tmp_path / "load.html")
    text = (tmp_path / "load.html").read_text(encoding="utf-8")
    assert "first moment along x" in text and not re.search(r"\bnan\b", text, re.IGNORECASE)
    with pytest.raises(NotIdentifiedError):
        tp.write_toml(load, tmp_path / "load.toml", anyway=True)


def test_a_seen_mass_has_moments_too():
    arm = tp.load("elbow2r")
    fit = tp.identify(arm, log(arm, 0), terms=("viscous",), cutoff_hz=5)
    load = tp.identify_payload(fit, log(arm.with_payload(1.0, (0.1, 0.0, 0.0)), 1), gain_uncertainty=0.02)
    assert load.mass_is_seen and load.mass == pytest.approx(1.0, rel=0.1)
    assert load.moment == pytest.approx(load.mass * load.com)
