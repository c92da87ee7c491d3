"""Adaptive laws in simulated closed loops: the spec's vectors (A7), Lyapunov functions along runs, an independent plant."""

import numpy as np
import pinocchio as pin
import pytest
from adaptive import VECTORS, ours, robot
from support import error

import taupi as tp

SIMULATED = 1e-7  # the file's own


def spec_law(case, kind=None):
    arm = robot(case["robot"])
    gains = {"Lambda": case["Lambda"], "Gamma_inv": ours(arm, case["Gamma_inv"])}
    kind = kind or case["controller"]
    if kind == "walker":
        return tp.Walker(arm, gamma=case["gamma"], **gains)
    return {"slotine_li": tp.SlotineLi, "niemeyer_slotine": tp.NiemeyerSlotine}[kind](arm, K=case["KD"], **gains)


def spec_run(case, law, **options):
    start = {"initial": (case["q0"], case["qd0"]), "parameters": 0.5 * law.robot.parameters.values}
    motion = tp.Sinusoids.document(case["robot"])
    return tp.simulate(tp.RigidPlant(law.robot), law, motion, control="continuous", **start, **options)


@pytest.mark.parametrize("integrator", ["rk4", "dop853"])
@pytest.mark.parametrize("k", range(2))
def test_the_specs_closed_loops(k, integrator):
    case = VECTORS["closed_loop"][k]
    law = spec_law(case)
    # RK4 is off by 2e-7 with 0.5 ms and by a sixteenth of that with 0.25 ms.
    options = {"rk4": {"rate": 4000}, "dop853": {"rate": 20, "tolerance": 1e-11}}[integrator]
    run = spec_run(case, law, duration=2.0, integrator=integrator, **options)
    rows = [round(t * run.provenance["rate"]) for t in case["t"]]
    assert error(run.q[rows], case["q"]) < SIMULATED
    assert error(run.qd[rows], case["qd"]) < SIMULATED
    assert error(run.parameters[rows], ours(law.robot, case["a_hat"])) < SIMULATED
    assert np.abs(run.residual).max() < 1e-5


def test_closed_and_recursive_law_agree_along_the_run():
    case = VECTORS["closed_loop"][0]
    recursive = spec_law(case)
    closed = spec_law(case, "slotine_li")
    run = spec_run(case, recursive, duration=3.0)
    tau = closed.torque(run.q, run.qd, *run.reference, parameters=run.parameters)
    assert error(run.tau, tau) < 1e-10
    assert error(spec_run(case, closed, duration=3.0).q, run.q) < 1e-9


@pytest.mark.parametrize("kind", ["slotine_li", "walker"])
def test_v_never_rises(kind):
    """A7: V falls between any two samples; the error dies, faster with the gains of Slotine and Li's law."""
    case = VECTORS["closed_loop"][0]
    law = spec_law(case, kind)
    run = spec_run(case, law, duration=10.0, every=5)
    V = tp.laws.lyapunov(law)(run.q, run.qd, *run.reference, run.parameters, law.robot.parameters.values)[0]
    assert np.diff(V).max() < 1e-9 * V[0]
    assert np.abs(run.error[-400:]).max() < {"slotine_li": 0.02, "walker": 0.1}[kind] < np.abs(run.error[:200]).max()


@pytest.mark.parametrize(("name", "gamma"), [("planar2", 4.0), ("puma560", 6.0)])
def test_walkers_rate_with_exact_parameters(name, gamma):
    """A6, A7: V_1 falls as exp(-2 gamma t) exactly: fitted rates 8 and 12."""
    arm = robot(name)
    law = tp.Walker(arm, Lambda=5.0, gamma=gamma, Gamma_inv=0.0)
    motion = tp.Sinusoids.document(name)
    q = motion(0.0).q + 0.2 * np.cos(np.arange(arm.n))
    run = tp.simulate(
        tp.RigidPlant(arm), law, motion, duration=1.0, rate=2000, control="continuous", initial=(q, np.zeros(arm.n))
    )
    s = run.qd - run.reference.qd + 5.0 * run.error
    V = np.einsum("ki,kij,kj->k", s, tp.mass_matrix(arm)(run.q), s) / 2
    rate = -np.polyfit(run.time, np.log(V), 1)[0]
    assert abs(rate - 2 * gamma) < 1e-6


def test_the_law_holds_an_independent_plant(robots_dir):
    """The sampled law, stepped by hand around Pinocchio's articulated bodies, gives the run of the compiled loop."""
    path = robots_dir / "ur_description/urdf/ur5_robot.urdf"
    arm = tp.Robot.from_urdf(path, snap=False)
    model = pin.buildModelFromUrdf(str(path))
    data = model.createData()
    motion = tp.Sinusoids(np.zeros(6), np.full((6, 1), 0.3), np.linspace(1, 2, 6)[:, None])
    law = tp.NiemeyerSlotine(arm, Lambda=5.0, K=10.0, Gamma_inv=0.1)
    start = 0.6 * np.array(law.parameters.values)
    dt, n = 1e-3, 6
    run = tp.simulate(tp.RigidPlant(arm), law, motion, duration=0.2, rate=1 / dt, parameters=start)
    x, state = np.concatenate([motion(0.0).q, motion(0.0).qd]), law.init(start)
    for k in range(200):
        assert error(np.concatenate([run.q[k], run.qd[k]]), x) < 1e-9
        assert error(run.parameters[k], state.parameters) < 1e-9
        tau, state = law.step(state, x[:n], x[n:], *motion(k * dt), dt)

        def f(y, tau=tau):
            return np.concatenate([y[n:], pin.aba(model, data, y[:n], y[n:], tau)])

        k1 = f(x)
        k2 = f(x + dt / 2 * k1)
        k3 = f(x + dt / 2 * k2)
        x = x + dt / 6 * (k1 + 2 * k2 + 2 * k3 + f(x + dt * k3))


def test_a_sweep_of_laws_is_each_law():
    arm, motion = robot("planar2"), tp.Sinusoids.document("planar2")
    laws = [tp.ComputedTorque(arm), tp.PDGravity(arm), tp.SlotineLi(arm, K=50.0)]
    batch = tp.simulate_many(tp.RigidPlant(arm), laws, motion, duration=0.2, initial=motion(0.0).q)
    for law, run in zip(laws, batch, strict=True):
        alone = tp.simulate(tp.RigidPlant(arm), law, motion, duration=0.2, initial=motion(0.0).q)
        assert np.array_equal(run.q, alone.q) and np.array_equal(run.tau, alone.tau)
