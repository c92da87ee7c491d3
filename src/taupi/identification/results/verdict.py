"""A verdict on a fit: whether to use it, and why not, as data from which sentences are made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any


class Level(str, Enum):
    """How far a fit can be trusted, from best to worst; each level is also a string."""

    GOOD = "good"
    """Nothing speaks against it."""
    DOUBTFUL = "doubtful"
    """It may be used, but something about the log or the description is likely to be wrong."""
    WRONG = "wrong"
    """It is not a model of the robot: it is not exported unless the user asks for it."""

    def __str__(self) -> str:
        return self.value

    @property
    def rank(self) -> int:
        """0 for the best level, then 1, 2."""
        return list(Level).index(self)


@dataclass(frozen=True)
class Reason:
    """One thing that speaks against a fit, or that is worth knowing about it.

    Attributes:
        cause: What it is, in one word such as "degrees"; `verdict.causes.cause_names` lists the likely causes.
        sentence: The same as a sentence, with its numbers.
        level: The level of the fit if this is the only reason.
        joints: The joints that it concerns; empty for all.
        numbers: The numbers in the sentence, by name; errors are relative, everything else is in SI units.
        remedy: What to do about it; empty if nothing is known.
    """

    cause: str
    sentence: str
    level: Level
    joints: tuple[str, ...] = ()
    numbers: Mapping[str, float] = field(default_factory=dict)
    remedy: str = ""

    def __str__(self) -> str:
        return f"{self.sentence} {self.remedy}".rstrip()

    def to_dict(self) -> dict[str, Any]:
        """Return the reason as plain data."""
        return {
            "cause": self.cause,
            "sentence": self.sentence,
            "level": str(self.level),
            "joints": list(self.joints),
            "numbers": dict(self.numbers),
            "remedy": self.remedy,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Reason:
        """Return the reason that `to_dict` returned as `data`."""
        level, joints = Level(data["level"]), tuple(data["joints"])
        return cls(data["cause"], data["sentence"], level, joints, dict(data["numbers"]), data["remedy"])


@dataclass(frozen=True)
class Verdict:
    """What to think of a fit: `level` is "good", "doubtful" or "wrong", `reasons` are sentences that carry numbers.

    `details` are the reasons as data, worst first.

    >>> degrees = Reason("degrees", "q looks like degrees: with radians the error falls from 48 % to 2 %.", Level.WRONG)
    >>> verdict = Verdict.of([Reason("clipped", "tau of j1 is clipped.", Level.DOUBTFUL), degrees])
    >>> verdict.level == "wrong", verdict.reasons[0]
    (True, 'q looks like degrees: with radians the error falls from 48 % to 2 %.')
    """

    details: tuple[Reason, ...] = ()

    @classmethod
    def of(cls, reasons: Iterable[Reason]) -> Verdict:
        """Return the verdict from several reasons, worst first."""
        return cls(tuple(sorted(reasons, key=lambda reason: -reason.level.rank)))

    @property
    def level(self) -> Level:
        """The worst level of its reasons; good if there are none."""
        return max((reason.level for reason in self.details), key=lambda level: level.rank, default=Level.GOOD)

    @property
    def reasons(self) -> tuple[str, ...]:
        """The reasons as sentences, worst first, each with what to do about it."""
        return tuple(str(reason) for reason in self.details)

    @property
    def causes(self) -> tuple[str, ...]:
        """The causes of its reasons, each in one word."""
        return tuple(reason.cause for reason in self.details)

    @property
    def lines(self) -> list[str]:
        """The verdict as text: its level, then one line per reason."""
        return [f"verdict: {self.level}", *(f"- {reason}" for reason in self.reasons)]

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as plain data."""
        details = [reason.to_dict() for reason in self.details]
        return {"level": str(self.level), "reasons": list(self.reasons), "details": details}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Verdict:
        """Return the verdict that `to_dict` returned as `data`."""
        return cls(tuple(Reason.from_dict(reason) for reason in data["details"]))

    def __str__(self) -> str:
        return "\n".join(self.lines)


def percent(share: float) -> str:
    """Return a relative error with two digits, for use in sentences.

    >>> percent(0.483), percent(0.0214), percent(1.474), percent(0.00034), percent(3e5)
    ('48 %', '2.1 %', '147 %', '0.034 %', 'over 9999 %')
    """
    if share > 100:
        return "over 9999 %"
    return f"{100 * share:.0f} %" if share >= 0.0995 else f"{100 * share:.2g} %"
