"""Simulation against what does not share its code: the lecture's vectors, Pinocchio, MuJoCo, a pendulum's period."""

import json
import warnings
import xml.etree.ElementTree as ET
from pathlib import Path

import mujoco
import numpy as np
import pinocchio as pin
import pytest
from scipy.special import ellipk
from support import SPEC, error

import taupi as tp

DATA = Path(__file__).parents[1] / "data"
CASES = {c["id"]: c for c in json.loads((DATA / "spec-dynamics-and-regressors.json").read_text())["cases"]}


def lecture():
    """The lecture's 2R with its held torques and tip forces; the forces are in the base's x and y."""
    case = CASES["lecture2R_simulation"]["inputs"]
    arm = tp.load("lecture2r").bind(**{k: case[k] for k in ("L1", "L2", "m1", "m2", "g")})
    wrench = np.zeros((case["N"], 6))
    wrench[:, 3:5] = case["f_tip_xy_on_environment"]
    tau, dt = np.array(case["tau"]), case["dt_tau"]
    plant = tp.RigidPlant(arm, wrench=wrench)
    options = {
        "duration": dt * (case["N"] - 1),
        "rate": 1 / dt,
        "initial": (case["theta0"], case["dtheta0"]),
    }
    return plant, lambda t, q, qd: tau[round(t / dt)], options, case


@pytest.mark.parametrize("traced", [True, False])
def test_the_lectures_euler(traced):
    plant, controller, options, case = lecture()
    if traced:  # the same torques as a program of time: held samples, chosen by comparison
        import casadi as cs

        tau, dt = case["tau"], case["dt_tau"]

        def body(t):
            return sum((cs.SX(row) * (cs.fabs(t / dt - k) < 0.5) for k, row in enumerate(tau)), cs.SX.zeros(2))

        controller = tp.program.trace("held", body, [tp.program.Port("t")], [tp.program.Port("tau", (2,))])
    run = tp.simulate(plant, controller, integrator="euler", substeps=case["n_res"], **options)
    rows = np.hstack([run.q, run.qd])
    assert error(rows, CASES["lecture2R_simulation"]["expected"]["euler_theta_dtheta_rows"]) < SPEC


@pytest.mark.parametrize("integrator", ["rk45", "dop853", "lsoda"])
def test_the_lectures_adaptive_reference(integrator):
    plant, controller, options, _ = lecture()
    run = tp.simulate(plant, controller, integrator=integrator, tolerance=1e-11, **options)
    rows = np.hstack([run.q, run.qd])
    # The reference itself was computed to 1e-10.
    assert error(rows, CASES["lecture2R_simulation"]["expected"]["adaptive_rk_reference_rows_tol1e_10"]) < 1e-9


def pinocchio_loop(model, q, qd, tau, dt, steps):
    """RK4 by hand over Pinocchio's articulated bodies, the torque held."""
    data = model.createData()

    def f(x):
        return np.concatenate([x[model.nq :], pin.aba(model, data, x[: model.nq], x[model.nq :], tau)])

    x = np.concatenate([q, qd])
    rows = [x]
    for _ in range(steps):
        k1 = f(x)
        k2 = f(x + dt / 2 * k1)
        k3 = f(x + dt / 2 * k2)
        k4 = f(x + dt * k3)
        x = x + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        rows.append(x)
    return np.array(rows)


def test_pinocchio_with_rk4_by_hand(robots_dir):
    path = robots_dir / "ur_description/urdf/ur5_robot.urdf"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = pin.buildModelFromUrdf(str(path))
    arm = tp.Robot.from_urdf(path, snap=False)
    rng = np.random.default_rng(3)
    q, qd, tau = rng.uniform(-1, 1, (3, 6))
    theirs = pinocchio_loop(model, q, qd, tau, 1e-3, 500)
    run = tp.simulate(tp.RigidPlant(arm), lambda t, q, qd: tau, duration=0.5, rate=1000, initial=(q, qd))
    assert error(np.hstack([run.q, run.qd]), theirs) < 1e-9


def test_mujoco_with_its_own_rk4(robots_dir):
    path = robots_dir / "ur_description/urdf/ur5_robot.urdf"
    root = ET.fromstring(path.read_text())
    for element in list(root):
        if element.tag not in ("link", "joint"):
            root.remove(element)
        for shape in element.findall("visual") + element.findall("collision"):
            element.remove(shape)
    ET.SubElement(ET.SubElement(root, "mujoco"), "compiler", {"fusestatic": "false"})
    model = mujoco.MjModel.from_xml_string(ET.tostring(root, encoding="unicode"))
    model.dof_damping[:] = model.dof_frictionloss[:] = model.dof_armature[:] = 0
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    model.opt.integrator, model.opt.timestep = mujoco.mjtIntegrator.mjINT_RK4, 1e-3
    arm = tp.Robot.from_urdf(path, snap=False)
    place = [mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, n) for n in arm.joint_names]
    q, qd = np.random.default_rng(4).uniform(-1, 1, (2, 6))
    data = mujoco.MjData(model)
    data.qpos[place], data.qvel[place] = q, qd
    rows = [np.concatenate([q, qd])]
    for _ in range(300):
        mujoco.mj_step(model, data)
        rows.append(np.concatenate([data.qpos[place], data.qvel[place]]))
    run = tp.simulate(tp.RigidPlant(arm), duration=0.3, rate=1000, initial=(q, qd))
    assert error(np.hstack([run.q, run.qd]), rows) < 1e-9


def test_the_period_of_a_pendulum():
    """T = 4 sqrt(l / g) K(sin^2(a / 2)) of a point mass let go at the angle a."""
    links = [{"m": 2, "com": (0, 0, 0), "inertia": np.zeros((3, 3)).tolist()}]
    arm = tp.Robot.from_dh([{"a": 0.7}], gravity=(0, "-9.81", 0), links=links)
    swing = 1.9
    period = 4 * np.sqrt(0.7 / 9.81) * ellipk(np.sin(swing / 2) ** 2)
    rest = -np.pi / 2  # it hangs along -y
    run = tp.simulate(tp.RigidPlant(arm), duration=period, rate=2000 / period, initial=[rest + swing])
    assert abs(run.time[-1] - period) < 1e-12
    assert error(run.q[-1], [rest + swing]) < 1e-9
    assert error(run.q[1000], [rest - swing]) < 1e-9
