"""A log that moves faster than the fitted ones is predicted with a warning: friction is extrapolated there."""

import numpy as np
import pytest

import taupi as tp

ARM = tp.load("elbow2r").with_friction(viscous=[2.0, 1.0])


def log_of(speed, rate=100):
    """Return a motion whose joints reach `speed` (2,)."""
    t, w = np.arange(30 * rate)[:, None] / rate, np.array([1.0, 1.7])
    a = np.asarray(speed) / w
    q, qd, qdd = a * np.sin(w * t), a * w * np.cos(w * t), -a * w * w * np.sin(w * t)
    return tp.Log(t[:, 0], q, tau=tp.inverse_dynamics(ARM, terms=("viscous",))(q, qd, qdd), names=ARM.joint_names)


@pytest.fixture(scope="module")
def fit():
    return tp.identify(ARM, [log_of((1.0, 2.0)), log_of((0.5, 2.5))], terms=("viscous",), cutoff_hz=10)


def test_a_fit_knows_its_speeds_and_keeps_them(fit, tmp_path):
    assert fit.speeds == pytest.approx({"shoulder": 1.0, "elbow": 2.5}, rel=0.01)
    tp.write_fit(fit, tmp_path / "fit.json")
    assert tp.load_fit(tmp_path / "fit.json").speeds == fit.speeds


@pytest.mark.parametrize("load", [False, True])
def test_the_joints_that_are_faster_are_named_with_both_speeds(fit, tmp_path, load):
    if load:
        tp.write_fit(fit, tmp_path / "fit.json")
        fit = tp.load_fit(tmp_path / "fit.json")
    with pytest.warns(tp.TaupiWarning, match=r"log moves faster .*: shoulder up to 1.3, fitted up to 1. Friction is"):
        validation = fit.validate(log_of((1.3, 2.6)))
    assert list(validation.faster) == ["shoulder"]
    assert validation.faster["shoulder"].reached == pytest.approx(1.3, rel=0.01)
    assert validation.to_dict()["faster"]["shoulder"]["fitted"] == pytest.approx(1.0, rel=0.01)


@pytest.mark.filterwarnings("error")
def test_within_a_fifth_nothing_is_said(fit):
    assert fit.validate(log_of((1.15, 2.9))).faster == {}
    assert fit.validate(log_of((0.2, 0.2))).faster == {}


@pytest.mark.filterwarnings("error")
def test_without_friction_nothing_is_extrapolated():
    bare = tp.identify(ARM, log_of((1.0, 2.0)), terms=("rotor", "offset"), cutoff_hz=10)
    assert bare.validate(log_of((3.0, 5.0))).faster == {}


@pytest.mark.filterwarnings("error")
def test_an_older_fit_without_speeds_is_silent(fit):
    data = fit.to_dict()
    for record in data["provenance"]["logs"]:
        del record["speeds"]
    old = tp.Fit.from_dict(data, fit.robot)
    assert old.speeds == {} and old.validate(log_of((3.0, 5.0))).faster == {}
