"""The one door for files: what is no regular file, too large, too deep or not text is refused in one sentence, at once."""

import json
import os
import subprocess
import sys

import pytest
from refusals import refused

from taupi.budget import Budget, Clock, budget, reading_budget
from taupi.errors import TaupiError, shown
from taupi.input_files import parse_json, parse_toml, printable, read_bytes, read_text, regular_file
from taupi.schema import conformed

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="pipes and devices are POSIX")


@POSIX
@pytest.mark.parametrize("read", [regular_file, read_bytes, read_text])
def test_what_is_no_regular_file_is_refused_without_waiting(tmp_path, read):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/dev/zero")
    for path in (tmp_path / "pipe", tmp_path / "link", "/dev/zero", "/dev/null"):
        with pytest.raises(TaupiError, match="is not a regular file, expected a thing"):
            read(path, "a thing")


def test_folders_missing_and_empty_files(tmp_path):
    (tmp_path / "empty").touch()
    assert regular_file(tmp_path, "a bag", folder=True) == tmp_path
    with pytest.raises(TaupiError, match="is a directory, expected a thing"):
        regular_file(tmp_path, "a thing")
    with pytest.raises(TaupiError, match="empty is empty, expected a thing"):
        regular_file(tmp_path / "empty", "a thing")
    with pytest.raises(TaupiError, match="empty is empty"):
        read_text(tmp_path / "empty", "a thing")
    with pytest.raises(TaupiError, match=r"No file .*none'. Make one."):
        read_bytes(tmp_path / "none", "a thing", missing="Make one.")
    with refused("path", got=3, expected="the path of a thing"):
        read_bytes(3, "a thing")


def test_sizes_and_encodings(tmp_path):
    (tmp_path / "large").write_bytes(b"x" * 101)
    (tmp_path / "latin").write_bytes(b"\xe9")
    assert len(read_bytes(tmp_path / "large", "a thing", 101)) == 101
    with pytest.raises(TaupiError, match="large is larger than 0 MiB, too large for a thing"):
        read_bytes(tmp_path / "large", "a thing", 100)
    with pytest.raises(TaupiError, match="latin is not UTF-8 text"):
        read_text(tmp_path / "latin", "a thing")


def test_names_that_are_not_utf8_become_text():
    name = os.fsdecode(b"a\xffb")
    assert printable(name) == "a\ufffdb" and printable("x" * 300) == "x" * 200 + "..."


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[" * 200_000, "is nested too deeply"),
        ('{"a":' * 200_000, "is nested too deeply"),
        ("9" * 5000, "is not JSON, it holds a number of thousands of digits"),
        ("[1,", "is not JSON, line 1"),
        (r'["\ud800"]', "is not UTF-8 text"),
        (r'{"\udfff": 1}', "is not UTF-8 text"),
        (b"\xff", "is not UTF-8 text"),
    ],
)
def test_json_that_is_refused(text, sentence):
    with pytest.raises(TaupiError, match=f"^x {sentence}"):
        parse_json(text, "x", "a thing")


def test_json_that_is_read():
    assert parse_json(r'{"a": ["\ud83e\udd16", 1e400]}', "x", "a thing") == {"a": ["\U0001f916", float("inf")]}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a." * 40_000 + "b = 1", "has a key with more than 32 dots"),
        ("a . " * 40 + "b = 1", "has a key with more than 32 dots"),
        # Behind texts whose end is easily mistaken.
        *(
            (f"x = {{ a = {text}, " + "a." * 40 + 'b = 1, c = "\'" }}', "has a key with more than 32 dots")
            for text in ('"""x""""', "'''x''''", '""""""""', r'"x\\"', r'"\""', r"'\'", r"'''\'''", r'"""\""""')
        ),
        ('"a b".' * 40 + "b = 1", "has a key with more than 32 dots"),
        ("['a]'." + "'x'." * 40 + "b]", "has a key with more than 32 dots"),
        ("a = " + "[" * 200, "nests too deeply"),
        ("a = " + "{b = " * 200, "nests too deeply"),
        ("a = 1\n" * 2 + "b", "is not valid TOML"),
        ("a = " + "9" * 5000, "is not valid TOML"),
        ("a = [" + "1," * 300_000 + "]", "has more than 200000 keys and values"),
    ],
)
def test_toml_that_is_refused_before_it_takes_time_or_memory(text, sentence):
    with pytest.raises(TaupiError, match=f"^x {sentence}"):
        parse_toml(text, "x")


@POSIX
def test_toml_with_a_long_text_takes_memory_for_the_text():
    """Of each character of a text, 270 bytes were once kept."""
    code = r"""
import resource
from taupi.input_files import parse_toml
texts = [quote + unit * 1_000_000 + quote for quote in ("'", '"', '\'\'\'', '\"\"\"') for unit in ("x", r"\\")]
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for text in texts:
    parse_toml("a = " + text, "x")
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 150_000  # kB


def test_toml_that_is_read():
    """Dots of numbers, strings and comments are no keys."""
    numbers = ", ".join(["1.5"] * 100)
    text = f'# {"a." * 99}\na.b.c = [{numbers}]\ns = "{"x." * 99}"\nt = """\n{"x." * 99}\n"""\nu = \'{"x." * 99}\'\n'
    data = parse_toml("\ufeff" + text, "x", parse_float=str)
    assert data["a"]["b"]["c"] == ["1.5"] * 100 and data["s"] == "x." * 99


# The budget -----------------------------------------------------------------------------------------------------------


def test_a_person_allows_more_by_a_block_or_by_the_environment(monkeypatch):
    default = Budget()
    assert budget() == default
    with reading_budget(columns=5) as inner:
        assert budget() == inner and inner.columns == 5 and inner.joints == default.joints
        with pytest.raises(
            TaupiError, match=r"run.csv has 6 columns, expected 5 at most.*reading_budget\(columns=...\)"
        ):
            budget().check_columns(6, "run.csv")
        budget().check_columns(5, "run.csv")
    assert budget() == default
    monkeypatch.setenv("TAUPI_BUDGET", "columns=7, seconds=0.5,")
    assert (budget().columns, budget().seconds) == (7, 0.5)
    for text, sentence in (
        ("rows=1", "No limit 'rows' in TAUPI_BUDGET"),
        ("columns=x", "columns is 'x', expected a whole"),
        ("seconds=x", "seconds is 'x', expected a number"),
        ("joints=0", "joints is 0, expected a whole number of at least 1"),
    ):
        monkeypatch.setenv("TAUPI_BUDGET", text)
        with pytest.raises(TaupiError, match=sentence):
            budget()
    with refused("joints", got=0, expected="of at least 1"):
        Budget(joints=0)


def test_what_unpacks_is_held_against_the_size_of_the_file():
    small = Budget(unpacked_bytes=1000, unpacked_ratio=10)
    small.check_unpacked(1000, 1, "x")
    small.check_unpacked(5000, 500, "x")
    with pytest.raises(TaupiError, match="x unpacks to 0 MiB, expected 0 MiB at most"):
        small.check_unpacked(5001, 500, "x")


def test_a_clock_ends():
    with reading_budget(seconds=1e-9):
        clock = Clock("x")
        with pytest.raises(TaupiError, match="x takes longer than 0 s to read"):
            clock.check()
        Clock("x", size=1 << 20).check()  # a second more for each MiB


# The schema -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "hint", "expected"),
    [
        (3, float, 3.0),
        ("-inf", float, float("-inf")),
        ([1, None], list[float | None], [1.0, None]),
        ({"a": [["x"]]}, dict[str, list[list[str]]], {"a": [["x"]]}),
        ([1, 2], tuple[int, ...], [1, 2]),
    ],
)
def test_data_that_conforms(value, hint, expected):
    assert conformed(value, hint, "x") == expected


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        *((True, float), ("1", float), (None, float), (10**400, float), (1.0, int), (True, int), (1 << 63, int)),
        *(([1], list[str]), ("ab", list[str]), ({"a": 1}, list[int]), ([], dict[str, int]), ({1: 1}, dict[str, int])),
        *((1, str | None), ([[1], 2], list[list[int]]), (float("nan"), str)),
    ],
)
def test_data_that_does_not(value, hint):
    with pytest.raises(TaupiError) as caught:
        conformed(value, hint, "x")
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 300


def test_values_whose_repr_fails_are_still_shown():
    deep = json.loads("[" * 900 + "]" * 900)
    assert shown(10**5000) == "a value of type int"
    assert len(shown(deep)) < 100
