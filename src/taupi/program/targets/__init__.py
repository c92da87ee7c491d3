"""Interpreters, emitters and compilers of a program, a file each. `TARGETS` names them."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from taupi.errors import unknown

TARGETS: dict[str, str] = {
    "cpu": "taupi.program.targets.cpu",
    "cuda": "taupi.program.targets.cuda",
    "numpy": "taupi.program.targets.numpy",
    "exact": "taupi.program.targets.exact",
    "explicit": "taupi.program.targets.explicit",
    "interval": "taupi.program.targets.interval",
}


def target_module(name: str) -> ModuleType:
    """Return the module of a target; its `build(program, **options)` makes the callable."""
    if name not in TARGETS:
        raise unknown("target", name, TARGETS)
    return import_module(TARGETS[name])
