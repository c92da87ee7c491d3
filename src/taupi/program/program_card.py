"""A program as a card for notebooks: its signature, its cost, and where its outputs are not zero."""

from __future__ import annotations

from typing import TYPE_CHECKING

from taupi.tables import html_pattern, html_table

if TYPE_CHECKING:
    from taupi.program.program import Program


def program_card(program: Program) -> str:
    """Return a program as HTML."""
    rows = [("", "name", "shape", "entries that are not zero")]
    rows += [("takes", p.name, _shape(p.shape), "") for p in program.inputs]
    pictures = []
    for port in program.outputs:
        mask = program.sparsity(port.name)
        share = f"{int(mask.sum())} of {mask.size}"
        rows.append(("returns", port.name, _shape(port.shape), share))
        if mask.ndim == 2:
            pictures.append(html_pattern(f"{port.name}: {share} entries are not zero", mask.tolist()))
    title = f"{program.name}: {program.operations.total} operations per sample ({program.operations})"
    return html_table(title, rows) + "".join(pictures)


def _shape(shape: tuple[int, ...]) -> str:
    return "(..., " + ", ".join(map(str, shape)) + ")" if shape else "(...)"
