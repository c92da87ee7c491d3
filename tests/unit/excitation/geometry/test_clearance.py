"""Distances, their gradients, the pairs that are watched, and certificates that hold between samples."""

import dataclasses
import re

import numpy as np
import pytest
from refusals import refused

import taupi as tp
from taupi.excitation.geometry.arrangement import Arrangement, Exclusion
from taupi.excitation.geometry.distances import distance_program
from taupi.excitation.geometry.shapes import NoGeometryError
from taupi.excitation.geometry.watched import random_postures, ranges_of
from taupi.excitation.motions.bounded import FourierMotion

# Two arms on a turning column, one of them with a sliding joint, and a joint that follows another one.
ARMS = """
[robot]
name = "arms"
base = { xyz = [0.1, 0, 0.2], rpy = [0, 0.1, 0] }
[[joint]]
name = "column"
limits = { lower = -2, upper = 2 }
[[joint]]
name = "left"
origin = { xyz = [0, 0.2, 0.5], rpy = [1.2, 0, 0] }
after = { xyz = [0.05, 0, 0.1], rpy = [0.3, 0, 0] }
limits = { lower = -2, upper = 2 }
[[joint]]
name = "slide"
type = "prismatic"
origin = { xyz = [0.3, 0, 0] }
axis = [1, 0, 0]
limits = { lower = -0.1, upper = 0.4 }
[[joint]]
name = "wrist"
origin = { xyz = [0.2, 0, 0] }
axis = [0, 1, 0]
limits = { lower = -2, upper = 2 }
[[joint]]
name = "right"
parent = "link1"
origin = { xyz = [0, -0.2, 0.5], rpy = [-1.2, 0, 0] }
limits = { lower = -2, upper = 2 }
[[joint]]
name = "right elbow"
origin = { xyz = [0.4, 0, 0] }
mimic = { joint = "right", ratio = -0.5, offset = 0.3 }
[[capsule]]
link = "base"
a = [0, 0, -0.1]
b = [0, 0, 0.2]
r = 0.1
[[capsule]]
link = "link1"
a = [0, 0, 0.1]
b = [0, 0, 0.6]
r = 0.05
[[capsule]]
link = "link2"
b = [0.3, 0, 0]
r = 0.04
[[capsule]]
link = "link3"
b = [0.2, 0, 0]
r = 0.03
[[capsule]]
link = "link4"
a = [0.1, 0, 0]
r = 0.06
[[capsule]]
link = "link5"
b = [0.4, 0, 0]
r = 0.04
[[capsule]]
link = "link6"
b = [0.3, 0, 0]
r = 0.04
[[capsule]]
link = "link6"
a = [0.3, 0, 0.1]
r = 0.05
"""


@pytest.fixture(scope="module")
def arms(tmp_path_factory):
    file = tmp_path_factory.mktemp("arms") / "arms.toml"
    file.write_text(ARMS)
    return tp.load(file)


@pytest.fixture(scope="module")
def keep(arms):
    return tp.clearance(arms, floor=-0.2, box=[(-2, None, None), (None, 1.0, None)])


def dense_distances(arms, capsules, pairs, q):
    """Distances by points along the segments, each moved by forward kinematics: no formula of ours."""
    share = np.linspace(0, 1, 101)[:, None]
    points = []
    for c in capsules:
        frame = arms.enclosed_frame(c)
        name = arms.links[frame.link].name if frame.link >= 0 else None
        T = np.eye(4) if name is None else tp.forward_kinematics(arms, name)(q)
        T = arms.base.matrix if name is None else T
        points.append((np.array(c.a) + share * (np.array(c.b) - np.array(c.a))) @ T[:3, :3].T + T[:3, 3])
    return [
        np.linalg.norm(points[i][:, None] - points[j][None], axis=2).min() - capsules[i].r - capsules[j].r
        for i, j in pairs
    ]


def test_distances_are_those_of_dense_points(arms, keep):
    rows = [k for k, row in enumerate(keep.rows_watched) if row.wall < 0]
    pairs = [(keep.rows_watched[k].body, keep.rows_watched[k].other) for k in rows]
    for q in random_postures(ranges_of(arms), 20, seed=3):
        ours = keep.distances(q)[rows]
        dense = np.array(dense_distances(arms, keep.capsules, pairs, q))
        assert (dense - ours > -1e-9).all() and (dense - ours < 0.01).all()


def test_parallel_and_crossing_segments():
    arm = tp.Robot.from_dh([dict(a=0.0), dict(a=0.0), dict(a=0.0)])
    lines = [
        dict(link="link1", a=(0, 0, 0), b=(1, 0, 0), r=0.1),
        dict(link="link3", a=(0.5, 0.5, 0), b=(1.5, 0.5, 0), r=0.1),
    ]
    space = Arrangement.of(arm, tp.clearance(arm, 0.0, lines, ranges=[[-0.1] * 3, [0.1] * 3]).capsules)
    program = distance_program(space, space.rows_between(0, 2))
    angle = np.array([0.0, 1e-9, 1e-7, 1e-5, 1e-3])
    q = np.stack([0 * angle, angle, 0 * angle], axis=1)
    np.testing.assert_allclose(program(q)[:, 0], 0.3, atol=1e-3)
    np.testing.assert_allclose(program(q[:3])[:, 0], 0.3, atol=1e-6)
    crossing = program([[0.0, -np.pi / 2, 0.0]])  # from (0.5, -0.5) to (0.5, -1.5)
    assert crossing[0] == pytest.approx(0.3, abs=1e-9)


def test_the_gradient_is_that_of_differences(arms, keep):
    rng = np.random.default_rng(0)
    q = random_postures(ranges_of(arms), 100, seed=4)
    weights = rng.standard_normal((100, len(keep.pairs)))
    step = 1e-6 * np.eye(arms.n)
    slopes = np.stack([((keep.rows(q + e) - keep.rows(q - e)) * weights).sum(axis=1) / 2e-6 for e in step], axis=1)
    np.testing.assert_allclose(np.quantile(np.abs(keep.pulled(q, weights) - slopes), 0.99), 0, atol=1e-7)


def test_no_joint_changes_a_distance_faster_than_its_reach(arms, keep):
    ranges = ranges_of(arms)
    rng = np.random.default_rng(0)
    spread = keep.spread
    reach = keep.reach(np.abs(spread) @ np.maximum(-ranges.lower, ranges.upper))
    q = random_postures(ranges, 400, seed=5)
    step = rng.uniform(-1, 1, q.shape) * 0.02
    change = np.abs(keep.distances(q + step) - keep.distances(q))
    assert (change <= np.abs(step @ spread.T) @ reach.T + 1e-12).all()
    assert (np.abs(step @ spread.T) @ reach.T).mean() < 10 * change.mean()


def test_pairs_are_watched_or_left_out_with_a_reason(arms, keep):
    out = {str(item.pair): item.why for item in keep.left_out}
    neighbours = ("base - link1", "link1 - link2", "link2 - link3", "link3 - link4", "link1 - link5", "link5 - link6")
    assert all(out[pair] is Exclusion.NEIGHBOURS for pair in neighbours)
    watched = {str(pair) for pair in keep.pairs}
    assert not watched & set(out)
    links = ["base", *arms.link_names]
    moving = {f"{a} - {b}" for k, a in enumerate(links) for b in links[k + 1 :]}
    surroundings = {f"{a} - {wall}" for a in arms.link_names for wall in ("floor", "box")}
    assert watched | set(out) == moving | surroundings
    proven = [item.pair for item in keep.left_out if item.why is Exclusion.NEVER]
    assert proven
    bare = tp.clearance(arms, 0.0, ignore=[("link4", "link6")])
    assert {str(p) for p in bare.pairs} >= {"link3 - link6"} and "link4 - link6" not in {str(p) for p in bare.pairs}
    assert ("link4 - link6", "ignored as asked") in [(str(pair), why) for pair, why in bare.left_out]
    assert "rows" in repr(keep) and keep.to_dict()["left_out"]["base - link1"].startswith("neighbours")


def test_pairs_that_are_built_into_each_other_are_left_out_with_the_share(arms):
    capsules = [*arms.capsules, dict(link="link3", a=(-0.3, 0, 0), r=0.2)]
    again = tp.clearance(arms, capsules=capsules)
    (item,) = (i for i in again.left_out if str(i.pair) == "link1 - link3")
    assert item.why is Exclusion.OVERLAPPING and item.reason.endswith("71% of 20000 random postures")


def test_an_srdf_leaves_pairs_out(arms, tmp_path):
    file = tmp_path / "arms.srdf"
    file.write_text('<robot name="arms"><disable_collisions link1="link2" link2="link6" reason="Never"/></robot>')
    out = {str(i.pair): i.reason for i in tp.clearance(arms, ignore=file).left_out}
    assert out["link2 - link6"] == "disabled in arms.srdf"
    file.write_text("<mujoco/>")
    with pytest.raises(tp.TaupiError, match="not an SRDF file"):
        tp.clearance(arms, ignore=file)


def check_certificates(arms, keep, count, rate_hz):
    ranges = ranges_of(arms)
    middle, width = (ranges.lower + ranges.upper) / 2, (ranges.upper - ranges.lower) / 2
    kept = 0
    for seed in range(count):
        motion = tp.BSpline.random(middle, (0.2 + 0.7 * (seed % 5) / 4) * width, count=12, duration=2.0, seed=seed)
        certificate = keep.certificate(motion)
        dense = keep.distances(motion(np.linspace(0, 2, int(2 * rate_hz))).q).min(axis=0)
        assert (certificate.bound <= dense + 1e-9).all()
        assert certificate.ok == bool((certificate.missing == 0).all())
        if (dense < keep.margins).any():
            assert not certificate.ok
        kept += certificate.ok
        k = list(keep.pairs).index(certificate.pair)
        assert certificate.least <= certificate.bound[k] + 1e-12 and 0 <= certificate.time <= 2
    assert 0 < kept < count


def test_certificates_are_never_above_dense_samples(arms, keep):
    check_certificates(arms, keep, 25, 5_000)


@pytest.mark.long
def test_certificates_are_never_above_dense_samples_of_100_motions(arms, keep):
    check_certificates(arms, keep, 100, 20_000)


def test_a_certificate_tightens_where_it_is_needed(arms):
    # A motion that stays at the same place: nothing is lost between samples.
    keep = tp.clearance(arms)
    still = tp.BSpline(np.zeros((4, arms.n)) + 0.1, 1.0)
    certificate = keep.certificate(still)
    np.testing.assert_allclose(certificate.bound, keep.distances(still(0.5).q), atol=1e-8)
    assert "clearance is kept at all times" in certificate.sentence or "clearance is not kept" in certificate.sentence
    assert certificate.to_dict()["ok"] == certificate.ok


def test_a_certificate_is_refuted_where_links_are_seen_too_near(arms):
    """And not where its bound alone is too loose: that is not proven, and nothing more."""
    still = tp.BSpline(np.zeros((4, arms.n)) + 0.1, 1.0)
    least = float(tp.clearance(arms, 0.0).distances(still(0.5).q).min())
    near = tp.clearance(arms, 0.01)
    certificate = near.certificate(still)
    assert least > 0 and certificate.ok and not certificate.refuted
    beyond = dataclasses.replace(certificate, asked=certificate.found + 1e-3)
    assert beyond.refuted and not beyond.ok and "clearance is not kept" in beyond.sentence
    loose = dataclasses.replace(certificate, bound=certificate.asked - 1e-3)
    assert not loose.refuted and not loose.ok and "is not proven to be kept" in loose.sentence


@pytest.mark.parametrize(
    ("first", "elbow", "speed"), [(0.0007, 0.5, 200.0), (-0.0097, 2.5, -200.0)], ids=["start", "stop"]
)
def test_a_certificate_counts_motion_that_starts_or_stops_suddenly_within_an_interval(first, elbow, speed):
    """The middle of the only interval is in the part where the motion rests."""
    arm = tp.load("planar3r").bind(l1=0.5, l2=0.4, l3=0.3)
    links = [{"link": k, "a": (-0.1, 0, 0), "b": (-0.3, 0, 0), "r": 0.03} for k in arm.link_names]
    keep, since = tp.clearance(arm, capsules=links), np.arange(11) * 1e-3
    motion = tp.SampledMotion(first + since, [[0.0, elbow + speed * t, 0.3] for t in since])
    least = keep.distances(motion(np.linspace(0, 0.001, 1001)).q).min(axis=0)
    assert (keep.certificate(motion, 0.001).bound <= least).all()


def test_fourier_motions_have_certificates(arms, keep):
    motion = FourierMotion(np.full(arms.n, 0.1), np.full((arms.n, 1), 0.1), 2 * np.pi / 3, duration=3.0)
    dense = keep.distances(motion(np.linspace(0, 3, 4000)).q).min(axis=0)
    assert (keep.certificate(motion).bound <= dense).all()
    with pytest.raises(tp.TaupiError, match="motion is <function"):
        keep.certificate(lambda t: t)
    with refused("motion", n=2, other_n=5):
        keep.certificate(tp.BSpline(np.zeros((4, 2)), 1.0))


def test_capsules_survive_a_round_trip_and_enter_the_fingerprint(arms, tmp_path):
    tp.write_toml(arms, tmp_path / "again.toml")
    again = tp.load(tmp_path / "again.toml")
    assert again.capsules == arms.capsules and again == arms
    capsules = tmp_path / "capsules.toml"
    capsules.write_text(
        '[[capsule]]\nlink = "link2"\nb = [0.3, 0, 0]\nr = 0.04\n[[capsule]]\nlink = "link6"\nr = 0.1\n'
    )
    assert len(tp.clearance(arms, capsules=capsules).capsules) == 2
    bare = ARMS.partition("[[capsule]]")[0]
    (tmp_path / "bare.toml").write_text(bare)
    assert tp.load(tmp_path / "bare.toml").fingerprint != arms.fingerprint
    with pytest.raises(NoGeometryError, match=r"arms has no collision geometry.*\[\[capsule\]\].*capsules='none'"):
        tp.clearance(tp.load(tmp_path / "bare.toml"))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"clearance": -0.1}, "clearance is -0.1"),
        ({"capsules": []}, "capsules is [], expected 'auto', a list"),
        ({"capsules": [dict(link="elbow", r=0.1)]}, "No link 'elbow' in arms, of a capsule"),
        ({"capsules": [dict(link="link1", a=(0, 0), r=0.1)]}, "capsules[0]: a is (0, 0), expected a point"),
        ({"capsules": [dict(link="link1", radius=0.1)]}, "No entry 'radius' in capsules[0]"),
        ({"ignore": ["link1"]}, "ignore has 'link1', expected pairs"),
        ({"ignore": [("link1", "link9")]}, "No link 'link9' in arms"),
        ({"box": (1, 2)}, "box is (1, 2), expected two corners"),
        ({"box": ((0, 0, 0), (1, -1, 1))}, "expected the least corner first"),
        ({"floor": 5.0}, "floor cannot be kept clear"),
        ({"ranges": [[0], [1]]}, "ranges has shape (2, 1), expected (2, 5)"),
        ({"ranges": [[1.0] * 5, [0.0] * 5]}, "ranges is [[1.0, "),
        ({"ranges": "wide"}, "ranges is 'wide'"),
    ],
)
def test_bad_settings_are_refused(arms, arguments, sentence):
    with pytest.raises(tp.TaupiError, match=re.escape(sentence)):
        tp.clearance(arms, **arguments)
