"""Many logs and many arms: workers of a cluster, memory of the process that drives them, and how well a fleet is told.

Each run on a cluster has a process of its own, which starts the workers; `python benchmarks/fleet.py OPTIONS` is one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import patch

import fleet_accuracy
import growth
import numpy as np
import streaming
from stand_ins import in_place_of, timing

import taupi as tp

FILES, FEWER, SAMPLES = 32, 8, streaming.BLOCK
WORKERS = (0, 1, 2)
SMALL, SMALL_SAMPLES = 300, 2_000  # files of a few seconds
# Logs for the driver's memory, and files of which they are copies.
MANY, ORIGINALS = (1000, 4000), 8
ALL = 10_000  # for which memory is said
ARMS = (50, 200, 1000)
TITLE = "Fleets"


def measure(short: bool) -> dict[str, Any]:
    """Return seconds, memory and errors; parameters that depend on the workers are an error."""
    with tempfile.TemporaryDirectory() as folder:
        scaling = _scaling(Path(folder), short)
        memory = _memory(Path(folder), (20, 400) if short else MANY)
    arms = {str(count): fleet_accuracy.solve_time(count) for count in ((10,) if short else ARMS)}
    accuracy = fleet_accuracy.measure(short)
    results = {"scaling": scaling, "memory": memory, "arms": arms, "accuracy": accuracy}
    if not short:
        here = Path(__file__).parent
        draw(results, here.parent / "docs" / "images", (here / "gpu-h200.md").read_text(encoding="utf-8"))
    return results


# Files and workers ----------------------------------------------------------------------------------------------------


def _scaling(folder: Path, short: bool) -> dict[str, Any]:
    """Return the pass over many files without a cluster and with workers, the best of some runs; bits have to be the same."""
    files, repeats = (4, 1) if short else (FILES, 2)
    for k in range(files):
        streaming.generate(folder / f"run-{k:03d}.parquet", SAMPLES, k)
    pattern, runs = str(folder / "run-*.parquet"), dict[str, Any]()
    for workers in WORKERS:
        each = [_child({"pattern": pattern, "workers": workers}) for _ in range(repeats)]
        runs[str(workers)] = min(each, key=lambda run: run["pass"])
    digests = {run["digest"] for run in runs.values()}
    assert len(digests) == 1, "the parameters depend on the workers"
    by_files = {}
    if not short:
        some = [str(folder / f"run-{k:03d}.parquet") for k in range(FEWER)]
        by_files[str(FEWER)] = {str(w): _child({"pattern": some, "workers": w})["call"] for w in WORKERS}
        by_files[str(files)] = {w: run["call"] for w, run in runs.items()}
    small = _small(folder / "small", 40 if short else SMALL, repeats)
    return {"files": files, "samples": SAMPLES, "runs": runs, "growth": by_files, "small": small}


def _small(folder: Path, files: int, repeats: int) -> dict[str, float]:
    """Return what the pass of two workers over many small files, which share tasks, takes of processors; and with a task each."""
    folder.mkdir()
    for k in range(files):
        streaming.generate(folder / f"run-{k:04d}.parquet", SMALL_SAMPLES, k)
    result: dict[str, float] = {"files": files}
    for name, alone in (("shared", False), ("alone", True)):
        options = {"pattern": str(folder / "run-*.parquet"), "workers": 2, "alone": alone}
        runs = [_child(options) for _ in range(repeats)]
        result[name] = min(run["cpu"] + run["driver"] for run in runs)
    return result


def _memory(folder: Path, counts: Sequence[int]) -> dict[str, Any]:
    """Return the peak of the driver's memory, MB, for numbers of logs: links to a few files, whose pieces arrive many times."""
    originals = sorted(folder.glob("run-*.parquet"))[:ORIGINALS]
    names = [folder / f"link-{k:05d}.parquet" for k in range(max(counts))]
    for k, path in enumerate(names):
        os.link(originals[k % len(originals)], path)
    runs = {}
    for count in counts:
        run = _child({"pattern": [str(path) for path in names[:count]], "workers": 1, "again": len(originals)})
        runs[str(count)] = {key: run[key] for key in ("call", "peak", "before")}
    return runs


def _child(options: dict[str, Any]) -> dict[str, Any]:
    """Return what a process of its own tells of an identification."""
    source = str(Path(tp.__file__).parents[1])
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([source, os.environ.get("PYTHONPATH", "")])}
    environment.pop("TAUPI_CACHE", None)  # workers find what others have compiled, as they do elsewhere
    done = subprocess.run(
        [sys.executable, __file__],
        input=json.dumps(options),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env=environment,
    )
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def child(pattern: str | list[str], workers: int, again: int = 0, alone: bool = False) -> None:
    """Identify with so many workers, none for this process alone, and print what it took, as JSON.

    With `again`, so many logs are compressed, and copies of their pieces stand for those of all others. With `alone`, small logs
    share no tasks.
    """
    from taupi.identification import build
    from taupi.identification.cluster import passes
    from taupi.identification.cluster.passes import ClusterPasses
    from taupi.identification.rows.passes import LocalPasses

    seconds: dict[str, float] = {}

    def passed(wall: float, cpu: float) -> None:
        seconds.update({"pass": wall, "cpu": cpu})

    with ExitStack() as stack:
        if again:
            stack.enter_context(in_place_of(ClusterPasses, "_outcomes", _copies(again)))
        if alone:
            stack.enter_context(patch.object(passes, "_SHARED_BYTES", 0))
        for kind in (LocalPasses, ClusterPasses):
            stack.enter_context(timing(kind, "pieces", passed))
        stack.enter_context(timing(build, "open_logs", lambda wall, _: seconds.update(opened=wall)))
        client = None
        if workers:
            from dask.distributed import Client, LocalCluster

            local = {"n_workers": workers, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
            client = stack.enter_context(Client(stack.enter_context(LocalCluster(**local))))
        run = _identified(pattern, client, seconds)
    print(json.dumps(run))


def _identified(pattern: str | list[str], client: Any, seconds: dict[str, float]) -> dict[str, Any]:
    import hashlib

    robot, before = streaming.arm(), streaming.peak_mb()
    used = sum(client.run(time.process_time).values()) if client else time.process_time()
    start = time.perf_counter()
    fit = tp.identify(robot, pattern, workers=None if client else 1, client=client)
    call = time.perf_counter() - start
    after = sum(client.run(time.process_time).values()) if client else time.process_time()
    digest = hashlib.sha256(np.concatenate([fit.values, fit.covariance.ravel()]).tobytes()).hexdigest()
    facts = {
        "call": call,
        "pass": seconds["pass"],
        "opened": seconds["opened"],
        "driver": seconds["cpu"],
        "cpu": after - used if client else seconds["cpu"],
    }
    return facts | {"peak": streaming.peak_mb(), "before": before, "digest": digest}


def _copies(originals: int) -> Callable[..., Any]:
    """Return what a cluster would: the pieces of all logs as they arrive, of which some are made, and the others are copies."""
    import pickle
    from dataclasses import replace

    from taupi.identification.cluster.passes import pieces_task

    def outcomes(passes: Any, plan: Any) -> list[Any]:
        sent = [pickle.dumps(piece) for piece in pieces_task(passes.logs[:originals], plan)]
        pieces = []
        for k in range(len(passes.logs)):
            piece = pickle.loads(sent[k % originals])
            pieces.append(replace(piece, record=replace(piece.record, sha256=f"{k:064x}")))
        return pieces

    return outcomes


# Growth --------------------------------------------------------------------------------------------------------------


def draw(results: dict[str, Any], folder: Path, gpu: str) -> None:
    """Draw how time grows with files, arms and roll-outs; `gpu` is the page of a GPU's run, with a table of roll-outs."""
    growth._style(folder)
    figure, (left, middle, right) = growth.plt.subplots(1, 3, figsize=(11, 3.4), constrained_layout=True)
    files = results["scaling"]["growth"]
    for workers in map(str, WORKERS):
        label = "no cluster" if workers == "0" else f"{workers} worker{'s' * (workers != '1')}"
        left.plot([int(k) for k in files], [each[workers] for each in files.values()], "-o", ms=4, label=label)
    left.set(
        xlabel=f"files of {SAMPLES} samples", ylabel="seconds of a call", title="files and workers", ylim=(0, None)
    )
    for part, label in (("build", "logs of 12 s read"), ("solve", "solved")):
        middle.loglog(
            *zip(*((int(k), r[part]) for k, r in results["arms"].items()), strict=True), "-o", ms=4, label=label
        )
    middle.set(xlabel="arms of a fleet", ylabel="seconds of one core", title="arms")
    for law in ("computed torque", "Slotine-Li"):
        rows = [line.split("|") for line in gpu.splitlines() if line.startswith(f"| {law} |")]
        right.loglog([int(r[2]) for r in rows], [float(r[4]) for r in rows], "-o", ms=4, label=law)
    right.set(xlabel="roll-outs", ylabel="ns a control period, H200", title="closed loops on a GPU")
    for ax in (left, middle, right):
        ax.legend(frameon=False)
    figure.savefig(folder / "bench-fleet.png", dpi=140)


# The page -------------------------------------------------------------------------------------------------------------


def section(results: dict[str, Any], table: Callable[..., list[str]]) -> list[str]:
    """Return the page's section."""
    scaling, memory = results["scaling"], results["memory"]
    one = scaling["runs"]["1"]
    rows = []
    for workers, run in scaling["runs"].items():
        name = f"{workers} worker{'s' if workers != '1' else ''}" if workers != "0" else "no cluster"
        both = run["opened"] + run["pass"]
        times = (run["opened"], run["pass"], both, run["cpu"], run["call"])
        rows.append([name, *(f"{s:.2f}" for s in times), f"{run['peak']:.0f}", "yes"])
    heading = ["", "opened, s", "pass over the files, s", "both, s", "processor in the pass, s", "whole call, s"]
    heading += ["driver's peak, MB", "same bits"]
    two = scaling["runs"].get("2", one)
    most = 2 * (one["cpu"] + one["driver"]) / (two["cpu"] + two["driver"])
    (few, first), (many, last) = ((int(k), v) for k, v in memory.items())
    each = (last["peak"] - first["peak"]) / (many - few) * 1e3
    arms = [[k, f"{r['solve']:.2f}", f"{r['build']:.1f}"] for k, r in results["arms"].items()]
    return [
        f"## {TITLE}",
        "",
        f"**Files and workers.** {scaling['files']} Parquet files of {scaling['samples']} samples of a 7-joint arm, read and",
        "compressed by Dask's `LocalCluster` with processes of one thread, and in one process without it. Choices (cutoffs,",
        "friction) and the estimator are the rest of the call, in the driver. Processor time is that of the workers. Parameters",
        "and their covariance are the same bits in all. Without a cluster all files are decoded when they are opened, and stay",
        "in memory; with one, the driver opens the few that choices are made from, and workers decode all of them in the pass:",
        "hence their longer pass, and one worker is to be compared with no cluster by the sum of both. Wall time is worth",
        "little where others use the machine, as they may have here: look at processor time.",
        f"Two workers take the pass {one['pass'] / two['pass']:.2f} times as fast as one. Of that pass, the driver itself takes "
        f"{two['driver']:.2f} s of a",
        f"processor (tasks, pieces that arrive), and workers take {two['cpu'] / one['cpu']:.2f} times as much of it as one does: "
        "with these, two",
        f"cores that all of them share could be {most:.2f} times as fast at most.",
        f"{scaling['small']['files']} files of {SMALL_SAMPLES} samples share tasks: the pass takes "
        f"{scaling['small']['shared']:.2f} s of two workers and the driver,",
        f"and {scaling['small']['alone']:.2f} s with a task for each file.",
        "",
        *table(heading, rows),
        "",
        f"**The driver's memory**, scheduler included, for many such files: links to {ORIGINALS} of them, whose pieces arrive as",
        f"from workers, are merged and solved. It grows by {each:.0f} kB a log, so that {ALL} logs take",
        f"{last['peak'] + each * (ALL - many) / 1e3:.0f} MB.",
        "",
        *table(
            ["logs", "driver's peak, MB", "before the call, MB", "call, s"],
            [[k, *(f"{r[n]:.0f}" for n in ("peak", "before", "call"))] for k, r in memory.items()],
        ),
        "",
        "**Arms.** Pandas with a log of 12 s each: seconds of one core to solve for shared and own parameters with errors,",
        "membership and spread, and to read and compress the logs before that.",
        "",
        *table(["arms", "solved, s", "logs, s"], arms),
        "",
        *fleet_accuracy.lines(results["accuracy"], table),
        "",
        "![growth with files, workers, arms and roll-outs](images/bench-fleet.png)",
    ]


if __name__ == "__main__":
    child(**json.load(sys.stdin))
