"""Speed against peers, measured in one run on one core and written to docs/benchmarks.md with both numbers."""

from __future__ import annotations

import argparse
import json
import platform
import sysconfig
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pinocchio as pin

import taupi as tp

ROOT = Path(__file__).parents[1]
ROBOTS = Path(sysconfig.get_path("purelib")) / "cmeel.prefix" / "share" / "example-robot-data" / "robots"
ARMS = {
    "Panda": ("panda_description/urdf/panda.urdf", ["panda_finger_joint1"]),
    "UR10": ("ur_description/urdf/ur10_robot.urdf", []),
}
BATCH = 4096


def best(run: Callable[[], object], repeats: int) -> float:
    """Return the shortest of several runs, in seconds: the machine is shared, and noise only adds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def pinocchio_arm(path: Path, lock: list[str]) -> pin.Model:
    """Return the same arm in Pinocchio, with the same joints locked."""
    full = pin.buildModelFromUrdf(str(path))
    fixed = [i for i, n in enumerate(full.names) if i and ("finger" in n or n in lock)]
    return pin.buildReducedModel(full, fixed, pin.neutral(full)) if fixed else full


def per_sample(program: Callable[..., object], states: np.ndarray, repeats: int) -> float:
    """Return seconds a sample of a batched call, arrays in and out."""
    return best(lambda: program(*states), repeats) / states.shape[1]


def measure(name: str, repeats: int) -> dict[str, dict[str, float]]:
    """Return ours and the peer's seconds a sample of one arm."""
    path, lock = ROBOTS / ARMS[name][0], ARMS[name][1]
    start = time.perf_counter()
    robot = tp.Robot.from_urdf(path, lock=lock)
    load = time.perf_counter() - start
    start = time.perf_counter()
    y = tp.regressor(robot)
    kernel = y.compile("cpu")
    build = time.perf_counter() - start
    model = pinocchio_arm(path, lock)
    data = model.createData()
    rng = np.random.default_rng(0)
    q, v, a, r = rng.uniform(-2, 2, (4, BATCH, robot.n))
    few = range(400)
    theirs = {
        "Y": lambda: [pin.computeJointTorqueRegressor(model, data, q[k], v[k], a[k]) for k in few],
        "tau": lambda: [pin.rnea(model, data, q[k], v[k], a[k]) for k in few],
        "M": lambda: [pin.crba(model, data, q[k]) for k in few],
        "Y_r": lambda: [_three_calls(model, data, q[k], v[k], r[k], a[k]) for k in few],
    }
    ours = {
        "Y": (kernel, np.stack([q, v, a])),
        "tau": (tp.inverse_dynamics(robot).compile("cpu"), np.stack([q, v, a])),
        "M": (tp.mass_matrix(robot).compile("cpu"), np.stack([q])),
        "Y_r": (tp.slotine_li_regressor(robot).compile("cpu"), np.stack([q, v, r, a])),
    }
    rows = {
        key: {"ours": per_sample(program, states, repeats), "pinocchio": best(theirs[key], repeats) / len(few)}
        for key, (program, states) in ours.items()
    }
    counts = y.operations
    rows["build"] = {"load": load, "trace and compile Y": build}
    rows["operations"] = {"multiplications": counts.multiplications, "additions": counts.additions}
    return rows


def _three_calls(
    model: pin.Model, data: pin.Data, q: np.ndarray, v: np.ndarray, r: np.ndarray, a: np.ndarray
) -> np.ndarray:
    """Slotine-Li's regressor from three classical ones, as Pinocchio's users have to make it."""
    zero = np.zeros_like(q)
    y = pin.computeJointTorqueRegressor
    return (
        y(model, data, q, (v + r) / 2, a).copy()
        - y(model, data, q, (v - r) / 2, zero).copy()
        + y(model, data, q, zero, zero)
    )


def page(results: dict[str, dict[str, dict[str, float]]]) -> str:
    """Return the page that documents a run."""
    lines = [
        "# Benchmarks",
        "",
        "Written by `make bench`; every row is one run on one core, both sides in the same process. Ours is a batched call from",
        f"Python ({BATCH} samples, sample-major arrays in and out, allocation included); Pinocchio {pin.__version__}",
        "is called from Python once a sample, its only way. Machines differ and are shared: read the ratios.",
        "",
        f"Processor: {processor()}; Python {platform.python_version()}.",
    ]
    for name, rows in results.items():
        lines += [
            "",
            f"## {name}",
            "",
            "| program | ours, ns a sample | Pinocchio, ns a sample | ratio |",
            "|---|---|---|---|",
        ]
        for key in ("Y", "Y_r", "tau", "M"):
            mine, peer = rows[key]["ours"] * 1e9, rows[key]["pinocchio"] * 1e9
            lines.append(f"| {key} | {mine:.0f} | {peer:.0f} | {peer / mine:.1f} |")
        build, count = rows["build"], rows["operations"]
        lines += [
            "",
            f"Loading the URDF took {build['load'] * 1e3:.0f} ms, tracing and compiling Y "
            f"{build['trace and compile Y']:.2f} s. Y has {count['multiplications']} multiplications "
            f"and {count['additions']} additions.",
        ]
    return "\n".join(lines) + "\n"


def processor() -> str:
    """Return the processor's name."""
    info = Path("/proc/cpuinfo")
    names = (
        [line.split(":")[1].strip() for line in info.read_text().splitlines() if "model name" in line]
        if info.exists()
        else []
    )
    return names[0] if names else platform.processor()


def main() -> None:
    """Run the benchmarks."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--repeats", type=int, default=15)
    options.add_argument("-o", "--output", type=Path, default=ROOT / "docs" / "benchmarks.md")
    given = options.parse_args()
    results = {name: measure(name, given.repeats) for name in ARMS}
    given.output.write_text(page(results))
    given.output.with_suffix(".json").write_text(json.dumps(results, indent=2) + "\n")
    print(page(results))


if __name__ == "__main__":
    main()
