"""The identified robot as URDF, TOML and C: `taupi identify --urdf --toml --c`, and `taupi export`."""

import json

import numpy as np
import pytest
from cli_runs import RESULTS, motion

import taupi as tp

URDF = """<robot name="two"><link name="world"/>
<joint name="shoulder" type="revolute"><parent link="world"/><child link="upper"/><axis xyz="0 0 1"/>
<limit lower="-3" upper="3" effort="9" velocity="9"/></joint>
<link name="upper"><inertial><origin xyz="0.4 0 0"/><mass value="1.5"/>
<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
<joint name="elbow" type="revolute"><origin xyz="1 0 0"/><parent link="upper"/><child link="fore"/><axis xyz="0 1 0"/>
<limit lower="-3" upper="3" effort="9" velocity="9"/></joint>
<link name="fore"><inertial><origin xyz="0.3 0 0"/><mass value="0.8"/>
<inertia ixx="0.05" ixy="0" ixz="0" iyy="0.05" iyz="0" izz="0.05"/></inertial></link></robot>
"""


def test_the_identified_robot_is_exported(command, tmp_path):
    """As URDF, TOML and C: what is written predicts what the fit predicts, and heavier links are found heavier."""
    (tmp_path / "two.urdf").write_text(URDF)
    described = tp.load(tmp_path / "two.urdf")
    true = described.with_parameters(described.parameters.values * 1.3)
    t, q, qd, qdd = motion(5)
    log = tp.Log(t, q, tau=tp.inverse_dynamics(true)(q, qd, qdd), names=true.joint_names)
    tp.write_log(log, tmp_path / "run.csv")
    arguments = [
        "identify",
        tmp_path / "two.urdf",
        tmp_path / "run.csv",
        "--terms",
        "viscous",
        "--estimator",
        "feasible",
    ]
    out = tmp_path / "out"
    code, _, err = command(*arguments, "-o", out, "--cutoff", "15", "--urdf", "--toml", "--c")
    assert code == 0, err
    assert sorted(p.name for p in out.iterdir()) == ["c", *RESULTS[:2], "model.toml", "model.urdf", RESULTS[2]]
    ready = tp.prepare(log, cutoff_hz=15)
    predicted = tp.load_fit(out).predict(ready)
    written = tp.inverse_dynamics(tp.load(out / "model.toml"), terms=("viscous",))(ready.q, ready.qd, ready.qdd)
    assert np.abs(written - predicted).max() < 1e-6 * np.abs(written).max()
    rigid = tp.inverse_dynamics(tp.load(out / "model.urdf"))(q, qd, qdd)
    assert np.abs(rigid - log.tau).max() < 0.02 * np.abs(log.tau).max()
    assert "inverse_dynamics" in (out / "c" / "inverse_dynamics.h").read_text()
    # A later result without exports leaves no old ones beside it.
    assert command(*arguments, "-o", out, "--cutoff", "15", "--force")[0] == 0
    assert sorted(p.name for p in out.iterdir()) == RESULTS


@pytest.fixture
def two(command, tmp_path):
    """A robot from a URDF, identified from a log of it, or of it with the torque flipped; the URDF is gone by then."""

    def identified(sign):
        (tmp_path / "two.urdf").write_text(URDF)
        robot = tp.load(tmp_path / "two.urdf")
        t, q, qd, qdd = motion(5)
        log = tp.Log(t, q, tau=sign * 1.2 * tp.inverse_dynamics(robot)(q, qd, qdd), names=robot.joint_names)
        tp.write_log(log, tmp_path / "run.csv")
        arguments = [
            "identify",
            tmp_path / "two.urdf",
            tmp_path / "run.csv",
            "--terms",
            "none",
            "--estimator",
            "feasible",
        ]
        assert command(*arguments, "-o", tmp_path / "out", "--cutoff", "15")[0] == (0 if sign > 0 else 4)
        (tmp_path / "two.urdf").unlink()
        return tmp_path / "out", log

    return identified


def test_a_fit_is_exported_from_its_file(command, two, tmp_path):
    fit, log = two(1)
    for name in ("new.urdf", "new.toml", "c"):
        code, out, err = command("export", fit, "-o", tmp_path / name)
        assert (code, out) == (0, "") and err.splitlines()[-1] == f"wrote {tmp_path / name}", err
    ready = tp.prepare(log, cutoff_hz=15)
    for name in ("new.urdf", "new.toml"):
        torque = tp.inverse_dynamics(tp.load(tmp_path / name))(ready.q, ready.qd, ready.qdd)
        assert np.abs(torque - ready.tau).max() < 0.01 * np.abs(ready.tau).max()
    assert (tmp_path / "c" / "inverse_dynamics.h").exists()
    code, _, err = command("export", fit, "-o", tmp_path / "new.urdf")
    assert code == 3 and "exists already" in err and "--force" in err
    assert command("export", fit, "-o", tmp_path / "new.urdf", "--force")[0] == 0
    for option, value in (("--samples", 5), ("--seed", 1), ("--timestep", 0.001), ("--target-version", "4.0")):
        code, _, err = command("export", fit, "-o", tmp_path / "alone.urdf", option, value)
        assert code == 3 and option in err and "--for" in err and not (tmp_path / "alone.urdf").exists()
    code, _, err = command("export", fit, "-o", tmp_path / "new.sdf")
    assert code == 3 and "expected a name ending in .urdf, .xml or .toml" in err and not (tmp_path / "new.sdf").exists()


def test_a_fit_of_a_flipped_torque_is_not_exported(command, two, tmp_path):
    fit, _ = two(-1)
    for name in ("new.urdf", "new.toml", "c"):
        code, out, err = command("export", fit, "-o", tmp_path / name)
        assert (code, out) == (4, "") and len(err.strip().splitlines()) == 1
        assert "wrong sign" in err and "--anyway exports it all the same" in err
        assert not (tmp_path / name).exists()
    code, _, err = command("export", fit, "-o", tmp_path / "new.urdf", "--anyway")
    assert code == 0 and err.startswith("warning: ") and (tmp_path / "new.urdf").exists()
    (tmp_path / "two.urdf").write_text(URDF)
    arguments = ["identify", tmp_path / "two.urdf", tmp_path / "run.csv", "--estimator", "feasible", "--terms", "none"]
    code, _, err = command(*arguments, "-o", tmp_path / "more", "--urdf", "--cutoff", "15")
    assert code == 4 and "verdict: wrong" in err and "not written: model.urdf" in err and "--anyway" in err
    assert sorted(path.name for path in (tmp_path / "more").iterdir()) == RESULTS
    assert command(*arguments, "-o", tmp_path / "more", "--urdf", "--cutoff", "15", "--anyway", "--force")[0] == 0
    assert (tmp_path / "more" / "model.urdf").exists()


def test_what_cannot_be_exported_is_refused_and_nothing_is_written(command, tmp_path):
    code, _, err = command(
        "identify", "arm.toml", "run1.csv", "-o", tmp_path / "out", "--urdf", "--estimator", "feasible"
    )
    assert code == 3 and "URDF" in err and len(err.strip().splitlines()) == 1 and "taupi export FIT --for urdf" in err
    assert not list(tmp_path.iterdir())


def test_an_export_that_differs_from_the_estimate_says_so(command, tmp_path):
    t, q, qd, qdd = motion(5)
    tau = -tp.inverse_dynamics(tp.load("elbow2r"))(q, qd, qdd)  # a sign that somebody got wrong
    tp.write_log(tp.Log(t, q, tau=tau, names=("shoulder", "elbow")), tmp_path / "wrong.csv")
    out = tmp_path / "out"
    code, _, err = command("identify", "arm.toml", tmp_path / "wrong.csv", "--terms", "none", "-o", out, "--toml")
    assert code == 4 and "verdict: wrong" in err and "tau of all joints has the wrong sign, it seems" in err
    assert "not written: model.toml" in err and "--anyway" in err and not (out / "model.toml").exists()
    assert json.loads((out / "fit.json").read_text())["verdict"]["level"] == "wrong"
