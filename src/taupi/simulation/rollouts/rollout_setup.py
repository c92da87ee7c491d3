"""A roll-out made ready: its loop, its reference, and where each member of the batch starts."""

from __future__ import annotations

import math

import numpy as np

from taupi.dynamics.chain import neutral
from taupi.dynamics.quaternions import check_quaternions
from taupi.errors import Argument, TaupiError, TaupiWarning, shown, warn
from taupi.simulation.controller import Controller
from taupi.simulation.integrators import UNDAMPED
from taupi.simulation.motion_limits import broken_limits
from taupi.simulation.references import Motion, as_reference
from taupi.simulation.rollouts.batch import Batch, Scenario, input_rows
from taupi.simulation.rollouts.loop import Loop
from taupi.simulation.rollouts.rollout import ReferenceFunction, Rollout
from taupi.simulation.rollouts.sensing import first_memory, noise_deviations


def set_up(scenario: Scenario, controller: Controller, batch: Batch) -> tuple[Rollout, tuple[str, ...]]:
    """Return the roll-outs of one controller, and sentences about a reference that they cannot follow."""
    if controller.sees_motors and not getattr(scenario.plant, "motors", ()):
        plant = type(scenario.plant).__name__
        raise TaupiError(f"{controller.name} sees motors, but a {plant} has none: use taupi.ElasticPlant(robot).")
    horizon, sensors = scenario.horizon, scenario.sensors
    if getattr(scenario.plant, "positions", 0) > scenario.plant.size:
        _refuse_floating(scenario)
    if horizon.integrator == "rosenbrock" and horizon.continuous and controller.function is not None:
        raise TaupiError(
            Argument("integrator", "rosenbrock"),
            " differentiates the law, and a Python function cannot be differentiated.",
            remedy=("Use ", Argument("control", "sampled"), ", or another integrator."),
        )
    loop = Loop(scenario.plant, controller, sensors, horizon)
    reference = _reference(scenario, controller)
    times = np.arange(horizon.steps + 1) / horizon.rate
    motion = None if reference is None else _floats(reference(times))
    start = _start(loop, scenario, batch, reference)
    _warn_of_springs(scenario, start[:, : scenario.n])
    wanted = None if motion is None else motion.q
    deviations = None if sensors is None else noise_deviations(sensors, loop.joints, wanted)
    rollout = Rollout(
        loop,
        start,
        batch.seeds,
        reference,
        motion,
        deviations,
        input_rows(controller.other_inputs(horizon.continuous), batch.inputs, batch.size),
        batch.loads(scenario.plant),
        scenario.threads or 1,
        scenario.single,
    )
    return rollout, () if motion is None else _reference_warnings(scenario, controller, motion, times)


def _refuse_floating(scenario: Scenario) -> None:
    """Refuse what needs one position per velocity: references, sensors, some integrators, stiction."""
    name = scenario.plant.robot.name
    if scenario.reference is not None:
        raise TaupiError(
            Argument("reference"), f" is for joints with a motor each, and the base of {name} has none: leave it out."
        )
    if scenario.sensors is not None:
        raise TaupiError(
            Argument("sensors"), f" are encoders of joints, and the base of {name} has none: leave them out."
        )
    if scenario.horizon.integrator in ("semi_implicit", "rosenbrock") or getattr(scenario.plant, "stiction", False):
        message = f" cannot be {scenario.horizon.integrator!r} for quaternions, nor with stiction."
        raise TaupiError(Argument("integrator"), message, remedy=("Use ", Argument("integrator", "rk4"), "."))


def _reference(scenario: Scenario, controller: Controller) -> ReferenceFunction | None:
    if scenario.reference is not None:
        return as_reference(scenario.reference, controller.reference_size(scenario.n))
    if controller.needs_reference():
        raise TaupiError(f"{controller.name} follows a reference: give one, such as taupi.Sinusoids(...).")
    return None


def _floats(motion: Motion) -> Motion:
    return Motion(*(np.ascontiguousarray(v, dtype=float) for v in motion))


def _reference_warnings(
    scenario: Scenario, controller: Controller, motion: Motion, times: np.ndarray
) -> tuple[str, ...]:
    """Refuse a reference that is not finite; warn of one that no arm with this description could follow."""
    for name, value in zip(("q", "qd", "qdd"), motion, strict=True):
        if not np.isfinite(value).all():
            row = int(np.argmin(np.isfinite(value).all(axis=1)))
            raise TaupiError(f"reference({times[row]:g}) gives {name} that is not finite: {value[row]}.")
    of_law = controller.reference_warnings
    sentences = [] if of_law is None else list(of_law(motion, times))
    if controller.of_joints:
        sentences += broken_limits(scenario.plant, motion, times)
    for sentence in sentences:
        warn(f"{sentence[0].upper()}{sentence[1:]}.")
    return tuple(sentences)


def _warn_of_springs(scenario: Scenario, q: np.ndarray) -> None:
    """Warn if a step is too long for the fastest spring."""
    plant, horizon = scenario.plant, scenario.horizon
    if horizon.integrator not in UNDAMPED or not hasattr(plant, "fastest"):
        return
    most, swing = UNDAMPED[horizon.integrator], plant.fastest(q)
    step = horizon.dt / horizon.substeps
    if step * swing > most:
        enough = math.ceil(swing / horizon.rate / most * 1.5)
        problem = (
            f"A spring of {plant.robot.name} swings at {swing:.4g} rad/s, too fast for {horizon.integrator} in steps of "
            f"{step:.3g} s:"
        )
        remedy = ("use ", Argument("substeps", enough), " or more, or ", Argument("integrator", "rosenbrock"), ".")
        warn(TaupiWarning(problem, remedy=remedy))


# Where roll-outs start ------------------------------------------------------------------------------------------------


def _start(loop: Loop, scenario: Scenario, batch: Batch, reference: ReferenceFunction | None) -> np.ndarray:
    """Return z at the beginning of every roll-out, (B, size of z)."""
    plant, controller, sensors = scenario.plant, loop.controller, scenario.sensors
    n, size, q, qd = scenario.n, plant.size, batch.q, batch.qd
    if q is None and reference is not None and controller.of_joints:
        q, qd, _ = reference(np.zeros(1))
    for name, value, expected in (("q", q, (scenario.plant.robot.nq, loop.positions)), ("qd", qd, (n, size))):
        if value is not None and value.shape[-1] not in expected:
            raise TaupiError(
                Argument("initial"), f" {name} has shape {value.shape[1:]}, expected ({expected[0]},): one per joint."
            )
        if value is not None and not np.isfinite(value).all():
            raise TaupiError(Argument("initial"), f" {name} is {shown(value.tolist())}, expected finite numbers.")
    z = np.zeros((batch.size, loop.size))
    z[:, loop.parts["x"]] = _floating_state(scenario, q, qd) if loop.positions > size else _state(scenario, q, qd)
    if controller.start is not None:
        if not np.isfinite(controller.start).all():
            raise TaupiError(
                Argument("parameters"), " has entries that are not finite: an estimate has to start somewhere."
            )
        z[:, loop.parts["pi_hat"]] = controller.start
    if sensors is not None:
        memory = first_memory(z[:, :size], z[:, size : 2 * size], loop.dt, loop.sensor_delay)
        for name in set(memory) & set(loop.parts):
            z[:, loop.parts[name]] = memory[name]
    return z


def _floating_state(scenario: Scenario, q: np.ndarray | None, qd: np.ndarray | None) -> np.ndarray:
    """Return positions and velocities (1 or B, nq + n) of a robot with quaternions; without a q, there is no rotation."""
    robot = scenario.plant.robot
    q = neutral(robot)[None] if q is None else q
    joints = robot.multiple_joints
    starts = [robot.position_index(j.coordinate) + j.size - 4 for j in joints]
    check_quaternions(q, starts, [j.name for j in joints], Argument("initial"))
    qd = np.zeros((1, scenario.n)) if qd is None else qd
    rows = max(len(q), len(qd))
    return np.concatenate([np.broadcast_to(x, (rows, x.shape[1])) for x in (q, qd)], axis=-1)


def _state(scenario: Scenario, q: np.ndarray | None, qd: np.ndarray | None) -> np.ndarray:
    """Return positions and velocities (1 or B, 2 size) from those of the joints, or of all; 0 if none are given."""
    q = np.zeros((1, scenario.n)) if q is None else q
    qd = np.zeros((1, q.shape[-1])) if qd is None else qd
    if q.shape[-1] != qd.shape[-1]:
        raise TaupiError(
            Argument("initial"),
            f" has {q.shape[-1]} positions and {qd.shape[-1]} velocities, expected the same number of each.",
        )
    if q.shape[-1] < scenario.plant.size:
        q, qd = scenario.plant.started(*np.broadcast_arrays(q, qd))
    return np.concatenate(np.broadcast_arrays(q, qd), axis=-1)
