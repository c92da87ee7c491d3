"""Gains against the rate of the loop: what is refused diverges, and what is let through does not."""

import dataclasses
import json
import re
import warnings

import numpy as np
import pytest

import taupi as tp
from taupi.control.gains import check_gains, inverse_mass, overshoot, typical
from taupi.errors import TaupiWarning
from taupi.simulation.motion_limits import swing

UR10 = tp.load("ur10")
RATE = 1000.0
LAWS = {
    "slotine_li": tp.SlotineLi,
    "niemeyer_slotine": tp.NiemeyerSlotine,
    "walker": tp.Walker,
    "composite": tp.laws.CompositeAdaptation,
    "natural": tp.laws.NaturalAdaptation,
    "computed_torque": tp.ComputedTorque,
    "pd_gravity": tp.PDGravity,
    "operational": lambda robot: tp.laws.OperationalSlotineLi(robot, task="position" if robot.n > 3 else "planar"),
}
ROBOTS = {"elbow2r": tp.load("elbow2r"), "panda": tp.load("panda"), "puma560": tp.load("puma560"), "ur10": UR10}
GAIN = {"walker": "gamma", "computed_torque": "Kd", "pd_gravity": "Kd"}
PLANAR = tp.load("planar3r").bind(l1=1, l2=1, l3=1)


def robot_and_law(robot, law):
    return (ROBOTS[robot], LAWS[law]) if law != "operational" else (PLANAR, LAWS[law])


def at_rest(law, robot, q):
    """D by differences of the torque: how much of it answers to velocities."""
    wanted = q
    if isinstance(law, tp.laws.OperationalSlotineLi):
        wanted = tp.operational.task_coordinates(robot, task=law.task)(q)
    zero = np.zeros_like(wanted)
    columns = []
    for step in 1e-4 * np.eye(robot.n):
        ahead, behind = (law.torque(q, s * step + 0 * q, wanted, zero, zero) for s in (1, -1))
        columns.append((behind - ahead) / 2e-4)
    return np.stack(columns, axis=-1)


@pytest.mark.parametrize("name", LAWS)
def test_rates_are_those_of_the_torque(name):
    robot, make = robot_and_law("ur10", name)
    law, q = make(robot), typical(robot).motion[0][:5] * 0.3 + 0.5
    inverse = inverse_mass(robot, False, q)
    rates = sum(law.damping_rates(inverse, q).values())
    exact = inverse @ at_rest(law, robot, q)
    # A law of a task has Lambda as well, which is slow beside K and left out.
    slow = float(np.max(law.Lambda)) if name == "operational" else 1e-6 * np.abs(exact).max()
    assert np.abs(np.linalg.eigvals(rates).real.max(-1) - np.linalg.eigvals(exact).real.max(-1)).max() <= 2 * slow


def scaled(law, name, growth, robot, q):
    """The law with its damping scaled so that the fastest error of velocity is multiplied by 1 - growth in each period."""
    gain = GAIN.get(name, "K")
    part = law.damping_rates(inverse_mass(robot, False, q), q)[gain]
    factor = growth * RATE / float(np.linalg.eigvals(part).real.max())
    changes = {gain: getattr(law, gain) * factor}
    if isinstance(law, tp.laws.OperationalSlotineLi):
        changes["damping"] = None
    return dataclasses.replace(law, **changes)


@pytest.mark.parametrize("robot", ROBOTS)
@pytest.mark.parametrize("name", [n for n in LAWS if n != "operational"])
def test_the_limit_tells_diverging_from_converging_runs(robot, name):
    if name == "natural" and robot in ("elbow2r", "puma560"):
        pytest.skip("the links of its description are points, which are no bodies to start from")
    arm = ROBOTS[robot]
    q = swing(arm)(np.zeros(1)).q
    hold = np.repeat(q, 2, axis=0)
    for growth, diverges in ((0.5, False), (1.7, False), (2.5, True), (20.0, True)):
        law = scaled(LAWS[name](arm), name, growth, arm, q)
        if law.learns:  # what is asked is about the damping
            law = dataclasses.replace(law, **({} if name == "natural" else {"Gamma_inv": 0.0}))
        still = (hold[0], 0 * hold[0], 0 * hold[0])
        start = (q[0], 1e-6 * np.random.default_rng(0).normal(size=arm.n))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            run = tp.simulate(tp.RigidPlant(arm), law, lambda t, s=still: s, 0.2, RATE, initial=start)
        gone = not run.complete or np.abs(run.qd[-1]).max() > 1e-4
        said = any("too high for a loop at 1000 Hz" in str(w.message) for w in caught)
        assert (gone, said) == (diverges, diverges), (growth, run.complete, np.abs(run.qd[-1]).max())


@pytest.mark.parametrize(
    "robot", [n for n in tp.catalogue() if n not in ("g1", "solo12", "lecture2r", "planar3r", "zollo2r")]
)
def test_default_gains_have_room(robot):
    arm = tp.load(robot)
    q = typical(arm).motion[0]
    for make in [make for name, make in LAWS.items() if name != "operational"]:
        assert overshoot(make(arm), RATE, inverse_mass(arm, False, q), q) is None


ADAPTIVE = [n for n in LAWS if n not in ("computed_torque", "pd_gravity", "operational")]


QUICK = (("ur10", "slotine_li"),)


def learning_faster(law, share):
    """The law with what it learns by so many times as strong."""
    name = law.learns_by
    return dataclasses.replace(law, **{name: getattr(law, name) * (1 / share if name == "gamma" else share)})


@pytest.mark.parametrize("name", ADAPTIVE)
def test_what_is_learnt_at_rest_is_that_of_the_law(name):
    """By differences of the law's own adaptation and torque."""
    robot, make = robot_and_law("ur10", name)
    law, (q,) = make(robot), typical(robot).motion[0][:1] * 0.3 + 0.5
    inverse = inverse_mass(robot, False, q[None])
    still, pi = np.zeros_like(q), law.parameters.values
    rates = [law.adaptation(q, s * 1e-3 * e, q, still, still) for e in np.eye(robot.n) for s in (1, -1)]
    learnt = np.stack(rates, axis=-1).reshape(len(pi), -1, 2) @ [1, -1] / 2e-3
    torque = [law.torque(q, still, q, still, still, pi + step) for step in np.eye(len(pi))]
    y = np.stack(torque, axis=-1) - law.torque(q, still, q, still, still)[:, None]
    ours = law.learning_rates(inverse, q[None])[0]
    assert np.abs(ours + inverse[0] @ y @ learnt).max() < 1e-6 * np.abs(ours).max()


@pytest.mark.parametrize(
    ("robot", "name"),
    [
        pytest.param(robot, name, marks=() if (robot, name) in QUICK else pytest.mark.long)
        for robot in ("panda", "ur10")
        for name in ADAPTIVE
    ],
)
def test_the_limit_of_learning_tells_diverging_from_converging_runs(robot, name):
    arm = ROBOTS[robot]
    law, q = LAWS[name](arm), typical(arm).motion[0][3:4] * 0.5
    inverse = inverse_mass(arm, False, q)
    share = 2.0
    while overshoot(learning_faster(law, share), RATE, inverse, q) is None:
        share *= 1.4
    still = (q[0], 0 * q[0], 0 * q[0])
    start = (q[0], 1e-7 * np.random.default_rng(0).normal(size=arm.n))
    sizes = []
    for factor in (0.5, 2.0):
        pushed = learning_faster(law, factor * share)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run = tp.simulate(tp.RigidPlant(arm), pushed, lambda t: still, 0.3, RATE, initial=start)
        sizes.append(np.abs(run.qd[-1]).max() if run.complete else np.inf)
    assert sizes[0] < 1e-6 < sizes[1]


def test_the_printed_remedy_holds_the_arm():
    """Both gains of the message together, in the motion that showed it."""
    law = tp.SlotineLi(UR10, Lambda=5.0, K=20.0, Gamma_inv=1.0)
    with pytest.raises(tp.TaupiError) as error:
        check_gains(law)
    K, Gamma_inv = re.search(r"K=(\[.*\]) with Gamma_inv=([0-9.]+) would do", str(error.value)).groups()
    assert run_of(dataclasses.replace(law, K=json.loads(K), Gamma_inv=float(Gamma_inv))).complete
    halved = dataclasses.replace(law, K=json.loads(K))
    with pytest.warns(TaupiWarning, match="what it learns makes the velocity of wrist_3_joint swing"):
        assert not run_of(halved).complete


@pytest.mark.parametrize("name", ["pd_gravity", "computed_torque"])
@pytest.mark.parametrize("robot", ["elbow2r", "ur10"])
def test_a_pull_too_strong_for_its_damping_is_named_and_the_remedy_holds(robot, name):
    """Torques are held for a period, in which a pull acts on where the arm was: it needs damping of more than Kp / (2 rate)."""
    arm = ROBOTS[robot]
    start = swing(arm)(np.zeros(1)).q
    law = scaled(LAWS[name](arm), name, 0.4, arm, np.repeat(start, 2, axis=0))
    law = dataclasses.replace(law, Kp=5 * RATE * law.Kd)
    found = overshoot(law, RATE, inverse_mass(arm, False, start), start)
    assert found.gain == "Kp" and set(found.better) == {"Kp"}
    still = (start[0], 0 * start[0], 0 * start[0])
    for each, holds in ((law, False), (dataclasses.replace(law, **found.better), True)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            begin = (start[0] + 1e-6, 0 * start[0])
            run = tp.simulate(tp.RigidPlant(arm), each, lambda t: still, 0.1, RATE, initial=begin)
        said = any("its pull makes the velocity of" in str(warning.message) for warning in caught)
        assert (run.complete and np.abs(run.q[-1] - start[0]).max() < 1e-5) == holds == (not said)


def test_gains_that_are_too_high_together_are_both_lowered():
    """Kd alone would be lowered below what Kp needs, and the arm would swing until it is lost."""
    law, q = tp.PDGravity(UR10, Kp=3000.0, Kd=400.0), typical(UR10).motion[0]
    found = overshoot(law, RATE, inverse_mass(UR10, True, q), q)
    assert found.gain == "Kd" and set(found.better) == {"Kd", "Kp"}
    assert overshoot(dataclasses.replace(law, **found.better), RATE, inverse_mass(UR10, True, q), q) is None
    assert run_of(dataclasses.replace(law, **found.better)).complete


def run_of(law):
    motion = tp.MinimumJerk([np.zeros(6), np.ones(6)], [0, 1])
    return tp.simulate(tp.RigidPlant(UR10), law, motion, duration=0.3, rate=RATE)


def test_the_joint_and_a_gain_that_would_do_are_named(tmp_path):
    law = tp.SlotineLi(UR10, Lambda=5.0, K=20.0, Gamma_inv=1.0)
    q = typical(UR10).motion[0]
    found = overshoot(law, RATE, inverse_mass(UR10, True, q), q)
    assert (found.gain, found.joint, found.everywhere) == ("K", "wrist_3_joint", True)
    assert found.growth == pytest.approx(59, abs=1) and found.better["K"][0] == 20.0 and found.better["K"][5] < 0.3
    better = dataclasses.replace(law, **found.better)
    assert overshoot(better, RATE, inverse_mass(UR10, True, q), q) is None
    for write in (tp.emit_controller, tp.bridges.emit_ros2):
        with pytest.raises(tp.TaupiError, match="wrist_3_joint") as error:
            write(law, tmp_path / "out")
        assert error.value.argument == "K" and not (tmp_path / "out").exists()
    with pytest.warns(TaupiWarning, match="wrist_3_joint"):
        tp.bridges.emit_fmu(law, tmp_path / "law.fmu", binary=False)
    assert tp.emit_controller(better, tmp_path / "out") and tp.emit_controller(law, tmp_path / "fast", rate=1e5)


def test_rotors_are_inertia_too():
    """Of a PUMA's wrist without its rotors, K = 20 would be 500 times too much; its description has them."""
    puma = tp.load("puma560")
    law, q = tp.SlotineLi(puma, Lambda=5.0, K=20.0), typical(puma).motion[0]
    assert overshoot(law, RATE, inverse_mass(puma, False, q), q) is not None
    assert overshoot(law, RATE, inverse_mass(puma, True, q), q) is None


def test_a_matrix_and_a_slow_rate():
    arm = ROBOTS["elbow2r"]
    law, q = tp.SlotineLi(arm, K=np.array([[20.0, 2.0], [2.0, 10.0]])), typical(arm).motion[0]
    inverse = inverse_mass(arm, False, q)
    assert overshoot(law, RATE, inverse, q) is None
    found = overshoot(law, 20.0, inverse, q)
    assert found.better["K"].shape == (2, 2) and "times as large" in found.remedy
    assert overshoot(dataclasses.replace(law, **found.better), 20.0, inverse, q) is None
    quick = overshoot(tp.SlotineLi(arm, Lambda=5000.0), RATE, inverse, q)
    assert quick.gain == "Lambda" and quick.better["Lambda"].tolist() == pytest.approx([400.0, 400.0])


def test_motors_of_elastic_joints():
    arm = tp.load("zollo2r")
    law, q = tp.laws.ElasticPDGravity(arm), typical(arm).motion[0]
    inverse = inverse_mass(arm, False, q)
    assert overshoot(law, RATE, inverse, q) is None
    found = overshoot(tp.laws.ElasticPDGravity(arm, Kp=3000.0, Kd=1e5), RATE, inverse, q)
    assert found.gain == "Kd" and found.joint in arm.joint_names
