"""The exact numbers of a program, which stay symbols in its trace."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from casadi import SX


@dataclass(frozen=True, slots=True)
class Constant:
    """A number that stays a symbol in the trace: its `name` and its exact `value`, or None if it has none yet.

    A constant that is `named` was named by the user, and explicit forms keep its name.
    """

    name: str
    value: Fraction | None
    named: bool = False


class Constants:
    """The exact numbers of a function, collected while it is traced: `trace` takes them as `constants`.

    >>> from fractions import Fraction
    >>> from taupi.program import Constants, Port, trace
    >>> constants = Constants()
    >>> body = lambda x: constants("length", Fraction(1, 3)) * x
    >>> third = trace("third", body, [Port("x")], [Port("y")], constants)
    >>> third.exact(Fraction(2)).item()
    2/3
    """

    def __init__(self) -> None:
        self.table: dict[str, Constant] = {}
        self.symbols: dict[str, SX] = {}

    def __call__(self, name: str, value: Fraction | None, named: bool = False) -> SX:
        """Return an exact number as SX: itself for 0, +-1, +-2 and +-1/2, otherwise a symbol.

        `name` is the symbol's name, always the same for the same number. `value` is None for a symbol that gets its number later
        (`Program.bind`). A constant that the user named (`named`) is always a symbol, and explicit forms keep its name.
        """
        import casadi as cs

        if value is not None and not named and value in (0, 1, -1, 2, -2, Fraction(1, 2), Fraction(-1, 2)):
            return cs.SX(float(value))
        if name not in self.symbols:
            self.symbols[name] = cs.SX.sym(name)
            self.table[name] = Constant(name, value, named)
        return self.symbols[name]
