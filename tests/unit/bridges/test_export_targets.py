"""Robots written for simulators: what a target declares is what it writes, names as lost, and what its engine computes."""

import dataclasses
import importlib.util
import json
import re
import sys
import warnings
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

import taupi as tp
from taupi.bridges.identified import PLACES
from taupi.bridges.targets.bodies import roll_pitch_yaw, turned_to
from taupi.bridges.targets.target import DRIVE, QUANTITIES, TARGETS
from taupi.errors import TaupiError
from taupi.model.scalars import exact

NAMES = ["mujoco", "isaaclab", "mjlab", "usd", "newton", "urdf", "sdf", "genesis", "drake"]
# Texts are the shortest decimals of doubles; engines turn axes and inertias in their own order.
WRITTEN = 1e-12
# Of a constant torque that is written as a spring of 1e-6 N m/rad, for positions up to 1 rad.
SOFT = 2e-6
ODD = 0.12345678912345678
TERMS = ("rotor", "viscous", "coulomb", "offset", "spring")
ONE = """<robot name="one"><link name="base"/><joint name="j" type="continuous"><parent link="base"/><child link="arm"/>
<axis xyz="0 0 1"/></joint><link name="arm"><inertial><mass value="1"/>
<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link></robot>
"""


@pytest.fixture
def one(tmp_path):
    (tmp_path / "one.urdf").write_text(ONE)
    arm = tp.load(tmp_path / "one.urdf").with_friction(viscous=0.5, coulomb=0.3)
    return arm.with_transmissions(rotor_inertia=0.02)


def ur10():
    arm = tp.load("ur10").with_friction(viscous=[8, 8, 4, 2, 2, 1], coulomb=[6, 6, 4, 2, 2, 2], offset=0.25)
    return arm.with_transmissions(rotor_inertia=[0.5, 0.4, 0.3, 0.2, 0.1, 0.05])


def stated(robot, quantity, value):
    """The arm with one quantity of its joint at a value, and its drive."""
    drive = tp.bridges.JointDrive(kp=100.0, kd=5.0, effort=10.0)
    if quantity in DRIVE:
        return robot, dataclasses.replace(drive, **{quantity: value})
    if quantity == "armature":
        return robot.with_transmissions(rotor_inertia=value), drive
    if quantity == "stiffness":
        return dataclasses.replace(robot, joints=[dataclasses.replace(robot.joints[0], spring=exact(value))]), drive
    kind = {"damping": "viscous", "dry_friction": "coulomb", "offset": "offset"}[quantity]
    return robot.with_friction(**{kind: value}), drive


def texts(export):
    return "\n".join((export.folder / name).read_text() for name in export.files if name != "passport.json")


def test_all_targets_of_the_contract_are_there():
    assert sorted(NAMES) == sorted(TARGETS)
    for kind in TARGETS.values():
        assert set(kind.places) <= set(QUANTITIES) and kind.versions and kind.link.startswith("http")


@pytest.mark.parametrize("quantity", QUANTITIES)
@pytest.mark.parametrize("name", NAMES)
def test_a_quantity_is_written_in_full_if_it_has_a_place_and_named_if_not(name, quantity, one, tmp_path):
    """One quantity changes: the files change, with all digits in the units of the target; or it is lost, by its name."""
    robots = {folder: stated(one, quantity, value) for folder, value in (("a", 0.25), ("b", ODD))}
    before, after = (tp.export(r, tmp_path / f, target=name, drives=drive) for f, (r, drive) in robots.items())
    place = TARGETS[name].places.get(quantity)
    if place is None:
        label = f"j.{PLACES[quantity]}" if quantity in PLACES else f"j: {QUANTITIES[quantity].label}"
        assert any(lost.startswith(label) for lost in after.lost)
        assert texts(before) == texts(after)
        return
    assert after.lost == before.lost and not any(quantity in lost for lost in after.lost)
    assert texts(before) != texts(after)
    if quantity == "offset":  # a spring far from rest
        assert repr(-ODD / 1e-6) in texts(after)
    elif not place.steps:
        assert repr(place.number(ODD, slides=False)) in texts(after)


@pytest.mark.parametrize("name", NAMES)
def test_every_file_is_well_formed(name, tmp_path):
    export = tp.export(
        ur10(), tmp_path / "out", target=name, drives=tp.bridges.JointDrive(kp=100.0, kd=5.0, delay=0.005)
    )
    for file in export.files:
        text = (export.folder / file).read_text()
        if file.endswith(".py"):
            compile(text, file, "exec")
        elif file.endswith((".xml", ".urdf", ".sdf")):
            from xml.etree import ElementTree

            ElementTree.fromstring(text)
    record = json.loads((export.folder / "passport.json").read_text())
    assert record["target"] == name and set(record["joints"]) == set(ur10().joint_names)
    assert sorted(n for loss in record["lost"] for n in loss["names"]) == sorted(export.lost)


SINGLE = 2e-6  # of engines that compute with single precision
ENGINES = {"mujoco": SOFT, "mjlab": SOFT, "urdf": WRITTEN, "drake": WRITTEN, "usd": SINGLE, "newton": SINGLE}


@pytest.mark.parametrize(("name", "within"), ENGINES.items())
def test_an_engine_computes_what_the_passport_states(name, within, tmp_path):
    pytest.importorskip({"drake": "pydrake", "usd": "newton", "newton": "newton"}.get(name, "mujoco"))
    arm = ur10()
    export = tp.export(arm, tmp_path / "out", target=name)
    joints = export.passport.joints.values()
    written = arm.with_friction(
        viscous=[v.damping for v in joints], coulomb=[v.dry_friction for v in joints], offset=[v.offset for v in joints]
    ).with_transmissions(rotor_inertia=[v.armature for v in joints])
    motion = np.random.default_rng(0).uniform(0.2, 1, (3, 20, 6))
    expected = tp.inverse_dynamics(written, terms=TERMS)(*motion)
    seen = export.passport.target.torque(export.folder, export.passport)(*motion)
    assert np.abs(seen - expected).max() < within * max(1.0, np.abs(expected).max())


@pytest.mark.parametrize("name", ["mujoco", "urdf", "drake"])
def test_a_joint_that_follows_with_an_offset_is_where_the_file_has_it(name, tmp_path):
    """A robot counts a follower without its offset; a URDF that is updated keeps the offset, and so do engines that read it."""
    pytest.importorskip({"drake": "pydrake"}.get(name, "mujoco"))
    body = '<inertial><origin xyz="0.1 0.05 0.2"/><mass value="2"/><inertia ixx=".1" ixy="0" ixz="0" iyy=".2" iyz="0" izz=".15"/>'
    links = "".join(f'<link name="{link}">{body}</inertial></link>' for link in "abc")
    joints = "".join(
        f'<joint name="{joint}" type="continuous"><parent link="{parent}"/><child link="{child}"/><origin xyz="0.3 0 0.1"/>'
        f'<axis xyz="0 1 0"/>{more}</joint>'
        for joint, parent, child, more in (
            ("one", "base", "a", ""),
            ("two", "a", "b", '<mimic joint="one" multiplier="-2" offset="0.3"/>'),
            ("three", "b", "c", '<mimic joint="two" multiplier="0.5" offset="0.4"/>'),
        )
    )
    (tmp_path / "hand.urdf").write_text(f'<robot name="hand"><link name="base"/>{links}{joints}</robot>')
    hand = tp.load(tmp_path / "hand.urdf").with_friction(viscous=0.2)
    export = tp.export(hand, tmp_path / "out", target=name)
    motion = np.random.default_rng(0).uniform(-1, 1, (3, 20, hand.n))
    expected = tp.inverse_dynamics(hand, terms=("viscous",))(*motion)
    seen = export.passport.target.torque(export.folder, export.passport)(*motion)
    assert export.lost == () and np.abs(seen - expected).max() < 1e-9 * np.abs(expected).max()


def test_sdf_is_read_back_by_drake(tmp_path):
    """Drake ignores dry friction in SDF, and takes springs: without friction, torques are the same."""
    pytest.importorskip("pydrake")
    from taupi.bridges.targets.drake import DrakePlant

    arm = ur10().with_friction(coulomb=0).with_transmissions(rotor_inertia=0)
    export = tp.export(arm, tmp_path / "out", target="sdf")
    motion = np.random.default_rng(0).uniform(-1, 1, (3, 20, 6))
    expected = tp.inverse_dynamics(arm, terms=TERMS)(*motion)
    seen = DrakePlant.of(tmp_path / "out" / "ur10.sdf", export.passport)(*motion)
    assert export.lost == () and np.abs(seen - expected).max() < SOFT


def test_one_joint_reaches_its_steady_speed_in_mujoco(one, tmp_path):
    """(tau - F_c) / F_v = (1.3 - 0.3) / 0.5 = 2 rad/s, within 1e-4; with an inertia of 0.1 + 0.02."""
    mujoco = pytest.importorskip("mujoco")
    tp.export(one, tmp_path / "out", timestep=0.001)
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "out" / "one.xml"))
    data = mujoco.MjData(model)
    data.ctrl[0] = 1.3
    mujoco.mj_step(model, data, 4000)
    assert data.qvel[0] == pytest.approx(2.0, rel=1e-4)
    M = np.zeros((1, 1))
    mujoco.mj_fullM(model, M, data.qM) if hasattr(data, "qM") else mujoco.mj_fullM(model, data, M)
    assert M[0, 0] == pytest.approx(0.12, rel=WRITTEN)


def test_a_delay_fills_mujocos_buffer(one, tmp_path):
    """MuJoCo cuts a delay that is longer than its buffer: 10.5 ms at 1 ms are 11 samples."""
    mujoco = pytest.importorskip("mujoco")
    drive = tp.bridges.JointDrive(kp=100.0, kd=5.0, delay=0.0105, effort=10.0)
    tp.export(one, tmp_path / "out", drives={"j": drive}, timestep=0.001)
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "out" / "one.xml"))
    data = mujoco.MjData(model)
    assert model.opt.timestep == 0.001
    data.ctrl[0] = 1.0
    forces = []
    for _ in range(14):
        mujoco.mj_step(model, data)
        forces.append(float(data.actuator_force[0]))
    assert forces[9] == 0.0 and max(forces) == 10.0


def test_usd_is_read_back(tmp_path):
    """Damping counts per degree, armature and friction do not; usd-core finds all schemas and numbers."""
    usd = pytest.importorskip("pxr.Usd")
    from pxr import UsdPhysics

    arm = ur10()
    tp.export(arm, tmp_path / "out", target="usd", drives=tp.bridges.JointDrive(kp=100.0, kd=5.0))
    stage = usd.Stage.Open(str(tmp_path / "out" / "ur10.usda"))
    for joint, name in zip(arm.joints, arm.joint_names, strict=True):
        prim = stage.GetPrimAtPath(f"/ur10/joints/{name}")
        assert prim.IsA(UsdPhysics.RevoluteJoint) and prim.HasAPI(UsdPhysics.DriveAPI, "angular")
        numbers = {
            "newton:damping": float(joint.friction.viscous) * np.pi / 180,
            "newton:friction": float(joint.friction.coulomb),
            "newton:armature": float(joint.transmission.rotor_inertia),
            "drive:angular:physics:stiffness": 100 * np.pi / 180,
        }
        for attribute, value in numbers.items():
            assert prim.GetAttribute(attribute).Get() == pytest.approx(value, rel=1e-6)


def test_newton_reads_usd_back(tmp_path):
    """What Newton has of each joint and body is what was written, within single precision; one joint reaches its speed."""
    newton = pytest.importorskip("newton")
    arm = ur10()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tp.export(arm, tmp_path / "out", target="newton", drives=tp.bridges.JointDrive(kp=100.0, kd=5.0))
        spec = importlib.util.spec_from_file_location("ur10_newton", tmp_path / "out" / "ur10_newton.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        model = module.build()
    assert model.joint_armature.numpy() == pytest.approx([0.5, 0.4, 0.3, 0.2, 0.1, 0.05], rel=1e-6)
    assert model.joint_damping.numpy() == pytest.approx([8, 8, 4, 2, 2, 1], rel=1e-6)
    assert model.joint_friction.numpy() == pytest.approx([6, 6, 4, 2, 2, 2], rel=1e-6)
    assert model.joint_target_ke.numpy() == pytest.approx([100] * 6, rel=1e-6)
    M = newton.eval_mass_matrix(model, model.state()).numpy()[0]
    expected = tp.mass_matrix(arm, terms=("rotor",))(np.zeros(6))
    assert np.abs(M[:6, :6] - expected).max() < 1e-6 * np.abs(expected).max()


# Field names of configuration classes, copied by hand: Isaac Lab 2.3.2 (isaaclab/actuators/actuator_base_cfg.py) and the page on
# actuators of 3.0; mjlab 1.6.0 (mjlab/actuator/actuator.py, builtin_actuator.py).
FIELDS = {
    (
        "isaaclab",
        "2.3",
    ): "joint_names_expr effort_limit velocity_limit effort_limit_sim velocity_limit_sim stiffness damping "
    "armature friction dynamic_friction viscous_friction min_delay max_delay",
    ("isaaclab", "3.0"): "joint_names_expr actuator_effort_limit joint_effort_limit actuator_velocity_limit "
    "joint_velocity_limit stiffness damping armature friction dynamic_friction viscous_friction min_delay max_delay",
    (
        "mjlab",
        "1.6",
    ): "target_names_expr transmission_type armature frictionloss viscous_damping delay_min_lag delay_max_lag "
    "delay_hold_prob delay_update_period delay_per_env_phase stiffness damping effort_limit gear",
}


@pytest.mark.parametrize(("name", "version"), FIELDS)
def test_configurations_use_fields_that_the_version_has(name, version, tmp_path):
    drives = {"elbow_joint": tp.bridges.JointDrive(kp=100.0, kd=5.0, delay=0.005)}
    tp.export(ur10(), tmp_path / "out", target=name, version=version, drives=drives)
    text = (tmp_path / "out" / f"ur10_{name}.py").read_text()
    used = set(re.findall(r"^ {8,12}(\w+)=", text, re.MULTILINE))
    assert used <= set(FIELDS[name, version].split()) and {"armature", "stiffness"} <= used
    assert re.search(r"delay_m\w+_lag=3|m\w+_delay=3", text)  # 5 ms in whole steps of 2 ms


def test_what_is_lost_costs_what_predictions_say(tmp_path):
    """The torque that a target lacks, from the compressed rows of a fit, is that of predictions with and without it."""
    truth = tp.load("elbow2r").with_friction(viscous=2, coulomb=[3, 2], load=0.05).with_transmissions(rotor_inertia=0.2)
    terms = ("rotor", "viscous", "coulomb", "load")
    w, t = np.array([1.0, 1.7]), np.arange(2000)[:, None] / 100
    q, qd, qdd = np.sin(w * t), w * np.cos(w * t), -w * w * np.sin(w * t)
    tau = tp.inverse_dynamics(truth, terms=terms)(q, qd, qdd)
    log = tp.Log(t[:, 0], q, tau=tau + np.random.default_rng(0).normal(0, 0.1, tau.shape), names=truth.joint_names)
    fit = tp.identify(tp.load("elbow2r"), log, terms=terms, cutoff_hz=5, estimator="wls")
    export = tp.export(fit, tmp_path / "out", target="drake", anyway=True)
    seen = tp.bridges.check_export(export, log)
    lost = np.sqrt(np.mean((seen.others["placed"].predicted - seen.fit.predicted) ** 2, axis=0))
    # Fits leave out rows near reversals, which predictions have.
    assert [loss.rms for loss in export.passport.losses] == pytest.approx(lost, rel=0.15)
    assert all(f"{loss.joint}.coulomb" in loss.names and loss.share > 0 for loss in export.passport.losses)
    # Drake itself is as far from the log as the parameters that it has a place for.
    assert seen.others["drake"].relative == pytest.approx(seen.others["placed"].relative, rel=0.02)


def test_a_urdf_keeps_every_other_byte(one, tmp_path):
    tp.export(one, tmp_path / "out", target="urdf")
    text = (tmp_path / "out" / "one.urdf").read_text()
    added = '\n  <dynamics damping="0.5" friction="0.3"/>'
    assert text.replace(added, "") == ONE and text != ONE


@pytest.mark.parametrize("angles", [(0.3, -0.2, 2.0), (0.1, np.pi / 2, 0.4), (0.0, -np.pi / 2, 0.7), (np.pi, 0.0, 0.0)])
def test_angles_of_a_rotation_give_it_back(angles):
    def matrix(roll, pitch, yaw):
        (a, b, c), (s, u, v) = np.cos([roll, pitch, yaw]), np.sin([roll, pitch, yaw])
        turns = (
            [[c, -v, 0], [v, c, 0], [0, 0, 1]],
            [[b, 0, u], [0, 1, 0], [-u, 0, b]],
            [[1, 0, 0], [0, a, -s], [0, s, a]],
        )
        return np.linalg.multi_dot([np.array(turn, dtype=float) for turn in turns])

    assert matrix(*roll_pitch_yaw(matrix(*angles))) == pytest.approx(matrix(*angles), abs=1e-12)


@pytest.mark.parametrize("axis", [(0, 0, 1), (0, 0, -1), (1, 0, 0), (0.6, -0.8, 0.0), (0.36, 0.48, 0.8)])
def test_z_is_turned_to_an_axis(axis):
    r = turned_to(np.array(axis, dtype=float))
    assert r @ [0, 0, 1] == pytest.approx(axis) and r @ r.T == pytest.approx(np.eye(3)) and np.linalg.det(r) > 0


def test_bad_input(one, tmp_path):
    def refused(**options):
        with pytest.raises(TaupiError) as caught:
            tp.export(one, tmp_path / "out", **options)
        assert not (tmp_path / "out").exists()
        return caught.value

    assert refused(target="gazebo").argument == "target"
    assert refused(target="isaaclab", version="1.0").argument == "version"
    assert "coefficient" in refused(target="isaaclab", version="2.2").values["why"]
    assert refused(timestep=0.0).argument == "timestep"
    assert "elbow" in str(refused(drives={"elbow": tp.bridges.JointDrive()}))
    assert refused(drives={"j": 3}).argument == "drives"
    with pytest.raises(TaupiError) as caught:
        tp.export("ur10", tmp_path / "out")
    assert caught.value.argument == "source"
    tp.export(one, tmp_path / "out")
    with pytest.raises(TaupiError) as caught:
        tp.export(one, tmp_path / "out")
    assert "passport.json" in caught.value.values["existing"]


def test_negative_friction_is_lost_by_name_where_it_is_refused(one, tmp_path):
    export = tp.export(one.with_friction(viscous=-0.5), tmp_path / "out", target="drake")
    assert "j.viscous" in export.lost and "-0.5" not in texts(export)


def test_a_target_of_another_package(one, tmp_path):
    from taupi.bridges.targets.passport import Passport

    @tp.bridges.register_target
    class Notes(tp.bridges.Target):
        """A list of numbers."""

        name, title, versions, link = "notes", "Notes", ("1",), "https://example.org"
        places: ClassVar = {"damping": tp.bridges.Place("damping")}

        def files(self, passport: Passport):
            return {"notes.txt": f"{passport.joints['j'].damping!r}"}

    try:
        export = tp.export(one, tmp_path / "out", target="notes")
        assert texts(export) == "0.5" and set(export.lost) == {"j.coulomb", "j.rotor"}
    finally:
        del TARGETS["notes"]


def test_the_page_has_the_tables_that_targets_declare():
    """If this fails, run `python tools/write_targets_table.py`."""
    root = Path(__file__).parents[3]
    spec = importlib.util.spec_from_file_location("write_targets_table", root / "tools" / "write_targets_table.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    page = tool.PAGE.read_text(encoding="utf-8")
    assert tool.with_tables(page) == page and all(f"`{name}`" in page for name in TARGETS)


@pytest.mark.parametrize("name", [name for name in NAMES if TARGETS[name].engine])
def test_a_missing_engine_is_named_before_anything_is_written(name, monkeypatch):
    module, extra = TARGETS[name].needs
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(TaupiError, match=rf"pip install 'taupi\[{extra}\]'"):
        TARGETS[name]().require_engine()
