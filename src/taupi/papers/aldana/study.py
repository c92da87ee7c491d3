"""Aldana, Nuño & Basañez: the 3 x 25 regressor of a planar arm of three links in the coordinates of its tip."""

from __future__ import annotations

from typing import Any

import numpy as np

from taupi.dynamics.coriolis import coriolis_matrix
from taupi.dynamics.inverse import gravity_torque
from taupi.dynamics.kinematics import jacobian, jacobian_derivative
from taupi.dynamics.mass_matrix import mass_matrix
from taupi.dynamics.operational import operational_force
from taupi.model.load import load
from taupi.model.robot import Robot
from taupi.papers.aldana.model import (
    COLUMNS,
    JACOBIAN,
    PRINTED_P7,
    RELATIONS,
    THETA,
    UNKNOWN,
    C,
    G,
    M,
    P,
    corrected_entries,
    document_model,
    printed_entries,
)
from taupi.papers.formulas import differing, numeric, readable, spelled
from taupi.papers.study import (
    SAME_FORMULA,
    Picture,
    Reproduction,
    Row,
    Step,
    Study,
    Table,
    compared,
    figure,
    in_part,
    off,
    own_runs,
    statement,
)
from taupi.program.program import Program
from taupi.regressors.lump import lump

SECTION = {"joint": "section 2", "task": "section 3", "regressor": "section 4"}
GRAVITY_COLUMNS = (1, 2, 19, 24, 25)  # those that contain g
ERRATA = "docs/concepts/errata.md"
EARTH = 9.81


def joint_rows(arm: Robot) -> list[Row]:
    """Return joint space: M, C, g entry by entry in p1 ... p9, the Jacobian, and p7."""
    rows = []
    for name, program, entries in (("m", mass_matrix(arm), M), ("c", coriolis_matrix(arm), C)):
        wrong = differing(program, [spelled(e, P) for e in entries])
        for k, entry in enumerate(entries):
            ours = "differs" if k in wrong else "equal"
            what = f"{name}_{k // 3 + 1}{k % 3 + 1}"
            rows.append(statement(what, readable([entry]), ours, k not in wrong, SECTION["joint"], rule=SAME_FORMULA))
    rows += [_formulas(f"g_{k + 1}", gravity_torque(arm), k) for k in range(3)]
    wrong = differing(jacobian(arm, task="planar"), JACOBIAN)
    ours = f"{len(wrong)} of 9 entries differ" if wrong else "equal"
    rows.append(statement("J_A", "3 x 3, nine entries", ours, not wrong, SECTION["joint"], rule=SAME_FORMULA))
    return rows


def _formulas(what: str, program: Program, row: int) -> Row:
    """A row of the gravity torque, with p7 as printed and as corrected."""
    printed, right = (row in differing(program, [spelled(e, p) for e in G]) for p in (P | {"p7": PRINTED_P7}, P))
    ours = "equal" if not printed else f"differs with p7 as printed; {'differs' if right else 'equal'} after correction"
    same = "p7 is printed as p8; it is m1 lc1 + (m2 + m3) l1, times g"
    shown = readable([G[row]]).removeprefix("g ")
    because = same if printed and not right else ""
    return statement(what, shown, ours, not printed, SECTION["joint"], because, rule=SAME_FORMULA)


def entry_rows(regressor: Program) -> list[Row]:
    """Return the 75 entries: those that are printed one by one, and the zeros of each row together."""
    printed = printed_entries()
    wrong, left = differing(regressor, printed), differing(regressor, corrected_entries())
    rows = []
    sign = "a minus belongs before Vd2 cos^2 q2 in the first fraction; printed less true is 2 Vd2 / tan^2 q2"
    for row in range(3):
        places = range(row * COLUMNS, (row + 1) * COLUMNS)
        for k in places:
            if printed[k] != "0":
                differs = k in wrong
                ours = "equal" if not differs else f"differs; {'differs' if k in left else 'equal'} after correction"
                what = f"y_{row + 1},{k % COLUMNS + 1}"
                because = sign if differs and k not in left else ""
                shown, source = readable([printed[k]]), SECTION["regressor"]
                rows.append(statement(what, shown, ours, not differs, source, because, rule=SAME_FORMULA))
        zeros = [k for k in places if printed[k] == "0"]
        bad = [k for k in zeros if k in wrong]
        ours = "equal" if not bad else f"{len(bad)} are not"
        what = f"{len(zeros)} other entries of row {row + 1}"
        rows.append(statement(what, "0", ours, not bad, SECTION["regressor"], rule=SAME_FORMULA))
    return rows


def parameter_rows(lumped: Any, arm: Robot) -> list[Row]:
    """Return rows on Theta: whether the 25 represent the model, how many columns and parameters are independent, relations."""
    exact = lumped.count == COLUMNS and not lumped.identities
    physical = lump(operational_force(arm, task="planar"), unknown=["m?", "I?", "l?", "lc?"]).count
    states = np.random.default_rng(5).uniform(0.3, 2, (4, 20, 3))
    y = lumped.regressor.bind(g=EARTH)(*states)
    names = {f"y{k + 1}": y[..., k] for k in range(COLUMNS)}
    sides = [r.split("=") for r in RELATIONS]
    gaps = [np.abs(numeric(a, names) - numeric(b, names)).max() for a, b in sides]
    held = sum(gap < 1e-9 * np.abs(y).max() for gap in gaps)
    known = "p3/l2 = p4/l1 = p9 and p2/(l1 l2) = p8/l2 once the p are written out"
    same = "equal" if exact else "not equal"
    return [
        statement("Y Theta with the 25 monomials", "the model", same, exact, "Table 2", rule=SAME_FORMULA),
        figure(
            "parameters",
            "25",
            float(lumped.rank),
            "",
            SECTION["regressor"],
            because="no more columns are independent",
        ),
        *own_runs([figure("independent columns", "14", float(lumped.rank), "", ERRATA)]),
        *own_runs([figure("relations between columns that hold", "11", float(held), "", ERRATA)]),
        figure(
            "numbers needed, masses and lengths unknown", "25", float(physical), "", SECTION["regressor"], because=known
        ),
    ]


def task_rows(lumped: Any, arm: Robot) -> list[Row]:
    """Return what is wrong or unclear in sections 3 and 4: g in two places, the dot on J^-1, and skew symmetry of the model."""
    states = np.random.default_rng(6).uniform(0.4, 1.4, (4, 20, 3))
    values = {n: float(v or 0) for n, v in dict(arm.symbols).items()}
    p = {n: float(numeric(e, values)) for n, e in P.items()}
    theta = np.array([float(numeric(t, values | p)) for t in THETA])
    twice = np.array([float(numeric(t, values | p | {n: EARTH * p[n] for n in ("p7", "p8", "p9")})) for t in THETA])
    y, force = lumped.regressor.bind(g=EARTH)(*states), operational_force(arm.bind(g=EARTH), task="planar")(*states)
    q, qd = states[:2]
    singular = float(np.abs(np.linalg.det(jacobian_derivative(arm, task="planar")(q, qd))).max())
    j = jacobian(arm, task="planar")(q)
    l1, l2 = values["l1"], values["l2"]
    meant = "d(J^-1)/dt = -J^-1 dJ/dt J^-1 is meant: dJ/dt has no inverse"
    both = f"columns {', '.join(map(str, GRAVITY_COLUMNS))} hold g too, so that the product has g^2"
    gaps = off(y @ twice, force), off(y @ theta, force)
    return [
        compared(
            "det J_A", "l1 l2 sin q2", "", off(np.linalg.det(j), l1 * l2 * np.sin(q[:, 1])), None, SECTION["joint"]
        ),
        statement(
            "(dJ_A/dt)^-1",
            "a reading",
            f"det dJ/dt = {singular:.0e}",
            singular > 1e-9,
            SECTION["task"],
            meant,
            rule="the determinant is above 1e-9",
        ),
        compared("Y Theta, g in p7, p8, p9", "u", "with g-free p7, p8, p9", *gaps, SECTION["regressor"], both),
    ]


def picture(lumped: Any, arm: Robot) -> Picture:
    """Return the force along y at the tip along a motion: taupi's, and Y Theta as printed and as corrected."""
    time = np.linspace(0.0, 4.0, 401)
    w = np.array([1.3, 0.9, 1.7])
    angle = time[:, None] * w
    q = np.array([0.3, 1.2, -0.5]) + 0.4 * np.sin(angle)
    qd, qdd = 0.4 * w * np.cos(angle), -0.4 * w**2 * np.sin(angle)
    j, rate = jacobian(arm, task="planar")(q), jacobian_derivative(arm, task="planar")(q, qd)
    v = np.einsum("kij,kj->ki", j, qd)
    vd = np.einsum("kij,kj->ki", j, qdd) + np.einsum("kij,kj->ki", rate, qd)
    values: dict[str, Any] = {n: float(x or 0) for n, x in dict(arm.symbols).items()} | {"g": EARTH}
    p = {n: float(numeric(e, values)) for n, e in P.items()}
    theta = [float(numeric(t, values | p)) for t in THETA]
    values |= {f"{n}{k + 1}": x[:, k] for n, x in {"q": q, "qd": qd, "v": v, "vd": vd}.items() for k in range(3)}
    along_y = slice(COLUMNS, 2 * COLUMNS)
    lines = {"taupi": operational_force(arm.bind(g=EARTH), task="planar")(q, qd, v, vd)[:, 1]}
    for name, entries in {"as printed": printed_entries(), "as corrected": corrected_entries()}.items():
        lines[name] = sum(t * numeric(e, values) for t, e in zip(theta, entries[along_y], strict=True))
    return Picture("force along y at the tip", "N", time, lines)


NOTES = (
    "The document has no numbers and no simulation. Formulas are compared symbol by symbol, masses, lengths and g being symbols.",
    "V and its rate are not defined there: Y Theta = M(r) Vd + C(r, rd) V + g(r) holds for any two; rd and rdd give the arm.",
    "Theta_25 has a bracket too many, and the arguments of Y are listed in two ways; neither matters to the numbers.",
    "The regressor is singular where sin q2 = 0.",
)


def run(step: Step) -> Reproduction:
    """Compare joint space, the 75 entries and the 25 parameters."""
    arm = load("planar3r")
    step("joint space")
    joint = joint_rows(arm)
    step("the model as linear in 25 parameters")
    lumped = lump(document_model(), unknown=UNKNOWN, into=THETA)
    step("75 entries")
    entries = entry_rows(lumped.regressor)
    step("parameters")
    rows = [
        *in_part("Joint space, symbol by symbol", joint),
        *in_part("The regressor, entry by entry", entries),
        *in_part("The parameters", parameter_rows(lumped, arm)),
        *in_part("Operational space", task_rows(lumped, arm)),
    ]
    lines = [(k + 1, t) for k, t in enumerate(THETA)]
    tables = {"theta": Table("The 25 parameters", ("Theta", "is"), tuple(lines))}
    return Reproduction(STUDY, tuple(rows), tables, (picture(lumped, arm),), NOTES)


STUDY = Study(
    name="aldana",
    document="Aldana, Nuño, Basañez: Regressor of a 3 degrees of freedom planar manipulator modeled in the operational space",
    reruns="all 75 entries of the 3 x 25 regressor as formulas; rank and relations of its columns",
    seconds=5,
    steps=4,
    run=run,
)
