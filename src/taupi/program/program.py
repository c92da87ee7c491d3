"""A Program: a function traced once over symbols, called with arrays, read by every target."""

from __future__ import annotations

import dataclasses
import inspect
import math
import numbers
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from taupi.errors import TaupiError, unknown
from taupi.program.sx_shapes import flatten, from_column, to_column
from taupi.program.tape import Tape, record

if TYPE_CHECKING:
    from taupi.program.explicit.form import Explicit


@dataclass(frozen=True, slots=True)
class Port:
    """A named input or output: its shape without batch axes, and what its entries are called."""

    name: str
    shape: tuple[int, ...] = ()
    labels: tuple[str, ...] = ()
    per: str = ""

    @property
    def size(self) -> int:
        """The number of scalars."""
        return math.prod(self.shape)


@dataclass(frozen=True, slots=True)
class Constant:
    """A number of the description that stays a symbol in the trace: its exact value, or None where it has none yet.

    A `named` one was named by the user and keeps its name in explicit forms.
    """

    name: str
    value: Fraction | None
    named: bool = False


class Constants:
    """Collects, while a function is traced, the symbols that stand for exact numbers."""

    def __init__(self) -> None:
        self.table: dict[str, Constant] = {}
        self.symbols: dict[str, Any] = {}

    def __call__(self, name: str, value: Fraction | None, named: bool = False) -> Any:
        """Return the SX of an exact number: itself for 0, 1, -1 and small powers of two, otherwise a named symbol."""
        import casadi as cs

        if value is not None and not named and value in (0, 1, -1, 2, -2, Fraction(1, 2), Fraction(-1, 2)):
            return cs.SX(float(value))
        if name not in self.symbols:
            self.symbols[name] = cs.SX.sym(name)
            self.table[name] = Constant(name, value, named)
        return self.symbols[name]


@dataclass(frozen=True)
class Operations:
    """Scalar operations of a program as it is compiled, structural zeros and repeated terms folded."""

    multiplications: int
    additions: int
    divisions: int
    functions: int

    @property
    def total(self) -> int:
        """All of them."""
        return self.multiplications + self.additions + self.divisions + self.functions

    def __repr__(self) -> str:
        return f"{self.multiplications} x, {self.additions} +, {self.divisions} /, {self.functions} functions"


@dataclass(frozen=True, eq=False)
class Program:
    """A traced function: named inputs and outputs with shapes, exact constants, and the CasADi function between them.

    Call it with arrays whose leading axes are batch axes, `(..., *shape)`; it compiles itself for the CPU on the first
    call. NaN and infinity pass through, as in NumPy. Called with CasADi SX it returns SX, so programs compose. A `guard` is
    kept by the choices of columns and rows, and left behind by other programs made from this one.
    """

    name: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    constants: tuple[Constant, ...]
    # casadi.Function: inputs as column vectors, then the constants; outputs as row-major columns
    function: Any = field(repr=False)
    parameters: Any = None  # what the columns of the output stand for, where they stand for parameters
    # guard(program, *arrays) looks at the arguments of a plain call and raises or warns; compiled objects have none
    guard: Callable[..., None] | None = field(default=None, repr=False)

    # Calling ------------------------------------------------------------------------------------------------------

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Evaluate for arrays of shape (..., *shape) of each input, by position or by name."""
        if any(type(a).__name__ == "SX" for a in (*args, *kwargs.values())):
            return self._inline(args, kwargs)
        result = self._compiled(*args, **kwargs)
        if self.guard is not None:
            from taupi.program.arguments import assigned

            self.guard(self, *assigned(self.name, self.inputs, args, kwargs))
        return result

    @cached_property
    def _compiled(self) -> Callable[..., Any]:
        return self.compile("cpu")

    def compile(
        self, target: str = "cpu", threads: int | None = None, layout: str | None = None, dtype: Any = None
    ) -> Callable[..., Any]:
        """Return the program built for a target and called as the program is.

        `target`: "cpu" (SIMD through LLVM), "cuda" (a GPU, through CuPy), "numpy" (the reference). `threads` share a large
        batch on the CPU. `layout` of the results: "samples" (..., *shape), the default on the CPU; "batch_last"
        (*reversed shape, N), the default on a GPU; "nonzeros".
        `dtype`: "float64" or "float32". The targets behind `exact` and `sympy` are "exact" and "explicit".
        "interval" takes a pair (lo, hi) for each input, a box, and returns such pairs: what the program can take on in it.
        """
        from taupi.program.targets import target_module

        build = target_module(target).build
        given = {k: v for k, v in (("threads", threads), ("layout", layout), ("dtype", dtype)) if v is not None}
        known = inspect.signature(build).parameters
        for name in [n for n in given if n not in known]:
            if name != "threads":  # a target that has no use for threads needs none
                raise TaupiError(f"The target {target!r} has no {name}: leave it out, or compile for the CPU.")
            del given[name]
        return build(self, **given)

    def _inline(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        import casadi as cs

        from taupi.program.arguments import assigned

        given = assigned(self.name, self.inputs, args, kwargs)
        columns = [to_column(cs.SX(value), p.shape) for value, p in zip(given, self.inputs, strict=True)]
        results = self._numeric(*columns)
        results = results if isinstance(results, tuple) else (results,)
        matrices = tuple(from_column(r, p.shape) for r, p in zip(results, self.outputs, strict=True))
        return matrices[0] if len(matrices) == 1 else matrices

    # What it is ---------------------------------------------------------------------------------------------------

    @property
    def symbols(self) -> tuple[str, ...]:
        """The user's symbols that have no value yet; a numeric call needs them bound."""
        return tuple(c.name for c in self.constants if c.value is None)

    def bind(self, **values: Any) -> Program:
        """Return the program with values for its symbols."""
        table = {c.name: c for c in self.constants}
        for name, value in values.items():
            if name not in table:
                raise unknown("symbol", name, (c.name for c in self.constants if c.named), self.name)
            table[name] = dataclasses.replace(table[name], value=_number(name, value))
        return dataclasses.replace(self, constants=tuple(table.values()))

    @cached_property
    def _numeric(self) -> Any:
        """The CasADi function with every constant a double, folded again."""
        import casadi as cs

        if self.symbols:
            names = ", ".join(self.symbols)
            raise TaupiError(
                f"{self.name} has symbols without a value: {names}. Use .bind({self.symbols[0]}=...) first."
            )
        inputs = [cs.SX.sym(p.name, p.size) for p in self.inputs]
        values = cs.SX(np.array([float(c.value or 0) for c in self.constants]))
        outputs = self.function.call([*inputs, values])
        return cs.Function(self.name, inputs, simplified(outputs))

    @cached_property
    def tape(self) -> Tape:
        """The instructions with constants as doubles: what numeric targets run."""
        return record(self._numeric)

    @cached_property
    def exact_tape(self) -> Tape:
        """The instructions with constants as a last input: what exact and explicit targets run."""
        return record(self.function)

    def nonzeros(self, port: int = 0, exact: bool = False) -> np.ndarray:
        """Return the flat, row-major places of an output's structural nonzeros, in the order the tape stores them."""
        function = self.function if exact else self._numeric
        return np.array(function.sparsity_out(port).row(), dtype=np.int64)

    def sparsity(self, output: str | None = None) -> np.ndarray:
        """Return where an output is not structurally zero, as a boolean array of its shape."""
        port = self._output(output)
        mask = np.zeros(self.outputs[port].size, dtype=bool)
        mask[self.nonzeros(port)] = True
        return mask.reshape(self.outputs[port].shape)

    @property
    def operations(self) -> Operations:
        """Scalar operations of one evaluation. A square is a multiplication, a doubling an addition, a sign change nothing."""
        c = self.tape.counts
        functions = sum(n for op, n in c.items() if op not in ("add", "sub", "mul", "sq", "twice", "div", "inv", "neg"))
        return Operations(c["mul"] + c["sq"], c["add"] + c["sub"] + c["twice"], c["div"] + c["inv"], functions)

    def _output(self, name: str | None) -> int:
        names = [p.name for p in self.outputs]
        if name is not None and name not in names:
            raise unknown("output", name, names, self.name)
        return names.index(name) if name is not None else 0

    # Other programs from it ---------------------------------------------------------------------------------------

    def jacobian(self, wrt: str) -> Program:
        """Return d output / d input: a program whose outputs have shape (*output, *input)."""
        return _transformations().jacobian(self, wrt)

    def jvp(self, wrt: str) -> Program:
        """Return (d output / d input) v without forming it: one more input `d<wrt>` of the input's shape."""
        return _transformations().jvp(self, wrt)

    def vjp(self, wrt: str) -> Program:
        """Return w^T (d output / d input) of a one-output program: one more input `w` of the output's shape."""
        return _transformations().vjp(self, wrt)

    def times(self, name: str = "pi") -> Program:
        """Return Y x of a matrix program, Y never formed: one more input `name` with an entry a column."""
        return _transformations().times(self, name)

    def transpose_times(self, name: str = "s") -> Program:
        """Return Y^T s of a matrix program, Y never formed: one more input `name` with an entry a row."""
        return _transformations().transpose_times(self, name)

    def take(self, places: Sequence[int], axis: int = -1) -> Program:
        """Return the program with a choice of entries along an axis of its only output: chosen rows or columns."""
        return _transformations().take(self, places, axis)

    def columns(self, names: Sequence[str] | str) -> Program:
        """Return the program with the columns of the named parameters only; `*.mx` takes a kind, `link2.*` an owner."""
        if self.parameters is None:
            raise TaupiError(f"{self.name} has no parameters to select columns by.")
        return self.take(self.parameters.layout.select(names))

    def reduced(self) -> Program:
        """Return the program without the columns that vanish identically; `reduced().parameters` are those that act."""
        from taupi.program.independent_columns import active_columns

        return self.take(active_columns(self))

    def independent(self) -> Program:
        """Return the program with the leftmost columns that span all columns: Y = Y_b B with a constant B, exactly."""
        from taupi.program.independent_columns import independent_columns

        return self.take(independent_columns(self))

    # Exact and explicit -------------------------------------------------------------------------------------------

    def exact(self, *args: Any, **kwargs: Any) -> Any:
        """Evaluate in rational arithmetic; see `taupi.program.targets.exact`."""
        return self.compile("exact")(*args, **kwargs)

    def sympy(self, values: bool = False) -> Any:
        """Return the outputs as expanded SymPy arrays, sin^2 + cos^2 reduced; `values` puts numbers for named symbols."""
        from taupi.program.targets.explicit import build

        return build(self, values)()

    def explicit(
        self,
        values: bool = False,
        angles: str = "shortest",
        names: bool | Mapping[str, str] = False,
        digits: int | None = None,
        short: bool = False,
        intermediates: int | None = None,
        limit: int | None = None,
    ) -> Explicit:
        """Return the outputs as formulas to read: `text`, `latex`, `markdown`, `html`, `sympy`; printing it writes text.

        `angles`: "shortest" picks, entry by entry, the shorter of products and sums of angles; "products" keeps products.
        `names=True` names sums that repeat (k1, k2, ...); a mapping gives your own, {"b4": "qrdd1 + qrdd2"}. `values` puts
        numbers for the symbols that have some; `digits` rounds numbers that are not simple; `short` writes c12 for cos(q1 + q2).
        A form of more than `limit` terms (300 000) is refused.
        `intermediates=20` names intermediate terms instead, so that few are longer
        than that and any program has a form.

        >>> import taupi as tp
        >>> print(tp.gravity_torque(tp.load("lecture2r")).explicit())
        g[1] = g*(L1*cos(q1)*(m1 + m2) + L2*m2*cos(q1 + q2))
        g[2] = L2*g*m2*cos(q1 + q2)
        """
        from taupi.program.explicit.form import explicit

        return explicit(self, values, angles, names, digits, short, intermediates, limit)

    def latex(self, values: bool = False) -> str:
        """Return the explicit outputs as LaTeX; see `explicit` for more."""
        return self.explicit(values).latex()

    # Source text; `taupi.emit` writes the files ---------------------------------------------------------------------

    def c(self, name: str | None = None, dtype: str = "float64") -> str:
        """Return the program as C99, the text that goes with the header."""
        return self._source("c", name, dtype)

    def python(self, name: str | None = None, dtype: str = "float64") -> str:
        """Return the program as a Python module that needs NumPy only."""
        return self._source("python", name, dtype)

    def matlab(self, name: str | None = None, dtype: str = "float64") -> str:
        """Return the program as a function file for MATLAB and Octave."""
        return self._source("matlab", name, dtype)

    def cuda(self, name: str | None = None, dtype: str = "float64") -> str:
        """Return the program as a CUDA kernel, one thread a sample."""
        return self._source("cuda", name, dtype)

    def _source(self, language: str, name: str | None, dtype: str) -> str:
        from taupi.program.emit import sources

        return next(iter(sources(self, language, name, dtype).values()))

    def __getstate__(self) -> dict[str, Any]:
        """Leave compiled code behind: a copy in another process compiles its own."""
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}

    def __repr__(self) -> str:
        told = ", ".join(f"{p.name}{list(p.shape)}" for p in self.inputs)
        made = ", ".join(f"{p.name}{list(p.shape)}" for p in self.outputs)
        return f"Program {self.name}({told}) -> {made}"


def _refuse_clashes(name: str, inputs: Sequence[Port], constants: Constants) -> None:
    """Refuse a user's symbol that is called as an entry of an input is: formulas would mix the two."""
    taken = {f"{p.name}{k + 1}" for p in inputs for k in range(p.size)} | {p.name for p in inputs}
    for constant in constants.table.values():
        if constant.named and constant.name in taken:
            raise TaupiError(f"The symbol {constant.name!r} is also what {name} calls an input: choose another name.")


def _number(name: str, value: Any) -> Fraction:
    """Return a symbol's value: a float as the decimal that prints it."""
    if isinstance(value, Fraction):
        return value
    if isinstance(value, str | bool) or not isinstance(value, numbers.Real) or not math.isfinite(value):
        raise TaupiError(f"{name} is {value!r}, expected a finite number.")
    return Fraction(repr(float(value)))


def _transformations() -> Any:
    from taupi.program import transformations

    return transformations


def trace(
    name: str,
    body: Callable[..., Any],
    inputs: Sequence[Port],
    outputs: Sequence[Port],
    constants: Constants | None = None,
    parameters: Any = None,
) -> Program:
    """Run `body` once on symbols and return what it did as a Program.

    `body` gets one SX per input (a column for a vector, a matrix for a matrix) and returns one value per output: an SX,
    or nested lists of SX for three axes.

    >>> import casadi as cs
    >>> square = trace("square", lambda x: x * x, [Port("x", (2,))], [Port("y", (2,))])
    >>> square([[1.0, 2.0], [3.0, 4.0]]).tolist()
    [[1.0, 4.0], [9.0, 16.0]]
    """
    import casadi as cs

    constants = constants or Constants()
    columns = [cs.SX.sym(p.name, p.size) for p in inputs]
    results = body(*(from_column(c, p.shape) for c, p in zip(columns, inputs, strict=True)))
    _refuse_clashes(name, inputs, constants)
    results = results if isinstance(results, tuple) else (results,)
    if len(results) != len(outputs):
        raise TaupiError(f"{name} returned {len(results)} values, expected {len(outputs)}.")
    flat = [flatten(r) for r in results]
    for value, port in zip(flat, outputs, strict=True):
        if value.numel() != port.size:
            raise TaupiError(f"{name}: output {port.name} has {value.numel()} entries, expected shape {port.shape}.")
    table = tuple(constants.table.values())
    symbols = cs.vertcat(*(constants.symbols[c.name] for c in table)) if table else cs.SX(0, 1)
    function = cs.Function(name, [*columns, symbols], simplified(flat))
    return Program(name, tuple(inputs), tuple(outputs), table, function, parameters)


def simplified(outputs: Sequence[Any]) -> list[Any]:
    """Return expressions with repeated terms shared and structural zeros dropped."""
    import casadi as cs

    return [cs.sparsify(e) for e in cs.cse(list(outputs))]
