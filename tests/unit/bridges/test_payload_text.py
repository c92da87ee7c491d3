"""Payloads in the words of makers: parsed back here by other code, in their units, order and axes."""

import json
import re
from types import SimpleNamespace

import numpy as np
import pytest
from loads import ARM, LOAD, carried, recorded
from scipy.spatial.transform import Rotation

import taupi as tp
from taupi.bridges.makers import MAKERS, PayloadStatement
from taupi.errors import TaupiError

# Of the tensor, by the digits that are written; spec: 1e-4.
SAME = 1e-4
NUMBER = r"-?\d+(?:\.\d+)?(?:e-?\d+)?"
KGF_CM_S2 = 10.197162129779


@pytest.fixture(scope="module")
def load():
    return carried(recorded(ARM.with_payload(**LOAD), 200, drift=1.15))


def numbers(text):
    return [float(n) for n in re.findall(NUMBER, text)]


def tensor(xx, yy, zz, xy, xz, yz):
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def ur(text):
    m, *rest = numbers(re.search(r"\((.*)\)", text)[1])
    return m, rest[:3], tensor(*rest[3:9])


def ur_ros2(text):
    fields = dict(re.findall(rf"(\w+): ({NUMBER})", text))
    six = [float(fields[name]) for name in ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")]
    return float(fields["mass"]), [float(fields[a]) for a in "xyz"], tensor(*six)


def franka(text):
    m, *rest = numbers(text.replace("franka_msgs/srv/SetLoad", ""))[-13:]
    return m, rest[:3], np.reshape(rest[3:], (3, 3), order="F")


def desk(text):
    data = json.loads(text)
    assert not data["id"].startswith("ee-") and len(data["transformation"]) == 16
    return data["mass"], data["centerOfMass"], np.reshape(data["inertia"], (3, 3), order="F")


def kuka(text):
    m, x, y, z, a, b, c, *moments = numbers(text.partition("=")[2])
    axes = Rotation.from_euler("ZYX", [a, b, c], degrees=True).as_matrix()
    return m, np.array([x, y, z]) / 1000, axes @ np.diag(moments) @ axes.T


def abb(text):
    m, x, y, z, w, i, j, k, *moments = numbers(text.partition("=")[2])
    axes = Rotation.from_quat([i, j, k, w]).as_matrix()
    return m, np.array([x, y, z]) / 1000, axes @ np.diag(moments) @ axes.T


def fanuc(text):
    m, x, y, z, *moments = (float(line.partition("=")[2]) for line in text.splitlines())
    return m, np.array([x, y, z]) / 100, np.diag(moments) / KGF_CM_S2


def millimetres(text):
    m, x, y, z = numbers(re.search(r"\((.*)\)", text)[1])
    return m, np.array([x, y, z]) / 1000, np.zeros((3, 3))


def doosan(text):
    m, x, y, z, *six = numbers(text.partition(",")[2])
    assert not any(six)
    return m, [x, y, z], np.zeros((3, 3))


def kinova(text):
    fields = dict(re.findall(rf"(\w+)=({NUMBER})", text))
    return float(fields["payload_mass"]), [float(fields[a]) for a in "xyz"], np.zeros((3, 3))


PARSERS = {
    "ur": ur,
    "urscript": ur,
    "ur-rtde": ur,
    "ur-ros2": ur_ros2,
    "franka": franka,
    "franka-ros2": franka,
    "franka-desk": desk,
    "kuka": kuka,
    "abb": abb,
    "fanuc": fanuc,
    "xarm": millimetres,
    "mecademic": millimetres,
    "doosan": doosan,
    "kinova": kinova,
}


@pytest.mark.parametrize("name", MAKERS)
def test_a_text_reads_back_to_the_payload(name, load):
    text = tp.bridges.payload_text(load, name)
    mass, com, inertia = PARSERS[name](str(text))
    assert mass == pytest.approx(load.mass, rel=1e-6) and com == pytest.approx(load.com, abs=1e-6)
    wanted = {"tensor": load.inertia, "principal": load.inertia, "moments": np.diag(np.diag(load.inertia)), "": 0}
    expected = wanted[MAKERS[name].inertia]
    assert np.abs(inertia - expected).max() < SAME * np.abs(load.inertia).max()
    assert any("flange" in note for note in text.notes)
    if MAKERS[name].inertia in ("", "moments"):
        assert any("left out" in note for note in text.notes)


def stated(inertia, mass=2.0):
    return PayloadStatement(mass, np.array([0.01, -0.02, 0.12]), inertia, "flange", "arm", ())


@pytest.mark.parametrize("seed", range(40))
def test_rounded_tensors_are_those_of_bodies(seed):
    """Thin plates and rods, whose moments are at the edge: what is parsed back is possible, and near."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(3, 3)) * [0.2, 0.1, 0.0 if seed % 2 else 0.05]
    turn = Rotation.random(random_state=seed).as_matrix()
    square = (points @ turn.T - (points @ turn.T).mean(axis=0)) ** 1
    inertia = sum(p @ p * np.eye(3) - np.outer(p, p) for p in square)
    shown = SimpleNamespace(present=True, mass=2.0, com=np.zeros(3), inertia=inertia, frame="flange")
    shown.intervals = lambda: tp.results.PayloadErrors(np.full(10, 1e-12))
    shown.fit = SimpleNamespace(robot=SimpleNamespace(name="arm"))
    said = PayloadStatement.of(shown)
    for name in ("ur", "franka", "kuka", "abb"):
        _, _, back = PARSERS[name](MAKERS[name].write(said))
        moments = np.linalg.eigvalsh(back)
        assert moments[0] > 0 and moments[0] + moments[1] - moments[2] > -1e-9
        assert np.abs(back - inertia).max() < SAME * np.abs(inertia).max()


def test_only_what_is_significant_is_stated(load):
    """A log whose inertia is lost in noise: a point mass; one without a payload: nothing."""
    errors = np.asarray(load.stderr).copy()
    errors[4:] = np.inf
    errors[3] = np.inf
    vague = SimpleNamespace(
        present=True, mass=load.mass, com=load.com, inertia=load.inertia, frame="link6", fit=load.fit
    )
    vague.intervals = lambda: tp.results.PayloadErrors(errors)
    said = PayloadStatement.of(vague)
    assert not said.inertia.any() and said.com[2] == 0 and said.com[0] == load.com[0] and len(said.notes) == 2
    with pytest.raises(TaupiError) as caught:
        PayloadStatement.of(SimpleNamespace(present=False, summary="No payload is seen."))
    assert caught.value.values["summary"] == "No payload is seen."


def test_bad_input(load):
    with pytest.raises(TaupiError) as caught:
        tp.bridges.payload_text(load, "yaskawa")
    assert caught.value.argument == "maker"
    with pytest.raises(TaupiError) as caught:
        MAKERS["ur"].write(stated(200 * np.eye(3)))
    assert caught.value.values["got"] == 200
