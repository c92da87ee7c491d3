"""Fits from commands as plain data and as text, and back."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, TypedDict

import numpy as np

from taupi.errors import TaupiError
from taupi.identification.results.command_fit import (
    Alias,
    CommandFit,
    HeldOut,
    JointPositions,
    milli,
    model_of,
)
from taupi.identification.results.fit_data import Provenance, SourceData, StatusData
from taupi.identification.results.status import Status
from taupi.identification.results.verdict import Verdict
from taupi.identification.rows.recording import LogRecord
from taupi.model.robot import Robot
from taupi.schema import finite_or_none
from taupi.signals.drive import Drive
from taupi.tables import table


class _ModelData(TypedDict):
    """The model of a fit, and its raw estimates."""

    kinds: list[str]
    scales: dict[str, list[float]]
    bodies: list[float]
    fixed: dict[str, list[float]]
    values: list[float]
    covariance: list[list[float]]
    freedom: list[float]
    white: list[float]
    undetermined: list[bool]


class _TriedData(TypedDict):
    """A term that was tried."""

    term: str
    gain: float
    kept: bool


class _CommandFitData(TypedDict):
    schema: str
    robot: str
    description: str
    estimator: str
    verdict: Verdict
    held_out: HeldOut | None
    in_units_of_kp: bool
    aliases: list[Alias]
    not_determined_together: list[list[float]]
    model_error: bool
    tried: list[_TriedData]
    joints: list[JointPositions]
    step: float
    drive: dict[str, Any]
    settings: dict[str, Any]
    status: StatusData
    model: _ModelData
    notes: list[str]
    provenance: Provenance


class CommandFitData(_CommandFitData, total=False):
    """A saved fit from commands."""

    source: SourceData | None


# Increase this number whenever a reader of older data would misread newer data.
SCHEMA = 1


def command_fit_to_dict(fit: CommandFit) -> dict[str, object]:
    """Return a fit as plain data, ready for JSON; infinite numbers are None."""
    intervals = fit.intervals()
    base = [
        {
            "name": name,
            "unit": unit,
            "value": float(fit.values[k]),
            "stderr": finite_or_none(fit.stderr[k]),
            "white_stderr": finite_or_none(fit.white_stderr[k]),
            "interval": [finite_or_none(v) for v in intervals[k]],
            "significant": bool(fit.significant[k]),
            "determined": not fit.undetermined[k],
            "at_bound": bool(fit.at_bounds[k]),
        }
        for k, (name, unit) in enumerate(zip(fit.names, fit.units, strict=True))
    ]
    model = fit.model
    scales = {f.name: getattr(model.scales, f.name).tolist() for f in dataclasses.fields(model.scales)}
    return {
        "schema": SCHEMA,
        "robot": fit.robot.name,
        "fingerprint": fit.robot.fingerprint,
        "estimator": fit.estimator,
        "verdict": fit.verdict.to_dict(),
        "held_out": None if fit.held_out is None else fit.held_out.to_dict(),
        "in_units_of_kp": fit.in_units_of_kp,
        "parameters": base,
        "aliases": [alias.to_dict() for alias in fit.aliases],
        "not_determined_together": fit.free.tolist(),
        "model_error": fit.model_error,
        "tried": [{"term": name, "gain": gain, "kept": kept} for name, gain, kept in fit.tried],
        "joints": [joint.to_dict() for joint in fit.joints],
        "step": fit.step,
        "step_rule": "trapezoidal",
        "drive": fit.drive.table(),
        "settings": dict(fit.settings),
        "status": fit.status.to_dict(),
        "model": {
            "kinds": list(model.kinds),
            "scales": scales,
            "bodies": model.bodies.tolist(),
            "fixed": {name: np.asarray(values).tolist() for name, values in model.fixed.items()},
            "values": fit.raw.tolist(),
            "covariance": fit.raw_covariance.tolist(),
            "freedom": fit.raw_freedom.tolist(),
            "white": fit.raw_white.tolist(),
            "undetermined": fit.raw_undetermined.tolist(),
        },
        "notes": list(fit.notes),
        "provenance": fit.provenance,
    }


def command_fit_from_dict(data: Mapping[str, Any], robot: Robot) -> CommandFit:
    """Return the fit that `command_fit_to_dict` returned as `data`, for the `robot` that it was made for."""
    model = model_of(data["model"], robot, Drive.of(data["drive"]))
    count = len(model.parameters)
    arrays = {name: np.asarray(data["model"][name], float) for name in ("values", "covariance", "freedom", "white")}
    undetermined = np.asarray(data["model"]["undetermined"], bool)
    shapes = {"values": (count,), "covariance": (count, count), "freedom": (count,), "white": (count,)}
    for name, array in arrays.items():
        if array.shape != shapes[name] or not np.isfinite(array).all():
            raise TaupiError(
                "{name} has shape {got} or is not finite, expected {expected} numbers. Identify again.",
                name=name,
                got=array.shape,
                expected=shapes[name],
            )
    if undetermined.shape != (count,):
        raise TaupiError("undetermined has {got} entries, expected {count}.", got=undetermined.size, count=count)
    provenance = dict(data["provenance"])
    logs = tuple(LogRecord.from_dict(log) for log in provenance.pop("logs"))
    held = data["held_out"]
    return CommandFit(
        robot=robot,
        model=model,
        raw=arrays["values"],
        raw_covariance=arrays["covariance"],
        raw_freedom=arrays["freedom"],
        raw_white=arrays["white"],
        raw_undetermined=undetermined,
        free=np.asarray(data["not_determined_together"], float).reshape(-1, count),
        drive=Drive.of(data["drive"]),
        in_units_of_kp=bool(data["in_units_of_kp"]),
        step=float(data["step"]),
        status=Status.from_dict(data["status"]),
        joints=tuple(JointPositions.from_dict(joint) for joint in data["joints"]),
        held_out=None if held is None else HeldOut.from_dict(held),
        aliases=tuple(Alias.from_dict(alias) for alias in data["aliases"]),
        model_error=bool(data["model_error"]),
        tried=tuple((t["term"], float(t["gain"]), bool(t["kept"])) for t in data["tried"]),
        notes=tuple(data["notes"]),
        logs=logs,
        record=provenance,
        verdict=Verdict.from_dict(data["verdict"]),
        settings=dict(data["settings"]),
    )


def command_fit_text(fit: CommandFit) -> list[list[str]]:
    """Return a fit as paragraphs of text: the verdict, errors on what was held out, the parameters, and what they cannot say."""
    parts = [fit.verdict.lines]
    if fit.held_out is not None:
        parts.append(["positions on blocks that were not fitted", *table(held_out_rows(fit))])
    parts.append([fit.summary, *table(fit.rows())])
    fitted = [("joint", "samples", "mean error", "rms", "noise", "tracking error", "at its limit", "still depends on")]
    fitted += [
        (
            j.name,
            str(j.samples),
            milli(j.mae, unit),
            milli(j.rms, unit),
            milli(j.noise, unit),
            milli(j.tracking, unit),
            f"{j.at_limit:.0%}",
            j.explains,
        )
        for j, unit in zip(fit.joints, fit.position_units, strict=True)
    ]
    parts.append(["positions on the fitted logs", *table(fitted)])
    if fit.aliases:
        parts.append(["what the logs tell apart badly", *(f"- {alias.sentence}" for alias in fit.aliases)])
    if fit.tried:
        rows = [("term", "gain on blocks that were not fitted, in standard errors", "")]
        rows += [(name, f"{gain:.2g}", "kept" if kept else "left out") for name, gain, kept in fit.tried]
        parts.append(["terms", *table(rows)])
    parts.append(["notes", *(f"- {note}" for note in fit.notes)])
    return parts


def held_out_rows(fit: CommandFit) -> list[tuple[str, ...]]:
    """Return the table of errors on what was held out, its heading first, all joints last."""
    h = fit.held_out
    rows: list[tuple[str, ...]] = [("joint", "mean error", "rms", "description", "linear start", "encoder steps")]
    if h is None:
        return rows
    columns = (h.mae, h.rms, h.description, h.linear, h.resolution)
    units = fit.position_units
    rows += [(j.name, *(milli(c[k], units[k]) for c in columns)) for k, j in enumerate(fit.joints)]
    return [*rows, ("all", *(milli(c, units) for c in columns))]
