"""Elastic plants: energy, limits that are rigid arms, steps within periods, stiff springs, sensors, logs, and what is refused."""

import elastic
import numpy as np
import pytest
from refusals import refused
from support import error

import taupi as tp
from taupi.errors import TaupiError, TaupiWarning

ARM = elastic.arm("spatial3")
N = ARM.n
MOTION = tp.Sinusoids([0.2, -0.4, 0.5], [[0.4], [0.3], [0.5]], [[2.0], [3.0], [2.5]], [[0.3], [0.5], [0.1]])
LAW = tp.laws.ElasticPDGravity(ARM, [900.0, 700.0, 300.0], [80.0, 60.0, 20.0])
STIFFNESS = np.array([float(j.transmission.stiffness) for j in ARM.joints])
SHORT = {"duration": 0.1, "rate": 1000}
PLANAR = elastic.arm("planar2")
PLANAR_LAW = tp.laws.ElasticPDGravity(PLANAR, [3000.0, 1800.0], [150.0, 60.0])
PLANAR_MOTION = tp.Sinusoids([-1.0, 0.5], [[0.4], [0.3]], [[2.0], [3.0]], [[0.3], [0.5]])


def in_python(t, q, qd, theta, thetad):
    """The same law as a function."""
    return LAW.torque(theta, thetad, *MOTION(t))


def everything(**changes):
    """A plant with all that may act on it."""
    arm = ARM.with_transmissions(stiffness=STIFFNESS, damping=[2.0, 1.0, 0.5], link_viscous=0.3, link_coulomb=0.2)
    settings = {
        "terms": ("viscous", "coulomb", tp.terms.StribeckRise(0.2), "damping", "link_viscous", "link_coulomb"),
        "smoothing": 0.2,
        "wrench": lambda t: [0.1, 0.2, -0.1, 3.0 * np.sin(5 * t), -2.0, 4.0],
        "disturbance": [0.5, -0.4, 0.3],
        "payloads": [(0.0, tp.Payload(0.5)), (0.05, tp.Payload(1.5, com=(0.05, 0.0, 0.02))), (0.08, None)],
    }
    return tp.ElasticPlant(arm, **(settings | changes))


def test_energy_is_what_was_put_in_less_what_friction_took():
    run = tp.simulate(everything(), LAW, MOTION, substeps=5, **SHORT)
    assert np.abs(run.residual).max() < 1e-8 < 1e-3 * min(np.ptp(run.energy), np.ptp(run.work), np.ptp(run.heat))
    assert (np.diff(run.heat) > 0).all()


def test_energy_against_its_parts():
    """Springs by hand; kinetic energy by B, gravity by the rigid arm's."""
    plant, rng = tp.ElasticPlant(ARM), np.random.default_rng(0)
    q, theta, qd, thetad = rng.uniform(-1, 1, (4, 6, N))
    v, b = np.concatenate([qd, thetad], axis=1), tp.elastic.mass_matrix(ARM)(q)
    want = (
        np.einsum("bi,bij,bj->b", v, b, v) / 2 + tp.potential_energy(ARM)(q) + (STIFFNESS * (q - theta) ** 2).sum(1) / 2
    )
    assert error(plant.energy_program()(np.concatenate([q, theta, qd, thetad], axis=1)), want) < 1e-12


@pytest.mark.parametrize("control", ["sampled", "continuous"])
@pytest.mark.parametrize("substeps", [1, 4])
def test_a_program_and_a_python_function_do_the_same(control, substeps):
    plant = everything(payloads=(), torque_limits=[60.0, 40.0, 30.0])
    options = {"control": control, "substeps": substeps, "duration": 0.02, "rate": 2000}
    compiled, python = (tp.simulate(plant, law, MOTION, **options) for law in (LAW, in_python))
    for name in ("q", "theta", "qd", "thetad", "qdd", "thetadd", "tau", "energy", "work"):
        assert error(getattr(compiled, name), getattr(python, name)) < 1e-10


@pytest.mark.parametrize("integrator", ["rk4", "rosenbrock"])
def test_steps_within_continuous_periods_are_short_periods(integrator):
    options = {"duration": 0.05, "control": "continuous", "integrator": integrator}
    plant = tp.ElasticPlant(PLANAR, smoothing=0.1, wrench=lambda t: [0.1, 0.2, -0.1, 3.0 * np.sin(5 * t), -2.0, 4.0])
    nested = tp.simulate(plant, PLANAR_LAW, PLANAR_MOTION, rate=500, substeps=8, **options)
    plain = tp.simulate(plant, PLANAR_LAW, PLANAR_MOTION, rate=4000, every=8, **options)
    assert nested.q.shape == plain.q.shape
    for name in ("q", "theta", "qd", "thetad", "tau", "qdd", "thetadd", "residual"):
        assert error(getattr(nested, name), getattr(plain, name)) < 1e-10


def test_torque_is_held_between_samples():
    """A held torque is a wrench of the motors that does not change: the run goes on from any row under it alone."""
    run = tp.simulate(tp.ElasticPlant(ARM), LAW, MOTION, duration=0.03, rate=100, substeps=20)
    state = (np.concatenate([run.q[1], run.theta[1]]), np.concatenate([run.qd[1], run.thetad[1]]))
    alone = tp.simulate(tp.ElasticPlant(ARM), lambda *_: run.tau[1], duration=0.01, rate=2000, initial=state)
    assert error(alone.theta[-1], run.theta[2]) < 1e-12
    assert np.abs(run.tau[2] - run.tau[1]).max() > 0.1


def test_every_step_of_a_period_sees_its_row():
    rows = np.random.default_rng(3).uniform(-5, 5, (20, N))
    nested, plain = (tp.ElasticPlant(ARM, disturbance=d) for d in (rows, np.repeat(rows, 4, axis=0)))
    one = tp.simulate(nested, duration=0.02, rate=1000, substeps=4)
    other = tp.simulate(plain, duration=0.02, rate=4000, every=4)
    assert error(one.q, other.q) < 1e-13 and error(one.thetad, other.thetad) < 1e-12


def test_batches_are_runs():
    starts = np.random.default_rng(1).uniform(-0.3, 0.3, (20, N)) + MOTION(0.0).q
    batch = tp.simulate_many(everything(payloads=()), LAW, MOTION, initial=starts, substeps=3, **SHORT)
    for k in (0, 7, 19):
        one = tp.simulate(everything(payloads=()), LAW, MOTION, initial=starts[k], substeps=3, **SHORT)
        assert error(batch[k].theta, one.theta) < 1e-11


@pytest.mark.parametrize("control", ["sampled", "continuous"])
def test_few_and_many_and_thinned_roll_outs_agree(control):
    plant = everything(payloads=[(0.01, tp.Payload(0.4))])
    starts = np.linspace(0.0, 0.5, 40 * ARM.n).reshape(40, ARM.n)
    options = {"duration": 0.03, "rate": 1000, "substeps": 3, "control": control}
    batch = tp.simulate_many(plant, LAW, MOTION, initial=starts, threads=2, **options)
    few = tp.simulate_many(plant, LAW, MOTION, initial=starts[:2], every=4, **options)
    for name in ("q", "theta", "tau", "energy"):
        assert error(few.stack(name), batch.stack(name)[:2, ::4]) < 1e-11


@pytest.mark.parametrize("integrator", ["rosenbrock", "radau", "lsoda", "bdf"])
def test_stiff_integrators_agree_with_fine_steps(integrator):
    plant = everything(wrench=None, payloads=())
    options = {"duration": 0.04, "rate": 500}
    fine = tp.simulate(plant, LAW, MOTION, substeps=40, **options)
    run = tp.simulate(plant, LAW, MOTION, integrator=integrator, tolerance=1e-9, substeps=20, **options)
    assert error(run.q, fine.q) < 1e-7 and error(run.theta, fine.theta) < 1e-7


def test_rosenbrock_has_order_three_also_with_the_law_inside():
    options = {"duration": 0.2, "control": "continuous"}
    plant = tp.ElasticPlant(PLANAR, smoothing=0.3)
    fine = tp.simulate(plant, PLANAR_LAW, PLANAR_MOTION, rate=100, substeps=200, **options)
    errors = []
    for substeps in (10, 20, 40):
        run = tp.simulate(
            plant, PLANAR_LAW, PLANAR_MOTION, rate=100, substeps=substeps, integrator="rosenbrock", **options
        )
        errors.append(max(error(getattr(run, k), getattr(fine, k)) for k in ("theta", "thetad", "work")))
    assert np.log2(errors[1] / errors[2]) > 2.7


def test_rosenbrock_stays_on_springs_that_rk4_loses():
    stiff = PLANAR.with_transmissions(stiffness=[3e7, 1.8e7])
    law = tp.laws.ElasticPDGravity(stiff, [900.0, 90.0], [80.0, 8.0])
    plant = tp.ElasticPlant(stiff, smoothing=0.05)
    with pytest.warns(TaupiWarning, match="rad/s, too fast for rk4 in steps of 0.001 s: use substeps="):
        lost = tp.simulate(plant, law, PLANAR_MOTION, **SHORT)
    assert not lost.complete or np.abs(lost.q).max() > 10
    run = tp.simulate(plant, law, PLANAR_MOTION, integrator="rosenbrock", **SHORT)
    assert np.abs(run.theta - run.q).max() < 1e-4
    half = rigid_but_one(stiff, "joint1")
    held = tp.laws.ElasticPDGravity(half, law.Kp, law.Kd)
    rigid = tp.simulate(tp.ElasticPlant(half, smoothing=0.05), held, PLANAR_MOTION, integrator="rosenbrock", **SHORT)
    assert error(run.q, rigid.q) < 1e-4


def rigid_but_one(arm, *joints):
    """The arm with its last spring alone."""
    return arm.with_transmissions(stiffness=None, joints=joints)


def test_rigid_joints_among_elastic_ones():
    mixed = rigid_but_one(ARM, "joint1", "joint2")
    plant = tp.ElasticPlant(mixed)
    assert plant.size == N + 1 and plant.motors == (0, 1, 3)
    run = tp.simulate(plant, tp.laws.ElasticPDGravity(mixed, LAW.Kp, LAW.Kd), MOTION, substeps=4, **SHORT)
    assert np.array_equal(run.theta[:, :2], run.q[:, :2]) and (run.theta[:, 2] != run.q[:, 2]).any()
    assert np.abs(run.residual).max() < 1e-8
    assert np.abs(run.error).max() < 0.05


def test_a_robot_at_rest_stays_there():
    q = np.array([0.4, -0.7, 0.9])
    run = tp.simulate(tp.ElasticPlant(ARM), LAW, lambda t: (q, 0 * q, 0 * q), **SHORT)
    assert error(run.theta[0], q + tp.gravity_torque(ARM)(q) / STIFFNESS) < 1e-12
    assert np.abs(run.q - q).max() < 1e-12 and np.abs(run.thetad).max() < 1e-10


def test_springs_bear_the_load_at_the_start():
    q, loaded = np.array([0.4, -0.7, 0.9]), tp.ElasticPlant(ARM, payloads=[(0.0, tp.Payload(2.0))])
    p, _ = loaded.started(q, 0 * q)
    borne = STIFFNESS * (p[N:] - p[:N])
    assert np.abs(borne - tp.gravity_torque(ARM)(q)).max() > 1.0
    run = tp.simulate(loaded, lambda *_: borne, initial=q, **SHORT)
    assert np.abs(run.q - q).max() < 1e-10


def test_regulation_brings_the_arm_to_rest_where_it_should():
    """The published regulator, far from the goal: q_des is the equilibrium, stable where Kp outweighs gravity's gradient."""
    goal = np.array([0.4, -0.7, 0.9])
    law = tp.laws.ElasticPDGravity(ARM, LAW.Kp, LAW.Kd, velocity=False)
    plant = tp.ElasticPlant(ARM.with_transmissions(stiffness=STIFFNESS, damping=20.0), terms=("viscous", "damping"))
    run = tp.simulate(plant, law, lambda t: (goal, 0 * goal, 0 * goal), 6.0, 1000, substeps=2, initial=goal + 0.5)
    assert np.abs(run.error[-1]).max() < 1e-3 * 0.5


@pytest.mark.parametrize("name", ["planar2", "spatial3", "puma560"])
def test_default_gains_hold_a_loop_at_one_kilohertz(name):
    arm = elastic.arm(name)
    q = np.linspace(0.3, 0.8, arm.n)
    run = tp.simulate(
        tp.ElasticPlant(arm),
        tp.laws.ElasticPDGravity(arm),
        lambda t: (q, 0 * q, 0 * q),
        2.0,
        1000,
        substeps=4,
        initial=q + 0.1,
    )
    assert run.complete and np.abs(run.error[-1]).max() < 0.05  # it started at 0.1


def test_both_encoders_are_seen():
    step = 1e-3
    sensors = tp.Sensors(resolution=step, velocity="difference")
    run = tp.simulate(tp.ElasticPlant(ARM), LAW, MOTION, sensors=sensors, substeps=4, **SHORT)
    for seen, true in ((run.measured.q, run.q), (run.measured_motors.q, run.theta)):
        assert np.abs(seen - true).max() <= step / 2 + 1e-12
        assert np.abs(seen / step - np.round(seen / step)).max() < 1e-9
    assert error(run.measured_motors.qd[1:], np.diff(run.measured_motors.q, axis=0) * 1000) < 1e-9
    want = LAW.torque(run.measured_motors.q, run.measured_motors.qd, *MOTION(run.time))
    assert error(run.tau, want) < 1e-10
    log = run.to_log(measured=True)
    assert set(log.signals) == {"q", "qd", "theta", "thetad", "tau", "tau_m"}


def test_logs_and_files(tmp_path):
    run = tp.simulate(tp.ElasticPlant(ARM), LAW, MOTION, substeps=4, **SHORT)
    log = run.to_log()
    assert set(log.signals) == {"q", "qd", "qdd", "theta", "thetad", "thetadd", "tau", "tau_m"}
    Y = tp.elastic_regressor(ARM)
    u = Y(log.q, log.qd, log.qdd, log.theta, log.thetad, log.thetadd) @ Y.parameters.values
    moving = (np.abs(log.thetad) > 0.3).all(axis=1)  # where tanh is sgn
    assert error(u[moving][:, N:], log.tau_m[moving]) < 1e-9 and error(u[moving][:, :N], 0 * log.q[moving]) < 1e-8
    path = tmp_path / "run.parquet"
    run.save(path)
    again = tp.Run.load(path)
    for name in ("theta", "thetad", "thetadd", "tau", "q"):
        assert np.array_equal(getattr(again, name), getattr(run, name))
    read = tp.read_log(path)
    assert (
        np.array_equal(read.theta, run.theta)
        and np.array_equal(read.tau_m, run.tau)
        and np.array_equal(read.tau, run.tau)
    )


def test_records_have_counts_and_noise_in_decibels():
    run = tp.simulate(tp.ElasticPlant(ARM), LAW, MOTION, duration=2.0, rate=1000, substeps=4)
    step = 2 * np.pi / 1250000
    log = tp.record(run, resolution=step, motor_resolution=4 * step)
    assert np.abs(log.q / step - np.round(log.q / step)).max() < 1e-6
    assert np.abs(log.theta - run.theta).max() <= 2 * step * 1.001 and np.array_equal(log.tau_m, run.tau)
    noisy = tp.record(run, snr_db=40, torque_snr_db=60, seed=3)
    for seen, true, db in ((noisy.q, run.q, 40), (noisy.theta, run.theta, 40), (noisy.tau_m, run.tau, 60)):
        got = 10 * np.log10((true**2).mean(axis=0) / ((seen - true) ** 2).mean(axis=0))
        assert np.abs(got - db).max() < 0.7  # 2001 draws: 3 %, 0.3 dB
    assert np.array_equal(tp.record(run, snr_db=40, seed=3).q, noisy.q)
    assert not np.array_equal(tp.record(run, snr_db=40, seed=4).q, noisy.q)
    rates = tp.record(run, snr_db=40, seed=3, qd_snr_db=50, qdd_snr_db=30)
    exact = run.to_log()
    for name, db in (("qd", 50), ("thetad", 50), ("qdd", 30), ("thetadd", 30)):
        true, seen = exact.need(name)[0], rates.need(name)[0]
        got = 10 * np.log10((true**2).mean(axis=0) / ((seen - true) ** 2).mean(axis=0))
        assert np.abs(got - db).max() < 0.7
    assert np.array_equal(rates.q, noisy.q) and "qd" not in noisy.signals  # other signals keep their draws
    assert np.array_equal(tp.record(run, qd_snr_db=np.inf).qd, run.qd)
    middle = tp.record(run, torque="middle")
    assert error(middle.tau_m[1:], (run.tau[1:] + run.tau[:-1]) / 2) < 1e-15


def test_the_middle_torque_is_the_one_that_moved_the_arm():
    """Central differences of a held run: the motors' equation holds with the mean of the torques about a row."""
    run = tp.simulate(tp.ElasticPlant(ARM), LAW, MOTION, duration=0.5, rate=200, substeps=20)
    thetadd = (run.theta[2:] - 2 * run.theta[1:-1] + run.theta[:-2]) * 200**2
    qdd = (run.q[2:] - 2 * run.q[1:-1] + run.q[:-2]) * 200**2
    state = (run.q[1:-1], run.qd[1:-1], qdd, run.theta[1:-1], run.thetad[1:-1], thetadd)
    u = tp.elastic.inverse_dynamics(ARM)(*state)[:, N:]
    off = {k: np.abs(u - tp.record(run, torque=k).tau_m[1:-1])[20:].mean() for k in ("sampled", "middle")}
    assert off["middle"] < 0.3 * off["sampled"]


def test_random_splines_are_the_same_for_the_same_seed():
    waves = [tp.BSpline.triangles([-np.pi / 2, 0.0], 1.9, seed=s) for s in (100, 100, 101)]
    assert np.array_equal(waves[0].points, waves[1].points) and not np.array_equal(waves[0].points, waves[2].points)
    points = waves[0].points - [-np.pi / 2, 0.0]
    assert np.abs(points).max() <= 1.9 and (points.max(axis=0) > 0.5).all() and (points.min(axis=0) < -0.5).all()
    motion = waves[0](np.array([0.0, 8.9]))
    assert np.abs(motion.qd).max() < 1e-12 and np.abs(motion.qdd).max() < 1e-11
    drawn = tp.BSpline.random([0.0, 0.8], [1.6, 1.2], 24, seed=7)
    assert drawn.points.shape == (20, 2) and (np.abs(drawn.points - [0.0, 0.8]) <= [1.6, 1.2]).all()


def test_bad_input():
    rigid = tp.load("elbow2r")
    with pytest.raises(TaupiError, match="no elastic joint"):
        tp.ElasticPlant(rigid)
    with pytest.raises(TaupiError, match="no elastic joint"):
        tp.laws.ElasticPDGravity(rigid)
    with pytest.raises(TaupiError, match="rotor_inertia is 0"):
        tp.ElasticPlant(rigid.with_transmissions(stiffness=100))
    with pytest.raises(TaupiError, match=r"use taupi\.ElasticPlant"):
        tp.simulate(tp.RigidPlant(ARM), LAW, MOTION)
    with pytest.raises(TaupiError, match="Leave it out"):
        tp.ElasticPlant(ARM, terms=(tp.terms.Rotor(),))
    with refused("velocity", got=3):
        tp.laws.ElasticPDGravity(ARM, velocity=3)
    with refused("initial", name="q"):
        tp.simulate(tp.ElasticPlant(ARM), LAW, MOTION, initial=[0.0, 0.1])
    with refused("initial", got=6, shape=3):
        tp.simulate(tp.ElasticPlant(ARM), LAW, MOTION, initial=(np.zeros(6), np.zeros(3)))
    with pytest.raises(TaupiError, match="rigid arm"):
        tp.laws.lyapunov(LAW)
    with pytest.raises(TaupiError, match=r"controller.*theta, thetad.*expected shape"):
        tp.simulate(tp.ElasticPlant(ARM), lambda *_: [1.0], duration=0.01)
    with pytest.raises(TaupiError, match="expected a number or 3: one per joint"):
        tp.simulate(tp.ElasticPlant(ARM), LAW, MOTION, sensors=tp.Sensors(resolution=[1e-3, 1e-3]), duration=0.01)


def test_bad_records():
    run = tp.simulate(tp.ElasticPlant(ARM), LAW, MOTION, duration=0.01, substeps=4)
    smooth = tp.simulate(tp.ElasticPlant(ARM), LAW, MOTION, duration=0.01, substeps=4, control="continuous")
    plain = tp.simulate(tp.RigidPlant(tp.load("elbow2r")), duration=0.01)
    for value, message in (
        ({"torque": "late"}, "torque"),
        ({"snr_db": "loud"}, "snr_db is 'loud'"),
        ({"qd_snr_db": "loud"}, "qd_snr_db is 'loud'"),
        ({"resolution": 0.0}, "resolution is 0.0"),
        ({"resolution": [1e-3, 1e-3]}, "one per joint"),
    ):
        with pytest.raises(TaupiError, match=message):
            tp.record(run, **value)
    for other, value, message in (
        (smooth, {"torque": "middle"}, "control='sampled'"),
        (plain, {"motor_resolution": 1e-3}, "no motors"),
        ("run", {}, "expected what taupi.simulate returned"),
    ):
        with pytest.raises(TaupiError, match=message):
            tp.record(other, **value)
    for bad in ({"count": 5}, {"amplitude": [1.0]}):
        with pytest.raises(TaupiError, match="expected at least 6"):
            tp.BSpline.random(**({"centre": [0.0, 0.0], "amplitude": [1.0, 1.0]} | bad))


def test_a_recorded_run_can_be_identified_as_it_is(tmp_path):
    """Log objects and the file of the command line alike: the motors' torque needs no mapping."""
    run = tp.simulate(tp.ElasticPlant(ARM), LAW, MOTION, duration=3.0, rate=1000, substeps=4)
    log = tp.record(run, resolution=1e-6)
    assert np.array_equal(log.tau, run.tau) and np.array_equal(log.tau, log.tau_m)
    run.save(tmp_path / "run.parquet")
    for recorded in (log, run.to_log(), tmp_path / "run.parquet"):
        fit = tp.identify(ARM, recorded)
        known = dict(zip(fit.names, fit.values, strict=True))
        for joint in ARM.driving_joints:
            assert abs(known[f"{joint.name}.stiffness"] / float(joint.transmission.stiffness) - 1) < 1e-2
