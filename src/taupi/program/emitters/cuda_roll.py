"""CUDA: the source of a kernel that runs a step over and over, one thread per sample; state and records stay on the device."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from taupi.errors import TaupiError
from taupi.program.emitters.cuda import INFINITY, NAN
from taupi.program.emitters.dialect import C_OPERATIONS, Dialect, digits, statements
from taupi.program.program import Port, Program
from taupi.version import __version__

# Philox 4x64-10 (Salmon et al. 2011), and pairs of normal numbers by Box and Muller's rule. Words are those of NumPy's Philox
# with this key, whose first value of the counter is 1.
_NOISE = """
__device__ inline void normal4(unsigned long long key0, unsigned long long key1, unsigned long long counter, double* out)
{
    unsigned long long a = counter, b = 0, c = 0, d = 0;
    for (int round = 0; round < 10; ++round) {
        const unsigned long long m0 = 0xD2E7470EE14C6C93ULL, m1 = 0xCA5A826395121157ULL;
        const unsigned long long h0 = __umul64hi(m0, a), l0 = m0 * a, h1 = __umul64hi(m1, c), l1 = m1 * c;
        a = h1 ^ b ^ key0; b = l1; c = h0 ^ d ^ key1; d = l0;
        key0 += 0x9E3779B97F4A7C15ULL; key1 += 0xBB67AE8584CAA73BULL;
    }
    const double unit = 1.1102230246251565e-16;  // 2^-53
    const unsigned long long words[4] = {a, b, c, d};
    for (int pair = 0; pair < 2; ++pair) {
        const double radius = sqrt(-2 * log(((double)(words[2 * pair] >> 11) + 1) * unit));
        const double angle = 6.283185307179586 * ((double)(words[2 * pair + 1] >> 11) * unit);
        double s, c2; sincos(angle, &s, &c2);
        out[2 * pair] = radius * c2; out[2 * pair + 1] = radius * s;
    }
}
"""


@dataclass(frozen=True)
class Roll:
    """A loop over a step for every sample of a batch, as one kernel.

    `step` takes `z` and other inputs, and gives `z_next` and further outputs. `inner`, where there is one, is called `times`
    times after it, with the step's outputs of the same name as inputs, and gives `z_next`. Inputs named in `own` differ between
    samples and hold over all steps, `noise` (of the step) is drawn on the device, and all others differ between steps and are
    shared by samples. A `summary` of so many entries of z and of the output `watched` is kept in place of records.
    """

    step: Program
    inner: Program | None = None
    times: int = 0
    own: frozenset[str] = frozenset()
    summary: int = 0
    watched: str = ""

    def __post_init__(self) -> None:
        for program in (self.step, *([self.inner] if self.inner else [])):
            if program.inputs[0].name != "z" or program.outputs[0].name != "z_next":
                raise TaupiError(
                    f"{program.name} cannot be rolled out: expected z as its first input, z_next as output."
                )

    @property
    def noise(self) -> int:
        """How many channels of noise the step has."""
        return next((p.size for p in self.step.inputs if p.name == "noise"), 0)

    @property
    def size(self) -> int:
        """The number of entries of z."""
        return self.step.inputs[0].size

    @property
    def recorded(self) -> tuple[Port, ...]:
        """What is recorded: z at the beginning of each step, and the step's outputs; with a summary, nothing."""
        return () if self.summary else (self.step.inputs[0], *self.step.outputs[1:])

    @property
    def statistics(self) -> int:
        """The rows of the summary: 5 for each of its entries, and 1."""
        return 5 * self.summary + 1

    def inputs(self) -> list[tuple[str, str, Port]]:
        """Return (argument, "own" or "shared", port) for each input that the kernel takes as an array, in its order."""
        others = [p for p in self.step.inputs if p.name not in ("z", "noise")]
        inner = [p for p in self.inner.inputs[1:] if p.name not in self._handed] if self.inner else []
        pairs = [*(("a", p) for p in others), *(("b", p) for p in inner)]
        return [(_word(prefix, p), self._kind(p), p) for prefix, p in pairs]

    @property
    def _handed(self) -> dict[str, Port]:
        """The outputs of the step that the inner program takes, by name."""
        taken = {p.name for p in self.inner.inputs[1:]} if self.inner else set()
        return {p.name: p for p in self.step.outputs if p.name in taken}

    def _kind(self, port: Port) -> str:
        return "own" if port.name in self.own else "shared"

    # Text -----------------------------------------------------------------------------------------------------------

    def source(self) -> str:
        """Return the source of `extern "C" __global__ void roll(z, ..., N, first, last, end, every)`.

        z is (size, N). An own input has two strides behind it, of samples and of entries; a shared one is (steps, size), from
        step `first` on, and (steps, times, size) for the inner program. With noise, `deviation` (size) and `keys` (2, N)
        follow; then the records, (rows, size, N) each, row 0 that of the first step that is a multiple of
        `every`. With a summary, `target` (steps, entries), `late` and `statistics` (5 entries + 1, N) stand there instead. Steps
        `first` to `last` - 1 run, and z stays as it is from step `end` on.
        """
        body = self._summed() if self.summary else ""
        opening, closing = self._statistics_text() if self.summary else ("", "")
        inner = self._inner_text() if self.inner else ""
        return f"""// A closed loop in one kernel, one thread per roll-out; written by taupi {__version__}.
{_NOISE if self.noise else ""}
extern "C" __global__ void roll(
    {("," + chr(10) + "    ").join(self._arguments())})
{{
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= N) return;
{opening}    for (long long k = first; k < last; ++k) {{
{self._step_text(body)}{inner}    }}
{closing}}}
"""

    def _arguments(self) -> list[str]:
        names = ["double* z"]
        for name, kind, _ in self.inputs():
            strides = f", long long {name}_sample, long long {name}_entry" if kind == "own" else ""
            names.append(f"const double* __restrict__ {name}{strides}")
        if self.noise:
            names += ["const double* __restrict__ deviation", "const unsigned long long* __restrict__ keys"]
        names += [f"double* __restrict__ {_word('r', p)}" for p in self.recorded]
        if self.summary:
            names += ["const double* __restrict__ target", "long long late", "double* __restrict__ statistics"]
        return [*names, "long long N", "long long first", "long long last", "long long end", "long long every"]

    def _step_text(self, summed: str) -> str:
        handed = self._handed
        lines = [f"double {_word('h', p)}_{j};" for p in handed.values() for j in range(p.size)] + ["{"]
        body, stored = _body(self.step, lambda port, j: self._read(port, j, "a", "(k - first)"))
        lines += [f"    {line}" for line in (*self._draws(), *body)]
        values = {p.name: [stored[p.name].get(j, "0") for j in range(p.size)] for p in self.step.outputs}
        for name, port in handed.items():
            lines += [f"    {_word('h', port)}_{j} = {v};" for j, v in enumerate(values[name])]
        if self.recorded:
            lines += [
                "    if (k % every == 0) {",
                "        const long long row = k / every - (first + every - 1) / every;",
            ]
            copied = f"{_word('r', self.recorded[0])}[(row * {self.size} + j) * N + i] = z[j * N + i];"
            lines += [f"        for (int j = 0; j < {self.size}; ++j) {copied}"]
            for port in self.recorded[1:]:
                place = f"{_word('r', port)}[(row * {port.size}"
                lines += [
                    f"        __stcs(&{place} + {j}) * N + i], (double)({v}));" for j, v in stored[port.name].items()
                ]
            lines.append("    }")
        lines += [f"    {line}" for line in summed.format(*values.get(self.watched, ())).splitlines()]
        lines += ["    if (k < end) {", *(f"        {line}" for line in _carried(values["z_next"])), "    }", "}"]
        return "".join(f"        {line}\n" for line in lines)

    def _inner_text(self) -> str:
        assert self.inner is not None

        def read(port: Port, j: int) -> str:
            if port.name in self._handed:
                return f"{_word('h', port)}_{j}"
            return self._read(port, j, "b", f"((k - first) * {self.times} + s)")

        lines, stored = _body(self.inner, read)
        after = _carried([stored["z_next"].get(j, "0") for j in range(self.size)])
        head = f"for (int s = 0; s < {self.times} && k < end; ++s) {{"
        return "".join(f"        {line}\n" for line in (head, *(f"    {t}" for t in (*lines, *after)), "}"))

    def _read(self, port: Port, j: int, prefix: str, step: str) -> str:
        name = _word(prefix, port)
        if port.name == "z":
            return f"z[{j} * N + i]"
        if port.name == "noise":
            return f"g[{j}] * deviation[{j}]"
        if self._kind(port) == "own":
            return f"{name}[i * {name}_sample + {j} * {name}_entry]"
        return f"{name}[{step} * {port.size} + {j}]"

    def _draws(self) -> list[str]:
        if not self.noise:
            return []
        counts = -(-self.noise // 4)
        call = f"normal4(keys[i], keys[N + i], 1 + k * {counts} + c, g + 4 * c);"
        return [f"double g[{4 * counts}];", f"for (int c = 0; c < {counts}; ++c) {call}"]

    # The summary ----------------------------------------------------------------------------------------------------

    def _summed(self) -> str:
        """Return the text that adds a step to the statistics, with places for the watched output."""
        n, lines = self.summary, ["double sum = 0;"]
        lines += [f"for (int j = 0; j < {self.size}; ++j) sum += z[j * N + i];"]
        lines += [f"sum += {{{j}}};" for j in range(n)]
        lines += ["if (!(sum - sum == 0)) break;  // not finite: the sample ends here", "periods += 1;"]
        for j in range(n):
            lines += [
                f"{{{{ const double e = fabs(z[{j} * N + i] - target[(k - first) * {n} + {j}]), u = fabs({{{j}}});",
                f"    ep{j} = fmax(ep{j}, e); es{j} += e * e; if (k >= late) el{j} += e * e;",
                f"    up{j} = fmax(up{j}, u); us{j} += u * u; }}}}",
            ]
        return "\n".join(lines)

    def _statistics_text(self) -> tuple[str, str]:
        names = [f"{kind}{j}" for kind in ("ep", "es", "el", "up", "us") for j in range(self.summary)] + ["periods"]
        opening = "".join(f"    double {name} = statistics[{k} * N + i];\n" for k, name in enumerate(names))
        opening += "    if (periods != first) return;  // ended before\n"
        return opening, "".join(f"    statistics[{k} * N + i] = {name};\n" for k, name in enumerate(names))


def _body(program: Program, read: Callable[[Port, int], str]) -> tuple[list[str], dict[str, dict[int, str]]]:
    """Return a program's statements, reads first, and the expression of each structural nonzero of its outputs."""
    stored: dict[str, dict[int, str]] = {p.name: {} for p in program.outputs}

    def store(port: int, place: int, value: str) -> str:
        stored[program.outputs[port].name][place] = value
        return ""

    dialect = Dialect(
        C_OPERATIONS,
        number=lambda v: digits(v, "float64", INFINITY["float64"], NAN["float64"]),
        read="x{}_{}".format,
        store=store,
        define="const double {t} = {e};",
        sincos="double {s}, {c}; sincos({a}, &{s}, &{c});",
        words={"T": "double", "f": ""},
    )
    slots = sorted(_used_inputs(program))
    loads = [f"const double x{p}_{j} = {read(program.inputs[p], j)};" for p, j in slots]
    return [*loads, *(line for line in statements(program, dialect) if line)], stored


def _used_inputs(program: Program) -> set[tuple[int, int]]:
    """Return (port, slot) of the entries that a program computes with, not those of z that it only hands on."""
    entries = {i.out: (i.port, i.slot) for i in program.tape.instructions if i.op == "input"}
    next_places = program.nonzeros(0).tolist()
    used = set()
    for i in program.tape.instructions:
        for a in i.args:
            handed_on = i.op == "output" and i.port == 0 and entries.get(a) == (0, next_places[i.slot])
            if a in entries and not handed_on:
                used.add(entries[a])
    return used


def _word(prefix: str, port: Port) -> str:
    """Return the name of an argument of the kernel, whatever people call their inputs."""
    return f"{prefix}_{re.sub(r'[^A-Za-z0-9_]', lambda c: f'_{ord(c[0]):x}_', port.name)}"


def _carried(values: Sequence[str]) -> list[str]:
    """Return the statements that write z; an entry that stays what it is, such as a fixed estimate, is not written."""
    return [f"z[{j} * N + i] = {v};" for j, v in enumerate(values) if v != f"x0_{j}"]
