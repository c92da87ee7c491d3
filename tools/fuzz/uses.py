"""What is done with files that were read: fits are shown and exported, pieces are solved, logs are checked, robots are drawn."""

from __future__ import annotations

import os
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import taupi as tp
from taupi.excitation.geometry.capsules import capsules_around, kept, plan_from_text
from taupi.excitation.geometry.meshes import read_triangles
from taupi.identification.online.contacts import ContactDetector
from taupi.identification.online.thresholds import read_thresholds
from taupi.identification.results.fit_file import load_torque_fit
from taupi.identification.rows.plan import Plan
from taupi.reporting.viewer.view import View
from taupi.signals.formats import lerobot

ARM = tp.load("elbow2r")
FLOATING = tp.load("elbow2r", floating=True)
SEEDS = Path(__file__).parents[2] / "tests/fuzz/seeds"
PLAN_OF_SEEDS = "the plan of the seeds"  # in place of a fingerprint, which changes with the version
_T = np.arange(300) / 100
_Q = np.stack([np.sin(3 * _T), 0.5 * np.cos(7 * _T)], axis=1)
LOG = tp.Log(_T, _Q, tau=5 * _Q, names=ARM.joint_names)


def turn(path: Path, kinds: int) -> int:
    """Return which of several uses this file is put to: always the same for the same bytes."""
    return path.stat().st_size % kinds


def beside(path: Path, name: str) -> Path:
    """Return the path of a file that is written beside another."""
    return path.with_name(name)


# Fits -----------------------------------------------------------------------------------------------------------------


def use_fit(path: Path) -> None:
    """Read a fit, and show it, hold it against a log, or export it."""
    fit = tp.load_fit(path)
    repr(fit)
    fit._repr_html_()
    fit.to_dict()
    kind = turn(path, 5)
    if kind == 0:
        tp.report(fit, beside(path, "page.html"), force=True)
    elif kind == 1 and isinstance(fit, tp.Fit):
        repr(tp.validate(fit, LOG))
    elif kind == 2:
        tp.export(fit, beside(path, "out.toml"), force=True)
    elif kind == 3:
        tp.write_fit(fit, beside(path, "again.json"), force=True)
    elif kind == 4 and isinstance(fit, tp.Fit) and not fit.robot.floating:
        with _seeds_are_of_any_version():
            repr(tp.identify_pieces(fit, [SEEDS / "combined/00"]))


@lru_cache(maxsize=1)
def _fit_of_pieces() -> tp.Fit:
    with tempfile.TemporaryDirectory() as folder:
        (file := Path(folder, "fit.json")).write_bytes((SEEDS / "fit/02").read_bytes())
        return load_torque_fit(file)


def _seeds_are_of_any_version() -> Any:
    return mock.patch.object(Plan, "fingerprint", PLAN_OF_SEEDS)


def combine(path: Path) -> None:
    """Solve for the parameters that a piece shows, alone or beside one that is sound, and show the fit."""
    pieces = [path, SEEDS / "combined/01"][: 1 + turn(path, 2)]
    with _seeds_are_of_any_version():
        fit = tp.identify_pieces(_fit_of_pieces(), pieces)
    repr(fit)
    if turn(path, 3) == 0:
        tp.report(fit, beside(path, "page.html"), force=True)
    if turn(path, 5) == 0:
        tp.write_fit(fit, beside(path, "again.json"), force=True)
        tp.load_fit(beside(path, "again.json"))


# What moves -----------------------------------------------------------------------------------------------------------


def floating_log(path: Path) -> None:
    """Read the log of a robot with a free base, look for faults, clean it, and now and then identify from it."""
    log = tp.read_log(path, FLOATING)
    repr(log)
    repr(tp.check_log(log, FLOATING))
    kind = turn(path, 8)
    if kind == 0:
        repr(tp.identify(FLOATING, log, "wls", cutoff_hz=8))
    elif kind == 1:
        tp.clean_log(log)
    elif kind == 2:
        tp.write_log(log, beside(path, "again.npz"), force=True)


def use_run(path: Path) -> None:
    """Read a run and write its page."""
    run = tp.Run.load(path)
    repr(run)
    if turn(path, 3) == 0:
        tp.report(run, beside(path, "page.html"), force=True)


def detect(path: Path) -> None:
    """Read thresholds, and look for contacts with them."""
    thresholds = read_thresholds(path, ARM)
    repr(thresholds)
    observer = tp.momentum_observer(ARM, thresholds.bandwidth_hz)
    repr(ContactDetector(observer, thresholds).contacts(LOG))


# What is seen ---------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def _server(process: int) -> Any:
    """Return the server of a view: one for all inputs of a process."""
    from viser import ViserServer

    return ViserServer(host="127.0.0.1", port=0, verbose=False)


def scene(path: Path) -> None:
    """Draw a robot with all that can be shown around it, at two configurations."""
    robot = tp.load(path)
    if robot.multiple_joints:
        return
    server = _server(os.getpid())
    server.scene.reset()
    server.gui.reset()
    page = View(server, robot, None)
    page.numbers()
    page._show_capsules(True)
    for handle in (page._torques, page._weights, page._felt):
        handle.visible = True
    page.show(np.full(robot.n, 0.3))


def mesh(path: Path) -> None:
    """Read a mesh, and enclose it in capsules; a search may take long, so it ends at once."""
    triangles = read_triangles(path)
    if len(triangles) and len(triangles) < 2000:
        capsules_around("a", triangles, late=lambda: True)


def plan(path: Path) -> None:
    """Read a plan of capsules, and cut a solid by it."""
    cube = np.array([[[x, y, z], [z, x, y], [y, z, 1.0]] for x in (0.0, 1) for y in (0.0, 1) for z in (0.0, 1)])
    for cuts, _ in plan_from_text(path.read_text(encoding="utf-8", errors="replace")) or ():
        part = cube
        for cut in cuts:
            part = kept(part, cut)


# What belongs to logs -------------------------------------------------------------------------------------------------


def calibration(path: Path) -> None:
    """Turn shares of ranges into radians by a calibration."""
    names = ("observation.state.shoulder.pos", "observation.state.gripper.pos")
    lerobot._in_radians({name: np.array([0.0, 50.0, 100.0]) for name in names}, str(path))
