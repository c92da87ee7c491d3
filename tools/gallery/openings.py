"""What the authors of each document could not do then: done here, measured, drawn; each function returns what it says."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import taupi as tp
from taupi.papers.kubozono.loops import protocols
from taupi.papers.zollo2014 import pipelines as pipe
from taupi.papers.zollo2014 import puma as puma_study


def _drawn(path: Path, draw: Callable[[Any], None], height: float = 2.8) -> None:
    """Write a picture as an SVG file that is the same each time."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    path.parent.mkdir(parents=True, exist_ok=True)
    with matplotlib.rc_context({"svg.hashsalt": "taupi", "svg.fonttype": "path", "font.size": 9}):
        figure, axes = pyplot.subplots(figsize=(6.4, height), layout="constrained")
        draw(axes)
        figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})
        pyplot.close(figure)


def seconds(of: float) -> str:
    """Return a duration in words, rounded so that a page does not change with every rerun."""
    rounded = 5 * max(1, round(of / 5)) if of > 5 else max(1, round(of))
    return f"about {rounded} second{'s' * (rounded != 1)}"


def seven_joints(path: Path) -> str:
    """Gabiccini et al.: Y_r of an arm of seven joints, as formulas."""
    arm = tp.load("panda")
    start = time.process_time()
    text = tp.slotine_li_regressor(arm).explicit().text()
    took = time.process_time() - start
    # A long formula goes on in further lines.
    entries = re.findall(r"^Y\[(\d+), (\d+)\] = (.*?)(?=^Y\[|\Z)", text, re.MULTILINE | re.DOTALL)
    sizes = np.full((arm.n, 10 * arm.n), np.nan)
    for row, column, formula in entries:
        sizes[int(row) - 1, int(column) - 1] = len(formula)

    def draw(axes: Any) -> None:
        from matplotlib.colors import LogNorm

        drawn = axes.imshow(sizes, aspect="auto", norm=LogNorm(), cmap="viridis", interpolation="nearest")
        axes.set(title="Y_r of a Panda: characters of each entry", xlabel="parameter", ylabel="joint")
        axes.set_xticks(range(0, 10 * arm.n, 10), [f"link {k + 1}" for k in range(arm.n)])
        axes.set_yticks(range(arm.n), range(1, arm.n + 1))
        axes.figure.colorbar(drawn, ax=axes)

    _drawn(path, draw)
    return (
        f"Slotine and Li's regressor of a Panda, seven joints with ten parameters a link, as formulas: {len(entries)} entries "
        f"that are not zero, {len(text) / 1e6:.1f} million characters, in {seconds(took)} of one core. With two joints it fills "
        "a page, and the paper says that more joints can be too much for a computer algebra system. In the picture, white is "
        "zero, and colours are lengths."
    )


def certain_bounds(path: Path) -> str:
    """The lecture: bounds of a PUMA 560, certain, beside samples."""
    arm, reach = tp.load("puma560"), 0.5
    start = time.process_time()
    limits = tp.bounds(arm, (-reach, reach))
    took = time.process_time() - start
    M = tp.mass_matrix(arm)(np.random.default_rng(0).uniform(-reach, reach, (20_000, arm.n)))
    sampled = {"1": np.abs(M).sum(axis=1).max(axis=1), "2": np.linalg.norm(M, 2, axis=(1, 2))}

    def draw(axes: Any) -> None:
        for kind, colour in zip(sampled, ("C0", "C1"), strict=True):
            axes.hist(sampled[kind], bins=80, alpha=0.5, color=colour, label=f"{kind}-norm of M, 20 000 samples")
            for side in ("min", "max"):
                axes.axvline(limits[f"M_{kind}_{side}"].value, color=colour, linestyle="--")
        axes.set(title="PUMA 560, joints within half a radian", xlabel="kg m$^2$", ylabel="samples", ylim=(0, 700))
        axes.legend(fontsize=8, frameon=False)

    _drawn(path, draw)
    return (
        "The lecture bounds its arm of two joints by hand. The same bounds of a PUMA 560, all joints within half a radian, take "
        f"{seconds(took)} of one core, and are certain: interval arithmetic encloses them, so no sample can lie outside. "
        f"{limits['M_1_min'].value:.4f} ≤ ‖M‖₁ ≤ {limits['M_1_max'].value:.4f}, and ‖g‖₁ ≤ {limits['g_1'].value:.3f}; all are "
        "attained to six digits. Dashed lines are bounds, bars are samples."
    )


def many_starts(path: Path) -> str:
    """Kubozono et al.: the PUMA under the recursive law from many wrong estimates."""
    protocol = protocols()["PUMA"]
    starts = np.array([protocol.estimate(seed) for seed in range(16)])
    start = time.process_time()
    loops = protocol.loops("slotine-li", starts)
    took = time.process_time() - start
    worst = max(loop.change for loop in loops)

    def draw(axes: Any) -> None:
        for loop in loops:
            axes.plot(loop.run.time, loop.V, color="C0", alpha=0.5, linewidth=0.8)
        axes.set(title="PUMA 560, 60 parameters adapted, 16 first estimates", xlabel="s", ylabel="V, J", yscale="log")
        axes.grid(alpha=0.3)

    _drawn(path, draw)
    return (
        f"The paper has no simulation. Here a PUMA 560 adapts 60 parameters for 40 s from {len(loops)} wrong first estimates, in "
        f"steps of half a millisecond: {seconds(took)} of one core for all. V, which the proof is about, never rises: its "
        f"largest change is {worst:.1e} of V(0). And the law can be taken away as C."
    )


def counted_columns(path: Path) -> str:
    """Aldana et al.: how many of the 25 columns are independent, and how many parameters are needed."""
    lumped = tp.operational.planar_3r_regressor()
    states = np.random.default_rng(5).uniform(0.3, 2, (4, 300, 3))
    W = lumped.regressor.bind(g=9.81)(*states).reshape(-1, 25)
    values = np.linalg.svd(W / np.linalg.norm(W, axis=0), compute_uv=False)
    least = tp.lump(tp.operational.force(tp.load("planar3r"), task="planar"), unknown=["m?", "I?", "l?", "lc?"]).count

    def draw(axes: Any) -> None:
        shown = np.maximum(values / values[0], 1e-17)
        kept = np.arange(1, 26) <= lumped.rank
        axes.plot(np.arange(1, 26)[kept], shown[kept], "o", label=f"{lumped.rank} independent columns")
        axes.plot(np.arange(1, 26)[~kept], shown[~kept], "x", label="rounding")
        axes.set(
            title="Singular values of the 25 columns", xlabel="number", ylabel="relative to the first", yscale="log"
        )
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8, frameon=False)

    _drawn(path, draw)
    return (
        f"Count what they need. Exactly, not by a threshold, {lumped.rank} of the 25 columns are independent, and once it is "
        f"known how the parameters are made of masses and lengths, {least} numbers are enough. The singular values of 300 random "
        "states show the first. The same call makes the smallest regressor of any arm, for any task, and the 75 entries as C."
    )


def identified_with_intervals(path: Path) -> str:
    """Zollo et al.: an elastic PUMA 560 identified, with intervals."""
    puma = puma_study.Puma(62)
    run = puma.run()
    log, base = tp.record(run, pipe.COUNT), puma.bench.base
    start = time.process_time()
    fit = puma_study.own_fit(puma.bench, log)
    intervals = fit.intervals()
    took = time.process_time() - start
    order = [fit.names.index(name) for name in puma.bench.names]
    truth = puma.bench.truth
    scale = np.where(truth == 0, 1.0, np.abs(truth))
    error = np.abs(fit.values[order] - truth) / scale
    low, high = intervals[order].T
    inside = int(np.sum((low <= truth) & (truth <= high)))
    half = (high - low) / 2 / scale
    ranked = np.argsort(half)

    def draw(axes: Any) -> None:
        rank = np.arange(1, len(ranked) + 1)
        axes.plot(rank, half[ranked], label="half width of the 95 % interval", linewidth=1.2)
        axes.plot(rank, error[ranked], ".", label="error")
        axes.set(
            title="Elastic PUMA 560, 62 base parameters",
            xlabel="rank",
            ylabel="relative to the real value",
            yscale="log",
        )
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8, frameon=False)

    _drawn(path, draw)
    return (
        f"Say how far to trust each estimate. The elastic PUMA is identified from one log of encoders and torques in "
        f"{seconds(took)} of one core, and each of its {base.count} base parameters has an interval of 95 %: {inside} of them "
        "hold the real value. The springs of the wrist, which move the encoders by a few counts, have wide ones, and it shows."
    )


# By study: what to call with the path of its picture.
OPENINGS: dict[str, Callable[[Path], str]] = {
    "gabiccini2009": seven_joints,
    "lecture": certain_bounds,
    "kubozono": many_starts,
    "aldana": counted_columns,
    "zollo2014": identified_with_intervals,
}
