"""Programs derived from programs: derivatives, products with vectors, some of the rows or columns."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import casadi as cs
import numpy as np

from taupi.errors import TaupiError, unknown
from taupi.program.program import Port, Program, simplified


class _Symbols:
    """A program's inputs, constants and outputs as symbols, from which to build another program."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.inputs = {p.name: cs.SX.sym(p.name, p.size) for p in program.inputs}
        self.constants = cs.SX.sym("constants", len(program.constants))
        self.outputs = program.function.call([*self.inputs.values(), self.constants])

    def port(self, name: str) -> Port:
        if name not in self.inputs:
            raise unknown("input", name, self.inputs, self.program.name)
        return next(p for p in self.program.inputs if p.name == name)

    def only_output(self, what: str) -> cs.SX:
        if len(self.outputs) != 1:
            raise TaupiError(
                "{program} has {count} outputs: {what} needs one.",
                program=self.program.name,
                count=len(self.outputs),
                what=what,
            )
        return self.outputs[0]

    def build(
        self, name: str, outputs: Sequence[Port], values: Sequence[cs.SX], *further: tuple[Port, cs.SX]
    ) -> Program:
        """Return the program of some values, with further inputs if any are named."""
        ports, symbols = self.program.inputs, list(self.inputs.values())
        for port, symbol in further:
            if not str(port.name).isidentifier():
                raise TaupiError("An input cannot be called {port!r}: choose letters and digits.", port=port.name)
            if port.name in self.inputs:
                raise TaupiError(
                    "{program} has an input {port!r} already: choose another name.",
                    program=self.program.name,
                    port=port.name,
                )
            ports, symbols = (*ports, port), [*symbols, symbol]
        function = cs.Function(name, [*symbols, self.constants], simplified(values))
        return Program(name, ports, tuple(outputs), self.program.constants, function)


def jacobian(program: Program, wrt: str) -> Program:
    """Return d output / d input, shape (*output, *input)."""
    s = _Symbols(program)
    port = s.port(wrt)
    derivatives = [cs.vec(cs.jacobian(y, s.inputs[wrt]).T) for y in s.outputs]
    ports = [Port(f"d{p.name}_d{wrt}", p.shape + port.shape) for p in program.outputs]
    return s.build(f"{program.name}_d{wrt}", ports, derivatives)


def jvp(program: Program, wrt: str) -> Program:
    """Return (d output / d input) v, where v is one more input, `d<wrt>`."""
    s = _Symbols(program)
    port = s.port(wrt)
    v = cs.SX.sym(f"d{wrt}", port.size)
    products = [cs.jtimes(y, s.inputs[wrt], v) for y in s.outputs]
    ports = [Port(f"d{p.name}", p.shape) for p in program.outputs]
    return s.build(f"{program.name}_jvp_{wrt}", ports, products, (dataclasses.replace(port, name=f"d{wrt}"), v))


def vjp(program: Program, wrt: str) -> Program:
    """Return w^T (d output / d input), where w is one more input of the output's shape."""
    s = _Symbols(program)
    port, y = s.port(wrt), s.only_output("vjp")
    w = cs.SX.sym("w", y.numel())
    product = cs.jtimes(y, s.inputs[wrt], w, True)
    out = dataclasses.replace(port, name=f"w_d{wrt}")
    return s.build(f"{program.name}_vjp_{wrt}", [out], [product], (Port("w", program.outputs[0].shape), w))


def pushforward(program: Program, inputs: Sequence[int]) -> Program:
    """Return sum_k (d outputs / d input k) v_k over some inputs by number; each v_k is one more input of that input's shape."""
    s = _Symbols(program)
    ports = [program.inputs[k] for k in inputs]
    x = cs.vertcat(*(s.inputs[p.name] for p in ports))
    further = [(_unused(program, f"d{p.name}", p), cs.SX.sym("v", p.size)) for p in ports]
    v = cs.vertcat(*(symbol for _, symbol in further))
    outputs = [dataclasses.replace(p, name=f"d{p.name}") for p in program.outputs]
    return s.build(f"{program.name}_jvp", outputs, [cs.jtimes(y, x, v) for y in s.outputs], *further)


def pullback(program: Program, inputs: Sequence[int], outputs: Sequence[int]) -> Program:
    """Return sum_j w_j^T (d output j / d input k) for each k of some `inputs`, with one more input w_j for each of `outputs`.

    One sweep from the results back to the inputs computes all of them; the Jacobian is never formed.
    """
    s = _Symbols(program)
    ports = [program.inputs[k] for k in inputs]
    x, y = cs.vertcat(*(s.inputs[p.name] for p in ports)), cs.vertcat(*(s.outputs[j] for j in outputs))
    further = [
        (_unused(program, f"w_{p.name}", p), cs.SX.sym("w", p.size)) for p in (program.outputs[j] for j in outputs)
    ]
    w = cs.vertcat(*(symbol for _, symbol in further))
    parts = cs.vertsplit(cs.jtimes(y, x, w, True), [0, *np.cumsum([p.size for p in ports]).tolist()])
    results = [dataclasses.replace(p, name=f"w_d{p.name}") for p in ports]
    return s.build(f"{program.name}_vjp", results, parts, *further)


def _unused(program: Program, name: str, port: Port) -> Port:
    """Return a copy of a port, with a name that no input of the program has."""
    while name in {p.name for p in program.inputs}:
        name += "_"
    return dataclasses.replace(port, name=name)


def symbols_as_input(program: Program, name: str, symbols: tuple[str, ...]) -> Program:
    """Return the program with one more input, a vector whose entries take the place of its `symbols`."""
    known = [c.name for c in program.constants if c.named]
    for symbol in symbols:
        if symbol not in known:
            raise unknown("symbol", symbol, known, program.name)
    if not symbols or len(set(symbols)) < len(symbols):
        raise TaupiError("{symbols} is {got!r}, expected one or more names, each once.", got=list(symbols))
    return constants_as_input(program, Port(name, (len(symbols),), symbols, "one value per symbol"), symbols)


def constants_as_input(program: Program, port: Port, names: Sequence[str]) -> Program:
    """Return the program with one more input, whose entries take the place of the constants of some `names`.

    The program need not have all of them.
    """
    s = _Symbols(program)
    x = cs.SX.sym("x", port.size)
    place = {name: k for k, name in enumerate(names)}
    values = [x[place[c.name]] if c.name in place else s.constants[k] for k, c in enumerate(program.constants)]
    kept = [k for k, c in enumerate(program.constants) if c.name not in place]
    s.outputs = program.function.call([*s.inputs.values(), cs.vertcat(cs.SX(0, 1), *values)])
    s.constants = cs.vertcat(cs.SX(0, 1), *(s.constants[k] for k in kept))
    changed = s.build(program.name, program.outputs, s.outputs, (port, x))
    left = tuple(program.constants[k] for k in kept)
    return dataclasses.replace(changed, constants=left, parameters=program.parameters)


def _matrix(s: _Symbols) -> cs.SX:
    shape = s.program.outputs[0].shape
    if len(s.outputs) != 1 or len(shape) != 2:
        raise TaupiError("{program} is not a matrix: one output with two axes is needed.", program=s.program.name)
    return cs.reshape(s.outputs[0], shape[1], shape[0]).T


def times(program: Program, name: str = "pi") -> Program:
    """Return Y x, where x is one more input."""
    s = _Symbols(program)
    y = _matrix(s)
    x = cs.SX.sym("x", y.shape[1])
    labels = tuple(program.parameters.names) if program.parameters is not None else ()
    port = Port(name, (y.shape[1],), labels, "one value per parameter")
    return s.build(f"{program.name}_times_{name}", [Port("y", (y.shape[0],))], [cs.densify(y @ x)], (port, x))


def transpose_times(program: Program, name: str = "s") -> Program:
    """Return Y^T s, where s is one more input."""
    s = _Symbols(program)
    y = _matrix(s)
    x = cs.SX.sym("x", y.shape[0])
    out, port = Port("y", (y.shape[1],)), Port(name, (y.shape[0],))
    product = s.build(f"{program.name}_transpose_times_{name}", [out], [cs.densify(y.T @ x)], (port, x))
    return dataclasses.replace(product, parameters=program.parameters)


def take(program: Program, places: Sequence[int], axis: int = -1) -> Program:
    """Return the program with the entries at `places` along an axis of its only output."""
    s = _Symbols(program)
    y, port = s.only_output("take"), program.outputs[0]
    positions = np.asarray(places)
    if positions.dtype.kind not in "iu" and positions.size:
        raise TaupiError("{places} holds {got}, expected whole numbers: positions, not a mask.", got=positions.dtype)
    try:
        kept = np.take(np.arange(port.size).reshape(port.shape), positions.astype(int), axis=axis)
    except (IndexError, ValueError):
        raise TaupiError(
            "take got axis {axis} and places that {port}, of shape {shape}, does not have.",
            axis=axis,
            port=port.name,
            shape=port.shape,
        ) from None
    columns = program.parameters is not None and axis in (-1, len(port.shape) - 1)
    parameters = program.parameters.take(tuple(places)) if columns else program.parameters
    part = s.build(program.name, [Port(port.name, kept.shape)], [y[kept.ravel().tolist()]])
    return dataclasses.replace(part, parameters=parameters, guard=program.guard)
