"""From the records of a roll-out to runs: cut where they end, with an energy audit and where they come from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from taupi.errors import warn
from taupi.model.robot import Robot
from taupi.simulation.references import Motion
from taupi.simulation.rollouts.batch import Scenario
from taupi.simulation.rollouts.loop import Loop
from taupi.simulation.rollouts.rollout import Records, Rollout
from taupi.simulation.run import Run
from taupi.version import __version__

TAME = 1e6  # a state below this has not diverged: a torque that is not finite then comes from the controller itself


def runs_of(scenario: Scenario, rollout: Rollout, records: Records, notes: Sequence[str]) -> list[Run]:
    """Return the roll-outs as runs; `notes` are those that they all share."""
    records = records | _audit(rollout, records)
    motion = rollout.motion
    kept = None if motion is None else Motion(*(v[:: rollout.horizon.every] for v in motion))
    provenance = provenance_of(scenario, rollout.loop)
    return [_run(rollout, records, kept, notes, provenance, b) for b in range(rollout.batch)]


def _run(
    rollout: Rollout,
    records: Records,
    motion: Motion | None,
    notes: Sequence[str],
    provenance: dict[str, Any],
    b: int,
) -> Run:
    """Return one of the roll-outs as a Run, cut where it stopped being finite."""
    loop, horizon, robot = rollout.loop, rollout.horizon, rollout.loop.plant.robot
    n, first, last = loop.n, loop.positions, loop.positions + loop.plant.size
    z = records["z"][:, b]
    good = np.isfinite(z).all(axis=1) & np.isfinite(records["qdd"][:, b]).all(axis=1)
    rows = len(z) if good.all() else int(np.argmin(good))
    complete = rows == horizon.rows
    own = {name: value[:rows, b] for name, value in records.items()}
    if rollout.batch > 1:  # a copy, not a view of the array of all runs
        own = {name: np.array(value) for name, value in own.items()}
    p, v, energy = own["z"][:, :first], own["z"][:, first:last], own["z"][:, loop.parts["energy"]]
    estimate = own["z"][:, loop.parts["pi_hat"]][:, : loop.controller.estimated]
    channels = {name[4:]: value for name, value in own.items() if name.startswith("law_")}
    return Run(
        np.arange(rows) * horizon.every / horizon.rate,
        _unit_quaternions(robot, p[:, : robot.nq].copy()),
        v[:, :n].copy(),
        own["qdd"],
        own["tau"],
        own["tau_command"],
        None if motion is None else Motion(*(v[:rows] for v in motion)),
        Motion(own["q_seen"], own["qd_seen"], None) if "q_seen" in own else None,
        estimate.copy() if loop.controller.size else None,
        own["energy"],
        energy[:, 0].copy(),
        energy[:, 1].copy(),
        own["residual"],
        channels=_shaped(channels, loop),
        names=robot.joint_names,
        units=tuple("m" if slides else "rad" for slides in robot.slides),
        position_names=robot.position_names if robot.multiple_joints else (),
        parameter_names=loop.controller.labels,
        complete=complete,
        notes=(*notes,) if complete else (*notes, _ended(rollout, records, b, rows)),
        provenance=provenance | {"seed": int(rollout.seeds[b % len(rollout.seeds)])},
        theta=p[:, loop.motors] if loop.motors else None,
        thetad=v[:, loop.motors] if loop.motors else None,
        thetadd=own.get("thetadd"),
        measured_motors=Motion(own["theta_seen"], own["thetad_seen"], None) if "theta_seen" in own else None,
    )


def _unit_quaternions(robot: Robot, q: np.ndarray) -> np.ndarray:
    """Return positions with quaternions of length one; the integrator keeps their length only approximately."""
    for joint in robot.multiple_joints:
        end = robot.position_index(joint.coordinate) + joint.size
        q[:, end - 4 : end] /= np.linalg.norm(q[:, end - 4 : end], axis=1, keepdims=True)
    return q


def _ended(rollout: Rollout, records: Records, b: int, rows: int) -> str:
    """Warn of a roll-out that ended early, and return the note that says why."""
    which, z = "" if rollout.single else f" (roll-out {b})", records["z"][:, b]
    period = rollout.horizon.every / rollout.horizon.rate
    tame = rows < len(z) and bool(np.abs(z[rows]).max() < TAME)  # also false if it is not finite
    if tame and not np.isfinite(records["tau_command"][rows, b]).all():
        note = f"the controller gave a torque that is not finite at {rows * period:g} s"
        warn(f"{note.capitalize()}{which}; the run is kept up to there.")
        return note
    last = max(rows - 1, 0) * period
    warn(f"The loop diverged after {last:g} s{which}; the run is kept up to there: lower the gains, or raise the rate.")
    return f"diverged: not finite after {last:g} s"


def provenance_of(scenario: Scenario, loop: Loop) -> dict[str, Any]:
    """Return where runs come from: the robot, the plant, the controller, the horizon and the sensors."""
    robot, horizon, reference = scenario.plant.robot, scenario.horizon, scenario.reference
    return {
        "version": __version__,
        "robot": robot.name,
        "fingerprint": robot.fingerprint,
        "plant": type(scenario.plant).__name__,
        "terms": [t.name for t in getattr(scenario.plant, "terms", ())],
        "controller": loop.controller.name,
        **horizon.to_dict(),
        "tolerance": horizon.tolerance if horizon.adaptive_steps else None,
        "reference": None if reference is None else str(getattr(reference, "__name__", type(reference).__name__)),
        "coordinates": "joints" if loop.controller.of_joints else "task",
        "sensors": None if scenario.sensors is None else repr(scenario.sensors),
    }


def _audit(rollout: Rollout, records: Records) -> Records:
    """Return the energy (rows, B) and the residual of d/dt (K + P) = qd^T tau - dissipation."""
    z, loop = records["z"], rollout.loop
    x, (work, heat) = np.ascontiguousarray(z[..., loop.parts["x"]]), np.moveaxis(z[..., loop.parts["energy"]], -1, 0)
    program = loop.plant.energy_program()
    if rollout.loads is None:
        energy = program(x)
    else:
        changes = rollout.change_steps()
        loads = [rollout.loads.at(k * rollout.dt) for k in (0, *changes)]
        current = np.searchsorted(changes, np.arange(len(z)) * rollout.horizon.every, side="right")
        energy = program(x, np.stack([np.broadcast_to(loads[c], (rollout.batch, loads[c].shape[1])) for c in current]))
    return {"energy": energy, "residual": energy - energy[0] - work + heat - records["jump"][..., 0]}


def _shaped(channels: Records, loop: Loop) -> Records:
    shapes = {p.name: p.shape for p in loop.controller.channels(loop.continuous)}
    return {name: value.reshape(len(value), *shapes[name]) for name, value in channels.items()}
