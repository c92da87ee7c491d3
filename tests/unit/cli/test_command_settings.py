"""Settings as options: every field of a subject is an option, with the class's type, default and help."""

import dataclasses
from typing import Annotated, Any

import pytest
import typer
from typer.testing import CliRunner

from taupi.checks import not_negative, one_of, one_or_each, or_none, positive
from taupi.cli.command import Command
from taupi.cli.settings import FORMS, Changes, Defaults, Form, OptionGroup, Without, with_options
from taupi.errors import TaupiError
from taupi.excitation.settings import Margins
from taupi.identification.rows.preparation import Preparation
from taupi.settings import Settings
from taupi.signals.filtering.smoothing import Gaps, Smoothing
from taupi.signals.reading import Reading, Streaming
from taupi.simulation.sensors import Sensors


@dataclasses.dataclass(frozen=True)
class Kitchen(Settings):
    """What there is.

    Attributes:
        heat_hz: Of the stove.
        spoons: How many.
        slow: Speed, one or one per joint.
        gas: Whether there is gas.
        clean: Whether it is clean.
        open: Whether it is open.
        dish: What is cooked.
        guests: Name of a guest.
    """

    heat_hz: float | None = None
    spoons: int = 4
    slow: float | tuple[float, ...] | None = None
    gas: bool = True
    clean: bool = False
    open: bool | None = None
    dish: str = "soup"
    guests: tuple[str, ...] = ()

    checks = {  # noqa: RUF012
        "heat_hz": or_none(positive),
        "slow": or_none(one_or_each(not_negative)),
        "dish": one_of(("soup", "stew")),
    }


def ran(command, *words):
    """Run a command in this process; return its result and what it was called with."""
    app, calls = typer.Typer(rich_markup_mode=None), []
    app.command("cook", cls=Command)(with_options(command(calls)))
    return CliRunner().invoke(app, list(words)), calls


def all_fields(calls):
    def cook(name: str, *, kitchen: Kitchen, force: bool = False) -> None:
        """Cook."""
        calls.append((name, kitchen, force))

    cook.__annotations__ = {"name": str, "kitchen": Kitchen, "force": bool}
    return cook


def fewer(calls):
    def cook(*, kitchen: Annotated[Kitchen, Without("dish", "guests")]) -> None:
        """Cook."""
        calls.append(kitchen)

    return cook


def changed(calls):
    def cook(*, changes: Annotated[dict[str, Any], Changes(Kitchen)]) -> None:
        """Cook."""
        calls.append(changes)

    return cook


@dataclasses.dataclass(frozen=True, kw_only=True)
class Evening(OptionGroup):
    loud: bool = False
    kitchen: Annotated[Kitchen, Without("guests")]
    songs: int = 3


def grouped(calls):
    def cook(*, name: str, evening: Evening) -> None:
        """Cook."""
        calls.append((name, evening))

    return cook


def test_defaults_are_those_of_the_class():
    result, calls = ran(all_fields, "me")
    assert result.exit_code == 0, result.output
    assert calls == [("me", Kitchen(), False)]


def test_every_field_is_an_option():
    words = [
        "--heat-hz",
        "5",
        "--spoons",
        "2",
        "--slow",
        "0.1,0.2",
        "--no-gas",
        "--clean",
        "--no-open",
        "--dish",
        "stew",
    ]
    _, calls = ran(all_fields, "me", *words, "--guests", "ann", "--guests", "bob", "--force")
    kitchen = Kitchen(5.0, 2, (0.1, 0.2), False, True, False, "stew", ("ann", "bob"))
    assert calls == [("me", kitchen, True)]
    assert ran(all_fields, "me", "--slow", "0.5")[1][0][1].slow == 0.5


def test_the_help_has_the_words_of_the_class():
    text = ran(all_fields, "--help")[0].output
    assert "Of the stove." in text and "[default: 4]" in text and "--gas / --no-gas" in text and "--clean " in text
    assert "Name of a guest. May be repeated." in text and "--slow X[,X...]" in text and "--no-clean" not in text


def test_fields_can_be_left_out():
    assert "--dish" not in ran(fewer, "--help")[0].output
    assert ran(fewer, "--spoons", "1")[1] == [Kitchen(spoons=1)]


def test_changes_are_what_was_named():
    assert ran(changed)[1] == [{}]
    assert ran(changed, "--no-gas", "--dish", "stew", "--slow", "1,2")[1] == [
        {"slow": (1.0, 2.0), "gas": False, "dish": "stew"}
    ]
    assert "default" not in ran(changed, "--help")[0].output


@pytest.mark.parametrize(
    ("words", "sentence", "code"),
    [
        (["--heat-hz", "-1"], "taupi: --heat-hz is -1.0, expected a finite number above 0.", 3),
        (["--slow", "a,1"], "taupi: --slow is 'a,1', expected a number.", 3),
        (["--slow", "-1,1"], "taupi: --slow is -1.0, expected a finite number of at least 0.", 3),
        (["--dish", "stw"], "taupi: --dish is 'stw', expected one of soup, stew. Did you mean 'stew'?", 3),
        (["--spoons", "many"], "Invalid value for '--spoons'", 2),
    ],
)
def test_what_is_wrong_is_said_by_the_flag(words, sentence, code):
    result, calls = ran(all_fields, "me", *words)
    assert (result.exit_code, calls) == (code, []) and sentence in result.output


# Groups of options ----------------------------------------------------------------------------------------------------


def test_a_group_has_options_and_subjects():
    result, calls = ran(grouped, "me", "--loud", "--spoons", "2")
    assert result.exit_code == 0, result.output
    assert calls == [("me", Evening(loud=True, kitchen=Kitchen(spoons=2), songs=3))]
    text = ran(grouped, "--help")[0].output
    assert "--songs" in text and "--dish" in text and "--guests" not in text and "--evening" not in text


# How fields are written -----------------------------------------------------------------------------------------------


def test_a_form_is_that_of_a_field_and_of_the_class_that_declares_it():
    declared = {kind.__name__: kind for kind in (Margins, Reading, Streaming, Gaps, Smoothing, Preparation, Sensors)}
    assert FORMS.keys() == declared.keys()
    for name, forms in FORMS.items():
        kind = declared[name]
        own = {name for name in kind.__annotations__ if name in kind.names()}
        assert forms.keys() <= own, kind


def test_a_form_belongs_to_one_class_alone(monkeypatch):
    """Two subjects may have a field of one name, and write it in two ways, in one command."""

    @dataclasses.dataclass(frozen=True)
    class Cellar(Settings):
        """What there is below.

        Attributes:
            dish: What is stored.
            spoons: How many there are.
        """

        dish: str = "jam"
        spoons: int = 1

    @dataclasses.dataclass(frozen=True)
    class DeepCellar(Cellar):
        """What is further down."""

    def both(calls):
        def cook(*, kitchen: Kitchen, cellar: Cellar) -> None:
            """Cook."""
            calls.append((kitchen, cellar))

        cook.__annotations__ = {"kitchen": Kitchen, "cellar": DeepCellar}
        return cook

    def shelf(name, text):
        return f"{text} by {name}"

    forms = {
        "dish": Form("--stored", name="stored", placeholder="DISH", note="In jars.", read=shelf),
        "spoons": Form(name="cellar_spoons"),
    }
    monkeypatch.setitem(FORMS, Cellar.__name__, forms)
    _, calls = ran(both, "--dish", "stew", "--stored", "ham", "--spoons", "5")
    assert calls == [(Kitchen(dish="stew", spoons=5), DeepCellar(dish="ham by stored", spoons=1))]
    text = ran(both, "--help")[0].output
    assert "--stored DISH" in text and "What is stored. In jars." in text and "--cellar-spoons" in text


@pytest.mark.parametrize(
    ("marks", "message"),
    [
        ((Defaults(spons=2),), "No setting 'spons' in Kitchen. Did you mean 'spoons'"),
        ((Without("heat"),), "No setting 'heat' in Kitchen. Did you mean 'heat_hz'"),
        ((Without("spoons"), Defaults(spoons=2)), "No setting 'spoons' in Kitchen"),
    ],
)
def test_marks_that_name_no_setting_are_refused(marks, message):
    def cook(*, kitchen) -> None: ...

    cook.__annotations__["kitchen"] = Annotated[(Kitchen, *marks)]
    with pytest.raises(TaupiError, match=message):
        with_options(cook)


def test_another_default_is_that_of_the_option():
    def serve(calls):
        def cook(*, kitchen: Annotated[Kitchen, Defaults(spoons=2)]) -> None:
            calls.append(kitchen)

        return cook

    assert ran(serve)[1] == [Kitchen(spoons=2)]


@pytest.mark.parametrize(
    ("kind", "field", "flags"),
    [
        (Reading, "begin", ("--from", "--begin")),
        (Reading, "end", ("--to", "--end")),
        (Gaps, "long_gaps", ("--gaps", "--long-gaps")),
        (Smoothing, "cutoff_hz", ("--cutoff", "--cutoff-hz")),
    ],
)
def test_a_field_with_a_shorter_flag_has_its_own_name_too(kind, field, flags):
    value = "longest" if field == "long_gaps" else "2.5"

    def recorded(calls):
        def read(*, settings) -> None:
            calls.append(getattr(settings, field))

        read.__annotations__["settings"] = kind
        return read

    results = [ran(recorded, flag, value)[1] for flag in flags]
    assert results == [[value if field == "long_gaps" else 2.5]] * 2
    assert flags[1] == "--" + field.replace("_", "-")
