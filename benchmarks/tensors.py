"""Programs inside JAX and PyTorch beside adam-robotics: values and gradients of a loss over a batch, on one core.

Everything runs in one process of its own that may use one core: XLA reads its settings when it is first imported.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pages import ratio

SAMPLES = 10_000
ONE_CORE = "--xla_cpu_multi_thread_eigen=false"


def measure(short: bool) -> dict[str, Any]:
    """Return the times in seconds, by what is computed and by who computes it; peers that are not installed are missing."""
    if find_spec("jax") is None:
        return {}
    command = [sys.executable, __file__, *(["--short"] if short else [])]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ | {"XLA_FLAGS": ONE_CORE})
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def section(results: dict[str, Any], table: Callable[..., list[str]]) -> list[str]:
    """Return the section of the page."""
    lines = ["## Inside JAX and PyTorch", ""]
    if not results:
        return [*lines, "JAX is not installed."]
    theirs = "adam" in results["times"]["tau"]
    rows = []
    for name, row in results["times"].items():
        cells = [f"{row[k] * 1e3:.2f}" if k in row else "-" for k in ("jax", "callback", "torch", "adam")]
        rows.append([name, *cells, ratio(row["adam"], row["jax"]) if "adam" in row else "-"])
    versions = ", ".join(f"{name} {version}" for name, version in results["versions"].items())
    lines += [
        f"The Panda, {SAMPLES} samples in float64, one core, milliseconds per call; `jit` has compiled what JAX runs. The loss",
        "is the mean square of τ less a measured torque. Its gradient is by q, q̇ and q̈ of every sample, or by the 70 of π.",
        f"Versions: {versions}. adam-robotics has no inverse dynamics, so that its τ is M q̈ plus its bias force, as its users",
        "write it, and no regressor.",
        "",
    ]
    heading = ["", "JAX", "the same by `pure_callback`", "PyTorch", "adam-robotics in JAX", "ratio"]
    lines += table(heading, rows)
    built = results["compile"]
    lines += [
        "",
        f"Compiling value and gradient: ours {built['jax']:.2f} s"
        + (
            f", adam-robotics {built['adam']:.1f} s; both gradients agree to {results['difference']:.0e}."
            if theirs
            else "."
        ),
    ]
    return lines


# In the process of its own ------------------------------------------------------------------------------------------------


def best(run: Callable[[], object], repeats: int) -> float:
    """Return the shortest of several runs, in seconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def panda() -> tuple[Any, Path]:
    """Return the arm and its file."""
    import peers

    import taupi as tp

    path, lock = peers.ARMS["Panda"]
    return tp.Robot.from_urdf(path, lock=lock), path


def by_callback(program: Any) -> Callable[..., Any]:
    """Return a program in JAX the way that one would write it without a compiled kernel: by a callback into Python."""
    import jax
    import numpy as np

    shape = program.outputs[0].shape
    pulled = program.jax()._node.pullback((0, 1, 2), (0,)).program

    @jax.custom_vjp
    def function(*x: Any) -> Any:
        result = jax.ShapeDtypeStruct((*x[0].shape[:1], *shape), x[0].dtype)
        return jax.pure_callback(lambda *a: program(*map(np.asarray, a)), result, *x)

    def backward(x: Any, w: Any) -> Any:
        results = tuple(jax.ShapeDtypeStruct(a.shape, a.dtype) for a in x)
        return jax.pure_callback(lambda *a: pulled(*map(np.asarray, a)), results, *x, w)

    function.defvjp(lambda *x: (function(*x), x), backward)
    return function


def adam_functions(path: Path, joints: list[str]) -> dict[str, Callable[..., Any]]:
    """Return tau and M of adam-robotics for one sample, with the fingers fixed as ours are."""
    import jax.numpy as jnp

    with contextlib.redirect_stderr(io.StringIO()):
        from adam.jax import KinDynComputations

        text = path.read_text().replace('type="prismatic"', 'type="fixed"')  # its sliding joints fail in JAX
        model = KinDynComputations(text, joints, gravity=jnp.array([0, 0, -9.81, 0, 0, 0]))
    model.rbdalgos.math.factory._device = None  # current JAX refuses the device that it states inside of jit
    base, rest = jnp.eye(4), jnp.zeros(6)

    def mass(q: Any) -> Any:
        return model.mass_matrix(base, q)[6:, 6:]

    def torque(q: Any, qd: Any, qdd: Any) -> Any:
        return mass(q) @ qdd + model.bias_force(base, q, rest, qd)[6:]

    return {"tau": torque, "M": mass}


def in_torch(functions: dict[str, Any], arrays: Any, goal: Any, pi: Any, repeats: int) -> dict[str, float]:
    """Return seconds per call in PyTorch, by what is computed."""
    import torch

    torch.set_num_threads(1)
    x, goal = [torch.tensor(a) for a in arrays], torch.tensor(goal)
    pi = torch.tensor(pi, requires_grad=True)
    moving = [a.clone().requires_grad_() for a in x]

    def gradient(function: Any, inputs: Any, wanted: Any) -> None:
        torch.autograd.grad(((function(*inputs) - goal) ** 2).mean(), wanted)

    runs = {
        "tau": lambda: functions["tau"].torch()(*x),
        "M": lambda: functions["M"].torch()(x[0]),
        "Y": lambda: functions["Y"].torch()(*x),
        "loss and gradient by q, qd, qdd": lambda: gradient(functions["tau"].torch(), moving, moving),
        "loss and gradient by pi": lambda: gradient(functions["parametric"].torch(), [*x, pi], [pi]),
    }
    times = {}
    for name, run in runs.items():
        run()
        times[name] = best(run, repeats)
    return times


def main(short: bool) -> dict[str, Any]:
    """Measure and return everything."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    import jax
    import numpy as np

    import taupi as tp

    jax.config.update("jax_enable_x64", True)
    robot, path = panda()
    rng = np.random.default_rng(0)
    arrays, goal = rng.uniform(-1, 1, (3, SAMPLES, robot.n)), rng.normal(size=(SAMPLES, robot.n))
    x, pi = [jax.numpy.asarray(a) for a in arrays], robot.parameters.values
    functions = {"tau": tp.inverse_dynamics(robot), "M": tp.mass_matrix(robot), "Y": tp.regressor(robot)}
    functions["parametric"] = tp.parametric(tp.inverse_dynamics, robot)
    repeats, built, times = 3 if short else 15, {}, {}

    def timed(name: str, who: str, run: Callable[..., Any], *inputs: Any) -> Any:
        run = jax.jit(run)
        start = time.perf_counter()
        result = jax.block_until_ready(run(*inputs))
        if name.startswith("loss and gradient by q"):
            built[who] = time.perf_counter() - start
        times.setdefault(name, {})[who] = best(lambda: jax.block_until_ready(run(*inputs)), repeats)
        return result

    def loss(function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *a: ((function(*a) - goal) ** 2).mean()

    by_state = jax.value_and_grad
    timed("tau", "jax", functions["tau"].jax(), *x)
    timed("M", "jax", functions["M"].jax(), x[0])
    timed("Y", "jax", functions["Y"].jax(), *x)
    which = "loss and gradient by q, qd, qdd"
    ours = timed(which, "jax", by_state(loss(functions["tau"].jax()), (0, 1, 2)), *x)
    timed("tau", "callback", by_callback(functions["tau"]), *x)
    timed(which, "callback", by_state(loss(by_callback(functions["tau"])), (0, 1, 2)), *x)
    timed("loss and gradient by pi", "jax", by_state(lambda pi: loss(functions["parametric"].jax())(*x, pi)), pi)
    versions, difference = {"jax": jax.__version__}, None
    if find_spec("adam") is not None:
        from importlib.metadata import version

        adam = adam_functions(path, list(robot.joint_names))
        timed("tau", "adam", jax.vmap(adam["tau"]), *x)
        timed("M", "adam", jax.vmap(adam["M"]), x[0])
        theirs = timed(which, "adam", by_state(loss(jax.vmap(adam["tau"])), (0, 1, 2)), *x)
        difference = max(float(abs(a - b).max()) for a, b in zip(ours[1], theirs[1], strict=True))
        versions["adam-robotics"] = version("adam-robotics")
    if find_spec("torch") is not None:
        for name, seconds in in_torch(functions, arrays, goal, pi, repeats).items():
            times[name]["torch"] = seconds
    return {"times": times, "compile": built, "versions": versions, "difference": difference}


if __name__ == "__main__":
    print(json.dumps(main("--short" in sys.argv)))
