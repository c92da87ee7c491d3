"""Aldana, Nuño & Basañez: the model of a planar arm of three links in its tip's coordinates, formula by formula."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from importlib.resources import files

import casadi as cs

from taupi.dynamics.chain import require_robot
from taupi.dynamics.types import Expression, Matrix, Vector
from taupi.errors import TaupiError
from taupi.model.load import load
from taupi.model.robot import Robot
from taupi.papers.formulas import numeric
from taupi.program.program import Constants, Port, Program, trace
from taupi.regressors.lump import Lumped, lump

ROWS, COLUMNS = 3, 25
# Section 2: parameters, as corrected and free of g.
P = {
    "p1": "(m1*lc1**2 + I1 + m2*(l1**2 + lc2**2) + I2 + m3*(l1**2 + l2**2 + lc3**2) + I3)",
    "p2": "(l1*(m2*lc2 + m3*l2))",
    "p3": "(m3*l2*lc3)",
    "p4": "(m3*l1*lc3)",
    "p5": "(m2*lc2**2 + I2 + m3*(l2**2 + lc3**2) + I3)",
    "p6": "(m3*lc3**2 + I3)",
    "p7": "(m1*lc1 + (m2 + m3)*l1)",
    "p8": "(m2*lc2 + m3*l2)",
    "p9": "(m3*lc3)",
}
PRINTED_P7 = P["p8"]
S2, S3, S23 = "sin(q2)", "sin(q3)", "sin(q2 + q3)"
C2, C3, C23 = "cos(q2)", "cos(q3)", "cos(q2 + q3)"
_UPPER = [
    f"p1 + 2*p2*{C2} + 2*p3*{C3} + 2*p4*{C23}",
    f"p5 + p2*{C2} + 2*p3*{C3} + p4*{C23}",
    f"p6 + p3*{C3} + p4*{C23}",
    f"p5 + 2*p3*{C3}",
    f"p6 + p3*{C3}",
    "p6",
]
M = [_UPPER[k] for k in (0, 1, 2, 1, 3, 4, 2, 4, 5)]
W2, W3 = "(qd1 + qd2)", "(qd1 + qd2 + qd3)"
C = [
    f"-p2*{S2}*qd2 - p3*{S3}*qd3 - p4*{S23}*(qd2 + qd3)",
    f"-p2*{S2}*{W2} - p3*{S3}*qd3 - p4*{S23}*{W3}",
    f"-(p3*{S3} + p4*{S23})*{W3}",
    f"p2*{S2}*qd1 - p3*{S3}*qd3 + p4*{S23}*qd1",
    f"-p3*{S3}*qd3",
    f"-p3*{S3}*{W3}",
    f"p3*{S3}*{W2} + p4*{S23}*qd1",
    f"p3*{S3}*{W2}",
    "0",
]
G = [
    "g*(p7*cos(q1) + p8*cos(q1 + q2) + p9*cos(q1 + q2 + q3))",
    "g*(p8*cos(q1 + q2) + p9*cos(q1 + q2 + q3))",
    "g*p9*cos(q1 + q2 + q3)",
]
_ANGLES = ("q1", "q1 + q2", "q1 + q2 + q3")
JACOBIAN = [
    *(" - ".join(["0", *(f"l{i + 1}*sin({_ANGLES[i]})" for i in range(j, 3))]) for j in range(3)),
    *(" + ".join(f"l{i + 1}*cos({_ANGLES[i]})" for i in range(j, 3)) for j in range(3)),
    *("1", "1", "1"),
]
# Table 2.
THETA = [
    *("p7/l1", "p8/l2", "p2/(l1*l2)", "p3/l2", "p4/l1", "l3*p2/(l1*l2)", "p6/l2**2", "p5/l2**2", "p1/l1**2"),
    *("p5/l1**2", "l3*p1/l1**2", "l3*p5/l2**2", "l3*p6/l2**2", "l3*p5/l1**2", "l3**2*p6/l2**2", "l3**2*p1/l1**2"),
    *("p6", "l3**2*p5/l2**2", "p9", "l3**2*p5/l1**2", "l3**2*p2/(l1*l2)", "l3*p3/l2", "l3*p4/l1", "l3*p8/l2"),
    "l3*p7/l1",
]
UNKNOWN = [*P, "l1", "l2", "l3"]
# Between the columns y1 ... y25; docs/tutorials/aldana-3r.md derives them.
RELATIONS = (
    *("y8=-y7", "y10=-y9", "y14=-y11", "y13=-y12", "y18=-y15", "y20=-y16", "y15=(y21+y22)/2", "y16=-(y21+y23)/2"),
    *("y17=-(y22+y23)/2", "y19=-(y24+y25)", "y4+y5+y6=y13+y14"),
)


def printed_entries() -> list[str]:
    """Return the 75 entries as the document prints them, row by row."""
    entries = ["0"] * (ROWS * COLUMNS)
    text = files(__package__).joinpath("entries.txt").read_text(encoding="utf-8")
    for line in text.splitlines():
        if not line.startswith("#"):
            place, _, formula = line.partition(": ")
            row, column = map(int, place.split(","))
            # Half angles by sin^2(x/2) = (1 - cos x)/2: the exact comparison works with full ones.
            entries[(row - 1) * COLUMNS + column - 1] = re.sub(r"sin\((\w+)/2\)\*\*2", r"((1 - cos(\1))/2)", formula)
    return entries


def corrected_entries() -> list[str]:
    """Return the 75 correct entries: y_2,3 has one sign changed."""
    entries = printed_entries()
    place = COLUMNS + 2
    entries[place] = entries[place].replace("-(vd2*cos(q2)**2 + v1*qd1", "-(-vd2*cos(q2)**2 + v1*qd1")
    return entries


def document_model() -> Program:
    """Return M(r) vd + C(r, rd) v + g(r) of (q, qd, v, vd), traced from the formulas with p1 ... p9 and lengths as symbols."""
    constants = Constants()
    symbol = {n: constants(n, None, named=True) for n in (*UNKNOWN, "g")}
    sx = {"sin": cs.sin, "cos": cs.cos}

    def matrix(entries: list[str], names: dict[str, object], columns: int) -> Matrix:
        flat = [cs.SX(numeric(e, names, [sx, "math"])) for e in entries]
        return cs.reshape(cs.vertcat(*flat), columns, len(flat) // columns).T

    def body(q: Vector, qd: Vector, v: Vector, vd: Vector) -> Expression:
        names = symbol | {f"q{k + 1}": q[k] for k in range(3)} | {f"qd{k + 1}": qd[k] for k in range(3)}
        mass, velocity, j = (matrix(entries, names, 3) for entries in (M, C, JACOBIAN))
        # J^-1: the adjugate over the determinant l1 l2 sin q2.
        adjugate = cs.vertcat(*(cs.cross(j[:, a], j[:, b]).T for a, b in ((1, 2), (2, 0), (0, 1))))
        back = adjugate / (symbol["l1"] * symbol["l2"] * cs.sin(q[1]))
        lifted = -back @ cs.reshape(cs.jtimes(cs.vec(j), q, qd), 3, 3) @ back
        return back.T @ (mass @ (back @ vd + lifted @ v) + velocity @ back @ v + matrix(G, names, 1))

    ports = [Port(n, (3,)) for n in ("q", "qd", "v", "vd")]
    return trace("aldana", body, ports, [Port("u", (3,))], constants)


_SYMBOLS = (*(f"{name}{k}" for name in ("m", "I", "l", "lc") for k in (1, 2, 3)), "g")


def planar_3r_regressor(robot: Robot | None = None) -> Lumped:
    """Return Y and Theta of u = Y(q, qd, v, vd) Theta, 3 x 25: a planar arm of three links in the coordinates of its tip.

    Y Theta = M(r) vd + C(r, rd) v + g(r) for any v, vd, with r = (x, y, phi) (Aldana et al., section 4 and Table 2, corrected). Y
    has no masses or lengths: these are in Theta.

    Args:
        robot: Arm that gives Theta its values, with the symbols m1, I1, l1, lc1, ..., g; by default the catalogue's "planar3r".

    Returns:
        Y as the program `regressor`, Theta as `parameters` with its formulas as `expressions`; `relations` says which of the 25
        columns depend on others: 14 are independent.

    Raises:
        TaupiError: A symbol is missing, or has no value.

    >>> import taupi as tp
    >>> arm = tp.load("planar3r")
    >>> lumped = tp.operational.planar_3r_regressor(arm)
    >>> state = [0.3, 0.9, -0.4], [0.1, 0.2, 0.3], [0.4, 0.5, 0.6], [0.7, 0.8, 0.9]
    >>> Y = lumped.regressor(*state)
    >>> Y.shape, bool(abs(Y @ lumped.parameters.values - tp.operational.force(arm, task="planar")(*state)).max() < 1e-10)
    ((3, 25), True)
    """
    arm = load("planar3r") if robot is None else robot
    require_robot(arm)
    known = {name: value for name, value in arm.symbols if value is not None}
    absent = [name for name in _SYMBOLS if name not in known]
    if absent:
        names = ", ".join(absent)
        raise TaupiError(
            "{robot} {arm!r} has no {names}; expected the symbols of 'planar3r', with values.",
            arm=arm.name,
            names=names,
        )
    values = {name: float(value) for name, value in known.items()}
    p = {name: Fraction(float(numeric(text, values))) for name, text in P.items()}
    lengths = {name: Fraction(known[name]) for name in (*UNKNOWN, "g") if name in known}
    lumped = lump(document_model().bind(**p, **lengths), unknown=UNKNOWN, into=THETA)
    return replace(lumped, regressor=replace(lumped.regressor, name="operational_planar_3r_regressor"))
