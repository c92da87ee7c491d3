"""A Functional Mock-up Unit in one file: description, sources, and the binary for this machine."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from taupi.bridges.fmi.compiler import compile_library, platform_names
from taupi.bridges.fmi.description import build_description, description
from taupi.bridges.fmi.model import unit_model
from taupi.bridges.fmi.sources import compiled_names, source_files
from taupi.checks import one_of, or_none, positive, truth
from taupi.errors import Argument, TaupiError, shown
from taupi.files import refuse_to_overwrite, write_file

if TYPE_CHECKING:
    from collections.abc import Mapping

VERSIONS = ("3.0", "2.0")
_LONGEST_NAME = 40
# Zip files contain times; ours are all the same, so that equal units are equal files.
_EPOCH = (1980, 1, 1, 0, 0, 0)


def emit_fmu(
    subject: Any,
    path: str | os.PathLike[str],
    fmi: str = "3.0",
    name: str | None = None,
    step: float | None = None,
    binary: bool = True,
    force: bool = False,
) -> Path:
    """Write a Functional Mock-up Unit for Simulink, Modelica tools and all others that support FMI, and return its path.

    `subject` is a plant (`taupi.RigidPlant(robot)`, `taupi.ElasticPlant(robot)`), a control law (`taupi.SlotineLi(robot)`) or
    an online component (`taupi.momentum_observer(robot)`, `fit.tracker()`). Plants and laws are for co-simulation and for
    model exchange; online components have no rates, and are for co-simulation only. `path` is that of the file, out.fmu.
    `fmi` is the version, "3.0" (the default) or "2.0". `name` is that of the model, by default the file's. `step` (s) is the
    longest internal step of a plant in co-simulation, by the Runge-Kutta method; by default 1 ms, or 0.1 ms with elastic joints;
    it is a parameter of the unit as well. The unit has C sources inside and, unless `binary` is False, a binary for this machine,
    built by the system's compiler. `force` overwrites an existing file.

    >>> import tempfile, taupi as tp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tp.bridges.emit_fmu(tp.RigidPlant(tp.load("elbow2r")), f"{folder}/arm.fmu", binary=False).name
    'arm.fmu'
    """
    one_of(VERSIONS)("fmi", fmi)
    truth("binary", binary)
    step = or_none(positive)("step", step)
    file = refuse_to_overwrite(path, force)
    if file.suffix != ".fmu":
        raise TaupiError(Argument("path"), f" is {shown(str(path))}, expected a name that ends in .fmu.")
    identifier = _identifier(file.stem if name is None else name)
    model = unit_model(subject, identifier, step)
    token = _token(model.texts, identifier, fmi, model.title, model.step)
    texts = source_files(model, token, fmi)
    sources = compiled_names(texts)
    entries: dict[str, bytes] = {
        "modelDescription.xml": description(model, identifier, token, fmi, sources).encode(),
        **{f"sources/{name}": text.encode() for name, text in sorted(texts.items())},
    }
    if fmi == "3.0":
        entries["sources/buildDescription.xml"] = build_description(identifier, sources).encode()
    if binary:
        entries |= _binary(texts, sources, identifier, fmi)
    write_file(file, lambda stream: _zip(stream, entries), force)
    return file


def _binary(texts: Mapping[str, str], sources: list[str], identifier: str, fmi: str) -> dict[str, bytes]:
    """Return the compiled library by its path inside of the unit."""
    new, old, ending = platform_names()
    with tempfile.TemporaryDirectory() as folder:
        for name, text in texts.items():
            (Path(folder) / name).write_text(text, encoding="utf-8")
        library = Path(folder) / f"{identifier}{ending}"
        compile_library(Path(folder), sources, library)
        return {f"binaries/{new if fmi == '3.0' else old}/{library.name}": library.read_bytes()}


def _zip(stream: BinaryIO, entries: Mapping[str, bytes]) -> None:
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in entries.items():
            info = zipfile.ZipInfo(name, _EPOCH)
            info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(info, data)


def _identifier(name: str) -> str:
    """Return a name that C and file systems accept: a letter first, then letters, digits and underscores, not too long."""
    if not isinstance(name, str) or not name:
        raise TaupiError(Argument("name"), f" is {shown(name)}, expected a word.")
    text = re.sub(r"\W", "_", name, flags=re.ASCII)[:_LONGEST_NAME]
    return text if text[0].isalpha() else f"unit_{text}"


def _token(texts: Mapping[str, str], *more: object) -> str:
    """Return the token that links description and binary: a hash of both, in the form of a GUID."""
    digest = hashlib.sha256(repr((sorted(texts.items()), more)).encode()).hexdigest()
    return "{" + "-".join(digest[a:b] for a, b in ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32))) + "}"
