"""Every case of the specification's part A (Kubozono et al.): spatial algebra, stacked dynamics, laws, closed loops."""

import casadi as cs
import numpy as np
import pytest
from adaptive import VECTORS, ours, robot
from scipy.integrate import solve_ivp
from support import error

import taupi as tp
from taupi.control import spatial_algebra as spatial
from taupi.dynamics.chain import trace_robot

SPEC = 1e-10  # the file's own: relative to max(1, largest entry)
SIMULATED = 1e-7
SPATIAL = range(len(VECTORS["spatial"]))
CONTROLLERS = range(len(VECTORS["controllers"]))


def dense(x):
    return np.array(cs.DM(cs.evalf(cs.SX(x))))


def test_operators():
    case = VECTORS["operators"]["spatial_ops"]
    a, b, X = (cs.SX(cs.DM(np.array(case[k]))) for k in ("a", "b", "X"))
    assert error(dense(spatial.cross(a)), case["a_cross"]) < SPEC
    assert error(dense(spatial.cross(a) @ b).ravel(), case["a_cross_b"]) < SPEC
    assert error(dense(spatial.transpose(a)).ravel(), case["a_T"]) < SPEC
    assert error(dense(spatial.transpose(X)), case["X_T"]) < SPEC
    assert error(dense(spatial.transpose(a) @ b).item(), case["a_T_b"]) < SPEC


@pytest.mark.parametrize("k", SPATIAL)
def test_stacked_dynamics(k):
    case = VECTORS["spatial"][k]
    arm = robot(case["robot"])
    H, C, G, N = tp.closed_form.spatial_dynamics(arm)(case["q"], case["qd"])
    for got, name in ((H, "H"), (C, "C"), (G, "G"), (N, "Hdot_minus_2C")):
        assert error(got, case[name]) < SPEC, name
    axes = trace_robot(
        "axes",
        arm,
        lambda c, q: [cs.SX(s) for s in spatial.joint_axes(c, q)],
        ["q"],
        [tp.program.Port("s", (arm.n, 6))],
    )
    assert error(axes(case["q"]), case["s"]) < SPEC


@pytest.mark.parametrize("k", SPATIAL)
def test_regressor_and_torque(k):
    case = VECTORS["spatial"][k]
    arm = robot(case["robot"])
    Y = tp.slotine_li_regressor(arm)(case["q"], case["qd"], case["r"], case["rdot"])
    assert error(Y, ours(arm, np.array(case["Y"]))) < SPEC
    assert error(Y @ ours(arm, case["a"]), case["Y_a"]) < SPEC
    assert error(tp.inverse_dynamics(arm)(case["q"], case["qd"], case["qdd"]), case["tau_id"]) < SPEC


def laws(case, arm):
    gains = {"Lambda": case["Lambda"], "Gamma_inv": ours(arm, case["Gamma_inv"])}
    slotine = {"K": case["KD"], **gains}
    return {
        "slotine_li": tp.SlotineLi(arm, **slotine),
        "niemeyer_slotine": tp.NiemeyerSlotine(arm, **slotine),
        "walker": tp.Walker(arm, gamma=case["gamma"], **gains),
        "walker_closed": tp.Walker(arm, gamma=case["gamma"], form="closed", **gains),
    }


@pytest.mark.parametrize("name", ["slotine_li", "niemeyer_slotine", "walker", "walker_closed"])
@pytest.mark.parametrize("k", CONTROLLERS)
def test_controllers(k, name):
    case = VECTORS["controllers"][k]
    arm = robot(case["robot"])
    law = laws(case, arm)[name]
    state = [np.array(case[x]) for x in ("q", "qd", "q_des", "qd_des", "qdd_des")]
    estimate = ours(arm, case["a_hat"])
    family = "walker" if "walker" in name else "slotine_li"
    printed = family if family == "walker" else name
    assert error(law.torque(*state, parameters=estimate), case[f"tau_{printed}"]) < SPEC
    assert error(law.adaptation(*state, parameters=estimate), ours(arm, case[f"adot_{family}"])) < SPEC
    qrd, qrdd, s = tp.laws.reference_motion(*state, Lambda=np.array(case["Lambda"]))
    for got, key in ((qrd, "qd_r"), (qrdd, "qdd_r"), (s, "s")):
        assert error(got, case[key]) < SPEC
    V, _, claimed, rate = tp.laws.lyapunov(law)(*state, estimate, arm.parameters.values)
    assert error(V, case["V"]) < SPEC
    assert error(claimed, case[f"Vdot_{family}"]) < SPEC
    # The chain rule divides by M, whose condition takes digits away.
    assert error(rate, case[f"Vdot_{family}"]) < 1e-8


def desired(case, t):
    o, A, w = (np.array(case[k]) for k in ("o", "A", "w"))
    return o + (A * np.sin(w * t)).sum(1), (A * w * np.cos(w * t)).sum(1), -(A * w**2 * np.sin(w * t)).sum(1)


@pytest.mark.parametrize("k", range(len(VECTORS["closed_loop"])))
def test_closed_loops(k):
    case = VECTORS["closed_loop"][k]
    arm = robot(case["robot"])
    gains = {"Lambda": case["Lambda"], "Gamma_inv": ours(arm, case["Gamma_inv"])}
    walker = case["controller"] == "walker"
    law = tp.Walker(arm, gamma=case["gamma"], **gains) if walker else tp.NiemeyerSlotine(arm, K=case["KD"], **gains)
    plant, program, n = tp.forward_dynamics(arm), law.program(), arm.n

    def rate(t, x):
        q, qd = x[:n], x[n : 2 * n]
        tau, learnt = program(q, qd, *desired(case, t), x[2 * n :])
        return np.concatenate([qd, plant(q, qd, tau), learnt])

    start = np.concatenate([case["q0"], case["qd0"], case["a_hat0_fraction_of_true"] * arm.parameters.values])
    run = solve_ivp(rate, (0, max(case["t"])), start, "DOP853", t_eval=case["t"], rtol=1e-10, atol=1e-12)
    assert error(run.y[:n].T, case["q"]) < SIMULATED
    assert error(run.y[n : 2 * n].T, case["qd"]) < SIMULATED
    assert error(run.y[2 * n :].T, ours(arm, case["a_hat"])) < SIMULATED
