"""Speed against peers, measured in one run and written to docs/benchmarks.md with both numbers.

python benchmarks/run.py            everything: a quarter of an hour; a section that fails is left out, and the others are kept
python benchmarks/run.py --short    the tables only, few repeats; writes nothing
python benchmarks/run.py --only explicit    that section alone (or another); the others keep their numbers
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import platform
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

os.environ["TAUPI_CACHE"] = "off"  # build times are those of building

import calls
import cores
import elastic
import exact
import excitation
import explicit
import fleet
import growth
import identification
import numpy as np
import online
import pages
import peers
import pinocchio as pin
import simulation
import streaming
import tensors

import taupi as tp
from taupi.program.targets.simd.machine_code import load

ROOT = Path(__file__).parents[1]
BLOCK = 1024  # samples whose outputs stay in the cache
STACK = 200_000
SECTIONS = {
    "calls": calls,
    "cores": cores,
    "exact": exact,
    "explicit": explicit,
    "simulation": simulation,
    "elastic": elastic,
    "identification": identification,
    "online": online,
    "streaming": streaming,
    "fleet": fleet,
    "excitation": excitation,
    "tensors": tensors,
}
FEW = 300  # samples of a peer that takes one per call


def best(run: Callable[[], object], repeats: int) -> float:
    """Return the shortest of several runs, in seconds: the machine is shared, and noise only adds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


STREAM = """
define void @fill(ptr %to, i64 %count) {
entry:
  br label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %next, %loop ]
  %at = getelementptr double, ptr %to, i64 %k
  store <8 x double> splat (double 1.0), ptr %at, align 64, !nontemporal !0
  %next = add i64 %k, 8
  %more = icmp slt i64 %next, %count
  br i1 %more, label %loop, label %end
end:
  fence seq_cst
  ret void
}
!0 = !{i32 1}
"""


def bandwidth(repeats: int) -> dict[str, float]:
    """Return the bytes per second of one core beyond the caches: NumPy's fill, its copy (read and written), bare stores.

    The last are stores past the cache in one straight run, with nothing to compute: the most that any kernel could write.
    """
    x, y = np.ones(STACK * 255), np.ones(STACK * 255)
    fill = x.nbytes / best(lambda: x.fill(1.0), repeats)
    copy = 2 * x.nbytes / best(lambda: np.copyto(y, x), repeats)
    engine = load(STREAM)
    run = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(engine.get_function_address("fill"))
    start, count = -x.ctypes.data % 64, (x.nbytes - 64) // 64 * 8
    stream = 8 * count / best(lambda: run(x.ctypes.data + start, count), repeats)
    return {"fill": fill, "copy": copy, "stream": stream}


def one_by_one(call: Callable[..., object], states: np.ndarray, repeats: int) -> float:
    """Return seconds per sample of a call that takes one sample."""
    rows = [tuple(s) for s in np.moveaxis(states, 1, 0)[:FEW]]
    return best(lambda: [call(*row) for row in rows], repeats) / len(rows)


def in_blocks(program: tp.Program, states: np.ndarray, repeats: int, **options: Any) -> float:
    """Return seconds per sample, block after block into the same memory, as identification uses it."""
    kernel = program.compile("cpu", layout="batch_last", **options)
    parts = [np.ascontiguousarray(s[:BLOCK]) for s in states]
    out = kernel.empty(BLOCK)
    out = out[0] if len(out) == 1 else out
    return best(lambda: kernel(*parts, out=out), 4 * repeats) / BLOCK


def latency(program: tp.Program, states: np.ndarray, repeats: int) -> tuple[float, float]:
    """Return seconds per call of the bound one-sample form, inputs in place, and with its inputs written from Python first."""
    step = program.compile("cpu").bound()
    rows = [np.concatenate(s) for s in np.moveaxis(states, 1, 0)[:FEW]]

    def call() -> None:
        for _ in rows:
            step()

    def write_and_call() -> None:
        for row in rows:
            step.x[:] = row
            step()

    return best(call, repeats) / len(rows), best(write_and_call, repeats) / len(rows)


def measure(name: str, repeats: int) -> dict[str, Any]:
    """Return all of one arm's times, in seconds per sample."""
    path, lock = peers.ARMS[name]
    start = time.perf_counter()
    robot = tp.Robot.from_urdf(path, lock=lock)
    load = time.perf_counter() - start
    start = time.perf_counter()
    y = tp.regressor(robot)
    kernel = y.compile("cpu", layout="batch_last")
    build = time.perf_counter() - start
    model = peers.pinocchio_model(path, lock)
    theirs = peers.pinocchio_calls(model)
    q, v, a, r = np.random.default_rng(0).uniform(-2, 2, (4, STACK, robot.n))
    programs = {
        "Y": (y, np.stack([q, v, a])),
        "Y_r": (tp.slotine_li_regressor(robot), np.stack([q, v, r, a])),
        "tau": (tp.inverse_dynamics(robot), np.stack([q, v, a])),
        "M": (tp.mass_matrix(robot), np.stack([q])),
        "base Y": (y.independent(), np.stack([q, v, a])),
    }
    rows: dict[str, Any] = {"programs": {}, "build": {"load": load, "trace and compile": build}}
    for key, (program, states) in programs.items():
        peer = theirs.get(key, theirs["Y"])
        count, (bound, written) = program.operations, latency(program, states, repeats)
        rows["programs"][key] = {
            "ours": in_blocks(program, states, repeats),
            "all cores": in_all_cores(program, states, repeats),
            "bound": bound,
            "written": written,
            "pinocchio": one_by_one(peer, states, repeats),
            "multiplications": count.multiplications,
            "additions": count.additions,
        }
    rows["stack"] = stacked(kernel, model, np.stack([q, v, a]), repeats)
    rows["others"] = others(y, robot, path, np.stack([q, v, a]), repeats)
    return rows


def in_all_cores(program: tp.Program, states: np.ndarray, repeats: int) -> float:
    """Return seconds per sample with every core, on a batch large enough to share."""
    cores = os.cpu_count() or 1
    kernel = program.compile("cpu", layout="batch_last", threads=cores)
    count = 16 * BLOCK
    parts = [np.ascontiguousarray(s[:count]) for s in states]
    out = kernel.empty(count)[0]
    return best(lambda: kernel(*parts, out=out), repeats) / count


def stacked(kernel: Any, model: pin.Model, states: np.ndarray, repeats: int) -> dict[str, float]:
    """Return the times of the stacked matrix of 200 000 samples, ours and FIGAROH's, and bytes per second that ours writes."""
    seconds = float("inf")
    for _ in range(4):  # where its pages lie in memory changes the speed of a buffer by a quarter
        out = kernel.empty(STACK)[0]
        seconds = min(seconds, best(partial(kernel, *states, out=out), repeats))
    fresh = best(lambda: kernel(*states), 2)
    written = len(kernel.program.nonzeros()) * 8 * STACK / seconds
    builder = peers.figaroh_stack(model)
    few = [s[:2000] for s in states]
    figaroh = best(lambda: builder(*few), 3) / 2000 if builder else float("nan")
    shared = kernel.program.compile("cpu", layout="batch_last", threads=os.cpu_count() or 1)
    spread = best(partial(shared, *states, out=out), repeats) / STACK
    return {"ours": seconds / STACK, "all cores": spread, "fresh": fresh / STACK, "bytes": written, "figaroh": figaroh}


def others(y: tp.Program, robot: tp.Robot, path: Path, states: np.ndarray, repeats: int) -> dict[str, float]:
    """Return seconds per sample of Y by iDynTree and by CasADi itself."""
    idyntree = peers.idyntree_regressor(path, list(robot.joint_names))
    single, mapped = peers.casadi_calls(y, BLOCK)
    columns = [np.ascontiguousarray(s[:BLOCK].T) for s in states]
    return {
        "iDynTree": one_by_one(idyntree, states, repeats) if idyntree else float("nan"),
        "CasADi": one_by_one(single, states, repeats),
        "CasADi map": best(lambda: mapped(*columns), 3) / BLOCK,
    }


def table(heading: list[str], rows: list[list[str]]) -> list[str]:
    """Return a Markdown table."""
    return ["| " + " | ".join(r) + " |" for r in (heading, ["---"] * len(heading), *rows)]


def page(results: dict[str, Any], machine: dict[str, float], sections: dict[str, Any], plots: bool) -> str:
    """Return the page that documents a run."""
    lines = [
        "# Benchmarks",
        "",
        "Written by `make bench`. Both sides of every ratio ran in the same process, one after the other, on one core",
        "unless said otherwise; times are the best of several, since the machine is shared. Peers are called from Python",
        f"once a sample, as they are made for. Processor: {processor()}; Python {platform.python_version()},",
        f"Pinocchio {pin.__version__}.",
        "",
        f"One core, beyond the caches: NumPy's fill writes {machine['fill'] / 1e9:.1f} GB/s and its copy moves "
        f"{machine['copy'] / 1e9:.1f} GB/s (read and written); stores past the cache, in one straight run and with nothing "
        f"to compute, reach {machine['stream'] / 1e9:.1f} GB/s.",
    ]
    for name, rows in results.items():
        lines += [
            "",
            f"## {name}",
            "",
            f"Blocks of {BLOCK} samples, batch-last, into the same memory; nanoseconds per sample.",
            "",
        ]
        cells = [
            [
                key,
                f"{r['ours'] * 1e9:.0f}",
                f"{r['all cores'] * 1e9:.0f}",
                f"{r['pinocchio'] * 1e9:.0f}",
                pages.ratio(r["pinocchio"], r["ours"]),
                f"{r['bound'] * 1e9:.0f} ({r['written'] * 1e9:.0f})",
                f"{r['multiplications']} x, {r['additions']} +",
            ]
            for key, r in rows["programs"].items()
        ]
        heading = [
            "program",
            "ours",
            f"{os.cpu_count()} cores, batch of {16 * BLOCK}",
            "Pinocchio",
            "ratio",
            "one bound call (with its inputs written)",
            "operations",
        ]
        lines += table(heading, cells)
        lines += [
            "",
            "Y_r by Pinocchio is the identity of three calls; base Y is held against its full Y, which is all it has.",
        ]
        s, o = rows["stack"], rows["others"]
        lines += [
            "",
            f"The stacked matrix of {STACK} samples: ours {s['ours'] * 1e9:.0f} ns per sample into memory that is there, "
            "the best of four buffers "
            f"({s['bytes'] / 1e9:.1f} GB/s written, {s['bytes'] / machine['fill']:.0%} of fill and "
            f"{s['bytes'] / machine['stream']:.0%} of bare stores past the cache: the arithmetic is the limit, see Y above), "
            f"{s['all cores'] * 1e9:.0f} ns on all cores, {s['fresh'] * 1e9:.0f} ns with its allocation; "
            f"FIGAROH's builder {s['figaroh'] * 1e9:.0f} ns: {pages.ratio(s['figaroh'], s['ours'])} and "
            f"{pages.ratio(s['figaroh'], s['fresh'])}.",
            "",
            f"Y by others: iDynTree {o['iDynTree'] * 1e9:.0f} ns, CasADi's own evaluation {o['CasADi'] * 1e9:.0f} ns, "
            f"mapped over {BLOCK} samples {o['CasADi map'] * 1e9:.0f} ns.",
            "",
            f"Loading the URDF {rows['build']['load'] * 1e3:.0f} ms; tracing and compiling Y "
            f"{rows['build']['trace and compile']:.2f} s, from nothing.",
        ]
    lines += [
        "",
        f"Y of a whole Talos, 32 joints and 320 columns, loads, traces and compiles in {machine['talos']:.1f} s.",
        "",
        "Operation counts published for customised models of the same robots (SymPyBotics): PUMA 560 Y 929 x and 682 +,",
        "base Y 632 x and 481 +; Panda Y 1227 x and 945 +, base Y 833 x and 665 +. Ours, of the catalogue's models:",
        "",
    ]
    lines += table(
        ["robot", "Y", "base Y"], [[n, *(_count(p) for p in _both(n))] for n in ("puma560", "panda", "ur10")]
    )
    for key, measured in sections.items():
        lines += ["", *SECTIONS[key].section(measured, table)]
    if {"calls", "cores", "simulation"} <= sections.keys():
        lines += ["", *limits(results, machine, sections)]
    if plots:
        lines += ["", "## Growth", "", "![growth with joints](images/bench-joints.png)", ""]
        lines += ["![growth of adaptive laws with joints](images/bench-laws.png)", ""]
        lines += ["![growth with samples](images/bench-samples.png)"]
    commands = (ROOT / "benchmarks" / "from-commands.md").read_text(encoding="utf-8")
    lines += ["", "## From commands and encoders", "", commands.rstrip()]
    more = ROOT / "benchmarks" / "more-cores.md"
    if more.exists():
        lines += [
            "",
            "## On a machine of more cores",
            "",
            "Written by `benchmarks/cores.py --threads 1 2 4 8 16 --out benchmarks/more-cores.md` there.",
            "",
        ]
        lines += [more.read_text(encoding="utf-8").strip()]
    gpu = ROOT / "benchmarks" / "gpu-h200.md"
    if gpu.exists():
        lines += [
            "",
            "## GPU",
            "",
            "Written by `benchmarks/gpu.py` on the device it names.",
            "",
            gpu.read_text().strip(),
        ]
    return "\n".join(lines) + "\n"


def limits(results: dict[str, Any], machine: dict[str, float], sections: dict[str, Any]) -> list[str]:
    """Return the section that says what bounds each of the numbers, and how far from that bound they are."""
    peak = 1 / sections["cores"]["arithmetic"]["1"]["cpu"]
    panda, calls, loops = results["Panda"], sections["calls"]["calls"], sections["simulation"]["loops"]
    rows = []
    for key in ("Y", "tau"):
        r = panda["programs"][key]
        work = r["multiplications"] + r["additions"]
        rows.append(
            [
                f"{key} of the Panda, in blocks",
                f"{work} operations in {r['ours'] * 1e9:.0f} ns",
                f"{peak * 1e-9:.0f} operations a ns",
                f"{work / r['ours'] / peak:.0%}",
                "arithmetic: sines, cosines and chains of sums that wait for each other; the rows stay in the caches",
            ]
        )
    stack = panda["stack"]
    rows.append(
        [
            f"stacked Y, {STACK} samples",
            f"{stack['bytes'] / 1e9:.1f} GB/s written",
            f"{machine['stream'] / 1e9:.1f} GB/s of bare stores",
            f"{stack['bytes'] / machine['stream']:.0%}",
            "bytes to memory, and the arithmetic of Y before them",
        ]
    )
    for law, r in loops["PUMA 560"].items():
        work = 4 * r["operations"][0] + r["operations"][1]
        for name, seconds, why in (
            (
                "many",
                r["batch"],
                "arithmetic: divisions, sines and cosines take several times a product; the state stays in the caches",
            ),
            (
                "one",
                r["alone"],
                "latency: four stages, each of which waits for the last; eight lanes would take the same time",
            ),
        ):
            share = work / seconds / peak
            rows.append(
                [
                    f"PUMA 560, {law}, {name}",
                    f"{work} operations in {seconds * 1e9:.0f} ns a period",
                    f"{peak * 1e-9:.0f} operations a ns",
                    f"{share:.0%}" if share >= 0.01 else f"{share:.1%}",
                    why,
                ]
            )
    for key in ("tau", "Y"):
        bound, call = panda["programs"][key]["bound"], calls[key][0]
        rows.append(
            [
                f"a call of {key}, one sample",
                f"{call * 1e9:.0f} ns",
                f"{bound * 1e9:.0f} ns, one bound call",
                f"{bound / call:.0%}",
                "latency: the call of a Python method, three headers to check, a new array",
            ]
        )
    return [
        "## How far from the limit",
        "",
        "What bounds each number on this machine, measured in this run: independent products and sums of one core that stay",
        f"in its vector registers, {peak * 1e-9:.0f} a ns, none of them fused; stores past the caches; a bound call of the same",
        "machine code.",
        "",
        *table(["what", "measured", "limit", "of it", "what is in the way"], rows),
    ]


def _both(name: str) -> tuple[tp.Program, tp.Program]:
    y = tp.regressor(tp.load(name))
    return y, y.independent()


def _count(program: tp.Program) -> str:
    return f"{program.operations.multiplications} x, {program.operations.additions} +"


def processor() -> str:
    """Return the processor's name and vector width."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    name = next((line.split(":")[1].strip() for line in lines if "model name" in line), platform.processor())
    from taupi.program.targets.cpu import vector_width

    return f"{name}, {vector_width()} doubles a vector"


def main() -> None:
    """Run the benchmarks."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--short", action="store_true", help="few repeats, no plots, nothing written")
    options.add_argument("--only", choices=(*SECTIONS, "laws"), help="measure one section and put it into the page")
    arguments = options.parse_args()
    docs = ROOT / "docs"
    if arguments.only == "laws":
        growth.draw_laws(docs / "images")
        return
    if arguments.only:
        measured = SECTIONS[arguments.only].measure(arguments.short)
        lines = SECTIONS[arguments.only].section(measured, table)
        if not arguments.short:
            pages.into_page(docs / "benchmarks.md", docs / "benchmarks.json", arguments.only, lines, measured)
        print("\n".join(lines))
        return
    repeats = 2 if arguments.short else 15
    machine = bandwidth(repeats)
    results = {}
    start = time.perf_counter()
    talos: Any = tp.regressor(tp.Robot.from_urdf(peers.ROBOTS / "talos_data/robots/talos_reduced.urdf")).compile("cpu")
    machine["talos"] = time.perf_counter() - start
    assert talos.program.outputs[0].shape == (32, 320)
    for name in peers.ARMS:
        print(f"measuring {name} ...", flush=True)
        results[name] = measure(name, repeats)
    sections, failed = pages.measured(SECTIONS, arguments.short)
    if not arguments.short:
        growth.draw(docs / "images")
        (docs / "benchmarks.md").write_text(page(results, machine, sections, True))
        data = {"machine": machine, "processor": processor(), "arms": results, **sections}
        (docs / "benchmarks.json").write_text(json.dumps(data, indent=2) + "\n")
    print(page(results, machine, sections, not arguments.short))
    if failed:
        sys.exit(
            f"Not on the page, see above why: {', '.join(failed)}. Each alone: python benchmarks/run.py --only NAME."
        )


if __name__ == "__main__":
    main()
