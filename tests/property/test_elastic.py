"""Identities of elastic joints on random trees: some joints elastic, some rigid, turning and sliding."""

import casadi as cs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import ROUNDING, error, random_robot

import taupi as tp
from taupi.model.scalars import unit_vector

TERMS = ("coulomb", "viscous", "offset", "damping", "link_viscous", "link_coulomb")


def elastic_tree(seed, mimic=False, share=0.7):
    """A random tree with random drives; about a share of its joints elastic, at least one."""
    rng = np.random.default_rng([seed, 5])
    robot = random_robot(seed, joints=3 + seed % 3, mimic=mimic)
    n = len(robot.joints)
    elastic = rng.random(n) < share
    # At least one joint that owns its coordinate.
    elastic[next(i for i, j in enumerate(robot.joints) if not j.mimic)] = True
    elastic &= [j not in robot.following_joints for j in robot.joints]  # a follower has no motor of its own
    return robot.with_transmissions(
        stiffness=[round(float(k), 2) if e else None for k, e in zip(rng.uniform(50, 900, n), elastic, strict=True)],
        rotor_inertia=[round(float(v), 4) for v in rng.uniform(1e-3, 0.02, n)],
        gear_ratio=[round(float(v + np.copysign(0.2, v)), 2) for v in rng.uniform(-5, 5, n)],  # of either sign, never 0
        motor_axis=[unit_vector(v) if k % 2 else None for k, v in enumerate(rng.normal(size=(n, 3)))],
        damping=[round(float(v), 2) for v in rng.uniform(0, 3, n)],
        link_viscous=[round(float(v), 2) for v in rng.uniform(0, 3, n)],
        link_coulomb=[round(float(v), 2) for v in rng.uniform(0, 3, n)],
    )


def motion(robot, seed, count=4):
    """q, qd, qdd and theta, thetad, thetadd, theta near q."""
    rng = np.random.default_rng([seed, 6])
    e = [robot.joint_names.index(name) for name in robot.elastic_joints]
    q, qd, qdd = rng.uniform(-2, 2, (3, count, robot.n))
    thetad, thetadd = rng.uniform(-2, 2, (2, count, len(e)))
    return q, qd, qdd, q[:, e] + rng.uniform(-0.1, 0.1, (count, len(e))), thetad, thetadd


seeds = st.integers(0, 10**6)


@settings(max_examples=15, deadline=None)
@given(seeds, st.booleans(), st.sampled_from(["grouped", "link"]))
def test_regressor_times_parameters_is_the_torque(seed, coupling, order):
    robot = elastic_tree(seed, mimic=seed % 4 == 0)
    x = motion(robot, seed)
    Y = tp.elastic_regressor(robot, order=order, terms=TERMS, coupling=coupling)
    tau = tp.elastic.inverse_dynamics(robot, terms=TERMS, coupling=coupling)(*x)
    assert error(Y(*x) @ Y.parameters.values, tau) < ROUNDING


@settings(max_examples=15, deadline=None)
@given(seeds, st.booleans())
def test_forward_dynamics_undoes_inverse_dynamics(seed, coupling):
    robot = elastic_tree(seed, mimic=seed % 4 == 0)
    q, qd, _, theta, thetad, _ = motion(robot, seed)
    u = np.random.default_rng(seed).uniform(-5, 5, q.shape)
    e = [robot.joint_names.index(name) for name in robot.elastic_joints]
    rigid = [i for i in range(robot.n) if i not in e]
    expected = np.zeros((len(q), robot.n + len(e)))
    expected[:, robot.n :] = u[:, e]
    expected[:, rigid] = u[:, rigid]
    coupled = len(robot.joints) != robot.n
    for algorithm in ("cholesky",) if coupled else ("articulated", "cholesky"):
        program = tp.elastic.forward_dynamics(robot, coupling=coupling, algorithm=algorithm)
        qdd, thetadd = program.compile("numpy")(q, qd, theta, thetad, u)
        inverse = tp.elastic.inverse_dynamics(robot, coupling=coupling).compile("numpy")
        tau = inverse(q, qd, qdd, theta, thetad, thetadd)
        # Accelerations are large where inertias are small: compare with the forces that cancel.
        scale = max(1.0, np.abs(qdd).max(), np.abs(thetadd).max())
        assert np.abs(tau - expected).max() < 1e-9 * scale


@settings(max_examples=10, deadline=None)
@given(seeds, st.booleans())
def test_model_matrices_make_the_torque_and_c_is_christoffels(seed, coupling):
    robot = elastic_tree(seed, mimic=seed % 4 == 0)
    q, qd, qdd, theta, thetad, thetadd = (x[0] for x in motion(robot, seed))
    b = tp.elastic.mass_matrix(robot, coupling)
    B, C = b(q), tp.elastic.coriolis_matrix(robot, coupling).compile("numpy")(q, qd, thetad)
    tau = tp.elastic.inverse_dynamics(robot, terms=(), coupling=coupling)(q, qd, qdd, theta, thetad, thetadd)
    K = tp.elastic.stiffness_matrix(robot)()
    blocks = B @ np.r_[qdd, thetadd] + C @ np.r_[qd, thetad] + tp.elastic.gravity_torque(robot)(q) + K @ np.r_[q, theta]
    assert error(blocks, tau) < ROUNDING
    assert error(B, B.T) < 1e-14
    # Christoffel's symbols from B itself: dB/dq by the chain rule, zero with respect to theta.
    v = np.r_[qd, thetad]
    size = len(v)
    d = np.zeros((size, size, size))
    d[:, :, : robot.n] = b.jacobian("q").compile("numpy")(q)
    symbols = (np.einsum("kji->kij", d) + np.einsum("kij->kij", d) - np.einsum("ijk->kij", d)) / 2
    assert error(C, np.einsum("kij,i->kj", symbols, v)) < ROUNDING
    skew = np.einsum("ijk,k->ij", d, v) - 2 * C
    assert error(skew, -skew.T) < ROUNDING


def lagrange(robot):
    """Forces from the energies of B2 alone, by CasADi's derivatives; links by positions differentiated in time."""
    from taupi.dynamics.chain import Chain
    from taupi.dynamics.energy import kinetic, link_motions, potential
    from taupi.program.program import Constants

    constants = Constants()
    chain = Chain(robot, constants)
    n, e = robot.n, [robot.joint_names.index(name) for name in robot.elastic_joints]
    x, v, a = (cs.SX.sym(s, n + len(e)) for s in ("x", "v", "a"))
    q, qd = x[:n], v[:n]
    theta = [x[n + e.index(i)] if i in e else q[i] for i in range(n)]
    thetad = [v[n + e.index(i)] if i in e else qd[i] for i in range(n)]
    energy, stored = kinetic(chain, q, qd), potential(chain, q)
    moving = link_motions(chain, q, qd)
    own = {joint.name for joint in robot.driving_joints}
    for joint in robot.joints:
        i, drive, follows = joint.coordinate, joint.transmission, joint.name not in own
        k, inertia = float(drive.gear_ratio), float(drive.rotor_inertia)
        if drive.motor_axis is None:
            axis = np.array(joint.before.rotation, dtype=float) @ np.array(joint.axis, dtype=float)
        else:
            axis = np.array(drive.motor_axis, dtype=float)
        rate = float(joint.ratio) * qd[i] if follows else thetad[i]
        energy += k * k * inertia * rate**2 / 2
        if joint.parent >= 0:
            energy += k * rate * inertia * cs.dot(cs.DM(axis), moving[joint.parent][2])
        if i in e and not follows:
            stored += float(drive.stiffness) * (q[i] - theta[i]) ** 2 / 2
    momentum = cs.gradient(energy, v)
    force = cs.jtimes(momentum, v, a) + cs.jtimes(momentum, x, v) - cs.gradient(energy, x) + cs.gradient(stored, x)
    table = list(constants.table.values())
    symbols = cs.vertcat(*(constants.symbols[c.name] for c in table))
    f = cs.Function("lagrange", [x, v, a, symbols], [force])
    values = [float(c.value) for c in table]
    return lambda *args: np.array(f(*args, values)).ravel()


@settings(max_examples=10, deadline=None)
@given(seeds)
def test_torque_is_that_of_the_energies(seed):
    robot = elastic_tree(seed, mimic=seed % 4 == 0)
    q, qd, qdd, theta, thetad, thetadd = (x[0] for x in motion(robot, seed))
    expected = lagrange(robot)(np.r_[q, theta], np.r_[qd, thetad], np.r_[qdd, thetadd])
    got = tp.elastic.inverse_dynamics(robot, terms=())(q, qd, qdd, theta, thetad, thetadd)
    assert error(got, expected) < ROUNDING


def test_stiffer_springs_come_to_the_rigid_robot():
    """With theta = q and no springs at all, the rows of link and motor add to those of rigid joints."""
    for seed in range(6):
        robot = elastic_tree(seed, share=1.1)
        rigid_but_one = robot.with_transmissions(
            stiffness=[10.0, *[None] * (len(robot.joints) - 1)],
        )
        q, qd, qdd, *_ = motion(robot, seed)
        both = tp.elastic.inverse_dynamics(robot)(q, qd, qdd, q, qd, qdd)
        n = robot.n
        folded = tp.elastic.inverse_dynamics(rigid_but_one)(q, qd, qdd, q[:, :1], qd[:, :1], qdd[:, :1])
        assert error(folded[:, 1:n], both[:, 1:n] + both[:, n + 1 :]) < ROUNDING
        assert error(folded[:, [0, n]], both[:, [0, n]]) < ROUNDING


def test_power_is_the_rate_of_energy():
    """d/dt (T + U) = v . tau without friction, T from B, U from gravity and springs."""
    robot = elastic_tree(11)
    q, qd, qdd, theta, thetad, thetadd = (x[0] for x in motion(robot, 3))
    b, potential = tp.elastic.mass_matrix(robot), tp.potential_energy(robot)
    K = tp.elastic.stiffness_matrix(robot)()

    def energy(t):
        v = np.r_[qd + t * qdd, thetad + t * thetadd]
        x = np.r_[q + t * qd + t * t / 2 * qdd, theta + t * thetad + t * t / 2 * thetadd]
        return v @ b(x[: robot.n]) @ v / 2 + potential(x[: robot.n]) + x @ K @ x / 2

    h = 1e-4
    rate = (8 * (energy(h) - energy(-h)) - (energy(2 * h) - energy(-2 * h))) / (12 * h)
    power = np.r_[qd, thetad] @ tp.elastic.inverse_dynamics(robot, terms=())(q, qd, qdd, theta, thetad, thetadd)
    assert rate == pytest.approx(power, rel=1e-8)
