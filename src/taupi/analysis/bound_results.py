"""What is known of a robot's largest and smallest terms: frozen results that print as a table."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from taupi.errors import TaupiError, unknown
from taupi.tables import html_table, table


@dataclass(frozen=True)
class Bound:
    """An enclosure of an extreme value: lower <= extreme <= upper, both certain, one of them attained at `at`.

    Of a supremum `upper` bounds every value and `lower` is attained; of an infimum it is the other way round. `value` is the one
    that holds everywhere. (Of the textbook's rules for c, what is enclosed is the rule's own number.)
    """

    name: str
    text: str
    lower: float
    upper: float
    infimum: bool = False
    at: tuple[float, ...] = ()
    direction: tuple[float, ...] = ()
    converged: bool = True
    method: str = ""

    @property
    def value(self) -> float:
        """What holds everywhere in the range: the upper end of a supremum, the lower end of an infimum."""
        return self.lower if self.infimum else self.upper

    @property
    def attained(self) -> float:
        """What is reached at `at`."""
        return self.upper if self.infimum else self.lower

    @property
    def gap(self) -> float:
        """upper - lower: how far the two may be from the truth."""
        return self.upper - self.lower

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data; an infinite end is None."""
        numbers = {k: _finite(getattr(self, k)) for k in ("value", "lower", "upper", "gap")}
        places = {"at": list(self.at), "direction": list(self.direction)}
        told = {"infimum": self.infimum, "converged": self.converged, "method": self.method}
        return {"name": self.name, "text": self.text, **numbers, **places, **told}

    def __repr__(self) -> str:
        sign = ">=" if self.infimum else "<="
        return f"Bound({self.name} {sign} {self.value + 0.0:.10g}, gap {self.gap:.1e})"


@dataclass(frozen=True)
class Growth:
    """A bound that grows with the slides: ||F|| <= sum_k b_k |d^k|, for every d, with a bound b_k of each coefficient."""

    name: str
    text: str
    joints: tuple[str, ...]
    coefficients: tuple[tuple[tuple[int, ...], Bound], ...]

    def __getitem__(self, power: int | tuple[int, ...]) -> Bound:
        """Return the bound of one coefficient by its powers; that of one slide may be a number."""
        key = (power,) if isinstance(power, int) else tuple(power)
        table_ = dict(self.coefficients)
        if key not in table_:
            raise unknown("power", str(key), map(str, table_), self.name)
        return table_[key]

    def __call__(self, *d: float) -> float:
        """Return the bound for slides at d, in the order of `joints`."""
        if len(d) != len(self.joints):
            raise TaupiError(f"d has {len(d)} values, expected {len(self.joints)}: one per slide {self.joints}.")
        total = sum(
            b.upper * math.prod(abs(x) ** p for x, p in zip(d, power, strict=True)) for power, b in self.coefficients
        )
        return total * (1 + 2.0**-46)  # every rounding of products and sums, of which there are few, and some more

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        listed = [{"power": list(power), "bound": b.to_dict()} for power, b in self.coefficients]
        return {"name": self.name, "text": self.text, "joints": list(self.joints), "coefficients": listed}

    def __repr__(self) -> str:
        parts = [f"{b.upper + 0.0:.6g}{_monomial(power, self.joints)}" for power, b in self.coefficients]
        return f"{self.text} <= {' + '.join(parts)}"


@dataclass(frozen=True)
class Bounds:
    """Bounds of a robot's terms over a joint range: a mapping from names to `Bound`, and what grows with slides."""

    robot: str
    joints: tuple[str, ...]
    range: tuple[tuple[float, float], ...]
    entries: tuple[Bound, ...]
    growth: tuple[Growth, ...] = ()
    notes: tuple[str, ...] = ()
    tolerance: float = 0.0

    def __getitem__(self, name: str) -> Bound:
        found = {b.name: b for b in self.entries}
        if name not in found:
            raise unknown("bound", name, found, f"the bounds of {self.robot}")
        return found[name]

    def __iter__(self) -> Iterator[Bound]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the bounds."""
        return tuple(b.name for b in self.entries)

    def growing(self, name: str) -> Growth:
        """Return the bound of that name that grows with the slides."""
        found = {g.name: g for g in self.growth}
        if name not in found:
            raise unknown("growing bound", name, found, f"the bounds of {self.robot}")
        return found[name]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data for JSON."""
        spans = dict(zip(self.joints, ([_finite(v) for v in r] for r in self.range), strict=True))
        found = [b.to_dict() for b in self.entries]
        more = {"growth": [g.to_dict() for g in self.growth], "notes": list(self.notes)}
        return {"robot": self.robot, "range": spans, "tolerance": self.tolerance, "bounds": found, **more}

    def _title(self) -> str:
        told = [
            f"{j} {lo:.4g} .. {hi:.4g}" if math.isfinite(lo) else f"{j} anywhere"
            for j, (lo, hi) in zip(self.joints, self.range, strict=True)
        ]
        return f"Bounds of {self.robot} for {', '.join(told)}"

    def _rows(self) -> list[tuple[str, ...]]:
        rows: list[tuple[str, ...]] = [("name", "bound", "value", "gap", "reached", "at")]
        for b in self.entries:
            sign, mark = ">=" if b.infimum else "<=", "" if b.converged else " *"
            numbers = (f"{b.value + 0.0:.8g}{mark}", f"{b.gap:.1e}", f"{b.attained + 0.0:.8g}")
            rows.append((b.name, f"{b.text} {sign}", *numbers, _place(b)))
        return rows

    def _below(self) -> list[str]:
        open_ = [b for b in self.entries if not b.converged]
        told = [f"* certain, but the gap is wider than asked for. {open_[0].method}"] if open_ else []
        return [*map(repr, self.growth), *told, *self.notes]

    def __repr__(self) -> str:
        body = ["", *table(self._rows())] if self.entries else []
        below = ["", *self._below()] if self._below() else []
        return "\n".join([self._title(), *body, *below])

    def _repr_html_(self) -> str:
        return html_table(self._title(), self._rows(), self._below())


def _finite(x: float) -> float | None:
    return x if math.isfinite(x) else None


def _numbers(values: Sequence[float]) -> str:
    # Rounded first, so that -1e-13 is not written as -0.
    return "(" + ", ".join(f"{round(v, 4) + 0.0:.4g}" for v in values) + ")"


def _place(b: Bound) -> str:
    where = f"q = {_numbers(b.at)}" if b.at else "-"
    return f"{where}, qd ~ {_numbers(b.direction)}" if b.direction else where


def _monomial(power: Sequence[int], joints: Sequence[str]) -> str:
    return "".join(f" |{j}|" + (f"^{p}" if p > 1 else "") for j, p in zip(joints, power, strict=True) if p)
