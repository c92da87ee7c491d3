"""The inputs of a fit, checked: a robot, logs, and settings."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from taupi.checks import truth, whole_number
from taupi.dynamics.terms import TermsLike
from taupi.errors import Argument, TaupiError
from taupi.identifiability.base_parameters import BaseParameters
from taupi.identification.rows.preparation import Preparation
from taupi.model.parameters import Parameters
from taupi.model.robot import Robot
from taupi.signals.formats.sources import expand_pattern
from taupi.signals.log import Log
from taupi.signals.read import LogLike, holds_runs, read_log, runs_of_file
from taupi.signals.reading import Streaming

if TYPE_CHECKING:
    from distributed import Client

LogsLike = LogLike | Sequence[LogLike]
PriorLike = Robot | Parameters | ArrayLike | None


def log_list(logs: LogsLike, name: str = "logs") -> list[LogLike]:
    """Return one log, or several, as a list; patterns such as runs/*.csv are expanded, in the order of names.

    `name` is that of the argument.
    """
    if isinstance(logs, Log | str | os.PathLike):
        logs = [logs]
    if not isinstance(logs, Sequence) or len(logs) == 0:
        raise TaupiError(
            "{argument} is {got!r}, expected a Log, a path, or a list of them.", argument=Argument(name), got=logs
        )
    return [each for log in logs for each in (expand_pattern(log) if isinstance(log, str | os.PathLike) else [log])]


class SingleRuns(list[LogLike]):
    """Logs each of which is a single run, as `each_run` returns them."""


def each_run(logs: Sequence[LogLike], robot: Robot, reading: Streaming) -> SingleRuns:
    """Return logs with each of several runs in a file, such as its episodes, as a log of its own.

    Files that hold a single run stay paths, and so do the runs of one that is streamed. A file that cannot be read stays one too:
    opening it says why.
    """
    if isinstance(logs, SingleRuns):
        return logs
    result = SingleRuns()
    for log in logs:
        if isinstance(log, Log):
            result += log.runs()
            continue
        if not holds_runs(log, reading):
            result.append(log)
            continue
        try:
            result += (
                runs_of_file(log, robot, reading) if reading.stream else read_log(log, robot, reading=reading).runs()
            )
        except TaupiError:
            result.append(log)
    return result


@dataclass(frozen=True, eq=False)
class FitInputs:
    """The arguments of `taupi.identify`, for estimators that start from logs.

    Each of several runs in a log becomes a log of its own: nothing is filtered or differentiated from one to the next.
    """

    robot: Robot
    logs: Sequence[LogLike]
    terms: TermsLike | None = None
    elastic: bool | None = None
    base: BaseParameters | None = None
    prior: PriorLike = None
    workers: int | None = None
    seed: int = 0
    reading: Streaming = field(default_factory=Streaming)
    preparation: Preparation = field(default_factory=Preparation)
    contact: str | None = None
    feet: str = "point"
    client: Client | str | None = None  # of a Dask cluster, or the address of its scheduler
    resume: str | os.PathLike[str] | None = None
    skip_bad: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.robot, Robot):
            raise TaupiError("{robot} is {got!r}, expected a Robot: use taupi.load(...).", got=self.robot)
        whole_number("seed", self.seed, least=0)
        if self.workers is not None:
            whole_number("workers", self.workers)
            if self.client is not None:
                raise TaupiError(
                    "{client} and {workers} are both given: a cluster has its own workers.",
                    remedy="Leave {workers} out.",
                )
        truth("skip_bad", self.skip_bad)
        if self.resume is not None and self.client is None:
            raise TaupiError(
                "{resume} is given without {client}: only the pieces of a cluster are kept.",
                remedy="Give {client}, too.",
            )
        logs = self.logs if isinstance(self.logs, SingleRuns) else log_list(self.logs)
        object.__setattr__(self, "logs", each_run(logs, self.robot, self.reading))
