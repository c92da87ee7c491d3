"""How the root of a robot is held: it moves freely and touches the ground, or it is bolted to the ground."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from taupi.dynamics.loops import loop_rows
from taupi.errors import Argument, TaupiError, unknown
from taupi.identifiability.base_parameters import BaseParameters
from taupi.identification.floating.contact_rows import BASE_ROWS, FEET, MEASURED, PROJECTED, WAYS, ContactPlan
from taupi.model.robot import Robot
from taupi.program.program import Program
from taupi.signals.filtering.filters import butterworth
from taupi.signals.log import Log
from taupi.signals.mapping.columns import recorded_joints

Rate = Callable[[np.ndarray], np.ndarray]  # how signals (N, k) are differentiated


@dataclass(frozen=True)
class Root(ABC):
    """The root of a robot on which more than motors acts: what its logs must have, and what its rows are."""

    robot: Robot

    def check(self, log: Log) -> None:
        """Refuse a log that does not fit: other joints, or no signals of a base that moves."""
        names = recorded_joints(self.robot)
        if log.names == names or self.is_part(log.names, names):
            return
        same = set(log.names) == set(names)
        raise TaupiError(
            "The log's joints are {given:,}, those of {robot} {joints:,}.",
            given=log.names,
            robot=self.robot.name,
            joints=names,
            remedy="Put them in that order: log.select(...)."
            if same
            else "Give the joints their names: tp.Log(..., names=...).",
        )

    def is_part(self, given: tuple[str, ...], names: tuple[str, ...]) -> bool:
        """Return whether a log of some joints determines the others."""
        return False

    @abstractmethod
    def regressor(self, base: BaseParameters) -> Program:
        """Return the program of the base regressor."""

    @abstractmethod
    def motion(self, log: Log, rate: Rate) -> tuple[np.ndarray, ...]:
        """Return the motion of the root, before that of the joints among the inputs of the regressor."""

    def positions(self, log: Log, smooth_hz: float | None) -> np.ndarray:
        """Return the positions of the joints that are differentiated; `smooth_hz` is several times the cutoff of the rows."""
        return log.q

    def contact_plan(self, log: Log, way: str | None, feet: str) -> ContactPlan:
        """Return how the contacts of a log are treated; by default as the log allows."""
        if way is not None and way not in WAYS:
            raise unknown(Argument("contact"), way, WAYS)
        if feet not in FEET:
            raise unknown(Argument("feet"), feet, FEET)
        for kind, frames in (("wrench", log.wrench), ("contact", log.contact)):
            for name in frames:
                if name not in self.robot.frame_names:
                    raise unknown(f"frame of {kind}", name, self.robot.frame_names, self.robot.name)
        return self._plan(log, way, feet)

    @abstractmethod
    def _plan(self, log: Log, way: str | None, feet: str) -> ContactPlan: ...

    @property
    def loops_note(self) -> str:
        """What is done about closed loops, in words; empty if there are none."""
        if not loop_rows(self.robot):
            return ""
        return f"unknown forces of {len(self.robot.loops)} closed loops are projected out of the equations"


@dataclass(frozen=True)
class MovingRoot(Root):
    """A base that moves freely, measured by an IMU; contact forces are measured, or its frames in contact are known."""

    def check(self, log: Log) -> None:
        """Refuse a log that has other joints, or no signals of the base."""
        super().check(log)
        if log.base is None:
            raise TaupiError(
                "The base of {robot} moves freely, but the log has no signals of it.",
                robot=self.robot.name,
                remedy="Give tp.Log(..., base=tp.floating.BaseMotion(w, a)), or use robot.fixed_base().",
            )

    def regressor(self, base: BaseParameters) -> Program:
        """Return the program of the base regressor in the IMU form."""
        return base.regressor(base="imu")

    def motion(self, log: Log, rate: Rate) -> tuple[np.ndarray, ...]:
        """Return w, wd and a (N, 3) of the base."""
        base = log.base
        assert base is not None
        return base.w, rate(base.w) if base.wd is None else base.wd, base.a

    def _plan(self, log: Log, way: str | None, feet: str) -> ContactPlan:
        """Return the plan: measured wrenches, without torques only the base's rows, and with flags alone projected forces."""
        unmeasured = [name for name, flags in log.contact.items() if flags.any() and name not in log.wrench]
        chosen = way or (PROJECTED if unmeasured else BASE_ROWS if log.tau is None else MEASURED)
        if chosen == PROJECTED:
            if not log.contact and log.wrench:
                raise TaupiError(
                    "Projecting contact forces needs to know when frames touch the ground, and the log has no contact flags.",
                    flags="contact={frame: flags}",
                    remedy="Add them as {flags}, or use {contact='measured'}.",
                )
            return ContactPlan(chosen, feet, tuple(log.contact), self.loops_note)
        if unmeasured:
            raise TaupiError(
                "The log has no wrench of {frames:,}, which touch the ground.",
                frames=unmeasured,
                remedy="Use {contact='projected'}.",
            )
        return ContactPlan(chosen, feet, tuple(log.wrench), self.loops_note)


@dataclass(frozen=True)
class BoltedRoot(Root):
    """A base on the ground, of a robot with closed loops; its motors alone may be in a log."""

    def is_part(self, given: tuple[str, ...], names: tuple[str, ...]) -> bool:
        """Return whether a log of some joints determines the others: closing the loops does."""
        return 0 < len(given) < len(names) and set(given) <= set(names)

    def regressor(self, base: BaseParameters) -> Program:
        """Return the program of the base regressor."""
        return base.regressor()

    def motion(self, log: Log, rate: Rate) -> tuple[np.ndarray, ...]:
        """Return nothing: the root stands still."""
        return ()

    def positions(self, log: Log, smooth_hz: float | None) -> np.ndarray:
        """Return the positions of the joints, smoothed if they have to be differentiated twice."""
        if smooth_hz is None or log.qdd is not None:
            return log.q
        return butterworth(log.q, log.rate_hz, min(smooth_hz, 0.4 * log.rate_hz))

    def _plan(self, log: Log, way: str | None, feet: str) -> ContactPlan:
        """Return the plan: forces of the loops are projected out, and there are no contacts."""
        if way is not None or log.contact or log.wrench:
            raise TaupiError(
                "{robot} is bolted to the ground: contacts and wrenches are for robots whose base moves.",
                robot=self.robot.name,
                without="log.with_(contact={}, wrench={})",
                remedy="Leave {contact} out, and contacts and wrenches of the log: {without}.",
            )
        return ContactPlan(PROJECTED, feet, (), self.loops_note)


def root_of(robot: Robot) -> Root:
    """Return how the root of a robot is held."""
    return (MovingRoot if robot.floating else BoltedRoot)(robot)
