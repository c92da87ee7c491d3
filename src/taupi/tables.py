"""Results as tables: aligned text, and HTML for notebooks."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence

# Names come from files: one that holds a line break, or what steers a terminal, shows it as Python would write it.
_STEERING = {
    code: repr(chr(code))[1:-1]
    for code in (*range(32), *range(127, 0xA0), 0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
}


def one_line(text: str, kept: str = "") -> str:
    """Return a text without line breaks and other control characters, which it shows instead; those `kept` stay.

    >>> print(one_line("a\\x1b[2Jb\\nc"))
    a\\x1b[2Jb\\nc
    """
    if text.isprintable():
        return text
    return "".join(c if c in kept else _STEERING.get(ord(c), c) for c in text)


def some_of(names: Sequence[str], most: int = 6) -> str:
    """Return the first names of many, at most so many.

    >>> some_of(["a", "b"]), some_of("abc", most=2)
    ('a, b', 'a, b, ...')
    """
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "")


def listed(names: Sequence[str], most: int = 8) -> str:
    """Return the first names of many, at most so many, and how many more there are.

    >>> listed(["a", "b"]), listed("abc", most=2)
    ('a, b', 'a, b and 1 more')
    """
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def span_of(names: Sequence[str]) -> str:
    """Return names that follow each other by the first and the last.

    >>> span_of(["q1"]), span_of(["q1", "q2", "q3"])
    ('q1', 'q1 ... q3')
    """
    return names[0] if len(names) == 1 else f"{names[0]} ... {names[-1]}"


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows as lines of aligned columns; the first row is the heading.

    >>> print("\\n".join(table([("a", "bb"), ("ccc", "d")])))
    a    bb
    ---  --
    ccc  d
    """
    rows = [[one_line(cell) for cell in row] for row in rows]
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]
    return [lines[0], "  ".join("-" * w for w in widths), *lines[1:]]


def with_error(value: float, error: float) -> tuple[str, str]:
    """Return an estimate and its standard error as text: the error with two digits, the estimate to the same place.

    The estimate has at most five digits, all five if its error is not known, and two if it is infinite: nothing was determined.

    >>> with_error(0.00065398, 0.0018), with_error(-0.66732, 0.0031), with_error(12345.6, 460.0)
    (('0.0007', '0.0018'), ('-0.6673', '0.0031'), ('12350', '460'))
    >>> with_error(1.9965, 3e-9), with_error(2.51234, math.inf), with_error(3.2e-12, 5.1e-9)
    (('1.9965', '3e-09'), ('2.5', 'inf'), ('0', '5.1e-09'))
    >>> with_error(1.99985147, 0.00055)
    ('1.9999', '0.00055')
    """
    if not (math.isfinite(value) and math.isfinite(error) and error > 0):
        return f"{value:.{2 if math.isinf(error) else 5}g}", f"{error:.2g}"
    two = float(f"{error:.1e}")
    places = 1 - math.floor(math.log10(two))  # decimals of the error's second digit; below 0, tens
    digits = places + (math.floor(math.log10(abs(value))) + 1 if value else 0)  # that the estimate then has
    shown = f"{two:.{max(places, 0)}f}" if -4 <= places <= 6 else f"{two:.2g}"
    rounded = round(value, places) + 0.0
    if rounded == 0:
        return "0", shown
    if digits > 5:
        return f"{value:.5g}", shown  # rounded once: 1.9998515, not 1.99985, is what five digits are taken from
    if not 0 <= places <= 6:
        return f"{rounded:.5g}", shown
    return f"{rounded:.{places}f}", shown


def estimate_text(value: float, error: float) -> str:
    """Return an estimate with its standard error in one text, both to the second digit of the error.

    >>> estimate_text(19.963, 0.0761), estimate_text(153.2, 7.2), estimate_text(1.39812, 0.0059)
    ('19.963 ± 0.076', '153.2 ± 7.2', '1.3981 ± 0.0059')
    """
    return " ± ".join(with_error(value, error))


def interval_text(low: float, high: float, error: float) -> str:
    """Return an interval as text, its ends to the place to which the standard error is stated.

    >>> interval_text(-0.63091, 1.5152, 0.5412), interval_text(4.38612, 4.45803, 0.018)
    ('-0.63 .. 1.52', '4.386 .. 4.458')
    """
    return " .. ".join(with_error(end, error)[0] for end in (low, high))


def html_table(title: str, rows: Sequence[Sequence[str]], notes: Sequence[str] = ()) -> str:
    """Return an HTML table with a caption and paragraphs of notes below it; the first row is the heading."""

    def cells(row: Sequence[str], tag: str) -> str:
        return "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in row)

    lines = "".join(f"<tr>{cells(row, 'td')}</tr>" for row in rows[1:])
    paragraphs = "".join(f"<p>{html.escape(note)}</p>" for note in notes)
    caption = f"<caption>{html.escape(title)}</caption>"
    return f"<table>{caption}<thead><tr>{cells(rows[0], 'th')}</tr></thead><tbody>{lines}</tbody></table>{paragraphs}"


# Small pictures for notebooks ----------------------------------------------------------------------------------------

_COLOURS = ("#1f6fb4", "#e08a2e", "#2f8f3e", "#c2374b", "#7a55a6", "#8c564b", "#c95f97", "#0f8b8d")
_WIDTH, _HEIGHT, _POINTS = 420, 90, 300


def html_lines(title: str, time: Sequence[float], columns: Sequence[Sequence[float]]) -> str:
    """Return an SVG of one line per column over time, with its largest and smallest value; empty if nothing is finite.

    Long columns are thinned to the smallest and largest values of each part, so that peaks are kept.
    """
    finite = [v for column in columns for v in column if math.isfinite(v)]
    if not finite or len(time) < 2 or not time[-1] > time[0]:
        return ""
    low, high = min(finite), max(finite)
    span = (high - low) or 1.0
    paths = []
    for k, column in enumerate(columns):
        points = [
            f"{_WIDTH * (time[i] - time[0]) / (time[-1] - time[0]):.1f},{_HEIGHT * (high - column[i]) / span:.1f}"
            for i in _thinned(column)
        ]
        paths.append(f'<polyline fill="none" stroke="{_COLOURS[k % len(_COLOURS)]}" points="{" ".join(points)}"/>')
    words = f"{title}: {low:.4g} to {high:.4g} over {time[-1] - time[0]:.4g} s"
    return (
        f"<figure style='margin:.5em 0'><figcaption>{html.escape(words)}</figcaption>"
        f'<svg role="img" aria-label="{html.escape(words)}" width="{_WIDTH}" height="{_HEIGHT}" '
        f'viewBox="0 -2 {_WIDTH} {_HEIGHT + 4}">{"".join(paths)}</svg></figure>'
    )


def _thinned(column: Sequence[float]) -> list[int]:
    """Return which entries to draw: all finite ones, or the smallest and the largest of each of this many parts."""
    finite = [i for i, v in enumerate(column) if math.isfinite(v)]
    if len(finite) <= 2 * _POINTS:
        return finite
    step = math.ceil(len(finite) / _POINTS)
    parts = [finite[k : k + step] for k in range(0, len(finite), step)]
    ends = [{min(part, key=lambda i: column[i]), max(part, key=lambda i: column[i])} for part in parts]
    return [i for pair in ends for i in sorted(pair)]


def html_pattern(title: str, pattern: Sequence[Sequence[bool]]) -> str:
    """Return an SVG of a matrix: a dark cell where an entry is not zero."""
    rows, columns = len(pattern), len(pattern[0]) if pattern else 0
    if not rows or not columns:
        return ""
    cell = max(2, min(12, _WIDTH // columns))
    squares = "".join(
        f'<rect x="{cell * j}" y="{cell * i}" width="{cell - 1}" height="{cell - 1}"/>'
        for i, row in enumerate(pattern)
        for j, entry in enumerate(row)
        if entry
    )
    words = html.escape(title)
    return (
        f"<figure style='margin:.5em 0'><figcaption>{words}</figcaption><svg role='img' aria-label=\"{words}\" "
        f'width="{cell * columns}" height="{cell * rows}" style="background:#8882" fill="{_COLOURS[0]}">{squares}</svg></figure>'
    )
