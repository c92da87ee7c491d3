"""The documents' worked examples as formulas: exact equality, not sampled, with the corrected expressions."""

import json
from pathlib import Path

import numpy as np
import pytest
from formulas import constants, evaluated, inputs, same
from support import SPEC, error

import taupi as tp
from taupi.papers.aldana.model import (
    C2,
    C3,
    C23,
    RELATIONS,
    S2,
    S3,
    S23,
    THETA,
    UNKNOWN,
    W2,
    W3,
    C,
    G,
    M,
    P,
    corrected_entries,
    document_model,
    printed_entries,
)
from taupi.papers.formulas import differing, spelled
from taupi.papers.gabiccini2009.study import B, blocks
from taupi.papers.lecture import study as lecture

VECTORS = json.loads((Path(__file__).parents[1] / "data" / "spec-dynamics-and-regressors.json").read_text())
CASES = {c["id"]: c for c in VECTORS["cases"]}


@pytest.mark.parametrize("link", [1, 2])
def test_blocks_of_the_elbow_are_the_corrected_ones_of_the_paper(link):
    from taupi.regressors.explicit import link_block_program

    program = link_block_program(tp.load("elbow2r"), link - 1)
    assert [p.name for p in program.outputs] == list(blocks(link))
    assert differing(program, [e for block in blocks(link).values() for e in block]) == []


def test_printed_slips_of_the_elbow_are_seen():
    from taupi.regressors.explicit import link_block_program

    program = link_block_program(tp.load("elbow2r"), 1)
    # X0 row 1 by b4 b8; W0 row 2, and W1 row 2 x and y, by b5.
    assert differing(program, [e for block in blocks(2, printed=True).values() for e in block]) == [0, 21, 25, 26]


@pytest.mark.parametrize("case", ["elbow_1", "elbow_2"])
def test_abbreviations_of_the_elbow(case):
    inputs, expected = CASES[case]["inputs"], CASES[case]["expected"]["b_corrected"]
    values = {"a1": inputs["dh"][0]["a"], "a2": inputs["dh"][1]["a"], "sin": np.sin, "cos": np.cos}
    for name in ("q", "qd", "qrd", "qrdd"):
        values |= {f"{name}{k + 1}": v for k, v in enumerate(inputs[name])}
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


# The lecture's 2R (equations.md, D22).


@pytest.mark.parametrize("name", lecture.TERMS)
def test_lecture_formulas(name):
    arm = tp.load("lecture2r")
    program = tp.bias_torque(arm.with_gravity((0, 0, 0))) if name == "velocity_torque" else getattr(tp, name)(arm)
    assert same(program, lecture.TERMS[name])


@pytest.mark.parametrize("form", lecture.CORIOLIS)
def test_lecture_coriolis_matrices(form):
    assert same(tp.coriolis_matrix(tp.load("lecture2r"), form=form), lecture.coriolis(form))


def test_the_lectures_printed_sign_is_seen():
    form = "ut_minus_half_u"
    assert differing(tp.coriolis_matrix(tp.load("lecture2r"), form=form), lecture.coriolis(form, printed=True)) == [3]


def friction_arm():
    """The lecture's arm with friction of unknown size at both joints."""
    rows = [{"a": f"L{i}", "alpha": 0, "d": 0, "theta": 0} for i in (1, 2)]
    links = [{"m": f"m{i}", "com": (0, 0, 0), "inertia": [0] * 6} for i in (1, 2)]
    arm = tp.Robot.from_dh(rows, links=links, gravity=(0, "-g", 0))
    return arm.with_friction(viscous=["Fv1", "Fv2"], coulomb=["Fs1", "Fs2"])


def test_lecture_regressor_with_friction():
    torque = tp.inverse_dynamics(friction_arm(), terms=("coulomb", "viscous"))
    lumped = tp.lump(torque, unknown=lecture.UNKNOWN, into=lecture.UNKNOWN)
    assert [str(e) for e in lumped.expressions] == lecture.UNKNOWN and lumped.rank == 6
    inertial = [k for k in range(12) if lecture.REGRESSOR[k] not in ("s1", "s2")]
    flat = [e for row in np.arange(12).reshape(2, 6) for e in row]
    kept = lumped.regressor.take([0, 1, 3, 5])
    wanted = [lecture.REGRESSOR[k] for k in flat if k in inertial and k % 6 in (0, 1, 3, 5)]
    assert same(kept, wanted)
    for case in ("lecture2R_1", "lecture2R_2"):
        inputs, expected = CASES[case]["inputs"], CASES[case]["expected"]
        bound = lumped.regressor.bind(**{n: inputs[n] for n in ("L1", "L2", "g")})
        y = bound(inputs["theta"], inputs["dtheta"], inputs["ddtheta"])
        assert error(y, expected["Y_friction"]) < SPEC
        pi = [{**inputs, **inputs["friction"]}[n] for n in inputs["pi_order"]]
        assert error(y @ pi, expected["tau_with_friction"]) < SPEC


# Aldana's planar 3R (equations.md, R12, D23, O3).


def test_planar_3r_joint_space():
    arm = tp.load("planar3r")
    assert same(tp.mass_matrix(arm), [spelled(e, P) for e in M])
    assert same(tp.coriolis_matrix(arm), [spelled(e, P) for e in C])
    assert same(tp.gravity_torque(arm), [spelled(e, P) for e in G])


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
    return tp.lump(document_model(), unknown=UNKNOWN, into=THETA)


def test_all_seventy_five_entries_of_the_document(aldana):
    assert aldana.count == 25 and not aldana.identities
    assert same(aldana.regressor, compact_entries())
    assert same(aldana.regressor, corrected_entries())


def test_the_documents_wrong_entry_is_seen(aldana):
    assert differing(aldana.regressor, printed_entries()) == [25 + 2]
    # It differs by 2 vd2 / tan^2 q2.
    entries = printed_entries()
    entries[25 + 2] = f"{entries[25 + 2]} - 2*vd2*cos(q2)**2/sin(q2)**2"
    assert same(aldana.regressor, entries)


def test_rank_and_relations_of_the_documents_columns(aldana):
    assert aldana.rank == 14
    states = np.random.default_rng(5).uniform(0.3, 2, (4, 20, 3))
    y = aldana.regressor.bind(g=9.81)(*states)
    names = {f"y{k + 1}": y[..., k] for k in range(25)}
    for relation in (*RELATIONS, *aldana.relations):
        left, _, right = relation.partition("=")
        assert np.allclose(eval(left, names), eval(right, names), rtol=1e-9, atol=1e-9), relation
    smaller = aldana.independent()
    assert smaller.count == smaller.rank == 14 and not smaller.relations
    values = dict(zip(UNKNOWN, np.random.default_rng(1).uniform(0.5, 2, 12), strict=True))
    theta, reduced = (np.array([float(e.subs(values)) for e in x.expressions]) for x in (aldana, smaller))
    assert np.allclose(y @ theta, smaller.regressor.bind(g=9.81)(*states) @ reduced)


@pytest.mark.parametrize("case", ["planar3R_1", "planar3R_2"])
def test_twenty_five_columns_against_the_vectors(aldana, case):
    inputs, expected = CASES[case]["inputs"], CASES[case]["expected"]
    regressor = aldana.regressor.bind(g=inputs["g"])
    y = regressor(inputs["q"], inputs["dq"], inputs["V"], inputs["dV"])
    assert error(y, expected["Y_V_dV"]) < SPEC
    y = regressor(inputs["q"], inputs["dq"], expected["rdot"], expected["rddot"])
    assert error(y, expected["Y_rdot_rddot"]) < SPEC
    p = dict(zip(P, expected["p_without_g"], strict=True))
    lengths = dict(zip(("l1", "l2", "l3"), inputs["l"], strict=True))
    theta = [float(e.subs(p | lengths)) for e in aldana.expressions]
    assert error(theta, expected["Theta"]) < SPEC


def test_unknown_lengths_from_the_description_need_eleven():
    arm = tp.load("planar3r")
    force = tp.operational.force(arm, task="planar")
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
