"""Closed loops on a real GPU: agreement with the CPU over a second, and the time of a control period; printed as Markdown.

Needs the package, CuPy and a CUDA device: `python benchmarks/gpu_rolls.py`.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import taupi as tp
from taupi.program.targets.cuda import CudaDevice

simulate = importlib.import_module("taupi.simulation.simulate")

ROLL_OUTS = (1 << 10, 1 << 13, 1 << 15, 1 << 17, 1 << 19)
SPREAD = 0.2  # of the masses and inertias between roll-outs


def setting(law: str, count: int) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return arguments and options of `count` uncertain PUMAs under a law, RK4 at 1 kHz."""
    arm = tp.load("puma560")
    controller = {"computed torque": tp.ComputedTorque, "Slotine-Li": tp.SlotineLi}[law](arm)
    random = np.random.default_rng(0)
    start = tp.Sinusoids.document("puma560")(0.0)[0] + random.uniform(-0.1, 0.1, (count, arm.n))
    return (tp.RigidPlant(arm), controller, tp.Sinusoids.document("puma560")), {"initial": start}


def agreement(law: str) -> float:
    """Return the largest difference of positions, torques and estimates from the CPU's over a second, relative to the largest."""
    args, options = setting(law, 64)
    links = tp.load("puma560").parameters.values * np.random.default_rng(1).uniform(1 - SPREAD, 1 + SPREAD, (64, 1))
    batches = [
        tp.simulate_many(*args, duration=1.0, every=10, links=links, device=d, **options) for d in ("cpu", "cuda")
    ]
    worst = 0.0
    for name in ("q", "qd", "tau", "parameters"):
        here, there = (getattr(b, name) for b in batches)
        if here is not None and np.size(here):
            worst = max(worst, float(np.abs(here - there).max() / max(1.0, np.abs(here).max())))
    return worst


class TimedDevice(CudaDevice):
    """The GPU, with a clock of its own: `seconds` that kernels ran, and the `registers` and spilled bytes of the last."""

    seconds = 0.0
    registers = (0, 0)

    def function(self, source: str, name: str) -> Callable[[int, Sequence[Any]], None]:
        """Return the kernel, timed by events of the device."""
        import cupy

        launch = super().function(source, name)
        kernel = self._kernels[source, name]
        self.registers = (kernel.num_regs, kernel.local_size_bytes)

        def timed(count: int, arguments: Sequence[Any]) -> None:
            start, stop = cupy.cuda.Event(), cupy.cuda.Event()
            start.record()
            launch(count, arguments)
            stop.record()
            stop.synchronize()
            self.seconds += cupy.cuda.get_elapsed_time(start, stop) / 1e3

        return timed


def timed(law: str, count: int, device: str = "cuda", tries: int = 3) -> tuple[float, float, tuple[int, int]]:
    """Return ns of a control period of one roll-out inside the kernel, seconds of the whole call, and the kernel's registers."""
    args, options = setting(law, count)
    gpu = TimedDevice() if device == "cuda" else None
    simulate._gpu = lambda: gpu
    periods, kernels, calls = max(200, min(2000, (1 << 27) // count)) if gpu else 200, [], []
    for _ in range(tries + 1):  # the first compiles
        start, before = time.perf_counter(), gpu.seconds if gpu else 0.0
        tp.ensembles.simulate_summary(*args, duration=periods / 1000, device=device, **options)
        calls.append(time.perf_counter() - start)
        kernels.append(gpu.seconds - before if gpu else calls[-1])
    return 1e9 * min(kernels[1:]) / ((periods + 1) * count), min(calls[1:]), gpu.registers if gpu else (0, 0)


def main() -> None:
    """Check, time and print."""
    import cupy

    print(f"Device: {cupy.cuda.runtime.getDeviceProperties(0)['name'].decode()}; CuPy {cupy.__version__}.\n")
    laws = ("computed torque", "Slotine-Li")
    for law in laws:
        print(f"Largest difference from the CPU over a second, {law}: {agreement(law):.1e}.", flush=True)
    print(
        "\n| law | roll-outs | registers + bytes spilled | ns per period | simulated seconds per second | whole call, s |"
    )
    print("|---|---|---|---|---|---|")
    for law in laws:
        for count in ROLL_OUTS:
            ns, call, (registers, spilled) = timed(law, count)
            print(
                f"| {law} | {count} | {registers} + {spilled} | {ns:.3f} | {1e6 / ns:,.0f} | {call:.2f} |", flush=True
            )
        ns, call, _ = timed(law, 1 << 12, "cpu")
        print(f"| {law}, all cores of the CPU | {1 << 12} | | {ns:.1f} | {1e6 / ns:,.0f} | {call:.2f} |", flush=True)


if __name__ == "__main__":
    main()
