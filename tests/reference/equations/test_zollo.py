"""Zollo et al. (2014), equation by equation: each public call against the formula, written down in NumPy."""

import blocks
import numpy as np
import pytest
from elastic import VECTORS, arm
from support import error

import taupi as tp

CLOSE = 1e-10


@pytest.mark.parametrize("name", ["planar2", "spatial3", "rpr3", "puma560"])
def test_three_parts_of_the_regressor(name):
    """(13), (15), (22), (29): Y_B Pi = B a, Y_C Pi = C v, and gravity, friction and springs in Y_oth; columns apart, too."""
    data, robot = VECTORS["robots"][name], arm(name)
    n = data["n"]
    rng = np.random.default_rng(3)
    q, qd, qdd, thetad, thetadd = rng.uniform(-2, 2, (5, n))
    theta = q + rng.uniform(-0.1, 0.1, n)
    Y_B, Y_C, Y_oth = tp.elastic.regressor_parts(robot)(q, qd, qdd, theta, thetad, thetadd)
    Pi = blocks.parameters(data)
    assert error(Y_B @ Pi, blocks.mass_matrix(data, q) @ np.r_[qdd, thetadd]) < CLOSE
    assert error(Y_C @ Pi, blocks.coriolis(data, q, qd, thetad) @ np.r_[qd, thetad]) < CLOSE
    zero = np.zeros(n)
    at_rest = blocks.regressor(data, q, zero, zero, theta, zero, zero)  # gravity and springs
    accelerated = blocks.regressor(data, q, zero, qdd, theta, zero, thetadd) - at_rest
    friction = np.zeros_like(at_rest)
    for i in range(n):
        friction[n + i, 11 * n + i], friction[n + i, 12 * n + i] = np.sign(thetad[i]), thetad[i]
    moving = blocks.regressor(data, q, qd, zero, theta, thetad, zero) - at_rest - friction
    for ours, wanted in ((Y_B, accelerated), (Y_C, moving), (Y_oth, at_rest + friction)):
        assert np.abs(ours - wanted).max() < CLOSE * max(1, np.abs(wanted).max())
    assert not Y_B[:, 11 * n :].any() and not Y_C[:, 11 * n :].any()


def test_motors_as_bodies():
    """(A.14): link i with motor i + 1: mass, first moment and inertia, Steiner's part included; also with symbols."""
    robot = arm("spatial3")
    rng = np.random.default_rng(4)
    mass, position = rng.uniform(0.5, 2, 3), rng.uniform(-0.3, 0.3, (3, 3))
    inertia = np.array([np.diag(rng.uniform(0.01, 0.02, 3)) for _ in range(3)])
    heavy = tp.elastic.with_motors(robot, mass, position, inertia)
    before, after = (r.parameters.values.reshape(3, 10) for r in (robot, heavy))
    for link in (0, 1):
        m, p, own = mass[link + 1], position[link + 1], inertia[link + 1]
        about_origin = own + m * blocks.skew(p).T @ blocks.skew(p)
        six = about_origin[[0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]]
        assert np.allclose(after[link] - before[link], [m, *(m * p), *six], atol=1e-12)
    assert np.array_equal(after[2], before[2])
    # The document's own arm (45): its bodies are links with their motors.
    bare = tp.load("zollo2r")
    body = bare.parameters.values[:10]
    assert body[0] == pytest.approx(21) and body[9] == pytest.approx(7 / 15 + 1.25 + 12.1)
    symbolic = tp.elastic.with_motors(tp.load("elbow2r"), ["mm1", "mm2"], [(0, 0, 0), ("x", 0, 0)])
    assert {"mm2", "x"} <= {name for name, _ in symbolic.symbols}
    with pytest.raises(tp.TaupiError, match="mass has 2, expected 3: one per joint"):
        tp.elastic.with_motors(robot, [1.0, 2.0], position)
    with pytest.raises(tp.TaupiError, match="motor of"):
        tp.elastic.with_motors(robot, [1.0, -2.0, 1.0], position)
