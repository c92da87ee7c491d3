"""Write a program as source files in another language."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

from taupi.errors import Argument, TaupiError, unknown
from taupi.files import path_of, write_texts
from taupi.program.emitters import LANGUAGES
from taupi.program.program import Program


def sources(program: Program, language: str, name: str | None = None, dtype: str = "float64") -> dict[str, str]:
    """Return a program's source texts by file name, the main one first; the arguments are those of `emit`."""
    if not isinstance(program, Program):
        raise TaupiError(
            Argument("program"),
            f" is {type(program).__name__}, expected a Program such as taupi.regressor(robot).",
        )
    if language not in LANGUAGES:
        raise unknown(Argument("language"), language, LANGUAGES)
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
    """Write the source of a `program` into a `directory`, and return the paths of its files.

    `language` is "c" (C99, header and source), "python" (needs only NumPy), "matlab" (Octave too) or "cuda" (a kernel). The
    function and its files are called `name`, by default the program's name; `dtype` is "float64" (the default) or "float32".
    `project` adds a CMakeLists.txt, a README.md and an example of a call from Python to C. The directory is created if it does
    not exist. If it holds files of these names, nothing is written unless `force` is set.

    >>> import tempfile, taupi as tp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [p.name for p in tp.emit(tp.mass_matrix(tp.load("elbow2r")), "c", folder)]
    ['mass_matrix.c', 'mass_matrix.h']
    """
    texts = sources(program, language, name, dtype)
    if project:
        if language != "c":
            raise TaupiError(
                Argument("project", True),
                " goes with ",
                Argument("language", "c"),
                ", got ",
                Argument("language", language),
                ".",
            )
        from taupi.program.emitters.c_project import project as project_files

        texts |= project_files(program, name, dtype)
    return write_sources(texts, directory, force)


def write_sources(texts: Mapping[str, str], directory: str | os.PathLike[str], force: bool = False) -> list[Path]:
    """Write `texts` by file name into a `directory`, and return the paths.

    The directory is created if it does not exist; if it holds files of these names, nothing is written unless `force` is set.
    """
    folder = path_of(directory, "the path of a directory", "directory")
    paths = [folder / file for file in texts]
    _make_room(folder, paths, force)
    write_texts(dict(zip(paths, texts.values(), strict=True)))
    return paths


def _make_room(folder: Path, paths: list[Path], force: bool) -> None:
    """Create the directory, or say why nothing can be written there."""
    if folder.exists() and not folder.is_dir():
        raise TaupiError(f"{folder} is a file, expected a directory to write in.")
    existing = [p.name for p in paths if p.exists()]
    if existing and not force:
        raise TaupiError(
            f"{folder} has {', '.join(existing)} already.",
            remedy=("Use another name, or ", Argument("force", True), " to overwrite."),
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TaupiError(f"{folder} cannot be created: {error.strerror}.") from None
