"""Gabiccini et al. (2009), equation by equation: each public call against the formula, written down in NumPy."""

import dataclasses

import blocks
import numpy as np
import pytest
from elastic import VECTORS, arm
from refusals import refused
from support import error

import taupi as tp
from taupi.model.robot_parts import Transmission

# Angles of the vectors have 12 decimals, and are taken as right angles where they are meant: 1e-12 of the entries.
CLOSE = 1e-10
ROBOTS = ("spatial3", "rpr3", "puma560")
E = np.zeros((3, 3, 6))
for place, pairs in enumerate([[(0, 0)], [(0, 1), (1, 0)], [(0, 2), (2, 0)], [(1, 1)], [(1, 2), (2, 1)], [(2, 2)]]):
    for row, column in pairs:
        E[row, column, place] = 1
Q = np.stack([blocks.skew(e) for e in np.eye(3)], axis=-1)


@pytest.fixture(params=ROBOTS)
def case(request):
    """A robot, its numbers, its kinematics at a random state by formulas of the test, and the state."""
    data, robot = VECTORS["robots"][request.param], arm(request.param)
    q, qd, qdd, qrd, qrdd = np.random.default_rng(2).uniform(-1.5, 1.5, (5, data["n"]))
    return data, robot, blocks.Kinematics(data, q), (q, qd, qdd, qrd, qrdd)


def bodies(robot):
    """m, h and the six inertias of every link."""
    pi = robot.parameters.values.reshape(-1, 10)
    return zip(pi[:, 0], pi[:, 1:4], pi[:, 4:], strict=True)


def tensors(kin, i):
    """B0, B1, B2 of body i: (49), (52)."""
    JP, JO, R = kin.JP[i], kin.JO[i], kin.R[i]
    turned = np.einsum("ab,bcd,ec->aed", R, Q, R)
    mixed = np.einsum("aj,abd,bk->jkd", JO, turned, JP)
    B1 = mixed - np.einsum("aj,abd,bk->jkd", JP, turned, JO)
    B2 = np.einsum("aj,abd,bk->jkd", JO, np.einsum("ab,bcd,ec->aed", R, E, R), JO)
    return JP.T @ JP, B1, B2


def test_tensors_e_and_q():
    """(15), (16), (48): the inertia and the skew matrix out of their numbers."""
    assert np.array_equal(tp.closed_form.inertia_basis(), E)
    assert np.array_equal(tp.closed_form.skew_basis(), Q)
    p, J = np.arange(1.0, 4.0), np.arange(1.0, 7.0)
    assert np.array_equal(tp.closed_form.skew_basis() @ p, blocks.skew(p))
    wanted = [[J[0], J[1], J[2]], [J[1], J[3], J[4]], [J[2], J[4], J[5]]]
    assert np.array_equal(tp.closed_form.inertia_basis() @ J, wanted)


def test_generalised_transpose():
    """(44): result[i1..ik] = A[i_n1..i_nk], entry by entry."""
    A = np.random.default_rng(0).uniform(size=(2, 3, 4, 5))
    for levels in ("2341", "1432", (3, 1, 4, 2)):
        result = tp.closed_form.generalised_transpose(A, levels)
        order = [int(k) - 1 for k in levels]
        for index in np.ndindex(*result.shape):
            assert result[index] == A[tuple(index[k] for k in order)]
    with refused("levels", got="123", numbers="1234"):
        tp.closed_form.generalised_transpose(A, "123")
    for levels in (3, None, ("a", "b", "c", "d")):
        with refused("levels", numbers="1234"):
            tp.closed_form.generalised_transpose(A, levels)
    with pytest.raises(tp.TaupiError, match=r"tensor is .*, expected an array"):
        tp.closed_form.generalised_transpose([[1, 2], [3]], "12")


def test_momentum(case):
    """(13), (14), (18), (19): dT/dqd and its blocks X0, X1, X2, undotted."""
    _, robot, kin, (q, qd, *_) = case
    X0, X1, X2 = tp.closed_form.momentum_blocks(robot)(q, qd)
    total = np.zeros(robot.n)
    for b, (m, h, J) in enumerate(bodies(robot)):
        JP, JO, R = kin.JP[b + 1], kin.JO[b + 1], kin.R[b + 1]
        v, w = JP @ qd, JO @ qd
        first = (JP.T @ blocks.skew(w) - JO.T @ blocks.skew(v)) @ R
        second = np.einsum("aj,ab,bce,c->je", JO, R, E, R.T @ w)
        for ours, wanted in ((X0[b], JP.T @ v), (X1[b], first), (X2[b], second)):
            assert np.abs(ours - wanted).max() < CLOSE * max(1, np.abs(wanted).max())
        total += m * JP.T @ v + first @ h + second @ J
    assert error(tp.closed_form.momentum(robot)(q, qd), total) < CLOSE


def test_link_mass_matrices(case):
    """(46), (47): B of each link, and their sum."""
    _, robot, kin, (q, *_) = case
    B = tp.closed_form.link_mass_matrices(robot)(q)
    for b, (m, h, J) in enumerate(bodies(robot)):
        JP, JO, R = kin.JP[b + 1], kin.JO[b + 1], kin.R[b + 1]
        lever = blocks.skew(R @ h)
        wanted = m * JP.T @ JP + JO.T @ lever @ JP - JP.T @ lever @ JO + JO.T @ R @ (E @ J) @ R.T @ JO
        assert np.abs(B[b] - wanted).max() < CLOSE * max(1, np.abs(wanted).max())
    assert error(B.sum(axis=0), tp.mass_matrix(robot)(q)) < CLOSE


def test_link_mass_tensors(case):
    """(49), (52), (53): the tensors n x n x p of each link, and their derivatives by differences."""
    _, robot, kin, (q, *_) = case
    program = tp.closed_form.link_mass_tensors(robot)
    parts = program(q)
    for b in range(robot.n):
        for ours, wanted in zip(parts, tensors(kin, b + 1), strict=True):
            assert np.abs(ours[b] - wanted).max() < CLOSE * max(1, np.abs(wanted).max())
    rates, step = program.jacobian("q")(q), 1e-6
    for k, e in enumerate(np.eye(robot.n)):
        for rate, ahead, behind in zip(rates, program(q + step * e), program(q - step * e), strict=True):
            assert np.abs(rate[..., k] - (ahead - behind) / (2 * step)).max() < 1e-6


def test_blocks_of_the_reference_regressor_by_tensors(case):
    """(50) to (54): X_r and W_r from the tensors and the generalised transposes 132, 231, 1432 and 2 3 1 on four levels."""
    _, robot, _, (q, qd, _, qrd, qrdd) = case
    transpose = tp.closed_form.generalised_transpose
    program = tp.closed_form.link_mass_tensors(robot)
    parts, rates = program(q), program.jacobian("q")(q)
    X, W, _ = tp.closed_form.lagrangian_blocks(robot)(q, qd, qrd, qrdd)
    for b in range(robot.n):
        d = rates[0][b]  # n x n x n
        x0 = parts[0][b] @ qrdd + (d + transpose(d, "132")) @ qd @ qrd / 2
        assert np.abs(x0 - X[b, :, 0]).max() < CLOSE * max(1, np.abs(x0).max())
        w0 = transpose(d, "231") @ qd @ qrd / 2
        assert np.abs(w0 - W[b, :, 0]).max() < CLOSE * max(1, np.abs(w0).max())
        for part, columns in ((1, slice(1, 4)), (2, slice(4, 10))):
            d = rates[part][b]  # n x n x p x n
            both = d + transpose(d, "1432")
            x = np.einsum("hjc,j->hc", parts[part][b], qrdd) + np.einsum("hjck,k,j->hc", both, qd, qrd) / 2
            w = np.einsum("jkch,k,j->hc", d, qd, qrd) / 2
            assert np.abs(x - X[b, :, columns]).max() < CLOSE * max(1, np.abs(x).max())
            assert np.abs(w - W[b, :, columns]).max() < CLOSE * max(1, np.abs(w).max())


def test_both_regressors_from_the_tensors(case):
    """(1)-(3), (6), (29)-(36), (55)-(59): Y pi and Y_r pi by B, C and G of the formulas."""
    data, robot, kin, (q, qd, qdd, qrd, qrdd) = case
    step, n = 1e-6, robot.n
    pi = robot.parameters.values

    def mass(x):
        at = blocks.Kinematics(data, x)
        total = np.zeros((n, n))
        for b, (m, h, J) in enumerate(bodies(robot)):
            B0, B1, B2 = tensors(at, b + 1)
            total += m * B0 + B1 @ h + B2 @ J
        return total

    d = np.stack([(mass(q + step * e) - mass(q - step * e)) / (2 * step) for e in np.eye(n)], axis=-1)
    gamma = (d + d.transpose(0, 2, 1) - d.transpose(2, 0, 1).transpose(0, 2, 1)) / 2  # [h, j, k], (38)
    C = np.einsum("hjk,k->hj", gamma, qd)
    g0 = np.array(data["g0"])
    G = np.zeros(n)
    for b, (m, h, _) in enumerate(bodies(robot)):
        G -= m * kin.JP[b + 1].T @ g0
        G -= np.array([g0 @ np.cross(kin.JO[b + 1][:, j], kin.R[b + 1] @ h) for j in range(n)])
    tau, tau_r = mass(q) @ qdd + C @ qd + G, mass(q) @ qrdd + C @ qrd + G
    assert error(tp.regressor(robot)(q, qd, qdd) @ pi, tau) < 1e-6  # differences of M
    assert error(tp.regressor(robot, algorithm="lagrangian")(q, qd, qdd) @ pi, tau) < 1e-6
    assert error(tp.slotine_li_regressor(robot)(q, qd, qrd, qrdd) @ pi, tau_r) < 1e-6
    assert error(tp.slotine_li_regressor(robot, algorithm="lagrangian")(q, qd, qrd, qrdd) @ pi, tau_r) < 1e-6
    assert error(tp.coriolis_matrix(robot)(q, qd), C) < 1e-5
    U = np.einsum("j,jkh->hk", qd, d)
    wanted = np.einsum("hjk,k->hj", d, qd) - U / 2
    assert error(tp.coriolis_matrix(robot, form="mdot_minus_half_u")(q, qd), wanted) < 1e-6  # (39)
    for program in (tp.inverse_dynamics(robot), tp.inverse_dynamics(robot, algorithm="lagrange")):  # (4), (5), (7), (8)
        assert error(program(q, qd, qdd), tau) < 1e-6


def test_energies(case):
    """(9)-(12), (25), (26): T and U of the links."""
    data, robot, kin, (q, qd, *_) = case
    # The document's energies are those of links: without drives, whose rotors and springs have energies of their own.
    joints = tuple(dataclasses.replace(joint, transmission=Transmission()) for joint in robot.joints)
    robot = dataclasses.replace(robot, joints=joints)
    kinetic, potential = [], []
    g0 = np.array(data["g0"])
    for b, (m, h, J) in enumerate(bodies(robot)):
        v, w, R = kin.JP[b + 1] @ qd, kin.JO[b + 1] @ qd, kin.R[b + 1]
        kinetic.append(m * v @ v / 2 + v @ np.cross(w, R @ h) + w @ R @ (E @ J) @ R.T @ w / 2)
        potential.append(-g0 @ (m * kin.p[b + 1] + R @ h))
    T, U = tp.closed_form.link_energies(robot)(q, qd)
    assert np.allclose(T, kinetic, rtol=CLOSE, atol=1e-12) and np.allclose(U, potential, rtol=CLOSE, atol=1e-9)
    assert tp.kinetic_energy(robot)(q, qd) == pytest.approx(sum(kinetic), rel=CLOSE)
    assert tp.potential_energy(robot)(q) == pytest.approx(sum(potential), rel=CLOSE)


def test_gravity_blocks(case):
    """(27), (28): Z0 and Z1."""
    data, robot, kin, (q, qd, _, qrd, qrdd) = case
    g0 = np.array(data["g0"])
    Z = tp.closed_form.lagrangian_blocks(robot)(q, qd, qrd, qrdd)[2]
    for b in range(robot.n):
        JP, JO, R = kin.JP[b + 1], kin.JO[b + 1], kin.R[b + 1]
        first = -np.array([g0 @ blocks.skew(JO[:, j]) @ R for j in range(robot.n)])
        assert np.abs(Z[b, :, 0] + JP.T @ g0).max() < 1e-9 and np.abs(Z[b, :, 1:4] - first).max() < 1e-9
        assert not Z[b, :, 4:].any()


def test_a_floating_base_is_refused_where_velocities_are_no_derivatives():
    free = tp.load("elbow2r", floating=True)
    form = tp.closed_form
    for build in (
        form.momentum,
        form.momentum_blocks,
        form.link_mass_tensors,
        form.spatial_stacks,
        form.spatial_regressor,
    ):
        with pytest.raises(tp.TaupiError, match="free or ball joint"):
            build(free)
    with pytest.raises(tp.TaupiError, match="free or ball joint"):
        form.bound_formulas(free)
    q = np.r_[0.1, -0.2, 0.3, 0.0, 0.0, 0.6, 0.8, 0.4, -0.5]
    assert error(form.link_mass_matrices(free)(q).sum(axis=0), tp.mass_matrix(free)(q)) < CLOSE
