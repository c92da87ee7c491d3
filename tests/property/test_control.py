"""Control laws on random robots: closed and recursive forms agree, the document's matrices, dV/dt as claimed."""

import casadi as cs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import ROUNDING, error, random_robot, random_states, robots, trees_with_mimic

import taupi as tp
from taupi.control import spatial_algebra as spatial
from taupi.control.lyapunov import plant_parameters

ALL_TERMS = ("viscous", "coulomb", "offset", "rotor")
# dV/dt through M^-1 (tau - b): digits lost with the condition of M, which random trees have up to some 1e4.
RATE = 1e-8
seeds = st.integers(0, 10**6)


def estimate(law, seed):
    """An estimate that need not be a body's: the laws are linear in it."""
    rng = np.random.default_rng(seed)
    return (
        law.parameters.values * rng.uniform(0.3, 1.7, len(law.parameters)) + rng.normal(size=len(law.parameters)) / 10
    )


def gains(robot, p, seed):
    rng = np.random.default_rng(seed)
    return {"Lambda": rng.uniform(1, 6, robot.n), "Gamma_inv": rng.uniform(0.1, 2, p)}


def now(program):
    """A program without waiting for a compiler."""
    return program.compile("numpy")


def quick(law):
    """Torque and adaptation of a law, likewise."""
    return now(law.program())


def spd(rng, n):
    a = rng.normal(size=(n, n))
    return a @ a.T + n * np.eye(n)


@settings(max_examples=6, deadline=None, derandomize=True)
@given(robot=trees_with_mimic, seed=seeds, adapt=st.sampled_from([None, "*.m", ("l0.*",), "base"]))
def test_recursive_laws_are_the_closed_ones(robot, seed, adapt):
    p = len(tp.SlotineLi(robot, K=1.0, Gamma_inv=1.0, terms=ALL_TERMS, adapt=adapt).parameters)
    rng = np.random.default_rng(seed)
    keywords = {"terms": ALL_TERMS, "adapt": adapt, "Lambda": rng.uniform(1, 6, robot.n), "Gamma_inv": spd(rng, p)}
    K = spd(rng, robot.n)
    state = random_states(robot, 3, 5, seed)
    pairs = [
        (tp.SlotineLi(robot, K=K, **keywords), tp.NiemeyerSlotine(robot, K=K, **keywords)),
        (tp.Walker(robot, gamma=3.0, form="closed", **keywords), tp.Walker(robot, gamma=3.0, **keywords)),
    ]
    for closed, recursive in pairs:
        pi_hat = estimate(closed, seed)
        for got, want in zip(quick(recursive)(*state, pi_hat), quick(closed)(*state, pi_hat), strict=True):
            assert error(got, want) < ROUNDING


@settings(max_examples=8, deadline=None, derandomize=True)
@given(seed=seeds, other=seeds)
def test_slotine_li_torque_is_the_model_of_another_robot(seed, other):
    """tau = M qrdd + C qrd + g - K s with the matrices of a robot that has the estimate as its parameters."""
    robot = random_robot(seed, joints=4)
    strange = random_robot(other, joints=4)
    guess = tp.Robot(robot.name, robot.joints, strange.links, robot.gravity, robot.base, robot.frames, robot.tip)
    law = tp.NiemeyerSlotine(robot, Lambda=3.0, K=2.0, Gamma_inv=1.0)
    q, qd, *wanted = random_states(robot, 3, 5, seed)
    qrd, qrdd, s = tp.laws.reference_motion(q, qd, *wanted, Lambda=3.0)
    M, C = now(tp.mass_matrix(guess, algorithm="links"))(q), now(tp.coriolis_matrix(guess))(q, qd)
    tau = (M @ qrdd[..., None] + C @ qrd[..., None])[..., 0] + now(tp.gravity_torque(guess))(q) - 2.0 * s
    assert error(quick(law)(q, qd, *wanted, guess.parameters.values)[0], tau) < ROUNDING


@settings(max_examples=8, deadline=None, derandomize=True)
@given(robot=trees_with_mimic, seed=seeds)
def test_the_documents_matrices(robot, seed):
    q, qd = random_states(robot, 3, 2, seed)
    H, C, G, N = now(tp.closed_form.spatial_dynamics(robot))(q, qd)
    assert error(H, now(tp.mass_matrix(robot))(q)) < ROUNDING
    symbols = now(tp.christoffel_symbols(robot))(q)
    assert error(C, np.einsum("...kij,...i->...kj", symbols, qd)) < ROUNDING
    assert error(G, now(tp.gravity_torque(robot))(q)) < ROUNDING
    assert error(N, now(tp.mass_matrix_derivative(robot))(q, qd) - 2 * C) < ROUNDING
    assert error(N, -np.swapaxes(N, -1, -2)) < ROUNDING


def test_identities_of_the_algebra():
    rng = np.random.default_rng(3)
    a, b = (cs.SX(cs.DM(rng.normal(size=6))) for _ in range(2))
    A, B = (cs.SX(cs.DM(rng.normal(size=(6, 6)))) for _ in range(2))
    turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    X = spatial.displacement(cs.SX(cs.DM(turn * np.linalg.det(turn))), cs.SX(cs.DM(rng.normal(size=3))))
    body = cs.SX(cs.DM(rng.normal(size=10)))
    x, t, inertia = spatial.cross, spatial.transpose, spatial.inertia(body)
    for left, right in (
        (t(x(a)), -x(a)),
        (x(a) @ b, -x(b) @ a),
        (x(x(a) @ b), x(a) @ x(b) - x(b) @ x(a)),
        (t(A @ a), t(a) @ t(A)),
        (t(A @ B), t(B) @ t(A)),
        (t(X) @ X, cs.SX.eye(6)),
        (x(X @ a), X @ x(a) @ t(X)),
        (t(inertia), inertia),
    ):
        difference = np.array(cs.DM(cs.evalf(cs.densify(left - right))))
        assert np.abs(difference).max() < 1e-13


def test_not_every_orthogonal_matrix_is_a_displacement():
    """The document says that (E a) x = E (a x) E' needs E' E = 1 alone; it needs a rigid displacement."""
    E, a = cs.diag(cs.SX([2, 2, 2, 0.5, 0.5, 0.5])), cs.SX([1, 2, 3, 4, 5, 6])
    assert np.array_equal(np.array(cs.DM(cs.evalf(cs.densify(spatial.transpose(E) @ E)))), np.eye(6))
    difference = spatial.cross(E @ a) - E @ spatial.cross(a) @ spatial.transpose(E)
    assert np.abs(np.array(cs.DM(cs.evalf(cs.densify(difference))))).max() > 1


LAWS = {
    "slotine_li": lambda r, g: tp.SlotineLi(r, K=3.0, terms=ALL_TERMS, **g),
    "niemeyer_slotine": lambda r, g: tp.NiemeyerSlotine(r, K=3.0, terms=ALL_TERMS, **g),
    "walker": lambda r, g: tp.Walker(r, gamma=4.0, terms=ALL_TERMS, **g),
    "composite": lambda r, g: tp.laws.CompositeAdaptation(r, K=3.0, terms=ALL_TERMS, **g),
    "forgetting": lambda r, g: tp.laws.CompositeAdaptation(r, K=3.0, adapt="base", forgetting=2.0),
    "natural": lambda r, g: tp.laws.NaturalAdaptation(r, g["Lambda"], K=3.0, gamma=0.5, Gamma_inv=0.3, terms=ALL_TERMS),
}


@pytest.mark.parametrize("name", LAWS)
@settings(max_examples=6, deadline=None, derandomize=True)
@given(seed=seeds)
def test_lyapunov_functions_fall_as_claimed(name, seed):
    robot = random_robot(seed, joints=2 if name == "forgetting" else 3)
    p = 10 * len(robot.links) + len(ALL_TERMS) * robot.n
    law = LAWS[name](robot, gains(robot, p, seed))
    rng = np.random.default_rng(seed)
    vector = law.init(estimate(law, seed) if name != "natural" else law.parameters.values * 1.3).vector.copy()
    tail = slice(len(law.parameters), len(law.parameters) + robot.n * len(law.parameters) + robot.n)
    if name in ("composite", "forgetting"):  # filters that have seen something
        vector[tail] = rng.normal(size=tail.stop - tail.start)
    state = random_states(robot, 4, 5, seed)
    pi = plant_parameters(law).values
    V, V_1, claimed, rate = now(tp.laws.lyapunov(law))(*state, vector, pi)
    assert error(rate, claimed) < RATE
    assert (V >= V_1).all()
    assert (V_1 >= 0).all()
    if name not in ("composite", "forgetting"):
        assert (claimed < 0).all()


@settings(max_examples=6, deadline=None, derandomize=True)
@given(seed=seeds)
def test_fixed_laws_fall_as_claimed_with_exact_parameters(seed):
    robot = random_robot(seed, joints=3)
    q, qd, q_des, qd_des, qdd_des = random_states(robot, 4, 5, seed)
    rest = np.zeros(robot.n)
    terms = ("viscous", "offset", "coulomb")
    pd, ct = tp.PDGravity(robot, Kp=30.0, Kd=8.0, terms=terms), tp.ComputedTorque(robot, terms=(*terms, "rotor"))
    for law, wanted in ((pd, (q_des, rest, rest)), (ct, (q_des, qd_des, qdd_des))):
        pi = law.parameters.values
        V, _, claimed, rate = now(tp.laws.lyapunov(law))(q, qd, *wanted, pi, pi)
        assert error(rate, claimed) < RATE
        assert (claimed < 0).all()
        assert (V > 0).all()


@pytest.mark.parametrize(("task", "joints"), [("planar", 3), ("xy", 3)])
def test_operational_law_falls_as_claimed(task, joints):
    arm = tp.load("planar3r").bind(l1=1, l2=0.8, l3=0.5)
    law = tp.laws.OperationalSlotineLi(arm, task=task, K=5.0, Gamma_inv=0.2)
    m = law.wanted_size()
    rng = np.random.default_rng(5)
    q = np.array([0.3, 0.9, -0.7]) + rng.uniform(-0.2, 0.2, (4, 3))
    state = [q, rng.normal(size=(4, 3)), *rng.normal(size=(3, 4, m))]
    pi = arm.parameters.values
    _, _, claimed, rate = now(tp.laws.lyapunov(law))(*state, 0.7 * pi + 0.1, pi)
    assert error(rate, claimed) < RATE
    assert (claimed < 0).all()


def test_operational_law_is_the_operational_regressor():
    arm = tp.load("planar3r").bind(l1=1, l2=0.8, l3=0.5)
    law = tp.laws.OperationalSlotineLi(arm, task="planar", Lambda=2.0, K=5.0, Gamma_inv=0.2)
    rng = np.random.default_rng(6)
    q, qd, r_des, rd_des, rdd_des = np.array([0.3, 0.9, -0.7]), *rng.normal(size=(4, 3))
    pi_hat = rng.normal(size=30)
    r, J = tp.operational.task_coordinates(arm, task="planar")(q), tp.jacobian(arm, task="planar")(q)
    v, vd, s = tp.laws.reference_motion(r, J @ qd, r_des, rd_des, rdd_des, Lambda=2.0)
    Y = tp.operational_regressor(arm, task="planar")(q, qd, v, vd)
    assert error(law.torque(q, qd, r_des, rd_des, rdd_des, parameters=pi_hat), J.T @ (Y @ pi_hat - 5.0 * s)) < 1e-10
    assert error(law.adaptation(q, qd, r_des, rd_des, rdd_des, parameters=pi_hat), -0.2 * Y.T @ s) < 1e-10


def chain_of(n):
    rows = [{"a": 0.3, "alpha": 1.0 if k % 2 else -0.7, "d": 0.1} for k in range(n)]
    return tp.Robot.from_dh(rows, parameters=[1.0, 0.1, 0.2, 0.05, 0.1, 0.01, 0.02, 0.2, 0.03, 0.15] * n)


@pytest.mark.parametrize("kind", ["niemeyer_slotine", "walker"])
def test_recursive_laws_cost_the_same_for_each_further_joint(kind):
    def cost(n):
        law = (
            tp.Walker(chain_of(n), Gamma_inv=0.1)
            if kind == "walker"
            else tp.NiemeyerSlotine(chain_of(n), K=1.0, Gamma_inv=0.1)
        )
        return law.program().operations.total

    costs = [cost(n) for n in (6, 8, 12, 20)]
    per_joint = (costs[1] - costs[0]) / 2
    assert costs[2] == costs[1] + 4 * per_joint
    assert costs[3] == costs[1] + 12 * per_joint


def test_closed_form_costs_more_for_each_further_joint():
    a, b, c = (tp.SlotineLi(chain_of(n), K=1.0, Gamma_inv=0.1).program().operations.total for n in (4, 8, 12))
    assert c - b > 1.4 * (b - a)


@settings(max_examples=6, deadline=None, derandomize=True)
@given(robot=robots, seed=seeds)
def test_base_parameters_give_the_same_torque(robot, seed):
    standard_law = tp.SlotineLi(robot, K=2.0, Gamma_inv=1.0, terms=("viscous",))
    base = tp.SlotineLi(robot, K=2.0, Gamma_inv=1.0, terms=("viscous",), adapt="base")
    state = random_states(robot, 3, 5, seed)
    pi_hat = estimate(standard_law, seed)
    projected = tp.base_parameters(robot, terms=("viscous",)).project(pi_hat)
    got, want = quick(base)(*state, projected)[0], quick(standard_law)(*state, pi_hat)[0]
    assert error(got, want) < 1e-9  # coefficients of B reach some hundreds
