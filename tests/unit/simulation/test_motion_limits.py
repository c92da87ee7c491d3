"""Motions that an arm cannot follow, states and torques that are no numbers: one clear sentence, and the run up to there."""

import warnings

import numpy as np
import pytest

import taupi as tp
from taupi.errors import TaupiError
from taupi.simulation.motion_limits import broken_limits

PANDA, ARM = tp.load("panda"), tp.load("elbow2r")
MIDDLE = np.array([0, 0, 0, -1.5, 0, 1.8, 0])
T = np.linspace(0, 2, 401)


def sines(size, speed, robot_middle=MIDDLE):
    return tp.Sinusoids(robot_middle, np.full((len(robot_middle), 1), size), np.full((len(robot_middle), 1), speed))


def test_a_motion_within_all_limits_is_not_doubted():
    plant = tp.RigidPlant(PANDA, torque_limits=True)
    assert broken_limits(plant, sines(0.3, 2.0)(T), T) == []
    assert broken_limits(tp.RigidPlant(ARM), sines(9.0, 9.0, np.zeros(2))(T), T) == []  # it states no limits
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert tp.simulate(plant, tp.ComputedTorque(PANDA), sines(0.3, 2.0), duration=0.05).notes == ()


def test_range_and_speed():
    motion = sines(1.6, 1.0)
    (sentence,) = broken_limits(tp.RigidPlant(PANDA), motion(T), T)
    q = motion(T).q[:, 3]
    assert sentence.startswith(
        f"the reference leaves its range at panda_joint4: {q.max():.4g} rad at {T[q.argmax()]:.4g} s"
    )
    assert sentence.endswith("the limit is -0.0698 rad")
    (sentence,) = broken_limits(tp.RigidPlant(PANDA), sines(0.5, 5.0)(T), T)
    assert (
        "is too fast at panda_joint" in sentence
        and "2.5 rad/s at 0 s, the limit is 2.175 rad/s, and 3 more joints do" in sentence
    )


def test_torque_is_that_of_the_loaded_arm():
    load = tp.Payload(12.0, com=(0.0, 0.0, 0.1))
    plant = tp.RigidPlant(PANDA, torque_limits=True, payloads=[(1.0, load)])
    motion = sines(0.2, 2.0)(T)
    (sentence,) = broken_limits(plant, motion, T)
    pi = np.array(PANDA.parameters.values)
    pi[PANDA.parameters.layout.link(load.on(PANDA)[0])] += load.on(PANDA)[1]
    later = T >= 1.0
    tau = np.abs(tp.inverse_dynamics(PANDA.with_parameters(pi))(*(v[later] for v in motion)))
    over = tau - plant.torque_limits
    k, j = np.unravel_index(over.argmax(), over.shape)
    assert f"takes too much torque at panda_joint{j + 1}: {tau[k, j]:.4g} N m at {T[later][k]:.4g} s" in sentence
    assert broken_limits(tp.RigidPlant(PANDA, torque_limits=True), motion, T) == []


def test_a_doubt_is_a_warning_and_a_note():
    with pytest.warns(
        tp.TaupiWarning, match=r"^The reference is too fast at panda_joint1: .* rad/s, and 6 more joints do\.$"
    ):
        run = tp.simulate(tp.RigidPlant(PANDA), tp.ComputedTorque(PANDA), sines(0.5, 9.0), duration=0.05)
    assert run.complete and run.notes[0].startswith("the reference is too fast")
    assert tp.laws.Trial(run).remarks[0].startswith("The reference is too fast")


def test_a_task_out_of_reach():
    law, plant = tp.laws.OperationalSlotineLi(ARM, task="xy"), tp.RigidPlant(ARM)

    def away(r):
        return lambda t: ([r, 0.0], [0.0, 0.0], [0.0, 0.0])

    with pytest.warns(
        tp.TaupiWarning, match=r"out of reach: 2.5 m from the base at 0 s, and the stretched arm reaches 2 m\."
    ):
        tp.simulate(plant, law, away(2.5), duration=0.002, initial=[0.3, 0.8])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tp.simulate(plant, law, away(1.7), duration=0.002, initial=[0.3, 0.8])


def test_a_reference_that_is_no_number_is_refused():
    def broken(t):
        return [np.nan if t > 0.05 else 0.0, 0.0], [0.0, 0.0], [0.0, 0.0]

    with pytest.raises(TaupiError, match=r"reference\(0\.051\) gives q that is not finite"):
        tp.simulate(tp.RigidPlant(ARM), tp.SlotineLi(ARM), broken, duration=0.1)


def test_a_torque_that_is_no_number_ends_the_run():
    def broken(t, q, qd):
        return [np.nan if t >= 0.05 else 0.0, 0.0]

    with pytest.warns(
        tp.TaupiWarning, match=r"^The controller gave a torque that is not finite at 0\.05 s; the run is kept"
    ):
        run = tp.simulate(tp.RigidPlant(ARM), broken, duration=0.1)
    assert (
        not run.complete
        and len(run) == 50
        and run.notes == ("the controller gave a torque that is not finite at 0.05 s",)
    )
    with pytest.warns(tp.TaupiWarning, match="at 0 s"):
        none = tp.simulate(tp.RigidPlant(ARM), lambda t, q, qd: [np.nan, 0.0], duration=0.1)
    assert len(none) == 0 and "0 samples" in repr(none) and tp.laws.Trial(none).summary()["largest_torque"] == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"initial": [np.nan, 0.0]}, r"initial q is \[\[nan, 0\.0\]\], expected finite numbers"),
        ({"initial": [0.0, 0.0, 0.0]}, r"initial q has shape \(3,\), expected \(2,\)"),
        ({"parameters": np.full(20, np.nan)}, "parameters has entries that are not finite"),
    ],
)
def test_bad_starts(options, message):
    motion = sines(0.2, 2.0, np.zeros(2))
    with pytest.raises(TaupiError, match=message):
        tp.simulate(tp.RigidPlant(ARM), tp.SlotineLi(ARM), motion, duration=0.1, **options)


def test_a_loop_that_diverges_says_what_to_do():
    with pytest.warns(tp.TaupiWarning, match="diverged after .*: lower the gains, or raise the rate"):
        run = tp.simulate(tp.RigidPlant(ARM), tp.SlotineLi(ARM, K=1e5), sines(0.2, 2.0, np.zeros(2)), duration=1.0)
    assert not run.complete and np.isfinite(run.q).all() and "energy audit" not in repr(run)
