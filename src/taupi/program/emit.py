"""Write a program as source files in another language."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

from taupi.errors import Argument, TaupiError, unknown
from taupi.files import of_this_notebook, path_of, write_texts
from taupi.program.emitters import LANGUAGES
from taupi.program.program import Program


def sources(program: Program, language: str, name: str | None = None, dtype: str = "float64") -> dict[str, str]:
    """Return a program's source texts by file name, the main one first; the arguments are as in `emit`."""
    if not isinstance(program, Program):
        raise TaupiError(
            "{program} is {got}, expected a Program such as taupi.regressor(robot).", got=type(program).__name__
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
    """Write the source of a program into a directory, which is created if it does not exist.

    Args:
        program: The program.
        language: "c" (C99, header and source), "python" (needs only NumPy), "matlab" (Octave too) or "cuda" (a kernel).
        directory: Where to write.
        name: The name of the function and its files, by default the program's.
        dtype: "float64" (the default) or "float32".
        project: Whether to add a CMakeLists.txt, a README.md and an example of a call from Python to C; False by default.
        force: Whether files of these names are overwritten; otherwise, by default, nothing is written if there is one.

    Returns:
        The paths of the files.

    >>> import tempfile, taupi as tp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [p.name for p in tp.emit(tp.mass_matrix(tp.load("elbow2r")), "c", folder)]
    ['mass_matrix.c', 'mass_matrix.h']
    """
    texts = sources(program, language, name, dtype)
    if project:
        if language != "c":
            raise TaupiError(
                "{project=True} goes with {language='c'}, got {other_language}.",
                other_language=Argument("language", language),
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
    _refuse_existing(folder, paths, force)
    write_texts(dict(zip(paths, texts.values(), strict=True)))
    return paths


def _refuse_existing(folder: Path, paths: list[Path], force: bool) -> None:
    if folder.exists() and not folder.is_dir():
        raise TaupiError("{folder} is a file, expected a directory to write in.", folder=folder)
    existing = [p.name for p in paths if p.exists() and not of_this_notebook(p)]
    if existing and not force:
        raise TaupiError(
            "{folder} has {existing:,} already.",
            remedy="Use another name, or {force=True} to overwrite.",
            folder=folder,
            existing=existing,
        )
