"""How many scalar operations a program takes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Operations:
    """How many scalar operations a program takes, with structural zeros left out and repeated terms computed once.

    They are counted as `multiplications`, `additions`, `divisions` and `functions` (sine, square root, comparisons, ...).
    """

    multiplications: int
    additions: int
    divisions: int
    functions: int

    @property
    def total(self) -> int:
        """The number of all operations."""
        return self.multiplications + self.additions + self.divisions + self.functions

    def __repr__(self) -> str:
        return f"{self.multiplications} x, {self.additions} +, {self.divisions} /, {self.functions} functions"
