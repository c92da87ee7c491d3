"""Base parameters: the least number of combinations of standard parameters that the torque depends on, exactly."""

from __future__ import annotations

import dataclasses
import html
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from taupi.dynamics.chain import builder
from taupi.dynamics.drives import DOCUMENT, resolve_sides
from taupi.dynamics.terms import TermsLike, resolve_terms
from taupi.errors import TaupiError, shown
from taupi.identifiability.combination import Combination, table
from taupi.identifiability.reduction import Entries, Profile, profile, relations
from taupi.identifiability.symbolic import symbolic_relations
from taupi.model.parameters import ORDERS, Parameter, ParameterLayout, Parameters
from taupi.model.robot import Robot
from taupi.model.scalars import Scalar, exact, is_symbolic, to_float
from taupi.program.modular_arithmetic import Modular
from taupi.program.program import Program
from taupi.regressors.classical import regressor, slotine_li_regressor
from taupi.regressors.elastic import elastic_regressor

INDEPENDENT, COMBINED, UNIDENTIFIABLE = "independent", "combined", "unidentifiable"
# Khalil's: a mass that is joined to inertias has a length squared for a factor; the other way round would divide by it.
DEFAULT_ORDER = "symoro"
# The document's: masses, first moments, inertias, each through all links.
ELASTIC_ORDER = "zollo"
_ONE, _ZERO = Fraction(1), Fraction(0)


@dataclass(frozen=True, repr=False)
class BaseParameters:
    """pi_b = B pi with Y pi = Y_b pi_b for every motion, and as few pi_b as there can be (Mayeda et al. 1990).

    Y_b are the columns `columns` of Y, the representatives; B is exact. A base parameter is named after its representative,
    with an R behind it (regrouped, as Khalil writes) where other parameters are joined to it. With `elastic`, Y is that of
    `elastic_regressor`.
    """

    robot: Robot
    terms: tuple[Any, ...]
    standard: Parameters
    columns: tuple[int, ...]
    rows: tuple[tuple[tuple[int, Scalar], ...], ...]  # of B: place and coefficient, the representative first
    elastic: bool = False
    coupling: bool = True  # of rotors and links, where elastic

    # What they are ------------------------------------------------------------------------------------------------

    @property
    def count(self) -> int:
        """How many there are: the rank of Y over all motions."""
        return len(self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the base parameters, in order."""
        return self.parameters.names

    @cached_property
    def expressions(self) -> tuple[Combination, ...]:
        """Each base parameter as an exact combination of standard parameters: `str()` of it, `.terms`, `.sympy()`."""
        of = self.standard.names
        return tuple(
            Combination(name, tuple((of[k], c) for k, c in row))
            for name, row in zip(self.names, self.rows, strict=True)
        )

    @property
    def classes(self) -> dict[str, str]:
        """What can be known of each standard parameter, by its name.

        "independent": it is a base parameter by itself. "combined": only together with others, see `where`.
        "unidentifiable": it changes no torque.
        """
        result = dict.fromkeys(self.standard.names, UNIDENTIFIABLE)
        for row in self.rows:
            for k, _ in row:
                result[self.standard.names[k]] = COMBINED if len(row) > 1 else INDEPENDENT
        return result

    def where(self, name: str) -> dict[str, Scalar]:
        """Return the base parameters that hold a standard parameter, each with its coefficient there."""
        place = self.standard.layout.index(name)
        held = zip(self.names, self.rows, strict=True)
        return {base: c for base, row in held for k, c in row if k == place}

    @property
    def unidentifiable(self) -> tuple[str, ...]:
        """The standard parameters that change no torque, in order."""
        return tuple(name for name, kind in self.classes.items() if kind == UNIDENTIFIABLE)

    @property
    def dependent(self) -> tuple[str, ...]:
        """The standard parameters that are joined to representatives and represent nothing themselves, in order."""
        first = {self.standard.names[k] for k in self.columns}
        return tuple(name for name, kind in self.classes.items() if kind == COMBINED and name not in first)

    @property
    def sentence(self) -> str:
        """Why the parameters that are only combined have no single values, in words; empty where there are none.

        >>> import taupi as tp
        >>> print(tp.base_parameters(tp.load("zollo2r"), elastic=True).sentence.split(". ")[0])
        6 parameters act only in sums with others: link1.m, link2.m, link1.mx, link2.mx, link1.Izz, link2.Izz
        """
        joined = [name for name, kind in self.classes.items() if kind == COMBINED]
        if not joined:
            return ""
        told = ", ".join(joined[:12]) + (f" and {len(joined) - 12} more" if len(joined) > 12 else "")
        return (
            f"{len(joined)} parameters act only in sums with others: {told}. Other values with the same sums give the same "
            "torques in every motion, so no log can tell their single values; only a prior could choose some."
        )

    # Matrices and values ------------------------------------------------------------------------------------------

    @cached_property
    def B(self) -> np.ndarray:  # noqa: N802
        """B (count, p), exact: an array of fractions, or of SymPy expressions where symbols are kept."""
        result = np.full((self.count, len(self.standard)), _ZERO, dtype=object)
        for i, row in enumerate(self.rows):
            for k, c in row:
                result[i, k] = c
        result.flags.writeable = False
        return result

    @cached_property
    def projection(self) -> np.ndarray:
        """B as doubles (count, p); symbols need their values."""
        known = dict(self.robot.symbols)
        result = np.zeros((self.count, len(self.standard)))
        for i, row in enumerate(self.rows):
            for k, c in row:
                result[i, k] = to_float(c, f"the coefficient of {self.standard.names[k]}", known)
        result.flags.writeable = False
        return result

    @cached_property
    def parameters(self) -> Parameters:
        """The base parameters with the robot's values, exact: B pi."""
        entries, values = [], []
        for column, row in zip(self.columns, self.rows, strict=True):
            e = self.standard.layout.entries[column]
            kind = f"{e.kind}R" if len(row) > 1 else e.kind
            entries.append(Parameter(e.owner, kind, e.unit, e.index))
            values.append(exact(sum((c * self.standard.exact[k] for k, c in row), start=_ZERO)))
        return Parameters(ParameterLayout(tuple(entries)), tuple(values), self.standard.symbols)

    def project(self, pi: Any) -> np.ndarray:
        """Return pi_b = B pi for standard parameters pi (..., p), as doubles (..., count).

        >>> import taupi as tp
        >>> arm = tp.load("elbow2r")
        >>> base = tp.base_parameters(arm)
        >>> base.project(arm.parameters).shape, base.project([arm.parameters.values] * 3).shape
        ((6,), (3, 6))
        """
        p = len(self.standard)
        if isinstance(pi, Parameters) and pi.names != self.standard.names and set(pi.names) == set(self.standard.names):
            pi = pi.take([pi.layout.index(name) for name in self.standard.names])  # another order of the same
        try:
            given = np.asarray(pi.values if isinstance(pi, Parameters) else pi)
        except ValueError:
            raise TaupiError(f"pi is ragged, expected an array of shape (..., {p}).") from None
        if given.dtype.kind not in "fiu" and given.dtype != object:
            raise TaupiError(f"pi holds {given.dtype}, expected real numbers.")
        if not given.ndim or given.shape[-1] != p:
            told = ": ten per link" + (f", then {', '.join(t.name for t in self.terms)}" if self.terms else "")
            raise TaupiError(f"pi has shape {given.shape}, expected (..., {p}){told}, as in .standard.")
        try:
            return given.astype(float) @ self.projection.T
        except TypeError:
            raise TaupiError("pi holds symbols or texts, expected real numbers.") from None

    # Programs -----------------------------------------------------------------------------------------------------

    def regressor(self) -> Program:
        """Return Y_b(q, qd, qdd), n x count, with tau = Y_b pi_b; its `.parameters` are the base parameters.

        With `elastic` it is Y_b(q, qd, qdd, theta, thetad, thetadd), over links and motors.
        """
        if self.elastic:
            whole = elastic_regressor(self.robot, terms=self.terms, coupling=self.coupling)
            return self._columns_of(whole, "base_elastic_regressor")
        return self._columns_of(regressor(self.robot, terms=self.terms), "base_regressor")

    def slotine_li_regressor(self) -> Program:
        """Return Slotine and Li's regressor in base parameters, Y_rb(q, qd, qrd, qrdd): Y_rb pi_b = Y_r pi.

        What adds up to zero in Y adds up to zero in M, g and so in the Christoffel C: the same B holds.
        """
        if self.elastic:
            raise TaupiError(
                "slotine_li_regressor is for rigid joints: use tp.base_parameters(robot) without elastic=True."
            )
        return self._columns_of(slotine_li_regressor(self.robot, terms=self.terms), "base_slotine_li_regressor")

    def _columns_of(self, program: Program, name: str) -> Program:
        place = {of: k for k, of in enumerate(program.parameters.names)}
        columns = tuple(place[self.standard.names[k]] for k in self.columns)
        return dataclasses.replace(program.take(columns), name=name, parameters=self.parameters)

    # To read ------------------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain data, ready for JSON; exact numbers are texts such as "3/8"."""
        rows = zip(self.expressions, self.parameters.exact, self.parameters.units, strict=True)
        known = dict(self.standard.symbols)
        base = [
            {
                "name": e.name,
                "unit": unit,
                "value": None if _unbound(value, known) else to_float(value, e.name, known),
                "expression": str(e),
                "coefficients": {name: str(c) for name, c in e.terms},
            }
            for e, value, unit in rows
        ]
        return {
            "robot": self.robot.name,
            "fingerprint": self.robot.fingerprint,
            "terms": [t.name for t in self.terms],
            "elastic": self.elastic,
            "standard": len(self.standard),
            "count": self.count,
            "base": base,
            "classes": dict(self.classes),
            "sentence": self.sentence,
        }

    def __repr__(self) -> str:
        head = f"{self.count} base parameters of {len(self.standard)} ({self.robot.name})"
        rows = [(e.name, f"= {e}") for e in self.expressions]
        nothing = [name for name, kind in self.classes.items() if kind == UNIDENTIFIABLE]
        last = [f"  no torque depends on {', '.join(nothing)}"] if nothing else []
        return "\n".join([head, *(table(rows) if rows else []), *last])

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{html.escape(e.name)}</td><td>{html.escape(str(e))}</td><td>{_told(v)} {html.escape(u)}</td></tr>"
            for e, v, u in zip(self.expressions, self.parameters.exact, self.parameters.units, strict=True)
        )
        head = f"{self.count} base parameters of {len(self.standard)} ({html.escape(self.robot.name)})"
        return (
            f"<table><caption>{head}</caption><thead><tr><th>base parameter</th><th>stands for</th><th>value</th></tr>"
            f"</thead><tbody>{rows}</tbody></table>"
        )


def _told(value: Scalar) -> str:
    return html.escape(str(value)) if is_symbolic(value) else f"{float(value):.6g}"


def _unbound(value: Scalar, known: dict[str, Fraction | None]) -> bool:
    return is_symbolic(value) and any(known.get(s.name) is None for s in value.free_symbols)


@builder
def base_parameters(
    robot: Robot,
    terms: TermsLike | None = None,
    order: str | Sequence[str] | None = None,
    keep: str | Sequence[str] = (),
    symbolic: bool = False,
    elastic: bool = False,
    coupling: bool = True,
) -> BaseParameters:
    """Return the base parameters pi_b = B pi: Y pi = Y_b B pi for every motion, Y_b of full rank, B exact (Mayeda et al. 1990).

    Representatives are the first independent columns of Y in an order of preference. The default, "symoro", goes link by link,
    in each from inertias to first moments to the mass, and so joins a link's parameters to those of the links before it (Gautier
    & Khalil 1990), with coefficients that are polynomials of the lengths. `order` is another library's order ("taupi" is that of
    pi), or names ("link3.m", "*.mx") that come first. `keep` names parameters that have to be representatives; a pattern keeps
    what can be kept. With `symbolic`, coefficients hold the description's symbols even where these have values.

    With `elastic`, Y is that of `elastic_regressor` over links and motors, `terms` and `coupling` are as there, and the default
    order is the document's, grouped by kind: masses first ("zollo"; Zollo et al. 2014).

    Nothing is rounded: columns are compared modulo primes, at random states, and B is lifted to fractions and checked.

    >>> import taupi as tp
    >>> base = tp.base_parameters(tp.load("elbow2r"))
    >>> base.count
    6
    >>> print(base.expressions[0])
    upper_arm.mx + upper_arm.m + forearm.m
    >>> base.classes["forearm.m"], base.classes["forearm.my"], base.classes["forearm.Ixx"]
    ('combined', 'independent', 'unidentifiable')
    """
    for what, flag in (("symbolic", symbolic), ("elastic", elastic), ("coupling", coupling)):
        if not isinstance(flag, bool):
            raise TaupiError(f"{what} is {shown(flag)}, expected True or False.")
    if elastic:
        sides = resolve_sides(DOCUMENT if terms is None else terms)
        chosen = (*sides.motor, *sides.spring[1:], *sides.link)
        program = elastic_regressor(robot, terms=chosen, coupling=coupling)
    else:
        chosen = resolve_terms(terms or ())
        program = regressor(robot, terms=chosen)
    layout = program.parameters.layout
    kept, demanded = _kept(layout, keep)
    default = ELASTIC_ORDER if elastic else DEFAULT_ORDER
    first = dict.fromkeys((*kept, *_preferred(layout, default if order is None else order), *range(len(layout))))
    named = tuple(c.name for c in program.constants if c.named) if symbolic else ()
    modular = Modular(program, named)
    found = profile(modular, tuple(first))
    _refuse_lost(layout, demanded, found)
    entries = symbolic_relations(modular, found) if modular.symbols else relations(modular, found)
    columns = tuple(sorted(found.columns))
    return BaseParameters(robot, chosen, program.parameters, columns, _rows(columns, entries), elastic, coupling)


def _rows(columns: tuple[int, ...], entries: Entries) -> tuple[tuple[tuple[int, Scalar], ...], ...]:
    """Return B row by row: the representative with one, then what is joined to it."""
    rows: dict[int, list[tuple[int, Scalar]]] = {i: [(i, _ONE)] for i in columns}
    for (i, k), coefficient in sorted(entries.items(), key=lambda e: e[0]):
        rows[i].append((k, coefficient))
    return tuple(tuple(rows[i]) for i in columns)


def _kept(layout: ParameterLayout, keep: str | Sequence[str]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the places to prefer before all, and those of them that were named one by one."""
    names = _names("keep", keep)
    return layout.select(names), layout.select([n for n in names if "*" not in n])


def _preferred(layout: ParameterLayout, order: str | Sequence[str]) -> tuple[int, ...]:
    if isinstance(order, str) and order in ORDERS:
        return tuple(int(k) for k in layout.order(order))
    if isinstance(order, str) and "." not in order:
        layout.order(order)  # says which orders there are
    return layout.select(_names("order", order))


def _names(what: str, given: str | Sequence[str]) -> list[str]:
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, Sequence) or not all(isinstance(n, str) for n in names):
        raise TaupiError(f"{what} is {shown(given)}, expected names of parameters such as ('link2.m', '*.mx').")
    return list(names)


def _refuse_lost(layout: ParameterLayout, demanded: tuple[int, ...], found: Profile) -> None:
    for place in demanded:
        if place in found.columns:
            continue
        name = layout.names[place]
        if place in found.others:
            raise TaupiError(
                f"keep: {name} depends on parameters that are kept before it. Name it earlier, or keep fewer of them."
            )
        raise TaupiError(f"keep: {name} cannot be a base parameter, for it changes no torque. Leave it out.")
