"""Bounds of motions hold at all times: hulls of B-splines, sampled bounds of Fourier series, on random motions."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from taupi.excitation.motions.bounded import JoinedMotion, StraightMotion
from taupi.excitation.motions.families import FourierSeries, Splines

ROUNDING = 1e-9  # of the largest value: the spline and its bound are computed by different sums

FAMILIES = st.one_of(
    st.builds(
        Splines,
        st.integers(12, 40),
        st.floats(1.0, 30.0),
        closed=st.booleans(),
        refine=st.sampled_from([1, 2, 4]),
    ),
    st.builds(FourierSeries, st.integers(2, 9), st.floats(1.0, 30.0)),
)


@settings(max_examples=60, deadline=None)
@given(FAMILIES, st.integers(0, 2**32 - 1))
def test_no_derivative_leaves_its_bounds(family, seed):
    rng = np.random.default_rng(seed)
    c = family.random(2, rng)
    motion = family.motion(c)
    times = np.sort(rng.uniform(0, family.duration, 20_000))
    for order in range(4):
        value = family.sampled(times, order) @ c
        slack = ROUNDING * np.abs(value).max()
        low, high = motion.extent(order)
        assert (value >= low - slack).all() and (value <= high + slack).all()
        assert (motion.bounds(order) >= np.abs(value).max(axis=0) - slack).all()
        assert (motion.bounds(order) <= 1.05 * np.abs(value).max(axis=0) + slack).all()
        rows = np.abs(family.rows(order) @ c).max(axis=0) / family.share
        assert (rows >= np.abs(value).max(axis=0) - slack).all()


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_motions_joined_are_bounded_and_continuous(seed):
    rng = np.random.default_rng(seed)
    family = Splines(14, 4.0)
    c = family.random(2, rng)
    first = (family.sampled(np.zeros(1), 0) @ c)[0]
    motion = JoinedMotion((StraightMotion([rng.normal(size=2), first], [0.0, 1.5]), family.motion(c), family.motion(c)))
    times = np.sort(rng.uniform(-0.5, motion.duration + 0.5, 5000))
    state = motion(times)
    assert motion.duration == 9.5
    for order, value in enumerate(state):
        low, high = motion.extent(order)
        assert (value >= low - 1e-9).all() and (value <= high + 1e-9).all()
    # No jump: neighbouring samples differ by no more than the bound of the next derivative allows.
    for order in range(3):
        step = np.abs(np.diff(state[order], axis=0))
        assert (step <= np.diff(times)[:, None] * motion.bounds(order + 1) + 1e-9).all()
