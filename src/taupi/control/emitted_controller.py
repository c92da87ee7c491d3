"""A control law as C for a real-time loop: a struct with its state, a step, a README, and a harness that tests it."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np

from taupi.checks import positive, real_array
from taupi.control.gains import RATE, check_gains, couples
from taupi.control.law import Law
from taupi.dynamics.possible_samples import possible_signals, stated_efforts
from taupi.dynamics.types import ArrayLike
from taupi.errors import TaupiError
from taupi.program.emit import emit, write_sources
from taupi.program.emitters.c_package import STEP_SECONDS, STEPS, Package
from taupi.program.emitters.dialect import page_text
from taupi.program.guard import Guard, guarded, largest_like
from taupi.program.ports import Port
from taupi.program.program import Program

LONGEST_GAP = 0.1  # s, between two samples of a loop
_MOST_GAIN = 10.0  # times the law's own, where a gain is an argument


def emit_controller(
    law: Law,
    directory: str | os.PathLike[str],
    language: str = "c",
    name: str | None = None,
    force: bool = False,
    rate: float = RATE,
    effort_limits: ArrayLike | None = None,
    longest_gap: float = LONGEST_GAP,
    arguments: Sequence[str] = (),
) -> list[Path]:
    """Write a control law as source that a real-time loop calls, and return the paths.

    In C that is a struct with the law's state, `<name>_init` and `<name>_update(c, q, qd, q_des, qd_des, qdd_des, dt, tau)`,
    which returns a status, the pure step behind it, a README.md and a harness that compares 20 steps with Python's. The step is
    `law.step_program()`, which refuses what cannot be a sample and saturates: see the page on emitted code that fails safe.

    Args:
        law: The law. If its gains are too high for the loop, by its own model of the robot, it is refused.
        directory: Where the files go.
        language: "c" (the default); other languages of `emit` get only the pure step.
        name: Name of functions and files, by default the law's.
        force: Whether existing files are overwritten, by default not.
        rate: Rate of the loop that will call it, Hz; by default 1000.
        effort_limits: Torques (n,) or one for all, N m or N, at which it saturates; by default the limits that the
            description states, if any.
        longest_gap: The longest time between two samples, s; a longer one is refused. 0.1 by default.
        arguments: Gains that are arguments of the step after qdd_des instead of constants, such as ["K"]; by default none. Each
            stays between zero, unless it is a matrix, and ten times the law's own.

    Returns:
        The paths of the files.

    >>> import tempfile, taupi as tp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [p.name for p in tp.emit_controller(tp.PDGravity(tp.load("elbow2r")), folder, name="arm")]
    ['arm.c', 'arm.h', 'arm_controller.h', 'arm_controller.c', 'test_arm.c', 'README.md']
    """
    if not isinstance(law, Law):
        raise TaupiError(
            "{law} is {got}, expected a control law such as taupi.SlotineLi(robot).", got=type(law).__name__
        )
    check_gains(law, positive("rate", rate))
    guard = guard_of(law, effort_limits, longest_gap, arguments, rate)
    chosen = law.name if name is None else name
    if language != "c":
        return emit(guarded_step(law, guard, arguments), language, directory, chosen, force=force)
    return write_sources(controller_files(law, chosen, guard, rate, arguments), directory, force)


def guard_of(
    law: Law,
    effort_limits: ArrayLike | None = None,
    longest_gap: float = LONGEST_GAP,
    arguments: Sequence[str] = (),
    rate: float = RATE,
) -> Guard:
    """Return the limits that emitted code of a law keeps; the arguments are as in `emit_controller`."""
    robot, start, p = law.robot, law.first_state().vector, len(law.parameters)
    efforts = stated_efforts(robot) if effort_limits is None else real_array("effort_limits", effort_limits)
    if efforts.shape not in ((), (robot.n,)) or not (efforts > 0).all():
        raise TaupiError(
            "{effort_limits} is {got!r}, expected a number above 0, or one per joint ({n}).",
            got=effort_limits,
            n=robot.n,
        )
    efforts = np.broadcast_to(efforts, (robot.n,))
    most = np.full(len(start), np.inf)
    most[:p] = largest_like(start[:p], law.parameters.units)
    gains = {port.name: law.gain_named(port.name) for port in law.gain_ports(arguments)}
    possible = possible_signals(robot, law.ports()[:5])
    possible |= {name: _MOST_GAIN * (np.abs(gain).ravel() + (gain == 0).ravel()) for name, gain in gains.items()}
    single = [name for name, gain in gains.items() if not couples(gain)]
    gap = positive("longest_gap", longest_gap)
    if gap * positive("rate", rate) <= 1:
        raise TaupiError(
            "{longest_gap} is {gap:.4g} s, but samples are {period:.4g} s apart at {rate:g} Hz: all of them would be refused.",
            remedy="Give a longer {longest_gap}.",
            gap=gap,
            period=1 / rate,
            rate=rate,
        )
    return Guard(possible, gap, -most, most, efforts, positive=single)


def guarded_step(law: Law, guard: Guard, arguments: Sequence[str] = ()) -> Program:
    """Return `law.step_program()` within the limits of a guard."""
    signals = [port.name for port in law.signal_ports(arguments)]
    return guarded(law.step_program(arguments), guard, signals, "pi_hat")


def controller_files(
    law: Law, name: str, guard: Guard | None = None, rate: float = RATE, arguments: Sequence[str] = ()
) -> dict[str, str]:
    """Return the texts of the controller in C by their file names, with the limits of its description by default."""
    guard = guard_of(law, arguments=arguments, rate=rate) if guard is None else guard
    program = guarded_step(law, guard, arguments)
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
        inputs=law.signal_ports(arguments),
        outputs=[Port("tau", (n,))],
        results=f"tau: {n} torques (N m) or forces (N) to hold until the next call.",
        state_words="c.state: the estimate in this order, then what else the law integrates:",
        described=[f"{n}, {u}" for n, u in zip(law.parameters.names, law.parameters.units, strict=True)],
        start=law.first_state().vector,
        begins="the estimate starts at the robot's own parameters; or write c.state yourself",
        programs={name: (program, "one step as a pure function of its arguments; no state")},
        costs=f"The step costs {program.operations!r}.",
        sizes={"parameters": p},
        policy=policy_words(law, guard, rate, arguments),
    )
    return package.files(*_harness(law, program, arguments), STEP_SECONDS)


def policy_words(law: Law, guard: Guard, rate: float, arguments: Sequence[str] = ()) -> list[str]:
    """Return in sentences what a step accepts, and what a user of its torque has to know: gravity, gains, and the rate.

    `rate`, Hz, is the one that the gains were checked for; `arguments` are gains that are not constants.
    """
    gravity = ", ".join(f"{float(v):g}" if isinstance(v, Fraction) else str(v) for v in law.robot.gravity)
    gains = [
        f"{field.name} = {_shown(value)}"
        for field in dataclasses.fields(law)
        if isinstance(value := getattr(law, field.name), float | np.ndarray)
    ]
    return [
        *guard.words(),
        f"The torque includes that against gravity, ({gravity}) m/s^2 in the axes of the base: do not add it again.",
        f"Gains: {', '.join(gains) or 'none'}; checked for a loop at {rate:g} Hz.",
        *([f"Arguments of the step: {', '.join(arguments)}; those gains are your choice."] if arguments else []),
    ]


def _shown(value: float | np.ndarray) -> str:
    """Return a gain in words: a number, or the largest and the smallest of the diagonal."""
    array = np.asarray(value, dtype=float)
    numbers = np.diag(array) if array.ndim == 2 and array.shape[0] == array.shape[1] else array.ravel()
    if not len(numbers):
        return "none"
    low, high = numbers.min(), numbers.max()
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"


def _harness(law: Law, program: Program, arguments: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return the states of the harness, and torque and state after each of its steps."""
    rng = np.random.default_rng(0)
    ports = law.ports()[:5]
    low = [0.5, *[-0.5] * 4]  # bent joints: a stretched arm is singular for a task
    states = [
        [np.round(rng.uniform(a, a + 1, p.shape), 6) for a, p in zip(low, ports, strict=True)] for _ in range(STEPS)
    ]
    for state in states:  # each step has gains of its own
        own = (law.gain_named(port.name) for port in law.gain_ports(arguments))
        state += [np.round(rng.uniform(0.5, 1.5) * gain, 6) for gain in own]
    vector = law.first_state().vector
    results = []
    for state in states:
        tau, vector, _ = program(*state, vector, STEP_SECONDS)
        results.append(np.concatenate([tau, vector]))
    return np.array([np.concatenate([np.ravel(x) for x in s]) for s in states]), np.array(results)
