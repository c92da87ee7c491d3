"""Loops of steps, shared by threads."""

import itertools

import casadi as cs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taupi.errors import TaupiError
from taupi.program import Port, array_loops, step_loop, trace
from taupi.program.step_loop import TILE, Call, StepLoop
from taupi.program.targets.simd import machine_code


def test_the_loop_is_made_once_before_threads_share_it(monkeypatch):
    """Two threads that made it at the same time would each have code of their own, and one of them would be freed in use."""
    loads = []

    def counted(text):
        loads.append(text)
        return load(text)

    load = machine_code.load
    monkeypatch.setattr(machine_code, "load", counted)
    step = trace("sum", lambda x, u: x + u, [Port("x", (1,)), Port("u", (1,))], [Port("x_next", (1,))]).compile("cpu")
    for _ in range(20):
        array_loops.compiled.cache_clear()
        loads.clear()
        x = np.zeros((4, 64, 1))
        step_loop.roll(step, {"x": x}, {"u": np.full((1, 1, 1), 2.0)}, {}, threads=4)
        assert len(loads) == 1 and (x[3] == 6.0).all()


@given(st.integers(1, 5000), st.integers(1, 20))
def test_tiles_hold_every_sample_once_and_the_last_are_small(batch, threads):
    parts = step_loop.tiles(batch, threads)
    assert [k for a, b in parts for k in range(a, b)] == list(range(batch))
    assert all(0 < b - a <= TILE and a % 8 == 0 for a, b in parts)
    assert threads == 1 or all(b - a <= 8 for a, b in parts[-threads:])


# A decision, whose next z has a structural zero, and a move that uses what the decision returned.
DECIDE = trace(
    "decide",
    lambda z, u: (cs.vertcat(0.5 * z[0] + u[0] * z[1], 0, z[2] + 1), z[0] - u[1]),
    [Port("z", (3,)), Port("u", (2,))],
    [Port("z_next", (3,)), Port("seen", (1,))],
).compile("cpu")
MOVE = trace(
    "move",
    lambda z, seen, v: z + v[0] * cs.vertcat(seen, z[0], 0),
    [Port("z", (3,)), Port("seen", (1,)), Port("v", (1,))],
    [Port("z_next", (3,))],
).compile("cpu")


def rolled(z, u, v, every, threads, edges):
    """Return the kept z and results of periods that run in blocks between the edges."""
    periods, batch, times = edges[-1], len(z), v.shape[1]
    rows = -(-periods // every)
    kept, seen = np.zeros((rows + 1, batch, 3)), np.zeros((rows, batch, 1))
    kept[0] = z
    loop = StepLoop([Call(DECIDE), Call(MOVE, times)], {"z": kept}, {"seen": seen}, every, threads)
    for a, b in itertools.pairwise(edges):
        loop.begin(a, b, [{"u": u[a:b]}, {"v": v[a:b]}])
        loop.run(b - a)
    return kept[:-1], seen, loop.state("z").copy()


def by_numpy(z, u, v, periods):
    """Return z at the beginning of every period, what was seen, and z at the end."""
    states, seen = [], []
    for k in range(periods):
        states.append(z)
        seen.append(z[:, :1] - u[k, :, 1:])
        z = np.stack([0.5 * z[:, 0] + u[k, :, 0] * z[:, 1], 0 * z[:, 1], z[:, 2] + 1], axis=1)
        for own in v[k]:
            z = z + own * np.stack([seen[-1][:, 0], z[:, 0], 0 * z[:, 0]], axis=1)
    return np.array(states), np.array(seen), z


@given(
    st.sampled_from([1, 7, TILE, TILE + 1, 3 * TILE]),
    st.integers(1, 9),
    st.integers(1, 4),
    st.integers(1, 3),
    st.lists(st.integers(1, 7), min_size=1, max_size=4),
    st.integers(0, 99),
)
def test_kept_rows_are_those_of_a_loop_that_keeps_all(batch, every, times, threads, blocks, seed):
    rng, edges = np.random.default_rng(seed), [0, *np.cumsum(blocks).tolist()]
    z, u = rng.normal(size=(batch, 3)), rng.normal(size=(edges[-1], batch, 2))
    v = rng.normal(size=(edges[-1], times, 1, 1))
    states, seen, end = rolled(z, u, v, 1, 1, [0, edges[-1]])
    for mine, numpy in zip((states, seen, end), by_numpy(z, u, v, edges[-1]), strict=True):
        assert np.abs(mine - numpy).max() <= 1e-9 * (1 + np.abs(numpy).max())  # products may be rounded once less
    kept, some, last = rolled(z, u, v, every, threads, edges)
    assert (kept == states[::every]).all() and (some == seen[::every]).all() and (last == end).all()


def test_a_loop_refuses_arrays_of_another_shape():
    with pytest.raises(TaupiError, match="seen"):
        StepLoop([Call(DECIDE)], {"z": np.zeros((3, 8, 3))}, {"seen": np.zeros((2, 8, 2))})
    with pytest.raises(TaupiError, match="carried"):
        StepLoop([Call(DECIDE)], {}, {})
    loop = StepLoop([Call(DECIDE)], {"z": np.zeros((3, 8, 3))}, {})
    with pytest.raises(TaupiError, match="u is"):
        loop.begin(0, 2, [{"u": np.zeros((2, 7, 2))}])
