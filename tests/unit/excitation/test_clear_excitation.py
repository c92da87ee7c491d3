"""Designs that keep clear of themselves and of their surroundings, and what is said where they cannot."""

import numpy as np
import pytest

import taupi as tp

LIMITS = {"lower": -2.9, "upper": 2.9, "velocity": 3.0, "acceleration": 10.0, "effort": 200.0}
ARM = tp.load("planar3r").bind(l1=0.5, l2=0.3, l3=0.5)


@pytest.fixture
def capsules(tmp_path):
    path = tmp_path / "capsules.toml"
    tables = [
        f'[[capsule]]\nlink = "{name}"\na = [0, 0, 0]\nb = [{-0.25 if name == "link2" else -0.45}, 0, 0]\nr = 0.04\n'
        for name in ARM.link_names
    ]
    path.write_text("\n".join(tables))
    return path


def excite(**settings):
    return tp.excite(ARM, 5.0, **{"limits": LIMITS, "starts": 1, **settings})


def test_links_keep_clear_of_each_other_at_all_times(capsules):
    free, clear = excite(), excite(capsules=str(capsules), clearance=0.05)
    keep = clear.clearance
    times = np.random.default_rng(0).uniform(0, 5, 20_000)
    assert clear.certified and clear.certificates["clearance"].ok
    assert keep.distances(clear.motion(times).q).min() >= clear.certificates["clearance"].least - 1e-9
    assert keep.distances(clear.motion(times).q).min() >= 0.05 - 1e-9
    assert "clearance" in free.unchecked and "clearance" not in clear.unchecked
    assert "clearance is kept at all times" in repr(clear)


def test_walls_are_kept(capsules):
    box = (-5, -0.9, -1, 5, 5, 1)
    found = excite(capsules=str(capsules), box=box)
    q = found.motion(np.linspace(0, 5, 5001)).q
    for name in ARM.link_names:
        assert tp.forward_kinematics(ARM, name)(q)[:, 1, 3].min() >= -0.9 + 0.04 + 0.02 - 1e-9


def test_arm_that_cannot_keep_clear_is_said(capsules):
    with pytest.raises(tp.TaupiError, match="box cannot be kept clear"):
        excite(capsules=str(capsules), box=(-5, 2, -1, 5, 3, 1))


def test_walls_without_geometry_are_refused():
    with pytest.raises(tp.TaupiError, match="capsule"):
        excite(floor=0.0)
    assert "capsules = none" in excite(capsules="none").unchecked["clearance"]


def test_ignored_pairs_are_listed(capsules):
    found = excite(capsules=str(capsules), ignore=[(ARM.link_names[0], ARM.link_names[2])])
    assert any("link1" in str(item) and "link3" in str(item) for item in found.clearance.left_out)
    with pytest.raises(tp.TaupiError, match="link9"):
        excite(capsules=str(capsules), ignore="link1,link9")
