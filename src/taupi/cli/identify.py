"""What `taupi identify` does: read, fit, validate, and write the results together."""

from __future__ import annotations

import dataclasses
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import taupi as tp
from taupi.errors import TaupiError
from taupi.files import refuse_to_replace, write_folder
from taupi.identification.results.fit import Fit
from taupi.identification.results.fit_file import fit_json, fit_text
from taupi.identification.results.validation import Validation
from taupi.identification.rows.block_source import STREAMED_BYTES
from taupi.progress import progress
from taupi.report.document import report_text
from taupi.signals.formats.files import sha256

RESULTS = ("fit.json", "fit.txt", "report.html")
# What may lie beside them; a new result without them takes the old ones away.
_DESCRIBED = ("rotor", "viscous", "coulomb", "offset", "stribeck")  # terms that a description has a place for
_OF_SPRINGS = ("damping", "link_viscous", "link_coulomb")
EXPORTS = {"urdf": "model.urdf", "toml": "model.toml", "c": "c"}


@dataclass(frozen=True)
class Job:
    """The arguments of one run of `taupi identify`."""

    robot: str
    logs: tuple[Path, ...]
    held_out: tuple[Path, ...]
    output: Path
    reading: dict[str, Any]  # how the robot is read
    columns: Path | None
    rate_hz: float | None
    estimator: str
    terms: str | None
    cutoff_hz: float | None
    decimate: int | None
    elastic: bool | None
    seed: int
    exports: tuple[str, ...]
    force: bool
    anyway: bool = False
    gaps: str = "refuse"


@dataclass(frozen=True, eq=False)
class Done:
    """What came of it."""

    fit: Fit
    held_out: tuple[Validation, ...]
    error: float
    paths: tuple[Path, ...]
    remarks: tuple[str, ...] = ()


def run(job: Job) -> Done:
    """Read, fit, validate and write; nothing is written unless all of it works."""
    own = (*RESULTS, *EXPORTS.values())
    refuse_to_replace(job.output, own, job.force)
    for path in (*job.logs, *job.held_out):  # before minutes are spent on the first
        if not path.exists():
            raise TaupiError(f"No file {str(path)!r}. Name logs that exist.")
    fitted = {p.resolve() for p in job.logs}
    for path in job.held_out:
        if path.resolve() in fitted:
            raise TaupiError(f"{path} is fitted and cannot be held out as well: --validate another log.")
    small = [p for p in job.logs if p.is_dir() or p.stat().st_size <= STREAMED_BYTES]
    with progress("identify", 2 + len(job.held_out) + len(small)) as step:
        step("reading and fitting")
        fit = _fitted(job)
        held_out = tuple(_validated(fit, path, job, step) for path in job.held_out)
        seen = tuple(_validated(fit, path, job, step) for path in small)
        step("writing")
        texts = (fit_json(fit), fit_text(fit), report_text(fit, held_out, seen))

        def fill(folder: Path) -> None:
            for name, text in zip(RESULTS, texts, strict=True):
                (folder / name).write_text(text, encoding="utf-8")
            for kind in job.exports:
                export(fit, kind, folder / EXPORTS[kind], job.anyway)

        write_folder(job.output, fill, job.force, own=own)
    written = (*RESULTS, *(EXPORTS[kind] for kind in job.exports))
    remarks = (fit.consistency.sentence,) if job.exports and not fit.consistency.exact else ()
    return Done(fit, held_out, fit.relative, tuple(job.output / name for name in written), remarks)


def data(done: Done) -> dict[str, Any]:
    """Return what `taupi identify --json` prints.

    `summary`: the line for people. `files`: what was written. `estimator`, `parameters` (how many), `not_determined` and
    `not_significant` (their names). `relative_error`: on the fitted logs, over all joints; `joints`: the same by joint.
    `validation`: for each held-out log, `Validation.to_dict`. `notes`: what to know about it.
    """
    fit = done.fit
    weak = ~fit.significant & ~fit.undetermined
    return {
        "schema": "taupi.identify/1",
        "summary": fit.summary,
        "files": [str(p) for p in done.paths],
        "estimator": fit.estimator,
        "parameters": len(fit.values),
        "not_determined": [n for n, u in zip(fit.names, fit.undetermined, strict=True) if u],
        "not_significant": [n for n, w in zip(fit.names, weak, strict=True) if w],
        "relative_error": done.error,
        "joints": [dataclasses.asdict(j) for j in fit.joints],
        "validation": [v.to_dict() for v in done.held_out],
        "notes": list(fit.notes),
    }


def next_step(job: Job) -> str:
    """Return the command that people run next."""
    out = shlex.quote(str(job.output))
    if job.held_out:
        return f"open {out}/report.html in a browser"
    return f"taupi validate {out} ANOTHER_LOG"


def _fitted(job: Job) -> Fit:
    robot = tp.load(job.robot, **job.reading)
    fit = tp.identify(
        robot,
        list(job.logs),
        job.estimator,
        _terms(job.terms),
        columns=job.columns,
        rate_hz=job.rate_hz,
        preparation=tp.Preparation(job.cutoff_hz, job.decimate, long_gaps=job.gaps),
        elastic=job.elastic,
        seed=job.seed,
    )
    return _recorded(fit, robot, job)


def _recorded(fit: Fit, robot: tp.Robot, job: Job) -> Fit:
    """Return a fit that knows the command it comes from."""
    record = {"command": shlex.join(["taupi", *sys.argv[1:]])}
    if Path(robot.source.path).is_file():
        record |= {"description": robot.source.path, "description_sha256": sha256(Path(robot.source.path))}
    if job.columns is not None:
        record |= {"columns": str(job.columns), "columns_sha256": sha256(job.columns)}
    return fit.with_record(**record)


def _validated(fit: Fit, path: Path, job: Job, step: Any) -> Validation:
    step(path.name)
    return fit.validate(path, columns=job.columns, rate_hz=job.rate_hz)


def export(fit: Fit, kind: str, path: Path, anyway: bool = False, force: bool = False) -> None:
    """Write the identified robot as "urdf", "toml" or "c"; what should not be taken away is refused, with the reason."""
    if kind == "urdf":
        tp.write_urdf(fit, path, force, anyway)
    elif kind == "toml":
        tp.write_toml(fit, path, force, anyway)
    else:
        elastic = fit.basis.elastic
        terms = tuple(t for t in fit.terms if t.name in (*_DESCRIBED, *(_OF_SPRINGS if elastic else ())))
        dynamics = tp.elastic_inverse_dynamics if elastic else tp.inverse_dynamics
        tp.emit(dynamics(fit.robot_identified(anyway), terms=terms), "c", path, project=True, force=force)


def _terms(given: str | None) -> tuple[str, ...] | None:
    if given is None:
        return None
    return () if given.strip() == "none" else tuple(t.strip() for t in given.split(",") if t.strip())
