"""A control law as C for a real-time loop: a struct with its state, a step, a page on it, and a harness that tests it."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from taupi.control.law import Law
from taupi.errors import Argument, TaupiError
from taupi.files import path_of, write_text
from taupi.program.emit import emit, sources
from taupi.program.emitters.dialect import safe

# Steps and states of the harness; C and Python differ by the last bits of sine and cosine.
STEPS = 20
STEP_SECONDS = 1e-3
AGREE = 1e-12

_HEADER = """/* {name}: {law} of {robot}, {n} joints, {size} numbers of state.
 *
 * One struct per controller. No allocation, no globals, no input or output; it needs <math.h> and <string.h> (memcpy) alone.
 *
 *     {name}_controller c;
 *     {name}_init(&c);                 the estimate starts at the robot's own parameters; or write c.state yourself
 *     every dt seconds:
 *         {name}_update(&c, {inputs}, dt, tau);
 *
 * {inputs}: {meaning}
 * tau: {n} torques (N m) or forces (N) to hold until the next call. c.state: the estimate in this order, then what else
 * the law integrates:
{names} */
#ifndef TAUPI_{name}_CONTROLLER_H
#define TAUPI_{name}_CONTROLLER_H

#ifdef __cplusplus
extern "C" {{
#endif

enum {{ {name}_joints = {n}, {name}_states = {size}, {name}_parameters = {p} }};

typedef struct {{
    double state[{size}];
}} {name}_controller;

void {name}_init({name}_controller *c);
void {name}_update({name}_controller *c, {declared}, double dt, double *tau);

#ifdef __cplusplus
}}
#endif

#endif
"""

_SOURCE = """#include "{name}_controller.h"

#include <string.h>

#include "{name}.h"

static const double {name}_start[{size}] = {{
{start}
}};

void {name}_init({name}_controller *c)
{{
    memcpy(c->state, {name}_start, sizeof c->state);
}}

void {name}_update({name}_controller *c, {declared}, double dt, double *tau)
{{
    double next[{size}];
    {name}({inputs}, c->state, &dt, tau, next);
    memcpy(c->state, next, sizeof next);
}}
"""

_HARNESS = """/* Runs {name} on {steps} states and compares torque and state with Python's. Returns 0 where they agree. */
#include <math.h>
#include <stdio.h>

#include "{name}_controller.h"

static const double inputs[{steps}][{width}] = {{
{rows}
}};

static const double expected[{steps}][{outputs}] = {{
{expected}
}};

static double apart(double got, double want)
{{
    double size = fabs(want) > 1 ? fabs(want) : 1;
    return fabs(got - want) / size;
}}

int main(void)
{{
    {name}_controller c;
    double worst = 0, tau[{n}];
    {name}_init(&c);
    for (int k = 0; k < {steps}; ++k) {{
        const double *x = inputs[k];
        {name}_update(&c, {called}, {dt}, tau);
        for (int i = 0; i < {n}; ++i) worst = fmax(worst, apart(tau[i], expected[k][i]));
        for (int i = 0; i < {size}; ++i) worst = fmax(worst, apart(c.state[i], expected[k][{n} + i]));
    }}
    printf("largest difference %.3g, allowed %.3g\\n", worst, {agree});
    return worst <= {agree} ? 0 : 1;
}}
"""

_README = """# {name}

The control law `{law}` of `{robot}` as C99, written by taupi. It takes the measured and the wanted motion, returns the
torque, and integrates its own estimate:

```c
#include "{name}_controller.h"

{name}_controller c;
{name}_init(&c);
/* every dt seconds */
{name}_update(&c, {inputs}, dt, tau);
```

| file | what |
|---|---|
| `{name}_controller.h`, `{name}_controller.c` | the controller: a struct, `init`, `update` |
| `{name}.h`, `{name}.c` | one step as a pure function of its arguments; no state |
| `test_{name}.c` | {steps} steps against what Python computed |

Test it where it will run, with the flags that it will run with:

```shell
cc -std=c99 -O2 test_{name}.c {name}_controller.c {name}.c -o test_{name} -lm && ./test_{name}
```

It allocates nothing and calls only functions of `<math.h>` and `memcpy`. `-ffast-math` may change results beyond the harness's
tolerance. The step costs {operations}.
"""


def emit_controller(
    law: Law,
    directory: str | os.PathLike[str],
    language: str = "c",
    name: str | None = None,
    force: bool = False,
) -> list[Path]:
    """Write a control `law` as source that a real-time loop calls into a `directory`, and return the paths.

    `language` "c": a struct with the law's state, `<name>_init` and `<name>_update(c, q, qd, q_des, qd_des, qdd_des, dt, tau)`,
    the pure step behind it (`law.step_program()`), a README.md and a harness that compares 20 steps with Python's. Other
    languages of `emit` get that step alone. `name` is that of functions and files, by default the law's. `force` overwrites files
    that are there.

    >>> import tempfile, taupi as tp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [p.name for p in tp.emit_controller(tp.PDGravity(tp.load("elbow2r")), folder, name="arm")]
    ['arm.c', 'arm.h', 'arm_controller.h', 'arm_controller.c', 'test_arm.c', 'README.md']
    """
    if not isinstance(law, Law):
        raise TaupiError(
            Argument("law"), f" is {type(law).__name__}, expected a control law such as taupi.SlotineLi(robot)."
        )
    program = law.step_program()
    chosen = law.name if name is None else name
    if language != "c":
        return emit(program, language, directory, chosen, force=force)
    texts = controller_files(law, chosen)
    folder = path_of(directory, "the path of a directory")
    there = [file for file in texts if (folder / file).exists()]
    if there and not force:
        raise TaupiError(
            f"{folder} has {', '.join(there)} already.",
            remedy=("Use another name, or ", Argument("force", True), " to overwrite."),
        )
    paths = emit(program, "c", folder, chosen, force=force)
    for file, text in texts.items():
        if folder / file not in paths:
            write_text(folder / file, text, force)
            paths.append(folder / file)
    return paths


def controller_files(law: Law, name: str) -> dict[str, str]:
    """Return the texts of the controller in C by their file names."""
    texts = dict(sources(law.step_program(), "c", name))
    ports = law.ports()[:5]
    n, p, size = law.robot.n, len(law.parameters), law.size
    states, results = _harness(law)
    places = np.cumsum([0] + [port.size for port in ports])
    words = {
        "name": name,
        "law": law.name.replace("_", " "),
        "robot": safe(law.robot.name),
        "n": n,
        "p": p,
        "size": max(1, size),
        "inputs": ", ".join(port.name for port in ports),
        "declared": ", ".join(f"const double *{port.name}" for port in ports),
        "meaning": ", ".join(str(port.size) for port in ports) + " numbers, rad, m and seconds.",
        "names": "".join(f" * {k:>5}  {text}\n" for k, text in enumerate(_described(law))),
        "start": _rows(_start(law)[None]),
        "steps": STEPS,
        "width": int(places[-1]),
        "outputs": n + size,
        "rows": _rows(states, braces=True),
        "expected": _rows(results, braces=True),
        "called": ", ".join(f"x + {place}" for place in places[:-1]),
        "dt": repr(STEP_SECONDS),
        "agree": repr(AGREE),
        "operations": repr(law.step_program().operations),
    }
    return texts | {
        f"{name}_controller.h": _HEADER.format(**words),
        f"{name}_controller.c": _SOURCE.format(**words),
        f"test_{name}.c": _HARNESS.format(**words),
        "README.md": _README.format(**words),
    }


def _described(law: Law) -> list[str]:
    pairs = zip(law.parameters.names, law.parameters.units, strict=True)
    return [f"{n}, {u}".replace("*/", "* /").replace("\\", "/").replace("\n", " ") for n, u in pairs]


def _start(law: Law) -> np.ndarray:
    """Return the state that the controller starts with: the robot's parameters, made real where the law needs it."""
    real = getattr(law, "real", None)
    return law.init(real(None) if real is not None else None).vector


def _harness(law: Law) -> tuple[np.ndarray, np.ndarray]:
    """Return the states of the harness, and torque and state after each of its steps."""
    rng = np.random.default_rng(0)
    ports = law.ports()[:5]
    low = [0.5, *[-0.5] * 4]  # bent joints: a stretched arm is singular for a task
    states = [
        [np.round(rng.uniform(a, a + 1, p.shape), 6) for a, p in zip(low, ports, strict=True)] for _ in range(STEPS)
    ]
    vector = _start(law)
    results = []
    for state in states:
        q, qd, *wanted = state
        tau, after = law.step(law.init(vector), q, qd, wanted[0], wanted[1], wanted[2], STEP_SECONDS)
        vector = after.vector
        results.append(np.concatenate([tau, vector]))
    return np.array([np.concatenate(s) for s in states]), np.array(results)


def _rows(table: np.ndarray, braces: bool = False) -> str:
    rows = [", ".join(repr(float(v)) for v in row) or "0" for row in table]
    return ",\n".join(f"    {{{row}}}" if braces else f"    {row}" for row in rows)
