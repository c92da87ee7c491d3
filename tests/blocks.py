"""The formulas of Zollo et al. (2014, eq. 7-34) for elastic joints, in NumPy, from the numbers of a DH table; no code of taupi.

Revolute joints as printed; a prismatic one has J_O = 0 and J_P = z, and derivatives to match.
"""

import numpy as np


def skew(a):
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])


def bow(a):
    x, y, z = a
    return np.array([[x, 0, 0, y, z, 0], [0, y, 0, x, 0, z], [0, 0, z, 0, x, y]])


class Kinematics:
    """R_i, p_i, J_P, J_O, A_P and A_O of every body at a configuration."""

    def __init__(self, data, q):
        self.data, self.n = data, data["n"]
        self.slides = [t == "P" for t in data["joint_types"]]
        self.R, self.p = [np.eye(3)], [np.zeros(3)]
        for i in range(self.n):
            turn = data["off"][i] + (0 if self.slides[i] else q[i])
            d = data["d"][i] + (q[i] if self.slides[i] else 0)
            a, alpha = data["a"][i], data["alpha"][i]
            (ct, st), (ca, sa) = (np.cos(turn), np.sin(turn)), (np.cos(alpha), np.sin(alpha))
            local = np.array([[ct, -st * ca, st * sa], [st, ct * ca, -ct * sa], [0, sa, ca]])
            self.p.append(self.p[-1] + self.R[-1] @ [a * ct, a * st, d])
            self.R.append(self.R[-1] @ local)
        self.z = [R[:, 2] for R in self.R]
        n = self.n
        self.JO, self.JP = np.zeros((2, n + 1, 3, n))
        for i in range(1, n + 1):
            for j in range(i):
                self.JO[i, :, j] = 0 if self.slides[j] else self.z[j]
                self.JP[i, :, j] = self.z[j] if self.slides[j] else np.cross(self.z[j], self.p[i] - self.p[j])

    def derivatives(self, i, k):
        """A_O,(k) and A_P,(k) of body i: the derivatives of J_O and J_P with respect to q_k."""
        AO, AP = np.zeros((2, 3, self.n))
        for j in range(i):
            turned = np.cross(self.z[k], self.z[j]) if k < j and not self.slides[k] else np.zeros(3)
            if self.slides[j]:
                AP[:, j] = turned
                continue
            AO[:, j] = turned
            AP[:, j] = np.cross(turned, self.p[i] - self.p[j])
            AP[:, j] += np.cross(self.z[j], self.JP[i, :, k] - self.JP[j, :, k])
        return AO, AP


def rotor_rate(kin, i, k):
    """r_i^(k) of rotor i (0, 1, ...), which rides on body i."""
    AO, _ = kin.derivatives(i, k)
    S = skew(kin.JO[i, :, k])
    return kin.data["km"][i] * (AO.T + kin.JO[i].T @ S) @ kin.R[i] @ kin.data["zm"][i]


def tensor(six):
    xx, yy, zz, xy, xz, yz = six
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def mass_matrix(data, q):
    """B by its blocks (B4)."""
    kin = Kinematics(data, q)
    n = kin.n
    B = np.zeros((2 * n, 2 * n))
    for i in range(1, n + 1):
        JO, JP, R = kin.JO[i], kin.JP[i], kin.R[i]
        Sc = skew(R @ data["c"][i - 1])
        B[:n, :n] += data["m"][i - 1] * JP.T @ JP + JO.T @ Sc @ JP - JP.T @ Sc @ JO
        B[:n, :n] += JO.T @ R @ tensor(data["I6"][i - 1]) @ R.T @ JO
    for i in range(n):
        B[:n, n + i] = data["Ups"][i] * data["km"][i] * kin.JO[i].T @ kin.R[i] @ data["zm"][i]
    B[n:, :n] = B[:n, n:].T
    B[n:, n:] = np.diag(np.square(data["km"]) * data["Ups"])
    return B


def _groups(n):
    """Where the columns of body and rotor i = 0, 1, ... stand in Pi."""
    return (
        lambda i: i,
        lambda i: slice(n + 3 * i, n + 3 * i + 3),
        lambda i: slice(4 * n + 6 * i, 4 * n + 6 * i + 6),
        lambda i: 10 * n + i,
    )


def rate_regressor(kin, k, qd, thetad):
    """Y_H(k), 2n x 14n, with H^(k) (qd, thetad) = Y_H(k) Pi."""
    n = kin.n
    mass, moment, inertia, rotor = _groups(n)
    Y = np.zeros((2 * n, 14 * n))
    for b in range(n):
        i = b + 1
        JO, JP, R = kin.JO[i], kin.JP[i], kin.R[i]
        AO, AP = kin.derivatives(i, k)
        S = skew(JO[:, k])
        Y[:n, mass(b)] = AP.T @ JP @ qd + JP.T @ AP @ qd
        inner = AP.T @ skew(JO @ qd) + JP.T @ skew(AO @ qd) + JP.T @ skew(JO @ qd) @ S
        inner -= AO.T @ skew(JP @ qd) + JO.T @ skew(AP @ qd) + JO.T @ skew(JP @ qd) @ S
        Y[:n, moment(b)] = inner @ R
        turning = (AO.T + JO.T @ S) @ R @ bow(R.T @ JO @ qd) - JO.T @ R @ bow(R.T @ S @ JO @ qd)
        Y[:n, inertia(b)] = turning + JO.T @ R @ bow(R.T @ AO @ qd)
        rate = rotor_rate(kin, b, k)
        Y[:n, rotor(b)] = thetad[b] * rate
        Y[n + b, rotor(b)] = rate @ qd
    return Y


def regressor(data, q, qd, qdd, theta, thetad, thetadd):
    """Y = Y_B + Y_C + Y_oth (B5)."""
    kin = Kinematics(data, q)
    n, g0 = kin.n, np.array(data["g0"])
    mass, moment, inertia, rotor = _groups(n)
    Y = np.zeros((2 * n, 14 * n))
    for b in range(n):
        i = b + 1
        JO, JP, R = kin.JO[i], kin.JP[i], kin.R[i]
        Y[:n, mass(b)] = JP.T @ JP @ qdd - JP.T @ g0
        Y[:n, moment(b)] = (JP.T @ skew(JO @ qdd) - JO.T @ skew(JP @ qdd)) @ R
        Y[:n, inertia(b)] = JO.T @ R @ bow(R.T @ JO @ qdd)
        for j in range(n):
            Y[j, moment(b)] -= g0 @ skew(JO[:, j]) @ R
        k, axis = data["km"][b], kin.R[b] @ data["zm"][b]
        Y[:n, rotor(b)] = thetadd[b] * k * kin.JO[b].T @ axis
        Y[n + b, rotor(b)] = k * axis @ kin.JO[b] @ qdd + k * k * thetadd[b]
        Y[n + b, 11 * n + b], Y[n + b, 12 * n + b] = np.sign(thetad[b]), thetad[b]
        Y[b, 13 * n + b], Y[n + b, 13 * n + b] = q[b] - theta[b], theta[b] - q[b]
    velocity = np.r_[qd, thetad]
    for k in range(n):
        rates = rate_regressor(kin, k, qd, thetad)
        Y += qd[k] * rates
        Y[k] -= velocity @ rates / 2
    return Y


def coriolis(data, q, qd, thetad):
    """C = (1/2) sum qd_k H^(k) - asym([v^T H^(1); ...; 0]), with H^(k) from Y_H(k) on unit velocities (B4)."""
    kin = Kinematics(data, q)
    n = kin.n
    Pi = parameters(data)
    H = []
    for k in range(n):
        columns = [rate_regressor(kin, k, e[:n], e[n:]) @ Pi for e in np.eye(2 * n)]
        H.append(np.array(columns).T)
    v = np.r_[qd, thetad]
    rows = np.vstack([*(v @ h for h in H), np.zeros((n, 2 * n))])
    return sum(qd[k] * H[k] for k in range(n)) / 2 - (rows - rows.T) / 2


def parameters(data):
    """Pi in the document's order."""
    flat = [np.ravel(data[key]) for key in ("m", "c", "I6", "Ups", "fs", "fv", "K")]
    return np.concatenate(flat).astype(float)
