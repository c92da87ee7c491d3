"""How two descriptions of one arm lie in each other: found from joint axes, for worlds that are turned and shifted at random."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import taupi as tp
from taupi.bridges.alignment import ArmAtZero, central, link_frames, moved_body, tensor, vector_of

ARMS = {
    "spatial": tp.Robot.from_dh(
        [dict(a=0.1, alpha=np.pi / 2, d=0.4), dict(a=0.5), dict(a=0.3, alpha=1.0), dict(d=0.2)]
    ),
    "planar": tp.Robot.from_dh([dict(a=0.5), dict(a=0.4), dict(a=0.3)], gravity=(0, -9.81, 0)),
    "sliding": tp.Robot.from_dh(
        [dict(joint="prismatic", alpha=1.0), dict(a=0.3), dict(joint="prismatic", alpha=0.5), dict(a=1)]
    ),
}


@pytest.mark.parametrize("name", ARMS)
@pytest.mark.parametrize("seed", range(8))
def test_a_world_that_is_moved_is_found(name, seed, recwarn):
    arm, rng = ARMS[name], np.random.default_rng(seed)
    world = np.eye(4)
    world[:3, :3], world[:3, 3] = Rotation.random(random_state=seed).as_matrix(), rng.uniform(-1, 1, 3)
    back = np.linalg.inv(world)
    theirs = ArmAtZero.of(arm).moved(back)
    frames = link_frames(arm, theirs, back[:3, :3] @ vector_of(arm.gravity, arm), "theirs")
    for frame in frames.values():
        # Along axes that are all parallel a shift is not seen, nor does it matter.
        apart = frame[:3, 3] if name != "planar" else frame[:2, 3]
        assert np.abs(frame[:3, :3] - np.eye(3)).max() < 1e-9 and np.abs(apart).max() < 1e-9
    assert not recwarn.list


@pytest.mark.parametrize("seed", range(3))
def test_a_body_moved_is_the_same_points_seen_from_elsewhere(seed):
    rng = np.random.default_rng(seed)
    masses, points = rng.uniform(0.1, 1, 8), rng.uniform(-1, 1, (8, 3))

    def body(x):
        inertia = sum(m * (p @ p * np.eye(3) - np.outer(p, p)) for m, p in zip(masses, x, strict=True))
        return np.array([masses.sum(), *(masses @ x), *inertia[np.triu_indices(3)]])

    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = Rotation.random(random_state=seed).as_matrix(), rng.uniform(-1, 1, 3)
    there = (points - pose[:3, 3]) @ pose[:3, :3]
    np.testing.assert_allclose(moved_body(body(points), pose), body(there), atol=1e-12)
    m, c, inertia = central(body(points))
    np.testing.assert_allclose(c, masses @ points / m)
    np.testing.assert_allclose(inertia, tensor(body(points - c)[4:]), atol=1e-12)
