"""Fits in files: `fit.json`, which reads back to an equal fit, and `fit.txt`, a readable text."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import os
import textwrap
import warnings
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from taupi.budget import budget
from taupi.errors import TaupiError, TaupiWarning
from taupi.files import path_of, write_text
from taupi.identification.results.command_data import CommandFitData, command_fit_from_dict, command_fit_text
from taupi.identification.results.command_fit import CommandFit
from taupi.identification.results.fit import Fit
from taupi.identification.results.fit_data import SCHEMA as RECORD
from taupi.identification.results.fit_data import FitData
from taupi.identification.row_layout import RowLayout
from taupi.input_files import parse_json, printable, read_bytes
from taupi.model.formats.toml import reads
from taupi.model.formats.toml_writer import writes
from taupi.model.parameters import LINK_SIZE
from taupi.model.robot_parts import Link, Source
from taupi.model.scalars import exact
from taupi.schema import conformed
from taupi.tables import table

KIND, COMMAND_KIND = "taupi.fit", "taupi.command_fit"
VERSION = 1
_ROUNDING = 1e-6  # of a covariance in units of its own standard deviations
SCHEMA, COMMAND_SCHEMA = f"{KIND}/{VERSION}", f"{COMMAND_KIND}/{VERSION}"


def write_fit(fit: Fit | CommandFit, path: str | os.PathLike[str], force: bool = False) -> None:
    """Write a fit: as JSON, which `taupi.load_fit` reads back, or as readable tables.

    The JSON object is `Fit.to_dict` with the name of the schema, "taupi.fit/1", and under "description" the robot as TOML text,
    so that a prediction needs only this file. If the robot was read from a URDF file, its text is under "source", so that
    `taupi.write_urdf` works for the loaded fit too.

    Args:
        fit: The fit.
        path: The file; a name that ends in .json gives JSON, one in .txt tables.
        force: Whether a file that exists is overwritten; False by default.

    >>> import os, tempfile, numpy as np, taupi as tp
    >>> arm = tp.load("elbow2r")
    >>> t = np.arange(2000)[:, None] / 100
    >>> w = np.array([1.0, 1.7])
    >>> q, qd, qdd = np.sin(w * t), w * np.cos(w * t), -w * w * np.sin(w * t)
    >>> fit = tp.identify(arm, tp.Log(t[:, 0], q, tau=tp.inverse_dynamics(arm)(q, qd, qdd)), terms=())
    >>> path = os.path.join(tempfile.mkdtemp(), "fit.json")
    >>> tp.write_fit(fit, path)
    >>> bool((tp.load_fit(path).values == fit.values).all())
    True
    """
    if not isinstance(fit, Fit | CommandFit):
        raise TaupiError("{fit} is {got!r}, expected a Fit: taupi.identify(...).", got=fit)
    file = path_of(path)
    if file.suffix not in (".json", ".txt"):
        raise TaupiError("{path} is {got!r}, expected a name ending in .json or .txt.", got=str(file))
    write_text(file, fit_text(fit) if file.suffix == ".txt" else fit_json(fit), force)


def is_saved_fit(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is one that `load_fit` takes: a .json file, or a directory with a fit.json."""
    return str(path).endswith(".json") or (Path(path) / "fit.json").is_file()


def load_torque_fit(path: str | os.PathLike[str]) -> Fit:
    """Return the fit in a file, or refuse one from commands, which predicts no torque; the arguments are those of `load_fit`."""
    fit = load_fit(path)
    if isinstance(fit, CommandFit):
        raise TaupiError(
            "{path} is a fit from commands and encoders, which simulates positions: this needs one from logs with torque.",
            path=printable(path_of(path)),
        )
    return fit


def load_fit(path: str | os.PathLike[str]) -> Fit | CommandFit:
    """Return the fit in a file that `taupi.write_fit` or `taupi identify` wrote.

    Args:
        path: The file, or a directory with a fit.json.

    Raises:
        TaupiError: If there is no such file, or if it is damaged or of another kind.

    >>> import taupi as tp
    >>> tp.load_fit("missing.json")
    Traceback (most recent call last):
    taupi.errors.TaupiError: No file 'missing.json'. Write one with taupi.write_fit or `taupi identify`.
    """
    file = path_of(path)
    file = file / "fit.json" if file.is_dir() else file
    expected = f"a fit of taupi, {SCHEMA}"
    content = read_bytes(file, expected, budget().data_bytes, "Write one with taupi.write_fit or `taupi identify`.")
    if content.count(b"[") + content.count(b"{") > budget().nodes:
        raise TaupiError("{file} is not JSON of a fit: it has more lists than a fit has.", file=printable(file))
    data = _check_schema(parse_json(content, printable(file), expected), file)
    of_commands = data["schema"] == COMMAND_SCHEMA
    try:
        data = conformed(data, CommandFitData if of_commands else FitData, "it")
    except TaupiError as error:
        raise TaupiError(
            "{file} is damaged: {error} Identify again.", file=printable(file), error=str(error).removeprefix("it: ")
        ) from None
    try:
        with warnings.catch_warnings():
            # Warnings about the description were given when it was first read.
            warnings.simplefilter("ignore", TaupiWarning)
            robot = reads(data["description"], data["robot"], str(file))
        robot = dataclasses.replace(robot, source=_source_from_data(data.get("source"), robot.source))
        if of_commands:
            return command_fit_from_dict(data, robot)
        return _checked(Fit.from_dict({**data, "schema": RECORD}, robot))
    except TaupiError as error:
        raise error.about(printable(file)) from None
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError) as error:
        raise TaupiError(
            "{file} is damaged: {kind} {error!r}. Identify again.",
            file=printable(file),
            kind=type(error).__name__,
            error=str(error),
        ) from None


def fit_json(fit: Fit | CommandFit) -> str:
    """Return a fit as JSON text; numbers read back to the last bit, and infinite ones are the text "inf"."""
    schema = COMMAND_SCHEMA if isinstance(fit, CommandFit) else SCHEMA
    data = {"schema": schema, **{k: v for k, v in fit.to_dict().items() if k != "schema"}}
    data["description"] = writes(fit.robot)
    data["source"] = _source_data(fit.robot.source)
    return json.dumps(_plain(data), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def fit_text(fit: Fit | CommandFit) -> str:
    """Return a fit as text: the verdict, the parameters, the errors of each joint, what each parameter stands for, the record."""
    if isinstance(fit, CommandFit):
        return "\n\n".join("\n".join(part) for part in [*command_fit_text(fit), ["record", *_record(fit)]]) + "\n"
    joints = [("joint", "rows", "rms", "relative", "R2", "noise")]
    joints += [
        (j.name, str(j.rows), f"{j.rms:.4g}", f"{j.relative:.2%}", f"{j.r2:.4f}", f"{j.noise:.4g}") for j in fit.joints
    ]
    meanings = [("parameter", "stands for"), *((e.name, str(e)) for e in fit.basis.expressions)]
    parts = [
        fit.verdict.lines,
        repr(fit).splitlines(),
        ["torque on the fitted logs", *table(joints)],
        *([["springs and encoders", *table(spring_table(fit))]] if fit.springs else []),
        ["combinations", *table(meanings)],
        ["notes", *(f"- {note}" for note in fit.notes)],
        ["record", *_record(fit)],
    ]
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def _record(fit: Fit | CommandFit) -> list[str]:
    lines = [f"{k}: {v}" for k, v in fit.record.items() if not isinstance(v, list | tuple | dict)]
    lines += [f"log: {log.path or log.name} sha256 {log.sha256 or '-'}" for log in fit.logs]
    return [line for text in lines for line in textwrap.wrap(text, 130, subsequent_indent="  ")]


def _source_data(source: Source) -> dict[str, object] | None:
    """Return the source of a robot as plain data, its text with its hash; None for formats that are not written back."""
    if source.format != "urdf":
        return None
    return {
        "format": source.format,
        "path": source.path,
        "sha256": _hash(source.text),
        "lock": {name: str(value) for name, value in source.lock},
        "tip": source.tip,
        "snap": source.snap,
        "merged": {name: list(others) for name, others in source.merged},
        "root": source.root and {"name": source.root.name, "body": [str(value) for value in source.root.body]},
        "floating": source.floating,
        "text": source.text,
    }


def _source_from_data(data: Mapping[str, Any] | None, default: Source) -> Source:
    """Return the source in `data`, or the `default` if there is none; a text that was changed since is refused."""
    if data is None:
        return default
    if _hash(data["text"]) != data["sha256"]:
        raise TaupiError("the text of its source was changed since it was written: the sha256 differs. Identify again.")
    lock = tuple((name, _fraction(value, f"lock of {name}")) for name, value in data["lock"].items())
    merged = tuple((name, tuple(others)) for name, others in data["merged"].items())
    own = (data["format"], data["path"], data["text"], merged, lock, data["tip"], bool(data["snap"]))
    return Source(*own, _root_from_data(data.get("root")), data.get("floating"))


def _root_from_data(data: Mapping[str, Any] | None) -> Link | None:
    """Return the link that is bolted to the ground; None if the file states none, as older ones do."""
    if data is None:
        return None
    body = tuple(_fraction(value, f"body of {data['name']}") for value in data["body"])
    if len(body) != LINK_SIZE:
        raise TaupiError(
            "body of {name} has {got} parameters, expected {link_size}.",
            name=data["name"],
            got=len(body),
            link_size=LINK_SIZE,
        )
    return Link(data["name"], body)


def _fraction(text: str, what: str) -> Fraction:
    value = exact(text, what)
    if not isinstance(value, Fraction):
        raise TaupiError("{what} is {got!r}, expected a number.", what=what, got=text)
    return value


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def _plain(value: object) -> Any:
    """Return data with infinite numbers as texts, since JSON has no other way to write them."""
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(value)
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return value.item() if hasattr(value, "item") else value


def _checked(fit: Fit) -> Fit:
    """Return the fit, or refuse one whose parts do not belong together, or whose numbers no estimator gives."""
    b, p = len(fit.names), len(fit.basis.standard)
    shapes: dict[str, tuple[int | None, ...]] = {
        "covariance": (b, b),
        "prior": (p,),
        "values": (b,),
        "standard": (p,),
        "triangle": (None, None),
    }
    for name, shape in shapes.items():
        array = getattr(fit, name)
        if array is not None:
            _check_array(name, array, shape)
    if not _is_covariance(fit.covariance):
        raise TaupiError("covariance is not symmetric, or has a negative eigenvalue. Identify again.")
    _check_joints(fit)
    try:
        _ = fit.preparation
    except TaupiError as error:
        raise TaupiError("settings: preparation: {error} Identify again.", error=error) from None
    return fit


def _check_array(name: str, array: np.ndarray, shape: tuple[int | None, ...]) -> None:
    """Refuse an array of another shape, where None stands for any size, or with numbers that are not finite."""
    alike = len(shape) == array.ndim and all(k in (None, own) for k, own in zip(shape, array.shape, strict=True))
    if not alike or array.dtype != float:
        sizes = ", ".join("any" if k is None else str(k) for k in shape)
        raise TaupiError(
            "{name} is {got} of shape {shape}, expected numbers of shape ({sizes}). Identify again.",
            name=name,
            got=array.dtype,
            shape=array.shape,
            sizes=sizes,
        )
    if not np.isfinite(array).all():
        raise TaupiError("{name} has entries that are not finite. Identify again.", name=name)


def _is_covariance(matrix: np.ndarray) -> bool:
    """Return whether a matrix (b, b) is symmetric without negative eigenvalues, in units of its own standard deviations."""
    sizes = np.sqrt(np.maximum(matrix.diagonal(), 0.0))
    sizes = np.where(sizes > 0, sizes, 1.0)
    scaled = matrix / sizes / sizes[:, None]
    symmetric = (np.abs(scaled - scaled.T) < _ROUNDING).all()
    return bool(symmetric and (np.linalg.eigvalsh(scaled) > -_ROUNDING).all())


def _check_joints(fit: Fit) -> None:
    """Refuse statistics of other joints than the robot's, and logs with speeds of more or fewer joints."""
    names, known = tuple(j.name for j in fit.joints), RowLayout.of(fit.basis).names
    if len(names) < fit.robot.n or names != known[: len(names)]:
        raise TaupiError("it has joints {names!r}, expected {known!r}. Identify again.", names=names, known=known)
    for log in fit.logs:
        if log.speeds and len(log.speeds) != len(names):
            raise TaupiError(
                "{log} has {got} speeds, expected {expected}. Identify again.",
                log=log.name,
                got=len(log.speeds),
                expected=len(names),
            )


def _check_schema(data: Any, file: Path) -> dict[str, Any]:
    """Return the data of a fit; refuse other data, and fits of another version."""
    schema = data.get("schema") if isinstance(data, dict) else None
    if not isinstance(schema, str) or not schema.startswith((f"{KIND}/", f"{COMMAND_KIND}/")):
        raise TaupiError(
            "{file} is not a fit of taupi: its schema is {got!r}, expected {schema!r}.",
            file=file,
            got=schema,
            schema=SCHEMA,
        )
    if schema not in (SCHEMA, COMMAND_SCHEMA):
        raise TaupiError(
            "{file} has schema {schema!r}, this version reads {other_schema!r}. Identify again, or update taupi.",
            file=file,
            schema=schema,
            other_schema=SCHEMA,
        )
    return dict(data)


# The columns of numbers.
NUMBERS = (1, 2, 3, 5, 6, 7, 8)
_HEAD = (
    "joint",
    "stiffness",
    "+-",
    "described",
    "unit",
    "theta late, ms",
    "+-",
    "lost motion",
    "+-",
    "offsets, log by log",
    "",
)


def spring_table(fit: Fit) -> list[tuple[str, ...]]:
    """Return the rows of the table, its heading first; none if the fit has no springs."""
    rows: list[tuple[str, ...]] = [_HEAD]
    names = list(fit.names)
    for r in fit.springs:
        k = names.index(f"{r.joint}.stiffness")
        numbers = (f"{fit.values[k]:.5g}", f"{fit.stderr[k]:.2g}", f"{r.described:.5g}", r.unit)
        delay = (f"{1e3 * r.delay:.4g}", f"{1e3 * r.delay_error:.2g}")
        lost = (f"{r.lost_motion:.2g}", f"{r.lost_motion_error:.1g}")
        offsets = f"{', '.join(f'{o:.4g}' for o in r.offsets)} {r.angle_unit}"
        rows.append((r.joint, *numbers, *delay, *lost, offsets, "not determined" if fit.undetermined[k] else ""))
    return rows if fit.springs else []
