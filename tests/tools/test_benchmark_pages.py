"""What the page of benchmarks says of a ratio."""

import math
import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest

PAGES = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "pages.py"))


@pytest.mark.parametrize(
    ("theirs", "ours", "text"),
    [
        (23.4, 1.0, "23 x"),
        (9.96, 1.0, "10 x"),
        (1.53, 1.0, "1.5 x"),
        (1.0, 1.0, "1.0 x"),
        (0.11, 0.558, "0.20 x, slower"),
        (0.001, 1.0, "0.0010 x, slower"),
        (math.nan, 1.0, "-"),
    ],
)
def test_ratios_below_one_are_said_to_be_slower_and_never_nothing(theirs, ours, text):
    assert PAGES["ratio"](theirs, ours) == text


def test_a_section_that_fails_is_named_and_costs_no_other():
    def broken(short):
        raise AssertionError("another answer")

    sections = {"a": SimpleNamespace(measure=lambda short: short), "b": SimpleNamespace(measure=broken)}
    sections["c"] = sections["a"]
    assert PAGES["measured"](sections, True) == ({"a": True, "c": True}, ["b"])
