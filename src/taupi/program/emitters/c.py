"""C99: a header and a source file per program, without allocation or globals, which need only <math.h>."""

from __future__ import annotations

from collections.abc import Sequence

from taupi.program.emitters.dialect import (
    C_FUNCTIONS,
    C_OPERATIONS,
    C_RESERVED,
    Dialect,
    checked_name,
    described,
    digits,
    identifiers,
    slots,
    statements,
    times,
)
from taupi.program.program import Port, Program
from taupi.program.tape import Instruction

_RESERVED = C_RESERVED | {"w", "place"}
_TYPES = {"float64": "double", "float32": "float"}
# Compile time grows faster than the length of a function: longer tapes are cut into functions of this many instructions.
PIECE = 4000


def files(program: Program, name: str | None = None, dtype: str = "float64") -> dict[str, str]:
    """Return the source and the header by their file names."""
    name = checked_name(program, name, dtype, "C", _RESERVED | C_FUNCTIONS)
    return {f"{name}.c": _source(program, name, dtype), f"{name}.h": _header(program, name, dtype)}


def _header(program: Program, name: str, dtype: str) -> str:
    kind, (inputs, outputs) = _TYPES[dtype], names(program, name)
    plain = ", ".join([f"const {kind} *{a}" for a in inputs] + [f"{kind} *{y}" for y in outputs])
    rule = "dense and row-major, zeros included; no array may overlap an output"
    scratch = len(set(_homes(program).values()))
    comment = described(
        program,
        name,
        f"void {name}({', '.join(inputs + outputs)})",
        (inputs, outputs),
        lambda p: _extent(p, kind),
        rule,
    )
    comment += ["", f"One sample per call. Any number of threads may call it at once; {_memory(scratch, kind)}."]
    return f"""{_comment(comment)}
#ifndef TAUPI_{name}_H
#define TAUPI_{name}_H

#ifdef __cplusplus
extern "C" {{
void {name}({plain});
}}
#else
{prototype(program, name, dtype)};
#endif

#endif
"""


def _source(program: Program, name: str, dtype: str) -> str:
    kind, (inputs, outputs) = _TYPES[dtype], names(program, name)
    dialect = _dialect(dtype, inputs, outputs)
    body = [f"    (void){a};" for k, a in enumerate(inputs) if k not in _ports(program.tape.instructions, "input")]
    for k, (y, port) in enumerate(zip(outputs, program.outputs, strict=True)):
        if not port.size:
            body.append(f"    (void){y};")
        elif len(program.nonzeros(k)) < port.size:
            body.append(f"    for (int place = 0; place < {port.size}; ++place) {y}[place] = 0;")

    homes, parts = _homes(program), _pieces(program)
    functions = []
    if len(parts) == 1:
        body += [f"    {line}" for line in statements(program, dialect)]
    else:
        body += [f"    {kind} w[{max(1, len(set(homes.values())))}];"]
        for k, part in enumerate(parts):
            reads = [f"const {kind} *restrict {inputs[p]}" for p in _ports(part, "input")]
            writes = [f"{kind} *restrict {outputs[p]}" for p in _ports(part, "output")]
            lines = "".join(f"    {line}\n" for line in statements(program, dialect, part, homes))
            signature = ", ".join([*reads, f"{kind} *restrict w", *writes])
            functions.append(f"static void {name}_part{k}({signature})\n{{\n{_void_w(part, homes)}{lines}}}\n\n")
            names_in, names_out = (
                [side[p] for p in _ports(part, op)] for side, op in ((inputs, "input"), (outputs, "output"))
            )
            body.append(f"    {name}_part{k}({', '.join([*names_in, 'w', *names_out])});")
    text = "\n".join(body)
    head = f'#include "{name}.h"\n\n#include <math.h>\n\n'
    return f"{head}{''.join(functions)}{prototype(program, name, dtype)}\n{{\n{text}\n}}\n"


def _dialect(dtype: str, inputs: Sequence[str], outputs: Sequence[str]) -> Dialect:
    kind, ending = _TYPES[dtype], "f" if dtype == "float32" else ""
    return Dialect(
        C_OPERATIONS,
        number=lambda v: digits(v, dtype, "INFINITY", "NAN", ending),
        read=lambda port, slot: f"{inputs[port]}[{slot}]",
        store=lambda port, place, value: f"{outputs[port]}[{place}] = {value};",
        define=f"const {kind} {{t}} = {{e}};",
        words={"T": kind, "f": ending},
    )


def names(program: Program, name: str) -> tuple[list[str], list[str]]:
    """Return the names of the inputs and of the outputs in C."""
    return identifiers(program, name, _RESERVED)


def prototype(program: Program, name: str, dtype: str) -> str:
    """Return the function's declaration."""
    kind, (inputs, outputs) = _TYPES[dtype], names(program, name)
    reads = [f"const {kind} {a}[restrict {max(1, p.size)}]" for a, p in zip(inputs, program.inputs, strict=True)]
    writes = [f"{kind} {y}[restrict {max(1, p.size)}]" for y, p in zip(outputs, program.outputs, strict=True)]
    return f"void {name}({', '.join(reads + writes) or 'void'})"


# Long tapes, in pieces ------------------------------------------------------------------------------------------------


def _pieces(program: Program) -> list[tuple[Instruction, ...]]:
    """Return the tape cut into pieces; constants and inputs are repeated in every piece that reads them."""
    tape = program.tape.instructions
    leaves = {i.out: i for i in tape if i.op in ("const", "input")}
    steps = [i for i in tape if i.out not in leaves]
    parts = []
    for start in range(0, max(1, len(steps)), PIECE):
        part = steps[start : start + PIECE]
        read = dict.fromkeys(a for i in part for a in i.args if a in leaves)
        parts.append((*(leaves[a] for a in read), *part))
    return parts


def _homes(program: Program) -> dict[int, str]:
    """Return the place in the work array of each value that a later piece reads."""
    piece_of = {i.out: k for k, part in enumerate(_pieces(program)) for i in part if i.op not in ("const", "input")}
    last = program.tape.last_uses
    spans = [(r, k, piece_of[last[r]]) for r, k in piece_of.items() if r in last and piece_of[last[r]] > k]
    return {register: f"w[{slot}]" for register, slot in slots(spans).items()}


def _ports(part: Sequence[Instruction], op: str) -> list[int]:
    return sorted({i.port for i in part if i.op == op})


def _void_w(part: Sequence[Instruction], homes: dict[int, str]) -> str:
    used = any(i.out in homes or any(a in homes for a in i.args) for i in part)
    return "" if used else "    (void)w;\n"


# Comments -------------------------------------------------------------------------------------------------------------


def _extent(port: Port, kind: str) -> str:
    return f"{port.size} {kind}s" + (f" ({times(port.shape)})" if len(port.shape) > 1 else "")


def _memory(scratch: int, kind: str) -> str:
    return f"it keeps {scratch} {kind}s on the stack" if scratch else "it keeps no state"


def _comment(lines: Sequence[str]) -> str:
    return "/* " + "\n".join(f" * {line}".rstrip() for line in lines)[3:] + "\n */"
