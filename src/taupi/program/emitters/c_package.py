"""A step with a state as C for a real-time loop: a struct, `init` and `update`, a README, and a harness that tests it."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from taupi.program.emitters.c import files
from taupi.program.emitters.dialect import page_text, safe
from taupi.program.guard import StepStatus
from taupi.program.ports import Port
from taupi.program.program import Program

# C and Python differ by the last bits of sine and cosine.
AGREE = 1e-12
# Steps of a harness, and the time between them, s.
STEPS = 20
STEP_SECONDS = 1e-3

_HEADER = """/* {name}: {title}, {n} joints, {size} numbers of state.
 *
 * One struct per {kind}. No allocation, no globals, no input or output; it needs only <math.h> and <string.h> (memcpy).
 *
 *     {name}_{kind} c;
 *     {name}_init(&c);                 {begins}
 *     every dt seconds:
 *         status = {name}_update(&c, {inputs}, dt, {outputs});
 *
 * {inputs}: {meaning}
 * {results}
 * {state_words}
{names} *
{policy} */
#ifndef TAUPI_{name}_{guard}_H
#define TAUPI_{name}_{guard}_H

#ifdef __cplusplus
extern "C" {{
#endif

enum {{ {name}_joints = {n}, {name}_states = {size}{more_sizes} }};

typedef struct {{
    double state[{size}];
}} {name}_{kind};

/* What update returns. From {name}_refused_input on, the sample is refused: state held, results zero. */
enum {{ {status} }};

void {name}_init({name}_{kind} *c);
int {name}_update({name}_{kind} *c, {declared}, double dt, {declared_outputs});

#ifdef __cplusplus
}}
#endif

#endif
"""

_SOURCE = """#include "{name}_{kind}.h"

#include <string.h>

{includes}
{helpers}
static const double {name}_start[{size}] = {{
{start}
}};

void {name}_init({name}_{kind} *c)
{{
    memcpy(c->state, {name}_start, sizeof c->state);
}}

int {name}_update({name}_{kind} *c, {declared}, double dt, {declared_outputs})
{{
{body}
}}
"""

_ONE_CALL = """    double next[{size}], status;
    {name}({inputs}, c->state, &dt, {outputs}, next, &status);
    memcpy(c->state, next, sizeof next);
    return (int)status;"""

_HARNESS = """/* Runs {name} on {steps} states and compares {compared} and state with Python's. Returns 0 if they agree. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "{name}_{kind}.h"

static const double inputs[{steps}][{width}] = {{
{rows}
}};

static const double expected[{steps}][{wide}] = {{
{expected}
}};

static double apart(double got, double want)
{{
    double size = fabs(want) > 1 ? fabs(want) : 1;
    return fabs(got - want) / size;
}}

int main(void)
{{
    {name}_{kind} c;
    double worst = 0, {results_declared};
    {name}_init(&c);
    for (int k = 0; k < {steps}; ++k) {{
        const double *x = inputs[k];
        {name}_update(&c, {called}, {dt}, {outputs});
{comparisons}
        for (int i = 0; i < {own}; ++i) worst = fmax(worst, apart(c.state[i], expected[k][{place} + i]));
    }}
    /* An impossible sample and an impossible time are refused, and the state is held. */
    double held[{size}], bad[{width}], *x = bad;
    memcpy(held, c.state, sizeof held);
    memcpy(bad, inputs[0], sizeof bad);
    int refused = {name}_update(&c, {called}, 0.0, {outputs}) == {name}_refused_time;
    bad[0] = NAN;
    refused = refused && {name}_update(&c, {called}, {dt}, {outputs}) == {name}_refused_input;
    if (!refused || memcmp(held, c.state, sizeof held) != 0) {{
        printf("a sample that is no number was not refused\\n");
        return 1;
    }}
    printf("largest difference %.3g, allowed %.3g\\n", worst, {agree});
    return worst <= {agree} ? 0 : 1;
}}
"""

_README = """# {name}

{sentence}

```c
#include "{name}_{kind}.h"

{name}_{kind} c;
{name}_init(&c);
/* every dt seconds */
int status = {name}_update(&c, {inputs}, dt, {outputs});
```

| file | what |
|---|---|
| `{name}_{kind}.h`, `{name}_{kind}.c` | the {kind}: a struct, `init`, `update` |
{program_rows}
| `test_{name}.c` | {steps} steps against what Python computed |

Test it where it will run, with the flags that it will run with:

```shell
cc -std=c99 -O2 test_{name}.c {name}_{kind}.c {sources} -o test_{name} -lm && ./test_{name}
```

It allocates nothing and calls only functions of `<math.h>` and `memcpy`. `-ffast-math` must not be used: it drops the checks for
numbers that are not finite, and may change results beyond the harness's tolerance. {costs}

## What it accepts

{policy_page}
"""


@dataclass(frozen=True, eq=False)
class Package:
    """A step with a state, and the texts about it in its C files.

    Attributes:
        name: The name of functions and files.
        kind: What it is, in one word: "controller", "observer"; the ending of the struct and its files.
        title: What it is, for the header.
        sentence: What it does, for the page.
        joints: The number of joints.
        inputs: The ports of what it gets at each step, except for the state and the time.
        outputs: The ports of what it returns, except for the state.
        results: The sentence about the outputs.
        state_words: The sentence about the state, before its entries.
        described: Those entries, in words.
        start: The state (size,) that it starts with; it may be empty.
        begins: What `init` does, for the header.
        programs: The programs it calls, by their names in C, and what they are.
        costs: The sentence about the number of operations.
        sizes: More constants of the header, by name.
        body: The text of `update` in C, if it does more than call its only program.
        helpers: Functions in C that it calls.
        policy: Sentences about what it accepts, its limits and its gains.
    """

    name: str
    kind: str
    title: str
    sentence: str
    joints: int
    inputs: Sequence[Port]
    outputs: Sequence[Port]
    results: str
    state_words: str
    described: Sequence[str]
    start: np.ndarray
    begins: str
    programs: dict[str, tuple[Program, str]]
    costs: str
    sizes: dict[str, int]
    body: str | None = None
    helpers: str = ""
    policy: Sequence[str] = ()

    def files(self, samples: np.ndarray, expected: np.ndarray, seconds: float) -> dict[str, str]:
        """Return the texts by file name; the harness runs `samples` (k, width) every `seconds`, wants the `expected` rows."""
        texts: dict[str, str] = {}
        for name, (program, _) in self.programs.items():
            texts |= files(program, name)
        words = self._words(samples, expected, seconds)
        body = _ONE_CALL if self.body is None else self.body
        return texts | {
            f"{self.name}_{self.kind}.h": _HEADER.format(**words),
            f"{self.name}_{self.kind}.c": _SOURCE.format(**words, body=body.format(**words)),
            f"test_{self.name}.c": _HARNESS.format(**words),
            "README.md": _README.format(**words),
        }

    def _words(self, samples: np.ndarray, expected: np.ndarray, seconds: float) -> dict[str, object]:
        places = np.cumsum([0] + [port.size for port in self.inputs])
        ends = np.cumsum([0] + [port.size for port in self.outputs])
        names = [port.name for port in self.outputs]
        clean = [safe(text) for text in self.described]
        compare = (
            "        for (int i = 0; i < {size}; ++i) worst = fmax(worst, apart({name}[i], expected[k][{place} + i]));"
        )
        pairs = zip(self.outputs, ends[:-1], strict=True)
        return {
            "name": self.name,
            "kind": self.kind,
            "guard": self.kind.upper(),
            "title": safe(self.title),
            "sentence": self.sentence,
            "n": self.joints,
            "size": max(1, len(self.start)),
            "own": len(self.start),
            "more_sizes": "".join(f", {self.name}_{k} = {v}" for k, v in self.sizes.items()),
            "inputs": ", ".join(port.name for port in self.inputs),
            "outputs": ", ".join(names),
            "declared": ", ".join(f"const double *{port.name}" for port in self.inputs),
            "declared_outputs": ", ".join(f"double *{name}" for name in names),
            "meaning": ", ".join(str(port.size) for port in self.inputs) + " numbers, rad, m and seconds.",
            "results": self.results,
            "state_words": self.state_words,
            "begins": self.begins,
            "names": "".join(f" * {k:>5}  {text}\n" for k, text in enumerate(clean)),
            "start": number_rows(self.start[None]),
            "includes": "\n".join(f'#include "{name}.h"' for name in self.programs),
            "sources": " ".join(f"{name}.c" for name in self.programs),
            "program_rows": "\n".join(f"| `{k}.h`, `{k}.c` | {what} |" for k, (_, what) in self.programs.items()),
            "steps": len(samples),
            "width": int(places[-1]),
            "wide": int(ends[-1]) + len(self.start),
            "place": int(ends[-1]),
            "rows": number_rows(samples, braces=True),
            "expected": number_rows(expected, braces=True),
            "called": ", ".join(f"x + {place}" for place in places[:-1]),
            "compared": ", ".join(names),
            "comparisons": "\n".join(compare.format(size=p.size, name=p.name, place=at) for p, at in pairs),
            "results_declared": ", ".join(f"{port.name}[{port.size}]" for port in self.outputs),
            "dt": repr(seconds),
            "agree": repr(AGREE),
            "costs": self.costs,
            "helpers": self.helpers,
            "status": ", ".join(f"{self.name}_{each.name.lower()} = {each.value}" for each in StepStatus),
            "policy": "\n".join(f" * {line}" for text in self.policy for line in textwrap.wrap(safe(text), 120)),
            "policy_page": "\n".join(f"- {page_text(text)}" for text in self.policy),
        }


def number_rows(table: np.ndarray, braces: bool = False) -> str:
    """Return rows of numbers as C writes them, one row per line."""
    rows = [", ".join(repr(float(v)) for v in row) or "0" for row in table]
    return ",\n".join(f"    {{{row}}}" if braces else f"    {row}" for row in rows)
