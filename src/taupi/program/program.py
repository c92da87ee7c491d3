"""A Program: a function traced once over symbols, called with arrays, read by every target and emitter."""

from __future__ import annotations

import dataclasses
import inspect
import math
import numbers
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from taupi.errors import Argument, TaupiError, shown, unknown
from taupi.program.constants import Constant, Constants
from taupi.program.long_traces import watched_when_long
from taupi.program.port import Port
from taupi.program.sx_shapes import flatten, from_column, to_column
from taupi.program.tape import Operations, Tape, record
from taupi.public_names import handed_on

if TYPE_CHECKING:
    from types import ModuleType

    from casadi import SX
    from casadi import Function as CasadiFunction
    from numpy.typing import ArrayLike, DTypeLike

    from taupi.program.explicit.form import Explicit

__all__ = ["ColumnParameters", "Constant", "Constants", "Operations", "Port", "Program", "simplified", "trace"]

# What the columns of an output stand for: `taupi.Parameters`, which this room does not import.
ColumnParameters: TypeAlias = Any


@dataclass(frozen=True, eq=False)
class Program:
    """A traced function, called with arrays whose leading axes are batch axes, `(..., *shape)`.

    It compiles itself for the CPU on the first call. NaN and infinity pass through, as in NumPy. Called with CasADi SX it
    returns SX, so programs compose.

    `name`, `inputs` and `outputs` describe the function, and `constants` are its exact numbers. `function` is the CasADi
    function between them: it takes the inputs as column vectors, then the constants, and returns row-major columns.
    `parameters` are what the columns of the output stand for, or None. `guard` is called as guard(program, *arrays) to check
    the arguments of a plain call, and raises or warns; None for no check. Programs with some of the rows or columns keep it;
    compiled programs and all others derived from this one drop it.
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
        """Evaluate the program for one array of shape (..., *shape) per input, by position (`args`) or by name (`kwargs`).

        Return one array, or a tuple of arrays if there are several outputs.
        """
        kernel = self.__dict__.get("_compiled")
        if kernel is not None and self.guard is None and not kwargs and (result := kernel.one_sample(args)) is not None:
            return result
        if any(type(a).__name__ == "SX" for a in (*args, *kwargs.values())):
            return self._inline(args, kwargs)
        result = self._compiled(*args, **kwargs)
        if self.guard is not None:
            from taupi.program.arguments import in_order

            self.guard(self, *in_order(self.name, self.inputs, args, kwargs))
        return result

    @cached_property
    def _compiled(self) -> Any:
        return self.compile("cpu")

    def compile(
        self, target: str = "cpu", threads: int | None = None, layout: str | None = None, dtype: DTypeLike | None = None
    ) -> Callable[..., Any]:
        """Return the program built for a target, to be called like the program itself.

        `target` is "cpu" (vector instructions through LLVM, the default), "cuda" (a GPU, through CuPy) or "numpy" (the
        reference). "interval" takes a pair (lo, hi) per input, a box, and returns pairs that enclose the program's values in it.
        "exact" and "explicit" are the targets behind `exact` and `sympy`. `threads` share a large batch on the CPU, 1 by default.
        `layout` is that of the results: "samples", (..., *shape), the default on a CPU; "batch_last", (*reversed shape, N), the
        default on a GPU; "nonzeros", (structural nonzeros, N). `dtype` is "float64" (the default) or "float32".
        """
        from taupi.program.targets import target_module
        from taupi.program.targets.built_function import BuiltFunction

        build = target_module(target).build
        options = {k: v for k, v in (("threads", threads), ("layout", layout), ("dtype", dtype)) if v is not None}
        known = inspect.signature(build).parameters
        for name in [n for n in options if n not in known]:
            if name != "threads":  # a target that does not use threads ignores them
                raise TaupiError(
                    f"The target {target!r} has no ", Argument(name), ": leave it out, or compile for the CPU."
                )
            del options[name]
        run = build(self, **options)
        return BuiltFunction(run, self, target, options) if inspect.isfunction(run) else run

    def _inline(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        import casadi as cs

        from taupi.program.arguments import in_order

        values = in_order(self.name, self.inputs, args, kwargs)
        columns = [to_column(cs.SX(value), p.shape) for value, p in zip(values, self.inputs, strict=True)]
        results = self._numeric(*columns)
        results = results if isinstance(results, tuple) else (results,)
        matrices = tuple(from_column(r, p.shape) for r, p in zip(results, self.outputs, strict=True))
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
    def _numeric(self) -> Any:
        """The CasADi function with every constant a double, simplified again."""
        import casadi as cs

        if self.symbols:
            names = ", ".join(self.symbols)
            raise TaupiError(
                f"{self.name} has symbols without a value: {names}.", remedy=f"Use .bind({self.symbols[0]}=...) first."
            )
        inputs = [cs.SX.sym(p.name, p.size) for p in self.inputs]
        values = cs.SX(np.array([float(c.value or 0) for c in self.constants]))
        outputs = self.function.call([*inputs, values])
        return cs.Function(self.name, inputs, simplified(outputs))

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

        `port` is the number of the output. With `exact`, constants are symbols, none of which counts as zero.
        """
        function = self.function if exact else self._numeric
        return np.array(function.sparsity_out(port).row(), dtype=np.int64)

    def sparsity(self, output: str | None = None) -> np.ndarray:
        """Return where an `output` (by its name, the first by default) is not structurally zero, as a boolean array."""
        port = self._output(output)
        mask = np.zeros(self.outputs[port].size, dtype=bool)
        mask[self.nonzeros(port)] = True
        return mask.reshape(self.outputs[port].shape)

    @property
    def operations(self) -> Operations:
        """Scalar operations per sample: a square counts as a multiplication, a doubling as an addition, a sign as none."""
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
        """Return the program of d output / d input, with outputs of shape (*output, *input); `wrt` is the input's name."""
        return _transformations().jacobian(self, wrt)

    def jvp(self, wrt: str) -> Program:
        """Return the program of (d output / d input) v, which never forms the Jacobian.

        `wrt` is the input's name, and v one more input, `d<wrt>`, of that input's shape.
        """
        return _transformations().jvp(self, wrt)

    def vjp(self, wrt: str) -> Program:
        """Return the program of w^T (d output / d input), for a program with one output.

        `wrt` is the input's name, and w one more input, `w`, of the output's shape.
        """
        return _transformations().vjp(self, wrt)

    def times(self, name: str = "pi") -> Program:
        """Return the program of Y x for a matrix Y, which never forms Y; x is one more input called `name`."""
        return _transformations().times(self, name)

    def transpose_times(self, name: str = "s") -> Program:
        """Return the program of Y^T s for a matrix Y, which never forms Y; s is one more input called `name`."""
        return _transformations().transpose_times(self, name)

    def take(self, places: Sequence[int], axis: int = -1) -> Program:
        """Return the program with some entries of its only output: the ones at `places` along `axis`, by default columns."""
        return _transformations().take(self, places, axis)

    def select(self, names: Sequence[str] | str) -> Program:
        """Return the program with the columns of some parameters, by their `names`.

        "*.mx" selects the parameters of a kind, "link2.*" those of an owner.

        >>> import taupi as tp
        >>> tp.regressor(tp.load("elbow2r")).select("*.m").parameters.names
        ('upper_arm.m', 'forearm.m')
        """
        if self.parameters is None:
            raise TaupiError(f"{self.name} has no parameters to select columns by.")
        return self.take(self.parameters.layout.select(names))

    def columns(self, names: Sequence[str] | str) -> Program:
        """Return the same as `select`, which has the clearer name: the columns of some parameters, by their `names`."""
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
        """Return the program with one more input, `name`, a vector with the values of its `symbols` in their order.

        By default these are all that have a name, whether they have a value or not. `taupi.parametric` does this for the
        parameters of a robot.

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
        return handed_on("bridges", "JaxFunction")(self)

    def torch(self) -> Any:
        """Return the program as a function of PyTorch tensors, for autograd and `torch.func`: a `taupi.bridges.TorchFunction`."""
        return handed_on("bridges", "TorchFunction")(self)

    # Exact and explicit -------------------------------------------------------------------------------------------

    def exact(self, *args: Any, **kwargs: Any) -> Any:
        """Evaluate one sample in rational arithmetic; `args` and `kwargs` are the inputs, as nested sequences of numbers.

        For an input whose sine or cosine is taken, give the tangent of its half: see `taupi.program.targets.exact`.
        """
        return self.compile("exact")(*args, **kwargs)

    def sympy(self, values: bool = False, time: str | None = None) -> Any:
        """Return the outputs as expanded SymPy matrices, with sin^2 + cos^2 = 1 applied.

        With `values`, symbols that have a value are replaced by it; by default they stay symbols. With the name of `time`,
        coordinates are functions of it, q1(t), and velocities their derivatives; None, the default, leaves them symbols.
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

        With `values`, symbols that have a value are replaced by it. `angles` is "shortest", which chooses the shorter of
        products and sums of angles for each entry (the default), or "products", which keeps products. `names` is True to name
        sums that occur repeatedly (k1, k2, ...), or a mapping with your own names, {"b4": "qrdd1 + qrdd2"}. `digits` rounds
        numbers that are not simple, none by default. `short` writes c12 for cos(q1 + q2). A form with more terms than `limit`,
        300 000 by default, is refused. `intermediates`, say 20, names intermediate terms, so that few formulas have more terms
        than that and any program has an explicit form; None (the default) names none.

        >>> import taupi as tp
        >>> print(tp.gravity_torque(tp.load("lecture2r")).explicit())
        g[1] = g*(L1*cos(q1)*(m1 + m2) + L2*m2*cos(q1 + q2))
        g[2] = L2*g*m2*cos(q1 + q2)
        """
        from taupi.program.explicit.form import explicit

        return explicit(self, values, angles, names, digits, short, intermediates, limit)

    def latex(self, values: bool = False, time: str | None = None) -> str:
        """Return the outputs as LaTeX formulas; `values` and further options are as in `explicit`, `time` as in its `latex`."""
        return self.explicit(values).latex(time=time)

    def mathematica(self, values: bool = False, time: str | None = None) -> str:
        """Return the outputs as Mathematica reads them; `values` is as in `explicit`, `time` as in its `mathematica`."""
        return self.explicit(values).mathematica(time)

    def maple(self, values: bool = False, time: str | None = None) -> str:
        """Return the outputs as Maple reads them; `values` is as in `explicit`, `time` as in its `maple`."""
        return self.explicit(values).maple(time)

    # Source text; `taupi.emit` writes the files ---------------------------------------------------------------------

    def c(self, name: str | None = None, dtype: str = "float64") -> str:
        """Return the program as C99 source, without the header.

        `name` is the function's, by default the program's; `dtype` is "float64" or "float32".
        """
        return self._source("c", name, dtype)

    def python(self, name: str | None = None, dtype: str = "float64") -> str:
        """Return the program as a Python module that needs only NumPy; `name` and `dtype` are those of `c`."""
        return self._source("python", name, dtype)

    def matlab(self, name: str | None = None, dtype: str = "float64") -> str:
        """Return the program as a function file for MATLAB and Octave; `name` and `dtype` are those of `c`."""
        return self._source("matlab", name, dtype)

    def cuda(self, name: str | None = None, dtype: str = "float64") -> str:
        """Return the program as a CUDA kernel with one thread per sample; `name` and `dtype` are those of `c`."""
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
        from taupi.program.program_card import program_card

        return program_card(self)


def _refuse_clashes(name: str, inputs: Sequence[Port], constants: Constants) -> None:
    """Refuse a user's symbol with the name of an input's entry: formulas would confuse the two."""
    taken = {f"{p.name}{k + 1}" for p in inputs for k in range(p.size)} | {p.name for p in inputs}
    for constant in constants.table.values():
        if constant.named and constant.name in taken:
            raise TaupiError(
                f"The symbol {constant.name!r} is also the name of an input of {name}: choose another name."
            )


def _number(name: str, value: Any) -> Fraction:
    """Return a symbol's value as a fraction: a float as the decimal that prints it."""
    try:
        number = float(value) if isinstance(value, numbers.Real) and not isinstance(value, bool) else math.nan
    except OverflowError:  # a fraction or a whole number larger than any double
        number = math.inf
    if not math.isfinite(number):
        raise TaupiError(Argument(name), f" is {shown(value)}, expected a finite number.")
    return value if isinstance(value, Fraction) else Fraction(repr(number))


def _transformations() -> ModuleType:
    from taupi.program import transformations

    return transformations


@watched_when_long
def trace(
    name: str,
    body: Callable[..., Any],
    inputs: Sequence[Port],
    outputs: Sequence[Port],
    constants: Constants | None = None,
    parameters: ColumnParameters = None,
) -> Program:
    """Run a function once on symbols and return what it computes as a Program.

    `name` is the program's. `body` gets one SX per port in `inputs` (a column for a vector, a matrix for a matrix) and returns
    one value per port in `outputs`: an SX, or nested lists of SX for three axes. `constants` are the exact numbers that
    `body` asked for (see `Constants`), and `parameters` what the columns of the output stand for; both are none by default.

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


def simplified(outputs: Sequence[SX]) -> list[SX]:
    """Return expressions with repeated terms computed once and structural zeros dropped."""
    import casadi as cs

    return [cs.sparsify(e) for e in cs.cse(list(outputs))]
