"""`taupi init`: the mapping reads a log, and the script's commands exist and fit together."""

import re
import shlex
import subprocess

import numpy as np
import pytest
from command_line import taupi
from runs_of_arms import recorded

import taupi as tp

INERTIAL = "<inertial><mass value='1'/><inertia ixx='1' ixy='0' ixz='0' iyy='1' iyz='0' izz='1'/></inertial>"
URDF = (
    "<robot name='arm'>"
    + "".join(f"<link name='l{k}'>{INERTIAL}</link>" for k in range(3))
    + "".join(
        f"<joint name='j{k}' type='continuous'><parent link='l{k}'/><child link='l{k + 1}'/><origin xyz='0 0 0.4'/>"
        "<axis xyz='0 1 0'/></joint>"
        for k in range(2)
    )
    + "</robot>"
)
BODY = "<joint name='{0}' axis='0 1 0'/><inertial pos='0 0 .2' mass='1' diaginertia='1 1 1'/>"
MJCF = (
    f"<mujoco><worldbody><body name='a'>{BODY.format('j0')}<body name='b' pos='0 0 .4'>{BODY.format('j1')}</body></body>"
    "</worldbody></mujoco>"
)


@pytest.fixture
def folder(tmp_path):
    done = taupi("init", "elbow2r", "-o", "my arm", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "next: sh 'my arm/loop.sh' design" in done.stderr
    return tmp_path / "my arm"


def test_the_mapping_reads_a_log(folder, tmp_path):
    t = np.arange(20) / 100
    rows = np.column_stack([t, np.sin(t), np.cos(t), 2 * t, 3 * t])
    np.savetxt(tmp_path / "run.csv", rows, delimiter=",", header="t,q1,q2,tau1,tau2", comments="")
    log = tp.read_log(tmp_path / "run.csv", tp.load("elbow2r"), columns=folder / "columns.toml")
    assert log.names == tp.load("elbow2r").joint_names
    assert np.abs(log.q - rows[:, 1:3]).max() < 1e-12 and np.abs(log.tau - rows[:, 3:]).max() < 1e-12


def test_the_mapping_reads_motors_once_its_last_lines_are_completed(folder, tmp_path):
    t = np.arange(20) / 100
    rows = np.column_stack([t, 100 * np.sin(t), 100 * np.cos(t), 2 * t, 3 * t])
    np.savetxt(tmp_path / "run.csv", rows, delimiter=",", header="t,motor1,motor2,current1,current2", comments="")
    lines = (folder / "columns.toml").read_text().splitlines()
    first = next(k for k, line in enumerate(lines) if line.startswith("# If motors"))
    kept = [line for line in lines[:first] if not line.startswith(("q =", "tau =", "#"))]
    (tmp_path / "motors.toml").write_text("\n".join([*kept, *(x.removeprefix("# ") for x in lines[first + 1 :])]))
    log = tp.read_log(tmp_path / "run.csv", tp.load("elbow2r"), columns=tmp_path / "motors.toml")
    assert np.allclose(log.q, rows[:, 1:3] / 100) and np.allclose(log.tau, 100 * 0.1 * rows[:, 3:])


def test_a_floating_robot_has_columns_for_its_joints_alone(tmp_path):
    """The mapping reads a log, its comments included, and the script's check of a recording runs."""
    done = taupi("init", "elbow2r", "--floating", "-o", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    mapping, robot = tmp_path / "out" / "columns.toml", tp.load("elbow2r", floating=True)
    rows = np.column_stack([np.arange(20) / 100, np.random.default_rng(0).normal(size=(20, 10)), np.arange(20) % 2])
    header = "t,q1,q2,tau1,tau2,gx,gy,gz,ax,ay,az,touches"
    np.savetxt(tmp_path / "run.csv", rows, delimiter=",", header=header, comments="")
    log = tp.read_log(tmp_path / "run.csv", robot, columns=mapping)
    assert log.names == ("shoulder", "elbow") and np.abs(log.q - rows[:, 1:3]).max() < 1e-12
    assert "counts from 1 to 2," in mapping.read_text() and "ratio = [100, 100] " in mapping.read_text()
    words = ("--robot", "elbow2r", "--floating", "--columns", mapping)
    checked = taupi("log", "run.csv", *words, cwd=tmp_path)
    assert checked.returncode == 0 and "shoulder" in checked.stdout, checked.stderr
    before, mark, base = mapping.read_text().partition("# [base]")
    lines = (mark + base).replace("FRAME", "forearm").splitlines()
    mapping.write_text("\n".join([before, *(line.removeprefix("# ") for line in lines)]))
    assert np.array_equal(tp.read_log(tmp_path / "run.csv", robot, columns=mapping).base.a, rows[:, 8:11])


def test_the_script_is_shell_and_its_commands_and_options_exist(folder):
    script = folder / "loop.sh"
    assert subprocess.run(["sh", "-n", script], check=False).returncode == 0
    usage = subprocess.run(["sh", script], capture_output=True, text=True, check=True).stdout
    assert "design | check | fit | export" in usage
    lines = re.findall(r"^  (taupi .*?)(?: ;;)?$", script.read_text(), re.MULTILINE)
    assert len(lines) == 5
    for line in lines:
        _, command, *words = shlex.split(line)
        text = taupi(command, "--help").stdout
        for option in (word for word in words if word.startswith("-")):
            assert re.search(rf"(^|\s|,){option}\b", text), (command, option)


def test_the_loop_ends_with_the_robot_in_the_format_of_its_description(tmp_path):
    """The last step of the script, run on a fit of the robot that the script is for, writes a file that reads back."""
    for name, kind in (("elbow2r", "toml"), ("arm.urdf", "urdf"), ("arm.xml", "mjcf")):
        if kind == "urdf":
            (tmp_path / name).write_text(URDF)
        elif kind == "mjcf":
            (tmp_path / name).write_text(MJCF)
        robot = tp.load(name if kind == "toml" else tmp_path / name)
        out = tmp_path / kind
        assert taupi("init", name, "-o", out, cwd=tmp_path).returncode == 0
        log = recorded(3, robot)
        (out / "fit").mkdir()
        tp.write_fit(tp.identify(robot, log, terms=()), out / "fit" / "fit.json")
        script = (out / "loop.sh").read_text()
        place = shlex.split(next(line for line in script.splitlines() if line.startswith("ROBOT=")), comments=True)[0]
        step = re.search(r"taupi (export .*) ;;", script)[1].replace('"$ROBOT"', shlex.quote(place.partition("=")[2]))
        done = taupi(*shlex.split(step), cwd=out)
        assert done.returncode == 0, done.stderr
        (identified,) = (path for path in out.iterdir() if path.stem == "identified")
        again = tp.load(identified)
        assert again.source.format == kind and again.n == robot.n


def test_how_the_robot_is_read_is_in_the_script_and_nothing_is_overwritten(tmp_path):
    file = tmp_path / "it's; a $(robot).urdf"
    parts = "".join(
        f"<link name='l{k}'><inertial><mass value='1'/><inertia ixx='1' ixy='0' ixz='0' iyy='1' iyz='0' izz='1'/>"
        "</inertial></link>"
        for k in range(3)
    )
    joints = "".join(
        f"<joint name='j {k}' type='continuous'><parent link='l{k}'/><child link='l{k + 1}'/>"
        "<axis xyz='0 1 0'/></joint>"
        for k in range(2)
    )
    file.write_text(f"<robot name='arm'>{parts}{joints}</robot>")
    done = taupi("init", file.name, "--lock", "j 1", "--no-snap", "-o", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    first = next(x for x in (tmp_path / "out" / "loop.sh").read_text().splitlines() if x.startswith("ROBOT="))
    assert shlex.split(first, comments=True) == [f"ROBOT={file}"]
    assert (tmp_path / "out" / "loop.sh").read_text().count(" --lock 'j 1' --no-snap ") == 4
    again = taupi("init", "puma560", "-o", "out", cwd=tmp_path)
    assert again.returncode == 3 and "--force" in again.stderr
