"""Compile targets: interpreters and compilers of a program, one file each. `TARGETS` names them."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from taupi.errors import Argument, unknown

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
