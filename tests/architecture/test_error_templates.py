"""Errors and warnings are templates: literals whose fields are values of the call, or arguments that users can write."""

import ast
import re
from pathlib import Path

import pytest

import taupi
from taupi.errors import Message

PACKAGE = Path(taupi.__file__).parent
KINDS = {"Message", "NotIdentifiedError", "NotRationalError", "TaupiError", "TaupiWarning", "warn"}
FIELD = re.compile(r"(?<!\{)\{([A-Za-z_]\w*)[^{}]*\}")


def calls(kinds):
    for path in sorted(PACKAGE.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in kinds and node.args:
                yield f"{path.relative_to(PACKAGE).as_posix()}:{node.lineno}", node


def parameters():
    """Every name that a call or a setting of the package has, and that a drive table or a file may state."""
    names = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.arg):
                names.add(node.arg)
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                names.add(node.target.id)
    return names


def test_no_template_is_put_together_from_values():
    made = [place for place, call in calls(KINDS) if isinstance(call.args[0], ast.JoinedStr | ast.BinOp)]
    remedies = [
        place
        for place, call in calls(KINDS - {"Message"})
        for keyword in call.keywords
        if keyword.arg == "remedy" and isinstance(keyword.value, ast.JoinedStr | ast.BinOp | ast.Tuple)
    ]
    assert not made and not remedies, [*made, *remedies]


def test_fields_are_values_or_arguments():
    known = parameters()
    for place, call in calls(KINDS):
        given = {keyword.arg for keyword in call.keywords}
        texts = [call.args[0], *(k.value for k in call.keywords if k.arg == "remedy")]
        for text in texts:
            if isinstance(text, ast.Constant) and isinstance(text.value, str) and None not in given:
                for name in FIELD.findall(text.value):
                    assert name in given | known, f"{place}: no value and no argument is called {name}"


@pytest.mark.parametrize("text", ["{q} is {got!r}.", "limits={...}", "{{i}}"])
def test_templates_are_read_as_the_test_reads_them(text):
    arguments = [part.name for part in Message(text, got=1).parts if not isinstance(part, str)]
    assert arguments == [name for name in FIELD.findall(text) if name != "got"]
