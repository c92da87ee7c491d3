"""Logs longer than memory: ten million samples of a 7-joint arm, in one file and in several, each run in a process of its own."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import taupi as tp

RATE, BLOCK, FILES = 1000.0, 100_000, 5
MANY = 40  # files of BLOCK samples each
TERMS = ("rotor", "viscous", "coulomb", "offset")
LIMIT_MB = 1024
# The same work on a longer log may take this much more at its peak: what the allocator keeps, by chance.
GROWTH_MB = 100
TITLE = "Streaming"


def arm() -> tp.Robot:
    """Return the Panda of the catalogue."""
    return tp.load("panda")


def generate(path: Path, samples: int, seed: int) -> None:
    """Write a log of sums of sines as Parquet, block by block: time, q and a noisy torque."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    robot, rng = arm(), np.random.default_rng(seed)
    n, ones = robot.n, np.ones(robot.n)
    plant = robot.with_friction(viscous=0.5 * ones, coulomb=0.4 * ones, offset=0.1 * ones)
    torque = tp.inverse_dynamics(plant.with_transmissions(rotor_inertia=0.05 * ones), terms=TERMS)
    w, phase = rng.uniform(0.5, 6.0, (5, n)), rng.uniform(0, 2 * np.pi, (5, n))
    a = rng.uniform(0.2, 0.7, (5, n)) / w
    names = ["t", *(f"q{j + 1}" for j in range(n)), *(f"tau{j + 1}" for j in range(n))]
    with pq.ParquetWriter(path, pa.schema([(name, pa.float64()) for name in names]), use_dictionary=False) as writer:
        for start in range(0, samples, BLOCK):
            t = np.arange(start, min(start + BLOCK, samples)) / RATE
            sine, cosine = (a * f(w * t[:, None, None] + phase) for f in (np.sin, np.cos))
            q, qd, qdd = sine.sum(axis=1), (w * cosine).sum(axis=1), -(w * w * sine).sum(axis=1)
            tau = torque(q, qd, qdd) + 0.2 * rng.normal(size=q.shape)
            writer.write_table(pa.table(dict(zip(names, [t, *q.T, *tau.T], strict=True))), row_group_size=16384)


def peak_mb() -> float:
    """Return the largest resident memory of this process; what `getrusage` returns may be that of the one that started it."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(next(line for line in status.read_text().splitlines() if line.startswith("VmHWM")).split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20)


def child(paths: list[str], workers: int, decimate: int | None, stream: bool | None) -> None:
    """Identify and print seconds, the peak of the resident memory (MB), samples fitted and the parameters, as JSON."""
    start = time.perf_counter()
    fit = tp.identify(arm(), paths, decimate=decimate, stream=stream, workers=workers)
    result = {"seconds": time.perf_counter() - start, "peak": peak_mb(), "rows": fit.joints[0].rows}
    result["cpu"] = time.process_time()
    print(json.dumps(result | {"values": fit.values.tolist(), "stderr": fit.stderr.tolist()}))


def run(paths: list[Path], workers: int = 1, decimate: int | None = None, stream: bool | None = True) -> dict[str, Any]:
    """Return what a process of its own measures of an identification."""
    options = json.dumps([[str(p) for p in paths], workers, decimate, stream])
    source = str(Path(tp.__file__).parents[1])
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([source, os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run(
        [sys.executable, __file__, options], stdout=subprocess.PIPE, text=True, check=True, env=environment
    )
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def measure(short: bool) -> dict[str, Any]:
    """Return seconds and peaks; memory that grows with the log, or an answer that depends on the workers, is an error."""
    samples, fewer = (600_000, 200_000) if short else (10_000_000, 1_000_000)
    cores = os.cpu_count() or 1
    with tempfile.TemporaryDirectory() as folder:
        log, part = Path(folder, "whole.parquet"), Path(folder, "part.parquet")
        parts = [Path(folder, f"part{k}.parquet") for k in range(FILES)]
        many = [Path(folder, f"short{k}.parquet") for k in range(4 if short else MANY)]
        start = time.perf_counter()
        for path, count, seed in ((log, samples, 0), (part, fewer, 0)):
            generate(path, count, seed)
        for k, path in enumerate(parts):
            generate(path, samples // FILES, k)
        for k, path in enumerate(many):
            generate(path, BLOCK, k)
        seconds = time.perf_counter() - start
        runs = {
            "its beginning": run([part]),
            "one file": run([log]),
            f"{FILES} files": run(parts),
            f"{FILES} files, {cores} at once": run(parts, workers=cores),
            f"{len(many)} files of {BLOCK}": run(many, stream=None),
        }
        if not short:
            runs["one file, every sample kept"] = run([log], decimate=1)
        size = log.stat().st_size
    difference = _difference(runs[f"{FILES} files"], runs[f"{FILES} files, {cores} at once"])
    grown = runs["one file"]["peak"] - runs["its beginning"]["peak"]
    assert difference < 1e-9, f"files in parallel change the answer by {difference}"
    assert grown < GROWTH_MB, f"memory grows by {grown:.0f} MB with the log"
    assert max(r["peak"] for name, r in runs.items() if not name.endswith(f" of {BLOCK}")) < LIMIT_MB, runs
    kept = {name: {k: r[k] for k in ("seconds", "cpu", "peak", "rows")} for name, r in runs.items()}
    counts = {name: fewer if name == "its beginning" else samples for name in kept}
    counts[f"{len(many)} files of {BLOCK}"] = len(many) * BLOCK
    return {"samples": counts, "bytes": size, "generated": seconds, "runs": kept, "difference": difference}


def _difference(a: dict[str, Any], b: dict[str, Any]) -> float:
    first, second = np.array(a["values"]), np.array(b["values"])
    return float(np.max(np.abs(first - second) / np.maximum(np.abs(second), 1e-300)))  # both may be 0, at a bound


def section(results: dict[str, Any], table: Callable[..., list[str]]) -> list[str]:
    """Return the page's section."""
    rows = []
    for name, r in results["runs"].items():
        samples = results["samples"][name]
        each = f"{r['seconds'] / samples * 1e6:.2f}"
        seconds = [f"{r[k]:.1f}" for k in ("seconds", "cpu")]
        rows.append([name, f"{samples}", f"{r['rows']}", *seconds, each, f"{r['peak']:.0f}"])
    return [
        f"## {TITLE}",
        "",
        "Parquet files of a 7-joint arm at 1 kHz, time, q and torque, identified with 69 parameters: each run in a process of",
        "its own, from the import to the fit with its standard errors, the cache of compiled programs switched off. The longest",
        f"file has {results['bytes'] / 1e6:.0f} MB. Memory is the peak of the whole process, Python and libraries included.",
        f"With several files at once the parameters are the same to {results['difference']:.0e}.",
        "",
        "The short files are read at once, one after the other, and stay in memory. Processor time is that of the process,",
        "imports included; where others use the machine it is nearer to what a calm one would take.",
        "",
        *table(
            ["log", "samples", "rows per joint", "s", "s of processor", "s per million samples", "peak memory, MB"],
            rows,
        ),
    ]


if __name__ == "__main__":
    child(*json.loads(sys.argv[1]))
