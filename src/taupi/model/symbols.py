"""The symbols in a robot's description."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from taupi.model.placement import Placement
from taupi.model.robot_parts import Frame, Joint, Link
from taupi.model.scalars import Scalar, Vector, is_symbolic

Symbols = tuple[tuple[str, Fraction | None], ...]


def symbols_of(
    joints: Sequence[Joint],
    links: Sequence[Link],
    gravity: Vector,
    frames: Sequence[Frame],
    base: Placement,
    known: Mapping[str, Fraction | None] | None = None,
) -> Symbols:
    """Return the free symbols of a description in order of appearance, each with its value or None."""
    known = known or {}
    symbols: dict[str, Fraction | None] = {}

    def visit(x: Scalar | Placement | tuple[object, ...] | None) -> None:
        if isinstance(x, tuple):
            for y in x:
                visit(y)
        elif isinstance(x, Placement):
            visit(x.rotation)
            visit(x.translation)
        elif x is not None and not isinstance(x, Fraction | str) and is_symbolic(x):
            for symbol in sorted(x.free_symbols, key=lambda s: s.name):
                symbols.setdefault(symbol.name, known.get(symbol.name))

    visit(base)
    for joint in joints:
        visit((joint.before, joint.after, joint.ratio, joint.spring, tuple(r for _, r in joint.also)))
    visit(gravity)
    visit(tuple(k.body for k in links))
    visit(tuple(f.placement for f in frames))
    for joint in joints:
        f, t = joint.friction, joint.transmission
        visit((f.viscous, f.coulomb, f.offset, f.stribeck, f.load, f.curve))
        visit((t.gear_ratio, t.rotor_inertia, t.stiffness, t.damping, t.link_viscous, t.link_coulomb))
    return tuple(symbols.items())
