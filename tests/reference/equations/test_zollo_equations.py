"""Zollo et al. (2014), equation by equation: each public call against the formula, written down in NumPy."""

import blocks
import numpy as np
import pytest
from elastic import VECTORS, arm
from refusals import refused
from support import error

import taupi as tp

CLOSE = 1e-10


@pytest.mark.parametrize("name", ["planar2", "spatial3", "rpr3", "puma560"])
def test_three_parts_of_the_regressor(name):
    """(13), (15), (22), (29): Y_B Pi = B a, Y_C Pi = C v, and gravity, friction and springs in Y_oth; columns apart, too."""
    data, robot = VECTORS["robots"][name], arm(name)
    n = data["n"]
    rng = np.random.default_rng(3)
    q, qd, qdd, thetad, thetadd = rng.uniform(-2, 2, (5, n))
    theta = q + rng.uniform(-0.1, 0.1, n)
    Y_B, Y_C, Y_oth = tp.elastic.regressor_parts(robot)(q, qd, qdd, theta, thetad, thetadd)
    Pi = blocks.parameters(data)
    assert error(Y_B @ Pi, blocks.mass_matrix(data, q) @ np.r_[qdd, thetadd]) < CLOSE
    assert error(Y_C @ Pi, blocks.coriolis(data, q, qd, thetad) @ np.r_[qd, thetad]) < CLOSE
    zero = np.zeros(n)
    at_rest = blocks.regressor(data, q, zero, zero, theta, zero, zero)  # gravity and springs
    accelerated = blocks.regressor(data, q, zero, qdd, theta, zero, thetadd) - at_rest
    friction = np.zeros_like(at_rest)
    for i in range(n):
        friction[n + i, 11 * n + i], friction[n + i, 12 * n + i] = np.sign(thetad[i]), thetad[i]
    moving = blocks.regressor(data, q, qd, zero, theta, thetad, zero) - at_rest - friction
    for ours, wanted in ((Y_B, accelerated), (Y_C, moving), (Y_oth, at_rest + friction)):
        assert np.abs(ours - wanted).max() < CLOSE * max(1, np.abs(wanted).max())
    assert not Y_B[:, 11 * n :].any() and not Y_C[:, 11 * n :].any()


def test_motors_as_bodies():
    """(A.14): link i with motor i + 1: mass, first moment and inertia, Steiner's part included; also with symbols."""
    robot = arm("spatial3")
    rng = np.random.default_rng(4)
    mass, position = rng.uniform(0.5, 2, 3), rng.uniform(-0.3, 0.3, (3, 3))
    inertia = np.array([np.diag(rng.uniform(0.01, 0.02, 3)) for _ in range(3)])
    heavy = tp.elastic.with_motors(robot, mass, position, inertia)
    before, after = (r.parameters.values.reshape(3, 10) for r in (robot, heavy))
    for link in (0, 1):
        m, p, own = mass[link + 1], position[link + 1], inertia[link + 1]
        about_origin = own + m * blocks.skew(p).T @ blocks.skew(p)
        six = about_origin[[0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]]
        assert np.allclose(after[link] - before[link], [m, *(m * p), *six], atol=1e-12)
    assert np.array_equal(after[2], before[2])
    # The document's own arm (45): its bodies are links with their motors.
    bare = tp.load("zollo2r")
    body = bare.parameters.values[:10]
    assert body[0] == pytest.approx(21) and body[9] == pytest.approx(7 / 15 + 1.25 + 12.1)
    symbolic = tp.elastic.with_motors(tp.load("elbow2r"), ["mm1", "mm2"], [(0, 0, 0), ("x", 0, 0)])
    assert {"mm2", "x"} <= {name for name, _ in symbolic.symbols}
    with refused("mass", got=2, expected=3):
        tp.elastic.with_motors(robot, [1.0, 2.0], position)
    with pytest.raises(tp.TaupiError, match="motor of"):
        tp.elastic.with_motors(robot, [1.0, -2.0, 1.0], position)


@pytest.mark.parametrize("name", ["planar2", "spatial3", "puma560"])
def test_model_of_links_and_motors(name):
    """(2), (4)-(7), (A.1)-(A.13), (A.15)-(A.21): B a + C v + g + K_e x + friction, term by term; B from the energy."""
    data, robot = VECTORS["robots"][name], arm(name)
    n, kin_of = data["n"], lambda x: blocks.Kinematics(data, x)
    rng = np.random.default_rng(6)
    q, qd, qdd, thetad, thetadd = rng.uniform(-1.5, 1.5, (5, n))
    theta = q + rng.uniform(-0.1, 0.1, n)
    kin, g0, stiff = kin_of(q), np.array(data["g0"]), np.diag(data["K"])
    g = np.zeros(n)
    for i in range(n):
        turned = kin.R[i + 1] @ data["c"][i]
        g -= [g0 @ (data["m"][i] * kin.JP[i + 1][:, j] + np.cross(kin.JO[i + 1][:, j], turned)) for j in range(n)]
    spring = np.block([[stiff, -stiff], [-stiff, stiff]])
    friction = np.r_[np.zeros(n), np.array(data["fs"]) * np.sign(thetad) + np.array(data["fv"]) * thetad]
    B, C = blocks.mass_matrix(data, q), blocks.coriolis(data, q, qd, thetad)
    total = (
        B @ np.r_[qdd, thetadd] + C @ np.r_[qd, thetad] + np.r_[g, np.zeros(n)] + spring @ np.r_[q, theta] + friction
    )
    state = (q, qd, qdd, theta, thetad, thetadd)
    program = tp.elastic.inverse_dynamics(robot, terms=("coulomb", "viscous"))
    assert error(program(*state), total) < CLOSE
    assert error(tp.elastic.mass_matrix(robot)(q), B) < CLOSE
    assert error(tp.elastic.coriolis_matrix(robot)(q, qd, thetad), C) < CLOSE
    assert np.abs(tp.elastic.gravity_torque(robot)(q)[:n] - g).max() < CLOSE * max(1, np.abs(g).max())
    assert error(tp.elastic.stiffness_matrix(robot)(), spring) < CLOSE
    assert error(tp.elastic_regressor(robot)(*state) @ blocks.parameters(data), total) < CLOSE  # (13)-(34)


@pytest.fixture(params=["planar2", "spatial3", "rpr3", "puma560"])
def moving(request):
    """A robot, its numbers, and random q, qd, thetad."""
    data, robot = VECTORS["robots"][request.param], arm(request.param)
    return data, robot, np.random.default_rng(9).uniform(-1.5, 1.5, (3, data["n"]))


def test_energies_of_links_and_motors(moving):
    """(1), (3): T by the velocities of links and rotors, and v' B v / 2; U_g by heights, U_e by the springs, with a half."""
    data, robot, (q, qd, thetad) = moving
    kin, g0, theta = blocks.Kinematics(data, q), np.array(data["g0"]), q + 0.03 * thetad
    kinetic = potential = 0.0
    for i in range(data["n"]):
        v, w, R, c = kin.JP[i + 1] @ qd, kin.JO[i + 1] @ qd, kin.R[i + 1], np.array(data["c"][i])
        k, rotor, z = data["km"][i], data["Ups"][i], np.array(data["zm"][i])
        kinetic += (
            data["m"][i] * v @ v / 2 + v @ np.cross(w, R @ c) + w @ R @ blocks.tensor(data["I6"][i]) @ R.T @ w / 2
        )
        kinetic += k * thetad[i] * rotor * z @ kin.R[i].T @ kin.JO[i] @ qd + k**2 * thetad[i] ** 2 * rotor / 2
        potential += -g0 @ (data["m"][i] * kin.p[i + 1] + R @ c) + data["K"][i] * (q[i] - theta[i]) ** 2 / 2
    v = np.r_[qd, thetad]
    assert tp.kinetic_energy(robot)(q, qd, thetad) == pytest.approx(kinetic, rel=1e-9)
    assert v @ blocks.mass_matrix(data, q) @ v / 2 == pytest.approx(kinetic, rel=1e-9)
    assert tp.potential_energy(robot)(q, theta) == pytest.approx(potential, rel=1e-9, abs=1e-9)


def only(data, kept):
    """The numbers of a robot with those of one kind kept: its masses, its first moments, its inertias or its rotors."""
    kinds = ("m", "c", "I6", "Ups")
    return data | {kind: data[kind] if kind == kept else np.zeros(np.shape(data[kind])) for kind in kinds}


def test_parts_of_the_inertia_and_their_rates(moving):
    """(8)-(12): B_m, B_c, B_I, B_d with B_Y, and H of each, by the formulas with one kind of parameters at a time."""
    data, robot, (q, *_) = moving
    n = data["n"]
    program = tp.elastic.mass_matrix_parts(robot)
    parts, rates = program(q), program.jacobian("q")(q)
    kin = blocks.Kinematics(data, q)
    for kind, part, rate in zip(("m", "c", "I6", "Ups"), parts, rates, strict=True):
        alone = only(data, kind)
        assert np.abs(part - blocks.mass_matrix(alone, q)).max() < CLOSE * max(1, np.abs(part).max())
        Pi = blocks.parameters(alone)
        for k in range(n):
            H = np.array([blocks.rate_regressor(kin, k, e[:n], e[n:]) @ Pi for e in np.eye(2 * n)]).T
            assert np.abs(rate[..., k] - H).max() < CLOSE * max(1, np.abs(H).max())


def test_rate_regressors(moving):
    """(23)-(28), (B.14)-(B.20): Y_H of every joint, column by column, H v = Y_H Pi, and Y_C from them."""
    data, robot, (q, qd, thetad) = moving
    n, kin, v = data["n"], blocks.Kinematics(data, q), np.r_[qd, thetad]
    Y_H = tp.elastic.rate_regressors(robot)(q, qd, thetad)
    wanted = np.array([blocks.rate_regressor(kin, k, qd, thetad) for k in range(n)])
    assert np.abs(Y_H - wanted).max() < CLOSE * max(1, np.abs(wanted).max())
    Y_C = np.einsum("k,kij->ij", qd, Y_H)
    Y_C[:n] -= np.einsum("i,kij->kj", v, Y_H) / 2
    parts = tp.elastic.regressor_parts(robot)(q, qd, 0 * q, q, thetad, 0 * q)
    assert np.abs(Y_C - parts[1]).max() < CLOSE * max(1, np.abs(Y_C).max())
    by_link = tp.elastic.rate_regressors(robot, order="link")
    assert by_link.parameters.names[10] == f"{robot.joint_names[0]}.rotor_inertia"
    assert error(by_link(q, qd, thetad) @ by_link.parameters.values, Y_H @ blocks.parameters(data)) < CLOSE


def test_parts_of_gravity(moving):
    """(31): g_m and g_c."""
    data, robot, (q, *_) = moving
    n, kin, g0 = data["n"], blocks.Kinematics(data, q), np.array(data["g0"])
    g_m, g_c = np.zeros((2, 2 * n))
    for i in range(1, n + 1):
        g_m[:n] -= data["m"][i - 1] * g0 @ kin.JP[i]
        g_c[:n] -= [g0 @ np.cross(kin.JO[i][:, j], kin.R[i] @ data["c"][i - 1]) for j in range(n)]
    for ours, wanted in zip(tp.elastic.gravity_parts(robot)(q), (g_m, g_c), strict=True):
        assert np.abs(ours - wanted).max() < 1e-9 * max(1, np.abs(wanted).max())


def test_parts_of_the_coriolis_matrix(moving):
    """(B.1)-(B.13): C from H of the test: half the sum, half the rows, and minus their transpose."""
    data, robot, (q, qd, thetad) = moving
    n, kin, v, Pi = data["n"], blocks.Kinematics(data, q), np.r_[qd, thetad], blocks.parameters(data)
    H = [np.array([blocks.rate_regressor(kin, k, e[:n], e[n:]) @ Pi for e in np.eye(2 * n)]).T for k in range(n)]
    first = sum(qd[k] * H[k] for k in range(n)) / 2
    second = -np.vstack([*(v @ h for h in H), np.zeros((n, 2 * n))]) / 2
    for ours, wanted in zip(tp.elastic.coriolis_parts(robot)(q, qd, thetad), (first, second, -second.T), strict=True):
        assert np.abs(ours - wanted).max() < CLOSE * max(1, np.abs(wanted).max())
    assert error(tp.elastic.coriolis_matrix(robot)(q, qd, thetad), first + second - second.T) < CLOSE


def test_bow_tie():
    """(*), (**): the operator entry by entry, and S a by it."""
    rng = np.random.default_rng(10)
    a, six = rng.uniform(-1, 1, (2, 3)), rng.uniform(-1, 1, 6)
    assert np.array_equal(tp.closed_form.bow_tie(a[0]), blocks.bow(a[0]))
    assert np.allclose(tp.closed_form.bow_tie(a) @ six, a @ blocks.tensor(six), atol=1e-15)
    with refused("a", got=(4,), shape=(3,)):
        tp.closed_form.bow_tie([1.0, 2.0, 3.0, 4.0])


def test_parts_with_a_rigid_joint_add_up():
    """B and C in parts of an arm one of whose joints is rigid; and a robot without elastic joints is refused."""
    robot = arm("spatial3")
    half = robot.with_transmissions(stiffness=[900.0, None, 700.0])
    assert len(half.elastic_joints) == 2
    q, qd, thetad = np.random.default_rng(11).uniform(-1, 1, (3, 3))
    assert error(sum(tp.elastic.mass_matrix_parts(half)(q)), tp.elastic.mass_matrix(half)(q)) < CLOSE
    state = (q, qd, thetad[:2])
    assert error(sum(tp.elastic.coriolis_parts(half)(*state)), tp.elastic.coriolis_matrix(half)(*state)) < CLOSE
    assert tp.elastic.rate_regressors(half)(*state).shape[:2] == (3, 5)
    for builder in (tp.elastic.mass_matrix_parts, tp.elastic.coriolis_parts, tp.elastic.gravity_parts):
        with pytest.raises(tp.TaupiError, match="has no elastic joint"):
            builder(tp.load("elbow2r"))
    with pytest.raises(tp.TaupiError, match="has no elastic joint"):
        tp.elastic.rate_regressors(tp.load("elbow2r"))


def test_least_squares_of_stacked_rows():
    """(35)-(42): W Pi = T stacked, L of independent columns, Pi* = (L'L)^-1 L'T, by NumPy and by the estimator."""
    robot = arm("planar2")
    rng = np.random.default_rng(8)
    states = rng.uniform(-2, 2, (6, 60, 2))
    states[3] = states[0] + rng.uniform(-0.05, 0.05, (60, 2))
    program = tp.elastic_regressor(robot)
    W = program(*states).reshape(-1, 28)
    base = tp.base_parameters(robot, terms=("coulomb", "viscous"), elastic=True)
    assert base.count == np.linalg.matrix_rank(W) == 14
    names = list(program.parameters.names)
    kinds = base.classes
    zero = {name for name, column in zip(names, W.T, strict=True) if not np.abs(column).max() > 1e-12}
    assert zero == {name for name, kind in kinds.items() if kind == "unidentifiable"} and len(zero) == 12
    T = W @ program.parameters.values
    L = np.stack([W[:, names.index(name)] for name in (base.standard.names[k] for k in base.columns)], axis=1)
    solution = np.linalg.solve(L.T @ L, L.T @ T)
    assert np.allclose(solution, base.project(base.standard.values), rtol=1e-6, atol=1e-8)


def test_friction_curve():
    """(43), (44): the Stribeck curve, with the exponent in the speed, and its limits."""
    f = np.array([[0.1434, 0.3302, 0.2499, 0.0537, 0.2991, 16.624], [0.1391, 0.3576, 0.2451, 0.1073, 0.3389, 10.097]]).T
    curve = tp.terms.StribeckCurve.document()
    v = np.array([[-3.0, 2.0], [0.01, -0.02], [0.5, 0.5], [0.0, 0.0]])
    size = np.abs(v)
    with np.errstate(divide="ignore"):
        rest = -f[2] * np.exp(-size / f[3]) - f[4] * np.exp(-1 / (f[5] * size))
    assert np.allclose(curve.torque(v), f[0] * v + np.sign(v) * (f[1] + rest), atol=1e-12)
