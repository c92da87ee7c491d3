"""What a Functional Mock-up Unit is made of: variables by value reference, and the C that computes with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files as package_files

import casadi as cs
import numpy as np

from taupi.checks import positive
from taupi.control.emitted_controller import guard_of, guarded_step, policy_words
from taupi.control.law import Law
from taupi.dynamics.chain import neutral
from taupi.dynamics.types import ArrayLike, Vector
from taupi.errors import Argument, TaupiError
from taupi.identification.commands.stretches import supply
from taupi.identification.online.component import Component
from taupi.model.robot import Robot
from taupi.program.emitters.c import files
from taupi.program.emitters.dialect import safe
from taupi.program.guard import MOST_RESULT, guarded
from taupi.program.ports import Port
from taupi.program.program import Program, trace
from taupi.program.transformations import pushforward
from taupi.simulation.plants.driven_plant import DrivenPlant
from taupi.simulation.plants.plant import ArmPlant

# Names of inputs that are the state of a plant or a law.
_STATES = ("x", "pi_hat")
# Longest internal steps (s) of plants in co-simulation; springs are faster than arms.
_RIGID_STEP, _ELASTIC_STEP = 1e-3, 1e-4
# So many commands can be on their way to a driven robot as there are communication points this close (s) in its delay, but no
# more than a few MB hold. The longest time between two of them is this long (s), and has no more steps than C counts.
_SHORTEST, _MOST_KEPT, _LONGEST_COMMAND, _MOST_STEPS = 1e-5, 20_000, 1e3, 2e9
# Units of positions, velocities and forces, of revolute and prismatic joints, as FMI writes them.
_UNITS = {
    "position": ("rad", "m"),
    "velocity": ("rad/s", "m/s"),
    "acceleration": ("rad/s2", "m/s2"),
    "force": ("N.m", "N"),
}
_KINDS = {
    "q": "position",
    "theta": "position",
    "q_des": "position",
    "qd": "velocity",
    "thetad": "velocity",
    "qd_des": "velocity",
    "qdd": "acceleration",
    "qdd_des": "acceleration",
    "tau": "force",
    "tau_dist": "force",
    "tau_ext": "force",
    "tau_ff": "force",
}


@dataclass(frozen=True)
class Variable:
    """A number that a unit shares with others: its `name`, its `unit` or None, and its value at the `start`."""

    name: str
    unit: str | None = None
    start: float = 0.0


_STATUS = Variable("status")  # as taupi.program.guard.StepStatus counts


@dataclass(frozen=True)
class UnitModel:
    """A model behind a unit.

    Attributes:
        title: What it is, in a few words.
        inputs: Its inputs.
        states: What it integrates; rates of all of them are known, so that an external solver can integrate them.
        outputs: What it returns besides its states.
        states_are_outputs: Whether its states are outputs as well.
        sampled: Whether outputs change only at steps; otherwise they follow inputs and states at once.
        step: The longest internal step (s) of a model that integrates itself, or None.
        texts: C files by name, which `evaluate` and `advance` call.
        includes: Headers that these two need.
        policy: What it accepts, and its limits, in words.
        memory: The C type of what it remembers besides its states, and how it is initialised; empty if there is nothing.
        evaluate: C that fills rates and outputs from inputs and states.
        advance: C that advances states and outputs by `h` seconds.
        tangent: C that fills changes of rates and outputs from changes of inputs and states, both in `d`; empty if there is none.
    """

    title: str
    inputs: tuple[Variable, ...]
    states: tuple[Variable, ...]
    outputs: tuple[Variable, ...]
    states_are_outputs: bool
    sampled: bool
    step: float | None
    texts: Mapping[str, str]
    includes: tuple[str, ...]
    evaluate: str
    advance: str
    tangent: str = ""
    memory: tuple[str, str] = ("", "")
    policy: str = ""


@dataclass(frozen=True, eq=False)
class LoopLimits:
    """What a law in a unit keeps to; the arguments are as in `taupi.emit_controller`."""

    rate: float
    effort_limits: ArrayLike | None
    longest_gap: float


def unit_model(subject: object, name: str, step: float | None, limits: LoopLimits) -> UnitModel:
    """Return the model of a plant, a control law or a component, with C functions whose names begin with `name`."""
    if isinstance(subject, ArmPlant):
        return _plant(subject, name, step)
    if isinstance(subject, DrivenPlant):
        return _driven(subject, step)
    if step is not None:
        raise TaupiError(
            "{step} is {other_step:g}, but only a plant integrates by itself: leave it out.", other_step=step
        )
    if isinstance(subject, Law):
        return _law(subject, name, limits)
    if isinstance(subject, Component):
        return _component(subject, name)
    raise TaupiError(
        "{subject} is {got}, expected a plant, a control law, or what runs beside a robot.",
        remedy="Use taupi.RigidPlant(robot), for instance.",
        got=type(subject).__name__,
    )


# Plants -------------------------------------------------------------------------------------------------------------------


# Settings of a plant that are not part of dx/dt = f(x, u), and their values if they are not used.
_EVENTS: dict[str, object] = {"rate_limits": None, "delay": 0, "payloads": (), "stiction": False}


def _plant(plant: ArmPlant, name: str, step: float | None) -> UnitModel:
    for setting, unused in _EVENTS.items():
        value = getattr(plant, setting)
        if isinstance(value, np.ndarray) or value != unused:
            raise TaupiError(
                "{argument} of the plant has no place in a unit, whose equations are dx/dt = f(x, u): leave it out.",
                argument=Argument(setting),
            )
    robot, program = plant.robot, _rates(plant)
    # At rest at zero: springs bear the weight, quaternions are the identity.
    labels, start = program.outputs[0].labels, np.concatenate(plant.started(neutral(robot), np.zeros(robot.n)))
    tangent, changes = _tangent(program, name)
    elastic = bool(plant.motors)
    return UnitModel(
        title=f"{'elastic' if elastic else 'rigid'} plant of {robot.name}",
        inputs=_scalars(robot, program.inputs[1:]),
        states=tuple(
            Variable(label, _unit(robot, *label.split(".", 1)), float(v))
            for label, v in zip(labels, start, strict=True)
        ),
        outputs=(),
        states_are_outputs=True,
        sampled=False,
        step=step if step is not None else _ELASTIC_STEP if elastic else _RIGID_STEP,
        texts=files(program, f"{name}_rates") | tangent,
        includes=(f"{name}_rates.h", f"{name}_tangent.h"),
        evaluate=f"    {name}_rates({_arguments(program.inputs)}, v + FIRST_RATE);",
        advance="    runge_kutta(m, h);",
        tangent=f"    {name}_tangent({changes}, d + FIRST_RATE);",
    )


def _rates(plant: ArmPlant) -> Program:
    """Return dx/dt of (x, tau, ...), with the torque cut off at its limits."""
    robot, positions, limits = plant.robot, plant.positions, plant.torque_limits

    def body(x: Vector, tau: Vector, *externals: Vector) -> Vector:
        if limits is not None:
            tau = cs.fmin(cs.fmax(tau, -cs.DM(limits)), cs.DM(limits))
        acceleration = plant.flow(x, tau, *externals)[0]
        return cs.vertcat(plant.position_rate(x[:positions], x[positions:]), acceleration)

    labels = _state_names(plant)
    outputs = [Port("rates", (len(labels),), labels)]
    ports = [Port("x", (len(labels),), labels), Port("tau", (robot.n,), robot.joint_names), *plant.externals]
    return trace("rates", body, ports, outputs)


def _state_names(plant: ArmPlant) -> tuple[str, ...]:
    robot = plant.robot
    motors = [name for name, place in zip(robot.joint_names, plant.motors, strict=False) if place >= robot.n]
    names = [f"q.{n}" for n in robot.position_names] + [f"theta.{n}" for n in motors]
    return tuple(names + [f"qd.{n}" for n in robot.joint_names] + [f"thetad.{n}" for n in motors])


# A robot with its drives ---------------------------------------------------------------------------------------------------

_DRIVEN_HEADER = """/* {title}: what is remembered between communication points. Written by taupi. */
#ifndef TAUPI_DRIVEN_H
#define TAUPI_DRIVEN_H

/* SIZE numbers are passed from step to step; KEPT commands can be on their way. RATE (Hz) is that of a law on the host, or 0. */
enum {{ JOINTS = {joints}, SIZE = {size}, KEPT = {kept} }};
#define DELAY {delay!r}
#define LONGEST {longest!r}
#define LONGEST_GAP {gap!r}
#define RATE {rate!r}
#define MOST {most!r}

typedef struct {{
    double x[SIZE];
    double time;      /* s, since the start */
    double period;    /* of the host, counted from the start */
    int first, count; /* of the commands that are kept */
}} DrivenState;

typedef struct {{
    DrivenState now;
    double from[KEPT];
    double command[KEPT][3 * JOINTS]; /* position, velocity, torque */
}} Driven;

void driven_start(Driven *m);
/* Go on by dt s; qd_des and volts are 0 where the law has no use for them. Return 0 if the sample is good, 2 if an input is
 * impossible, 3 if dt is, 4 if a result is not finite. */
double driven_update(Driven *m, const double *q_des, const double *qd_des, const double *tau_ff, const double *enabled,
                     const double *volts, double dt, double *q, double *qd, double *tau);

#endif
"""


def _driven(plant: DrivenPlant, step: float | None) -> UnitModel:
    robot, drive, delay = plant.robot, plant.drive, plant.delay
    n = robot.n
    if delay < 0:
        raise TaupiError(
            "The {delay} of the plant is {got:g} s: a unit does not know commands before they are sent.",
            remedy="State one of 0 or more in its {values}, or shift the commands of the log.",
            got=delay,
        )
    if drive.hold == "linear":
        raise TaupiError(
            "{argument} is {got!r}: a unit holds each command until the next, and does not know where it goes.",
            argument=Argument("drive.hold"),
            got=drive.hold,
        )
    longest = float(plant.step if step is None else positive("step", step))
    gap, kept = min(_LONGEST_COMMAND, _MOST_STEPS * longest), min(int(delay / _SHORTEST), _MOST_KEPT) + 8
    program = plant.step_program()
    names = robot.joint_names
    starts = {"q_des": np.zeros(n), "tau_ff": np.zeros(n), "enabled": np.ones(n)}
    starts |= {} if drive.kd_acts_on == "velocity" else {"qd_des": np.zeros(n)}
    starts |= {"volts": supply(drive, n)} if drive.law == "duty" else {}
    inputs = [
        replace(variable, start=float(value))
        for name, values in starts.items()
        for variable, value in zip(_scalars(robot, [Port(name, (n,), names)]), values, strict=True)
    ]
    places = {name: f"v + FIRST_INPUT + {k * n}" for k, name in enumerate(starts)}
    arguments = [places.get(name, "0") for name in ("q_des", "qd_des", "tau_ff", "enabled", "volts")]
    arguments += ["h", *(f"v + FIRST_OUTPUT + {k * n}" for k in range(3))]
    moving = "with the first velocity" if "qd_des" in starts else "at rest"
    title = f"{robot.name}, driven by commands"
    header = _DRIVEN_HEADER.format(
        title=safe(title),
        joints=n,
        size=program.inputs[0].size,
        kept=kept,
        delay=delay,
        longest=longest,
        gap=gap,
        rate=float(drive.rate_hz or 0),
        most=MOST_RESULT,
    )
    text = package_files("taupi.bridges.fmi").joinpath("c").joinpath("driven.c").read_text(encoding="utf-8")
    return UnitModel(
        title=title,
        inputs=tuple(inputs),
        states=(),
        outputs=(*_scalars(robot, [Port(k, (n,), names) for k in ("q", "qd", "tau")]), _STATUS),
        states_are_outputs=False,
        sampled=True,
        step=None,
        texts=files(program, "driven_step") | {"driven.h": header, "driven.c": text},
        includes=("driven.h",),
        memory=("Driven", "driven_start(&m->memory);"),
        evaluate="    (void)v;",
        advance=f"    v[FIRST_OUTPUT + {3 * n}] = driven_update(&m->memory, {', '.join(arguments)});",
        policy=(
            f"It starts at the first position that is commanded, {moving}. Each command holds until the next, and arrives "
            f"{delay:g} s later. A step is refused, and nothing moves, if an input is not finite, or if h is not above 0 and at "
            f"most {gap:g} s. Nor does anything move any more once {kept} different commands are on their way, which is all that "
            "is remembered. The status says why: 0 good, 2 impossible input, 3 impossible h, 4 a result that is not finite."
        ),
    )


# Control laws, and what runs beside a robot -------------------------------------------------------------------------------


def _law(law: Law, name: str, limits: LoopLimits) -> UnitModel:
    guard = guard_of(law, limits.effort_limits, limits.longest_gap, rate=limits.rate)
    signals_of = [port.name for port in law.ports()[:5]]
    rates, step = guarded(law.program(), guard, signals_of), guarded_step(law, guard)
    start = law.first_state().vector
    described = [*law.parameters.names, *(f"memory{k + 1}" for k in range(law.size - len(law.parameters)))]
    states = tuple(Variable(f"pi_hat.{label}", None, float(v)) for label, v in zip(described, start, strict=True))
    signals = _arguments(rates.inputs[:5])
    tangent, changes = _tangent(rates, name)
    status = f"FIRST_OUTPUT + {law.robot.n}"
    return UnitModel(
        title=f"{law.name.replace('_', ' ')} of {law.robot.name}",
        inputs=_scalars(law.robot, rates.inputs[:5]),
        states=states,
        outputs=(*_scalars(law.robot, rates.outputs[:1]), _STATUS),
        states_are_outputs=False,
        sampled=False,
        step=None,
        texts=files(rates, f"{name}_rates") | files(step, f"{name}_step") | tangent,
        includes=(f"{name}_rates.h", f"{name}_step.h", f"{name}_tangent.h"),
        evaluate=f"    {name}_rates({signals}, v + FIRST_STATE, v + FIRST_OUTPUT, v + FIRST_RATE, v + {status});",
        advance=(
            "    double next[STATES + 1];\n"
            f"    {name}_step({signals}, v + FIRST_STATE, &h, v + FIRST_OUTPUT, next, v + {status});\n"
            "    memcpy(v + FIRST_STATE, next, STATES * sizeof(double));"
        ),
        tangent=f"    {name}_tangent({changes}, d + FIRST_OUTPUT, d + FIRST_RATE, d + {status});",
        policy=" ".join(policy_words(law, guard, limits.rate)),
    )


def _component(component: Component, name: str) -> UnitModel:
    package = component.package(name)
    kind = f"{name}_{package.kind}"
    places = np.cumsum([0, *(p.size for p in package.outputs)]).tolist()
    results = ", ".join(f"v + FIRST_OUTPUT + {place}" for place in places[:-1])
    # One empty sample, for a harness that is not used.
    inputs, results_size = (sum(p.size for p in ports) for ports in (package.inputs, package.outputs))
    texts = package.files(np.zeros((1, inputs)), np.zeros((1, results_size + len(package.start))), 1.0)
    own = {k: text for k, text in texts.items() if not k.startswith("test_") and k.endswith((".c", ".h"))}
    return UnitModel(
        title=f"{component.title} of {component.robot.name}",
        inputs=_scalars(component.robot, package.inputs),
        states=(),
        outputs=(*_scalars(component.robot, package.outputs), _STATUS),
        states_are_outputs=False,
        sampled=True,
        step=None,
        texts=own,
        includes=(f"{kind}.h",),
        memory=(kind, f"{name}_init(&m->memory);"),
        evaluate="    (void)v;",
        advance=(
            f"    v[FIRST_OUTPUT + {places[-1]}] = {name}_update(&m->memory, {_arguments(package.inputs)}, h, {results});"
        ),
        policy=" ".join(package.policy),
    )


# Ports as variables -------------------------------------------------------------------------------------------------------


def _tangent(program: Program, name: str) -> tuple[dict[str, str], str]:
    """Return the C of the derivative of rates along changes of all inputs, and its arguments: values, then changes."""
    changed = pushforward(program, range(len(program.inputs)))
    return files(changed, f"{name}_tangent"), f"{_arguments(program.inputs)}, {_arguments(program.inputs, 'd')}"


def _arguments(ports: Sequence[Port], values: str = "v") -> str:
    """Return where each of the ports lies among the `values`: the state, then the inputs in sequence."""
    texts, place = [], 0
    for port in ports:
        if port.name in _STATES:
            texts.append(f"{values} + FIRST_STATE")
        else:
            texts.append(f"{values} + FIRST_INPUT + {place}")
            place += port.size
    return ", ".join(texts)


def _scalars(robot: Robot, ports: Sequence[Port]) -> tuple[Variable, ...]:
    """Return a variable per entry of each port, named after its label: `tau.elbow`."""
    result = []
    for port in ports:
        labels = port.labels or robot.joint_names
        if len(labels) != port.size:
            labels = tuple(str(k + 1) for k in range(port.size))
        result += [Variable(f"{port.name}.{label}", _unit(robot, port.name, label)) for label in labels]
    return tuple(result)


def _unit(robot: Robot, kind: str, joint: str) -> str | None:
    """Return the unit of a signal of a joint, or None for what has none or is not a joint's."""
    if kind not in _KINDS or joint not in robot.joint_names:
        return None
    return _UNITS[_KINDS[kind]][robot.slides[robot.joint_names.index(joint)]]
