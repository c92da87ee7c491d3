"""Slips of the documents that need a reading of tensors, or a formula as printed: the print fails, what holds does not."""

import numpy as np
import pytest
import sympy
from support import error

import taupi as tp

EXACT = 1e-12  # a handful of products of doubles of size one


@pytest.fixture(scope="module")
def arm():
    """An arm without a symmetry that would hide an exchange of indices."""
    return tp.load("puma560")


@pytest.fixture(scope="module")
def motion():
    return np.random.default_rng(4).uniform(-1, 1, (4, 6))  # q, qd, qrd, qrdd


def test_gabiccini_39_needs_the_transposed_contraction(arm, motion):
    q, qd, *_ = motion
    d = tp.mass_matrix(arm).jacobian("q")(q)  # [j, k, h] = d b_jk / d q_h
    left = np.einsum("j,jkh->kh", qd, d)
    wanted = tp.bias_torque(arm.with_gravity((0, 0, 0)))(q, qd)
    rate = np.einsum("jkh,h->jk", d, qd)
    assert error(rate @ qd - left.T @ qd / 2, wanted) < EXACT
    assert error(rate @ qd - left @ qd / 2, wanted) > 1e-3


def test_gabiccini_44_is_read_by_its_formula(arm, motion):
    q, qd, qrd, _ = motion
    d = tp.mass_matrix(arm).jacobian("q")(q)
    x = np.einsum("hjk,k,j->h", d + d.transpose(0, 2, 1), qd, qrd) / 2
    wanted = x - tp.coriolis_matrix(arm)(q, qd) @ qrd
    by_formula = d.transpose(np.argsort((1, 2, 0)))  # result[i1, i2, i3] = a[i2, i3, i1]
    by_sentence = d.transpose(1, 2, 0)
    assert error(by_formula @ qd @ qrd / 2, wanted) < EXACT
    assert error(by_sentence @ qd @ qrd / 2, wanted) > 1e-3


def test_gabiccini_51_exchanges_the_second_and_the_fourth_level(arm, motion):
    q, qd, qrd, qrdd = motion
    n, zero = arm.n, np.zeros(arm.n)
    y = tp.regressor(arm.with_gravity((0, 0, 0)))
    rate = y.jacobian("q")
    b = np.stack([y(q, zero, e) for e in np.eye(n)], axis=1)  # (row, column, parameter)
    d = np.stack([rate(q, zero, e) for e in np.eye(n)], axis=1)  # and derivative, as (53) declares
    assert d.shape == (n, n, 10 * n, n)
    assert d.transpose(0, 2, 1, 3).shape != d.shape  # 1324 as printed: the two tensors cannot be added
    x = np.einsum("hjc,j->hc", b, qrdd) + np.einsum("hjck,k,j->hc", d + d.transpose(0, 3, 2, 1), qd, qrd) / 2
    w = np.einsum("jkch,k,j->hc", d, qd, qrd) / 2
    wanted = tp.slotine_li_regressor(arm.with_gravity((0, 0, 0)))(q, qd, qrd, qrdd)
    assert error(x - w, wanted) < EXACT


def test_gabiccini_p_starts_at_the_link_frame(arm, motion):
    q, qd, *_ = motion
    c = np.array([-0.3638, 0.006, 0.2275])  # the second link's centre of mass, in its frame
    pose = tp.forward_kinematics(arm, frame="link2")
    twist = tp.jacobian(arm, frame="link2")(q) @ qd
    step = 1e-6
    seen = [(pose(q + s * step * qd) @ [*c, 1.0])[:3] for s in (1, -1)]
    velocity = (seen[0] - seen[1]) / (2 * step)
    from_frame, from_origin = pose(q)[:3, :3] @ c, (pose(q) @ [*c, 1.0])[:3]
    assert np.allclose(twist[3:] + np.cross(twist[:3], from_frame), velocity, atol=1e-8)
    assert not np.allclose(twist[3:] + np.cross(twist[:3], from_origin), velocity, atol=1e-2)


def test_lecture_slices_over_the_equation_are_the_symmetric_ones():
    gamma = tp.christoffel_symbols(tp.load("lecture2r"))([0.3, 0.7])  # equation first
    document = gamma.transpose(1, 2, 0)  # its symbol carries the equation last
    assert np.array_equal(document[:, :, 0], document[:, :, 0].T)
    assert not np.allclose(document[0], document[0].T)


def test_lecture_potential_energy_has_any_sign():
    potential = tp.potential_energy(tp.load("lecture2r"))
    assert potential([-1.5, 0.0]) < 0 < potential([1.5, 0.0])


def test_aldana_p7_as_printed_gives_another_gravity_torque():
    arm = tp.load("planar3r")
    m1, m2, m3, lc1, l1, l2, lc2, g = sympy.symbols("m1 m2 m3 lc1 l1 l2 lc2 g")
    q = sympy.symbols("q1 q2 q3")
    ours = tp.gravity_torque(arm).sympy()[0]
    at = {q[0]: 0, q[1]: sympy.pi / 2, q[2]: 0}  # there only p7 acts
    assert sympy.expand(ours.subs(at) - g * (m1 * lc1 + (m2 + m3) * l1)) == 0
    assert sympy.expand(ours.subs(at) - g * (m2 * lc2 + m3 * l2)) != 0


def test_aldana_the_rate_of_the_jacobian_has_no_inverse(motion):
    rate = tp.jacobian_derivative(tp.load("planar3r"), task="planar")(motion[0][:3], motion[1][:3])
    assert np.array_equal(rate[2], np.zeros(3))
