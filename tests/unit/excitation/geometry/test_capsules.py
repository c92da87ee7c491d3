"""Capsules enclose by construction, whatever they are fitted around and whatever a cache says."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import taupi as tp
from taupi.excitation.geometry.capsules import Cut, capsules_around, distances_to_segment, hull_of, kept, plan_from_text
from taupi.excitation.geometry.shapes import (
    box_triangles,
    cylinder,
    cylinder_triangles,
    ellipsoid_triangles,
    hull_triangles,
    rounded,
)
from taupi.model.capsule import Capsule


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TAUPI_CACHE", str(tmp_path))


def surface_points(triangles: np.ndarray, rng: np.random.Generator, count: int = 2000) -> np.ndarray:
    weights = rng.dirichlet(np.ones(3), count)
    return np.einsum("ki,kij->kj", weights, triangles[rng.integers(len(triangles), size=count)])


def depth(capsules, points: np.ndarray) -> np.ndarray:
    """By how much points are outside of the nearest capsule; negative inside."""
    away = [distances_to_segment(points, np.array(c.a), np.array(c.b)) - c.r for c in capsules]
    return np.min(away, axis=0)


def l_shape() -> np.ndarray:
    return np.concatenate(
        [
            box_triangles(np.array([0.5, 0.08, 0.08])),
            box_triangles(np.array([0.08, 0.08, 0.4])) + np.array([0.21, 0, 0.2]),
        ]
    )


@pytest.mark.parametrize("seed", range(4))
def test_hulls_of_random_points_are_enclosed(seed):
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((40, 3)) * rng.uniform(0.02, 0.3, 3)
    triangles = hull_triangles(points)
    capsules = capsules_around("arm", triangles)
    assert depth(capsules, surface_points(triangles, rng)).max() <= 1e-12
    inner = rng.dirichlet(np.ones(len(points)), 500) @ points
    assert depth(capsules, inner).max() <= 1e-12


def test_a_bent_link_has_several_capsules_which_enclose_it_and_are_smaller():
    triangles = l_shape()
    capsules = capsules_around("arm", triangles)
    assert 2 <= len(capsules) <= 4
    assert depth(capsules, surface_points(triangles, np.random.default_rng(0))).max() <= 1e-12
    assert sum(c.volume for c in capsules) < hull_of(triangles.reshape(-1, 3))[1]


def test_a_long_cylinder_is_one_capsule_of_little_more_than_its_radius():
    rng = np.random.default_rng(0)
    (capsule,) = capsules_around("arm", cylinder_triangles(0.05, 0.6))
    assert 0.05 <= capsule.r < 0.052
    exact = cylinder("arm", np.eye(4), 0.05, 0.6).capsule
    assert isinstance(exact, Capsule) and exact.volume <= capsule.volume
    turn, z, r = rng.uniform(0, 2 * np.pi, 1000), rng.uniform(-0.3, 0.3, 1000), 0.05 * np.sqrt(rng.uniform(size=1000))
    points = np.stack([r * np.cos(turn), r * np.sin(turn), np.where(z > 0.1, 0.3, np.where(z < -0.1, -0.3, z))], axis=1)
    assert depth([exact], points).max() <= 1e-12


def test_polyhedra_around_round_shapes_hold_them():
    rng = np.random.default_rng(0)
    axes = np.array([0.1, 0.2, 0.05])
    points = rng.standard_normal((3000, 3))
    points = axes * points / np.linalg.norm(points, axis=1)[:, None]
    triangles = ellipsoid_triangles(axes)
    hull = hull_of(np.vstack([triangles.reshape(-1, 3), points]))
    assert len(np.unique(hull[0], axis=0)) == len(np.unique(triangles.reshape(-1, 3), axis=0))
    bar = rounded("arm", np.eye(4), 0.07, 0.5)
    far = points / np.linalg.norm(points, axis=1)[:, None] * 0.07 + rng.choice([-0.25, 0.25], (3000, 1)) * [0, 0, 1]
    volume = hull_of(bar.triangles.reshape(-1, 3))[1]
    assert hull_of(np.vstack([bar.triangles.reshape(-1, 3), far]))[1] == pytest.approx(volume)
    assert bar.capsule.volume < volume < 1.3 * bar.capsule.volume


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000))
def test_both_sides_of_a_cut_have_the_whole_surface(seed):
    rng = np.random.default_rng(seed)
    triangles = rng.standard_normal((6, 3, 3))
    normal = rng.standard_normal(3)
    cut = Cut(tuple(map(float, normal / np.linalg.norm(normal))), float(rng.normal() * 0.5))

    def area(t):
        return float(np.linalg.norm(np.cross(t[:, 1] - t[:, 0], t[:, 2] - t[:, 0]), axis=1).sum())

    sides = [kept(triangles, c) for c in (cut, cut.other)]
    assert sum(map(area, sides)) == pytest.approx(area(triangles))
    for side, c in zip(sides, (cut, cut.other), strict=True):
        assert (side.reshape(-1, 3) @ np.array(c.normal) <= c.offset + 1e-12).all()


def test_the_search_is_remembered_and_a_bad_memory_is_harmless(tmp_path):
    triangles = l_shape()
    first = capsules_around("arm", triangles)
    (file,) = tmp_path.glob("capsules-*/*.json")
    assert capsules_around("arm", triangles) == first
    rng = np.random.default_rng(0)
    plan = json.loads(file.read_text())
    for row in plan:
        row["segment"] = [[9.0, 9.0, 9.0], [9.0, 9.0, 9.0]]
    # Wrong segments make large capsules, missing parts a new search: never one that does not enclose.
    for text in (
        json.dumps(plan),
        json.dumps(plan[1:]),
        "[]",
        "no json",
        json.dumps([{"cuts": [], "segment": [[0], [1]]}]),
    ):
        file.write_text(text)
        assert depth(capsules_around("arm", triangles), surface_points(triangles, rng)).max() <= 1e-12
    assert plan_from_text(json.dumps(plan[1:])) is None


def test_a_stored_plan_of_very_many_cuts():
    """One behind the other, each with its other side: deeper than functions may call each other."""
    rows, behind = [], []
    for k in range(600):
        rows.append({"cuts": [*behind, [-1.0, 0.0, 0.0, -float(k)]], "segment": [[0, 0, 0], [1, 1, 1]]})
        behind = [*behind, [1.0, 0.0, 0.0, float(k)]]
    assert plan_from_text(json.dumps([*rows, {"cuts": behind, "segment": [[0, 0, 0], [1, 1, 1]]}])) is None
    few = [*rows[:3], {"cuts": behind[:3], "segment": [[0, 0, 0], [1, 1, 1]]}]
    assert len(plan_from_text(json.dumps(few))) == 4


def test_flat_and_tiny_meshes():
    flat = box_triangles(np.array([0.2, 0.1, 0.1])) * [1, 1, 0]
    assert depth(capsules_around("arm", flat), flat.reshape(-1, 3)).max() <= 1e-12
    with pytest.raises(tp.TaupiError, match="lid: the collision mesh is smaller than 1 micrometre"):
        capsules_around("arm", 1e-9 * flat, "lid")
