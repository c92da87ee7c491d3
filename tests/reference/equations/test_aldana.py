"""Aldana, Nuño & Basañez, formula by formula: each public call against the formula, written down in NumPy."""

import numpy as np
import pytest
from refusals import refused

import taupi as tp

CLOSE = 1e-10


def numbers(arm):
    """The values of the arm's symbols, p1 ... p9 free of g, and Theta."""
    v = {name: float(value) for name, value in arm.symbols}
    m, inertia, lc = ([v[f"{x}{k}"] for k in (1, 2, 3)] for x in ("m", "I", "lc"))
    l1, l2, l3 = (v[f"l{k}"] for k in (1, 2, 3))
    p1 = m[0] * lc[0] ** 2 + inertia[0] + m[1] * (l1**2 + lc[1] ** 2) + inertia[1]
    p1 += m[2] * (l1**2 + l2**2 + lc[2] ** 2) + inertia[2]
    p2, p3, p4 = l1 * (m[1] * lc[1] + m[2] * l2), m[2] * l2 * lc[2], m[2] * l1 * lc[2]
    p5 = m[1] * lc[1] ** 2 + inertia[1] + m[2] * (l2**2 + lc[2] ** 2) + inertia[2]
    p6, p7 = m[2] * lc[2] ** 2 + inertia[2], m[0] * lc[0] + (m[1] + m[2]) * l1
    p8, p9 = m[1] * lc[1] + m[2] * l2, m[2] * lc[2]
    p = (p1, p2, p3, p4, p5, p6, p7, p8, p9)
    theta = [
        p7 / l1,
        p8 / l2,
        p2 / (l1 * l2),
        p3 / l2,
        p4 / l1,
        l3 * p2 / (l1 * l2),
        p6 / l2**2,
        p5 / l2**2,
        p1 / l1**2,
    ]
    theta += [p5 / l1**2, l3 * p1 / l1**2, l3 * p5 / l2**2, l3 * p6 / l2**2, l3 * p5 / l1**2, l3**2 * p6 / l2**2]
    theta += [l3**2 * p1 / l1**2, p6, l3**2 * p5 / l2**2, p9, l3**2 * p5 / l1**2, l3**2 * p2 / (l1 * l2), l3 * p3 / l2]
    theta += [l3 * p4 / l1, l3 * p8 / l2, l3 * p7 / l1]
    return v, p, np.array(theta)


def joint_model(v, p, q, d):
    """M, C, g of section 2."""
    p1, p2, p3, p4, p5, p6, p7, p8, p9 = p
    c2, c3, c23, s2, s3, s23 = *np.cos([q[1], q[2], q[1] + q[2]]), *np.sin([q[1], q[2], q[1] + q[2]])
    w2, w3 = d[0] + d[1], d.sum()
    m12, m13, m23 = p5 + p2 * c2 + 2 * p3 * c3 + p4 * c23, p6 + p3 * c3 + p4 * c23, p6 + p3 * c3
    M = np.array([[p1 + 2 * (p2 * c2 + p3 * c3 + p4 * c23), m12, m13], [m12, p5 + 2 * p3 * c3, m23], [m13, m23, p6]])
    C = [
        [
            -p2 * s2 * d[1] - p3 * s3 * d[2] - p4 * s23 * (d[1] + d[2]),
            -p2 * s2 * w2 - p3 * s3 * d[2] - p4 * s23 * w3,
            -(p3 * s3 + p4 * s23) * w3,
        ],
        [p2 * s2 * d[0] - p3 * s3 * d[2] + p4 * s23 * d[0], -p3 * s3 * d[2], -p3 * s3 * w3],
        [p3 * s3 * w2 + p4 * s23 * d[0], p3 * s3 * w2, 0.0],
    ]
    a = np.cos(np.cumsum(q))
    g = v["g"] * np.array([p7 * a[0] + p8 * a[1] + p9 * a[2], p8 * a[1] + p9 * a[2], p9 * a[2]])
    return M, np.array(C), g


def task_jacobian(v, q):
    angle, length = np.cumsum(q), np.array([v["l1"], v["l2"], v["l3"]])
    x = [-(length[j:] * np.sin(angle[j:])).sum() for j in range(3)]
    y = [(length[j:] * np.cos(angle[j:])).sum() for j in range(3)]
    return np.array([x, y, [1.0, 1.0, 1.0]])


@pytest.fixture
def case():
    arm = tp.load("planar3r")
    q, qd, V, Vd = np.random.default_rng(3).uniform(0.3, 1.2, (4, 3))
    return arm, *numbers(arm), q, qd, V, Vd


def test_joint_space(case):
    """(1): M, C, g with p1 ... p9, and J_A."""
    arm, v, p, _, q, qd, *_ = case
    M, C, g = joint_model(v, p, q, qd)
    assert np.allclose(tp.mass_matrix(arm)(q), M, rtol=0, atol=CLOSE)
    assert np.allclose(tp.coriolis_matrix(arm)(q, qd), C, rtol=0, atol=CLOSE)
    assert np.allclose(tp.gravity_torque(arm)(q), g, rtol=0, atol=CLOSE)
    J = task_jacobian(v, q)
    assert np.allclose(tp.jacobian(arm, task="planar")(q), J, rtol=0, atol=CLOSE)
    assert np.linalg.det(J) == pytest.approx(v["l1"] * v["l2"] * np.sin(q[1]))


def test_operational_space(case):
    """(2): M(r), C(r, rd), g(r), with d(J^-1)/dt = -J^-1 dJ/dt J^-1, and the force for any V, Vd."""
    arm, v, p, _, q, qd, V, Vd = case
    M, C, g = joint_model(v, p, q, qd)
    back = np.linalg.inv(task_jacobian(v, q))
    step = 1e-6
    rate = (task_jacobian(v, q + step * qd) - task_jacobian(v, q - step * qd)) / (2 * step)
    M_r, g_r = back.T @ M @ back, back.T @ g
    C_r = back.T @ (C @ back - M @ back @ rate @ back)
    ours = tp.operational_dynamics(arm, task="planar")(q, qd)
    assert all(np.allclose(a, b, rtol=1e-7, atol=1e-7) for a, b in zip(ours, (M_r, C_r, g_r), strict=True))
    assert np.allclose(tp.operational.mass(arm, task="planar")(q), M_r)
    force = tp.operational.force(arm, task="planar")(q, qd, V, Vd)
    assert np.allclose(force, M_r @ Vd + C_r @ V + g_r, rtol=1e-7, atol=1e-7)


def compact(v, q, d, V, Vd):
    """All 75 entries, in absolute angles of the links."""
    c2, c3, c23, s2, s3, s23 = *np.cos([q[1], q[2], q[1] + q[2]]), *np.sin([q[1], q[2], q[1] + q[2]])
    q1, q12, q123 = np.cumsum(q)
    w1, w2, w3 = np.cumsum(d)
    u1, u2 = np.array([np.cos(q12), np.sin(q12)]) / s2, -np.array([np.cos(q1), np.sin(q1)]) / s2
    v1, v2, kap, g = s3 / s2, -s23 / s2, d[1] * c2 / s2, v["g"]
    al1, al2, be1, be2 = u1 @ V[:2], u2 @ V[:2], v1 * V[2], v2 * V[2]
    al1d = u1 @ Vd[:2] + w2 * (-np.sin(q12) * V[0] + np.cos(q12) * V[1]) / s2 - kap * al1
    al2d = u2 @ Vd[:2] - w1 * (-np.sin(q1) * V[0] + np.cos(q1) * V[1]) / s2 - kap * al2
    be1d = v1 * Vd[2] + d[2] * c3 * V[2] / s2 - kap * be1
    be2d = v2 * Vd[2] - (d[1] + d[2]) * c23 * V[2] / s2 - kap * be2
    fa, fA = c2 * al2d - s2 * w2 * al2, c2 * al1d + s2 * w1 * al1
    fb, fB = c2 * be2d - s2 * w2 * be2, c2 * be1d + s2 * w1 * be1
    h3, h23 = c3 * Vd[2] - s3 * w3 * V[2], c23 * Vd[2] - s23 * w3 * V[2]
    zero = np.zeros(2)
    columns = {
        1: (g * np.cos(q1) * u1, 0),
        2: (g * np.cos(q12) * u2, 0),
        3: (fa * u1 + fA * u2, 0),
        4: (h3 * u2, c3 * al2d + s3 * w2 * al2),
        5: (h23 * u1, c23 * al1d + s23 * w1 * al1),
        6: (fb * u1 + fB * u2, v1 * fa + v2 * fA),
        8: (al2d * u2, 0),
        9: (al1d * u1, 0),
        11: (be1d * u1, v1 * al1d),
        12: (be2d * u2, v2 * al2d),
        16: (zero, v1 * be1d),
        17: (zero, Vd[2]),
        18: (zero, v2 * be2d),
        19: (zero, g * np.cos(q123)),
        21: (zero, v1 * fb + v2 * fB),
        22: (zero, v2 * h3 + c3 * be2d + s3 * w2 * be2),
        23: (zero, v1 * h23 + c23 * be1d + s23 * w1 * be1),
        24: (zero, v2 * g * np.cos(q12)),
        25: (zero, v1 * g * np.cos(q1)),
    }
    columns |= {
        a: (-columns[b][0], -columns[b][1]) for a, b in ((7, 8), (10, 9), (13, 12), (14, 11), (15, 18), (20, 16))
    }
    return np.array([[*columns[k][0], columns[k][1]] for k in range(1, 26)]).T


def test_the_regressor_of_25_parameters(case):
    """Section 4, Table 2: one call gives Y and Theta; Y entry by entry, Y Theta against the model, rank 14."""
    arm, v, _, theta, q, qd, V, Vd = case
    lumped = tp.operational.planar_3r_regressor(arm)
    Y = lumped.regressor(q, qd, V, Vd)
    assert Y.shape == (3, 25) and lumped.rank == 14
    assert np.allclose(lumped.parameters.values, theta, rtol=1e-12)
    assert np.allclose(Y, compact(v, q, qd, V, Vd), rtol=0, atol=1e-9 * np.abs(Y).max())
    assert np.allclose(Y @ theta, tp.operational.force(arm, task="planar")(q, qd, V, Vd))
    default = tp.operational.planar_3r_regressor()
    assert np.allclose(default.parameters.values, theta) and str(default.expressions[0]) == "p7/l1"
    longer = tp.operational.planar_3r_regressor(arm.bind(l3=1.5))
    assert not np.allclose(longer.parameters.values, theta)
    assert np.allclose(longer.regressor(q, qd, V, Vd), Y)  # no length in Y
    with pytest.raises(tp.TaupiError, match="has no m1, m2, m3"):
        tp.operational.planar_3r_regressor(tp.load("elbow2r"))
    with refused("robot", got="str"):
        tp.operational.planar_3r_regressor("planar3r")
