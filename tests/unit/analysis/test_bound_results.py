"""Results of bounds and properties: how they print and travel; what is refused; robots that are not physical."""

import dataclasses
import json
import math
from fractions import Fraction

import numpy as np
import pytest
from refusals import refused

import taupi as tp
from taupi.model.robot import Limits
from taupi.progress import progress

QUARTER = (-math.pi / 2, math.pi / 2)


@pytest.fixture(scope="module")
def lecture():
    return tp.bounds(tp.load("lecture2r"), QUARTER)


def test_result_prints_a_table_and_travels_as_json(lecture):
    text = repr(lecture)
    assert "joint1 -1.571 .. 1.571" in text.splitlines()[0]
    assert [line.split()[0] for line in text.splitlines()[4:-2]] == list(lecture.names)
    assert text.splitlines()[-1].startswith("With values for L1, L2, g, m1, m2")
    data = json.loads(json.dumps(lecture.to_dict()))
    assert data["bounds"][0]["name"] == "mu1"
    assert data["range"]["joint1"] == list(QUARTER)
    assert "<table>" in lecture._repr_html_()
    assert "&lt;=" in lecture._repr_html_()
    assert len(lecture) == len(list(lecture)) == len(lecture.names)
    assert repr(lecture["mu2"]).startswith("Bound(mu2 <= 6.70156")
    with pytest.raises(tp.TaupiError, match="Did you mean 'mu1'"):
        lecture["mu11"]


def test_inverse_bounds_are_reciprocals_rounded_outwards(lecture):
    for name, of in (("Minv_max", "mu1"), ("Minv_min", "mu2")):
        inverse, eigenvalue = lecture[name], lecture[of]
        assert (
            1 / Fraction(eigenvalue.lower)
            < Fraction(inverse.upper)
            < 1 / Fraction(eigenvalue.lower) * (1 + Fraction(1, 2**50))
        )
        assert (
            1 / Fraction(eigenvalue.upper)
            > Fraction(inverse.lower)
            > 1 / Fraction(eigenvalue.upper) * (1 - Fraction(1, 2**50))
        )


def test_same_seed_same_answer(lecture):
    assert tp.bounds(tp.load("lecture2r"), QUARTER) == lecture


def test_ranges_by_name_by_limits_and_full_turns():
    robot = tp.load("elbow2r")
    by_name = tp.bounds(robot, {"elbow": (0.5, 1)}, tolerance=1e-3)
    assert by_name.range[1] == (0.5, 1)
    assert by_name.range[0][1] >= math.pi
    limited = dataclasses.replace(
        robot, joints=tuple(dataclasses.replace(j, limits=Limits(-0.5, 9.0)) for j in robot.joints)
    )
    assert tp.bounds(limited, tolerance=1e-2).range[0][1] < 3.2  # more than a turn is a turn
    narrow = dataclasses.replace(
        robot, joints=tuple(dataclasses.replace(j, limits=Limits(-0.5, 0.25)) for j in robot.joints)
    )
    assert tp.bounds(narrow, tolerance=1e-2).range == ((-0.5, 0.25), (-0.5, 0.25))


def test_a_narrower_range_has_narrower_bounds(lecture):
    inner = tp.bounds(tp.load("lecture2r"), (0.5, 1.0))
    assert inner["mu1"].value > lecture["mu1"].value
    for name in ("mu2", "M_1_max", "g_1", "c_2"):
        assert inner[name].value < lecture[name].value


def test_a_point_range_is_the_value_there():
    robot = tp.load("planar3r")
    b = tp.bounds(robot, {"joint1": (0.3, 0.3), "joint2": (0.5, 0.5), "joint3": (-1, -1)})
    m, g = tp.mass_matrix(robot)([0.3, 0.5, -1]), tp.gravity_torque(robot)([0.3, 0.5, -1])
    assert math.isclose(b["mu2"].value, np.linalg.eigvalsh(m)[-1], rel_tol=1e-10)
    assert math.isclose(b["M_1_min"].value, np.linalg.norm(m, 1), rel_tol=1e-10)
    assert math.isclose(b["g_2"].value, np.linalg.norm(g), rel_tol=1e-10)


def test_gravity_free_robot_has_zero_bounds():
    b = tp.bounds(tp.load("lecture2r").with_gravity((0, 0, 0)), QUARTER)
    assert b["g_1"].lower == 0
    assert b["g_1"].upper < 1e-12
    assert b["g_1"].converged


def test_few_boxes_still_enclose(lecture):
    few = tp.bounds(tp.load("lecture2r"), QUARTER, boxes=3)
    for name in ("mu1", "mu2", "M_1_min", "g_2", "c_2"):
        assert few[name].lower <= lecture[name].upper
        assert few[name].upper >= lecture[name].lower
    assert not few["c_2"].converged
    assert "95 % confidence" in few["c_2"].method


def test_real_bodies_have_no_negative_mass():
    """With one box nothing is shown of the UR10's eigenvalues; that its links are real bodies is known all the same."""
    b = tp.bounds(tp.load("ur10"), boxes=1)
    assert b["mu1"].lower == 0
    assert b["mu1"].upper > 0
    assert "real bodies" in b["mu1"].method
    assert b["M_2_max"].upper == b["mu2"].upper


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"range": {"jont1": (0, 1)}}, "Did you mean 'joint1'"),
        ({"range": (1, 0)}, "lo <= hi"),
        ({"range": (0, math.inf)}, "two finite numbers"),
        ({"range": 3}, "two finite numbers"),
        ({"range": {"joint1": "0:1"}}, "two finite numbers"),
        ({"tolerance": 0}, "tolerance"),
        ({"tolerance": "small"}, "tolerance"),
        ({"boxes": 0}, "boxes"),
        ({"boxes": 1.5}, "boxes"),
    ],
)
def test_bad_settings(options, sentence):
    with pytest.raises(tp.TaupiError, match=sentence):
        tp.bounds(tp.load("lecture2r"), **options)


def test_symbols_without_values_are_named():
    arm = tp.Robot.from_dh([{"a": "a1"}, {"a": "a2"}], parameters=[1] * 20)
    for verb in (tp.bounds, tp.properties):
        with pytest.raises(tp.TaupiError, match=r"a1, a2.*bind\(a1="):
            verb(arm)
        with pytest.raises(tp.TaupiError, match="expected a Robot"):
            verb("puma560")


def test_unphysical_links_are_reported_not_refused():
    robot = tp.load("lecture2r").bind(m2=-1)
    report = tp.properties(robot, samples=50)
    assert not report.holds
    assert not report["positive"].holds
    assert "smallest eigenvalue -" in report["positive"].note
    assert "NO" in repr(report)
    m = tp.mass_matrix(robot)(report["positive"].at)
    assert math.isclose(np.linalg.eigvalsh(m)[0], -report["positive"].residual, rel_tol=1e-12)
    assert all(c.holds for c in report.checks if c.name != "positive")
    b = tp.bounds(robot, QUARTER)
    assert b["mu1"].upper < 0
    assert b["Minv_max"].upper == math.inf
    assert b.to_dict()["bounds"][3]["upper"] is None
    assert b["M_2_max"].value > b["mu2"].value  # the norm of a matrix that is not positive


def test_properties_of_the_catalogue():
    for name in ("puma560", "elbow2r", "zollo2r"):
        report = tp.properties(tp.load(name), samples=20)
        assert report.holds, report
        assert report["skew_ut_minus_half_u"].note == "not skew, as expected"
    data = json.loads(json.dumps(report.to_dict()))
    assert data["holds"] is True
    assert "<table>" in report._repr_html_()
    with pytest.raises(tp.TaupiError, match="Did you mean 'power'"):
        report["powr"]
    with refused("samples"):
        tp.properties(tp.load("elbow2r"), samples=0)


def test_properties_see_a_wrong_term(monkeypatch):
    """A torque whose Coriolis part has the wrong sign breaks power balance; the energies share no code with it."""
    import taupi.analysis.properties as module

    robot, right = tp.load("elbow2r"), tp.inverse_dynamics

    class Wrong:
        def compile(self, target):
            return lambda q, qd, qdd: 2 * right(robot)(q, 0 * qd, qdd) - right(robot)(q, qd, qdd)

    monkeypatch.setattr(module, "inverse_dynamics", lambda robot: Wrong())
    report = tp.properties(robot, samples=10)
    assert not report["power"].holds
    assert not report["same_c"].holds


def test_progress_is_silent_off_a_terminal(capsys):
    with progress("work", 2) as step:
        step("a")
    assert capsys.readouterr() == ("", "")


def test_progress_draws_on_a_terminal(monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    with progress("work", 2) as step:
        step("a")
        step("b")
    out = capsys.readouterr()
    assert out.out == ""
    assert "work" in out.err


def test_a_body_that_cannot_exist_does_not_make_the_mass_matrix_positive():
    """A first moment without inertia: M = m a^2 + 2 a h is negative, and no bound says otherwise."""
    pi = np.zeros(10)
    pi[:2] = 1.0, -0.9
    arm = tp.Robot.from_dh([{"a": 1}], parameters=pi)
    bounds = tp.bounds(arm)
    assert tp.mass_matrix(arm)([0.3])[0, 0] == pytest.approx(-0.8)
    assert bounds["mu1"].lower <= -0.8 <= bounds["mu1"].upper
    assert bounds["M_2_max"].lower <= 0.8 <= bounds["M_2_max"].upper
