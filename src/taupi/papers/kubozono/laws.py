"""Kubozono, Yamakita & Furuta, sections 3 and 4: the equations of the laws at random states, as printed and as corrected."""

from __future__ import annotations

from typing import Any

import numpy as np

from taupi.control.law import Law
from taupi.control.laws.niemeyer_slotine import NiemeyerSlotine
from taupi.control.laws.slotine_li import SlotineLi
from taupi.control.laws.walker import Walker
from taupi.control.lyapunov import lyapunov
from taupi.dynamics.mass_matrix import mass_matrix
from taupi.model.robot import Robot
from taupi.papers.kubozono.walker_mistakes import BorrowedWalker, ForgetfulWalker
from taupi.papers.study import Row, compared, off
from taupi.regressors.classical import reference_motion

LAMBDA, GAMMA, VISCOUS = 5.0, 4.0, 2.0
States = tuple[np.ndarray, ...]  # q, qd, q_des, qd_des and qdd_des, (states, n) each


def equation(where: str, printed: str, holds: str, gap: float, left: float | None = None, because: str = "") -> Row:
    """Return the row of an equation; `where` has its number before a colon."""
    source, _, what = where.rpartition(": ")
    return compared(what, printed, holds, gap, left, source, because)


def law_rows(robot: Robot, states: States) -> list[Row]:
    """Return (34) to (53)."""
    q, qd, q_des, qd_des, qdd_des = states
    s = reference_motion(q, qd, q_des, qd_des, qdd_des, LAMBDA)[2]
    K = np.linspace(50.0, 5.0, robot.n)
    damped = -np.einsum("ki,i,ki->k", s, K, s)
    return [
        _friction(robot, states, K, damped),
        _recursion(robot, states, K),
        *_walker(robot, states, s),
        *_adaptation(robot, states, s),
        *_rates(robot, states, K, damped),
    ]


def _v(law: Law, states: States, estimate: np.ndarray, true: np.ndarray, terms: Any = None) -> Any:
    """Return V, V_1, its claimed and its true rate, interpreted: compiling takes longer than twenty states."""
    return lyapunov(law, terms).compile("numpy")(*states, estimate, true)


def _friction(robot: Robot, states: States, K: np.ndarray, damped: np.ndarray) -> Row:
    rough = robot.with_friction(viscous=[VISCOUS] * robot.n)
    pi = robot.parameters.values
    true = np.concatenate([pi, np.full(robot.n, VISCOUS)])
    settings: dict[str, Any] = {"Lambda": LAMBDA, "K": K, "Gamma_inv": 1.0}
    left = _v(SlotineLi(rough, **settings), states, 0.5 * pi, true, ("viscous",))[3]
    _, _, claimed, rate = _v(SlotineLi(rough, terms=("viscous",), **settings), states, 0.5 * true, true)
    return equation(
        "(34): no friction in the law",
        "dV/dt = -s' K_D s",
        "with B qrd in it, -s' (K_D + B) s",
        off(left, damped),
        off(rate, claimed),
        "the arm of (1) has friction; without its estimate -s' B qd is left",
    )


def _recursion(robot: Robot, states: States, K: np.ndarray) -> Row:
    settings: dict[str, Any] = {"Lambda": LAMBDA, "K": K, "Gamma_inv": 1.0}
    light = robot.with_gravity((0, 0, 0))
    laws = SlotineLi(robot, **settings), NiemeyerSlotine(robot, **settings), NiemeyerSlotine(light, **settings)
    closed, recursive, weightless = (_torque(law, states, 0.5 * robot.parameters.values) for law in laws)
    return equation(
        "(41): recursion without gravity",
        "no I_i g",
        "- I_i g, equal to (34)",
        off(weightless, closed),
        off(recursive, closed),
        "gravity is left out; with it closed form and recursion are one law",
    )


def _torque(law: Law, states: States, estimate: np.ndarray) -> np.ndarray:
    q, qd, q_des, qd_des, qdd_des = states
    return law.torque(q, qd, q_des, qd_des, qdd_des, parameters=estimate)


def _walker(robot: Robot, states: States, s: np.ndarray) -> list[Row]:
    """(44), (46)."""
    settings: dict[str, Any] = {"Lambda": LAMBDA, "gamma": GAMMA, "Gamma_inv": 1.0}
    half = 0.5 * robot.parameters.values
    recursive, closed = (
        _torque(Walker(robot, form=form, **settings), states, half) for form in ("recursive", "closed")
    )
    # gamma v_j in place of gamma (v_i - v_ri): the velocity itself, as if qrd were zero.
    H = mass_matrix(robot.with_parameters(half))(states[0])
    printed = recursive + GAMMA * np.einsum("kij,kj->ki", H, s - states[1])
    return [
        equation(
            "(44): Walker's feedback",
            "-gamma v_j",
            "-gamma (v_i - v_ri)",
            off(printed, recursive),
            off(closed, recursive),
            "a tilde is lost; so is the sign of g",
        ),
        equation("(46): Walker's law in closed form", "C_w with qrd in C_1 to C_3", "", off(closed, recursive)),
    ]


def _adaptation(robot: Robot, states: States, s: np.ndarray) -> list[Row]:
    """Walker's law with three adaptations, from an estimate of -0.3 times the truth: dV/dt against -gamma s' H s."""
    pi = robot.parameters.values
    claim = -GAMMA * np.einsum("ki,kij,kj->k", s, mass_matrix(robot)(states[0]), s)
    borrowed, forgetful, right = (
        off(_v(kind(robot, Lambda=LAMBDA, gamma=GAMMA, Gamma_inv=1.0), states, -0.3 * pi, pi)[3], claim)
        for kind in (BorrowedWalker, ForgetfulWalker, Walker)
    )
    why = "the law leaves Y_w to the reader; only Y_w with Y_w a = tau gives dV/dt = -gamma s' H s"
    return [
        equation(f"Walker's adaptation: {what}", "none is given", "with Y_w", gap, right, why)
        for what, gap in (("with Slotine and Li's Y", borrowed), ("without the gamma-term", forgetful))
    ]


def _rates(robot: Robot, states: States, K: np.ndarray, damped: np.ndarray) -> list[Row]:
    """(48) to (53): V_1 = s' H s with exact parameters; the programs' V_1 has a half in it."""
    pi = robot.parameters.values
    _, half, _, rate = _v(Walker(robot, Lambda=LAMBDA, gamma=GAMMA, Gamma_inv=1.0), states, pi, pi)
    constant = _v(SlotineLi(robot, Lambda=LAMBDA, K=K, Gamma_inv=1.0), states, pi, pi)[3]
    V_1, change = 2 * half, 2 * rate
    return [
        equation(
            "(48), (49): rate of V_1",
            "-gamma V_1",
            "-2 gamma V_1",
            off(-GAMMA * V_1, change),
            off(-2 * GAMMA * V_1, change),
            "a factor 2 is lost; and it holds for exact parameters only",
        ),
        equation(
            "(50), (51): constant K_D",
            "d/dt s' H s = -s' K_D s",
            "-2 s' K_D s",
            off(damped, 2 * constant),
            off(2 * damped, 2 * constant),
            "a factor 2 is lost: the rate is 2 k_d / h, for exact parameters",
        ),
    ]
