"""`taupi emit ... --ros2` and goals of `taupi excite` from outside."""

import numpy as np
import pytest

import taupi as tp


def test_a_controller_and_an_observer(command, tmp_path):
    law = ("--law", "pd-gravity")
    code, out, err = command("emit", "elbow2r", "controller", *law, "--ros2", tmp_path / "hold", "--name", "hold")
    assert code == 0 and "colcon build --paths" in err
    assert str(tmp_path / "hold" / "src" / "hold_ros2_controller.cpp") in out.split()
    assert all(tmp_path.joinpath(p).is_file() for p in out.split())
    code, _, err = command("emit", "elbow2r", "controller", *law, "--ros2", tmp_path / "hold", "--name", "hold")
    assert code == 3 and "--force" in err
    code, out, err = command("emit", "elbow2r", "observer", "--ros2", tmp_path / "feel")
    assert code == 0 and "elbow2r_observer_node.cpp" in out, err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("regressor", "--ros2", "x"), "A ROS 2 package holds a controller or one of observer"),
        (("observer", "--ros2", "x", "-o", "y"), "leave -o, --language and --fmu out"),
        (("observer", "--ros2", "x", "--language", "python"), "leave -o, --language and --fmu out"),
        (("observer", "--ros2", "x", "--dtype", "float32"), "leave --dtype and --project out"),
        (("observer", "--ros2", "x", "--name", "My Node"), "expected that of a ROS package"),
        (("tracker", "--ros2", "x"), "needs a fit"),
    ],
)
def test_bad_input(command, tmp_path, arguments, words):
    code, out, err = command("emit", "elbow2r", *(tmp_path / a if a in ("x", "y") else a for a in arguments))
    assert code == 3 and out == "" and words in err and not (tmp_path / "x").exists()


def test_names_of_the_tracker_of_a_fit(command, tmp_path):
    t, w = np.arange(600)[:, None] / 100, np.array([1.0, 1.7])
    q, qd, qdd = np.sin(w * t), w * np.cos(w * t), -w * w * np.sin(w * t)
    arm = tp.load("elbow2r")
    log = tp.Log(t[:, 0], q, tau=tp.inverse_dynamics(arm)(q, qd, qdd))
    tp.write_fit(tp.identify(arm, log, terms=("viscous",), cutoff_hz=10), tmp_path / "fit.json")
    code, out, err = command("emit", tmp_path / "fit.json", "tracker", "--ros2", tmp_path / "ws")
    assert code == 0 and "elbow2r_tracker_node.cpp" in out, err
