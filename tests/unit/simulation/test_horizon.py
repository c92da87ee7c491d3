"""Settings of a simulation: one home for duration, rate and steps, whole or as keywords, in one roll-out or many."""

import subprocess
import sys

import numpy as np
import pytest
from refusals import refused

import taupi as tp
from taupi.simulation.horizon import ADAPTIVE_STEP, FIXED_STEP
from taupi.simulation.integrators import ADAPTIVE, FIXED
from taupi.simulation.plants.plant import Plant

ARM = tp.load("elbow2r")
PLANT = tp.RigidPlant(ARM)
MOTION = tp.Sinusoids([0.3, -0.4], [[0.5], [0.4]], [[1.3], [2.0]])
LAW = tp.ComputedTorque(ARM)


def test_settings_load_nothing_heavy():
    code = "import sys, taupi.simulation.horizon, taupi.simulation.sensors; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numpy", "casadi", "scipy", "llvmlite"} & set(loaded)


def test_integrators_are_those_that_are_named():
    assert set(FIXED) == set(FIXED_STEP) and set(ADAPTIVE) == set(ADAPTIVE_STEP)


def test_a_horizon_is_its_keywords():
    horizon = tp.Horizon(0.2, 500, "midpoint", 2, "continuous", every=3)
    with_horizon = tp.simulate(PLANT, LAW, MOTION, horizon=horizon)
    fields = tp.simulate(PLANT, LAW, MOTION, **horizon.to_dict())
    assert np.array_equal(with_horizon.q, fields.q) and with_horizon.provenance == fields.provenance
    assert len(with_horizon) == horizon.rows == 34 and (horizon.steps, horizon.dt) == (100, 0.002)
    assert tp.Horizon.from_dict(horizon.to_dict()) == horizon
    with pytest.raises(tp.TaupiError, match="rate and horizon are both given"):
        tp.simulate(PLANT, LAW, MOTION, rate=500, horizon=horizon)
    with refused("horizon", got=3, expected="taupi.Horizon"):
        tp.simulate(PLANT, LAW, MOTION, horizon=3)
    with pytest.raises(tp.TaupiError, match=r"duration is 0\.0001 s, less than one control period of 0\.001 s"):
        tp.Horizon(duration=1e-4)
    for much in ({"duration": 1e9}, {"rate": 1e12}, {"duration": 1e300, "rate": 1e300}):
        with pytest.raises(tp.TaupiError, match=r"control periods, expected at most 1e\+08\. Lower duration or rate"):
            tp.Horizon(**much)
    with refused("substeps", got=1000000000000, expected="from 1 to 100000"):
        tp.Horizon(substeps=10**12)


def test_positional_arguments_stay_where_they_were():
    sensors, start = tp.Sensors(resolution=1e-4), [0.2, 0.1]
    by_position = tp.simulate(PLANT, LAW, MOTION, 0.1, 500.0, "rk4", 1, "sampled", sensors, start, None, None)
    named = tp.simulate(PLANT, LAW, MOTION, duration=0.1, rate=500, sensors=sensors, initial=start)
    assert np.array_equal(by_position.q, named.q) and np.array_equal(by_position.measured.q, named.measured.q)
    loads = [tp.Payload(0.5), None]
    many = tp.simulate_many(
        PLANT, LAW, MOTION, 0.1, 500.0, "rk4", 1, "sampled", sensors, start, None, None, loads, [3, 4]
    )
    assert [run.provenance["seed"] for run in many] == [3, 4]


def test_one_is_a_batch_of_one_and_a_batch_is_refused_as_one():
    options = {"duration": 0.1, "sensors": tp.Sensors(q_noise=1e-4), "initial": [0.2, 0.1]}
    one, many = tp.simulate(PLANT, LAW, MOTION, seed=0, **options), tp.simulate_many(PLANT, LAW, MOTION, **options)
    assert len(many) == 1 and np.array_equal(one.q, many[0].q) and one.provenance == many[0].provenance
    with pytest.raises(tp.TaupiError) as raised:
        tp.simulate(PLANT, LAW, MOTION, duration=0.1, initial=np.zeros((3, 2)))
    assert raised.value.argument == "initial" and raised.value.values["size"] == 3


def test_laws_with_estimates_and_payloads_of_their_own():
    """Laws whose programs differ are batches of their own; each roll-out still has its own estimate, payload and seed."""
    laws = [tp.SlotineLi(ARM), tp.Walker(ARM), tp.SlotineLi(ARM)]
    guesses = np.array([0.5, 0.7, 0.9])[:, None] * ARM.parameters.values
    loads = [tp.Payload(0.2), None, tp.Payload(0.4)]
    batch = tp.simulate_many(PLANT, laws, MOTION, duration=0.1, parameters=guesses, payloads=loads)
    for k, law in enumerate(laws):
        plant = tp.RigidPlant(ARM, payloads=[(0.0, loads[k])] if loads[k] else ())
        alone = tp.simulate(plant, law, MOTION, duration=0.1, parameters=guesses[k])
        assert np.abs(batch[k].q - alone.q).max() < 1e-12
        assert np.array_equal(batch[k].parameters[0], guesses[k])


def program_with_a_gain():
    ports = [tp.program.Port("q", (2,)), tp.program.Port("qd", (2,)), tp.program.Port("w")]
    return tp.program.trace("damper", lambda q, qd, w: -w * qd, ports, [tp.program.Port("tau", (2,))])


def test_inputs_had_another_name():
    options = {"duration": 0.05, "initial": ([0.2, 0.1], [1.0, -1.0])}
    now = tp.simulate(PLANT, program_with_a_gain(), inputs={"w": 2.0}, **options)
    with pytest.warns(DeprecationWarning, match="settings is now called inputs") as caught:
        before = tp.simulate(PLANT, program_with_a_gain(), settings={"w": 2.0}, **options)
    assert caught[0].filename == __file__ and np.array_equal(now.q, before.q)
    with pytest.raises(tp.TaupiError, match="settings and inputs are the same: give one"):
        tp.simulate(PLANT, program_with_a_gain(), inputs={"w": 2.0}, settings={"w": 2.0}, **options)
    with pytest.raises(tp.TaupiError, match=r"needs w: give inputs=\{'w': \.\.\.\}"):
        tp.simulate(PLANT, program_with_a_gain(), **options)


def test_several_programs_share_inputs():
    programs = [program_with_a_gain(), program_with_a_gain()]
    options = {"duration": 0.05, "initial": ([0.2, 0.1], [1.0, -1.0])}
    shared = tp.simulate_many(PLANT, programs, inputs={"w": 2.0}, **options)
    each = tp.simulate_many(PLANT, programs, inputs={"w": [2.0, 3.0]}, **options)
    assert np.array_equal(shared[0].q, shared[1].q) and np.array_equal(each[0].q, shared[0].q)
    assert not np.array_equal(each[1].q, shared[1].q)


def test_a_python_function_cannot_be_differentiated():
    options = {"duration": 0.05, "integrator": "rosenbrock"}
    with pytest.raises(tp.TaupiError, match=r"integrator='rosenbrock' differentiates the law.*control='sampled'"):
        tp.simulate(PLANT, lambda t, q, qd: -qd, control="continuous", **options)
    assert tp.simulate(PLANT, lambda t, q, qd: -qd, **options).complete


def test_payloads_are_for_arms():
    members = [name for name in vars(Plant) if not name.startswith("_")]
    Pendulum = type("Pendulum", (), {name: property(lambda _, k=name: getattr(PLANT, k)) for name in members})
    assert isinstance(Pendulum(), Plant)
    with pytest.raises(tp.TaupiError) as error:
        tp.simulate_many(ARM)
    assert error.value.argument == "plant"
    with refused("payloads", kind="Pendulum"):
        tp.simulate_many(Pendulum(), payloads=[None])


def test_a_warning_is_at_the_users_line():
    with pytest.warns(tp.TaupiWarning, match="diverged") as caught:
        tp.simulate(PLANT, lambda t, q, qd: 1e6 * qd + 1e5, duration=1.0, rate=100)
    assert caught[0].filename == __file__
