"""A design as plain data: what is saved."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from taupi.excitation.excitation import SCHEMA, Excitation
from taupi.excitation.limits.enclosures import parts_of
from taupi.excitation.motions.bounded import BoundedMotion, FourierMotion, SplineMotion
from taupi.identification.friction.fitted_terms import term_to_dict


def excitation_to_dict(plan: Excitation) -> dict[str, Any]:
    """Return a design as plain data, ready for JSON; infinite values are None."""
    expected = zip(plan.names, plan.base.parameters.units, plan.expected, plan.base.parameters.values, strict=True)
    return plain(
        {
            "schema": SCHEMA,
            "robot": plan.robot.name,
            "joints": list(plan.robot.joint_names),
            "duration": plan.duration,
            "motion": [{"begin": begin, **_part(part)} for begin, part in parts_of(plan.motion)],
            "terms": [term_to_dict(t) for t in plan.terms],
            "settings": {
                "course": plan.course.to_dict(),
                "goal": plan.goal.to_dict(),
                "margins": plan.margins.to_dict(),
                "search": plan.search.to_dict(),
            },
            "limits": plan.limits.to_dict(),
            "sigma": plan.sigma.tolist(),
            "criterion": {"name": plan.criterion, "phi": plan.phi, "std_factor": plan.std_factor},
            "conditioning": plan.conditioning.to_dict(),
            "expected": [
                {"name": name, "unit": unit, "stderr": error, "description": value}
                for name, unit, error, value in expected
            ],
            "certified": plan.certified,
            "certificates": {name: c.to_dict() for name, c in plan.certificates.items()},
            "clearance": None if plan.clearance is None else plan.clearance.to_dict(),
            "unchecked": dict(plan.unchecked),
            "starts": [dict(s) for s in plan.starts],
            "stopped": plan.stopped,
            "notes": list(plan.notes),
            "provenance": dict(plan.record),
        }
    )


def _part(motion: BoundedMotion) -> dict[str, Any]:
    if isinstance(motion, SplineMotion):
        return {
            "kind": "bspline",
            "degree": motion.degree,
            "duration": motion.duration,
            "points": np.asarray(motion.points).tolist(),
        }
    if isinstance(motion, FourierMotion):
        fields = ("offset", "amplitude", "omega", "phase")
        return {
            "kind": "fourier",
            "duration": motion.duration,
            **{f: np.asarray(getattr(motion, f)).tolist() for f in fields},
        }
    return {"kind": "minimum_jerk", "duration": motion.duration, "points": motion([0.0, motion.duration]).q.tolist()}


def plain(value: Any) -> Any:
    """Return data that contain only numbers, texts and lists; infinite numbers are None."""
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if isinstance(value, np.generic | np.ndarray):
        return plain(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value
