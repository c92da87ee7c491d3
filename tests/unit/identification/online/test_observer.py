"""The momentum observer: its defining equations, torque from outside in simulation, and what it refuses."""

import numpy as np
import pytest
from fits import FRICTION, friction_fit
from fits import TERMS as FRICTION_TERMS
from online import TERMS, panda
from refusals import refused
from support import error

import taupi as tp
from taupi.dynamics.chain import Chain, trace_robot
from taupi.identification.online.model import OnlineModel, interpolated
from taupi.program import Port, trace

ROUNDING = 1e-10
# An observer integrates with trapezoids at 1 kHz what a fourth-order integrator simulated.
SAMPLED = 2e-3


def test_momentum_and_its_rate():
    arm = panda().with_transmissions(rotor_inertia=0.01, gear_ratio=5)
    model, n = OnlineModel.of_robot(arm, ("rotor", "viscous")), arm.n

    def body(chain, q, qd):
        return model.momentum(chain, q, qd)

    both = trace_robot("both", arm, body, ["q", "qd"], [Port("p", (n,)), Port("rate", (n,))])
    q, qd = np.random.default_rng(0).uniform(-1, 1, (2, 5, n))
    p, rate = both(q, qd)
    mass, coriolis, gravity = tp.mass_matrix(arm)(q), tp.coriolis_matrix(arm)(q, qd), tp.gravity_torque(arm)(q)
    assert error(p, np.einsum("kij,kj->ki", mass, qd) + 0.25 * qd) < ROUNDING
    assert error(rate, np.einsum("kji,kj->ki", coriolis, qd) - gravity) < ROUNDING


@pytest.mark.parametrize("bandwidth_hz", [5.0, 40.0])
def test_it_follows_torque_from_outside_through_one_lag(bandwidth_hz):
    """The plant is simulated by forward dynamics, which shares nothing with the observer."""
    arm = panda().with_friction(load=0.05)
    terms = (*TERMS, "load")
    push = np.array([3.0, -2.0, 1.0, 0.5, -0.4, 0.3, 0.2])
    plant = tp.RigidPlant(arm, terms=terms, disturbance=lambda t: -push if t >= 0.3 else np.zeros(7))
    course = tp.Sinusoids(np.array([0, -0.3, 0, -1.8, 0, 1.8, 0.5]), np.full((7, 1), 0.4), np.array([[2.0]]))
    run = tp.simulate(
        plant, tp.ComputedTorque(arm, terms=("viscous", "coulomb")), course, duration=0.8, rate=1000, substeps=4
    )
    # What is held from a sample on is, on average about a sample, the mean of the torques before and after it.
    log = run.to_log().with_(tau=np.concatenate([run.tau[:1], (run.tau[1:] + run.tau[:-1]) / 2]))
    seen = tp.momentum_observer(arm, bandwidth_hz, terms=terms).external_torque(log)
    rise = 1 - np.exp(-2 * np.pi * bandwidth_hz * np.maximum(log.time - 0.3, 0.0))
    late = log.time > 0.3 + 0.005
    assert np.abs(seen[log.time < 0.295]).max() < 0.02 * np.abs(push).max()
    assert np.abs(seen - rise[:, None] * push)[late].max() < 0.05 * np.abs(push).max()
    assert np.abs(seen[-50:] - rise[-50:, None] * push).max() < 10 * SAMPLED * np.abs(push).max()


def test_a_static_push_is_the_missing_torque_and_batches_agree_with_single_states():
    arm = tp.load("puma560")
    observer = tp.momentum_observer(arm, bandwidth_hz=50)
    q = np.random.default_rng(1).uniform(-1, 1, (3, 6))
    tau = tp.gravity_torque(arm)(q) - np.arange(6)
    state, one = observer.init(q, np.zeros_like(q)), observer.init()
    for _ in range(200):
        r, state = observer.step(state, q, np.zeros_like(q), tau, 0.001)
        single, one = observer.step(one, q[1], np.zeros(6), tau[1], 0.001)
    assert error(r, np.broadcast_to(np.arange(6.0), (3, 6))) < 1e-6
    assert error(single, r[1]) < 1e-6
    assert state.tau_ext is r


def test_starting_in_motion_makes_no_contact():
    arm = tp.load("elbow2r")
    rng = np.random.default_rng(2)
    q, qd = rng.uniform(-1, 1, (2, 2))
    tau = tp.bias_torque(arm)(q, qd)
    observer = tp.momentum_observer(arm)
    for start in (observer.init(), observer.init(q, qd)):
        r, _ = observer.step(start, q, qd, tau, 1e-4)
        assert np.abs(r).max() < 1e-2  # the momentum of the state itself is p; only its rate over dt is missing
    away = observer.init(q, np.zeros(2))
    assert np.abs(observer.step(away, q, qd, tau, 1e-4)[0]).max() > 1.0


def test_a_log_without_velocities_and_with_known_torques():
    arm = tp.load("elbow2r")
    t = np.arange(3000)[:, None] / 1000
    w = np.array([1.0, 2.0])
    q, qd, qdd = np.sin(w * t), w * np.cos(w * t), -w * w * np.sin(w * t)
    tau = tp.inverse_dynamics(arm)(q, qd, qdd) - [1.5, 0.0]
    log = tp.Log(t[:, 0], q, tau=tau, tau_known=np.tile([1.0, 0.0], (len(t), 1)), names=arm.joint_names)
    r = tp.momentum_observer(arm).external_torque(log)
    assert np.abs(r[500:] - [0.5, 0.0]).max() < 0.05
    assert np.abs(r[:500]).max() < 0.6  # it begins in motion, and that is no contact


def test_a_log_without_velocities_may_begin_while_the_arm_accelerates():
    """Where the first velocity is not known, nothing is felt before the second sample, and no more after it than later."""
    arm = tp.load("elbow2r")
    t = np.arange(300)[:, None] / 100
    w = np.array([4.0, 5.0])
    q, qd, qdd = np.cos(w * t), -w * np.sin(w * t), -w * w * np.cos(w * t)
    log = tp.Log(t[:, 0], q, tau=tp.inverse_dynamics(arm)(q, qd, qdd), names=arm.joint_names)
    r = np.abs(tp.momentum_observer(arm).external_torque(log))
    assert not r[:2].any() and (r[:10].max(axis=0) <= r[50:].max(axis=0)).all()
    one = log.rows(slice(0, 1))
    assert tp.momentum_observer(arm).external_torque(one).tolist() == [[0.0, 0.0]]


def test_a_bandwidth_above_half_the_rate_of_a_log_is_suspect():
    arm = tp.load("elbow2r")
    log = tp.Log(np.arange(50) / 100, np.zeros((50, 2)), tau=np.zeros((50, 2)), names=arm.joint_names)
    with pytest.warns(tp.TaupiWarning, match="bandwidth_hz is 51 Hz, more than half the log's 100 Hz"):
        tp.momentum_observer(arm, 51).external_torque(log)
    tp.momentum_observer(arm, 50).external_torque(log)


def test_refusals():
    arm = tp.load("elbow2r")
    observer = tp.momentum_observer(arm)
    rest = np.zeros(2)
    with refused("source", got=3):
        tp.momentum_observer(3)
    with refused("bandwidth_hz", got=0):
        tp.momentum_observer(arm, 0)
    with pytest.raises(tp.TaupiError, match=r"bandwidth_hz is 1e[+]300, expected at most 1e[+]06 Hz"):
        tp.momentum_observer(arm, 1e300)
    with pytest.raises(tp.TaupiError, match="noise, speeds and cutoff"):
        tp.momentum_observer(arm, tracker=True)
    with pytest.raises(tp.TaupiError, match=r"symbols without a value: .*bind"):
        tp.momentum_observer(tp.Robot.from_dh([{"a": "L", "alpha": 0, "d": 0, "theta": 0}], links=[{"m": 1}]))
    with refused("state", expected="observer"):
        observer.step(None, rest, rest, rest, 0.01)
    with refused("dt", got=-1):
        observer.step(observer.init(), rest, rest, rest, -1)
    with pytest.raises(tp.TaupiError, match="qd has entries that are not finite"):
        observer.step(observer.init(), rest, [np.nan, 0.0], rest, 0.01)
    with refused("log", got=1):
        observer.external_torque(1)
    with pytest.raises(tp.TaupiError, match="qd is missing, q is there: the momentum needs both, or neither"):
        observer.init(rest)
    with pytest.raises(tp.TaupiError, match=r"logs is 'quiet\.csv', expected a Log or a list of them"):
        observer.calibrated("quiet.csv")
    short = tp.Log([0.0, 0.01], np.zeros((2, 2)), qd=np.zeros((2, 2)), tau=np.zeros((2, 2)))
    with pytest.raises(tp.TaupiError, match=r"The logs last 0\.01 s, expected at least 1 s.*a minute or more"):
        observer.calibrated(short)
    with pytest.raises(tp.TaupiError, match="does not step forwards"):
        observer.external_torque(tp.Log([0.0, 0.0], np.zeros((2, 2)), tau=np.zeros((2, 2))))
    with pytest.raises(tp.TaupiError, match="tau of the log has missing values"):
        observer.external_torque(tp.Log([0.0, 0.01], np.zeros((2, 2)), tau=np.full((2, 2), np.nan)))


def test_interpolation_over_symbols():
    knots, values = [0.0, 0.5, 2.0], [3.0, 1.0, 4.0]
    line = trace("line", lambda x: interpolated(x, knots, values), [Port("x")], [Port("y")])
    x = np.linspace(-1, 3, 41)
    assert error(line(x), np.interp(x, knots, values)) < ROUNDING


def test_dry_friction_at_rest_is_that_of_the_load():
    arm = tp.load("elbow2r").with_friction(coulomb=[2.0, 1.0], load=[0.1, 0.0], viscous=1.0, offset=0.7)
    model = OnlineModel.of_robot(arm, ("viscous", tp.terms.Coulomb(0.05), "offset", "load"))

    def body(chain: Chain, q, tau):
        return model.dry_friction(chain, q, tau)

    held = trace_robot("held", arm, body, ["q", "tau"], [Port("f", (2,))])
    tau = np.array([30.0, 5.0])
    # Forwards tau = l + 0.1 |l| + 2 + 0.7, backwards tau = l - 0.1 |l| - 2 + 0.7: friction is tau - l, half of the difference.
    forwards, backwards = 30 - (30 - 2.7) / 1.1, 30 - (30 + 1.3) / 0.9
    assert error(held([0.3, 0.2], tau), [(forwards - backwards) / 2, 1.0]) < 1e-6


def test_each_step_is_the_formula():
    """The momentum of the model goes by trapezoids, and r is taken at the end of the step, so that it is stable at any rate."""
    arm, k = tp.load("elbow2r").with_friction(viscous=[0.5, 0.2]), 2 * np.pi * 20
    observer = tp.momentum_observer(arm, terms=("viscous",))
    rng = np.random.default_rng(3)
    q, qd, tau = rng.uniform(-1, 1, (3, 30, 2))
    dt = rng.uniform(0.001, 0.05, 30)
    mass, coriolis, gravity = tp.mass_matrix(arm)(q), tp.coriolis_matrix(arm)(q, qd), tp.gravity_torque(arm)(q)
    p = np.einsum("kij,kj->ki", mass, qd)
    drive = tau + np.einsum("kji,kj->ki", coriolis, qd) - gravity - [0.5, 0.2] * qd
    state, h = observer.init(), p[0]
    for i in range(30):
        seen, state = observer.step(state, q[i], qd[i], tau[i], dt[i])
        r = np.zeros(2)
        if i:
            mean = (drive[i] + drive[i - 1]) / 2
            r = (p[i] - h - dt[i] * mean) / (1 / k + dt[i])
            h = h + dt[i] * (mean + r)
            assert error(k * (p[i] - h), r) < ROUNDING
        assert error(seen, r) < ROUNDING


def test_a_tracker_takes_changed_friction_out_of_the_residual():
    fit = friction_fit()
    arm = tp.load("elbow2r").with_friction(**{**FRICTION, "coulomb": [0.7, 0.1]})
    t = np.arange(0, 30, 0.005)
    w, a = np.array([1.1, 1.7, 0.9]), np.array([[0.8, 0.3], [0.3, 0.5], [0.4, 0.7]])
    q, qd, qdd = np.sin(np.outer(t, w)) @ a, (np.cos(np.outer(t, w)) * w) @ a, -(np.sin(np.outer(t, w)) * w**2) @ a
    tau = tp.inverse_dynamics(arm, terms=FRICTION_TERMS)(q, qd, qdd)
    log = tp.Log(t, q, qd=qd, tau=tau, names=arm.joint_names)
    plain, tracked = (tp.momentum_observer(fit, tracker=on).external_torque(log)[3000:] for on in (False, True))
    sliding = (np.abs(qd[3000:]) > 0.2).all(axis=1)
    assert np.sqrt(np.mean(tracked[sliding] ** 2)) < 0.5 * np.sqrt(np.mean(plain[sliding] ** 2))


@pytest.mark.parametrize("dt", [1, np.float64(0.01), np.float32(0.01), np.int64(1), np.array(0.01)])
def test_a_step_may_be_any_positive_number(dt):
    observer = tp.momentum_observer(tp.load("elbow2r"))
    q, rest = np.array([0.1, 0.2]), np.zeros(2)
    ours, _ = observer.step(observer.init(), q, rest, rest, dt=dt)
    same, _ = observer.step(observer.init(), q, rest, rest, dt=float(dt))
    assert np.array_equal(ours, same)


@pytest.mark.parametrize("dt", [0, 0.0, -0.01, np.inf, np.nan, -1, [0.01], np.array([0.01])])
def test_a_step_is_a_positive_number(dt):
    observer = tp.momentum_observer(tp.load("elbow2r"))
    with pytest.raises(tp.TaupiError, match=r"dt is .*, expected a positive number of seconds"):
        observer.step(observer.init(), np.zeros(2), np.zeros(2), np.zeros(2), dt=dt)
