"""Floating robots in simulation: energy, momentum, convergence, and what is refused."""

import numpy as np
import pytest
from floating import floating_tree, states, with_balls
from refusals import refused
from support import random_robot

import taupi as tp


def start(robot, seed=3):
    q, qd, _ = states(robot, 1, seed=seed)
    return q[0], qd[0]


@pytest.fixture(scope="module")
def tree():
    return floating_tree(2, joints=2)


def test_free_fall_keeps_energy_and_angular_momentum(tree):
    run = tp.simulate(tp.RigidPlant(tree), duration=0.5, rate=500, initial=start(tree))
    assert run.q.shape == (251, tree.nq) and run.qd.shape == (251, tree.n) == run.tau.shape
    assert np.abs(run.residual).max() < 1e-6 * np.abs(run.energy).max()
    assert np.abs(np.linalg.norm(run.q[:, 3:7], axis=1) - 1).max() < 1e-12
    h = tp.floating.centroidal_momentum(tree)(run.q, run.qd)
    assert np.abs(h[:, :3] - h[0, :3]).max() < 1e-7 * np.abs(h).max()
    mass = sum(float(link.body[0]) for link in tree.links)
    fallen = h[-1, 3:] - h[0, 3:] - 0.5 * mass * np.array([float(v) for v in tree.gravity])
    assert np.abs(fallen).max() < 1e-6 * np.abs(h).max()


def test_the_order_of_the_integrator(tree):
    errors = []
    for rate in (100, 200, 400):
        run = tp.simulate(tp.RigidPlant(tree), duration=0.4, rate=rate, initial=start(tree))
        errors.append(np.abs(run.residual).max())
    assert 12 < errors[0] / errors[1] < 20 and 12 < errors[1] / errors[2] < 20  # 2^4


def test_ways_to_move_agree(tree, tmp_path):
    held = lambda t, q, qd: -0.3 * np.r_[np.zeros(6), qd[6:]]  # noqa: E731
    run = tp.simulate(tp.RigidPlant(tree), held, duration=0.2, rate=200, initial=start(tree))
    adaptive = tp.simulate(tp.RigidPlant(tree), held, duration=0.2, rate=200, initial=start(tree), integrator="dop853")
    assert np.abs(run.q - adaptive.q).max() < 1e-5
    many = tp.simulate_many(tp.RigidPlant(tree), duration=0.1, rate=200, initial=states(tree, 3)[:2])
    assert many.q.shape == (3, 21, tree.nq)
    run.save(tmp_path / "run.parquet")
    again = tp.Run.load(tmp_path / "run.parquet")
    assert np.array_equal(again.q, run.q) and again.position_names == tree.position_names
    assert "base.wx" in repr(run)
    balls = with_balls(random_robot(3, joints=2), 0)
    swing = tp.simulate(tp.RigidPlant(balls), duration=0.3, rate=400)
    assert np.abs(swing.residual).max() < 1e-6 and swing.q[0].tolist()[:4] == [0, 0, 0, 1]


def test_a_force_that_bears_the_weight(tree):
    """A hovering body: the disturbance of the base is minus the torque that holds it."""
    q = tp.floating.neutral(tree)
    hold = tp.gravity_torque(tree)(q)
    run = tp.simulate(tp.RigidPlant(tree, disturbance=-hold), duration=0.1, rate=100, initial=q)
    assert np.abs(run.qd).max() < 1e-9


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(reference=lambda t: (np.zeros(8),) * 3), "reference is for joints with a motor each"),
        (dict(sensors=tp.Sensors()), "sensors are encoders of joints"),
        (dict(integrator="semi_implicit"), "cannot be 'semi_implicit' for quaternions"),
        (dict(initial=np.zeros(9)), "initial has a quaternion of length zero"),
        (dict(initial=np.zeros(8)), r"initial q has shape \(8,\), expected \(9,\)"),
    ],
)
def test_what_needs_a_motor_per_velocity_is_refused(tree, options, message):
    with pytest.raises(tp.TaupiError, match=message):
        tp.simulate(tp.RigidPlant(tree), **{"duration": 0.1, "rate": 100, **options})


def test_a_summary_ends_where_the_runs_do(tree):
    """One position more than velocities: neither is taken for the other."""
    q, qd, _ = states(tree, 3, seed=3)
    plant, options = tp.RigidPlant(tree), {"duration": 0.1, "rate": 500, "initial": (q, qd)}
    summary, batch = tp.ensembles.simulate_summary(plant, **options), tp.simulate_many(plant, **options)
    assert np.array_equal(summary.q, batch.q[:, -1]) and np.array_equal(summary.qd, batch.qd[:, -1])
    assert summary.units == batch[0].units


def test_wrenches_at_several_frames():
    """Two wrenches in a plant are what they are in forward dynamics, along a run whose energy is accounted for."""
    robot = floating_tree(5, joints=1)
    left, right = np.array([0.1, 0, 0.2, 1.0, 2.0, -6.0]), np.array([0, 0.1, 0, -1.0, 0.5, -5.0])
    wrench = {"root": left, "l0": lambda t: right * np.cos(t)}
    plant = tp.RigidPlant(robot, wrench=wrench, axes="body")
    assert [p.name for p in plant.program().inputs] == ["q", "qd", "tau", "f_root", "f_l0"]
    q = tp.floating.neutral(robot)
    qd, tau = np.random.default_rng(0).normal(size=(2, 7))
    expected = tp.forward_dynamics(robot, wrenches=("root", "l0"))(q, qd, tau, left, right)
    assert np.abs(plant.program()(q, qd, tau, left, right) - expected).max() < 1e-9 * np.abs(expected).max()
    run = tp.simulate(plant, duration=0.1, rate=500, initial=(q, 0.1 * qd))
    assert np.abs(run.residual).max() < 1e-6
    with pytest.raises(tp.TaupiError, match="No frame 'paw'"):
        tp.RigidPlant(robot, wrench={"paw": left})
    with refused("wrench", got=(2,)):
        tp.simulate(tp.RigidPlant(robot, wrench={"root": [1.0, 2.0]}), duration=0.1, initial=(q, qd))
