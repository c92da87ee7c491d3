"""What a notebook shows of the last line of a cell: well-formed HTML, the numbers of the thing, and names as text."""

import dataclasses
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import taupi as tp
from taupi.model.robot_card import _VIEW
from taupi.model.zero_pose import zero_pose
from taupi.tables import html_lines, html_pattern

ARM = tp.load("elbow2r")
EVIL = "<script>alert(1)</script>&\"'"


def parsed(thing):
    """Return the rich form as XML: what is not well-formed fails here."""
    return ET.fromstring(f"<div>{thing._repr_html_()}</div>")


def cells(tree):
    return [["".join(cell.itertext()) for cell in row] for row in tree.iter("tr")]


def moved(arm):
    t = np.linspace(0, 1, 50)
    q = np.stack([np.sin(3 * t), 2 * np.cos(t)], axis=1)
    return tp.Log(t, q, tau=q, names=arm.joint_names)


def test_a_robot_is_a_table_of_its_joints():
    head, *rows = cells(parsed(ARM))
    assert head[:2] == ["joint", "type"] and [row[0] for row in rows] == list(ARM.joint_names)
    assert [row[4] for row in rows] == [f"{float(link.body[0]):.4g}" for link in ARM.links]


@pytest.mark.parametrize("name", ["puma560", "panda", "zollo2r"])
def test_a_robot_has_a_picture_that_ends_at_its_tip(name):
    arm = tp.load(name)
    pose = zero_pose(arm)
    for frame, placed in zip(arm.link_names, pose.links, strict=True):
        assert np.abs(placed - tp.forward_kinematics(arm, frame)(np.zeros(arm.n))).max() < 1e-12
    assert np.abs(pose.lines[-1][-1] - tp.forward_kinematics(arm)(np.zeros(arm.n))[:3, 3]).max() < 1e-12
    assert len(list(parsed(arm).iter("path"))) == 2 * len(arm.joints) + 1
    assert np.linalg.norm(_VIEW, axis=1) == pytest.approx([1, 1], abs=2e-3) and abs(_VIEW[0] @ _VIEW[1]) < 2e-3


def test_a_robot_without_lengths_or_a_base_has_no_picture():
    bare = tp.Robot.from_dh([{"a": "l1"}, {"a": "l2"}])
    assert not list(parsed(bare).iter("svg")) and not list(parsed(tp.load("solo12")).iter("svg"))


def test_a_program_shows_its_cost_and_where_it_is_zero():
    Y = tp.regressor(ARM)
    tree = parsed(Y)
    assert f"{Y.operations.total} operations" in tree.find("table/caption").text
    assert len(list(tree.iter("rect"))) == Y.sparsity().sum() < 40
    assert cells(tree)[-1] == ["returns", "Y", "(..., 2, 20)", f"{Y.sparsity().sum()} of 40"]


def test_a_log_and_a_run_show_their_signals():
    tree = parsed(moved(ARM))
    assert [f.text.split(":")[0] for f in tree.iter("figcaption")] == ["q", "tau"]
    assert len(list(tree.iter("polyline"))) == 4
    run = tp.simulate(tp.RigidPlant(ARM), duration=0.1, initial=[0.1, 0.2])
    shown = parsed(run)
    assert [row[0] for row in cells(shown)[1:]] == list(ARM.joint_names)
    assert [f.text.split(":")[0] for f in shown.iter("figcaption")] == ["q", "tau"]
    assert repr(run).splitlines()[0] == shown.find("table/caption").text


def test_formulas_are_mathematics_unless_they_fill_pages():
    short = tp.explicit_regressor(ARM)
    assert len(list(parsed(short).iter("math"))) > 8
    long = tp.explicit_regressor(tp.load("puma560"))
    assert not list(parsed(long).iter("math")) and "Too long" in "".join(parsed(long).itertext())


def test_base_parameters_as_latex():
    base = tp.base_parameters(ARM)
    lines = base.latex().splitlines()
    assert lines[0] == r"\begin{aligned}" and len(lines) == base.count + 2
    assert all(e.latex() in line for e, line in zip(base.expressions, lines[1:], strict=False))
    assert len(cells(parsed(base))) == base.count + 1


def test_names_are_text():
    joints = tuple(dataclasses.replace(j, name=f"{EVIL}{k}") for k, j in enumerate(ARM.joints))
    links = tuple(dataclasses.replace(link, name=f"{EVIL}{k}") for k, link in enumerate(ARM.links))
    arm = dataclasses.replace(ARM, name=EVIL, joints=joints, links=links)
    run = tp.simulate(tp.RigidPlant(arm), duration=0.01, initial=[0.1, 0.2])
    things = [arm, tp.regressor(arm), moved(arm), run, tp.base_parameters(arm), tp.explicit_regressor(arm)]
    for thing in things:
        assert "<script" not in thing._repr_html_(), type(thing).__name__
        assert EVIL in "".join(parsed(thing).itertext()) or isinstance(thing, tp.Program)


def test_pictures_keep_peaks_and_survive_nothing():
    t = np.linspace(0, 1, 10_000)
    x = np.zeros(len(t))
    x[7777] = 5.0
    text = html_lines("x", t.tolist(), [x.tolist()])
    assert "0 to 5 over 1 s" in text and ",0.0 " in text and text.count(",") < 1300
    assert html_lines("x", [0.0, 1.0], [[np.nan, np.nan]]) == "" == html_lines("x", [], [])
    assert html_pattern("none", []) == ""


def test_a_picture_shows_itself():
    pytest.importorskip("matplotlib")
    assert tp.plot(ARM)._repr_png_().startswith(b"\x89PNG")


@pytest.mark.parametrize("law", ["SlotineLi", "PDGravity", "ComputedTorque", "NiemeyerSlotine", "Walker"])
def test_a_law_prints_a_card_with_its_gains_by_joint(law):
    made = getattr(tp, law)(tp.load("puma560"))
    lines = str(made).splitlines()
    assert lines[0].startswith(f"{law} of puma560: adapts ")
    gain = next(k for k, v in vars(made).items() if isinstance(v, np.ndarray) and v.shape == (6,))
    column = lines[1].split().index(gain)
    assert [float(line.split()[column]) for line in lines[3:9]] == pytest.approx(getattr(made, gain), rel=1e-3)
    assert gain in made._repr_html_()


def test_names_on_the_card_of_a_law_are_text():
    arm = tp.load("elbow2r")
    evil = dataclasses.replace(arm, name="<img src=x>")
    assert "<img" not in tp.PDGravity(evil)._repr_html_()
