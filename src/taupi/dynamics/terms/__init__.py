"""What a joint adds to rigid-body dynamics: friction, drives, springs. Each term has a file here, and registers itself."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Sequence

from taupi.dynamics.terms.along import Along
from taupi.dynamics.terms.columns import (
    follower_columns,
    follower_parameters,
    follower_torque,
    linear_terms,
    modulated_terms,
    resisting_torque,
    term_columns,
    term_inertia,
    term_parameters,
    term_torque,
    transmitted_torque,
)
from taupi.dynamics.terms.coulomb import Coulomb
from taupi.dynamics.terms.curve import Curve
from taupi.dynamics.terms.load import Load
from taupi.dynamics.terms.offset import Offset
from taupi.dynamics.terms.rotor import Rotor
from taupi.dynamics.terms.spring import Spring
from taupi.dynamics.terms.stribeck import Stribeck
from taupi.dynamics.terms.stribeck_fall import StribeckFall
from taupi.dynamics.terms.stribeck_rise import StribeckRise
from taupi.dynamics.terms.term import (
    TERMS,
    Foreign,
    Modulated,
    Term,
    as_term,
    column_at_speed,
    described_terms,
    drifting_terms,
    friction_above_zero,
    friction_headings,
    kind_of,
    register,
)
from taupi.dynamics.terms.viscous import Viscous
from taupi.errors import TaupiError, unknown
from taupi.extensions import Extensions

__all__ = [
    "TERMS",
    "Along",
    "Coulomb",
    "Curve",
    "Foreign",
    "Load",
    "Modulated",
    "Offset",
    "Rotor",
    "Spring",
    "Stribeck",
    "StribeckFall",
    "StribeckRise",
    "Term",
    "TermsLike",
    "Viscous",
    "column_at_speed",
    "follower_columns",
    "follower_parameters",
    "follower_torque",
    "described_terms",
    "drifting_terms",
    "friction_above_zero",
    "friction_headings",
    "is_term",
    "kind_of",
    "linear_terms",
    "modulated_terms",
    "register",
    "resisting_torque",
    "resolve_term",
    "resolve_terms",
    "term_class",
    "term_columns",
    "term_inertia",
    "term_parameters",
    "term_torque",
    "transmitted_torque",
]

TermsLike = Iterable[Term | str] | str

# Of installed packages.
ADDED: Extensions[type] = Extensions("term", "taupi.terms")

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")


def is_term(name: str) -> bool:
    """Return whether a term has this `name`: one of this package, one that was registered, or one of an installed package."""
    if name not in TERMS and (added := ADDED.find(name)) is not None:
        register(added)
    return name in TERMS


def term_class(name: str) -> type:
    """Return the class of a term by its `name`, wherever it comes from."""
    if not is_term(name):
        raise unknown("term", name, TERMS)
    return TERMS[name]


def resolve_term(item: object) -> Term:
    """Return a term from its name, its class, or an object with a name, unit, value and column."""
    term = as_term(term_class(item)() if isinstance(item, str) else item() if isinstance(item, type) else item)
    if term is None:
        raise TaupiError(
            "A term is {got!r}, expected one of {terms:,} or an object with a column.", got=item, terms=TERMS
        )
    return term


def resolve_terms(terms: TermsLike) -> tuple[Term, ...]:
    """Return terms as objects, from names, classes or objects, in the same order."""
    result: list[Term] = []
    if not isinstance(terms, Iterable):
        raise TaupiError(
            "{terms} is {got!r}, expected names such as ('viscous', 'coulomb'), or () for none.", got=terms
        )
    for item in (terms,) if isinstance(terms, str) else tuple(terms):
        term = resolve_term(item)
        if any(t.name == term.name for t in result):
            raise TaupiError("The term {term!r} is given twice.", term=term.name)
        result.append(term)
    _refuse_without_coulomb(result)
    return tuple(result)


def _refuse_without_coulomb(terms: Sequence[Term]) -> None:
    """Refuse terms that change dry friction if there is no dry friction."""
    names = [t.name for t in terms]
    for term in terms:
        if isinstance(term, Modulated) and Coulomb.name not in names:
            raise TaupiError(
                "The term {term!r} changes dry friction, and there is none.",
                remedy="Add 'coulomb' to {terms}.",
                term=term.name,
            )
