"""What `taupi control` and `taupi simulate` write, all of it or nothing, and how laws are put side by side."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from taupi.files import refuse_to_replace, write_folder
from taupi.tables import table

PAGE, STRIP, RUN, PICTURE = "report.html", "arm.svg", "run.parquet", "run.png"
MEASURED = "measured.parquet"  # what the sensors saw, a log to identify from
OWN = (PAGE, STRIP, RUN, PICTURE, MEASURED)


def refuse(directory: Path | None, names: Sequence[str], force: bool) -> None:
    """Refuse a directory that holds results already, before time is spent on new ones."""
    if directory is not None:
        refuse_to_replace(directory, (*OWN, *names), force)


def save(trials: Sequence[Any], directory: Path, names: Sequence[str], force: bool) -> list[Path]:
    """Write page and strip of all trials and the run of each, in a folder of its own where it has one of the `names`."""
    paths: list[Path] = []

    def fill(folder: Path) -> None:
        for trial, name in zip(trials, names or [""], strict=True):
            place = folder / name
            place.mkdir(exist_ok=True)
            paths.extend(folder / name / file for file in _run(trial, place, page=len(trials) > 1))
        paths.extend(folder / file for file in _page(trials, folder))
        paths[:] = [directory / path.relative_to(folder) for path in paths]

    write_folder(directory, fill, force, (*OWN, *names))
    return paths[::-1]


def _run(trial: Any, folder: Path, page: bool) -> list[str]:
    import taupi as tp

    trial.run.save(folder / RUN)
    files = [RUN]
    if trial.run.measured is not None:
        tp.write_log(trial.run.to_log(measured=True), folder / MEASURED)
        files.append(MEASURED)
    if find_spec("matplotlib") and len(trial.run) > 1:
        tp.plot(trial.run, path=folder / PICTURE)
        files.append(PICTURE)
    return files + (_page([trial], folder, strip=False) if page else [])


def _page(trials: Sequence[Any], folder: Path, strip: bool = True) -> list[str]:
    from taupi.reporting.report import runs_text
    from taupi.reporting.run_content import run_content
    from taupi.reporting.stick_figures import strip as drawn

    shown = [t for t in trials if len(t.run) > 1]
    if not shown:
        return []
    told = {"command": shlex.join(["taupi", *sys.argv[1:]])}
    (folder / PAGE).write_text(runs_text(shown, provenance=told), encoding="utf-8")
    made = run_content(shown)
    if not strip or made.robot is None:
        return [PAGE]
    (folder / STRIP).write_text(drawn(made.robot, made.arms(), alone=True), encoding="utf-8")
    return [STRIP, PAGE]


def comparison(rows: Sequence[dict[str, Any]]) -> str:
    """Return the laws side by side."""
    head = ("law", "rms error, first fifth", "last fifth", "largest torque", "V", "largest rise of V")
    lines = []
    for row in rows:
        v = f"{row['V_first']:.4g} -> {row['V_last']:.4g}" if "V_first" in row else "-"
        rise = f"{row['V_largest_rise']:.1e} of V" if "V_first" in row else "-"
        first, last = f"{row['rms_error_first']:.3e}", f"{row['rms_error_last']:.3e}"
        lines.append((row["law"], first, last, f"{row['largest_torque']:.4g}", v, rise))
    return "\n".join(table([head, *lines]))


def written(paths: Sequence[Path], directory: Path) -> str:
    """Return what was written, and what to do with it."""
    page = next((p for p in paths if p.name == PAGE), None)
    log = next(p for p in paths if p.name == RUN)
    step = f"open {page} in a browser, or taupi log {log}" if page else f"taupi log {log}"
    return f"wrote {directory}: {', '.join(str(p.relative_to(directory)) for p in paths)}; next: {step}"
