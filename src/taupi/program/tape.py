"""The straight-line list of scalar instructions that every target reads."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

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
OPERATIONS: dict[str, Callable[..., object]] = {
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

    @property
    def last_uses(self) -> dict[int, int]:
        """For every register that is read, the number of the last instruction that reads it."""
        return {a: k for k, i in enumerate(self.instructions) for a in i.args}


def record(function: CasadiFunction) -> Tape:
    """Return the tape of a CasADi SX function."""
    import casadi as cs

    names = {getattr(cs, name): name[3:].lower() for name in dir(cs) if name.startswith("OP_")}
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
                "The traced function uses the operation {op!r}, which no target knows.",
                op=op or function.instruction_id(k),
            )
    return Tape(tuple(instructions))


def _exact_inverse(divisor: Instruction) -> float | None:
    """Return 1/c for a constant power of two: multiplying by it gives the same double as the division, but faster."""
    power_of_two = divisor.op == "const" and abs(math.frexp(divisor.value)[0]) == 0.5
    # Except for the smallest numbers, whose inverse overflows, and the largest, whose inverse loses bits.
    return 1 / divisor.value if power_of_two and 1e-300 < abs(divisor.value) < 1e300 else None


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


def most_waiting(instructions: Sequence[Instruction]) -> int:
    """Return the largest number of values, constants apart, that are computed and still needed at one time.

    >>> from taupi.program.tape import Instruction
    >>> a, b, c = Instruction("input", 0), Instruction("neg", 1, (0,)), Instruction("output", 2, (1,))
    >>> most_waiting([a, b, c])
    1
    """
    left = Counter(a for i in instructions for a in i.args)
    waiting: set[int] = set()
    most = 0
    for i in instructions:
        if i.op not in ("output", "const") and left[i.out]:
            waiting.add(i.out)
        for a in i.args:
            left[a] -= 1
            if not left[a]:
                waiting.discard(a)
        most = max(most, len(waiting))
    return most


def with_few_waiting(instructions: Sequence[Instruction], before: Mapping[int, int] | None = None) -> list[Instruction]:
    """Return the instructions in an order that keeps few values waiting; each output is stored as soon as it is known.

    Outputs come one after another, each after what it needs; an instruction that is the last to need a value is computed at once.
    Of several orders of outputs, the one with the fewest waiting values is taken. `before` says, by the number of an output,
    which register must be computed before it is stored. Instructions that no output needs are left out.
    """
    tape = _Tape(instructions, before or {})
    most = max(map(tape.effort, tape.outputs), default=0)
    by_size = sorted(tape.outputs, key=lambda k: (tape.effort(k).bit_length(), k))
    light_first = sorted(tape.outputs, key=lambda k: (2 * tape.effort(k) > most, k))
    return min(map(tape.scheduled, (tape.nearest_first(), by_size, light_first)), key=most_waiting)


class _Tape:
    """Instructions, their dependencies, and what each output needs, as bits of a number."""

    def __init__(self, instructions: Sequence[Instruction], before: Mapping[int, int]) -> None:
        steps = [i for i in instructions if i.op != "output"]
        self.before = before
        self.by_register = {i.out: i for i in steps}
        self.outputs = dict(enumerate(i for i in instructions if i.op == "output"))
        self.cones: dict[int, int] = {}
        self.weights: dict[int, int] = {}  # values that would wait while a register is computed if nothing were shared
        for k, i in enumerate(steps):
            self.cones[i.out] = 0 if i.op == "const" else 1 << k
            for a in i.args:
                self.cones[i.out] |= self.cones[a]
            deepest = sorted((self.weights[a] for a in i.args), reverse=True)
            self.weights[i.out] = max([int(i.op != "const"), *(w + k for k, w in enumerate(deepest))])
        needed = 0
        for output in self.outputs.values():
            needed |= self.cones[output.args[0]]
        self.steps = [i for k, i in enumerate(steps) if needed >> k & 1]
        self.users: dict[int, list[Instruction]] = defaultdict(list)
        for i in self.steps:
            for a in set(i.args):
                self.users[a].append(i)

    def effort(self, output: int) -> int:
        """Return how many instructions an output needs."""
        return self.cones[self.outputs[output].args[0]].bit_count()

    def nearest_first(self) -> list[int]:
        """Return the outputs in an order in which each needs the fewest instructions beyond those before it."""
        rest, order, done = list(self.outputs), [], 0
        while rest:
            nearest = min(rest, key=lambda k: ((self.cones[self.outputs[k].args[0]] & ~done).bit_count(), k))
            rest.remove(nearest)
            order.append(nearest)
            done |= self.cones[self.outputs[nearest].args[0]]
        return order

    def scheduled(self, order: Sequence[int]) -> list[Instruction]:
        """Return the instructions for outputs in an order."""
        state = _Schedule(self)
        for k in order:
            state.compute(self.outputs[k].args[0])
            if k in self.before:
                state.compute(self.before[k])
            state.put(self.outputs[k])
        return state.result


class _Schedule:
    """A schedule under construction."""

    def __init__(self, tape: _Tape) -> None:
        self.tape, self.result = tape, list[Instruction]()
        self.done: set[int] = set()
        self.left = Counter(a for i in (*tape.steps, *tape.outputs.values()) for a in i.args)

    def compute(self, register: int) -> None:
        """Add what a register needs and is not there yet, then the register itself; what needs most comes first."""
        stack: list[tuple[int, bool]] = [(register, False)]
        by_weight: Callable[[int], int] = self.tape.weights.__getitem__
        while stack:
            at, ready = stack.pop()
            if at in self.done:
                continue
            if ready:
                self.put(self.tape.by_register[at])
            else:
                stack.append((at, True))
                stack += [(a, False) for a in sorted(self.tape.by_register[at].args, key=by_weight)]

    def put(self, instruction: Instruction) -> None:
        """Add an instruction, and then every instruction that it makes possible and that frees a value."""
        work = [instruction]
        while work:
            i = work.pop()
            if i.op != "output" and i.out in self.done:
                continue
            self.result.append(i)
            self.left.subtract(i.args)
            if i.op == "output":
                continue
            self.done.add(i.out)
            changed = [i.out, *(a for a in i.args if self.left[a] == 1)]
            work += [u for a in changed for u in self.tape.users[a] if self._frees(u)]

    def _frees(self, user: Instruction) -> bool:
        """Whether an instruction can be computed and is the last that needs one of its arguments."""
        constants = [a for a in user.args if self.tape.by_register[a].op == "const"]
        if user.out in self.done or any(a not in self.done and a not in constants for a in user.args):
            return False
        for a in constants:
            if a not in self.done:
                self.done.add(a)
                self.result.append(self.tape.by_register[a])
        return any(self.left[a] == user.args.count(a) and a not in constants for a in user.args)
