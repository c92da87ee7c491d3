"""What stand-ins are made of: robots, motions, simulated runs and files."""

from __future__ import annotations

import gzip
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import taupi as tp

# How wrong the descriptions are: every mass and inertia by so much.
WRONG = 1.3
# Dry friction sets in over so many rad/s (m/s), so that a cutoff below a file's rate can show it.
SMOOTH = 0.05


@dataclass(frozen=True, eq=False)
class Recording:
    """A file, what it shows, and the truth: time (N,), q and noiseless tau (N, n), and the noise's standard deviation (n,)."""

    path: Path
    time: np.ndarray
    q: np.ndarray
    tau: np.ndarray
    sigma: np.ndarray

    @property
    def floor(self) -> float:
        """What no model can explain: the noise's share of the torque, ||sigma|| / ||tau||, over all joints."""
        return float(np.sqrt(len(self.tau) * np.sum(self.sigma**2)) / np.linalg.norm(self.tau))


@dataclass(frozen=True, eq=False)
class Standin:
    """A folder with files as a user has them, the true robot, and its recordings by name."""

    folder: Path
    robot: tp.Robot
    recordings: Mapping[str, Recording] = field(default_factory=dict)

    @property
    def description(self) -> Path:
        """The description that a user has."""
        return next(p for p in sorted(self.folder.iterdir()) if p.name.startswith("robot."))

    @property
    def columns(self) -> Path:
        """The column mapping."""
        return self.folder / "columns.toml"

    def path(self, name: str) -> Path:
        """Return the file of a recording."""
        return self.recordings[name].path


# Robots ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Body:
    """A joint and the link that it moves: where (m, rad), about or along which axis, and the link's mass."""

    joint: str
    place: str
    turned: str = "0 0 0"
    axis: str = "0 0 1"
    mass: float = 2.0
    com: tuple[float, float, float] = (0.02, 0.01, 0.15)
    kind: str = "revolute"


def urdf(name: str, bodies: Sequence[Body], scale: float = 1.0) -> str:
    """Return a serial arm; masses and inertias are `scale` of its own."""
    parts, parent = ['<link name="base"/>'], "base"
    for b in bodies:
        m = b.mass * scale
        moments = (0.012 * m, 0.010 * m, 0.006 * m)
        inertia = " ".join(f'{k}="{v:.9g}"' for k, v in zip(("ixx", "iyy", "izz"), moments, strict=True))
        com = " ".join(str(c) for c in b.com)
        parts.append(
            f'<link name="{b.joint}_link"><inertial><origin xyz="{com}"/><mass value="{m:.9g}"/>'
            f'<inertia {inertia} ixy="0" ixz="0" iyz="0"/></inertial></link>'
            f'<joint name="{b.joint}" type="{b.kind}"><parent link="{parent}"/><child link="{b.joint}_link"/>'
            f'<origin xyz="{b.place}" rpy="{b.turned}"/><axis xyz="{b.axis}"/>'
            '<limit lower="-6" upper="6" velocity="20" effort="500"/></joint>'
        )
        parent = f"{b.joint}_link"
    return f'<robot name="{name}">{"".join(parts)}</robot>\n'


# An arm of three joints, the first upright and the others across it, whose right angles the file rounds as CAD programs do.
ARM = (
    Body("j1", "0 0 0.2", "1.5708 0 0", "0 1 0", mass=4.0, com=(0.02, 0.15, -0.01)),
    Body("j2", "0 0.1 0", mass=3.0, com=(0.15, 0.01, 0.02)),
    Body("j3", "0.3 0 0", "1.5708 0 0", "0 1 0", mass=1.5, com=(0.12, -0.01, -0.02)),
)


def described(folder: Path, name: str, bodies: Sequence[Body], **friction: Any) -> tp.Robot:
    """Write the wrong description to a folder, and return the true robot."""
    (folder / "robot.urdf").write_text(urdf(name, bodies, WRONG))
    true = folder / "true.urdf"
    true.write_text(urdf(name, bodies))
    robot = tp.load(true).with_friction(**friction)
    true.unlink()
    return robot


# Motions ---------------------------------------------------------------------------------------------------------------


def exciting(n: int, seed: int, seconds: float, size: float | np.ndarray = 1.0, still: float = 0.0) -> tp.BSpline:
    """Return a random motion from rest to rest in 0, with a control point every 0.4 s; it stands `still` at both ends first."""
    points = size * np.random.default_rng(seed).uniform(-1, 1, (round(2.5 * seconds), n))
    # Of degree five, it begins to move where its third point that is not 0 is due.
    ends = np.zeros((1 + (3 + round(2.5 * still) if still else 0), n))
    return tp.BSpline(np.vstack([ends, points, ends]), seconds + 2 * still)


def moved(robot: tp.Robot, reference: Any, seconds: float, rate: float = 1000.0, smooth: float = SMOOTH) -> tp.Run:
    """Return the simulated run of the true robot under computed torque, which knows the friction too.

    Dry friction sets in over `smooth` rad/s.
    """
    law = tp.ComputedTorque(robot, Kp=400.0, Kd=40.0, terms=("viscous", tp.terms.Coulomb(smooth), "offset"))
    plant = tp.RigidPlant(robot, terms=("viscous", "coulomb", "offset"), smoothing=smooth)
    return tp.simulate(plant, law, reference, seconds, rate, control="continuous")


# Files -----------------------------------------------------------------------------------------------------------------


def write_csv(path: Path, columns: Mapping[str, np.ndarray], digits: int = 7) -> Path:
    """Write columns to a CSV file, compressed where its name says so; a value that is not finite is an empty cell."""
    lines = [",".join(columns)]
    for row in zip(*columns.values(), strict=True):
        lines.append(",".join(f"{v:.{digits}g}" if np.isfinite(v) else "" for v in row))
    text = "\n".join(lines) + "\n"
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode(), mtime=0))
    else:
        path.write_text(text)
    return path


def numbered(template: str, values: np.ndarray) -> dict[str, np.ndarray]:
    """Return the columns of an array (N, n) under names such as "q_rad_{i}", i from 1."""
    return {template.format(i=i + 1): column for i, column in enumerate(values.T)}
