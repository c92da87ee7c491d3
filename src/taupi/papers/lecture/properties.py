"""The lecture's general statements: properties of M, C and g, and two ways to find the terms; at random states."""

from __future__ import annotations

from typing import Any

import numpy as np

from taupi.dynamics.closed_form import newton_euler_matrices
from taupi.dynamics.coriolis import coriolis_matrix
from taupi.dynamics.energy import potential_energy
from taupi.dynamics.forward import forward_dynamics
from taupi.dynamics.inverse import bias_torque, gravity_torque, inverse_dynamics
from taupi.dynamics.mass_matrix import christoffel_symbols, mass_matrix, mass_matrix_derivative
from taupi.model.load import load
from taupi.model.robot import Robot
from taupi.papers.study import Row, compared, holding, off, statement
from taupi.simulation.plants.rigid_plant import RigidPlant
from taupi.simulation.simulate import simulate

PROPERTIES, METHODS = "properties", "dynamic terms"


def property_rows() -> list[Row]:
    """Return what the lecture says about every arm."""
    robot = load("puma560")
    q, qd, qdd = np.random.default_rng(4).uniform(-1, 1, (3, 50, robot.n))
    return [*_coriolis(robot, q, qd), *_methods(robot, q, qd, qdd), *_gravity()]


def _coriolis(robot: Robot, q: np.ndarray, qd: np.ndarray) -> list[Row]:
    M, rate = mass_matrix(robot)(q), mass_matrix_derivative(robot)(q, qd)
    forms = ("christoffel", "mdot_minus_half_u", "ut_minus_half_u")
    C = {form: coriolis_matrix(robot, form=form)(q, qd) for form in forms}
    c = bias_torque(robot.with_gravity((0, 0, 0)))(q, qd)
    skew = {form: off(rate - 2 * x, -np.swapaxes(rate - 2 * x, 1, 2)) for form, x in C.items()}
    same = max(off(np.einsum("kij,kj->ki", x, qd), c) for x in C.values())
    size = np.einsum("ki,kij,kj->k", qd, rate, qd)
    passive = max(
        np.abs(np.einsum("ki,kij,kj->k", qd, rate - 2 * x, qd)).max() / np.abs(size).max() for x in C.values()
    )
    low = float(np.linalg.eigvalsh(M).min())
    others = min(skew[f] for f in forms[1:])
    standard = C["christoffel"]
    document = christoffel_symbols(robot)(q[0]).transpose(1, 2, 0)  # its symbol carries the equation last
    first, last = (off(s, np.swapaxes(s, 1, 2)) for s in (document, document.transpose(2, 0, 1)))
    slices = "Gamma_ijk carries the equation's index last"
    symmetric = off(M, np.swapaxes(M, 1, 2)) < 1e-12 < low
    definite, lopsided = "off by less than 1e-12, least eigenvalue above", "off by more than 1e-3"
    facts = [
        ("C qd, of all three C", "c", same),
        ("qd' (Mdot - 2C) qd, of all three C", "0", passive),
        ("Mdot - 2C of the standard C, less its negative transpose", "0", skew["christoffel"]),
        ("Mdot", "C + C' of the standard C", off(standard + np.swapaxes(standard, 1, 2), rate)),
    ]
    return [
        statement(
            "M", "symmetric, positive definite", f"least eigenvalue {low:.2e}", symmetric, PROPERTIES, rule=definite
        ),
        *holding(PROPERTIES, facts),
        statement(
            "Mdot - 2C of the other two C",
            "not standard",
            f"not skew: {others:.1e}",
            others > 1e-3,
            PROPERTIES,
            rule=lopsided,
        ),
        compared("symmetric slices of Gamma_ijk", "over i", "over k", first, last, "Lagrangian", slices),
    ]


def _methods(robot: Robot, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> list[Row]:
    """Method 1, stacked matrices; method 2, inverse dynamics with most of its inputs zero; forward dynamics."""
    torque = inverse_dynamics(robot)
    weightless = inverse_dynamics(robot.with_gravity((0, 0, 0)))
    zero = np.zeros_like(q)
    M, g = mass_matrix(robot)(q), gravity_torque(robot)(q)
    units = np.stack([weightless(q, zero, np.broadcast_to(e, q.shape)) for e in np.eye(robot.n)], axis=-1)
    stacked = [_closed(robot, x) for x in q[:10]]
    tau = torque(q, qd, qdd)
    back = forward_dynamics(robot)(q, qd, tau)
    other = inverse_dynamics(robot, algorithm="closed_form")(q, qd, qdd)
    facts = [
        ("M, by stacked matrices", "A' L' G L A", off(np.array(stacked), M[:10])),
        ("tau, by stacked matrices", "A' F", off(other, tau)),
        ("M, column by column", "tau of unit accelerations", off(units, M)),
        ("g", "tau at rest", off(torque(q, zero, zero), g)),
        ("forward dynamics", "M^-1 (tau - b)", off(back, qdd)),
    ]
    return holding(METHODS, facts)


def _closed(robot: Robot, q: Any) -> np.ndarray:
    A, G, _, L = newton_euler_matrices(robot)(q)
    M: np.ndarray = A.T @ L.T @ G @ L @ A
    return M


def _gravity() -> list[Row]:
    arm = load("lecture2r")
    run = simulate(RigidPlant(arm), duration=1.0, rate=2000.0, initial=[0.3, 0.5])
    power = np.einsum("ki,ki->k", gravity_torque(arm)(run.q), run.qd)
    work = float(((power[1:] + power[:-1]) / 2 * np.diff(run.time)).sum())
    height = potential_energy(arm)(run.q)
    low, high = float(potential_energy(arm)([-1.5, 0.0])), float(potential_energy(arm)([1.5, 0.0]))
    datum = "its zero is where one puts it, so it has any sign"
    gap, rule = off(work, height[-1] - height[0]), 1e-5  # the trapezoidal rule over half a millisecond
    return [
        compared(
            "work of g along a swing of 1 s", "P(end) - P(start)", "", gap, None, PROPERTIES, "", rule, "trapezoids"
        ),
        statement(
            "potential energy",
            "in R+",
            f"{low:.3g} J to {high:.3g} J",
            low >= 0,
            PROPERTIES,
            datum,
            rule="never negative",
        ),
    ]
