"""How a robot's description is read: options of every command that takes a robot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from taupi.settings import Settings

if TYPE_CHECKING:
    from taupi.model.robot import Robot


@dataclass(frozen=True)
class Description(Settings):
    """How a robot's description is read.

    Attributes:
        lock: Joint to hold at zero.
        tip: Link at which the chain ends.
        snap: Whether angles of the file that are nearly right angles are taken as right angles.
        floating: Whether the base moves freely. By default only where the file says so.
    """

    lock: tuple[str, ...] = ()
    tip: str | None = None
    snap: bool = True
    floating: bool | None = None

    def load(self, robot: str) -> Robot:
        """Return a built-in robot by its name, or that of a file; only settings that the user changed are passed on."""
        import taupi as tp

        changes: dict[str, Any] = {
            "lock": list(self.lock) or None,
            "tip": self.tip,
            "snap": None if self.snap else False,
            "floating": self.floating,
        }
        loaded: Robot = tp.load(robot, **{name: value for name, value in changes.items() if value is not None})
        return loaded
