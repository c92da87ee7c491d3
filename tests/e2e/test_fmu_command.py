"""`taupi emit ... --fmu` from outside: a unit on disk, its path on standard output, and what is refused."""

import shutil
import zipfile

import numpy as np
import pytest
from command_line import taupi
from fits import friction_fit

import taupi as tp
from taupi.bridges.fmi.unit import platform_names

pytestmark = pytest.mark.skipif(shutil.which("cc") is None and shutil.which("gcc") is None, reason="no C compiler")


@pytest.mark.parametrize(
    ("arguments", "place"),
    [
        (["plant", "--terms", "viscous", "--step", "0.002"], 0),
        (["controller", "--law", "computed-torque", "--fmi", "2.0"], 1),
        (["observer", "--no-binary"], None),
    ],
)
def test_a_unit_is_written(arguments, place, tmp_path):
    done = taupi("emit", "elbow2r", *arguments, "--fmu", "out.fmu", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "out.fmu\n" and done.stderr == "wrote 1 file; next: fmpy info out.fmu\n"
    names = zipfile.ZipFile(tmp_path / "out.fmu").namelist()
    assert "modelDescription.xml" in names and "sources/model.c" in names
    binaries = [n for n in names if n.startswith("binaries/")]
    expected = [] if place is None else [f"binaries/{platform_names()[place]}/out{platform_names()[2]}"]
    assert binaries == expected
    text = zipfile.ZipFile(tmp_path / "out.fmu").read("modelDescription.xml").decode()
    assert 'start="0.002"' in text or "plant" not in arguments
    again = taupi("emit", "elbow2r", *arguments, "--fmu", "out.fmu", cwd=tmp_path)
    assert again.returncode == 3 and "--force" in again.stderr


def test_a_fit_in_place_of_a_robot_has_what_was_identified(tmp_path):
    fit = friction_fit()
    tp.write_fit(fit, tmp_path / "fit.json")
    assert taupi("emit", "fit.json", "plant", "--fmu", "a.fmu", "--no-binary", cwd=tmp_path).returncode == 0
    plant = tp.RigidPlant(fit.robot_identified(), fit.terms)
    tp.bridges.emit_fmu(plant, tmp_path / "b.fmu", name="a", binary=False)
    assert (tmp_path / "a.fmu").read_bytes() == (tmp_path / "b.fmu").read_bytes()
    done = taupi("emit", "fit.json", "plant", "--fmu", "c.fmu", "--terms", "viscous", cwd=tmp_path)
    assert done.returncode == 3 and "--terms are those of the fit" in done.stderr


def test_a_fit_from_commands_has_its_drives(tmp_path):
    arm, t = tp.load("elbow2r"), np.arange(0, 4, 0.005)
    truth = tp.laws.DrivenPlant(arm, tp.Drive(kp=900, kd=40), {"viscous": 3.0, "coulomb": 1.5, "delay": 0.008})
    motion = tp.Sinusoids([0, 0], [[0.5, 0.2], [0.4, 0.2]], [[2.0, 9.0], [3.0, 11.0]])
    run = tp.simulate(truth, reference=motion, duration=float(t[-1]), rate=200)
    fit = tp.identify(arm, tp.Log(t, run.q, qdes=motion(t)[0], names=arm.joint_names, drive=truth.drive))
    tp.write_fit(fit, tmp_path / "fit.json")
    done = taupi("emit", "fit.json", "plant", "--fmu", "a.fmu", "--no-binary", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    tp.bridges.emit_fmu(tp.laws.DrivenPlant.of(fit), tmp_path / "b.fmu", name="a", binary=False)
    assert (tmp_path / "a.fmu").read_bytes() == (tmp_path / "b.fmu").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["plant", "-o", "out"], 3, "add --fmu FILE.fmu"),
        (["regressor", "--fmu", "a.fmu"], 3, "A unit holds a plant, a controller or one of observer"),
        (["plant", "--fmu", "a.fmu", "-o", "out"], 3, "leave -o and --language out"),
        (["plant", "--fmu", "a.fmu", "--dtype", "float32"], 3, "leave --dtype and --project out"),
        (["plant", "--fmu", "a.zip"], 3, "ends in .fmu"),
        (["plant", "--fmu", "a.fmu", "--fmi", "1.0"], 3, "3.0, 2.0"),
        (["controller", "--fmu", "a.fmu"], 3, "A controller needs a law"),
        (["regressor", "-o", "out", "--fmi", "2.0"], 3, "go with --fmu"),
        (["regressor"], 2, "say where to write"),
    ],
)
def test_options_that_do_not_go_together(arguments, code, sentence, tmp_path):
    done = taupi("emit", "elbow2r", *arguments, cwd=tmp_path)
    assert done.returncode == code and sentence in " ".join(done.stderr.split()), done.stderr
    assert not list(tmp_path.iterdir())


def test_without_a_compiler_the_way_out_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("CC", "no-such-compiler")
    done = taupi("emit", "elbow2r", "plant", "--fmu", "a.fmu", cwd=tmp_path)
    assert done.returncode == 3 and "--no-binary" in done.stderr
