"""The documents' worked examples as formulas: exact equality, not sampled, with the corrected expressions."""

import json
import re
from pathlib import Path

import casadi as cs
import numpy as np
import pytest
from formulas import constants, evaluated, inputs, same
from support import SPEC, error

import taupi as tp

VECTORS = json.loads((Path(__file__).parents[1] / "data" / "spec-dynamics-and-regressors.json").read_text())
CASES = {c["id"]: c for c in VECTORS["cases"]}

# The elbow (spec 1.9): the paper's abbreviations, as corrected there.
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


def spelled(text, table):
    return re.sub(r"\b[bp]\d+\b", lambda m: table.get(m[0], m[0]), text)


@pytest.mark.parametrize("link", [1, 2])
def test_blocks_of_the_elbow_are_the_corrected_ones_of_the_paper(link):
    from taupi.regressors.explicit import link_block_program

    program = link_block_program(tp.load("elbow2r"), link - 1)
    assert [p.name for p in program.outputs] == list(ELBOW[link])
    assert same(program, [spelled(e, B) for block in ELBOW[link].values() for e in block])


def test_printed_slips_of_the_elbow_are_seen():
    from taupi.regressors.explicit import link_block_program

    program = link_block_program(tp.load("elbow2r"), 1)
    for printed, right in (("b4*b8", "b3*b8"), ("(b3*qd1 + qrdd1*qd2)", "b5")):
        wrong = [spelled(e.replace(right, printed), B) for block in ELBOW[2].values() for e in block]
        assert not same(program, wrong)


@pytest.mark.parametrize("case", ["elbow_1", "elbow_2"])
def test_abbreviations_of_the_elbow(case):
    given, expected = CASES[case]["inputs"], CASES[case]["expected"]["b_corrected"]
    values = {"a1": given["dh"][0]["a"], "a2": given["dh"][1]["a"], "sin": np.sin, "cos": np.cos}
    for name in ("q", "qd", "qrd", "qrdd"):
        values |= {f"{name}{k + 1}": v for k, v in enumerate(given[name])}
    items = expected.items() if isinstance(expected, dict) else ((f"b{k + 1}", v) for k, v in enumerate(expected))
    for name, value in items:
        assert abs(eval(B[name], values) - value) < SPEC


def test_reduced_elbow_is_two_by_eight_by_two_routes():
    ex = tp.explicit_regressor(tp.load("elbow2r"))
    assert [n.split(".")[1] for n in ex.reduced.parameters.names] == ["m", "mx", "my", "Izz"] * 2
    for ours, other in zip(ex, (tp.regressor, tp.slotine_li_regressor), strict=True):
        assert ours == other(tp.load("elbow2r"), algorithm="recursive").sympy()
    Y, Y_r = ex.reduced
    assert Y.shape == Y_r.shape == (2, 8)
    qd = {f"qrd{k}": f"qd{k}" for k in (1, 2)} | {f"qrdd{k}": f"qdd{k}" for k in (1, 2)}
    assert Y_r.subs(qd, simultaneous=True).expand() == Y.expand()


# The lecture's 2R (spec 2.9).
K = "m2*L1*L2"
LECTURE = {
    "mass_matrix": [
        *("m1*L1**2 + m2*(L1**2 + 2*L1*L2*cos(q2) + L2**2)", "m2*(L1*L2*cos(q2) + L2**2)"),
        *("m2*(L1*L2*cos(q2) + L2**2)", "m2*L2**2"),
    ],
    "gravity_torque": ["(m1 + m2)*L1*g*cos(q1) + m2*g*L2*cos(q1 + q2)", "m2*g*L2*cos(q1 + q2)"],
    "mass_matrix_derivative": [f"-2*qd2*{K}*sin(q2)", f"-qd2*{K}*sin(q2)", f"-qd2*{K}*sin(q2)", "0"],
    "christoffel_symbols": ["0", f"-{K}*sin(q2)", f"-{K}*sin(q2)", f"-{K}*sin(q2)", f"{K}*sin(q2)", "0", "0", "0"],
}
CORIOLIS = {
    "christoffel": ["-qd2", "-(qd1 + qd2)", "qd1", "0"],
    "mdot_minus_half_u": ["-2*qd2", "-qd2", "qd1 - qd2/2", "qd1/2"],
    "ut_minus_half_u": ["0", "-(2*qd1 + qd2)", "qd1 + qd2/2", "-qd1/2"],
}


@pytest.mark.parametrize("name", LECTURE)
def test_lecture_formulas(name):
    assert same(getattr(tp, name)(tp.load("lecture2r")), LECTURE[name])


@pytest.mark.parametrize("form", CORIOLIS)
def test_lecture_coriolis_matrices(form):
    expected = [f"{K}*sin(q2)*({e})" for e in CORIOLIS[form]]
    assert same(tp.coriolis_matrix(tp.load("lecture2r"), form=form), expected)


def test_the_lectures_printed_sign_is_seen():
    printed = [f"{K}*sin(q2)*({e})" for e in (*CORIOLIS["ut_minus_half_u"][:3], "+qd1/2")]
    assert not same(tp.coriolis_matrix(tp.load("lecture2r"), form="ut_minus_half_u"), printed)


def friction_arm():
    """The lecture's arm with friction of unknown size at both joints."""
    rows = [{"a": f"L{i}", "alpha": 0, "d": 0, "theta": 0} for i in (1, 2)]
    links = [{"m": f"m{i}", "com": (0, 0, 0), "inertia": [0] * 6} for i in (1, 2)]
    arm = tp.Robot.from_dh(rows, links=links, gravity=(0, "-g", 0))
    return arm.with_friction(viscous=["Fv1", "Fv2"], coulomb=["Fs1", "Fs2"])


LECTURE_ORDER = ["m1", "m2", "Fs1", "Fv1", "Fs2", "Fv2"]
LECTURE_REGRESSOR = [
    "L1**2*qdd1 + g*L1*cos(q1)",
    "(L1**2 + L2**2 + 2*L1*L2*cos(q2))*qdd1 + (L2**2 + L1*L2*cos(q2))*qdd2 - L1*L2*(2*qd1*qd2 + qd2**2)*sin(q2)"
    " + g*L1*cos(q1) + g*L2*cos(q1 + q2)",
    *("s1", "qd1", "0", "0"),
    "0",
    "(L2**2 + L1*L2*cos(q2))*qdd1 + L2**2*qdd2 + L1*L2*qd1**2*sin(q2) + g*L2*cos(q1 + q2)",
    *("0", "0", "s2", "qd2"),
]


def test_lecture_regressor_with_friction():
    torque = tp.inverse_dynamics(friction_arm(), terms=("coulomb", "viscous"))
    lumped = tp.lump(torque, unknown=LECTURE_ORDER, into=LECTURE_ORDER)
    assert [str(e) for e in lumped.expressions] == LECTURE_ORDER and lumped.rank == 6
    inertial = [k for k in range(12) if LECTURE_REGRESSOR[k] not in ("s1", "s2")]
    flat = [e for row in np.arange(12).reshape(2, 6) for e in row]
    kept = lumped.regressor.take([0, 1, 3, 5])
    wanted = [LECTURE_REGRESSOR[k] for k in flat if k in inertial and k % 6 in (0, 1, 3, 5)]
    assert same(kept, wanted)
    for case in ("lecture2R_1", "lecture2R_2"):
        given, expected = CASES[case]["inputs"], CASES[case]["expected"]
        bound = lumped.regressor.bind(**{n: given[n] for n in ("L1", "L2", "g")})
        y = bound(given["theta"], given["dtheta"], given["ddtheta"])
        assert error(y, expected["Y_friction"]) < SPEC
        pi = [{**given, **given["friction"]}[n] for n in given["pi_order"]]
        assert error(y @ pi, expected["tau_with_friction"]) < SPEC


# Aldana's planar 3R (spec 3).
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
S2, S3, S23 = "sin(q2)", "sin(q3)", "sin(q2 + q3)"
C2, C3, C23 = "cos(q2)", "cos(q3)", "cos(q2 + q3)"
M3R = [
    f"p1 + 2*p2*{C2} + 2*p3*{C3} + 2*p4*{C23}",
    f"p5 + p2*{C2} + 2*p3*{C3} + p4*{C23}",
    f"p6 + p3*{C3} + p4*{C23}",
    f"p5 + 2*p3*{C3}",
    f"p6 + p3*{C3}",
    "p6",
]
M3R = [M3R[k] for k in (0, 1, 2, 1, 3, 4, 2, 4, 5)]
W2, W3 = "(qd1 + qd2)", "(qd1 + qd2 + qd3)"
C3R = [
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
G3R = [
    "g*(p7*cos(q1) + p8*cos(q1 + q2) + p9*cos(q1 + q2 + q3))",
    "g*(p8*cos(q1 + q2) + p9*cos(q1 + q2 + q3))",
    "g*p9*cos(q1 + q2 + q3)",
]


def test_planar_3r_joint_space():
    arm = tp.load("planar3r")
    assert same(tp.mass_matrix(arm), [spelled(e, P) for e in M3R])
    assert same(tp.coriolis_matrix(arm), [spelled(e, P) for e in C3R])
    assert same(tp.gravity_torque(arm), [spelled(e, P) for e in G3R])


def model_in_p():
    """The document's own model, M(r) vd + C(r, rd) v + g(r), traced from its formulas with p1 ... p9 and lengths as symbols."""
    constants = tp.Constants()
    symbol = {n: constants(n, None, named=True) for n in (*P, "l1", "l2", "l3", "g")}

    def body(q, qd, v, vd):
        names = symbol | {f"q{k + 1}": q[k] for k in range(3)} | {f"qd{k + 1}": qd[k] for k in range(3)}
        names |= {"sin": cs.sin, "cos": cs.cos}
        m, c = (cs.reshape(cs.vertcat(*(cs.SX(eval(e, names)) for e in flat)), 3, 3).T for flat in (M3R, C3R))
        gravity = cs.vertcat(*(eval(e, names) for e in G3R))
        angles = [q[0], q[0] + q[1], q[0] + q[1] + q[2]]
        lengths = [symbol["l1"], symbol["l2"], symbol["l3"]]
        x = sum(a * cs.cos(b) for a, b in zip(lengths, angles, strict=True))
        y = sum(a * cs.sin(b) for a, b in zip(lengths, angles, strict=True))
        j = cs.jacobian(cs.vertcat(x, y, angles[2]), q)
        # J^-1 by hand: adjugate over the determinant l1 l2 sin q2.
        adjugate = cs.vertcat(cs.cross(j[:, 1], j[:, 2]).T, cs.cross(j[:, 2], j[:, 0]).T, cs.cross(j[:, 0], j[:, 1]).T)
        back = adjugate / (symbol["l1"] * symbol["l2"] * cs.sin(q[1]))
        rate = cs.reshape(cs.jtimes(cs.vec(j), q, qd), 3, 3)
        lifted = -back @ rate @ back
        return back.T @ (m @ (back @ vd + lifted @ v) + c @ back @ v + gravity)

    ports = [tp.Port(n, (3,)) for n in ("q", "qd", "v", "vd")]
    return tp.trace("aldana", body, ports, [tp.Port("u", (3,))], constants)


THETA = [
    *(
        "p7/l1",
        "p8/l2",
        "p2/(l1*l2)",
        "p3/l2",
        "p4/l1",
        "l3*p2/(l1*l2)",
        "p6/l2**2",
        "p5/l2**2",
        "p1/l1**2",
        "p5/l1**2",
    ),
    *("l3*p1/l1**2", "l3*p5/l2**2", "l3*p6/l2**2", "l3*p5/l1**2", "l3**2*p6/l2**2", "l3**2*p1/l1**2", "p6"),
    *("l3**2*p5/l2**2", "p9", "l3**2*p5/l1**2", "l3**2*p2/(l1*l2)", "l3*p3/l2", "l3*p4/l1", "l3*p8/l2", "l3*p7/l1"),
]
UNKNOWN = [*P, "l1", "l2", "l3"]


def compact_entries():
    """Spec 3.4: all 75 entries, row by row, as text."""
    u1, u2 = ("cos(q1 + q2)/sin(q2)", "sin(q1 + q2)/sin(q2)"), ("-cos(q1)/sin(q2)", "-sin(q1)/sin(q2)")
    v1, v2, kap = f"({S3}/{S2})", f"(-{S23}/{S2})", f"(qd2*{C2}/{S2})"
    al1, al2 = (f"({u[0]}*v1 + {u[1]}*v2)" for u in (u1, u2))
    be1, be2 = f"({v1}*v3)", f"({v2}*v3)"
    al1d = f"({u1[0]}*vd1 + {u1[1]}*vd2 + {W2}*(-sin(q1 + q2)*v1 + cos(q1 + q2)*v2)/{S2} - {kap}*{al1})"
    al2d = f"({u2[0]}*vd1 + {u2[1]}*vd2 - qd1*(-sin(q1)*v1 + cos(q1)*v2)/{S2} - {kap}*{al2})"
    be1d = f"({v1}*vd3 + qd3*{C3}*v3/{S2} - {kap}*{be1})"
    be2d = f"({v2}*vd3 - (qd2 + qd3)*{C23}*v3/{S2} - {kap}*{be2})"
    fa, big_fa = f"({C2}*{al2d} - {S2}*{W2}*{al2})", f"({C2}*{al1d} + {S2}*qd1*{al1})"
    fb, big_fb = f"({C2}*{be2d} - {S2}*{W2}*{be2})", f"({C2}*{be1d} + {S2}*qd1*{be1})"
    h3, h23 = f"({C3}*vd3 - {S3}*{W3}*v3)", f"({C23}*vd3 - {S23}*{W3}*v3)"

    def plane(one, along_one, two="0", along_two=("0", "0")):
        return [f"({one})*({along_one[k]}) + ({two})*({along_two[k]})" for k in (0, 1)]

    zero = ["0", "0"]
    y = {
        1: [*plane("g*cos(q1)", u1), "0"],
        2: [*plane("g*cos(q1 + q2)", u2), "0"],
        3: [*plane(fa, u1, big_fa, u2), "0"],
        4: [*plane(h3, u2), f"{C3}*{al2d} + {S3}*{W2}*{al2}"],
        5: [*plane(h23, u1), f"{C23}*{al1d} + {S23}*qd1*{al1}"],
        6: [*plane(fb, u1, big_fb, u2), f"{v1}*{fa} + {v2}*{big_fa}"],
        8: [*plane(al2d, u2), "0"],
        9: [*plane(al1d, u1), "0"],
        11: [*plane(be1d, u1), f"{v1}*{al1d}"],
        12: [*plane(be2d, u2), f"{v2}*{al2d}"],
        16: [*zero, f"{v1}*{be1d}"],
        17: [*zero, "vd3"],
        18: [*zero, f"{v2}*{be2d}"],
        19: [*zero, "g*cos(q1 + q2 + q3)"],
        21: [*zero, f"{v1}*{fb} + {v2}*{big_fb}"],
        22: [*zero, f"{v2}*{h3} + {C3}*{be2d} + {S3}*{W2}*{be2}"],
        23: [*zero, f"{v1}*{h23} + {C23}*{be1d} + {S23}*qd1*{be1}"],
        24: [*zero, f"{v2}*g*cos(q1 + q2)"],
        25: [*zero, f"{v1}*g*cos(q1)"],
    }
    for k, other in ((7, 8), (10, 9), (13, 12), (14, 11), (15, 18), (20, 16)):
        y[k] = [f"-({e})" for e in y[other]]
    return [y[k][row] for row in range(3) for k in range(1, 26)]


@pytest.fixture(scope="module")
def aldana():
    return tp.lump(model_in_p(), unknown=UNKNOWN, into=THETA)


def test_all_seventy_five_entries_of_the_document(aldana):
    assert aldana.count == 25 and not aldana.identities
    assert same(aldana.regressor, compact_entries())


def test_the_documents_wrong_entry_is_seen(aldana):
    # y_{2,3} as printed differs by 2 vd2 / tan^2 q2.
    entries = compact_entries()
    entries[25 + 2] = f"{entries[25 + 2]} + 2*vd2*cos(q2)**2/sin(q2)**2"
    assert not same(aldana.regressor, entries)


def test_rank_and_relations_of_the_documents_columns(aldana):
    assert aldana.rank == 14
    printed = (
        "y8=-y7, y10=-y9, y14=-y11, y13=-y12, y18=-y15, y20=-y16, y15=(y21+y22)/2, y16=-(y21+y23)/2, y17=-(y22+y23)/2"
    )
    printed += ", y19=-(y24+y25), y4+y5+y6=y13+y14"
    states = np.random.default_rng(5).uniform(0.3, 2, (4, 20, 3))
    y = aldana.regressor.bind(g=9.81)(*states)
    names = {f"y{k + 1}": y[..., k] for k in range(25)}
    for relation in (*printed.split(", "), *aldana.relations):
        left, _, right = relation.partition("=")
        assert np.allclose(eval(left, names), eval(right, names), rtol=1e-9, atol=1e-9), relation
    smaller = aldana.independent()
    assert smaller.count == smaller.rank == 14 and not smaller.relations
    values = dict(zip(UNKNOWN, np.random.default_rng(1).uniform(0.5, 2, 12), strict=True))
    theta, reduced = (np.array([float(e.subs(values)) for e in x.expressions]) for x in (aldana, smaller))
    assert np.allclose(y @ theta, smaller.regressor.bind(g=9.81)(*states) @ reduced)


@pytest.mark.parametrize("case", ["planar3R_1", "planar3R_2"])
def test_twenty_five_columns_against_the_vectors(aldana, case):
    given, expected = CASES[case]["inputs"], CASES[case]["expected"]
    regressor = aldana.regressor.bind(g=given["g"])
    y = regressor(given["q"], given["dq"], given["V"], given["dV"])
    assert error(y, expected["Y_V_dV"]) < SPEC
    y = regressor(given["q"], given["dq"], expected["rdot"], expected["rddot"])
    assert error(y, expected["Y_rdot_rddot"]) < SPEC
    p = dict(zip(P, expected["p_without_g"], strict=True))
    lengths = dict(zip(("l1", "l2", "l3"), given["l"], strict=True))
    theta = [float(e.subs(p | lengths)) for e in aldana.expressions]
    assert error(theta, expected["Theta"]) < SPEC


def test_unknown_lengths_from_the_description_need_eleven():
    arm = tp.load("planar3r")
    force = tp.operational_force(arm, task="planar")
    lumped = tp.lump(force, unknown=["m?", "I?", "l?", "lc?"])
    assert lumped.count == lumped.rank == 11
    states = np.random.default_rng(2).uniform(0.3, 1.2, (4, 9, 3))
    assert error(lumped.regressor(*states) @ lumped.parameters.values, force(*states)) < 1e-9
    prescribed = tp.lump(force, unknown=lumped.unknown, into=[spelled(t, P) for t in THETA])
    assert prescribed.rank == 11 and "Theta3 = Theta2" in prescribed.identities
    assert error(prescribed.regressor(*states) @ prescribed.parameters.values, force(*states)) < 1e-9
    # No smaller set can do: over many lengths and states the outputs span eleven dimensions.
    rng = np.random.default_rng(3)
    samples = []
    for _ in range(30):
        values = {n: float(v) for n, v in zip(lumped.unknown, rng.uniform(0.5, 2, 12), strict=True)}
        samples.append(force.bind(**values).compile("numpy")(*states).ravel())
    assert np.linalg.matrix_rank(np.array(samples), tol=1e-8) == 11


@pytest.mark.parametrize("case", [k for k, c in CASES.items() if c["kind"].startswith("dh_regressor")])
def test_vectors_through_the_explicit_route(case):
    from test_spec_vectors import robot, state

    arm = robot(case)
    for builder, names, key in (
        (tp.regressor, ("q", "qd", "qdd"), "Y"),
        (tp.slotine_li_regressor, ("q", "qd", "qrd", "qrdd"), "Yr"),
        (tp.mass_matrix, ("q",), "B"),
        (tp.coriolis_matrix, ("q", "qd"), "C_christoffel"),
        (tp.gravity_torque, ("q",), "G"),
    ):
        program = builder(arm)
        (got,) = evaluated(program.explicit(), inputs(program, state(case, *names)) | constants(program))
        assert error(got, CASES[case]["expected"][key]) < SPEC
