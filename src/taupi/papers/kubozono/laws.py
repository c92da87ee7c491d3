"""Kubozono, Yamakita & Furuta, sections 3 and 4: the equations of the laws at random states, as printed and as corrected."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from taupi.control.law import Law, Signals
from taupi.control.laws.niemeyer_slotine import NiemeyerSlotine
from taupi.control.laws.slotine_li import SlotineLi
from taupi.control.laws.walker import Walker
from taupi.control.lyapunov import lyapunov
from taupi.dynamics.basis_tensors import spatial_cross
from taupi.dynamics.coriolis import coriolis_matrix
from taupi.dynamics.inverse import gravity_torque
from taupi.dynamics.mass_matrix import mass_matrix
from taupi.dynamics.types import Vector
from taupi.model.robot import Robot
from taupi.papers.kubozono.stacks import Stacks, times
from taupi.papers.study import EXACT, StudyRow, equation, off, statement
from taupi.program.program import Constants
from taupi.regressors.classical import reference_motion, slotine_li_regressor


class BorrowedWalker(Walker):
    """Walker's torque with Slotine and Li's adaptation, -Gamma^-1 Y^T s: dV/dt is not what either proof says."""

    def control(self, constants: Constants, signals: Signals, x: Vector) -> tuple[Vector, Vector]:
        """Return tau and the wrong d pi_hat/dt over SX."""
        tau, _ = super().control(constants, signals, x)
        other = NiemeyerSlotine(self.robot, self.Lambda, 1.0, self.Gamma_inv)
        return tau, other.control(constants, signals, x)[1]


class ForgetfulWalker(Walker):
    """Walker's torque with a regressor that leaves the gamma-term out: dV/dt = -gamma s^T H_hat s, of either sign."""

    def control(self, constants: Constants, signals: Signals, x: Vector) -> tuple[Vector, Vector]:
        """Return tau and the wrong d pi_hat/dt over SX."""
        tau, once = super().control(constants, signals, x)
        # The adaptation is linear in gamma: twice its value at gamma minus its value at 2 gamma is its value at 0.
        twice = Walker.control(replace(self, gamma=2 * self.gamma), constants, signals, x)[1]
        return tau, 2 * once - twice


LAMBDA, GAMMA, VISCOUS = 5.0, 4.0, 2.0
States = tuple[np.ndarray, ...]  # q, qd, q_des, qd_des and qdd_des, (states, n) each


def law_rows(robot: Robot, states: States) -> list[StudyRow]:
    """Return (25) to (53); (52) is not printed."""
    q, qd, q_des, qd_des, qdd_des = states
    qrd, qrdd, s = reference_motion(q, qd, q_des, qd_des, qdd_des, LAMBDA)
    K = np.linspace(50.0, 5.0, robot.n)
    damped = -np.einsum("ki,i,ki->k", s, K, s)
    return [
        *_estimates(robot, states, qrd, qrdd, s),
        *_closed(robot, states, K, damped),
        *_recursion(robot, states, K, qrd, qrdd),
        *_walker(robot, states, s, qrd),
        *_rates(robot, states, K, s),
    ]


def _estimates(robot: Robot, states: States, qrd: np.ndarray, qrdd: np.ndarray, s: np.ndarray) -> list[StudyRow]:
    """(25) to (33), with estimates of half the parameters; H, C and G of the estimates are the arm's own with these."""
    q, qd, q_des, qd_des, _ = states
    pi = robot.parameters.values
    guessed = robot.with_parameters(0.5 * pi)
    here, true = Stacks.of(guessed, q, qd), Stacks.of(robot, q, qd)
    H, C, G = mass_matrix(guessed)(q), coriolis_matrix(guessed)(q, qd), gravity_torque(guessed)(q)
    Y = slotine_li_regressor(robot)(q, qd, qrd, qrdd)
    estimated = times(here.mass, qrdd) + times(here.coriolis(), qrd) + here.gravity
    actual = times(true.mass, qrdd) + times(true.coriolis(), qrd) + true.gravity
    shift = (
        times(here.mass - true.mass, qrdd) + times(here.coriolis() - true.coriolis(), qrd) + here.gravity - true.gravity
    )
    wanted = qd_des - LAMBDA * (q - q_des)
    return [
        equation("(25): estimates in place of a", "Y a^ = H^ rd + C^ r + G^", "", off(times(Y, 0.5 * pi), estimated)),
        equation("(26): H^", "J_t I^ J", "", off(here.mass, H)),
        equation("(27): C^", "J_t [I^ V_s + (C^_1 - C^_2 - C^_3) J / 2]", "", off(here.coriolis(), C)),
        equation("(28): G^, with the sign of (5) mended", "J_t G^_1", "", off(here.gravity, G)),
        equation("(29): reference velocity", "qrd = qd_d - Lambda (q - q_d)", "", off(wanted, qrd)),
        equation("(30): s", "qd - qrd", "", off(qd - wanted, s)),
        equation("(31): along the reference", "H qrdd + C qrd + G = Y a", "", off(actual, times(Y, pi))),
        equation("(32): the same of estimates", "H^ qrdd + C^ qrd + G^ = Y a^", "", off(estimated, times(Y, 0.5 * pi))),
        equation("(33): their difference", "of H, C, G is Y (a^ - a)", "", off(shift, times(Y, -0.5 * pi))),
    ]


def _v(law: Law, states: States, estimate: np.ndarray, true: np.ndarray, terms: Any = None) -> Any:
    """Return V, V_1, its claimed and its true rate, interpreted: compiling takes longer than twenty states."""
    return lyapunov(law, terms).compile("numpy")(*states, estimate, true)


def _closed(robot: Robot, states: States, K: np.ndarray, damped: np.ndarray) -> list[StudyRow]:
    """(34) to (38): Slotine and Li's law."""
    q, qd, q_des, qd_des, qdd_des = states
    rough = robot.with_friction(viscous=[VISCOUS] * robot.n)
    pi = robot.parameters.values
    true = np.concatenate([pi, np.full(robot.n, VISCOUS)])
    settings: dict[str, Any] = {"Lambda": LAMBDA, "K": K, "Gamma_inv": 1.0}
    left = _v(SlotineLi(rough, **settings), states, 0.5 * pi, true, ("viscous",))[3]
    _, _, claimed, rate = _v(SlotineLi(rough, terms=("viscous",), **settings), states, 0.5 * true, true)
    law = SlotineLi(robot, **settings)
    V, _, _, change = _v(law, states, 0.5 * pi, pi)
    qrd, qrdd, s = reference_motion(q, qd, q_des, qd_des, qdd_des, LAMBDA)
    Y, H = slotine_li_regressor(robot)(q, qd, qrd, qrdd), mass_matrix(robot)(q)
    adapted = law.adaptation(q, qd, q_des, qd_des, qdd_des, parameters=0.5 * pi)
    function = np.sum(s * times(H, s), -1) / 2 + 0.25 * pi @ pi / 2
    return [
        equation(
            "(34): no friction in the law",
            "dV/dt = -s' K_D s",
            "with B qrd in it, -s' (K_D + B) s",
            off(left, damped),
            off(rate, claimed),
            "the arm of (1) has friction; without its estimate -s' B qd is left",
        ),
        equation("(35): adaptation", "-Gamma^-1 Y' s", "", off(-np.einsum("kij,ki->kj", Y, s), adapted)),
        equation("(36): V", "(s' H s + a~' Gamma a~) / 2", "", off(function, V)),
        equation("(37): dV/dt of an arm without friction", "-s' K_D s", "", off(damped, change)),
        equation("(38): s = 0", "d/dt q~ + Lambda q~", "", off(qd - qd_des + LAMBDA * (q - q_des), s)),
    ]


def _recursion(robot: Robot, states: States, K: np.ndarray, qrd: np.ndarray, qrdd: np.ndarray) -> list[StudyRow]:
    """(39) to (42): Niemeyer and Slotine's recursion."""
    settings: dict[str, Any] = {"Lambda": LAMBDA, "K": K, "Gamma_inv": 1.0}
    light = robot.with_gravity((0, 0, 0))
    laws = SlotineLi(robot, **settings), NiemeyerSlotine(robot, **settings), NiemeyerSlotine(light, **settings)
    closed, recursive, weightless = (_torque(law, states, 0.5 * robot.parameters.values) for law in laws)
    here = Stacks.of(robot, *states[:2])
    v_r, zero = here.links(times(here.J, qrd)), np.zeros_like(here.velocities[:, :1])
    before = np.concatenate([zero, v_r[:, :-1]], axis=1)
    turning = times(spatial_cross(here.velocities), here.steps(qrd))
    rate = np.cumsum(here.steps(qrdd) + turning, axis=1)
    rough = robot.with_friction(viscous=[VISCOUS] * robot.n)
    half = 0.5 * np.concatenate([robot.parameters.values, np.full(robot.n, VISCOUS)])
    rubbed = _torque(NiemeyerSlotine(rough, terms=("viscous",), **settings), states, half)
    return [
        equation(
            "(39): reference velocity",
            "v_ri = v_ri + s_i qrd_i",
            "v_ri = v_ri-1 + s_i qrd_i",
            off(v_r + here.steps(qrd), v_r),
            off(before + here.steps(qrd), v_r),
            "the index of the link before is lost",
        ),
        equation(
            "(40): reference acceleration",
            "vd_ri = vd_ri-1 + s_i qrdd_i + v_i x s_i qrd_i",
            "",
            off(rate, here.links(times(here.J, qrdd) + times(here.V_s, qrd))),
        ),
        equation(
            "(41): recursion without gravity",
            "no I_i g",
            "- I_i g, equal to (34)",
            off(weightless, closed),
            off(recursive, closed),
            "gravity is left out; with it closed form and recursion are one law",
        ),
        equation("(42): torque", "s_i' f_ri + eta^_i - [K_D s]_i", "", off(recursive + 0.5 * VISCOUS * qrd, rubbed)),
    ]


def _torque(law: Law, states: States, estimate: np.ndarray) -> np.ndarray:
    q, qd, q_des, qd_des, qdd_des = states
    return law.torque(q, qd, q_des, qd_des, qdd_des, parameters=estimate)


def _walker(robot: Robot, states: States, s: np.ndarray, qrd: np.ndarray) -> list[StudyRow]:
    """(43) to (46): Walker's law."""
    settings: dict[str, Any] = {"Lambda": LAMBDA, "gamma": GAMMA, "Gamma_inv": 1.0}
    half = 0.5 * robot.parameters.values
    recursive, closed = (
        _torque(Walker(robot, form=form, **settings), states, half) for form in ("recursive", "closed")
    )
    # gamma v_j in place of gamma (v_i - v_ri): the velocity itself, as if qrd were zero.
    H = mass_matrix(robot.with_parameters(half))(states[0])
    printed = recursive + GAMMA * np.einsum("kij,kj->ki", H, s - states[1])
    here = Stacks.of(robot, *states[:2])
    error = here.velocities - here.links(times(here.J, qrd))
    rough = robot.with_friction(viscous=[VISCOUS] * robot.n)
    rubbed = _torque(Walker(rough, terms=("viscous",), **settings), states, np.append(half, np.full(robot.n, VISCOUS)))
    return [
        equation("(43): error of velocity", "v~ = v_i - v_ri", "", off(error, np.cumsum(here.steps(s), axis=1))),
        equation(
            "(44): Walker's feedback",
            "-gamma v_j",
            "-gamma (v_i - v_ri)",
            off(printed, recursive),
            off(closed, recursive),
            "a tilde is lost",
        ),
        equation("(45): torque", "s_i' f_ri + eta^_i", "", off(recursive + VISCOUS * qrd, rubbed)),
        equation("(46): Walker's law in closed form", "C_w with qrd in C_1 to C_3", "", off(closed, recursive)),
    ]


def adaptation_rows(robot: Robot, states: States) -> list[StudyRow]:
    """Return what becomes of Walker's law, whose adaptation the document leaves open, with three adaptations.

    From an estimate of -0.3 times the truth: dV/dt against -gamma s' H s.
    """
    q, qd, q_des, qd_des, qdd_des = states
    s = reference_motion(q, qd, q_des, qd_des, qdd_des, LAMBDA)[2]
    pi = robot.parameters.values
    claim = -GAMMA * np.einsum("ki,kij,kj->k", s, mass_matrix(robot)(q), s)
    rows = []
    for kind, name, holds in (
        (Walker, "Y_w, with Y_w a = tau", True),
        (BorrowedWalker, "Slotine and Li's Y", False),
        (ForgetfulWalker, "Y_w without the gamma-term", False),
    ):
        gap = off(_v(kind(robot, Lambda=LAMBDA, gamma=GAMMA, Gamma_inv=1.0), states, -0.3 * pi, pi)[3], claim)
        what = f"Walker's law, adapted with {name}: dV/dt = -gamma s' H s"
        stated, rule = ("holds", "off by less") if holds else ("fails", "off by more")
        rows.append(
            statement(what, stated, f"off by {gap:.1e}", (gap < EXACT) == holds, rule=f"{rule} than {EXACT:.0e}")
        )
    return rows


def _rates(robot: Robot, states: States, K: np.ndarray, s: np.ndarray) -> list[StudyRow]:
    """(47) to (53), with exact parameters. The factor is lost once: V_1 of (47) has no half, its rate in (48) and (51) has."""
    pi = robot.parameters.values
    H = mass_matrix(robot)(states[0])
    _, half, _, rate = _v(Walker(robot, Lambda=LAMBDA, gamma=GAMMA, Gamma_inv=1.0), states, pi, pi)
    slow = _v(SlotineLi(robot, Lambda=LAMBDA, K=K, Gamma_inv=1.0), states, pi, pi)[3]
    V_1, squared = 2 * half, np.sum(s * s, axis=-1)
    damped = -np.sum(s * K * s, axis=-1)
    h, k_d = np.linalg.norm(H, ord=2, axis=(1, 2)), K.min()
    above = float(np.max(V_1 / (h * squared)))
    worst = float(np.max(2 * slow / (-k_d / h * V_1)))
    least = float(np.min(2 * slow / (-k_d / h * V_1)))
    return [
        equation("(47): V_1", "s' H s", "", off(np.sum(s * times(H, s), axis=-1), V_1)),
        equation(
            "(48): rate of V_1",
            "-gamma s' H s",
            "-2 gamma s' H s",
            off(-GAMMA * V_1, 2 * rate),
            off(-2 * GAMMA * V_1, 2 * rate),
            "a factor 2 is lost: V_1 of (47) has no half; and it holds for exact parameters only",
        ),
        equation("(49): rate of V_1, the factor of (48) mended", "-gamma V_1", "", off(-2 * GAMMA * V_1, 2 * rate)),
        statement(
            "V_1 is bounded", "V_1 <= h |s|^2", f"V_1 / (h |s|^2) up to {above:.2f}", above <= 1, "(50)", rule="<= 1"
        ),
        equation("(51): constant K_D, the factor of (48) mended", "-s' K_D s", "", off(damped, slow)),
        statement(
            "rate with constant K_D",
            "dV_1/dt <= -(k_d / h) V_1",
            f"{least:.3g} to {worst:.3g} times -(k_d / h) V_1",
            least >= 1,
            "(53)",
            rule="at least 1 times; 2 times with the factor of (48)",
        ),
    ]
