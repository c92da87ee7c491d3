"""A model in any format that is read is held against a log: SDF and USD as well as URDF."""

import numpy as np
import pytest

import taupi as tp


@pytest.mark.parametrize(("target", "ending"), [("sdf", ".sdf"), ("usd", ".usda"), ("urdf", ".urdf")])
def test_a_model_of_any_format_is_judged_alike(target, ending, tmp_path):
    """The file that the log was made from is supported; one whose dry friction at the elbow is doubled is contradicted there."""
    if target == "usd":
        pytest.importorskip("pxr")
    arm = tp.load("elbow2r").with_friction(viscous=2.0, coulomb=[1.5, 0.8])
    t, w = np.arange(2000)[:, None] / 100, np.array([1.0, 1.7])
    q, qd, qdd = np.sin(w * t), w * np.cos(w * t), -w * w * np.sin(w * t)
    tau = tp.inverse_dynamics(arm, terms=("viscous", "coulomb"))(q, qd, qdd)
    log = tp.Log(t[:, 0], q, tau=tau + np.random.default_rng(0).normal(0, 0.1, q.shape), names=arm.joint_names)
    answers = {}
    for folder, robot in (("right", arm), ("wrong", arm.with_friction(coulomb=[1.5, 1.6]))):
        tp.export(robot, tmp_path / folder, target=target)
        file = next((tmp_path / folder).glob(f"*{ending}"))
        read = tp.load(file, gravity=(0, -9.81, 0))  # formats of robots alone do not state it
        answers[folder] = tp.check_model(read, log, preparation=tp.Preparation(cutoff_hz=10))
    assert not answers["right"].those("contradicted")
    (against,) = answers["wrong"].those("contradicted")
    assert against.name == "elbow.coulomb" and against.described == pytest.approx(1.6, rel=1e-6)
