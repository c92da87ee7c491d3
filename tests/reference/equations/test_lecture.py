"""The lecture, formula by formula: each public call against the formula, written down in NumPy."""

import json
from pathlib import Path

import blocks
import numpy as np
import pytest
import sympy
from elastic import VECTORS, arm
from refusals import refused
from support import error

import taupi as tp

CLOSE = 1e-10
ROBOTS = ("spatial3", "rpr3", "puma560")
CASES = json.loads((Path(__file__).parents[2] / "data/spec-dynamics-and-regressors.json").read_text())["cases"]


def big_ad(R, p):
    return np.block([[R, np.zeros((3, 3))], [blocks.skew(p) @ R, R]])


def small_ad(v):
    w, u = blocks.skew(v[:3]), blocks.skew(v[3:])
    return np.block([[w, np.zeros((3, 3))], [u, w]])


class Links:
    """A_i, G_i and Ad(T_{i,i-1}) of every link, in its own frame, from the DH table."""

    def __init__(self, data, robot, q):
        kin, still = blocks.Kinematics(data, q), blocks.Kinematics(data, np.zeros(data["n"]))
        self.n, self.ad, self.A, self.G = data["n"], [], [], []
        self.kin = kin
        for i in range(self.n):
            self.ad.append(self._to(kin, i))
            axis = np.r_[0, 0, 0, 0, 0, 1] if kin.slides[i] else np.r_[0, 0, 1, 0, 0, 0]
            self.A.append(self._to(still, i) @ axis)
            m, h, (xx, xy, xz, yy, yz, zz) = np.split(robot.parameters.values[10 * i : 10 * i + 10], [1, 4])
            J = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
            S = blocks.skew(h)
            self.G.append(np.block([[J, S], [S.T, m[0] * np.eye(3)]]))

    @staticmethod
    def _to(kin, i):
        """Ad(T_{i,i-1}), of the inverse of the row's transform."""
        R, p = kin.R[i].T @ kin.R[i + 1], kin.R[i].T @ (kin.p[i + 1] - kin.p[i])
        return big_ad(R.T, -R.T @ p)


@pytest.fixture(params=ROBOTS)
def case(request):
    data, robot = VECTORS["robots"][request.param], arm(request.param)
    rng = np.random.default_rng(7)
    q, qd, qdd = rng.uniform(-1.5, 1.5, (3, data["n"]))
    return data, robot, Links(data, robot, q), (q, qd, qdd), rng.uniform(-1, 1, (3, 6))


def test_stacked_newton_euler(case):
    """V, Vd, F and tau of a moving base with a tip force, link by link; the stacked matrices; M, Mdot."""
    data, robot, links, (q, qd, qdd), (V0, Vd0, tip) = case
    n = links.n
    V, Vd, twists, rates = V0, Vd0 - np.r_[0, 0, 0, data["g0"]], [], []
    for i in range(n):
        A, X = links.A[i], links.ad[i]
        V = X @ V + A * qd[i]
        Vd = X @ Vd + small_ad(V) @ A * qd[i] + A * qdd[i]
        twists.append(V)
        rates.append(Vd)
    F, wrenches = tip, [None] * n  # the tip is the last link's frame
    for i in reversed(range(n)):
        G = links.G[i]
        carried = F if i == n - 1 else links.ad[i + 1].T @ F
        F = carried + G @ rates[i] - small_ad(twists[i]).T @ G @ twists[i]
        wrenches[i] = F
    tau = np.array([w @ A for w, A in zip(wrenches, links.A, strict=True)])
    ours = tp.closed_form.newton_euler_motion(robot, tip_wrench=True)(q, qd, qdd, V0, Vd0, tip)
    for value, wanted in zip(
        ours, (np.concatenate(twists), np.concatenate(rates), np.concatenate(wrenches), tau), strict=True
    ):
        assert error(value, wanted) < CLOSE
    program = tp.closed_form.moving_base_dynamics(robot, tip_wrench=True)
    assert error(program(q, qd, qdd, V0, Vd0, tip), tau) < CLOSE
    free = tp.closed_form.moving_base_dynamics(robot)(q, qd, qdd, V0, Vd0)
    assert error(tau - free, tp.jacobian(robot, kind="body")(q).T @ tip) < CLOSE
    with pytest.raises(tp.TaupiError, match="No frame 'hand'"):
        tp.closed_form.moving_base_dynamics(robot, tip_wrench=True, frame="hand")
    with refused("tip_wrench", got="body"):
        tp.closed_form.moving_base_dynamics(robot, tip_wrench="body")


def test_stacked_matrices(case):
    """A, G, W, L; M = A'L'GLA and dM/dt."""
    _, robot, links, (q, qd, _), _ = case
    n = links.n
    A, W, G = np.zeros((6 * n, n)), np.zeros((6 * n, 6 * n)), np.zeros((6 * n, 6 * n))
    ad_a = np.zeros((6 * n, 6 * n))
    for i in range(n):
        own = slice(6 * i, 6 * i + 6)
        A[own, i], G[own, own], ad_a[own, own] = links.A[i], links.G[i], small_ad(links.A[i] * qd[i])
        if i:
            W[own, 6 * i - 6 : 6 * i] = links.ad[i]
    L = np.linalg.inv(np.eye(6 * n) - W)
    for value, wanted in zip(tp.closed_form.newton_euler_matrices(robot)(q), (A, G, W, L), strict=True):
        assert error(value, wanted) < CLOSE
    M = A.T @ L.T @ G @ L @ A
    half = A.T @ L.T @ G @ L @ ad_a @ W @ L @ A
    for algorithm in ("composite", "links", "closed_form"):
        assert error(tp.mass_matrix(robot, algorithm=algorithm)(q), M) < CLOSE
    assert error(tp.mass_matrix_derivative(robot)(q, qd), -half.T - half) < CLOSE


def test_u_and_three_factors(case):
    """dM/dq stacked, Mdot = (qd' kron 1) dM/dq, U = (1 kron qd') dM/dq, and three C; Christoffel symbols."""
    data, robot, _, (q, qd, _), _ = case
    n, step = data["n"], 1e-6

    def mass(x):
        links, total = Links(data, robot, x), np.zeros((n, n))
        for i in range(n):
            columns = []
            for j in range(n):
                s = links.A[j] if j <= i else np.zeros(6)
                for k in range(j + 1, i + 1):
                    s = links.ad[k] @ s
                columns.append(s)
            J = np.array(columns).T
            total += J.T @ links.G[i] @ J
        return total

    d = [(mass(q + step * e) - mass(q - step * e)) / (2 * step) for e in np.eye(n)]
    stack, identity = np.vstack(d), np.eye(n)
    Md, U = np.kron(qd, identity) @ stack, np.kron(identity, qd) @ stack
    assert error(tp.closed_form.velocity_gradient(robot)(q, qd), U) < 1e-7  # differences
    assert error(tp.mass_matrix_derivative(robot)(q, qd), Md) < 1e-7
    wanted = {"christoffel": (Md + U.T - U) / 2, "mdot_minus_half_u": Md - U / 2, "ut_minus_half_u": U.T - U / 2}
    for form, C in wanted.items():
        assert error(tp.coriolis_matrix(robot, form=form)(q, qd), C) < 1e-7
    gamma = [[[(d[i][k, j] + d[j][k, i] - d[k][i, j]) / 2 for j in range(n)] for i in range(n)] for k in range(n)]
    assert error(tp.christoffel_symbols(robot)(q), np.array(gamma)) < 1e-7
    c = np.einsum("kij,i,j->k", np.array(gamma), qd, qd)
    assert error(tp.bias_torque(robot.with_gravity((0, 0, 0)))(q, qd), c) < 1e-7


def test_torque_samples():
    """The Euler scheme with held torques and tip forces, N samples as arrays; the loop is the test's own."""
    case = next(c for c in CASES if c["id"] == "lecture2R_simulation")
    inputs = case["inputs"]
    L1, L2, m1, m2, g = (inputs[k] for k in ("L1", "L2", "m1", "m2", "g"))
    tau, force = np.array(inputs["tau"]), np.array(inputs["f_tip_xy_on_environment"])
    wrench = np.zeros((len(tau), 6))
    wrench[:, 3:5] = force
    plant = tp.RigidPlant(tp.load("lecture2r").bind(L1=L1, L2=L2, m1=m1, m2=m2, g=g), wrench=wrench)
    rate, steps = 1 / inputs["dt_tau"], inputs["n_res"]
    start = (inputs["theta0"], inputs["dtheta0"])
    duration = inputs["dt_tau"] * (len(tau) - 1)
    settings = {"rate": rate, "integrator": "euler", "substeps": steps, "initial": start}
    run = tp.simulate(plant, tau, duration=duration, **settings)

    q, qd = map(np.array, start)
    rows = [np.r_[q, qd]]
    for i in range(len(tau) - 1):
        for _ in range(steps):
            (a, b), k = q, m2 * L1 * L2
            M12 = m2 * (L1 * L2 * np.cos(b) + L2**2)
            M = np.array([[m1 * L1**2 + m2 * (L1**2 + 2 * L1 * L2 * np.cos(b) + L2**2), M12], [M12, m2 * L2**2]])
            c = k * np.sin(b) * np.array([-(2 * qd[0] * qd[1] + qd[1] ** 2), qd[0] ** 2])
            weight = m2 * g * L2 * np.cos(a + b)
            J = np.array([[-L1 * np.sin(a) - L2 * np.sin(a + b), -L2 * np.sin(a + b)]])
            J = np.vstack([J, [L1 * np.cos(a) + L2 * np.cos(a + b), L2 * np.cos(a + b)]])
            rest = tau[i] - c - [(m1 + m2) * L1 * g * np.cos(a) + weight, weight] - J.T @ force[i]
            qdd = np.linalg.solve(M, rest)
            q, qd = q + qd * inputs["dt_tau"] / steps, qd + qdd * inputs["dt_tau"] / steps
        rows.append(np.r_[q, qd])
    assert error(np.hstack([run.q, run.qd]), np.array(rows)) < 1e-11
    assert error(np.array(rows), np.array(case["expected"]["euler_theta_dtheta_rows"])) < 1e-11
    assert np.array_equal(tp.simulate(plant, tau.tolist(), duration=duration, **settings).q, run.q)
    both = tuple(np.array([x, x]) for x in start)
    many = tp.simulate_many(plant, np.stack([tau, 0 * tau]), duration=duration, **(settings | {"initial": both}))
    assert error(many[0].q, run.q) < 1e-12 and not np.allclose(many[1].q, run.q)
    with refused("controller", got=(6, 2), n=2, periods=10):
        tp.simulate(plant, tau, duration=0.2, rate=rate)
    with refused("controller", n=2):
        tp.simulate(plant, np.zeros((100, 3)), duration=0.1, rate=rate)
    with refused("controller", got=(2, 6, 2), n=2, periods=5):
        tp.simulate(plant, np.stack([tau, tau]), duration=duration, rate=rate)
    with pytest.raises(tp.TaupiError, match=r"expected \(N, 2\) or \(roll-outs, N, 2\) with N of 5 or more"):
        tp.simulate_many(plant, tau[:3], duration=duration, rate=rate, initial=both)
    with pytest.raises(tp.TaupiError, match="expected a law"):
        tp.simulate(plant, np.zeros((100, 2), dtype=complex), duration=0.1, rate=rate)
    with pytest.raises(tp.TaupiError, match=r"each held .* control='continuous' holds none. Use control='sampled'"):
        tp.simulate(plant, tau, duration=duration, rate=rate, control="continuous")
    with pytest.raises(tp.TaupiError, match="not finite"):
        tp.simulate(plant, np.full((100, 2), np.nan), duration=0.1, rate=rate)


def test_bounds_as_formulas():
    """The lecture's closed forms of the 2R within 90 degrees, as formulas, and their numbers beside certain enclosures."""
    robot, quarter = tp.load("lecture2r"), (-np.pi / 2, np.pi / 2)
    formulas = tp.closed_form.bound_formulas(robot, quarter)
    least = "(m1 + m2)*L1**2 + 2*m2*L2**2"
    wanted = {
        "M_1_min": least,
        "M_1_max": f"{least} + 3*m2*L1*L2",
        "c_1": "m2*L1*L2",
        "g_1": "(m1 + m2)*g*L1 + 2*m2*g*L2",
        "c_2_n2": "4*m2*L1*L2",
    }
    assert set(formulas) == set(wanted)
    values = {name: float(value) for name, value in robot.symbols}
    numbers = tp.bounds(robot, quarter, tolerance=1e-6)
    for name, text in wanted.items():
        assert sympy.expand(formulas[name] - sympy.sympify(text)) == 0, name
        assert float(formulas[name].subs(values)) == pytest.approx(numbers[name].value, rel=1e-5)
    assert "With values for" in repr(numbers) and "bound_formulas" in numbers.notes[-1]
    # Of other arms the formulas hold, if not tightly: three links, and over a full turn.
    for other, span in ((tp.load("planar3r"), (-2.0, 2.5)), (robot, None), (tp.load("planar3r"), (0.2, 1.1))):
        formulas = tp.closed_form.bound_formulas(other, span)
        values = {name: float(value) for name, value in other.symbols}
        bound = {name: float(f.subs(values)) for name, f in formulas.items()}
        q = np.random.default_rng(0).uniform(*(span or (-np.pi, np.pi)), (300, other.n))
        norms = np.abs(tp.mass_matrix(other)(q)).sum(axis=1).max(axis=1)
        assert bound["M_1_min"] <= norms.min() + 1e-9 and norms.max() <= bound["M_1_max"] + 1e-9
        assert np.abs(tp.gravity_torque(other)(q)).sum(axis=1).max() <= bound["g_1"] + 1e-9
        qd = np.random.default_rng(1).normal(size=(300, other.n))
        c = tp.bias_torque(other.with_gravity((0, 0, 0)))(q, qd)
        assert (np.abs(c).sum(axis=1) <= bound["c_1"] * np.abs(qd).sum(axis=1) ** 2 + 1e-9).all()
        assert (np.linalg.norm(c, axis=1) <= bound["c_2_n2"] * (qd**2).sum(axis=1) + 1e-9).all()
    slide = [{"a": 0, "alpha": 0, "d": 0, "theta": 0, "joint": "prismatic"}]
    with pytest.raises(tp.TaupiError, match="has slides"):
        tp.closed_form.bound_formulas(tp.Robot.from_dh(slide, links=[{"m": 1.0}]), (0.0, 1.0))
    with refused("robot", got="str"):
        tp.closed_form.bound_formulas("lecture2r")


def test_forces_and_accelerations_as_arrows(tmp_path):
    """M_C a of unit accelerations a: the tips of the arrows lie where the formula puts them."""
    unit = tp.load("lecture2r").bind(L1=1, L2=1, m1=1, m2=1)
    ellipses = tp.operational.mass_ellipses(unit, [0.0, np.pi / 2])
    axes = tp.plot(ellipses, arrows=8, scale=0.2).axes[0]
    arrows = {kind: [a for a in axes.texts if a.get_label() == f"_{kind} 0"] for kind in ("acceleration", "force")}
    assert [len(several) for several in arrows.values()] == [8, 8]
    mass = np.diag([1.0, 2.0])  # at (0, 90 degrees)
    for a, f in zip(arrows["acceleration"], arrows["force"], strict=True):
        assert a.xyann == pytest.approx([1, 1]) and np.linalg.norm(np.array(a.xy) - 1) == pytest.approx(0.2)
        assert np.array(f.xy) - 1 == pytest.approx(mass @ (np.array(a.xy) - 1))
    with refused("arrows", got=-1):
        tp.plot(ellipses, arrows=-1)


def test_a_wrench_at_a_tool():
    """The tool stands off the last link's frame, turned: its force, in its own axes, by a lever that the test works out."""
    turned = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    tool = np.eye(4)
    tool[:3, :3], tool[:3, 3] = turned, (0.1, 0.2, 0.3)
    row = {"a": 0.5, "alpha": 0, "d": 0, "theta": 0}
    robot = tp.Robot.from_dh([row, row], links=[{"m": 1.0}] * 2, gravity=(0, 0, 0), tool=tool.tolist())
    q, zero, still = [0.3, 0.4], np.zeros(2), np.zeros(6)
    moment, force = np.array([0.1, -0.2, 0.4]), np.array([2.0, 3.0, -1.0])
    f_tip = np.r_[moment, force]
    c, s = np.cos, np.sin
    last = np.array([[c(0.7), -s(0.7), 0], [s(0.7), c(0.7), 0], [0, 0, 1]])
    elbow = 0.5 * np.array([c(0.3), s(0.3), 0])
    tip = elbow + 0.5 * last[:, 0] + last @ tool[:3, 3]
    n, f = last @ turned @ moment, last @ turned @ force
    wanted = [n[2] + np.cross(tip, f)[2], n[2] + np.cross(tip - elbow, f)[2]]
    program = tp.closed_form.moving_base_dynamics(robot, tip_wrench=True)
    assert np.allclose(program(q, zero, zero, still, still, f_tip), wanted)
    *_, tau = tp.closed_form.newton_euler_motion(robot, tip_wrench=True)(q, zero, zero, still, still, f_tip)
    assert np.allclose(tau, wanted)
