"""Descriptions in grams, millimetres or degrees are read as they are, and a note says what they look like."""

import re

import pytest

import taupi as tp

# What is scaled in the URDF of an arm, element and attribute by factor, and the words of the note.
WRONG = {
    "grams": ({("mass", "value"): 1e3}, "grams"),
    "millimetres": ({("origin", "xyz"): 1e3}, "millimetres"),
    "kg mm^2": ({("inertia", f"i{a}"): 1e6 for a in ("xx", "xy", "xz", "yy", "yz", "zz")}, "kg mm^2"),
    "degrees": ({("limit", "lower"): 57.3, ("limit", "upper"): 57.3}, "degrees"),
}


def scaled(text, element, attribute, by):
    def numbers(match):
        return match[1] + " ".join(repr(by * float(number)) for number in match[2].split()) + match[3]

    return re.sub(rf'(<{element}[^>]*\b{attribute}=")([^"]+)(")', numbers, text)


@pytest.mark.parametrize("kind", WRONG)
def test_units_of_a_description_that_cannot_be_are_named(kind, tmp_path):
    factors, words = WRONG[kind]
    tp.export(tp.load("ur10"), tmp_path / "out", target="urdf")
    file = tmp_path / "out" / "ur10.urdf"
    assert not [note for note in tp.load(file).notes if "suspect" in note]
    text = file.read_text()
    for (element, attribute), by in factors.items():
        text = scaled(text, element, attribute, by)
    file.write_text(text)
    (note,) = [note for note in tp.load(file).notes if note.startswith("suspect: ")]
    assert words in note


def test_real_descriptions_are_not_doubted(robots_dir):
    seen = 0
    for path in sorted(robots_dir.glob("*/robots/*.urdf")) + sorted(robots_dir.glob("*/urdf/*.urdf")):
        try:
            robot = tp.load(path)
        except tp.TaupiError:
            continue
        seen += 1
        assert not [note for note in robot.notes if "suspect" in note], path.name
    assert seen > 20
