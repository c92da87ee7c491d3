"""The table of equations: every number of the documents, a call that exists, and a test that makes it."""

import ast
import re
from pathlib import Path

import pytest

import taupi as tp

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/concepts/equations.md").read_text(encoding="utf-8").partition("## By document")[2]
# The last number of each document; Aldana's other formulas and the lecture's have none.
LAST = {"Gabiccini": 59, "Aldana": 2, "Kubozono": 55, "Zollo": 45}
APPENDICES = {"Zollo": {"A": 21, "B": 20}}


def found(call):
    """What a call such as tp.elastic.mass_matrix names."""
    value = tp
    for part in call.split(".")[1:]:
        value = getattr(value, part)
    return value


def rows(document):
    """The rows of a document's table: equations, what, calls, tests."""
    part = re.search(rf"### {document}\n(.*?)(?=\n### |\Z)", PAGE, re.DOTALL)[1]
    lines = [line for line in part.splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def numbers(text):
    """The equations that a cell names: (4), (9)-(12), (A.15)-(A.21)."""
    named = set()
    for letter, first, last in re.findall(r"\(([AB]\.)?(\d+)\)(?:-\((?:[AB]\.)?(\d+)\))?", text):
        named |= {f"{letter}{k}" for k in range(int(first), int(last or first) + 1)}
    return named


def sources():
    """The source of every test of equations, by name."""
    functions = {}
    for path in (ROOT / "tests/reference/equations").glob("test_*.py"):
        text = path.read_text(encoding="utf-8")
        for node in ast.parse(text).body:
            if isinstance(node, ast.FunctionDef):
                functions[node.name] = ast.get_source_segment(text, node).replace("form.", "tp.closed_form.")
    return functions


TESTS = sources()


@pytest.mark.parametrize("document", LAST)
def test_every_numbered_equation_has_a_row(document):
    wanted = {str(k) for k in range(1, LAST[document] + 1)}
    for letter, last in APPENDICES.get(document, {}).items():
        wanted |= {f"{letter}.{k}" for k in range(1, last + 1)}
    assert set().union(*(numbers(row[0]) for row in rows(document))) == wanted


@pytest.mark.parametrize("document", [*LAST, "The lecture"])
def test_every_row_names_calls_that_its_test_makes(document):
    for equations, _, calls, tests in rows(document):
        named = re.findall(r"`(tp\.[\w.]+)", calls)
        functions = re.findall(r"`(test_\w+)`", tests)
        assert named and functions, equations
        body = "\n".join(TESTS[name] for name in functions)
        for call in named:
            assert callable(found(call)), call
            assert re.search(rf"{re.escape(call)}\b", body), f"{equations}: {functions} do not call {call}"


def test_tests_of_equations_are_all_in_the_table():
    named = set(re.findall(r"`(test_\w+)`", PAGE))
    others = {  # bad input, and what no document has
        "test_a_floating_base_is_refused_where_velocities_are_no_derivatives",
        "test_parts_with_a_rigid_joint_add_up",
    }
    assert {name for name in TESTS if name.startswith("test_")} - others <= named


def test_every_call_on_the_page_exists():
    page = (ROOT / "docs/concepts/equations.md").read_text(encoding="utf-8")
    calls = set(re.findall(r"`(tp\.\w+(?:\.\w+)*)", page))
    assert len(calls) > 80
    for call in calls:
        found(call)
