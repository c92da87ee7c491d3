"""Loops over arrays that are written in Python and run as machine code.

A loop takes numbers and arrays, annotated `int`, `float`, `Ints` and `Floats`. It may name values, count with `range`, branch by
`if`, read, write and slice arrays (`s[i]`, `s[j:]`), and call `abs`, `sqrt`, `exp`, `call_kernel` and other loops of its module.
Python runs it as it stands, too, only slowly. Places in arrays are not checked, and none is counted from the end.
"""

from __future__ import annotations

import ast
import ctypes
import inspect
import struct
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from taupi.errors import TaupiError

if TYPE_CHECKING:
    from llvmlite.binding import ExecutionEngine

Floats: TypeAlias = np.ndarray
Ints: TypeAlias = np.ndarray

_KINDS = {"float": "double", "int": "i64", "Floats": "double*", "Ints": "i64*", "None": "void"}
_C_KINDS: dict[str, type[ctypes.c_double | ctypes.c_int64 | ctypes.c_void_p]] = {
    "double": ctypes.c_double,
    "i64": ctypes.c_int64,
    "double*": ctypes.c_void_p,
    "i64*": ctypes.c_void_p,
}
_FUNCTIONS = {"abs": "llvm.fabs.f64", "sqrt": "llvm.sqrt.f64", "exp": "exp"}
_OPERATIONS: dict[type, str] = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div"}
_COMPARISONS: dict[type, tuple[str, str]] = {  # of doubles, of whole numbers
    ast.Lt: ("olt", "slt"),
    ast.Gt: ("ogt", "sgt"),
    ast.Eq: ("oeq", "eq"),
    ast.NotEq: ("une", "ne"),
}


def call_kernel(address: int, table: Ints, start: int, stop: int) -> None:
    """Call a compiled program's kernel, at an `address`, with its table of arguments, for the samples `start` to `stop` - 1."""
    kernel = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(int(address))
    kernel(table.ctypes.data, int(start), int(stop))


# Kinds of the arguments and of the result of what is called and no loop.
_BUILT_IN = {name: (["double"], "double") for name in _FUNCTIONS} | {
    call_kernel.__name__: (["i64", "i64*", "i64", "i64"], "void")
}
_ENGINES: list[ExecutionEngine] = []  # they hold the code


@lru_cache(maxsize=16)
def compiled(loop: Callable[..., None]) -> Callable[..., None]:
    """Return a loop as machine code, which takes arrays by their addresses; `program/triangle_update.py` has an example."""
    from taupi.program.targets.simd import machine_code

    module = inspect.getmodule(loop)
    functions = [n for n in ast.parse(inspect.getsource(module or loop)).body if isinstance(n, ast.FunctionDef)]
    writer = _LoopModule({f.name: f for f in functions})
    kinds, _ = writer.signature(loop.__name__)
    engine = machine_code.load(writer.text(loop.__name__))
    _ENGINES.append(engine)
    return ctypes.CFUNCTYPE(None, *(_C_KINDS[kind] for kind in kinds))(engine.get_function_address(loop.__name__))


class _LoopModule:
    """The LLVM text of a loop and of what it calls."""

    def __init__(self, functions: dict[str, ast.FunctionDef]) -> None:
        self._functions = functions
        self._written: dict[str, str] = {}

    def text(self, name: str) -> str:
        """Return the text, in which only the function called `name` can be called from outside."""
        declared = [f"declare double @{function}(double)" for function in _FUNCTIONS.values()]
        self.need(name)
        helpers = [text for key, text in self._written.items() if key != name]
        return "\n".join([*declared, *(f"define internal {h}" for h in helpers), f"define {self._written[name]}"])

    def need(self, name: str) -> None:
        """Write a function unless it is written."""
        if name not in self._written:
            self._written[name] = ""  # so that a loop that calls itself ends here
            self._written[name] = _LoopText(self, self._functions[name]).text()

    def signature(self, name: str) -> tuple[list[str], str]:
        """Return the kinds of a function's arguments and of its result."""
        function = self._functions.get(name)
        if function is None or function.returns is None:
            raise TaupiError("{name} is no loop of this module.", name=name)
        annotations = [argument.annotation and ast.unparse(argument.annotation) for argument in function.args.args]
        kinds = [_KINDS.get(annotation or "") for annotation in (*annotations, ast.unparse(function.returns))]
        known = [kind for kind in kinds if kind is not None]
        if len(known) < len(kinds):
            raise _refused(function.args)
        return known[:-1], known[-1]


class _LoopValue(NamedTuple):
    """A number or an array: its kind, "double", "i64", "i1" or a pointer's, and its name in the text."""

    kind: str
    name: str

    @property
    def typed(self) -> str:
        return f"{_plain(self.kind)} {self.name}"


def _plain(kind: str) -> str:
    return "ptr" if kind.endswith("*") else kind


class _LoopText:
    """The text of one function, whose variables are single assignments: where branches meet, a phi chooses."""

    def __init__(self, module: _LoopModule, function: ast.FunctionDef) -> None:
        self._module, self._function = module, function
        self._lines: list[str] = []
        self._count = 0
        self._block = "entry"
        kinds, self._result = module.signature(function.name)
        names = [argument.arg for argument in function.args.args]
        self._values = {name: _LoopValue(kind, f"%{name}") for name, kind in zip(names, kinds, strict=True)}

    def text(self) -> str:
        """Return the function without `define`."""
        arguments = ", ".join(value.typed for value in self._values.values())
        self._run(self._function.body)
        if self._result == "void":
            self._lines.append("ret void")
        return "\n".join(
            [f"{self._result} @{self._function.name}({arguments}) {{", "entry:", *self._lines, "}"],
        )

    def _new(self, word: str) -> str:
        self._count += 1
        return f"{word}.{self._count}"

    def _set(self, kind: str, instruction: str) -> _LoopValue:
        name = "%" + self._new("v")
        self._lines.append(f"{name} = {instruction}")
        return _LoopValue(kind, name)

    def _begin(self, block: str) -> None:
        self._lines.append(f"{block}:")
        self._block = block

    # Statements -------------------------------------------------------------------------------------------------------

    def _run(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            match statement:
                case ast.Expr(value=ast.Constant()):
                    pass  # the docstring
                case ast.Expr(value=ast.Call() as call):
                    self._called(call)
                case ast.Assign(targets=[target], value=value):
                    self._assign(target, self._value(value))
                case ast.AugAssign(target=target, op=op, value=value):
                    old = self._value(ast.parse(ast.unparse(target), mode="eval").body)
                    self._assign(target, self._combined(op, old, self._value(value)))
                case ast.For(
                    target=ast.Name(id=name), iter=ast.Call(func=ast.Name(id="range"), args=[stop]), orelse=[]
                ) if name not in self._values:  # what it would be afterwards is not known
                    self._for(name, self._value(stop), statement.body)
                case ast.If(test=test, body=body, orelse=otherwise):
                    self._if(self._value(test), body, otherwise)
                case ast.Return(value=ast.expr() as value):
                    self._lines.append(f"ret {self._value(value).typed}")
                case _:
                    raise _refused(statement)

    def _assign(self, target: ast.expr, value: _LoopValue) -> None:
        match target:
            case ast.Name(id=name):
                self._values[name] = value
            case ast.Subscript(value=array, slice=index):
                self._lines.append(f"store {value.typed}, {self._place(array, index).typed}")
            case _:
                raise _refused(target)

    def _for(self, name: str, stop: _LoopValue, body: Sequence[ast.stmt]) -> None:
        """Run a body for 0 to stop - 1; what it changes of the values before it is chosen anew at its start."""
        check, inside, end = (self._new(word) for word in ("check", "body", "end"))
        before, came_from = dict(self._values), self._block
        stored = {n.id for s in body for n in ast.walk(s) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        changed = [key for key in before if key in stored]
        self._lines.append(f"br label %{check}")
        self._begin(check)
        index = _LoopValue("i64", "%" + self._new("i"))
        at = len(self._lines)
        self._values |= {key: _LoopValue(before[key].kind, "%" + self._new("p")) for key in changed}
        chosen = {key: self._values[key] for key in changed}
        more = self._set("i1", f"icmp slt i64 {index.name}, {stop.name}")
        self._lines.append(f"br {more.typed}, label %{inside}, label %{end}")
        self._begin(inside)
        self._values[name] = index
        self._run(body)
        following = self._set("i64", f"add i64 {index.name}, 1")
        self._lines.append(f"br label %{check}")
        ways = [(index, _LoopValue("i64", "0"), following), *((chosen[k], before[k], self._values[k]) for k in changed)]
        self._lines[at:at] = [
            f"{new.name} = phi {_plain(new.kind)} [ {old.name}, %{came_from} ], [ {late.name}, %{self._block} ]"
            for new, old, late in ways
        ]
        self._begin(end)
        self._values = before | chosen

    def _if(self, test: _LoopValue, body: Sequence[ast.stmt], otherwise: Sequence[ast.stmt]) -> None:
        """Run one of two bodies; what they change of the values before them is chosen where they meet."""
        labels, end = (self._new("then"), self._new("else")), self._new("end")
        self._lines.append(f"br {test.typed}, label %{labels[0]}, label %{labels[1]}")
        before, ways = self._values, list[tuple[str, dict[str, _LoopValue]]]()
        for label, statements in zip(labels, (body, otherwise), strict=True):
            self._begin(label)
            self._values = dict(before)
            self._run(statements)
            self._lines.append(f"br label %{end}")
            ways.append((self._block, self._values))
        self._begin(end)
        (first, left), (second, right) = ways
        self._values = {
            key: value
            if left[key] == right[key]
            else self._set(
                value.kind,
                f"phi {_plain(value.kind)} [ {left[key].name}, %{first} ], [ {right[key].name}, %{second} ]",
            )
            for key, value in before.items()
        }

    # Values -----------------------------------------------------------------------------------------------------------

    def _value(self, node: ast.expr) -> _LoopValue:
        match node:
            case ast.Name(id=name) if name in self._values:
                return self._values[name]
            case ast.Constant(value=float(number)):
                return _LoopValue("double", f"0x{struct.unpack('<Q', struct.pack('<d', number))[0]:016X}")
            case ast.Constant(value=int(number)):
                return _LoopValue("i64", str(number))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                value = self._value(operand)
                return self._set(
                    value.kind, f"fneg {value.typed}" if value.kind == "double" else f"sub i64 0, {value.name}"
                )
            case ast.BinOp(left=left, op=op, right=right):
                return self._combined(op, self._value(left), self._value(right))
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                a, b = self._value(left), self._value(right)
                if a.kind != b.kind or type(op) not in _COMPARISONS:
                    raise _refused(node)
                real, whole = _COMPARISONS[type(op)]
                how = f"fcmp {real}" if a.kind == "double" else f"icmp {whole}"
                return self._set("i1", f"{how} {a.typed}, {b.name}")
            case ast.IfExp(test=test, body=body, orelse=otherwise):
                chosen, a, b = (self._value(n) for n in (test, body, otherwise))
                return self._set(a.kind, f"select {chosen.typed}, {a.typed}, {b.typed}")
            case ast.Subscript(value=array, slice=ast.Slice(lower=ast.expr() as lower, upper=None, step=None)):
                return self._place(array, lower)
            case ast.Subscript(value=array, slice=index):
                place = self._place(array, index)
                return self._set(place.kind[:-1], f"load {place.kind[:-1]}, {place.typed}")
            case ast.Call():
                return self._called(node)
        raise _refused(node)

    def _combined(self, op: ast.operator, a: _LoopValue, b: _LoopValue) -> _LoopValue:
        """Return a + b, a - b, a b or a / b of two numbers of one kind."""
        if a.kind != b.kind or type(op) not in _OPERATIONS:
            raise _refused(op)
        letter = "f" if a.kind == "double" else ""
        return self._set(a.kind, f"{letter}{_OPERATIONS[type(op)]} {a.typed}, {b.name}")

    def _place(self, array: ast.expr, index: ast.expr) -> _LoopValue:
        pointer, k = self._value(array), self._value(index)
        return self._set(pointer.kind, f"getelementptr {pointer.kind[:-1]}, {pointer.typed}, {k.typed}")

    def _called(self, node: ast.Call) -> _LoopValue:
        name, arguments = ast.unparse(node.func), [self._value(argument) for argument in node.args]
        typed = ", ".join(argument.typed for argument in arguments)
        kinds, result = _BUILT_IN[name] if name in _BUILT_IN else self._module.signature(name)
        if kinds != [argument.kind for argument in arguments]:
            raise _refused(node)
        if name in _FUNCTIONS:
            return self._set("double", f"call double @{_FUNCTIONS[name]}({typed})")
        if name == call_kernel.__name__:
            kernel = self._set("i64*", f"inttoptr {arguments[0].typed} to ptr")
            self._lines.append(f"call void {kernel.name}({typed.partition(', ')[2]})")
            return _LoopValue("void", "")
        self._module.need(name)
        call = f"call {result} @{name}({typed})"
        if result != "void":
            return self._set(result, call)
        self._lines.append(call)
        return _LoopValue("void", "")


def _refused(node: ast.AST) -> TaupiError:
    return TaupiError("A loop for machine code cannot have {code}.", code=ast.unparse(node) or type(node).__name__)
