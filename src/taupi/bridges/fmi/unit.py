"""A Functional Mock-up Unit in one file: description, sources, and the binary for this machine."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from taupi.bridges.fmi.description import Listing, build_description, description
from taupi.bridges.fmi.model import LoopLimits, UnitModel, unit_model
from taupi.checks import one_of, or_none, positive, truth
from taupi.control.emitted_controller import LONGEST_GAP
from taupi.control.gains import RATE, check_gains
from taupi.control.law import Law
from taupi.dynamics.types import ArrayLike
from taupi.errors import Message, TaupiError
from taupi.files import refuse_to_overwrite, write_file
from taupi.program.emitters.dialect import safe

if TYPE_CHECKING:
    from collections.abc import Mapping


VERSIONS = ("3.0", "2.0")
_LONGEST_NAME = 40
# Zip files contain times; ours are all the same, so that equal units are equal files.
_EPOCH = (1980, 1, 1, 0, 0, 0)


def emit_fmu(
    subject: object,
    path: str | os.PathLike[str],
    fmi: str = "3.0",
    name: str | None = None,
    step: float | None = None,
    binary: bool = True,
    force: bool = False,
    rate: float = RATE,
    effort_limits: ArrayLike | None = None,
    longest_gap: float = LONGEST_GAP,
) -> Path:
    """Write a Functional Mock-up Unit for Simulink, Modelica tools and all others that support FMI, and return its path.

    Plants and laws are for co-simulation and for model exchange; online components and robots that are driven by commands have no
    rates, and are for co-simulation only.
    There is a warning if the gains of a law are too high for `rate`, by its own model of the robot.

    Args:
        subject: A plant (`taupi.RigidPlant(robot)`, `taupi.ElasticPlant(robot)`, `taupi.laws.DrivenPlant(robot, drive)`), a
            control law (`taupi.SlotineLi(robot)`) or an online component (`taupi.momentum_observer(robot)`, `fit.tracker()`).
        path: The path of the file, which ends in .fmu.
        fmi: The version of FMI, "3.0" (the default) or "2.0".
        name: The name of the model, by default the file's.
        step: The longest internal step of a plant in co-simulation by the Runge-Kutta method, s; by default 1 ms, or 0.1 ms with
            elastic joints. It is a parameter of the unit as well. Of a robot that is driven by commands, its own step by default.
        binary: Whether the unit has, beside C sources, a binary for this machine, built by the system's compiler; True by
            default.
        force: Whether a file that exists is overwritten, False by default.
        rate: Communication points per second, Hz, for which the gains of a law are checked; 1000 by default.
        effort_limits: For a law, as in `taupi.emit_controller`: by default as the description states them.
        longest_gap: For a law, the longest time between two communication points, s; 0.1 by default.

    >>> import tempfile, taupi as tp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tp.bridges.emit_fmu(tp.RigidPlant(tp.load("elbow2r")), f"{folder}/arm.fmu", binary=False).name
    'arm.fmu'
    """
    one_of(VERSIONS)("fmi", fmi)
    truth("binary", binary)
    step = or_none(positive)("step", step)
    file = refuse_to_overwrite(path, force)
    if file.suffix != ".fmu":
        raise TaupiError("{path} is {got!r}, expected a name that ends in .fmu.", got=str(path))
    identifier = _identifier(file.stem if name is None else name)
    if isinstance(subject, Law):
        check_gains(subject, positive("rate", rate), refuse=False)
    model = unit_model(subject, identifier, step, LoopLimits(rate, effort_limits, longest_gap))
    token = _token(model.texts, identifier, fmi, model.title, model.step)
    texts = source_files(model, token, fmi)
    sources = compiled_names(texts)
    entries: dict[str, bytes] = {
        "modelDescription.xml": description(model, identifier, token, fmi, sources).encode(),
        **{f"sources/{name}": text.encode() for name, text in sorted(texts.items())},
    }
    if fmi == "3.0":
        entries["sources/buildDescription.xml"] = build_description(identifier, sources).encode()
    if binary:
        entries |= _binary(texts, sources, identifier, fmi)
    write_file(file, lambda stream: _zip(stream, entries), force)
    return file


def _binary(texts: Mapping[str, str], sources: list[str], identifier: str, fmi: str) -> dict[str, bytes]:
    """Return the compiled library by its path inside of the unit."""
    new, old, ending = platform_names()
    with tempfile.TemporaryDirectory() as folder:
        for name, text in texts.items():
            (Path(folder) / name).write_text(text, encoding="utf-8")
        library = Path(folder) / f"{identifier}{ending}"
        compile_library(Path(folder), sources, library)
        return {f"binaries/{new if fmi == '3.0' else old}/{library.name}": library.read_bytes()}


def _zip(stream: BinaryIO, entries: Mapping[str, bytes]) -> None:
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in entries.items():
            info = zipfile.ZipInfo(name, _EPOCH)
            info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(info, data)


def _identifier(name: str) -> str:
    """Return a name that C and file systems accept: a letter first, then letters, digits and underscores, not too long."""
    if not isinstance(name, str) or not name:
        raise TaupiError("{name} is {got!r}, expected a word.", got=name)
    text = re.sub(r"\W", "_", name, flags=re.ASCII)[:_LONGEST_NAME]
    return text if text[0].isalpha() else f"unit_{text}"


def _token(texts: Mapping[str, str], *more: object) -> str:
    """Return the token that links description and binary: a hash of both, in the form of a GUID."""
    digest = hashlib.sha256(repr((sorted(texts.items()), more)).encode()).hexdigest()
    return "{" + "-".join(digest[a:b] for a, b in ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32))) + "}"


_CANDIDATES = ("cc", "gcc", "clang")
_MACHINES = {"x86_64": "x86_64", "amd64": "x86_64", "arm64": "aarch64", "aarch64": "aarch64"}
_SYSTEMS = {  # by Python's name: FMI 3.0's, the ending of a library, FMI 2.0's
    "linux": ("linux", ".so", "linux64"),
    "darwin": ("darwin", ".dylib", "darwin64"),
    "win32": ("windows", ".dll", "win64"),
}


def platform_names() -> tuple[str, str, str]:
    """Return the names that FMI 3.0 and FMI 2.0 give to this machine's folder of binaries, and the suffix of a library."""
    machine = _MACHINES.get(platform.machine().lower(), platform.machine().lower())
    system, ending, old = _SYSTEMS.get(sys.platform, (sys.platform, ".so", sys.platform))
    return f"{machine}-{system}", old if machine == "x86_64" else f"{machine}-{system}", ending


def compile_library(folder: Path, sources: Sequence[str], library: Path) -> None:
    """Compile `sources` in a `folder` into a shared `library`; raise an error if there is no compiler, or if it fails."""
    command = [*_compiler(), "-std=c99", "-O2", "-ffp-contract=off", "-fPIC", "-fvisibility=hidden", "-shared"]
    command += [*sources, "-o", str(library), "-lm"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr or done.stdout).strip().splitlines()
        raise TaupiError(
            "{command} cannot compile the unit: {last}.",
            remedy="{way}",
            command=command[0],
            last=last[0] if last else "it says nothing",
            way=_without(),
        )


def _compiler() -> list[str]:
    """Return the compiler that the variable CC names, or one that is installed."""
    stated = shlex.split(os.environ.get("CC", ""))
    if stated:
        if shutil.which(stated[0]) is None:
            raise TaupiError(
                "CC names the compiler {stated!r}, which does not exist.",
                remedy="{way}",
                stated=stated[0],
                way=_without(),
            )
        return stated
    for name in _CANDIDATES:
        if shutil.which(name) is not None:
            return [name]
    raise TaupiError(
        "No C compiler is installed (tried {candidates:,}).", remedy="{way}", candidates=_CANDIDATES, way=_without()
    )


def _without() -> Message:
    return Message("Install one or name it in the variable CC, or write a unit with sources only: {binary=False}.")


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
        if ((i < FIRST_INPUT || i >= FIRST_INPUT + INPUTS) && !isfinite(m->v[i])) return 1;
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
