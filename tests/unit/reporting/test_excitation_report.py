"""The page of an exciting motion."""

from pages import Page

import taupi as tp

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
