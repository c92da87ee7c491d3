"""The lecture's simulation: held torques and tip forces, by its Euler scheme and by an adaptive one.

The lecture prints no numbers. Ours are compared with a reference run, whose inputs and results are below, as printed in
tests/data/spec-dynamics-and-regressors.json.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from taupi.model.load import load
from taupi.papers.study import Picture, Row, Table, figure, own_runs
from taupi.simulation.plants.rigid_plant import RigidPlant
from taupi.simulation.run import Run
from taupi.simulation.simulate import simulate

ARM = {"L1": 0.8, "L2": 0.6, "m1": 1.5, "m2": 1.1, "g": 9.81}
N, N_RES, DT = 6, 4, 0.02
TAU = [[7.9108, 4.1721], [3.8001, -2.8876], [4.3667, 1.5135], [-0.1085, -7.6791], [-6.7736, 2.4153], [-6.7949, 6.1686]]
FORCE = [  # x and y at the tip, on the environment
    *([-1.6601, 1.3118], [0.3143, 0.4742], [0.3475, -1.903], [0.4821, -0.7212], [1.4031, -0.3508], [-1.9448, 0.1987])
]
START = ([0.3099, 0.5524], [0.8761, 0.7747])
# theta and its rate after the last interval; a first-order scheme has its own error, as it should.
ENDS = {
    "Euler, n_res = 4": ("0.35806739415395283", "0.6643652965197939", "-0.07214195994785358", "1.6965067910205804"),
    "adaptive": ("0.3556238030463823", "0.6670804612726675", "-0.07299917796782597", "1.7020606121910002"),
}
TOLERANCE = {"Euler, n_res = 4": (1e-11, "rounding"), "adaptive": (1e-9, "error of two adaptive integrators")}
NAMES = ("theta_1", "theta_2", "dtheta_1", "dtheta_2")


def lecture_run(integrator: str, substeps: int = 1) -> Run:
    """Return the run by an integrator; torque and force are held over each interval."""
    wrench = np.zeros((N, 6))
    wrench[:, 3:5] = FORCE
    plant = RigidPlant(load("lecture2r").bind(**ARM), wrench=wrench)

    def held(t: float, q: Any, qd: Any) -> list[float]:
        return TAU[round(t / DT)]

    settings: dict[str, Any] = {"substeps": substeps} if integrator == "euler" else {"tolerance": 1e-11}
    return simulate(plant, held, None, DT * (N - 1), 1 / DT, integrator, initial=START, **settings)


def simulation() -> tuple[list[Row], Table, Picture]:
    """Return the end of both runs beside the reference run's, the runs themselves, and a picture."""
    resolutions = {f"Euler, n_res = {k}": k for k in (N_RES, 16, 64)}
    runs = {name: lecture_run("euler", k) for name, k in resolutions.items()} | {"adaptive": lecture_run("dop853")}
    rows = []
    for name, printed in ENDS.items():
        allowed, reason = TOLERANCE[name]
        end = np.concatenate([runs[name].q[-1], runs[name].qd[-1]])
        for what, text, value in zip(NAMES, printed, end, strict=True):
            unit = "rad" if what.startswith("theta") else "rad/s"
            rows.append(figure(f"{name}: {what} after 0.1 s", text, float(value), unit, "", allowed, reason=reason))
    samples = [
        (name, float(t), *map(float, q), *map(float, qd))
        for name, run in runs.items()
        for t, q, qd in zip(run.time, run.q, run.qd, strict=True)
    ]
    table = Table("The runs", ("scheme", "time, s", *NAMES), tuple(samples))
    exact = runs["adaptive"]
    lines = {name: 1000 * (runs[name].qd - exact.qd)[:, 1] for name in resolutions}
    picture = Picture("dtheta_2, error of the Euler scheme", "mrad/s", exact.time, lines)
    return own_runs(rows), table, picture
