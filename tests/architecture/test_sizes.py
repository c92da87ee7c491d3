"""Files, functions and rooms stay small enough to be read at once."""

import ast
from collections import Counter
from pathlib import Path

import taupi

ROOT = Path(taupi.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
MOST_LINES, MOST_LINES_OF_A_FUNCTION, MOST_MODULES = 450, 60, 24
# Rooms whose modules are all instances of one kind: namespaces of public names, commands, algorithms.
ONE_KIND = {".", "cli/commands", "dynamics"}


def length(function: ast.FunctionDef) -> int:
    """The lines of a function without its docstring."""
    first = function.body[0]
    docstring = first if ast.get_docstring(function) is not None else None
    return function.end_lineno - function.lineno + 1 - (docstring.end_lineno - docstring.lineno + 1 if docstring else 0)


def test_no_file_is_long():
    lines = {path.relative_to(ROOT).as_posix(): len(path.read_text(encoding="utf-8").splitlines()) for path in FILES}
    assert {name: count for name, count in lines.items() if count > MOST_LINES} == {}


def test_no_function_is_long():
    longest = {}
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and length(node) > MOST_LINES_OF_A_FUNCTION:
                longest[f"{path.relative_to(ROOT).as_posix()}: {node.name}"] = length(node)
    assert longest == {}


def test_no_room_is_crowded():
    rooms = Counter(path.parent.relative_to(ROOT).as_posix() for path in FILES if path.name != "__init__.py")
    assert {room: count for room, count in rooms.items() if count > MOST_MODULES and room not in ONE_KIND} == {}
