"""The verbs `simulate`, `simulate_many` and `simulate_summary`: one roll-out, or many in the same way."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from taupi.deprecation import renamed
from taupi.dynamics.types import ArrayLike
from taupi.errors import Message, TaupiError
from taupi.program.targets.cuda import CudaDevice
from taupi.settings import settle, without_none
from taupi.signals.log import Log
from taupi.simulation.controller import Controller, ControllerLike, held_torque
from taupi.simulation.horizon import Horizon, HorizonOptions
from taupi.simulation.plants.driven_plant import DrivenPlant
from taupi.simulation.plants.plant import Plant
from taupi.simulation.references import ReferenceLike
from taupi.simulation.rollouts.batch import (
    Batch,
    BatchOptions,
    Ensemble,
    Initial,
    PayloadLike,
    Scenario,
    Values,
    link_changes,
    loadable,
    with_links,
)
from taupi.simulation.rollouts.compiled_rollout import roll_out, summarise
from taupi.simulation.rollouts.device_rollout import refuse_what_needs_python, roll_out_on, summarise_on
from taupi.simulation.rollouts.results import RunSummary, late_period, runs_of, summary_of
from taupi.simulation.rollouts.rollout import set_up
from taupi.simulation.rollouts.stepwise_rollout import step_out
from taupi.simulation.run import ListedRuns, Run, RunBatch, Runs
from taupi.simulation.sensors import Sensors

if TYPE_CHECKING:
    from typing_extensions import Unpack


@renamed(settings="inputs")
def simulate(
    plant: Plant | DrivenPlant,
    controller: ControllerLike = None,
    reference: ReferenceLike | Log | None = None,
    duration: float | None = None,
    rate: float | None = None,
    integrator: str | None = None,
    substeps: int | None = None,
    control: str | None = None,
    sensors: Sensors | None = None,
    initial: Initial = None,
    parameters: ArrayLike | None = None,
    inputs: Values | None = None,
    *,
    seed: int = 0,
    horizon: Horizon | None = None,
    **options: Unpack[HorizonOptions],
) -> Run:
    """Return a Run: the plant under a controller that follows a reference, dx/dt = f(x, tau).

    Laws, programs and None run compiled, all steps in one call; Python functions, adaptive steps and stiction go through Python
    in each period.

    Args:
        plant: A `RigidPlant` or an `ElasticPlant`. The torque of the latter is its motors', its laws see (theta, thetad) as well,
            and functions are called with (t, q, qd, theta, thetad). Or a `DrivenPlant`, whose drives have a law of their own: it
            takes `reference`, `duration`, `rate` and `initial` alone, in steps of its own.
        controller: A law, a Program of some of (t, q, qd, q_des, qd_des, qdd_des, pi_hat) that gives tau (and dpi), a function
            (t, q, qd) -> tau, an array of torques (N, n) in N m or N, or None (the default) for no torque. Row i of an array is
            held over control period i; rows beyond the last period are not used (the lecture's Euler scheme, equations.md, D18).
            Gains of a law that are too high for the rate are warned of.
        reference: A motion to follow (`Sinusoids`, `BSpline`, ...), a function t -> (q, qd, qdd), or None (the default).
            To a `DrivenPlant` it is commanded at `rate`; or a log, whose commands are sent at its own times.
        duration: Length of the simulation, s; by default 10. This and the following four are fields of `horizon`.
        rate: Control periods per second, Hz; by default 1000.
        integrator: "rk4" by default; the others are in `Horizon`.
        substeps: Fixed steps per control period; by default 1.
        control: "sampled" (the default) holds the torque for each control period, "continuous" does not.
        sensors: The sensors through which the controller sees the plant; by default it sees the plant itself.
        initial: q (n,) at rest, or (q, qd), rad or m and seconds; by default the beginning of the reference, or zero. Motors
            start where the springs carry the weight, unless it has all positions, (q, theta).
        parameters: Where a law's estimate starts, (p,); by default at the robot's own parameters.
        inputs: Values of a Program's other inputs by name, such as gains.
        seed: Seed of the sensors' noise, by default 0.
        horizon: All fields of `taupi.Horizon` at once, instead of by keywords.
        **options: Other fields of `horizon`: `tolerance` and `every`.

    Returns:
        The run: signals at each kept period, the energy audit, and notes.

    >>> import taupi as tp
    >>> arm = tp.load("elbow2r")
    >>> run = tp.simulate(tp.RigidPlant(arm), duration=1.0, rate=500, initial=[0.3, 0.5])
    >>> run.q.shape, bool(abs(run.residual).max() < 1e-6)
    ((501, 2), True)
    """
    timing = without_none(duration=duration, rate=rate, integrator=integrator, substeps=substeps, control=control)
    if isinstance(plant, DrivenPlant):
        law = without_none(controller=controller, sensors=sensors, parameters=parameters, inputs=inputs)
        return plant.run(reference, _own_times(plant, reference, {**law, **timing, **options}, horizon), initial)
    if isinstance(reference, Log):
        raise TaupiError(
            "{reference} is a log, whose commands only a DrivenPlant takes.",
            remedy="For its motion, use taupi.SampledMotion.",
        )
    (horizon,) = settle(simulate, {**options, **timing}, (Horizon, horizon))
    scenario = Scenario(plant, reference, horizon, sensors, single=True)
    held = held_torque(controller, scenario.n, horizon, several=False)
    controllers = [Controller.of(held, scenario.n, parameters)]
    batch = Batch.of(controllers, horizon, initial, inputs, seeds=[seed])
    if batch.size > 1:
        raise TaupiError(
            "{initial}, parameters or inputs are given for {size} roll-outs, expected one: use taupi.simulate_many.",
            size=batch.size,
        )
    return _runs(scenario, controllers, batch)[0]


@renamed(settings="inputs")
def simulate_many(
    plant: Plant,
    controller: ControllerLike = None,
    reference: ReferenceLike | None = None,
    duration: float | None = None,
    rate: float | None = None,
    integrator: str | None = None,
    substeps: int | None = None,
    control: str | None = None,
    sensors: Sensors | None = None,
    initial: Initial = None,
    parameters: ArrayLike | None = None,
    inputs: Values | None = None,
    payloads: Sequence[PayloadLike] | None = None,
    seeds: Sequence[int] | None = None,
    *,
    horizon: Horizon | None = None,
    ensemble: Ensemble | None = None,
    **options: Unpack[BatchOptions],
) -> RunBatch:
    """Return a RunBatch: B roll-outs at once, over the vector unit's lanes and the cores, each as `simulate` returns it.

    Args:
        plant: As in `simulate`.
        controller: As in `simulate`; also a list of B laws, of which those that share a program share a batch. A Python
            function is called with (t, q, qd), the latter two (B, n); an array of torques is (N, n) for all, or (B, N, n) if
            another argument also has B rows.
        reference: As in `simulate`.
        duration: With `rate`, `integrator`, `substeps` and `control` as in `simulate`.
        rate: Control periods per second, Hz; by default 1000.
        integrator: As in `simulate`.
        substeps: Fixed steps per control period; by default 1.
        control: "sampled" (the default) or "continuous".
        sensors: As in `simulate`.
        initial: Positions (B, n) at rest, or a pair (q, qd) of such arrays, rad or m and seconds. This and the following four are
            fields of `ensemble`; what has no leading axis of B is the same for all.
        parameters: Where the estimate of a law starts, (B, p).
        inputs: Values of a Program's other inputs by name, (B, ...).
        payloads: B entries, each a Payload, None, or a list of (time in s, Payload).
        seeds: Seeds (B,) of the sensors' noise; by default 0 to B - 1.
        horizon: All fields of `taupi.Horizon` at once, instead of by keywords.
        ensemble: All fields of `taupi.ensembles.Ensemble` at once, instead of by keywords.
        **options: Other fields of both: `tolerance`, `every`; `links`, `threads`, `device`.

    >>> import numpy as np, taupi as tp
    >>> plant = tp.RigidPlant(tp.load("elbow2r"))
    >>> batch = tp.simulate_many(plant, duration=0.2, rate=500, initial=np.linspace(0, 1, 10).reshape(5, 2))
    >>> batch.q.shape
    (5, 101, 2)
    """
    timing = without_none(duration=duration, rate=rate, integrator=integrator, substeps=substeps, control=control)
    starts = without_none(initial=initial, parameters=parameters, inputs=inputs, payloads=payloads, seeds=seeds)
    horizon, ensemble = settle(simulate_many, {**options, **timing, **starts}, (Horizon, horizon), (Ensemble, ensemble))
    return RunBatch(_runs(*_prepared(plant, controller, reference, sensors, horizon, ensemble)))


def simulate_summary(
    plant: Plant,
    controller: ControllerLike = None,
    reference: ReferenceLike | None = None,
    duration: float | None = None,
    rate: float | None = None,
    integrator: str | None = None,
    substeps: int | None = None,
    control: str | None = None,
    sensors: Sensors | None = None,
    initial: Initial = None,
    parameters: ArrayLike | None = None,
    inputs: Values | None = None,
    payloads: Sequence[PayloadLike] | None = None,
    seeds: Sequence[int] | None = None,
    *,
    late: float = 0.8,
    horizon: Horizon | None = None,
    ensemble: Ensemble | None = None,
    **options: Unpack[BatchOptions],
) -> RunSummary:
    """Return a RunSummary: the results of B roll-outs without their records, so that there may be a hundred thousand of them.

    Args:
        plant: As in `simulate`.
        controller: As in `simulate`; one law or Program for all.
        reference: As in `simulate`.
        duration: With `rate`, `integrator`, `substeps` and `control` as in `simulate`.
        rate: Control periods per second, Hz; by default 1000.
        integrator: As in `simulate`.
        substeps: Fixed steps per control period; by default 1.
        control: "sampled" (the default) or "continuous".
        sensors: As in `simulate`.
        initial: Positions (B, n) at rest, or a pair (q, qd) of such arrays, rad or m and seconds. This and the following four are
            fields of `ensemble`; what has no leading axis of B is the same for all.
        parameters: Where the estimate of a law starts, (B, p).
        inputs: Values of a Program's other inputs by name, (B, ...).
        payloads: B entries, each a Payload, None, or a list of (time in s, Payload).
        seeds: Seeds (B,) of the sensors' noise; by default 0 to B - 1.
        late: Errors after this share of the duration are also reported separately, by default 0.8: in the last fifth.
        horizon: All fields of `taupi.Horizon` at once, instead of by keywords.
        ensemble: All fields of `taupi.ensembles.Ensemble` at once, instead of by keywords.
        **options: Other fields of both: `tolerance`, `every`; `links`, `threads`, `device`.

    >>> import numpy as np, taupi as tp
    >>> arm = tp.load("elbow2r")
    >>> motion = tp.Sinusoids([0, 0], [[0.5], [0.4]], [[2.0], [3.0]])
    >>> starts = motion(0.0).q + np.linspace(-0.2, 0.2, 6).reshape(3, 2)
    >>> summary = tp.ensembles.simulate_summary(tp.RigidPlant(arm), tp.ComputedTorque(arm), motion, duration=2.0, initial=starts)
    >>> summary.rms_error.shape, bool((summary.late_error < summary.rms_error).all())
    ((3, 2), True)
    """
    timing = without_none(duration=duration, rate=rate, integrator=integrator, substeps=substeps, control=control)
    starts = without_none(initial=initial, parameters=parameters, inputs=inputs, payloads=payloads, seeds=seeds)
    horizon, ensemble = settle(
        simulate_summary, {**options, **timing, **starts}, (Horizon, horizon), (Ensemble, ensemble)
    )
    scenario, controllers, batch = _prepared(plant, controller, reference, sensors, horizon, ensemble)
    if len(controllers) > 1:
        raise TaupiError(
            "{controller} is a list of {count}, expected one law for all roll-outs.", count=len(controllers)
        )
    rollout, _ = set_up(scenario, controllers[0], batch)
    if rollout.stepwise:
        raise TaupiError(
            "A summary is made of roll-outs in fixed steps.",
            remedy="Use {integrator='rk4'} and a law or a Program, or taupi.simulate_many.",
        )
    first_late = late_period(late, horizon)
    if ensemble.device == "cuda":
        return summary_of(scenario, rollout, summarise_on(_gpu(), rollout, first_late), first_late)
    return summary_of(scenario, rollout, summarise(rollout, first_late), first_late)


def _own_times(
    plant: DrivenPlant, reference: ReferenceLike | Log | None, given: Mapping[str, object], horizon: Horizon | None
) -> Horizon:
    """Return how long, and at which rate, a plant with drives of its own is commanded; refuse what its drives decide."""
    usual = Horizon() if horizon is None else Horizon(duration=horizon.duration, rate=horizon.rate)
    of_log = ("duration", "rate") if isinstance(reference, Log) else ()
    refused = [name for name in given if name not in ("duration", "rate") or name in of_log]
    refused += ["horizon"] if horizon is not None and (horizon != usual or of_log) else []
    if refused:
        raise TaupiError(
            "{plant} has its own law and steps ({drive}), and a log its own times: leave {refused:,} out.",
            drive=plant.drive,
            refused=refused,
        )
    (settled,) = settle(simulate, given, (Horizon, horizon))
    return settled


def _prepared(
    plant: Plant,
    controller: ControllerLike,
    reference: ReferenceLike | None,
    sensors: Sensors | None,
    horizon: Horizon,
    ensemble: Ensemble,
) -> tuple[Scenario, list[Controller], Batch]:
    """Return what roll-outs share, with a plant that has room for payloads and other links, their controllers, and the batch."""
    scenario = Scenario(plant, reference, horizon, sensors, ensemble.threads, device=ensemble.device)
    bodies = None
    if ensemble.payloads is not None:
        scenario = dataclasses.replace(scenario, plant=loadable(scenario.plant, ensemble.payloads))
    if ensemble.links is not None:
        scenario = dataclasses.replace(scenario, plant=with_links(scenario.plant))
        bodies = link_changes(scenario.plant, ensemble.links)
    held = held_torque(controller, scenario.n, horizon)
    laws = held if isinstance(held, list | tuple) else [held]
    controllers = [Controller.of(law, scenario.n, ensemble.parameters) for law in laws]
    each = (ensemble.initial, ensemble.inputs, ensemble.payloads, ensemble.seeds)
    return scenario, controllers, Batch.of(controllers, horizon, *each, bodies)


@lru_cache(maxsize=1)
def _gpu() -> CudaDevice:
    return CudaDevice(on_cpu=Message("Use {device='cpu'}."))


def _runs(scenario: Scenario, controllers: Sequence[Controller], batch: Batch) -> Runs:
    """Return the runs of a batch, of one controller for all or one for each; those with the same program go together."""
    if len(controllers) == 1:
        return _runs_of_one(scenario, controllers[0], batch)
    groups: dict[int, list[int]] = {}
    for k, controller in enumerate(controllers):
        groups.setdefault(id(controller.step) if controller.step else -1 - k, []).append(k)
    runs: dict[int, Run] = {}
    for members in groups.values():
        controller = controllers[members[0]].of_members(members)
        part = batch.of_members(members, controller.other_inputs(scenario.horizon.continuous))
        runs |= dict(zip(members, _runs_of_one(scenario, controller, part), strict=True))
    return ListedRuns(runs[k] for k in range(batch.size))


def _runs_of_one(scenario: Scenario, controller: Controller, batch: Batch) -> Runs:
    rollout, notes = set_up(scenario, controller, batch)
    if scenario.device == "cuda":
        refuse_what_needs_python(rollout)
        records = roll_out_on(_gpu(), rollout)
    else:
        records = step_out(rollout) if rollout.stepwise else roll_out(rollout)
    return runs_of(scenario, rollout, records, notes)
