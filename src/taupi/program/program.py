"""A Program: a function traced once over symbols, called with arrays, read by every target and emitter."""

from __future__ import annotations

import dataclasses
import inspect
import math
import numbers
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

import numpy as np

from taupi.errors import Argument, TaupiError, unknown
from taupi.program.ports import Constant, Constants, Port
from taupi.program.tape import Operations, Tape, record
from taupi.progress import progress

if TYPE_CHECKING:
    from types import ModuleType

    from casadi import SX
    from casadi import Function as CasadiFunction
    from numpy.typing import ArrayLike, DTypeLike

    from taupi.program.explicit.form import Explicit
    from taupi.program.targets.cpu import Kernel

__all__ = ["ColumnParameters", "Constant", "Constants", "Operations", "Port", "Program", "simplified", "trace"]

Trace = TypeVar("Trace", bound=Callable[..., object])
NestedSX: TypeAlias = "SX | list[NestedSX]"
# With more input numbers than this, a program's trace gets a line on the terminal: the states of 25 joints take a second.
_MANY = 75
# What the columns of an output stand for: `taupi.Parameters`, which this room does not import.
ColumnParameters: TypeAlias = Any


@dataclass(frozen=True, eq=False)
class Program:
    """A traced function, called with arrays whose leading axes are batch axes, `(..., *shape)`.

    It compiles itself for the CPU on the first call. NaN and infinity pass through, as in NumPy. Called with CasADi SX it
    returns SX, so programs compose.

    Attributes:
        name: The name of the function.
        inputs: The name and shape of each input.
        outputs: The name and shape of each result.
        constants: The exact numbers of the function.
        function: The CasADi function: it takes the inputs as column vectors, then the constants, and returns row-major columns.
        parameters: What the columns of the output stand for, or None.
        guard: Called as guard(program, *arrays) to check the arguments of a plain call; it raises or warns. None for no check.
            Programs with some of the rows or columns keep it; compiled programs and all others derived from this one drop it.
    """

    name: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    constants: tuple[Constant, ...]
    function: CasadiFunction = field(repr=False)
    parameters: ColumnParameters = None
    guard: Callable[..., None] | None = field(default=None, repr=False)

    # Calling ------------------------------------------------------------------------------------------------------

    def __call__(self, *args: ArrayLike | SX, **kwargs: ArrayLike | SX) -> Any:
        """Evaluate the program for arrays, or compose it with CasADi SX.

        Args:
            *args: One array of shape (..., *shape) per input, in their order; batch axes lead and broadcast.
            **kwargs: The same by the names of the inputs.

        Returns:
            One array (..., *shape), or a tuple of arrays if there are several outputs.

        Raises:
            TaupiError: If an input is missing, or has a shape or type that does not fit.
        """
        kernel = self.__dict__.get("_compiled")
        if (
            kernel is not None
            and self.guard is None
            and not kwargs
            and (result := kernel.one_sample(*args)) is not None
        ):
            return result
        if any(type(a).__name__ == "SX" for a in (*args, *kwargs.values())):
            return self._inline(args, kwargs)
        result = self._compiled(*args, **kwargs)
        if self.guard is not None:
            from taupi.program.ports import in_order

            self.guard(self, *in_order(self.name, self.inputs, args, kwargs))
        return result

    def of_finite(self, count: int) -> Callable[..., Any]:
        """Return the compiled program for one sample; it returns None if the arguments need any conversion or complaint.

        They need none if they are arrays of the inputs' own shapes, or a float, and the first `count` of them are finite.
        """
        function: Callable[..., object] = self._compiled.one_finite_sample(count)
        return function

    def of_threads(self, count: int) -> Kernel:
        """Return the compiled program with `count` threads that share a large batch; it has the same machine code."""
        kernel: Kernel = self._compiled.shared_by(count)
        return kernel

    @cached_property
    def _compiled(self) -> Any:
        return self.compile("cpu")

    def compile(
        self, target: str = "cpu", threads: int | None = None, layout: str | None = None, dtype: DTypeLike | None = None
    ) -> Callable[..., Any]:
        """Return the program built for a target, to be called like the program itself.

        Args:
            target: "cpu" (vector instructions through LLVM, the default), "cuda" (a GPU, through CuPy) or "numpy" (the
                reference). "interval" takes a pair (lo, hi) per input, a box, and returns pairs that enclose the program's
                values in it. "exact" and "explicit" are the targets behind `exact` and `sympy`.
            threads: How many threads share a large batch on the CPU, 1 by default.
            layout: The layout of results: "samples", (..., *shape), the default on a CPU; "batch_last", (*reversed shape, N),
                the default on a GPU; "nonzeros", (structural nonzeros, N).
            dtype: "float64" (the default) or "float32".

        Raises:
            TaupiError: If the target is unknown, cannot be used here, or has no such option.
        """
        from taupi.program.targets import BuiltFunction, target_module

        build = target_module(target).build
        options = {k: v for k, v in (("threads", threads), ("layout", layout), ("dtype", dtype)) if v is not None}
        known = inspect.signature(build).parameters
        for name in [n for n in options if n not in known]:
            if name != "threads":  # a target that does not use threads ignores them
                raise TaupiError(
                    "The target {target!r} has no {argument}: leave it out, or compile for the CPU.",
                    target=target,
                    argument=Argument(name),
                )
            del options[name]
        run = build(self, **options)
        return BuiltFunction(run, self, target, options) if inspect.isfunction(run) else run

    def _inline(self, args: Sequence[object], kwargs: Mapping[str, object]) -> Any:
        import casadi as cs

        from taupi.program.ports import in_order

        values = in_order(self.name, self.inputs, args, kwargs)
        columns = [_to_column(cs.SX(value), p.shape) for value, p in zip(values, self.inputs, strict=True)]
        results = self._numeric(*columns)
        results = results if isinstance(results, tuple) else (results,)
        matrices = tuple(_from_column(r, p.shape) for r, p in zip(results, self.outputs, strict=True))
        return matrices[0] if len(matrices) == 1 else matrices

    # Contents -----------------------------------------------------------------------------------------------------

    @property
    def symbols(self) -> tuple[str, ...]:
        """The names of the symbols that have no value yet; numeric calls need all of them bound."""
        return tuple(c.name for c in self.constants if c.value is None)

    def bind(self, **values: float | Fraction) -> Program:
        """Return the program with `values` for its symbols: `program.bind(l1=0.5)`."""
        table = {c.name: c for c in self.constants}
        for name, value in values.items():
            if name not in table:
                raise unknown("symbol", name, (c.name for c in self.constants if c.named), self.name)
            table[name] = dataclasses.replace(table[name], value=_number(name, value))
        return dataclasses.replace(self, constants=tuple(table.values()))

    @cached_property
    def _folded(self) -> Any:
        """The CasADi function with constants as doubles, simplified again; symbols without a value are one more input."""
        import casadi as cs

        inputs = [cs.SX.sym(p.name, p.size) for p in self.inputs]
        free = cs.SX.sym("symbols", len(self.symbols))
        values = cs.SX(np.array([float(c.value or 0) for c in self.constants]))
        for k, name in enumerate(self.symbols):
            values[[c.name for c in self.constants].index(name)] = free[k]
        outputs = self.function.call([*inputs, values])
        return cs.Function(self.name, [*inputs, free] if self.symbols else inputs, simplified(outputs))

    @property
    def _numeric(self) -> Any:
        """The function of the inputs alone; symbols without a value are refused."""
        if self.symbols:
            names = ", ".join(self.symbols)
            raise TaupiError(
                "{name} has symbols without a value: {names}.",
                remedy="Use .bind({symbol}=...) first.",
                name=self.name,
                names=names,
                symbol=self.symbols[0],
            )
        return self._folded

    @cached_property
    def tape(self) -> Tape:
        """The instructions with constants as doubles, which numeric targets and emitters read."""
        return record(self._numeric)

    @cached_property
    def exact_tape(self) -> Tape:
        """The instructions with the constants as a last input, which exact and explicit targets read."""
        return record(self.function)

    def nonzeros(self, port: int = 0, exact: bool = False) -> np.ndarray:
        """Return the flat, row-major positions of an output's structural nonzeros, in the order the tape stores them.

        Args:
            port: The number of the output, 0 by default.
            exact: Whether constants are symbols, none of which counts as zero; False by default.
        """
        function = self.function if exact else self._folded
        return np.array(function.sparsity_out(port).row(), dtype=np.int64)

    def sparsity(self, output: str | None = None) -> np.ndarray:
        """Return where an output is not structurally zero, as a boolean array of its shape.

        Args:
            output: The name of the output, the first by default.
        """
        port = self._output(output)
        mask = np.zeros(self.outputs[port].size, dtype=bool)
        mask[self.nonzeros(port)] = True
        return mask.reshape(self.outputs[port].shape)

    @property
    def operations(self) -> Operations:
        """Scalar operations per sample: a square counts as a multiplication, a doubling as an addition, a sign as none."""
        c = record(self._folded).counts if self.symbols else self.tape.counts
        functions = sum(n for op, n in c.items() if op not in ("add", "sub", "mul", "sq", "twice", "div", "inv", "neg"))
        return Operations(c["mul"] + c["sq"], c["add"] + c["sub"] + c["twice"], c["div"] + c["inv"], functions)

    def _output(self, name: str | None) -> int:
        names = [p.name for p in self.outputs]
        if name is not None and name not in names:
            raise unknown("output", name, names, self.name)
        return names.index(name) if name is not None else 0

    # Other programs from it ---------------------------------------------------------------------------------------

    def jacobian(self, wrt: str) -> Program:
        """Return the program of d output / d input, with outputs of shape (*output, *input).

        Args:
            wrt: The name of the input.
        """
        return _transformations().jacobian(self, wrt)

    def jvp(self, wrt: str) -> Program:
        """Return the program of (d output / d input) v, which never forms the Jacobian.

        Args:
            wrt: The name of the input; v is one more input, `d<wrt>`, of that input's shape.
        """
        return _transformations().jvp(self, wrt)

    def vjp(self, wrt: str) -> Program:
        """Return the program of w^T (d output / d input), for a program with one output.

        Args:
            wrt: The name of the input; w is one more input, `w`, of the output's shape.
        """
        return _transformations().vjp(self, wrt)

    def times(self, name: str = "pi") -> Program:
        """Return the program of Y x for a matrix Y, which never forms Y.

        Args:
            name: The name of one more input, x (p,); "pi" by default.
        """
        return _transformations().times(self, name)

    def transpose_times(self, name: str = "s") -> Program:
        """Return the program of Y^T s for a matrix Y, which never forms Y.

        Args:
            name: The name of one more input, s (n,); "s" by default.
        """
        return _transformations().transpose_times(self, name)

    def take(self, places: Sequence[int], axis: int = -1) -> Program:
        """Return the program with some entries of its only output.

        Args:
            places: Their numbers, counted from 0.
            axis: The axis along which they are counted, the last (columns) by default.
        """
        return _transformations().take(self, places, axis)

    def select(self, names: Sequence[str] | str) -> Program:
        """Return the program with the columns of some parameters.

        Args:
            names: Their names; "*.mx" selects the parameters of a kind, "link2.*" the ones of an owner.

        >>> import taupi as tp
        >>> tp.regressor(tp.load("elbow2r")).select("*.m").parameters.names
        ('upper_arm.m', 'forearm.m')
        """
        if self.parameters is None:
            raise TaupiError("{name} has no parameters to select columns by.", name=self.name)
        return self.take(self.parameters.layout.select(names))

    def columns(self, names: Sequence[str] | str) -> Program:
        """Return the program with the columns of some parameters: another name of `select`.

        Args:
            names: Their names or patterns.
        """
        return self.select(names)

    def reduced(self) -> Program:
        """Return the program without columns that vanish identically; its `parameters` are those that have an effect."""
        from taupi.program.independent_columns import active_columns

        return self.take(active_columns(self))

    def independent(self) -> Program:
        """Return the program with the leftmost columns that span all others: Y = Y_b B, with a constant B, exactly."""
        from taupi.program.independent_columns import independent_columns

        return self.take(independent_columns(self))

    def symbols_as_input(self, name: str = "pi", symbols: Sequence[str] | None = None) -> Program:
        """Return the program with one more input, a vector with the values of symbols; `taupi.parametric` does it for a robot.

        Args:
            name: The name of the input, "pi" by default.
            symbols: The symbols in the order of the vector; by default all that have a name, with a value or without.

        >>> import taupi as tp
        >>> weight = tp.gravity_torque(tp.load("lecture2r")).symbols_as_input("lengths", ["L1", "L2"])
        >>> weight.bind(m1=1, m2=1, g=10)([0.0, 0.0], [0.5, 0.25]).tolist()
        [12.5, 2.5]
        """
        named = tuple(c.name for c in self.constants if c.named)
        return _transformations().symbols_as_input(self, name, named if symbols is None else tuple(symbols))

    # In other frameworks ------------------------------------------------------------------------------------------

    def jax(self) -> Any:
        """Return the program as a function of JAX arrays for `jit`, `vmap`, `grad`, ...: a `taupi.bridges.JaxFunction`."""
        from taupi.bridges.jax_function import JaxFunction

        return JaxFunction(self)

    def torch(self) -> Any:
        """Return the program as a function of PyTorch tensors, for autograd and `torch.func`: a `taupi.bridges.TorchFunction`."""
        from taupi.bridges.torch_function import TorchFunction

        return TorchFunction(self)

    # Exact and explicit -------------------------------------------------------------------------------------------

    def exact(self, *args: object, **kwargs: object) -> Any:
        """Evaluate one sample in rational arithmetic.

        Args:
            *args: The inputs in their order, as nested sequences of numbers. For an input whose sine or cosine is taken, give
                the tangent of its half: see `taupi.program.targets.exact`.
            **kwargs: The same by the names of the inputs.
        """
        return self.compile("exact")(*args, **kwargs)

    def sympy(self, values: bool = False, time: str | None = None) -> Any:
        """Return the outputs as expanded SymPy matrices, with sin^2 + cos^2 = 1 applied.

        Args:
            values: Whether symbols that have a value are replaced by it, False by default.
            time: The name of time, of which coordinates are then functions, q1(t), and velocities their derivatives; None, the
                default, leaves them symbols.
        """
        from taupi.program.targets.explicit import build

        return build(self, values, time)()

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
        """Return the outputs as formulas to read: `text`, `latex`, `markdown`, `html`, `sympy`; printing it shows text.

        Args:
            values: Whether symbols that have a value are replaced by it, False by default.
            angles: "shortest" chooses the shorter of products and sums of angles for each entry (the default), "products" keeps
                products.
            names: True names sums that occur repeatedly (k1, k2, ...), a mapping has your own names, {"b4": "qrdd1 + qrdd2"};
                False, the default, names none.
            digits: To how many digits numbers that are not simple are rounded; None, the default, rounds none.
            short: Whether cos(q1 + q2) is written c12, False by default.
            intermediates: About how many terms a formula may have, say 20, before intermediate terms are named, so that any
                program has an explicit form; None, the default, names none.
            limit: The most terms of a form, 300 000 by default.

        Raises:
            TaupiError: If the form has more terms than `limit`.

        >>> import taupi as tp
        >>> print(tp.gravity_torque(tp.load("lecture2r")).explicit())
        g[1] = g*(L1*cos(q1)*(m1 + m2) + L2*m2*cos(q1 + q2))
        g[2] = L2*g*m2*cos(q1 + q2)
        """
        from taupi.program.explicit.form import explicit

        return explicit(self, values, angles, names, digits, short, intermediates, limit)

    def latex(self, values: bool = False, time: str | None = None) -> str:
        """Return the outputs as LaTeX formulas.

        Args:
            values: Whether symbols that have a value are replaced by it, False by default.
            time: The name of time, as in `sympy`; None by default.
        """
        return self.explicit(values).latex(time=time)

    def mathematica(self, values: bool = False, time: str | None = None) -> str:
        """Return the outputs as Mathematica reads them.

        Args:
            values: Whether symbols that have a value are replaced by it, False by default.
            time: The name of time, as in `sympy`; None by default.
        """
        return self.explicit(values).mathematica(time)

    def maple(self, values: bool = False, time: str | None = None) -> str:
        """Return the outputs as Maple reads them.

        Args:
            values: Whether symbols that have a value are replaced by it, False by default.
            time: The name of time, as in `sympy`; None by default.
        """
        return self.explicit(values).maple(time)

    # Source text; `taupi.emit` writes the files ---------------------------------------------------------------------

    def c(self, name: str | None = None, dtype: str = "float64") -> str:
        """Return the program as C99 source, without the header.

        Args:
            name: The name of the function, by default the program's.
            dtype: "float64" (the default) or "float32".
        """
        return self._source("c", name, dtype)

    def python(self, name: str | None = None, dtype: str = "float64") -> str:
        """Return the program as a Python module that needs only NumPy.

        Args:
            name: The name of the function, by default the program's.
            dtype: "float64" (the default) or "float32".
        """
        return self._source("python", name, dtype)

    def matlab(self, name: str | None = None, dtype: str = "float64") -> str:
        """Return the program as a function file for MATLAB and Octave.

        Args:
            name: The name of the function, by default the program's.
            dtype: "float64" (the default) or "float32".
        """
        return self._source("matlab", name, dtype)

    def cuda(self, name: str | None = None, dtype: str = "float64") -> str:
        """Return the program as a CUDA kernel with one thread per sample.

        Args:
            name: The name of the function, by default the program's.
            dtype: "float64" (the default) or "float32".
        """
        return self._source("cuda", name, dtype)

    def _source(self, language: str, name: str | None, dtype: str) -> str:
        from taupi.program.emit import sources

        return next(iter(sources(self, language, name, dtype).values()))

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields without compiled code: a copy in another process compiles its own."""
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}

    def __repr__(self) -> str:
        inputs = ", ".join(f"{p.name}{list(p.shape)}" for p in self.inputs)
        outputs = ", ".join(f"{p.name}{list(p.shape)}" for p in self.outputs)
        return f"Program {self.name}({inputs}) -> {outputs}"

    def _repr_html_(self) -> str:
        from taupi.tables import html_pattern, html_table

        def shape(port: Port) -> str:
            return f"({', '.join(['...', *map(str, port.shape)])})"

        rows = [
            ("", "name", "shape", "entries that are not zero"),
            *(("takes", p.name, shape(p), "") for p in self.inputs),
        ]
        pictures = []
        for port in self.outputs:
            mask = self.sparsity(port.name)
            share = f"{int(mask.sum())} of {mask.size}"
            rows.append(("returns", port.name, shape(port), share))
            if mask.ndim == 2:
                pictures.append(html_pattern(f"{port.name}: {share} entries are not zero", mask.tolist()))
        title = f"{self.name}: {self.operations.total} operations per sample ({self.operations})"
        return html_table(title, rows) + "".join(pictures)


def _refuse_clashes(name: str, inputs: Sequence[Port], constants: Constants) -> None:
    """Refuse a user's symbol with the name of an input's entry: formulas would confuse the two."""
    taken = {f"{p.name}{k + 1}" for p in inputs for k in range(p.size)} | {p.name for p in inputs}
    for constant in constants.table.values():
        if constant.named and constant.name in taken:
            raise TaupiError(
                "The symbol {constant!r} is also the name of an input of {name}: choose another name.",
                constant=constant.name,
                name=name,
            )


def _number(name: str, value: object) -> Fraction:
    """Return a symbol's value as a fraction: a float as the decimal that prints it."""
    try:
        number = float(value) if isinstance(value, numbers.Real) and not isinstance(value, bool) else math.nan
    except OverflowError:  # a fraction or a whole number larger than any double
        number = math.inf
    if not math.isfinite(number):
        raise TaupiError("{argument} is {got!r}, expected a finite number.", argument=Argument(name), got=value)
    return value if isinstance(value, Fraction) else Fraction(repr(number))


def _to_column(value: SX, shape: tuple[int, ...]) -> SX:
    """Return an SX of some shape as a row-major column."""
    import casadi as cs

    if value.numel() != math.prod(shape):
        raise TaupiError("An SX argument has {got} entries, expected shape {shape}.", got=value.numel(), shape=shape)
    return cs.vec(value.T) if len(shape) == 2 else cs.vec(value)


def _from_column(column: SX, shape: tuple[int, ...]) -> SX:
    """Return the matrix that a column holds row by row; for other shapes, return the column."""
    import casadi as cs

    return cs.reshape(column, shape[1], shape[0]).T if len(shape) == 2 else column


def _flatten(value: NestedSX) -> SX:
    """Return an SX, or nested lists of SX, as a row-major column."""
    import casadi as cs

    if isinstance(value, list):
        return cs.vertcat(*(_flatten(v) for v in value))
    return cs.densify(cs.vec(cs.SX(value).T))


def _watched_when_long(trace: Trace) -> Trace:
    """Return the function `trace(name, body, inputs, ...)`, shown as progress if there are many inputs."""

    @wraps(trace)
    def watched(
        name: str, body: Callable[..., object], inputs: Sequence[Port], *more: object, **keywords: object
    ) -> object:
        if sum(port.size for port in inputs) < _MANY:
            return trace(name, body, inputs, *more, **keywords)
        with progress(f"tracing {name}", 1) as step:
            step("on symbols")
            return trace(name, body, inputs, *more, **keywords)

    return cast(Trace, watched)


def _transformations() -> ModuleType:
    from taupi.program import transformations

    return transformations


@_watched_when_long
def trace(
    name: str,
    body: Callable[..., object],
    inputs: Sequence[Port],
    outputs: Sequence[Port],
    constants: Constants | None = None,
    parameters: ColumnParameters = None,
) -> Program:
    """Run a function once on symbols and return what it computes as a Program.

    Args:
        name: The name of the program.
        body: A function of one SX per input (a column for a vector, a matrix for a matrix) that returns one value per output: an
            SX, or nested lists of SX for three axes.
        inputs: The name and shape of each input.
        outputs: The name and shape of each result.
        constants: The exact numbers that `body` asks for (see `Constants`); none by default.
        parameters: What the columns of the output stand for; None by default.

    Returns:
        The program.

    Raises:
        TaupiError: If `body` returns another number of values or entries, or a symbol has the name of an input.

    >>> import casadi as cs
    >>> square = trace("square", lambda x: x * x, [Port("x", (2,))], [Port("y", (2,))])
    >>> square([[1.0, 2.0], [3.0, 4.0]]).tolist()
    [[1.0, 4.0], [9.0, 16.0]]
    """
    import casadi as cs

    constants = constants or Constants()
    columns = [cs.SX.sym(p.name, p.size) for p in inputs]
    results = body(*(_from_column(c, p.shape) for c, p in zip(columns, inputs, strict=True)))
    _refuse_clashes(name, inputs, constants)
    results = results if isinstance(results, tuple) else (results,)
    if len(results) != len(outputs):
        raise TaupiError(
            "{name} returned {count} values, expected {expected}.", name=name, count=len(results), expected=len(outputs)
        )
    flat = [_flatten(r) for r in results]
    for value, port in zip(flat, outputs, strict=True):
        if value.numel() != port.size:
            raise TaupiError(
                "{name}: output {port} has {got} entries, expected shape {expected}.",
                name=name,
                port=port.name,
                got=value.numel(),
                expected=port.shape,
            )
    table = tuple(constants.table.values())
    symbols = cs.vertcat(*(constants.symbols[c.name] for c in table)) if table else cs.SX(0, 1)
    function = cs.Function(name, [*columns, symbols], simplified(flat))
    return Program(name, tuple(inputs), tuple(outputs), table, function, parameters)


def simplified(outputs: Sequence[SX]) -> list[SX]:
    """Return expressions with repeated terms computed once and structural zeros dropped."""
    import casadi as cs

    return [cs.sparsify(e) for e in cs.cse(list(outputs))]
