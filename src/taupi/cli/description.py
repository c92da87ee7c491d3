"""How a robot's description is read: options of every command that takes a robot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from taupi.errors import Argument, TaupiError
from taupi.settings import Settings

if TYPE_CHECKING:
    from taupi.model.robot import Robot


@dataclass(frozen=True)
class Description(Settings):
    """How a robot's description is read.

    Attributes:
        lock: Joint to hold at zero.
        tip: Link at which the chain ends.
        snap: Whether nearly right angles in the file are taken as right angles.
        floating: Whether the base moves freely. By default only if the file says so.
        xacro: NAME=VALUE, an argument of a .xacro file.
    """

    lock: tuple[str, ...] = ()
    tip: str | None = None
    snap: bool = True
    floating: bool | None = None
    xacro: tuple[str, ...] = ()

    def load(self, robot: str) -> Robot:
        """Return a built-in robot by its name, or the robot in a file; only settings that the user changed are passed on."""
        import taupi as tp

        changes: dict[str, Any] = {
            "lock": list(self.lock) or None,
            "tip": self.tip,
            "snap": None if self.snap else False,
            "floating": self.floating,
            "xacro": _arguments(self.xacro) or None,
        }
        loaded: Robot = tp.load(robot, **{name: value for name, value in changes.items() if value is not None})
        return loaded

    def words(self) -> list[str]:
        """Return the options as they are typed; those that the user did not change are left out."""
        typed = [word for name in self.lock for word in ("--lock", name)]
        typed += ["--tip", self.tip] if self.tip is not None else []
        typed += [] if self.snap else ["--no-snap"]
        typed += [] if self.floating is None else ["--floating" if self.floating else "--no-floating"]
        return typed + [word for pair in self.xacro for word in ("--xacro", pair)]


def _arguments(pairs: tuple[str, ...]) -> dict[str, str]:
    """Return arguments by name from texts of the form NAME=VALUE."""
    for pair in pairs:
        if "=" not in pair:
            raise TaupiError(Argument("xacro"), f" is {pair!r}, expected NAME=VALUE.")
    return {name: value for name, _, value in (pair.partition("=") for pair in pairs)}
