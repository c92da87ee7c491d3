"""Pages of runs: well-formed, self-contained, and the numbers, lines and arms are those of the runs."""

import dataclasses
import json
import re

import numpy as np
import pytest
from pages import Page
from refusals import refused

import taupi as tp
from taupi.errors import TaupiError
from taupi.reporting.chart import SPAN, TALL, Line, chart, extent, log_ticks, ticks
from taupi.reporting.film import DrawnArm, film, strip
from taupi.reporting.report import report_text
from taupi.reporting.run_content import run_content
from taupi.reporting.sections.run import RUN_SECTIONS, run_page
from taupi.reporting.skeleton import FINE

ARM = tp.load("zollo2r").with_gravity((0, -9.81, 0))
MOTION = tp.Sinusoids([-0.8, 0.6], [[0.4, 0.2], [0.3, 0.3]], [[1.3, 3.1], [2.0, 4.3]])
PLANT = tp.RigidPlant(ARM, payloads=[(0.5, tp.Payload(0.3))], torque_limits=[30.0, 10.0])


def trial(law, plant=PLANT, duration=1.0, name=""):
    run = tp.simulate(plant, law, MOTION, duration=duration, parameters=0.5 * law.parameters.values)
    return tp.laws.Trial(run, law, plant, name)


@pytest.fixture(scope="module")
def trials():
    return [trial(tp.SlotineLi(ARM, K=[60.0, 20.0])), trial(tp.Walker(ARM, gamma=8.0)), trial(tp.PDGravity(ARM))]


@pytest.fixture(scope="module")
def one(trials):
    return report_text(trials[0])


@pytest.fixture(scope="module")
def several(trials):
    return report_text(trials)


def figures(text):
    return re.findall(r"<figure class=\"chart\".*?</figure>", text, re.DOTALL)


def figure(text, title):
    return next(f for f in figures(text) if f"<figcaption>{title} <small>" in f)


def line(text, style):
    """The points of a line, brought back to times and values."""
    low, high = (float(v) for v in re.search(r'data-range="(.*?)"', text)[1].split())
    start, stop = (float(v) for v in re.search(r'data-span="(.*?)"', text)[1].split())
    points = " ".join(re.findall(rf'<polyline class="{style}" points="(.*?)"', text))
    x, y = np.array([p.split(",") for p in points.split()], dtype=float).T
    value = high - (high - low) * y / TALL
    return start + (stop - start) * x / SPAN, 10**value if "data-scale" in text else value, high - low


def test_both_are_well_formed_files_without_network(one, several):
    for text in (one, several):
        page = Page(text)
        assert page.ids == [s.name for s in RUN_SECTIONS]
        assert page.addresses == [f"#{s.name}" for s in RUN_SECTIONS]
        assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)|@import|url\(", text)
        assert len(text) < 1_500_000 and not re.search(r"\b(nan|inf)\b", text.split("<script>")[0])
    assert "zollo2r under slotine_li, walker and pd_gravity" in Page(several).words


def test_the_table_is_that_of_the_trials(several, trials):
    head, *rows = Page(several).table("law")
    assert head[:4] == ["law", "error, first fifth", "last fifth", "largest torque"]
    for row, trial in zip(rows, trials, strict=True):
        summary = trial.summary()
        assert row[0] == trial.name
        assert row[1:4] == [f"{summary[k]:.3g}" for k in ("rms_error_first", "rms_error_last", "largest_torque")]
        payload = f"{summary['payload_estimate']:.3g}" if "payload_estimate" in summary else "-"
        assert row[4:7] == [payload, *(f"{summary[k]:.3g}" for k in ("V_first", "V_last"))]
    assert head[4] == "payload, kg"


def test_lines_are_those_of_the_run(one, several, trials):
    run = trials[0].run
    cases = [
        (one, "joint2", "ghost", run.reference.q[:, 1]),
        (one, "joint2", "n0 c0", run.q[:, 1]),
        (one, "error q - q_des", "n1 c1", run.error[:, 1]),
        (one, "s", "n0 c0", trials[0].s[:, 0]),
        (one, "dV/dt", "n0 c0", trials[0].lyapunov.claimed),
        (one, "dV/dt", "measured", trials[0].lyapunov.numerical),
        (several, "joint1, error", "n1 c1", trials[1].run.error[:, 0]),
        (several, "dV/dt, walker", "n1 c1", trials[1].lyapunov.rate),
    ]
    for text, title, style, want in cases:
        t, value, height = line(figure(text, title), style)
        assert np.abs(np.interp(t, run.time, want) - value).max() < 2e-3 * height, (title, style)
    t, value, _ = line(figure(one, "V"), "n0 c0")
    assert np.abs(np.interp(t, run.time, trials[0].lyapunov.V) / value - 1).max() < 2e-2  # a jump is steep


def test_the_second_torque_chart_shows_its_limit(one, trials):
    charts = [f for f in figures(one) if "<figcaption>joint1 <small>N m" in f]
    assert len(charts) == 1
    t, value, height = line(charts[0], "n0 c0")
    assert np.abs(np.interp(t, trials[0].run.time, trials[0].run.tau[:, 0]) - value).max() < 5e-3 * height


def test_estimates_with_their_truth(one, several, trials):
    head, *rows = Page(one).table("parameter")
    assert head == ["parameter", "unit", "true", "at first", "at last"]
    p = trials[0].run.parameters
    for row, name, true, first, last in zip(
        rows, trials[0].run.parameter_names, trials[0].truth[-1], p[0], p[-1], strict=True
    ):
        assert row[0] == name and row[2:] == [f"{v:.4g}" for v in (true, first, last)]
    assert Page(several).table("parameter")[0][4:] == ["at last, slotine_li", "at last, walker"]  # one learns nothing


def film_of(text):
    return json.loads(re.search(r'<script type="application/json">(.*?)</script>', text, re.DOTALL)[1])


@pytest.mark.parametrize("name", ["zollo2r", "puma560", "panda"])
def test_the_film_follows_forward_kinematics(name):
    arm = tp.load(name)
    rng = np.random.default_rng(0)
    t = np.linspace(0, 2, 401)
    q = np.cumsum(rng.normal(size=(401, arm.n)), axis=0) * 0.05
    data = film_of(film(arm, [DrawnArm("a", "c0", t, q), DrawnArm("b", "c1", t[:100], q[:100])]))
    assert data["arms"][1]["end"] < 0.5 < data["arms"][0]["end"] and (data["plane"] is None) == (name != "zollo2r")
    frames = np.array(data["arms"][0]["frames"]).reshape(51, -1, 3)
    rows = [8 * k for k in range(51)]
    tip = tp.forward_kinematics(arm, frame="tip")(q[rows])[:, :3, 3]
    points = frames[:, data["tip"]]
    # Whole numbers about the middle: distances between moments are those of the tip, up to one scale.
    scale = np.linalg.norm(tip - tip[0], axis=1).max() / np.linalg.norm(points - points[0], axis=1).max()
    assert np.abs((points - points[0]) * scale - (tip - tip[0])).max() < 2 * scale
    assert np.abs(frames).max() <= FINE
    used = {k for link in data["links"] for k in link} | set(data["joints"])
    assert used <= set(range(frames.shape[1])) and data["tip"] in used


def test_the_strip_has_a_figure_a_moment_and_none_after_the_end():
    t = np.linspace(0, 3, 31)
    q = np.linspace(0, 1, 62).reshape(31, 2)
    text = strip(ARM, [DrawnArm("reference", "ghost", t, q), DrawnArm("law", "c0", t[:11], q[:11])], alone=True)
    Page(text)
    assert text.count('class="link ghost"') == 7 and text.count('class="link c0"') == 3
    assert [m for m in re.findall(r">([\d.]+) s<", text)] == ["0", "0.5", "1", "1.5", "2", "2.5", "3"]


def test_a_bare_run_and_a_swing(tmp_path):
    swing = tp.simulate(tp.RigidPlant(ARM), duration=0.2, initial=[0.1, 0.2])
    text = report_text(swing)
    assert Page(text).ids == ["overview", "tracking", "drives", "energy", "remarks", "provenance"]
    assert "film" not in text.split("<style>")[0] and '<figure class="film">' not in text
    assert '<figure class="film">' in report_text(swing, robot=ARM)
    tp.report([swing, swing], tmp_path / "two.html", robot=ARM)
    assert (tmp_path / "two.html").stat().st_size < 500_000


def test_a_loop_that_diverged_is_shown_to_its_end():
    with pytest.warns(tp.TaupiWarning, match="diverged"):
        bad = trial(tp.SlotineLi(ARM, K=[1e5, 1e5]), tp.RigidPlant(ARM), name="bad")
    good = trial(tp.SlotineLi(ARM, K=[60.0, 20.0]), tp.RigidPlant(ARM), name="good")
    text = report_text([good, bad])
    page = Page(text)
    assert f"diverged after {bad.run.time[-1]:.4g} s" in page.table("law")[2][-1]
    assert any(w.startswith("bad: Diverged: not finite after") for w in page.words)
    chosen = figure(text, "joint1")
    low, high = (float(v) for v in re.search(r'data-range="(.*?)"', chosen)[1].split())
    assert high - low < 100  # what ran away has not made the rest invisible
    t, _, _ = line(chosen, "n1 c1")
    assert t.max() <= bad.run.time[-1] + 1e-4 < good.run.time[-1]


def verdict(text):
    """The level and the words of a page's verdict; none if it has none."""
    return re.findall(r'<div class="verdict (\w*)"><p><b>(.*?)</b>', text)


def test_a_page_begins_with_what_became_of_the_run(trials, one, several):
    rows = [t.summary() for t in trials]
    ((level, words),) = verdict(one)
    assert (
        rows[0]["rms_error_last"] > 1.2 * rows[0]["rms_error_first"] and level == "doubtful"
    )  # it has picked something up
    assert words.startswith("slotine_li follows less closely at the end than at the start: ")
    assert words.endswith("V rises.") == (rows[0]["V_largest_rise"] > 1e-3)
    best, second, _ = sorted(rows, key=lambda row: row["rms_error_last"])
    words = verdict(several)[0][1]
    assert (
        words.startswith(f"{best['law']} follows most closely at the end: ")
        and f"; next is {second['law']} with " in words
    )
    learns = trial(tp.SlotineLi(ARM, K=[60.0, 20.0]), tp.RigidPlant(ARM), duration=4.0)
    row = learns.summary()
    times = row["rms_error_first"] / row["rms_error_last"]
    assert verdict(report_text(learns))[0][1].startswith(f"slotine_li follows {times:.2g} times as closely at the end")
    assert not verdict(report_text(tp.simulate(tp.RigidPlant(ARM), duration=0.1, initial=[0.1, 0.2])))


def test_the_verdict_on_a_run_that_gets_worse_or_diverges():
    law = tp.SlotineLi(ARM, K=[60.0, 20.0])
    run = tp.simulate(tp.RigidPlant(ARM), law, MOTION, duration=1.0)  # the estimate is right, the arm on its path
    drift = np.linspace(0, 0.1, len(run))[:, None]
    worse = tp.laws.Trial(dataclasses.replace(run, q=run.q + drift), name="worse")
    assert verdict(report_text(worse))[0][0] == "doubtful"
    assert "worse follows less closely at the end" in verdict(report_text(worse))[0][1]
    with pytest.warns(tp.TaupiWarning, match="diverged"):
        bad = trial(tp.SlotineLi(ARM, K=[1e5, 1e5]), tp.RigidPlant(ARM), name="bad")
    assert verdict(report_text(bad)) == [("wrong", f"It diverges after {bad.run.time[-1]:.4g} s.")]
    assert verdict(report_text([bad, bad])) == [("wrong", "All laws diverge.")]


def test_elastic_joints_have_deflections_and_no_v():
    plant = tp.ElasticPlant(ARM, (tp.terms.StribeckCurve.document(), "damping"), payloads=[(0.1, tp.Payload(0.3))])
    own, rigid = (trial(law, plant, 0.2) for law in (tp.laws.ElasticPDGravity(ARM), tp.SlotineLi(ARM)))
    assert own.lyapunov is None and rigid.lyapunov is None and not own.remarks
    assert rigid.remarks == ("The joints are elastic, the law is that of a rigid arm: it may shake the springs.",)
    t, value, span = line(figure(report_text(own), "deflection theta - q"), "n1 c1")
    bent = (own.run.theta - own.run.q)[:, 1]
    assert np.abs(np.interp(t, own.run.time, bent) - value).max() < 0.01 * span
    beside = report_text([own, rigid])
    assert len(figures(beside)) and figure(beside, "joint2, deflection") and "coupling" in beside


def test_names_of_users_are_text():
    joints = tuple(dataclasses.replace(j, name=f"<i>{j.name}") for j in ARM.joints)
    arm = dataclasses.replace(ARM, name="<script>x</script>", joints=joints)
    law = tp.SlotineLi(arm, K=[60.0, 20.0])
    text = report_text(trial(law, tp.RigidPlant(arm), 0.1, name="</script><b>"))
    assert "<script>x" not in text and "</script><b>" not in text
    page = Page(text)
    assert "<script>x</script> under </script><b>" in page.words and any("<i>joint1" in w for w in page.words)


def test_provenance_and_settings(trials):
    page = Page(run_page(trials[0], provenance={"command": "taupi control x"}))
    words = " ".join(page.words)
    assert "taupi control x" in words and ARM.fingerprint in words
    settings = {row[0]: row[1] for row in page.table("law")[1:]}
    assert settings["Lambda"] == "5" and settings["K"] == "60, 20"
    plant = {row[0]: row[1] for row in page.table("plant")[1:]}
    assert plant["torque_limits"] == "30, 10" and "0.3" in plant["payloads"] and "axes" not in plant


def test_bad_arguments(tmp_path, trials):
    path = tmp_path / "x.html"
    for result, message in (
        (3, "expected a Fit, a Run, a Trial"),
        ([], "list of them"),
        ([trials[0], 3], "list of them"),
    ):
        with pytest.raises(TaupiError, match=message):
            tp.report(result, path)
    with pytest.raises(TaupiError, match="runs have none"):
        tp.report(trials[0], path, "log.csv")
    with refused("robot", n=6, run_n=2):
        tp.report(trials[0].run, path, robot=tp.load("puma560"))
    other = tp.simulate(tp.RigidPlant(tp.load("elbow2r")), duration=0.1)
    with pytest.raises(TaupiError, match="different joints"):
        tp.report([trials[0], other], path)
    assert not path.exists()


def test_the_last_number_of_an_axis_is_not_cut(one):
    assert ".chart > svg { overflow: visible; }" in one


def test_many_laws_stay_small(trials):
    assert len(report_text(trials * 4)) < 3_000_000
    assert run_content(trials * 4).points < run_content(trials).points


def test_logarithmic_charts():
    t = np.linspace(0, 1, 50)
    text = chart("V", "J", t, [Line("V", "measured", np.where(t < 0.5, np.exp(-9 * t), -1.0))], "g", log=True)
    times, values, _ = line(text, "measured")
    assert times.max() < 0.5 and np.abs(values / np.exp(-9 * times) - 1).max() < 5e-3
    assert log_ticks(-4.2, 1.3) == [-4.0, -3.0, -2.0, -1.0, 0.0, 1.0] and len(log_ticks(0.01, 0.012)) > 1


@pytest.mark.parametrize("values", [[-1e308, 1e308], [0.0, 1e-320], [5e-324, 5e-324], [np.inf, np.nan], [3.0, 3.0]])
def test_axes_of_runs_that_left_all_bounds(values):
    """An infinite margin, or one below the smallest number, has no ticks."""
    low, high = extent([np.array(values)])
    assert -np.inf < low < high < np.inf and high - low < np.inf
    assert ticks(low, high, 5) and all(np.isfinite(ticks(low, high, 5)))
