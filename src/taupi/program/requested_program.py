"""Programs by request: a program that another process has traced and compiled is called here without tracing it again.

A request is everything that a program depends on: which builder, its arguments, and the state of the package and of CasADi. Its
hash is the name of a file that says which machine code answers the request. The file is used if all of that is the same; if the
file or the machine code is missing or damaged, the program is traced and compiled as usual.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from taupi.program.disk_cache import folder, store, stored
from taupi.program.ports import Port
from taupi.program.program import Program
from taupi.program.targets.simd.llvm_writer import Module
from taupi.version import __version__

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

_PACKAGE = Path(__file__).parents[1]
_LOADED_NS = time.time_ns()


class RequestedProgram(Program):
    """A program that stands for a request. It is traced only if something is needed that its machine code does not contain."""

    # What is set on an instance, as for any other program, takes precedence over these.

    @cached_property
    def constants(self) -> Any:
        """The constants of the trace."""
        return self._traced.constants

    @cached_property
    def function(self) -> Any:
        """The trace."""
        return self._traced.function

    @cached_property
    def parameters(self) -> Any:
        """What the columns of the trace stand for."""
        return self._traced.parameters

    @cached_property
    def _traced(self) -> Program:
        program: Program = self.__dict__["_build"]()
        return program

    @cached_property
    def _compiled(self) -> Any:
        file, record = self.__dict__.get("_file"), self.__dict__.get("_record")
        kernel = None if record is None else _recalled_kernel(self, record)
        if kernel is None:
            kernel = super().compile("cpu")
            if file is not None:
                store(file, json.dumps(_record_of(self, kernel)).encode())
        return kernel

    def compile(
        self, target: str = "cpu", threads: int | None = None, layout: str | None = None, dtype: DTypeLike | None = None
    ) -> Callable[..., object]:
        """Return the program built for a target, as any other program does; for the CPU and by default, without a trace."""
        if target == "cpu" and threads is layout is dtype is None:
            kernel: Callable[..., object] = self._compiled
            return kernel
        return super().compile(target, threads, layout, dtype)


def requested(build: Callable[..., Any], *args: Any, **kwargs: Any) -> object:
    """Return `build(*args, **kwargs)`, a program, without running it if its machine code is on disk.

    Anything that is not a program, or that has a guard for its arguments, is built and returned as it is.
    """
    file = _file(build, args, kwargs)
    record = _read(file)
    if record is not None:
        return _standing_for(lambda: build(*args, **kwargs), file, record)
    program = build(*args, **kwargs)
    if file is None or not isinstance(program, Program) or program.guard is not None or "_file" in program.__dict__:
        return program
    result = object.__new__(RequestedProgram)
    result.__dict__.update({f.name: getattr(program, f.name) for f in dataclasses.fields(Program)}, _file=file)
    return result


def _standing_for(build: Callable[[], Program], file: Path | None, record: dict[str, Any]) -> Program:
    result = object.__new__(RequestedProgram)
    inputs, outputs = (
        tuple(Port(name, tuple(shape), tuple(labels), per) for name, shape, labels, per in record[key])
        for key in ("inputs", "outputs")
    )
    known = {"name": record["name"], "inputs": inputs, "outputs": outputs, "guard": None}
    result.__dict__.update(known, _file=file, _record=record, _build=build)
    return result


# The record of a program ----------------------------------------------------------------------------------------------


def _record_of(program: Program, kernel: Any) -> dict[str, object]:
    from taupi.program.targets.simd.machine_code import machine, object_name

    module: Module = kernel.module
    inputs, outputs = (
        [[p.name, p.shape, p.labels, p.per] for p in ports] for ports in (program.inputs, program.outputs)
    )
    return {
        "name": program.name,
        "inputs": inputs,
        "outputs": outputs,
        "memory": [module.kept, module.rows, module.block, module.level],
        "nonzeros": kernel.nonzeros,
        "lanes": kernel.lanes,
        "machine": machine(),
        "object": object_name(module.text, module.level),
    }


def _read(file: Path | None) -> dict[str, Any] | None:
    content = stored(file)
    if content is None:
        return None
    record: dict[str, object] = json.loads(content)  # its hash was right, so it is what was written
    return record


def _recalled_kernel(program: Program, record: dict[str, Any]) -> object:
    """Return the kernel that a record describes; None if it is for another machine, or its machine code is gone."""
    from taupi.program.targets.cpu import Kernel
    from taupi.program.targets.simd.machine_code import load_object, machine

    engine = load_object(record["object"]) if record["machine"] == machine() else None
    if engine is None:
        return None
    return Kernel(program, lanes=record["lanes"], compiled=(Module("", *record["memory"]), engine, record["nonzeros"]))


# The request ----------------------------------------------------------------------------------------------------------


def _file(build: Callable[..., object], args: tuple[object, ...], kwargs: dict[str, object]) -> Path | None:
    """Return the file of a request; None if the cache is off, or if it would not notice a change of all that matters."""
    place = folder() if _of_package(build.__module__) else None
    package = None if place is None else _state_of_package()
    if place is None or package is None:
        return None
    try:
        words = [package, build.__module__, build.__qualname__, *_text(args), *_text(tuple(sorted(kwargs.items())))]
    except _NoTextError:
        return None
    return place / (hashlib.sha256("\0".join(words).encode()).hexdigest() + ".program")


class _NoTextError(Exception):
    """A value whose text would not say everything that matters, such as a function, or an object of another package."""


def _text(value: Any) -> Iterator[str]:
    """Yield words that identify a value: another value has other words."""
    kind = type(value)
    if kind is Fraction:
        yield f"{value.numerator}/{value.denominator}"
    elif kind is str:
        yield repr(value)
    elif value is None or kind in (bool, int, float):
        yield f"{kind.__name__} {value!r}"
    elif kind in (tuple, list):
        yield f"({len(value)}"
        for item in value:
            yield from _text(item)
    elif dataclasses.is_dataclass(value) and _of_package(kind.__module__):
        yield f"{kind.__module__}.{kind.__qualname__}"
        for field in dataclasses.fields(value):
            if field.compare:  # other fields make no difference, neither to the value nor to its program
                yield from _text(getattr(value, field.name))
    else:
        raise _NoTextError


def _of_package(module: str) -> bool:
    """Return whether a module is one of the package, whose files are looked at."""
    return module.partition(".")[0] == __name__.partition(".")[0]


@cache
def _state_of_package() -> str | None:
    """Return words that change with every change of the package's source, and with CasADi.

    All of the package is looked at: a list of the parts that matter to programs would be forgotten when one is added. As for
    Python's own cache of compiled code, a file counts as unchanged as long as its size and its times are the same. None if there
    are no files, or if one has changed since this process began: it may run what the file held before.
    """
    try:
        casadi = find_spec("casadi")
        words = [__version__, str(_PACKAGE), *_states(str(_PACKAGE))]
        if casadi is not None and casadi.origin is not None:
            home = Path(casadi.origin).parent
            words += [str(home), _state(os.stat(casadi.origin))]
            words += sorted(name for name in os.listdir(home.parent) if name.startswith("casadi-"))
    except (OSError, ValueError):  # not files, a module without a specification, or a file that has changed
        return None
    return "\0".join(words)


def _states(place: str) -> Iterator[str]:
    """Yield the name and the state of every source file in a folder."""
    with os.scandir(place) as entries:
        for entry in sorted(entries, key=lambda e: e.name):
            if entry.name.endswith(".py"):
                status = entry.stat()
                if max(status.st_mtime_ns, status.st_ctime_ns) >= _LOADED_NS:
                    raise ValueError(f"{entry.name} has changed")
                yield f"{entry.name} {_state(status)}"
            elif entry.name.isidentifier() and entry.name[0] != "_" and entry.is_dir():
                yield entry.name
                yield from _states(entry.path)


def _state(status: os.stat_result) -> str:
    return f"{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns}"
