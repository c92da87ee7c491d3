"""Fits as plain data and back: what is saved, and what other programs read."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from taupi.dynamics.terms import TERMS, Along, Term
from taupi.dynamics.terms.elastic import Damping, LinkSide
from taupi.errors import TaupiError, unknown
from taupi.identification.friction.fitted_terms import TermData, base_with_terms, term_to_dict
from taupi.identification.results.fit import Fit, JointStatistics
from taupi.identification.results.status import Status
from taupi.identification.results.verdict import Verdict
from taupi.identification.rows.chosen_cutoffs import ChosenCutoffs
from taupi.identification.rows.recording import LogRecord
from taupi.identification.springs.records import SpringRecord
from taupi.model.robot import Robot

# Increase this number whenever a reader of older data would misread newer data.
SCHEMA = 1
LOGS = ("logs", "runs")  # what the provenance calls them, and what it called them until 0.1


def fit_to_dict(fit: Fit) -> dict[str, Any]:
    """Return a fit as plain data, ready for JSON; infinite numbers are None."""
    expressions = [str(e) for e in fit.basis.expressions]
    intervals, relative = fit.intervals(), fit.relative_error
    base = [
        {
            "name": name,
            "unit": unit,
            "value": float(fit.values[k]),
            "stderr": _finite(fit.stderr[k]),
            "relative_error": _finite(relative[k]),
            "interval": [_finite(v) for v in intervals[k]],
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
            f"The fit has schema {data.get('schema')!r}, expected {SCHEMA}. Write it again with this version."
        )
    if data["fingerprint"] != robot.fingerprint:
        raise TaupiError(f"The fit was made for another {data['robot']} than {robot.name}: their descriptions differ.")
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


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _term_from_data(data: TermData) -> Term:
    settings = {"name": data} if isinstance(data, str) else dict(data)
    name = settings.pop("name")
    if name == "along":
        return Along(settings["owner"], _term_from_data(settings["of"]), tuple(settings["direction"]))
    if name == "link":
        return LinkSide(_term_from_data(settings["of"]))
    if name == Damping.name:
        return Damping()
    if name not in TERMS:
        raise unknown("term", name, TERMS)
    term: Term = TERMS[name](**settings)
    return term
