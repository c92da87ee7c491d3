"""The result of a design: a motion, what it will show, and the proof that it stays within its limits."""

from __future__ import annotations

import dataclasses
import html
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from taupi.dynamics.terms import Term
from taupi.excitation.criteria.information import InformationProgram
from taupi.excitation.geometry.clearance import Clearance, ClearanceCertificate
from taupi.excitation.geometry.contacts import lowest_origin
from taupi.excitation.limits.certificates import Certificate, parts_of
from taupi.excitation.limits.motion_limits import MotionLimits
from taupi.excitation.motions.bounded import BoundedMotion, FourierMotion, SplineMotion
from taupi.excitation.settings import Course, Goal, Margins, Search
from taupi.identifiability.base_parameters import BaseParameters
from taupi.identifiability.conditioning import Conditioning
from taupi.identification.friction.fitted_terms import term_to_dict
from taupi.model.robot import Robot
from taupi.tables import table

SCHEMA = "taupi.excitation/1"


@dataclass(frozen=True)
class LowestPoint:
    """The lowest point of a motion.

    Attributes:
        height: Its height in m, in world axes.
        link: The link that reaches it.
        time: When, in s.
        of: What was looked at: the capsules around moving links, or only the origins of links if their shape is unknown.
    """

    height: float
    link: str
    time: float
    of: str

    @classmethod
    def along(cls, robot: Robot, clearance: Clearance | None, motion: BoundedMotion, times: np.ndarray) -> LowestPoint:
        """Return the lowest point of a motion at `times` (N,) in s: of capsules if there are any, else of the links' origins."""
        q = motion(times).q
        height, link, k = lowest_origin(robot, q) if clearance is None else clearance.lowest(q)
        return cls(height, link, float(times[k]), "origins of links" if clearance is None else "capsules")

    @property
    def sentence(self) -> str:
        """The lowest point in words."""
        return f"Lowest point: z = {self.height:.3f} m, of {self.link} at {self.time:.4g} s (of {self.of})."


@dataclass(frozen=True, eq=False, repr=False)
class Excitation:
    """A motion that was designed to identify a robot's base parameters, see `taupi.excite`.

    Attributes:
        robot: The robot.
        terms: The terms that will be fitted besides links.
        base: The base parameters that will be fitted, b of them.
        motion: The motion, which goes into `taupi.simulate`: called with times (...) in s it returns q, qd and qdd (..., n).
        course: What kind of motion was designed.
        goal: What it was designed for.
        margins: How far it stays away from limits and surroundings.
        search: How it was searched for.
        limits: The limits that were kept.
        sigma: The noise of torques (n,) in N m at the rate of the design.
        information: G (b, b), the inverse of the covariance of the base parameters.
        phi: The criterion per parameter and sample: for "d", -log det(G / N) / b.
        std_factor: How many times smaller standard deviations will be, in the geometric mean, than for the median of random
            motions within the same limits.
        certificates: Proofs for all times by quantity: `taupi.Certificate`s, and the `taupi.ClearanceCertificate` of "clearance".
        unchecked: What is not proven, with the reason: a quantity, "floor", or a pair of links.
        notes: What was assumed, as sentences.
        starts: The result of each start: phi per parameter, iterations, and whether rows at samples hold.
        clearance: The geometry that keeps links apart; None without any.
        lowest: The lowest point that the motion reaches.
        stopped: Whether the search ended early, by its budget or by Ctrl-C.
        record: Where the design comes from: version, robot, fingerprint, command.
    """

    robot: Robot
    terms: tuple[Term, ...]
    base: BaseParameters
    motion: BoundedMotion
    course: Course
    goal: Goal
    margins: Margins
    search: Search
    limits: MotionLimits
    sigma: np.ndarray
    information: np.ndarray
    phi: float
    std_factor: float
    certificates: Mapping[str, Certificate | ClearanceCertificate]
    unchecked: Mapping[str, str]
    notes: tuple[str, ...]
    starts: tuple[Mapping[str, object], ...]
    clearance: Clearance | None = None
    lowest: LowestPoint | None = None
    stopped: bool = False
    record: Mapping[str, object] = field(default_factory=dict)

    # What it is ---------------------------------------------------------------------------------------------------

    @property
    def criterion(self) -> str:
        """The name of the criterion."""
        return self.goal.criterion

    @property
    def duration(self) -> float:
        """Seconds from the beginning to the end, including the approach to the first posture."""
        return self.motion.duration

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the base parameters."""
        return self.base.names

    @cached_property
    def times(self) -> np.ndarray:
        """Instants (N,) at the rate of the design, in s, over the whole motion."""
        count = max(2, round(self.duration * self.goal.rate))
        return (np.arange(count) + 0.5) * (self.duration / count)

    @cached_property
    def conditioning(self) -> Conditioning:
        """What a log of the motion determines: rank, condition, and what is determined least well."""
        return InformationProgram(self.base).conditioning(*self.motion(self.times))

    @cached_property
    def expected(self) -> np.ndarray:
        """The expected standard errors (b,) of the base parameters: the roots of the diagonal of G^-1."""
        d = 1 / np.sqrt(np.diag(self.information))
        inverse = np.linalg.inv(self.information * d[:, None] * d)
        return np.sqrt(np.diag(inverse)) * d

    @property
    def certified(self) -> bool:
        """Whether every proof has succeeded; what no proof was tried for is in `unchecked`, see `certainty`."""
        return all(c.ok for c in self.certificates.values())

    @property
    def certainty(self) -> str:
        """What is certain about limits at all times, in words: `certified` with its qualification."""
        if not self.certified:
            others = [name for name in self.unchecked if name not in self.certificates]
            left = f"; not checked: {', '.join(others)}" if others else ""
            return f"not proven: {', '.join(name for name, c in self.certificates.items() if not c.ok)}{left}"
        checked = ", ".join(self.certificates)
        if not self.unchecked:
            return f"proven for all times: {checked}"
        return f"proven for all times: {checked}; not checked: {', '.join(self.unchecked)}"

    # To read ------------------------------------------------------------------------------------------------------

    @property
    def summary(self) -> str:
        """One line."""
        early = ", stopped early" if self.stopped else ""
        return (
            f"{self.duration:.4g} s of {self.robot.name} for {self.base.count} parameters: {self.gain}, "
            f"condition number {self.conditioning.scaled_condition:.3g} with columns of length one{early}"
        )

    @property
    def gain(self) -> str:
        """How the motion compares with random ones, in words."""
        less, factor = self.std_factor < 1, self.std_factor
        how = f"{1 / factor:.2f} times larger" if less else f"{factor:.2f} times smaller"
        return f"standard deviations {how} than those of random motions"

    @property
    def sentences(self) -> tuple[str, ...]:
        """What is proven, what was not checked, and what was assumed."""
        return (
            *(c.sentence for c in self.certificates.values()),
            *(() if self.clearance is None else self.clearance.sentences),
            *(() if self.lowest is None else (self.lowest.sentence,)),
            *(
                f"{name} is not {'proven' if name in self.certificates else 'checked'}: {reason}"
                for name, reason in self.unchecked.items()
            ),
            *self.notes,
        )

    def table(self) -> list[str]:
        """Return the parameters with the description's values and the expected standard errors, as lines."""
        parameters = self.base.parameters
        rows = [("parameter", "description", "expected error", "", "unit")]
        for name, value, error, unit in zip(
            self.names, parameters.values, self.expected, parameters.units, strict=True
        ):
            share = f"{error / abs(value):.1%}" if value else ""
            rows.append((name, f"{value:.4g}", f"{error:.2g}", share, unit))
        return table(rows)

    def __repr__(self) -> str:
        return "\n".join([self.summary, f"Limits: {self.certainty}.", *(f"- {s}" for s in self.sentences)])

    def _repr_html_(self) -> str:
        items = "".join(f"<li>{html.escape(s)}</li>" for s in self.sentences)
        return f"<p>{html.escape(self.summary)}</p><p>{html.escape(f'Limits: {self.certainty}.')}</p><ul>{items}</ul>"

    # To keep ------------------------------------------------------------------------------------------------------

    def with_record(self, **record: object) -> Excitation:
        """Return it with more in its `record` of where it comes from, such as command= or description_sha256=."""
        return dataclasses.replace(self, record={**self.record, **record})

    def to_dict(self) -> dict[str, object]:
        """Return all of it as plain data, ready for JSON; infinite values are None."""
        expected = zip(self.names, self.base.parameters.units, self.expected, self.base.parameters.values, strict=True)
        return plain(
            {
                "schema": SCHEMA,
                "robot": self.robot.name,
                "joints": list(self.robot.joint_names),
                "duration": self.duration,
                "motion": [{"begin": begin, **_part(part)} for begin, part in parts_of(self.motion)],
                "terms": [term_to_dict(t) for t in self.terms],
                "settings": {
                    "course": self.course.to_dict(),
                    "goal": self.goal.to_dict(),
                    "margins": self.margins.to_dict(),
                    "search": self.search.to_dict(),
                },
                "limits": self.limits.to_dict(),
                "sigma": self.sigma.tolist(),
                "criterion": {"name": self.criterion, "phi": self.phi, "std_factor": self.std_factor},
                "conditioning": self.conditioning.to_dict(),
                "expected": [
                    {"name": name, "unit": unit, "stderr": error, "description": value}
                    for name, unit, error, value in expected
                ],
                "certified": self.certified,
                "certainty": self.certainty,
                "certificates": {name: c.to_dict() for name, c in self.certificates.items()},
                "clearance": None if self.clearance is None else self.clearance.to_dict(),
                "unchecked": dict(self.unchecked),
                "floor": None if self.clearance is None else self.clearance.floor.to_dict(),
                "lowest": None if self.lowest is None else dataclasses.asdict(self.lowest),
                "starts": [dict(s) for s in self.starts],
                "stopped": self.stopped,
                "notes": list(self.notes),
                "provenance": dict(self.record),
            }
        )

    def write(
        self,
        folder: str | os.PathLike[str],
        formats: Sequence[str] = ("csv",),
        *,
        speed: float = 1.0,
        force: bool = False,
    ) -> list[Path]:
        """Write the motion and everything about it to a folder, all files or none, and return their paths.

        Args:
            folder: The directory, made if missing.
            formats: Names of formats: "csv" (the default), "ros2", "ros2-goal", "urscript", "franka", "npz".
            speed: Share of the speed at which the motion is written, from 0.001 to 1 (the default): use 0.3 for the first try.
            force: Whether existing results are replaced; they are kept by default.

        Returns:
            The paths of all files that were written.

        Raises:
            NotIdentifiedError: The slower motion is not proven to keep the limits of torque.
        """
        from taupi.excitation.excitation_folder import at_speed, write_excitation
        from taupi.excitation.writers.write import checked_speed

        return write_excitation(at_speed(self, checked_speed(speed)), folder, formats, speed, force)


def _part(motion: BoundedMotion) -> dict[str, object]:
    if isinstance(motion, SplineMotion):
        return {
            "kind": "bspline",
            "degree": motion.degree,
            "duration": motion.duration,
            "points": np.asarray(motion.points).tolist(),
        }
    if isinstance(motion, FourierMotion):
        fields = ("offset", "amplitude", "omega", "phase")
        return {
            "kind": "fourier",
            "duration": motion.duration,
            **{f: np.asarray(getattr(motion, f)).tolist() for f in fields},
        }
    return {"kind": "minimum_jerk", "duration": motion.duration, "points": motion([0.0, motion.duration]).q.tolist()}


def plain(value: object) -> Any:
    """Return data that contain only numbers, texts and lists; infinite numbers are None."""
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if isinstance(value, np.generic | np.ndarray):
        return plain(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value
