"""The floor below a robot, what surfaces show where capsules are too coarse, and what is said about what is not checked."""

import dataclasses
import json
import time

import numpy as np
import pytest
from excite import budgets_by_the_processor

import taupi as tp
from taupi.excitation.design import Design
from taupi.excitation.geometry.arrangement import Exclusion
from taupi.excitation.geometry.contacts import Surfaces, placement_program, surfaces_meet
from taupi.excitation.geometry.shapes import Solid, box_triangles, collision_solids
from taupi.excitation.geometry.watched import surveyed
from taupi.excitation.limits.certificates import torque_certificate
from taupi.excitation.search.ipopt import Stop
from taupi.excitation.settings import Margins
from taupi.reporting.report import report_text

# A base on a table, a column that turns on it, and two links in a vertical plane; the origin of the base is 0.1 m above.
ARM = """<robot name="arm">
  <link name="base"><collision><origin xyz="0 0 -0.05"/><geometry><box size="0.2 0.2 0.1"/></geometry></collision></link>
  {links}
  <joint name="j1" type="revolute"><parent link="base"/><child link="column"/><axis xyz="0 0 1"/>
    <limit lower="-3" upper="3" velocity="3" effort="80"/></joint>
  <joint name="j2" type="revolute"><parent link="column"/><child link="upper"/><origin xyz="0 0 0.1"/><axis xyz="0 1 0"/>
    <limit lower="-3" upper="3" velocity="3" effort="80"/></joint>
  <joint name="j3" type="revolute"><parent link="upper"/><child link="fore"/><origin xyz="0.4 0 0"/><axis xyz="0 1 0"/>
    <limit lower="-2.5" upper="2.5" velocity="3" effort="60"/></joint>
</robot>"""
LINK = """<link name="{}"><inertial><origin xyz="{x} 0 0"/><mass value="2"/>
  <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.03"/></inertial>
  <collision><origin xyz="{x} 0 {z}"/><geometry><box size="{size}"/></geometry></collision></link>"""
LINKS = [
    LINK.format("column", x=0, z=0.05, size="0.1 0.1 0.1"),
    LINK.format("upper", x=0.2, z=0, size="0.4 0.06 0.06"),
    LINK.format("fore", x=0.2, z=0, size="0.3 0.05 0.05"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("arms")


@pytest.fixture(scope="module")
def arm(folder):
    (folder / "arm.urdf").write_text(ARM.format(links="\n".join(LINKS)))
    return tp.load(folder / "arm.urdf")


@pytest.fixture(scope="module")
def plan(arm):
    return tp.excite(arm, 4.0, starts=2)


def lowest_corner(arm, q):
    """The lowest corner of any moving box, by forward kinematics of the tip of each link: no capsule of ours."""
    heights = []
    for name, x, z, size in (("upper", 0.2, 0, (0.4, 0.06, 0.06)), ("fore", 0.2, 0, (0.3, 0.05, 0.05))):
        corners = np.array([[x, 0, z]]) + box_triangles(np.array(size)).reshape(-1, 3)
        T = tp.forward_kinematics(arm, name)(q)
        heights.append((T[:, 2, :3] @ corners.T + T[:, 2, 3:]).min(axis=1))
    return np.min(heights, axis=0)


def test_the_plane_that_the_base_is_bolted_to_is_a_floor_by_default(arm, plan):
    q = plan.motion(np.linspace(0, 4, 8001)).q
    assert plan.certified and plan.clearance.floor.height == pytest.approx(-0.1)
    # The boxes stay above the table, and the lowest point is below all of them.
    assert lowest_corner(arm, q).min() > -0.1 + 0.02
    assert plan.lowest.height + 1e-3 >= -0.1 + 0.02 and plan.lowest.height <= lowest_corner(arm, q).min()
    assert plan.lowest.link in ("upper", "fore") and 0 <= plan.lowest.time <= 4
    assert "floor" not in plan.unchecked
    assert {str(p) for p in plan.clearance.pairs} >= {"fore - floor"}


def test_without_a_floor_it_is_said_and_the_arm_reaches_below_its_table(arm):
    free = tp.excite(arm, 4.0, starts=1, floor="none")
    assert lowest_corner(arm, free.motion(np.linspace(0, 4, 2001)).q).min() < -0.1
    assert free.lowest.height < -0.1
    data = json.loads(json.dumps(free.to_dict(), allow_nan=False))
    assert "floor" in data["unchecked"] and "floor" in data["certainty"] and data["floor"]["height"] is None
    assert data["lowest"]["height"] == free.lowest.height
    for text in (repr(free), free._repr_html_(), report_text(free)):
        assert "floor" in text and f"{free.lowest.height:.3f} m" in text
    assert "proven in part" in report_text(free)


def test_a_floor_that_cannot_be_kept_says_what_is_missing_per_link_and_what_would_do(arm):
    with pytest.raises(tp.TaupiError) as caught:
        tp.clearance(arm, floor=0.25)
    error = caught.value
    assert error.argument == "floor" and set(error.values["missing"]) == {"upper"}
    # The near end of the upper link turns about z = 0.1, so its lowest point stays below that.
    assert 0.16 < error.values["missing"]["upper"] < 0.25
    lower = error.values["lower"].value
    assert tp.clearance(arm, floor=lower).floor.height == lower
    ignored = tp.clearance(arm, floor=0.25, ignore=[("upper", "floor")])
    assert "upper - floor" in ignored.unchecked and "fore - floor" in {str(p) for p in ignored.pairs}


def test_links_that_are_mounted_at_the_floor_are_excepted_and_named(arm):
    keep = tp.clearance(arm, floor=0.07)
    out = {str(item.pair): item.why for item in keep.left_out}
    assert out["column - floor"] is Exclusion.FIXED and out["upper - floor"] is Exclusion.MOUNTED
    assert {"column - floor", "upper - floor"} <= keep.unchecked.keys()
    # Its far end is watched all the same.
    assert "upper - floor" in {str(pair) for pair in keep.pairs}


def test_a_robot_that_reaches_below_its_base_in_every_posture_has_no_default_floor(folder):
    leg = LINK.format("upper", x=0, z=-0.9, size="0.1 0.1 0.6")
    text = ARM.format(links="\n".join([LINKS[0], leg, LINKS[2]]))
    before, joint, after = text.partition('<joint name="j2"')
    text = before + joint + after.replace('lower="-3" upper="3"', 'lower="-0.3" upper="0.3"', 1)
    (folder / "hanging.urdf").write_text(text)
    plan = tp.excite(tp.load(folder / "hanging.urdf"), 4.0, starts=1)
    assert plan.clearance.floor.height is None and "mm short" in plan.unchecked["floor"]
    with pytest.raises(tp.TaupiError) as caught:
        tp.clearance(plan.robot, floor=-0.1)
    assert caught.value.values["missing"]["upper"] > 0.5


def test_planes_that_are_no_floor(arm, folder):
    for gravity in ((0, -9.81, 0), (0, 0, 9.81), (3, 0, -9)):
        keep = tp.clearance(tp.Robot.from_urdf(folder / "arm.urdf", gravity=gravity), floor="base")
        assert keep.floor.height is None and keep.floor.default
    assert tp.clearance(arm).floor.height is None and not tp.clearance(arm).floor.default


def test_the_setting_of_a_floor():
    assert Margins().floor == "base" and Margins(floor=0).floor == 0.0
    assert {Margins(floor=v).floor for v in (None, False, "none")} == {None}
    assert Margins.from_dict(Margins(floor="none").to_dict()).floor is None
    with pytest.raises(tp.TaupiError) as caught:
        Margins(floor="table")
    assert caught.value.argument == "floor"


def test_links_of_unknown_shape_have_no_floor_and_a_lowest_origin():
    limits = {"lower": -2, "upper": 2, "velocity": 3, "acceleration": 10, "effort": 60}
    plan = tp.excite(tp.load("elbow2r"), 4.0, limits=limits, starts=1)
    assert {"clearance", "floor"} <= plan.unchecked.keys() and plan.certified
    q = plan.motion(np.linspace(0, 4, 801)).q
    heights = [tp.forward_kinematics(plan.robot, name)(q)[:, 2, 3].min() for name in plan.robot.link_names]
    assert plan.lowest.height == pytest.approx(min(heights), abs=1e-3) and plan.lowest.of == "origins of links"


# Surfaces -------------------------------------------------------------------------------------------------------------


def test_slivers_are_no_part_of_a_surface_and_small_triangles_are_wherever_they_are():
    small = 1e-4 * np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])
    sliver = np.array([[0.0, 0, 0], [1, 0, 0], [2, 1e-9, 0]])
    for place in (np.zeros(3), np.array([0.0, 0, 3.0]), np.array([1.0, 2, 3])):
        solid = Solid("base", np.stack([small, sliver]) + place)
        (kept,) = Surfaces(tp.load("elbow2r"), [solid]).triangles.values()
        np.testing.assert_array_equal(kept, [small + place])


def boxes_overlap(one, two):
    """Separating axes of two boxes, given by centre, axes (rows) and half lengths."""
    (c, A, a), (d, B, b) = one, two
    axes = [*A, *B, *(np.cross(u, v) for u in A for v in B)]
    return all(abs((d - c) @ n) <= (np.abs(A @ n) * a).sum() + (np.abs(B @ n) * b).sum() for n in axes)


def test_surfaces_meet_where_separating_axes_say_so():
    rng = np.random.default_rng(0)
    seen = []
    for _ in range(300):
        boxes, triangles = [], []
        for _ in range(2):
            axes = np.linalg.qr(rng.normal(size=(3, 3)))[0]
            centre, half = rng.uniform(-0.6, 0.6, 3), rng.uniform(0.2, 0.5, 3)
            boxes.append((centre, axes, half))
            triangles.append(box_triangles(2 * half) @ axes + centre)
        seen.append(surfaces_meet(*triangles))
        # None of the boxes is small enough to be inside the other.
        assert seen[-1] == surfaces_meet(*triangles[::-1]) == boxes_overlap(*boxes)
    assert 0.2 < np.mean(seen) < 0.9


def test_placements_and_lowest_points_are_those_of_kinematics(arm):
    q = np.random.default_rng(1).uniform(-1, 1, (20, 3))
    T = placement_program(arm)(q)
    for k, name in enumerate(arm.link_names):
        np.testing.assert_allclose(T[:, k], tp.forward_kinematics(arm, name)(q)[:, :3], atol=1e-12)
    surfaces = Surfaces(arm, collision_solids(arm))
    low = np.min([surfaces.lowest(k, q) for k in (1, 2)], axis=0)
    np.testing.assert_allclose(low, lowest_corner(arm, q), atol=1e-12)


def test_what_capsules_cannot_tell_apart_is_decided_by_surfaces_and_stays_unchecked(folder):
    """Flat plates turn one above the other: a capsule around one holds the other, but their surfaces meet only by design."""
    plate = '<geometry><box size="0.4 0.4 0.02"/></geometry>'
    far = LINK.format("fore", x=0, z=0, size="0.02 0.02 0.02").replace(
        '<geometry><box size="0.02 0.02 0.02"/></geometry>', plate
    )
    for height, why in ((0.05, Exclusion.COARSE), (0.005, Exclusion.OVERLAPPING)):
        near = LINKS[0].replace('<geometry><box size="0.1 0.1 0.1"/></geometry>', plate)
        text = ARM.format(links="\n".join([near, LINK.format("upper", x=0, z=-2, size="0.01 0.01 0.01"), far]))
        text = text.replace('xyz="0 0 0.1"', 'xyz="0 0 0"').replace('xyz="0.4 0 0"', f'xyz="0 0 {0.05 + height}"')
        text = text.replace('<axis xyz="0 1 0"/>', '<axis xyz="0 0 1"/>')
        (folder / "plates.urdf").write_text(text)
        keep = tp.clearance(tp.load(folder / "plates.urdf"))
        out = {str(item.pair): item for item in keep.left_out}
        assert out["column - fore"].why is why and "surfaces meet" in out["column - fore"].reason
        assert "column - fore" in keep.unchecked


def test_pairs_that_are_left_out_qualify_what_is_certified(plan):
    pairs = {
        str(item.pair) for item in plan.clearance.left_out if item.why not in (Exclusion.NEIGHBOURS, Exclusion.NEVER)
    }
    assert pairs | {str(p) for p in plan.clearance.by_surfaces} == plan.unchecked.keys()
    assert all(name in plan.certainty for name in plan.unchecked)
    whole = dataclasses.replace(plan, unchecked={})
    assert whole.certainty.startswith("proven for all times") and "not checked" not in whole.certainty
    assert plan.to_dict()["unchecked"] == plan.unchecked


# Time -----------------------------------------------------------------------------------------------------------------


def test_a_budget_is_time_by_the_clock(arm, monkeypatch):
    tp.excite(arm, 4.0, starts=1)  # what is compiled is compiled
    budgets_by_the_processor(monkeypatch)
    begin = time.process_time()
    plan = tp.excite(arm, 20.0, starts=1000, budget=6.0)
    assert time.process_time() - begin < 6.0 + 2.0
    assert plan.stopped and plan.certified and len(plan.starts) < 1000


def test_proofs_that_are_late_are_looser_and_sound(arm, plan):
    late = plan.clearance.certificate(plan.motion, late=lambda: True)
    assert (late.bound <= plan.certificates["clearance"].bound + 1e-12).all() and late.intervals <= 4000


def test_a_budget_that_is_spent_leaves_a_motion_and_says_what_is_not_proven(monkeypatch, arm):
    monkeypatch.setattr(Stop, "late", lambda self: True)
    monkeypatch.setattr(Stop, "__call__", lambda self: True)
    plan = tp.excite(arm, 4.0, starts=3)
    assert plan.stopped and len(plan.starts) == 1
    unproven = {name for name, proof in plan.certificates.items() if not proof.ok}
    assert unproven <= plan.unchecked.keys() and plan.certified == (not unproven)
    assert not any(proof.refuted for proof in plan.certificates.values())
    assert all(name in plan.certainty for name in unproven)


def test_a_loose_proof_is_told_from_a_limit_that_is_exceeded(plan):
    proof = plan.certificates["torque"]
    assert (proof.found <= proof.bound).all() and not proof.refuted
    between = dataclasses.replace(
        proof, limit=proof.limit * np.max((proof.found + proof.bound) / 2 / proof.limit) / 0.9
    )
    assert not between.ok or (proof.found == proof.bound).all()
    assert not between.refuted
    exceeded = dataclasses.replace(proof, limit=proof.found)
    assert exceeded.refuted and not exceeded.ok
    keep = plan.certificates["clearance"]
    nearer = dataclasses.replace(keep, asked=keep.found + 1e-6)
    loose = dataclasses.replace(keep, asked=(keep.found + keep.bound) / 2)
    assert nearer.refuted and not nearer.ok and not loose.refuted


def test_a_proof_that_gets_late_midway_keeps_the_bounds_of_longer_stretches(arm, plan):
    times_asked = iter(range(10**6))
    whole = plan.certificates["torque"]
    for patience in (0, 1, 3):
        started = next(times_asked)
        late = torque_certificate(
            arm, plan.motion, plan.limits, 0.9, late=lambda s=started, p=patience: next(times_asked) > s + p
        )
        assert (late.bound >= whole.found).all() and (late.found <= whole.found).all()


def test_a_search_that_its_budget_ends_is_said_to_be_stopped(monkeypatch, arm, plan):
    """All starts were compared, but the best one was not improved."""
    asked = iter([False, False])
    monkeypatch.setattr(Stop, "__call__", lambda self: next(asked, True))
    early = tp.excite(arm, 4.0, starts=1)
    assert early.stopped and len(early.starts) == 1 and early.certified
    assert "stopped early" in early.summary and not plan.stopped


def test_motions_begin_about_a_posture_that_can_be_held(monkeypatch, folder):
    """Stretched out, the middle of all ranges, the arm takes 15.7 N m of the 16 at its second joint: nothing moves about that."""
    text = ARM.format(links="\n".join(LINKS)).replace('velocity="3" effort="80"', 'velocity="3" effort="16"')
    (folder / "weak.urdf").write_text(text)
    weak = tp.load(folder / "weak.urdf")
    held = np.abs(tp.gravity_torque(weak)(np.zeros(3))) / [16, 16, 60]
    assert 0.9 < held.max() < 1
    monkeypatch.setattr(Stop, "__call__", lambda self: True)
    problem, postures = Design.problem, []
    monkeypatch.setattr(Design, "problem", lambda self: postures.append(self.posture()) or problem(self))
    assert tp.excite(weak, 4.0, starts=1, capsules="none").certified
    (posture,) = postures
    assert (np.abs(tp.gravity_torque(weak)(posture)) / [16, 16, 60] < 0.65).all()


def test_a_link_that_rolls_is_the_lowest_though_its_capsules_keep_their_height(folder):
    """It only turns about its own axis, and the hand that it carries upwards is higher."""
    text = ARM.format(links="\n".join([LINKS[0], LINKS[1], LINK.format("fore", x=0.2, z=0.1, size="0.3 0.05 0.05")]))
    head, joint, tail = text.partition('<joint name="j2"')
    text = head + joint + tail.replace('<axis xyz="0 1 0"/>', '<axis xyz="1 0 0"/>', 1)
    (folder / "rolling.urdf").write_text(text.replace('lower="-2.5" upper="2.5"', 'lower="-0.5" upper="-0.1"'))
    q = np.random.default_rng(0).uniform(-0.3, -0.1, (50, 3)) * [1, 0.5, 1]
    low = tp.clearance(tp.load(folder / "rolling.urdf")).lowest(q)
    assert low.link == "upper" and low.height < 0.1 - 0.03


def test_late_surveys_look_at_fewer_postures_and_say_how_many(folder):
    plates = "\n".join([LINKS[0], LINK.format("upper", x=0, z=0, size="0.3 0.3 0.3"), LINKS[2]]).replace(
        'size="0.3 0.05 0.05"', 'size="0.6 0.6 0.6"'
    )
    (folder / "thick.urdf").write_text(ARM.format(links=plates))
    reasons = [
        " ".join(item.reason for item in surveyed(tp.load(folder / "thick.urdf"), late=lambda v=v: v).left_out)
        for v in (False, True)
    ]
    assert "of 2000 random postures" in reasons[1] and "of 2000 random postures" not in reasons[0]
