"""The readers that are fuzzed: how a file of each format is named, read and used, and how its packed content is changed."""

from __future__ import annotations

import contextlib
import importlib
import json
import random
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import taupi as tp
from fuzz import uses
from fuzz.mutator import mutated
from fuzz.structure import inside_arrays, inside_gzip, inside_json, inside_mat, inside_table, inside_xml, inside_zip
from fuzz.uses import ARM, FLOATING, SEEDS
from taupi.bridges.mujoco.edited_mjcf import MjcfFile
from taupi.cli.commands.fleet import _logs as logs_of_arms
from taupi.excitation.geometry.watched import _capsules as stated_capsules
from taupi.excitation.geometry.watched import disabled_pairs
from taupi.excitation.limits.motion_limits import motion_limits
from taupi.identification.cluster.client import check_scheduler_file
from taupi.identification.physical.link_bounds import LinkBounds
from taupi.identification.rows.pieces import read_piece
from taupi.model.formats.toml import reads
from taupi.model.formats.toml_writer import writes
from taupi.model.scalars import exact
from taupi.signals.known_torque import check_known_torque
from taupi.signals.mapping.columns import Columns
from taupi.signals.read import log_blocks, read_table

Change = Callable[[bytes, Sequence[bytes], random.Random], bytes]


@dataclass(frozen=True)
class Format:
    """A format: the name of its files, how one is read, how its bytes are changed, and its share of all inputs."""

    file: str
    read: Callable[[Path], object]
    change: Change = mutated
    share: int = 2


def _robot(path: Path) -> None:
    robot = tp.load(path)
    repr(robot)
    robot._repr_html_()
    if path.suffix == ".toml":
        assert reads(writes(robot)).fingerprint == robot.fingerprint


def _log(path: Path) -> None:
    way = path.stat().st_size % 8
    if way == 0:
        repr(read_table(path).widths)
    elif way == 4:
        json.dumps(tp.signals.suggest_mapping(path).to_dict(), allow_nan=False)
    else:
        log = tp.read_log(path)
        repr(log)
        log._repr_html_()


def _streamed(path: Path) -> None:
    """Read a log in one of four ways: at once, its columns, what they seem to hold, or in blocks."""
    if path.stat().st_size % 3:
        _log(path)
    else:
        for block in log_blocks(path, size=16):
            assert len(block) <= 16


def _lerobot(path: Path) -> None:
    """Read the description of a data set beside a table of its own, which the mapped log's folder keeps."""
    folder = path.parent / "set"
    for file, target in (
        (path, folder / "meta/info.json"),
        (SEEDS.parent / "lerobot.parquet", folder / "data/a/0.parquet"),
    ):
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(file.read_bytes())
    repr(tp.read_log(folder))


def _formula(path: Path) -> None:
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines()[:20]:
        for read in (exact, lambda text: check_known_torque("known_torque", [text])):
            with contextlib.suppress(tp.TaupiError):
                read(line)


# Imported here once, for all workers: readers import them when they are first needed.
for _name in (
    "h5py",
    "matplotlib",
    "mujoco",
    "pxr.Usd",
    "pyarrow.csv",
    "pyarrow.parquet",
    "rosbags.highlevel",
    "sympy",
    "taupi.signals.formats.parquet",
    "viser",
):
    importlib.import_module(_name)
# Columns of every kind, for mappings that are changed.
MAPPED_LOG = SEEDS.parent / "mapped.npz"


def _limits(path: Path) -> None:
    motion_limits(ARM, path)


def _capsules(path: Path) -> None:
    stated_capsules(ARM, path, ())


def _mapped(path: Path) -> None:
    repr(tp.read_log(MAPPED_LOG, FLOATING, columns=path))


def _piece(path: Path) -> None:
    read_piece(path.read_bytes(), path.name)


def _arms(path: Path) -> None:
    logs_of_arms(path, None)


@lru_cache(maxsize=1)
def _robot_of_the_seed() -> tp.Robot:
    with tempfile.TemporaryDirectory() as folder:
        (file := Path(folder, "arm.xml")).write_bytes((SEEDS / "mjcf/00").read_bytes())
        return tp.load(file)


def _edited(path: Path) -> None:
    """Read another tool's model into which a fit would be written."""
    MjcfFile.read(path, _robot_of_the_seed())


FORMATS: dict[str, Format] = {
    "urdf": Format("robot.urdf", _robot, share=4),
    "toml": Format("robot.toml", _robot, share=4),
    "mjcf": Format("robot.xml", _robot, share=3),
    "sdf": Format("robot.sdf", _robot),
    "usd": Format("robot.usda", _robot, share=1),
    "mapping": Format("map.toml", Columns.of, share=3),
    "mapped": Format("map.toml", _mapped, share=3),
    "limits": Format("limits.toml", _limits),
    "capsules": Format("capsules.toml", _capsules),
    "bounds": Format("bounds.toml", LinkBounds.of),
    "srdf": Format("pairs.srdf", disabled_pairs),
    "formula": Format("formulas.txt", _formula, share=1),
    "csv": Format("log.csv", _streamed, share=4),
    "csv.gz": Format("log.csv.gz", _streamed, inside_gzip),
    "npz": Format("log.npz", _streamed, inside_zip, share=4),
    "mat": Format("log.mat", _log, inside_mat, share=4),
    "parquet": Format("log.parquet", _streamed, share=4),
    "bag": Format("log.bag", _log),
    "mcap": Format("log.mcap", _log),
    "foxglove": Format("log.mcap", _streamed, share=1),
    "ulog": Format("log.ulg", _streamed, share=1),
    "hdf5": Format("log.h5", _streamed, share=1),
    "lerobot": Format("info.json", _lerobot, share=1),
    "db3": Format("log.db3", _log, share=1),
    "fit": Format("fit.json", uses.use_fit, inside_json, share=3),
    "piece": Format("a.piece", _piece, inside_zip),
    "combined": Format("a.piece", uses.combine, inside_arrays),
    "floating": Format("log.npz", uses.floating_log, inside_arrays),
    "scene": Format("robot.urdf", uses.scene, inside_xml),
    "calibration": Format("calibration.json", uses.calibration, inside_json, share=1),
    "scheduler": Format("scheduler.json", check_scheduler_file, inside_json, share=1),
    "arms": Format("arms.toml", _arms, share=1),
    "plan": Format("plan.json", uses.plan, inside_json, share=1),
    "edited": Format("theirs.xml", _edited, share=2),
    "thresholds": Format("thresholds.json", uses.detect, inside_json),
    "run": Format("run.parquet", uses.use_run, inside_table),
    "stl": Format("mesh.stl", uses.mesh, share=1),
    "obj": Format("mesh.obj", uses.mesh, share=1),
}
