"""The table of columns: what is assigned is what is saved, and the answer is that of the check."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from odd_logs import write_odd_log

import taupi as tp
from taupi.errors import TaupiError
from taupi.input_files import parse_toml
from taupi.signals.mapping.columns import Columns
from taupi.studio.mapping import SIGNALS, Assignment, answer, mapping_text, sheet_of

ARM = tp.load("elbow2r")
RIGHT = (
    Assignment("Zeitstempel", "time", unit="ms"),
    Assignment("Achse1_Ist", "q", 0, "deg"),
    Assignment("Achse2_Ist", "q", 1, "deg"),
    Assignment("Moment_A1", "tau", 0),
    Assignment("Moment_A2", "tau", 1),
)


@pytest.fixture(scope="module")
def odd(tmp_path_factory):
    path = tmp_path_factory.mktemp("odd") / "messung.csv"
    return str(path), write_odd_log(path)


def test_every_column_is_a_row_and_text_is_not_offered(odd):
    sheet = sheet_of(odd[0], ARM)
    assert [c.name for c in sheet.columns if not c.numeric] == ["Betriebsart", "Bemerkung"]
    position = next(c for c in sheet.columns if c.name == "Achse2_Ist")
    assert position.high == pytest.approx(np.degrees(odd[1].q[:, 1].max()), abs=1e-4)
    assert position.family == next(c for c in sheet.columns if c.name == "Achse1_Ist").family
    assert sheet.joints == ARM.joint_names


def test_the_check_offers_milliseconds_then_degrees_then_is_content(odd):
    sheet = sheet_of(odd[0], ARM)
    plain = [Assignment(a.column, a.signal, a.joint) for a in RIGHT]
    first = answer(odd[0], ARM, sheet, plain)
    assert first.problem and [(u.signal, u.unit) for u in first.units] == [("time", "ms")]
    second = answer(odd[0], ARM, sheet, [RIGHT[0], *plain[1:]])
    assert not second.problem and [(u.signal, u.unit) for u in second.units] == [("q", "deg")]
    third = answer(odd[0], ARM, sheet, RIGHT)
    assert not third.problem and not third.units and not third.findings


def test_what_is_assigned_reads_back_as_the_log(odd, tmp_path):
    path, log = odd
    turned = [*RIGHT[:2], Assignment("Achse2_Ist", "q", 1, "deg", -1), *RIGHT[3:]]
    known = answer(path, ARM, sheet_of(path, ARM), turned)
    saved = tmp_path / "columns.toml"
    saved.write_text(known.text)
    read = tp.read_log(path, ARM, saved)
    assert np.abs(read.time - log.time).max() < 1e-12
    assert np.abs(read.q - log.q * [1, -1]).max() < 1e-6
    assert np.abs(read.tau - log.tau).max() < 1e-5


def test_joints_may_come_in_any_order(odd):
    swapped = [RIGHT[0], Assignment("Achse1_Ist", "q", 1, "deg"), Assignment("Achse2_Ist", "q", 0, "deg")]
    text = answer(odd[0], ARM, sheet_of(odd[0], ARM), swapped).text
    assert Columns.of_table(parse_toml(text, "columns"), "columns").channels["q"].columns == (
        "Achse2_Ist",
        "Achse1_Ist",
    )


@pytest.mark.parametrize(
    "assigned",
    [
        [Assignment("a", "q", 0), Assignment("b", "q", 0)],
        [Assignment("a", "time"), Assignment("b", "time")],
        [Assignment("a", "segment"), Assignment("b", "segment")],
    ],
)
def test_two_columns_for_one_place_are_refused_by_name(assigned):
    with pytest.raises(TaupiError) as refused:
        mapping_text(assigned)
    assert {"a", "b"} <= set(refused.value.values.values())


def test_further_lines_are_part_of_the_mapping_and_mistakes_in_them_are_told(odd):
    sheet = sheet_of(odd[0], ARM)
    known = answer(odd[0], ARM, sheet, RIGHT, rest="[motor]\nratio = [100, 100]")
    assert Columns.of_table(parse_toml(known.text, "columns"), "columns").motor.ratio == (100, 100)
    assert "motor" in answer(odd[0], ARM, sheet, RIGHT, rest="[motor]\nrotation = 1").problem
    assert answer(odd[0], ARM, sheet, RIGHT, rest="no toml").problem
    assert "assigned" in answer(odd[0], ARM, sheet, []).problem


def test_units_may_differ_between_the_joints_of_a_signal():
    text = mapping_text([Assignment("a", "q", 0, "deg"), Assignment("b", "q", 1)])
    assert Columns.of_table(parse_toml(text, "c"), "c").channels["q"].unit == ("deg", "rad")


def test_seconds_and_nanoseconds_are_one_time():
    text = mapping_text([Assignment("stamp.sec", "time"), Assignment("stamp.nanosec", "time"), Assignment("a", "q")])
    channel = Columns.of_table(parse_toml(text, "c"), "c").channels["time"]
    assert channel.columns == ("stamp.sec", "stamp.nanosec") and channel.matrix


names = st.text(min_size=1, max_size=30).filter(lambda s: not any(0xD800 <= ord(c) <= 0xDFFF for c in s))


@settings(max_examples=40, deadline=None)
@given(names, names, st.sampled_from([s for s in SIGNALS if s not in ("time", "segment")]))
def test_any_name_comes_back_from_the_mapping(a, b, signal):
    text = mapping_text([Assignment(a, signal, 0), Assignment(b, signal, 1, sign=-1), Assignment("t", "time")])
    data = parse_toml(text, "columns")
    assert data[signal]["columns"] == [a, b] and data[signal]["sign"] == [1, -1], json.dumps(text)


def test_arrays_are_one_row_and_belong_to_all_joints(tmp_path):
    path = tmp_path / "run.npz"
    t = np.arange(300) / 100
    np.savez(path, t=t, q=np.sin(t)[:, None] * [1.0, 0.5], tau=np.cos(t)[:, None] * [1.0, 2.0])
    sheet = sheet_of(str(path), ARM)
    assert {c.name: c.width for c in sheet.columns} == {"t": 1, "q": 2, "tau": 2}
    known = answer(str(path), ARM, sheet, [Assignment("t", "time"), Assignment("q", "q"), Assignment("tau", "tau")])
    assert not known.problem and "2 joints" in known.summary


def test_a_large_file_is_checked_by_its_beginning(odd, monkeypatch):
    monkeypatch.setattr("taupi.studio.mapping._LARGE", 1000)
    monkeypatch.setattr("taupi.studio.mapping._BLOCK", 500)
    assert "500 samples" in answer(odd[0], ARM, sheet_of(odd[0], ARM), RIGHT).summary
