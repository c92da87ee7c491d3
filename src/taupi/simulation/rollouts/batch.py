"""What the roll-outs of a call share, what is specific to each, and what each carries over time."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypedDict

import numpy as np

from taupi.checks import one_of, or_none, whole_number
from taupi.dynamics.types import ArrayLike
from taupi.errors import Argument, TaupiError, unknown
from taupi.program.program import Port
from taupi.settings import Settings
from taupi.simulation.controller import Controller
from taupi.simulation.horizon import Horizon, HorizonOptions
from taupi.simulation.plants.plant import ArmPlant, Payload, Plant
from taupi.simulation.references import ReferenceLike
from taupi.simulation.sensors import Sensors

DEVICES = ("cpu", "cuda")
Initial = ArrayLike | tuple[ArrayLike, ArrayLike] | None  # q at rest, or (q, qd); each may have one row per roll-out
Values = Mapping[str, ArrayLike]  # values of a program's inputs, by name


@dataclass(frozen=True, eq=False)
class Scenario:
    """What all roll-outs of a call share."""

    plant: Plant
    reference: ReferenceLike | None
    horizon: Horizon
    sensors: Sensors | None = None
    threads: int | None = 1  # None: all cores
    single: bool = False  # whether the call asks for one roll-out
    device: str = "cpu"  # or "cuda"

    def __post_init__(self) -> None:
        if not isinstance(self.plant, Plant):
            raise TaupiError(
                "{plant} is {got!r}, expected a plant: taupi.RigidPlant(robot), taupi.ElasticPlant(robot).",
                got=self.plant,
            )
        if self.sensors is not None and not isinstance(self.sensors, Sensors):
            raise TaupiError("{sensors} is {got!r}, expected taupi.Sensors(...) or None.", got=self.sensors)
        one_of(DEVICES)("device", self.device)
        cores = os.cpu_count() or 1 if self.threads is None else self.threads
        object.__setattr__(self, "threads", whole_number("threads", cores))
        if self.plant.stiction and (not self.horizon.adaptive_steps or self.horizon.continuous):
            raise TaupiError(
                "stiction needs an adaptive integrator, such as 'rk45', and {control='sampled'}; or use "
                "smoothing= instead."
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
    seeds: Sequence[int]  # B
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
        counts += [len(controllers), *(len(each) for each in (seeds, payloads) if each is not None)]
        counts += [len(v) for k, v in values.items() if v.ndim > len(shapes.get(k, v.shape))]
        counts += [len(c.start) for c in controllers if c.start is not None and c.start.ndim == 2]
        size = max(counts)
        if any(count not in (1, size) for count in counts):
            raise TaupiError(
                "The batch has {size} roll-outs, but some arguments have {counts} rows.",
                size=size,
                counts=sorted(set(counts)),
            )
        return cls(
            size,
            q,
            qd,
            range(size) if seeds is None else _repeated(seeds, size),
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

    def loads(self, plant: Plant) -> Loads | None:
        """Return what the roll-outs carry, if the plant can carry anything."""
        if not isinstance(plant, ArmPlant) or not plant.loads:
            return None
        payloads = self.payloads
        return Loads((plant,) if payloads is None else tuple(with_payload(plant, p) for p in payloads), self.bodies)


def _repeated(values: Sequence[object], size: int) -> tuple[Any, ...]:
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
        raise TaupiError("{initial} is {got!r}, expected q, or a pair (q, qd).", got=initial) from None
    return q, qd


def input_rows(ports: Sequence[Port], values: Values, batch: int) -> dict[str, np.ndarray]:
    """Return the values of a program's other inputs, (1 or B, size) each."""
    names = [p.name for p in ports]
    for name in values:
        if name not in names:
            raise unknown("input", name, names, "the controller")
    missing = [name for name in names if name not in values]
    if missing:
        raise TaupiError(
            "The controller needs {missing:,}: give inputs={{{first!r}: ...}}.", missing=missing, first=missing[0]
        )
    rows = {}
    for port in ports:
        value = np.asarray(values[port.name], dtype=float)
        leading = value.shape[: value.ndim - len(port.shape)]
        if value.shape[len(leading) :] != port.shape or leading not in ((), (1,), (batch,)):
            raise TaupiError(
                "{port} has shape {got}, expected {expected} or {batch}.",
                port=port.name,
                got=value.shape,
                expected=port.shape,
                batch=(batch, *port.shape),
            )
        rows[port.name] = np.ascontiguousarray(value.reshape(-1, port.size))
    return rows


# A payload from the start, None for nothing, or changes (time in s, Payload or None).
PayloadLike = Payload | None | Sequence[tuple[float, Payload | None]]


@dataclass(frozen=True, eq=False)
class Loads:
    """The loads of B roll-outs over time: of one plant for all of them, or of one plant each."""

    plants: tuple[ArmPlant, ...]  # 1 or B
    bodies: np.ndarray | None = (
        None  # what links have in addition to the robot's own parameters, (1 or B, 10 per loaded link)
    )

    @property
    def times(self) -> tuple[float, ...]:
        """The times at which any load changes, s."""
        return tuple({t for plant in self.plants for t, _ in plant.payloads})

    def at(self, t: float) -> np.ndarray:
        """Return the loads at a time, (1 or B, 10 per loaded link)."""
        carried = np.stack([plant.load_at(t) for plant in self.plants])
        return carried if self.bodies is None else carried + self.bodies

    def part(self, first: int, last: int) -> Loads:
        """Return the loads of the roll-outs first .. last - 1."""
        plants = self.plants if len(self.plants) == 1 else self.plants[first:last]
        bodies = self.bodies if self.bodies is None or len(self.bodies) == 1 else self.bodies[first:last]
        return Loads(plants, bodies)


def with_payload(plant: ArmPlant, payload: PayloadLike) -> ArmPlant:
    """Return the plant with another payload, or with other changes of its payload."""
    changes = ((0.0, payload),) if payload is None or isinstance(payload, Payload) else tuple(payload)
    return dataclasses.replace(plant, payloads=changes)


def loadable(plant: Plant, payloads: Sequence[PayloadLike]) -> ArmPlant:
    """Return the plant without a payload, but with room for one on every link that carries one of the payloads."""
    if not isinstance(plant, ArmPlant):
        raise TaupiError("{payloads} are for arms, and the plant is a {kind}.", kind=type(plant).__name__)
    links = {k for payload in payloads for k in with_payload(plant, payload).loads}
    return dataclasses.replace(plant, payloads=(), loads=tuple(sorted(links)))


def with_links(plant: Plant) -> ArmPlant:
    """Return the plant with room for other parameters of every link."""
    if not isinstance(plant, ArmPlant):
        raise TaupiError("{links} are for arms, and the plant is a {kind}.", kind=type(plant).__name__)
    return dataclasses.replace(plant, loads=tuple(range(len(plant.robot.links))))


def link_changes(plant: Plant, links: ArrayLike) -> np.ndarray:
    """Return what links with these parameters, (10 L,) or (B, 10 L), have in addition to the plant's own, (1 or B, 10 L)."""
    own = plant.robot.parameters.values
    try:
        rows = np.atleast_2d(np.asarray(links, dtype=float))
    except (TypeError, ValueError):
        raise TaupiError(
            "{links} is {got!r}, expected {expected} numbers per roll-out.", got=links, expected=len(own)
        ) from None
    if rows.ndim != 2 or rows.shape[1] != len(own):
        raise TaupiError(
            "{links} has shape {got}, expected (B, {count}): as robot.parameters, per roll-out.",
            got=np.shape(links),
            count=len(own),
        )
    if not np.isfinite(rows).all():
        raise TaupiError("{links} has entries that are not finite.")
    return rows - own


def _one_each(name: str, value: object) -> Sequence[Any] | np.ndarray:
    """Return what has one entry per roll-out."""
    if not isinstance(value, Sequence | np.ndarray) or not len(value):
        raise TaupiError("{argument} is {got!r}, expected one entry per roll-out.", argument=Argument(name), got=value)
    return value


@dataclass(frozen=True, eq=False)
class Ensemble(Settings):
    """B roll-outs: fields with a leading axis of B have one entry per roll-out, the others are the same for all.

    >>> import numpy as np, taupi as tp
    >>> plant = tp.RigidPlant(tp.load("elbow2r"))
    >>> starts = tp.ensembles.Ensemble(initial=np.linspace(0, 1, 10).reshape(5, 2))
    >>> tp.simulate_many(plant, duration=0.1, ensemble=starts).q.shape
    (5, 101, 2)

    Attributes:
        initial: (B, n) positions at rest, or a pair (q, qd) of such arrays; by default the beginning of the reference, or zero.
        parameters: (B, p), where the estimate of a law starts; by default at the robot's own parameters.
        inputs: Values of a Program's other inputs by name, (B, ...).
        payloads: B entries, each a Payload, None, or a list of (time, Payload).
        seeds: (B,) seeds of the sensors' noise; by default 0 to B - 1.
        links: (B, 10 per link), other parameters of the plant's links, in the order of `robot.parameters`; the law does not know
            them.
        threads: How many cores are used; by default all.
        device: "cpu", or "cuda", which runs laws and Programs on a GPU, one thread per roll-out, in fixed steps.
    """

    initial: Initial = None
    parameters: ArrayLike | None = None
    inputs: Values | None = None
    payloads: Sequence[PayloadLike] | None = None
    seeds: Sequence[int] | None = None
    links: ArrayLike | None = field(default=None, kw_only=True)
    threads: int | None = field(default=None, kw_only=True)
    device: str = field(default="cpu", kw_only=True)

    checks: ClassVar = {
        "payloads": or_none(_one_each),
        "seeds": or_none(_one_each),
        "threads": or_none(whole_number),
        "device": one_of(DEVICES),
    }


class EnsembleOptions(TypedDict, total=False):
    """Fields of `Ensemble` as keywords, except those that functions also take by position."""

    links: ArrayLike | None
    threads: int | None
    device: str


class BatchOptions(HorizonOptions, EnsembleOptions, total=False):
    """Fields of `Horizon` and `Ensemble` as keywords, except those that functions also take by position."""
