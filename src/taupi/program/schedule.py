"""An order of a tape's instructions in which few values wait at a time: values without a processor register cost time."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence

from taupi.program.tape import Instruction


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
