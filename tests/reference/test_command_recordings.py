"""Recordings of real robots without torque: how far simulated positions are off where nothing was fitted."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import numpy as np
import pytest

import taupi as tp

DATA = Path(os.environ.get("TAUPI_RECORDINGS") or Path(__file__).parents[3] / "shared" / "data") / "unitree_z1"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="the recordings are not here")


def z1() -> tuple[tp.Robot, tp.Log]:
    """Return the robot and its chirp; the torque that the file states is that of the law, and is left out."""
    robot = tp.load(DATA / "robot.urdf", lock=["jointGripper"])
    table = np.genfromtxt(DATA / "run.csv.gz", delimiter=",", names=True)
    q, qd, wanted = (
        np.stack([table[f"{kind}_{name}"] for name in robot.joint_names], axis=1) for kind in ("q", "qd", "qdes")
    )
    drive = tp.Drive(kp=(80, 120, 120, 80, 80, 80), kd=2.5)
    return robot, tp.Log(table["t"], q, qd=qd, qdes=wanted, names=robot.joint_names, drive=drive)


def test_z1_alternate_blocks() -> None:
    robot, log = z1()
    edges = np.linspace(0, len(log) - 1, 9).astype(int)
    blocks = [log.rows(slice(a, b + 1)) for a, b in itertools.pairwise(edges)]
    fit = tp.identify(robot, blocks[0::2])
    assert fit.verdict.level == "good"
    assert np.mean([fit.validate(block).position_error for block in blocks[1::2]]) < 2.7e-3  # mujoco.sysid: 9.8 mrad


def test_z1_second_half() -> None:
    robot, log = z1()
    half = len(log) // 2
    fit = tp.identify(robot, log.rows(slice(0, half)))
    assert np.mean(fit.validate(log.rows(slice(half, None))).position_error) < 3.8e-3
