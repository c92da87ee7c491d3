"""From commands and encoders to a model: ours beside mujoco.sysid, on the same halves and blocks of one recording.

Run by hand, since it needs the recording of a robot; its numbers are in from-commands.md, which `run.py` puts on the page.

    taskset -c 0 python benchmarks/from_commands.py ../shared/data/unitree_z1

Both fit on one part and are scored on the other: closed loops that are simulated from the commands alone, MAE and RMS of the
positions. Seconds are those of the process on one core. Needs the extra of mujoco that holds sysid.
"""

from __future__ import annotations

import itertools
import json
import sys
import time
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import taupi as tp

KP, KD = (80.0, 120.0, 120.0, 80.0, 80.0, 80.0), 2.5
LOCKED = "jointGripper"
ITERATIONS = 30  # of the peer: from the fourth on, its sum of squares falls by less than 1 % in all
BOUNDS = {
    "armature": (0.01, 0.001, 2.0),
    "damping": (0.5, 0.0, 20.0),
    "frictionloss": (0.5, 0.0, 20.0),
}  # start, least, most


def recording(folder: Path) -> tuple[tp.Robot, tp.Log]:
    """Return the robot and its log, with commands and without the torque that was computed from them."""
    robot = tp.Robot.from_urdf(folder / "robot.urdf", lock=[LOCKED])
    columns = {
        "time": "t",
        "q": "q_joint{i}",
        "qd": "qd_joint{i}",
        "qdes": "qdes_joint{i}",
        "drive": {"kp": KP, "kd": KD},
    }
    return robot, tp.read_log(folder / "run.csv.gz", robot, columns)


def spec_of(path: Path, joints: Sequence[str]) -> Any:
    """Return the description for MuJoCo: without shapes, with a PD actuator and a sensor for each joint, in steps of 1 ms."""
    import mujoco

    root = ET.parse(path).getroot()
    for link in root.findall("link"):
        for shape in (*link.findall("visual"), *link.findall("collision")):
            link.remove(shape)
    for joint in root.findall("joint"):
        if joint.get("name") == LOCKED:
            joint.set("type", "fixed")
    compiler = ET.SubElement(ET.SubElement(root, "mujoco"), "compiler")
    compiler.set("balanceinertia", "true")
    spec = mujoco.MjSpec.from_string(ET.tostring(root, encoding="unicode"))
    spec.option.timestep, spec.option.integrator = 0.001, mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    for name, kp in zip(joints, KP, strict=True):
        joint = spec.joint(name)
        joint.limited = 0
        actuator = spec.add_actuator(name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        actuator.gaintype, actuator.biastype = mujoco.mjtGain.mjGAIN_FIXED, mujoco.mjtBias.mjBIAS_AFFINE
        actuator.gainprm[0] = kp
        actuator.biasprm[:3] = (0.0, -kp, -KD)
        actuator.ctrllimited = actuator.forcelimited = 0
        spec.add_sensor(
            name=f"{name}_q", type=mujoco.mjtSensor.mjSENS_JOINTPOS, objname=name, objtype=mujoco.mjtObj.mjOBJ_JOINT
        )
    return spec


def peer(path: Path, train: Sequence[tp.Log], test: Sequence[tp.Log]) -> dict[str, Any]:
    """Return what mujoco.sysid finds, with the parameters of its own example: armature, damping and friction of each joint."""
    from mujoco import sysid

    names = train[0].names
    model = spec_of(path, names).compile()

    def sequences(logs: Sequence[tp.Log]) -> Any:
        begun, controls, measured = [], [], []
        for log in logs:
            times = log.time - log.time[0]
            qd = log.qd[0] if log.qd is not None else np.zeros(log.n)
            begun.append(np.asarray(sysid.create_initial_state(model, log.q[0], qd, np.zeros(0))))
            controls.append(sysid.TimeSeries(times, log.qdes))
            measured.append(sysid.TimeSeries.from_names(times, log.q, model))
        return sysid.ModelSequences(
            "z1", spec_of(path, names), [f"part{k}" for k in range(len(logs))], begun, controls, measured
        )

    params = sysid.ParameterDict()
    for joint in names:
        for what, (start, least, most) in BOUNDS.items():

            def write(spec: Any, parameter: Any, joint: str = joint, what: str = what) -> None:
                value = float(parameter.value[0])
                setattr(
                    spec.joint(joint), what, [value, 0.0, 0.0] if np.ndim(getattr(spec.joint(joint), what)) else value
                )

            params.add(sysid.Parameter(f"{joint}.{what}", start, least, most, modifier=write))
    residual = sysid.build_residual_fn(models_sequences=[sequences(train)], n_threads=1)
    began = time.process_time()
    found, result = sysid.optimize(params, residual, optimizer="mujoco", verbose=False, max_iters=ITERATIONS)
    seconds = time.process_time() - began
    left, _, _ = residual(found.as_vector(), found)
    _, half = sysid.calculate_intervals(left, np.asarray(result.jac))
    at_bounds = [
        name for name, value in zip(found.get_non_frozen_parameter_names(), found.as_vector(), strict=True)
        for _, least, most in [BOUNDS[name.split(".")[1].split("[")[0]]] if min(value - least, most - value) < 1e-6
    ]  # fmt: skip
    spec = spec_of(path, names)
    for parameter in found.values():
        parameter.apply_modifier(spec)
    errors = [simulated(spec.compile(), log) - log.q for log in test]
    return {
        "seconds": seconds, "values": dict(zip(found.get_non_frozen_parameter_names(), found.as_vector().tolist(), strict=True)),
        "half_widths": np.asarray(half).tolist(), "at_bounds": at_bounds, **scored(errors),
    }  # fmt: skip


def simulated(model: Any, log: tp.Log) -> np.ndarray:
    """Return the positions (N, n) that MuJoCo simulates from the first state of a log and its commands alone."""
    import mujoco

    data, step = mujoco.MjData(model), model.opt.timestep
    data.qpos[:], data.qvel[:] = log.q[0], 0.0 if log.qd is None else log.qd[0]
    times = np.arange(round(log.duration / step) + 1) * step
    sent = np.clip(np.searchsorted(log.time - log.time[0], times + 1e-9, side="right") - 1, 0, None)
    result = np.empty((len(times), log.n))
    for k, row in enumerate(sent):
        result[k] = data.qpos
        data.ctrl[:] = log.qdes[row]
        mujoco.mj_step(model, data)
    return np.column_stack([np.interp(log.time - log.time[0], times, column) for column in result.T])


def ours(robot: tp.Robot, train: Sequence[tp.Log], test: Sequence[tp.Log]) -> dict[str, Any]:
    """Return what taupi finds with its defaults."""
    began = time.process_time()
    fit = tp.identify(robot, list(train))
    seconds = time.process_time() - began
    errors = [fit.predict(log) - log.q for log in test]
    return {"seconds": seconds, "verdict": str(fit.verdict.level), **scored(errors)}


def scored(errors: Sequence[np.ndarray]) -> dict[str, float]:
    """Return the mean over joints of the mean absolute error, and the root mean square over all, in mrad."""
    joined = 1e3 * np.vstack(errors)
    return {"mae": float(np.abs(joined).mean()), "rms": float(np.sqrt((joined**2).mean()))}


def parts(log: tp.Log) -> dict[str, tuple[list[tp.Log], list[tp.Log]]]:
    """Return what is fitted and what is scored: the first and the second half, and alternate ones of eight blocks."""
    edges = np.linspace(0, len(log), 9).astype(int)
    blocks = [log.rows(slice(a, b)) for a, b in itertools.pairwise(edges)]
    half = len(log) // 2
    return {
        "halves": ([log.rows(slice(0, half))], [log.rows(slice(half, None))]),
        "blocks": (blocks[::2], blocks[1::2]),
    }


def main(folder: Path, only: str = "") -> None:
    """Print both results for each way to split the recording, as JSON."""
    robot, log = recording(folder)
    for name, (train, test) in parts(log).items():
        if only != "peer":
            print(json.dumps({"part": name, "tool": "taupi", **ours(robot, train, test)}))
        if only != "ours":
            print(json.dumps({"part": name, "tool": "mujoco.sysid", **peer(folder / "robot.urdf", train, test)}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:3])
