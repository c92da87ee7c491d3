"""Errors and warnings: templates with named values, data for whoever asserts on it, one safe sentence for whoever reads it."""

import copy
import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest
from refusals import refused

from taupi.errors import (
    Argument,
    InPython,
    Message,
    MovedWarning,
    NotIdentifiedError,
    TaupiError,
    TaupiWarning,
    unknown,
    warn,
)


@pytest.mark.parametrize(
    ("template", "values", "text"),
    [
        ("{joint} is {got:g}.", {"joint": "elbow", "got": 1.50}, "elbow is 1.5."),
        ("{got!r} is no number.", {"got": "a'b"}, '"a\'b" is no number.'),
        ("{got!r}", {"got": "x" * 100}, "'" + "x" * 59 + "..."),
        ("Known: {names:,}.", {"names": ["a", "b"]}, "Known: a, b."),
        ("Known: {names!r:,}.", {"names": ("a", "b")}, "Known: 'a', 'b'."),
        ("{count:,} samples", {"count": 12345}, "12,345 samples"),
        ("shape {shape}", {"shape": (3, 4)}, "shape (3, 4)"),
        ("shape {shape}", {"shape": ()}, "shape ()"),
        ("{{got}} is {got}", {"got": 1}, "{got} is 1"),
        ("limits={...}, {}, { a }, {1}", {}, "limits={...}, {}, { a }, {1}"),
        ("{force=True}", {}, "force=True"),
        ("{rate_hz=...}", {}, "rate_hz=..."),
        ("{long_gaps='longest'}", {}, "long_gaps='longest'"),
        ("{columns}", {"columns": Argument("columns", {"time": ...})}, "columns={'time': ...}"),
        ("{folder=out of reach}", {}, "{folder=out of reach}"),
        ("{got:g}", {"got": None}, "None"),
        ("{got:.1f}", {"got": "many"}, "'many'"),
    ],
)
def test_a_template_is_filled_in(template: str, values: dict[str, object], text: str) -> None:
    assert str(Message(template, **values)) == text


def test_a_field_without_a_value_is_an_argument() -> None:
    error = TaupiError("{cutoff_hz} is {got}, expected more than {rate_hz}.", remedy="Give {cutoff_hz=...}.", got=-1)
    assert error.argument == "cutoff_hz"
    assert error.values == {"got": -1}
    assert (
        error.spelled(lambda part: f"<{part}>")
        == "<cutoff_hz> is -1, expected more than <rate_hz>. Give <cutoff_hz=...>."
    )


@pytest.mark.parametrize("hostile", ["{q}", "{got.__class__}", "{{", "}", "{force=True}", "{got!r:>99999999}"])
def test_a_value_is_never_read_as_a_template(hostile: str) -> None:
    error = TaupiError("{q} holds {name}.", remedy="Rename {name}.", name=hostile)
    assert str(error) == f"q holds {hostile}. Rename {hostile}."
    assert error.about(hostile).spelled(lambda part: "--q") == f"{hostile}: --q holds {hostile}. Rename {hostile}."


def test_values_are_shortened_and_stripped_of_what_steers_a_terminal_and_of_secrets() -> None:
    error = TaupiError(
        "{name} of {address}", name="a\n\x1b[31mb" + "x" * 5000, address="https://me:secret@host/a.csv?sig=hidden"
    )
    assert len(str(error)) < 1200
    for text in (str(error), *map(str, error.values.values())):
        assert "\n" not in text and "\x1b" not in text and "secret" not in text and "hidden" not in text


def test_messages_are_values_of_messages() -> None:
    inner = TaupiError("{q} has shape {shape}.", shape=(2,))
    outer = TaupiError("{file}: {inner}", file="a.csv", inner=inner.message, remedy=Message("Give {q}."))
    assert str(outer) == "a.csv: q has shape (2,). Give q." and outer.argument == "q"
    assert outer.values["shape"] == (2,) and outer.values["file"] == "a.csv"


def test_a_part_for_python_only_is_replaced_elsewhere() -> None:
    error = TaupiError("{no}.", remedy="{way}", no="No", way=InPython("Call log.segments()", "Use --gaps"))
    assert str(error) == "No. Call log.segments()"
    assert error.spelled(lambda part: part.elsewhere if isinstance(part, InPython) else "") == "No. Use --gaps"


@pytest.mark.parametrize("again", [copy.copy, lambda error: pickle.loads(pickle.dumps(error))], ids=["copy", "pickle"])
@pytest.mark.parametrize("kind", [TaupiError, NotIdentifiedError, TaupiWarning])
def test_errors_cross_processes(kind: type[TaupiError], again: object) -> None:
    error = kind("{q} has {got!r} in {name}.", remedy="Use {name}.", got=lambda: 0, name="{q}")
    copied = again(error)  # type: ignore[operator]
    assert type(copied) is kind and str(copied) == str(error)
    assert copied.argument == "q" and copied.values["name"] == "{q}" and copied.remedy == error.remedy


def test_about_names_the_place_and_keeps_kind_argument_values_and_remedy() -> None:
    error = NotIdentifiedError("{cutoff_hz} is {got}.", remedy="Try {cutoff_hz=5}.", got=1).about("run.csv")
    assert type(error) is NotIdentifiedError and str(error) == "run.csv: cutoff_hz is 1. Try cutoff_hz=5."
    assert error.argument == "cutoff_hz" and error.values["got"] == 1


def test_warnings_are_templates_too_and_name_the_line_that_asked() -> None:
    with pytest.warns(TaupiWarning) as seen:
        warn("cond(W) = {cond:.2g}.", remedy="Excite {joint}.", cond=4.1e6, joint="elbow")
    (warning,) = (w.message for w in seen)
    assert isinstance(warning, TaupiWarning) and str(warning) == "cond(W) = 4.1e+06. Excite elbow."
    assert warning.values == {"cond": 4.1e6, "joint": "elbow"} and Path(seen[0].filename).name == "test_errors.py"


def test_a_warning_of_another_kind_has_the_same_sentence() -> None:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        warn("{old} is now {new}.", category=DeprecationWarning, old="a", new="b")
        warn(MovedWarning("{old} moved.", old="c"))
    assert [(w.category, str(w.message)) for w in seen] == [
        (DeprecationWarning, "a is now b."),
        (MovedWarning, "c moved."),
    ]


def test_unknown_names_what_is_near_and_what_exists() -> None:
    error = unknown(Argument("base"), "quatt", ["quat", "euler"])
    assert error.argument == "base" and error.values["name"] == "quatt" and error.values["close"] == "quat"
    assert str(error) == "No base 'quatt'. Did you mean 'quat'? Known: quat, euler."
    assert str(unknown("joint", "a", [], "x.urdf")) == "No joint 'a' in x.urdf. Known: none."
    assert str(unknown("joint", "q", map(str, range(14)))).endswith("10, 11 and 2 more.")


def test_values_keep_their_type() -> None:
    q = np.arange(3.0)
    error = TaupiError("{got!r} is no matrix.", got=q)
    assert error.values["got"] is q and str(error) == "array([0., 1., 2.]) is no matrix."


def test_refusals_are_asserted_on_data() -> None:
    def check() -> None:
        raise TaupiError(Message("{cutoff_hz} is {got}, expected more than 0.", got=-1))

    with refused("cutoff_hz", got=-1) as caught:
        check()
    assert str(caught.value) == "cutoff_hz is -1, expected more than 0."
    for wrong in (refused("cutoff_hz", got=-2), refused("rate_hz"), refused("cutoff_hz", given=-1)):
        with pytest.raises(AssertionError), wrong:
            check()
    with pytest.raises(TaupiError), refused("cutoff_hz", NotIdentifiedError, got=-1):
        check()
