"""Compile targets: interpreters and compilers of a program, one file each, which `TARGETS` names."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from taupi.errors import Argument, unknown

if TYPE_CHECKING:
    from taupi.program.program import Program

# Each module has `build(program, **options)`, which returns a callable.
TARGETS: dict[str, str] = {
    "cpu": "taupi.program.targets.cpu",
    "cuda": "taupi.program.targets.cuda",
    "numpy": "taupi.program.targets.numpy",
    "exact": "taupi.program.targets.exact",
    "explicit": "taupi.program.targets.explicit",
    "interval": "taupi.program.targets.interval",
}


def target_module(name: str) -> ModuleType:
    """Return the module of a target."""
    if name not in TARGETS:
        raise unknown(Argument("target"), name, TARGETS)
    return import_module(TARGETS[name])


class BuiltFunction:
    """What `run` does, in a form that pickles: another process builds it there, from its `program`, `target` and `options`."""

    def __init__(self, run: Callable[..., object], program: Program, target: str, options: dict[str, Any]) -> None:
        self._run, self._origin = run, (program, target, options)

    def __call__(self, *args: object, **kwargs: object) -> Any:
        """Call it, as the program is called, by position (`args`) or by name (`kwargs`)."""
        return self._run(*args, **kwargs)

    def __reduce__(self) -> tuple[object, ...]:
        return _build, self._origin


def _build(program: Program, target: str, options: dict[str, Any]) -> Callable[..., object]:
    return program.compile(target, **options)
