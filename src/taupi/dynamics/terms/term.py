"""What a term of a joint has to offer, and what it says about itself."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeVar, cast
from weakref import WeakValueDictionary

from taupi.dynamics.types import Expression
from taupi.errors import Argument, TaupiError
from taupi.model.robot_parts import Joint
from taupi.model.scalars import Scalar, is_symbolic
from taupi.program.casadi_on_use import cs

T = TypeVar("T", bound=type)
Sign = Literal["any", "nonnegative", "positive"]

# The classes that `kind_of` has found, as long as they exist and there are no new ones.
_KINDS: WeakValueDictionary[str, type[Term]] = WeakValueDictionary()


class Term:
    """A torque at one joint that is linear in one parameter: tau_i = column(q_i, qd_i, qdd_i) times the parameter.

    A term is a frozen dataclass with a `name`, `unit`, `value` and `column`. All else has a default, which suits a term that is
    smooth, acts on the motor's side of a gear and has no place in files of other tools.

    Attributes:
        name: The kind of its parameter, the second half of the parameter's name: `elbow.viscous`.
        label: What it is in a sentence, as in "viscous friction".
        heading: The heading of its column in tables of friction; empty for what is no friction.
        symbol: The LaTeX symbol of its parameter.
        sign: "any"; "nonnegative", if no real joint has one below zero, though a sensor may show it; or "positive", like a mass.
        with_coulomb: Whether the sum with dry friction, rather than the parameter itself, has that sign.
        drift: By which share of a joint's friction it changes from run to run, as gears warm up.
        constant: Whether its torque is the same in every state, so that a log may not tell it from friction.
        needs_speed: Whether its torque depends on speed, so that logs at other speeds say little of it.
        transmitted: Whether a gear transmits its torque, like that of the links, so that it is part of the load.
        jumps: Whether its column jumps at standstill, as dry friction does.
        on_drives: Whether a drive that several joints share has it too, beside the joints; an offset there is one of the joints.
        field: Where `joint.friction` or `joint.transmission` states it: "friction.viscous"; empty if neither does.
        tool: What other tools call it, a field of `taupi.bridges.identified.JointValues`; empty if they have no such thing.
        rank: Its place among the names in messages and menus, the most common first.
    """

    __slots__ = ()

    name: ClassVar[str]
    label: ClassVar[str] = ""
    heading: ClassVar[str] = ""
    symbol: ClassVar[str] = ""
    sign: ClassVar[Sign] = "any"
    with_coulomb: ClassVar[bool] = False
    drift: ClassVar[float] = 0.0
    constant: ClassVar[bool] = False
    needs_speed: ClassVar[bool] = True
    transmitted: ClassVar[bool] = False
    jumps: ClassVar[bool] = False
    on_drives: ClassVar[bool] = True
    field: ClassVar[str] = ""
    tool: ClassVar[str] = ""
    rank: ClassVar[int] = 100

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        _KINDS.clear()

    def unit(self, prismatic: bool) -> str:
        """Return the parameter's unit at a sliding joint (`prismatic`) or at a turning one."""
        raise NotImplementedError

    def value(self, joint: Joint) -> Scalar:
        """Return the parameter of `joint` as the robot's description states it."""
        raise NotImplementedError

    def column(self, q: Expression, qd: Expression, qdd: Expression) -> Expression:
        """Return the regressor's entry, over SX, for a joint at `q` with velocity `qd` and acceleration `qdd`."""
        raise NotImplementedError

    def at(self, joint: int) -> Term:
        """Return the term of one joint, by its place `joint` among the motors: settings may differ from joint to joint."""
        return self

    def through(self, ratio: Scalar) -> Scalar | None:
        """Return s with ratio f(ratio q, ratio qd, ratio qdd) = s f(q, qd, qdd), f being the column.

        The parameter of a joint that follows a coordinate at `ratio` then counts s times in that of the coordinate. None, the
        default, means that no such s exists: the joint's parameter has a column of its own.
        """
        return None

    def smooth(self, velocity: float) -> Term:
        """Return the term without a jump at standstill: sgn(qd) becomes tanh(qd / `velocity`), in rad/s or m/s."""
        return Smooth(self, velocity) if self.jumps and velocity else self


class Modulated(Term):
    """Dry friction that speed or load makes larger or smaller: tau_i = factor(qd_i, l_i) s_i times the parameter.

    s_i is the column of the Coulomb term of the same joint, and l_i the torque that the joint's gear transmits.
    """

    __slots__ = ()

    jumps: ClassVar[bool] = True
    on_drives: ClassVar[bool] = False

    def smooth(self, velocity: float) -> Term:
        """Return the term itself: over a `velocity`, s is smooth, by which it is multiplied."""
        return self

    def factor(self, qd: Expression, load: Expression | None) -> Expression:
        """Return the factor of s, over SX, at a velocity `qd` and a `load` l, which is None if it is unknown."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Smooth(Term):
    """A friction `term` with its jump at standstill smoothed: sgn(qd) becomes tanh(qd / `velocity`), in rad/s or m/s."""

    term: Term
    velocity: float

    @property
    def name(self) -> str:  # type: ignore[override]
        """The term's own name."""
        return self.term.name

    def at(self, joint: int) -> Term:
        """Return the term of one `joint`, by its number."""
        return self.term.at(joint).smooth(self.velocity)

    def unit(self, prismatic: bool) -> str:
        """Return the term's own unit, of a `prismatic` or a turning joint."""
        return self.term.unit(prismatic)

    def value(self, joint: Joint) -> Scalar:
        """Return the term's own parameter of a `joint`."""
        return self.term.value(joint)

    def through(self, ratio: Scalar) -> Scalar | None:
        """Return the term's own factor at `ratio`: the width of the smoothed jump is that of the coordinate."""
        return self.term.through(ratio)

    def column(self, q: Expression, qd: Expression, qdd: Expression) -> Expression:
        """Return tanh(`qd` / velocity) times the column at `q`, |qd|, `qdd`: away from standstill, the term's own column."""
        return cs.tanh(qd / self.velocity) * self.term.column(q, cs.fabs(qd), qdd)


@dataclass(frozen=True)
class Foreign(Term):
    """A user's `term` that has `name`, `unit`, `value` and `column` without being derived from `Term`."""

    term: Any

    @property
    def name(self) -> str:  # type: ignore[override]
        """The term's own name."""
        return cast(str, self.term.name)

    def unit(self, prismatic: bool) -> str:
        """Return the term's own unit, of a `prismatic` or a turning joint."""
        return cast(str, self.term.unit(prismatic))

    def value(self, joint: Joint) -> Scalar:
        """Return the term's own parameter of a `joint`."""
        return cast(Scalar, self.term.value(joint))

    def column(self, q: Expression, qd: Expression, qdd: Expression) -> Expression:
        """Return the term's own column at `q`, `qd`, `qdd`."""
        return self.term.column(q, qd, qdd)

    def at(self, joint: int) -> Foreign:
        """Return the term of one `joint`, by its number, if the user's term has settings per joint."""
        at: Callable[[int], object] | None = getattr(self.term, "at", None)
        return self if at is None else type(self)(at(joint))

    def smooth(self, velocity: float) -> Term:
        """Return the term smoothed over `velocity`, if the user's term says how."""
        smooth: Callable[[float], object] | None = getattr(self.term, "smooth", None)
        return self if smooth is None or not velocity else type(self)(smooth(velocity))


@dataclass(frozen=True)
class ForeignModulated(Foreign, Modulated):
    """A user's term with a `factor` of dry friction, without being derived from `Modulated`."""

    def factor(self, qd: Expression, load: Expression | None) -> Expression:
        """Return the term's own factor at `qd` and `load`."""
        return self.term.factor(qd, load)


_MEMBERS = ("name", "unit", "value", "column")


def as_term(item: object) -> Term | None:
    """Return a user's object as a term, itself if it is one, and None if it lacks a name, unit, value or column."""
    if isinstance(item, Term):
        return item
    if isinstance(item, str | type) or not all(hasattr(item, member) for member in _MEMBERS):
        return None
    return ForeignModulated(item) if hasattr(item, "factor") else Foreign(item)


# By name, the terms that can be made without settings.
TERMS: dict[str, type] = {}


def register(kind: T) -> T:
    """Let the term `kind`, a class, be used by its name wherever terms are named; also a class decorator.

    The class needs no arguments to be made. A package that is installed registers its terms by entry points of the group
    `taupi.terms` instead, each called by the term's name; those are read only when a name is not known.

    >>> import taupi as tp
    >>> tp.terms.register(tp.terms.Viscous) is tp.terms.Viscous
    True
    """
    TERMS[kind.name] = kind  # type: ignore[attr-defined]
    for name in sorted(TERMS, key=lambda n: (getattr(TERMS[n], "rank", Term.rank), n)):
        TERMS[name] = TERMS.pop(name)
    return kind


_LINK = "link_"


def kind_of(name: str) -> type[Term]:
    """Return the class of term that a parameter of the kind `name` belongs to, for what it says of itself; `Term` if unknown.

    A base parameter that stands for several is one of its own kind with an R, and one of a link behind a spring begins with
    "link_".

    >>> kind_of("viscousR").label, kind_of("link_viscous").sign, kind_of("mx") is Term
    ('viscous friction', 'nonnegative', True)
    """
    import taupi.dynamics.terms.elastic  # noqa: F401 - so that these classes exist

    plain = name.removesuffix("R").removeprefix(_LINK)
    if (kind := _KINDS.get(plain)) is None:
        kind = _KINDS[plain] = next((each for each in _all_kinds(Term) if vars(each).get("name") == plain), Term)
    return kind


def _all_kinds(kind: type[Term]) -> Iterator[type[Term]]:
    for each in kind.__subclasses__():
        yield each
        yield from _all_kinds(each)


def friction_headings() -> dict[str, str]:
    """Return the headings of the kinds of friction, by the terms' names."""
    return {name: kind.heading for name, kind in described_terms().items() if kind.heading}


def friction_above_zero() -> frozenset[str]:
    """Return the names of the kinds of friction of which no joint has less than none, each by itself.

    >>> sorted(friction_above_zero())
    ['coulomb', 'viscous']
    """
    kinds = described_terms().items()
    return frozenset(n for n, k in kinds if k.heading and k.sign == "nonnegative" and not k.with_coulomb)


def drifting_terms() -> dict[str, float]:
    """Return the shares of a joint's friction by which its terms change from run to run, by the terms' names.

    >>> drifting_terms()
    {'viscous': 0.2, 'coulomb': 0.2, 'offset': 0.1}
    """
    return {name: kind.drift for name, kind in described_terms().items() if kind.drift}


def column_at_speed(name: str, speed: float) -> float:
    """Return the column of the term called `name` at a `speed`, rad/s or m/s, with q and qdd zero: 1 for dry friction.

    >>> column_at_speed("viscous", 2.0), column_at_speed("coulomb", 2.0), column_at_speed("offset", 2.0)
    (2.0, 1.0, 1.0)
    """
    return float(cs.DM(TERMS[name]().column(*map(cs.SX, (0.0, speed, 0.0)))))


def described_terms() -> dict[str, type[Term]]:
    """Return the terms known by name that say of themselves what they are, which a user's class need not do."""
    return {name: kind for name, kind in TERMS.items() if issubclass(kind, Term)}


def magnitude(ratio: Scalar) -> Scalar:
    """Return |ratio|, of a number or a symbol.

    >>> from fractions import Fraction
    >>> magnitude(Fraction(-3, 2))
    Fraction(3, 2)
    """
    if not is_symbolic(ratio):
        return abs(ratio)
    import sympy

    return cast(Scalar, sympy.sqrt(ratio**2))


def through_odd(ratio: Scalar) -> Scalar | None:
    """Return the factor of an odd column of any shape: 1 at a `ratio` of 1 or -1, and none at others."""
    return None if is_symbolic(ratio) or abs(ratio) != 1 else cast(Scalar, abs(ratio))


PerJoint = float | tuple[float, ...]


def checked_per_joint(name: str, value: float | Iterable[float], unit: str, zero: bool = False) -> PerJoint:
    """Return a number or a tuple of numbers; refuse what is not positive, or with `zero` what is negative."""
    try:
        numbers = float(value) if isinstance(value, int | float) else tuple(map(float, value))
    except (TypeError, ValueError):
        numbers = ()
    each = numbers if isinstance(numbers, tuple) else (numbers,)
    if not each or not all(map(math.isfinite, each)) or min(each) < 0 or (min(each) == 0 and not zero):
        expected = "a number of at least 0" if zero else "a positive number"
        raise TaupiError(
            "{argument} is {got!r}, expected {expected} ({unit}), or one per joint.",
            argument=Argument(name),
            got=value,
            expected=expected,
            unit=unit,
        )
    return numbers


def value_at(name: str, value: PerJoint, joint: int) -> float:
    """Return the number of one joint, by its place in the robot."""
    if not isinstance(value, tuple):
        return value
    if joint >= len(value):
        raise TaupiError(
            "{argument} has {got} values, expected one per joint.", argument=Argument(name), got=len(value)
        )
    return value[joint]
