"""The table of springs, and of the encoders on both sides of each, for texts and reports."""

from __future__ import annotations

from taupi.identification.results.fit import Fit

# The columns of numbers.
NUMBERS = (1, 2, 3, 5, 6, 7, 8)
_HEAD = (
    "joint",
    "stiffness",
    "+-",
    "described",
    "unit",
    "theta late, ms",
    "+-",
    "lost motion",
    "+-",
    "offsets, log by log",
    "",
)


def spring_table(fit: Fit) -> list[tuple[str, ...]]:
    """Return the rows of the table, its heading first; none if the fit has no springs."""
    rows: list[tuple[str, ...]] = [_HEAD]
    names = list(fit.names)
    for r in fit.springs:
        k = names.index(f"{r.joint}.stiffness")
        numbers = (f"{fit.values[k]:.5g}", f"{fit.stderr[k]:.2g}", f"{r.described:.5g}", r.unit)
        delay = (f"{1e3 * r.delay:.4g}", f"{1e3 * r.delay_error:.2g}")
        lost = (f"{r.lost_motion:.2g}", f"{r.lost_motion_error:.1g}")
        offsets = f"{', '.join(f'{o:.4g}' for o in r.offsets)} {r.angle_unit}"
        rows.append((r.joint, *numbers, *delay, *lost, offsets, "not determined" if fit.undetermined[k] else ""))
    return rows if fit.springs else []
