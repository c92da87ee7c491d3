"""Gabiccini et al.: explicit classical and Slotine-Li regressors; the planar elbow's blocks, symbol by symbol."""

from __future__ import annotations

from typing import Any

import numpy as np

from taupi.dynamics.kinematics import jacobian
from taupi.identifiability.base_parameters import base_parameters
from taupi.model.load import load
from taupi.model.robot import Robot
from taupi.model.scalars import to_float
from taupi.papers.formulas import differing, numeric, readable, spelled
from taupi.papers.gabiccini2009.equations import equation_rows
from taupi.papers.study import (
    SAME_FORMULA,
    Picture,
    PublishedStudy,
    Reproduction,
    Step,
    StudyRow,
    StudyTable,
    in_part,
    statement,
)
from taupi.program.program import Program
from taupi.regressors.classical import regressor, slotine_li_regressor
from taupi.regressors.explicit import explicit_regressor, link_block_program

# Section 5.1: abbreviations, as corrected.
B = {
    "b1": "(qrd2*qd1 + qrd1*qd2)",
    "b2": "(qrd2*qd1 + (qrd1 + qrd2)*qd2)",
    "b3": "(2*qrdd1 + qrdd2)",
    "b4": "(qrdd1 + qrdd2)",
    "b5": "((2*qrd1 + qrd2)*qd1 + qrd1*qd2)",
    "b6": "(a1*a2*sin(q2))",
    "b7": "(qrd2*qd1 + qrd1*qd2)",
    "b8": "(a1*a2*cos(q2))",
    "b9": "(a1*cos(q2))",
    "b10": "(a1*sin(q2))",
}
# Section 5.1: Jacobians, and blocks X, W, Z of each link, row by row, as corrected.
JACOBIANS = {
    "J_v1": ["-a1*sin(q1)", "0", "a1*cos(q1)", "0", "0", "0"],
    "J_v2": [
        *("-a1*sin(q1) - a2*sin(q1 + q2)", "-a2*sin(q1 + q2)"),
        *("a1*cos(q1) + a2*cos(q1 + q2)", "a2*cos(q1 + q2)", "0", "0"),
    ],
    "J_w1": ["0", "0", "0", "0", "1", "0"],
    "J_w2": ["0", "0", "0", "0", "1", "1"],
}
ELBOW = {
    1: {
        "X0": ["a1**2*qrdd1", "0"],
        "X1": ["2*a1*qrdd1", "0", "0", "0", "0", "0"],
        "X2": ["0"] * 5 + ["qrdd1"] + ["0"] * 6,
        "W0": ["0"] * 2,
        "W1": ["0"] * 6,
        "W2": ["0"] * 12,
        "Z0": ["a1*cos(q1)*gy", "0"],
        "Z1": ["cos(q1)*gy", "-sin(q1)*gy", "0", "0", "0", "0"],
    },
    2: {
        "X0": ["-b6*b7 - b6*qrd2*qd2 + a2**2*b4 + a1**2*qrdd1 + b3*b8", "-b6*b7/2 + b8*qrdd1 + a2**2*b4"],
        "X1": [
            *("2*a2*b4 + b9*b3 - b10*b2", "-b9*b2 - b10*b3", "0"),
            *("b9*qrdd1 - b10*b1/2 + 2*a2*b4", "-b9*b1/2 - b10*qrdd1", "0"),
        ],
        "X2": (["0"] * 5 + ["b4"]) * 2,
        "W0": ["0", "-a1*a2*sin(q2)*b5/2"],
        "W1": ["0"] * 3 + ["-a1*sin(q2)*b5/2", "-a1*cos(q2)*b5/2", "0"],
        "W2": ["0"] * 12,
        "Z0": ["(a1*cos(q1) + a2*cos(q1 + q2))*gy", "a2*cos(q1 + q2)*gy"],
        "Z1": ["cos(q1 + q2)*gy", "-sin(q1 + q2)*gy", "0"] * 2,
    },
}
# What is printed instead of the above.
PRINTED_X0 = "-b6*b7 - b6*qrd2*qd2 + a2**2*b4 + a1**2*qrdd1 + b4*b8"
PRINTED_B5 = "(b3*qd1 + qrdd1*qd2)"
PRINTED_X2 = (["0"] * 4 + ["b4"]) * 2  # 2 x 5
ACTING = ("m", "mx", "my", "Izz")  # of each link: the 2 x 8 regressor


def blocks(link: int, printed: bool = False) -> dict[str, list[str]]:
    """Return the blocks of a link, abbreviations written out; as corrected, or as printed."""
    names = B | {"b5": spelled(PRINTED_B5, B)} if printed else B
    table = {name: list(entries) for name, entries in ELBOW[link].items()}
    if printed and link == 2:
        table["X0"][0] = PRINTED_X0
    return {name: [spelled(e, names) for e in entries] for name, entries in table.items()}


def symbol(name: str, link: int) -> str:
    """Return a block's symbol as the document writes it: X0 of link 2 is Ẋ₀ᵣ⁽²⁾.

    >>> symbol("X0", 2), symbol("W1", 1), symbol("Z1", 2)
    ('Ẋ₀ᵣ⁽²⁾', 'W₁ᵣ⁽¹⁾', 'Z₁⁽²⁾')
    """
    letter, index = {"X": "Ẋ"}.get(name[0], name[0]), "₀₁₂"[int(name[1])]
    return f"{letter}{index}{'' if name[0] == 'Z' else 'ᵣ'}⁽{' ¹²'[link]}⁾"


def block_rows(robot: Robot) -> list[StudyRow]:
    """Return a row for each printed block and abbreviation: equal to ours as a formula, or not.

    A slip is counted where it is printed: b5 in its own row, and in those of W, which are made of it, it is mended.
    """
    source, rows = "section 5.1", []
    for link in (1, 2):
        program = link_block_program(robot, link - 1)
        wrong, left = _differing(program, blocks(link, printed=True)), _differing(program, blocks(link))
        for name, entries in blocks(link).items():
            off = left[name] if name[0] == "W" else wrong[name]
            ours = "equal" if not off else f"{off} of {len(entries)} entries differ; {left[name]} after correction"
            what, shown, agrees, because = symbol(name, link), readable(ELBOW[link][name]), not off, ""
            if (link, name) == (2, "X0"):
                shown = readable([PRINTED_X0, ELBOW[2]["X0"][1]])
                because = "the last term of row 1 is b3 b8, not b4 b8: the coupling has 2 qrdd1 + qrdd2"
            elif (link, name) == (2, "X2"):
                shown, ours, agrees = f"2 x {len(PRINTED_X2) // 2}: {readable(PRINTED_X2)}", f"2 x 6: {ours}", False
                because = "a column of zeros is lost: Jzz is the sixth"
            elif link == 2 and name in ("W0", "W1"):
                what += ", with b5 mended"
            rows.append(statement(what, shown, ours, agrees, source, because, rule=SAME_FORMULA))
    others = sum(left.values())
    rows.append(
        statement(
            "b1 to b4, b6 to b10",
            "abbreviations",
            f"{others} entries differ" if others else "equal, in these blocks",
            not others,
            source,
            rule=SAME_FORMULA,
        )
    )
    by_b5 = wrong["W0"] + wrong["W1"]
    ours = f"{by_b5} entries of W differ; with velocities, (2 qrd1 + qrd2) qd1 + qrd1 qd2: {left['W0'] + left['W1']}"
    because = "b5 is made of velocities: W has no accelerations"
    rows.append(statement("b5", "b3 qd1 + qrdd1 qd2", ours, not by_b5, source, because, rule=SAME_FORMULA))
    return rows


def _differing(program: Program, table: dict[str, list[str]]) -> dict[str, int]:
    """Return how many entries of each block differ from a program's, the blocks being its outputs in their order."""
    wrong = differing(program, [entry for entries in table.values() for entry in entries])
    counts, first = {}, 0
    for name, entries in table.items():
        counts[name] = sum(first <= k < first + len(entries) for k in wrong)
        first += len(entries)
    return counts


def jacobian_rows(robot: Robot) -> list[StudyRow]:
    """Return the four printed Jacobians beside ours."""
    rows = []
    for link in (1, 2):
        program = jacobian(robot, frame=robot.link_names[link - 1])
        wanted = [*JACOBIANS[f"J_w{link}"], *JACOBIANS[f"J_v{link}"]]
        off = differing(program, wanted)
        for name, span in ((f"J_v{link}", range(6, 12)), (f"J_w{link}", range(6))):
            wrong = [k for k in off if k in span]
            ours = f"{len(wrong)} entries differ" if wrong else "equal"
            rows.append(statement(name, readable(JACOBIANS[name]), ours, not wrong, "section 5.1", rule=SAME_FORMULA))
    return sorted(rows, key=lambda row: row.what)


def regressor_rows(robot: Robot) -> list[StudyRow]:
    """Return what the paper says about the complete regressors: one as a special case of the other, and which columns act."""
    explicit = explicit_regressor(robot)
    Y, Y_r = explicit.reduced
    columns = [n.split(".")[1] for n in explicit.reduced.parameters.names]
    special = {f"qrd{k}": f"qd{k}" for k in (1, 2)} | {f"qrdd{k}": f"qdd{k}" for k in (1, 2)}
    classical = not differing(
        regressor(robot, algorithm="recursive").reduced(), [spelled(str(e), special) for e in Y_r]
    )
    shape = " x ".join(map(str, Y.shape))
    return [
        statement(
            "Y_r with qrd = qd, qrdd = qdd",
            "Y",
            "equal" if classical else "differ",
            classical,
            "5.2",
            rule=SAME_FORMULA,
        ),
        statement(
            "columns that act",
            "m, m px, m py, Jzz of each link",
            ", ".join(columns),
            columns == [*ACTING] * 2,
            "5.2",
            rule="the same columns",
        ),
        statement("reduced regressor", "2 x 8", shape, shape == "2 x 8", "5.2", rule="the same shape"),
    ]


def rank_note(robot: Robot) -> str:
    """Return how many of the eight columns are independent, with gravity and without."""
    heavy, light = (base_parameters(r).count for r in (robot, robot.with_gravity((0, 0, 0))))
    return (
        f"The 2 x 8 regressor has no zero column, but is not minimal: its rank is {heavy}, and {light} without gravity."
    )


def picture(robot: Robot) -> Picture:
    """Return the second torque of the reference motion by the printed and by the corrected blocks."""
    arm = robot.with_parameters(np.where([n.split(".")[1] in ACTING for n in robot.parameters.names], 1.0, 0.0))
    time = np.linspace(0.0, 6.0, 601)
    w = np.array([1.1, 1.7])
    angle = time[:, None] * w
    q, qd = np.sin(angle), w * np.cos(angle)
    qrd, qrdd = 1.2 * qd, -1.2 * w**2 * np.sin(angle)
    right = slotine_li_regressor(arm)(q, qd, qrd, qrdd) @ arm.parameters.values
    values: dict[str, object] = {
        "gy": 9.81,
        **{n: to_float(v, n) for n, v in dict(arm.symbols).items() if n in ("a1", "a2")},
    }
    for name, rows in {"q": q, "qd": qd, "qrd": qrd, "qrdd": qrdd}.items():
        values |= {f"{name}{k + 1}": rows[:, k] for k in range(2)}
    wrong, good = (_torque(values, p) for p in (True, False))
    lines = {"taupi": right[:, 1], "as printed": wrong[1], "as corrected": good[1]}
    return Picture("Y_r pi, joint 2, acting parameters 1", "N m", time, lines)


def _torque(values: dict[str, Any], printed: bool) -> np.ndarray:
    """Return Y_r pi of the formulas, the acting parameters being 1, (2, N)."""
    total = np.zeros((2, 601))
    keep = {"0": [0], "1": [0, 1], "2": [5]}  # the entries of a row that act: m; mx, my; Izz
    for link in (1, 2):
        for name, entries in blocks(link, printed).items():
            width, sign = len(entries) // 2, -1.0 if name[0] == "W" else 1.0
            for row in (0, 1):
                for k in keep[name[1]]:
                    total[row] += sign * numeric(entries[row * width + k], values)
    return total


NOTES = (
    "The listing of the Mathematica call in 5.3 is missing from the text, so its output could not be compared; its arguments are "
    "given, and taupi.explicit_regressor(robot) gives the same two regressors from the same table, in Mathematica too.",
    "Blocks are compared as formulas, symbol by symbol, with lengths and gravity as symbols: equal means equal everywhere.",
    "b1 and b7 are one expression under two names.",
)


def run(step: Step) -> Reproduction:
    """Compare the elbow's blocks, the complete regressors and the equations."""
    robot = load("elbow2r")
    step("Jacobians and blocks")
    example = [*jacobian_rows(robot), *block_rows(robot)]
    step("complete regressors")
    complete = regressor_rows(robot)
    step("equations")
    rows = [
        *in_part("The planar elbow, symbol by symbol", example),
        *in_part("The complete regressors", complete),
        *in_part("Equations as printed, at a random state of an arm of three joints", equation_rows()),
    ]
    lines = [
        (symbol(name, link), k // (len(b) // 2) + 1, k % (len(b) // 2) + 1, readable([e]))
        for link in (1, 2)
        for name, b in blocks(link).items()
        for k, e in enumerate(b)
        if e != "0"
    ]
    tables = {
        "blocks": StudyTable(
            "Blocks of the elbow, corrected: what is not zero", ("block", "row", "column", "entry"), tuple(lines)
        )
    }
    return Reproduction(STUDY, tuple(rows), tables, (picture(robot),), (*NOTES, rank_note(robot)))


STUDY = PublishedStudy(
    name="gabiccini2009",
    document="Gabiccini, Bracci, De Carli, Fredianelli, Bicchi: Explicit Lagrangian formulation of the dynamic regressors for "
    "serial manipulators",
    reruns="the elbow's Jacobians and regressor blocks as formulas; equations (1) to (59)",
    seconds=3,
    steps=3,
    run=run,
)
