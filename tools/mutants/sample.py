"""A sample of mutants by a seed: the same lines give the same mutants, whatever happens to other lines.

Every mutant has a number between 0 and 1, made from the seed and its own key; a room's share of the sample are those with the
smallest numbers, one per line. So a change elsewhere in the file affects only mutants of the lines that it touches.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from mutants.places import Mutant, is_change, mutants_of

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PACKAGE = "src/taupi"
ROOMS = ("dynamics", "analysis", "regressors", "identifiability", "identification", "signals", "control")
EQUIVALENT = Path(__file__).parent / "equivalent.toml"
LEAST_OF_A_ROOM = 10


@dataclass(frozen=True)
class Equivalent:
    """A change that changes no result, so that no test can see it, and the reason why."""

    file: str
    code: str
    change: str
    reason: str

    def matches(self, mutant: Mutant) -> bool:
        """Return whether `mutant` is this change."""
        return (self.file, self.code, self.change) == (mutant.file, mutant.code, mutant.change)


def read_equivalents(path: Path = EQUIVALENT) -> tuple[Equivalent, ...]:
    """Return the changes that are listed as equivalent; each entry has all four fields."""
    return tuple(Equivalent(**entry) for entry in tomllib.loads(path.read_text(encoding="utf-8")).get("equivalent", ()))


def room_of(file: str) -> str:
    """Return the room of a file: the folder below the package."""
    return file.removeprefix(f"{PACKAGE}/").partition("/")[0]


def files_of(root: Path, only: Iterable[str] = ()) -> list[str]:
    """Return the Python files of the rooms, or those at or below the paths `only`, as paths from `root`."""
    places = list(only) or [f"{PACKAGE}/{room}" for room in ROOMS]
    files = {
        p for place in places for p in ((root / place).rglob("*.py") if (root / place).is_dir() else [root / place])
    }
    return sorted(p.relative_to(root).as_posix() for p in files)


def shares(counts: Mapping[str, int], size: int) -> dict[str, int]:
    """Divide `size` among rooms in proportion to their counts, but give each at least ten, or all that it has."""
    floor = min(LEAST_OF_A_ROOM, size // max(len(counts), 1))
    least = {room: min(count, floor) for room, count in counts.items()}
    left, total = max(size - sum(least.values()), 0), sum(counts.values())
    exact = {room: left * count / total for room, count in counts.items()}
    result = {room: min(counts[room], least[room] + int(exact[room])) for room in counts}
    by_remainder = sorted(counts, key=lambda room: (int(exact[room]) - exact[room], room))
    for room in by_remainder * size:
        if sum(result.values()) >= size:
            break
        result[room] += result[room] < counts[room]
    return result


def rank(mutant: Mutant, seed: int) -> str:
    """Return the sort key of a mutant: practically random, but fixed for each mutant."""
    return sha256(f"{seed} {mutant.key}".encode()).hexdigest()


def draw(
    texts: Mapping[str, str],
    size: int,
    seed: int,
    equivalents: Iterable[Equivalent] = (),
    wanted: Callable[[Mutant], bool] = lambda mutant: True,
) -> list[Mutant]:
    """Return `size` mutants of the files `texts`, if there are that many: at most one per line, all of them `wanted`, and
    none that is listed as equivalent."""
    known = defaultdict(list)
    for entry in equivalents:
        known[entry.file].append(entry)
    by_room: dict[str, list[Mutant]] = defaultdict(list)
    for file, text in texts.items():
        by_room[room_of(file)] += [m for m in mutants_of(file, text) if not any(e.matches(m) for e in known[file])]
    quota = shares({room: len({(m.file, m.line) for m in mutants}) for room, mutants in by_room.items()}, size)
    result = []
    for room, mutants in by_room.items():
        taken: dict[tuple[str, int], Mutant] = {}
        for mutant in sorted(mutants, key=lambda m: rank(m, seed)):
            if len(taken) == quota[room]:
                break
            new = (mutant.file, mutant.line) not in taken
            if new and is_change(mutant, texts[mutant.file]) and wanted(mutant):
                taken[mutant.file, mutant.line] = mutant
        result += sorted(taken.values(), key=lambda m: (m.file, m.line))
    return result


def stale(equivalents: Iterable[Equivalent], root: Path) -> list[Equivalent]:
    """Return the entries that no longer match any place of the source."""
    result = []
    for entry in equivalents:
        path = root / entry.file
        mutants = mutants_of(entry.file, path.read_text(encoding="utf-8")) if path.is_file() else []
        if not any(entry.matches(m) for m in mutants):
            result.append(entry)
    return result
