"""Hostile names through emitted packages: observers, trackers, estimators and controllers, units for FMI, packages for ROS 2."""

import dataclasses
import re
import shutil
import subprocess
import zipfile
from xml.etree import ElementTree

import numpy as np
import pytest
import yaml
from cuda_on_cpu import HostDevice
from fits import friction_log
from hostile import ARM, JOINTS, runs_names

import taupi as tp
from taupi.simulation import simulate as simulate_module

COMPILER = shutil.which("cc")
# What ros2_control can hold; the first would be a comment's end, HTML, a variable and a shell's command.
ROS_JOINTS = ("a&<b>'#{}*EVIL]]>$(EVIL)%@name@${EVIL}", "]EVIL: {x: y}, &a *b !!python/object:EVIL")


@pytest.fixture(scope="module")
def fit():
    log = friction_log(1).with_(names=JOINTS)
    return tp.identify(ARM, log, terms=("viscous", "coulomb"), cutoff_hz=15)


KINDS = {
    "observer": tp.momentum_observer,
    "detector": lambda fit: tp.momentum_observer(fit).calibrated([friction_log(1).with_(names=JOINTS)]),
    "tracker": lambda fit: fit.tracker(),
    "estimator": lambda fit: fit.recursive_estimator(),
    "controller": lambda fit: tp.SlotineLi(fit.robot),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("language", ["c", "python", "matlab", "cuda"])
def test_packages_hold_names_as_text(tmp_path, fit, kind, language):
    emit = tp.emit_controller if kind == "controller" else tp.emit_component
    paths = emit(KINDS[kind](fit), tmp_path, language, "arm")
    assert not [p.name for p in paths if runs_names(p.name, p.read_text(encoding="utf-8"))]
    assert all("\0" not in p.read_text(encoding="utf-8") for p in paths)
    if language == "c" and COMPILER:
        sources = [str(p) for p in paths if p.suffix == ".c"]
        strict = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter", "-Wno-unused-variable"]
        subprocess.run([COMPILER, *strict, *sources, "-o", str(tmp_path / "t"), "-lm"], check=True)
        assert subprocess.run([str(tmp_path / "t")], check=False, capture_output=True).returncode == 0


@pytest.mark.parametrize("kind", ["observer", "controller", "plant"])
@pytest.mark.parametrize("fmi", ["3.0", "2.0"])
def test_units_hold_names_as_text(tmp_path, fit, kind, fmi):
    subject = tp.RigidPlant(ARM) if kind == "plant" else KINDS[kind](fit)
    path = tp.bridges.emit_fmu(subject, tmp_path / "arm.fmu", fmi, binary=False)
    with zipfile.ZipFile(path) as archive:
        texts = {name: archive.read(name).decode("utf-8") for name in archive.namelist()}
    assert not [name for name in texts if runs_names(name, texts[name]) or ".." in name or name.startswith("/")]
    root = ElementTree.fromstring(texts["modelDescription.xml"])
    assert any("EVIL" in variable.get("name") for variable in root.find("ModelVariables"))
    assert not list(root.iter("script"))


@pytest.mark.parametrize("build", [tp.PDGravity, tp.SlotineLi, tp.momentum_observer])
def test_ros_packages_hold_names_as_text(tmp_path, build):
    joints = tuple(dataclasses.replace(j, name=n) for j, n in zip(ARM.joints, ROS_JOINTS, strict=True))
    with pytest.raises(tp.TaupiError, match="cannot be the name of an interface"):
        tp.bridges.emit_ros2(build(dataclasses.replace(ARM, joints=joints)), tmp_path / "arm")
    joints = tuple(dataclasses.replace(j, name=re.sub(r"[\s/]", "", j.name)) for j in joints)
    arm = dataclasses.replace(ARM, name="</description>*/ $(x) " + "n" * 10_000, joints=joints)
    paths = tp.bridges.emit_ros2(build(arm), tmp_path / "arm")
    assert not [p.name for p in paths if runs_names(p.name, p.read_text(encoding="utf-8"))]
    assert max(len(p.name) for p in paths) < 200
    for path in paths:
        if path.suffix == ".xml":
            assert "EVIL" not in "".join(node.tag for node in ElementTree.parse(path).getroot().iter())
        if path.suffix == ".yaml":
            (settings,) = [v for k, v in yaml.safe_load(path.read_text()).items() if k != "controller_manager"]
            assert settings["ros__parameters"]["joints"] == list(arm.joint_names)


@pytest.mark.parametrize("name", ["arm\n", "arm;x", "../arm", "Arm", "a" * 10_000 + "!"])
def test_names_of_ros_packages(tmp_path, name):
    with pytest.raises(tp.TaupiError, match="expected that of a ROS package"):
        tp.bridges.emit_ros2(tp.PDGravity(tp.load("elbow2r")), tmp_path / "arm", name)


def test_a_joint_that_ends_in_a_newline_is_no_interface(tmp_path):
    arm = tp.load("elbow2r")
    joints = (dataclasses.replace(arm.joints[0], name="elbow\n"), arm.joints[1])
    with pytest.raises(tp.TaupiError, match="cannot be the name of an interface"):
        tp.bridges.emit_ros2(tp.PDGravity(dataclasses.replace(arm, joints=joints)), tmp_path / "arm")


def test_roll_outs_on_a_gpu_hold_no_names(monkeypatch, tmp_path):
    """The kernel of a closed loop, for a plant and a law whose names are hostile."""

    device = HostDevice(tmp_path)
    monkeypatch.setattr(simulate_module, "_gpu", lambda: device)
    motion = tp.MinimumJerk([[0, 0], [0.3, 0.2]], [0, 0.5])
    starts = np.zeros((2, 2))
    tp.simulate_many(tp.RigidPlant(ARM), tp.SlotineLi(ARM), motion, duration=0.1, initial=starts, device="cuda")
    assert device.launches and not [text for text in device.sources if "EVIL" in text]
