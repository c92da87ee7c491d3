"""Designs that keep clear of themselves and of their surroundings, and what is said where they cannot."""

import dataclasses

import numpy as np
import pytest

import taupi as tp
from taupi.errors import NotIdentifiedError

# Short in the middle, and quick: the last link folds back onto the first.
LIMITS = {"lower": -2.5, "upper": 2.5, "velocity": 4.0, "acceleration": 15.0, "effort": 200.0}
ARM = tp.load("planar3r").bind(l1=0.5, l2=0.2, l3=0.5)


URDF = """<robot name="arm"><link name="base"/>
  <link name="link"><inertial><origin xyz="0.2 0 0"/><mass value="2"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.03"/></inertial>
    <collision><geometry><mesh filename="meshes/link.stl"/></geometry></collision></link>
  <joint name="j" type="revolute"><parent link="base"/><child link="link"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" velocity="3" effort="80"/></joint></robot>"""


@pytest.fixture
def capsules(tmp_path):
    path = tmp_path / "capsules.toml"
    tables = [
        f'[[capsule]]\nlink = "{name}"\na = [0, 0, 0]\nb = [{-0.18 if name == "link2" else -0.48}, 0, 0]\nr = 0.04\n'
        for name in ARM.link_names
    ]
    path.write_text("\n".join(tables))
    return path


def excite(**settings):
    return tp.excite(ARM, 5.0, **{"limits": LIMITS, "starts": 1, **settings})


def test_links_keep_clear_of_each_other_at_all_times(capsules):
    """A design that nobody keeps clear hits itself; one that keeps clear does not, at random times and by its certificate."""
    free, clear = excite(), excite(capsules=str(capsules), clearance=0.05)
    keep = clear.clearance
    times = np.random.default_rng(0).uniform(0, 5, 20_000)
    nearest = keep.distances(clear.motion(times).q).min()
    assert keep.distances(free.motion(times).q).min() < -0.02
    assert not keep.certificate(free.motion).ok
    assert clear.certified and clear.certificates["clearance"].ok
    assert nearest >= clear.certificates["clearance"].least - 1e-9 and nearest >= 0.05 - 1e-9
    assert "clearance" in free.unchecked and "clearance" not in clear.unchecked
    assert "clearance is kept at all times" in repr(clear)


def test_walls_are_kept(capsules):
    box = (-5, -0.9, -1, 5, 5, 1)
    excitation = excite(capsules=str(capsules), box=box)
    q = excitation.motion(np.linspace(0, 5, 5001)).q
    for name in ARM.link_names:
        assert tp.forward_kinematics(ARM, name)(q)[:, 1, 3].min() >= -0.9 + 0.04 + 0.02 - 1e-9


def test_arm_that_cannot_keep_clear_is_said(capsules):
    with pytest.raises(tp.TaupiError, match="box cannot be kept clear"):
        excite(capsules=str(capsules), box=(-5, 2, -1, 5, 3, 1))


def test_arm_that_cannot_avoid_itself_is_said():
    """The last link sweeps over three others, one of which is in its way wherever it points; none of them most of the time."""
    links = [{"m": 1.0, "com": (-0.05, 0, 0), "inertia": np.diag([0.001, 0.01, 0.01]).tolist()}] * 4
    arm = tp.Robot.from_dh(
        [{"a": a} for a in (0.1, 0.1, 0.1, 0.5)], links=links, gravity=(0, 0, -9.81), name="hedgehog"
    )
    still = {"lower": -0.03, "upper": 0.03}
    limits = {"velocity": 2.0, "acceleration": 8.0, "effort": 100.0, "joint4": {"lower": -1.5, "upper": 1.5}}
    limits |= {f"joint{k}": still for k in (1, 2, 3)}
    capsules = [{"link": "link4", "a": (-0.45, 0, 0), "b": (0, 0, 0), "r": 0.02}]
    # Each is a chord of the circle about the last joint, of radius 0.4, seen from its own frame; they overlap a little.
    for link, shift, low, high in (("base", 0.3, -1.7, -0.45), ("link1", 0.2, -0.55, 0.55), ("link2", 0.1, 0.45, 1.7)):
        ends = [(shift + 0.4 * np.cos(x), 0.4 * np.sin(x), 0.0) for x in (low, high)]
        capsules.append({"link": link, "a": ends[0], "b": ends[1], "r": 0.02})
    keep = tp.clearance(arm, capsules=capsules, ranges=[[-0.03] * 3 + [-1.5], [0.03] * 3 + [1.5]])
    assert {str(p) for p in keep.pairs} >= {"base - link4", "link1 - link4", "link2 - link4"} and not keep.built_close
    bound = dataclasses.replace(arm, capsules=keep.capsules)
    with pytest.raises(
        NotIdentifiedError, match=r"clearance is not kept: -\d+\.\d mm, 20 mm asked for, of .* - link4 at"
    ):
        tp.excite(bound, 3.0, limits=limits, starts=1, points=12)


def test_missing_meshes_are_an_error_and_not_left_unchecked(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(URDF)
    with pytest.raises(tp.TaupiError, match=r"no mesh 'meshes/link.stl'.*packages=.*capsules='none'"):
        tp.excite(tp.load(path), 4.0, starts=1)
    assert "capsules = none" in tp.excite(tp.load(path), 4.0, starts=1, capsules="none").unchecked["clearance"]
    path.write_text(URDF.replace('<mesh filename="meshes/link.stl"/>', '<sphere radius="-1"/>'))
    with pytest.raises(tp.TaupiError, match="radius is '-1', expected sizes above 0"):
        tp.excite(tp.load(path), 4.0, starts=1)


def test_walls_without_geometry_are_refused():
    with pytest.raises(tp.TaupiError, match="capsule"):
        excite(floor=0.0)
    assert "capsules = none" in excite(capsules="none").unchecked["clearance"]


def test_ignored_pairs_are_listed(capsules):
    excitation = excite(capsules=str(capsules), ignore=[(ARM.link_names[0], ARM.link_names[2])])
    assert any("link1" in str(item) and "link3" in str(item) for item in excitation.clearance.left_out)
    with pytest.raises(tp.TaupiError, match="link9"):
        excite(capsules=str(capsules), ignore="link1,link9")
