"""What an adaptive law has learnt of a payload: the mass whose torque best matches the estimate's torque beyond the bare arm's.

With d = pi_hat - pi of the bare arm and l the parameters that one kilogram of the payload adds,

    mass = argmin_m sum_k ||Y_k (d - m l)||^2 = l^T G d / (l^T G l),   G = sum_k Y_k^T Y_k

over states k of the run. So directions of the estimate that the motion does not excite do not count: no law learns them.
"""

from __future__ import annotations

import numpy as np

from taupi.control.parameter_choice import ParameterChoice
from taupi.regressors.classical import regressor
from taupi.simulation.plants.plant import ArmPlant, Payload
from taupi.simulation.run import Run

STATES = 400  # samples of the run, evenly spread, over which torques are compared


def carried_payload(plant: ArmPlant) -> Payload | None:
    """Return the last payload that a plant carries, None if it carries none, or if several links carry some."""
    carried = [payload for _, payload in plant.payloads if payload is not None]
    return carried[-1] if carried and len(plant.loads) == 1 else None


def true_mass(plant: ArmPlant, time: np.ndarray) -> np.ndarray:
    """Return the mass that a plant carries at times (N,), (N,) in kg."""
    mass = np.zeros(len(time))
    for since, payload in plant.payloads:
        mass[time * (1 + 1e-12) >= since] = 0.0 if payload is None else payload.mass
    return mass


def estimated_mass(run: Run, choice: ParameterChoice, payload: Payload) -> np.ndarray | None:
    """Return the mass of a payload that the estimate of a run amounts to, (N,) in kg; None if no torque depends on it."""
    if run.parameters is None:
        return None
    robot, names = choice.robot, choice.full.names
    states = np.unique(np.linspace(0, len(run) - 1, STATES).astype(int))
    Y = regressor(robot, terms=choice.terms).compile("numpy")(run.q[states], run.qd[states], run.qdd[states])
    link, body = payload.on(robot)
    per_kilogram = np.zeros(len(names))
    per_kilogram[robot.parameters.layout.link(link)] = body / payload.mass
    shown = Y @ per_kilogram  # (k, n): the torque of one kilogram
    size = float((shown**2).sum())
    if not size > 0:
        return None
    weights = np.einsum("ki,kip->p", shown, Y[..., list(choice.places)]) / size
    mass: np.ndarray = (run.parameters - choice.values_of(choice.full.values)) @ weights
    return mass
