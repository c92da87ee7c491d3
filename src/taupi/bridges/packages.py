"""Packages of other tools, imported when a bridge is called."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from taupi.errors import TaupiError


def needed(module: str, extra: str, purpose: str) -> ModuleType:
    """Return a module of another tool, or raise an error that says which `extra` of this package installs it.

    `purpose` names what needs the module, as the beginning of a sentence.

    >>> needed("math", "mujoco", "This example").sqrt(4)
    2.0
    >>> needed("no_such_tool", "mujoco", "This example")
    Traceback (most recent call last):
    taupi.errors.TaupiError: This example needs no_such_tool, which is not installed. pip install 'taupi[mujoco]'.
    """
    try:
        return import_module(module)
    except ImportError as error:
        missing = getattr(error, "name", None)
        broken = "" if missing in (None, module.partition(".")[0], module) else f" (it asks for {missing})"
        name = module.partition(".")[0]
        raise TaupiError(
            "{purpose} needs {name}, which is not installed{broken}.",
            remedy="pip install 'taupi[{extra}]'.",
            purpose=purpose,
            name=name,
            broken=broken,
            extra=extra,
        ) from None
