"""What the readers of serial arms share: the arm's data other than its geometry, and the robot built from both."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from taupi.errors import Argument, Part, TaupiError, TaupiWarning, shown, unknown
from taupi.model.body import NO_BODY, Body, body_from_com, smallest_eigenvalue, why_not_physical
from taupi.model.parameters import LINK_SIZE, ParameterLayout, Parameters
from taupi.model.placement import Placement, PlacementLike, placement_from
from taupi.model.robot import Robot
from taupi.model.robot_parts import Frame, Friction, Joint, Limits, Link, Source, Transmission, stated
from taupi.model.scalars import Vector, exact, exact_vector, items_of, note_snapped
from taupi.model.symbols import symbols_of

LINK_KEYS = ("m", "com", "inertia", "name")
NO_INERTIA = (0, 0, 0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Arm:
    """The data of a serial arm other than its geometry, not yet checked: keywords that `Robot.from_dh` documents."""

    name: Any
    links: Any
    parameters: Any
    gravity: Any
    base: Any
    tool: Any
    limits: Any
    friction: Any
    transmissions: Any
    values: Any
    snap: bool

    def per_joint(self, n: int) -> list[dict[str, Any]]:
        """Return each joint's limits, friction and transmission."""
        limits = _records(self.limits, n, "limits", Limits())
        friction = [_exact(f) for f in _records(self.friction, n, "friction", Friction())]
        drives = [_exact(t) for t in _records(self.transmissions, n, "transmissions", Transmission())]
        return [dict(limits=k, friction=f, transmission=t) for k, f, t in zip(limits, friction, drives, strict=True)]


def listed(values: Any, what: str, n: int | None = None) -> list[Any]:
    """Return the argument `what`, which has one entry per joint, as a list."""
    items = items_of(values)
    if items is None:
        raise TaupiError(Argument(what), f" is {shown(values)}, expected a list with one entry per joint.")
    if n is not None and len(items) != n:
        raise TaupiError(Argument(what), f" has {len(items)} entries, expected {n}: one per joint.")
    return items


def _records(values: Any, n: int, what: str, default: Any) -> list[Any]:
    if values is None:
        return [default] * n
    result = [default if v is None else v for v in listed(values, what, n)]
    for i, value in enumerate(result, 1):
        if not isinstance(value, type(default)):
            raise TaupiError(
                Argument(what),
                f" of joint {i} is {shown(value)}, expected a {type(default).__name__}(...) or None.",
            )
    return result


def _exact(record: Any) -> Any:
    return stated(record, {f.name: getattr(record, f.name) for f in fields(record)})


def _links_of(arm: Arm, n: int) -> tuple[Link, ...]:
    """Return the links, from `links` (m, com, inertia about it) or from pi itself."""
    names = [f"link{i + 1}" for i in range(n)]
    if arm.links is not None and arm.parameters is not None:
        raise TaupiError(Argument("links"), " and ", Argument("parameters"), " are both given: use one of the two.")
    if arm.parameters is not None:
        values = items_of(arm.parameters)
        if values is None or len(values) != LINK_SIZE * n:
            expected = f"{LINK_SIZE * n} values: ten per link"
            raise TaupiError(Argument("parameters"), f" is {shown(arm.parameters)}, expected {expected}.")
        flat = tuple(exact(v, f"parameters[{k}]") for k, v in enumerate(values))
        pi = Parameters(ParameterLayout.of_links(names), flat)
        return tuple(Link(name, pi.link(i)) for i, name in enumerate(names))
    if arm.links is None:
        return tuple(Link(name, NO_BODY) for name in names)
    return tuple(_link(link, name) for link, name in zip(listed(arm.links, "links", n), names, strict=True))


def _link(link: Any, name: str) -> Link:
    if not isinstance(link, Mapping):
        raise TaupiError(f"{name} is {shown(link)}, expected dict(m=, com=, inertia=).")
    for key in link:
        if key not in LINK_KEYS:
            raise unknown("link entry", key, LINK_KEYS, name)
    own = link.get("name", name)
    return Link(own, body_of(link, str(own)))


def body_of(link: Mapping[str, Any], what: str) -> Body:
    """Return the ten parameters of a mapping with m, com and inertia about the com; what is left out is 0."""
    return body_from_com(link.get("m", 0), link.get("com", (0, 0, 0)), link.get("inertia", NO_INERTIA), what)


def serial_robot(joints: Sequence[Joint], arm: Arm, notes: Sequence[str], source: Source) -> Robot:
    """Return the arm of these joints; a tool becomes the frame "tool" on the last link, and the tip."""
    all_notes = list(notes)
    links = _links_of(arm, len(joints))
    base = Placement() if arm.base is None else placed(arm.base, Argument("base"), arm.snap, all_notes)
    frames: tuple[Frame, ...] = ()
    if arm.tool is not None:
        frames = (Frame("tool", len(joints) - 1, placed(arm.tool, Argument("tool"), arm.snap, all_notes)),)
    gravity: Vector = exact_vector(arm.gravity, Argument("gravity"))
    known = dict(arm.parameters.symbols) if isinstance(arm.parameters, Parameters) else {}
    # Published parameters often belong to no real body. A note says so; whoever types them in needs no warning.
    if arm.links is not None and (note := not_physical(links, str(arm.name))):
        all_notes.append(note)
    robot = Robot(
        name=arm.name,
        joints=tuple(joints),
        links=links,
        gravity=gravity,
        base=base,
        frames=frames,
        tip="tool" if frames else "",
        symbols=symbols_of(joints, links, gravity, frames, base, known),
        notes=tuple(all_notes),
        source=source,
    )
    return _bound(robot, arm.values)


def placed(value: PlacementLike, what: Part, snap: bool, notes: list[str]) -> Placement:
    """Return the Placement of a matrix or translation, noting by how much it was snapped."""
    placement, snapped = placement_from(value, what, snap)
    note_snapped(notes, f"{what}: rotation", snapped, "quaternion ratios of 0 and 1")
    return placement


def _bound(robot: Robot, values: Any) -> Robot:
    if values is None:
        return robot
    if not isinstance(values, Mapping) or not all(isinstance(key, str) for key in values):
        raise TaupiError(
            Argument("values"), f" is {shown(values)}, expected a mapping from symbols to numbers: dict(l1=0.5)."
        )
    return robot.bind(**values)


def not_physical(links: Iterable[Link], where: str) -> str | None:
    """Return a sentence on the links whose parameters no real body has, with the worst eigenvalue; or None."""
    bad = [link for link in links if why_not_physical(link.body)]
    if not bad:
        return None
    worst = min(smallest_eigenvalue(link.body) for link in bad)
    names = ", ".join(link.name for link in bad[:6]) + (", ..." if len(bad) > 6 else "")
    return (
        f"{where}: no real body has the inertia of {names} (smallest pseudo-inertia eigenvalue {worst:.2g}); "
        "Y pi is usable, but M(q) need not be positive definite."
    )


def warn_not_physical(links: Iterable[Link], where: str) -> None:
    """Warn, once for all links, that no real body has a link's parameters."""
    if sentence := not_physical(links, where):
        warnings.warn(sentence, TaupiWarning, stacklevel=2)
