"""The parameter vector pi: names, units, order and values, and the orders of other libraries."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, SupportsIndex, overload

import numpy as np

from taupi.errors import TaupiError, unknown
from taupi.model.scalars import Scalar, exact, to_float
from taupi.tables import html_table

MASS, MOMENT = ("m",), ("mx", "my", "mz")
INERTIA = ("Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
LINK_KINDS = (*MASS, *MOMENT, *INERTIA)
LINK_SIZE = len(LINK_KINDS)
_UNITS = dict.fromkeys(MASS, "kg") | dict.fromkeys(MOMENT, "kg m") | dict.fromkeys(INERTIA, "kg m^2")

_DOCUMENT_INERTIA = ("Ixx", "Iyy", "Izz", "Ixy", "Ixz", "Iyz")

# For each order: whether it runs link by link or kind by kind, and the groups within which it does. Parameters that an
# order does not name, such as terms of a joint, follow at the end in our own order.
ORDERS: dict[str, tuple[str, tuple[tuple[str, ...], ...]]] = {
    "taupi": ("link", (LINK_KINDS,)),
    "gabiccini": ("link", (LINK_KINDS,)),
    "idyntree": ("link", (LINK_KINDS,)),
    "pinocchio": ("link", (("m", "mx", "my", "mz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz"),)),
    "sympybotics": ("link", ((*INERTIA, *MOMENT, *MASS, "rotor", "viscous", "coulomb", "offset"),)),
    "symoro": ("link", ((*INERTIA, *MOMENT, *MASS, "rotor", "coulomb", "viscous", "offset"),)),
    "spatial_v2": ("link", (("m", "mx", "my", "mz", "Ixx", "Iyy", "Izz", "Iyz", "Ixz", "Ixy"),)),
    "kubozono": ("link", ((*_DOCUMENT_INERTIA, *MOMENT, *MASS),)),
    "zollo": (
        "kind",
        (MASS, MOMENT, _DOCUMENT_INERTIA, ("rotor", "rotor_inertia"), ("coulomb",), ("viscous",), ("stiffness",)),
    ),
}


@dataclass(frozen=True, slots=True)
class Parameter:
    """One entry of pi: its `owner` (a link or joint), its `kind` ("m", "Ixx", ...), SI `unit`, and its owner's `index`."""

    owner: str
    kind: str
    unit: str
    index: int

    @property
    def name(self) -> str:
        """The name by which people read and select it, such as `forearm.mx`; a lumped parameter has no owner."""
        return f"{self.owner}.{self.kind}" if self.owner else self.kind


@dataclass(frozen=True)
class ParameterLayout:
    """The order of a parameter vector, as its `entries`: ask it for names, a position or another library's order.

    >>> import taupi as tp
    >>> layout = tp.load("elbow2r").parameters.layout
    >>> layout.index("forearm.mx"), layout.units[layout.index("forearm.mx")]
    (11, 'kg m')
    """

    entries: tuple[Parameter, ...]

    @classmethod
    def of_links(cls, names: Sequence[str]) -> ParameterLayout:
        """Return the layout of ten parameters per link: m, mx, my, mz, Ixx, Ixy, Ixz, Iyy, Iyz, Izz.

        Args:
            names: The names of the links, in order.
        """
        return cls(tuple(Parameter(n, kind, _UNITS[kind], i) for i, n in enumerate(names) for kind in LINK_KINDS))

    def __len__(self) -> int:
        return len(self.entries)

    def __add__(self, other: ParameterLayout) -> ParameterLayout:
        return ParameterLayout(self.entries + other.entries)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names, in order."""
        return tuple(e.name for e in self.entries)

    @property
    def units(self) -> tuple[str, ...]:
        """The SI units, in order."""
        return tuple(e.unit for e in self.entries)

    def index(self, name: str) -> int:
        """Return the position of the parameter called `name`, such as "forearm.mx"."""
        if name not in self.names:
            raise unknown("parameter", name, self.names)
        return self.names.index(name)

    def link(self, i: int) -> slice:
        """Return the positions of the ten parameters of link `i`, counted from 0.

        >>> ParameterLayout.of_links(["upper arm", "forearm"]).link(1)
        slice(10, 20, None)
        """
        positions = slice(LINK_SIZE * i, LINK_SIZE * (i + 1))
        if [(e.index, e.kind) for e in self.entries[positions]] != [(i, kind) for kind in LINK_KINDS]:
            raise TaupiError(
                "No link {i} with its ten parameters in this layout of {count} parameters.", i=i, count=len(self)
            )
        return positions

    def select(self, names: Iterable[str]) -> tuple[int, ...]:
        """Return the positions of parameters by name.

        Args:
            names: One or several; "forearm.*" selects all parameters of an owner, and "*.mx" all of a kind.
        """
        result: list[int] = []
        for name in [names] if isinstance(names, str) else names:
            owner, _, kind = name.rpartition(".")
            hits = [i for i, e in enumerate(self.entries) if owner in ("*", e.owner) and kind in ("*", e.kind)]
            if not hits:
                raise unknown("parameter", name, self.names)
            result += [i for i in hits if i not in result]
        return tuple(result)

    def take(self, positions: Iterable[int]) -> ParameterLayout:
        """Return the layout of some of the parameters, by their `positions`."""
        return ParameterLayout(tuple(self.entries[i] for i in positions))

    def order(self, name: str) -> np.ndarray:
        """Return the permutation `p` with `theirs = ours[p]`, and so `Y_theirs = Y_ours[..., p]`.

        Args:
            name: The order: "pinocchio", "idyntree", "sympybotics", "symoro" (Khalil) or "spatial_v2" for a library;
                "gabiccini", "kubozono" or, grouped by kind, "zollo" for a document; "taupi" for our own.
        """
        if name not in ORDERS:
            raise unknown("parameter order", name, ORDERS)
        by, groups = ORDERS[name]
        rank = {kind: (g, k) for g, group in enumerate(groups) for k, kind in enumerate(group)}

        def key(position: int) -> tuple[int, int, int, int]:
            entry = self.entries[position]
            if entry.kind not in rank:
                return (1, 0, 0, position)
            group, within = rank[entry.kind]
            return (0, entry.index, group, within) if by == "link" else (0, group, entry.index, within)

        return np.array(sorted(range(len(self)), key=key), dtype=int)


@dataclass(frozen=True)
class Parameters:
    """A parameter vector pi: its `layout` and its values, `exact` where the description was.

    It is a sequence of exact scalars, indexed by position or by name; `values` and `np.asarray(pi)` are the doubles.

    Attributes:
        layout: The names, units and order of the parameters.
        exact: The values (p,), SI units.
        symbols: The names of the symbols in them, each with its value or None.

    >>> import taupi as tp
    >>> pi = tp.load("zollo2r").parameters
    >>> float(pi["link1.mx"]), pi[1] == pi["link1.mx"], pi[-1]
    (-5.0, True, Fraction(103, 120))
    >>> np.asarray(pi).shape, len(list(pi))
    ((20,), 20)
    """

    layout: ParameterLayout
    exact: tuple[Scalar, ...]
    symbols: tuple[tuple[str, Fraction | None], ...] = ()

    def __post_init__(self) -> None:
        if len(self.layout) != len(self.exact):
            raise TaupiError(
                "{parameters} has {got} values, expected {expected}: ten per link and the terms.",
                got=len(self.exact),
                expected=len(self.layout),
            )

    @property
    def names(self) -> tuple[str, ...]:
        """The names, in order."""
        return self.layout.names

    @property
    def units(self) -> tuple[str, ...]:
        """The SI units, in order."""
        return self.layout.units

    @cached_property
    def values(self) -> np.ndarray:
        """The values as doubles, read-only."""
        known = dict(self.symbols)
        result = np.array([to_float(v, n, known) for v, n in zip(self.exact, self.names, strict=True)])
        result.flags.writeable = False
        return result

    def to(self, order: str) -> np.ndarray:
        """Return the values (p,) in the order of another library.

        Args:
            order: The name of the order, as in `ParameterLayout.order`.
        """
        return self.values[self.layout.order(order)]

    def from_order(self, values: Sequence[float] | np.ndarray, order: str) -> Parameters:
        """Return the same parameters with values stated in the order of another library.

        Args:
            values: The values (p,), SI units, in that order.
            order: The name of the order, as in `ParameterLayout.order`.
        """
        array = np.asarray(values)
        if array.shape != (len(self),):
            raise TaupiError("{values} has shape {got}, expected ({expected},).", got=array.shape, expected=len(self))
        result: list[Scalar] = [Fraction(0)] * len(self)
        for position, value in zip(self.layout.order(order), array, strict=True):
            result[int(position)] = exact(value, "parameter")
        return Parameters(self.layout, tuple(result))

    def link(self, i: int) -> tuple[Scalar, ...]:
        """Return the ten parameters of link `i`, counted from 0."""
        return self.exact[self.layout.link(i)]

    def take(self, positions: Sequence[int]) -> Parameters:
        """Return some of the parameters, by their `positions`."""
        return Parameters(self.layout.take(positions), tuple(self.exact[i] for i in positions), self.symbols)

    def __add__(self, other: Parameters) -> Parameters:
        return Parameters(self.layout + other.layout, self.exact + other.exact, self.symbols)

    def __len__(self) -> int:
        return len(self.exact)

    def __iter__(self) -> Iterator[Scalar]:
        return iter(self.exact)

    @overload
    def __getitem__(self, which: slice) -> tuple[Scalar, ...]: ...

    @overload
    def __getitem__(self, which: str | SupportsIndex) -> Scalar: ...

    def __getitem__(self, which: str | SupportsIndex | slice) -> Any:
        if isinstance(which, slice):
            return self.exact[which]
        if isinstance(which, str):
            return self.exact[self.layout.index(which)]
        if not hasattr(which, "__index__"):
            raise TaupiError("parameters got the index {which!r}, expected a name, a position or a slice.", which=which)
        position = operator.index(which)
        if not -len(self) <= position < len(self):
            raise TaupiError(
                "parameters has no position {position}: there are {count}.", position=position, count=len(self)
            )
        return self.exact[position]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.values, dtype=dtype, copy=copy)

    def __repr__(self) -> str:
        entries = zip(self.names, map(_shown, self.exact), self.units, strict=True)
        rows = [f"  {name:<28} {value:>24} {unit}" for name, value, unit in entries]
        return f"{len(self)} parameters\n" + "\n".join(rows)

    def _repr_html_(self) -> str:
        entries = zip(self.names, map(_shown, self.exact), map(printed_unit, self.units), strict=True)
        return html_table(f"{len(self)} parameters", [("parameter", "value", "unit"), *entries])


def _shown(value: Scalar) -> str:
    return f"{float(value):.9g}" if isinstance(value, Fraction) else str(value)


def printed_unit(unit: str) -> str:
    """Return a unit as pages and pictures show it, with its square raised.

    >>> printed_unit("kg m^2")
    'kg m²'
    """
    return unit.replace("^2", "²")
