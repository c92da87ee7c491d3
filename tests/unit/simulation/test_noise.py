"""Noise of sensors: normal, white, independent, and the same however it is drawn."""

import numpy as np
import pytest
from refusals import refused
from scipy import stats

import taupi as tp
from taupi.simulation.rollouts.sensing import NoiseStreams

DRAWS = 20_000


def test_draws_are_normal_white_and_independent():
    noise = NoiseStreams([3, 4], 5).draw(DRAWS)
    assert noise.shape == (DRAWS, 2, 5)
    columns = noise.reshape(DRAWS, 10)
    for column in columns.T:
        assert stats.kstest(column, "norm").pvalue > 1e-4
        assert abs(np.corrcoef(column[1:], column[:-1])[0, 1]) < 5 / np.sqrt(DRAWS)
        assert abs(stats.kurtosis(column)) < 0.2  # standard error sqrt(24 / N) = 0.035
    correlation = np.corrcoef(columns.T) - np.eye(10)
    assert np.abs(correlation).max() < 5 / np.sqrt(DRAWS)
    assert np.abs(np.corrcoef((columns**2).T) - np.eye(10)).max() < 5 / np.sqrt(DRAWS)


def test_any_blocks_and_any_company_give_the_same():
    together = NoiseStreams([3, 4], 6).draw(50)
    alone = NoiseStreams([4], 6)
    parts = np.concatenate([alone.draw(1), alone.draw(20), alone.draw(29)])
    assert np.array_equal(parts[:, 0], together[:, 1])
    assert not np.array_equal(together[:, 0], together[:, 1])
    assert NoiseStreams([3], 0).draw(4).shape == (4, 1, 0)


@pytest.mark.parametrize("seed", [-1, 2**128, 1.5, "a", True])
def test_bad_seeds(seed):
    with refused("seed"):
        tp.simulate(tp.RigidPlant(tp.load("elbow2r")), duration=0.01, sensors=tp.Sensors(q_noise=0.1), seed=seed)
