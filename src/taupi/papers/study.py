"""What a study is, and what rerunning it gives: the paper's figures and our own reference runs, tables, pictures, notes."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from decimal import Decimal, InvalidOperation

import numpy as np

from taupi.dynamics.types import ArrayLike
from taupi.errors import TaupiError
from taupi.reporting.chart import TIME, ChartAxis
from taupi.tables import html_table, table

# Where the protocol and the figures of our own reference runs are documented.
REFERENCE_RUNS = "docs/concepts/reference-runs.md"
GROUPS = {False: "The paper's figures and formulas", True: "Own reference runs"}
Step = Callable[[str], None]


@dataclass(frozen=True)
class StudyRow:
    """A figure, formula or statement of a source beside ours, the rule of comparison, and whether they agree.

    Attributes:
        what: What is compared.
        stated: Text of the source.
        ours: Result of the literal reading, which the verdict is about.
        agrees: Whether both agree by the rule.
        rule: When they agree, in words.
        unit: Unit of the figure.
        source: Where a reader finds it.
        because: Why they differ, if that is known.
        tolerance: How far a number may be from the stated one.
        recommended: Result of a better method, if there is one.
        part: Heading of the row.
        own: Whether the source is one of our own reference runs, not the paper.
        tried: What was investigated where the reason of a difference is not known.
        share: Of many runs of ours with random inputs where the source prints one and not its inputs, how many come as near.
    """

    what: str
    stated: str
    ours: float | str
    agrees: bool
    rule: str
    unit: str = ""
    source: str = ""
    because: str = ""
    tolerance: float | None = None
    recommended: float | str | None = None
    part: str = ""
    own: bool = False
    tried: str = ""
    share: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "agrees", bool(self.agrees))

    @property
    def verdict(self) -> str:
        """The result of the comparison: agrees, or differs and why, or what was tried to find out why."""
        if self.agrees:
            return "agrees"
        if self.because:
            return f"differs, because {self.because}"
        return f"differs, for an unknown reason: {self.tried}" if self.tried else "differs"

    @property
    def explained(self) -> bool:
        """Whether it agrees, or differs for a known reason."""
        return self.agrees or bool(self.because)

    @property
    def accounted(self) -> bool:
        """Whether it agrees, or differs and says why, or says what was tried to find out."""
        return self.explained or bool(self.tried)

    @property
    def digits(self) -> int:
        """How many digits of ours to show: four, or as many as are printed."""
        try:
            return max(4, len(Decimal(self.stated).as_tuple().digits))
        except InvalidOperation:
            return 4

    def to_dict(self) -> dict[str, object]:
        """Return the row for JSON."""
        return {k: getattr(self, k) for k in self.__dataclass_fields__} | {"verdict": self.verdict}


def figure(
    what: str,
    stated: str,
    ours: float,
    unit: str = "",
    source: str = "",
    tolerance: float | None = None,
    because: str = "",
    recommended: float | None = None,
    *,
    reason: str = "",
) -> StudyRow:
    """Return the row of a printed number, as text; it agrees if ours rounds to the printed digits.

    `what`, `unit`, `source`, `because` and `recommended` are as in `StudyRow`. `tolerance` is how far ours may be from the stated
    number, by default half a unit of its last printed digit; one that is given needs its `reason`, which the rule states.

    >>> figure("V at 40 s", "5.19", 5.1852, "J").verdict
    'agrees'
    >>> row = figure("V at 40 s", "5.19", 5.21, "J")
    >>> row.verdict, row.rule
    ('differs', 'to the printed digits')
    """
    number = Decimal(stated)
    if tolerance is not None and not reason:
        raise TaupiError("{tolerance} of {what!r} is given without the {reason} for it.", what=what)
    allowed = 0.5 * 10.0 ** int(number.as_tuple().exponent) if tolerance is None else tolerance
    agrees = math.isfinite(ours) and abs(ours - float(number)) <= allowed * (1 + 1e-9)
    rule = "to the printed digits" if tolerance is None else f"within {tolerance:.2g}: {reason}"
    return StudyRow(what, stated, float(ours), agrees, rule, unit, source, because, allowed, recommended)


def between(
    what: str,
    stated: str,
    ours: float,
    low: float,
    high: float,
    reason: str,
    unit: str = "",
    source: str = "",
    because: str = "",
    recommended: float | None = None,
) -> StudyRow:
    """Return the row of a number that ours can only approximate, as random draws differ: it agrees from `low` to `high`.

    `reason` says why the range is that wide; the rule states both. The other arguments are as in `StudyRow`.

    >>> row = between("error", "0.167", 0.146, 0.14, 0.24, "so far other motions vary")
    >>> row.verdict, row.rule
    ('agrees', '0.14 to 0.24: so far other motions vary')
    """
    agrees = math.isfinite(ours) and low <= ours <= high
    band = f"{low:.3g} to {high:.3g}" if low > 0 else f"at most {high:.3g}"
    return StudyRow(what, stated, float(ours), agrees, f"{band}: {reason}", unit, source, because, None, recommended)


def statement(
    what: str, stated: str, ours: str, agrees: bool, source: str = "", because: str = "", *, rule: str
) -> StudyRow:
    """Return the row of a statement or formula: `what` it is, `stated` and `ours` as text, whether `ours` agrees.

    `source` is where it is printed, `because` why it differs, `rule` when it would agree.
    """
    return StudyRow(what, stated, ours, agrees, rule, source=source, because=because)


SAME_FORMULA = "equal, symbol by symbol"
EXACT = 1e-9  # relative: rounding of a few thousand doubles stays below this, any mistake is above


def off(got: ArrayLike, wanted: ArrayLike) -> float:
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
    reason: str = "rounding",
) -> StudyRow:
    """Return the row of an equation: `printed` in the document, and what `holds` instead.

    `gap` is the relative error of the printed equation, `left` that of the correct one; `exact` is the limit below which an error
    counts as its `reason` says. `what`, `source` and `because` are as in `StudyRow`.
    """
    ours = f"off by {gap:.1e}" + ("" if left is None else f"; {holds}: {left:.1e}")
    return statement(what, printed, ours, gap < exact, source, because, rule=f"off by less than {exact:.0e}: {reason}")


def equation(
    where: str, printed: str, holds: str, gap: float, left: float | None = None, because: str = ""
) -> StudyRow:
    """Return the row of an equation; `where` has its number before a colon."""
    source, _, what = where.partition(": ")
    return compared(what, printed, holds, gap, left, source, because)


def holding(source: str, facts: Sequence[tuple[str, str, float]]) -> list[StudyRow]:
    """Return the rows of equations that should hold as printed: what, the equation, its relative error."""
    return [compared(what, printed, "", gap, None, source) for what, printed, gap in facts]


def own_runs(rows: Sequence[StudyRow]) -> list[StudyRow]:
    """Return the rows marked as our own reference runs, which no paper states."""
    return [replace(row, own=True, source=row.source or REFERENCE_RUNS) for row in rows]


def in_part(part: str, rows: Sequence[StudyRow]) -> list[StudyRow]:
    """Return the rows under the heading `part`."""
    return [replace(row, part=part) for row in rows]


def shown(value: object, digits: int = 4) -> str:
    """Return a value as readable text: a number with some digits, None as an empty string."""
    return "" if value is None else f"{value:.{digits}g}" if isinstance(value, float | np.floating) else str(value)


def clipped(text: str, most: int = 60) -> str:
    """Return a text cut to at most `most` characters, for a column of a terminal."""
    return text if len(text) <= most else text[: most - 4] + " ..."


@dataclass(frozen=True)
class StudyTable:
    """A table of results: a title, a heading, rows of text and numbers."""

    title: str
    heading: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]

    def cells(self) -> list[tuple[str, ...]]:
        """Return heading and rows as text."""
        return [self.heading, *(tuple(shown(v) for v in row) for row in self.rows)]


@dataclass(frozen=True, eq=False)
class Picture:
    """Up to three lines over time (N,), by name: a chart of the page.

    `across` is the axis if it is not time; with `log` the vertical scale is logarithmic.
    """

    title: str
    unit: str
    time: np.ndarray
    lines: Mapping[str, np.ndarray]
    across: ChartAxis = TIME
    log: bool = False


@dataclass(frozen=True)
class PublishedStudy:
    """A published study: its `name`, its `document`, what it `reruns`, about how many `seconds` that takes.

    `run(step)` reruns it and returns a `Reproduction`; it calls `step(name)` at the beginning of each of its `steps`, which moves
    the progress bar.
    """

    name: str
    document: str
    reruns: str
    seconds: int
    steps: int
    run: Callable[[Step], Reproduction] = field(repr=False, compare=False)


@dataclass(frozen=True)
class Count:
    """How many rows were compared: `agree` of `rows` agree, `known` differ for a known reason, `unknown` for an unknown one."""

    rows: int
    agree: int
    known: int
    unknown: int

    @classmethod
    def of(cls, rows: Sequence[StudyRow]) -> Count:
        """Return the count of some rows."""
        agree = sum(row.agrees for row in rows)
        known = sum(row.explained for row in rows) - agree
        return cls(len(rows), agree, known, len(rows) - agree - known)

    def __str__(self) -> str:
        agree = f"{self.agree} {'agrees' if self.agree == 1 else 'agree'}"
        return f"{self.rows} compared: " + ", ".join([agree, *self.differing]) if self.rows else "none"

    @property
    def differing(self) -> list[str]:
        """How many differ for a known reason and for an unknown one, in words; zeros are left out."""
        kinds = ((self.known, "a known"), (self.unknown, "an unknown"))
        return [f"{n} {'differs' if n == 1 else 'differ'} for {kind} reason" for n, kind in kinds if n]


@dataclass(frozen=True, eq=False, repr=False)
class Reproduction:
    """A study rerun: what its paper states beside ours.

    Attributes:
        study: What was rerun.
        rows: Figures, formulas and statements beside ours, each with a rule of comparison and a verdict.
        tables: Tables of results, by name.
        pictures: Lines over time, or over another axis.
        notes: What else there is to know, in words.
        seconds: How long it took.
    """

    study: PublishedStudy
    rows: tuple[StudyRow, ...]
    tables: Mapping[str, StudyTable] = field(default_factory=dict)
    pictures: tuple[Picture, ...] = ()
    notes: tuple[str, ...] = ()
    seconds: float = math.nan

    @property
    def paper(self) -> tuple[StudyRow, ...]:
        """The rows of the paper's own figures and formulas."""
        return tuple(row for row in self.rows if not row.own)

    @property
    def reference(self) -> tuple[StudyRow, ...]:
        """The rows of our own reference runs."""
        return tuple(row for row in self.rows if row.own)

    @property
    def counts(self) -> dict[str, Count]:
        """How many rows of the paper and of our own reference runs agree."""
        return {"paper": Count.of(self.paper), "reference": Count.of(self.reference)}

    @property
    def holds(self) -> bool:
        """Whether every row agrees, or differs and is explained."""
        return all(row.accounted for row in self.rows)

    @property
    def summary(self) -> str:
        """Two counts in one line: of the paper's figures, and of our own reference runs."""
        return "; ".join(
            f"{GROUPS[own]}, {count}" for own, count in zip((False, True), self.counts.values(), strict=True)
        )

    def write(self, folder: str | os.PathLike[str], force: bool = False) -> list[str]:
        """Write paper.csv, reference.csv, one CSV per table, reproduction.json and report.html into `folder`; return names.

        Files of an earlier reproduction are replaced only if `force` is true.
        """
        from taupi.papers.page import write_reproduction

        return write_reproduction(self, folder, force)

    def to_dict(self) -> dict[str, object]:
        """Return rows, tables and notes for JSON."""
        study = {k: getattr(self.study, k) for k in ("name", "document", "reruns")}
        tables = {k: {"title": t.title, "heading": t.heading, "rows": t.rows} for k, t in self.tables.items()}
        rows = {"paper": [r.to_dict() for r in self.paper], "reference": [r.to_dict() for r in self.reference]}
        counts = {name: asdict(count) for name, count in self.counts.items()}
        return {**study, "summary": self.summary, "counts": counts, **rows, "tables": tables, "notes": self.notes}

    def __repr__(self) -> str:
        lines = [f"{self.study.name}: {self.study.document}"]
        for own, rows, count in zip((False, True), (self.paper, self.reference), self.counts.values(), strict=True):
            lines += ["", f"{GROUPS[own]}: {count}"]
            for part, several in by_part(rows).items():
                cells = [(*map(clipped, row_cells(several, row)[:-1]), row.verdict) for row in several]
                lines += ["", *([part] if part else []), *table([headings(several), *cells])]
        lines += ["", *(f"- {note}" for note in self.notes)] if self.notes else []
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return "".join(
            html_table(f"{GROUPS[own]}: {part}", [headings(several), *(row_cells(several, row) for row in several)])
            for own, rows in ((False, self.paper), (True, self.reference))
            for part, several in by_part(rows).items()
        )


def by_part(rows: Sequence[StudyRow]) -> dict[str, list[StudyRow]]:
    """Return the rows by heading, in order."""
    parts: dict[str, list[StudyRow]] = {}
    for row in rows:
        parts.setdefault(row.part, []).append(row)
    return parts


def headings(rows: Sequence[StudyRow]) -> tuple[str, ...]:
    """Return the heading of a table of rows; units and recommended values only if there are any."""
    literal = "ours, literal" if any(row.recommended is not None for row in rows) else "ours"
    stated = "reference run" if any(row.own for row in rows) else "published"
    literal = "ours, median" if any(row.share is not None for row in rows) else literal
    names = ("what", stated, literal, "ours, recommended", "unit", "as near", "source", "agrees if", "verdict")
    return tuple(name for name, keep in zip(names, _kept(rows), strict=True) if keep)


def row_cells(rows: Sequence[StudyRow], row: StudyRow) -> tuple[str, ...]:
    """Return a row's cells for the heading of `rows`."""
    ours, better = shown(row.ours, row.digits), shown(row.recommended, row.digits)
    share = "" if row.share is None else f"{row.share:.1%}"
    cells = (row.what, row.stated, ours, better, row.unit, share, row.source, row.rule, row.verdict)
    return tuple(cell for cell, keep in zip(cells, _kept(rows), strict=True) if keep)


def _kept(rows: Sequence[StudyRow]) -> tuple[bool, ...]:
    recommended, shares = (any(getattr(row, name) is not None for row in rows) for name in ("recommended", "share"))
    units, sources = (any(getattr(row, name) for row in rows) for name in ("unit", "source"))
    return (True, True, True, recommended, units, shares, sources, True, True)
