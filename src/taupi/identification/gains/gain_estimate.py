"""Gains of drives with their uncertainty, and the mapping that states them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from taupi.checks import real_array
from taupi.errors import TaupiError
from taupi.identification.payloads.difference import STRETCHES
from taupi.identification.results.uncertainty import student_intervals
from taupi.model.robot import Robot
from taupi.schema import finite_or_none
from taupi.signals.log import Log
from taupi.tables import estimate_text, html_table, interval_text, table, with_error


@dataclass(frozen=True, eq=False, repr=False)
class GainEstimate:
    """Torque per ampere of each drive, on the joint's side of the gear.

    Attributes:
        robot: The robot.
        values: The gains (n,), N m/A, or N/A for a prismatic joint.
        covariance: Their covariance (n, n).
        stated: The gains that the logs were read with (n,); NaN if they stated none.
        mass: The known mass, kg.
        payload: The ten parameters of the load (10,) about the origin of `frame`.
        frame: The frame that the load is fixed to.
        relative: The remaining relative errors of the currents (2, n), without and with the load.
        logs: The names of the logs, those without the load first.
        notes: What was done and seen, in words.
    """

    robot: Robot
    values: np.ndarray
    covariance: np.ndarray
    stated: np.ndarray
    mass: float
    payload: np.ndarray
    frame: str
    relative: np.ndarray
    logs: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the joints."""
        return self.robot.joint_names

    @property
    def units(self) -> tuple[str, ...]:
        """The unit of each gain."""
        return tuple("N/A" if j.prismatic else "N m/A" for j in self.robot.driving_joints)

    @property
    def stderr(self) -> np.ndarray:
        """The standard errors (n,), in the units of the gains."""
        return np.sqrt(np.clip(np.diag(self.covariance), 0.0, None))

    @property
    def gain_uncertainty(self) -> float:
        """The relative error of masses that the gains cause: the error of the best known gain, for `identify_payload`."""
        return float((self.stderr / np.abs(self.values)).min())

    def intervals(self, level: float = 0.95) -> np.ndarray:
        """Return confidence intervals (n, 2), with Student's t, since stretches of time are few.

        Args:
            level: The share of intervals that contain the truth; 0.95 by default.
        """
        return student_intervals(self.values, self.stderr, np.array(STRETCHES - 1), level)

    def motor_table(self, ratio: float | Sequence[float] = ()) -> dict[str, list[float]]:
        """Return what the [motor] table of a column mapping states: torque_per_ampere, N m/A at the motor.

        Args:
            ratio: The ratio of the gears, one or one per joint; without it, the motor side is the joint side.
        """
        n, ratios = len(self.values), real_array("ratio", ratio)
        ratios = ratios if ratios.size else np.ones(1)
        if ratios.shape not in ((), (1,), (n,)) or not (np.isfinite(ratios) & (ratios != 0)).all():
            raise TaupiError("{ratio} is {got!r}, expected a number, or one for each of {n} joints.", got=ratio, n=n)
        # Six digits are more than any calibration has.
        return {"torque_per_ampere": [float(f"{v:.6g}") for v in self.values / ratios]}

    @property
    def columns(self) -> dict[str, object]:
        """The part of a column mapping that states these gains: {"motor": {"torque_per_ampere": [...]}}, without gears."""
        return {"motor": self.motor_table()}

    def calibrated(self, log: Log) -> Log:
        """Return a `log` whose torques are its currents times these gains."""
        if not isinstance(log, Log):
            raise TaupiError("{log} is {got!r}, expected a Log: taupi.read_log(...).", got=log)
        (current,) = log.need("current")
        return log.with_(tau=current * self.values, notes="torques are currents times calibrated gains")

    # To read ------------------------------------------------------------------------------------------------------

    @property
    def summary(self) -> str:
        """One line: the gains with their standard errors."""
        alike = len(set(self.units)) == 1
        each = zip(self.values, self.stderr, self.units, strict=True)
        pairs = ", ".join(f"{estimate_text(v, e)}{'' if alike else f' {unit}'}" for v, e, unit in each)
        common = f", {self.units[0]}" if alike else ""
        return f"Gains of {self.robot.name} from a mass of {self.mass:g} kg on {self.frame}{common}: {pairs}"

    def rows(self) -> list[tuple[str, ...]]:
        """Return the table of the gains; the first row is the heading."""
        result: list[tuple[str, ...]] = [("joint", "gain", "±", "95 % interval", "unit", "stated", "change")]
        for k, (low, high) in enumerate(self.intervals()):
            stated = float(self.stated[k])
            known = np.isfinite(stated)
            result.append(
                (
                    self.names[k],
                    *with_error(self.values[k], self.stderr[k]),
                    interval_text(low, high, self.stderr[k]),
                    self.units[k],
                    f"{stated:.4g}" if known else "-",
                    f"{self.values[k] / stated - 1:+.1%}" if known else "-",
                )
            )
        return result

    def to_dict(self) -> dict[str, object]:
        """Return the gains as plain data, ready for JSON."""
        stated = [finite_or_none(v) for v in self.stated]
        joints = zip(self.names, self.units, self.values, self.stderr, self.intervals().tolist(), stated, strict=True)
        return {
            "schema": "taupi.gains/1",
            "robot": self.robot.name,
            "mass": self.mass,
            "frame": self.frame,
            "gains": [
                {"joint": n, "unit": u, "value": float(v), "stderr": float(e), "interval": i, "stated": s}
                for n, u, v, e, i, s in joints
            ],
            "covariance": self.covariance.tolist(),
            "payload": self.payload.tolist(),
            "relative": self.relative.tolist(),
            "logs": list(self.logs),
            "notes": list(self.notes),
        }

    def __repr__(self) -> str:
        return "\n".join([self.summary, *table(self.rows()), *(f"- {note}" for note in self.notes)])

    def _repr_html_(self) -> str:
        return html_table(self.summary, self.rows(), self.notes)
