"""The straight-line list of scalar instructions that every target reads."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from taupi.errors import TaupiError

if TYPE_CHECKING:
    from casadi import Function as CasadiFunction

# The CasADi operations that targets know, by number of arguments. CasADi has separate operations for q^2 ("sq") and 2q ("twice"),
# and writes a conditional as a product with a comparison.
UNARY = (
    "neg",
    "sq",
    "twice",
    "inv",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "exp",
    "log",
    "sqrt",
    "tanh",
    "sign",
    "fabs",
    "floor",
    "not",
)
BINARY = (
    "add",
    "sub",
    "mul",
    "div",
    "pow",
    "constpow",
    "atan2",
    "fmin",
    "fmax",
    "lt",
    "le",
    "eq",
    "ne",
    "and",
    "or",
    "if_else_zero",
)
# What each of them does to arrays of NumPy.
OPERATIONS: dict[str, Callable[..., Any]] = {
    "neg": np.negative,
    "sq": np.square,
    "twice": lambda a: a + a,
    "inv": lambda a: 1.0 / a,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "tanh": np.tanh,
    "sign": np.sign,
    "fabs": np.abs,
    "floor": np.floor,
    "not": lambda a: np.where(a == 0, 1.0, 0.0),
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "pow": np.power,
    "constpow": np.power,
    "atan2": np.arctan2,
    "fmin": np.fmin,
    "fmax": np.fmax,
    "lt": lambda a, b: np.where(a < b, 1.0, 0.0),
    "le": lambda a, b: np.where(a <= b, 1.0, 0.0),
    "eq": lambda a, b: np.where(a == b, 1.0, 0.0),
    "ne": lambda a, b: np.where(a != b, 1.0, 0.0),
    "and": lambda a, b: np.where((a != 0) & (b != 0), 1.0, 0.0),
    "or": lambda a, b: np.where((a != 0) | (b != 0), 1.0, 0.0),
    "if_else_zero": lambda a, b: np.where(a != 0, b, 0.0),
}


class Instruction(NamedTuple):
    """One step, `out = op(args)`: `value` is that of a constant, `port` and `slot` say which entry of an input or output."""

    op: str
    out: int
    args: tuple[int, ...] = ()
    value: float = 0.0
    port: int = 0
    slot: int = 0


@dataclass(frozen=True)
class Tape:
    """A program's instructions in single-assignment form: every register is written once."""

    instructions: tuple[Instruction, ...]

    @property
    def counts(self) -> Counter[str]:
        """How often each operation occurs, without loads, stores and constants."""
        return Counter(i.op for i in self.instructions if i.op not in ("const", "input", "output"))


def record(function: CasadiFunction) -> Tape:
    """Return the tape of a CasADi SX function."""
    import casadi as cs

    names = _operation_names(cs)
    current: dict[int, int] = {}  # from CasADi's work registers, which it reuses, to ours, which are written once
    instructions: list[Instruction] = []
    arity = dict.fromkeys(UNARY, 1) | dict.fromkeys(BINARY, 2)
    for k in range(function.n_instructions()):
        op = names.get(function.instruction_id(k))
        inputs, outputs = function.instruction_input(k), function.instruction_output(k)
        out = len(instructions)
        if op == "const":
            instructions.append(Instruction("const", out, value=function.instruction_constant(k)))
            current[outputs[0]] = out
        elif op == "input":
            instructions.append(Instruction("input", out, port=inputs[0], slot=inputs[1]))
            current[outputs[0]] = out
        elif op == "output":
            instructions.append(Instruction("output", out, (current[inputs[0]],), port=outputs[0], slot=outputs[1]))
        elif op in arity:
            arguments = tuple([current[i] for i in inputs[: arity[op]]])
            if op == "div" and (factor := _exact_inverse(instructions[arguments[1]])) is not None:
                instructions.append(Instruction("const", out, value=factor))
                op, arguments, out = "mul", (arguments[0], out), out + 1
            instructions.append(Instruction(op, out, arguments))
            current[outputs[0]] = out
        else:
            raise TaupiError(
                f"The traced function uses the operation {op or function.instruction_id(k)!r}, which no target knows."
            )
    return Tape(tuple(instructions))


def _exact_inverse(divisor: Instruction) -> float | None:
    """Return 1/c for a constant power of two: multiplying by it gives the same double as the division, but faster."""
    power_of_two = divisor.op == "const" and abs(math.frexp(divisor.value)[0]) == 0.5
    # Except for the smallest numbers, whose inverse overflows, and the largest, whose inverse loses bits.
    return 1 / divisor.value if power_of_two and 1e-300 < abs(divisor.value) < 1e300 else None


def _operation_names(cs: ModuleType) -> dict[int, str]:
    return {getattr(cs, name): name[3:].lower() for name in dir(cs) if name.startswith("OP_")}


@dataclass(frozen=True)
class Operations:
    """How many scalar operations a program takes, with structural zeros left out and repeated terms computed once.

    They are counted as `multiplications`, `additions`, `divisions` and `functions` (sine, square root, comparisons, ...).
    """

    multiplications: int
    additions: int
    divisions: int
    functions: int

    @property
    def total(self) -> int:
        """The number of all operations."""
        return self.multiplications + self.additions + self.divisions + self.functions

    def __repr__(self) -> str:
        return f"{self.multiplications} x, {self.additions} +, {self.divisions} /, {self.functions} functions"
