"""What a target is: a simulator or a file format, and what it has to say about itself."""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, TypeVar

import numpy as np

from taupi.bridges.packages import needed
from taupi.errors import Argument, Message, TaupiError, unknown
from taupi.extensions import Extensions

if TYPE_CHECKING:
    from taupi.bridges.targets.passport import Passport
    from taupi.identification.commands.stretches import Stretch

T = TypeVar("T", bound="type[Target]")
# From q, qd, qdd (N, n): the torque (N, n).
TorqueFunction = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number of a joint that some targets have a place for.

    Attributes:
        label: What it is, in words.
        unit: Its unit at a turning joint.
        sliding: Its unit at a sliding joint.
    """

    label: str
    unit: str
    sliding: str


# Fields of `JointValues`, which terms name as their `tool`, and fields of `JointDrive`.
QUANTITIES = {
    "armature": Quantity("rotor inertia behind the gear", "kg m^2", "kg"),
    "damping": Quantity("viscous friction", "N m s/rad", "N s/m"),
    "dry_friction": Quantity("Coulomb friction", "N m", "N"),
    "stiffness": Quantity("spring", "N m/rad", "N/m"),
    "offset": Quantity("constant torque", "N m", "N"),
    "kp": Quantity("position gain", "N m/rad", "N/m"),
    "kd": Quantity("velocity gain", "N m s/rad", "N s/m"),
    "delay": Quantity("delay of commands", "s", "s"),
    "effort": Quantity("largest torque", "N m", "N"),
}
DRIVE = ("kp", "kd", "delay", "effort")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a target stores a quantity of a joint.

    Attributes:
        name: What the target calls it, such as "armature".
        per_degree: Whether the number of a turning joint counts per degree.
        steps: Whether it is a number of steps rather than a time.
        least: The smallest number that the target takes: 0 by default; None for any.
        note: What differs from the quantity itself, in a few words.
    """

    name: str
    per_degree: bool = False
    steps: bool = False
    least: float | None = 0.0
    note: str = ""

    def number(self, value: float, slides: bool) -> float:
        """Return a `value` in SI units and radians as the target counts it, of a joint that `slides` or turns."""
        return value * math.pi / 180 if self.per_degree and not slides else value

    def takes(self, value: float) -> bool:
        """Return whether the target accepts a `value`."""
        return self.least is None or value >= self.least


class Target(ABC):
    """A simulator or a file format that an identified robot is written for.

    A target is one class in one file. What it declares is the single source for what is written, for what is reported as lost,
    and for the table of all targets.

    Attributes:
        name: How it is called in `taupi.export` and after `--for`.
        title: Its name in sentences.
        versions: The versions that are written, the default first.
        refused: Why other versions are refused, by version.
        places: Where it stores each quantity of a joint; what is not here has no place.
        remarks: What a user of it should know, one sentence each.
        checked: How this declaration was checked: "run", or "read" in the documentation only.
        digits: "double" or "float", by the numbers that it computes with.
        link: The address of its documentation.
        ball_joints: Whether ball joints are written.
        simulator: What drives its files here by the commands of a log, for checks; empty if nothing does.
        engine: What computes the torque of its files here, for checks with a log; empty if nothing does.
        needs: The module that these checks import, and the extra that installs it.
        loader: Lines of Python that set sample k of samples.npz in a simulation; empty for formats of files.
        frames: "link" or "joint", in whose frames its files state bodies.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    versions: ClassVar[tuple[str, ...]]
    refused: ClassVar[Mapping[str, str]] = {}
    places: ClassVar[Mapping[str, Place]]
    remarks: ClassVar[tuple[str, ...]] = ()
    checked: ClassVar[str] = "read"
    digits: ClassVar[str] = "double"
    link: ClassVar[str] = ""
    ball_joints: ClassVar[bool] = False
    engine: ClassVar[str] = ""
    simulator: ClassVar[str] = ""
    needs: ClassVar[tuple[str, str]] = ("", "")
    loader: ClassVar[str] = ""
    frames: ClassVar[str] = "joint"

    @abstractmethod
    def files(self, passport: Passport) -> dict[str, str]:
        """Return the texts to write for a `passport`, by the names of their files."""

    def torque(self, folder: Path, passport: Passport) -> TorqueFunction:
        """Return the inverse dynamics of the target itself, for the files of a `passport` in a `folder`."""
        self.require_engine()
        raise NotImplementedError

    def require_engine(self) -> None:
        """Refuse a check of logs for a target that does not run here, or whose package is not installed."""
        if not self.engine:
            raise TaupiError(
                "{title} does not run here, so that a log cannot be checked with it: {targets:,} can be checked.",
                title=self.title,
                targets=[name for name, kind in TARGETS.items() if kind.engine],
            )
        self._require_package()

    def _require_package(self) -> None:
        if self.needs[0]:
            needed(*self.needs, "This check")

    def motion(self, folder: Path, passport: Passport, stretch: Stretch) -> np.ndarray:
        """Return the positions (N, n) by the target itself, driven by the commands of a log from its first state.

        Args:
            folder: Where the files of the `passport` are.
            passport: What was written.
            stretch: Consecutive samples of a log, with what was sent.
        """
        self.require_simulator()
        raise NotImplementedError

    def require_simulator(self) -> None:
        """Refuse a check of logs of commands for a target that does not drive its files here, or whose package is missing."""
        if not self.simulator:
            raise TaupiError(
                "{title} is not driven by commands here, so that a log cannot be checked with it: {targets:,} can be checked.",
                title=self.title,
                targets=[name for name, kind in TARGETS.items() if kind.simulator],
            )
        self._require_package()

    def version(self, version: str | None) -> str:
        """Return the `version` to write, by default the newest; refuse one that would mean something else by its numbers."""
        if version is None:
            return self.versions[0]
        if version in self.versions:
            return version
        if version in self.refused:
            raise TaupiError(
                "{title} {version} is not written: {why}.",
                title=self.title,
                version=version,
                why=self.refused[version],
                remedy=Message(
                    "Use one of {versions:,} for {version}.", versions=self.versions, version=Argument("version")
                ),
            )
        raise unknown(Argument("version"), version, self.versions, self.title)


# By name.
TARGETS: dict[str, type[Target]] = {}
# Of installed packages.
ADDED: Extensions[type[Target]] = Extensions("target", "taupi.targets")


def register(kind: T) -> T:
    """Let the target `kind`, a class, be used by its name; also a class decorator.

    An installed package registers its targets by entry points of the group `taupi.targets` instead, each called by the target's
    name; those are read only when a name is not known.

    >>> import taupi as tp
    >>> tp.bridges.register_target(TARGETS["urdf"]) is TARGETS["urdf"]
    True
    """
    TARGETS[kind.name] = kind
    return kind


def target_named(name: str) -> Target:
    """Return the target of this `name`, of this package or of an installed one."""
    if name not in TARGETS and (added := ADDED.find(name)) is not None:
        register(added)
    if name not in TARGETS:
        raise unknown(Argument("target"), name, TARGETS)
    return TARGETS[name]()


def plain(name: str) -> str:
    """Return a name that can stand in a docstring."""
    return "".join(c if c.isprintable() and c not in '"\\' else "_" for c in name)


_NOT_A_WORD = re.compile(r"\W", re.ASCII)


def identifier(name: str) -> str:
    """Return a name as an identifier of Python or USD: other characters become _.

    >>> identifier("arm-2/left joint"), identifier("2r")
    ('arm_2_left_joint', '_2r')
    """
    word = _NOT_A_WORD.sub("_", name) or "_"
    return f"_{word}" if word[0].isdigit() else word
