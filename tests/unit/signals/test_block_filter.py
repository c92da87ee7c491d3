"""The filter in blocks: the same values as SciPy's recursion over the whole record, at the rows that are asked for."""

import itertools

import numpy as np
import pytest

import taupi as tp
from taupi.signals.filtering.block_filter import VALUE, ZeroPhaseStream, zero_phase
from taupi.signals.filtering.derivatives import central, central_stencils
from taupi.signals.filtering.filters import butterworth, settle_rows

# SciPy starts at rest at the end of the reflected record, we at zero a memory's length away: both are forgotten to 1e-12 by the
# first row, which is small beside a random walk's own values.
FORGOTTEN = 1e-10


def walk(samples: int, columns: int = 3, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(samples, columns)).cumsum(axis=0)


@pytest.mark.parametrize("order", [1, 2, 3, 4, 5, 8])
@pytest.mark.parametrize("share", [0.004, 0.03, 0.3, 0.45])
def test_values_are_those_of_the_recursion(order, share):
    x, rate = walk(2 * settle_rows(100.0, 100 * share, order) + 700), 100.0
    at_once = butterworth(x, rate, share * rate, order)
    difference = zero_phase(x, rate, share * rate, order) - at_once
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


@pytest.mark.parametrize("parts", [(3000,), (700, 1, 299, 1500, 500), (96,) * 31 + (24,)])
@pytest.mark.parametrize("step", [1, 3])
def test_a_stream_is_the_record_whatever_its_parts(parts, step):
    """Values and both derivatives at the samples that are kept: those of SciPy's filter and of central differences."""
    rate, x = 250.0, walk(sum(parts), 4).T
    stream = ZeroPhaseStream(rate, 8.0, 4, 12, step, (VALUE, *central_stencils(rate)))
    edges = np.cumsum((0, *parts))
    kept = [stream.add(x[:, a:b].copy()) for a, b in itertools.pairwise(edges)]
    kept = np.concatenate([*kept, stream.end()], axis=2)
    smooth = butterworth(x.T, rate, 8.0)
    for k, expected in enumerate((smooth, *central(smooth, rate))):
        inside = slice(None, -3)  # at the record's end differences are one-sided
        scale = np.abs(x).max() * rate**k
        assert np.abs(kept[k] - expected[12::step].T)[:, inside].max() < FORGOTTEN * scale


def test_parts_that_are_wanted_fill_whole_blocks():
    x, stream = walk(4000, 2).T, ZeroPhaseStream(250.0, 8.0, first=12, step=3)
    done, kept = 0, []
    while done < x.shape[1]:
        size = stream.wanted(500)
        assert (done + size - 12) % 96 == 0
        kept.append(stream.add(x[:, done : done + size]))
        done += size
    kept.append(stream.end())
    expected = butterworth(x.T, 250.0, 8.0)[12::3].T
    assert np.abs(np.concatenate(kept, axis=2)[0] - expected).max() < FORGOTTEN * np.abs(x).max()


def test_a_stream_shorter_than_the_memory_is_filtered_at_once():
    x, stream = walk(60, 2).T, ZeroPhaseStream(100.0, 1.0, first=5, step=2)
    assert stream.add(x[:, :20]).shape == (1, 2, 0)
    stream.add(x[:, 20:])
    np.testing.assert_allclose(stream.end()[0].T, butterworth(x.T, 100.0, 1.0)[5::2], rtol=1e-12)


def test_a_short_record_is_turned_about_its_ends_before_it_is_differentiated():
    rate, x = 100.0, walk(60, 2)
    stream = ZeroPhaseStream(rate, 1.0, stencils=(VALUE, *central_stencils(rate)))
    stream.add(x.T)
    smooth, margin = butterworth(x, rate, 1.0), 10
    wide = np.pad(smooth, ((margin, margin), (0, 0)), mode="reflect", reflect_type="odd")
    for kept, expected in zip(stream.end(), (wide, *central(wide, rate)), strict=True):
        inside = expected[margin:-margin].T
        np.testing.assert_allclose(kept, inside, rtol=0, atol=FORGOTTEN * np.abs(inside).max())
