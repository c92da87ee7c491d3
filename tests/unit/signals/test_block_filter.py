"""The filter in blocks: the same values as SciPy's recursion over the whole record, at the rows that are asked for."""

import numpy as np
import pytest

import taupi as tp
from taupi.signals.block_filter import zero_phase
from taupi.signals.filters import butterworth, settle_rows

# SciPy starts at rest at the end of the reflected record, we at zero a memory's length away: both are forgotten to 1e-12 by the
# first row, which is small beside a random walk's own values.
FORGOTTEN = 1e-10


def walk(samples: int, columns: int = 3, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(samples, columns)).cumsum(axis=0)


@pytest.mark.parametrize("order", [1, 2, 3, 4, 5, 8])
@pytest.mark.parametrize("share", [0.004, 0.03, 0.3, 0.45])
def test_values_are_those_of_the_recursion(order, share):
    x, rate = walk(2 * settle_rows(100.0, 100 * share, order) + 700), 100.0
    whole = butterworth(x, rate, share * rate, order)
    difference = zero_phase(x, rate, share * rate, order) - whole
    assert np.abs(difference).max() < FORGOTTEN * np.abs(x).max()


@pytest.mark.parametrize(
    "rows",
    [
        slice(None),
        slice(0, 1),
        slice(-1, None),
        slice(3, None, 7),
        slice(900, 1100, 3),
        slice(500, 400),
        slice(0, None, 5000),
    ],
)
def test_any_rows_may_be_kept(rows):
    x = walk(3000)
    kept = zero_phase(x, 250, 8, rows=rows)
    np.testing.assert_allclose(kept, butterworth(x, 250, 8)[rows], rtol=0, atol=FORGOTTEN * np.abs(x).max())


@pytest.mark.parametrize("shape", [(), (2,), (2, 3)])
def test_samples_of_any_shape_are_filtered_along_time(shape):
    x = np.random.default_rng(1).normal(size=(2000, *shape)).cumsum(axis=0)
    kept = zero_phase(x, 250, 8, rows=slice(5, None, 4))
    np.testing.assert_allclose(kept, butterworth(x, 250, 8)[5::4], rtol=0, atol=FORGOTTEN * np.abs(x).max())


def test_a_record_shorter_than_the_memory_is_filtered_at_once():
    x = walk(50)
    np.testing.assert_array_equal(zero_phase(x, 100, 1, rows=slice(2, 40, 3)), butterworth(x, 100, 1)[2:40:3])


def test_the_response_is_the_amplitude_that_is_stated():
    t = np.arange(20_000) / 500
    for hz in (3.0, 10.0, 17.0):
        wave = np.sin(2 * np.pi * hz * t)[:, None]
        middle = slice(8_000, 12_000)
        # |H|^2 of an analogue filter at tan(pi f / rate): the two passes together.
        ratio = np.tan(np.pi * hz / 500) / np.tan(np.pi * 10 / 500)
        expected = wave[middle] / (1 + ratio**8)
        np.testing.assert_allclose(zero_phase(wave, 500, 10, rows=middle), expected, atol=1e-11)


def test_missing_values_are_refused():
    x = walk(3000)
    x[1500, 1] = np.nan
    with pytest.raises(tp.TaupiError, match="not finite"):
        zero_phase(x, 250, 8, rows=slice(0, 10))
