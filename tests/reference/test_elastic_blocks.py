"""The linear-time route against the document's block formulas, written apart in tests/blocks.py, on all of the spec's robots."""

import blocks
import numpy as np
import pytest
from elastic import VECTORS, arm
from support import error

import taupi as tp

# The robots' angles have 12 decimals in the vectors, and are taken as right angles where they are meant: 1e-12 of the entries.
BLOCKS = 1e-10


@pytest.mark.parametrize("name", ["planar2", "spatial3", "rpr3", "puma560"])
def test_block_formulas(name):
    data, robot = VECTORS["robots"][name], arm(name)
    rng = np.random.default_rng(3)
    for _ in range(3):
        q, qd, qdd, thetad, thetadd = rng.uniform(-2, 2, (5, data["n"]))
        theta = q + rng.uniform(-0.1, 0.1, data["n"])
        wanted = blocks.regressor(data, q, qd, qdd, theta, thetad, thetadd)
        assert error(tp.elastic_regressor(robot)(q, qd, qdd, theta, thetad, thetadd), wanted) < BLOCKS
        assert error(tp.elastic.mass_matrix(robot)(q), blocks.mass_matrix(data, q)) < BLOCKS
        assert error(tp.elastic.coriolis_matrix(robot)(q, qd, thetad), blocks.coriolis(data, q, qd, thetad)) < BLOCKS
    assert error(tp.elastic_regressor(robot).parameters.values, blocks.parameters(data)) == 0


def test_block_formulas_without_coupling():
    """The reduced model: rotors only turn their own shafts."""
    data, robot = VECTORS["robots"]["spatial3"], arm("spatial3")
    rng = np.random.default_rng(4)
    q, qd, qdd, theta, thetad, thetadd = rng.uniform(-2, 2, (6, 3))
    wanted = blocks.regressor(data, q, qd, qdd, theta, thetad, thetadd)
    wanted[:, 30:33] = 0
    wanted[[3, 4, 5], [30, 31, 32]] = np.square(data["km"]) * thetadd
    got = tp.elastic_regressor(robot, coupling=False)(q, qd, qdd, theta, thetad, thetadd)
    assert error(got, wanted) < BLOCKS
    B = blocks.mass_matrix(data, q)
    B[:3, 3:] = B[3:, :3] = 0
    assert error(tp.elastic.mass_matrix(robot, coupling=False)(q), B) < BLOCKS


def test_bow_of_the_vectors():
    inputs = VECTORS["operators"]["bow"]
    assert error(blocks.bow(inputs["a"]), inputs["matrix"]) < 1e-12
