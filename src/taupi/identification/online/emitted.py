"""Components that run beside a robot as C for a real-time loop, with a harness that compares them with Python."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from taupi.errors import Argument, TaupiError, shown
from taupi.identification.online.component import Component
from taupi.program.emit import emit, write_sources
from taupi.program.emitters.c_package import STEP_SECONDS, STEPS


def emit_component(
    component: Component,
    directory: str | os.PathLike[str],
    language: str = "c",
    name: str | None = None,
    force: bool = False,
) -> list[Path]:
    """Write an observer, a detector, a tracker or a recursive estimator as source into a `directory`, and return the paths.

    `component` is what `taupi.momentum_observer(...)`, its `calibrated(...)`, `fit.tracker()` or
    `fit.recursive_estimator()` returned. `language` "c": a struct with its state, `<name>_init` and
    `<name>_update(c, signals..., dt, results...)`, the pure step behind it, a README.md and a harness that compares 20 steps with
    Python's. Other languages of `emit` get that step alone. `name` is that of functions and files, by default what it is:
    "observer", "tracker", ... `force` overwrites existing files.

    >>> import tempfile, taupi as tp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [p.name for p in tp.emit_component(tp.momentum_observer(tp.load("elbow2r")), folder, name="arm")]
    ['arm.c', 'arm.h', 'arm_observer.h', 'arm_observer.c', 'test_arm.c', 'README.md']
    """
    if not isinstance(component, Component):
        raise TaupiError(
            Argument("component"),
            f" is {shown(component)}, expected what taupi.momentum_observer(...) or fit.tracker() returned.",
        )
    chosen = component.name if name is None else name
    if language != "c":
        return emit(component.program(), language, directory, chosen, force=force)
    return write_sources(component_files(component, chosen), directory, force)


def component_files(component: Component, name: str) -> dict[str, str]:
    """Return the texts of a component in C by their file names."""
    return component.package(name).files(*_harness(component), STEP_SECONDS)


def _harness(component: Component) -> tuple[np.ndarray, np.ndarray]:
    """Return the samples of the harness, and results and state after each of its steps: a smooth motion, and a torque."""
    n, names = component.robot.n, component.signals
    rng = np.random.default_rng(0)
    phase, size = rng.uniform(0, 6, n), rng.uniform(0.3, 1.0, n)
    k = np.arange(STEPS)[:, None]
    motion = {
        "q": 0.5 + 0.2 * size * np.sin(0.3 * k + phase),
        "qd": size * np.cos(0.3 * k + phase),
        "qdd": -2.0 * size * np.sin(0.3 * k + phase),
        "tau": 5.0 * size * np.cos(0.1 * k + phase) + rng.uniform(-1, 1, (STEPS, n)),
    }
    samples = [np.round(motion[name], 6) for name in names]
    results = component.over(np.full(STEPS, STEP_SECONDS), samples)
    outputs = [results[name] for name in component.results]
    return np.concatenate(samples, axis=1), np.concatenate([*outputs, results["state"]], axis=1)
