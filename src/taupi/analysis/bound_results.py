"""Bounds of a robot's dynamics as results: frozen, and printed as a table."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from taupi.errors import TaupiError, unknown
from taupi.schema import finite_or_none
from taupi.tables import html_table, table


@dataclass(frozen=True)
class Bound:
    """Enclose an extreme value: `lower` <= extreme <= `upper`, both certain, and one of them attained at q = `at`.

    For a supremum, `upper` bounds every value and `lower` is attained; for an infimum it is the other way round; `value` is the
    one that holds everywhere. (For the textbook's rules for c, the enclosed number is the one that the rule gives.)

    Attributes:
        name: What is bounded, as a key of `Bounds`.
        text: The same as a formula.
        lower: The lower end.
        upper: The upper end.
        infimum: Whether a smallest value is bounded, not a largest.
        at: Where the attained end is attained, (n,) in rad or m.
        direction: The velocity at which a velocity term is attained.
        converged: Whether the gap reached its tolerance.
        method: How the bound was found.
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
        """The end that holds everywhere in the range: the upper one of a supremum, the lower one of an infimum."""
        return self.lower if self.infimum else self.upper

    @property
    def attained(self) -> float:
        """The end that is attained at `at`."""
        return self.upper if self.infimum else self.lower

    @property
    def gap(self) -> float:
        """upper - lower: how far each end may be from the true extreme."""
        return self.upper - self.lower

    def to_dict(self) -> dict[str, object]:
        """Return it as plain data; an infinite end is None."""
        numbers = {k: finite_or_none(getattr(self, k)) for k in ("value", "lower", "upper", "gap")}
        places = {"at": list(self.at), "direction": list(self.direction)}
        facts = {"infimum": self.infimum, "converged": self.converged, "method": self.method}
        return {"name": self.name, "text": self.text, **numbers, **places, **facts}

    def __repr__(self) -> str:
        sign = ">=" if self.infimum else "<="
        return f"Bound({self.name} {sign} {self.value + 0.0:.10g}, gap {self.gap:.1e})"


@dataclass(frozen=True)
class Growth:
    """A bound that grows with the slides: ||F|| <= sum_k b_k |d^k|, for every d, with a bound b_k of each coefficient.

    `name` and `text` say what is bounded, `joints` are the slides d, and `coefficients` are powers k, one per slide, each with
    the bound b_k.
    """

    name: str
    text: str
    joints: tuple[str, ...]
    coefficients: tuple[tuple[tuple[int, ...], Bound], ...]

    def __getitem__(self, power: int | tuple[int, ...]) -> Bound:
        """Return the bound of one coefficient by its `power`, one number per slide; for a single slide, a number will do."""
        key = (power,) if isinstance(power, int) else tuple(power)
        by_power = dict(self.coefficients)
        if key not in by_power:
            raise unknown("power", str(key), map(str, by_power), self.name)
        return by_power[key]

    def __call__(self, *d: float) -> float:
        """Return the bound for slides at `d`, in m and in the order of `joints`."""
        if len(d) != len(self.joints):
            raise TaupiError(
                "{d} has {got} values, expected {expected}: one per slide {joints}.",
                got=len(d),
                expected=len(self.joints),
                joints=self.joints,
            )
        total = sum(
            b.upper * math.prod(abs(x) ** p for x, p in zip(d, power, strict=True)) for power, b in self.coefficients
        )
        return total * (1 + 2.0**-46)  # more than all the roundings of these few products and sums

    def to_dict(self) -> dict[str, object]:
        """Return it as plain data."""
        coefficients = [{"power": list(power), "bound": b.to_dict()} for power, b in self.coefficients]
        return {"name": self.name, "text": self.text, "joints": list(self.joints), "coefficients": coefficients}

    def __repr__(self) -> str:
        parts = [f"{b.upper + 0.0:.6g}{_monomial(power, self.joints)}" for power, b in self.coefficients]
        return f"{self.text} <= {' + '.join(parts)}"


@dataclass(frozen=True)
class Bounds:
    """Hold bounds of a robot's dynamics: `bounds["mu2"]` is a `Bound`, `growing("M_2")` grows with the slides.

    Attributes:
        robot: The robot's name.
        joints: Names of its coordinates.
        range: Their ends, rad or m.
        entries: The bounds.
        growth: Those that grow with slides, by default none.
        notes: What could not be bounded.
        tolerance: The relative gap that was asked for.
    """

    robot: str
    joints: tuple[str, ...]
    range: tuple[tuple[float, float], ...]
    entries: tuple[Bound, ...]
    growth: tuple[Growth, ...] = ()
    notes: tuple[str, ...] = ()
    tolerance: float = 0.0

    def __getitem__(self, name: str) -> Bound:
        """Return the bound called `name`."""
        by_name = {b.name: b for b in self.entries}
        if name not in by_name:
            raise unknown("bound", name, by_name, f"the bounds of {self.robot}")
        return by_name[name]

    def __iter__(self) -> Iterator[Bound]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the bounds."""
        return tuple(b.name for b in self.entries)

    def growing(self, name: str) -> Growth:
        """Return the bound called `name` that grows with the slides."""
        by_name = {g.name: g for g in self.growth}
        if name not in by_name:
            raise unknown("growing bound", name, by_name, f"the bounds of {self.robot}")
        return by_name[name]

    def to_dict(self) -> dict[str, object]:
        """Return everything as plain data for JSON."""
        spans = dict(zip(self.joints, ([finite_or_none(v) for v in r] for r in self.range), strict=True))
        entries = [b.to_dict() for b in self.entries]
        rest = {"growth": [g.to_dict() for g in self.growth], "notes": list(self.notes)}
        return {"robot": self.robot, "range": spans, "tolerance": self.tolerance, "bounds": entries, **rest}

    def _title(self) -> str:
        ranges = [
            f"{j} {lo:.4g} .. {hi:.4g}" if math.isfinite(lo) else f"{j} anywhere"
            for j, (lo, hi) in zip(self.joints, self.range, strict=True)
        ]
        return f"Bounds of {self.robot} for {', '.join(ranges)}"

    def _rows(self) -> list[tuple[str, ...]]:
        rows: list[tuple[str, ...]] = [("name", "bound", "value", "gap", "reached", "at")]
        for b in self.entries:
            sign, mark = ">=" if b.infimum else "<=", "" if b.converged else " *"
            numbers = (f"{b.value + 0.0:.8g}{mark}", f"{b.gap:.1e}", f"{b.attained + 0.0:.8g}")
            rows.append((b.name, f"{b.text} {sign}", *numbers, _place(b)))
        return rows

    def _below(self) -> list[str]:
        wide = [b for b in self.entries if not b.converged]
        star = [f"* certain, but the gap is wider than asked for. {wide[0].method}"] if wide else []
        return [*map(repr, self.growth), *star, *self.notes]

    def __repr__(self) -> str:
        body = ["", *table(self._rows())] if self.entries else []
        below = ["", *self._below()] if self._below() else []
        return "\n".join([self._title(), *body, *below])

    def _repr_html_(self) -> str:
        return html_table(self._title(), self._rows(), self._below())


def _numbers(values: Sequence[float]) -> str:
    # Rounded first, so that -1e-13 is not written as -0.
    return "(" + ", ".join(f"{round(v, 4) + 0.0:.4g}" for v in values) + ")"


def _place(b: Bound) -> str:
    where = f"q = {_numbers(b.at)}" if b.at else "-"
    return f"{where}, qd ~ {_numbers(b.direction)}" if b.direction else where


def _monomial(power: Sequence[int], joints: Sequence[str]) -> str:
    return "".join(f" |{j}|" + (f"^{p}" if p > 1 else "") for j, p in zip(joints, power, strict=True) if p)
