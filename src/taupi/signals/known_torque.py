"""Known torques as formulas of the joint positions: numbers, arithmetic, and sines and cosines of q1, q2, ...

A formula is read by its own grammar and never evaluated as Python code.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from taupi.errors import Argument, TaupiError, unknown

if TYPE_CHECKING:
    import numpy as np

# A number, or one per sample.
_Numbers: TypeAlias = "float | np.ndarray"
_ARITHMETIC: dict[type, Callable[[_Numbers, _Numbers], _Numbers]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
_SIGNS: dict[type, float] = {ast.UAdd: 1.0, ast.USub: -1.0}
_FUNCTIONS = ("sin", "cos")
_GRAMMAR = "expected numbers, pi, q1, q2, ..., + - * / **, sin() and cos()"
# A longer formula, or a larger exponent, is a mistake, or an attempt to keep the machine busy.
_LONGEST, _LARGEST_POWER = 400, 8


def check_known_torque(name: str, value: object) -> tuple[str, ...]:
    """Return known torques as texts "joint = formula", from such texts or from a mapping of joints to formulas or numbers.

    >>> check_known_torque("known_torque", {"elbow": "12*sin(q2)", "wrist": 0.5})
    ('elbow = 12*sin(q2)', 'wrist = 0.5')
    >>> check_known_torque("known_torque", ["elbow = exp(q2)"])
    Traceback (most recent call last):
    taupi.errors.TaupiError: known_torque of elbow is 'exp(q2)', expected numbers, pi, q1, q2, ..., + - * / **, sin() and cos().
    """
    if isinstance(value, Mapping):
        value = [f"{joint} = {formula}" for joint, formula in value.items()]
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, Sequence) or not all(isinstance(text, str) for text in value):
        raise TaupiError(
            "{argument} is {got!r}, expected formulas by joint, such as {'elbow': '12*sin(q2)'}.",
            argument=Argument(name),
            got=value,
        )
    texts = []
    for text in value:
        joint, mark, formula = (part.strip() for part in text.partition("="))
        if not mark or not joint:
            raise TaupiError(
                "{argument} is {got!r}, expected 'joint = formula', such as elbow = 12*sin(q2).",
                argument=Argument(name),
                got=text,
            )
        _parse(name, joint, formula)
        texts.append(f"{joint} = {formula}")
    for joint, count in Counter(text.partition(" = ")[0] for text in texts).items():
        if count > 1:
            raise TaupiError(
                "{argument} states {joint!r} twice. Write its sum as one formula.", argument=Argument(name), joint=joint
            )
    return tuple(texts)


def known_torque(formulas: Sequence[str], names: Sequence[str], q: np.ndarray) -> np.ndarray:
    """Return the known torques (N, n) of joints with these `names` at positions q (N, n); 0 without a formula.

    >>> import numpy as np
    >>> known_torque(["elbow = 2*sin(q1) - q2**2/4"], ["shoulder", "elbow"], np.array([[np.pi / 2, 2.0], [0.0, 0.0]]))
    array([[0., 1.],
           [0., 0.]])
    """
    import numpy as np

    result = np.zeros(q.shape)
    for text in formulas:
        joint, _, formula = text.partition(" = ")
        if joint not in names:
            raise TaupiError("{known_torque}: {wrong}", wrong=unknown("joint", joint, names).message)
        tree = _parse("known_torque", joint, formula)
        highest = max(_positions(tree), default=0)
        if highest > len(names):
            raise TaupiError(
                "{known_torque} of {joint} is {got!r}, but there are {count} joints: q1 ... q{count}.",
                joint=joint,
                got=formula,
                count=len(names),
            )
        with np.errstate(all="ignore"):
            result[:, list(names).index(joint)] = _value(tree, q)
    if not np.isfinite(result).all():
        raise TaupiError("{known_torque} is not finite at every position of the log. Correct its formula.")
    return result


def _parse(name: str, joint: str, formula: str) -> ast.expr:
    """Return the tree of a formula, after checking that it has nothing but arithmetic, sines and cosines of q."""
    wrong = TaupiError(
        "{argument} of {joint} is {got!r}, {grammar}.",
        argument=Argument(name),
        joint=joint,
        got=formula,
        grammar=_GRAMMAR,
    )
    if len(formula) > _LONGEST:
        raise wrong
    try:
        tree = ast.parse(formula.strip() or "?", mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise wrong from None
    if not _allowed(tree):
        raise wrong
    return tree


def _allowed(node: ast.AST) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int | float) and not isinstance(node.value, bool) and abs(node.value) < 1e12
    if isinstance(node, ast.Name):
        return node.id == "pi" or bool(re.fullmatch(r"q[1-9]\d{0,2}", node.id))
    if isinstance(node, ast.UnaryOp):
        return type(node.op) in _SIGNS and _allowed(node.operand)
    if isinstance(node, ast.BinOp):
        if isinstance(node.op, ast.Pow):
            power = node.right
            if not (isinstance(power, ast.Constant) and power.value in range(1, _LARGEST_POWER + 1)):
                return False
        return type(node.op) in _ARITHMETIC and _allowed(node.left) and _allowed(node.right)
    if isinstance(node, ast.Call):
        plain = isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS and not node.keywords
        return plain and len(node.args) == 1 and _allowed(node.args[0])
    return False


def _positions(tree: ast.expr) -> list[int]:
    names = (node.id for node in ast.walk(tree) if isinstance(node, ast.Name))
    return [int(name[1:][:9]) for name in names if name[1:].isdecimal()]  # no robot has more joints


def _value(node: ast.AST, q: np.ndarray) -> _Numbers:
    """Return the value of a checked tree at positions q (N, n)."""
    import numpy as np

    if isinstance(node, ast.Constant):
        return float(node.value)  # type: ignore[arg-type]
    if isinstance(node, ast.Name):
        return math.pi if node.id == "pi" else q[:, int(node.id[1:]) - 1]
    if isinstance(node, ast.UnaryOp):
        return _SIGNS[type(node.op)] * _value(node.operand, q)
    if isinstance(node, ast.BinOp):
        left, right = np.float64(_value(node.left, q)), np.float64(_value(node.right, q))
        return _ARITHMETIC[type(node.op)](left, right)
    assert isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    result: _Numbers = getattr(np, node.func.id)(_value(node.args[0], q))
    return result
