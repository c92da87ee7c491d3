"""Run a program over polynomials: every output expanded, in normal form, with a limit on its length."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import NoReturn

from taupi.errors import InPython, TaupiError
from taupi.program.angles import Point, combined_point
from taupi.program.explicit.polynomial_ring import Quotient, ReplanError, Ring, RingPlan, TooLongError, symbol_name
from taupi.program.program import Program
from taupi.program.tape import Instruction
from taupi.progress import progress

POLYNOMIAL = ("neg", "sq", "twice", "add", "sub", "mul")
# The default limit on the terms of all outputs together; a term takes about 100 bytes.
LIMIT = 300_000
# Intermediate results may have this many times more terms than the outputs.
_ALIVE = 5
# Progress is reported once per this many instructions.
_STEPS = 200
# All products and divisions together may have this many pairs of terms per term of the limit: readable forms need a tenth of
# that, and anything that needs more would be refused after minutes.
_PAIRS = 5


@dataclass(frozen=True)
class ExpandedOutputs:
    """The outputs of a program, flat and row-major, as quotients of polynomials of a ring."""

    ring: Ring
    outputs: list[list[Quotient]]
    # long intermediate terms that were named, in order: the place of a generator, and what it stands for
    definitions: list[tuple[int, Quotient]]


def symbolic_constants(program: Program, values: bool = False) -> frozenset[str]:
    """Return the constants that stay symbols: those that the user named or, with `values`, those that have no value."""
    return frozenset(c.name for c in program.constants if c.value is None or (c.named and not values))


def expand(
    program: Program,
    symbols: frozenset[str] | None = None,
    limit: int = LIMIT,
    intermediates: int | None = None,
    spare: int = 0,
) -> ExpandedOutputs:
    """Return every output as a quotient of polynomials in normal form.

    `symbols` are the constants that stay symbols. More than `limit` terms are refused. With `intermediates`, terms of the
    computation are named whenever a result would otherwise have more terms than that, so that any program has a form.
    `spare` generators are left free for inverses that the caller adds.
    """
    symbols = symbolic_constants(program) if symbols is None else symbols
    opaque = sum(i.op not in (*POLYNOMIAL, "input", "output", "const") for i in program.exact_tape.instructions)
    plan = RingPlan(slots=opaque + spare + (64 if intermediates else 0))
    while True:
        try:
            ring = Ring(program, program.exact_tape, symbols, plan, work=_PAIRS * max(limit, LIMIT))
            return _Pass(ring, limit, intermediates).expansion()
        except ReplanError as again:
            plan = again.plan


class _Pass:
    """One pass over the tape."""

    def __init__(self, ring: Ring, limit: int, intermediates: int | None) -> None:
        self.ring, self.limit, self.intermediates = ring, limit, intermediates
        self.value: dict[int, Quotient] = {}
        self.point: dict[int, Point] = {}
        self.definitions: list[tuple[int, Quotient]] = []
        self._skipped = 0  # how many names t1, t2, ... are taken

    def expansion(self) -> ExpandedOutputs:
        program = self.ring.program
        outputs = [[Quotient(self.ring.constant(0))] * p.size for p in program.outputs]
        places = [program.nonzeros(k, exact=True) for k in range(len(program.outputs))]
        instructions = self.ring.tape.instructions
        last = self.ring.tape.last_uses
        written = alive = 0
        with progress(f"expanding {program.name}", len(instructions) // _STEPS + 1) as tick:
            for step, i in enumerate(instructions):
                if step % _STEPS == 0:
                    tick(f"step {step} of {len(instructions)}")
                if i.op == "output":
                    result = self.value[i.args[0]]
                    outputs[i.port][places[i.port][i.slot]] = result
                    written += len(result.numerator)
                else:
                    self.value[i.out] = self._step(i, step)
                    alive += len(self.value[i.out].numerator)
                self._check(max(written, alive // _ALIVE), step)
                for a in {a for a in i.args if last[a] == step}:
                    alive -= len(self.value.pop(a).numerator)
        return ExpandedOutputs(self.ring, outputs, self.definitions)

    def _step(self, i: Instruction, step: int) -> Quotient:
        ring = self.ring
        if i.op == "input":
            point = ring.point(i.out)
            if point is not None:
                self.point[i.out] = point
            return Quotient(ring.load(i))
        if i.op == "const":
            return Quotient(ring.constant(i.value))
        if i.op in ("sin", "cos") and i.args[0] in self.point:
            return Quotient(self.point[i.args[0]][i.op == "sin"])
        self._shorten(i)
        arguments = [self.value[a] for a in i.args]
        try:
            result = self._apply(i, arguments)
        except TooLongError:
            self._refuse(step, "needs more products than a form of")
        self._check(len(result.numerator), step)
        if i.op in ("add", "sub", "neg", "twice") and all(a in self.point for a in i.args):
            c, s = combined_point(i.op, [self.point[a] for a in i.args])
            self.point[i.out] = (ring.reduced(c), ring.reduced(s))
        return result

    def _apply(self, i: Instruction, arguments: list[Quotient]) -> Quotient:
        ring, a, b = self.ring, arguments[0], arguments[-1]
        match i.op:
            case "neg":
                return Quotient(-a.numerator, a.denominator)
            case "twice":
                return Quotient(a.numerator + a.numerator, a.denominator)
            case "add":
                return ring.add(a, b)
            case "sub":
                return ring.add(a, b, -1)
            case "sq" | "mul":
                return ring.multiply(a, b)
            case "div" if b.numerator != 0:
                return ring.multiply(a, ring.inverse(b))
            case "inv" if a.numerator != 0:
                return ring.inverse(a)
        return ring.named("function", i.op, arguments)

    def _shorten(self, i: Instruction) -> None:
        """Name the arguments, the longest first, until the result is as short as `intermediates` demands."""
        if self.intermediates is None:
            return
        for register in sorted(set(i.args), key=lambda a: -len(self.value[a].numerator)):
            lengths = [len(self.value[a].numerator) for a in i.args]
            longest = math.prod(lengths) ** (2 if i.op == "sq" else 1) if i.op in ("mul", "sq", "div") else sum(lengths)
            if longest > self.intermediates and len(self.value[register].numerator) > 1:
                self.value[register] = self._named(self.value[register])

    def _named(self, p: Quotient) -> Quotient:
        known = len(self.ring.slot)
        generator = self.ring.named("name", self._free_name(), [p])
        if len(self.ring.slot) > known:
            self.definitions.append((self.ring.free - 1, p))
        return generator

    def _free_name(self) -> str:
        """Return the next of t1, t2, ... that is not the name of a symbol."""
        taken = {symbol_name(a) for a in self.ring.atoms if a.kind == "symbol"}
        names = (f"t{k}" for k in itertools.count(len(self.definitions) + 1 + self._skipped))
        for name in names:
            if name not in taken:
                return name
            self._skipped += 1
        raise AssertionError

    def _check(self, terms: int, step: int) -> None:
        if terms > self.limit:
            self._refuse(step)

    def _refuse(self, step: int, why: str = "has more than") -> NoReturn:
        name, steps = self.ring.program.name, len(self.ring.tape.instructions)
        raise TaupiError(
            "{name}, expanded, {why} {limit} terms (reached at step {step} of {steps}): nobody can read that.",
            remedy=(
                "Use {intermediates=20}, which names intermediate terms so that few formulas have more "
                "terms than that{other_limit}."
            ),
            name=name,
            why=why,
            limit=self.limit,
            step=step,
            steps=steps,
            other_limit=InPython(", or raise limit"),
        )
