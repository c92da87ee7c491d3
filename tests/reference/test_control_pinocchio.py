"""A closed loop whose plant is Pinocchio's ABA: nothing of ours moves the arm."""

import numpy as np
import pinocchio as pin
import pytest
from plants import pinocchio_model
from support import error

import taupi as tp

STEP = 5e-4
RISE = 1e-7  # RK4's own error over a sample, relative to V at the start
SAMPLES = 1500


def wanted(t):
    """The specification's PUMA trajectory (A7)."""
    o = np.array([0, 0.8, -0.6, 0, 0.7, 0])
    A = np.array([[0.7, 0.3], [0.5, 0.25], [0.5, 0.3], [0.8, 0.4], [0.7, 0.3], [0.9, 0.5]])
    w = np.array([[1.1, 2.7], [1.5, 3.2], [1.9, 3.7], [2.3, 4.1], [2, 4.6], [2.6, 5]])
    return o + (A * np.sin(w * t)).sum(1), (A * w * np.cos(w * t)).sum(1), -(A * w**2 * np.sin(w * t)).sum(1)


@pytest.fixture(scope="module")
def arm():
    """The PUMA with a body on every link, so that Pinocchio has no massless one."""
    puma = tp.load("puma560")
    pi = puma.parameters.values.copy()
    pi[[0, 4, 7, 9]] += [0.1, 0.01, 0.01, 0.01]
    return puma.with_parameters(pi)


@pytest.mark.parametrize("kind", ["niemeyer_slotine", "walker"])
def test_v_falls_on_a_plant_that_is_not_ours(arm, kind):
    K = [120, 180, 60, 0.6, 0.3, 0.06]
    settings = {"Lambda": 5.0, "Gamma_inv": tp.SlotineLi(arm).Gamma_inv}
    law = tp.Walker(arm, gamma=30.0, **settings) if kind == "walker" else tp.NiemeyerSlotine(arm, K=K, **settings)
    closed = (
        tp.Walker(arm, gamma=30.0, form="closed", **settings)
        if kind == "walker"
        else tp.SlotineLi(arm, K=K, **settings)
    )
    model = pinocchio_model(arm)
    data, program, n = model.createData(), law.program(), 6
    q, qd = np.full(6, 0.3), np.full(6, 0.2)
    assert error(tp.forward_dynamics(arm)(q, qd, q), pin.aba(model, data, q, qd, q)) < 1e-9

    def rate(t, x):
        tau, learnt = program(x[:n], x[n : 2 * n], *wanted(t), x[2 * n :])
        return np.concatenate([x[n : 2 * n], pin.aba(model, data, x[:n], x[n : 2 * n], tau), learnt])

    true = arm.parameters.values
    x = np.concatenate([wanted(0)[0] + 0.2 * np.cos(np.arange(6)), np.zeros(6), 0.5 * true])
    states = [x]
    for k in range(SAMPLES):
        t = k * STEP
        a = rate(t, x)
        b = rate(t + STEP / 2, x + STEP / 2 * a)
        c = rate(t + STEP / 2, x + STEP / 2 * b)
        d = rate(t + STEP, x + STEP * c)
        x = x + STEP / 6 * (a + 2 * b + 2 * c + d)
        states.append(x)
    rows = np.array(states)[::10]
    times = np.arange(len(rows)) * 10 * STEP
    motion = [np.array(m) for m in zip(*(wanted(t) for t in times), strict=True)]
    q, qd, estimates = rows[:, :n], rows[:, n : 2 * n], rows[:, 2 * n :]
    s = tp.laws.reference_motion(q, qd, *motion, Lambda=5.0)[2]
    masses = np.array([np.triu(m) + np.triu(m, 1).T for m in (pin.crba(model, data, x).copy() for x in q)])
    V = np.einsum("ki,kij,kj->k", s, masses, s) / 2 + ((estimates - true) ** 2 / law.Gamma_inv).sum(1) / 2
    assert np.diff(V).max() < RISE * V[0]
    assert np.linalg.norm(s[-1]) < 0.6 * np.linalg.norm(s[0])  # within 0.75 s
    one, other = (m.torque(q, qd, *motion, parameters=estimates) for m in (law, closed))
    assert np.abs(one - other).max() < 1e-10  # along the run (Kubozono et al., table of closed loops)
