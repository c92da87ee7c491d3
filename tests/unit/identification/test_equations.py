"""Kinds of equations: each robot has one, chosen in one place, and what it cannot do is said in one sentence."""

import numpy as np
import pytest
from fits import TERMS, friction_log
from floating import floating_tree

import taupi as tp
from taupi.errors import TaupiError
from taupi.identification.equations.constrained import FloatingBase
from taupi.identification.equations.joints import ElasticJoints, MotorsOnly, RigidJoints
from taupi.identification.equations.kinds import equations_of

ARM, SPRUNG = tp.load("elbow2r"), tp.load("zollo2r")
BALL = """<mujoco model="ball"><worldbody><body name="arm"><joint name="j" axis="0 1 0"/>
<inertial mass="1" pos=".1 0 0" diaginertia=".01 .01 .01"/><body name="hand" pos=".3 0 0"><joint name="wrist" type="ball"/>
<inertial mass="1" pos=".1 0 0" diaginertia=".01 .01 .01"/></body></body></worldbody></mujoco>"""


@pytest.mark.parametrize(
    ("equations", "kind", "rows"),
    [
        (equations_of(ARM), RigidJoints, 2),
        (equations_of(SPRUNG), ElasticJoints, 4),
        (equations_of(SPRUNG, elastic=False), RigidJoints, 2),
        (equations_of(SPRUNG, motors_only=True), MotorsOnly, 4),
        (equations_of(tp.load("elbow2r", floating=True)), FloatingBase, 8),
    ],
)
def test_each_robot_has_one_kind(equations, kind, rows):
    assert type(equations) is kind and equations.layout.count == rows == len(equations.layout.names)


def test_what_is_beyond_rigid_joints_has_a_name():
    assert not equations_of(ARM).layout.beyond_rigid
    assert equations_of(SPRUNG).layout.beyond_rigid == "elastic joints"
    assert equations_of(tp.load("elbow2r", floating=True)).layout.beyond_rigid == "a free base"
    with pytest.raises(TaupiError) as refused:
        equations_of(SPRUNG).layout.require_rigid("A tracker")
    assert refused.value.values["what"] == "A tracker"


@pytest.mark.parametrize("call", [tp.identify, tp.estimators.build_problem])
def test_ball_joints_are_refused_alike(call, tmp_path):
    (tmp_path / "ball.xml").write_text(BALL)
    robot = tp.load(tmp_path / "ball.xml", snap=False)
    log = tp.Log(np.arange(100) / 100, np.zeros((100, 4)), tau=np.zeros((100, 4)))
    with pytest.raises(TaupiError, match=r"has ball joints \(wrist\), which .* logs have no signals for"):
        call(robot, log)


def test_a_floating_robot_with_a_ball_joint_is_refused_too():
    with pytest.raises(TaupiError, match="ball joints"):
        equations_of(floating_tree(3, balls=(2,)))
    assert isinstance(equations_of(floating_tree(3)), FloatingBase)


def test_a_prepared_log_whose_time_repeats_is_refused():
    ready = tp.prepare(friction_log(1), cutoff_hz=15)
    time = ready.time.copy()
    time[40] = time[39]
    for broken in (time, np.zeros_like(time)):
        with pytest.raises(TaupiError) as refused:
            tp.identify(ARM, ready.with_(time=broken), terms=TERMS)
        assert refused.value.values["sample"] in (1, 40)


def test_files_of_floating_robots_are_refused_twice_too(tmp_path):
    """What holds for logs of all robots holds for these, since one pipeline reads them."""
    robot = tp.load("elbow2r", floating=True)
    q = np.tile(tp.floating.neutral(robot), (300, 1))
    q[:, 7:] += np.sin(np.arange(300)[:, None] / 20)
    log = tp.floating.log_from_states(robot, np.arange(300) / 100, q, np.zeros((300, 8)), np.zeros((300, 8)))
    tp.write_log(log, tmp_path / "run.csv")
    with pytest.raises(TaupiError, match="given twice"):
        tp.identify(robot, [tmp_path / "run.csv"] * 2, contact="base")
