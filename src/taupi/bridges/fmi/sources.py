"""The C of a unit: the model behind it, and the functions that a tool calls."""

from __future__ import annotations

from importlib.resources import files

from taupi.bridges.fmi.description import Listing
from taupi.bridges.fmi.model import UnitModel
from taupi.program.emitters.dialect import safe

_HEADER = """/* {title}: what the functions of FMI know of the model. Written by taupi. */
#ifndef TAUPI_FMU_MODEL_H
#define TAUPI_FMU_MODEL_H

{memory_include}
#define MODEL_TOKEN "{token}"

/* Value references: time is 0; inputs, states, their rates and outputs follow, then the longest internal step. */
enum {{ INPUTS = {inputs}, STATES = {states}, OUTPUTS = {outputs}, HAS_STEP = {has_step}, MODEL_EXCHANGE = {exchange} }};
enum {{ {places} }};

typedef struct {{
    double v[VALUES]; /* by value reference */
    int stale;        /* whether rates and outputs are older than inputs and states */
{memory}}} Model;

void model_start(Model *m);
void model_evaluate(Model *m);
int model_advance(Model *m, double h); /* 0, or 1 where the result is not finite */
/* From changes of inputs and states in d to those of rates and outputs, by value reference; 1 where it is not known. */
int model_tangent(const Model *m, double d[VALUES]);

#endif
"""

_SOURCE = """#include "model.h"

#include <math.h>
#include <string.h>

{includes}

static const double start[VALUES] = {{
{start}
}};

void model_start(Model *m)
{{
    memcpy(m->v, start, sizeof m->v);
    m->stale = 1;
    {memory_start}
}}

static void evaluate(Model *m)
{{
    double *v = m->v;
{evaluate}
}}

void model_evaluate(Model *m)
{{
    if (m->stale) evaluate(m);
    m->stale = 0;
}}
{integrator}
static void advance(Model *m, double h)
{{
    double *v = m->v;
    (void)v;
{advance}
}}

int model_advance(Model *m, double h)
{{
    advance(m, h);
    m->v[0] += h;
    m->stale = {stale};
    for (int i = 0; i < VALUES; ++i)
        if (!isfinite(m->v[i])) return 1;
    return 0;
}}

int model_tangent(const Model *m, double d[VALUES])
{{
    const double *v = m->v;
    (void)v, (void)d;
{tangent}
}}
"""

# Inputs are held over the step, as the calling tool does.
_RUNGE_KUTTA = """
static void slope(Model *m, const double *x, double *rates)
{
    memcpy(m->v + FIRST_STATE, x, STATES * sizeof(double));
    evaluate(m);
    memcpy(rates, m->v + FIRST_RATE, STATES * sizeof(double));
}

static void runge_kutta(Model *m, double h)
{
    double begin[STATES], x[STATES], k1[STATES], k2[STATES], k3[STATES], k4[STATES];
    double parts = ceil(h / m->v[STEP] * (1 - 1e-9));
    int count = parts > 1 ? (int)parts : 1;
    double dt = h / count;
    for (int part = 0; part < count; ++part) {
        memcpy(begin, m->v + FIRST_STATE, sizeof begin);
        slope(m, begin, k1);
        for (int i = 0; i < STATES; ++i) x[i] = begin[i] + dt / 2 * k1[i];
        slope(m, x, k2);
        for (int i = 0; i < STATES; ++i) x[i] = begin[i] + dt / 2 * k2[i];
        slope(m, x, k3);
        for (int i = 0; i < STATES; ++i) x[i] = begin[i] + dt * k3[i];
        slope(m, x, k4);
        for (int i = 0; i < STATES; ++i) x[i] = begin[i] + dt / 6 * (k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i]);
        memcpy(m->v + FIRST_STATE, x, sizeof x);
    }
}
"""


def source_files(model: UnitModel, token: str, fmi: str) -> dict[str, str]:
    """Return all files of C by name, for a version of `fmi`, "3.0" or "2.0"."""
    interface = f"fmi{fmi[0]}.c"
    text = files("taupi.bridges.fmi").joinpath("c").joinpath(interface).read_text(encoding="utf-8")
    return {**model.texts, "model.h": _header(model, token), "model.c": _source(model), interface: text}


def compiled_names(texts: dict[str, str]) -> list[str]:
    """Return the names of the files that a compiler is given."""
    return sorted(name for name in texts if name.endswith(".c"))


def _header(model: UnitModel, token: str) -> str:
    kind, _ = model.memory
    return _HEADER.format(
        title=safe(model.title),
        token=token,
        inputs=len(model.inputs),
        states=len(model.states),
        outputs=len(model.outputs),
        has_step=int(model.step is not None),
        exchange=int(not model.sampled),
        places=", ".join(f"{name} = {place}" for name, place in Listing(model).first.items()),
        memory_include="\n".join(f'#include "{name}"' for name in model.includes) if kind else "",
        memory=f"    {kind} memory;\n" if kind else "",
    )


def _source(model: UnitModel) -> str:
    values = [0.0] * Listing(model).first["VALUES"]
    for entry in Listing(model).entries():
        values[entry.reference] = entry.variable.start
    return _SOURCE.format(
        includes="\n".join(f'#include "{name}"' for name in model.includes),
        start="\n".join(f"    {value!r}," for value in values),
        memory_start=model.memory[1],
        evaluate=model.evaluate,
        advance=model.advance,
        tangent=f"{model.tangent}\n    return 0;" if model.tangent else "    return 1;",
        integrator=_RUNGE_KUTTA if model.step is not None else "",
        stale=int(not model.sampled),
    )
