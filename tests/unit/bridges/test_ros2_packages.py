"""ROS 2 packages: compiled against a stand-in of the headers, run, and compared with Python step by step."""

import os
import shutil
import subprocess
import xml.etree.ElementTree as ET
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import yaml
from refusals import refused

import taupi as tp
from taupi.errors import TaupiError

STANDIN = Path(__file__).parents[2] / "ros2_standin"
COMPILER = shutil.which("g++") or shutil.which("clang++")
C_COMPILER = shutil.which("gcc") or shutil.which("clang")
needs_compiler = pytest.mark.skipif(not (COMPILER and C_COMPILER) or os.name == "nt", reason="no C++ compiler")
FLAGS = ["-O0", "-Wall", "-Wextra", "-Werror"]
# C and Python differ by the last bits of sine and cosine.
AGREE = 1e-10
DT = 0.001


def built(package, source, main, folder, *defines):
    """Compile a package as its CMakeLists.txt does, with a main program of ours, or with what its own finds while it spins."""
    objects = []
    for file in sorted(package.glob("src/*.c")):
        objects.append(folder / f"{file.stem}.o")
        subprocess.run(
            [C_COMPILER, "-std=c99", *FLAGS, "-I", package / "include", "-c", file, "-o", objects[-1]], check=True
        )
    program = folder / "program"
    folders = ["-I", STANDIN, "-I", package / "include"]
    sources = [package / "src" / source, STANDIN / main]
    done = subprocess.run(
        [COMPILER, "-std=c++17", *FLAGS, *defines, *folders, *sources, *objects, "-o", program],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return program


def run(program, *arguments, rows=(), **environment):
    text = "\n".join(" ".join(str(w) for w in row) for row in rows) + "\n"
    command, where = [program, *map(str, arguments)], {**os.environ, **environment}
    return subprocess.run(command, input=text, capture_output=True, text=True, env=where, check=False)


@pytest.fixture(scope="module")
def arm():
    return tp.load("elbow2r")


@pytest.fixture(scope="module")
def law(arm):
    return tp.SlotineLi(arm, Lambda=5.0, K=10.0, Gamma_inv=1.0)


# The controller ---------------------------------------------------------------------------------------------------


@needs_compiler
def test_a_controller_commands_what_the_law_says(law, tmp_path):
    package = tmp_path / "package"
    tp.bridges.emit_ros2(law, package, name="elbow")
    program = built(package, "elbow_ros2_controller.cpp", "run_controller.cpp", tmp_path)
    rng = np.random.default_rng(0)
    samples = rng.uniform(-1, 1, (20, 5, 2))
    done = run(program, 2, DT, rows=[["wanted", *row.ravel()] for row in samples])
    assert done.returncode == 0, done.stderr
    head, *lines = done.stdout.splitlines()
    first, second = law.robot.joint_names
    assert head.split() == [
        *(f"{first}/effort", f"{second}/effort", f"{first}/position", f"{first}/velocity"),
        *(f"{second}/position", f"{second}/velocity"),
    ]
    state = law.init()
    for row, line in zip(samples, lines, strict=True):
        tau, state = law.step(state, *row, DT)
        word, *values = line.split()
        assert word == "ok" and np.abs(np.array(values, float) - tau).max() < AGREE * max(1, np.abs(tau).max())


@needs_compiler
def test_a_controller_holds_cuts_off_and_stops(arm, tmp_path):
    law = tp.PDGravity(arm, Kp=50.0, Kd=5.0)
    package = tmp_path / "package"
    tp.bridges.emit_ros2(law, package, name="hold")
    program = built(package, "hold_ros2_controller.cpp", "run_controller.cpp", tmp_path, "-DSTANDIN_OPTIONAL")
    here, still = [0.3, -0.2], [0.0, 0.0]
    wanted = [0.5, 0.1, 0.2, 0.3, 0.0, 0.0]
    rows = [
        ["nothing", *here, *still],
        ["bad", *here, *still, *wanted],
        ["wanted", *here, *still, *wanted],
        ["nothing", *here, *still],
        ["broken", *here, *still],
    ]
    done = run(program, 2, 0.06, rows=rows)  # a reference is old after two periods
    assert done.returncode == 0 and "A reference is left out" in done.stderr

    def torque(*reference):
        return law.torque(np.array(here), np.array(still), *map(np.array, reference))

    _, *lines = (line.split() for line in done.stdout.splitlines())
    expected = [
        torque(here, still, still),  # before anything is wanted it stays where it was switched on
        torque(here, still, still),
        torque([0.5, 0.1], [0.2, 0.3], still),
        torque([0.5, 0.1], [0.2, 0.3], still),  # 0.06 s old
    ]
    for line, tau in zip(lines[:4], expected, strict=True):
        assert line[0] == "ok" and np.abs(np.array(line[1:], float) - tau).max() < AGREE * 10
    assert lines[4] == ["error", "0", "0"]
    stale = run(program, 2, 0.06, rows=[rows[2], *[rows[0]] * 3]).stdout.splitlines()[-1].split()
    assert np.abs(np.array(stale[1:], float) - torque([0.5, 0.1], still, still)).max() < AGREE * 10
    limited = run(program, 2, 0.06, 2, rows=rows[2:3]).stdout.splitlines()[-1].split()
    assert np.abs(np.array(limited[1:], float)).max() <= 1.0  # effort_limits of 1 N m
    assert run(program, 2, 0.06, 3, rows=rows).returncode == 11  # three limits for two joints


def test_the_package_is_one_of_ros(law, tmp_path):
    paths = tp.bridges.emit_ros2(law, tmp_path / "package")
    assert all(p.is_file() for p in paths)
    package = ET.parse(tmp_path / "package" / "package.xml").getroot()
    name = package.findtext("name")
    assert name == "elbow2r_slotine_li" and package.get("format") == "3"
    depends = {d.text for d in package.findall("depend")}
    cmake = (tmp_path / "package" / "CMakeLists.txt").read_text()
    assert all(f"find_package({d} REQUIRED)" in cmake for d in depends) and f"project({name} " in cmake
    for word in cmake.split():
        if word.startswith(("src/", "test/")):
            assert (tmp_path / "package" / word.rstrip(")")).is_file(), word
    plugin = ET.parse(tmp_path / "package" / f"{name}_plugin.xml").getroot().find("class")
    assert plugin.get("type") == f"{name}::Elbow2rSlotineLiController"
    settings = yaml.safe_load((tmp_path / "package" / "config" / f"{name}.yaml").read_text())
    assert settings["controller_manager"]["ros__parameters"][name]["type"] == plugin.get("name")
    own = settings[name]["ros__parameters"]
    assert own["joints"] == list(law.robot.joint_names) and len(own["effort_limits"]) == 2
    readme = (tmp_path / "package" / "README.md").read_text()
    assert "compiled by taupi's tests against a small stand-in" in readme and "@" not in readme
    with pytest.raises(TaupiError, match="already"):
        tp.bridges.emit_ros2(law, tmp_path / "package")
    tp.bridges.emit_ros2(law, tmp_path / "package", force=True)


@needs_compiler
def test_the_harness_of_the_package_runs(law, tmp_path):
    package = tmp_path / "package"
    tp.bridges.emit_ros2(law, package, name="elbow")
    sources = [*package.glob("src/*.c"), package / "test" / "test_elbow.c"]
    subprocess.run(
        [C_COMPILER, "-std=c99", *FLAGS, "-I", package / "include", *sources, "-o", tmp_path / "test", "-lm"],
        check=True,
    )
    assert subprocess.run([tmp_path / "test"], capture_output=True, check=False).returncode == 0


# The node ---------------------------------------------------------------------------------------------------------


def motion(n, count=30):
    t = np.arange(count)[:, None] * 0.01
    q, qd = 0.4 * np.sin(3 * t + np.arange(n)), 1.2 * np.cos(3 * t + np.arange(n))
    return q, qd, 2 * np.cos(t + np.arange(n))


@needs_compiler
def test_an_observer_publishes_what_it_sees(arm, tmp_path):
    observer = tp.momentum_observer(arm)
    package = tmp_path / "package"
    tp.bridges.emit_ros2(observer, package, name="feel")
    program = built(package, "feel_node.cpp", "run_node.cpp", tmp_path)
    q, qd, tau = motion(2)
    rows = [[k * 10_000_000 + 1, *q[k], *qd[k], *tau[k]] for k in range(len(q))]
    (topic,) = {f"~/{name}" for name in observer.results}
    where = {"STANDIN_JOINTS": " ".join(arm.joint_names), "STANDIN_TOPICS": topic}
    done = run(program, rows=rows, **where)
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    expected = observer.over(np.full(len(q) - 1, 0.01), [q[1:], qd[1:], tau[1:]])[topic.removeprefix("~/")]
    assert [line[0] for line in lines] == [topic] * (len(q) - 1)  # the first message only tells the time
    assert np.abs(np.array([line[1:] for line in lines], float) - expected).max() < AGREE * np.abs(expected).max()
    # A message that comes twice counts once, and does not begin anew.
    twice = run(program, rows=[row for row in rows for _ in range(2)], **where)
    assert twice.stdout == done.stdout and "its stamp is that of the one before" in twice.stderr
    # A message without efforts, or with a number that is none, is left out; a gap begins anew.
    rows[5] = rows[5][:5]
    rows[9][1] = "nan"
    broken = run(program, rows=rows, **where)
    assert "no position, velocity and effort" in broken.stderr and len(broken.stdout.splitlines()) < len(lines)
    late = [*rows[:3], [10**12, *rows[3][1:]]]
    assert len(run(program, rows=late, **where).stdout.splitlines()) == 2


@needs_compiler
def test_a_tracker_has_accelerations_of_its_own(arm, tmp_path):
    t, w = np.arange(1000)[:, None] / 100, np.array([1.0, 1.7])
    q, qd, qdd = np.sin(w * t), w * np.cos(w * t), -w * w * np.sin(w * t)
    rough = arm.with_friction(coulomb=1.0)
    log = tp.Log(t[:, 0], q, tau=tp.inverse_dynamics(rough, terms="coulomb")(q, qd, qdd))
    fit = tp.identify(arm, log, terms=("viscous", "coulomb"), cutoff_hz=10)
    tracker = fit.tracker()
    package = tmp_path / "package"
    tp.bridges.emit_ros2(tracker, package, name="follow")
    program = built(package, "follow_node.cpp", "run_node.cpp", tmp_path)
    rows = [[k * 10_000_000 + 1, *q[k], *qd[k], *log.tau[k]] for k in range(200)]
    topics = [f"~/{name}" for name in tracker.results]
    done = run(program, rows=rows, STANDIN_JOINTS=" ".join(arm.joint_names), STANDIN_TOPICS=" ".join(topics))
    assert done.returncode == 0, done.stderr
    share, a = 1 - np.exp(-2 * np.pi * 20 * 0.01), np.zeros(2)
    filtered = []
    for before, after in pairwise(qd[:200]):
        a = a + share * ((after - before) / 0.01 - a)
        filtered.append(a)
    expected = tracker.over(np.full(199, 0.01), [q[1:200], qd[1:200], np.array(filtered), log.tau[1:200]])
    for topic in topics:
        lines = [line.split()[1:] for line in done.stdout.splitlines() if line.split()[0] == topic]
        assert np.abs(np.array(lines, float) - expected[topic.removeprefix("~/")]).max() < 1e-8
    settings = yaml.safe_load((package / "config" / "follow.yaml").read_text())
    assert settings["follow"]["ros__parameters"]["acceleration_cutoff_hz"] == 20.0


# Bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["Arm", "2arm", "arm-1", "arm__b", "arm_", "ä", "a b", "", 3])
def test_names_that_ros_forbids_are_refused(law, tmp_path, name):
    with pytest.raises(TaupiError, match="expected that of a ROS package"):
        tp.bridges.emit_ros2(law, tmp_path / "package", name=name)
    assert not (tmp_path / "package").exists()


@pytest.mark.parametrize("joint", ["left/elbow", 'el"bow', "el bow", "el\\bow", "el\nbow"])
def test_joints_that_interfaces_cannot_name_are_refused(tmp_path, joint):
    arm = tp.Robot.from_dh([dict(a=1, name=joint), dict(a=1, name="other")])
    with pytest.raises(TaupiError, match="cannot be the name of an interface"):
        tp.bridges.emit_ros2(tp.PDGravity(arm, Kp=1.0, Kd=1.0), tmp_path / "package")


def test_odd_names_of_robots_make_a_package(tmp_path):
    links = dict(m=1, com=(0, 0, 0), inertia=(1, 0, 0, 1, 0, 1))
    arm = tp.Robot.from_dh([dict(a=1)], links=[links], name="7 Achsen */ <Arm>&")
    paths = tp.bridges.emit_ros2(tp.PDGravity(arm, Kp=1.0, Kd=1.0), tmp_path / "package")
    package = ET.parse(tmp_path / "package" / "package.xml").getroot()
    assert package.findtext("name") == "robot_7_achsen_arm_pd_gravity" and paths


def test_what_has_no_joint_states_is_refused(tmp_path):
    elastic = tp.load("zollo2r")
    with pytest.raises(TaupiError, match="ros2_control has positions and velocities of joints alone"):
        tp.bridges.emit_ros2(tp.laws.ElasticPDGravity(elastic), tmp_path / "package")
    task = tp.laws.OperationalSlotineLi(tp.load("planar3r"), task="planar")
    with pytest.raises(TaupiError, match="ros2_control has positions and velocities of joints alone"):
        tp.bridges.emit_ros2(task, tmp_path / "package")
    with refused("source", got=3):
        tp.bridges.emit_ros2(3, tmp_path / "package")
