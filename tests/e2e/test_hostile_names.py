"""Names that would be code, markup or commands, through every emitter, writer and page: they stay text."""

import ast
import json
import re
import shutil
import subprocess

import numpy as np
import pytest
from command_line import taupi
from fits import friction_log
from hostile import ARM, CHROMIUM, JOINTS, check_page, opened, outside_comments
from pages import Page

import taupi as tp
from taupi.excitation.writers.write import TimedMotion
from taupi.excitation.writers.write import write as write_motion
from taupi.model.formats.toml import reads
from taupi.model.formats.toml_writer import writes
from taupi.reporting.report import report_text
from taupi.signals.log import LogSource


@pytest.fixture(scope="module")
def fit():
    log = friction_log(1).with_(names=ARM.joint_names, source=LogSource("</td><script>EVIL</script>.csv"))
    return tp.identify(ARM, log, terms=("viscous",), cutoff_hz=15)


@pytest.fixture(scope="module")
def pages(fit):
    motion = tp.MinimumJerk([[0, 0], [0.3, 0.2]], [0, 0.5])
    run = tp.simulate(tp.RigidPlant(ARM), tp.PDGravity(ARM), motion, duration=0.5, rate=100)
    return {"fit": report_text(fit), "run": report_text(run)}


# Source -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("build", [tp.regressor, tp.mass_matrix, lambda arm: tp.SlotineLi(arm).step_program()])
def test_source_of_every_language(build):
    program = build(ARM)
    assert "EVIL" not in outside_comments(program.c()) and "EVIL" not in outside_comments(program.cuda())
    tree = ast.parse(program.python())
    assert not any("EVIL" in ast.dump(node) for node in tree.body[1:])  # the first is the docstring
    for line in program.matlab().splitlines():
        assert "EVIL" not in line or line.lstrip().startswith("%")


def test_controllers_compile_and_pass_their_own_test(tmp_path):
    paths = tp.emit_controller(tp.SlotineLi(ARM), tmp_path, name="arm")
    for path in paths:
        if path.suffix in (".c", ".h"):
            assert "EVIL" not in outside_comments(path.read_text())
    if compiler := shutil.which("cc"):
        sources = [str(p) for p in paths if p.suffix == ".c"]
        subprocess.run(
            [compiler, "-std=c99", "-Werror", "-Wno-unused", *sources, "-o", str(tmp_path / "t"), "-lm"], check=True
        )
        assert subprocess.run([str(tmp_path / "t")], check=False, capture_output=True).returncode == 0


# Formulas ---------------------------------------------------------------------------------------------------------------


def test_latex_holds_no_commands_of_names():
    texts = [e.latex() for e in tp.base_parameters(ARM, terms=("viscous",)).expressions]
    assert any("EVIL" in text for text in texts)
    for text in texts:
        assert "\\input" not in text and "\n" not in text
        assert not re.search(r"(?<!\\)[%#&$]", text)
        bare = re.sub(r"\\[{}\\]", "", text)
        assert bare.count("{") == bare.count("}")


# Files ------------------------------------------------------------------------------------------------------------------


def test_descriptions_and_fits_read_back(tmp_path, fit):
    assert reads(writes(ARM)).fingerprint == ARM.fingerprint and reads(writes(ARM)).joint_names == JOINTS
    tp.write_fit(fit, tmp_path / "fit.json")
    back = tp.load_fit(tmp_path / "fit.json")
    assert back.names == fit.names and np.array_equal(back.values, fit.values)
    tp.write_fit(fit, tmp_path / "fit.txt")
    assert (tmp_path / "fit.txt").read_text(encoding="utf-8")


def test_urdf_is_well_formed(tmp_path):
    from xml.sax.saxutils import quoteattr

    name = "a&<>\"'EVIL --> ]]>"
    quoted = quoteattr(name)
    (tmp_path / "a.urdf").write_text(
        f'<robot name="r"><link name="base"/><link name={quoted}><inertial><mass value="2"/><origin xyz="0 0.2 0"/>'
        '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>'
        f'<joint name="j" type="continuous"><parent link="base"/><child link={quoted}/><axis xyz="1 0 0"/></joint></robot>'
    )
    robot = tp.load(tmp_path / "a.urdf")
    changed = robot.with_parameters(2 * robot.parameters.values)
    tp.write_urdf(changed, tmp_path / "b.urdf")
    assert tp.load(tmp_path / "b.urdf").link_names == (name,)
    assert np.allclose(tp.load(tmp_path / "b.urdf").parameters.values, changed.parameters.values)


def test_motions_for_controllers(tmp_path):
    motion = tp.BSpline(np.random.default_rng(0).uniform(-1, 1, (8, 2)), 1.0)
    write_motion(TimedMotion(motion, ARM), tmp_path / "out", formats=("csv", "npz", "ros2"))
    (logs,) = ([p for p in (tmp_path / "out").iterdir() if p.suffix == ending] for ending in (".csv",))
    assert [tp.read_log(p).names for p in logs] == [JOINTS]
    import yaml

    (document,) = [yaml.safe_load(p.read_text(encoding="utf-8")) for p in (tmp_path / "out").glob("*.yaml")]
    assert tuple(document["joint_names"]) == JOINTS


# Pages ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["fit", "run"])
def test_pages_have_one_script_and_allow_no_other(pages, kind):
    check_page(pages[kind])
    assert any("EVIL" in word for word in Page(pages[kind]).words)


@pytest.mark.skipif(CHROMIUM is None, reason="needs a browser")
def test_a_browser_runs_our_script_and_no_other(tmp_path, pages):
    """Also one that gets into the page although all names are escaped."""
    path = tmp_path / "page.html"
    mark = "document.documentElement.dataset.evil = 1"
    page = pages["fit"].replace("</main>", f"<script>{mark}</script><img src=x onerror='{mark}'></main>")
    path.write_text(page, encoding="utf-8")
    dom = opened(path)
    assert "data-evil" not in dom and "<title>EVIL" not in dom
    path.write_text(re.sub(r"<meta http-equiv[^>]*>", "", page), encoding="utf-8")
    assert "data-evil" in opened(path)  # without the policy it would run


# The command line -------------------------------------------------------------------------------------------------------


def test_commands_print_names_as_data(tmp_path):
    (tmp_path / "arm.toml").write_text(writes(ARM), encoding="utf-8")
    done = taupi("info", "arm.toml", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    data = json.loads(done.stdout)
    assert [joint["name"] for joint in data["joints"]] == list(JOINTS)
