"""Forms stand for commands: each command is one that `taupi` understands, and says what the fields say."""

import shlex
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taupi.cli.main import command_of
from taupi.errors import TaupiError
from taupi.studio.forms import FORMS, Fields, excite, identify, info, log, suggest, view

FULL = Fields(
    {
        "robot": ["arm.urdf"],
        "lock": ["finger1, finger2"],
        "tip": ["flange"],
        "log": ["run 1.csv"],
        "save": ["columns.toml"],
        "fit": ["run 1.csv", "-o"],
        "hold": ["run3.csv"],
        "columns": ["columns.toml"],
        "estimator": ["huber"],
        "terms": ["viscous"],
        "cutoff": ["12"],
        "fit_output": ["out"],
        "anyway": ["yes"],
        "fit_force": ["yes"],
        "fit_more": ["--from 2 --to '10'"],
        "duration": ["10"],
        "motion_terms": ["none"],
        "limits": ["limits.toml"],
        "format": ["csv", "ros2"],
        "speed": ["0.3"],
        "no_floor": ["yes"],
        "motion_output": ["motion"],
        "motion_force": ["yes"],
        "motion_more": ["--seed 3"],
    }
)


def parsed(words):
    """Return what the command line makes of a command."""
    command = command_of(words[0])
    return command.make_context(words[0], list(words[1:])).params


def test_every_field_of_a_fit_is_an_option():
    given_ = parsed(identify(FULL))
    assert given_["robot"] == "arm.urdf" and [str(p) for p in given_["logs"]] == ["run 1.csv", "-o"]
    assert [str(p) for p in given_["validate"]] == ["run3.csv"] and str(given_["columns"]) == "columns.toml"
    assert (given_["estimator"], given_["terms"], given_["cutoff_hz"]) == ("huber", "viscous", 12)
    assert (str(given_["output"]), given_["anyway"], given_["force"]) == ("out", True, True)
    assert (given_["begin"], given_["end"], list(given_["lock"]), given_["tip"]) == (
        2,
        10,
        ["finger1", "finger2"],
        "flange",
    )


def test_every_field_of_a_motion_is_an_option():
    given_ = parsed(excite(FULL))
    assert (given_["duration"], given_["terms"], str(given_["limits"])) == (10, "none", "limits.toml")
    assert (given_["formats"], given_["speed"], given_["no_floor"]) == ("csv,ros2", 0.3, True)
    assert (str(given_["output"]), given_["force"], given_["seed"]) == ("motion", True, 3)


@pytest.mark.parametrize("words", [info, view, log, suggest])
def test_the_other_commands_are_understood(words):
    assert parsed(words(FULL))["robot"] == "arm.urdf"


def test_fields_that_are_empty_are_left_out():
    few = Fields(
        {"robot": ["ur10"], "fit": ["a.csv"], "fit_output": ["fit"], "estimator": ["consistent"], "terms": [" "]}
    )
    assert identify(few) == ["identify", "ur10", "a.csv", "-o", "fit"]


@pytest.mark.parametrize("form", FORMS)
def test_what_is_missing_is_said(form):
    with pytest.raises(TaupiError):
        FORMS[form].words(Fields())


def test_options_that_no_shell_understands_are_refused():
    with pytest.raises(TaupiError, match="quotation"):
        identify(Fields({**FULL.values, "fit_more": ["--terms 'viscous"]}))


file_names = st.text(st.characters(blacklist_categories=("Cs", "Cc", "Zl", "Zp")), min_size=1, max_size=20).filter(
    str.strip
)


@settings(max_examples=30, deadline=None)
@given(file_names)
def test_a_name_of_a_file_is_never_an_option_and_survives_the_shell(name):
    words = identify(Fields({"robot": ["ur10"], "fit": [name], "fit_output": ["fit"]}))
    assert shlex.split(shlex.join(words)) == words
    assert parsed(words)["logs"] == [Path(name)]


def test_a_box_that_is_no_longer_ticked_is_forgotten():
    before = Fields.of(b"robot=ur10&fit_force=yes&fit=a.csv&fit=b.csv&duration=3")
    after = before.merged(Fields.of(b"robot=panda&fit=b.csv"), FORMS["fit"].boxes)
    assert after.one("robot") == "panda" and after.all("fit") == ["b.csv"]
    assert not after.one("fit_force") and after.one("duration") == "3"
