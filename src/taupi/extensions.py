"""Parts that other packages add: joint terms, laws, estimators, log formats, controllers' logs, targets of an export.

An installed package names its parts by entry points, one group per kind:

    [project.entry-points."taupi.laws"]
    saturated-pd = "my_package.laws:SaturatedPD"

A part is imported when its name is used and taupi has none of that name, or when nothing of taupi fits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar, cast

from taupi.errors import TaupiError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

PartT = TypeVar("PartT")


@dataclass(frozen=True)
class Extensions(Generic[PartT]):
    """The parts of one kind that installed packages have.

    Attributes:
        kind: What such a part is called in a sentence, "law" for example.
        group: The group of their entry points.
        members: The attributes that each must have; by default none are checked.
    """

    kind: str
    group: str
    members: tuple[str, ...] = ()

    def names(self) -> list[str]:
        """Return the names of all parts, without importing them."""
        return [entry.name for entry in self._entries()]

    def find(self, name: str) -> PartT | None:
        """Return the part with a `name`; None if no package has one."""
        return next((self._load(entry) for entry in self._entries() if entry.name == name), None)

    def parts(self) -> Iterator[tuple[str, PartT]]:
        """Yield all parts with their names."""
        for entry in self._entries():
            yield entry.name, self._load(entry)

    def _entries(self) -> Iterator[EntryPoint]:
        from importlib.metadata import entry_points

        return iter(entry_points(group=self.group))

    def _load(self, entry: EntryPoint) -> PartT:
        try:
            part = entry.load()
        except Exception as error:  # whatever the package does
            raise TaupiError(
                "The {kind} {name!r} of {place} cannot be loaded: {error}.",
                kind=self.kind,
                name=entry.name,
                place=entry.value,
                error=error,
            ) from None
        if missing := [member for member in self.members if not hasattr(part, member)]:
            raise TaupiError(
                "The {kind} {name!r} of {place} has no {missing:,}.",
                kind=self.kind,
                name=entry.name,
                place=entry.value,
                missing=missing,
            )
        return cast("PartT", part)
