"""Closed loops: compiled and Python alike, batches and single ones alike, orders of convergence, energy, limits, delays."""

import re

import numpy as np
import pytest
from refusals import refused
from support import error, random_robot

import taupi as tp

ARM = tp.load("elbow2r")
N = ARM.n
MOTION = tp.Sinusoids([0.3, -0.4], [[0.5, 0.2], [0.4, 0.3]], [[1.3, 3.1], [2.0, 4.3]])


def computed_torque(arm=ARM, gains=False):
    """A law as a program: tau = ID(q, qd, qdd_des + 2w (qd_des - qd) + w^2 (q_des - q)), the gain w an input or 8."""
    inverse = tp.inverse_dynamics(arm)

    def body(q, qd, q_des, qd_des, qdd_des, w=8.0):
        return inverse(q, qd, qdd_des + 2 * w * (qd_des - qd) + w**2 * (q_des - q))

    names = ("q", "qd", "q_des", "qd_des", "qdd_des")
    ports = [tp.program.Port(k, (arm.n,)) for k in names] + ([tp.program.Port("w")] if gains else [])
    return tp.program.trace("computed_torque", body, ports, [tp.program.Port("tau", (arm.n,))])


LAW = computed_torque()


def in_python(t, q, qd):
    """The same law as a Python function."""
    q_des, qd_des, qdd_des = MOTION(t)
    return tp.inverse_dynamics(ARM)(q, qd, qdd_des + 16 * (qd_des - qd) + 64 * (q_des - q))


START = (np.array([0.5, -0.1]), np.array([0.0, 0.2]))


@pytest.mark.parametrize("control", ["sampled", "continuous"])
@pytest.mark.parametrize("integrator", ["euler", "semi_implicit", "midpoint", "rk4"])
def test_a_program_and_a_python_function_do_the_same(integrator, control):
    options = {"duration": 0.3, "rate": 200, "integrator": integrator, "control": control, "initial": START}
    compiled = tp.simulate(tp.RigidPlant(ARM), LAW, MOTION, substeps=2, **options)
    python = tp.simulate(tp.RigidPlant(ARM), in_python, MOTION, substeps=2, **options)
    for name in ("q", "qd", "qdd", "tau", "energy", "work"):
        assert error(getattr(compiled, name), getattr(python, name)) < 1e-11


@pytest.mark.parametrize("control", ["sampled", "continuous"])
def test_adaptive_and_fine_fixed_steps_agree(control):
    options = {"duration": 0.4, "rate": 50, "control": control, "initial": START}
    # 2.5 ms
    fine = tp.simulate(tp.RigidPlant(ARM, "viscous"), LAW, MOTION, substeps=8, **options)
    for name in ("rk45", "dop853", "lsoda"):
        run = tp.simulate(tp.RigidPlant(ARM, "viscous"), LAW, MOTION, integrator=name, tolerance=1e-10, **options)
        assert error(run.q, fine.q) < 1e-8 and error(run.tau, fine.tau) < 1e-6


@pytest.mark.parametrize(("integrator", "order"), [("euler", 1), ("semi_implicit", 1), ("midpoint", 2), ("rk4", 4)])
def test_order_of_convergence(integrator, order):
    """Halving the step divides the error by 2^order, measured over a swing with a wrench and a disturbance in time."""
    plant = tp.RigidPlant(
        ARM, "viscous", wrench=lambda t: [0, 0, 0, np.sin(5 * t), 1, 0], disturbance=lambda t: [np.cos(3 * t), t]
    )
    options = {"duration": 0.5, "rate": 2, "initial": START}
    truth = tp.simulate(plant, integrator="dop853", tolerance=1e-13, **options).q[-1]
    fine = 40 if order == 4 else 160
    errors = [
        np.abs(tp.simulate(plant, duration=0.5, rate=2 * k, initial=START, integrator=integrator).q[-1] - truth).max()
        for k in (fine, 2 * fine)
    ]
    assert abs(np.log2(errors[0] / errors[1]) - order) < 0.15


def test_energy_is_kept_without_friction():
    drift = {}
    for integrator in ("euler", "semi_implicit", "midpoint", "rk4"):
        run = tp.simulate(tp.RigidPlant(ARM), duration=2.0, rate=1000, initial=START, integrator=integrator)
        drift[integrator] = np.abs(run.energy - run.energy[0]).max()
        assert np.abs(run.work).max() == 0 and np.abs(run.heat).max() == 0
    assert drift["rk4"] < 1e-8 < drift["midpoint"] < drift["semi_implicit"] < drift["euler"]


@pytest.mark.parametrize("seed", range(3))
def test_energy_audit_with_everything(seed):
    """K + P rises by what torque, wrench and disturbance put in less what friction takes; payloads bring their own."""
    arm = random_robot(seed, joints=3, tree=True)
    load = tp.Payload(0.7, com=(0.05, 0.0, 0.1), inertia=np.diag([0.01, 0.01, 0.012]))
    plant = tp.RigidPlant(
        arm,
        ("viscous", "coulomb", "offset", "rotor", "stribeck"),
        smoothing=0.2,
        wrench=lambda t: [0.1, 0, np.sin(t), 0.3, -0.2, np.cos(2 * t)],
        disturbance=[0.1, -0.2, 0.05],
        payloads=[(0.05, load), (0.15, None)],
    )
    torque = np.random.default_rng(seed).uniform(-1, 1, 3)
    run = tp.simulate(plant, lambda t, q, qd: torque, duration=0.25, rate=2000, initial=np.full(3, 0.1), every=3)
    assert np.abs(run.heat).max() > 1e-4 and np.abs(run.work).max() > 1e-4
    assert np.abs(run.residual).max() < 1e-7 * max(1.0, np.abs(run.energy).max())


@pytest.mark.parametrize("axes", ["geometric", "body"])
def test_a_plant_undoes_inverse_dynamics(axes):
    """Wrench, disturbance, load and terms enter with the signs of tau = M qdd + ... + tau_dist + J^T F_tip."""
    arm = random_robot(5, joints=3, tree=False).with_friction(coulomb=0.3, load=[0.05, 0.1, 0.2], curve=0.2)
    load, curve = tp.Payload(0.4, com=(0.1, 0.0, -0.05)), tp.terms.Curve(velocity=2.0)
    terms = ("viscous", "coulomb", "offset", "rotor", "load", curve)
    plant = tp.RigidPlant(
        arm, terms, smoothing=0, wrench=np.zeros(6), axes=axes, disturbance=np.zeros(3), payloads=[(0, load)]
    )
    q, qd, qdd, dist = np.random.default_rng(1).uniform(-1, 1, (4, 3))
    force = np.random.default_rng(2).uniform(-1, 1, 6)
    link, body = load.on(arm)
    heavier = np.array(arm.parameters.values)
    heavier[10 * link : 10 * link + 10] += body
    inverse = tp.inverse_dynamics(arm.with_parameters(heavier), terms, tip_wrench=axes, disturbance=True)
    tau = inverse(q, qd, qdd, force, dist)
    assert error(plant.program()(q, qd, tau, plant.load_vector(load), force, dist), qdd) < 1e-10


def test_dissipation_is_the_integral_of_friction_power():
    arm = ARM.with_friction(viscous=[0.4, 0.3], coulomb=0.0)
    run = tp.simulate(tp.RigidPlant(arm, "viscous"), duration=1.0, rate=2000, initial=START)
    power = 0.4 * run.qd[:, 0] ** 2 + 0.3 * run.qd[:, 1] ** 2
    by_hand = np.concatenate([[0], np.cumsum((power[1:] + power[:-1]) / 2)]) / 2000
    assert np.abs(run.heat - by_hand).max() < 1e-5 and run.heat[-1] > 0.1


def test_energy_is_balanced_with_friction_that_depends_on_load():
    """What the gears lose is heat: it is taken from the motion, and from the torque, whichever way they carry."""
    arm = ARM.with_friction(coulomb=0.2, load=[0.1, 0.2], curve=[0.1, -0.1])
    terms = ("coulomb", "load", tp.terms.Curve(velocity=2.0))
    run = tp.simulate(tp.RigidPlant(arm, terms), duration=1.0, rate=2000, initial=START)
    assert np.abs(run.residual).max() < 1e-6 * max(1.0, np.abs(run.energy).max())
    assert (np.diff(run.heat) > -1e-12).all() and run.heat[-1] > 0.1
    with pytest.raises(tp.TaupiError, match="no grip at standstill"):
        tp.simulate(tp.RigidPlant(arm, terms, smoothing=0, stiction=True), duration=0.01, rate=1000, integrator="rk45")


def test_many_equal_one_by_one_to_the_last_bit():
    rng = np.random.default_rng(0)
    q, qd = rng.uniform(-0.5, 0.5, (2, 19, N))
    plant, law = tp.RigidPlant(ARM, "viscous"), computed_torque(gains=True)
    gains, loads = rng.uniform(4, 12, 19), [tp.Payload(m) for m in rng.uniform(0, 1, 19)]
    sensors = tp.Sensors(resolution=1e-3, q_noise=1e-4, velocity="filter", cutoff_hz=40.0)
    options = {"duration": 0.4, "rate": 500, "sensors": sensors}
    batch = tp.simulate_many(
        plant, law, MOTION, initial=(q, qd), inputs={"w": gains}, payloads=loads, seeds=range(100, 119), **options
    )
    for i in (0, 7, 18):
        loaded = tp.RigidPlant(ARM, "viscous", payloads=[(0.0, loads[i])])
        one = tp.simulate(loaded, law, MOTION, initial=(q[i], qd[i]), inputs={"w": gains[i]}, seed=100 + i, **options)
        for name in ("q", "qd", "tau", "energy", "residual"):
            assert np.array_equal(getattr(one, name), getattr(batch[i], name))
    assert batch.q.shape == (19, 201, N) and batch.complete.all()


def test_seeds_may_be_an_array():
    options = {"reference": MOTION, "duration": 0.02, "rate": 500, "sensors": tp.Sensors(q_noise=1e-3)}
    listed, array = (
        tp.simulate_many(tp.RigidPlant(ARM), LAW, seeds=seeds, **options) for seeds in ([3, 1, 2], np.array([3, 1, 2]))
    )
    assert np.array_equal(listed.q, array.q) and len(np.unique(array.q[:, -1, 0])) == 3


@pytest.mark.parametrize("argument", ["seeds", "payloads"])
@pytest.mark.parametrize("value", [[], 5], ids=str)
def test_what_has_no_entry_per_roll_out_is_refused(argument, value):
    with refused(argument, got=value):
        tp.simulate_many(tp.RigidPlant(ARM), duration=0.01, **{argument: value})


def test_many_controllers_and_threads():
    laws = [computed_torque(), LAW, LAW, None]
    starts = np.tile(START[0], (4, 1))
    batch = tp.simulate_many(tp.RigidPlant(ARM), laws, MOTION, duration=0.2, rate=500, initial=starts)
    alone = tp.simulate(tp.RigidPlant(ARM), LAW, MOTION, duration=0.2, rate=500, initial=START[0])
    free = tp.simulate(tp.RigidPlant(ARM), None, MOTION, duration=0.2, rate=500, initial=START[0])
    for i in range(3):
        assert np.array_equal(batch[i].q, alone.q)
    assert np.array_equal(batch[3].q, free.q)
    many = [
        tp.simulate_many(
            tp.RigidPlant(ARM), LAW, MOTION, duration=0.1, rate=500, initial=np.zeros((77, N)) + 0.01, threads=threads
        )
        for threads in (1, 3)
    ]
    assert np.array_equal(many[0].q, many[1].q)


def test_many_with_a_python_function_and_an_adaptive_method():
    starts = np.array([[0.1, 0.2], [0.3, -0.1], [0.5, 0.0]])

    def damp(t, q, qd):
        return -3 * qd - 2 * q

    for integrator in ("rk4", "rk45"):
        options = {"duration": 0.1, "rate": 100, "integrator": integrator}
        batch = tp.simulate_many(tp.RigidPlant(ARM), damp, initial=starts, **options)
        for i in range(3):
            assert error(batch[i].q, tp.simulate(tp.RigidPlant(ARM), damp, initial=starts[i], **options).q) < 1e-14


def test_an_adaptive_law_in_both_modes():
    """A gradient law over one parameter: pi_hat follows its program's dpi, by Euler's rule or with the state."""
    import casadi as cs

    def body(q, qd, q_des, qd_des, qdd_des, pi_hat):
        s = qd - qd_des + 3 * (q - q_des)
        return -5 * s + pi_hat[0] * cs.cos(q), -0.5 * cs.dot(cs.cos(q), s)

    names = ("q", "qd", "q_des", "qd_des", "qdd_des")
    law = tp.program.trace(
        "gradient",
        body,
        [*(tp.program.Port(k, (N,)) for k in names), tp.program.Port("pi_hat", (1,))],
        [tp.program.Port("tau", (N,)), tp.program.Port("dpi", (1,))],
    )
    options = {"duration": 0.5, "rate": 1000, "initial": START, "parameters": [1.0]}
    sampled = tp.simulate(tp.RigidPlant(ARM), law, MOTION, **options)
    dpi = law(sampled.q, sampled.qd, *sampled.reference, sampled.parameters)[1]
    assert np.abs(np.diff(sampled.parameters, axis=0) - 1e-3 * dpi[:-1]).max() < 1e-15
    continuous = tp.simulate(tp.RigidPlant(ARM), law, MOTION, control="continuous", **options)
    exact = tp.simulate(
        tp.RigidPlant(ARM), law, MOTION, control="continuous", integrator="dop853", tolerance=1e-12, **options
    )
    # RK4 at 1 ms is good to 1e-10 here, Euler's rule for the estimate to 1e-3.
    assert error(continuous.parameters, exact.parameters) < 1e-9
    assert 1e-7 < np.abs(sampled.parameters - exact.parameters).max() < 1e-2


def test_channels_of_a_law_are_kept():
    def body(q, qd):
        return -qd, (q[0] * qd.T)

    law = tp.program.trace(
        "damper",
        body,
        [tp.program.Port("q", (N,)), tp.program.Port("qd", (N,))],
        [tp.program.Port("tau", (N,)), tp.program.Port("s", (1, N))],
    )
    run = tp.simulate(tp.RigidPlant(ARM), law, duration=0.1, initial=START)
    assert np.array_equal(run.channels["s"][:, 0], run.q[:, :1] * run.qd)


def test_torque_limits_rate_limits_and_delay():
    command = np.array([30.0, -2.0])
    limited = tp.simulate(tp.RigidPlant(ARM, torque_limits=[5.0, 9.0]), lambda t, q, qd: command, duration=0.01)
    assert np.array_equal(limited.tau, np.tile([5.0, -2.0], (11, 1)))
    assert np.array_equal(limited.tau_command, np.tile(command, (11, 1)))
    ramp = tp.simulate(tp.RigidPlant(ARM, rate_limits=1000.0), lambda t, q, qd: command, duration=0.01)
    assert np.allclose(ramp.tau[:, 0], np.minimum(np.arange(1, 12), 30)) and np.allclose(
        ramp.tau[:, 1], np.maximum(-np.arange(1, 12), -2)
    )
    late = tp.simulate(tp.RigidPlant(ARM, delay=0.003), lambda t, q, qd: command + t, duration=0.01)
    assert np.array_equal(late.tau[:3], np.zeros((3, N)))
    assert np.array_equal(late.tau[3:], late.tau_command[:-3])


def test_payload_changes_torque_and_motion():
    """From its time on a payload acts as if the tip link had its parameters."""
    load = tp.Payload(1.5, com=(0.02, 0.03, -0.01), inertia=np.diag([0.01, 0.02, 0.025]))
    plant = tp.RigidPlant(ARM, payloads=[(0.1, load)])
    run = tp.simulate(plant, duration=0.2, rate=1000, initial=START)
    bare = tp.simulate(tp.RigidPlant(ARM), duration=0.2, rate=1000, initial=START)
    assert np.array_equal(run.q[:101], bare.q[:101]) and not np.array_equal(run.q[105], bare.q[105])
    link, body = load.on(ARM)
    heavier = np.array(ARM.parameters.values)
    heavier[10 * link : 10 * link + 10] += body
    rest = tp.simulate(
        tp.RigidPlant(ARM.with_parameters(heavier)), duration=0.1, rate=1000, initial=(run.q[100], run.qd[100])
    )
    assert error(run.q[100:], rest.q) < 1e-10
    assert np.abs(run.residual).max() < 1e-9 and abs(run.energy[101] - run.energy[99]) > 1e-3


def test_sensors_quantise_differentiate_filter_and_delay():
    step = 2 * np.pi / 5000
    run = tp.simulate(
        tp.RigidPlant(ARM),
        LAW,
        MOTION,
        duration=0.3,
        sensors=tp.Sensors(resolution=step, velocity="difference"),
        initial=START,
    )
    q = run.measured.q
    assert np.abs(q / step - np.round(q / step)).max() < 1e-9 and np.abs(q - run.q).max() <= step / 2 * (1 + 1e-9)
    assert np.allclose(run.measured.qd[1:], np.diff(q, axis=0) * 1000)
    tau = LAW(q, run.measured.qd, *run.reference)
    assert error(run.tau, tau) < 1e-12
    filtered = tp.simulate(
        tp.RigidPlant(ARM), duration=0.1, sensors=tp.Sensors(velocity="filter", cutoff_hz=30.0), initial=START
    )
    keep, v = np.exp(-2 * np.pi * 30 / 1000), START[1]
    raw = np.diff(np.vstack([START[0] - START[1] / 1000, filtered.q]), axis=0) * 1000
    for k in range(len(raw)):
        v = keep * v + (1 - keep) * raw[k]
        assert np.allclose(filtered.measured.qd[k], v)
    late = tp.simulate(tp.RigidPlant(ARM), duration=0.1, sensors=tp.Sensors(delay=0.005), initial=START)
    assert np.array_equal(late.measured.q[5:], late.q[:-5]) and np.array_equal(late.measured.q[:5], late.q[[0] * 5])


def test_noise_by_deviation_and_by_decibels():
    for sensors, want in (
        (tp.Sensors(q_noise=[1e-3, 2e-3], qd_noise=0.1), [1e-3, 2e-3]),
        (tp.Sensors(snr_db=40.0), np.sqrt(np.mean(MOTION(np.arange(4001) / 1000).q ** 2, axis=0)) / 100),
    ):
        run = tp.simulate(tp.RigidPlant(ARM), None, MOTION, duration=4.0, sensors=sensors, seed=5)
        got = (run.measured.q - run.q).std(axis=0)
        assert np.abs(got / want - 1).max() < 0.05  # 4000 draws: 1.1 % standard error
        again = tp.simulate(tp.RigidPlant(ARM), None, MOTION, duration=4.0, sensors=sensors, seed=5)
        other = tp.simulate(tp.RigidPlant(ARM), None, MOTION, duration=4.0, sensors=sensors, seed=6)
        assert np.array_equal(run.measured.q, again.measured.q) and not np.array_equal(run.measured.q, other.measured.q)


def test_mimic_joints_and_trees_run():
    arm = random_robot(11, joints=4, mimic=True)
    run = tp.simulate(tp.RigidPlant(arm), duration=0.05, rate=2000, initial=np.full(arm.n, 0.2))
    assert np.abs(run.residual).max() < 1e-8


def test_a_diverging_loop_is_kept_up_to_where_it_diverged():
    with pytest.warns(tp.TaupiWarning, match=r"diverged after 0\.\d+ s"):
        run = tp.simulate(tp.RigidPlant(ARM), lambda t, q, qd: 1e6 * qd + 1e5, duration=1.0, rate=100)
    assert not run.complete and 1 < len(run) < 101 and np.isfinite(run.q).all() and "diverged" in repr(run)
    with pytest.warns(tp.TaupiWarning, match="roll-out 1"):
        batch = tp.simulate_many(
            tp.RigidPlant(ARM), lambda t, q, qd: q * [[0], [np.nan]], duration=0.1, rate=100, initial=np.ones((2, N))
        )
    assert batch.complete.tolist() == [True, False] and np.isnan(batch.q[1, -1]).all()


BAD = {
    "plant is": {"plant": ARM.name},
    "rate is": {"rate": 0},
    "duration is": {"duration": float("nan")},
    "integrator is 'rk5', expected one of": {"integrator": "rk5"},
    "control is 'held', expected one of": {"control": "held"},
    "substeps is": {"substeps": 0},
    "every is": {"every": 1.5},
    "reference has 1 joints": {"reference": tp.Sinusoids([0.0], [[1.0]], [[1.0]])},
    "reference is": {"reference": 3},
    "follows a reference": {"reference": None},
    "initial q has shape": {"initial": [1.0, 2.0, 3.0]},
    "initial is": {"initial": "home"},
    "controller is": {"controller": 3},
    "gave [1.0]": {"controller": lambda t, q, qd: [1.0]},
    "gave None": {"controller": lambda t, q, qd: None},
    "expected tau": {"controller": tp.gravity_torque(ARM)},
    "No input 'K'": {"inputs": {"K": 1.0}},
    "sensors is": {"sensors": "encoder"},
    "control='continuous' has no": {"control": "continuous", "sensors": tp.Sensors()},
    "whole number of control periods": {"plant": tp.RigidPlant(ARM, delay=0.0015)},
    "wrench has shape": {"plant": tp.RigidPlant(ARM, wrench=[1.0, 2.0])},
}


@pytest.mark.parametrize("message", BAD)
def test_bad_arguments_are_named(message):
    keywords = {"plant": tp.RigidPlant(ARM), "controller": LAW, "reference": MOTION, "duration": 0.01} | BAD[message]
    with pytest.raises(tp.TaupiError, match=re.escape(message)):
        tp.simulate(**keywords)


def test_bad_settings_of_plants_payloads_and_sensors():
    for make, message in (
        (lambda: tp.RigidPlant("puma"), "robot is str"),
        (lambda: tp.RigidPlant(ARM, smoothing=-1), "smoothing is -1"),
        (lambda: tp.RigidPlant(ARM, axes="world"), "No axes of the tip wrench"),
        (lambda: tp.RigidPlant(ARM, torque_limits=[1, 2, 3]), "torque_limits"),
        (lambda: tp.RigidPlant(ARM, rate_limits=0), "above 0"),
        (lambda: tp.RigidPlant(ARM, payloads=[1.0]), "payloads is"),
        (lambda: tp.RigidPlant(ARM, payloads=[(0.1, 2.0)]), "payloads holds"),
        (lambda: tp.Payload(-1.0), "expected 0 or more"),
        (lambda: tp.Payload(1.0, inertia=-np.eye(3)), "no real body"),
        (lambda: tp.Sensors(velocity="guess"), "velocity is 'guess'"),
        (lambda: tp.Sensors(velocity="filter"), "cutoff_hz goes with"),
        (lambda: tp.Sensors(resolution=0), "resolution is 0"),
        (lambda: tp.Sensors(velocity="difference", qd_noise=1.0), "qd_noise is for"),
        (lambda: tp.Sensors(q_noise=1.0, snr_db=20.0), "give one"),
        (lambda: tp.simulate(tp.RigidPlant(ARM), sensors=tp.Sensors(snr_db=20.0)), "relative to the reference"),
        (lambda: tp.simulate_many(tp.RigidPlant(ARM), initial=np.zeros((3, N)), seeds=[1, 2]), "has 3 roll-outs"),
    ):
        with pytest.raises(tp.TaupiError, match=message):
            make()


def test_plants_with_coupled_drives_follow_the_law():
    """A belt over the shoulder, a gear, motors exchanged: computed torque works only if the plant has the law's inertia."""
    for matrix in ([[1, 0], [-1, 1]], [[2, 0], [0, 1]], [[0, 1], [1, 0]]):
        arm = ARM.with_coupling(matrix)
        run = tp.simulate(tp.RigidPlant(arm), computed_torque(arm), MOTION, duration=0.5, rate=1000, initial=START)
        # Computed torque cancels the dynamics, so the error decays as designed whatever the coupling.
        plain = tp.simulate(tp.RigidPlant(ARM), LAW, MOTION, duration=0.5, rate=1000, initial=START)
        assert error(run.q, plain.q) < 1e-3


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"q_noise": -1.0}, "q_noise is -1.0, expected a finite number of at least 0"),
        ({"q_noise": np.inf}, "q_noise is inf, expected a finite number of at least 0"),
        ({"resolution": np.inf}, "resolution is inf, expected a finite number above 0"),
        ({"snr_db": np.nan}, "snr_db is nan, expected a finite number"),
        ({"snr_db": "loud"}, "snr_db is 'loud', expected a finite number"),
    ],
)
def test_sensors_that_would_spoil_a_run_are_refused(settings, message):
    with pytest.raises(tp.TaupiError, match=message):
        tp.Sensors(**settings)
