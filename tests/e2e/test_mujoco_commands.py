"""`taupi export --mjcf --check` and `taupi compare --with mujoco` from outside."""

import json

import numpy as np
import pytest

import taupi as tp

mujoco = pytest.importorskip("mujoco")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A fit of an arm, and a log that it has not seen."""
    folder = tmp_path_factory.mktemp("arm")
    arm = tp.load("ur10").with_friction(viscous=5.0, coulomb=3.0)
    w, t = np.array([1.0, 1.7, 1.3, 2.1, 1.9, 2.3]), np.arange(1500)[:, None] / 100
    for name, phase in (("run", 0.0), ("other", 1.0)):
        q, qd, qdd = np.sin(w * t + phase), w * np.cos(w * t + phase), -w * w * np.sin(w * t + phase)
        tau = tp.inverse_dynamics(arm, terms=("viscous", "coulomb"))(q, qd, qdd)
        tp.write_log(tp.Log(t[:, 0], q, tau=tau, names=arm.joint_names), folder / f"{name}.csv")
    fit = tp.identify(tp.load("ur10"), folder / "run.csv", terms=("viscous", "coulomb"), cutoff_hz=10)
    tp.write_fit(fit, folder / "fit.json")
    return folder


def test_a_fit_is_written_as_mjcf_and_checked(command, folder):
    code, out, err = command(
        "export", folder / "fit.json", "--mjcf", folder / "new.xml", "--check", folder / "other.csv"
    )
    assert code == 0, err
    assert "relative torque error" in out and "mujoco: MuJoCo's inverse dynamics" in out and "wrist_3_joint" in out
    assert "made from the robot's links and joints" in err and "wrote" in err
    model = mujoco.MjModel.from_xml_path(str(folder / "new.xml"))
    assert np.abs(model.dof_damping - 5).max() < 0.2
    # Into the file itself only if asked for; into another one by its name.
    assert command("export", folder / "fit.json", "--mjcf", folder / "new.xml")[0] == 3
    before = (folder / "new.xml").read_bytes()
    assert command("export", folder / "fit.json", "--mjcf", folder / "new.xml", "--force")[0] == 0
    assert (folder / "new.xml").read_bytes() == before
    code, _, err = command("export", folder / "fit.json", "--mjcf", folder / "new.xml", "-o", folder / "copy.xml")
    assert code == 0 and "written into new.xml" in err
    assert command("export", folder / "fit.json", "-o", folder / "plain.xml")[0] == 0


def test_a_fit_is_written_for_a_target_and_checked_by_it(command, folder):
    fit = folder / "fit.json"
    code, out, err = command("export", fit, "--for", "mujoco", "-o", folder / "taken", "--check", folder / "other.csv")
    assert code == 0, err
    assert "mujoco: MuJoCo's inverse dynamics" in out and "passport.json" in err
    model = mujoco.MjModel.from_xml_path(str(folder / "taken" / "ur10.xml"))
    assert np.abs(model.dof_damping - 5).max() < 0.2
    # What has no place is named with what it costs; what does not run here is refused before anything is written.
    code, _, err = command("export", fit, "--for", "drake", "-o", folder / "drake")
    assert code == 0 and "Drake has no place for wrist_3_joint.coulomb: " in err and "% of its torque" in err
    code, _, err = command("export", fit, "--for", "isaaclab", "-o", folder / "isaac", "--check", folder / "other.csv")
    assert code == 3 and "does not run here" in err and not (folder / "isaac").exists()
    assert command("export", fit, "--for", "mujoco")[0] == 3
    code, _, err = command("export", fit, "--for", "isaaclab", "--target-version", "2.2", "-o", folder / "isaac")
    assert code == 3 and "--target-version" in err and "dimensionless coefficient" in err


def test_a_simulators_model_is_compared(command, folder):
    tp.write_mjcf(tp.load("ur10").with_friction(viscous=20.0, coulomb=3.0), folder / "guess.xml", force=True)
    code, out, err = command(
        "compare", folder / "fit.json", "--with", "mujoco", folder / "guess.xml", folder / "other.csv"
    )
    assert code == 0, err
    assert "N m s/rad of viscous friction" in out
    code, out, _ = command(
        "compare", folder / "fit.json", "--with", "mujoco", folder / "guess.xml", folder / "other.csv", "--json"
    )
    (answer,) = json.loads(out)
    assert code == 0 and answer["ratio"] > 3 and len(answer["differences"]) == 6


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("export", "fit.json"), "Name a file to write"),
        (("export", "fit.json", "-o", "x.urdf", "--check", "other.csv"), "--check shows what is lost in MuJoCo"),
        (("export", "fit.json", "--mjcf", "a.xml", "-o", "x.urdf"), "expected a name ending in .xml"),
        (("export", "fit.json", "-o", "x.stl"), "expected a name ending in .urdf, .xml or .toml"),
        (("export", "fit.json", "--mjcf", "none.xml", "-o", "x.xml"), "to write into. Leave --mjcf out"),
        (("compare", "fit.json", "--with", "mujoco", "guess.xml"), "needs a fit, a model and a log"),
        (
            ("compare", "fit.json", "--with", "mujoco", "guess.xml", "other.csv", "--at", "tip", "--robot", "elbow2r"),
            "no use for --at and --robot",
        ),
        (("compare", "fit.json", "--with", "bullet", "guess.xml", "other.csv"), "No engine 'bullet'"),
        (("compare", "fit.json", "--with", "mujoco", "none.xml", "other.csv"), "none.xml"),
    ],
)
def test_bad_input(command, folder, arguments, words):
    code, out, err = command(*(folder / a if "." in a and not a.startswith("-") else a for a in arguments))
    assert code == 3 and out == "" and words in err and "Traceback" not in err


def test_a_log_that_is_not_there_is_said_before_anything_is_written(command, folder):
    code, _, err = command(
        "export", folder / "fit.json", "--mjcf", folder / "unchecked.xml", "--check", folder / "no.csv"
    )
    assert code == 3 and "No file" in err and "no.csv" in err and not (folder / "unchecked.xml").exists()
