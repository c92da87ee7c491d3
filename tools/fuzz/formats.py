"""The readers that are fuzzed: how a file of each format is named and read, and how its packed content is changed."""

from __future__ import annotations

import contextlib
import gzip
import importlib
import io
import random
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import taupi as tp
from fuzz.mutator import mutated
from taupi.bridges.mujoco.edited_mjcf import MjcfFile
from taupi.cli.commands.fleet import _logs as logs_of_arms
from taupi.excitation.geometry.capsules.stored import plan_from_text
from taupi.excitation.geometry.meshes.read import read_triangles
from taupi.excitation.geometry.srdf import disabled_pairs
from taupi.excitation.geometry.watched import _capsules as stated_capsules
from taupi.excitation.limits.motion_limits import motion_limits
from taupi.identification.online.thresholds_file import read_thresholds
from taupi.identification.physical.bounds import Bounds
from taupi.identification.rows.piece_file import read_piece
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
    if path.stat().st_size % 4:
        log = tp.read_log(path)
        repr(log)
        log._repr_html_()
    else:
        repr(read_table(path).widths)


def _streamed(path: Path) -> None:
    """Read a log in one of three ways: at once, its columns, or in blocks."""
    if path.stat().st_size % 3:
        _log(path)
    else:
        for block in log_blocks(path, size=16):
            assert len(block) <= 16


def _fit(path: Path) -> None:
    fit = tp.load_fit(path)
    repr(fit)
    fit.to_dict()


def _run(path: Path) -> None:
    repr(tp.Run.load(path))


def _formula(path: Path) -> None:
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines()[:20]:
        for read in (exact, lambda text: check_known_torque("known_torque", [text])):
            with contextlib.suppress(tp.TaupiError):
                read(line)


# Imported here once, for all workers: readers import them when they are first needed.
for _name in (
    "mujoco",
    "pyarrow.csv",
    "pyarrow.parquet",
    "rosbags.highlevel",
    "sympy",
    "taupi.signals.formats.parquet",
):
    importlib.import_module(_name)
ARM = tp.load("elbow2r")
FLOATING = tp.load("elbow2r", floating=True)
SEEDS = Path(__file__).parents[2] / "tests/fuzz/seeds"
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


def _plan(path: Path) -> None:
    plan_from_text(path.read_text(encoding="utf-8", errors="replace"))


@lru_cache(maxsize=1)
def _robot_of_the_seed() -> tp.Robot:
    with tempfile.TemporaryDirectory() as folder:
        (file := Path(folder, "arm.xml")).write_bytes((SEEDS / "mjcf/00").read_bytes())
        return tp.load(file)


def _edited(path: Path) -> None:
    """Read another tool's model into which a fit would be written."""
    MjcfFile.read(path, _robot_of_the_seed())


def _thresholds(path: Path) -> None:
    repr(read_thresholds(path, ARM))


# Changes inside of what is packed --------------------------------------------------------------------------------------


def inside_gzip(seed: bytes, others: Sequence[bytes], rng: random.Random) -> bytes:
    """Change the text and pack it again, or change the packed bytes."""
    if rng.random() < 0.3:
        return mutated(seed, others, rng)
    return gzip.compress(mutated(gzip.decompress(seed), [gzip.decompress(o) for o in others], rng), 1, mtime=0)


def inside_zip(seed: bytes, others: Sequence[bytes], rng: random.Random) -> bytes:
    """Change one member of an archive, or the bytes of the archive."""
    if rng.random() < 0.4:
        return mutated(seed, others, rng)
    with zipfile.ZipFile(io.BytesIO(seed)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    chosen = rng.choice(list(members))
    members[chosen] = mutated(members[chosen], list(members.values()), rng)
    if rng.random() < 0.1:
        members[chosen + rng.choice(("", "x", "/", "\\", ".npy", "é"))] = members.pop(chosen)
    stream, packing = io.BytesIO(), rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
    with zipfile.ZipFile(stream, "w") as archive:
        for name, data in members.items():  # each with the same date: with only a name, a member gets the current time
            archive.writestr(zipfile.ZipInfo(name), data, packing, 1)
    return stream.getvalue()


def inside_mat(seed: bytes, others: Sequence[bytes], rng: random.Random) -> bytes:
    """Change the bytes of a MATLAB file, and now and then pack its elements as MATLAB does."""
    data = mutated(seed, others, rng)
    if rng.random() < 0.7 or len(data) < 136:
        return data
    packed = zlib.compress(data[128:], 1)
    return data[:128] + struct.pack("<II", 15, len(packed)) + packed


FORMATS: dict[str, Format] = {
    "urdf": Format("robot.urdf", _robot, share=4),
    "toml": Format("robot.toml", _robot, share=4),
    "mjcf": Format("robot.xml", _robot, share=3),
    "mapping": Format("map.toml", Columns.of, share=3),
    "mapped": Format("map.toml", _mapped, share=3),
    "limits": Format("limits.toml", _limits),
    "capsules": Format("capsules.toml", _capsules),
    "bounds": Format("bounds.toml", Bounds.of),
    "srdf": Format("pairs.srdf", disabled_pairs),
    "formula": Format("formulas.txt", _formula, share=1),
    "csv": Format("log.csv", _streamed, share=4),
    "csv.gz": Format("log.csv.gz", _streamed, inside_gzip),
    "npz": Format("log.npz", _streamed, inside_zip, share=4),
    "mat": Format("log.mat", _log, inside_mat, share=4),
    "parquet": Format("log.parquet", _streamed, share=4),
    "bag": Format("log.bag", _log),
    "mcap": Format("log.mcap", _log),
    "db3": Format("log.db3", _log, share=1),
    "fit": Format("fit.json", _fit, share=2),
    "piece": Format("a.piece", _piece, inside_zip),
    "arms": Format("arms.toml", _arms, share=1),
    "plan": Format("plan.json", _plan, share=1),
    "edited": Format("theirs.xml", _edited, share=2),
    "thresholds": Format("thresholds.json", _thresholds, share=1),
    "run": Format("run.parquet", _run, share=2),
    "stl": Format("mesh.stl", read_triangles, share=1),
    "obj": Format("mesh.obj", read_triangles, share=1),
}
