"""Gabiccini et al., the equations with tensors: each as printed and as corrected, at random states of the PUMA 560."""

from __future__ import annotations

import numpy as np

from taupi.dynamics.coriolis import coriolis_matrix
from taupi.dynamics.inverse import bias_torque
from taupi.dynamics.kinematics import forward_kinematics, jacobian
from taupi.dynamics.mass_matrix import mass_matrix, mass_matrix_derivative
from taupi.model.load import load
from taupi.model.robot import Robot
from taupi.papers.study import Row, compared, off, statement
from taupi.regressors.classical import regressor, slotine_li_regressor


def tensor_rows() -> list[Row]:
    """Return (11), (37), (39), (43) with (44), and (51)."""
    robot = load("puma560")  # without a symmetry that would hide swapped indices
    q, qd, qrd, qrdd = np.random.default_rng(4).uniform(-1, 1, (4, robot.n))
    return [
        _position(robot, q, qd),
        _passive(robot, q, qd),
        _left_contraction(robot, q, qd),
        _permuted(robot, q, qd, qrd),
        *_exchanged(robot, q, qd, qrd, qrdd),
    ]


def _position(robot: Robot, q: np.ndarray, qd: np.ndarray) -> Row:
    """(11): the velocity of the second link's centre of mass, by differences of its position."""
    com = np.array([-0.3638, 0.006, 0.2275])
    pose, step = forward_kinematics(robot, frame="link2"), 1e-6
    twist = jacobian(robot, frame="link2")(q) @ qd
    ahead, behind = ((pose(q + sign * step * qd) @ [*com, 1.0])[:3] for sign in (1, -1))
    velocity = (ahead - behind) / (2 * step)
    printed, held = (pose(q) @ [*com, 1.0])[:3], pose(q)[:3, :3] @ com
    gap, left = (off(twist[3:] + np.cross(twist[:3], p), velocity) for p in (printed, held))
    why = "the lever of (11) starts at the link frame's origin, R_i p"
    return compared(
        "what p_iG is measured from",
        "the global origin",
        "the link frame",
        gap,
        left,
        "section 3, (11)",
        why,
        1e-7,
        "differences",
    )


def _passive(robot: Robot, q: np.ndarray, qd: np.ndarray) -> Row:
    """(37): Bdot - 2 C is skew with the Christoffel C of (38)."""
    N = mass_matrix_derivative(robot)(q, qd) - 2 * coriolis_matrix(robot)(q, qd)
    return compared("s' (Bdot - 2 C) s", "0", "", off(N, -N.T), None, "(37), (38)")


def _left_contraction(robot: Robot, q: np.ndarray, qd: np.ndarray) -> Row:
    """(39): C qd = Bdot qd - U qd / 2."""
    d = mass_matrix(robot).jacobian("q")(q)  # [j, k, h] = d b_jk / d q_h
    once, rate = np.einsum("j,jkh->kh", qd, d), np.einsum("jkh,h->jk", d, qd)
    wanted = bias_torque(robot.with_gravity((0, 0, 0)))(q, qd)
    gap, left = (off((rate - u / 2) @ qd, wanted) for u in (once, once.T))
    why = "rows and columns of the contraction are exchanged"
    return compared("C = Bdot - U / 2", "U = qd' dB/dq", "its transpose", gap, left, "(39)", why)


def _permuted(robot: Robot, q: np.ndarray, qd: np.ndarray, qrd: np.ndarray) -> Row:
    """(43): W with the permutation 231, read by the sentence before (44) or by the formula (44)."""
    d = mass_matrix(robot).jacobian("q")(q)
    x = np.einsum("hjk,k,j->h", d + d.transpose(0, 2, 1), qd, qrd) / 2
    wanted = x - coriolis_matrix(robot)(q, qd) @ qrd
    by_sentence, by_formula = d.transpose(1, 2, 0), d.transpose(np.argsort((1, 2, 0)))
    gap, left = (off(t @ qd @ qrd / 2, wanted) for t in (by_sentence, by_formula))
    why = "sentence and formula contradict each other; the formula works"
    return compared(
        "what a permutation does", "level j of the result is n_j of A", "formula (44)", gap, left, "(44)", why
    )


def _exchanged(robot: Robot, q: np.ndarray, qd: np.ndarray, qrd: np.ndarray, qrdd: np.ndarray) -> list[Row]:
    """(51), (53): the derivative of B's parts, with its second and fourth levels exchanged."""
    light, n, zero = robot.with_gravity((0, 0, 0)), robot.n, np.zeros(robot.n)
    y = regressor(light)
    rate = y.jacobian("q")
    b = np.stack([y(q, zero, e) for e in np.eye(n)], axis=1)  # (row, column, parameter)
    d = np.stack([rate(q, zero, e) for e in np.eye(n)], axis=1)  # and derivative, as (53) declares
    x = np.einsum("hjc,j->hc", b, qrdd) + np.einsum("hjck,k,j->hc", d + d.transpose(0, 3, 2, 1), qd, qrd) / 2
    w = np.einsum("jkch,k,j->hc", d, qd, qrd) / 2
    gap = off(x - w, slotine_li_regressor(light)(q, qd, qrd, qrdd))
    sizes = [" x ".join(map(str, t.shape)) for t in (d, d.transpose(0, 2, 1, 3))]
    can = sizes[0] == sizes[1]
    why = "the two tensors cannot be added; 1432 exchanges what is meant, in the storage of (53)"
    ours = f"{sizes[0]} and {sizes[1]}; with 1432 Y_r is met to {gap:.0e}"
    return [
        statement("which levels are exchanged", "1324", ours, can, "(51), (53)", why, rule="tensors of one shape"),
        compared("Y_r = X_r - W_r + Z", "Y_r", "", gap, None, "(55)-(59)"),
    ]
