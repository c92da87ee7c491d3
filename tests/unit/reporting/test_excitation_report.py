"""The page of an exciting motion."""

import json
import re

import numpy as np
from pages import Page

import taupi as tp
from taupi.reporting.film import DrawnArm, film, strip
from taupi.reporting.report import report_text
from taupi.reporting.sections.excitation import SPARE, ExcitationContent
from taupi.reporting.skeleton import FINE

LIMITS = {"lower": -2.0, "upper": 2.0, "velocity": 3.0, "acceleration": 10.0, "effort": 60.0}


def test_page_shows_promise_film_limits_and_remarks(tmp_path):
    plan = tp.excite(tp.load("elbow2r"), 4.0, limits=LIMITS, starts=1)
    path = tmp_path / "plan.html"
    tp.report(plan, path)
    text = path.read_text()
    page = Page(text)
    assert page.ids[:5] == ["promise", "film", "limits", "clearance", "remarks"] and 'class="film"' in text
    assert len(page.table("base parameter")) == 11 and len(page.table("limit")) == 9
    assert any("times smaller standard deviations" in word for word in page.words)
    assert not [a for a in page.addresses if "://" in a]
    # Nothing is near the arm, so its motion is beside it.
    film_section = text.partition('id="film"')[2].partition('id="limits"')[0]
    assert [part.partition(" <")[0] for part in film_section.split("<figcaption>")[2:]] == ["position", "torque"]
    assert "<small>rad</small>" in film_section and "<small>N m</small>" in film_section


def test_film_has_the_capsules_that_the_arm_is_kept_clear_by():
    """Their ends are where forward kinematics puts them, their lines as broad as they are thick, at every frame."""
    robot = tp.load("panda")
    space = tp.clearance(robot).space
    t = np.linspace(0.0, 2.0, 201)
    q = np.sin(np.outer(t, np.arange(1, 8))) * 0.5 + [0, 0, 0, -1.5, 0, 1.5, 0]
    text = film(robot, [DrawnArm("motion", "c0", t, q)], space)
    data = json.loads(re.search(r'<script type="application/json">(.*?)</script>', text)[1])
    frames = np.array(data["arms"][0]["frames"], dtype=float)
    points = frames.reshape(len(frames), -1, 3)
    rows = np.searchsorted(t, np.linspace(0.0, 2.0, len(frames)) + 1e-12, side="right") - 1
    middle, scale = points[0, 0], None
    for capsule, (a, b, width) in zip(robot.capsules, data["capsules"], strict=True):
        place = tp.forward_kinematics(robot, capsule.link)(q[rows]) if capsule.link != "base" else np.eye(4)[None]
        for end, point in ((capsule.a, a), (capsule.b, b)):
            world = (place @ [*end, 1.0])[:, :3]
            scale = scale or np.linalg.norm(points[0, point] - middle) / np.linalg.norm(world[0])
            assert np.abs(points[:, point] - middle - scale * world).max() < 0.01 * FINE
        assert abs(width - 2 * capsule.r * scale) < 0.01 * FINE
    assert text.count("<path d=") == len(robot.capsules) and "capsules</span>" in text
    assert strip(robot, [DrawnArm("motion", "c0", t, q)], space=space).count('<g class="capsules">') == 7


def test_page_of_a_clear_motion_says_how_near_it_comes(tmp_path):
    arm = tp.load("planar3r").bind(l1=0.5, l2=0.3, l3=0.5)
    capsules = tmp_path / "capsules.toml"
    tables = (f'[[capsule]]\nlink = "{name}"\nb = [-0.25, 0, 0]\nr = 0.04\n' for name in arm.link_names)
    capsules.write_text("\n".join(tables))
    plan = tp.excite(arm, 4.0, limits={**LIMITS, "effort": 200.0}, starts=1, capsules=str(capsules))
    content = ExcitationContent(plan)
    keep = plan.clearance
    (spare,) = content.spare.values()
    assert [str(p) for p in content.spare] == ["link1 - link3"]
    np.testing.assert_allclose(spare, 1000 * (keep.distances(content.states[0])[:, 0] - 0.02))
    text = report_text(plan)
    assert text.count(SPARE) >= 2 and 'class="capsules"' in text and "link1 - link3</span>" in text
