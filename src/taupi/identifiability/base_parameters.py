"""Base parameters: the fewest combinations of standard parameters that the torques depend on, exactly."""

from __future__ import annotations

import dataclasses
import html
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np

from taupi.checks import truth
from taupi.content import Keyed
from taupi.dynamics.chain import builder
from taupi.dynamics.imu_form import IMU, POSE
from taupi.dynamics.terms import Term, TermsLike, linear_terms, modulated_terms, resolve_terms, term_parameters
from taupi.dynamics.types import ArrayLike
from taupi.errors import Argument, TaupiError
from taupi.identifiability.combination import Combination, aligned_lines
from taupi.identifiability.exact_regrouping import Entries, Representatives, regroup, representatives
from taupi.model.parameters import ORDERS, Parameter, ParameterLayout, Parameters
from taupi.model.robot import Robot
from taupi.model.scalars import Scalar, exact, is_symbolic, to_float
from taupi.program.modular_arithmetic import Modular
from taupi.program.program import Program
from taupi.regressors.classical import regressor, slotine_li_regressor

INDEPENDENT, COMBINED, UNIDENTIFIABLE = "independent", "combined", "unidentifiable"
# Khalil's: a mass is regrouped into inertias with a length squared as a factor; the other way round would divide by it.
DEFAULT_ORDER = "symoro"
# That of Zollo et al. (2014): masses, first moments, inertias, each through all links.
ELASTIC_ORDER = "zollo"
_ONE, _ZERO = Fraction(1), Fraction(0)


class RigidColumns:
    """Parameters of links and of terms of rigid joints: tau = Y(q, qd, qdd) pi."""

    title, order, regressor_name = "", DEFAULT_ORDER, "regressor"

    def resolved(self, terms: TermsLike | None) -> tuple[Term, ...]:
        """Return terms by name, none by default."""
        return resolve_terms(terms or ())

    def alone(self, terms: tuple[Term, ...]) -> tuple[Term, ...]:
        """Return the terms whose parameters are base parameters by themselves, joint by joint."""
        return modulated_terms(terms)

    def regressor(self, robot: Robot, terms: tuple[Term, ...], coupling: bool, base: str) -> Program:
        """Return Y; `coupling` is of motors behind springs, and has no meaning here."""
        return regressor(robot, terms=terms, base=base)

    def slotine_li_regressor(self, robot: Robot, terms: tuple[Term, ...], base: str) -> Program:
        """Return Slotine and Li's regressor."""
        return slotine_li_regressor(robot, terms=terms, base=base)


class ElasticColumns:
    """Parameters of links, motors and springs: (tau of links, tau of motors) = Y(q, qd, qdd, theta, thetad, thetadd) pi."""

    title, order, regressor_name = "elastic joints", ELASTIC_ORDER, "elastic_regressor"

    def resolved(self, terms: TermsLike | None) -> tuple[Term, ...]:
        """Return terms by name, by default as in Zollo et al. (2014)."""
        from taupi.dynamics.drives import DOCUMENT, resolve_sides

        sides = resolve_sides(DOCUMENT if terms is None else terms)
        return (*sides.motor, *sides.spring[1:], *sides.link)

    def alone(self, terms: tuple[Term, ...]) -> tuple[Term, ...]:
        """Return no terms: friction of elastic joints does not depend on load."""
        return ()

    def regressor(self, robot: Robot, terms: tuple[Term, ...], coupling: bool, base: str) -> Program:
        """Return Y; elastic joints need a base that is bolted, so that `base` has no meaning here."""
        from taupi.regressors.elastic import elastic_regressor

        return elastic_regressor(robot, terms=terms, coupling=coupling)

    def slotine_li_regressor(self, robot: Robot, terms: tuple[Term, ...], base: str) -> Program:
        """Refuse: the regressor of Slotine and Li is for rigid joints."""
        raise TaupiError(
            "slotine_li_regressor is for rigid joints.", remedy="Use tp.base_parameters(robot) without {elastic=True}."
        )


_COLUMNS: dict[bool, RigidColumns | ElasticColumns] = {False: RigidColumns(), True: ElasticColumns()}


@dataclass(frozen=True, repr=False)
class BaseParameters:
    """pi_b = B pi with Y pi = Y_b pi_b for every motion, and as few pi_b as possible (Mayeda et al. 1990; equations.md, R14).

    A base parameter is named after its representative, followed by an R (regrouped, as Khalil writes) if other parameters are
    part of it.

    Attributes:
        robot: The robot of the regressor Y.
        terms: The friction and drives of Y.
        standard: Its parameters pi.
        columns: The places of the representatives, the columns of Y that make up Y_b.
        rows: The rows of B, exact: places and coefficients, the representative first.
        elastic: Whether Y is that of `elastic_regressor`.
        coupling: Whether rotors act on links.
    """

    robot: Robot
    terms: tuple[Term, ...]
    standard: Parameters
    columns: tuple[int, ...]
    rows: tuple[tuple[tuple[int, Scalar], ...], ...]
    elastic: bool
    coupling: bool

    # What they are ------------------------------------------------------------------------------------------------

    @property
    def count(self) -> int:
        """The number of base parameters, which is the rank of Y over all motions."""
        return len(self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the base parameters, in order."""
        return self.parameters.names

    @cached_property
    def expressions(self) -> tuple[Combination, ...]:
        """Each base parameter as an exact combination of standard parameters, with `str()`, `.terms`, `.sympy()`, `.latex()`."""
        standard = self.standard.names
        return tuple(
            Combination(name, tuple((standard[k], c) for k, c in row))
            for name, row in zip(self.names, self.rows, strict=True)
        )

    @property
    def classes(self) -> dict[str, str]:
        """What can be known about each standard parameter, by its name.

        "independent": it is a base parameter by itself. "combined": it is known only together with others, see `where`.
        "unidentifiable": no torque depends on it.
        """
        result = dict.fromkeys(self.standard.names, UNIDENTIFIABLE)
        for row in self.rows:
            for k, _ in row:
                result[self.standard.names[k]] = COMBINED if len(row) > 1 else INDEPENDENT
        return result

    def where(self, name: str) -> dict[str, Scalar]:
        """Return the base parameters that contain the standard parameter `name`, each with its coefficient there."""
        place = self.standard.layout.index(name)
        rows = zip(self.names, self.rows, strict=True)
        return {base: c for base, row in rows for k, c in row if k == place}

    @property
    def unidentifiable(self) -> tuple[str, ...]:
        """The standard parameters that no torque depends on, in order."""
        return tuple(name for name, kind in self.classes.items() if kind == UNIDENTIFIABLE)

    @property
    def dependent(self) -> tuple[str, ...]:
        """The standard parameters that are regrouped into others and represent no base parameter themselves, in order."""
        first = {self.standard.names[k] for k in self.columns}
        return tuple(name for name, kind in self.classes.items() if kind == COMBINED and name not in first)

    @property
    def sentence(self) -> str:
        """A sentence on why combined parameters have no individual values; empty if there are none.

        >>> import taupi as tp
        >>> print(tp.base_parameters(tp.load("zollo2r"), elastic=True).sentence.split(". ")[0])
        6 parameters act only in sums with others: link1.m, link2.m, link1.mx, link2.mx, link1.Izz, link2.Izz
        """
        combined = [name for name, kind in self.classes.items() if kind == COMBINED]
        if not combined:
            return ""
        names = ", ".join(combined[:12]) + (f" and {len(combined) - 12} more" if len(combined) > 12 else "")
        return (
            f"{len(combined)} parameters act only in sums with others: {names}. Other values with the same sums give the same "
            "torques in every motion, so no log can determine their individual values; only prior knowledge can."
        )

    def with_modulated(self, terms: Sequence[Term]) -> BaseParameters:
        """Return these base parameters, and after them the parameters of `terms` that change dry friction with load or speed.

        Such a term is a base parameter by itself, joint by joint: in no motion can other parameters reproduce its torque.
        """
        standard = self.standard + term_parameters(self.robot, terms)
        alone = tuple(range(len(self.standard), len(standard)))
        columns, rows = (*self.columns, *alone), (*self.rows, *(((k, _ONE),) for k in alone))
        return dataclasses.replace(self, terms=(*self.terms, *terms), standard=standard, columns=columns, rows=rows)

    @cached_property
    def linear(self) -> BaseParameters:
        """The same without friction that depends on load or bends with speed, whose parameters come last."""
        terms = linear_terms(self.terms)
        if len(terms) == len(self.terms):
            return self
        more = len(self.terms[len(terms) :]) * len(self.robot.actuated)
        p, b = len(self.standard) - more, self.count - more
        standard, columns, rows = self.standard.take(range(p)), self.columns[:b], self.rows[:b]
        return dataclasses.replace(self, terms=terms, standard=standard, columns=columns, rows=rows)

    # Matrices and values ------------------------------------------------------------------------------------------

    @cached_property
    def B(self) -> np.ndarray:  # noqa: N802
        """B (count, p), exact: an array of fractions, or of SymPy expressions if symbols remain."""
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

    def project(self, pi: Parameters | ArrayLike) -> np.ndarray:
        """Return pi_b = B pi for standard parameters `pi` (..., p), as doubles (..., count).

        Args:
            pi: `Parameters` in any order, or an array in the order of `standard`.

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
            values = np.asarray(pi.values if isinstance(pi, Parameters) else pi)
        except ValueError:
            raise TaupiError("{pi} is ragged, expected an array of shape (..., {p}).", p=p) from None
        if values.dtype.kind not in "fiu" and values.dtype != object:
            raise TaupiError("{pi} holds {got}, expected real numbers.", got=values.dtype)
        if not values.ndim or values.shape[-1] != p:
            order = "ten per link" + (f", then {', '.join(t.name for t in self.terms)}" if self.terms else "")
            raise TaupiError(
                "{pi} has shape {got}, expected (..., {p}): {order}, as in .standard.",
                got=values.shape,
                p=p,
                order=order,
            )
        try:
            return values.astype(float) @ self.projection.T
        except TypeError:
            raise TaupiError("{pi} holds symbols or texts, expected real numbers.") from None

    # Programs -----------------------------------------------------------------------------------------------------

    def regressor(self, base: str = POSE) -> Program:
        """Return Y_b(q, qd, qdd), n x count, with tau = Y_b pi_b.

        Args:
            base: How the motion of a floating base is given, "pose" (the default) or "imu", as in `taupi.regressor`.

        Returns:
            The program Y_b, whose `.parameters` are the base parameters; with `elastic` it is Y_b(q, qd, qdd, theta, thetad,
            thetadd), over links and motors.
        """
        own = (self.robot, self.terms, tuple(self.standard.names), self.columns, self.rows, self.elastic, self.coupling)
        return _regressor(Keyed(own, self), base)  # the same base parameters have one program, with its machine code

    def slotine_li_regressor(self, base: str = POSE) -> Program:
        """Return Slotine and Li's regressor in base parameters, Y_rb(q, qd, qrd, qrdd): Y_rb pi_b = Y_r pi.

        Columns that cancel in Y also cancel in M and g, and so in the Christoffel matrix C: the same B applies.

        Args:
            base: How the motion of a floating base is given, "pose" (the default) or "imu".

        Raises:
            TaupiError: If these are base parameters of elastic joints.
        """
        y_r = self._of_joints.slotine_li_regressor(self.robot, self.terms, base)
        return self._representatives_of(y_r, "base_slotine_li_regressor")

    @property
    def _of_joints(self) -> RigidColumns | ElasticColumns:
        return _COLUMNS[self.elastic]

    @property
    def title(self) -> str:
        """What the parameters are of besides links and their motors: "elastic joints", or nothing."""
        return self._of_joints.title

    def _representatives_of(self, program: Program, name: str) -> Program:
        place = {parameter: k for k, parameter in enumerate(program.parameters.names)}
        columns = tuple(place[self.standard.names[k]] for k in self.columns)
        return dataclasses.replace(program.take(columns), name=name, parameters=self.parameters)

    # To read ------------------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, object]:
        """Return everything as plain data, ready for JSON; exact numbers are texts such as "3/8"."""
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

    def latex(self) -> str:
        """Return all of them as an `aligned` block of LaTeX, one combination per line."""
        lines = (f"\\pi_{{b,{k}}} &= {e.latex()}" for k, e in enumerate(self.expressions, 1))
        return "\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}"

    def __repr__(self) -> str:
        head = f"{self.count} base parameters of {len(self.standard)} ({self.robot.name})"
        rows = [(e.name, f"= {e}") for e in self.expressions]
        last = [f"  no torque depends on {', '.join(self.unidentifiable)}"] if self.unidentifiable else []
        return "\n".join([head, *(aligned_lines(rows) if rows else []), *last])

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{html.escape(e.name)}</td><td>{html.escape(str(e))}</td><td>{_shown(v)} {html.escape(u)}</td></tr>"
            for e, v, u in zip(self.expressions, self.parameters.exact, self.parameters.units, strict=True)
        )
        head = f"{self.count} base parameters of {len(self.standard)} ({html.escape(self.robot.name)})"
        return (
            f"<table><caption>{head}</caption><thead><tr><th>base parameter</th><th>stands for</th><th>value</th></tr>"
            f"</thead><tbody>{rows}</tbody></table>"
        )


@lru_cache(maxsize=32)
def _regressor(keyed: Keyed[BaseParameters], base: str) -> Program:
    own = keyed.value
    y = own._of_joints.regressor(own.robot, own.terms, own.coupling, base)
    return own._representatives_of(y, f"base_{own._of_joints.regressor_name}")


def _shown(value: Scalar) -> str:
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
    """Return the base parameters pi_b = B pi of `robot`: Y pi = Y_b B pi for every motion, with Y_b of full rank and B exact.

    Representatives are the first independent columns of Y in an order of preference (Mayeda et al. 1990; equations.md, R14).
    Nothing is rounded: columns are compared at random states modulo primes, and B is reconstructed as fractions and checked.

    Args:
        robot: The robot; its masses do not matter.
        terms: Friction and drives of Y, as in `regressor`, or with `elastic` as in `elastic_regressor`; None, the default, means
            none, or the motors' friction. Friction that depends on load or bends with speed ("load", "curve") is a base
            parameter by itself, joint by joint, after all others.
        order: The parameters that are preferred: the name of a library's order ("taupi" is that of pi), or names ("link3.m",
            "*.mx") that come first. None, the default, is "symoro": link by link, in each from inertias to first moments to the
            mass, which regroups a link's parameters into those of the links before it (Gautier & Khalil 1990), with coefficients
            that are polynomials of the lengths; with `elastic`, it is "zollo", grouped by kind, masses first (Zollo et al. 2014,
            eq. 39-41).
        keep: Parameters that have to be representatives, none by default; a pattern keeps those that can be kept.
        symbolic: Whether coefficients contain the description's symbols even if these have values, False by default.
        elastic: Whether Y is that of `elastic_regressor`, over links and motors; False by default.
        coupling: With `elastic`, whether rotors act on the links that carry them, True by default.

    Returns:
        The base parameters, with `count`, `names`, `expressions`, `classes`, B, `regressor()` and `project(pi)`.

    Raises:
        TaupiError: If a name is unknown, or a parameter of `keep` cannot be a representative.

    >>> import taupi as tp
    >>> base = tp.base_parameters(tp.load("elbow2r"))
    >>> base.count
    6
    >>> print(base.expressions[0])
    upper_arm.mx + upper_arm.m + forearm.m
    >>> base.classes["forearm.m"], base.classes["forearm.my"], base.classes["forearm.Ixx"]
    ('combined', 'independent', 'unidentifiable')
    """
    for name, flag in (("symbolic", symbolic), ("elastic", elastic), ("coupling", coupling)):
        truth(name, flag)
    joints = _COLUMNS[elastic]
    chosen = joints.resolved(terms)
    if modulated := joints.alone(chosen):
        options = (order, keep, symbolic, elastic, coupling)
        return base_parameters(robot, linear_terms(chosen), *options).with_modulated(modulated)
    program = joints.regressor(robot, chosen, coupling, IMU if robot.floating else POSE)
    layout = program.parameters.layout
    kept, required = _kept(layout, keep)
    preference = dict.fromkeys(
        (*kept, *_preferred(layout, joints.order if order is None else order), *range(len(layout)))
    )
    named = tuple(c.name for c in program.constants if c.named) if symbolic else ()
    modular = Modular(program, named)
    chosen_columns = representatives(modular, tuple(preference))
    _require(layout, required, chosen_columns)
    entries = _entries(modular, chosen_columns)
    columns = tuple(sorted(chosen_columns.columns))
    rows = _rows(columns, entries)
    return BaseParameters(robot, chosen, program.parameters, columns, rows, elastic, coupling)


def _entries(modular: Modular, chosen: Representatives) -> Entries:
    """Return the entries of B: fractions, or rational functions of the robot's symbols."""
    if not modular.symbols:
        return regroup(modular, chosen)
    from taupi.identifiability.symbolic_regrouping import symbolic_regroup

    return symbolic_regroup(modular, chosen)


def _rows(columns: tuple[int, ...], entries: Entries) -> tuple[tuple[tuple[int, Scalar], ...], ...]:
    """Return B row by row: the representative with coefficient one, then the parameters regrouped into it."""
    rows: dict[int, list[tuple[int, Scalar]]] = {i: [(i, _ONE)] for i in columns}
    for (i, k), coefficient in sorted(entries.items(), key=lambda e: e[0]):
        rows[i].append((k, coefficient))
    return tuple(tuple(rows[i]) for i in columns)


def _kept(layout: ParameterLayout, keep: str | Sequence[str]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the places that are preferred to all others, and those among them that were named individually."""
    names = _names("keep", keep)
    return layout.select(names), layout.select([n for n in names if "*" not in n])


def _preferred(layout: ParameterLayout, order: str | Sequence[str]) -> tuple[int, ...]:
    if isinstance(order, str) and order in ORDERS:
        return tuple(int(k) for k in layout.order(order))
    if isinstance(order, str) and "." not in order:
        layout.order(order)  # raises an error that lists the orders
    return layout.select(_names("order", order))


def _names(argument: str, value: str | Sequence[str]) -> list[str]:
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, Sequence) or not all(isinstance(n, str) for n in names):
        raise TaupiError(
            "{argument} is {got!r}, expected names of parameters such as ('link2.m', '*.mx').",
            argument=Argument(argument),
            got=value,
        )
    return list(names)


def _require(layout: ParameterLayout, places: tuple[int, ...], chosen: Representatives) -> None:
    """Refuse parameters that cannot be representatives although `keep` names them."""
    for place in places:
        if place in chosen.columns:
            continue
        name = layout.names[place]
        if place in chosen.others:
            raise TaupiError(
                "{keep}: {name} depends on parameters that are kept before it.",
                remedy="Name it earlier, or keep fewer of them.",
                name=name,
            )
        raise TaupiError(
            "{keep}: {name} cannot be a base parameter, since no torque depends on it.",
            remedy="Leave it out.",
            name=name,
        )
