"""Every law that the documentation prints runs: from the true parameters, at 1 kHz, without a warning about its gains."""

import ast
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import taupi as tp
from taupi.control.gains import check_gains
from taupi.public_names import homes
from taupi.simulation.motion_limits import swing

ROOT = Path(__file__).parents[3]
NAMES = {name for name in homes("laws") if name[0].isupper() and hasattr(getattr(tp.laws, name), "measured")}
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "docs" / "notebooks").glob("*.py")),
]


def code_of(path):
    text = path.read_text(encoding="utf-8")
    return text if path.suffix == ".py" else "\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL))


def laws_of(path):
    """Return the calls that build laws on a page, with the robots that the page loads under a name."""
    blocks = [code_of(path)]
    try:
        tree = ast.parse("\n".join(blocks))
    except SyntaxError:  # a session with prompts
        return []
    robots, calls = {}, []
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and ast.unparse(node.value).startswith("tp.load("):
            robots[ast.unparse(node.targets[0])] = ast.unparse(node.value)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in NAMES:
            calls.append(ast.unparse(node))
    return [(call, robots) for call in dict.fromkeys(calls)]


def built(call, robots):
    names = {"tp": tp, "np": np}
    try:
        return eval(call, {**names, **{name: eval(text, names) for name, text in robots.items()}})
    except (NameError, tp.TaupiError):
        return None


PRINTED = [(path.name, call, robots) for path in PAGES for call, robots in laws_of(path)]


def test_they_are_found():
    assert len(PRINTED) > 20
    assert sum(built(call, robots) is not None for _, call, robots in PRINTED) > len(PRINTED) // 2


@pytest.mark.parametrize(("page", "call", "robots"), PRINTED, ids=[f"{page}:{call[:40]}" for page, call, _ in PRINTED])
def test_printed_law_runs(page, call, robots):
    law = built(call, robots)
    if law is None:
        pytest.skip("its robot is made on the page, which is run as a whole by tests/unit/test_docs.py")
    # Motors of elastic joints are light: pages run their laws inside the integrator, or at higher rates.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_gains(law, 10_000.0 if law.measured[0] == "theta" else 1000.0)
    if law.wanted[0] != "q_des" or law.measured[0] != "q":
        return
    start = law.first_state().parameters
    run = tp.simulate(
        tp.RigidPlant(law.robot, terms="rotor"),
        law,
        swing(law.robot),
        0.1,
        1000.0,
        parameters=start,
    )
    assert run.complete and np.abs(run.qd).max() < 20
