"""Kubozono, Yamakita & Furuta, equation by equation: each public call against the formula, written down in NumPy."""

import blocks
import numpy as np
import pytest
from elastic import VECTORS, arm
from refusals import refused
from support import error

import taupi as tp

CLOSE = 1e-10
ROBOTS = ("planar2", "spatial3", "rpr3", "puma560")
form = tp.closed_form


def cross6(b):
    """b x of the appendix."""
    s, t = blocks.skew(b[:3]), blocks.skew(b[3:])
    return np.block([[s, np.zeros((3, 3))], [t, s]])


def primed(x):
    """The spatial transpose P x^T P, or the row of a vector."""
    P = np.roll(np.eye(6), 3, axis=0)
    return P @ x if x.ndim == 1 else P @ x.T @ P


class Stacks:
    """s_i, v_i, X_i and I_i in the base's axes, link by link, and the document's stacked matrices."""

    def __init__(self, data, robot, q, qd):
        kin, n = blocks.Kinematics(data, q), data["n"]
        self.s, self.v, self.X, self.I = [], [], [], []
        v = np.zeros(6)
        for i in range(n):
            z, p = kin.z[i], kin.p[i]
            self.s.append(np.r_[0, 0, 0, z] if kin.slides[i] else np.r_[z, np.cross(p, z)])
            v = v + self.s[i] * qd[i]
            self.v.append(v)
            R, o = kin.R[i + 1], kin.p[i + 1]
            self.X.append(np.block([[R, np.zeros((3, 3))], [blocks.skew(o) @ R, R]]))
            body = robot.parameters.values[10 * i : 10 * i + 10]
            xx, xy, xz, yy, yz, zz = body[4:]
            tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
            own = np.block([[-blocks.skew(body[1:4]), body[0] * np.eye(3)], [tensor, blocks.skew(body[1:4])]])
            self.I.append(self.X[i] @ own @ primed(self.X[i]))
        zero = np.zeros(6)
        self.J = np.block([[self.s[j][:, None] if j <= i else zero[:, None] for j in range(n)] for i in range(n)])
        rate = [cross6(v) @ s for v, s in zip(self.v, self.s, strict=True)]
        self.V_s = np.block([[rate[j][:, None] if j <= i else zero[:, None] for j in range(n)] for i in range(n)])
        self.J_t = np.block([[primed(self.s[i])[None] if k >= i else zero[None] for k in range(n)] for i in range(n)])

    def diagonal(self, make):
        n = len(self.I)
        blank = np.zeros((6, 6))
        parts = [make(i, v) for i, v in zip(self.I, self.v, strict=True)]
        return np.block([[parts[k] if k == j else blank for j in range(n)] for k in range(n)])


@pytest.fixture(params=ROBOTS)
def case(request):
    data, robot = VECTORS["robots"][request.param], arm(request.param)
    q, qd, qdd, r, rd = np.random.default_rng(5).uniform(-1.5, 1.5, (5, data["n"]))
    g = np.r_[0, 0, 0, data["g0"]]
    return data, robot, Stacks(data, robot, q, qd), g, (q, qd, qdd, r, rd)


def close(ours, wanted):
    return np.abs(ours - wanted).max() < CLOSE * max(1.0, np.abs(wanted).max())


def test_spatial_operators():
    """The appendix, on NumPy arrays, and its identities; also in batches."""
    rng = np.random.default_rng(1)
    a, b = rng.uniform(-1, 1, (2, 6))
    X = rng.uniform(-1, 1, (6, 6))
    assert np.allclose(form.spatial_cross(a), cross6(a)) and np.allclose(form.spatial_transpose(X), primed(X))
    assert np.allclose(form.spatial_transpose(a), primed(a))
    assert np.allclose(form.spatial_transpose(form.spatial_cross(a)), -form.spatial_cross(a))
    bracket = form.spatial_cross(a) @ b
    both = cross6(a) @ cross6(b) - cross6(b) @ cross6(a)
    assert np.allclose(form.spatial_cross(bracket), both)
    R = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    R *= np.linalg.det(R)
    p = rng.uniform(-1, 1, 3)
    D = form.spatial_displacement(R, p)
    assert np.allclose(D, np.block([[R, np.zeros((3, 3))], [blocks.skew(p) @ R, R]]))
    assert np.allclose(form.spatial_cross(D @ a), D @ cross6(a) @ form.spatial_transpose(D))
    several = rng.uniform(-1, 1, (4, 2, 6))
    assert form.spatial_cross(several).shape == (4, 2, 6, 6)
    assert np.allclose(form.spatial_cross(several)[3, 1], cross6(several[3, 1]))
    assert np.allclose(form.spatial_transpose(np.stack([X, D]))[1], primed(D))
    for call, bad in ((form.spatial_cross, [1, 2, 3]), (form.skew, np.eye(2)), (form.spatial_inertia, np.ones(6))):
        with pytest.raises(tp.TaupiError, match="has shape"):
            call(bad)
    for bad in ("abc", ["a"] * 6, [1j] * 6, [[1.0, 2.0], [3.0]]):
        with pytest.raises(tp.TaupiError, match=r"b is .*, expected an array of real numbers"):
            form.spatial_cross(bad)


def test_parameter_matrices():
    """(18): I = sum_j R_j a_j, which equals its spatial transpose."""
    body = np.random.default_rng(2).uniform(-1, 1, 10)
    xx, xy, xz, yy, yz, zz = body[4:]
    tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    wanted = np.block([[-blocks.skew(body[1:4]), body[0] * np.eye(3)], [tensor, blocks.skew(body[1:4])]])
    assert np.allclose(form.spatial_inertia(body), wanted)
    assert np.allclose(np.einsum("j,jab->ab", body, form.parameter_matrices()), wanted)
    assert np.allclose(form.spatial_transpose(wanted), wanted)


def test_stacks(case):
    """(8), (9), (10): J, J_t, V_s, I, C_1, C_2, C_3."""
    _, robot, here, _, (q, qd, *_) = case
    ours = dict(zip(("J", "J_t", "V_s", "I", "C_1", "C_2", "C_3"), form.spatial_stacks(robot)(q, qd), strict=True))
    wanted = {
        "J": here.J,
        "J_t": here.J_t,
        "V_s": here.V_s,
        "I": here.diagonal(lambda i, v: i),
        "C_1": here.diagonal(lambda i, v: cross6(v) @ i),
        "C_2": here.diagonal(lambda i, v: cross6(i @ v)),
        "C_3": here.diagonal(lambda i, v: i @ cross6(v)),
    }
    for name, value in wanted.items():
        assert close(ours[name], value), name


def test_closed_form(case):
    """(11)-(15): H, C, G and dH/dt - 2C from the stacks of the test."""
    _, robot, here, g, (q, qd, *_) = case
    inertia = here.diagonal(lambda i, v: i)
    halves = here.diagonal(lambda i, v: cross6(v) @ i - cross6(i @ v) - i @ cross6(v)) / 2
    H = here.J_t @ inertia @ here.J
    C = here.J_t @ (inertia @ here.V_s + halves @ here.J)
    G = -here.J_t @ np.concatenate([i @ g for i in here.I])
    ours = form.spatial_dynamics(robot)(q, qd)
    for value, wanted in zip(ours, (H, C, G), strict=False):
        assert close(value, wanted)
    assert close(tp.mass_matrix(robot)(q), H) and close(tp.coriolis_matrix(robot)(q, qd), C)
    assert close(tp.gravity_torque(robot)(q), G) and close(ours[3], tp.mass_matrix_derivative(robot)(q, qd) - 2 * C)


def test_recursion(case):
    """(1), (3)-(7): the torque by the recursion of the test."""
    _, robot, here, g, (q, qd, qdd, *_) = case
    acceleration, forces = np.zeros(6), []
    for s, v, i, speed, push in zip(here.s, here.v, here.I, qd, qdd, strict=True):
        acceleration = acceleration + cross6(v) @ s * speed + s * push
        forces.append(i @ acceleration + cross6(v) @ i @ v - i @ g)
    carried = np.cumsum(forces[::-1], axis=0)[::-1]
    tau = np.array([primed(s) @ f for s, f in zip(here.s, carried, strict=True)])
    assert error(tp.inverse_dynamics(robot)(q, qd, qdd), tau) < CLOSE


def test_regressor_parts(case):
    """(18)-(24): R_ij, y_ij, Y_1 and Y = J_t Y_1."""
    data, robot, here, g, (q, qd, _, r, rd) = case
    n = data["n"]
    y, Y_1, Y = form.spatial_regressor(robot)(q, qd, r, rd)
    placed = form.spatial_parameter_matrices(robot)(q)
    w, wd = np.zeros(6), np.zeros(6)
    wanted = np.zeros((6 * n, 10 * n))
    for i in range(n):
        s, v = here.s[i], here.v[i]
        w = w + s * r[i]
        wd = wd + cross6(v) @ s * r[i] + s * rd[i]
        for j, constant in enumerate(form.parameter_matrices()):
            R = here.X[i] @ constant @ primed(here.X[i])
            assert close(placed[i, j], R)
            column = R @ (wd - g) + (cross6(v) @ R @ w - cross6(R @ v) @ w - R @ cross6(v) @ w) / 2
            assert close(y[i, j], column)
            wanted[6 * i : 6 * i + 6, 10 * i + j] = column
    assert close(Y_1, wanted) and close(Y, here.J_t @ wanted)
    assert close(Y, tp.slotine_li_regressor(robot)(q, qd, r, rd))


LAMBDA, K, GAMMA = 5.0, 7.0, 4.0


@pytest.fixture
def loop(case):
    """The arm with estimates of its parameters that are wrong, a state, a wanted motion, and what follows: (29)-(31)."""
    data, robot, here, g, (q, qd, *_) = case
    rng = np.random.default_rng(9)
    wanted = rng.uniform(-1, 1, (3, data["n"]))
    estimate = robot.parameters.values * rng.uniform(0.5, 1.5, len(robot.parameters))
    qrd, qrdd = wanted[1] - LAMBDA * (q - wanted[0]), wanted[2] - LAMBDA * (qd - wanted[1])
    return data, robot, here, g, (q, qd, *wanted), estimate, (qrd, qrdd, qd - qrd)


def test_reference_motion(loop):
    """(29)-(33): the reference velocity and acceleration, and s."""
    *_, state, _, wanted = loop
    for ours, value in zip(tp.laws.reference_motion(*state, LAMBDA), wanted, strict=True):
        assert close(ours, value)


def test_slotine_li_in_closed_form(loop):
    """(25)-(28), (34)-(38): the torque with estimates, the adaptation, and dV/dt = -s' K s with the true parameters."""
    data, robot, _, g, (q, qd, *wanted), estimate, (qrd, qrdd, s) = loop
    guessed = Stacks(data, robot.with_parameters(estimate), q, qd)
    inertia = guessed.diagonal(lambda i, v: i)
    halves = guessed.diagonal(lambda i, v: cross6(v) @ i - cross6(i @ v) - i @ cross6(v)) / 2
    H = guessed.J_t @ inertia @ guessed.J
    C = guessed.J_t @ (inertia @ guessed.V_s + halves @ guessed.J)
    G = -guessed.J_t @ np.concatenate([i @ g for i in guessed.I])
    tau = H @ qrdd + C @ qrd + G - K * s
    law = tp.SlotineLi(robot, Lambda=LAMBDA, K=K, Gamma_inv=0.3)
    assert error(law.torque(q, qd, *wanted, parameters=estimate), tau) < CLOSE
    Y = tp.closed_form.spatial_regressor(robot)(q, qd, qrd, qrdd)[2]  # checked in test_regressor_parts
    change = law.adaptation(q, qd, *wanted, parameters=estimate)
    assert error(change, -0.3 * Y.T @ s) < CLOSE
    # V = s' H s / 2 + (a_hat - a)' Gamma (a_hat - a) / 2: its rate along the true arm.
    qdd = tp.forward_dynamics(robot)(q, qd, tau)
    M, Md = tp.mass_matrix(robot)(q), tp.mass_matrix_derivative(robot)(q, qd)
    rate = s @ M @ (qdd - qrdd) + s @ Md @ s / 2 + (estimate - robot.parameters.values) @ change / 0.3
    assert rate == pytest.approx(-K * s @ s, rel=1e-7)


def test_niemeyer_slotine_by_recursion(loop):
    """(39)-(42): the torque by the recursion of the test, and the adaptation link by link."""
    data, robot, here, g, (q, qd, *wanted), estimate, (qrd, qrdd, s) = loop
    guessed = Stacks(data, robot.with_parameters(estimate), q, qd)
    w, wd, forces, rates = np.zeros(6), np.zeros(6), [], []
    for i, (axis, v, inertia) in enumerate(zip(here.s, here.v, guessed.I, strict=True)):
        w = w + axis * qrd[i]
        wd = wd + cross6(v) @ axis * qrd[i] + axis * qrdd[i]
        half = cross6(v) @ inertia @ w + cross6(w) @ inertia @ v + inertia @ cross6(w) @ v
        forces.append(inertia @ (wd - g) + half / 2)
        for constant in form.parameter_matrices():
            R = here.X[i] @ constant @ primed(here.X[i])
            y = R @ (wd - g) + (cross6(v) @ R @ w - cross6(R @ v) @ w - R @ cross6(v) @ w) / 2
            rates.append(-0.3 * primed(v - w) @ y)
    carried = np.cumsum(forces[::-1], axis=0)[::-1]
    tau = np.array([primed(axis) @ f for axis, f in zip(here.s, carried, strict=True)]) - K * s
    law = tp.NiemeyerSlotine(robot, Lambda=LAMBDA, K=K, Gamma_inv=0.3)
    assert error(law.torque(q, qd, *wanted, parameters=estimate), tau) < CLOSE
    assert error(law.adaptation(q, qd, *wanted, parameters=estimate), np.array(rates)) < CLOSE


def test_walker(loop):
    """(43)-(46): by recursion and in closed form, C_w with the velocities of the reference."""
    data, robot, here, g, (q, qd, *wanted), estimate, (qrd, qrdd, s) = loop
    guessed = Stacks(data, robot.with_parameters(estimate), q, qd)
    w, wd, forces = np.zeros(6), np.zeros(6), []
    for i, (axis, v, inertia) in enumerate(zip(here.s, here.v, guessed.I, strict=True)):
        w = w + axis * qrd[i]
        wd = wd + cross6(v) @ axis * qrd[i] + axis * qrdd[i]
        forces.append(inertia @ (wd - GAMMA * (v - w) - g) + cross6(w) @ inertia @ w)
    carried = np.cumsum(forces[::-1], axis=0)[::-1]
    tau = np.array([primed(axis) @ f for axis, f in zip(here.s, carried, strict=True)])
    reference = Stacks(data, robot.with_parameters(estimate), q, qrd)
    inertia = guessed.diagonal(lambda i, v: i)
    halves = reference.diagonal(lambda i, v: cross6(v) @ i - cross6(i @ v) - i @ cross6(v)) / 2
    H = guessed.J_t @ inertia @ guessed.J
    C_w = guessed.J_t @ (inertia @ guessed.V_s + halves @ guessed.J)
    G = -guessed.J_t @ np.concatenate([i @ g for i in guessed.I])
    closed = H @ qrdd + C_w @ qrd + G - GAMMA * H @ s
    assert error(tau, closed) < CLOSE
    for kind in ("recursive", "closed"):
        law = tp.Walker(robot, Lambda=LAMBDA, gamma=GAMMA, Gamma_inv=0.3, form=kind)
        assert error(law.torque(q, qd, *wanted, parameters=estimate), tau) < CLOSE


def test_rates_of_convergence(loop):
    """(47)-(53), corrected: with exact parameters V_1 = s' H s has the rate -2 gamma V_1, or -2 s' K s."""
    _, robot, _, _, (q, qd, *wanted), _, (_, qrdd, s) = loop
    M, Md = tp.mass_matrix(robot)(q), tp.mass_matrix_derivative(robot)(q, qd)
    walker = tp.Walker(robot, Lambda=LAMBDA, gamma=GAMMA, Gamma_inv=0.3)
    for law, wanted_rate in (
        (walker, -2 * GAMMA * s @ M @ s),
        (tp.SlotineLi(robot, Lambda=LAMBDA, K=K, Gamma_inv=0.3), -2 * K * s @ s),
    ):
        tau = law.torque(q, qd, *wanted, parameters=robot.parameters.values)
        qdd = tp.forward_dynamics(robot)(q, qd, tau)
        assert 2 * s @ M @ (qdd - qrdd) + s @ Md @ s == pytest.approx(wanted_rate, rel=1e-7)
    assert tp.laws.convergence_rate(walker) == pytest.approx(2 * GAMMA)


def test_force_on_a_body():
    """(54), (55): the rate of the momentum I v along a motion, by complex steps through X(t) = exp(t v0 x + t^2 v1 x / 2)."""
    rng = np.random.default_rng(7)
    own = form.spatial_inertia([2.5, 0.3, -0.2, 0.4, 0.5, 0.02, -0.03, 0.6, 0.01, 0.7])
    axis, rate, acceleration = rng.uniform(-1, 1, 6), 0.7, -1.3
    # A screw motion about a fixed axis: v = axis s'(t), X(t) = exp(s(t) axis x), with s(t) = rate t + acceleration t^2 / 2.
    step = 1e-30j
    s, speed = rate * step, rate + acceleration * step
    moved = np.eye(6) + s * cross6(axis)  # to first order, which is all that a complex step sees
    inertia = moved @ own @ primed(moved)
    wanted = (inertia @ axis * speed).imag / abs(step)
    v = axis * rate
    assert close(form.spatial_force(own, v, axis * acceleration), wanted)
    pair = form.spatial_force(own, [v, 2 * v], [axis, axis])
    assert pair.shape == (2, 6) and close(pair[0], form.spatial_force(own, v, axis))
    with refused("vd", got=(5,), shape=(6,)):
        form.spatial_force(own, v, np.zeros(5))
