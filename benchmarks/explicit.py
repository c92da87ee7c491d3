"""Explicit forms: how long formulas take, how long they are, beside plain SymPy deriving the same.

Each case runs in a process of its own, so that its peak memory is its own and a derivation that does not end can be ended.
"""

from __future__ import annotations

import math
import multiprocessing
import resource
import time
from collections.abc import Callable
from pathlib import Path
from queue import Empty
from typing import Any

from pages import ratio

import taupi as tp

Case = dict[str, Any]
QUARTER = math.pi / 2
PUMA = [(0, QUARTER, 0), ("a2", 0, 0), ("a3", -QUARTER, "d3"), (0, QUARTER, "d4"), (0, -QUARTER, 0), (0, 0, 0)]
PANDA = [
    (0, 0, "d1"),
    (0, -QUARTER, 0),
    (0, QUARTER, "d3"),
    ("a4", QUARTER, 0),
    ("a5", -QUARTER, "d5"),
    (0, QUARTER, 0),
    ("a7", QUARTER, 0),
]
# Numbers of SymPyBotics, measured when the field was surveyed; it does not run with current NumPy, so it is not run here.
QUOTED = {"PUMA 560": 3.6, "Panda": 6.7}


def arm(name: str) -> tp.Robot:
    """Return an arm whose lengths and gravity are symbols without values."""
    table, convention = (PUMA, "classic") if name == "PUMA 560" else (PANDA, "modified")
    rows = [{"a": a, "alpha": alpha, "d": d} for a, alpha, d in table]
    return tp.Robot.from_dh(rows, convention=convention, gravity=(0, 0, "-g"), name=name)


def regressor(name: str, form: str) -> Case:
    """Return the steps from a table to a text: trace, expand, to SymPy, present and write."""
    from taupi.program.explicit.expand import expand

    robot = arm(name)
    builder = tp.regressor if form == "Y" else tp.slotine_li_regressor
    steps: Case = {}

    def timed(step: str, run: Callable[[], Any]) -> Any:
        start = time.perf_counter()
        result = run()
        steps[step] = time.perf_counter() - start
        return result

    program = timed("trace", lambda: builder(robot, algorithm="lagrangian"))
    expansion = timed("expand", lambda: expand(program, limit=10_000_000))
    steps["expanded terms"] = sum(len(a.numerator) for output in expansion.outputs for a in output)
    timed("sympy", program.sympy)
    formulas = timed("present", lambda: program.explicit(limit=10_000_000))
    steps["characters"] = len(timed("text", formulas.text))
    steps["terms"] = formulas.terms
    return steps


def lump() -> Case:
    """Return the times of lumping the operational force of the planar arm of three links."""
    force = tp.operational.force(tp.load("planar3r"), task="planar")
    steps: Case = {}
    for label, unknown in {"known lengths": ["m?", "I?", "lc?"], "unknown lengths": ["m?", "I?", "lc?", "l?"]}.items():
        start = time.perf_counter()
        lumped = tp.lump(force, unknown=unknown)
        steps[label] = time.perf_counter() - start
        steps[f"{label}, count"] = lumped.count
    return steps


def lagrange(joints: int) -> Case:
    """Return the time of SymPy deriving tau of a planar arm by Euler and Lagrange, expanded, and ours beside it."""
    start = time.perf_counter()
    theirs = _by_sympy(joints)
    by_sympy = time.perf_counter() - start
    robot = _planar(joints)
    start = time.perf_counter()
    ours = tp.inverse_dynamics(robot).sympy()
    by_taupi = time.perf_counter() - start
    start = time.perf_counter()
    tp.inverse_dynamics(robot).explicit().text()
    return {
        "sympy": by_sympy,
        "taupi": by_taupi,
        "taupi, to read": time.perf_counter() - start,
        "sympy terms": sum(len(e.as_ordered_terms()) for e in theirs),
        "taupi terms": sum(len(e.as_ordered_terms()) for e in ours),
        "agree": _agree(theirs, list(ours)),
    }


def _planar(joints: int) -> tp.Robot:
    rows = [{"a": f"l{i}", "alpha": 0, "d": 0} for i in range(1, joints + 1)]
    links = [{"m": f"m{i}", "com": (f"c{i}", 0, 0), "inertia": (0, 0, 0, 0, 0, f"I{i}")} for i in range(1, joints + 1)]
    return tp.Robot.from_dh(rows, links=links, gravity=(0, "-g", 0))


def _by_sympy(joints: int) -> list[Any]:
    """Return tau by hand: energies, d/dt dL/dqd - dL/dq, expanded; nothing is simplified."""
    import sympy

    t, g = sympy.symbols("t g")
    numbers = range(1, joints + 1)
    q = [sympy.Function(f"q{i}")(t) for i in numbers]
    x = y = angle = sympy.Integer(0)
    lagrangian = sympy.Integer(0)
    for i in numbers:
        length, c, m, inertia = sympy.symbols(f"l{i} c{i} m{i} I{i}")
        angle += q[i - 1]
        x, y = x + length * sympy.cos(angle), y + length * sympy.sin(angle)
        # The centre of mass is measured from the link frame's origin, at the link's end.
        cx, cy = x + c * sympy.cos(angle), y + c * sympy.sin(angle)
        lagrangian += m * (cx.diff(t) ** 2 + cy.diff(t) ** 2) / 2 + inertia * angle.diff(t) ** 2 / 2 - m * g * cy
    tau = [lagrangian.diff(p.diff(t)).diff(t) - lagrangian.diff(p) for p in q]
    names = {}
    for i, p in enumerate(q, 1):
        names |= {p.diff(t, 2): sympy.Symbol(f"qdd{i}"), p.diff(t): sympy.Symbol(f"qd{i}"), p: sympy.Symbol(f"q{i}")}
    return [sympy.expand(e.subs(names)) for e in tau]


def _agree(theirs: list[Any], ours: list[Any]) -> bool:
    """Return whether both are the same at a point."""
    point = {s: 0.3 + 0.1 * k for k, s in enumerate(sorted({s for e in theirs for s in e.free_symbols}, key=str))}
    return all(abs(float((a - b).subs(point))) < 1e-9 for a, b in zip(theirs, ours, strict=True))


def measure(short: bool) -> Case:
    """Return all cases; each has its peak memory, or only the limit that it met."""
    limit = 60.0 if short else 300.0
    cases: dict[str, tuple[Callable[..., Case], tuple[Any, ...]]] = {"lump": (lump, ())}
    for name in QUOTED if not short else ["PUMA 560"]:
        for form in ("Y", "Y_r"):
            cases[f"{name}, {form}"] = (regressor, (name, form))
    for joints in (2, 3):
        cases[f"Lagrange, {joints} joints"] = (lagrange, (joints,))
    results = {}
    for label, (run, arguments) in cases.items():
        print(f"explicit forms: {label} ...", flush=True)
        results[label] = _alone(run, arguments, limit)
    return results


def _alone(run: Callable[..., Case], arguments: tuple[Any, ...], limit: float) -> Case:
    """Run a case in a new process, for at most so many seconds."""
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    worker = context.Process(target=_child, args=(queue, run, arguments))
    worker.start()
    try:
        return queue.get(timeout=limit)
    except Empty:
        return {"limit": limit}
    finally:
        if worker.is_alive():
            worker.join(timeout=5)
        worker.kill()
        worker.join()


def _child(queue: Any, run: Callable[..., Case], arguments: tuple[Any, ...]) -> None:
    result = run(*arguments)
    queue.put(result | {"memory": _peak()})


def _peak() -> int:
    """Return the most bytes that this process held."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    own = [int(line.split()[1]) for line in lines if line.startswith("VmHWM")]
    # Elsewhere, what the parent held may count as well.
    return 1024 * (own[0] if own else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


# The page -----------------------------------------------------------------------------------------------------------


def section(results: Case, table: Callable[[list[str], list[list[str]]], list[str]]) -> list[str]:
    """Return the lines of the page."""
    lines = [
        "## Explicit forms",
        "",
        "Both regressors as formulas, by the Lagrangian route, from a table whose lengths and gravity are symbols.",
        "Each case ran once, in a process of its own; times are seconds. `expand` multiplies out; `SymPy` expands and converts;",
        "`present` expands, sums angles and collects factors; `write` makes text of that. The terms are those before and after.",
        "",
    ]
    heading = ["arm", "trace", "expand", "SymPy", "present", "write", "terms", "presented", "text", "memory"]
    rows = [[label, *_regressor_row(case)] for label, case in results.items() if label.endswith(("Y", "Y_r"))]
    lines += table(heading, rows)
    quoted = ", ".join(f"{name} {seconds} s" for name, seconds in QUOTED.items())
    lines += [
        "",
        f"Quoted, not measured here: SymPyBotics generates inverse dynamics, Y and base Y in {quoted} (with SymPy 1.14, on a",
        "like machine). It takes no symbols for the lengths, and does not run with current NumPy.",
        "",
        "Plain SymPy, a planar arm with everything symbolic: τ by Euler and Lagrange, then `expand`, nothing simplified. Ours",
        "beside it:",
        "",
    ]
    heading = ["joints", "SymPy", "terms", "ours, SymPy out", "terms", "ours, to read", "ratio", "agree"]
    lines += table(heading, [_lagrange_row(k, case) for k, case in results.items() if k.startswith("Lagrange")])
    lumping = results["lump"]
    lines += [""]
    lines += (
        [f"`tp.lump` of the planar 3R's operational force met its limit of {lumping['limit']:.0f} s."]
        if "limit" in lumping
        else [
            f"`tp.lump` of the planar 3R's operational force: {lumping['known lengths']:.2f} s with known lengths "
            f"({lumping['known lengths, count']} parameters), {lumping['unknown lengths']:.2f} s with unknown ones "
            f"({lumping['unknown lengths, count']})."
        ]
    )
    return lines


def _regressor_row(case: Case) -> list[str]:
    if "limit" in case:
        return [f"met the limit of {case['limit']:.0f} s", *[""] * 8]
    times = [f"{case[k]:.2f}" for k in ("trace", "expand", "sympy", "present", "text")]
    size = [str(case["expanded terms"]), str(case["terms"]), f"{case['characters'] / 1e3:.0f} kB"]
    return [*times, *size, f"{case['memory'] / 2**20:.0f} MB"]


def _lagrange_row(label: str, case: Case) -> list[str]:
    joints = label.split()[1]
    if "limit" in case:
        return [joints, f"met the limit of {case['limit']:.0f} s", *[""] * 6]
    return [
        joints,
        f"{case['sympy']:.2f} s",
        str(case["sympy terms"]),
        f"{case['taupi']:.3f} s",
        str(case["taupi terms"]),
        f"{case['taupi, to read']:.3f} s",
        ratio(case["sympy"], case["taupi"]),
        "yes" if case["agree"] else "NO",
    ]
