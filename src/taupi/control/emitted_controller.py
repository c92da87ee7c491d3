"""A control law as C for a real-time loop: a struct with its state, a step, a README, and a harness that tests it."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from taupi.control.law import Law
from taupi.errors import Argument, TaupiError
from taupi.program.emit import emit, write_sources
from taupi.program.emitters.c_package import STEP_SECONDS, STEPS, Package
from taupi.program.emitters.dialect import page_text
from taupi.program.port import Port


def emit_controller(
    law: Law,
    directory: str | os.PathLike[str],
    language: str = "c",
    name: str | None = None,
    force: bool = False,
) -> list[Path]:
    """Write a control `law` as source that a real-time loop calls into a `directory`, and return the paths.

    `language` "c": a struct with the law's state, `<name>_init` and `<name>_update(c, q, qd, q_des, qd_des, qdd_des, dt, tau)`,
    the pure step behind it (`law.step_program()`), a README.md and a harness that compares 20 steps with Python's. Other
    languages of `emit` get only that step. `name` is the name of functions and files, by default the law's. `force` overwrites
    existing files.

    >>> import tempfile, taupi as tp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [p.name for p in tp.emit_controller(tp.PDGravity(tp.load("elbow2r")), folder, name="arm")]
    ['arm.c', 'arm.h', 'arm_controller.h', 'arm_controller.c', 'test_arm.c', 'README.md']
    """
    if not isinstance(law, Law):
        raise TaupiError(
            Argument("law"), f" is {type(law).__name__}, expected a control law such as taupi.SlotineLi(robot)."
        )
    program = law.step_program()
    chosen = law.name if name is None else name
    if language != "c":
        return emit(program, language, directory, chosen, force=force)
    return write_sources(controller_files(law, chosen), directory, force)


def controller_files(law: Law, name: str) -> dict[str, str]:
    """Return the texts of the controller in C by their file names."""
    title = law.name.replace("_", " ")
    n, p = law.robot.n, len(law.parameters)
    package = Package(
        name=name,
        kind="controller",
        title=f"{title} of {law.robot.name}",
        sentence=(
            f"The control law `{title}` of `{page_text(law.robot.name)}` as C99, written by taupi. It takes the measured and "
            "the wanted motion, returns the torque, and integrates its own estimate:"
        ),
        joints=n,
        inputs=law.ports()[:5],
        outputs=[Port("tau", (n,))],
        results=f"tau: {n} torques (N m) or forces (N) to hold until the next call.",
        state_words="c.state: the estimate in this order, then what else the law integrates:",
        described=_described(law),
        start=_start(law),
        begins="the estimate starts at the robot's own parameters; or write c.state yourself",
        programs={name: (law.step_program(), "one step as a pure function of its arguments; no state")},
        costs=f"The step costs {law.step_program().operations!r}.",
        sizes={"parameters": p},
    )
    return package.files(*_harness(law), STEP_SECONDS)


def _described(law: Law) -> list[str]:
    pairs = zip(law.parameters.names, law.parameters.units, strict=True)
    return [f"{n}, {u}" for n, u in pairs]


def _start(law: Law) -> np.ndarray:
    """Return the state that the controller starts with: the robot's parameters, made physical if the law needs it."""
    real = getattr(law, "real", None)
    return law.init(real(None) if real is not None else None).vector


def _harness(law: Law) -> tuple[np.ndarray, np.ndarray]:
    """Return the states of the harness, and torque and state after each of its steps."""
    rng = np.random.default_rng(0)
    ports = law.ports()[:5]
    low = [0.5, *[-0.5] * 4]  # bent joints: a stretched arm is singular for a task
    states = [
        [np.round(rng.uniform(a, a + 1, p.shape), 6) for a, p in zip(low, ports, strict=True)] for _ in range(STEPS)
    ]
    vector = _start(law)
    results = []
    for state in states:
        q, qd, *wanted = state
        tau, after = law.step(law.init(vector), q, qd, wanted[0], wanted[1], wanted[2], STEP_SECONDS)
        vector = after.vector
        results.append(np.concatenate([tau, vector]))
    return np.array([np.concatenate(s) for s in states]), np.array(results)
