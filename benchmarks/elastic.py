"""Elastic joints beside the same arms with rigid ones: regressors a structural nonzero, forward dynamics a call."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import taupi as tp

BATCH = 264  # samples whose outputs stay in the second cache; a power of two would let their rows fall onto each other there
HEADING = "## Elastic joints"


def arms() -> dict[str, tp.Robot]:
    """Return the arms, every joint elastic."""
    panda = tp.load("panda").with_transmissions(stiffness=10_000, rotor_inertia=1e-4, gear_ratio=100)
    return {"zollo2r": tp.load("zollo2r"), "PUMA 560": tp.load("puma560_elastic"), "Panda": panda}


def runner(program: tp.Program) -> Callable[[], object]:
    """Return the kernel's own call on a batch of states, batch-last, into the same memory; nothing of Python is in it."""
    kernel: Any = program.compile("cpu", layout="batch_last")
    rng = np.random.default_rng(0)
    parts = [rng.uniform(-2, 2, (BATCH, p.size)) for p in program.inputs]
    kept = (parts, out := kernel.empty(BATCH), kernel.table(parts, out, BATCH, scratch := kernel.scratch()), scratch)
    return lambda: kernel._run(kept[2].ctypes.data, 0, BATCH)


def side_by_side(runs: list[Callable[[], object]], repeats: int) -> list[float]:
    """Return the shortest time of each, in seconds per sample; they take turns, so that a busy machine is fair to all."""
    shortest = [float("inf")] * len(runs)
    for _ in range(repeats):
        for k, run in enumerate(runs):
            start = time.perf_counter()
            run()
            shortest[k] = min(shortest[k], time.perf_counter() - start)
    return [s / BATCH for s in shortest]


def measure(short: bool) -> dict[str, Any]:
    """Return seconds per sample of rigid and elastic programs, and what they hold."""
    repeats = 200 if short else 5000
    results: dict[str, Any] = {}
    for name, arm in arms().items():
        pairs = {
            "Y": (tp.regressor(arm), tp.elastic_regressor(arm)),
            "base Y": (tp.base_parameters(arm).regressor(), tp.base_parameters(arm, elastic=True).regressor()),
            "forward": (tp.forward_dynamics(arm, terms=("viscous", "coulomb")), tp.elastic.forward_dynamics(arm)),
        }
        results[name] = {}
        for key, both in pairs.items():
            seconds = side_by_side([runner(p) for p in both], repeats)
            results[name][key] = {
                "rigid": seconds[0],
                "elastic": seconds[1],
                "nonzeros": [int(p.sparsity().sum()) for p in both],
                "operations": [p.operations.total for p in both],
            }
    return results


def section(results: dict[str, Any], table: Callable[..., list[str]]) -> list[str]:
    """Return the page's section."""
    rows = []
    for name, programs in results.items():
        for key, r in programs.items():
            times = [f"{r[side] * 1e9:.0f}" for side in ("rigid", "elastic")]
            entries = ["-", "-"]
            if key != "forward":
                entries = [f"{r[s] * 1e9 / n:.2f}" for s, n in zip(("rigid", "elastic"), r["nonzeros"], strict=True)]
            held = " / ".join(map(str, r["nonzeros"])) if key != "forward" else "-"
            rows.append(
                [name, key, " / ".join(times), held, " / ".join(entries), " / ".join(map(str, r["operations"]))]
            )
    heading = ["robot", "program", "ns per sample", "structural nonzeros", "ns per nonzero", "operations"]
    return [
        HEADING,
        "",
        "Rigid / elastic: the same arm with rigid joints, and with elastic ones throughout, all motors coupled to the links;",
        f"one core, {BATCH} samples at a time, batch-last, in the cache. Forward dynamics factorises M,",
        "with friction.",
        "",
        *table(heading, rows),
    ]
