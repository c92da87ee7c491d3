"""Fits as plain data and back: what is saved, and what other programs read."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, TypedDict

import numpy as np

from taupi.dynamics.terms import Along, Term, resolve_term, term_class
from taupi.dynamics.terms.elastic import Damping, LinkSide
from taupi.errors import TaupiError
from taupi.identification.friction.fitted_terms import TermData, base_with_terms, term_to_dict
from taupi.identification.results.fit import Fit, JointStatistics
from taupi.identification.results.status import Status
from taupi.identification.results.verdict import Verdict
from taupi.identification.rows.preparation import ChosenCutoffs
from taupi.identification.rows.recording import LogRecord
from taupi.identification.springs.estimate import SpringRecord
from taupi.model.robot import Robot
from taupi.schema import finite_or_none

# Increase this number whenever a reader of older data would misread newer data.
SCHEMA = 1
LOGS = ("logs", "runs")  # what the provenance calls them, and what it called them until 0.1


def fit_to_dict(fit: Fit) -> dict[str, object]:
    """Return a fit as plain data, ready for JSON; infinite numbers are None."""
    expressions = [str(e) for e in fit.basis.expressions]
    intervals, relative = fit.intervals(), fit.relative_error
    base = [
        {
            "name": name,
            "unit": unit,
            "value": float(fit.values[k]),
            "stderr": finite_or_none(fit.stderr[k]),
            "relative_error": finite_or_none(relative[k]),
            "interval": [finite_or_none(v) for v in intervals[k]],
            "significant": bool(fit.significant[k]),
            "determined": not fit.undetermined[k],
            "expression": expressions[k],
        }
        for k, (name, unit) in enumerate(zip(fit.names, fit.basis.parameters.units, strict=True))
    ]
    return {
        "schema": SCHEMA,
        "robot": fit.robot.name,
        "fingerprint": fit.robot.fingerprint,
        "elastic": fit.basis.elastic,
        "coupling": fit.basis.coupling,
        "terms": [term_to_dict(t) for t in fit.terms],
        "verdict": fit.verdict.to_dict(),
        "estimator": fit.estimator,
        "settings": dict(fit.settings),
        "status": fit.status.to_dict(),
        "base": base,
        "freedom": fit.freedom.tolist(),
        "covariance": fit.covariance.tolist(),
        "prior": fit.prior.tolist(),
        "standard": None if fit.standard is None else fit.standard.tolist(),
        "triangle": None if fit.triangle is None else fit.triangle.tolist(),
        "joints": [dataclasses.asdict(j) for j in fit.joints],
        "springs": [spring.to_dict() for spring in fit.springs],
        "conditioning": dict(fit.conditioning),
        "shifts": None if fit.shifts is None else fit.shifts.tolist(),
        "cutoffs": None if fit.cutoffs is None else fit.cutoffs.to_dict(),
        "notes": list(fit.notes),
        "provenance": fit.provenance,
    }


def fit_from_dict(data: Mapping[str, Any], robot: Robot) -> Fit:
    """Return the fit that `fit_to_dict` returned as `data`."""
    if data.get("schema") != SCHEMA:
        raise TaupiError(
            "The fit has schema {get!r}, expected {schema}. Write it again with this version.",
            get=data.get("schema"),
            schema=SCHEMA,
        )
    if data["fingerprint"] != robot.fingerprint:
        raise TaupiError(
            "The fit was made for another {robot} than {robot_name}: their descriptions differ.",
            robot=data["robot"],
            robot_name=robot.name,
        )
    terms = tuple(_term_from_data(t) for t in data["terms"])
    base = base_with_terms(robot, terms, elastic=data.get("elastic", False), coupling=data.get("coupling", True))
    names = tuple(b["name"] for b in data["base"])
    if names != base.names:
        raise TaupiError("The fit has other base parameters than this version computes. Identify again.")
    logs = next((data["provenance"][key] for key in LOGS if key in data["provenance"]), ())
    return Fit(
        robot=robot,
        terms=terms,
        basis=base,
        values=np.array([b["value"] for b in data["base"]]),
        covariance=np.array(data["covariance"], dtype=float),
        undetermined=np.array([not b["determined"] for b in data["base"]]),
        freedom=np.broadcast_to(np.asarray(data["freedom"], dtype=float), len(names)),  # one number in older files
        estimator=data["estimator"],
        settings=data["settings"],
        status=Status.from_dict(data["status"]),
        conditioning=data["conditioning"],
        joints=tuple(JointStatistics(**j) for j in data["joints"]),
        springs=tuple(SpringRecord.from_dict(s) for s in data.get("springs", ())),
        notes=tuple(data["notes"]),
        logs=tuple(LogRecord.from_dict(log) for log in logs),
        record={k: v for k, v in data["provenance"].items() if k not in LOGS},
        prior=np.array(data["prior"]),
        standard=None if data["standard"] is None else np.array(data["standard"]),
        triangle=None if data.get("triangle") is None else np.array(data["triangle"]),
        judged=Verdict.from_dict(data["verdict"]) if "verdict" in data else None,
        shifts=None if data.get("shifts") is None else np.array(data["shifts"], dtype=float),
        cutoffs=None if data.get("cutoffs") is None else ChosenCutoffs.from_dict(data["cutoffs"]),
    )


def _term_from_data(data: TermData) -> Term:
    settings = {"name": data} if isinstance(data, str) else dict(data)
    name = settings.pop("name")
    if name == "along":
        return Along(settings["owner"], _term_from_data(settings["of"]), tuple(settings["direction"]))
    if name == "link":
        return LinkSide(_term_from_data(settings["of"]))
    if name == Damping.name:
        return Damping()
    return resolve_term(term_class(name)(**settings))


class BaseData(TypedDict):
    """A base parameter."""

    name: str
    value: float
    determined: bool


class _StatusData(TypedDict):
    ok: bool
    message: str


class StatusData(_StatusData, total=False):
    """How the estimator ended."""

    outcome: str


class ConditioningData(TypedDict, total=False):
    """What the logs determine, as a report shows it; further keys are only informative."""

    sentences: list[str]
    rank: int
    scaled_condition: float | None


class SkippedData(TypedDict):
    """A log that was left out."""

    name: str
    reason: str


class SpringData(TypedDict):
    """What logs show about a spring; infinite numbers are null."""

    joint: str
    unit: str
    described: float | None
    determined: bool
    reason: str
    compliance: float | None
    compliance_error: float | None
    run_compliances: list[float | None]
    delay: float | None
    delay_error: float | None
    lost_motion: float | None
    lost_motion_error: float | None
    offsets: list[float | None]
    offset_errors: list[float | None]
    width: float | None


class OlderLogRecord(TypedDict):
    """A log as files of version 0.1 and before have it, where the least speeds were called `slow`."""

    name: str
    path: str
    sha256: str
    rate_hz: float


class Provenance(TypedDict, total=False):
    """Where a fit comes from; further keys are only informative."""

    logs: list[LogRecord]
    runs: list[OlderLogRecord]
    encoder_offset: float | list[float]
    columns: str
    columns_sha256: str
    seed: int
    skipped: list[SkippedData]


class RootData(TypedDict):
    """The link that is bolted to the ground, with its ten parameters as exact numbers."""

    name: str
    body: list[str]


class _SourceData(TypedDict):
    format: str
    path: str
    sha256: str
    lock: dict[str, str]
    tip: str | None
    snap: bool
    merged: dict[str, list[str]]
    text: str


class SourceData(_SourceData, total=False):
    """The description that a robot was read from."""

    root: RootData | None
    floating: bool | None


class SettingsData(TypedDict):
    """The settings; those of the estimator are its own."""

    preparation: dict[str, Any]


class _FitData(TypedDict):
    schema: str
    robot: str
    fingerprint: str
    description: str
    terms: list[str | dict[str, Any]]
    estimator: str
    settings: SettingsData
    status: StatusData
    base: list[BaseData]
    freedom: float | list[float]
    covariance: list[list[float]]
    prior: list[float]
    standard: list[float] | None
    joints: list[JointStatistics]
    conditioning: ConditioningData
    notes: list[str]
    provenance: Provenance


class FitData(_FitData, total=False):
    """A saved fit."""

    source: SourceData | None
    elastic: bool
    coupling: bool
    verdict: Verdict
    triangle: list[list[float]] | None
    springs: list[SpringData]
    shifts: list[list[float]] | list[float] | None
    cutoffs: ChosenCutoffs | None
