"""Python: one file that needs only NumPy, and takes batches as the program does."""

from __future__ import annotations

import keyword

from taupi.program.emitters.dialect import (
    Dialect,
    checked_name,
    described,
    digits,
    identifiers,
    slots,
    statements,
)
from taupi.program.program import Port, Program

_RESERVED = frozenset({*keyword.kwlist, "np", "batch", "one", "zero"})
_OPERATIONS: dict[str, str] = {
    "neg": "-{a}",
    "sq": "{a} * {a}",
    "twice": "{a} + {a}",
    "inv": "1 / {a}",
    "sin": "np.sin({a})",
    "cos": "np.cos({a})",
    "tan": "np.tan({a})",
    "asin": "np.arcsin({a})",
    "acos": "np.arccos({a})",
    "atan": "np.arctan({a})",
    "exp": "np.exp({a})",
    "log": "np.log({a})",
    "sqrt": "np.sqrt({a})",
    "tanh": "np.tanh({a})",
    "sign": "np.sign({a})",
    "fabs": "np.abs({a})",
    "floor": "np.floor({a})",
    "not": "np.where({a} == 0, one, zero)",
    "add": "{a} + {b}",
    "sub": "{a} - {b}",
    "mul": "{a} * {b}",
    "div": "{a} / {b}",
    "pow": "np.power({a}, {b})",
    "constpow": "np.power({a}, {b})",
    "atan2": "np.arctan2({a}, {b})",
    "fmin": "np.fmin({a}, {b})",
    "fmax": "np.fmax({a}, {b})",
    "lt": "np.where({a} < {b}, one, zero)",
    "le": "np.where({a} <= {b}, one, zero)",
    "eq": "np.where({a} == {b}, one, zero)",
    "ne": "np.where({a} != {b}, one, zero)",
    "and": "np.where(({a} != 0) & ({b} != 0), one, zero)",
    "or": "np.where(({a} != 0) | ({b} != 0), one, zero)",
    "if_else_zero": "np.where({a} != 0, {b}, zero)",
}

_HELPER = '''
def _entries(name, value, shape):
    """Return the batch shape of an argument (..., *shape), and its entries along a first axis."""
    array = np.asarray(value, dtype=np.{dtype})
    lead = array.ndim - len(shape)
    if lead < 0 or array.shape[lead:] != shape:
        expected = ", ".join(["...", *map(str, shape)])
        raise ValueError(f"{{name}} has shape {{array.shape}}, expected ({{expected}}).")
    size = int(np.prod(shape))
    return array.shape[:lead], np.moveaxis(array.reshape(*array.shape[:lead], size), -1, 0)
'''


def files(program: Program, name: str | None = None, dtype: str = "float64") -> dict[str, str]:
    """Return the module by its file name."""
    name = checked_name(program, name, dtype, "Python", _RESERVED)
    inputs, outputs = identifiers(program, name, _RESERVED, ("", "_batch"))
    dialect = Dialect(
        _OPERATIONS,
        number=lambda v: digits(v, dtype, "np.inf", "np.nan"),
        read=lambda port, slot: f"{inputs[port]}[{slot}]",
        store=lambda port, place, value: f"{outputs[port]}[..., {place}] = {value};",
    )
    # Names are reused, so that only the arrays that are still needed exist for a large batch.
    lines = [line.rstrip(";") for line in statements(program, dialect, homes=_shared_names(program))]
    call = f"{name}({', '.join(inputs)}) -> {', '.join(outputs)}"
    rule = f"{dtype}, the batch axes lead; zeros included"
    comment = described(program, name, call, (inputs, outputs), _extent, rule)
    comment += ["", "Leading axes are batch axes and broadcast. NaN and infinity pass through."]

    body = [f'{a}_batch, {a} = _entries("{a}", {a}, {p.shape})' for a, p in zip(inputs, program.inputs, strict=True)]
    body.append(f"batch = np.broadcast_shapes({', '.join(f'{a}_batch' for a in inputs)})")
    body += [f"one, zero = np.{dtype}(1), np.{dtype}(0)"]
    body += [
        f"{y} = np.zeros((*batch, {p.size}), dtype=np.{dtype})" for y, p in zip(outputs, program.outputs, strict=True)
    ]
    body += ['with np.errstate(all="ignore"):', *(f"    {line}" for line in lines or ["pass"])]
    shaped = [f"{y}.reshape(batch + {p.shape})" for y, p in zip(outputs, program.outputs, strict=True)]
    body.append(f"return {', '.join(shaped)}")

    doc = "\n".join(comment).rstrip()
    code = "".join(f"    {line}\n" for line in body)
    summary = f"Return {', '.join(outputs)}; the module's docstring describes them."
    text = f'"""{doc}\n"""\n\nimport numpy as np\n\n{_HELPER.format(dtype=dtype)}\n'
    return {f"{name}.py": f'{text}\ndef {name}({", ".join(inputs)}):\n    """{summary}"""\n{code}'}


def _shared_names(program: Program) -> dict[int, str]:
    last = program.tape.last_uses
    computed = [(k, i) for k, i in enumerate(program.tape.instructions) if i.op not in ("const", "input", "output")]
    # The result may take over the name of an argument that is read for the last time: the argument is no longer needed then.
    spans = [(i.out, 2 * k + 1, 2 * last.get(i.out, k + 1)) for k, i in computed]
    return {register: f"t{slot}" for register, slot in slots(spans).items()}


def _extent(port: Port) -> str:
    return "(" + ", ".join(["...", *map(str, port.shape)]) + ")"
