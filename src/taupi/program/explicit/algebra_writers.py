"""Writers of formulas for computer algebra: Mathematica and Maple; and coordinates as functions of time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar

from taupi.errors import TaupiError
from taupi.program.explicit.polynomial_ring import Atom, symbol_name, velocity_of
from taupi.program.explicit.writers import LatexWriter, TextWriter

_DERIVATIVES = {"": 0, "d": 1, "dd": 2}


def checked_time(time: str | None, atoms: Sequence[Atom] = ()) -> str | None:
    """Return the name of time, or None; refuse what is not a name, and the name of anything else in the formulas' `atoms`."""
    if time is not None and not (isinstance(time, str) and time.isidentifier()):
        raise TaupiError("{time} is {got!r}, expected a name such as 't', or None.", got=time)
    coordinates = {moving[0] for moving in map(in_time, atoms) if moving is not None}
    if time in coordinates | {symbol_name(atom) for atom in atoms if atom.kind == "symbol"}:
        raise TaupiError(
            "{time} is {got!r}, a name that the formulas have already.",
            remedy="Choose another, such as 'time'.",
            got=time,
        )
    return time


def in_time(atom: Atom) -> tuple[str, int] | None:
    """Return the coordinate of an input and how often it is differentiated: qd2 is (q2, 1); None for a constant.

    >>> in_time(Atom("symbol", "qrdd", index=(1,), rank=1)), in_time(Atom("symbol", "L1"))
    (('qr1', 2), None)
    """
    if not atom.rank:
        return None
    base, dots = velocity_of(atom.name)
    return symbol_name(Atom("symbol", base, index=atom.index)), _DERIVATIVES[dots]


class TimedText(TextWriter):
    """Plain text with coordinates as functions of time, as SymPy reads it: Derivative(q1(t), t)."""

    time = "t"

    def symbol(self, atom: Atom) -> str:
        """Return an input or a parameter by its name."""
        moving = in_time(atom)
        if moving is None:
            return symbol_name(atom)
        name, order = moving
        inner = f"{name}({self.time})"
        return inner if not order else f"Derivative({inner}, {', '.join([self.time] * order)})"


class TimedLatex(LatexWriter):
    """LaTeX with coordinates as functions of time."""

    time = "t"

    def symbol(self, atom: Atom) -> str:
        """Return an input or a parameter by its name."""
        return super().symbol(atom) + (f"({self.time})" if atom.rank else "")


class MathematicaWriter(TextWriter):
    """Mathematica: -L1*L2*m2*qd1*Sin[q2]/2, or q1'[t] in place of qd1 if `time` is set."""

    time: str | None = None
    _names: ClassVar[dict[str, str]] = {
        "fabs": "Abs",
        "fmin": "Min",
        "fmax": "Max",
        "asin": "ArcSin",
        "acos": "ArcCos",
        "atan": "ArcTan",
        "pow": "Power",
        "constpow": "Power",
    }
    _reserved = frozenset((*"CDEIKNO", "Gamma", "Pi", "Beta", "Zeta"))

    def symbol(self, atom: Atom) -> str:
        """Return an input or a parameter by its name."""
        moving = in_time(atom) if self.time else None
        if moving is None:
            return self.name(symbol_name(atom))
        return f"{self.name(moving[0])}{chr(39) * moving[1]}[{self.time}]"

    def name(self, name: str) -> str:
        """Return a name that the language takes, and does not use itself."""
        letters = re.sub(r"[^A-Za-z0-9]", "", name)  # an underscore is a pattern, a dot a product
        return f"{letters}own" if letters in self._reserved else letters

    def function(self, op: str, arguments: list[str]) -> str:
        """Return a call of a function."""
        if op == "atan2":  # arguments are the other way round
            arguments = arguments[::-1]
            op = "atan"
        name = self._names.get(op, op[:1].upper() + op[1:])
        return f"{name}[{', '.join(arguments)}]" if op != "inv" else f"1/({arguments[0]})"

    def power(self, base: str, exponent: int) -> str:
        """Return a base to the power of a whole number."""
        return f"{base}^{exponent}"

    def number(self, x: object) -> str:
        """Return a number."""
        return super().number(x).replace("e", "*^")

    def listed(self, name: str, entries: object) -> str:
        """Return a definition or an output: nested lists for vectors, matrices and tensors."""
        return f"{self.name(name)} = {_nested(entries, '{', '}')};"


class MapleWriter(TextWriter):
    """Maple: -L1*L2*m2*qd1*sin(q2)/2, or diff(q1(t), t) in place of qd1 if `time` is set."""

    time: str | None = None
    _names: ClassVar[dict[str, str]] = {
        "fabs": "abs",
        "fmin": "min",
        "fmax": "max",
        "asin": "arcsin",
        "acos": "arccos",
        "atan": "arctan",
        "atan2": "arctan",
        "log": "ln",
        "sign": "signum",
    }
    _reserved = frozenset(("D", "I", "O", "gamma", "Pi"))

    def symbol(self, atom: Atom) -> str:
        """Return an input or a parameter by its name."""
        moving = in_time(atom) if self.time else None
        if moving is None:
            return self.name(symbol_name(atom))
        inner = f"{self.name(moving[0])}({self.time})"
        return inner if not moving[1] else f"diff({inner}, {', '.join([self.time or ''] * moving[1])})"

    def name(self, name: str) -> str:
        """Return a name that the language takes, and does not use itself."""
        letters = re.sub(r"[^A-Za-z0-9_]", "_", name)
        return f"{letters}_own" if letters in self._reserved else letters

    def function(self, op: str, arguments: list[str]) -> str:
        """Return a call of a function."""
        if op == "inv":
            return f"1/({arguments[0]})"
        if op in ("constpow", "pow"):
            return f"({arguments[0]})^({arguments[1]})"
        return f"{self._names.get(op, op)}({', '.join(arguments)})"

    def power(self, base: str, exponent: int) -> str:
        """Return a base to the power of a whole number."""
        return f"{base}^{exponent}"

    def listed(self, name: str, entries: object) -> str:
        """Return a definition or an output: a Vector, a Matrix, or an Array of three and more axes."""
        depth = _depth(entries)
        kind = ("", "Vector", "Matrix", "Array")[min(depth, 3)]
        text = _nested(entries, "[", "]")
        return f"{self.name(name)} := {kind}({text}):" if kind else f"{self.name(name)} := {text}:"


def _depth(entries: object) -> int:
    return 1 + _depth(entries[0]) if isinstance(entries, list) else 0


def _nested(entries: object, opened: str, closed: str) -> str:
    if not isinstance(entries, list):
        return str(entries)
    return opened + ", ".join(_nested(e, opened, closed) for e in entries) + closed


def shaped_lists(flat: Sequence[str], shape: tuple[int, ...]) -> object:
    """Return entries as nested lists of a shape.

    >>> shaped_lists(["a", "b", "c", "d"], (2, 2))
    [['a', 'b'], ['c', 'd']]
    """
    if not shape:
        return flat[0]
    size = len(flat) // shape[0]
    return [shaped_lists(flat[k * size : (k + 1) * size], shape[1:]) for k in range(shape[0])]


def distinct_names(write: MathematicaWriter | MapleWriter, names: Sequence[str]) -> set[str]:
    """Return symbols as a language writes them; refuse two that it would write the same, such as m_1 and m1 in Mathematica."""
    written: dict[str, str] = {}
    for name in names:
        other = written.setdefault(write.name(name), name)
        if other != name:
            raise TaupiError(
                "{other!r} and {name!r} are both {other_name!r} there, where names have no such characters.",
                remedy="Rename one of the symbols.",
                other=other,
                name=name,
                other_name=write.name(name),
            )
    return set(written)
