"""CUDA: the source of a kernel with one thread per sample."""

from __future__ import annotations

from taupi.program.batch_results import places
from taupi.program.emitters.dialect import (
    C_FUNCTIONS,
    C_OPERATIONS,
    C_RESERVED,
    Dialect,
    checked_name,
    described,
    digits,
    identifiers,
    statements,
    times,
)
from taupi.program.program import Program

_RESERVED = C_RESERVED | {"N", "i", "blockIdx", "blockDim", "threadIdx", "gridDim", "warpSize"}
_SUFFIXES = ("", "_sample", "_entry")
_TYPES = {"float64": "double", "float32": "float"}
# NVRTC reads no headers, so infinity and NaN are written by their bits.
INFINITY = {"float64": "__longlong_as_double(0x7ff0000000000000LL)", "float32": "__int_as_float(0x7f800000)"}
NAN = {"float64": "__longlong_as_double(0x7ff8000000000000LL)", "float32": "__int_as_float(0x7fc00000)"}


def files(program: Program, name: str | None = None, dtype: str = "float64") -> dict[str, str]:
    """Return the kernel by its file name."""
    name = checked_name(program, name, dtype, "CUDA", _RESERVED | C_FUNCTIONS)
    return {f"{name}.cu": kernel_source(program, dtype, "samples", name)}


def kernel_source(
    program: Program, dtype: str = "float64", layout: str = "batch_last", name: str | None = "kernel"
) -> str:
    """Return the source of `extern "C" __global__ void name(q, q_sample, q_entry, ..., Y, ..., N)`.

    Entry j of sample i of an input is read from `q[i * q_sample + j * q_entry]`; strides count numbers (`long long`), and a
    sample stride of 0 shares one sample. A structural nonzero is stored in `Y[place * N + i]` for the layouts "batch_last" and
    "nonzeros" and in `Y[i * size + place]` for "samples", with its place as in `taupi.program.batch_results.places`.
    Structural zeros are not stored.
    """
    name = checked_name(program, name, dtype, "CUDA", _RESERVED | C_FUNCTIONS)
    kind, (inputs, outputs) = _TYPES[dtype], identifiers(program, name, _RESERVED, _SUFFIXES)
    placing = [
        dict(zip(program.nonzeros(k).tolist(), places(program, k, layout).tolist(), strict=True))
        for k in range(len(program.outputs))
    ]

    def store(port: int, place: int, value: str) -> str:
        at = placing[port][place]
        index = f"i * {program.outputs[port].size} + {at}" if layout == "samples" else f"{at} * N + i"
        return f"__stcs(&{outputs[port]}[{index}], {value});"  # written once and never read: bypass the caches

    ending = "f" if dtype == "float32" else ""
    dialect = Dialect(
        C_OPERATIONS,
        number=lambda v: digits(v, dtype, INFINITY[dtype], NAN[dtype], ending),
        read="x{}_{}".format,
        store=store,
        define=f"const {kind} {{t}} = {{e}};",
        sincos=f"{kind} {{s}}, {{c}}; sincos{ending}({{a}}, &{{s}}, &{{c}});",
        words={"T": kind, "f": ending},
    )
    reads = sorted({(i.port, i.slot) for i in program.tape.instructions if i.op == "input"})
    loads = [f"const {kind} x{p}_{j} = {a}[i * {a}_sample + {j} * {a}_entry];" for p, j in reads for a in [inputs[p]]]
    lines = "".join(f"    {line}\n" for line in loads + statements(program, dialect))
    arguments = [f"const {kind}* __restrict__ {a}, long long {a}_sample, long long {a}_entry" for a in inputs]
    arguments += [f"{kind}* __restrict__ {y}" for y in outputs]
    signature = ",\n    ".join([*arguments, "long long N"])
    return f"""{_comment(program, name, layout, (inputs, outputs))}
extern "C" __global__ void {name}(
    {signature})
{{
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= N) return;
{lines}}}
"""


def _comment(program: Program, name: str, layout: str, names: tuple[list[str], list[str]]) -> str:
    inputs, outputs = names
    arguments = [f"{a}, {a}_sample, {a}_entry" for a in inputs]
    call = f"{name}<<<blocks, threads>>>({', '.join([*arguments, *outputs, 'N'])})"
    orders = {"samples": "row-major, sample by sample", "batch_last": "axes reversed, the sample last"}
    order = orders.get(layout, "nonzero by nonzero, the sample last")
    rule = f"{order}; structural zeros are not written, so start from zeroed memory"
    lines = described(program, name, call, names, lambda p: times(p.shape), rule)
    read = f"{inputs[0]}[i * {inputs[0]}_sample + j * {inputs[0]}_entry]" if inputs else "nothing"
    lines += ["", f"One thread per sample, N samples. Entry j of sample i is read from {read}: strides"]
    lines += ["count numbers, and a sample stride of 0 shares one sample among all threads."]
    return "\n".join(f"// {line}".rstrip() for line in lines)
