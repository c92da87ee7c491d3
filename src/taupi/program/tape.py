"""The straight-line list of scalar instructions that every target reads."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import Any, NamedTuple

from taupi.errors import TaupiError

# CasADi's operations that targets know, by our names, with their number of arguments. CasADi writes q^2 and 2q as
# operations of their own, and a conditional as a product with a comparison.
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


class Instruction(NamedTuple):
    """One step: `out = op(args)`; `value` is a constant's, `port` and `slot` are an input's or output's place."""

    op: str
    out: int
    args: tuple[int, ...] = ()
    value: float = 0.0
    port: int = 0
    slot: int = 0


@dataclass(frozen=True)
class Tape:
    """Instructions in single-assignment form: every register is written once."""

    instructions: tuple[Instruction, ...]

    @property
    def counts(self) -> Counter[str]:
        """How often each operation occurs, loads, stores and constants left out."""
        return Counter(i.op for i in self.instructions if i.op not in ("const", "input", "output"))


def record(function: Any) -> Tape:
    """Return the tape of a CasADi SX function."""
    import casadi as cs

    names = _operation_names(cs)
    current: dict[int, int] = {}  # CasADi reuses its work registers; ours are written once
    instructions: list[Instruction] = []
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
        elif op in UNARY or op in BINARY:
            arguments = tuple(current[i] for i in (inputs[:1] if op in UNARY else inputs[:2]))
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
    """Return 1/c for a constant power of two: the product is the same double, and much cheaper than the quotient."""
    power_of_two = divisor.op == "const" and abs(math.frexp(divisor.value)[0]) == 0.5
    # Not of the smallest numbers, whose inverse overflows, nor of the largest, whose inverse loses bits.
    return 1 / divisor.value if power_of_two and 1e-300 < abs(divisor.value) < 1e300 else None


def _operation_names(cs: Any) -> dict[int, str]:
    return {getattr(cs, name): name[3:].lower() for name in dir(cs) if name.startswith("OP_")}
