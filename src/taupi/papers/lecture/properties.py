"""The lecture's general statements: properties of M, C and g, and two ways to find the terms; at random states."""

from __future__ import annotations

import numpy as np

from taupi.dynamics.basis_tensors import spatial_cross
from taupi.dynamics.closed_form import moving_base_dynamics, newton_euler_matrices
from taupi.dynamics.coriolis import coriolis_matrix, velocity_gradient
from taupi.dynamics.energy import potential_energy
from taupi.dynamics.forward import forward_dynamics
from taupi.dynamics.inverse import bias_torque, gravity_torque, inverse_dynamics
from taupi.dynamics.kinematics import jacobian
from taupi.dynamics.mass_matrix import christoffel_symbols, mass_matrix, mass_matrix_derivative
from taupi.model.load import load
from taupi.model.robot import Robot
from taupi.papers.study import StudyRow, compared, holding, off, statement
from taupi.simulation.plants.rigid_plant import RigidPlant
from taupi.simulation.simulate import simulate

PROPERTIES, METHODS = "properties", "dynamic terms"


def property_rows() -> list[StudyRow]:
    """Return what the lecture says about every arm."""
    robot = load("puma560")
    q, qd, qdd = np.random.default_rng(4).uniform(-1, 1, (3, 50, robot.n))
    return [
        *_coriolis(robot, q, qd),
        *_methods(robot, q, qd, qdd),
        *_closed_forms(robot, q[0], qd[0], qdd[0]),
        *_gravity(),
    ]


def _coriolis(robot: Robot, q: np.ndarray, qd: np.ndarray) -> list[StudyRow]:
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


def _methods(robot: Robot, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> list[StudyRow]:
    """Method 1, stacked matrices; method 2, inverse dynamics with most of its inputs zero; forward dynamics."""
    torque = inverse_dynamics(robot)
    weightless = inverse_dynamics(robot.with_gravity((0, 0, 0)))
    zero = np.zeros_like(q)
    M, g = mass_matrix(robot)(q), gravity_torque(robot)(q)
    units = np.stack([weightless(q, zero, np.broadcast_to(e, q.shape)) for e in np.eye(robot.n)], axis=-1)
    A, G, _, L = newton_euler_matrices(robot)(q[:10])
    LA = L @ A
    stacked = np.swapaxes(LA, 1, 2) @ G @ LA
    tau = torque(q, qd, qdd)
    back = forward_dynamics(robot)(q, qd, tau)
    other = inverse_dynamics(robot, algorithm="closed_form")(q, qd, qdd)
    facts = [
        ("M, by stacked matrices", "A' L' G L A", off(stacked, M[:10])),
        ("tau, by stacked matrices", "A' F", off(other, tau)),
        ("M, column by column", "tau of unit accelerations", off(units, M)),
        ("g", "tau at rest", off(torque(q, zero, zero), g)),
        ("forward dynamics", "M^-1 (tau - b)", off(back, qdd)),
    ]
    return holding(METHODS, facts)


def _closed_forms(robot: Robot, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> list[StudyRow]:
    """Stacked matrices, Kronecker products, tip force and moving base, at one state; and three sizes."""
    from scipy.linalg import block_diag

    n, rng = robot.n, np.random.default_rng(5)
    A, G, W, L = newton_euler_matrices(robot)(q)
    V = L @ A @ qd
    # [ad_V] (6, 6) of a twist V = (w, v) is V x.
    ad_joints = block_diag(*(spatial_cross(A[6 * i : 6 * i + 6, i] * qd[i]) for i in range(n)))
    ad_links = block_diag(*(spatial_cross(V[6 * i : 6 * i + 6]) for i in range(n)))
    half = A.T @ L.T @ G @ L @ ad_joints @ W @ L @ A
    c = bias_torque(robot.with_gravity((0, 0, 0)))(q, qd)
    inner = -A.T @ L.T @ (G @ L @ ad_joints @ W + ad_links.T @ G) @ L @ A
    M, rate = mass_matrix(robot)(q), mass_matrix_derivative(robot)(q, qd)
    slopes = mass_matrix(robot).jacobian("q")(q)
    stack, unit = np.concatenate(np.moveaxis(slopes, -1, 0)), np.eye(n)
    tip, still = rng.uniform(-1, 1, 6), np.zeros(6)
    moved = moving_base_dynamics(robot, tip_wrench=True)
    resting = moved(q, qd, qdd, still, still, 0 * tip)
    pushed = moved(q, qd, qdd, still, still, tip) - resting
    flat = jacobian(load("planar3r"), task="position")([0.1, 0.4, -0.3])
    rank = int(np.linalg.matrix_rank(flat))
    facts = [
        ("M, link by link", "sum of J_i' G_i J_i", off(mass_matrix(robot, algorithm="links")(q), M)),
        ("Mdot, by stacked matrices", "-A' L' G L [ad_A] W L A, and its transpose", off(-half - half.T, rate)),
        ("c, by stacked matrices", "-A' L' (G L [ad_A] W + [ad_V]' G) L A qd", off(inner @ qd, c)),
        ("Mdot, by Kronecker's product", "(qd' x 1) dM/dq", off(np.kron(qd, unit) @ stack, rate)),
        (
            "U, by Kronecker's product",
            "(1 x qd') dM/dq",
            off(np.kron(unit, qd) @ stack, velocity_gradient(robot)(q, qd)),
        ),
        ("tau with a force of the tip", "+ J' F_tip", off(pushed, jacobian(robot, kind="body")(q).T @ tip)),
        (
            "tau of a base at rest",
            "recursion with V_0 = 0",
            off(resting, inverse_dynamics(robot)(q, qd, qdd)),
        ),
    ]
    sizes = "the same shape"
    return [
        *holding(METHODS, facts),
        statement(
            "size of I_n", "n", f"{n} x {n}", unit.shape == (n,), PROPERTIES, "it bounds M, which is n x n", rule=sizes
        ),
        statement(
            "c",
            "c qd, with c of n entries",
            f"C qd, C of {n} x {n}",
            c.shape == (n, n),
            PROPERTIES,
            "the vector and its factor have one letter: the factor is C",
            rule=sizes,
        ),
        statement(
            "M_C = (J M^-1 J')^-1",
            "for any arm",
            f"J of planar3r has {len(flat)} rows and rank {rank}",
            rank == len(flat),
            "closed form",
            "J needs full row rank: at singularities, and with fewer joints than coordinates, there is no inverse",
            rule="full row rank",
        ),
    ]


def _gravity() -> list[StudyRow]:
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
