"""What a study is, and what rerunning it gives: rows of published figures beside ours, tables, pictures, words."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np

from taupi.tables import html_table, table

Step = Callable[[str], None]


@dataclass(frozen=True)
class Row:
    """A published figure or statement beside ours. `because` says why they differ, where that is known.

    `ours` is what the literal reading gives; `recommended`, where there is one, what one would do instead. `tolerance` is how
    far a figure may be from the published one, by default half a unit of its last printed digit.
    """

    what: str
    published: str
    ours: float | str
    agrees: bool
    unit: str = ""
    source: str = ""
    because: str = ""
    tolerance: float | None = None
    recommended: float | str | None = None
    part: str = ""

    @property
    def verdict(self) -> str:
        """What comes of the comparison: agrees, or differs and why."""
        return "agrees" if self.agrees else f"differs, because {self.because}" if self.because else "differs"

    @property
    def explained(self) -> bool:
        """Whether it agrees, or differs for a reason that is known."""
        return self.agrees or bool(self.because)

    def cells(self) -> tuple[str, ...]:
        """Return what, published, ours, unit, source and verdict as text."""
        return (self.what, self.published, shown(self.ours, self.digits), self.unit, self.source, self.verdict)

    @property
    def digits(self) -> int:
        """How many digits of ours are worth showing: four, or as many as are printed."""
        try:
            return max(4, len(Decimal(self.published).as_tuple().digits))
        except InvalidOperation:
            return 4

    def to_dict(self) -> dict[str, Any]:
        """Return the row for JSON."""
        return {k: getattr(self, k) for k in self.__dataclass_fields__} | {"verdict": self.verdict}


def figure(
    what: str,
    published: str,
    ours: float,
    unit: str = "",
    source: str = "",
    tolerance: float | None = None,
    because: str = "",
    recommended: float | None = None,
) -> Row:
    """Return a row of a published number, as it is printed, and ours; it agrees where ours rounds to the printed digits.

    >>> figure("V at 40 s", "5.19", 5.1852, "J").verdict
    'agrees'
    >>> figure("V at 40 s", "5.19", 5.21, "J").verdict
    'differs'
    """
    number = Decimal(published)
    allowed = 0.5 * 10.0 ** int(number.as_tuple().exponent) if tolerance is None else tolerance
    agrees = math.isfinite(ours) and abs(ours - float(number)) <= allowed * (1 + 1e-9)
    return Row(what, published, float(ours), agrees, unit, source, because, allowed, recommended)


def between(
    what: str,
    published: str,
    ours: float,
    low: float,
    high: float,
    unit: str = "",
    source: str = "",
    because: str = "",
    recommended: float | None = None,
) -> Row:
    """Return a row of a published number that ours can only be like, as draws differ: it agrees from `low` to `high`.

    >>> between("error", "0.167", 0.146, 0.14, 0.24).verdict
    'agrees'
    """
    agrees = math.isfinite(ours) and low <= ours <= high
    return Row(what, published, float(ours), agrees, unit, source, because, None, recommended)


def statement(what: str, published: str, ours: str, agrees: bool, source: str = "", because: str = "") -> Row:
    """Return a row of a published statement or formula, what we find, and whether it is the same."""
    return Row(what, published, ours, bool(agrees), source=source, because=because)


EXACT = 1e-9  # relative: what sums of a few thousand doubles stay below, and no slip does


def off(got: Any, wanted: Any) -> float:
    """Return the largest difference relative to the largest wanted entry."""
    return float(np.abs(np.asarray(got) - wanted).max() / np.abs(wanted).max())


def compared(
    what: str,
    printed: str,
    holds: str,
    gap: float,
    left: float | None = None,
    source: str = "",
    because: str = "",
    exact: float = EXACT,
) -> Row:
    """Return a row of an equation: `gap` is how far the print is from the truth, `left` how far what `holds`; both relative."""
    found = f"off by {gap:.1e}" + ("" if left is None else f"; {holds}: {left:.1e}")
    return statement(what, printed, found, gap < exact, source, because)


def holding(source: str, facts: Sequence[tuple[str, str, float]]) -> list[Row]:
    """Return rows of equations that should hold as printed: what, as printed, how far off."""
    return [compared(what, printed, "", gap, None, source) for what, printed, gap in facts]


def in_part(part: str, rows: Sequence[Row]) -> list[Row]:
    """Return rows under a heading."""
    return [replace(row, part=part) for row in rows]


def shown(value: Any, digits: int = 4) -> str:
    """Return a value for people: some digits of a number, nothing of None."""
    return "" if value is None else f"{value:.{digits}g}" if isinstance(value, float | np.floating) else str(value)


def clipped(text: str, most: int = 60) -> str:
    """Return a text that fits into a column of a terminal."""
    return text if len(text) <= most else text[: most - 4] + " ..."


@dataclass(frozen=True)
class Table:
    """A table of results: a title, a heading, rows of text and numbers."""

    title: str
    heading: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]

    def cells(self) -> list[tuple[str, ...]]:
        """Return heading and rows as text."""
        return [self.heading, *(tuple(shown(v) for v in row) for row in self.rows)]


@dataclass(frozen=True, eq=False)
class Picture:
    """Up to three lines over time (N,), by name: a chart of the page. `across` names what else `time` is."""

    title: str
    unit: str
    time: np.ndarray
    lines: Mapping[str, np.ndarray]
    across: str = "seconds"


@dataclass(frozen=True)
class Study:
    """A published study: its name, its document, what is rerun, about how long that takes, and how it is done.

    `run` is given a function to call with the name of each of its `steps`, for the line of progress.
    """

    name: str
    document: str
    reruns: str
    seconds: int
    steps: int
    run: Callable[[Step], Reproduction] = field(repr=False, compare=False)


@dataclass(frozen=True, eq=False, repr=False)
class Reproduction:
    """A `study` rerun: `rows` of published figures beside ours, `tables` by name, `pictures`, and `notes` in words.

    `seconds` is how long it took. `holds` says whether every row agrees, or differs for a known reason. `write(folder)` writes
    all of it to files.
    """

    study: Study
    rows: tuple[Row, ...]
    tables: Mapping[str, Table] = field(default_factory=dict)
    pictures: tuple[Picture, ...] = ()
    notes: tuple[str, ...] = ()
    seconds: float = math.nan

    @property
    def holds(self) -> bool:
        """Whether every row agrees or differs for a reason that is known."""
        return all(row.explained for row in self.rows)

    @property
    def parts(self) -> dict[str, list[Row]]:
        """The rows by heading, in order."""
        found: dict[str, list[Row]] = {}
        for row in self.rows:
            found.setdefault(row.part, []).append(row)
        return found

    @property
    def summary(self) -> str:
        """One line: how many rows agree, differ for a known reason, differ."""
        agree = sum(row.agrees for row in self.rows)
        known = sum(row.explained for row in self.rows) - agree
        rest = len(self.rows) - agree - known
        told = f"{len(self.rows)} published figures: {agree} agree"
        return told + (f", {known} differ for a known reason" if known else "") + (f", {rest} differ" if rest else "")

    def write(self, folder: str | os.PathLike[str], force: bool = False) -> list[str]:
        """Write rows.csv, one CSV per table, reproduction.json and report.html into `folder`; return their names.

        Files of an earlier reproduction are replaced only if `force` is true.
        """
        from taupi.papers.folder import write_reproduction

        return write_reproduction(self, folder, force)

    def to_dict(self) -> dict[str, Any]:
        """Return rows, tables and notes for JSON."""
        study = {k: getattr(self.study, k) for k in ("name", "document", "reruns")}
        tables = {k: {"title": t.title, "heading": t.heading, "rows": t.rows} for k, t in self.tables.items()}
        rows = [row.to_dict() for row in self.rows]
        return {**study, "summary": self.summary, "rows": rows, "tables": tables, "notes": self.notes}

    def __repr__(self) -> str:
        lines = [f"{self.study.name}: {self.study.document}", self.summary]
        for part, rows in self.parts.items():
            cells = [(*map(clipped, row_cells(rows, row)[:-1]), row.verdict) for row in rows]
            lines += ["", *([part] if part else []), *table([headings(rows), *cells])]
        lines += ["", *(f"- {note}" for note in self.notes)] if self.notes else []
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        blocks = [html_table(p, [headings(r), *(row_cells(r, x) for x in r)]) for p, r in self.parts.items()]
        return "".join(blocks)


def headings(rows: Sequence[Row]) -> tuple[str, ...]:
    """Return the heading of a table of rows; units and recommended values only where there are some."""
    return tuple(name for name, keep in zip(_heading(rows), _kept(rows), strict=True) if keep)


def row_cells(rows: Sequence[Row], row: Row) -> tuple[str, ...]:
    """Return a row's cells as the heading of `rows` has them."""
    cells = (*row.cells()[:3], shown(row.recommended, row.digits), *row.cells()[3:])
    return tuple(cell for cell, keep in zip(cells, _kept(rows), strict=True) if keep)


def _heading(rows: Sequence[Row]) -> tuple[str, ...]:
    literal = "ours, literal" if any(row.recommended is not None for row in rows) else "ours"
    return ("what", "published", literal, "ours, recommended", "unit", "source", "verdict")


def _kept(rows: Sequence[Row]) -> tuple[bool, ...]:
    recommended = any(row.recommended is not None for row in rows)
    return (True, True, True, recommended, any(row.unit for row in rows), any(row.source for row in rows), True)
