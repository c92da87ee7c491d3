"""What a Functional Mock-up Unit is made of: variables by value reference, and the C that computes with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as cs
import numpy as np

from taupi.control.law import Law
from taupi.dynamics.chain import neutral
from taupi.dynamics.types import Vector
from taupi.errors import Argument, TaupiError
from taupi.identification.online.component import Component
from taupi.model.robot import Robot
from taupi.program.emitters.c import files
from taupi.program.port import Port
from taupi.program.program import Program, trace
from taupi.program.transformations import pushforward
from taupi.simulation.plants.elastic_plant import ElasticPlant
from taupi.simulation.plants.plant import ArmPlant

# Names of inputs that are the state of a plant or a law.
_STATES = ("x", "pi_hat")
# Longest internal steps (s) of plants in co-simulation; springs are faster than arms.
_RIGID_STEP, _ELASTIC_STEP = 1e-3, 1e-4
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
}


@dataclass(frozen=True)
class Variable:
    """A number that a unit shares with others: its `name`, its `unit` or None, and its value at the `start`."""

    name: str
    unit: str | None = None
    start: float = 0.0


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
        memory: The C type of what it remembers besides its states, and how it is initialised; empty if there is nothing.
        evaluate: C that fills rates and outputs from inputs and states.
        advance: C that advances states and outputs by `h` seconds.
        tangent: C that fills changes of rates and outputs from those of inputs and states, both in `d`; empty if there is none.
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


def unit_model(subject: Any, name: str, step: float | None) -> UnitModel:
    """Return the model of a plant, a control law or a component, with C functions whose names begin with `name`."""
    if isinstance(subject, ArmPlant):
        return _plant(subject, name, step)
    if step is not None:
        raise TaupiError(Argument("step"), f" is {step:g}, but only a plant integrates by itself: leave it out.")
    if isinstance(subject, Law):
        return _law(subject, name)
    if isinstance(subject, Component):
        return _component(subject, name)
    message = f" is {type(subject).__name__}, expected a plant, a control law, or what runs beside a robot."
    raise TaupiError(Argument("subject"), message, remedy="Use taupi.RigidPlant(robot), for instance.")


# Plants -------------------------------------------------------------------------------------------------------------------


# Settings of a plant that are not part of dx/dt = f(x, u), and their values if they are not used.
_EVENTS: dict[str, Any] = {"rate_limits": None, "delay": 0, "payloads": (), "stiction": False}


def _plant(plant: ArmPlant, name: str, step: float | None) -> UnitModel:
    for setting, unused in _EVENTS.items():
        value = getattr(plant, setting, unused)
        if isinstance(value, np.ndarray) or value != unused:
            message = " of the plant has no place in a unit, whose equations are dx/dt = f(x, u): leave it out."
            raise TaupiError(Argument(setting), message)
    robot, program = plant.robot, _rates(plant)
    labels, start = program.outputs[0].labels, _start(plant)
    tangent, changes = _tangent(program, name)
    elastic = bool(robot.elastic_joints) and isinstance(plant, ElasticPlant)
    return UnitModel(
        title=f"{'elastic' if elastic else 'rigid'} plant of {robot.name}",
        inputs=_scalars(robot, program.inputs[1:]),
        states=tuple(Variable(k, _state_unit(robot, k), float(v)) for k, v in zip(labels, start, strict=True)),
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
    robot, size = plant.robot, plant.size  # type: ignore[attr-defined]
    positions = getattr(plant, "positions", size)
    rate = getattr(plant, "position_rate", None)
    limits = plant.torque_limits

    def body(x: Vector, tau: Vector, *externals: Vector) -> Vector:
        if limits is not None:
            tau = cs.fmin(cs.fmax(tau, -cs.DM(limits)), cs.DM(limits))
        acceleration = plant.flow(x, tau, *externals)[0]  # type: ignore[attr-defined]
        velocity = x[positions:]
        return cs.vertcat(velocity if rate is None else rate(x[:positions], velocity), acceleration)

    labels = _state_names(plant)
    outputs = [Port("rates", (len(labels),), labels)]
    ports = [Port("x", (len(labels),), labels), Port("tau", (robot.n,), robot.joint_names), *plant.externals]
    return trace("rates", body, ports, outputs)


def _state_names(plant: ArmPlant) -> tuple[str, ...]:
    robot = plant.robot
    motors = [robot.joint_names[k] for k in getattr(plant, "elastic", [])]
    places = robot.position_names if robot.multiple_joints else robot.joint_names
    names = [f"q.{n}" for n in places] + [f"theta.{n}" for n in motors]
    return tuple(names + [f"qd.{n}" for n in robot.joint_names] + [f"thetad.{n}" for n in motors])


def _state_unit(robot: Robot, label: str) -> str | None:
    kind, _, joint = label.partition(".")
    return _unit(robot, kind, joint)


def _start(plant: ArmPlant) -> np.ndarray:
    """Return the state at rest at zero; springs bear the weight, quaternions are the identity."""
    q, rest = neutral(plant.robot), np.zeros(plant.robot.n)
    started = getattr(plant, "started", None)
    positions, velocities = (q, rest) if started is None else started(q, rest)
    return np.concatenate([positions, velocities])


# Control laws, and what runs beside a robot -------------------------------------------------------------------------------


def _law(law: Law, name: str) -> UnitModel:
    rates, step = law.program(), law.step_program()
    real = getattr(law, "real", None)
    start = law.init(real(None) if real is not None else None).vector
    described = [*law.parameters.names, *(f"memory{k + 1}" for k in range(law.size - len(law.parameters)))]
    states = tuple(Variable(f"pi_hat.{label}", None, float(v)) for label, v in zip(described, start, strict=True))
    signals = _arguments(rates.inputs[:5])
    tangent, changes = _tangent(rates, name)
    return UnitModel(
        title=f"{law.name.replace('_', ' ')} of {law.robot.name}",
        inputs=_scalars(law.robot, rates.inputs[:5]),
        states=states,
        outputs=_scalars(law.robot, rates.outputs[:1]),
        states_are_outputs=False,
        sampled=False,
        step=None,
        texts=files(rates, f"{name}_rates") | files(step, f"{name}_step") | tangent,
        includes=(f"{name}_rates.h", f"{name}_step.h", f"{name}_tangent.h"),
        evaluate=f"    {name}_rates({signals}, v + FIRST_STATE, v + FIRST_OUTPUT, v + FIRST_RATE);",
        advance=(
            f"    double next[STATES + 1];\n    {name}_step({signals}, v + FIRST_STATE, &h, v + FIRST_OUTPUT, next);\n"
            "    memcpy(v + FIRST_STATE, next, STATES * sizeof(double));"
        ),
        tangent=f"    {name}_tangent({changes}, d + FIRST_OUTPUT, d + FIRST_RATE);",
    )


def _component(component: Component, name: str) -> UnitModel:
    package = component.package(name)
    kind = f"{name}_{package.kind}"
    places = np.cumsum([0, *(p.size for p in package.outputs)]).tolist()
    results = ", ".join(f"v + FIRST_OUTPUT + {place}" for place in places[:-1])
    texts = package.files(*_nothing(package), 1.0)
    own = {k: text for k, text in texts.items() if not k.startswith("test_") and k.endswith((".c", ".h"))}
    return UnitModel(
        title=f"{component.title} of {component.robot.name}",
        inputs=_scalars(component.robot, package.inputs),
        states=(),
        outputs=_scalars(component.robot, package.outputs),
        states_are_outputs=False,
        sampled=True,
        step=None,
        texts=own,
        includes=(f"{kind}.h",),
        memory=(kind, f"{name}_init(&m->memory);"),
        evaluate="    (void)v;",
        advance=f"    {name}_update(&m->memory, {_arguments(package.inputs)}, h, {results});",
    )


def _nothing(package: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return one empty sample, for a harness that is not used."""
    width = sum(p.size for p in package.inputs)
    return np.zeros((1, width)), np.zeros((1, sum(p.size for p in package.outputs) + len(package.start)))


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
    if kind not in _KINDS or joint not in robot.joint_names or robot.multiple_joints:
        return None
    return _UNITS[_KINDS[kind]][robot.slides[robot.joint_names.index(joint)]]
