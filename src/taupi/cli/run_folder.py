"""The files that `taupi simulate` and `taupi control` write, all of them or none."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from taupi.command_line import recorded_command
from taupi.files import refuse_to_replace, write_folder

if TYPE_CHECKING:
    from taupi.control.law_trial import Trial

PAGE, STRIP, RUN, PICTURE = "report.html", "arm.svg", "run.parquet", "run.png"
MEASURED = "measured.parquet"  # what the sensors measured: a log for identification
FILES = (PAGE, STRIP, RUN, PICTURE, MEASURED)


def refuse_results(directory: Path | None, names: Sequence[str], force: bool) -> None:
    """Refuse a directory that holds results already, before time is spent on new ones."""
    if directory is not None:
        refuse_to_replace(directory, (*FILES, *names), force)


def write_runs(trials: Sequence[Trial], directory: Path, names: Sequence[str], force: bool) -> list[Path]:
    """Write the page and picture strip of all trials, and the run of each, in its own folder if `names` has one for it.

    Return the paths of the files.
    """
    paths: list[Path] = []

    def fill(folder: Path) -> None:
        for trial, name in zip(trials, names or [""], strict=True):
            place = folder / name
            place.mkdir(exist_ok=True)
            paths.extend(place / file for file in _write_run(trial, place, page=len(trials) > 1))
        paths.extend(folder / file for file in _write_page(trials, folder))
        paths[:] = [directory / path.relative_to(folder) for path in paths]

    write_folder(directory, fill, force, (*FILES, *names))
    return paths[::-1]


def _write_run(trial: Trial, folder: Path, page: bool) -> list[str]:
    import taupi as tp

    trial.run.save(folder / RUN)
    files = [RUN]
    if trial.run.measured is not None:
        tp.write_log(trial.run.to_log(measured=True), folder / MEASURED)
        files.append(MEASURED)
    if find_spec("matplotlib") and len(trial.run) > 1:
        tp.plot(trial.run, path=folder / PICTURE)
        files.append(PICTURE)
    return files + (_write_page([trial], folder, strip=False) if page else [])


def _write_page(trials: Sequence[Trial], folder: Path, strip: bool = True) -> list[str]:
    from taupi.reporting.run_content import run_content
    from taupi.reporting.run_page import run_page
    from taupi.reporting.stick_figures import strip as arm_strip

    shown = [t for t in trials if len(t.run) > 1]
    if not shown:
        return []
    provenance = {"command": recorded_command()}
    (folder / PAGE).write_text(run_page(shown, provenance=provenance), encoding="utf-8")
    runs = run_content(shown)
    if not strip or runs.robot is None:
        return [PAGE]
    (folder / STRIP).write_text(arm_strip(runs.robot, runs.arms(), alone=True), encoding="utf-8")
    return [STRIP, PAGE]


def written(paths: Sequence[Path], directory: Path) -> str:
    """Return the line that says what was written, and what to do with it."""
    page = next((p for p in paths if p.name == PAGE), None)
    log = next(p for name in (MEASURED, RUN) for p in paths if p.name == name)
    step = f"taupi log {shlex.quote(str(log))}"
    step = f"open {shlex.quote(str(page))} in a browser, or {step}" if page else step
    return f"wrote {directory}: {', '.join(str(p.relative_to(directory)) for p in paths)}; next: {step}"
