"""Aldana, Nuño & Basañez: the 3 x 25 regressor of a planar arm of three links in the coordinates of its tip."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from taupi.dynamics.coriolis import coriolis_matrix
from taupi.dynamics.inverse import gravity_torque, inverse_dynamics
from taupi.dynamics.kinematics import jacobian, jacobian_derivative, task_coordinates
from taupi.dynamics.mass_matrix import mass_matrix
from taupi.dynamics.operational import operational_dynamics, operational_force
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
    EXACT,
    SAME_FORMULA,
    Picture,
    PublishedStudy,
    Reproduction,
    Step,
    StudyRow,
    StudyTable,
    compared,
    figure,
    in_part,
    off,
    own_runs,
    statement,
)
from taupi.program.program import Program
from taupi.regressors.classical import slotine_li_regressor
from taupi.regressors.lump import Lumped, lump

SECTION = {"joint": "section 2", "task": "section 3", "regressor": "section 4"}
GRAVITY_COLUMNS = (1, 2, 19, 24, 25)  # those that contain g
PRINTED_LAST = "l3 p7)/l1"  # Theta_25, in Table 2
ERRATA = "docs/concepts/errata.md"
EARTH = 9.81


def introduction_rows(arm: Robot) -> list[StudyRow]:
    """Return (1), and the property that all is built on, for the printed M, C and g with p7 mended."""
    states = np.random.default_rng(7).uniform(-1.5, 1.5, (4, 20, 3))
    q, qd, x, y = states
    values = _values(arm)
    values |= {n: numeric(e, values) for n, e in P.items()}
    values |= {f"{n}{k + 1}": v[:, k] for n, v in (("q", q), ("qd", qd)) for k in range(3)}
    mass, velocity = (_array(entries, values, 3) for entries in (M, C))
    moved = np.einsum("sij,sj->si", mass, x)
    torque = moved + np.einsum("sij,sj->si", velocity, qd) + _array(G, values, 1)[..., 0]
    pi = arm.parameters.values
    weightless = slotine_li_regressor(arm.with_gravity((0, 0, 0)))(q, qd, y, x) @ pi
    return [
        compared(
            "the arm, with p7 mended",
            "M qdd + C qd + g = tau",
            "",
            off(torque, inverse_dynamics(arm)(q, qd, x)),
            None,
            "(1)",
        ),
        compared(
            "linear in theta, for all x and y",
            "M x + C y = Y theta",
            "",
            off(moved + np.einsum("sij,sj->si", velocity, y), weightless),
            None,
            "section 1",
        ),
    ]


def _values(arm: Robot) -> dict[str, Any]:
    """Return the numbers of an arm's symbols, on Earth."""
    return {n: float(x or 0) for n, x in dict(arm.symbols).items()} | {"g": EARTH}


def _array(entries: Sequence[str], values: dict[str, Any], columns: int) -> np.ndarray:
    """Return a printed matrix at samples of its symbols, (samples, rows, columns)."""
    samples = next(len(v) for v in values.values() if np.ndim(v))
    flat = [np.broadcast_to(numeric(e, values), (samples,)) for e in entries]
    return np.moveaxis(np.array(flat).reshape(-1, columns, samples), -1, 0)


def joint_rows(arm: Robot) -> list[StudyRow]:
    """Return joint space: M, C, g entry by entry in p1 ... p9, these parameters, and the Jacobian."""
    rows = []
    for name, program, entries in (("m", mass_matrix(arm), M), ("c", coriolis_matrix(arm), C)):
        wrong = differing(program, [spelled(e, P) for e in entries])
        for k, entry in enumerate(entries):
            ours = "differs" if k in wrong else "equal"
            what = f"{name}_{k // 3 + 1}{k % 3 + 1}"
            rows.append(statement(what, readable([entry]), ours, k not in wrong, SECTION["joint"], rule=SAME_FORMULA))
    gravity = gravity_torque(arm)
    by_p7, wrong = (differing(gravity, [spelled(e, p) for e in G]) for p in (P | {"p7": PRINTED_P7}, P))
    for k, entry in enumerate(G):
        what = f"g_{k + 1}" + (", with p7 mended" if "p7" in entry else "")
        shown, ours = readable([entry]).removeprefix("g "), "differs" if k in wrong else "equal"
        rows.append(statement(what, shown, ours, k not in wrong, SECTION["joint"], rule=SAME_FORMULA))
    some = any(not row.agrees for row in rows)
    ours = "not equal" if some else "equal, in M, C and g"
    rows.append(
        statement("p1 to p6, p8, p9", "sums of m, In, l, lc", ours, not some, SECTION["joint"], rule=SAME_FORMULA)
    )
    ours = f"g_{', g_'.join(str(k + 1) for k in by_p7)} differs; with m1 lc1 + (m2 + m3) l1: {len(wrong)} entries do"
    because = "p8 is printed twice; p7 is m1 lc1 + (m2 + m3) l1, times g"
    rows.append(statement("p7", "m2 g lc2 + m3 g l2", ours, not by_p7, SECTION["joint"], because, rule=SAME_FORMULA))
    wrong = differing(jacobian(arm, task="planar"), JACOBIAN)
    ours = f"{len(wrong)} of 9 entries differ" if wrong else "equal"
    rows.append(statement("J_A", "3 x 3, nine entries", ours, not wrong, SECTION["joint"], rule=SAME_FORMULA))
    return rows


def entry_rows(regressor: Program) -> list[StudyRow]:
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


def parameter_rows(lumped: Lumped, arm: Robot) -> list[StudyRow]:
    """Return rows on Theta: whether the 25 represent the model, how many columns and parameters are independent, relations."""
    exact = lumped.count == COLUMNS and not lumped.identities
    physical = lump(operational_force(arm, task="planar"), unknown=["m?", "I?", "l?", "lc?"]).count
    states = np.random.default_rng(5).uniform(0.3, 2, (4, 20, 3))
    y = lumped.regressor.bind(g=EARTH)(*states)
    names = {f"y{k + 1}": y[..., k] for k in range(COLUMNS)}
    sides = [r.split("=") for r in RELATIONS]
    gaps = [np.abs(numeric(a, names) - numeric(b, names)).max() for a, b in sides]
    held = sum(gap < 1e-9 * np.abs(y).max() for gap in gaps)
    same = "equal" if exact else "not equal"
    different = len(set(THETA))
    return [
        statement("Y Theta with the 25 monomials", "the model", same, exact, "Table 2", rule=SAME_FORMULA),
        statement(
            "Theta_25",
            PRINTED_LAST,
            f"{readable([THETA[-1]])}: equal" if exact else "not equal",
            PRINTED_LAST.count("(") == PRINTED_LAST.count(")"),
            "Table 2",
            "a bracket is opened nowhere",
            rule="each bracket is opened and closed",
        ),
        figure("different parameters", "25", float(different), "", SECTION["regressor"]),
        *own_runs(
            [
                figure("independent columns", "14", float(lumped.rank), "", ERRATA),
                figure("relations between columns that hold", "11", float(held), "", ERRATA),
                figure("numbers needed, masses and lengths unknown", "11", float(physical), "", ERRATA),
            ]
        ),
    ]


def task_rows(lumped: Lumped, arm: Robot) -> list[StudyRow]:
    """Return sections 3 and 4: motion and forces of the tip, the model there, and g in two places."""
    q, qd, v, vd = states = np.random.default_rng(6).uniform(0.4, 1.4, (4, 20, 3))
    arm = arm.bind(g=EARTH)
    values = _values(arm)
    p = {n: float(numeric(e, values)) for n, e in P.items()}
    theta = np.array([float(numeric(t, values | p)) for t in THETA])
    twice = np.array([float(numeric(t, values | p | {n: EARTH * p[n] for n in ("p7", "p8", "p9")})) for t in THETA])

    at = values | p | {f"{n}{k + 1}": x[:, k] for n, x in (("q", q), ("qd", qd)) for k in range(3)}
    j, mass, velocity, g = (_array(e, at, n) for e, n in ((JACOBIAN, 3), (M, 3), (C, 3), (G, 1)))
    back = np.linalg.inv(j)
    up, g = np.swapaxes(back, 1, 2), g[..., 0]
    slope = jacobian(arm, task="planar").jacobian("q")(q)  # (samples, 3, 3, 3), by differentiation of the program
    rate = np.einsum("sijk,sk->sij", slope, qd)
    lifted = -back @ rate @ back
    by = partial(np.einsum, "sij,sj->si")

    seen = operational_dynamics(arm, task="planar")
    mass_r, velocity_r, g_r = seen(q, qd)
    force, tau = operational_force(arm, task="planar")(q, qd, v, vd), inverse_dynamics(arm)(q, qd, vd)
    qdd = by(back, vd - by(rate, qd))
    along = by(j, qd)
    u = by(up, inverse_dynamics(arm)(q, qd, qdd))
    power = np.einsum("si,si->s", by(up, tau), along), np.einsum("si,si->s", tau, qd)
    y = lumped.regressor.bind(g=EARTH)(*states)
    both = f"columns {', '.join(map(str, GRAVITY_COLUMNS))} hold g too, so that the product has g^2"
    section, singular = SECTION["task"], float(np.abs(np.linalg.det(rate)).max())
    names = tuple(port.name for port in lumped.regressor.inputs)
    return [
        compared(
            "velocity of the tip",
            "r' = J_A qd",
            "",
            off(along, by(task_coordinates(arm, task="planar").jacobian("q")(q), qd)),
            None,
            section,
        ),
        compared(
            "acceleration of the tip",
            "r'' = J_A qdd + J_A' qd",
            "",
            off(by(j, qdd) + by(jacobian_derivative(arm, task="planar")(q, qd), qd), vd),
            None,
            section,
        ),
        compared("M(r)", "J^-T M J^-1", "", off(up @ mass @ back, mass_r), None, section),
        statement(
            "C(r, r')",
            "J^-T (M (J')^-1 + C J^-1)",
            f"det J' = {singular:.0e}; with d(J^-1)/dt: off by {off(up @ (mass @ lifted + velocity @ back), velocity_r):.1e}",
            singular > EXACT,
            section,
            "J' has no inverse: d(J^-1)/dt = -J^-1 J' J^-1 is meant",
            rule="the determinant is above 1e-9",
        ),
        compared(
            "g(r)",
            "J^-T g(q)",
            "with the bar",
            off(by(up, g_r), g_r),
            off(by(up, g), g_r),
            section,
            "a bar is lost: without one g is that of the tip, and that of joint space is meant",
        ),
        compared("u", "J^-T tau, with tau' qd = u' r'", "", off(*power), None, section),
        compared(
            "the arm at its tip",
            "M(r) r'' + C(r, r') r' + g(r) = u",
            "",
            off(by(mass_r, vd) + by(velocity_r, along) + g_r, u),
            None,
            "(2)",
        ),
        statement(
            "arguments of Y",
            "r'', r', r; and r', r_o, qd, q",
            ", ".join(names),
            False,
            SECTION["regressor"],
            "there are two lists, and the entries have q, qd, V and its rate, which is in none",
            rule="one list, with what the entries have",
        ),
        compared(
            "Y Theta, g in p7, p8, p9",
            "u",
            "with g-free p7, p8, p9",
            off(y @ twice, force),
            off(y @ theta, force),
            SECTION["regressor"],
            both,
        ),
    ]


def picture(lumped: object, arm: Robot) -> Picture:
    """Return the force along y at the tip along a motion: taupi's, and Y Theta as printed and as corrected."""
    time = np.linspace(0.0, 4.0, 401)
    w = np.array([1.3, 0.9, 1.7])
    angle = time[:, None] * w
    q = np.array([0.3, 1.2, -0.5]) + 0.4 * np.sin(angle)
    qd, qdd = 0.4 * w * np.cos(angle), -0.4 * w**2 * np.sin(angle)
    j, rate = jacobian(arm, task="planar")(q), jacobian_derivative(arm, task="planar")(q, qd)
    v = np.einsum("kij,kj->ki", j, qd)
    vd = np.einsum("kij,kj->ki", j, qdd) + np.einsum("kij,kj->ki", rate, qd)
    values = _values(arm)
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
    "The 25 parameters are different, but not all needed: 14 columns are independent, and once the p are written out, where "
    "p3/l2 = p4/l1 = p9 and p2/(l1 l2) = p8/l2, 11 numbers are enough.",
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
        *in_part("The arm", introduction_rows(arm.bind(g=EARTH))),
        *in_part("Joint space, symbol by symbol", joint),
        *in_part("The regressor, entry by entry", entries),
        *in_part("The parameters", parameter_rows(lumped, arm)),
        *in_part("Operational space", task_rows(lumped, arm)),
    ]
    lines = [(k + 1, t) for k, t in enumerate(THETA)]
    tables = {"theta": StudyTable("The 25 parameters", ("Theta", "is"), tuple(lines))}
    return Reproduction(STUDY, tuple(rows), tables, (picture(lumped, arm),), NOTES)


STUDY = PublishedStudy(
    name="aldana",
    document="Aldana, Nuño, Basañez: Regressor of a 3 degrees of freedom planar manipulator modeled in the operational space",
    reruns="all 75 entries of the 3 x 25 regressor as formulas; rank and relations of its columns",
    seconds=5,
    steps=4,
    run=run,
)
