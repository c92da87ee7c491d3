"""What a study is, and what rerunning it gives: rows of published figures beside ours, tables, pictures, notes."""

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
    """A published figure or statement beside ours, and whether they agree.

    `what` is compared, `published` is the text as printed, `unit` its unit and `source` where it is printed. `ours` is the result
    of the literal reading; `recommended`, where there is one, that of a better way. `tolerance` is how far a figure may be from
    the published one. `because` says why they differ, where that is known. `part` is the heading it stands under.
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
        """The result of the comparison: agrees, or differs and why."""
        return "agrees" if self.agrees else f"differs, because {self.because}" if self.because else "differs"

    @property
    def explained(self) -> bool:
        """Whether it agrees, or differs for a known reason."""
        return self.agrees or bool(self.because)

    def cells(self) -> tuple[str, ...]:
        """Return what, published, ours, unit, source and verdict as text."""
        return (self.what, self.published, shown(self.ours, self.digits), self.unit, self.source, self.verdict)

    @property
    def digits(self) -> int:
        """How many digits of ours to show: four, or as many as are printed."""
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
    """Return the row of a published number, as text; it agrees where ours rounds to the printed digits.

    `what`, `unit`, `source`, `because` and `recommended` are as in `Row`. `tolerance` is how far ours may be from the published
    number, by default half a unit of its last printed digit.

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
    """Return the row of a published number that ours can only resemble, as random draws differ: it agrees from `low` to `high`.

    The other arguments are as in `Row`.

    >>> between("error", "0.167", 0.146, 0.14, 0.24).verdict
    'agrees'
    """
    agrees = math.isfinite(ours) and low <= ours <= high
    return Row(what, published, float(ours), agrees, unit, source, because, None, recommended)


def statement(what: str, published: str, ours: str, agrees: bool, source: str = "", because: str = "") -> Row:
    """Return the row of a published statement or formula: `what` it is, `published` and `ours` as text, whether `ours` agrees.

    `source` is where it is printed, `because` why it differs.
    """
    return Row(what, published, ours, bool(agrees), source=source, because=because)


EXACT = 1e-9  # relative: rounding of a few thousand doubles stays below, any slip is above


def off(got: Any, wanted: Any) -> float:
    """Return the largest difference relative to the largest entry of `wanted`."""
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
    """Return the row of an equation: `printed` in the document, and what `holds` instead.

    `gap` is the relative error of the printed equation, `left` that of the one that holds; `exact` is below which an error
    counts as rounding. `what`, `source` and `because` are as in `Row`.
    """
    ours = f"off by {gap:.1e}" + ("" if left is None else f"; {holds}: {left:.1e}")
    return statement(what, printed, ours, gap < exact, source, because)


def holding(source: str, facts: Sequence[tuple[str, str, float]]) -> list[Row]:
    """Return the rows of equations that should hold as printed: what, the equation, its relative error."""
    return [compared(what, printed, "", gap, None, source) for what, printed, gap in facts]


def in_part(part: str, rows: Sequence[Row]) -> list[Row]:
    """Return the rows under the heading `part`."""
    return [replace(row, part=part) for row in rows]


def shown(value: Any, digits: int = 4) -> str:
    """Return a value for people: a number with some digits, None as nothing."""
    return "" if value is None else f"{value:.{digits}g}" if isinstance(value, float | np.floating) else str(value)


def clipped(text: str, most: int = 60) -> str:
    """Return a text cut to at most `most` characters, for a column of a terminal."""
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
    """Up to three lines over time (N,), by name: a chart of the page. `across` names the axis where it is not time."""

    title: str
    unit: str
    time: np.ndarray
    lines: Mapping[str, np.ndarray]
    across: str = "seconds"


@dataclass(frozen=True)
class Study:
    """A published study: its `name`, its `document`, what it `reruns`, about how many `seconds` that takes.

    `run(step)` does it and returns a `Reproduction`; it calls `step(name)` at the beginning of each of its `steps`, which moves
    the progress bar.
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
        """Whether every row agrees, or differs for a known reason."""
        return all(row.explained for row in self.rows)

    @property
    def parts(self) -> dict[str, list[Row]]:
        """The rows by heading, in order."""
        parts: dict[str, list[Row]] = {}
        for row in self.rows:
            parts.setdefault(row.part, []).append(row)
        return parts

    @property
    def summary(self) -> str:
        """One line: how many rows agree, differ for a known reason, differ."""
        agree = sum(row.agrees for row in self.rows)
        known = sum(row.explained for row in self.rows) - agree
        rest = len(self.rows) - agree - known
        summary = f"{len(self.rows)} published figures: {agree} agree"
        return (
            summary + (f", {known} differ for a known reason" if known else "") + (f", {rest} differ" if rest else "")
        )

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
