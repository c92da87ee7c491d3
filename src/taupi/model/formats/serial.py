"""What the readers of serial arms share: bodies, data per joint, and the robot made of them."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from taupi.errors import TaupiError, TaupiWarning, shown, unknown
from taupi.model.body import NO_BODY, Body, body_from_com, smallest_eigenvalue, why_not_physical
from taupi.model.placement import Placement, placement_from
from taupi.model.robot import Frame, Joint, Link, Robot, Source, symbols_of
from taupi.model.scalars import Vector, exact, exact_vector

LINK_KEYS = ("m", "com", "inertia", "name")
NO_INERTIA = (0, 0, 0, 0, 0, 0)


def bodies_of(
    n: int, links: Sequence[Mapping[str, Any]] | None, parameters: Sequence[Any] | None
) -> tuple[list[Body], list[str]]:
    """Return each link's ten parameters and name, from `links` (m, com, inertia at it) or from pi itself."""
    names = [f"link{i + 1}" for i in range(n)]
    if links is not None and parameters is not None:
        raise TaupiError("links and parameters are both given: use one of the two.")
    if parameters is not None:
        if not hasattr(parameters, "__len__") or len(parameters) != 10 * n:
            raise TaupiError(f"parameters is {shown(parameters)}, expected {10 * n} values: ten per link.")
        flat = [exact(v, f"parameters[{k}]") for k, v in enumerate(parameters)]
        return [tuple(flat[10 * i : 10 * i + 10]) for i in range(n)], names
    if links is None:
        return [NO_BODY] * n, names
    if len(links) != n:
        raise TaupiError(f"links has {len(links)} entries, expected {n}: one per joint.")
    for i, link in enumerate(links):
        for key in link:
            if key not in LINK_KEYS:
                raise unknown("link entry", key, LINK_KEYS, f"link {i + 1}")
        names[i] = link.get("name", names[i])
    return [body_of(link, name) for link, name in zip(links, names, strict=True)], names


def body_of(link: Mapping[str, Any], what: str) -> Body:
    """Return the ten parameters of a mapping with m, com and inertia at the com; what is left out is zero."""
    return body_from_com(link.get("m", 0), link.get("com", (0, 0, 0)), link.get("inertia", NO_INERTIA), what)


def per_joint(values: Sequence[Any] | None, n: int, what: str, default: Any) -> list[Any]:
    """Return one value per joint, the default where none are given."""
    if values is None:
        return [default] * n
    if len(values) != n:
        raise TaupiError(f"{what} has {len(values)} entries, expected {n}: one per joint.")
    return [default if v is None else v for v in values]


def serial_robot(
    name: str,
    joints: Sequence[Joint],
    *,
    links: Sequence[Mapping[str, Any]] | None,
    parameters: Sequence[Any] | None,
    gravity: Sequence[Any],
    base: Any,
    tool: Any,
    values: Mapping[str, Any] | None,
    snap: bool,
    notes: Iterable[str],
    source: Source,
) -> Robot:
    """Return the arm of these joints; a tool becomes the frame "tool" on the last link, and the tip."""
    n = len(joints)
    bodies, names = bodies_of(n, links, parameters)
    body_links = tuple(Link(k, b) for k, b in zip(names, bodies, strict=True))
    frames = (Frame("tool", n - 1, placement_from(tool, "tool", snap)),) if tool is not None else ()
    down: Vector = exact_vector(gravity, "gravity")
    placed = placement_from(base, "base", snap) if base is not None else Placement()
    robot = Robot(
        name=name,
        joints=tuple(joints),
        links=body_links,
        gravity=down,
        base=placed,
        frames=frames,
        tip="tool" if frames else "",
        symbols=symbols_of(joints, body_links, down, frames, placed),
        notes=tuple(notes),
        source=source,
    )
    return robot.bind(**values) if values else robot


def warn_not_physical(links: Iterable[Link], where: str) -> None:
    """Warn once, with the links' names and the worst eigenvalue, where no real body has a link's parameters."""
    bad = [link for link in links if why_not_physical(link.body)]
    if not bad:
        return
    worst = min(smallest_eigenvalue(link.body) for link in bad)
    names = ", ".join(link.name for link in bad[:6]) + (", ..." if len(bad) > 6 else "")
    warnings.warn(
        f"{where}: no real body has the inertia of {names} (smallest pseudo-inertia eigenvalue {worst:.2g}); "
        "Y pi is usable, but M(q) need not be positive definite.",
        TaupiWarning,
        stacklevel=2,
    )
