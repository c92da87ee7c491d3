"""Logs with mistakes in them, as people make them, and how the public recordings are read."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import taupi as tp
from taupi.identification.friction.dry_friction import transmitted
from taupi.signals.log import Log

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("TAUPI_RECORDINGS") or ROOT.parent / "shared" / "data")


@dataclass(frozen=True, eq=False)
class Case:
    """A robot, its logs, and how they are fitted."""

    name: str
    robot: tp.Robot
    logs: tuple[Log, ...]
    settings: dict[str, Any] = field(default_factory=dict)
    joint: int = (
        1  # at which mistakes of one joint are made: not one about the vertical, of which an offset changes no torque
    )

    def identify(self) -> tp.Fit:
        """Return the fit with default settings."""
        return tp.identify(self.robot, list(self.logs), **self.settings)

    def changed(self, change: Callable[[Log], Log]) -> Case:
        """Return the case with every log changed."""
        return replace(self, logs=tuple(change(log) for log in self.logs))


# Mistakes in logs ------------------------------------------------------------------------------------------------------

MOTION = ("q", "qd", "qdd")


def on(log: Log, signals: tuple[str, ...], change: Callable[[np.ndarray], np.ndarray]) -> Log:
    """Return a log with some of its signals changed."""
    return log.with_(**{name: change(value) for name, value in log.signals.items() if name in signals})


def degrees(log: Log) -> Log:
    turning = np.array([unit == "rad" for unit in log.units])
    return on(log, MOTION, lambda v: np.where(turning, np.degrees(v), v))


def milliseconds(log: Log, factor: float = 1e3) -> Log:
    return log.with_(time=log.time * factor)


def swapped(log: Log, i: int, j: int, signals: tuple[str, ...] = (*MOTION, "tau")) -> Log:
    order = list(range(log.n))
    order[i], order[j] = j, i
    return on(log, signals, lambda v: v[:, order])


def flipped(log: Log, j: int, signals: tuple[str, ...]) -> Log:
    signs = np.ones(log.n)
    signs[j] = -1
    return on(log, signals, lambda v: v * signs)


def scaled(log: Log, j: int, factor: float) -> Log:
    factors = np.ones(log.n)
    factors[j] = factor
    return on(log, ("tau",), lambda v: v * factors)


def offset(log: Log, j: int, by: float) -> Log:
    return on(log, ("q",), lambda v: v + by * (np.arange(log.n) == j))


def wrapped(log: Log, j: int) -> Log:
    """Return a log whose angle jumps by a turn in the middle of its range."""
    turn = np.arange(log.n) == j
    middle = np.median(log.q[:, j])
    return on(log, ("q",), lambda v: np.where(turn, (v - middle) % (2 * np.pi) + middle - np.pi, v))


def spiked(log: Log, j: int, by: float = 1e6) -> Log:
    row = len(log) // 2
    return on(log, ("tau",), lambda v: v + by * np.outer(np.arange(len(v)) == row, np.arange(log.n) == j))


def clipped(log: Log, share: float = 0.6) -> Log:
    """Return a log whose torques stop at a share of their largest value."""
    return on(log, ("tau",), lambda v: np.clip(v, share * v.min(axis=0), share * v.max(axis=0)))


def delayed(log: Log, seconds: float) -> Log:
    at = np.clip(log.time - seconds, log.time[0], None)
    return on(log, ("tau",), lambda v: np.stack([np.interp(at, log.time, c) for c in v.T], axis=1))


def dropped(log: Log) -> Log:
    """Return a log without 25 stretches of 6 to 13 samples, whose time stamps go on evenly."""
    rng, kept = np.random.default_rng(0), np.ones(len(log), dtype=bool)
    for k in rng.integers(len(log) // 20, len(log) - len(log) // 20, 25):
        kept[k : k + rng.integers(6, 14)] = False
    left = log.rows(kept)
    return left.with_(time=log.time[: len(left)])


def repeated_stamps(log: Log) -> Log:
    """Return a log in which every fifth time stamp repeats the one before."""
    time = log.time.copy()
    time[1::5] = time[0::5][: len(time[1::5])]
    return log.with_(time=time)


def noise(log: Log) -> Log:
    rng = np.random.default_rng(0)
    return on(log, ("tau",), lambda v: rng.normal(size=v.shape) * v.std(axis=0))


# Cases with mistakes in them -------------------------------------------------------------------------------------------


def without_gravity(case: Case) -> Case:
    """Return a case whose torques lack the gravity of its fit, as with a controller that subtracts it."""
    fit = case.identify()
    linear, values = fit.basis.linear, fit.values
    gravity = transmitted(linear)

    def change(log: Log) -> Log:
        still = np.asarray(linear.regressor()(log.q, 0 * log.q, 0 * log.q))[:, :, gravity]
        return log.with_(tau=log.tau - still @ values[: linear.count][gravity])

    return case.changed(change)


def with_another(case: Case, other: Case) -> Case:
    """Return a case with a log of another robot among its own."""
    log = other.logs[0]
    return replace(case, logs=(*case.logs, Log(log.time, log.q, tau=log.tau, names=case.logs[0].names)))


def described_by(case: Case, robot: tp.Robot) -> Case:
    """Return a case with the description of another robot."""
    logs = tuple(Log(log.time, log.q, tau=log.tau, names=robot.joint_names) for log in case.logs)
    return replace(case, robot=robot, logs=logs, settings={})


# Recordings --------------------------------------------------------------------------------------------------------------


@cache
def mappings() -> dict[str, dict[str, Any]]:
    """Return the mappings of docs/howto/recordings.md, by name."""
    import tomllib

    page = (ROOT / "docs" / "howto" / "recordings.md").read_text(encoding="utf-8")
    blocks = re.findall(r'^```toml title="([\w.]+)"\n(.*?)^```', page, re.MULTILINE | re.DOTALL)
    return {name.removesuffix(".toml"): tomllib.loads(text) for name, text in blocks}


def read(folder: str, files: list[str], robot: tp.Robot, columns: Any) -> tuple[Log, ...]:
    return tuple(tp.read_log(DATA / folder / f"{name}.csv.gz", robot, columns=columns) for name in files)


def ur10e() -> Case:
    robot = tp.load(DATA / "ur10e" / "ur10e.urdf")
    return Case("UR10e", robot, read("ur10e", ["exc_30s_12harm"], robot, mappings()["ur10e"]))


def ur10e_two() -> Case:
    robot = tp.load(DATA / "ur10e" / "ur10e.urdf")
    files = ["exc_50s_12harm", "exc_50s_14harm_unloaded"]
    return Case("UR10e, two runs", robot, read("ur10e", files, robot, mappings()["ur10e"]))


def xmate() -> Case:
    robot = tp.load(DATA / "xmate7p" / "XM7p.urdf")
    return Case("xMate 7", robot, read("xmate7p", ["traj_1", "traj_3"], robot, mappings()["xmate"]))


def tx40() -> Case:
    robot = tp.load(DATA / "tx40" / "tx40_mdh.urdf")
    mapping = mappings()["tx40"]
    return Case("TX40", robot, read("tx40", ["exc"], robot, mapping), {"columns": mapping})


def tiago() -> Case:
    robot = tp.load(DATA / "tiago" / "tiago_torso_arm.urdf")
    (log,) = read("tiago", ["exc"], robot, mappings()["tiago"])
    return Case("TIAGo", robot, (log.rows(slice(921, 6791)),), joint=2)


def lbr_med7() -> Case:
    robot = tp.load(DATA / "lbr_med7" / "robot.urdf")
    return Case("LBR Med 7", robot, read("lbr_med7", ["fit_0_70s"], robot, None))


def schunk() -> Case:
    robot = tp.load(DATA / "schunk_lwa4p_tum" / "robot.urdf")
    files = sorted(path.name.removesuffix(".csv.gz") for path in (DATA / "schunk_lwa4p_tum" / "fit").iterdir())
    return Case("Schunk LWA-4P", robot, read("schunk_lwa4p_tum/fit", files[::4], robot, None))


def double_pendulum() -> Case:
    robot = tp.load(DATA / "dfki_double_pendulum_A0" / "robot.urdf")
    files = [f"run_0{k}" for k in range(6)]
    return Case("double pendulum", robot, read("dfki_double_pendulum_A0", files, robot, None))


def dvrk_model() -> dict[str, Any]:
    """Return what is known of the master arm: the table of its tree, its spring, the torque of its cables."""
    model: dict[str, Any] = json.loads((DATA / "dvrk_mtm" / "model_tree_dh.json").read_text())
    return model


def dvrk_robot() -> tp.Robot:
    """Return the master arm in its motors' coordinates: a tree in which a parallelogram's rods are joints that others drive."""
    body = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
    parts, rows = ['<link name="base"/>'], {}
    for f in dvrk_model()["frames"]:
        name, alpha = f["name"], f["alpha"]
        y, z = -np.sin(alpha) * f["d"], np.cos(alpha) * f["d"]
        parts.append(
            f'<link name="{name}_before"/><joint name="{name}_fixed" type="fixed"><parent link="{f["parent"]}"/>'
            f'<child link="{name}_before"/><origin xyz="{f["a"]} {y:.12g} {z:.12g}" rpy="{alpha} 0 0"/></joint>'
            f'<link name="{name}">{body}</link><joint name="{name}" type="continuous"><parent link="{name}_before"/>'
            f'<child link="{name}"/><origin rpy="0 0 {f["theta_offset"]}"/><axis xyz="0 0 1"/></joint>'
        )
        rows[name] = [str(f["theta_coeffs"].get(f"q{k}", 0)) for k in range(1, 8)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "mtm.urdf")
        path.write_text(f'<robot name="mtm">{"".join(parts)}</robot>')
        tree = tp.load(path)
    return tree.with_coupling([rows[j.name] for j in tree.joints])


def dvrk_log(run: str) -> Log:
    """Return a run of the master arm without the torque of its cables."""
    log = tp.read_log(DATA / "dvrk_mtm" / f"traj_{run}.csv.gz", rate_hz=200)
    table = dvrk_model()["cable_torque_joint4"]
    c = np.polyval(table["poly_high_to_low"], 0.6697 * log.q[:, 1] - 0.6697 * log.q[:, 2] + log.q[:, 3])
    return log.with_(tau=log.tau - c[:, None] * [0, 0.6697, -0.6697, 1, 0, 0, 0])


def dvrk() -> Case:
    coil = dvrk_model()["spring"]
    lever = (coil["r_s"], coil["h_s"], coil["l_r"], np.radians(coil["q_o_deg"]))
    spring = tp.terms.Along("coil", tp.terms.Spring(lever), (0, 0, 0, 0, 1, 0, 0))
    terms = ("rotor", "viscous", "coulomb", "offset", "load", "curve", spring)
    return Case("dVRK master", dvrk_robot(), (dvrk_log("one"),), {"terms": terms})


def rokae() -> Case:
    robot = tp.load(DATA / "rokae_ar5" / "robot_mounted.urdf")
    return Case("Rokae AR5", robot, read("rokae_ar5", ["fit_0_42s"], robot, None))


def lwr4() -> Case:
    robot = tp.load(DATA / "lwr4" / "kuka_lwr4_apriori.urdf")
    return Case("LWR4+", robot, read("lwr4", ["measurements_1", "measurements_2"], robot, None))


def krang() -> Case:
    robot = tp.load(DATA / "krang_schunk_lwa3_arm" / "robot.urdf")
    return Case("Schunk LWA3", robot, read("krang_schunk_lwa3_arm", ["fit_train"], robot, None))


RECORDINGS: dict[str, Callable[[], Case]] = {
    f.__name__: f
    for f in (ur10e, ur10e_two, xmate, tx40, tiago, lbr_med7, schunk, double_pendulum, dvrk, rokae, lwr4, krang)
}
# Whose logs and whose description are taken for another's by mistake: a robot with as many joints.
OTHERS = {
    "ur10e": "schunk",
    "ur10e_two": "schunk",
    "xmate": "rokae",
    "lbr_med7": "xmate",
    "schunk": "ur10e",
    "rokae": "lwr4",
    "lwr4": "rokae",
    "krang": "xmate",
}
