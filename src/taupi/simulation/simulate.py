"""The verbs `simulate`, `simulate_many` and `simulate_summary`: one roll-out, or many in the same way."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from taupi.deprecation import renamed
from taupi.dynamics.types import ArrayLike
from taupi.errors import Argument, TaupiError
from taupi.program.targets.cuda import CudaDevice
from taupi.settings import takes
from taupi.simulation.controller import Controller, ControllerLike, held_torque
from taupi.simulation.horizon import Horizon
from taupi.simulation.plants.plant import Plant
from taupi.simulation.references import ReferenceLike
from taupi.simulation.rollouts.batch import Batch, Initial, Scenario, Values
from taupi.simulation.rollouts.compiled_rollout import roll_out
from taupi.simulation.rollouts.device_rollout import refuse_what_needs_python, roll_out_on, summarise_on
from taupi.simulation.rollouts.ensemble import Ensemble
from taupi.simulation.rollouts.loads import link_changes, loadable, with_links
from taupi.simulation.rollouts.rollout_setup import set_up
from taupi.simulation.rollouts.runs_from_records import runs_of
from taupi.simulation.rollouts.stepwise_rollout import step_out
from taupi.simulation.rollouts.summary import summarise
from taupi.simulation.run import Run, RunBatch
from taupi.simulation.run_summary import RunSummary, late_period, summary_of
from taupi.simulation.sensors import Sensors

_HORIZON, _ALIKE = Horizon(), Ensemble()


@renamed(settings="inputs")
@takes(horizon=Horizon)
def simulate(
    plant: Plant,
    controller: ControllerLike = None,
    reference: ReferenceLike | None = None,
    horizon: Horizon = _HORIZON,
    sensors: Sensors | None = None,
    initial: Initial = None,
    parameters: ArrayLike | None = None,
    inputs: Values | None = None,
    *,
    seed: int = 0,
) -> Run:
    """Return a Run: the plant under a controller that follows a reference, dx/dt = f(x, tau).

    `plant`: a `RigidPlant` or an `ElasticPlant`.
    `controller`: a law, a Program of some of (t, q, qd, q_des, qd_des, qdd_des, pi_hat) that gives tau (and dpi), a
    function (t, q, qd) -> tau, an array of torques (N, n), or None for no torque. Row i of an array is held over control
    period i; rows beyond the last period are not used (the lecture's Euler scheme, equations.md, D18).
    `reference`: a motion to follow (`Sinusoids`, `BSpline`, ...), any function t -> (q, qd, qdd), or None.
    `sensors`: the sensors through which the controller sees the plant; by default it sees the plant itself.
    `initial`: (q, qd), or q at rest; by default the beginning of the reference, or zero.
    `parameters`: where a law's estimate starts; by default at the robot's own parameters.
    `inputs`: values of a Program's other inputs by name, such as gains.
    `seed`: of the sensors' noise.

    Laws, programs and None run compiled, all steps in one call; Python functions, adaptive steps and stiction go through Python
    in each period. The torque of an `ElasticPlant` is its motors', its laws see (theta, thetad) as well, and functions are called
    with (t, q, qd, theta, thetad). Its motors start where the springs carry the weight, unless `initial` has all positions, (q,
    theta).

    >>> import taupi as tp
    >>> arm = tp.load("elbow2r")
    >>> run = tp.simulate(tp.RigidPlant(arm), duration=1.0, rate=500, initial=[0.3, 0.5])
    >>> run.q.shape, bool(abs(run.residual).max() < 1e-6)
    ((501, 2), True)
    """
    scenario = Scenario(plant, reference, horizon, sensors, single=True)
    held = held_torque(controller, scenario.n, horizon, several=False)
    controllers = [Controller.of(held, scenario.n, parameters)]
    batch = Batch.of(controllers, horizon, initial, inputs, seeds=[seed])
    if batch.size > 1:
        raise TaupiError(
            Argument("initial"),
            f", parameters or inputs are those of {batch.size} roll-outs, expected one: use taupi.simulate_many.",
        )
    return _runs(scenario, controllers, batch)[0]


@renamed(settings="inputs")
@takes(horizon=Horizon, ensemble=Ensemble)
def simulate_many(
    plant: Plant,
    controller: ControllerLike = None,
    reference: ReferenceLike | None = None,
    horizon: Horizon = _HORIZON,
    sensors: Sensors | None = None,
    ensemble: Ensemble = _ALIKE,
) -> RunBatch:
    """Return a RunBatch: B roll-outs at once, over the vector unit's lanes and the cores, each as `simulate` returns it.

    What differs between the roll-outs is in the fields of `ensemble`, and in a `controller` that is a list of B laws (those that
    share a program share a batch). Everything else, such as `plant`, `reference` and `sensors`, is shared and is as in
    `simulate`. A Python function is called with (t, q, qd), the latter two (B, n); an array of torques is (N, n) for all, or (B,
    N, n) if another argument also has B rows.

    >>> import numpy as np, taupi as tp
    >>> plant = tp.RigidPlant(tp.load("elbow2r"))
    >>> batch = tp.simulate_many(plant, duration=0.2, rate=500, initial=np.linspace(0, 1, 10).reshape(5, 2))
    >>> batch.q.shape
    (5, 101, 2)
    """
    scenario, bodies = _scenario(plant, reference, horizon, sensors, ensemble)
    controllers = _controllers(controller, scenario, ensemble.parameters)
    batch = _batch(controllers, horizon, ensemble, bodies)
    return RunBatch(tuple(_runs(scenario, controllers, batch)))


@takes(horizon=Horizon, ensemble=Ensemble)
def simulate_summary(
    plant: Plant,
    controller: ControllerLike = None,
    reference: ReferenceLike | None = None,
    horizon: Horizon = _HORIZON,
    sensors: Sensors | None = None,
    ensemble: Ensemble = _ALIKE,
    *,
    late: float = 0.8,
) -> RunSummary:
    """Return a RunSummary: the results of B roll-outs without their records, so that there may be a hundred thousand of them.

    `plant`, `controller`, `reference`, `sensors` and `ensemble` are as in `simulate_many`; the controller is one law or Program
    for all.
    `late`: errors after this share of the duration are also reported separately, by default those of the last fifth.

    >>> import numpy as np, taupi as tp
    >>> arm = tp.load("elbow2r")
    >>> motion = tp.Sinusoids([0, 0], [[0.5], [0.4]], [[2.0], [3.0]])
    >>> starts = motion(0.0).q + np.linspace(-0.2, 0.2, 6).reshape(3, 2)
    >>> summary = tp.ensembles.simulate_summary(tp.RigidPlant(arm), tp.ComputedTorque(arm), motion, duration=2.0, initial=starts)
    >>> summary.rms_error.shape, bool((summary.late_error < summary.rms_error).all())
    ((3, 2), True)
    """
    scenario, bodies = _scenario(plant, reference, horizon, sensors, ensemble)
    controllers = _controllers(controller, scenario, ensemble.parameters)
    if len(controllers) > 1:
        raise TaupiError(
            Argument("controller"), f" is a list of {len(controllers)}, expected one law for all roll-outs."
        )
    batch = _batch(controllers, horizon, ensemble, bodies)
    rollout, _ = set_up(scenario, controllers[0], batch)
    if rollout.stepwise:
        raise TaupiError(
            "A summary is made of roll-outs in fixed steps.",
            remedy=("Use ", Argument("integrator", "rk4"), " and a law or a Program, or taupi.simulate_many."),
        )
    first_late = late_period(late, horizon)
    if ensemble.device == "cuda":
        return summary_of(scenario, rollout, summarise_on(_gpu(), rollout, first_late), first_late)
    return summary_of(scenario, rollout, summarise(rollout, first_late), first_late)


def _scenario(
    plant: Plant, reference: ReferenceLike | None, horizon: Horizon, sensors: Sensors | None, ensemble: Ensemble
) -> tuple[Scenario, np.ndarray | None]:
    """Return what roll-outs share, with a plant that has room for payloads and other links, and what these add."""
    scenario = Scenario(plant, reference, horizon, sensors, ensemble.threads, device=ensemble.device)
    if ensemble.payloads is not None:
        scenario = dataclasses.replace(scenario, plant=loadable(scenario.plant, ensemble.payloads))
    if ensemble.links is None:
        return scenario, None
    scenario = dataclasses.replace(scenario, plant=with_links(scenario.plant))
    return scenario, link_changes(scenario.plant, ensemble.links)


def _batch(controllers: Sequence[Controller], horizon: Horizon, ensemble: Ensemble, bodies: np.ndarray | None) -> Batch:
    each = (ensemble.initial, ensemble.inputs, ensemble.payloads, ensemble.seeds)
    return Batch.of(controllers, horizon, *each, bodies)


def _controllers(controller: ControllerLike, scenario: Scenario, parameters: ArrayLike | None) -> list[Controller]:
    held = held_torque(controller, scenario.n, scenario.horizon)
    laws = held if isinstance(held, list | tuple) else [held]
    return [Controller.of(law, scenario.n, parameters) for law in laws]


@lru_cache(maxsize=1)
def _gpu() -> CudaDevice:
    return CudaDevice(on_cpu=("Use ", Argument("device", "cpu"), "."))


def _runs(scenario: Scenario, controllers: Sequence[Controller], batch: Batch) -> list[Run]:
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
    return [runs[k] for k in range(batch.size)]


def _runs_of_one(scenario: Scenario, controller: Controller, batch: Batch) -> list[Run]:
    rollout, notes = set_up(scenario, controller, batch)
    if scenario.device == "cuda":
        refuse_what_needs_python(rollout)
        records = roll_out_on(_gpu(), rollout)
    else:
        records = step_out(rollout) if rollout.stepwise else roll_out(rollout)
    return runs_of(scenario, rollout, records, notes)
