"""The verbs `simulate` and `simulate_many`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from taupi.errors import TaupiError
from taupi.simulation.controller import Controller
from taupi.simulation.rollouts.arguments import initial_rows, loadable
from taupi.simulation.rollouts.jobs import Jobs, Start
from taupi.simulation.run import Run, RunBatch
from taupi.simulation.sensors import Sensors


def simulate(
    plant: Any,
    controller: Any = None,
    reference: Any = None,
    duration: float = 10.0,
    rate: float = 1000.0,
    integrator: str = "rk4",
    substeps: int = 1,
    control: str = "sampled",
    sensors: Sensors | None = None,
    initial: Any = None,
    parameters: Any = None,
    settings: Mapping[str, Any] | None = None,
    tolerance: float = 1e-9,
    every: int = 1,
    seed: int = 0,
) -> Run:
    """Return a Run: the plant under a controller that follows a reference, dx/dt = f(x, tau), for `duration` seconds.

    `controller`: a law, a Program of some of (t, q, qd, q_des, qd_des, qdd_des, pi_hat) that gives tau (and dpi), a
    function (t, q, qd) -> tau, or None. `reference`: a reference (`Sinusoids`, `BSpline`, ...) or any t -> (q, qd, qdd).
    `control`: "sampled" holds the torque for each period 1 / rate; "continuous" has the law inside the integrator, its
    estimate integrated with the state. `integrator`: "euler" (the lecture's, with `substeps` as n_res), "semi_implicit",
    "midpoint", "rk4"; "rosenbrock", linearly implicit, for stiff springs; or "rk45", "dop853", "lsoda", "radau", "bdf" of
    SciPy with a relative `tolerance`. `initial`: (q, qd), or q at rest; by default the beginning of the reference, or zero.
    `parameters`: where a law's estimate starts. `settings`: values of a Program's other inputs (gains). `every`: keep every
    so many periods. Laws, programs and None run compiled, step after step in one call; Python functions, adaptive
    integrators and stiction go through Python in each period.

    The torque of an `ElasticPlant` is its motors', its laws see (theta, thetad) as well, and functions are called with (t, q, qd,
    theta, thetad). Its motors start where the springs bear the weight, unless `initial` has all positions, (q, theta).

    >>> import taupi as tp
    >>> arm = tp.load("elbow2r")
    >>> run = tp.simulate(tp.RigidPlant(arm), duration=1.0, rate=500, initial=[0.3, 0.5])
    >>> run.q.shape, bool(abs(run.residual).max() < 1e-6)
    ((501, 2), True)
    """
    starts, seeds = initial_rows(initial), [seed]
    jobs = Jobs(
        plant,
        reference,
        duration,
        rate,
        integrator,
        substeps,
        control,
        sensors,
        tolerance,
        every,
        threads=1,
        single=True,
    )
    made = Controller.of(controller, jobs.n, parameters)
    return jobs.run(made, starts, seeds, settings or {}, None)[0]


def simulate_many(
    plant: Any,
    controller: Any = None,
    reference: Any = None,
    duration: float = 10.0,
    rate: float = 1000.0,
    integrator: str = "rk4",
    substeps: int = 1,
    control: str = "sampled",
    sensors: Sensors | None = None,
    initial: Any = None,
    parameters: Any = None,
    settings: Mapping[str, Any] | None = None,
    payloads: Sequence[Any] | None = None,
    seeds: Sequence[int] | None = None,
    tolerance: float = 1e-9,
    every: int = 1,
    threads: int | None = None,
) -> RunBatch:
    """Return a RunBatch: as `simulate`, of many roll-outs at once, over the vector unit's lanes and the cores.

    What has a leading axis of B is of each roll-out: `initial` (B, n) or a pair of such, `parameters` (B, p), `settings`
    (B, ...), `payloads` (B of Payload, None, or lists of (time, Payload)), `seeds` (B,), and `controller` as a list of B
    laws (those that share a program share a batch). Everything else is shared. A Python function is called with (t,
    q, qd) of (B, n). `threads`: by default all cores.

    >>> import numpy as np, taupi as tp
    >>> plant = tp.RigidPlant(tp.load("elbow2r"))
    >>> batch = tp.simulate_many(plant, duration=0.2, rate=500, initial=np.linspace(0, 1, 10).reshape(5, 2))
    >>> batch.q.shape
    (5, 101, 2)
    """
    loaded = plant if payloads is None else loadable(plant, payloads)
    cores = os.cpu_count() or 1 if threads is None else threads
    jobs = Jobs(
        loaded, reference, duration, rate, integrator, substeps, control, sensors, tolerance, every, cores, single=False
    )
    laws = list(controller) if isinstance(controller, list | tuple) else [controller]
    made = [Controller.of(law, jobs.n, parameters) for law in laws]
    starts = initial_rows(initial)
    given = {k: np.asarray(v, dtype=float) for k, v in (settings or {}).items()}
    shapes = {p.name: len(p.shape) for p in made[0].settings(jobs.continuous)}
    counts = [len(s) for s in starts if s is not None] + [len(seeds or [0]), len(payloads or [0]), len(laws)]
    counts += [len(v) for k, v in given.items() if v.ndim > shapes.get(k, v.ndim)]
    counts += [len(made[0].start)] if made[0].start is not None and made[0].start.ndim == 2 else []
    batch = max(counts, default=1)
    if any(c not in (1, batch) for c in counts):
        raise TaupiError(f"The batch has {batch} roll-outs, but some arguments have {sorted(set(counts))} rows.")
    each = list(range(batch)) if seeds is None else [*seeds, *[seeds[0]] * (batch - len(seeds))]
    spread = [None if s is None else np.broadcast_to(s, (batch, s.shape[1])) for s in starts]
    if len(made) == 1:
        return RunBatch(tuple(jobs.run(made[0], (spread[0], spread[1]), each, given, payloads, batch)))
    return RunBatch(_grouped(jobs, made, (spread[0], spread[1]), each, given, payloads))


def _grouped(
    jobs: Jobs, made: list[Controller], starts: Start, seeds: list[int], given: Any, payloads: Any
) -> tuple[Run, ...]:
    """Return the runs of one controller each; those of the same program are one batch."""
    groups: dict[int, list[int]] = {}
    for k, controller in enumerate(made):
        groups.setdefault(id(controller.step) if controller.step else -1 - k, []).append(k)
    runs: dict[int, Run] = {}
    for members in groups.values():
        q, qd = (None if s is None else s[members] for s in starts)
        settings = {k: v[members] if len(v) == len(made) else v for k, v in given.items()}
        loads = None if payloads is None else [payloads[k] for k in members]
        done = jobs.run(made[members[0]], (q, qd), [seeds[k] for k in members], settings, loads, len(members))
        runs |= dict(zip(members, done, strict=True))
    return tuple(runs[k] for k in range(len(made)))
