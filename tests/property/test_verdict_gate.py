"""A cause that is not tried could not have been named: the gate before the trials loses nothing."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from taupi.identification.verdict.candidate import Candidate, Tried, can_be_named, unexplained
from taupi.identification.verdict.trial_rows import Errors
from taupi.identification.verdict.trials import Mending

N = 3


class LoggedMotion:
    """Trials of which only the errors and the limits are known."""

    def __init__(self, baseline: Errors, before: np.ndarray, after: np.ndarray) -> None:
        self.baseline, self._before, self._after = baseline, before, after

    def outside_limits(self, motion):
        return self._before if motion is None else self._after


def vector(low: float, high: float):
    return st.lists(st.floats(low, high), min_size=N, max_size=N).map(np.array)


def flags():
    return st.lists(st.booleans(), min_size=N, max_size=N).map(np.array)


@st.composite
def errors(draw, scale: float):
    described = draw(st.one_of(st.just(np.zeros(0)), vector(0.0, 2.5 * scale)))
    joints, certain = draw(vector(0.0, scale)), draw(vector(-8.0, 8.0))
    return Errors(joints, float(np.sqrt(np.mean(joints**2))), certain, certain, described)


@given(
    before=st.floats(0.01, 0.3).flatmap(errors),
    after=st.floats(0.0, 0.3).flatmap(errors),
    outside=flags(),
    then=flags(),
    joints=st.sets(st.integers(0, N - 1)).map(lambda some: tuple(sorted(some))),
    signs=st.booleans(),
    turned=st.booleans(),
)
@settings(max_examples=400, deadline=None)
def test_what_is_not_tried_could_not_be_named(before, after, outside, then, joints, signs, turned):
    if len(before.described) != len(after.described):
        after = Errors(after.joints, after.total, after.inertias, after.certain, before.described)
    mending = Mending(motion=np.eye(N) if turned else None)
    candidate = Candidate("x", "x", "x", mending, joints, signs=signs)
    trials = LoggedMotion(before, outside, then)
    named = Tried(candidate, before, after, (outside, trials.outside_limits(mending.motion))).explains
    if not can_be_named(trials, candidate):
        assert not named
    if not joints and not unexplained(before):
        assert not named
