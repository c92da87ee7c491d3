"""The result of a design: a motion, what it will show, and the proof that it stays within its limits."""

from __future__ import annotations

import dataclasses
import html
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from taupi.dynamics.terms import Term
from taupi.excitation.criteria.information import InformationProgram
from taupi.excitation.limits.motion_limits import MotionLimits
from taupi.excitation.motions.bounded import BoundedMotion
from taupi.excitation.settings import Course, Goal, Margins, Search
from taupi.identifiability.base_parameters import BaseParameters
from taupi.identifiability.conditioning import Conditioning
from taupi.model.robot import Robot
from taupi.tables import table

SCHEMA = "taupi.excitation/1"


@dataclass(frozen=True, eq=False, repr=False)
class Excitation:
    """A motion that was designed to identify a robot's base parameters, see `taupi.excite`.

    `motion` goes into `taupi.simulate`. `phi` is the criterion per parameter and sample: for "d", -log det(G / N) / b.
    `std_factor` is how many times smaller standard deviations will be, in the geometric mean, than those of the median of random
    motions within the same limits. `expected` (b,) are the expected standard errors of the parameters `base`,
    `information` (b, b) is G. `certificates` are proofs for all times, by quantity; what was not checked is in `unchecked`, with
    the reason. `certified` says whether every proof has succeeded.

    `robot` and `terms` are what will be fitted. `course`, `goal`, `margins` and `search` are the settings, `limits` those that
    were kept, `sigma` (n,) the noise of torques in N m, `clearance` the geometry that keeps links apart, None without any.
    `notes` say what was assumed, `starts` the result of each start, `stopped` whether the search ended early, `record` where the
    design comes from.
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
    certificates: Mapping[str, Any]
    unchecked: Mapping[str, str]
    notes: tuple[str, ...]
    starts: tuple[Mapping[str, Any], ...]
    clearance: Any = None
    stopped: bool = False
    record: Mapping[str, Any] = field(default_factory=dict)

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
        """Whether every proof has succeeded."""
        return all(c.ok for c in self.certificates.values())

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
            *(f"{name} is not checked: {reason}" for name, reason in self.unchecked.items()),
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
        return "\n".join([self.summary, *(f"- {s}" for s in self.sentences)])

    def _repr_html_(self) -> str:
        items = "".join(f"<li>{html.escape(s)}</li>" for s in self.sentences)
        return f"<p>{html.escape(self.summary)}</p><ul>{items}</ul>"

    # To keep ------------------------------------------------------------------------------------------------------

    def with_record(self, **record: Any) -> Excitation:
        """Return it with more in its `record` of where it comes from, such as command= or description_sha256=."""
        return dataclasses.replace(self, record={**self.record, **record})

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain data, ready for JSON."""
        from taupi.excitation.excitation_data import excitation_to_dict

        return excitation_to_dict(self)

    def write(
        self,
        folder: str | os.PathLike[str],
        formats: Any = ("csv",),
        *,
        speed: float = 1.0,
        force: bool = False,
    ) -> list[Any]:
        """Write the motion and everything about it to a `folder`, all files or none, and return their paths.

        `formats` are names: "csv", "ros2", "ros2-goal", "urscript", "franka", "npz". `speed` is a share of the speed at which the
        motion is written: use 0.3 for the first try. Existing results are kept unless `force` is true.
        """
        from taupi.excitation.excitation_folder import at_speed, write_excitation
        from taupi.excitation.writers.write import checked_speed

        return write_excitation(at_speed(self, checked_speed(speed)), folder, formats, speed, force)
