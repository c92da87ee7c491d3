"""CUDA: the source of a kernel that runs a step over and over, one thread per sample; state and records stay on the device."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from taupi.errors import TaupiError
from taupi.program.emitters.cuda import INFINITY, NAN
from taupi.program.emitters.dialect import C_OPERATIONS, Dialect, digits, statements
from taupi.program.program import Port, Program
from taupi.program.tape import Instruction, with_few_waiting
from taupi.version import __version__

# Threads of a block; 32 to 256 make little difference on an H200.
THREADS = 64

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

    `step` takes `z` and other inputs, and returns `z_next` and further outputs. `inner`, if there is one, is called `times` times
    after it, with the step's outputs of the same name as inputs, and returns `z_next`. Inputs named in `own` differ between
    samples and are the same for all steps, `noise` (of the step) is drawn on the device, and all others differ between steps and
    are shared by samples. A `summary` of this many entries of z and of the output `watched` is kept in place of records.
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
                    "{program} cannot be rolled out: expected z as its first input, z_next as output.",
                    program=program.name,
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

        z is (size, N). An own input is followed by two strides, of samples and of entries; a shared one is (steps, size), from
        step `first` on, and (steps, times, size) for the inner program. With noise, `deviation` (size) and `keys` (2, N)
        follow; then the records, (rows, size, N) each, row 0 that of the first step that is a multiple of
        `every`. With a summary, `target` (steps, entries), `late` and `statistics` (5 entries + 1, N) follow instead. Steps
        `first` to `last` - 1 run, and z stays as it is from step `end` on. Blocks have `THREADS` threads.

        Registers are scarce in such a kernel: instructions are in an order that needs few, and z stays in local memory, which is
        in the first-level cache. An entry is read when it is first needed and written once its next value is known, and
        `volatile` keeps the compiler from moving these accesses (on an H200 this takes half the time of z in global memory).
        """
        opening, closing = self._statistics_text() if self.summary else ("", "")
        inner = self._inner_text() if self.inner else ""
        return f"""// A closed loop in one kernel, one thread per roll-out; written by taupi {__version__}.
{_NOISE if self.noise else ""}
extern "C" __global__ void __launch_bounds__({THREADS}) roll(
    {("," + chr(10) + "    ").join(self._arguments())})
{{
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= N) return;
    volatile double state[{self.size}];
    for (int j = 0; j < {self.size}; ++j) state[j] = z[j * N + i];
{opening}    for (long long k = first; k < last; ++k) {{
{self._step_text()}{inner}    }}
    for (int j = 0; j < {self.size}; ++j) z[j * N + i] = state[j];
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

    def _step_text(self) -> str:
        handed = self._handed
        recorded = {p.name: p for p in self.recorded[1:]}
        watched: dict[int, str] = {}
        names = [p.name for p in self.step.outputs]
        awaited = len(self.step.nonzeros(names.index(self.watched))) if self.summary else 0

        def store(port: Port, j: int, value: str) -> list[str]:
            lines = [f"{_word('h', port)}_{j} = {value};"] if port.name in handed else []
            if port.name == "z_next":
                lines.append(f"if (k < end) state[{j}] = {value};")
            if port.name in recorded:
                lines.append(
                    f"if (kept) __stcs(&{_word('r', port)}[(row * {port.size} + {j}) * N + i], (double)({value}));"
                )
            if port.name == self.watched:
                watched[j] = value
                lines += self._summed(watched) if len(watched) == awaited else []
            return lines

        lines = [f"double {_word('h', p)}_{j} = 0;" for p in handed.values() for j in range(p.size)]
        lines += ["{", *(f"    {line}" for line in (*self._before(), *self._draws()))]
        if self.summary and not awaited:
            lines += [f"    {line}" for line in self._summed({})]
        body = _body(self.step, lambda port, j: self._read(port, j, "a", "(k - first)"), store)
        return "".join(f"        {line}\n" for line in (*lines, *(f"    {line}" for line in body), "}"))

    def _before(self) -> list[str]:
        """Return the statements for z before any of it changes: it is recorded, or watched."""
        if self.summary:
            finite = f"for (int j = 0; j < {self.size}; ++j) sum += state[j];"
            return ["double sum = 0;", finite, *(f"const double q{j} = state[{j}];" for j in range(self.summary))]
        rows = "k / every - (first + every - 1) / every"
        copied = f"{_word('r', self.recorded[0])}[(row * {self.size} + j) * N + i] = state[j];"
        return [
            "const bool kept = k % every == 0;",
            f"const long long row = {rows};",
            f"if (kept) for (int j = 0; j < {self.size}; ++j) {copied}",
        ]

    def _inner_text(self) -> str:
        assert self.inner is not None

        def read(port: Port, j: int) -> str:
            if port.name in self._handed:
                return f"{_word('h', port)}_{j}"
            return self._read(port, j, "b", f"((k - first) * {self.times} + s)")

        def store(port: Port, j: int, value: str) -> list[str]:
            return [f"state[{j}] = {value};"] if port.name == "z_next" else []

        head = f"for (int s = 0; s < {self.times} && k < end; ++s) {{"
        lines = (head, *(f"    {t}" for t in _body(self.inner, read, store)), "}")
        return "".join(f"        {line}\n" for line in lines)

    def _read(self, port: Port, j: int, prefix: str, step: str) -> str:
        name = _word(prefix, port)
        if port.name == "z":
            return f"state[{j}]"
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

    def _summed(self, watched: Mapping[int, str]) -> list[str]:
        """Return the statements that add a step to the statistics, by the values of the output that is watched."""
        n = self.summary
        lines = [f"sum += {value};" for value in watched.values()]
        lines += ["if (!(sum - sum == 0)) break;  // not finite: the sample ends here", f"kept[{5 * n}] += 1;"]
        for j in range(n):
            lines += [
                f"{{ const double e = fabs(q{j} - target[(k - first) * {n} + {j}]), u = fabs({watched.get(j, '0.0')});",
                f"    kept[{j}] = fmax(kept[{j}], e); kept[{n + j}] += e * e;",
                f"    if (k >= late) kept[{2 * n + j}] += e * e;",
                f"    kept[{3 * n + j}] = fmax(kept[{3 * n + j}], u); kept[{4 * n + j}] += u * u; }}",
            ]
        return lines

    def _statistics_text(self) -> tuple[str, str]:
        rows = self.statistics
        opening = f"    double kept[{rows}];\n    for (int r = 0; r < {rows}; ++r) kept[r] = statistics[r * N + i];\n"
        opening += f"    if (kept[{rows - 1}] != first) return;  // ended before\n"
        return opening, f"    for (int r = 0; r < {rows}; ++r) statistics[r * N + i] = kept[r];\n"


def _body(
    program: Program, read: Callable[[Port, int], str], store: Callable[[Port, int, str], list[str]]
) -> list[str]:
    """Return a program's statements in an order that needs few registers; an entry of z is stored after all reads of it."""
    dialect = Dialect(
        C_OPERATIONS,
        number=lambda v: digits(v, "float64", INFINITY["float64"], NAN["float64"]),
        read="x{}_{}".format,
        store=lambda port, place, value: "\n".join(store(program.outputs[port], place, value)),
        define="const double {t} = {e};",
        sincos="double {s}, {c}; sincos({a}, &{s}, &{c});",
        words={"T": "double", "f": ""},
        fetch=lambda p, j: f"const double x{p}_{j} = {read(program.inputs[p], j)};",
    )
    zeros = sorted(set(range(program.outputs[0].size)) - set(program.nonzeros(0).tolist()))
    texts = [*statements(program, dialect, _order(program)), *(dialect.store(0, j, "0") for j in zeros)]
    return [line for text in texts for line in text.splitlines()]


def _order(program: Program) -> list[Instruction]:
    """Return the program's instructions in an order that needs few registers, without entries of z that do not change."""
    entries = {i.out: (i.port, i.slot) for i in program.tape.instructions if i.op == "input"}
    registers = {entry: register for register, entry in entries.items()}
    next_places = program.nonzeros(0).tolist()

    def stays(i: Instruction) -> bool:
        return i.op == "output" and i.port == 0 and entries.get(i.args[0]) == (0, next_places[i.slot])

    kept = [i for i in program.tape.instructions if not stays(i)]
    read = {a for i in kept for a in i.args}
    before = {}
    for k, i in enumerate(i for i in kept if i.op == "output"):
        register = registers.get((0, next_places[i.slot])) if i.port == 0 else None
        if register in read:
            before[k] = register
    return with_few_waiting(kept, before)


def _word(prefix: str, port: Port) -> str:
    """Return the name of an argument of the kernel, whatever users call their inputs."""
    return f"{prefix}_{re.sub(r'[^A-Za-z0-9_]', lambda c: f'_{ord(c[0]):x}_', port.name)}"
