"""Robots simulated from commands: beside RK4 with the law as a function, stiction that holds, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from emitted import by_c

import taupi as tp
from taupi.errors import TaupiError

ARM = tp.load("elbow2r")
DRIVE = tp.Drive(kp=(1200.0, 600.0), kd=(60.0, 25.0))
MOTION = tp.Sinusoids([0.1, -0.2], [[0.5], [0.4]], [[2.0], [3.0]])
GOAL = np.array([0.4, -0.3])


def step(_: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a goal that does not move."""
    return GOAL, np.zeros(2), np.zeros(2)


def test_a_step_is_that_of_runge_kutta_with_the_law_as_a_function() -> None:
    truth = tp.RigidPlant(ARM.with_friction(viscous=[2.0, 1.0]), terms=("viscous",))
    kp, kd = np.array(DRIVE.kp), np.array(DRIVE.kd)
    smooth = tp.simulate(
        truth,
        lambda t, q, qd: kp * (GOAL - q) - kd * qd,
        duration=0.5,
        rate=1000,
        substeps=8,
        control="continuous",
        initial=[0.0, 0.0],
    )
    errors = []
    for longest in (2e-4, 1e-4):
        plant = tp.laws.DrivenPlant(ARM, DRIVE, {"viscous": (2.0, 1.0)}, step=longest)
        run = tp.simulate(plant, reference=step, duration=0.5, rate=200, initial=[0.0, 0.0])
        errors.append((np.abs(run.q - smooth.q[::5]).max(), np.abs(run.qd - smooth.qd[::5]).max()))
    assert np.array(errors[1]) == pytest.approx([0, 0], abs=4e-4)
    # Of second order but for Coriolis torques, which are those at the beginning of a step.
    assert (np.divide(*errors) > 3).all()


@pytest.mark.parametrize("law", ["pd", "pd_host"])
def test_steps_in_c_are_those_of_the_simulation(law: str, tmp_path: Path) -> None:
    """The emitted step, called as a user would, beside `tp.simulate`: stiction, limits and a delay of whole steps included."""
    host = {"rate_hz": 200.0} if law == "pd_host" else {}
    drive = tp.Drive(law=law, kp=(1200.0, 600.0), kd=(60.0, 25.0), torque_limit=150.0, **host)
    values = {"coulomb": (6.0, 3.0), "rotor": 0.2, "viscous": 1.0, "offset": 0.3, "delay": 0.005}
    plant = tp.laws.DrivenPlant(ARM, drive, values, step=5e-3)
    run = tp.simulate(plant, reference=MOTION, duration=1.0, rate=200)
    program, steps = plant.step_program(), len(run.time) - 1
    sent = np.asarray(run.reference.q)[np.maximum(np.arange(steps) - 1, 0)]
    x = np.hstack([run.q[:-1], run.qd[:-1]])
    seen = x if law == "pd_host" else x[:, :0]  # its law sees each state at once, since it ticks with every step
    inputs = {
        "x": np.hstack([x, seen]),
        "command": np.hstack([sent, np.zeros((steps, 4))]),
        "enabled": np.ones((steps, 2)),
        "volts": np.zeros((steps, 2)),
        "tick": np.ones((steps, 1)),
        "h": np.full((steps, 1), 5e-3),
    }
    found = by_c(program, tmp_path)(*(inputs[port.name] for port in program.inputs))[0]
    np.testing.assert_allclose(found[:, :2], run.q[1:], atol=1e-12)
    np.testing.assert_allclose(found[:, 2:4], run.qd[1:], atol=1e-10)


def test_commands_come_late_by_the_delay() -> None:
    late, prompt = (
        tp.simulate(
            tp.laws.DrivenPlant(ARM, DRIVE, {"delay": d}), reference=step, duration=0.4, rate=200, initial=GOAL + 0.1
        )
        for d in (0.1, 0.0)
    )
    # A goal that never moves is the same however late; one that moves is reached later.
    assert np.abs(late.q - prompt.q).max() < 1e-12
    moved, lagging = (
        tp.simulate(tp.laws.DrivenPlant(ARM, DRIVE, {"delay": d}), reference=MOTION, duration=3.0, rate=200)
        for d in (0.0, 0.05)
    )
    assert np.abs(lagging.q[300:] - moved.q[290:-10]).max() < 5e-3
    assert np.abs(lagging.q[300:] - moved.q[300:]).max() > 2e-2


def test_what_sticks_stays_where_it_is_to_the_last_digit() -> None:
    weightless = ARM.with_gravity((0, 0, 0))
    held = tp.laws.DrivenPlant(weightless, DRIVE, {"coulomb": 1e3})
    run = tp.simulate(held, reference=step, duration=0.3, rate=200, initial=[0.2, 0.1])
    assert (run.q == run.q[0]).all()
    assert (run.qd == 0).all()
    free = tp.simulate(
        tp.laws.DrivenPlant(weightless, DRIVE), reference=step, duration=2.0, rate=200, initial=[0.2, 0.1]
    )
    assert np.abs(free.q[-1] - GOAL).max() < 1e-3


@pytest.mark.parametrize("place", ["drive", "values"])
def test_torques_stay_within_limits_however_they_are_stated(place: str) -> None:
    drive = tp.Drive(kp=DRIVE.kp, kd=DRIVE.kd, torque_limit=60.0) if place == "drive" else DRIVE
    plant = tp.laws.DrivenPlant(ARM, drive, {} if place == "drive" else {"limit": 60.0})
    run = tp.simulate(plant, reference=step, duration=0.5, rate=200, initial=[0.0, 0.0])
    assert 59.9 < np.abs(run.tau).max() <= 60.0 + 1e-9


def test_a_run_is_saved_and_its_commands_are_sent_again(tmp_path: Path) -> None:
    plant = tp.laws.DrivenPlant(ARM, DRIVE, {"coulomb": 2.0, "delay": 0.008})
    run = tp.simulate(plant, reference=MOTION, duration=1.0, rate=200)
    run.save(tmp_path / "run.parquet")
    assert (tp.Run.load(tmp_path / "run.parquet").q == run.q).all()
    assert run.reference is not None
    log = tp.Log(run.time, run.q, qd=run.qd, qdes=run.reference.q, names=run.names)
    again = tp.simulate(plant, reference=log)
    assert (again.q == run.q).all()
    assert run.complete and again.provenance["plant"] == "DrivenPlant"


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no commands": ({}, "reference is missing"),
    "a law beside the drive's": ({"reference": MOTION, "controller": tp.ComputedTorque(ARM)}, "controller"),
    "another rule": ({"reference": MOTION, "integrator": "rk4"}, "integrator"),
    "three positions": ({"reference": MOTION, "initial": [0.0, 0.0, 0.0]}, "expected 2 finite numbers"),
    "a time that is the log's": (
        {"reference": tp.Log(np.arange(9) / 100, np.zeros((9, 2)), qdes=np.zeros((9, 2))), "duration": 1.0},
        "duration",
    ),
    "a log without commands": ({"reference": tp.Log(np.arange(9) / 100, np.zeros((9, 2)))}, "qdes"),
    "gaps": (
        {"reference": tp.Log(np.r_[0:9, 50:60] / 100, np.zeros((19, 2)), qdes=np.zeros((19, 2)))},
        "gaps",
    ),
}


@pytest.mark.parametrize("case", list(REFUSED))
def test_what_drives_decide_is_not_asked_for(case: str) -> None:
    given, message = REFUSED[case]
    with pytest.raises(TaupiError, match=message):
        tp.simulate(tp.laws.DrivenPlant(ARM, DRIVE), **given)


def test_values_that_cannot_be_are_refused() -> None:
    for values, message in (
        ({"damping": 1.0}, "damping"),
        ({"coulomb": (1.0, 2.0, 3.0)}, "coulomb"),
        ({"coulomb": np.nan}, "finite"),
    ):
        with pytest.raises(TaupiError, match=message):
            tp.laws.DrivenPlant(ARM, DRIVE, values)
    with pytest.raises(TaupiError, match="DrivenPlant"):
        tp.simulate(tp.RigidPlant(ARM), reference=tp.Log(np.arange(9) / 100, np.zeros((9, 2))))
