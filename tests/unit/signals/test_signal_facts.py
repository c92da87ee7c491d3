"""Facts about signals: limits, tables, differences, periods and bands of motion, in cases that a person can work out."""

import numpy as np
import pytest

import taupi as tp
from taupi.signals.checking.check import _beyond
from taupi.signals.filtering.derivatives import central
from taupi.signals.filtering.motion_spectrum import motion_band, spectrum_of


def test_how_far_a_signal_is_beyond_its_limits():
    x = np.array([0.0, -3.5, 2.0, np.nan])
    assert _beyond(x, -3.0, 3.0) == pytest.approx(0.5)
    assert _beyond(x, -3.0, None) == pytest.approx(0.5)
    assert _beyond(-x, -3.0, 3.0) == pytest.approx(0.5)


@pytest.mark.parametrize("titles", ["t,q1,q2", "t, q1, q2", "t q1 q2"])
def test_titles_in_a_comment_are_split_by_the_delimiter_or_by_blanks(tmp_path, titles):
    path = tmp_path / "log.csv"
    path.write_text(f"# {titles}\n" + "".join(f"{k / 10},{k},{k * k}\n" for k in range(20)))
    log = tp.read_log(path, columns={"time": "t", "q": ["q1", "q2"]})
    np.testing.assert_allclose(log.q, [[k, k * k] for k in range(20)])


def test_comments_of_all_kinds_between_the_rows_are_left_out(tmp_path):
    path = tmp_path / "log.csv"
    rows = [f"{k / 10},{k}\n" for k in range(20)]
    rows[5:5] = ["# one\n", "% two\n", "// three\n"]
    path.write_text("t,q1\n" + "".join(rows))
    np.testing.assert_allclose(tp.read_log(path, columns={"time": "t", "q": ["q1"]}).q[:, 0], np.arange(20))


@pytest.mark.parametrize("accuracy", [2, 4, 6])
def test_central_differences_of_a_line_are_exact_to_its_ends(accuracy):
    first, second = central(5.0 - 3.0 * np.arange(20) / 10, 10, accuracy)
    np.testing.assert_allclose(first, -3.0, atol=1e-12)
    np.testing.assert_allclose(second, 0.0, atol=1e-10)


def test_a_period_of_four_samples_has_a_mean_of_four_samples():
    each = np.array([1.0, 3.0, -2.0, 0.5])
    mean = tp.signals.average_periods(tp.Log(np.arange(40) / 10, np.tile(each, 10)[:, None]), period=0.4)
    assert mean.count == 10
    np.testing.assert_allclose(mean.log.q[:, 0], each, atol=1e-9)
    np.testing.assert_allclose(mean.log.time, [0.0, 0.1, 0.2, 0.3], atol=1e-12)


def test_a_weak_line_above_a_quiet_band_is_no_motion():
    t = np.arange(4000) / 100
    noise = 1e-5 * np.random.default_rng(0).normal(size=t.shape)
    plain = np.sin(2 * np.pi * 4 * t) + noise
    weak, strong = (plain + a * np.sin(2 * np.pi * 7 * t) for a in (1e-3, 0.5))
    ends, _ = motion_band(spectrum_of(np.stack((plain, weak, strong), axis=1), 100.0))
    assert 4 < ends[0] < 6.5
    assert 4 < ends[1] < 6.5
    assert 7 < ends[2] < 9


def test_what_a_log_says_of_its_base_cannot_be_written_to():
    w, flags = np.zeros((5, 3)), np.ones(5)
    base = tp.floating.BaseMotion(w, w + 9.81, w)
    log = tp.Log(
        np.arange(5) / 10, np.zeros((5, 2)), base=base, contact={"foot": flags}, wrench={"foot": np.zeros((5, 6))}
    )
    for array in (base.w, base.a, base.wd, log.contact["foot"], log.wrench["foot"]):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
