"""Slips of Zollo et al. in the elastic-joint equations: the print fails, what holds does not."""

import blocks
import numpy as np
import pytest
from elastic import VECTORS, arm
from support import error

import taupi as tp

HOLDS = 1e-10  # a few hundred products of doubles
SEEN = 1e-2  # how far off a printed formula is at least, relative to what holds


@pytest.fixture(scope="module")
def robot():
    """A spatial arm: the planar one hides most slips."""
    return arm("spatial3")


@pytest.fixture(scope="module")
def motion():
    """q, qd and thetad."""
    return np.random.default_rng(4).uniform(-1, 1, (3, 3))


@pytest.fixture(scope="module")
def rates(robot, motion):
    """dB/dx_k for all 2n coordinates, [k, i, j]; B does not depend on the motors."""
    d = np.moveaxis(tp.elastic.mass_matrix(robot).jacobian("q")(motion[0]), -1, 0)
    return np.concatenate([d, np.zeros((3, 6, 6))])


def test_1_the_springs_energy_has_a_half(robot):
    q, theta = np.array([0.3, -0.2, 0.5]), np.array([0.31, -0.23, 0.52])
    K, h = np.array(VECTORS["robots"]["spatial3"]["K"]), 1e-3

    def force(factor):
        """Minus the slope of the energy with respect to q."""
        return np.array(
            [factor * (K * (q + e - theta) ** 2 - K * (q - e - theta) ** 2).sum() for e in h * np.eye(3)]
        ) / (2 * h)

    at_rest = [np.zeros(3)] * 2
    spring = tp.elastic.inverse_dynamics(robot)(q, *at_rest, theta, *at_rest)[:3] - tp.gravity_torque(robot)(q)
    assert error(force(0.5), spring) < 1e-9
    assert error(force(1.0), spring) > SEEN


def test_4_the_sum_has_a_half(robot, motion, rates):
    v = np.r_[motion[1], motion[2]]
    C = tp.elastic.coriolis_matrix(robot)(*motion)
    rate = np.einsum("kij,k->ij", rates, v)
    rows = np.einsum("kij,i->kj", rates, v)
    asym = (rows - rows.T) / 2
    assert error(rate / 2 - asym, C) < HOLDS
    assert error((rate - asym) @ v, C @ v) > SEEN


def test_b1_sums_over_all_coordinates(robot, motion, rates):
    """Christoffel's symbols times velocities: with the links' alone, what fast motors do to links is missing."""
    q, qd, thetad = motion[0], motion[1], 200 * motion[2]
    v = np.r_[qd, thetad]
    symbols = (np.einsum("kij->ijk", rates) + np.einsum("jik->ijk", rates) - np.einsum("ijk->ijk", rates)) / 2
    C = tp.elastic.coriolis_matrix(robot)(q, qd, thetad)
    assert error(np.einsum("ijk,k->ij", symbols, v), C) < HOLDS
    assert error(np.einsum("ijk,k->ij", symbols[:, :, :3], v[:3]), C) > SEEN


def test_25_the_derivative_turns_the_first_moment(robot, motion, rates):
    """The third term of the first moments' columns has S_k behind it, the fifth A_P."""
    data = VECTORS["robots"]["spatial3"]
    q, qd, thetad = motion
    kin, Pi, v = blocks.Kinematics(data, q), blocks.parameters(data), np.r_[qd, thetad]
    for k in range(1, 3):
        Y = blocks.rate_regressor(kin, k, qd, thetad)
        assert error(Y @ Pi, rates[k] @ v) < HOLDS
        printed = Y.copy()
        for b in range(3):
            JO, JP, R = kin.JO[b + 1], kin.JP[b + 1], kin.R[b + 1]
            wrong = JP.T @ blocks.skew(JO @ qd) @ (np.eye(3) - blocks.skew(JO[:, k])) @ R
            printed[:3, 3 + 3 * b : 6 + 3 * b] += wrong
        assert error(printed @ Pi, rates[k] @ v) > SEEN


@pytest.mark.parametrize(("name", "least"), [("planar2", 4), ("spatial3", 5), ("puma560", 6)])
def test_38_least_number_of_samples(name, least):
    """The printed bound, 7 for any robot, is no bound: motors need 4, links their base parameters by n."""
    base = tp.base_parameters(arm(name), elastic=True)
    inertial = sum(n.startswith("link") for n in base.names)
    n = arm(name).n
    assert least == max(4, -(-inertial // n))
    Y = base.regressor()
    states = np.random.default_rng(0).uniform(-2, 2, (6, least, n))
    for samples, full in ((least, True), (least - 1, False)):
        W = Y(*states[:, :samples]).reshape(-1, base.count)
        rank = np.linalg.matrix_rank(W / np.maximum(np.linalg.norm(W, axis=0), 1e-300))
        assert (rank == base.count) == full
    # (39): what is neither a base parameter nor without effect.
    assert len(base.dependent) == 14 * n - base.count - len(base.unidentifiable)
