"""Fits beside the models of other engines on a log: errors joint by joint, and what differs."""

import dataclasses
import re

import numpy as np
import pytest

import taupi as tp
from taupi.errors import TaupiError, TaupiWarning

mujoco = pytest.importorskip("mujoco")

TERMS = ("rotor", "viscous", "coulomb", "offset")
W = np.array([1.0, 1.7, 1.3, 2.1, 1.9, 2.3])


def log_of(robot, terms, phase=0.0, seconds=20):
    t = np.arange(100 * seconds)[:, None] / 100
    q, qd, qdd = np.sin(W * t + phase), W * np.cos(W * t + phase), -W * W * np.sin(W * t + phase)
    return tp.Log(t[:, 0], q, tau=tp.inverse_dynamics(robot, terms=terms)(q, qd, qdd), names=robot.joint_names)


@pytest.fixture(scope="module")
def arm():
    plain = tp.load("ur10").with_friction(viscous=5.0, coulomb=3.0, offset=[1, -1, 0.5, 0.2, 0, 0])
    return plain.with_transmissions(rotor_inertia=0.5)


@pytest.fixture(scope="module")
def fit(arm):
    return tp.identify(arm, log_of(arm, TERMS), terms=TERMS, cutoff_hz=10)


def test_mujocos_torques_are_those_of_the_fit(arm, fit, tmp_path):
    export = tp.write_mjcf(fit, tmp_path / "arm.xml")
    seen = tp.bridges.check_mjcf(fit, export, log_of(arm, TERMS, 1.0))
    assert export.lost == () and list(seen.others) == ["no memory", "mujoco"]
    # What is left is how MuJoCo lets dry friction set in.
    assert seen.fit.relative < 2e-3 and seen.others["mujoco"].relative < 0.02
    assert seen.ratio == seen.others["mujoco"].relative / seen.fit.relative
    smooth = log_of(arm, ())
    without = tp.identify(arm, smooth, terms=("rotor", "viscous", "offset"), cutoff_hz=10)
    seen = tp.bridges.check_mjcf(without, tp.write_mjcf(without, tmp_path / "smooth.xml"), smooth)
    assert abs(seen.others["mujoco"].relative - seen.fit.relative) < 1e-6


def test_what_a_wrong_model_differs_in_is_named(arm, fit, tmp_path):
    wrong = arm.with_friction(viscous=[5, 9, 5, 5, 5, 5], coulomb=[3, 3, 8, 3, 3, 3], offset=[1, -1, 0.5, 3, 0, 0])
    wrong = wrong.with_transmissions(rotor_inertia=[0.5, 0.5, 0.5, 0.5, 0.1, 0.5])
    pi = wrong.parameters.values.copy()
    tp.write_mjcf(wrong.with_parameters(pi), tmp_path / "wrong.xml")
    seen = tp.bridges.compare_with(fit, "mujoco", tmp_path / "wrong.xml", log_of(arm, TERMS, 1.0))
    values = np.array([d.values for d in seen.differences])  # constant, viscous, dry, armature
    expected = np.zeros((6, 4))
    expected[1, 1], expected[2, 2], expected[3, 0], expected[4, 3] = 4, 5, 2.8, -0.4
    assert np.abs(values - expected).max() < 0.1
    words = {s.split(":")[0]: s for s in seen.sentences}
    assert words["shoulder_lift_joint"].endswith("N m s/rad of viscous friction")
    assert words["elbow_joint"].endswith("of dry friction") and words["wrist_1_joint"].endswith("of a constant torque")
    assert "of inertia of the joint's own drive" in words["wrist_2_joint"]
    assert seen.to_dict()["differences"][1]["explained"] > 0.99


def test_wrong_masses_are_named_as_such(arm, fit, tmp_path):
    pi = arm.parameters.values.reshape(-1, 10).copy()
    pi[2] *= 1.3
    tp.write_mjcf(arm.with_parameters(pi.ravel()), tmp_path / "heavy.xml")
    seen = tp.bridges.compare_with(fit, "mujoco", tmp_path / "heavy.xml", log_of(arm, TERMS, 1.0))
    words = next(s for s in seen.sentences if s.startswith("shoulder_lift_joint"))
    assert "with pose and load: bodies of links, gravity" in words
    assert "joint" in repr(seen) and "<table" in seen._repr_html_()


def test_friction_without_a_place_is_stood_in_for(arm, tmp_path):
    terms = (*TERMS, "load")
    lossy = arm.with_friction(load=0.1)
    log = log_of(lossy, terms)
    fit = tp.identify(arm, log, terms=terms, cutoff_hz=10)
    export = tp.write_mjcf(fit, tmp_path / "arm.xml")
    assert set(export.lost) <= {f"{name}.load" for name in arm.joint_names} and len(export.lost) >= 4
    assert "have no place in MJCF" in export.notes[-1]
    seen = tp.bridges.check_mjcf(fit, export, log)
    dropped = dict(zip(fit.basis.standard.names, fit.parameters.values, strict=True))
    pi = np.array([0.0 if name.endswith(".load") else value for name, value in dropped.items()])
    plain = dataclasses.replace(fit, values=fit.basis.project(pi)).validate(log)
    assert fit.validate(log).relative < seen.others["placed"].relative < 0.8 * plain.relative
    assert seen.others["mujoco"].relative < 1.1 * seen.others["placed"].relative
    if "no memory" in seen.others:  # simulated friction has none
        assert seen.others["no memory"].relative == pytest.approx(seen.others["placed"].relative, rel=0.1)


def test_torques_that_are_known_are_not_the_motors(arm, fit, tmp_path):
    log = log_of(arm, TERMS, 1.0)
    known = np.cos(log.q) * [20.0, 10, 5, 2, 1, 1]
    pushed = log.with_(tau=log.tau - known, tau_known=known)
    seen = tp.bridges.check_mjcf(fit, tp.write_mjcf(fit, tmp_path / "arm.xml"), pushed)
    assert seen.fit.relative < 2e-3 and seen.others["mujoco"].relative < 0.02


def test_limits_of_joints_do_not_push(arm, fit, tmp_path):
    tp.write_mjcf(fit, tmp_path / "arm.xml")
    text = (tmp_path / "arm.xml").read_text()
    assert text.count("range=") > 6
    (tmp_path / "tight.xml").write_text(re.sub(r' range="[^"]*"', ' range="-0.1 0.1"', text))
    log = log_of(arm, TERMS, 1.0)
    wide, tight = (
        tp.bridges.compare_with(fit, "mujoco", tmp_path / f"{name}.xml", log).others["mujoco"].relative
        for name in ("arm", "tight")
    )
    assert wide == tight


def test_springs_of_a_fit_are_springs_of_joints(arm, tmp_path):
    terms = ("viscous", "spring", "offset")
    log = log_of(arm.with_friction(viscous=5.0, coulomb=0.0, offset=2.0), ("viscous", "offset"))
    log = log.with_(tau=log.tau + 30.0 * log.q)
    fit = tp.identify(arm, log, terms=terms, cutoff_hz=10)
    export = tp.write_mjcf(fit, tmp_path / "arm.xml")
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "arm.xml"))
    assert export.lost == () and np.abs(model.jnt_stiffness - 30).max() < 1
    np.testing.assert_allclose(-model.jnt_stiffness * model.qpos_spring, 2.0, atol=0.3)
    seen = tp.bridges.check_mjcf(fit, export, log)
    assert abs(seen.others["mujoco"].relative - seen.fit.relative) < 1e-6


def test_friction_of_drives_that_joints_share_is_refused(arm, tmp_path):
    along = tp.terms.Along("belt", tp.terms.Viscous(), (0, 0, 0, 0, 1, 1))
    fit = tp.identify(arm, log_of(arm, ("viscous",)), terms=("viscous", along), cutoff_hz=10)
    with pytest.raises(TaupiError, match="belt is a drive that several joints share"):
        tp.write_mjcf(fit, tmp_path / "arm.xml")


def test_what_a_fit_has_not_identified_is_zero(arm, fit, tmp_path):
    """A file with friction of its own does not keep it where the fit has none."""
    tp.write_mjcf(arm.with_friction(viscous=300.0, coulomb=10.0), tmp_path / "theirs.xml")
    plain = tp.identify(arm, log_of(arm, ()), terms=(), cutoff_hz=10)
    tp.write_mjcf(plain, tmp_path / "new.xml", model=tmp_path / "theirs.xml")
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "new.xml"))
    assert not (model.dof_damping.any() or model.dof_frictionloss.any() or model.dof_armature.any())


def test_gravity_that_mujoco_compensates_is_a_warning(arm, fit, tmp_path):
    tp.write_mjcf(fit, tmp_path / "arm.xml")
    text = (
        (tmp_path / "arm.xml")
        .read_text()
        .replace('<body name="forearm_link"', '<body name="forearm_link" gravcomp="1"')
    )
    (tmp_path / "arm.xml").write_text(text)
    with pytest.warns(TaupiWarning, match="compensates gravity of some bodies"):
        tp.bridges.compare_with(fit, "mujoco", tmp_path / "arm.xml", log_of(arm, TERMS))


def test_bad_input(arm, fit, tmp_path):
    log = log_of(arm, TERMS)
    tp.write_mjcf(fit, tmp_path / "arm.xml")
    with pytest.raises(TaupiError, match=r"No engine 'bullet'. Known: mujoco"):
        tp.bridges.compare_with(fit, "bullet", tmp_path / "arm.xml", log)
    with pytest.raises(TaupiError, match=r"no\.xml"):
        tp.bridges.compare_with(fit, "mujoco", tmp_path / "no.xml", log)
    with pytest.raises(TaupiError, match="has a free base or ball joints"):
        tp.bridges.MujocoModel.of(tmp_path / "arm.xml", arm.floating_base())
    (tmp_path / "ball.xml").write_text(
        '<mujoco><worldbody><body><joint name="a" type="ball"/><geom size=".1"/></body></worldbody></mujoco>'
    )
    single = tp.Robot.from_dh([dict(a=1, name="a")])
    with pytest.raises(TaupiError, match="a are free or ball joints, expected hinges and slides"):
        tp.bridges.MujocoModel.of(tmp_path / "ball.xml", single)
    with pytest.raises(TaupiError, match="tau"):
        tp.bridges.compare_with(fit, "mujoco", tmp_path / "arm.xml", tp.Log(log.time, log.q))


def test_friction_that_yields_is_named_and_a_new_file_has_it_hard(tmp_path):
    """A light wrist without a rotor, at a speed where MuJoCo's default settings have a third of its dry friction."""
    light = tp.load("ur10").with_friction(viscous=5.0, coulomb=2.0)
    tp.write_mjcf(light, tmp_path / "hard.xml")
    text = (tmp_path / "hard.xml").read_text()
    soft_text = re.sub(r" *<joint solreffriction[^>]*/>\n", "", text)
    assert soft_text != text
    (tmp_path / "soft.xml").write_text(soft_text)
    rng = np.random.default_rng(4)
    q, qdd = rng.uniform(-1, 1, (2, 20, 6))
    hard, soft = (tp.bridges.MujocoModel.of(tmp_path / name, light) for name in ("hard.xml", "soft.xml"))
    assert max(hard.soft_friction().values()) < 2e-3 and hard.soft_friction().keys() == set(light.joint_names)
    slow = 0.05 * np.sign(rng.normal(size=(20, 6)))
    expected = tp.inverse_dynamics(light, terms=("viscous", "coulomb"))(q, slow, qdd)
    assert np.abs(hard(q, slow, qdd) - expected).max() < 1e-6
    assert np.abs(soft(q, slow, qdd) - expected).max() > 1.5
    # The speed that is stated is the one from which all of the friction is there.
    speed = soft.soft_friction()["wrist_3_joint"]
    still, forward = np.zeros((1, 6)), np.eye(6)[5:]
    for factor, share in ((0.5, 0.5), (0.99, 0.99), (1.01, 1.0), (2.0, 1.0)):
        qd = factor * speed * forward
        smooth = tp.inverse_dynamics(light, terms=("viscous",))(still, qd, still)
        assert (soft(still, qd, still) - smooth)[0, 5] == pytest.approx(2.0 * share, rel=1e-3)
    log = log_of(light, ("viscous", "coulomb"))
    fit = tp.identify(light, log, terms=("viscous", "coulomb"), cutoff_hz=10)
    seen = tp.bridges.compare_with(fit, "mujoco", tmp_path / "soft.xml", log)
    assert re.search(r"mujoco: its dry friction yields, .*wrist_3_joint \S+; solreffriction", repr(seen))
    assert "yields" not in repr(tp.bridges.compare_with(fit, "mujoco", tmp_path / "hard.xml", log))
