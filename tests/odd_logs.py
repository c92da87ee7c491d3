"""Logs as they come from machines: text columns, names in German, degrees, milliseconds, decimal commas."""

from pathlib import Path

import numpy as np

import taupi as tp

HEADING = "Zeitstempel;Betriebsart;Achse1_Ist;Achse2_Ist;Moment_A1;Moment_A2;Bemerkung"


def write_odd_log(path: Path, seed: int = 1, rows: int = 1200, heading: str = HEADING) -> tp.Log:
    """Write a log of the built-in elbow2r with friction, and return what it holds in SI units."""
    arm = tp.load("elbow2r").with_friction(viscous=[0.5, 0.3], coulomb=[0.8, 0.4])
    t = np.arange(rows) * 0.01
    q, qd, qdd = tp.BSpline.random([0.0, 0.0], [1.6, 1.6], count=20, duration=rows * 0.01, seed=seed)(t)
    tau = tp.inverse_dynamics(arm, terms=("viscous", "coulomb"))(q, qd, qdd)
    tau = tau + 0.1 * np.random.default_rng(seed).normal(size=q.shape)
    lines = [heading]
    for k in range(rows):
        numbers = [f"{v:.5f}".replace(".", ",") for v in (*np.degrees(q[k]), *tau[k])]
        lines.append(";".join([f"{1e3 * t[k]:.0f}", "AUTO", *numbers, "läuft"]))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tp.Log(t, q, tau=tau, names=arm.joint_names)
