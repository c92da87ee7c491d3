"""Instructions in another order: nothing lost, nothing used before it is computed, and fewer values waiting."""

import random

import pytest

import taupi as tp
from taupi.program.tape import Instruction, most_waiting, with_few_waiting


def evaluated(instructions, inputs):
    """Return the outputs by (port, slot), computed one instruction after the other."""
    values, outputs = {}, {}
    binary = {"add": lambda a, b: a + b, "mul": lambda a, b: a * b}
    for i in instructions:
        if i.op == "input":
            values[i.out] = inputs[i.slot]
        elif i.op == "const":
            values[i.out] = i.value
        elif i.op == "output":
            outputs[i.port, i.slot] = values[i.args[0]]
        else:
            values[i.out] = binary[i.op](*(values[a] for a in i.args))
    return outputs


def random_tape(seed, inputs=4, steps=40, outputs=5):
    draw = random.Random(seed)
    tape = [Instruction("input", k, slot=k) for k in range(inputs)] + [Instruction("const", inputs, value=3.0)]
    for out in range(inputs + 1, inputs + 1 + steps):
        tape.append(Instruction(draw.choice(["add", "mul"]), out, (draw.randrange(out), draw.randrange(out))))
    last = inputs + steps
    return tape + [Instruction("output", last + 1 + k, (draw.randrange(last + 1),), slot=k) for k in range(outputs)]


@pytest.mark.parametrize("seed", range(30))
def test_the_same_values_in_an_order_that_can_be_computed(seed):
    tape = random_tape(seed)
    inputs = [2, 3, 5, 7]  # whole numbers: exact in any order
    before = {4: 0, 2: 1}
    order = with_few_waiting(tape, before)
    assert evaluated(order, inputs) == evaluated(tape, inputs)
    assert len(order) == len(set(order)) and set(order) <= set(tape)
    outputs = [i for i in tape if i.op == "output"]
    for number, register in before.items():
        stored = order.index(outputs[number])
        assert any(i.out == register and i.op == "input" for i in order[:stored])
    read = {a for i in order for a in i.args} | set(before.values())
    assert all(i.op == "output" or i.out in read for i in order)  # what nothing needs is left out


def test_values_waiting_are_counted_by_hand():
    x, y = Instruction("input", 0, slot=0), Instruction("input", 1, slot=1)
    square, product = Instruction("mul", 2, (0, 0)), Instruction("mul", 3, (0, 1))
    total = Instruction("add", 4, (2, 3))
    assert most_waiting([x, y, square, product, total, Instruction("output", 5, (4,))]) == 3  # x, y and x^2
    assert most_waiting([]) == 0


def test_a_regressor_s_columns_are_summed_as_they_come():
    """tau = Y pi and all columns of Y: a bad order computes Y first and keeps all of it waiting."""
    columns, tape = 50, [Instruction("input", k, slot=k) for k in range(51)]
    tape += [Instruction("mul", 51 + k, (k, 50)) for k in range(columns)]
    total = 51
    for k in range(1, columns):
        tape.append(Instruction("add", 101 + k, (total, 51 + k)))
        total = 101 + k
    tape += [Instruction("output", 300 + k, (51 + k,), slot=k) for k in range(columns)]
    tape.append(Instruction("output", 400, (total,), port=1))
    assert most_waiting(tape) > 50 and most_waiting(with_few_waiting(tape)) <= 4


def test_a_control_period_of_an_adaptive_law_needs_fewer_registers():
    program = tp.SlotineLi(tp.load("puma560")).program()
    before, after = most_waiting(program.tape.instructions), most_waiting(with_few_waiting(program.tape.instructions))
    assert after < 0.75 * before
