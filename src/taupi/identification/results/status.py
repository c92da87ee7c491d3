"""How an estimator ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from taupi.errors import InPython, Message


class Outcome(Enum):
    """The outcome of an estimator, with its remedy if it failed."""

    SOLVED = ("solved", Message(""))
    UNCONSTRAINED = ("no constraint is active", Message(""))
    CONSTRAINED = ("solved, with active constraints", Message(""))
    REPLACED = ("another estimator was used than the one asked for", Message(""))
    NOT_CONVERGED = (
        "did not converge",
        Message("Begin nearer to the robot's values{or_iterate}.", or_iterate=InPython(", or raise iterations")),
    )
    NOT_CONSISTENT = (
        "found no consistent parameters",
        Message("Give a larger {prior_weight}, or wider {bounds}: the solver failed between these."),
    )

    def __init__(self, message: str, remedy: Message) -> None:
        self.message = message
        self.remedy = remedy

    @property
    def ok(self) -> bool:
        """Whether the estimator succeeded."""
        return not self.remedy.parts


@dataclass(frozen=True)
class Status:
    """The `outcome` of an estimator, and a `detail`, if there is more to say."""

    outcome: Outcome = Outcome.SOLVED
    detail: str = ""

    @property
    def ok(self) -> bool:
        """Whether the estimator succeeded."""
        return self.outcome.ok

    @property
    def message(self) -> str:
        """What happened, in words."""
        return self.detail or self.outcome.message

    @property
    def remedy(self) -> str:
        """What to do about it; empty if the estimator succeeded."""
        return str(self.outcome.remedy)

    def to_dict(self) -> dict[str, object]:
        """Return the status as plain data."""
        return {"outcome": self.outcome.name, "ok": self.ok, "message": self.message, "remedy": self.remedy}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Status:
        """Return the status that `to_dict` returned as `data`."""
        outcome = Outcome[data.get("outcome", "SOLVED" if data["ok"] else "NOT_CONVERGED")]
        return cls(outcome, "" if data["message"] == outcome.message else data["message"])
