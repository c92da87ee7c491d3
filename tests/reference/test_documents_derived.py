"""The documents' equations derived once more: Lagrange by complex steps, Newton and Euler in the world frame, on other arms.

Nothing here comes from the package or from the tests' other oracles: positions follow from Denavit-Hartenberg rows, Jacobians are
geometric, derivatives are complex steps (exact to rounding), and the second route balances forces and moments in the world frame.
"""

import numpy as np
import pytest

import taupi as tp

CLOSE = 1e-11  # a few thousand products of doubles, and complex steps that round nothing away
STEP = 1e-30
KINDS = {"R": "revolute", "P": "prismatic"}
G0 = np.array([0.3, -0.5, -9.7])


def cross(a, b):
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def lever(a):
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])


class Arm:
    """A random arm of joints such as "RPR", by its numbers; `robot` is the same arm for the package."""

    def __init__(self, joints, seed):
        rng, self.joints, self.n = np.random.default_rng(seed), joints, len(joints)
        self.rows = rng.uniform(-1.2, 1.2, (self.n, 4)) * [0.4, 1.3, 0.4, 1.0]  # a, alpha, d, theta
        self.mass, self.com = rng.uniform(1, 4, self.n), rng.uniform(-0.2, 0.2, (self.n, 3))
        self.inertia = np.array([m @ m.T + 0.01 * np.eye(3) for m in rng.uniform(-0.15, 0.15, (self.n, 3, 3))])
        self.rotor, self.ratio = rng.uniform(1e-3, 5e-3, self.n), rng.uniform(20, 60, self.n)
        axes = rng.normal(size=(self.n, 3))
        self.axis = axes / np.linalg.norm(axes, axis=1)[:, None]
        self.stiff = rng.uniform(300, 900, self.n)
        self.state = rng.uniform(-1.2, 1.2, (7, self.n))
        names = ("a", "alpha", "d", "theta")
        rows = [
            {**dict(zip(names, map(float, row), strict=True)), "joint": KINDS[kind]}
            for row, kind in zip(self.rows, joints, strict=True)
        ]
        self.robot = tp.Robot.from_dh(rows, gravity=tuple(G0), parameters=self.parameters().ravel())

    def elastic(self):
        return self.robot.with_transmissions(
            stiffness=self.stiff, rotor_inertia=self.rotor, gear_ratio=self.ratio, motor_axis=self.axis
        )

    def parameters(self):
        """m, m c, and the inertia at the frame's origin (n, 10)."""
        moved = self.inertia + self.mass[:, None, None] * np.array([lever(c).T @ lever(c) for c in self.com])
        six = moved[:, [0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]]
        return np.concatenate([self.mass[:, None], self.mass[:, None] * self.com, six], axis=1)

    def frames(self, q):
        """R and p of base and links; q may be complex."""
        R, p, placed = np.eye(3), np.zeros(3), [(np.eye(3), np.zeros(3))]
        for (a, alpha, d, theta), kind, x in zip(self.rows, self.joints, q, strict=True):
            turn, slide = (theta + x, d) if kind == "R" else (theta, d + x)
            c, s, ca, sa = np.cos(turn), np.sin(turn), np.cos(alpha), np.sin(alpha)
            p = p + R @ np.array([a * c, a * s, slide])
            R = R @ np.array([[c, -s * ca, s * sa], [s, c * ca, -c * sa], [0, sa, ca]])
            placed.append((R, p))
        return placed

    def jacobians(self, placed, i, point):
        """The columns of angular velocity and of the velocity of a point of link i."""
        turns, moves = [], []
        for j, kind in enumerate(self.joints):
            z, origin, still = placed[j][0][:, 2], placed[j][1], np.zeros(3)
            acts = j < i
            turns.append(z if acts and kind == "R" else still)
            moves.append(still if not acts else z if kind == "P" else cross(z, point - origin))
        return np.array(turns).T, np.array(moves).T

    def mass_matrix(self, q, pi=None):
        """M from the energy of links: linear in `pi` (n, 10), by default the arm's own."""
        placed, M = self.frames(q), 0
        for i, (m, *rest) in enumerate(self.parameters() if pi is None else pi, start=1):
            R, p = placed[i]
            h, (xx, xy, xz, yy, yz, zz) = np.array(rest[:3]), rest[3:]
            turn, move = self.jacobians(placed, i, p)
            own = R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ R.T
            mixed = move.T @ lever(R @ h).T @ turn  # v . (w x R h)
            M = M + m * move.T @ move + mixed + mixed.T + turn.T @ own @ turn
        return M

    def potential(self, q, pi=None):
        placed, U = self.frames(q), 0
        for i, body in enumerate(self.parameters() if pi is None else pi, start=1):
            U = U - G0 @ (body[0] * placed[i][1] + placed[i][0] @ body[1:4])
        return U

    def mass_of_all(self, q):
        """B of links and motors: a rotor turns with the link that carries it, and about its axis at ratio times theta'."""
        n, placed = self.n, self.frames(q)
        B = np.zeros((2 * n, 2 * n), dtype=complex)
        B[:n, :n] = self.mass_matrix(q)
        for i in range(n):
            turn, _ = self.jacobians(placed, i, placed[i][1])
            coupled = self.rotor[i] * self.ratio[i] * (placed[i][0] @ self.axis[i]) @ turn
            B[:n, n + i] += coupled
            B[n + i, :n] += coupled
            B[n + i, n + i] += self.rotor[i] * self.ratio[i] ** 2
        return B


def slopes(function, q, size=None):
    """The derivatives of a function of q by complex steps; the last axis is that of q."""
    steps = np.eye(len(q))[:size]
    return np.stack([np.imag(function(q + 1j * STEP * e)) / STEP for e in steps], axis=-1)


def christoffel(d, v):
    """C[h, j] = sum_k (d_k b_hj + d_j b_hk - d_h b_jk) v_k / 2 of d[h, j, k] = db_hj/dx_k."""
    return np.einsum("hjk,k->hj", d + d.transpose(0, 2, 1) - d.transpose(2, 0, 1), v) / 2


def newton_euler(arm, q, qd, qdd):
    """The torques from accelerations of the centres of mass, and from forces and moments, all in the world frame."""
    placed = [(np.real(R), np.real(p)) for R, p in arm.frames(q)]
    w, dw, a = np.zeros(3), np.zeros(3), np.zeros(3)
    forces, moments = [], []
    for i, kind in enumerate(arm.joints, start=1):
        z, arc = placed[i - 1][0][:, 2], placed[i][1] - placed[i - 1][1]
        if kind == "R":
            dw = dw + z * qdd[i - 1] + cross(w, z) * qd[i - 1]
            w = w + z * qd[i - 1]
            a = a + cross(dw, arc) + cross(w, cross(w, arc))
        else:
            a = a + cross(dw, arc) + cross(w, cross(w, arc)) + z * qdd[i - 1] + 2 * cross(w, z) * qd[i - 1]
        c, own = placed[i][0] @ arm.com[i - 1], placed[i][0] @ arm.inertia[i - 1] @ placed[i][0].T
        forces.append(arm.mass[i - 1] * (a + cross(dw, c) + cross(w, cross(w, c)) - G0))
        moments.append(own @ dw + cross(w, own @ w) + cross(placed[i][1] + c, forces[-1]))  # about the world's origin
    tau = []
    for j, kind in enumerate(arm.joints):
        force, moment = sum(forces[j:]), sum(moments[j:])
        z, origin = placed[j][0][:, 2], placed[j][1]
        tau.append(z @ (moment - cross(origin, force)) if kind == "R" else z @ force)
    return np.array(tau)


@pytest.fixture(params=[("RRR", 1), ("RPR", 2), ("RRRRRP", 3)], ids=lambda p: p[0])
def arm(request):
    return Arm(*request.param)


def off(ours, wanted):
    return np.abs(ours - wanted).max() / max(1.0, np.abs(wanted).max())


def test_both_routes_give_the_torque(arm):
    q, qd, qdd, *_ = arm.state
    M, d = arm.mass_matrix(q), slopes(arm.mass_matrix, q)
    C, g = christoffel(d, qd), slopes(arm.potential, q)
    tau = M @ qdd + C @ qd + g
    assert off(newton_euler(arm, q, qd, qdd), tau) < CLOSE  # the two routes share positions only
    robot = arm.robot
    assert off(tp.inverse_dynamics(robot)(q, qd, qdd), tau) < CLOSE
    assert off(tp.inverse_dynamics(robot, algorithm="lagrange")(q, qd, qdd), tau) < CLOSE
    assert off(tp.inverse_dynamics(robot, algorithm="closed_form")(q, qd, qdd), tau) < CLOSE
    for ours, wanted in (
        (tp.mass_matrix(robot)(q), M),
        (tp.coriolis_matrix(robot)(q, qd), C),
        (tp.gravity_torque(robot)(q), g),
        (tp.mass_matrix_derivative(robot)(q, qd), d @ qd),
        (tp.closed_form.momentum(robot)(q, qd), M @ qd),
        (tp.closed_form.velocity_gradient(robot)(q, qd), np.einsum("hjk,j->kh", d, qd)),
    ):
        assert off(ours, wanted) < CLOSE
    assert off(tp.forward_dynamics(robot)(q, qd, tau), qdd) < 1e-9  # M may be badly conditioned


def test_gabiccini_and_kubozono(arm):
    """Y and Y_r column by column; X - W of (42); H, C, G of the stacks; what (14) lacks."""
    q, qd, qdd, qrd, qrdd, *_ = arm.state
    n, robot = arm.n, arm.robot
    Y, Y_r = np.zeros((2, n, 10 * n))
    for k in range(10 * n):
        unit = np.eye(10 * n)[k].reshape(n, 10)

        def mass(x, unit=unit):
            return arm.mass_matrix(x, unit)

        M, d, g = mass(q), slopes(mass, q), slopes(lambda x, unit=unit: arm.potential(x, unit), q)
        Y[:, k] = M @ qdd + christoffel(d, qd) @ qd + g
        Y_r[:, k] = M @ qrdd + christoffel(d, qd) @ qrd + g
    for algorithm in ("recursive", "lagrangian"):
        assert off(tp.regressor(robot, algorithm=algorithm)(q, qd, qdd), Y) < CLOSE
        assert off(tp.slotine_li_regressor(robot, algorithm=algorithm)(q, qd, qrd, qrdd), Y_r) < CLOSE
    M, d = arm.mass_matrix(q), slopes(arm.mass_matrix, q)
    x = M @ qrdd + np.einsum("hjk,k,j->h", d + d.transpose(0, 2, 1), qd, qrd) / 2
    w = np.einsum("jkh,k,j->h", d, qd, qrd) / 2
    X, W, _ = tp.closed_form.lagrangian_blocks(robot)(q, qd, qrd, qrdd)
    pi = arm.parameters()
    assert off(np.einsum("bhc,bc->h", X, pi), x) < CLOSE and off(np.einsum("bhc,bc->h", W, pi), w) < CLOSE
    C = christoffel(d, qd)
    J, J_t, V_s, inertia, C_1, C_2, C_3 = tp.closed_form.spatial_stacks(robot)(q, qd)
    assert off(J_t @ inertia @ J, M) < CLOSE
    assert off(J_t @ (inertia @ V_s + (C_1 - C_2 - C_3) @ J / 2), C) < CLOSE
    skew = d @ qd - 2 * C
    assert off(skew, -skew.T) < CLOSE and np.abs(skew - J_t @ C_2 @ J).max() > 1e-3


def test_zollo(arm):
    """B, C and both regressors' products of links and motors, from the energy with rotors."""
    q, qd, qdd, thetad, thetadd, *_, shift = arm.state
    n, robot, theta = arm.n, arm.elastic(), q + 0.05 * shift
    v, a = np.r_[qd, thetad], np.r_[qdd, thetadd]
    B = np.real(arm.mass_of_all(q))
    d = np.concatenate([slopes(arm.mass_of_all, q), np.zeros((2 * n, 2 * n, n))], axis=-1)
    C = christoffel(d, v)
    spring = arm.stiff * (q - theta)
    tau = B @ a + C @ v + np.r_[slopes(arm.potential, q) + spring, -spring]
    assert off(tp.elastic.mass_matrix(robot)(q), B) < CLOSE
    assert off(tp.elastic.coriolis_matrix(robot)(q, qd, thetad), C) < CLOSE
    state = (q, qd, qdd, theta, thetad, thetadd)
    assert off(tp.elastic.inverse_dynamics(robot, terms=())(*state), tau) < CLOSE
    Y = tp.elastic_regressor(robot)
    assert off(Y(*state) @ Y.parameters.values, tau) < CLOSE  # friction is zero
    Y_H = tp.elastic.rate_regressors(robot)
    for k, H in enumerate(np.moveaxis(d[..., :n], -1, 0)):
        assert off(Y_H(q, qd, thetad)[k] @ Y_H.parameters.values, H @ v) < CLOSE
    assert tp.kinetic_energy(robot)(q, qd, thetad) == pytest.approx(v @ B @ v / 2, rel=1e-10)
