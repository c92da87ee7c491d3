"""Formulas evaluated from their text, and compared exactly with expressions from a page."""

import math
import re

import numpy as np

from taupi.papers.formulas import differing

FUNCTIONS = {
    "sin": math.sin,
    "cos": math.cos,
    "sign": lambda x: float(np.sign(x)),
    "tanh": math.tanh,
    "exp": math.exp,
    "Abs": abs,
    "sqrt": math.sqrt,
}


def evaluated(explicit, values):
    """Evaluate what `explicit.text()` says, as Python reads it, for values of every name; one array an output."""
    known = dict(values)
    results = {p.name: np.zeros(p.shape) for p in explicit.ports}
    text = re.sub(r"\n    ", " ", explicit.text())
    for line in text.splitlines():
        if " = " not in line:
            continue
        label, _, formula = line.partition(" = ")
        value = eval(formula, FUNCTIONS, known)
        match = re.fullmatch(r"(\w+)\[([\d, ]+)\]", label)
        if match:
            results[match[1]][tuple(int(k) - 1 for k in match[2].split(","))] = value
        elif label in results and not results[label].shape:
            results[label] = np.array(value)
        else:
            known[label] = value
    return list(results.values())


def inputs(program, arrays):
    """The values of a program's inputs by the names that formulas use: q1, q2, ..."""
    named = {}
    for port, array in zip(program.inputs, arrays, strict=True):
        for place, value in np.ndenumerate(np.asarray(array, dtype=float)):
            named[port.name + "_".join(str(k + 1) for k in place)] = float(value)
    return named


def constants(program):
    """The values of the symbols that a program's formulas hold."""
    return {c.name: float(c.value) for c in program.constants if c.named and c.value is not None}


def same(program, expressions, spare=32):
    """Tell, exactly, whether a program's outputs are these expressions (text or SymPy, flat and row-major)."""
    return differing(program, expressions, spare) == []
