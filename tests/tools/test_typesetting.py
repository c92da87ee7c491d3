"""Tables of equations in the site: formulas are set, words are not, and calls lead to the API."""

import re
from pathlib import Path

import api_links as links
import equation_tables as formulas
import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "docs" / page for page in formulas.PAGES]


@pytest.mark.parametrize(
    ("plain", "wanted"),
    [
        ("Y_r = X_r - W_r + Z, blocks side by side", "$Y_{r} = X_{r} - W_{r} + Z$, blocks side by side"),
        ("B q̈ᵣ + ½ π_b", r"$B \ddot{q}_{r} + \tfrac{1}{2} \pi _{b}$"),
        ("Ṁ - 2C skew; Ĉ", r"$\dot{M} - 2C$ skew; $\hat{C}$"),
        ("the matrix of a joint, as (12) has it", "the matrix of a joint, as (12) has it"),
        ("for a Θ of your choice", r"for a $\Theta$ of your choice"),
        ("section 5.1, the 2 x 8 regressor", r"section 5.1, the $2 \times  8$ regressor"),
        ("(14), (19)-(21) and the rest", "(14), (19)-(21) and the rest"),
        ("`tp.jacobian(robot, task=...)` and J̇", r"`tp.jacobian(robot, task=...)` and $\dot{J}$"),
        ("Lynch & Park 8.1, Luh, Walker & Paul 1980", "Lynch & Park 8.1, Luh, Walker & Paul 1980"),
        ("𝒜ᵀℒᵀ x⁽ᵏ⁾", r"$\mathcal{A}^{T}\mathcal{L}^{T} x^{(k)}$"),
        (r"\|a\| = 1, y₂,₃", r"$\vert a\vert  = 1, y_{2,3}$"),
    ],
)
def test_formulas_are_set_and_words_are_not(plain, wanted):
    assert formulas.typeset(plain) == wanted


def test_every_formula_of_the_pages_becomes_mathml():
    convert = pytest.importorskip("latex2mathml.converter").convert
    count = 0
    for page in PAGES:
        for row in formulas._ROW.finditer(page.read_text(encoding="utf-8")):
            for cell in formulas._BAR.split(row[1]):
                for latex in re.findall(r"\$([^$]*)\$", formulas.typeset(cell)):
                    assert convert(latex).startswith("<math"), latex
                    assert latex.count("{") == latex.count("}") and latex.count("(") == latex.count(")"), latex
                    count += 1
    assert count > 250


def test_every_call_of_the_tables_leads_to_its_entry():
    documented = links.entries(ROOT / "docs")
    page = (ROOT / "docs/concepts/equations.md").read_text(encoding="utf-8")
    calls = {m[1] for m in links._CALL.finditer(page) if m[1].startswith("tp.")}
    without = {call for call in calls if not links.target(call, documented)}
    assert len(calls) > 80 and without <= {"tp.results.normalised_mean_error"}
    assert links.target("tp.Robot.from_dh", documented) == "taupi.model.robot.Robot.from_dh"
    assert links.target("tp.no_such_call", documented) == ""


def test_pages_of_laws_list_the_gains_of_their_bases():
    griffe = pytest.importorskip("griffe")
    from plain_docstrings import PlainDocstrings

    laws = griffe.load(
        "taupi.control.laws", search_paths=[str(ROOT / "src")], extensions=griffe.load_extensions(PlainDocstrings)
    )
    for path, gains in {
        "slotine_li.SlotineLi": ("Lambda", "K", "Gamma_inv"),
        "pd_gravity.PDGravity": ("Kp", "Kd"),
    }.items():
        (section,) = [s for s in laws[path].docstring.parse("google") if s.kind.value == "attributes"]
        assert {entry.name for entry in section.value} >= set(gains)
