"""The CUDA target on a real device: agreement with the reference, and speed against the card's own copy bandwidth.

A machine with a GPU may have no tracing tools, so this runs in two steps: `prepare FOLDER` traces and writes kernels and
reference values, `run FOLDER` needs only NumPy and CuPy and prints the results as Markdown.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

ROBOTS = ("panda", "ur10")
SAMPLES = (1 << 16, 1 << 20, 1 << 22)
CHECKED = 1003  # not a multiple of anything


def prepare(folder: Path) -> None:
    """Write kernels and reference values."""
    import taupi as tp
    from taupi.program.targets import cuda

    folder.mkdir(parents=True, exist_ok=True)
    for name in ROBOTS:
        robot = tp.load(name)
        programs = {"Y": tp.regressor(robot), "Y_r": tp.slotine_li_regressor(robot), "tau": tp.inverse_dynamics(robot)}
        for key, program in programs.items():
            states = np.random.default_rng(0).uniform(-2, 2, (len(program.inputs), CHECKED, robot.n))
            want = program.compile("numpy")(*states)
            np.savez(folder / f"{name}.{key}.npz", states=states, want=want, nonzeros=program.nonzeros())
            for dtype in ("float64", "float32"):
                for layout in ("batch_last", "nonzeros", "samples"):
                    spec = cuda.kernel_spec(program, layout, dtype)
                    (folder / f"{name}.{key}.{dtype}.{layout}.json").write_text(json.dumps(dataclasses.asdict(spec)))


def kernel(file: Path) -> Any:
    """Return a kernel of the package's own target from its written parts."""
    from taupi.program.program import Port
    from taupi.program.targets.cuda import CudaKernel, KernelSpec

    record = json.loads(file.read_text())
    for key in ("inputs", "outputs"):
        record[key] = tuple(
            Port(**(p | {"shape": tuple(p["shape"]), "labels": tuple(p["labels"])})) for p in record[key]
        )
    record["spans"] = tuple(map(tuple, record["spans"]))
    return CudaKernel(KernelSpec(**(record | {"nonzeros": tuple(record["nonzeros"])})))


def milliseconds(cupy: Any, call: Any, repeats: int = 15) -> float:
    """Return the median time of a call on the device, of five queued together: the host's part runs meanwhile."""
    call()
    cupy.cuda.Device().synchronize()
    times = []
    for _ in range(repeats):
        start, stop = cupy.cuda.Event(), cupy.cuda.Event()
        start.record()
        for _ in range(5):
            call()
        stop.record()
        stop.synchronize()
        times.append(cupy.cuda.get_elapsed_time(start, stop) / 5)
    return float(np.median(times))


def check(cupy: Any, folder: Path, file: Path) -> float:
    """Return the largest relative difference from the reference, with NumPy in, odd sizes, shared inputs and a stream."""
    robot, key, _, layout, _ = file.name.split(".")
    data = np.load(folder / f"{robot}.{key}.npz")
    states, want = data["states"], data["want"]
    run = kernel(file)
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        got = cupy.asnumpy(run(*states))
        one = cupy.asnumpy(run(*(s[:1] for s in states)))
        none = run(*(s[:0] for s in states))
    stream.synchronize()
    assert 0 in none.shape
    if layout == "nonzeros":
        want = want.reshape(CHECKED, -1)[:, data["nonzeros"]]
    if layout != "samples":
        got, one = (x.transpose(*range(x.ndim)[::-1]) for x in (got, one))
    assert np.array_equal(one[0], got[0])
    return float(np.abs(got - want).max() / np.abs(want).max())


def run(folder: Path) -> None:
    """Check every kernel, then time them, and print the page."""
    import cupy

    name = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    print(f"Device: {name}; CUDA runtime {cupy.cuda.runtime.runtimeGetVersion()}, CuPy {cupy.__version__}.\n")
    worst = {"float64": 0.0, "float32": 0.0}
    for file in sorted(folder.glob("*.json")):
        worst[file.name.split(".")[2]] = max(worst[file.name.split(".")[2]], check(cupy, folder, file))
    print(
        f"Agreement with the reference, relative: {worst['float64']:.1e} in float64, {worst['float32']:.1e} in float32.\n"
    )
    copy, fill = _bandwidth(cupy)
    print(f"Copy bandwidth {copy:.0f} GB/s (read and written), fill {fill:.0f} GB/s, measured in the same run.\n")
    print("| robot | program | type | layout | samples | registers | ns per sample | GB/s | of copy |")
    print("|---|---|---|---|---|---|---|---|---|")
    for file in sorted(folder.glob("*.json")):
        _timed(cupy, file, copy)
    _products(cupy, folder)


def _bandwidth(cupy: Any) -> tuple[float, float]:
    x, y = cupy.zeros(1 << 28), cupy.zeros(1 << 28)
    copy = 2 * x.nbytes / milliseconds(cupy, lambda: cupy.copyto(y, x)) / 1e6
    return copy, x.nbytes / milliseconds(cupy, lambda: x.fill(1.0)) / 1e6


def _timed(cupy: Any, file: Path, copy: float) -> None:
    robot, key, dtype, layout, _ = file.name.split(".")
    if layout == "samples":
        return
    k = kernel(file)
    size = np.dtype(dtype).itemsize
    for n in SAMPLES if layout == "nonzeros" and key == "Y" else SAMPLES[-1:]:
        states = [cupy.random.standard_normal((p.size, n)).astype(dtype).T for p in k.spec.inputs]
        out = k.empty(n)
        ms = milliseconds(cupy, partial(k, *states, out=out))
        rate = size * n * (sum(p.size for p in k.spec.inputs) + sum(k.spec.nonzeros)) / ms / 1e6
        registers, spilled = k.registers
        cell = f"{registers}" + (f" + {spilled} B" if spilled else "")
        print(
            f"| {robot} | {key} | {dtype} | {layout} | {n} | {cell} | {ms * 1e6 / n:.3f} | {rate:.0f} | {rate / copy:.0%} |"
        )


def _products(cupy: Any, folder: Path) -> None:
    n = 1 << 22
    k = kernel(folder / "panda.Y.float64.batch_last.json")
    states = [cupy.random.standard_normal((p.size, n)).T for p in k.spec.inputs]
    tau = cupy.random.standard_normal((n, 7))
    few = [s[:5000] for s in states]
    matrix, vector = k.normal_equations(tau[:5000], *few, tile=777)  # whole tiles, a shorter one, and single samples
    rows = k(*few).reshape(70, -1)
    assert float(abs(matrix - rows @ rows.T).max() / abs(matrix).max()) < 1e-12
    assert float(abs(vector - rows @ tau[:5000].T.ravel()).max() / abs(vector).max()) < 1e-12
    ms = milliseconds(cupy, lambda: k.normal_equations(tau, *states), 5)
    print(
        f"\nFused products Y^T Y and Y^T tau of the Panda, float64, {n} samples: {ms * 1e6 / n:.2f} ns per sample, Y never whole."
    )


def main() -> None:
    """Prepare or run."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("step", choices=("prepare", "run"))
    options.add_argument("folder", type=Path)
    arguments = options.parse_args()
    (prepare if arguments.step == "prepare" else run)(arguments.folder)


if __name__ == "__main__":
    main()
