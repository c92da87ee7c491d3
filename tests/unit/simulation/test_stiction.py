"""Dry friction: sticking, breaking away and stopping where the closed form says; smoothed friction tends to it."""

import numpy as np
import pytest
from support import error

import taupi as tp

MASS, DRY, GRAVITY = 2.0, 3.0, 9.81


def slider(**friction):
    """A mass on a horizontal slide."""
    links = [{"m": MASS, "com": (0, 0, 0), "inertia": np.zeros((3, 3)).tolist()}]
    arm = tp.Robot.from_dh([{"joint": "prismatic"}], gravity=(0, "-9.81", 0), links=links)
    return arm.with_friction(**friction)


def test_a_sliding_mass_stops_after_its_stopping_distance():
    plant = tp.RigidPlant(slider(coulomb=DRY), "coulomb", stiction=True)
    v = 1.2
    run = tp.simulate(plant, duration=1.5, rate=100, integrator="rk45", initial=([0.0], [v]))
    stop, distance = MASS * v / DRY, MASS * v**2 / 2 / DRY
    rests = run.time > stop + 1e-9
    assert np.array_equal(run.qd[rests], np.zeros((rests.sum(), 1))) and np.abs(run.qdd[rests]).max() == 0
    assert np.abs(run.q[rests] - distance).max() < 1e-9
    t = run.time[~rests]
    assert error(run.q[~rests, 0], v * t - DRY / MASS * t**2 / 2) < 1e-9
    assert abs(run.heat[-1] - MASS * v**2 / 2) < 1e-9 and np.abs(run.residual).max() < 1e-9


def test_it_breaks_away_when_the_torque_exceeds_the_grip():
    """The force k t passes F at t = F / k; then m x'' = k t - F."""
    plant = tp.RigidPlant(slider(coulomb=DRY), "coulomb", stiction=True, disturbance=lambda t: [-4.0 * t])
    run = tp.simulate(plant, duration=1.5, rate=20, integrator="dop853", initial=[0.0], tolerance=1e-11)
    breaks = DRY / 4
    s = np.maximum(run.time - breaks, 0)
    assert error(run.q[:, 0], 4 / MASS * s**3 / 6) < 1e-9
    assert np.abs(run.q[run.time < breaks]).max() == 0


def test_two_joints_stick_one_by_one_and_smooth_friction_tends_to_it():
    arm = tp.load("elbow2r").with_gravity((0, 0, 0)).with_friction(coulomb=[1.5, 0.8], viscous=[0.2, 0.1])
    start = ([0.2, 0.4], [1.0, -2.0])
    options = {"duration": 1.0, "rate": 50, "initial": start}
    stuck = tp.simulate(tp.RigidPlant(arm, ("viscous", "coulomb"), stiction=True), integrator="rk45", **options)
    assert np.array_equal(stuck.qd[-1], [0, 0]) and np.abs(stuck.residual).max() < 1e-7
    gaps = []
    for eps in (0.02, 0.002):
        plant = tp.RigidPlant(arm, ("viscous", "coulomb"), smoothing=eps)
        smooth = tp.simulate(plant, integrator="lsoda", **options)
        gaps.append(np.abs(smooth.q - stuck.q).max())
    assert gaps[1] < gaps[0] / 4 and gaps[1] < 2e-3


def test_stribeck_holds_more_at_rest_than_in_motion():
    """F + B at rest, F at speed: a force between the two keeps what moves moving, and what rests resting."""
    arm = slider(coulomb=DRY, stribeck=1.0)
    plant = tp.RigidPlant(arm, (tp.terms.Coulomb(), tp.terms.Stribeck(0.05)), stiction=True)

    def push(t, q, qd):
        return [DRY + 0.5]

    rests = tp.simulate(plant, push, duration=0.5, rate=50, integrator="rk45", initial=([0.0], [0.0]))
    moves = tp.simulate(plant, push, duration=0.5, rate=50, integrator="rk45", initial=([0.0], [0.5]))
    assert np.abs(rests.q).max() == 0 and moves.qd[-1, 0] > 0.55


def test_stiction_needs_events():
    plant = tp.RigidPlant(slider(coulomb=DRY), "coulomb", stiction=True)
    for options in ({"integrator": "rk4"}, {"integrator": "rk45", "control": "continuous"}):
        with pytest.raises(tp.TaupiError, match="stiction needs"):
            tp.simulate(plant, **options)
