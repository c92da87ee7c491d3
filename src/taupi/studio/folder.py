"""What lies in the folder of a studio: logs, descriptions, mappings and results, by their names."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from taupi.errors import TaupiError
from taupi.signals.formats import format_by_ending
from taupi.signals.mapping.columns import Columns

DEEP, MOST = 3, 400  # folders below it, and files, that are listed
_ROBOTS = (".urdf", ".xacro", ".xml", ".sdf", ".usd", ".usda", ".usdc")
_PAGES = (".html", ".htm")


class Folder:
    """The folder of a studio.

    Args:
        path: Where it is.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()

    def files(self) -> list[str]:
        """Return the names of its files, those in folders within it included, the first 400.

        Hidden ones are left out, and those whose names cannot be printed.
        """
        return sorted(name for _, name in zip(range(MOST), self._walk(), strict=False))

    def _walk(self) -> Iterator[str]:
        for place, folders, names in os.walk(self.path):
            below = Path(place).relative_to(self.path)
            folders[:] = sorted(f for f in folders if f.isprintable() and f[0] != "." and len(below.parts) < DEEP)
            for name in sorted(names):
                if name.isprintable() and name[0] != "." and (Path(place) / name).is_file():
                    yield (below / name).as_posix()

    def logs(self) -> list[str]:
        """Return what could be logs, by their endings; what lies beside a page is a result."""
        names = self.files()
        results = {Path(name).parent for name in names if is_page(name)}
        return [n for n in names if format_by_ending(n) is not None and (Path(n).parent not in results or "/" not in n)]

    def robots(self) -> list[str]:
        """Return what could be descriptions of robots."""
        return [name for name in self.files() if name.endswith(_ROBOTS) or (_is_toml(name) and not self._maps(name))]

    def mappings(self) -> list[str]:
        """Return the column mappings."""
        return [name for name in self.files() if _is_toml(name) and self._maps(name)]

    def results(self, output: str) -> list[str]:
        """Return the files in a folder of results, pages first."""
        inside = [name for name in self.files() if name.startswith(f"{output.rstrip('/')}/")]
        return sorted(inside, key=lambda name: not is_page(name))

    def _maps(self, name: str) -> bool:
        try:
            columns = Columns.of(self.path / name)
        except TaupiError:
            return False
        return columns != Columns()

    def file(self, name: str) -> Path | None:
        """Return a file that may be shown: one within the folder that is not hidden; None for any other."""
        parts = Path(name).parts
        if not parts or any(part.startswith(".") for part in parts) or "\0" in name:
            return None
        path = (self.path / name).resolve()
        return path if path.is_relative_to(self.path) and path.is_file() else None

    def place(self, name: str) -> str:
        """Return the path of a file that a form names, for functions that are called in this process."""
        return name if Path.cwd() == self.path else str(self.path / name)


def is_page(name: str) -> bool:
    """Return whether a file is a page to open."""
    return name.lower().endswith(_PAGES)


def _is_toml(name: str) -> bool:
    return name.endswith(".toml")
