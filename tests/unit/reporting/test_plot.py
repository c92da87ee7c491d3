"""Pictures: what they show is where the arm is; how they are written; what is refused."""

import sys

import numpy as np
import pytest
from refusals import refused
from support import ROUNDING, error, random_robot

import taupi as tp
from taupi.errors import TaupiError
from taupi.reporting.figures.figure import free_spots
from taupi.reporting.skeleton import drawing_plane, skeleton

PUMA_AT = [0.3, 0.6, -0.4, 0.3, 0.5, 0.0]


def lines(axes, marker=None):
    """The data of the lines with a marker, or without one, each (points, coordinates)."""
    chosen = [line for line in axes.lines if (line.get_marker() if marker else "None") == (marker or line.get_marker())]
    return [np.array(line.get_data_3d() if hasattr(line, "get_data_3d") else line.get_data()).T for line in chosen]


def test_arm_in_three_dimensions_is_where_kinematics_says():
    arm = tp.load("puma560")
    figure = tp.plot(arm, PUMA_AT)
    (axes,) = figure.axes
    assert axes.name == "3d"
    ends = np.array([line[-1] for line in lines(axes) if len(line) == 4])
    want = [tp.forward_kinematics(arm, frame=name)(PUMA_AT)[:3, 3] for name in arm.link_names]
    assert error(ends, want) < ROUNDING
    # A classic DH joint sits at the frame before.
    joints = np.array(lines(axes, "o")).reshape(-1, 3)
    assert error(joints, np.vstack([np.zeros(3), want[:-1]])) < ROUNDING
    labels = {t.get_text() for t in axes.texts}
    assert "link4, link5, link6, tip" in labels  # they coincide
    spans = [np.ptp(getattr(axes, f"get_{a}lim")()) for a in "xyz"]
    assert max(spans) - min(spans) < 1e-9


def test_planar_arm_is_drawn_flat():
    arm = tp.load("planar3r")
    q = [0.5, 0.6, -0.9]
    (axes,) = tp.plot(arm, q).axes
    assert axes.name == "rectilinear"
    assert axes.get_aspect() == 1.0
    ends = np.array([line[-1] for line in lines(axes) if len(line) == 4])
    want = [tp.forward_kinematics(arm, frame=name)(q)[:2, 3] for name in arm.link_names]
    assert error(ends, want) < ROUNDING
    for label, name in zip(sorted(t.get_text() for t in axes.texts), ("link1", "link2", "link3, tip"), strict=True):
        assert label == name


@pytest.mark.parametrize(("axis", "plane"), [("z", (0, 1)), ("y", (0, 2)), ("x", (1, 2)), ("tilted", None)])
def test_plane_of_an_arm(axis, plane):
    turn = {"z": (0, 0, 1), "y": (0, 1, 0), "x": (1, 0, 0), "tilted": (0.6, 0.8, 0)}[axis]
    slide = {"z": (1, 0, 0), "y": (1, 0, 0), "x": (0, 0, 1), "tilted": (0, 0, 1)}[axis]
    screws = [(*turn, 0, 0, 0), (0, 0, 0, *slide)]
    arm = tp.Robot.from_poe(screws, [(0.1, 0.2, 0.3), (0.4, 0.5, 0.6)])
    assert drawing_plane(skeleton(arm, np.zeros((1, 2)))) == plane


def test_an_arm_that_slides_out_of_its_plane_is_not_flat():
    scara = tp.Robot.from_dh([{"a": 0.4}, {"a": 0.3}, {"joint": "prismatic"}])
    assert tp.plot(scara, [0.1, 0.2, -0.3]).axes[0].name == "3d"


@pytest.mark.parametrize("seed", range(6))
def test_trees_with_sliding_joints(seed):
    """Link frames and the tip from forward kinematics; sliding joints are squares."""
    arm = random_robot(seed, joints=5, mimic=True)
    q = np.random.default_rng(seed).uniform(-1, 1, (2, arm.n))
    shown = skeleton(arm, q)
    for k, name in enumerate(shown.names):
        want = tp.forward_kinematics(arm, frame=name).compile("numpy")(q)[:, :3]
        assert error(shown.frames[:, k], want) < ROUNDING
    for i, joint in enumerate(arm.joints):
        assert error(shown.links[:, i, 3], shown.frames[:, i, :, 3]) < ROUNDING
        start = shown.links[:, joint.parent, 3] if joint.parent >= 0 else np.broadcast_to(shown.base, (2, 3))
        assert error(shown.links[:, i, 0], start) < ROUNDING
        travel = joint.prismatic * float(joint.ratio) * q[:, joint.coordinate, None] * shown.axes[:, i]
        assert error(shown.links[:, i, 2] - shown.links[:, i, 1], travel) < ROUNDING
    axes = tp.plot(arm, q).axes[0]
    count = sum(j.prismatic for j in arm.joints)
    assert len(lines(axes, "s")) == 2 * count
    assert len(lines(axes, "o")) == 2 * (5 - count)


def test_frames_and_names_are_chosen():
    arm = tp.load("puma560")
    assert {t.get_text() for t in tp.plot(arm, frames=["link2"]).axes[0].texts} == {"link2"}
    assert not tp.plot(arm, names=False).axes[0].texts
    with pytest.raises(TaupiError, match="No frame 'hand'"):
        tp.plot(arm, frames=["hand"])


def test_labels_avoid_what_is_drawn_and_each_other():
    drawn = np.column_stack([np.linspace(0, 200, 100), np.zeros(100)])
    at = np.array([[50.0, 0.0], [52.0, 0.0], [54.0, 0.0]])
    labels = ["first", "second", "third"]
    spots = at + free_spots(labels, at, drawn)
    size = np.array([[0.58 * 8 * len(t) + 4, 11.2] for t in labels]) / 2
    assert (np.abs(spots[:, 1]) > size[:, 1]).all()
    for a in range(3):
        for b in range(a):
            apart = np.abs(spots[a] - spots[b]) - size[a] - size[b]
            assert apart.max() >= 0


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_files_are_written_whole_and_once(tmp_path, ending):
    path = tmp_path / f"arm.{ending}"
    arm = tp.load("elbow2r")
    tp.plot(arm, path=path)
    start = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[ending]
    first = path.read_bytes()
    assert first.startswith(start)
    with pytest.raises(TaupiError, match=r"exists already.*force=True"):
        tp.plot(arm, [0.1, 0.2], path=path)
    assert path.read_bytes() == first
    tp.plot(arm, path=str(path), force=True)
    assert path.read_bytes() == first  # the same picture is the same file
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_no_frames_are_drawn_where_none_are_named():
    figure = tp.plot(tp.load("elbow2r"), [0.3, 0.4], frames=[])
    assert not figure.axes[0].texts and len(figure.axes[0].lines) == 5  # two links, two joints, the base


def test_bad_input(tmp_path):
    arm = tp.load("elbow2r")
    with refused("path", endings=".png, .svg, .pdf"):
        tp.plot(arm, path=tmp_path / "arm.gif")
    with pytest.raises(TaupiError, match="cannot be written"):
        tp.plot(arm, path=tmp_path / "missing" / "arm.png")
    with refused("q", got=(3,), nq=2):
        tp.plot(arm, [1, 2, 3])
    with pytest.raises(TaupiError, match="Name a file by path="):
        tp.plot(arm, "arm.png")
    with pytest.raises(TaupiError, match="not finite"):
        tp.plot(arm, [np.nan, 0])
    with pytest.raises(TaupiError, match="not an array of numbers"):
        tp.plot(arm, [["a", "b"]])
    with pytest.raises(TaupiError) as refusal:
        tp.plot(3)
    known = refusal.value.values["known"].split(", ")
    assert {"Excitation", "Fit", "Fleet", "Log", "MassEllipses", "Robot", "Run"} <= set(known)
    with pytest.raises(TaupiError, match="symbols without a value"):
        tp.plot(tp.Robot.from_dh([{"a": "l1"}]))


def test_without_matplotlib_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(TaupiError, match=r'pip install "taupi\[plot\]"'):
        tp.plot(tp.load("elbow2r"))


def test_pyplot_is_not_touched():
    import subprocess

    code = "import sys, taupi as tp; tp.plot(tp.load('elbow2r')); sys.exit('matplotlib.pyplot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_picture_of_an_exciting_motion_stays_within_its_limits(tmp_path):
    limits = {"lower": -1.5, "upper": 1.5, "velocity": 2.0, "acceleration": 10.0, "effort": 60.0}
    plan = tp.excite(tp.load("elbow2r"), 3.0, limits=limits, starts=1, seed=1)
    figure = tp.plot(plan, tmp_path / "plan.png")
    assert [a.get_ylabel().split()[0] for a in figure.axes] == ["position", "speed", "acceleration", "torque"]
    t = figure.axes[1].lines[2].get_xdata()
    assert np.allclose(figure.axes[1].lines[3].get_ydata(), 100 * plan.motion(t)[1][:, 1] / 2.0)
    for axes in figure.axes:
        assert max(np.abs(line.get_ydata()).max() for line in axes.lines) <= 100 + 1e-6


def test_picture_of_a_log():
    t = np.arange(50) / 10
    log = tp.Log(t, np.sin(t)[:, None] * [1.0, 2.0], tau=np.cos(t)[:, None] * [3.0, 4.0], names=("a", "b"))
    figure = tp.plot(log)
    assert len(figure.axes) == 2 and np.array_equal(figure.axes[1].lines[1].get_ydata(), log.tau[:, 1])
    assert [text.get_text() for text in figure.axes[0].get_legend().get_texts()] == ["a", "b"]
    with pytest.raises(TaupiError, match="1 samples, too few"):
        tp.plot(tp.Log(t[:1], log.q[:1]))


def test_picture_of_a_trial_has_its_lyapunov_function(tmp_path):
    arm = tp.load("elbow2r")
    motion, plant = tp.Sinusoids([0.0, 0.5], [[0.4], [0.3]], [[1.0], [1.4]]), tp.RigidPlant(arm)
    law = tp.SlotineLi(arm)
    run = tp.simulate(plant, law, motion, duration=0.5, parameters=0.5 * law.parameters.values)
    trial = tp.laws.Trial(run, law, plant)
    figure, record = tp.plot(trial), tp.plot(trial.lyapunov, path=tmp_path / "v.png")
    assert len(figure.axes) == len(tp.plot(run).axes) + 2 and (tmp_path / "v.png").stat().st_size > 1000
    for drawn in (figure.axes[-2], record.axes[0]):
        lines = {line.get_label(): line.get_ydata() for line in drawn.lines}
        assert np.array_equal(lines["V"], trial.lyapunov.V)
    claimed = next(line for line in record.axes[1].lines if "proof" in line.get_label())
    assert np.array_equal(claimed.get_ydata(), trial.lyapunov.claimed)
    held = tp.laws.Trial(tp.simulate(plant, None, duration=0.2), None, plant)
    assert len(tp.plot(held).axes) == len(tp.plot(held.run).axes)
