"""MATLAB and Octave: one function file, for one sample per call."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from taupi.program.emitters.dialect import (
    Dialect,
    checked_name,
    described,
    digits,
    identifiers,
    statements,
    times,
    words,
)
from taupi.program.program import Port, Program

_OPERATIONS: dict[str, str] = {
    "neg": "-{a}",
    "sq": "{a} * {a}",
    "twice": "{a} + {a}",
    "inv": "1 / {a}",
    "sin": "sin({a})",
    "cos": "cos({a})",
    "tan": "tan({a})",
    "asin": "real_or_nan(asin({a}))",
    "acos": "real_or_nan(acos({a}))",
    "atan": "atan({a})",
    "exp": "exp({a})",
    "log": "real_or_nan(log({a}))",
    "sqrt": "real_or_nan(sqrt({a}))",
    "tanh": "tanh({a})",
    "sign": "sign({a})",
    "fabs": "abs({a})",
    "floor": "floor({a})",
    "not": "double({a} == 0)",
    "add": "{a} + {b}",
    "sub": "{a} - {b}",
    "mul": "{a} * {b}",
    "div": "{a} / {b}",
    "pow": "real_power({a}, {b})",
    "constpow": "real_power({a}, {b})",
    "atan2": "atan2({a}, {b})",
    "fmin": "min({a}, {b})",
    "fmax": "max({a}, {b})",
    "lt": "double({a} < {b})",
    "le": "double({a} <= {b})",
    "eq": "double({a} == {b})",
    "ne": "double({a} ~= {b})",
    "and": "double({a} ~= 0 && {b} ~= 0)",
    "or": "double({a} ~= 0 || {b} ~= 0)",
    "if_else_zero": "value_if({a}, {b})",
}
_HELPERS = {
    "real_or_nan": """
function y = real_or_nan(y)
    % Outside its real domain a function is NaN, not complex.
    if ~isreal(y)
        y = NaN;
    end
end
""",
    "real_power": """
function y = real_power(a, b)
    % As in C: a fractional power of a negative number is NaN, unless either number is infinite.
    y = power(a, b);
    if ~isreal(y)
        y = NaN;
        if isinf(a) || isinf(b)
            y = power(abs(a), b);
        end
    end
end
""",
    "value_if": """
function y = value_if(condition, y)
    if condition == 0
        y = 0;
    end
end
""",
}
_RESERVED = words("""
    break case catch classdef continue else elseif end endfunction endif endfor endwhile endswitch for function global if
    otherwise parfor persistent return spmd switch try until do unwind_protect unwind_protect_cleanup while sin cos tan asin
    acos atan exp log sqrt tanh sign abs double single power atan2 min max zeros numel error isreal isinf NaN Inf
""") | set(_HELPERS)


def files(program: Program, name: str | None = None, dtype: str = "float64") -> dict[str, str]:
    """Return the function by its file name."""
    name = checked_name(program, name, dtype, "MATLAB", _RESERVED)
    inputs, outputs = identifiers(program, name, _RESERVED)
    kind = "double" if dtype == "float64" else "single"
    dialect = Dialect(
        _OPERATIONS,
        number=lambda v: digits(v, dtype, "Inf", "NaN"),
        read=lambda port, slot: f"{inputs[port]}({_place(program.inputs[port], slot)})",
        store=lambda port, place, value: f"{outputs[port]}({_place(program.outputs[port], place)}) = {value};",
    )
    call = f"[{', '.join(outputs)}] = {name}({', '.join(inputs)})"
    rule = f"{kind}, zeros included"
    comment = described(program, name, call, (inputs, outputs), lambda p: times(p.shape), rule, first=1)
    comment += ["", "One sample per call; vectors are columns."]

    body = []
    for a, port in zip(inputs, program.inputs, strict=True):
        error = f"error('{a} has %d entries, expected {port.size}.', numel({a}));"
        body += [f"if numel({a}) ~= {port.size}, {error} end", f"{a} = {kind}({a});"]
    for y, port in zip(outputs, program.outputs, strict=True):
        body.append(f"{y} = zeros({', '.join(map(str, _full(port.shape)))}, '{kind}');")
    body += statements(program, dialect)
    code = "".join(f"    {line}\n" for line in body)
    notes = "".join(f"%   {line}".rstrip() + "\n" for line in comment)
    helpers = "".join(text for key, text in _HELPERS.items() if f"{key}(" in code)
    return {f"{name}.m": f"function {call}\n{notes}\n{code}end\n{helpers}"}


def _full(shape: Sequence[int]) -> Sequence[int]:
    """Return a shape as in MATLAB: a vector is a column."""
    return shape if len(shape) > 1 else (*shape, 1) if shape else (1, 1)


def _place(port: Port, flat: int) -> str:
    if len(port.shape) < 2:
        return str(flat + 1)
    return ", ".join(str(int(k) + 1) for k in np.unravel_index(flat, port.shape))
