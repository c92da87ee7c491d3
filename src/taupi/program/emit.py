"""A program as source text in other languages, and as files of it."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path

from taupi.errors import TaupiError, unknown
from taupi.files import OVERWRITE, path_of, write_text
from taupi.program.program import Program

# Each module has `files(program, name, dtype)`: texts by file name, the main one first.
LANGUAGES: dict[str, str] = {
    "c": "taupi.program.targets.c",
    "python": "taupi.program.targets.python",
    "matlab": "taupi.program.targets.matlab",
    "cuda": "taupi.program.targets.cuda_source",
}


def sources(program: Program, language: str, name: str | None = None, dtype: str = "float64") -> dict[str, str]:
    """Return the texts of a program in a language by their file names, the main one first."""
    if not isinstance(program, Program):
        raise TaupiError(f"program is {type(program).__name__}, expected a Program such as taupi.regressor(robot).")
    if language not in LANGUAGES:
        raise unknown("language", language, LANGUAGES)
    files: dict[str, str] = import_module(LANGUAGES[language]).files(program, name, dtype)
    return files


def emit(
    program: Program,
    language: str,
    directory: str | os.PathLike[str],
    name: str | None = None,
    dtype: str = "float64",
    project: bool = False,
    force: bool = False,
) -> list[Path]:
    """Write a program as source in a directory, and return the paths.

    `language`: "c" (C99, header and source), "python" (NumPy only), "matlab" (Octave too) or "cuda" (a kernel). The function
    and its files take `name`, by default the program's; numbers are of `dtype`, "float64" or "float32". `project` adds to C a
    CMakeLists.txt, a README.md and a call from Python. The directory is made if it is missing; files that exist are kept,
    and nothing is written, unless `force`.

    >>> import tempfile, taupi as tp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [p.name for p in tp.emit(tp.mass_matrix(tp.load("elbow2r")), "c", folder)]
    ['mass_matrix.c', 'mass_matrix.h']
    """
    texts = sources(program, language, name, dtype)
    if project:
        if language != "c":
            raise TaupiError(f"project=True goes with language='c', got language={language!r}.")
        from taupi.program.targets.c_project import project as project_files

        texts |= project_files(program, name, dtype)
    folder = path_of(directory, "the path of a directory")
    paths = [folder / file for file in texts]
    _make_room(folder, paths, force)
    for path, text in zip(paths, texts.values(), strict=True):
        write_text(path, text, force)
    return paths


def _make_room(folder: Path, paths: list[Path], force: bool) -> None:
    """Make the directory, or say why nothing can be written there."""
    if folder.exists() and not folder.is_dir():
        raise TaupiError(f"{folder} is a file, expected a directory to write in.")
    there = [p.name for p in paths if p.exists()]
    if there and not force:
        raise TaupiError(f"{folder} has {', '.join(there)} already.", remedy=OVERWRITE)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TaupiError(f"{folder} cannot be made: {error.strerror}.") from None
