"""Loops of steps, shared by threads."""

import numpy as np

from taupi.program import Port, step_loop, trace


def test_the_loop_is_made_once_before_threads_share_it(monkeypatch):
    """Two threads that made it at the same time would each have code of their own, and one of them would be freed in use."""
    loads = []

    def counted(text):
        loads.append(text)
        return load(text)

    load = step_loop.load
    monkeypatch.setattr(step_loop, "load", counted)
    step = trace("sum", lambda x, u: x + u, [Port("x", (1,)), Port("u", (1,))], [Port("x_next", (1,))]).compile("cpu")
    for _ in range(20):
        step_loop._loop.cache_clear()
        loads.clear()
        x = np.zeros((4, 64, 1))
        step_loop.roll(step, {"x": x}, {"u": np.full((1, 1, 1), 2.0)}, {}, threads=4)
        assert len(loads) == 1 and (x[3] == 6.0).all()
