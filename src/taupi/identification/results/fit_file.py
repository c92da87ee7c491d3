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
from taupi.errors import Argument, TaupiError, TaupiWarning, shown
from taupi.files import path_of, write_text
from taupi.identification.equations import Equations
from taupi.identification.results.fit import Fit
from taupi.identification.results.fit_data import SCHEMA as RECORD
from taupi.identification.results.fit_schema import FitData
from taupi.identification.results.spring_table import spring_table
from taupi.input_files import parse_json, printable, read_bytes
from taupi.model.formats.toml import reads
from taupi.model.formats.toml_writer import writes
from taupi.model.parameters import LINK_SIZE
from taupi.model.robot_parts import Link, Source
from taupi.model.scalars import exact
from taupi.schema import conformed
from taupi.tables import table

KIND = "taupi.fit"
VERSION = 1
_ROUNDING = 1e-6  # of a covariance in units of its own standard deviations
SCHEMA = f"{KIND}/{VERSION}"


def write_fit(fit: Fit, path: str | os.PathLike[str], force: bool = False) -> None:
    """Write a `fit` to `path`: as JSON, which `taupi.load_fit` reads back, or, if the name ends in .txt, as readable tables.

    The JSON object is `Fit.to_dict` with the name of the schema, "taupi.fit/1", and under "description" the robot as TOML text,
    so that a prediction needs only this file. If the robot was read from a URDF file, its text is under "source", so that
    `taupi.write_urdf` works for the loaded fit too. A file that exists is overwritten only with `force`.

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
    if not isinstance(fit, Fit):
        raise TaupiError(Argument("fit"), f" is {shown(fit)}, expected a Fit: taupi.identify(...).")
    file = path_of(path)
    if file.suffix not in (".json", ".txt"):
        raise TaupiError(Argument("path"), f" is {str(file)!r}, expected a name ending in .json or .txt.")
    write_text(file, fit_text(fit) if file.suffix == ".txt" else fit_json(fit), force)


def is_saved_fit(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is one that `load_fit` takes: a .json file, or a directory with a fit.json."""
    return str(path).endswith(".json") or (Path(path) / "fit.json").is_file()


def load_fit(path: str | os.PathLike[str]) -> Fit:
    """Return the fit in the file at `path`, written by `taupi.write_fit` or `taupi identify`, or in a directory with a fit.json.

    >>> import taupi as tp
    >>> tp.load_fit("missing.json")
    Traceback (most recent call last):
    taupi.errors.TaupiError: No file 'missing.json'. Write one with taupi.write_fit or `taupi identify`.
    """
    file = path_of(path)
    file = file / "fit.json" if file.is_dir() else file
    data = _check_schema(_parse(file), file)
    try:
        data = conformed(data, FitData, "it")
    except TaupiError as error:
        raise TaupiError(f"{printable(file)} is damaged: {str(error).removeprefix('it: ')} Identify again.") from None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", TaupiWarning
            )  # warnings about the description were given when it was first read
            robot = reads(data["description"], data["robot"], str(file))
        robot = dataclasses.replace(robot, source=_source_from_data(data.get("source"), robot.source))
        return _checked(Fit.from_dict({**data, "schema": RECORD}, robot))
    except TaupiError as error:
        raise error.about(printable(file)) from None
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError) as error:
        reason = f"{type(error).__name__} {shown(str(error))}"
        raise TaupiError(f"{printable(file)} is damaged: {reason}. Identify again.") from None


def fit_json(fit: Fit) -> str:
    """Return a fit as JSON text; numbers read back to the last bit, and infinite ones are the text "inf"."""
    data = {"schema": SCHEMA, **{k: v for k, v in fit.to_dict().items() if k != "schema"}}
    data["description"] = writes(fit.robot)
    data["source"] = _source_data(fit.robot.source)
    return json.dumps(_plain(data), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def fit_text(fit: Fit) -> str:
    """Return a fit as text: the verdict, the parameters, the errors of each joint, what each parameter stands for, the record."""
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


def _record(fit: Fit) -> list[str]:
    lines = [f"{k}: {v}" for k, v in fit.record.items() if not isinstance(v, list | tuple | dict)]
    lines += [f"log: {log.path or log.name} sha256 {log.sha256 or '-'}" for log in fit.logs]
    return [line for text in lines for line in textwrap.wrap(text, 130, subsequent_indent="  ")]


def _source_data(source: Source) -> dict[str, Any] | None:
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
        raise TaupiError(f"body of {data['name']} has {len(body)} parameters, expected {LINK_SIZE}.")
    return Link(data["name"], body)


def _fraction(text: str, what: str) -> Fraction:
    value = exact(text, what)
    if not isinstance(value, Fraction):
        raise TaupiError(f"{what} is {shown(text)}, expected a number.")
    return value


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def _plain(value: Any) -> Any:
    """Return data with infinite numbers as texts, since JSON has no other way to write them."""
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(value)
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return value.item() if hasattr(value, "item") else value


def _parse(file: Path) -> Any:
    expected = f"a fit of taupi, {SCHEMA}"
    data = read_bytes(file, expected, budget().data_bytes, "Write one with taupi.write_fit or `taupi identify`.")
    if data.count(b"[") + data.count(b"{") > budget().nodes:
        raise TaupiError(f"{printable(file)} is not JSON of a fit: it has more lists than a fit has.")
    return parse_json(data, printable(file), expected)


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
        raise TaupiError(f"settings: preparation: {error} Identify again.") from None
    return fit


def _check_array(name: str, array: np.ndarray, shape: tuple[int | None, ...]) -> None:
    """Refuse an array of another shape, where None stands for any size, or with numbers that are not finite."""
    alike = len(shape) == array.ndim and all(k in (None, own) for k, own in zip(shape, array.shape, strict=True))
    if not alike or array.dtype != float:
        sizes = ", ".join("any" if k is None else str(k) for k in shape)
        raise TaupiError(
            f"{name} is {array.dtype} of shape {array.shape}, expected numbers of shape ({sizes}). Identify again."
        )
    if not np.isfinite(array).all():
        raise TaupiError(f"{name} has entries that are not finite. Identify again.")


def _is_covariance(matrix: np.ndarray) -> bool:
    """Return whether a matrix (b, b) is symmetric without negative eigenvalues, in units of its own standard deviations."""
    sizes = np.sqrt(np.maximum(matrix.diagonal(), 0.0))
    sizes = np.where(sizes > 0, sizes, 1.0)
    scaled = matrix / sizes / sizes[:, None]
    symmetric = (np.abs(scaled - scaled.T) < _ROUNDING).all()
    return bool(symmetric and (np.linalg.eigvalsh(scaled) > -_ROUNDING).all())


def _check_joints(fit: Fit) -> None:
    """Refuse statistics of other joints than the robot's, and logs with speeds of more or fewer joints."""
    names, known = tuple(j.name for j in fit.joints), Equations.of(fit.basis).names
    if len(names) < fit.robot.n or names != known[: len(names)]:
        raise TaupiError(f"it has joints {shown(names)}, expected {shown(known)}. Identify again.")
    for log in fit.logs:
        if log.speeds and len(log.speeds) != len(names):
            raise TaupiError(f"{log.name} has {len(log.speeds)} speeds, expected {len(names)}. Identify again.")


def _check_schema(data: Any, file: Path) -> dict[str, Any]:
    """Return the data of a fit; refuse other data, and fits of another version."""
    schema = data.get("schema") if isinstance(data, dict) else None
    if not isinstance(schema, str) or not schema.startswith(f"{KIND}/"):
        raise TaupiError(f"{file} is not a fit of taupi: its schema is {shown(schema)}, expected {SCHEMA!r}.")
    if schema != SCHEMA:
        raise TaupiError(
            f"{file} has schema {shown(schema)}, this version reads {SCHEMA!r}. Identify again, or update taupi."
        )
    return dict(data)
