"""A verdict on a fit: whether to use it, and why not, as data from which sentences are made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from taupi.schema import Record


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
class Reason(Record):
    """One thing that speaks against a fit, or that is worth knowing about it.

    Attributes:
        cause: What it is, in one word such as "degrees"; `verdict.causes.cause_names` lists the likely causes.
        sentence: What it is as a sentence, with its numbers.
        level: The level of the fit if this is the only reason.
        joints: The joints that it concerns; empty for all.
        numbers: The numbers in the sentence, by name; errors are relative, everything else is in SI units.
        remedy: What to do about it; empty if nothing is known.
        blocks: The relative error, as recorded and mended, of each block of the logs while neither model was fitted to it: the
            evidence, where this is what decides.
    """

    cause: str
    sentence: str
    level: Level
    joints: tuple[str, ...] = ()
    numbers: Mapping[str, float] = field(default_factory=dict)
    remedy: str = ""
    blocks: tuple[tuple[float, float], ...] = ()

    def __str__(self) -> str:
        return f"{self.sentence} {self.remedy}".rstrip()


# From these errors on, where nothing was fitted, a good verdict says that much is left: over all joints, and at one of them.
LARGE_TOTAL, LARGE_AT_A_JOINT = 0.1, 0.2


@dataclass(frozen=True)
class LeftOut(Record):
    """What a model of the log leaves of the torque on parts that it was not fitted to.

    Attributes:
        total: The relative error over all joints.
        joints: The relative error of each joint that moves under a changing torque, by name.
        worst: The joint with the largest error of those that carry a tenth or more of the largest torque.
        silent: The joints that say nothing, since they stand still or their torque does.
        enough: Whether the logs are long enough to judge by.
    """

    total: float
    joints: Mapping[str, float]
    worst: str
    silent: tuple[str, ...] = ()
    enough: bool = True

    @property
    def is_large(self) -> bool:
        """Whether so much is left that a good fit is called usable instead."""
        return self.enough and (self.total > LARGE_TOTAL or self.joints.get(self.worst, self.total) > LARGE_AT_A_JOINT)

    @property
    def sentence(self) -> str:
        """What is left of a good fit, as a sentence."""
        return f"Usable: {self.plain}" if self.is_large else self.plain

    @property
    def plain(self) -> str:
        """What is left, as a sentence, whatever the verdict is."""
        if not self.enough:
            return "The logs are too short to judge."
        error = self.joints.get(self.worst, self.total)
        at = f", {percent(error)} at {self.worst}" if self.worst and len(self.joints) > 1 else ""
        left = f"{percent(self.total)} of the torque is left on parts that were not fitted{at}."
        more = f" Nothing can be said of {', '.join(self.silent)}." if self.silent else ""
        return left + more


@dataclass(frozen=True, repr=False)
class Verdict(Record):
    """What to think of a fit: `level` is "good", "doubtful" or "wrong", `reasons` are sentences that carry numbers.

    `details` are the reasons as data, worst first; `left_out` is the error on parts of the logs that were not fitted, where it
    was worked out.

    >>> degrees = Reason("degrees", "q looks like degrees: with radians the error falls from 48 % to 2 %.", Level.WRONG)
    >>> verdict = Verdict.of([Reason("clipped", "tau of j1 is clipped.", Level.DOUBTFUL), degrees])
    >>> verdict.level == "wrong", verdict.reasons[0]
    (True, 'q looks like degrees: with radians the error falls from 48 % to 2 %.')
    """

    details: tuple[Reason, ...] = ()
    left_out: LeftOut | None = None

    @classmethod
    def of(cls, reasons: Iterable[Reason], left_out: LeftOut | None = None) -> Verdict:
        """Return the verdict from several reasons, worst first."""
        return cls(tuple(sorted(reasons, key=lambda reason: -reason.level.rank)), left_out)

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
    def left_sentence(self) -> str:
        """What is left of the torque on parts that were not fitted, as a sentence; empty if it is not known."""
        if self.left_out is None:
            return ""
        return self.left_out.sentence if self.level is Level.GOOD else self.left_out.plain

    @property
    def lines(self) -> list[str]:
        """The verdict as text: its level, then one line per reason."""
        return [
            f"verdict: {self.level}{f'. {self.left_sentence}' if self.left_out is not None else ''}",
            *(f"- {reason}" for reason in self.reasons),
        ]

    def to_dict(self) -> dict[str, object]:
        """Return the verdict as plain data, with its level and its reasons as sentences."""
        return {"level": str(self.level), "reasons": list(self.reasons), **super().to_dict()}

    def __repr__(self) -> str:
        return "\n".join(self.lines)


def percent(share: float) -> str:
    """Return a relative error with two digits, for use in sentences.

    >>> percent(0.483), percent(0.0214), percent(1.474), percent(0.00034), percent(3e5)
    ('48 %', '2.1 %', '147 %', '0.034 %', 'over 9999 %')
    """
    if share > 100:
        return "over 9999 %"
    return f"{100 * share:.0f} %" if share >= 0.0995 else f"{100 * share:.2g} %"
