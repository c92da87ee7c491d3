"""The files of a design: the motion for controllers, the design as JSON and as readable text, and its record."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from taupi.errors import NotIdentifiedError
from taupi.excitation.excitation import Excitation
from taupi.excitation.limits.certificates import torque_certificate, torque_rate_certificate
from taupi.excitation.motions.bounded import slowed
from taupi.excitation.writers.write import TimedMotion, motion_files, write
from taupi.files import refuse_to_replace

RESULTS = ("excitation.json", "excitation.txt", "report.html")


def refuse_results(folder: str | os.PathLike[str], force: bool) -> None:
    """Refuse a directory that holds results already, before time is spent on new ones."""
    refuse_to_replace(folder, (*RESULTS, *motion_files()), force)


def at_speed(plan: Excitation, speed: float) -> Excitation:
    """Return a design whose motion is written at a share of its `speed`, with the proof of its torques at that speed.

    A slow motion lacks the dynamic torques that help against gravity at full speed, so that its torques, and their rates, can be
    larger.
    """
    if speed == 1:
        return plan
    note = f"Files have the motion at {speed:.3g} of its speed: {plan.duration / speed:.4g} s."
    proofs = dict(plan.certificates)
    if plan.margins.effort is not None:
        motion, limits = slowed(plan.motion, speed), plan.limits
        slow = [torque_certificate(plan.robot, motion, limits, plan.margins.effort, plan.margins.uncertainty)]
        if np.isfinite(limits.torque_rate).any():
            slow.append(torque_rate_certificate(plan.robot, motion, limits))
        for proof in slow:
            quantity = f"{proof.quantity} at {speed:.3g} of the speed"
            proofs[quantity] = dataclasses.replace(proof, quantity=quantity)
            if not proof.ok:
                raise NotIdentifiedError(
                    "{sentence} Gravity is no longer helped by the motion.",
                    remedy="Use another {speed}, or a smaller {effort}.",
                    sentence=proofs[quantity].sentence,
                )
    plan = dataclasses.replace(plan, certificates=proofs, notes=(note, *plan.notes))
    return plan.with_record(speed=speed)


def write_excitation(
    plan: Excitation,
    folder: str | os.PathLike[str],
    formats: Sequence[str],
    speed: float,
    force: bool,
    more: Mapping[str, str] | None = None,
) -> list[Path]:
    """Write a design, all files or none; `more` are further texts by their names, such as a report."""
    record = [f"{k}: {v}" for k, v in plan.record.items()]
    left_out = [] if plan.clearance is None else [f"not watched: {item}" for item in plan.clearance.left_out]
    parts = ([repr(plan)], plan.table(), left_out, record)
    texts = {
        "excitation.json": json.dumps(plan.to_dict(), indent=1, ensure_ascii=False, allow_nan=False) + "\n",
        "excitation.txt": "\n\n".join("\n".join(part) for part in parts if part) + "\n",
        **(more or {}),
    }
    return write(TimedMotion(plan.motion, plan.robot, speed=speed), folder, formats, force, texts, RESULTS)
