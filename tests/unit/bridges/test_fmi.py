"""Functional Mock-up Units: FMPy's validator, its simulations beside ours, what is inside, and what is refused."""

import dataclasses
import shutil
import subprocess
import sys
import zipfile
from xml.etree import ElementTree

import numpy as np
import pytest
from fits import friction_fit
from refusals import refused

import taupi as tp
from taupi.bridges import emit_fmu
from taupi.errors import TaupiError

fmpy = pytest.importorskip("fmpy")
validation = pytest.importorskip("fmpy.validation")

pytestmark = pytest.mark.skipif(shutil.which("cc") is None and shutil.which("gcc") is None, reason="no C compiler")

# The same steps in C and in Python: a thousand roundings.
SAME = 1e-12
# Another integrator at its tightest, over 0.2 s.
SOLVER = 1e-9
RATE, STEPS = 1000, 200


@pytest.fixture(scope="module")
def arm():
    return tp.load("elbow2r").with_friction(viscous=[0.5, 0.3])


def unit(folder, subject, fmi="3.0", **options):
    path = emit_fmu(subject, folder / f"unit{fmi[0]}.fmu", fmi, force=True, **options)
    assert validation.validate_fmu(str(path)) == []
    return str(path)


def signals(t, **values):
    """Return arrays (N, k) by prefix and labels as FMPy takes them: a structured array with a column per variable."""
    names = [f"{prefix}.{label}" for prefix, (labels, _) in values.items() for label in labels]
    table = np.zeros(len(t), dtype=[("time", float), *((n, float) for n in names)])
    table["time"] = t
    for prefix, (labels, array) in values.items():
        for k, label in enumerate(labels):
            table[f"{prefix}.{label}"] = array[:, k]
    return table


def columns(result, prefix, labels):
    return np.stack([result[f"{prefix}.{label}"] for label in labels], axis=1)


# Plants ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fmi", ["3.0", "2.0"])
def test_a_rigid_plant_moves_as_ours_does(arm, fmi, tmp_path):
    plant, start = tp.RigidPlant(arm, terms="viscous"), np.array([0.4, -0.7])
    path = unit(tmp_path, plant, fmi)
    t = np.arange(STEPS + 1) / RATE
    tau = 5 * np.sin(7 * t)[:, None] * [1.0, 0.4]
    options = dict(
        stop_time=STEPS / RATE,
        output_interval=1 / RATE,
        start_values={f"q.{j}": v for j, v in zip(arm.joint_names, start, strict=True)},
        input=signals(t, tau=(arm.joint_names, tau)),
    )
    ours = dict(duration=STEPS / RATE, rate=RATE, initial=start)
    for kind, more, integrator in (
        ("CoSimulation", {}, "rk4"),
        ("ModelExchange", {"solver": "Euler", "step_size": 1 / RATE}, "euler"),
    ):
        result = fmpy.simulate_fmu(path, fmi_type=kind, **options, **more)
        run = tp.simulate(plant, tau[:-1], integrator=integrator, **ours)
        assert np.abs(columns(result, "q", arm.joint_names)[: STEPS + 1] - run.q).max() < SAME
        assert np.abs(columns(result, "qd", arm.joint_names)[: STEPS + 1] - run.qd).max() < SAME
    del options["input"]
    result = fmpy.simulate_fmu(path, fmi_type="ModelExchange", relative_tolerance=1e-11, **options)
    run = tp.simulate(plant, None, integrator="rk4", **ours)
    assert np.abs(columns(result, "q", arm.joint_names)[: STEPS + 1] - run.q).max() < SOLVER


def test_elastic_joints_wrenches_limits_and_internal_steps(tmp_path):
    arm = tp.load("zollo2r")
    plant = tp.ElasticPlant(arm, wrench=np.zeros(6), torque_limits=3.0)
    path = unit(tmp_path, plant, step=2.5e-4)
    t = np.arange(STEPS + 1) / RATE
    tau = 6 * np.sin(9 * t)[:, None] * [1.0, 0.5]
    force = np.tile([0, 0, 0, 1.0, -2.0, 0], (len(t), 1))
    frame = ("nx", "ny", "nz", "fx", "fy", "fz")
    result = fmpy.simulate_fmu(
        path,
        fmi_type="CoSimulation",
        stop_time=STEPS / RATE,
        output_interval=1 / RATE,
        input=signals(t, tau=(arm.joint_names, tau), f_tip=(frame, force)),
    )
    pushed = tp.ElasticPlant(arm, wrench=force[0], torque_limits=3.0)
    run = tp.simulate(pushed, tau[:-1], duration=STEPS / RATE, rate=RATE, substeps=4, integrator="rk4")
    assert np.abs(columns(result, "q", arm.joint_names) - run.q).max() < SAME
    motors = [n.removeprefix("theta.") for n in result.dtype.names if n.startswith("theta.")]
    assert motors == list(arm.elastic_joints)


def test_a_base_that_moves_freely(tmp_path):
    robot = tp.load("elbow2r").floating_base()
    pi = robot.parameters.values.copy()
    pi[:10] = [8, 0, 0, 0, 0.5, 0, 0, 0.5, 0, 0.5]  # the base's own body
    robot = robot.with_parameters(pi)
    plant = tp.RigidPlant(robot)
    path = unit(tmp_path, plant)
    options = dict(stop_time=0.1, output_interval=1 / RATE, start_values={f"qd.{robot.joint_names[1]}": 0.7})
    result = fmpy.simulate_fmu(path, fmi_type="CoSimulation", **options)
    start = (tp.floating.neutral(robot), np.eye(robot.n)[1] * 0.7)
    run = tp.simulate(plant, None, duration=0.1, rate=RATE, initial=start, integrator="rk4")
    assert (
        np.abs(columns(result, "qd", robot.joint_names) - run.qd).max() < 1e-8
    )  # ours divides quaternions by their length


# Robots with their drives -------------------------------------------------------------------------------------------------

DRIVES = {
    "pd": dict(kp=900, kd=40),
    "pd on the error, limited": dict(kp=900, kd=40, kd_acts_on="error", torque_limit=60),
    "pd on a host": dict(law="pd_host", kp=400, kd=20, rate_hz=400),
    "servo": dict(law="duty", kp=20, kt=2.0, resistance=0.5, volts=12),
}
# Torques of some 300 N m, whose last digits a step of 1 ms amplifies by gains of 900 N m/rad.
SAME_TORQUE = 1e-9


def commanded(arm, drive, time):
    """Return a log of commands, motors off in between, and where it starts: at rest, unless a velocity is commanded."""
    phase, size = 7 * time[:, None], np.array([0.5, 0.4])
    q, qd = size * np.sin(phase), 7 * size * np.cos(phase)
    on = np.ones(q.shape)
    on[90:120] = 0
    log = tp.Log(time, q, qd=qd, qdes=q, qd_des=qd, enabled=on, names=arm.joint_names, drive=drive)
    return log, (q[0], qd[0] if drive.kd_acts_on == "error" else np.zeros(2))


@pytest.mark.parametrize("delay", [0.0, 0.0125])
@pytest.mark.parametrize("drive", DRIVES)
def test_a_driven_robot_moves_as_ours_does(arm, drive, delay, tmp_path):
    plant = tp.laws.DrivenPlant(arm, tp.Drive(**DRIVES[drive]), {"coulomb": 1.5, "delay": delay})
    t = np.arange(STEPS + 1) / 200
    log, start = commanded(arm, plant.drive, t)
    run = tp.simulate(plant, reference=log, initial=start)
    names = arm.joint_names
    sent = {"q_des": log.qdes, "tau_ff": 0 * log.qdes, "enabled": log.enabled}
    sent |= {"qd_des": log.qd_des} if plant.drive.kd_acts_on == "error" else {}
    sent |= {"volts": np.full((len(t), 2), 12.0)} if plant.drive.law == "duty" else {}
    table = signals(t, **{k: (names, v) for k, v in sent.items()})
    for fmi in ("3.0", "2.0"):
        result = fmpy.simulate_fmu(unit(tmp_path, plant, fmi), stop_time=t[-1], output_interval=1 / 200, input=table)
        assert np.abs(columns(result, "q", names)[1:] - run.q[1:]).max() < SAME
        assert np.abs(columns(result, "tau", names)[1:] - run.tau[:-1]).max() < SAME_TORQUE
        assert np.ptp(run.q[:, 1]) > 0.05 and not result["status"].any()


def test_a_driven_robot_holds_where_a_sample_is_impossible(arm, tmp_path):
    plant = tp.laws.DrivenPlant(arm, tp.Drive(kp=900, kd=40), {"delay": 0.004})
    path = unit(tmp_path, plant)
    description = fmpy.read_model_description(path)
    of = {v.name: v.valueReference for v in description.modelVariables}
    instance = fmpy.instantiate_fmu(fmpy.extract(path, tmp_path / "x"), description, "CoSimulation")
    instance.enterInitializationMode()
    instance.exitInitializationMode()
    seen = []
    for k, wanted in enumerate([0.1, float("nan"), 0.3, 0.3]):
        instance.setFloat64([of["q_des.elbow"]], [wanted])
        instance.doStep(currentCommunicationPoint=0.01 * k, communicationStepSize=0.01)
        seen.append(instance.getFloat64([of["q.elbow"], of["status"]]))
    instance.terminate()
    instance.freeInstance()
    assert [status for _, status in seen] == [0, 2, 0, 0]
    assert seen[1][0] == seen[0][0] and np.isfinite(seen).all() and seen[3][0] > seen[1][0]


def test_a_driven_robot_refuses_more_steps_than_c_counts_and_follows_commands_that_are_close(arm, tmp_path):
    """A gap of 2^31 steps or more once passed without any; and commands 10 us apart filled what is remembered for good."""
    plant = tp.laws.DrivenPlant(arm, tp.Drive(kp=900, kd=40), {"delay": 0.004})
    for step, apart, count, status in ((1e-7, 900.0, 1, 3), (1e-3, 2e-5, 400, 0)):
        path = emit_fmu(plant, tmp_path / f"{count}.fmu", "3.0", step=step)
        description = fmpy.read_model_description(path)
        of = {v.name: v.valueReference for v in description.modelVariables}
        instance = fmpy.instantiate_fmu(fmpy.extract(path, tmp_path / str(count)), description, "CoSimulation")
        instance.enterInitializationMode()
        instance.exitInitializationMode()
        for k in range(count):
            instance.setFloat64([of["q_des.elbow"]], [0.1 * np.sin(k)])
            instance.doStep(currentCommunicationPoint=apart * k, communicationStepSize=apart)
        assert instance.getFloat64([of["status"]]) == [status]
        instance.terminate()
        instance.freeInstance()


def test_what_a_driven_robot_in_a_unit_cannot_know(arm, tmp_path):
    for drive, values, argument in (
        (tp.Drive(kp=9, kd=1), {"delay": -0.004}, "delay"),
        (tp.Drive(kp=9, kd=1, hold="linear"), {}, "drive.hold"),
    ):
        with pytest.raises(TaupiError) as refused:
            emit_fmu(tp.laws.DrivenPlant(arm, drive, values), tmp_path / "a.fmu")
        assert refused.value.argument == argument
    assert not list(tmp_path.iterdir())


# Controllers and observers ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fmi", ["3.0", "2.0"])
def test_a_controller_learns_as_ours_does(arm, fmi, tmp_path):
    law = tp.SlotineLi(arm, Lambda=5.0, K=4.0, Gamma_inv=0.2)
    path = unit(tmp_path, law, fmi)
    rng, t = np.random.default_rng(0), np.arange(STEPS + 1) / RATE
    motion = [rng.uniform(-1, 1, (STEPS + 1, 2)) for _ in range(5)]
    ports = ("q", "qd", "q_des", "qd_des", "qdd_des")
    table = signals(t, **{p: (arm.joint_names, x) for p, x in zip(ports, motion, strict=True)})
    wanted = [f"tau.{j}" for j in arm.joint_names] + [f"pi_hat.{n}" for n in law.parameters.names]
    result = fmpy.simulate_fmu(
        path, fmi_type="CoSimulation", stop_time=t[-1], output_interval=1 / RATE, input=table, output=wanted
    )
    state = law.init()
    for k in range(STEPS + 1):
        assert np.abs(columns(result, "pi_hat", law.parameters.names)[k] - state.vector).max() < SAME
        if k:  # FMPy writes what a step left: the torque of the inputs before it, with the new estimate
            held = law.torque(*(x[k - 1] for x in motion), parameters=state.vector)
            assert np.abs(columns(result, "tau", arm.joint_names)[k] - held).max() < 1e-10
        _, state = law.step(state, *(x[k] for x in motion), 1 / RATE)


def test_a_controllers_torque_follows_its_inputs_at_once(arm, tmp_path):
    law = tp.ComputedTorque(arm)
    path = unit(tmp_path, law)
    description = fmpy.read_model_description(path)
    references = {v.name: v.valueReference for v in description.modelVariables}
    instance = fmpy.instantiate_fmu(fmpy.extract(path, tmp_path / "x"), description, "CoSimulation")
    instance.enterInitializationMode(startTime=0.0)
    instance.exitInitializationMode()
    q = [0.3, 0.4]
    instance.setFloat64([references[f"q.{j}"] for j in arm.joint_names], q)
    tau = instance.getFloat64([references[f"tau.{j}"] for j in arm.joint_names])
    assert np.allclose(tau, law.torque(q, *np.zeros((4, 2))), rtol=0, atol=SAME)
    saved = instance.getFMUState()
    instance.setFloat64([references[f"q.{j}"] for j in arm.joint_names], [0.0, 0.0])
    instance.setFMUState(saved)
    assert instance.getFloat64([references[f"q.{j}"] for j in arm.joint_names]) == q
    with pytest.raises(fmpy.fmi1.FMICallException):
        instance.setFloat64([references["tau.shoulder"]], [1.0])
    instance.terminate()
    instance.freeInstance()


def test_a_unit_refuses_what_cannot_be_a_sample(arm, tmp_path):
    law = tp.SlotineLi(arm)
    path = unit(tmp_path, law)
    assert "is refused if it is not finite" in fmpy.read_model_description(path).description
    description = fmpy.read_model_description(path)
    references = {v.name: v.valueReference for v in description.modelVariables}
    instance = fmpy.instantiate_fmu(fmpy.extract(path, tmp_path / "x"), description, "CoSimulation")
    instance.enterInitializationMode(startTime=0.0)
    instance.exitInitializationMode()
    of_q, of_tau = ([references[f"{kind}.{j}"] for j in arm.joint_names] for kind in ("q", "tau"))
    of_pi = [references[f"pi_hat.{name}"] for name in law.parameters.names]
    start = list(instance.getFloat64(of_pi))
    for k, bad in enumerate((np.nan, np.inf, 1e9)):
        instance.setFloat64(of_q, [0.3, bad])
        instance.doStep(currentCommunicationPoint=2e-3 * k, communicationStepSize=1e-3)
        assert list(instance.getFloat64(of_tau)) == [0.0, 0.0]
        assert instance.getFloat64([references["status"]])[0] == 2 and list(instance.getFloat64(of_pi)) == start
        instance.setFloat64(of_q, [0.3, 0.4])
        tau = instance.getFloat64(of_tau)
        assert np.allclose(tau, law.torque([0.3, 0.4], *np.zeros((4, 2))), rtol=0, atol=SAME)
        assert instance.getFloat64([references["status"]])[0] == 0
        instance.doStep(currentCommunicationPoint=2e-3 * k + 1e-3, communicationStepSize=1e-3)
        instance.setFloat64(of_pi, start)
    instance.terminate()
    instance.freeInstance()


@pytest.mark.parametrize("fmi", ["3.0", "2.0"])
def test_directional_derivatives_are_columns_of_the_jacobian(arm, fmi, tmp_path):
    path = unit(tmp_path, tp.RigidPlant(arm, terms="viscous"), fmi)
    description = fmpy.read_model_description(path)
    place = {v.name: v.valueReference for v in description.modelVariables}
    instance = fmpy.instantiate_fmu(fmpy.extract(path, tmp_path / "x"), description, "ModelExchange")
    names = [f"{p}.{j}" for p in ("q", "qd", "tau") for j in arm.joint_names]
    values = np.linspace(0.2, 1.1, 6)
    set_values = instance.setFloat64 if fmi == "3.0" else instance.setReal
    set_values([place[n] for n in names], values.tolist())
    rates = [place[f"der(qd.{j})"] for j in arm.joint_names]
    forward = tp.forward_dynamics(arm, terms="viscous")
    jacobian = np.concatenate([forward.jacobian(p)(*values.reshape(3, 2)) for p in ("q", "qd", "tau")], axis=1)
    seed = np.array([0.3, -0.2, 0.5, 0.7, -0.4, 0.1])
    got = instance.getDirectionalDerivative(rates, [place[n] for n in names], seed.tolist())
    assert np.abs(np.array(got) - jacobian @ seed).max() < 1e-10 * np.abs(jacobian).max()
    states = [place[f"q.{j}"] for j in arm.joint_names]
    assert list(instance.getDirectionalDerivative(states, states[:1], [2.0])) == [2.0, 0.0]
    with pytest.raises(fmpy.fmi1.FMICallException):
        instance.getDirectionalDerivative(states, rates[:1], [1.0])
    instance.freeInstance()


def test_coupled_joints(arm, tmp_path):
    plant = tp.RigidPlant(arm.with_coupling([[1, 0], [-1, 1]]), terms="viscous")
    joints = plant.robot.joint_names
    start = {f"q.{j}": v for j, v in zip(joints, (0.4, -0.7), strict=True)}
    options = dict(fmi_type="CoSimulation", stop_time=0.1, output_interval=1 / RATE, start_values=start)
    result = fmpy.simulate_fmu(unit(tmp_path, plant), **options)
    run = tp.simulate(plant, None, duration=0.1, rate=RATE, initial=[0.4, -0.7], integrator="rk4")
    assert np.abs(columns(result, "q", joints) - run.q).max() < SAME


@pytest.mark.parametrize("fmi", ["3.0", "2.0"])
def test_an_observer_feels_what_ours_feels(arm, fmi, tmp_path):
    observer = tp.momentum_observer(arm, terms="viscous")
    path = unit(tmp_path, observer, fmi)
    t = np.arange(STEPS + 1) / RATE
    x = [np.sin(5 * t[:, None] + k + np.array([0.0, 1.0])) for k in range(3)]
    table = signals(t, **{p: (arm.joint_names, v) for p, v in zip(("q", "qd", "tau"), x, strict=True)})
    result = fmpy.simulate_fmu(path, stop_time=t[-1], output_interval=1 / RATE, input=table)
    ours = observer.over(np.full(STEPS, 1 / RATE), [v[:-1] for v in x])
    felt = columns(result, observer.results[0], arm.joint_names)
    assert np.abs(felt[1:] - ours[observer.results[0]]).max() < SAME
    types = {e.tag for e in ElementTree.fromstring(zipfile.ZipFile(path).read("modelDescription.xml"))}
    assert "CoSimulation" in types and "ModelExchange" not in types


LAWS = {
    "walker": lambda arm: tp.Walker(arm, Lambda=2.0, gamma=3.0, Gamma_inv=1.0),
    "composite": lambda arm: tp.laws.CompositeAdaptation(arm, Lambda=2.0, K=3.0, Gamma_inv=1.0, adapt="base"),
    "natural": lambda arm: tp.laws.NaturalAdaptation(arm, Lambda=2.0, K=3.0, gamma=1.0),
    "pd": lambda arm: tp.PDGravity(arm, Kp=10.0, Kd=2.0),
}


@pytest.mark.parametrize("name", LAWS)
def test_other_laws_with_what_they_remember(arm, name, tmp_path):
    law = LAWS[name](arm)
    path = unit(tmp_path, law)
    result = fmpy.simulate_fmu(path, fmi_type="CoSimulation", stop_time=0.003, output_interval=0.001)
    state, still = law.first_state(), np.zeros((5, 2))
    for _ in range(3):
        _, state = law.step(state, *still, 0.001)
    tau = law.torque(*still, parameters=state.vector)
    assert np.abs(columns(result, "tau", arm.joint_names)[-1] - tau).max() < SAME
    assert fmpy.simulate_fmu(path, fmi_type="ModelExchange", stop_time=0.003)["tau.shoulder"].size


def test_a_tracker_and_an_estimator_of_a_fit(tmp_path):
    fit = friction_fit()
    for component in (fit.tracker(), fit.recursive_estimator()):
        path = unit(tmp_path, component)
        t = np.arange(50) / RATE
        x = [np.sin(5 * t[:, None] + k + np.array([0.0, 1.0])) for k, _ in enumerate(component.signals)]
        table = signals(t, **{p: (fit.robot.joint_names, v) for p, v in zip(component.signals, x, strict=True)})
        result = fmpy.simulate_fmu(path, stop_time=t[-1], output_interval=1 / RATE, input=table)
        ours = component.over(np.full(49, 1 / RATE), [v[:-1] for v in x])
        port = component.emitted_outputs()[0]
        theirs = np.stack([result[n] for n in result.dtype.names[1 : 1 + port.size]], axis=1)
        assert np.abs(theirs[1:] - ours[port.name]).max() < 1e-9  # a triangle's rotations in another order


# What is inside ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fmi", ["3.0", "2.0"])
def test_units_names_and_dependencies(arm, fmi, tmp_path):
    description = fmpy.read_model_description(unit(tmp_path, tp.RigidPlant(arm), fmi))
    by_name = {v.name: v for v in description.modelVariables}
    assert by_name["tau.elbow"].unit == "N.m" and by_name["q.elbow"].unit == "rad"
    assert by_name["der(qd.elbow)"].derivative is by_name["qd.elbow"]
    assert [u.variable.name for u in description.outputs] == [f"{p}.{j}" for p in ("q", "qd") for j in arm.joint_names]
    assert [d.variable.name for d in description.derivatives][:1] == ["der(q.shoulder)"]


def test_equal_units_are_equal_files_and_the_token_belongs_to_them(arm, tmp_path):
    law = tp.PDGravity(arm)
    first = emit_fmu(law, tmp_path / "a.fmu", name="law", binary=False).read_bytes()
    assert emit_fmu(law, tmp_path / "b.fmu", name="law", binary=False).read_bytes() == first
    other = emit_fmu(tp.PDGravity(arm, Kp=7.0), tmp_path / "c.fmu", name="law", binary=False)
    tokens = [fmpy.read_model_description(str(p)).instantiationToken for p in (tmp_path / "a.fmu", other)]
    assert tokens[0] != tokens[1]


@pytest.mark.parametrize("fmi", ["3.0", "2.0"])
def test_the_c_inside_compiles_without_a_warning(arm, fmi, tmp_path):
    driven = tp.laws.DrivenPlant(arm, tp.Drive(kp=9, kd=1))
    for subject in (
        driven,
        tp.RigidPlant(arm),
        tp.SlotineLi(arm, Lambda=1.0, K=1.0, Gamma_inv=1.0),
        tp.momentum_observer(arm),
    ):
        path = emit_fmu(subject, tmp_path / "u.fmu", fmi, binary=False, force=True)
        folder = tmp_path / "c"
        shutil.rmtree(folder, ignore_errors=True)
        zipfile.ZipFile(path).extractall(folder)
        sources = sorted((folder / "sources").glob("*.c"))
        flags = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fPIC", "-shared", "-o", folder / "u.so"]
        done = subprocess.run(
            [shutil.which("cc") or "gcc", *flags, *sources, "-lm"], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        assert not list(folder.glob("binaries/*"))


def renamed(arm, *names):
    joints = tuple(dataclasses.replace(j, name=name) for j, name in zip(arm.joints, names, strict=True))
    return dataclasses.replace(arm, name="*/ #error </x>", joints=joints)


@pytest.mark.parametrize("fmi", ["3.0", "2.0"])
def test_names_that_xml_or_c_forbid(arm, fmi, tmp_path):
    odd = renamed(arm, 'a<"&b\n*/ #error', "\x00\u2028??/ c" + "x" * 1000)
    path = emit_fmu(tp.RigidPlant(odd), tmp_path / "2 arms, & more.fmu", fmi)
    assert validation.validate_fmu(str(path)) == []
    description = fmpy.read_model_description(str(path))
    assert description.coSimulation.modelIdentifier == "unit_2_arms____more"
    assert 'q.a<"&b_*/ #error' in [v.name for v in description.modelVariables]
    with pytest.raises(TaupiError, match=r"Two variables would be called .*Rename the joints"):
        emit_fmu(tp.RigidPlant(renamed(arm, "a\nb", "a\tb")), tmp_path / "b.fmu", binary=False)


# What is refused --------------------------------------------------------------------------------------------------------


def test_bad_arguments_are_named(arm, tmp_path):
    plant = tp.RigidPlant(arm)
    with pytest.raises(TaupiError, match="subject is Robot, expected a plant, a control law"):
        emit_fmu(arm, tmp_path / "a.fmu")
    with pytest.raises(TaupiError, match=r"expected a name that ends in \.fmu"):
        emit_fmu(plant, tmp_path / "a.zip")
    with refused("fmi", got="1.0"):
        emit_fmu(plant, tmp_path / "a.fmu", fmi="1.0")
    with refused("step", got=0):
        emit_fmu(plant, tmp_path / "a.fmu", step=0)
    with pytest.raises(TaupiError, match="only a plant integrates by itself"):
        emit_fmu(tp.PDGravity(arm), tmp_path / "a.fmu", step=0.01)
    with pytest.raises(TaupiError, match="name is '', expected a word"):
        emit_fmu(plant, tmp_path / "a.fmu", name="")
    for setting in (dict(delay=0.01), dict(rate_limits=5.0), dict(payloads=[(1.0, tp.Payload(0.5))])):
        with pytest.raises(TaupiError, match=f"{next(iter(setting))} of the plant has no place in a unit"):
            emit_fmu(tp.RigidPlant(arm, **setting), tmp_path / "a.fmu")
    with pytest.raises(TaupiError, match="stiction of the plant has no place in a unit"):
        emit_fmu(tp.RigidPlant(arm, terms="coulomb", smoothing=0, stiction=True), tmp_path / "a.fmu")
    assert not list(tmp_path.iterdir())
    emit_fmu(plant, tmp_path / "a.fmu", binary=False)
    with pytest.raises(TaupiError, match="exists already"):
        emit_fmu(plant, tmp_path / "a.fmu", binary=False)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no program called false")
def test_a_missing_or_failing_compiler_is_named(arm, tmp_path, monkeypatch):
    plant = tp.RigidPlant(arm)
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(TaupiError, match=r"CC names the compiler 'no-such-compiler'.*binary=False"):
        emit_fmu(plant, tmp_path / "a.fmu")
    monkeypatch.setenv("CC", "false")
    with pytest.raises(TaupiError, match="false cannot compile the unit"):
        emit_fmu(plant, tmp_path / "a.fmu")
    monkeypatch.delenv("CC")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(TaupiError, match=r"No C compiler is installed \(tried cc, gcc, clang\)"):
        emit_fmu(plant, tmp_path / "a.fmu")
    assert emit_fmu(plant, tmp_path / "a.fmu", binary=False).exists()


def test_a_simulation_that_diverges_is_an_error(arm, tmp_path):
    path = unit(tmp_path, tp.RigidPlant(arm))
    start = {"qd.shoulder": 1e200}
    with pytest.raises(fmpy.fmi1.FMICallException, match="DoStep failed"):
        fmpy.simulate_fmu(path, fmi_type="CoSimulation", stop_time=1.0, output_interval=0.1, start_values=start)
