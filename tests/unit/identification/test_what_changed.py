"""What has changed of a robot since a fit: loads, friction, temperature."""

import numpy as np
import pytest
from loads import ARM, LOAD, fit, recorded
from refusals import refused

import taupi as tp
from taupi.errors import TaupiError


def with_more_friction(joint, factor):
    coulomb = [float(j.friction.coulomb) * (factor if i == joint else 1.0) for i, j in enumerate(ARM.joints)]
    return ARM.with_friction(coulomb=coulomb)


@pytest.fixture(scope="module")
def worn():
    return recorded(with_more_friction(3, 2.0), 601)


def test_nothing_has_changed_between_two_logs_of_one_robot():
    changes = tp.what_changed(fit(), recorded(ARM, 600))
    assert changes.clear == ()
    assert "nothing has changed by more than 4 standard errors" in changes.sentence


def test_friction_of_one_joint_is_named(worn):
    changes = tp.what_changed(fit(), worn)
    assert [(c.kind, c.owner) for c in changes.clear] == [("friction", "joint4")]
    (change,) = changes.clear
    assert abs(change.value - 0.8) < 4 * change.stderr
    assert "more friction of joint4" in changes.sentence and "standard errors" in changes.sentence


def test_a_load_is_told_from_friction_that_changes_with_it():
    heavy = with_more_friction(3, 2.0).with_payload(**LOAD)
    changes = tp.what_changed(fit(), recorded(heavy, 602))
    assert {(c.kind, c.owner) for c in changes.clear} == {("mass", "link6"), ("friction", "joint4")}
    mass = next(c for c in changes.changes if c.kind == "mass")
    assert abs(mass.value - LOAD["mass"]) < 4 * mass.stderr < 4 * 0.05


def test_two_fits_say_the_same_as_a_fit_and_a_log(worn):
    other = tp.identify(tp.load("puma560"), worn)
    changes = tp.what_changed(fit(), other)
    assert [(c.kind, c.owner) for c in changes.clear] == [("friction", "joint4")]
    back = tp.what_changed(other, fit())
    assert back.clear[0].value == pytest.approx(-changes.clear[0].value, rel=0.3)
    assert " N m less friction of joint4 at " in back.clear[0].sentence


def test_friction_that_falls_everywhere_is_put_down_to_temperature():
    changes = tp.what_changed(fit(), recorded(ARM, 603, drift=0.6))
    (note,) = changes.notes
    assert "less at most joints, as when gears have warmed up" in note
    share = float(note.split("%")[0].split()[-1])
    assert 30 < share < 50


def test_changes_as_data_and_tables(worn):
    changes = tp.what_changed(fit(), worn).named("monday", "friday")
    data = changes.to_dict()
    assert data["first"] == "monday" and data["sentence"].startswith("friday has, compared with monday: ")
    assert len(data["changes"]) == 13 and "<table>" in changes._repr_html_()
    assert len(repr(changes).splitlines()) == 3 + 13 + len(changes.notes)


def test_fits_of_other_robots_are_refused():
    other = tp.load("elbow2r")
    t = np.arange(0, 8, 0.01)
    q = np.sin(np.outer(t, [1.0, 1.7]))
    log = tp.Log(t, q, tau=np.cos(np.outer(t, [1.0, 1.7])), names=other.joint_names)
    with pytest.raises(TaupiError, match="expected two fits of one robot"):
        tp.what_changed(fit(), tp.estimators.WeightedLeastSquares().fit(tp.estimators.build_problem(other, log)))
    with refused("first", got=3):
        tp.what_changed(3, log)
    with refused("second", got=3):
        tp.what_changed(fit(), 3)
