"""Bad input of a design: one sentence that says what is wrong and what to give instead."""

import numpy as np
import pytest

import taupi as tp
from taupi.errors import NotIdentifiedError

LIMITS = {"lower": -2.0, "upper": 2.0, "velocity": 3.0, "acceleration": 10.0, "effort": 60.0}
ARM = tp.load("elbow2r")


def excite(robot=ARM, duration=4.0, limits=LIMITS, starts=1, **settings):
    return tp.excite(robot, duration, limits=limits, starts=starts, **settings)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"limits": None}, r"no velocity limit of shoulder, elbow.*limits=\{'shoulder': \{'velocity'"),
        ({"limits": {"velocity": 2.0}}, r"no effort limit of shoulder, elbow.*effort=0"),
        ({"limits": {"velocity": 2.0}, "effort": 0}, r"sigma=\.\.\."),
        ({"limits": {**LIMITS, "lower": 3.0}}, "contradict each other: lower 3, upper 2"),
        ({"limits": {**LIMITS, "velocity": -1.0}}, "velocity of 'shoulder' is -1.0, expected a finite number above 0"),
        ({"limits": {**LIMITS, "velocity": [1.0]}}, "velocity has 1 values, expected 2: one per joint"),
        ({"limits": {**LIMITS, "speed": 1.0}}, "No joint or limit 'speed'"),
        ({"limits": {"elbow": 3.0}}, "of 'elbow' is 3.0, expected quantities"),
        ({"limits": {"elbow": {"speed": 3.0}}}, "No limit 'speed' in elbow"),
        ({"limits": "missing.toml"}, "No file 'missing.toml'"),
        ({"limits": 3}, "expected the path of a TOML file, or a mapping"),
        ({"start": [9.0, 0.0]}, "start is outside the limits of 'shoulder': 9, expected -2 to 2"),
        ({"start": [0.0]}, r"start has shape \(1,\), expected \(2,\)"),
        ({"start": [float("nan"), 0.0]}, r"start is \[nan, 0.0\], expected finite numbers"),
        ({"start": "missing.csv"}, "missing.csv"),
        ({"duration": 0.05}, "too short: 10 torques at 100 Hz for 10 parameters. Use at least duration="),
        ({"bandwidth": 0.5}, "too short for a motion with content up to 0.5 Hz. Use at least duration=7.0"),
        ({"duration": 1e9}, r"1e\+11 samples, expected at most 1e\+06. Lower duration or periods or rate"),
        ({"rate": 1e12}, r"4e\+12 samples, expected at most"),
        ({"periods": 10**8}, r"4e\+10 samples, expected at most"),
        ({"duration": -1.0}, "duration is -1.0, expected a finite number above 0"),
        ({"motion": "spline"}, "Did you mean 'bspline'"),
        ({"harmonics": 5}, "harmonics has no meaning for the motion 'bspline'"),
        ({"bandwidth": 60.0}, r"content up to 60 Hz, more than half of rate \(100 Hz\). Use a smaller bandwidth"),
        ({"points": 20, "bandwidth": 2.0}, "points and bandwidth are both given"),
        ({"points": 4}, "points is 4, expected a whole number of at least 12"),
        ({"criterion": "dopt"}, "criterion is 'dopt', expected one of d, ds, a"),
        ({"only": "forearm.*"}, "criterion='ds'"),
        ({"criterion": "ds"}, "only="),
        ({"criterion": "ds", "only": "hand.*"}, "No parameter 'hand"),
        ({"margin": 1.5}, "margin is 1.5, expected a share"),
        ({"effort": 2.0}, "effort is 2.0, expected a share up to 1"),
        ({"sigma": [1.0, 2.0, 3.0]}, "sigma is .*one per joint"),
        ({"sigma": -1.0}, "sigma is -1.0, expected finite numbers above 0"),
        ({"given": 3}, "given is 3, expected logs"),
        ({"terms": ("viscos",)}, "Did you mean 'viscous'"),
        ({"starts": 0}, "starts is 0, expected a whole number of at least 1"),
        ({"budget": 0}, "budget is 0"),
        ({"box": (0, 0, 0)}, "lowest corner"),
        ({"robot": "panda"}, "expected a Robot"),
        ({"speed": 3.0}, "No setting 'speed' in excite"),
    ],
    ids=str,
)
def test_one_sentence_says_what_to_give(settings, sentence):
    with pytest.raises(tp.TaupiError, match=sentence):
        excite(**settings)


def test_limits_come_from_a_file_by_joint_or_by_quantity(tmp_path):
    path = tmp_path / "limits.toml"
    path.write_text(
        "velocity = 3.0\nacceleration = [10, 10]\n[elbow]\nlower = -1\nupper = 1\neffort = 20\n[shoulder]\neffort = 60\n"
    )
    excitation = excite(limits=path)
    assert excitation.limits.upper.tolist() == [np.pi, 1.0] and excitation.limits.effort.tolist() == [60.0, 20.0]
    assert any("Half a turn to each side" in note and "shoulder" in note for note in excitation.notes)
    path.write_text("velocity = ")
    with pytest.raises(tp.TaupiError, match="is not valid TOML"):
        excite(limits=path)


def test_accelerations_that_nobody_stated_are_said():
    excitation = excite(limits={k: v for k, v in LIMITS.items() if k != "acceleration"})
    assert any("full speed within 0.3 s" in note for note in excitation.notes)
    assert excitation.limits.acceleration.tolist() == [10.0, 10.0]


def test_robot_without_masses_is_refused_unless_torques_are_left_out():
    bare = ARM.with_parameters([0] * 20)
    with pytest.raises(tp.TaupiError, match=r"elbow2r has no masses.*effort=0"):
        excite(robot=bare)
    excitation = excite(robot=bare, effort=0)
    assert (
        "torque" not in excitation.certificates
        and "torque" in excitation.unchecked
        and "torque is not checked" in repr(excitation)
    )


def test_torques_that_no_motion_can_keep_are_said():
    """Within half a radian of level the arm's own weight takes more than 10 N m, whatever it does."""
    limits = {**LIMITS, "lower": -0.5, "upper": 0.5, "effort": 1.0}
    with pytest.raises(NotIdentifiedError, match=r"torque exceeds its limits: at most \d+\.\d% \(shoulder\)"):
        excite(limits=limits)


def test_motions_that_tell_nothing_are_refused():
    """So slow that accelerations are rounding: what takes them cannot be told apart."""
    with pytest.raises(NotIdentifiedError, match="none that keeps them determines every parameter"):
        excite(limits={**LIMITS, "velocity": 1e-9})


def test_symbols_without_values_are_refused():
    with pytest.raises(tp.TaupiError, match="bind"):
        excite(robot=tp.Robot.from_dh([{"a": "a1"}, {"a": 1}]))
