"""The arguments of `simulate`: what all roll-outs of a call share, and what is specific to each."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from taupi.checks import one_of, whole_number
from taupi.dynamics.types import ArrayLike
from taupi.errors import Argument, TaupiError, shown, unknown
from taupi.program.program import Port
from taupi.simulation.controller import Controller
from taupi.simulation.horizon import Horizon
from taupi.simulation.plants.plant import ArmPlant
from taupi.simulation.references import ReferenceLike
from taupi.simulation.rollouts.loads import Loads, PayloadLike, with_payload
from taupi.simulation.sensors import Sensors

DEVICES = ("cpu", "cuda")
Initial = ArrayLike | tuple[ArrayLike, ArrayLike] | None  # q at rest, or (q, qd); each may have one row per roll-out
Values = Mapping[str, ArrayLike]  # values of a program's inputs, by name


@dataclass(frozen=True, eq=False)
class Scenario:
    """What all roll-outs of a call share."""

    plant: Any  # a Plant
    reference: ReferenceLike | None
    horizon: Horizon
    sensors: Sensors | None = None
    threads: int | None = 1  # None: all cores
    single: bool = False  # whether the call asks for one roll-out
    device: str = "cpu"  # or "cuda"

    def __post_init__(self) -> None:
        if not hasattr(self.plant, "robot"):
            raise TaupiError(
                Argument("plant"),
                f" is {shown(self.plant)}, expected a plant: taupi.RigidPlant(robot), taupi.ElasticPlant(robot).",
            )
        if self.sensors is not None and not isinstance(self.sensors, Sensors):
            raise TaupiError(Argument("sensors"), f" is {shown(self.sensors)}, expected taupi.Sensors(...) or None.")
        one_of(DEVICES)("device", self.device)
        cores = os.cpu_count() or 1 if self.threads is None else self.threads
        object.__setattr__(self, "threads", whole_number("threads", cores))
        if getattr(self.plant, "stiction", False) and (not self.horizon.adaptive_steps or self.horizon.continuous):
            raise TaupiError(
                "stiction needs an adaptive integrator, such as 'rk45', and ",
                Argument("control", "sampled"),
                "; or use smoothing= instead.",
            )

    @property
    def n(self) -> int:
        """The number of joints."""
        return self.plant.robot.n


@dataclass(frozen=True, eq=False)
class Batch:
    """What is specific to each of B roll-outs: its start (q, qd), seed, payload and inputs of its controller's program."""

    size: int
    q: np.ndarray | None  # (1 or B, n), or with the motors' positions
    qd: np.ndarray | None
    seeds: tuple[int, ...]  # B
    inputs: Mapping[str, np.ndarray]
    payloads: tuple[PayloadLike, ...] | None  # B
    bodies: np.ndarray | None = None  # what links have in addition to the robot's own parameters, (1 or B, 10 per link)

    @classmethod
    def of(
        cls,
        controllers: Sequence[Controller],
        horizon: Horizon,
        initial: Initial,
        inputs: Values | None,
        payloads: Sequence[PayloadLike] | None = None,
        seeds: Sequence[int] | None = None,
        bodies: np.ndarray | None = None,
    ) -> Batch:
        """Return the batch that the arguments describe: those with a leading axis have one entry per roll-out."""
        q, qd = initial_rows(initial)
        values = {k: np.asarray(v, dtype=float) for k, v in (inputs or {}).items()}
        shapes = {p.name: p.shape for p in controllers[0].other_inputs(horizon.continuous)}
        counts = [len(rows) for rows in (q, qd, bodies) if rows is not None]
        counts += [len(seeds or [0]), len(payloads or [0]), len(controllers)]
        counts += [len(v) for k, v in values.items() if v.ndim > len(shapes.get(k, v.shape))]
        counts += [len(c.start) for c in controllers if c.start is not None and c.start.ndim == 2]
        size = max(counts)
        if any(count not in (1, size) for count in counts):
            raise TaupiError(f"The batch has {size} roll-outs, but some arguments have {sorted(set(counts))} rows.")
        return cls(
            size,
            q,
            qd,
            tuple(range(size)) if seeds is None else _repeated(seeds, size),
            values,
            None if payloads is None else _repeated(payloads, size),
            bodies,
        )

    def of_members(self, members: Sequence[int], ports: Sequence[Port]) -> Batch:
        """Return some of the roll-outs; `ports` are the inputs that their controller's program has besides the loop's."""
        chosen, dimensions = list(members), {p.name: len(p.shape) for p in ports}
        all_rows = (self.q, self.qd, self.bodies)
        q, qd, bodies = (rows if rows is None or len(rows) == 1 else rows[chosen] for rows in all_rows)
        each = {k for k, v in self.inputs.items() if v.ndim > dimensions.get(k, v.ndim) and len(v) == self.size}
        return Batch(
            len(chosen),
            q,
            qd,
            tuple(self.seeds[k] for k in chosen),
            {k: v[chosen] if k in each else v for k, v in self.inputs.items()},
            None if self.payloads is None else tuple(self.payloads[k] for k in chosen),
            bodies,
        )

    def loads(self, plant: ArmPlant) -> Loads | None:
        """Return what the roll-outs carry, if the plant can carry anything."""
        if not getattr(plant, "loads", ()):
            return None
        payloads = self.payloads
        return Loads((plant,) if payloads is None else tuple(with_payload(plant, p) for p in payloads), self.bodies)


def _repeated(values: Sequence[Any], size: int) -> tuple[Any, ...]:
    return (*values, *[values[0]] * (size - len(values)))


def initial_rows(initial: Initial) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Return q and qd as (rows, n) from None, q, or a pair (q, qd)."""
    if initial is None:
        return None, None
    rows: Any = initial
    if not (isinstance(initial, tuple) and len(initial) == 2 and np.ndim(initial[0]) > 0):
        rows = (initial, None)
    try:
        q = np.atleast_2d(np.asarray(rows[0], dtype=float))
        qd = None if rows[1] is None else np.atleast_2d(np.asarray(rows[1], dtype=float))
    except (TypeError, ValueError):
        raise TaupiError(Argument("initial"), f" is {shown(initial)}, expected q, or a pair (q, qd).") from None
    return q, qd


def input_rows(ports: Sequence[Port], values: Values, batch: int) -> dict[str, np.ndarray]:
    """Return the values of a program's other inputs, (1 or B, size) each."""
    names = [p.name for p in ports]
    for name in values:
        if name not in names:
            raise unknown("input", name, names, "the controller")
    missing = [name for name in names if name not in values]
    if missing:
        raise TaupiError(f"The controller needs {', '.join(missing)}: give inputs={{{missing[0]!r}: ...}}.")
    rows = {}
    for port in ports:
        value = np.asarray(values[port.name], dtype=float)
        leading = value.shape[: value.ndim - len(port.shape)]
        if value.shape[len(leading) :] != port.shape or leading not in ((), (1,), (batch,)):
            raise TaupiError(f"{port.name} has shape {value.shape}, expected {port.shape} or {(batch, *port.shape)}.")
        rows[port.name] = np.ascontiguousarray(value.reshape(-1, port.size))
    return rows
