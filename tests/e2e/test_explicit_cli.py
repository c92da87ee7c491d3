"""`taupi explicit` and `taupi lump` from outside: every format and option, and what they say when something is wrong."""

import json
import sys
import warnings
from xml.etree import ElementTree

import pytest
import sympy
from command_line import taupi

import taupi as tp
from taupi.cli.main import run


def printed(*arguments):
    done = taupi(*arguments)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


GRAVITY = ("explicit", "lecture2r", "--what", "gravity-torque")


def test_text_is_what_python_prints():
    form = tp.gravity_torque(tp.load("lecture2r")).explicit()
    assert printed(*GRAVITY) == printed(*GRAVITY, "--format", "text") == f"{form}\n"


def test_latex_and_markdown():
    form = tp.gravity_torque(tp.load("lecture2r")).explicit()
    assert printed(*GRAVITY, "--format", "latex") == form.latex() + "\n"
    text = printed(*GRAVITY, "--format", "markdown")
    assert text.startswith("### gravity_torque\n\n$$\n") and form.latex() in text


def test_computer_algebra_and_time():
    program = tp.bias_torque(tp.load("lecture2r"))
    words = ("explicit", "lecture2r", "--what", "bias-torque", "--format")
    assert printed(*words, "maple") == program.maple() + "\n"
    assert printed(*words, "mathematica", "--time", "t") == program.mathematica(time="t") + "\n"
    assert printed(*words, "text", "--time", "s") == program.explicit().text(time="s") + "\n"
    assert "Derivative(q1(s), s)" in printed(*words, "sympy", "--time", "s")


def test_sympy_reads_its_own_output():
    names = {"Matrix": sympy.Matrix, "g": sympy.Symbol("g")}
    formulas = sympy.sympify(printed(*GRAVITY, "--format", "sympy"), locals=names)
    assert (formulas - tp.gravity_torque(tp.load("lecture2r")).sympy()).applyfunc(sympy.simplify) == sympy.zeros(2, 1)


def test_html_is_one_page_that_fetches_nothing(tmp_path):
    page = tmp_path / "y.html"
    done = taupi("explicit", "elbow2r", "--format", "html", "-o", str(page))
    assert (done.returncode, done.stdout) == (0, "")
    assert f"wrote {page}" in done.stderr
    text = page.read_text(encoding="utf-8")
    assert "http:" not in text and "https:" not in text and "<script" not in text
    body = text[text.index("<table") : text.index("</table>") + len("</table>")]
    rows = ElementTree.fromstring(body).findall("tr")
    assert len(rows) == 12  # of 2 x 8 entries four are zero
    assert "upper_arm.Izz" in text and "The other 4 entries are zero." in text


def test_regressor_keeps_the_columns_that_act_or_all():
    reduced = printed("explicit", "elbow2r")
    assert reduced.startswith("columns: 1 upper_arm.m, 2 upper_arm.mx, 3 upper_arm.my, 4 upper_arm.Izz, 5 forearm.m")
    assert "Y[2, 8] = qdd1 + qdd2" in reduced
    full = printed("explicit", "elbow2r", "--full")
    assert "Y[2, 20] = qdd1 + qdd2" in full and "The other 28 entries are zero." in full


def test_forms_and_links():
    assert "qrdd1" in printed("explicit", "elbow2r", "--form", "slotine-li")
    link = printed("explicit", "elbow2r", "--link", "forearm", "--short")
    assert link == f"{tp.explicit_regressor(tp.load('elbow2r')).link('forearm', short=True)}\n"
    classical = printed("explicit", "elbow2r", "--link", "forearm", "--form", "classical")
    assert "X0[1]" in classical and "qrd" not in classical
    coriolis = printed("explicit", "lecture2r", "--what", "coriolis-matrix", "--form", "ut-minus-half-u")
    assert "C[2, 2] = -L1*L2*m2*qd1*sin(q2)/2" in coriolis


def test_settings_reach_the_form():
    named = printed("explicit", "elbow2r", "--names")
    assert "= qdd1 + qdd2\n" in named
    assert "c12" in printed(*GRAVITY, "--short") and "cos" not in printed(*GRAVITY, "--short")
    assert printed(*GRAVITY, "--values") == "g[1] = 29.43*cos(q1) + 9.81*cos(q1 + q2)\ng[2] = 9.81*cos(q1 + q2)\n"
    assert "29.4*cos(q1)" in printed(*GRAVITY, "--values", "--digits", "3")
    short = printed("explicit", "puma560", "--what", "gravity-torque", "--intermediates", "3")
    assert short.startswith("t1 = ")
    mass = printed("explicit", "lecture2r", "--what", "operational-mass", "--task", "xy")
    assert "M_C[1, 2] = m1*cos(q1 + q2)*sin(q1 + q2)/sin(q2)**2" in mass
    assert "Y[1, 9] = sign(qd1)" in printed("explicit", "lecture2r", "--terms", "coulomb")


def test_a_file_is_kept_unless_forced(tmp_path):
    target = tmp_path / "g.tex"
    write = (*GRAVITY, "--format", "latex", "--output", str(target))
    assert taupi(*write).returncode == 0
    first = target.read_text(encoding="utf-8")
    target.write_text("mine", encoding="utf-8")
    again = taupi(*write)
    assert (again.returncode, again.stdout) == (3, "")
    assert "--force to overwrite" in again.stderr and target.read_text(encoding="utf-8") == "mine"
    assert taupi(*write, "--force").returncode == 0
    assert target.read_text(encoding="utf-8") == first


def test_lump_as_text_and_as_json():
    text = printed("lump", "lecture2r", "--unknown", "m1,m2,L1,L2")
    assert text.splitlines()[0] == "inverse_dynamics: 5 lumped parameters, independent"
    assert "Theta3 = L1**2*m1 + L1**2*m2" in text and "Y[1, 1]" not in text
    assert "Y[1, 1] = g*cos(q1)" in printed("lump", "lecture2r", "--unknown", "m1,m2,L1,L2", "--regressor")
    data = json.loads(printed("lump", "lecture2r", "--unknown", "m1, m2", "--json"))
    lumped = tp.lump(tp.inverse_dynamics(tp.load("lecture2r")), unknown=["m1", "m2"])
    assert (data["count"], data["rank"], data["unknown"]) == (2, 2, ["m1", "m2"])
    assert data["parameters"] == {"Theta1": "m1", "Theta2": "m2"}
    assert data["values"] == lumped.parameters.values.tolist()
    assert data["regressor"] == lumped.regressor.explicit().text()
    assert data["relations"] == data["identities"] == []


def test_lump_into_prescribed_parameters():
    command = ("lump", "lecture2r", "--what", "gravity-torque", "--unknown", "m?,L?", "--into")
    text = printed(*command, "m1*L1; m2*L1; m2*L2")
    assert "3 lumped parameters, of which 2 are independent" in text and "y2 = y1" in text
    fewer = printed(*command, "m1*L1; m2*L1; m2*L2", "--independent")
    assert "Theta1 + Theta2 = L1*m1 + L1*m2" in fewer
    data = json.loads(printed(*command, "m1*L1; m2*L1; m1*L1 + m2*L1; m2*L2", "--json"))
    assert data["identities"] == ["Theta3 = Theta1 + Theta2"]
    assert data["count"] == 4 and data["rank"] == 2


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["explicit", "elbow2"], "Did you mean 'elbow2r'"),
        (["explicit", "elbow2r", "--what", "masss-matrix"], "Did you mean 'mass-matrix'"),
        (["explicit", "elbow2r", "--format", "tex"], "Known: text, latex, markdown, html, sympy"),
        (["explicit", "elbow2r", "--format", "html", "--time", "t"], "--time is for the formats text, latex, sympy"),
        (["explicit", "elbow2r", "--time", "2t"], "time is '2t', expected a name"),
        (["explicit", "elbow2r", "--time", "q1"], "time is 'q1', a name that the formulas have already"),
        (["explicit", "elbow2r", "--link", "foream"], "Did you mean 'forearm'"),
        (["explicit", "elbow2r", "--link", "forearm", "--what", "mass-matrix"], "leave out --what"),
        (["explicit", "elbow2r", "--link", "forearm", "--form", "slotine"], "Did you mean 'slotine-li'"),
        (["explicit", "elbow2r", "--form", "body"], "No form 'body'"),
        (["explicit", "lecture2r", "--what", "coriolis-matrix", "--form", "chris"], "Did you mean 'christoffel'"),
        (["explicit", "elbow2r", "--what", "mass-matrix", "--task", "xy"], "mass-matrix takes no --task, got xy"),
        (["explicit", "elbow2r", "--what", "operational-mass", "--task", "xyy"], "Did you mean 'xy'"),
        (["explicit", "elbow2r", "--terms", "viscus"], "Did you mean 'viscous'"),
        (["explicit", "elbow2r", "--digits", "-1"], "digits is -1, expected a whole number of at least 1"),
        (["explicit", "elbow2r", "--intermediates", "0"], "intermediates is 0, expected"),
        (["explicit", "elbow2r", "--force"], "name it with --output"),
        (["explicit", "elbow2r", "-o", "no/where.txt"], "no/where.txt cannot be written"),
        (["explicit", "planar3r", "--what", "operational-mass", "--task", "xy"], "Use --intermediates 20, which"),
        (["lump", "lecture2r", "--unknown", "m3"], "No symbol 'm3' in inverse_dynamics. Known: g, L1, L2, m1, m2."),
        (["lump", "lecture2r", "--unknown", ""], "unknown is empty"),
        (["lump", "elbow2r", "--unknown", "*.m"], "write a symbol in their place"),
        (["lump", "lecture2r", "--unknown", "m1,m2", "--into", "m1"], "or leave --into out"),
        (["lump", "lecture2r", "--unknown", "m1,m2", "--into", "m1;q2"], "into holds q2"),
        (["lump", "lecture2r", "--unknown", "m1", "--into", "m1+("], "not an expression"),
        (["lump", "lecture2r", "--unknown", "m1", "--what", "forward-dynamics"], "mixes unknowns with the rest"),
        (["lump", "lecture2r", "--unknown", "m1", "--what", "operational-dynamics", "--task", "xy"], "lump needs one"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_3(arguments, sentence, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["taupi", *arguments])
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)  # put back what `run` replaces
    with pytest.raises(SystemExit) as end:
        run()
    out, err = capsys.readouterr()
    assert (end.value.code, out) == (3, "")
    assert sentence in err
    assert len(err.strip().splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_lump_needs_to_know_what_is_unknown():
    done = taupi("lump", "lecture2r")
    assert done.returncode == 2 and "--unknown" in done.stderr and "Traceback" not in done.stderr
