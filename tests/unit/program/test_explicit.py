"""Formulas: each says what the program computes, in every notation and with every setting."""

import re
import time
import xml.etree.ElementTree as ET
from fractions import Fraction

import casadi as cs
import numpy as np
import pytest
import sympy
from flint import fmpq
from formulas import constants, evaluated, inputs
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused
from support import ROUNDING, error, random_robot

import taupi as tp
from taupi.program import Port, trace
from taupi.program.explicit.expand import expand
from taupi.program.explicit.formula_tree import _irreducible
from taupi.program.explicit.writers import number_text

BUILDERS = [
    tp.mass_matrix,
    tp.coriolis_matrix,
    tp.christoffel_symbols,
    tp.gravity_torque,
    tp.kinetic_energy,
    tp.forward_kinematics,
    tp.jacobian,
    tp.slotine_li_regressor,
]


def check(program, tolerance=ROUNDING, **how):
    """Compare what the text of a formula says with the reference interpreter."""
    states = [np.random.default_rng(3).uniform(-2, 2, p.shape) for p in program.inputs]
    form = program.explicit(**how)
    got = evaluated(form, inputs(program, states) | constants(program))
    expected = program.compile("numpy")(*states)
    for a, b in zip(got, expected if isinstance(expected, tuple) else (expected,), strict=True):
        assert error(a, b) < tolerance
    return form


@settings(deadline=None, max_examples=12)
@given(st.integers(0, 10**6), st.sampled_from(BUILDERS))
def test_formulas_of_random_robots_say_what_the_program_computes(seed, builder):
    check(builder(random_robot(seed, joints=2 + seed % 2)))


@pytest.mark.parametrize("name", ["elbow2r", "lecture2r", "planar3r"])
@pytest.mark.parametrize(
    "how", [{}, {"angles": "products"}, {"names": True}, {"values": True}, {"intermediates": 4}], ids=str
)
def test_settings_change_the_form_and_not_the_meaning(name, how):
    for builder in BUILDERS:
        check(builder(tp.load(name)), **how)


def test_formulas_with_quotients_and_functions():
    arm = tp.load("lecture2r")
    check(tp.forward_dynamics(arm), tolerance=1e-9)
    check(tp.operational.mass(arm, task="xy"), tolerance=1e-9)
    friction = ("viscous", "coulomb")
    check(tp.inverse_dynamics(tp.load("elbow2r"), terms=friction))


@pytest.mark.parametrize("builder", [tp.mass_matrix, tp.regressor, tp.gravity_torque])
def test_the_puma_as_formulas(builder):
    check(builder(tp.load("puma560")))
    check(builder(tp.load("puma560")), intermediates=10)


def test_sums_of_angles_are_found_where_they_are_shorter():
    arm = tp.load("puma560")
    products = tp.mass_matrix(arm).explicit(angles="products", short=True)
    sums = tp.mass_matrix(arm).explicit(short=True)
    assert sums.terms < 0.75 * products.terms
    assert "c23" in sums.text() and "c23" not in products.text()
    planar = tp.gravity_torque(tp.load("planar3r")).explicit(short=True)
    assert "c123" in planar.text()


def test_short_forms_of_more_than_nine_joints_differ():
    angles = [[0, 1], [11], [0, 11], [0, 1, 11], [0, 20], [1, 20], [11, 20], [0, 1, 20]]
    p = trace(
        "f",
        lambda q: cs.vertcat(*(cs.cos(sum(q[k] for k in each)) for each in angles)),
        [Port("q", (21,))],
        [Port("y", (len(angles),))],
    )
    form = p.explicit(short=True)
    text = [line.partition(" = ")[2] for line in form.text().splitlines()]
    assert text == ["c12", "cos(q12)", "c1_12", "c1_2_12", "c1_21", "c2_21", "c12_21", "c1_2_21"]
    entries = re.findall(r"<mo>=</mo><mrow>(.*?)</mrow></math>", form.html())
    assert len(set(entries)) == len(text)
    latex = form.latex().splitlines()[1:-1]
    assert len({line.removesuffix(r" \\") for line in latex}) == len(text)


def test_squares_of_angles():
    def f(q):
        return cs.vertcat(cs.sin(q[0]) ** 2, 1 - 2 * cs.sin(q[0]) ** 2, cs.cos(q[0] - q[1]), cs.sin(q[0] + q[1]))

    form = check(trace("f", f, [Port("q", (2,))], [Port("y", (4,))]))
    assert form.text().splitlines() == [
        "y[1] = sin(q1)**2",
        "y[2] = cos(2*q1)",
        "y[3] = cos(q1 - q2)",
        "y[4] = sin(q1 + q2)",
    ]


def test_names_for_sums_that_repeat():
    program = tp.slotine_li_regressor(tp.load("elbow2r")).reduced()
    form = check(program, names=True)
    assert tuple(n for n, _ in form.definitions) == ("k1", "k2", "k3")
    assert form.terms < program.explicit().terms


def test_names_of_the_user():
    program = tp.slotine_li_regressor(tp.load("elbow2r")).reduced()
    names = {"b3": "2*qrdd1 + qrdd2", "b4": "qrdd1 + qrdd2", "b6": "a1*a2*sin(q2)"}
    form = check(program, names=names)
    for name in names:
        assert re.search(rf"Y.*\b{name}\b", form.text())
    with refused("names", name="b4", expression="2*qrdd1 + 2*qrdd2"):
        program.explicit(names={"b4": "2*qrdd1 + 2*qrdd2"})
    with pytest.raises(tp.TaupiError, match="not an expression"):
        program.explicit(names={"b4": "qrdd1 +"})
    with pytest.raises(tp.TaupiError, match="b4 holds x, expected"):
        program.explicit(names={"b4": "x + qrdd1"})


def test_names_of_the_user_are_found_in_multiples_and_alone():
    from taupi.regressors.explicit import link_block_program

    names = {"b4": "qrdd1 + qrdd2", "b5": "(2*qrd1 + qrd2)*qd1 + qrd1*qd2", "b10": "a1*sin(q2)"}
    text = check(link_block_program(tp.load("elbow2r"), 1), names=names).text()
    assert "W1[2, 1] = -b10*b5/2\n" in text
    assert "X2[1, 6] = b4\n" in text


def test_names_do_not_clash_with_symbols():
    table = [{"a": "k1", "alpha": 0, "d": 0, "theta": 0}, {"a": "k2", "alpha": 0, "d": 0, "theta": 0}]
    program = tp.slotine_li_regressor(tp.Robot.from_dh(table, gravity=(0, "-g", 0)).bind(k1=1, k2=2, g=9.81)).reduced()
    form = check(program, names=True)
    assert not {n for n, _ in form.definitions} & {"k1", "k2"}


@pytest.mark.parametrize(
    ("x", "text"), [(0.4318, "0.4318"), (0.5, "1/2"), (-0.125, "-1/8"), (3, "3"), (0.0625, "0.0625"), (-9.81, "-9.81")]
)
def test_numbers_are_written_as_they_were(x, text):
    from taupi.program.targets.exact import rational

    assert number_text(rational(Fraction(str(x)))) == text


def test_numbers_of_a_description_stay_decimals():
    table = [{"a": 0.4318, "alpha": 0, "d": 0, "theta": 0}]
    arm = tp.Robot.from_dh(table, gravity=(0, -9.81, 0), links=[{"m": "m", "com": (0, 0, 0), "inertia": [0] * 6}])
    assert str(tp.gravity_torque(arm).explicit()) == "g[1] = 4.235958*m*cos(q1)"
    assert str(tp.gravity_torque(arm).explicit(digits=3)) == "g[1] = 4.24*m*cos(q1)"


@pytest.mark.parametrize("builder", BUILDERS)
def test_latex_is_well_formed(builder):
    for name in ("elbow2r", "planar3r"):
        text = builder(tp.load(name)).explicit(names=True).latex()
        assert text.count("{") == text.count("}")
        assert text.count(r"\bigl(") == text.count(r"\bigr)")
        assert not re.search(r"_\{[^{}]*\}_", text), "a second subscript"
        assert text.count(r"\begin") == text.count(r"\end") == 1
        for line in text.split(r"\\"):
            assert line.count("&") <= max(1, text.split(r"\\")[0].count("&"))


def test_latex_names_and_dots():
    text = tp.slotine_li_regressor(tp.load("elbow2r")).explicit().latex()
    assert r"\ddot{q}_{r,1}" in text and r"g_{y}" in text and r"\cos(q_{1} + q_{2})" in text
    for builder in (tp.mass_matrix, tp.gravity_torque):
        assert builder(tp.load("lecture2r")).latex().startswith(r"\begin{bmatrix}")


def test_long_formulas_are_broken_into_lines():
    form = tp.inverse_dynamics(tp.load("planar3r")).explicit()
    assert max(map(len, form.text().splitlines())) < 140
    assert form.latex().count(r"\quad") > 3


def test_mathml_is_well_formed_and_markdown_has_the_latex():
    for builder in BUILDERS:
        form = builder(tp.load("planar3r")).explicit()
        ET.fromstring(f"<div>{form.html()}</div>")
        assert form.latex() in form.markdown()
    assert tp.mass_matrix(tp.load("lecture2r")).explicit()._repr_latex_().startswith("$$")


def test_a_sine_and_a_cosine_of_one_angle_are_not_merged():
    program = trace("f", lambda x, q: x * (cs.cos(q) + cs.sin(q)), [Port("x"), Port("q")], [Port("y")])
    assert program.explicit().text() in ("y = x*(cos(q) + sin(q))", "y = x*(sin(q) + cos(q))")


def test_terms_are_grouped_by_a_letter_that_two_of_them_share():
    names = ("a", "b", "c", "d", "e")
    program = trace("f", lambda a, b, c, d, e: a * b + a * c + d * e, [Port(n) for n in names], [Port("y")])
    assert program.explicit().terms == 4  # a (b + c) + d e
    assert "(b + c)" in program.explicit().text() or "(c + b)" in program.explicit().text()


def test_a_fraction_bar_needs_no_brackets():
    program = trace("f", lambda a, b, c: (a + b) / c, [Port("a"), Port("b"), Port("c")], [Port("y")])
    form = program.explicit()
    assert form.text().endswith(")/c")
    assert "bigl(" not in form.latex() and "<mo>(</mo>" not in form.html()


def test_sympy_of_a_form_equals_the_expanded_one():
    import sympy

    for builder in BUILDERS[:5]:
        program = builder(tp.load("lecture2r"))
        difference = program.explicit().sympy() - program.sympy()
        flat = [difference] if isinstance(difference, sympy.Expr) else sympy.flatten(difference)
        assert all(sympy.simplify(sympy.expand_trig(d)) == 0 for d in flat)


def test_sympy_is_made_as_sympy_makes_it():
    import sympy

    program = tp.regressor(tp.load("puma560")).columns(["link3.*"])
    for ours in program.sympy():
        assert ours == ours.func(*ours.args) == sympy.sympify(str(ours)), ours


def test_quotients_are_in_lowest_terms():
    def f(a, q):
        s, c = cs.sin(q), cs.cos(q)
        return cs.vertcat((1 - c * c) / s, a * (a + 1) / (a * s), s * s / (1 - c * c), (a * a - 1) / (a + 1))

    program = trace("f", f, [Port("a"), Port("q")], [Port("y", (4,))])
    assert [str(e) for e in program.sympy()] == ["sin(q)", "(a + 1)/sin(q)", "1", "a - 1"]


def test_forms_beyond_the_limit_are_refused_with_numbers_and_a_way_out():
    program = tp.regressor(tp.load("puma560"))
    with pytest.raises(tp.TaupiError, match=r"more than 500 terms \(reached at step \d+ of \d+\).*intermediates=20"):
        program.explicit(limit=500)
    form = program.explicit(intermediates=20)
    assert form.definitions and form.terms < program.explicit().terms
    table = [{"a": f"a{i}", "alpha": f"al{i}", "d": f"d{i}", "theta": 0} for i in range(1, 7)]
    general = tp.slotine_li_regressor(tp.Robot.from_dh(table, gravity=("gx", "gy", "gz")))
    with pytest.raises(tp.TaupiError, match="more than 100000 terms"):
        general.explicit(limit=100_000)


def test_intermediate_terms_are_short():
    expansion = expand(tp.regressor(tp.load("puma560")), intermediates=15)
    assert all(len(p.numerator) <= 30 for _, p in expansion.definitions)


def test_wrong_settings_are_named():
    with refused("angles", name="sums"):
        tp.mass_matrix(tp.load("elbow2r")).explicit(angles="sums")


def test_repr_tells_what_it_is():
    form = tp.mass_matrix(tp.load("lecture2r")).explicit()
    assert repr(form).startswith("Explicit mass_matrix: M[2, 2], ")
    zero = tp.coriolis_matrix(tp.load("lecture2r").bind(m2=0)).explicit(values=True)
    assert zero.text() == "All entries are zero."


def test_products_of_quotients_are_refused_before_they_fill_the_memory():
    with pytest.raises(tp.TaupiError, match=r"needs more products than a form of 2000 terms .* intermediates=20"):
        tp.forward_dynamics(tp.load("puma560")).explicit(limit=2000)


@pytest.mark.parametrize("setting", [{"digits": 0}, {"digits": 2.5}, {"intermediates": 0}, {"limit": True}], ids=str)
def test_settings_that_are_no_counts_are_refused(setting):
    with pytest.raises(tp.TaupiError, match="expected a whole number of at least 1"):
        tp.gravity_torque(tp.load("elbow2r")).explicit(**setting)


def test_fractions_and_powers_in_pages_and_papers():
    mass = tp.operational.mass(tp.load("lecture2r"), task="xy").explicit()
    page, paper = mass.html(), mass.latex()
    assert "<msup><mi>sin</mi><mn>2</mn></msup><mo>(</mo>" in page
    assert "<mo>(</mo><msub><mi>M</mi><mi>C</mi></msub><mo>)</mo>" in page
    assert r"\frac{m_{1}\,\cos^{2}(q_{1} + q_{2}) + m_{2}\,\sin^{2}(q_{2})}{\sin^{2}(q_{2})}" in paper
    assert "<msubsup><mi>L</mi><mi>1</mi><mn>2</mn></msubsup>" in tp.mass_matrix(tp.load("lecture2r")).explicit().html()


def test_a_long_quotient_breaks_inside_its_numerator():
    text = tp.forward_dynamics(tp.load("lecture2r")).explicit(short=True).text(width=60)
    first = text[: text.index("qdd[2]")].strip()
    assert first.startswith("qdd[1] = (L2*(tau1 - tau2)") and first.endswith(")/((m1 + m2*s2**2)*L1**2*L2)")
    assert len(first.splitlines()) > 2


@st.composite
def trigonometric(draw):
    """A random polynomial of sines and cosines of three angles, up to the fourth power."""
    powers = st.integers(0, 4)

    def body(q):
        total = cs.SX(0)
        for _ in range(draw(st.integers(1, 4))):
            term = cs.SX(draw(st.integers(-3, 3)))
            for k in range(3):
                term *= cs.sin(q[k]) ** draw(powers) * cs.cos(q[k]) ** draw(powers)
            total += term
        angle = q[0] + draw(st.sampled_from([1, -1])) * q[1]
        return total + cs.cos(angle) ** draw(powers) * cs.sin(q[2]) ** draw(powers)

    return trace("f", body, [Port("q", (3,))], [Port("y")])


@settings(deadline=None, max_examples=60)
@given(trigonometric())
def test_any_trigonometric_polynomial_keeps_its_value(program):
    check(program, tolerance=1e-10)


def test_cubes_are_not_taken_for_squares():
    program = trace("f", lambda q: cs.cos(q[1]) + cs.sin(q[0]) ** 3, [Port("q", (2,))], [Port("y")])
    assert str(program.explicit()) == "y = sin(q1)**3 + cos(q2)"


def test_intermediate_and_given_names_do_not_clash_with_symbols():
    table = [{"a": "t1", "alpha": 0, "d": 0, "theta": 0}, {"a": "t2", "alpha": 0, "d": 0, "theta": 0}]
    arm = tp.Robot.from_dh(table, gravity=(0, "-g", 0)).bind(t1=1, t2=2, g=9.81)
    form = check(tp.slotine_li_regressor(arm).reduced(), intermediates=4)
    assert form.definitions and not {n for n, _ in form.definitions} & {"t1", "t2"}
    program = tp.inverse_dynamics(tp.load("lecture2r"))
    with pytest.raises(tp.TaupiError, match="L1 is already the name of a symbol"):
        program.explicit(names={"L1": "L2*m2"})
    for wrong, message in (({"a b": "m1 + m2"}, "letters and digits"), ({3: "m1 + m2"}, "letters and digits")):
        with pytest.raises(tp.TaupiError, match=message):
            program.explicit(names=wrong)
    for wrong in (["m1 + m2"], "m1 + m2"):
        with pytest.raises(tp.TaupiError, match="expected True, False or a mapping"):
            program.explicit(names=wrong)


def test_definitions_hold_earlier_names_only():
    program = tp.inverse_dynamics(tp.load("lecture2r"))
    check(program, intermediates=6, names={"qq": "qdd1 + qdd2"})
    check(tp.slotine_li_regressor(tp.load("planar3r")), names=True)


def test_expressions_are_parsed_and_never_evaluated(tmp_path):
    program = tp.gravity_torque(tp.load("lecture2r"))
    trap = tmp_path / "trap"
    for text in (
        f"__import__('os').system('touch {trap}')",
        "m1 and m2",
        "[m1]",
        "m1 if m2 else L1",
        "m1.real",
        "lambda: m1",
    ):
        with pytest.raises(tp.TaupiError, match="names: k holds"):
            program.explicit(names={"k": text})
    assert not trap.exists()
    for text, message in (
        ("1/sin(q1)", "division by a sine"),
        ("1/(sin(q1)**2 + cos(q1)**2 - 1)", "which is zero"),
        ("m1**m2", "the power m2"),
        ("m1**1000", "the power 1000"),
        ("sin(m1)", "an angle m1"),
    ):
        with pytest.raises(tp.TaupiError, match=re.escape(message)):
            program.explicit(names={"k": text})
    form = program.explicit(names={"c12": "cos(q1 + q2)"})
    assert [n for n, _ in form.definitions] == ["c12"]


def test_numbers_in_an_algorithm_and_infinite_ones():
    program = trace("f", lambda x: 0.001 * x, [Port("x")], [Port("y")])
    assert str(program.explicit()) == "y = 0.001*x"
    with pytest.raises(tp.TaupiError, match="f holds inf"):
        trace("f", lambda x: x + cs.SX(float("inf")), [Port("x")], [Port("y")]).explicit()
    assert number_text(fmpq(1, 3**30)) == "1/205891132094649"  # exact as long as people can read it


def test_latex_of_awkward_names():
    arm = tp.Robot.from_dh([{"a": "l_a_b", "alpha": 0, "d": 0, "theta": 0}], gravity=(0, "-g", 0))
    text = tp.jacobian(arm).explicit().latex()
    assert r"\_" in text and not re.search(r"[^\\]_[^{]", text)
    tiny = trace("f", lambda x: 6e-5 * x, [Port("x")], [Port("y")]).explicit(digits=2).latex()
    assert r"6\cdot 10^{-5}" in tiny


def test_matrix_inputs_keep_their_places():
    from taupi.program.explicit.conversions import program_of

    program = trace("f", lambda a: a[0, 2] + 2 * a[1, 0] + 3 * a[1, 2], [Port("A", (2, 3))], [Port("y")])
    expansion = expand(program)
    again = program_of(expansion.ring, "again", [(program.outputs[0], expansion.outputs[0])])
    a = np.arange(6.0).reshape(2, 3) + 1
    assert again(a) == program(a) == 3 + 2 * 4 + 3 * 6


def test_programs_of_formulas_keep_constants():
    from taupi.program.explicit.conversions import program_of

    constants = tp.program.Constants()
    length = constants("L", Fraction(1, 3), named=True)
    program = trace("f", lambda q: length * cs.cos(q[1]), [Port("q", (2,))], [Port("y")], constants)
    expansion = expand(program)
    again = program_of(expansion.ring, "again", [(program.outputs[0], expansion.outputs[0])])
    assert again.constants == program.constants and again([0.1, 0.2]) == program([0.1, 0.2])
    assert again.bind(L=2)([0.1, 0.2]) == 2 * np.cos(0.2)
    assert str(program.explicit()) == "y = L*cos(q2)"


def test_a_factor_before_a_sum_keeps_its_brackets_above_a_bar():
    ports = [Port("x", (3,))], [Port("y", ())]
    for factor, above in ((2, r"2\,\bigl(x_{1} + x_{2}\bigr)"), (1, r"x_{1} + x_{2}")):
        program = trace("f", lambda x, factor=factor: factor * (x[0] + x[1]) / x[2], *ports)
        assert rf"\frac{{{above}}}{{x_{{3}}}}" in program.explicit().latex()


def test_powers_become_multiples_of_an_angle():
    """Chebyshev's polynomials, and 2 sin x cos x; what is not shorter as a multiple stays."""
    s, c = cs.sin, cs.cos

    def body(q):
        a, b = q[0], q[1]
        return cs.vertcat(
            2 * s(a) * c(a),
            4 * c(a) ** 3 - 3 * c(a),
            b * (16 * s(a) ** 5 - 20 * s(a) ** 3 + 5 * s(a)),
            8 * c(a) ** 4 - 8 * c(a) ** 2 + 1,
            6 * s(a + b) * c(a + b),
            s(b) * (4 * c(a) ** 3 - 3 * c(a)) + c(b) * (3 * s(a) - 4 * s(a) ** 3),
            s(a) * c(a),
            c(a) ** 3,
        )

    program = trace("f", body, [Port("q", (2,))], [Port("f", (8,))])
    wanted = ["sin(2*q1)", "cos(3*q1)", "q2*sin(5*q1)", "cos(4*q1)", "3*sin(2*q1 + 2*q2)", "sin(3*q1 + q2)"]
    wanted += ["cos(q1)*sin(q1)", "cos(q1)**3"]
    assert [line.partition(" = ")[2] for line in program.explicit().text().splitlines()] == wanted
    q = np.array([0.7, -1.1])
    assert np.allclose(evaluated(program.explicit(), {"q1": q[0], "q2": q[1]})[0], program(q))


def test_what_nobody_can_read_is_refused_soon():
    """Seven joints by articulated bodies: by counting products, not after a minute of them."""
    program = tp.forward_dynamics(tp.load("panda"), algorithm="articulated")
    start = time.process_time()
    with pytest.raises(tp.TaupiError, match="needs more products than a form of 300000 terms"):
        program.explicit()
    assert time.process_time() - start < 15  # 1 s alone, 54 s without the count


@pytest.mark.parametrize("task", ["planar", "xy"])
def test_the_operational_mass_has_a_formula_in_its_default_form(task):
    arm = tp.load("planar3r") if task == "planar" else tp.load("lecture2r")
    program = tp.operational.mass(arm, task=task)
    q = np.array([0.3, 0.9, -0.4][: arm.n])
    values = {k: float(v) for k, v in dict(arm.symbols).items()} | {f"q{i + 1}": x for i, x in enumerate(q)}
    assert np.allclose(evaluated(program.explicit(), values)[0], program(q))
    assert np.allclose(program(q), tp.operational.mass(arm, task=task, form="inverse")(q))


# Other notations -------------------------------------------------------------------------------------------------------


def test_mathematica_says_the_same():
    """SymPy's own reader of Mathematica gives back what SymPy has, symbols and functions of time."""
    from sympy.parsing.mathematica import parse_mathematica

    arm = tp.load("lecture2r")
    for program in (tp.mass_matrix(arm), tp.bias_torque(arm)):
        form = program.explicit()
        label, _, lists = form.mathematica().rstrip(";").partition(" = ")
        assert label == program.outputs[0].name
        flat = sympy.flatten(parse_mathematica(lists))
        assert [sympy.simplify(a - b) for a, b in zip(flat, form.sympy(), strict=True)] == [0] * len(flat)
    assert "q1'[t]" in tp.bias_torque(arm).mathematica(time="t") and "Sin[q2[t]]" in tp.bias_torque(arm).mathematica(
        time="t"
    )
    # What means something else there is renamed: C, and names with dots and underscores.
    assert tp.coriolis_matrix(arm).mathematica().startswith("Cown = ")
    assert "_" not in tp.mass_matrix(tp.load("puma560")).mathematica()
    assert tp.gravity_torque(arm).mathematica().startswith("gout = ")  # g is gravity's symbol already


def test_names_that_become_one_are_refused():
    """Mathematica has no underscores in names: a formula in which two symbols are one would be wrong."""
    row = {"a": "L_1", "alpha": 0, "d": 0, "theta": 0}
    arm = tp.Robot.from_dh([row, row | {"a": "L1"}], links=[{"m": 1.0}] * 2)
    with pytest.raises(tp.TaupiError, match=r"'L_1' and 'L1' are both 'L1'|'L1' and 'L_1' are both 'L1'"):
        tp.mass_matrix(arm).mathematica()
    assert "L_1" in tp.mass_matrix(arm).maple()


def test_the_name_of_time_is_free():
    program = tp.bias_torque(tp.load("lecture2r"))
    for write in (program.mathematica, program.maple, program.latex, program.sympy):
        for name in ("q1", "qd2", "L1"):
            with pytest.raises(tp.TaupiError, match=f"time is '{name}', a name that the formulas have already"):
                write(time=name)


def test_mathematica_has_its_own_name_of_a_power():
    for power in (lambda x, y: x**y, lambda x, y: y * x**0.3):
        p = trace("f", power, [Port("x"), Port("y")], [Port("z")])
        assert "Power[x, " in p.mathematica()


def test_maple_says_the_same():
    """Read with ^ as a power: vectors, matrices, arrays, named sub-terms."""
    arm = tp.load("lecture2r")
    values = {"L1": 0.7, "L2": 0.6, "m1": 2.0, "m2": 1.5, "g": 9.81, "q1": 0.3, "q2": -0.8, "qd1": 1.1, "qd2": 0.4}
    q, qd = [0.3, -0.8], [1.1, 0.4]
    known = arm.bind(L1=0.7, L2=0.6, m1=2.0, m2=1.5, g=9.81)
    readers = {"Vector": np.array, "Matrix": np.array, "Array": np.array, "sin": np.sin, "cos": np.cos}
    for build, state in (
        (tp.mass_matrix, (q,)),
        (tp.bias_torque, (q, qd)),
        (tp.christoffel_symbols, (q,)),
        (tp.kinetic_energy, (q, qd)),
    ):
        text = build(arm).explicit(names=True).maple()
        scope = dict(values)
        for line in text.splitlines():
            name, _, formula = line.rstrip(":").partition(" := ")
            scope[name] = eval(formula.replace("^", "**"), readers, scope)
        assert error(scope[name], build(known)(*state)) < ROUNDING
    assert "diff(q1(t), t)" in tp.bias_torque(arm).maple(time="t")


def test_coordinates_as_functions_of_time():
    """Lagrange's equations by SymPy: d/dt of dT/dqd in q(t) is the torque that the inverse dynamics have."""
    arm, t = tp.load("lecture2r"), sympy.Symbol("t")
    q = [sympy.Function(f"q{k}")(t) for k in (1, 2)]
    kinetic, potential = (build(arm).sympy(time="t") for build in (tp.kinetic_energy, tp.potential_energy))
    tau = tp.inverse_dynamics(arm).sympy(time="t")
    for k in (0, 1):
        wanted = kinetic.diff(q[k].diff(t)).diff(t) - kinetic.diff(q[k]) + potential.diff(q[k])
        assert sympy.simplify(wanted - tau[k]) == 0
    form = tp.inverse_dynamics(arm).explicit()
    assert sympy.simplify(form.sympy(time="t")[0] - tau[0]) == 0
    line = form.text(time="t", width=10**6).splitlines()[0].partition(" = ")[2]
    names = {f"q{k}": sympy.Function(f"q{k}") for k in (1, 2)} | {"t": t}
    assert sympy.simplify(sympy.sympify(line, names) - tau[0]) == 0
    assert r"\ddot{q}_{1}(t)" in form.latex(time="t")
    for bad in ("2t", 3, ""):
        with pytest.raises(tp.TaupiError, match=r"time is .* expected a name"):
            form.text(time=bad)


def test_what_is_called_irreducible_has_no_factors():
    """Against SymPy: sums of random products of four letters, of which some are themselves products of such sums."""
    rng, letters, called = np.random.default_rng(0), sympy.symbols("a:d"), 0

    def random_sum(count):
        rows = rng.choice([0, 0, 1, 2], (count, 4), p=[0.4, 0.2, 0.3, 0.1])
        return sum(rng.integers(1, 4) * sympy.prod(x**e for x, e in zip(letters, row, strict=True)) for row in rows)

    for k in range(150):
        whole = sympy.Poly(random_sum(3) * (random_sum(2) if k % 3 == 0 else 1), *letters)
        terms = {tuple((i, e) for i, e in enumerate(powers) if e): c for powers, c in whole.terms()}
        if len(terms) >= 3 and _irreducible(terms):
            called += 1
            assert [power for _, power in whole.factor_list()[1]] == [1], whole
    assert called > 20
