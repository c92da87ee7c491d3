"""What all emitters share: names, numbers, the instructions of a tape in a language's words, the comment on arguments."""

from __future__ import annotations

import heapq
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from taupi.errors import Argument, TaupiError, unknown
from taupi.program.program import Port, Program
from taupi.program.tape import Instruction
from taupi.version import __version__

DTYPES = ("float64", "float32")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,62}")  # C99 and MATLAB distinguish 63 characters
_TEMPORARY = re.compile(r"t\d+|x\d+_\d+")
_UNSAFE = re.compile(
    r"[^\w .,:;()\[\]<>=+^/-]"
)  # characters that could end a comment or string in any of the languages
_NOT_FOR_PAGES = re.compile(r"[^\w .,:;()=+^/-]")
_WIDTH = 100

# Operations in C and CUDA: {T} is the number type, {f} the ending of functions of floats.
C_OPERATIONS: dict[str, str] = {
    "neg": "-{a}",
    "sq": "{a} * {a}",
    "twice": "{a} + {a}",
    "inv": "1 / {a}",
    "sin": "sin{f}({a})",
    "cos": "cos{f}({a})",
    "tan": "tan{f}({a})",
    "asin": "asin{f}({a})",
    "acos": "acos{f}({a})",
    "atan": "atan{f}({a})",
    "exp": "exp{f}({a})",
    "log": "log{f}({a})",
    "sqrt": "sqrt{f}({a})",
    "tanh": "tanh{f}({a})",
    "sign": "{a} > 0 ? 1 : {a} < 0 ? -1 : {a} == 0 ? 0 : {a}",  # of NaN, NaN
    "fabs": "fabs{f}({a})",
    "floor": "floor{f}({a})",
    "not": "({T})({a} == 0)",
    "add": "{a} + {b}",
    "sub": "{a} - {b}",
    "mul": "{a} * {b}",
    "div": "{a} / {b}",
    "pow": "pow{f}({a}, {b})",
    "constpow": "pow{f}({a}, {b})",
    "atan2": "atan2{f}({a}, {b})",
    "fmin": "fmin{f}({a}, {b})",
    "fmax": "fmax{f}({a}, {b})",
    "lt": "({T})({a} < {b})",
    "le": "({T})({a} <= {b})",
    "eq": "({T})({a} == {b})",
    "ne": "({T})({a} != {b})",
    "and": "({T})({a} != 0 && {b} != 0)",
    "or": "({T})({a} != 0 || {b} != 0)",
    "if_else_zero": "{a} != 0 ? {b} : 0",
}


def words(text: str) -> frozenset[str]:
    """Return the words of a list of names."""
    return frozenset(text.split())


# Words of C and of C++ (which may read the header), and the functions that emitted code calls.
C_RESERVED = words("""
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl const constexpr const_cast
    continue decltype default delete do double dynamic_cast else enum explicit export extern false float for friend goto if
    inline int long main mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public register
    reinterpret_cast requires restrict return short signed sizeof static static_assert static_cast struct switch template this
    thread_local throw true try typedef typeid typename union unsigned using virtual void volatile wchar_t while xor xor_eq
    NAN INFINITY HUGE_VAL math_errhandling M_PI M_E
    sin cos tan asin acos atan exp log sqrt tanh fabs floor pow atan2 fmin fmax sincos
    sinf cosf tanf asinf acosf atanf expf logf sqrtf tanhf fabsf floorf powf atan2f fminf fmaxf sincosf
""")
# Further functions of <math.h>: an argument may have such a name, a function may not.
C_FUNCTIONS = words("""
    acosh asinh atanh cbrt ceil copysign cosh drem erf erfc exp2 expm1 fdim finite floor fma fmod frexp gamma hypot ilogb isinf
    isnan j0 j1 jn ldexp lgamma llrint llround log10 log1p log2 logb lrint lround modf nan nearbyint nextafter nexttoward
    remainder remquo rint round scalb scalbln scalbn significand sinh tgamma trunc y0 y1 yn
""")


@dataclass(frozen=True)
class Dialect:
    """How a language writes an instruction. `read` and `store` get the number of a port and a flat, row-major place."""

    operations: Mapping[str, str]
    number: Callable[[float], str]
    read: Callable[[int, int], str]
    store: Callable[[int, int, str], str]
    define: str = "{t} = {e};"
    sincos: str = ""  # how the sine and cosine of an angle are computed together, if the language can
    words: Mapping[str, str] = field(default_factory=dict)  # for further placeholders in the operations
    fetch: Callable[[int, int], str] | None = None  # a statement before the first use of an input, if there is one


def statements(
    program: Program,
    dialect: Dialect,
    instructions: Sequence[Instruction] | None = None,
    homes: Mapping[int, str] | None = None,
) -> list[str]:
    """Return the program's tape, or a piece of it, as one statement per instruction.

    A register has the name in `homes` if it has an entry there, and a new name otherwise.
    """
    places = [program.nonzeros(k).tolist() for k in range(len(program.outputs))]
    names: dict[int, str] = dict(homes or {})
    steps = program.tape.instructions if instructions is None else instructions
    partner = _partners(steps) if dialect.sincos else {}
    lines, written = [], set()

    for i in steps:
        if i.op == "input":
            names[i.out] = dialect.read(i.port, i.slot)
            lines += [dialect.fetch(i.port, i.slot)] if dialect.fetch else []
        elif i.op == "const":
            names[i.out] = dialect.number(i.value)
        elif i.op == "output":
            lines.append(dialect.store(i.port, places[i.port][i.slot], names[i.args[0]]))
        elif i.out in partner:
            sine, cosine = partner[i.out]
            if sine not in written:
                written.add(sine)
                names[sine], names[cosine] = f"t{sine}", f"t{cosine}"
                lines.append(dialect.sincos.format(a=names[i.args[0]], s=names[sine], c=names[cosine]))
        else:
            a, b = (*(names[k] for k in i.args), "")[:2]
            expression = dialect.operations[i.op].format(a=a, b=b, **dialect.words)
            home = names.get(i.out)
            names[i.out] = home or f"t{i.out}"
            lines.append(f"{home} = {expression};" if home else dialect.define.format(t=names[i.out], e=expression))
    return lines


def _partners(steps: Sequence[Instruction]) -> dict[int, tuple[int, int]]:
    """Return the registers (sine, cosine) of each angle whose sine and cosine are both taken, with either register as the key."""
    by_angle: dict[int, dict[str, int]] = {}
    for i in steps:
        if i.op in ("sin", "cos"):
            by_angle.setdefault(i.args[0], {}).setdefault(i.op, i.out)
    pairs = [(registers["sin"], registers["cos"]) for registers in by_angle.values() if len(registers) == 2]
    return {register: pair for pair in pairs for register in pair}


def slots(spans: Iterable[tuple[int, int, int]]) -> dict[int, int]:
    """Return a slot for every (register, first, last), in order of `first`, shared only by registers that do not overlap.

    >>> slots([(7, 0, 2), (8, 1, 3), (9, 3, 4)])
    {7: 0, 8: 1, 9: 0}
    """
    free: list[int] = []
    busy: list[tuple[int, int]] = []
    result: dict[int, int] = {}
    for register, first, last in spans:
        while busy and busy[0][0] < first:
            heapq.heappush(free, heapq.heappop(busy)[1])
        result[register] = heapq.heappop(free) if free else len(busy)
        heapq.heappush(busy, (last, result[register]))
    return result


# Names and numbers ----------------------------------------------------------------------------------------------------


def checked_name(program: Program, name: str | None, dtype: str, language: str, reserved: frozenset[str]) -> str:
    """Return the name of the function to emit, by default the program's, after checking it and the number type."""
    if dtype not in DTYPES:
        raise unknown(Argument("dtype"), dtype, DTYPES)
    name = program.name if name is None else name
    if not isinstance(name, str) or not _NAME.fullmatch(name) or name in reserved or _TEMPORARY.fullmatch(name):
        raise TaupiError(
            "{name} is {got!r}, expected an identifier of {language}: a letter, then at most 62 letters, "
            "digits or underscores, and no word of the language.",
            got=name,
            language=language,
        )
    return name


def identifiers(
    program: Program, name: str, reserved: frozenset[str], suffixes: Sequence[str] = ("",)
) -> tuple[list[str], list[str]]:
    """Return the names of inputs and outputs: their own, changed if the language or a clash demands it.

    Each name followed by any of the `suffixes` is unique as well.
    """
    taken = {name, *reserved}

    def fit(port: Port) -> str:
        plain = re.sub(r"\W", "_", port.name, flags=re.ASCII)[:50]
        plain = plain if plain[:1].isalpha() else f"x{plain}"
        while _TEMPORARY.fullmatch(plain) or any(plain + s in taken for s in suffixes):
            plain += "_"
        taken.update(plain + s for s in suffixes)
        return plain

    return [fit(p) for p in program.inputs], [fit(p) for p in program.outputs]


def digits(value: float, dtype: str, infinity: str, nan: str, ending: str = "") -> str:
    """Return a number in the fewest digits that read back as the same number; a negative one in brackets."""
    with np.errstate(over="ignore"):
        rounded = np.dtype(dtype).type(value)
    if np.isnan(rounded):
        return nan
    size = infinity if np.isinf(rounded) else str(abs(rounded)) + ending
    return f"(-{size})" if np.signbit(rounded) else size


# The comment ----------------------------------------------------------------------------------------------------------


def safe(text: object) -> str:
    """Return a text that cannot end a comment, whatever users call their joints."""
    return _UNSAFE.sub("_", str(text))


def page_text(text: object) -> str:
    """Return a name for a page in Markdown, where it cannot be a tag, a link or code; a very long one is cut off.

    >>> page_text("</title><script>*/ arm `1`")
    '_/title__script__/ arm _1_'
    """
    plain = _NOT_FOR_PAGES.sub("_", str(text))
    return plain if len(plain) <= _WIDTH else plain[:_WIDTH] + "..."


def described(
    program: Program,
    name: str,
    call: str,
    names: tuple[list[str], list[str]],
    extent: Callable[[Port], str],
    rule: str,
    first: int = 0,
) -> list[str]:
    """Return the lines of the comment: the call, each argument with its extent and meaning, the names of the columns.

    `first` is the number that the language gives to the first column.
    """
    inputs, outputs = names
    width = max(map(len, inputs + outputs), default=0)

    def lines(label: str, port: Port, meaning: str) -> list[str]:
        text = f"{label:<{width}}  {extent(port)}" + (f": {meaning}" if meaning else "")
        return textwrap.wrap(text, _WIDTH, initial_indent="  ", subsequent_indent=" " * (width + 6))

    result = [f"{name}, written by taupi {__version__}.", "", f"  {call}", "", "Inputs:"]
    for label, port in zip(inputs, program.inputs, strict=True):
        entries = ", ".join(map(safe, port.labels))
        result += lines(label, port, ": ".join(filter(None, (safe(port.per), entries))))
    result += ["", f"Outputs, {rule}:"]
    for k, (label, port) in enumerate(zip(outputs, program.outputs, strict=True)):
        entries = ", ".join(map(safe, port.labels))
        count = f"{len(program.nonzeros(k))} of {port.size} entries are not structurally zero"
        result += lines(label, port, "; ".join(filter(None, (safe(port.per), entries, count))))
    return result + _columns(program, outputs, first)


def _columns(program: Program, outputs: list[str], first: int) -> list[str]:
    parameters = program.parameters
    if parameters is None or not outputs or program.outputs[0].shape[-1:] != (len(parameters.names),):
        return []
    rows = zip(parameters.names, parameters.units, strict=True)
    lines = [f"  {k:>3}  {safe(name)}, {safe(unit)}" for k, (name, unit) in enumerate(rows, first)]
    return ["", f"Columns of {outputs[0]}, counted from {first}:", *lines]


def times(shape: Sequence[int]) -> str:
    """Return a shape as it is usually written: `6 x 60`."""
    return " x ".join(map(str, shape)) or "1"
