"""The stub src/taupi/signatures.pyi: every public verb that takes settings, with the fields of these among its parameters.

`taupi.settings.takes` adds parameters at import time, but type checkers and editors never import the package. What they need is
written from the signatures at that time, with defaults and docstrings; examples are left out. If a setting is
stored as a tuple, lists and arrays are accepted as well.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import json
import sys
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from textwrap import indent
from typing import Any

STUB = Path(__file__).parents[1] / "src" / "taupi" / "signatures.pyi"
MODULE = "taupi.signatures"
HEAD = '''\
"""Verbs that take settings, with every keyword: for type checkers and editors, written by tools/write_public_names.py."""

# ruff: noqa: E501, I001
'''
# What is accepted for a field that is stored as a tuple.
WIDER = {"tuple[float, ...]": "Sequence[float] | np.ndarray", "tuple[str, ...]": "str | Sequence[Any]"}
WIDER_IMPORTS = {
    "Sequence": "from collections.abc import Sequence",
    "np": "import numpy as np",
    "Any": "from typing import Any",
}


def subjects_of(value: Any) -> dict[str, Any]:
    """Return the settings that a function takes, by parameter; none for other public objects."""
    return getattr(value, "__subjects__", {}) if inspect.isfunction(value) else {}


@cache
def verbs() -> dict[str, Callable[..., Any]]:
    """Return the public functions that take settings, by the name in their module."""
    from taupi.public_names import PUBLIC, homes

    table: dict[str, Callable[..., Any]] = {}
    for namespace in PUBLIC:
        for module, name in homes(namespace).values():
            function = getattr(import_module(module), name)
            if subjects_of(function) and table.setdefault(name, function) is not function:
                raise SystemExit(f"Two verbs that take settings are called {name}.")
    return dict(sorted(table.items()))


def stub() -> str:
    """Return the text of the stub."""
    imports: dict[str, str] = {}
    parts = [_definition(name, function, imports) for name, function in verbs().items()]
    return "\n".join([HEAD, *sorted(set(imports.values())), "", "\n\n".join(parts)]) + "\n"


def _definition(name: str, function: Callable[..., Any], imports: dict[str, str]) -> str:
    """Return the definition of a verb; what its annotations need is added to the `imports`."""
    signature, home = inspect.signature(function), inspect.unwrap(function).__module__
    lines, starred = [f"def {name}("], False
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            lines.append("    *,")
            starred = True
        annotation = _annotation(parameter, function, home, imports)
        default = "" if parameter.default is parameter.empty else f" = {_shown(parameter.default)}"
        lines.append(f"    {parameter.name}: {annotation}{default},")
    returned = _known(str(signature.return_annotation), home, imports)
    text = (inspect.getdoc(function) or "").partition("\n>>> ")[0].strip()
    quotes = 'r"""' if "\\" in text else '"""'
    return "\n".join([*lines, f") -> {returned}:", indent(f'{quotes}{text}\n"""', "    "), "    ..."])


def _annotation(parameter: inspect.Parameter, function: Callable[..., Any], home: str, imports: dict[str, str]) -> str:
    """Return the type of a parameter: its own, that of a field of a subject, or the subject itself, or None, if left out."""
    subjects = {name: getattr(subject, "kind", subject) for name, subject in subjects_of(function).items()}
    if kind := subjects.get(parameter.name):
        return f"{_known(kind.__name__, kind.__module__, imports)} | None"
    for kind in subjects.values():
        for base in kind.__mro__:
            if parameter.name in inspect.get_annotations(base):
                return _widened(_known(str(parameter.annotation), base.__module__, imports), base.__module__, imports)
    return _known(str(parameter.annotation), home, imports)


def _widened(annotation: str, module: str, imports: dict[str, str]) -> str:
    """Return the type of a field, widened by what else is accepted for it."""
    text = annotation
    for name in _names(annotation):
        alias = vars(import_module(module)).get(name)
        if alias is not None and not inspect.isclass(alias):
            text += f" {alias}"
    for kept, wider in WIDER.items():
        if kept in text:
            own, none, _ = annotation.partition(" | None")
            annotation = f"{own} | {wider}{none}"
            imports.update({name: WIDER_IMPORTS[name] for name in _names(wider) if name in WIDER_IMPORTS})
    return annotation


def _known(annotation: str, module: str, imports: dict[str, str]) -> str:
    """Return an annotation as it stands; the imports of its names, as they are in its `module`, are added to `imports`."""
    for name in _names(annotation):
        line = _imports(module).get(name, f"from {module} import {name}")
        if imports.setdefault(name, line) != line:
            raise SystemExit(f"{name} means two things in annotations: {imports[name]}, and {line}.")
    return annotation


def _names(annotation: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(annotation, mode="eval")):
        if isinstance(node, ast.Name) and not hasattr(builtins, node.id):
            yield node.id


@cache
def _imports(module: str) -> dict[str, str]:
    """Return the imports of a module by the names that they bind, those for type checkers included."""
    import_module(module)
    tree = ast.parse(Path(str(sys.modules[module].__file__)).read_text(encoding="utf-8"))
    table = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            start = "import" if isinstance(node, ast.Import) else f"from {node.module} import"
            for alias in node.names:
                table[alias.asname or alias.name] = f"{start} {ast.unparse(alias)}"
    return table


def _shown(default: Any) -> str:
    """Return a default that a reader understands, and ... for others."""
    if isinstance(default, str):
        return json.dumps(default)
    return repr(default) if default is None or isinstance(default, bool | int | float) else "..."
