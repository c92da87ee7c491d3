"""Facts about signals: limits, tables, differences, periods and bands of motion, in cases that a person can work out."""

import itertools

import numpy as np
import pytest
from refusals import refused

import taupi as tp
from taupi.model.robot import Limits
from taupi.signals.checking.commands import torque_law
from taupi.signals.checking.rules import disagreement, turns
from taupi.signals.checking.standstill import motion_rows
from taupi.signals.filtering.delay import without_delays
from taupi.signals.filtering.derivatives import central
from taupi.signals.filtering.motion_spectrum import cutoff_bounds, motion_band, spectrum_of
from taupi.signals.filtering.periodic import fourier
from taupi.signals.prepare import Smoother
from taupi.signals.suggestion import _motor


def test_how_far_a_signal_is_beyond_its_limits():
    x = np.array([0.0, -3.5, 2.0, np.nan])[:, None]
    for q, low, high, span in ((x, -3.0, 3.0, "-3 .. 3"), (x, -3.0, None, "-3 .. inf"), (-x, None, 3.0, "-inf .. 3")):
        arm = tp.Robot.from_dh([{"a": 1}], limits=[Limits(low, high)])
        (found,) = tp.check_log(tp.Log(np.arange(4) / 10, q), arm).of("limit")
        assert found.message == f"1 samples are outside the limits {span}, by up to 0.5, rows 1" and found.count == 1


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


def test_a_missing_position_does_not_hide_that_a_velocity_agrees():
    t = np.arange(400) / 100
    x, xd = np.sin(3 * t)[:, None], 3 * np.cos(3 * t)[:, None]
    for k, signal in enumerate((x, xd)):
        spoilt = signal.copy()
        spoilt[200] = np.nan
        error, slope = disagreement(t, *((spoilt, xd) if k == 0 else (x, spoilt)))
        assert error[0] < 0.01 and slope[0] == pytest.approx(1.0, abs=0.01)


def test_a_signal_that_came_early_is_turned_about_its_ends():
    """q = t^2, moved by one sample and a half either way: before the first sample it is -t^2, after the last one alike."""
    t = np.arange(50) / 10
    for delay in (0.15, -0.15):
        moved = without_delays(tp.Log(t, (t**2)[:, None]), {"q": delay}).q[:, 0]
        at, end = t + delay, t[-1]
        expected = np.where(at < 0, -(at**2), np.where(at > end, 2 * end**2 - (2 * end - at) ** 2, at**2))
        np.testing.assert_allclose(moved, expected, atol=1e-12)


def test_harmonics_stay_below_four_fifths_of_half_the_rate():
    t = np.arange(100) / 10
    x = np.sin(2 * np.pi * 4 * t)
    np.testing.assert_allclose(fourier(x, 10, 1.0, harmonics=4)[0], x, atol=1e-9)
    with refused("harmonics", most=4, count=100, seconds=1.0):
        fourier(x, 10, 1.0, harmonics=5)


def test_one_period_is_enough_for_a_series():
    t = np.arange(50) / 10
    np.testing.assert_allclose(
        fourier(np.cos(2 * np.pi * t / 5), 10, 5.0, harmonics=1)[0], np.cos(2 * np.pi * t / 5), atol=1e-9
    )
    with pytest.raises(tp.TaupiError, match="at least one period"):
        fourier(np.cos(t[:-1]), 10, 5.0, harmonics=1)


def test_an_angle_that_moves_far_between_samples_has_no_turns():
    """A jump by a turn stands out from small steps; among steps of half a radian and more it may be motion."""
    for step, seen in ((0.3, True), (0.45, True), (0.55, False), (1.0, False)):
        q = (step * np.arange(60) + np.pi) % (2 * np.pi) - np.pi
        assert bool(turns(q).any()) is seen


def test_what_is_filtered_becomes_itself_and_its_derivatives():
    log = tp.Log(
        np.arange(50) / 10, np.zeros((50, 1)), qd=np.zeros((50, 1)), qdd=np.zeros((50, 1)), tau=np.zeros((50, 1))
    )
    plain, measured, recorded = (
        Smoother(10.0, 2.0, 4, derivatives, names).derived_signals(log)
        for derivatives, names in (("central", ()), ("central", ("q",)), ("recorded", ()))
    )
    assert plain == {"tau": ("tau",), "q": ("q", "qd", "qdd")}
    assert measured == {"tau": ("tau",), "q": ("q",), "qd": ("qd", "qdd")}
    assert recorded == {"tau": ("tau",), "q": ("q",), "qd": ("qd",), "qdd": ("qdd",)}
    assert Smoother(10.0, 2.0, 4, "spline").derived_signals(log) is None


@pytest.mark.parametrize("shape", [(30,), (30, 1)])
def test_a_template_takes_columns_that_are_arrays_of_one(tmp_path, shape):
    t = np.arange(30) / 10
    np.savez(tmp_path / "log.npz", t=t, q1=np.sin(t).reshape(shape), q2=np.cos(t).reshape(shape))
    log = tp.read_log(tmp_path / "log.npz", columns={"time": "t", "q": "q{i}"})
    np.testing.assert_allclose(log.q, np.stack([np.sin(t), np.cos(t)], axis=1))


@pytest.mark.parametrize("stamps", [[0, 10**9, 1 - 2**63], [0, 10**9, 2**63 - 1], [1 - 2**63, 0, 1]])
def test_stamps_that_are_no_times_are_refused(tmp_path, stamps):
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {"time": pa.array(stamps, pa.timestamp("ns")), "q1": pa.array([0.0, 1.0, 2.0])}
    pq.write_table(pa.table(columns), tmp_path / "log.parquet")
    with pytest.raises(tp.TaupiError, match="time stamps that are not times"):
        tp.read_log(tmp_path / "log.parquet", columns={"time": "time", "q": ["q1"]})


def test_what_is_said_of_motors_depends_on_what_was_recorded():
    def said(*names, perhaps=False):
        return [
            word for line in _motor(dict.fromkeys(names), 2, perhaps) for word in line.split()[1:2] if "[" not in word
        ]

    assert said("theta", "tau") == ["ratio"]
    assert said("q", "theta", "tau") == said("q", "tau") == said("q") == []
    assert said("q", "current") == said("q", perhaps=True) == ["torque_per_ampere"]
    assert said("q", "tau", "current", perhaps=True) == []
    assert said("q", "voltage") == ["torque_per_volt"]


def test_no_cutoff_is_above_four_fifths_of_half_the_rate():
    """A motion without noise would allow any cutoff."""
    t = np.arange(4000) / 100
    motion = np.stack([np.sin(2 * np.pi * 20 * t), np.sin(2 * np.pi * 15 * t)], axis=1)
    bounds = cutoff_bounds([motion, motion], [100.0, 80.0])
    assert max(bounds.most_hz, bounds.suggested_hz, bounds.least_hz) <= 0.4 * 80


def test_rows_with_a_missing_value_say_nothing_of_a_law():
    """A torque that a drive computed is recognised where single values are missing: their rows are left out."""
    t = np.arange(500)[:, None] / 100
    q, qdes = np.sin(t - 0.1), np.sin(t) + 0.1 * np.sin(3 * t)
    log = tp.Log(t[:, 0], q, qd=np.cos(t - 0.1), tau=80 * (qdes - q) - 2.5 * np.cos(t - 0.1), qdes=qdes)
    rows = {"q": 7, "qd": 70, "tau": 170, "qdes": 270}
    holes = {name: np.where(np.arange(500)[:, None] == row, np.nan, log.signals[name]) for name, row in rows.items()}
    assert torque_law(log.with_(**holes)).kp == pytest.approx([80.0])


@pytest.mark.parametrize("sign", [1, -1])
def test_a_pause_in_a_motion_is_no_standstill_at_its_start(sign):
    """Whichever way a joint leaves its first position, the pause after it belongs to the motion."""
    stops = [(0.0, 1.0), (1.0, 2.0), (0.4, 1.0)]  # positions, and for how long the joint stays there, s
    ramps = [np.full(100, stops[0][0])]
    for (before, _), (after, seconds) in itertools.pairwise(stops):
        ramps += [np.linspace(before, after, 100), np.full(round(100 * seconds), after)]
    q = sign * np.concatenate(ramps)[:, None]
    rows = motion_rows(lambda: [q], 100.0)
    assert rows.start == pytest.approx(100, abs=10) and rows.stop == pytest.approx(500, abs=10)


@pytest.mark.parametrize(("samples", "rate"), [(4000, 100.0), (16_000, 100.0), (4000, 400.0)])
def test_the_density_of_noise_depends_on_its_rate_alone(samples, rate):
    """White noise of variance s^2 has the density s^2 / rate, however long it is."""
    noise = 1e-3 * np.random.default_rng(0).normal(size=(samples, 1))
    assert spectrum_of(noise, rate).floor[0] == pytest.approx(1e-6 / rate, rel=0.1)


@pytest.mark.parametrize("how", [{"derivatives": "backward"}, {"delays": {"tau": 0.013}}], ids=["backward", "delays"])
def test_blocks_are_cut_at_both_ends_like_the_whole(how):
    t = np.arange(3000) / 100
    log = tp.Log(t, np.sin(t)[:, None], tau=np.cos(t)[:, None])
    blocks = [log.rows(slice(a, a + 1000)) for a in range(0, 3000, 1000)]
    parts = list(tp.signals.prepare_blocks(blocks, 100, 5, decimate=3, **how))
    whole = tp.prepare(log, 5, trim=False, decimate=3, **how)
    np.testing.assert_allclose(np.concatenate([part.time for part in parts]), whole.time)
    np.testing.assert_allclose(np.concatenate([part.tau for part in parts])[5:-5], whole.tau[5:-5], atol=1e-6)
