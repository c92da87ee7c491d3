"""The files of a design: the motion for controllers, all about it for machines, for people and for the record."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from taupi.checks import is_number
from taupi.dynamics.inverse import inverse_dynamics
from taupi.errors import Argument, TaupiError, shown, unknown
from taupi.excitation.excitation import Excitation
from taupi.excitation.limits.torque_rows import described_terms
from taupi.files import refuse_to_replace, write_folder
from taupi.signals.log import Log
from taupi.signals.read import write_log

RESULTS = ("excitation.json", "excitation.txt", "report.html")
FORMATS = {"csv": "excitation.csv"}
# Hz of the samples that are written.
RATE_HZ = 100.0


def excitation_json(plan: Excitation) -> str:
    """Return a design as JSON text."""
    return json.dumps(plan.to_dict(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def excitation_text(plan: Excitation) -> str:
    """Return a design as text: what is proven, what was assumed, and the errors to be expected."""
    record = [f"{k}: {v}" for k, v in plan.record.items()]
    return "\n\n".join(["\n".join(part) for part in ([repr(plan)], plan.table(), record)]) + "\n"


def checked_formats(formats: Any, speed: float) -> tuple[str, ...]:
    """Return formats that are known; refuse a speed that is no share."""
    chosen = (formats,) if isinstance(formats, str) else tuple(formats)
    for name in chosen:
        if name not in FORMATS:
            raise unknown("format", str(name), FORMATS)
    if not is_number(speed) or not 0 < speed <= 1:
        raise TaupiError(Argument("speed"), f" is {shown(speed)}, expected a share above 0, up to 1.")
    return chosen


def refuse_results(folder: str | os.PathLike[str], force: bool) -> None:
    """Refuse a directory that holds results already, before time is spent on new ones."""
    refuse_to_replace(folder, (*RESULTS, *FORMATS.values()), force)


def write_excitation(
    plan: Excitation,
    folder: str | os.PathLike[str],
    formats: Any,
    speed: float,
    force: bool,
    more: dict[str, str] | None = None,
) -> list[Path]:
    """Write a design, all files or none; `more` are further texts by their names, such as a report."""
    texts = {"excitation.json": excitation_json(plan), "excitation.txt": excitation_text(plan), **(more or {})}
    chosen = checked_formats(formats, speed)
    written: list[str] = []

    def fill(staged: Path) -> None:
        for name, text in texts.items():
            (staged / name).write_text(text, encoding="utf-8")
        for name in chosen:
            _write_csv(plan, staged / FORMATS[name], speed)
        written.extend(sorted(path.name for path in staged.iterdir()))

    write_folder(folder, fill, force, own=(*RESULTS, *FORMATS.values()))
    return [Path(folder) / name for name in written]


def _write_csv(plan: Excitation, path: Path, speed: float) -> None:
    """Write time, q, qd, qdd and the torque of the description; a slower motion takes longer."""
    count = int(np.floor(plan.duration / speed * RATE_HZ)) + 1
    time = np.arange(count) / RATE_HZ
    q, qd, qdd = plan.motion(np.minimum(time * speed, plan.duration))
    qd, qdd = speed * qd, speed**2 * qdd
    tau = inverse_dynamics(plan.robot, terms=described_terms(smooth=False))(q, qd, qdd)
    write_log(Log(time, q, qd=qd, qdd=qdd, tau=tau, names=plan.robot.joint_names), path)
