"""The same quantities from the libraries that people use today, each called the way its users call it."""

from __future__ import annotations

import sysconfig
import warnings
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pinocchio as pin

ROBOTS = Path(sysconfig.get_path("purelib")) / "cmeel.prefix" / "share" / "example-robot-data" / "robots"
ARMS = {
    "Panda": (ROBOTS / "panda_description/urdf/panda.urdf", ["panda_finger_joint1"]),
    "UR10": (ROBOTS / "ur_description/urdf/ur10_robot.urdf", []),
}


def pinocchio_model(path: Path, lock: list[str]) -> pin.Model:
    """Return the arm in Pinocchio, with the gripper locked as ours is."""
    full = pin.buildModelFromUrdf(str(path))
    fixed = [i for i, n in enumerate(full.names) if i and ("finger" in n or n in lock)]
    return pin.buildReducedModel(full, fixed, pin.neutral(full)) if fixed else full


def pinocchio_calls(model: pin.Model) -> dict[str, Callable[..., Any]]:
    """Return one-sample calls of Y, Y_r, tau and M."""
    data = model.createData()
    y, zero = pin.computeJointTorqueRegressor, np.zeros(model.nv)

    def slotine_li(q: Any, v: Any, r: Any, a: Any) -> Any:
        """Three classical regressors: the identity that users have to apply themselves."""
        moving = y(model, data, q, (v + r) / 2, a).copy() - y(model, data, q, (v - r) / 2, zero)
        return moving + y(model, data, q, zero, zero)

    return {
        "Y": lambda q, v, a: y(model, data, q, v, a),
        "Y_r": slotine_li,
        "tau": lambda q, v, a: pin.rnea(model, data, q, v, a),
        "M": lambda q: pin.crba(model, data, q),
    }


def has_figaroh() -> bool:
    """Return whether FIGAROH is installed."""
    import importlib.util

    return importlib.util.find_spec("figaroh") is not None


def figaroh_stack(model: pin.Model) -> Callable[..., Any] | None:
    """Return FIGAROH's builder of the stacked matrix, or None where it is not installed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from figaroh.tools.regressor import build_regressor_basic
    except ImportError:
        return None
    robot = SimpleNamespace(model=model, data=model.createData())
    settings = {"is_joint_torques": True, "act_idxv": range(model.nv)}
    return lambda q, v, a: build_regressor_basic(robot, q, v, a, settings)


def idyntree_regressor(path: Path, joints: list[str]) -> Callable[..., Any] | None:
    """Return a one-sample call of iDynTree's regressor (6 + n rows), or None where it cannot be had."""
    try:
        import idyntree.swig as idt
    except ImportError:
        return None
    loader = idt.ModelLoader()
    if not loader.loadReducedModelFromFile(str(path), joints):
        return None
    kin = idt.KinDynComputations()
    kin.loadRobotModel(loader.model())
    n = kin.model().getNrOfDOFs()
    regressor = idt.MatrixDynSize(6 + n, 10 * kin.model().getNrOfLinks())
    gravity = np.array([0.0, 0.0, -9.81])
    rest = np.zeros(6)

    def call(q: Any, v: Any, a: Any) -> Any:
        kin.setRobotState(q, v, gravity)
        kin.inverseDynamicsInertialParametersRegressor(rest, a, regressor)
        return regressor

    return call


def casadi_calls(program: Any, batch: int) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return CasADi's own evaluation of the same trace: one sample per call, and mapped over a batch (columns)."""
    function = program._numeric
    return function, function.map(batch)


def mujoco_rollouts(path: Path, lock: list[str], batch: int, steps: int) -> Callable[[int], Any] | None:
    """Return MuJoCo's own threaded roll-outs of an arm without contacts, RK4 at 1 kHz, by the number of threads.

    It returns the states (batch, steps, ...) of arms that fall from different positions; None where MuJoCo is not installed.
    """
    from xml.etree import ElementTree

    try:
        import mujoco
        from mujoco import rollout
    except ImportError:
        return None
    tree = ElementTree.parse(path)
    for parent in list(tree.iter()):
        for child in list(parent):
            if child.tag in ("visual", "collision", "transmission", "gazebo"):
                parent.remove(child)
            elif child.tag == "joint" and ("finger" in child.get("name", "") or child.get("name") in lock):
                child.set("type", "fixed")
    settings = ElementTree.SubElement(ElementTree.SubElement(tree.getroot(), "mujoco"), "compiler")
    settings.set("balanceinertia", "true")
    model = mujoco.MjModel.from_xml_string(ElementTree.tostring(tree.getroot(), encoding="unicode"))
    model.opt.timestep, model.opt.integrator = 1e-3, mujoco.mjtIntegrator.mjINT_RK4
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_LIMIT
    model.dof_damping[:], model.dof_frictionloss[:], model.dof_armature[:] = 0.0, 0.0, 0.0
    data = [mujoco.MjData(model) for _ in range(16)]
    kind = mujoco.mjtState.mjSTATE_FULLPHYSICS
    initial = np.zeros((batch, mujoco.mj_stateSize(model, kind)))
    initial[:, 1 : 1 + model.nq] = np.random.default_rng(0).uniform(-1, 1, (batch, model.nq))

    def run(threads: int) -> Any:
        with rollout.Rollout(nthread=0 if threads == 1 else threads) as pool:
            return pool.rollout(model, data[: max(threads, 1)], initial, nstep=steps)

    return run
