"""What a report tells, gathered once from a fit and its validations: plain rows that sections lay out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from taupi.report.traces import Trace


@dataclass(frozen=True)
class ParameterRow:
    """An identified parameter: value, standard error, 95 % interval, what the description says, what it stands for."""

    name: str
    unit: str
    value: float
    stderr: float
    low: float
    high: float
    significant: bool
    determined: bool
    prior: float
    stands_for: str

    @property
    def relative(self) -> float:
        """The standard error as a share of the value."""
        return self.stderr / abs(self.value) if self.value else float("inf")


@dataclass(frozen=True)
class StandardRow:
    """A standard parameter: what can be known of it, the description's value and, where the fit has one, the new value."""

    name: str
    unit: str
    kind: str
    prior: float
    value: float | None


@dataclass(frozen=True)
class JointRow:
    """How well the torque of one joint is met: root mean square, share of the torque, R^2; `raw` against the unfiltered one."""

    joint: str
    unit: str
    rows: int
    rms: float
    relative: float
    r2: float
    raw: float = float("nan")


@dataclass(frozen=True)
class RunRow:
    """A log: its name, whether it was fitted, its statistics by joint and over all, what was done to its signals."""

    name: str
    role: str
    joints: tuple[JointRow, ...]
    relative: float
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Content:
    """Everything a report tells."""

    robot: str
    estimator: str
    settings: dict[str, Any]
    status: str
    parameters: tuple[ParameterRow, ...]
    standard: tuple[StandardRow, ...]
    joints: tuple[JointRow, ...]
    relative: float
    runs: tuple[RunRow, ...]
    traces: tuple[Trace, ...]
    sentences: tuple[str, ...]  # of the conditioning
    rank: tuple[int, int]
    condition: float
    notes: tuple[str, ...]
    provenance: dict[str, Any] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The heading of the page."""
        return f"Identification of {self.robot}"

    @property
    def subtitle(self) -> str:
        """The line below it."""
        logs = sum(run.role == "fitted" for run in self.runs)
        return f"{self.estimator} on {logs} log{'s' * (logs != 1)}"
