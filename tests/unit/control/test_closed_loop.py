"""Closed loops on a small plant, integrated by SciPy: V falls, the error dies, and what the documents claim of rates."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from support import error

import taupi as tp
from taupi.control.lyapunov import plant_parameters
from taupi.model.body import smallest_eigenvalue
from taupi.papers.kubozono.laws import BorrowedWalker, ForgetfulWalker

ARM = tp.load("zollo2r").with_gravity((0, -9.81, 0))
TRUE = ARM.parameters.values
N = ARM.n
OFFSET = np.array([-0.8, 0.6])
SIZE, SPEED = np.array([[0.8, 0.5], [0.6, 0.7]]), np.array([[1.3, 3.1], [2.0, 4.3]])
START = np.concatenate([OFFSET + 0.2 * np.cos([0, 1]), np.zeros(2)])
# The integrator's own error, relative to V at the start.
INTEGRATED = 1e-8


def wanted(t):
    angle = SPEED * t
    return (
        OFFSET + (SIZE * np.sin(angle)).sum(1),
        (SIZE * SPEED * np.cos(angle)).sum(1),
        -(SIZE * SPEED**2 * np.sin(angle)).sum(1),
    )


def loop(law, seconds, estimate, robot=ARM, terms=(), samples=200, reference=wanted, start=START, adapt=True):
    """States (N, n), estimates and times of a continuous closed loop."""
    plant, program = tp.forward_dynamics(robot, terms=terms), law.program()
    n = robot.n

    def rate(t, x):
        tau, learnt = program(x[:n], x[n : 2 * n], *reference(t), x[2 * n :])
        return np.concatenate([x[n : 2 * n], plant(x[:n], x[n : 2 * n], tau), learnt * adapt])

    first = np.concatenate([start, law.init(estimate).vector])
    times = np.linspace(0, seconds, samples)
    run = solve_ivp(rate, (0, seconds), first, "DOP853", t_eval=times, rtol=1e-9, atol=1e-10)
    assert run.success
    motion = [np.array(x) for x in zip(*(reference(t) for t in times), strict=True)]
    return times, run.y[:n].T, run.y[n : 2 * n].T, run.y[2 * n :].T, motion


def own_v(law, q, qd, motion, estimate, gamma):
    """V by NumPy and the mass matrix alone."""
    s = tp.laws.reference_motion(q, qd, *motion, Lambda=law.Lambda)[2]
    kinetic = np.einsum("ki,kij,kj->k", s, tp.mass_matrix(ARM)(q), s) / 2
    return kinetic + ((estimate - TRUE) ** 2 * gamma).sum(1) / 2, s


GAINS = {"Lambda": 5.0, "Gamma_inv": tp.SlotineLi(ARM).Gamma_inv / 9}  # slower: V is differenced over 5 ms
LAWS = {
    "slotine_li": tp.SlotineLi(ARM, K=[300.0, 80.0], **GAINS),
    "niemeyer_slotine": tp.NiemeyerSlotine(ARM, K=[300.0, 80.0], **GAINS),
    "walker": tp.Walker(ARM, gamma=20.0, **GAINS),
}


@pytest.mark.parametrize("name", LAWS)
def test_v_falls_and_tracking_dies(name):
    law = LAWS[name]
    times, q, qd, estimates, motion = loop(law, 8.0, 0.5 * TRUE, samples=1601)
    V, s = own_v(law, q, qd, motion, estimates, 1 / law.Gamma_inv)
    assert np.diff(V).max() < INTEGRATED * V[0]
    assert np.linalg.norm(s[-200:], axis=1).mean() < 0.05 * np.linalg.norm(s[0])
    record = tp.laws.check_lyapunov(law, times, q, qd, *motion, estimates)
    assert record.holds
    assert error(record.V, V) < 1e-11
    # dV/dt three ways: as claimed, by the chain rule, and by differences of V as NumPy has it.
    assert error(record.rate, record.claimed) < 1e-8
    slope = np.gradient(V, times, edge_order=2)
    later = slice(40, -1)  # the first 0.2 s are too quick for differences over 5 ms
    assert np.abs(slope - record.rate)[later].max() < 5e-3 * np.abs(record.rate[later]).max()


def test_without_adaptation_the_error_stays():
    law = tp.SlotineLi(ARM, K=[300.0, 80.0], Lambda=5.0, Gamma_inv=0.0)
    _, q, qd, estimates, motion = loop(law, 8.0, 0.5 * TRUE)
    s = tp.laws.reference_motion(q, qd, *motion, Lambda=5.0)[2]
    assert np.linalg.norm(s[-40:], axis=1).mean() > 0.05
    assert error(estimates[-1], 0.5 * TRUE) == 0


@pytest.mark.parametrize(("robot", "gamma", "rate"), [("zollo2r", 4.0, 8.0), ("puma560", 6.0, 12.0)])
def test_walker_decays_at_twice_gamma_with_exact_parameters(robot, gamma, rate):
    """The document prints gamma; 8 and 12 are fitted (Kubozono et al., table of closed loops)."""
    arm = tp.load(robot)
    law = tp.Walker(arm, Lambda=5.0, gamma=gamma, Gamma_inv=0.0)
    assert tp.laws.convergence_rate(law) == rate

    def reference(t):
        w, size = np.linspace(1, 2, arm.n), 0.3
        return 0.5 + size * np.sin(w * t), size * w * np.cos(w * t), -size * w**2 * np.sin(w * t)

    start = np.concatenate([reference(0)[0] + 0.2, np.zeros(arm.n)])
    pi = arm.parameters.values
    times, q, qd, _, motion = loop(law, 1.0, pi, arm, reference=reference, start=start, samples=50)
    s = tp.laws.reference_motion(q, qd, *motion, Lambda=5.0)[2]
    V_1 = np.einsum("ki,kij,kj->k", s, tp.mass_matrix(arm)(q), s) / 2
    assert -np.polyfit(times, np.log(V_1), 1)[0] == pytest.approx(rate, rel=1e-5)


def test_constant_damping_decays_at_least_at_its_bound():
    law = tp.SlotineLi(ARM, Lambda=5.0, K=[300.0, 80.0], Gamma_inv=0.0)
    bound = tp.laws.convergence_rate(law)
    times, q, qd, _, motion = loop(law, 0.5, TRUE, samples=100)
    s = tp.laws.reference_motion(q, qd, *motion, Lambda=5.0)[2]
    V_1 = np.einsum("ki,kij,kj->k", s, tp.mass_matrix(ARM)(q), s) / 2
    assert (np.diff(np.log(V_1)) / np.diff(times) < -bound).all()
    largest = max(np.linalg.eigvalsh(tp.mass_matrix(ARM)([0.0, x]))[-1] for x in np.linspace(-3.2, 3.2, 400))
    assert bound == pytest.approx(2 * 80 / largest, rel=2e-3)


def test_rotors_slow_the_decay():
    """A pendulum is one number: H = I + k^2 J whatever q, so that the rate is 2 K / H. The arm's rotors bound it from above."""
    pendulum = tp.Robot.from_dh([{"a": 0.5, "alpha": 0, "d": 0}], links=[{"m": 2.0, "com": (-0.1, 0, 0)}])
    geared = pendulum.with_transmissions(gear_ratio=50.0, rotor_inertia=2e-4)
    inertia, rotor = 2.0 * 0.4**2, 50.0**2 * 2e-4
    assert tp.laws.convergence_rate(tp.SlotineLi(pendulum, K=3.0)) == pytest.approx(2 * 3.0 / inertia, rel=2e-3)
    known = tp.laws.convergence_rate(tp.SlotineLi(geared, K=3.0, terms=("rotor",)))
    assert known == pytest.approx(2 * 3.0 / (inertia + rotor), rel=2e-3)
    arm = ARM.with_transmissions(gear_ratio=[60.0, 40.0], rotor_inertia=[2e-3, 4e-3])
    law = tp.SlotineLi(arm, K=[300.0, 80.0], terms=("viscous", "rotor"))
    q = np.random.default_rng(0).uniform(-np.pi, np.pi, (200, 2))
    largest = np.linalg.eigvalsh(tp.mass_matrix(arm, terms=("rotor",))(q)).max()
    assert (
        tp.laws.convergence_rate(law)
        <= 2 * 80.0 / largest
        < tp.laws.convergence_rate(tp.SlotineLi(arm, K=[300.0, 80.0]))
    )


@pytest.mark.parametrize("kind", [BorrowedWalker, ForgetfulWalker])
def test_inconsistent_adaptations_of_walkers_law_break_the_claim(kind):
    rng = np.random.default_rng(0)
    law = kind(ARM, Lambda=5.0, gamma=20.0, Gamma_inv=1.0)
    state = rng.uniform(-1, 1, (5, 50, 2))
    _, _, claimed, rate = tp.laws.lyapunov(law)(*state, -0.3 * TRUE, TRUE)
    assert np.abs(rate - claimed).max() > 0.1 * np.abs(claimed).max()
    good = tp.Walker(ARM, Lambda=5.0, gamma=20.0, Gamma_inv=1.0)
    _, _, claimed, rate = tp.laws.lyapunov(good)(*state, -0.3 * TRUE, TRUE)
    assert error(rate, claimed) < 1e-9
    if kind is ForgetfulWalker:
        q, qd, *motion = state
        s = tp.laws.reference_motion(q, qd, *motion, Lambda=5.0)[2]
        estimated = -0.3 * tp.mass_matrix(ARM)(q)  # H_hat of -0.3 times the true parameters
        _, _, _, wrong = tp.laws.lyapunov(law)(*state, -0.3 * TRUE, TRUE)
        assert error(wrong, -20.0 * np.einsum("ki,kij,kj->k", s, estimated, s)) < 1e-8
        assert (wrong > 0).all()


def test_friction_is_learnt_through_terms():
    robot = ARM.with_friction(viscous=[20.0, 10.0], coulomb=[0.0, 0.0])
    law = tp.NiemeyerSlotine(robot, K=[300.0, 80.0], terms=("viscous",), adapt=("*.viscous",), Gamma_inv=50.0)
    assert law.parameters.names == ("joint1.viscous", "joint2.viscous")
    _, _, _, estimates, _ = loop(law, 12.0, [0.0, 0.0], robot, terms=("viscous",), samples=20)
    assert error(estimates[-1], [20.0, 10.0]) < 0.02


def test_check_warns_with_the_reason():
    rough = ARM.with_friction(viscous=[0.0, 0.0], coulomb=[30.0, 20.0])
    law = tp.SlotineLi(rough, K=[300.0, 80.0], Lambda=5.0)
    smooth = {"terms": ("offset",)}
    pushed = np.concatenate([TRUE, [40.0, 40.0]])
    times = np.linspace(0, 1, 20)
    motion = [np.array(x) for x in zip(*(wanted(t) for t in times), strict=True)]
    q, qd = motion[0] + 0.1 * times[:, None], motion[1] + 0.1
    with pytest.warns(tp.TaupiWarning, match=r"V rises by up to .* of its start. the plant has joint1.offset"):
        record = tp.laws.check_lyapunov(law, times, q, qd, *motion, TRUE, plant=pushed, **smooth)
    assert not record.holds
    assert "rises by up to" in repr(record)
    zone = tp.SlotineLi(ARM, K=1.0, Lambda=5.0, modifications=tp.laws.DeadZone(0.1))
    with pytest.warns(tp.TaupiWarning, match="the dead zone learns from less than s"):
        tp.laws.check_lyapunov(zone, times, q, qd, *motion, 0.5 * TRUE)
    unreal = TRUE.copy()
    unreal[10] = -5.0
    with pytest.warns(tp.TaupiWarning, match="pseudo-inertia with eigenvalue"):
        tp.laws.check_lyapunov(tp.SlotineLi(ARM), times, q, qd, *motion, TRUE, plant=unreal)


def test_natural_adaptation_stays_a_body_where_the_plain_one_does_not():
    natural, plain = tp.laws.NaturalAdaptation(ARM, K=[300.0, 80.0], gamma=20.0), LAWS["slotine_li"]
    true = natural.real(TRUE)
    robot = ARM.with_parameters(true)
    natural = tp.laws.NaturalAdaptation(robot, K=[300.0, 80.0], gamma=20.0)
    first = natural.real(0.4 * true, 1e-2)
    times, q, qd, estimates, motion = loop(natural, 5.0, first, robot, samples=400)
    lows = [smallest_eigenvalue(x[k : k + 10].tolist()) for x in estimates for k in (0, 10)]
    assert min(lows) > 0
    record = tp.laws.check_lyapunov(natural, times, q, qd, *motion, estimates)
    assert record.holds
    s = tp.laws.reference_motion(q, qd, *motion, Lambda=5.0)[2]
    assert np.linalg.norm(s[-40:], axis=1).mean() < 0.05 * np.linalg.norm(s[0])
    _, _, _, others, _ = loop(plain, 5.0, 0.4 * TRUE, samples=400)
    assert min(smallest_eigenvalue(x[k : k + 10].tolist()) for x in others for k in (0, 10)) < -1e-3


def test_natural_step_keeps_bodies_however_long_it_is():
    law = tp.laws.NaturalAdaptation(ARM, K=1.0, gamma=0.01)
    state, rng = law.init(law.real(TRUE)), np.random.default_rng(1)
    for dt in (1e-3, 0.1, 1e-2, 1e-3):
        _, state = law.step(state, *rng.uniform(-0.05, 0.05, (5, 2)), dt=dt)
        for k in (0, 10):
            body = state.parameters[k : k + 10]
            low = smallest_eigenvalue(body.tolist())
            assert low > -1e-12 * np.abs(body).max()


def test_composite_adaptation_learns_the_base_parameters():
    base = tp.base_parameters(ARM)
    true = base.project(TRUE)
    plain = tp.SlotineLi(ARM, K=[300.0, 80.0], adapt="base")
    constant = tp.laws.CompositeAdaptation(ARM, K=[300.0, 80.0], adapt="base", weight=0.1)
    forgetting = tp.laws.CompositeAdaptation(ARM, K=[300.0, 80.0], adapt="base", weight=0.1, forgetting=1.0)
    wrong = {}
    for name, law in (("plain", plain), ("constant", constant), ("forgetting", forgetting)):
        times, q, qd, states, motion = loop(law, 4.0, 0.5 * true, samples=400)
        record = tp.laws.check_lyapunov(law, times, q, qd, *motion, states)
        assert record.holds
        wrong[name] = np.linalg.norm((states[-1, : base.count] - true) / np.sqrt(plain.Gamma_inv))
    assert wrong["constant"] < 0.5 * wrong["plain"]
    assert wrong["forgetting"] < 0.5 * wrong["constant"]


def test_bounded_gain_forgetting_bounds_the_gain():
    law = tp.laws.CompositeAdaptation(ARM, K=[300.0, 80.0], adapt="base", forgetting=5.0, gain_limit=3.0)
    p = len(law.parameters)

    def still(t):
        return OFFSET, np.zeros(2), np.zeros(2)

    _, _, _, states, _ = loop(law, 6.0, None, reference=still, start=np.concatenate([OFFSET, np.zeros(2)]), samples=30)
    triangle = np.zeros((30, p, p))
    triangle[(slice(None), *np.triu_indices(p))] = states[:, p + N * p + N :]
    traces = np.trace(triangle, axis1=1, axis2=2)
    assert traces[-1] > 1.5 * p  # nothing moves, so it forgets and the gain grows
    assert traces.max() <= 3.0 * p * (1 + 1e-9)


def test_prediction_of_the_filter_is_exact_when_it_starts_at_rest():
    law = tp.laws.CompositeAdaptation(ARM, K=[300.0, 80.0], Gamma_inv=1e-9, weight=1e-9)
    at_rest = np.concatenate([OFFSET, np.zeros(2)])
    _, q, qd, states, _ = loop(law, 1.0, 0.7 * TRUE, start=at_rest, samples=10)
    filters, torque = states[:, 20:60].reshape(10, 2, 20), states[:, 60:62]
    momentum = np.array(
        [tp.slotine_li_regressor(ARM.with_gravity((0, 0, 0)))(x, 0 * x, 0 * x, v) for x, v in zip(q, qd, strict=True)]
    )
    W = 20.0 * momentum + filters
    assert error(W @ TRUE, torque) < 1e-6


def test_operational_law_brings_the_tip_to_its_path():
    arm = tp.load("planar3r").bind(l1=1, l2=0.8, l3=0.5)
    for task in ("planar", "xy"):
        law = tp.laws.OperationalSlotineLi(arm, task=task)
        m = law.wanted_size()
        first = np.array([0.3, 1.1, -0.7])
        home = tp.operational.task_coordinates(arm, task=task)(first)

        def circle(t, m=m, home=home):
            w = 2.0
            r = home + 0.1 * np.array([np.sin(w * t), 1 - np.cos(w * t), 0])[:m]
            return (
                r,
                0.1 * w * np.array([np.cos(w * t), np.sin(w * t), 0])[:m],
                0.1 * w * w * np.array([-np.sin(w * t), np.cos(w * t), 0])[:m],
            )

        start = np.concatenate([first + np.array([0.1, -0.05, 0.05]), np.zeros(3)])
        pi = arm.parameters.values
        times, q, qd, estimates, motion = loop(law, 4.0, 0.6 * pi, arm, reference=circle, start=start)
        off = np.linalg.norm(tp.operational.task_coordinates(arm, task=task)(q) - motion[0], axis=1)
        assert off[-40:].max() < 0.1 * off[0]
        assert tp.laws.check_lyapunov(law, times, q, qd, *motion, estimates).holds


def test_fixed_laws_reach_their_goal():
    goal = np.array([0.5, -0.3])
    law = tp.PDGravity(ARM)
    _, q, _, _, _ = loop(law, 4.0, None, reference=lambda t: (goal, np.zeros(2), np.zeros(2)), samples=5)
    assert np.abs(q[-1] - goal).max() < 1e-3
    times, q, _, _, motion = loop(tp.ComputedTorque(ARM, Kp=25.0, Kd=10.0), 2.0, None)
    e = q - motion[0]
    # Critically damped at 5 rad/s: e = (e0 + (v0 + 5 e0) t) exp(-5 t).
    first = START[2:] - wanted(0)[1]
    expected = (e[0] + np.outer(times, first + 5 * e[0])) * np.exp(-5 * times)[:, None]
    assert error(e, expected) < 1e-7


def test_plant_parameters_follow_the_terms():
    assert len(plant_parameters(LAWS["walker"], ("viscous",))) == 22
