"""What the logs show about springs and encoders, in words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from taupi.identifiability.base_parameters import BaseParameters
from taupi.identification.springs.estimate import SpringAnalysis
from taupi.identification.springs.records import SpringRecord

# A note calls encoders offset or late if they are so by this many standard errors.
_CLEAR = 4.0


def elastic_notes(base: BaseParameters) -> list[str]:
    """Return notes on what was identified about the springs, and which parameters appear only in sums."""
    names = ", ".join(base.robot.elastic_joints)
    note = (
        f"elastic joints ({names}): rows of links and of motors are fitted together, each with its own weight; "
        "the torque of a link is that of its spring"
    )
    return [note, *([base.sentence] if base.sentence else [])]


def spring_notes(analysis: SpringAnalysis, removed: Sequence[float], estimated: bool) -> list[str]:
    """Return notes on the springs and on their encoders.

    `removed` are the delays (n,) that were removed, and `estimated` says whether they come from the logs.
    """
    names = analysis.layout.base.robot.joint_names
    notes = _delay_notes(names, removed) if estimated else []
    if analysis.rows is not None:
        notes.append(
            "springs bend little beyond what their encoders resolve: the deflection is fitted as a measurement, with an offset "
            "per log, and the rows of motors are those of whole drives, in which the spring cancels"
        )
        offsets = [_offsets(r) for r in analysis.records if _offset(r)]
        if offsets:
            notes.append(f"encoders disagree by an offset, theta - q without load: {'; '.join(offsets)}")
    notes += [
        f"the spring of {r.joint} is not determined: {r.reason}. Its stiffness is that of the description, with no standard error"
        for r in analysis.records
        if not r.determined and analysis.rows is not None
    ]
    return notes


def _delay_notes(names: Sequence[str], delays: Sequence[float]) -> list[str]:
    notes = []
    for late, other, sign in (("theta", "q", 1.0), ("q", "theta", -1.0)):
        pairs = [f"{name} {1e3 * abs(d):.3g}" for name, d in zip(names, delays, strict=True) if sign * d > 0]
        if pairs:
            notes.append(f"{late} lags behind {other} and was shifted earlier, by (ms): {', '.join(pairs)}")
    return notes


def _offset(record: SpringRecord) -> bool:
    """Return whether the encoders of a joint are clearly offset in some log."""
    return bool((np.abs(record.offsets) > _CLEAR * np.array(record.offset_errors)).any())


def _offsets(record: SpringRecord) -> str:
    return f"{record.joint} {', '.join(f'{o:.3g}' for o in record.offsets)} {record.angle_unit}"
