"""Roll-outs and large results by the number of cores, beside MuJoCo's roll-out; the fixed cost of a call, and memory.

python benchmarks/cores.py --threads 1 2 4 8 16    this section alone, on a machine of more cores; --out FILE keeps it

It needs the package, NumPy and, to compare, MuJoCo.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import hashlib
import json
import os
import platform
import tempfile
import time
import tracemalloc
from collections import deque
from collections.abc import Callable, Sequence
from functools import cache
from itertools import count as count_from
from pathlib import Path
from typing import Any

import numpy as np

import taupi as tp
from taupi.program.batch_results import kept_limit
from taupi.threads import side_by_side

TITLE = "Cores and memory"
RATE = 1000.0
ROLL_OUTS, PERIODS, EVERY = 4096, 500, 50
FALLS = 100  # steps
LARGE, SMALL = 200_000, 4096  # samples: of 784 MB, and of a result that fits beside the caches
LAWS = {"computed torque": tp.laws.ComputedTorque, "Slotine-Li": tp.laws.SlotineLi}


def timed(call: Callable[[], object], repeats: int) -> dict[str, float]:
    """Return the shortest wall time of several calls, and the least processor time of all their threads, s."""
    call()
    wall, used = [], []
    for _ in range(repeats):
        start, before = time.perf_counter(), time.process_time()
        call()
        wall.append(time.perf_counter() - start)
        used.append(time.process_time() - before)
    return {"wall": min(wall), "cpu": min(used)}


def closed_loop(law: str, count: int, periods: int, every: int, threads: int, seed: int = 0) -> tp.results.RunBatch:
    """Return roll-outs of a PUMA 560 that follows the document's motion; plant, law and reference are made anew."""
    arm, reference = _puma(), tp.Sinusoids.document("puma560")
    start = reference(0.0).q + np.random.default_rng(seed).uniform(-0.1, 0.1, (count, arm.n))
    horizon: dict[str, Any] = {"duration": periods / RATE, "rate": RATE, "every": every}
    return tp.simulate_many(tp.RigidPlant(arm), LAWS[law](arm), reference, initial=start, threads=threads, **horizon)


@cache
def _puma() -> tp.Robot:
    return tp.load("puma560")


def digest(batch: tp.results.RunBatch) -> str:
    """Return a hash of all that is kept."""
    parts = (batch.q, batch.qd, batch.tau, batch.runs.stack("qdd"), batch.runs.stack("residual"))
    return hashlib.sha256(b"".join(np.ascontiguousarray(part).tobytes() for part in parts)).hexdigest()


def growth(threads: Sequence[int], short: bool) -> dict[str, Any]:
    """Return seconds and processor seconds of a period of roll-outs by the number of threads; all results have the same bits."""
    count, periods, repeats = (512, 100, 2) if short else (ROLL_OUTS, PERIODS, 12)
    result: dict[str, Any] = {"count": count, "periods": periods, "every": min(EVERY, periods), "laws": {}}
    for law in LAWS:
        rows, digests = {}, set()
        for n in threads:
            seconds = timed(lambda n=n: closed_loop(law, count, periods, result["every"], n), repeats)  # noqa: B023
            rows[str(n)] = {name: s / (count * (periods + 1)) for name, s in seconds.items()}
            digests.add(digest(closed_loop(law, count, periods, result["every"], n)))
        assert len(digests) == 1, "results depend on the number of threads"
        result["laws"][law] = rows | {"digest": digests.pop()}
    return result


def falls(threads: Sequence[int], short: bool) -> dict[str, dict[str, dict[str, float]]]:
    """Return seconds per step of Pandas that fall, without a law, ours and by MuJoCo's own threaded roll-outs."""
    count, repeats = (512, 2) if short else (ROLL_OUTS, 4)
    arm = tp.load("panda")
    initial = np.random.default_rng(0).uniform(-1, 1, (count, arm.n))
    runs: dict[str, Callable[[int], Any]] = {
        "ours": lambda n: tp.simulate_many(
            tp.RigidPlant(arm), duration=FALLS / RATE, rate=RATE, initial=initial, threads=n
        )
    }
    with contextlib.suppress(ImportError):
        runs["MuJoCo"] = mujoco_rollouts(arm, initial)
        states, ours = runs["MuJoCo"](1)[0], runs["ours"](1)
        difference = float(np.abs(states[:, -1, 1 : 1 + arm.n] - ours.q[:, -1]).max())
        assert difference < 1e-6, f"arms that fall differ by {difference}"
    return {
        name: {
            str(n): {k: s / (count * FALLS) for k, s in timed(lambda n=n: run(n), repeats).items()}  # noqa: B023
            for n in threads
        }
        for name, run in runs.items()
    }


def mujoco_rollouts(arm: tp.Robot, initial: np.ndarray) -> Callable[[int], Any]:
    """Return MuJoCo's roll-outs of the same arm, RK4 at 1 kHz, by the number of threads; ImportError without MuJoCo."""
    import mujoco
    from mujoco import rollout

    with tempfile.TemporaryDirectory() as folder:
        tp.bridges.write_mjcf(arm, Path(folder, "arm.xml"))
        model = mujoco.MjModel.from_xml_path(str(Path(folder, "arm.xml")))
    model.opt.timestep, model.opt.integrator = 1 / RATE, mujoco.mjtIntegrator.mjINT_RK4
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_LIMIT
    model.dof_damping[:], model.dof_frictionloss[:], model.dof_armature[:] = 0.0, 0.0, 0.0
    kind = mujoco.mjtState.mjSTATE_FULLPHYSICS
    state = np.zeros((len(initial), mujoco.mj_stateSize(model, kind)))
    state[:, 1 : 1 + arm.n] = initial

    def run(threads: int) -> Any:
        data = [mujoco.MjData(model) for _ in range(threads)]
        with rollout.Rollout(nthread=0 if threads == 1 else threads) as pool:
            return pool.rollout(model, data, state, nstep=FALLS)

    return run


def fixed(short: bool) -> dict[str, list[float]]:
    """Return seconds of a warm call of one period, with plant, law and reference made anew: starts as before, and others."""
    threads, repeats, seeds = os.cpu_count() or 1, 5 if short else 100, count_from(1)

    def seconds(law: str, count: int) -> list[float]:
        calls = (
            lambda: closed_loop(law, count, 1, 1, threads),
            lambda: closed_loop(law, count, 1, 1, threads, next(seeds)),
        )
        return [timed(call, repeats)["cpu"] for call in calls]

    return {f"{law}, {count}": seconds(law, count) for law in LAWS for count in (1, 256)}


def kept_rows(short: bool) -> dict[str, dict[str, float]]:
    """Return the peak of memory during roll-outs, and what they keep, MB, by `every`."""
    count, periods = (128, 100) if short else (1024, 500)
    result = {}
    for every in (1, 10, 100):
        closed_loop("computed torque", count, periods, every, 1)
        tp.program.release_memory()  # what an earlier call left would not be counted
        tracemalloc.start()
        batch = closed_loop("computed torque", count, periods, every, 1)
        kept, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        del batch
        result[str(every)] = {"peak": peak / 1e6, "kept": kept / 1e6}
    return result


def large(threads: Sequence[int], short: bool) -> dict[str, Any]:
    """Return seconds a sample of Y of the Panda: a small result, a large one in fresh memory, and in memory that was kept."""
    count, repeats = (20_000, 2) if short else (LARGE, 6)
    y, states = tp.regressor(tp.load("panda")), np.random.default_rng(0).uniform(-2, 2, (3, count, 7))
    rows: dict[str, Any] = {}
    for n in threads:
        kernel = y.compile("cpu", threads=n)
        few = [np.ascontiguousarray(part[:SMALL]) for part in states]

        def fresh(kernel: Callable[..., Any] = kernel) -> None:
            tp.program.release_memory()
            kernel(*states)

        rows[str(n)] = {
            "small": timed(lambda: kernel(*few), 20 * repeats)["wall"] / SMALL,  # noqa: B023
            "fresh": timed(fresh, repeats)["wall"] / count,
            "kept": timed(lambda: kernel(*states), repeats)["wall"] / count,  # noqa: B023
        }
    size = y.outputs[0].size * 8 * count
    tp.program.release_memory()
    return {"bytes": size, "limit": kept_limit(), "rows": rows, "huge": huge_pages()}


def huge_pages() -> str:
    """Return what Linux says of transparent huge pages."""
    path = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return text.partition("[")[2].partition("]")[0] or "not said"


SPIN = """
define double @spin(i64 %count) {{
entry:
  br label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %next, %loop ]
{phis}
{work}
  %next = add i64 %k, 1
  %more = icmp slt i64 %next, %count
  br i1 %more, label %loop, label %end
end:
{sum}
  ret double %r
}}
"""


def arithmetic(threads: Sequence[int] = (1,), repeats: int = 12) -> dict[str, dict[str, float]]:
    """Return seconds of an operation by the number of threads: products and sums in vector registers, none of them fused.

    They are independent, wait for nothing and share nothing: what they grow by with the threads is all that the machine has.
    """
    from taupi.program.targets.cpu import vector_width
    from taupi.program.targets.simd.machine_code import load

    width, chains, count = vector_width(), 8, 500_000
    kind = f"<{width} x double>"
    start = f"splat (double {1.0})"
    phis = [f"  %{s}{i} = phi {kind} [ {start}, %entry ], [ %{s}{i}.n, %loop ]" for s in "ab" for i in range(chains)]
    work = [f"  %a{i}.n = fmul {kind} %a{i}, splat (double 0x3FEFFFFFFFFFFFFF)" for i in range(chains)]
    work += [f"  %b{i}.n = fadd {kind} %b{i}, splat (double 1.0)" for i in range(chains)]
    names = [f"%{s}{i}.n" for s in "ab" for i in range(chains)]
    sums, last = [], names[0]
    for i, name in enumerate(names[1:]):
        sums.append(f"  %s{i} = fadd {kind} {last}, {name}")
        last = f"%s{i}"
    sums.append(f"  %r = extractelement {kind} {last}, i32 0")
    engine = load(SPIN.format(phis="\n".join(phis), work="\n".join(work), sum="\n".join(sums)))
    spin = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_int64)(engine.get_function_address("spin"))
    parts = 16 * max(threads)  # as many for each number of threads, taken one by one

    def together(n: int) -> None:
        left = deque(range(parts))

        def work(_: int) -> None:
            with contextlib.suppress(IndexError):
                while True:
                    left.popleft()
                    spin(count)

        side_by_side(work, n)

    operations = 2 * chains * width * count * parts
    times = {str(n): timed(lambda n=n: together(n), repeats) for n in threads}
    return {n: {kind: seconds / operations for kind, seconds in each.items()} for n, each in times.items()}


def measure(short: bool, threads: Sequence[int] | None = None) -> dict[str, Any]:
    """Return all of it, by default for one core and all of this machine's."""
    cores = os.cpu_count() or 1
    threads = threads or sorted({1, 2, cores})
    return {
        "cores": cores,
        "growth": growth(threads, short),
        "falls": falls(threads, short),
        "fixed": fixed(short),
        "kept rows": kept_rows(short),
        "large": large(threads, short),
        "arithmetic": arithmetic(threads, 2 if short else 12),
    }


def section(results: dict[str, Any], table: Callable[..., list[str]]) -> list[str]:
    """Return the page's section."""
    rolls, size, large_results = results["growth"], results["kept rows"], results["large"]
    threads = list(large_results["rows"])
    heading = ["", *(f"{n} thread{'s' if n != '1' else ''}" for n in threads)]
    of_laws = [
        [f"{law}: ns a period; processor ns", *(_cell(rows[n], rows["1"]) for n in threads)]
        for law, rows in rolls["laws"].items()
    ]
    of_falls = [
        [f"{name}: ns a step; processor ns", *(_cell(rows[n], rows["1"]) for n in threads)]
        for name, rows in results["falls"].items()
    ]
    spins = results["arithmetic"]
    of_falls += [
        ["a product or sum in registers: ps; processor ps", *(_cell(spins[n], spins["1"], 1e12) for n in threads)]
    ]
    mega, kept = large_results["bytes"] / 1e6, large_results["limit"] / 1e9
    return [
        f"## {TITLE}",
        "",
        f"**Growth with cores**, of {results['cores']} here: {rolls['count']} roll-outs of a PUMA 560, "
        f"{rolls['periods']} periods at 1 kHz, RK4,",
        f"every {rolls['every']}th kept, with the energy audit; and {FALLS} steps of as many Pandas that fall, every one kept,",
        "beside MuJoCo's own `rollout` of the same arm, without contacts. In brackets how many times as fast as one thread.",
        "Processor time is that of all threads: what it grows by with the threads is what they cost each other. The last row is",
        "arithmetic alone, which shares nothing: threads that are halves of a core, and clocks that fall when all cores work,",
        "leave no more than it shows. Every kept number is the same to the bit for each number of threads; hashes of them:",
        ", ".join(f"{law} `{rows['digest'][:12]}`" for law, rows in rolls["laws"].items()) + ".",
        "",
        *table(heading, of_laws + of_falls),
        "",
        "The loop of periods is machine code over tiles of 64 roll-outs, whose state stays in a core's own cache: nothing in it",
        "waits for memory or for another core. The energy audit, and the search for roll-outs that diverged, are shared by the",
        "threads as well. What remains of a call is serial: the checks, the reference and the gathering of results. A warm call",
        "of one period takes of the processor, with plant, law and reference made anew; starts that no call had before cost the",
        "look for gains that are too high there, as in the last column:",
        "",
        *table(
            ["law, roll-outs", "ms", "ms, other starts"],
            [[name, *(f"{1e3 * seconds:.2f}" for seconds in both)] for name, both in results["fixed"].items()],
        ),
        "",
        "Memory, MB, at the peak of longer calls beside what they keep:",
        "",
        *table(["every", "peak", "kept"], [[n, f"{r['peak']:.1f}", f"{r['kept']:.1f}"] for n, r in size.items()]),
        "",
        f"**Large results.** Y of the Panda as a new array of {mega:.0f} MB, ns a sample, beside one of {SMALL} samples. Memory",
        f"that nothing refers to any more is kept, up to {kept:.1f} GB here (an eighth of the machine's or container's memory,",
        "at least 0.5 GB), and given back by `tp.program.release_memory()`. Fresh memory costs page faults; transparent huge",
        f"pages are set to {large_results['huge']} here.",
        "",
        *table(
            ["threads", f"{SMALL} samples", f"{mega:.0f} MB, fresh", f"{mega:.0f} MB, kept"],
            [[n, *(f"{1e9 * r[k]:.0f}" for k in ("small", "fresh", "kept"))] for n, r in large_results["rows"].items()],
        ),
    ]


def _cell(row: dict[str, float], one: dict[str, float], unit: float = 1e9) -> str:
    factor = "" if row is one else f" ({one['wall'] / row['wall']:.2f} x)"
    return f"{unit * row['wall']:.3g}{factor}; {unit * row['cpu']:.3g}"


def main() -> None:
    """Measure on this machine and print the section."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--threads", type=int, nargs="+", help="numbers of threads, the first of them 1")
    options.add_argument("--short", action="store_true", help="few repeats of little work")
    options.add_argument(
        "--out",
        type=Path,
        help="write the section here, and the numbers beside it as JSON: "
        "`make bench` puts benchmarks/more-cores.md into the page",
    )
    arguments = options.parse_args()
    results = measure(arguments.short, arguments.threads)

    def table(heading: list[str], rows: list[list[str]]) -> list[str]:
        return ["| " + " | ".join(row) + " |" for row in (heading, ["---"] * len(heading), *rows)]

    name = next((line.split(":")[1].strip() for line in _cpuinfo() if "model name" in line), platform.processor())
    lines = [*section(results, table)[2:], "", f"Processor: {name}; Python {platform.python_version()}."]
    each = results["arithmetic"]["1"]["cpu"]
    lines.append(f"One core does {1e-9 / each:.0f} thousand million products and sums a second.")
    print("\n".join(lines))
    if arguments.out:
        arguments.out.write_text("\n".join(lines) + "\n", encoding="utf-8")
        arguments.out.with_suffix(".json").write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


def _cpuinfo() -> list[str]:
    path = Path("/proc/cpuinfo")
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


if __name__ == "__main__":
    main()
