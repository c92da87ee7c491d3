"""Reports: well-formed, self-contained, and the numbers are those of the fit. Pictures of fits: what they show."""

import dataclasses
import importlib
import json
import re

import numpy as np
import pytest
from fits import friction_fit, friction_log
from pages import Page

import taupi as tp
from taupi.errors import TaupiError
from taupi.model.zero_pose import zero_pose
from taupi.reporting.chart import SPAN, TALL, Line, chart, extent, thinned, ticks
from taupi.reporting.dots import model_curves
from taupi.reporting.ellipsoids import BodyComparison, bodies_figure, body_of, compare_bodies
from taupi.reporting.fit_content import fit_content
from taupi.reporting.report import report_text
from taupi.reporting.sections.base import percent
from taupi.reporting.sections.fit import FIT_SECTIONS, MOST, POINTS
from taupi.reporting.skeleton import AZIMUTH, ELEVATION
from taupi.signals.log import LogSource


@pytest.fixture(scope="module")
def validation():
    return friction_fit().validate(friction_log(2))


@pytest.fixture(scope="module")
def text(validation):
    return report_text(friction_fit(), validation, friction_log(1))


def test_it_is_one_well_formed_file_without_network(text):
    page = Page(text)
    names = [s.name for s in FIT_SECTIONS if s.name != "springs"]  # a rigid robot has none
    assert page.ids == names and page.addresses == [f"#{name}" for name in names]
    assert text.startswith("<!DOCTYPE html>") and len(text) < 1_000_000
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)|@import|url\(", text)


def test_parameters_are_those_of_the_fit(text):
    fit = friction_fit()
    head, *rows = Page(text).table("base parameter")
    assert head[:5] == ["base parameter", "value", "± standard error", "unit", "relative"]
    prior = fit.basis.project(fit.prior)
    for row, name, value, error, (low, high), expected, e in zip(
        rows, fit.names, fit.values, fit.stderr, fit.intervals(), prior, fit.basis.expressions, strict=True
    ):
        assert row[0] == name and float(row[2]) == pytest.approx(error, rel=0.05)
        assert float(row[1]) == pytest.approx(value, rel=5e-5, abs=0.051 * error)  # rounded to its error
        assert row[4] == percent(error / abs(value))
        ends = [float(end) for end in row[6].split(" .. ")]
        assert ends == pytest.approx([low, high], rel=5e-5, abs=0.051 * error)
        assert row[7:] == [f"{expected:.5g}", str(e)]
    _, *standard = Page(text).table("standard parameter")
    assert {r[0]: r[2] for r in standard} == dict(fit.basis.classes)


def test_a_page_has_one_count_of_base_parameters():
    """The page and the summary line count alike, those of friction that bends among them."""
    fit = tp.identify(tp.load("elbow2r"), friction_log(1), cutoff_hz=15)
    tiles = dict(re.findall(r"<div><b[^>]*>([^<]*)</b><span>([^<]*)</span></div>", report_text(fit)))
    counts = {words: value for value, words in tiles.items() if "parameters" in words and "zero" not in words}
    base, bent = fit.basis.linear.count, fit.basis.count - fit.basis.linear.count
    assert bent == 4
    assert [value for words, value in counts.items() if words == "base parameters"] == [str(base + bent)]
    assert fit.summary.startswith(f"{base + bent} base parameters ")
    assert [value for words, value in counts.items() if "friction" in words] == [str(bent)]
    assert {value.split()[-1] for words, value in counts.items() if "determine" in words} == {str(base)}


def test_validation_is_that_of_the_log(text, validation):
    tables = [t for t in Page(text).tables if t[0][:3] == ["joint", "unit", "samples"]]
    held_out, fitted = tables
    for row, j in zip(held_out[1:-1], validation.joints, strict=True):
        assert row == [
            j.name,
            "N m",
            str(j.rows),
            f"{j.rms:.4g}",
            percent(j.relative),
            f"{j.r2:.5g}",
            f"{j.raw_rms:.4g}",
        ]
    assert held_out[-1][4] == percent(validation.relative)
    assert fitted[-1][4] == percent(friction_fit().relative)
    assert f"{friction_fit().relative:.2%}" in friction_fit().summary


def test_charts_hold_the_torque(text, validation):
    """The points of a line, brought back to numbers, are the torque to the width of a pixel."""
    figures = re.findall(r'<figure class="chart".*?</figure>', text, re.DOTALL)
    assert len(figures) == 2 * 2 * 2  # torque and what is left of it, two logs, two joints
    lines = {
        "measured": (2, validation.measured),
        "predicted": (2, validation.predicted),
        "residual": (3, validation.residual),
    }
    for kind, (place, wanted) in lines.items():
        figure, want = figures[place], wanted[:, 1]
        low, high = (float(v) for v in re.search(r'data-range="(.*?)"', figure)[1].split())
        start, stop = (float(v) for v in re.search(r'data-span="(.*?)"', figure)[1].split())
        assert (start, stop) == (validation.elapsed[0], validation.elapsed[-1])
        points = re.search(rf'<polyline class="{kind}" points="(.*?)"', figure)[1]
        x, y = np.array([p.split(",") for p in points.split()], dtype=float).T
        t, value = start + (stop - start) * x / SPAN, high - (high - low) * y / TALL
        assert np.abs(np.interp(t, validation.elapsed, want) - value).max() < 2e-3 * np.ptp(want)
        assert value.max() == pytest.approx(want.max(), abs=1e-3 * np.ptp(want))


def test_every_axis_has_its_unit(text):
    for figure in re.findall(r'<figure class="chart".*?</figure>', text, re.DOTALL):
        words = re.findall(r"<text.*?>(.*?)</text>", figure)
        assert sum(w.endswith(" s") for w in words) == 1 and words.count("N m") == 1
    for figure in re.findall(r'<figure class="scatter".*?</figure>', text, re.DOTALL):
        assert {"velocity, rad/s", "friction, N m"} <= set(re.findall(r"<text.*?>(.*?)</text>", figure))


def test_parts_of_the_torque_are_friction_and_the_description(validation):
    """Of an arm without friction in its description: the rest of the description is the robot, up to the noise of the log."""
    fit, parts = friction_fit(), validation.parts
    values = dict(zip(fit.names, fit.values, strict=True))
    fast = np.abs(parts.velocity) > 0.3
    for j, joint in enumerate(("shoulder", "elbow")):
        v = parts.velocity[:, j]
        model = values[f"{joint}.viscous"] * v + values[f"{joint}.coulomb"] * np.sign(v) + values[f"{joint}.offset"]
        rows = fast[:, j] & (np.convolve(~fast[:, j], np.ones(25), "same") < 0.5)  # the filter rounds the jumps
        assert rows.sum() > 300 and np.abs(model - parts.friction[:, j])[rows].max() < 0.03
    rigid = validation.predicted - parts.friction
    assert np.linalg.norm(rigid - parts.described) < 0.03 * np.linalg.norm(rigid)


def test_friction_is_drawn_over_velocity_with_its_data(text, validation):
    figures = re.findall(r'<figure class="scatter".*?</figure>', text, re.DOTALL)
    assert len(figures) == 2
    for figure in figures:
        dots = re.search(r'class="dots" d="(.*?)"', figure)[1]
        assert 100 < dots.count("M") <= 720 and re.search(r'class="model" d="(.*?)"', figure)[1].count("M") == 2
    v = np.linspace(-2, 2, 4001)
    for u, f in model_curves(v, 3 * np.sign(v) + 0.5 * v):
        assert np.abs(f - 3 * np.sign(u) - 0.5 * u).max() < 1e-9


def test_bodies_are_those_of_the_fit(text):
    """Each ellipse is the shadow of the ellipsoid: its extent across the page is that of the projected solid."""
    fit = friction_fit()
    bodies = compare_bodies(fit)
    rows = [r for t in Page(text).tables if t[0][0] == "link" for r in t[1:]]
    layout = fit.basis.standard.layout
    for k, (row, name) in enumerate(zip(rows, fit.robot.link_names, strict=True)):
        before, after = (float(p[layout.link(k)][0]) for p in (fit.prior, fit.standard))
        assert row[:2] == [name, f"{before:.4g}"] and float(row[2]) == pytest.approx(after, rel=0.05)
        alone = {"combined": "not determined", "unidentifiable": "affects no torque"}
        assert row[3] == alone[fit.basis.classes[f"{name}.m"]]
    data = json.loads(
        re.search(r'class="bodies">.*?<script type="application/json">(.*?)</script>', text, re.DOTALL)[1]
    )
    assert [b["kind"] for b in data["bodies"]].count("described") == sum(map(bodies.drawn, bodies.described))
    figure = re.search(r'<figure class="bodies">.*?</figure>', text, re.DOTALL)[0]
    drawn = re.findall(r'rx="(\d+)" ry="(\d+)" transform="translate\((-?\d+) (-?\d+)\) rotate\((-?[\d.]+)\)', figure)
    u = np.random.default_rng(0).normal(size=(3, 4000))
    u /= np.linalg.norm(u, axis=0)
    ca, sa, ce, se = np.cos(AZIMUTH), np.sin(AZIMUTH), np.cos(ELEVATION), np.sin(ELEVATION)
    flat = np.array([[-sa, ca, 0.0], [se * ca, se * sa, -ce]])
    for body, numbers in zip(data["bodies"], drawn, strict=True):
        rx, ry, x, y, turn = map(float, numbers)
        shadow = flat @ (np.array(body["centre"])[:, None] + np.array(body["shape"]) @ u) - [[x], [y]]
        c, s = np.cos(np.deg2rad(turn)), np.sin(np.deg2rad(turn))
        own = np.array([[c, s], [-s, c]]) @ shadow
        assert np.abs(own).max(axis=1) == pytest.approx([rx, ry], rel=0.05, abs=3)


def test_bodies_of_an_arm_in_space_are_seen_from_where_the_film_is():
    """Of a PUMA 560: higher is higher on the page, and each centre lies where the view of an arm puts it."""
    puma = tp.load("puma560")
    pose, layout = zero_pose(puma), puma.parameters.layout
    bodies = tuple(body_of(puma.parameters.values[layout.link(k)]) for k in range(6))
    compared = BodyComparison(puma, puma.link_names, bodies, bodies, pose)
    figure = bodies_figure(compared)
    data = json.loads(re.search(r'<script type="application/json">(.*?)</script>', figure, re.DOTALL)[1])
    drawn = re.findall(r"translate\((-?\d+) (-?\d+)\)", figure)
    centres = np.array([b["centre"] for b in data["bodies"]], dtype=float)
    ca, sa, ce, se = np.cos(AZIMUTH), np.sin(AZIMUTH), np.cos(ELEVATION), np.sin(ELEVATION)
    up = centres @ np.array([-se * ca, -se * sa, ce])
    right = centres @ np.array([-sa, ca, 0.0])
    assert np.abs(np.array(drawn, dtype=float) - np.stack([right, -up], axis=1)).max() < 2
    shown = [b for b in bodies if b is not None]
    world = np.array([(p @ [*b.com, 1.0])[:3] for b, p in zip(bodies, pose.links, strict=True) if b is not None])
    steps = np.linalg.norm(np.diff(world, axis=0), axis=1) / np.linalg.norm(
        np.diff(centres[: len(shown)], axis=0), axis=1
    )
    assert np.ptp(steps) < 0.02 * steps.mean()  # one scale for all


def test_the_description_alone_is_compared(text, validation):
    rows = Page(text).table("log")[1:]
    residual = validation.measured - validation.parts.described
    share = np.linalg.norm(residual) / np.linalg.norm(validation.measured)
    assert rows[0][2:] == [percent(validation.relative), percent(share)] and share > 3 * validation.relative


def test_words_of_the_conditioning_the_signals_and_the_record(text):
    fit, words = friction_fit(), " ".join(Page(text).words)
    for sentence in (*fit.conditioning["sentences"], *fit.provenance["logs"][0]["notes"]):
        assert sentence in words
    assert tp.__version__ in words and "Drag over a chart" in words


def test_names_of_users_are_text():
    """Names with markup in them, of robots, joints, links and logs, show as they are and run nothing."""
    arm = tp.load("elbow2r")
    joints = tuple(dataclasses.replace(j, name=f"<i>{j.name}") for j in arm.joints)
    links = tuple(dataclasses.replace(k, name=f"{k.name}&amp;<b>") for k in arm.links)
    arm = dataclasses.replace(arm, name="<script>x</script>", joints=joints, links=links)
    log = friction_log(1).with_(names=arm.joint_names, source=LogSource("a<u>.csv"))
    fit = tp.identify(arm, log, terms=("viscous",), cutoff_hz=15)
    text = report_text(fit, fit.validate(log))
    page = Page(text)
    assert "<script>x" not in text and "Identification of <script>x</script>" in page.words
    assert [row[0] for row in page.table("base parameter")[1:]] == list(fit.names)
    assert page.table("joint")[1][0] == "<i>shoulder" and "a<u>.csv " in page.words


def test_what_was_not_determined_says_so():
    log = friction_log(1)
    q = np.array(log.q)
    q[:, 1] = 0.3
    fit = tp.identify(tp.load("elbow2r"), log.with_(q=q), cutoff_hz=15)
    page = Page(report_text(fit))
    rows = page.table("base parameter")[1:]
    for row, unknown in zip(rows, fit.undetermined, strict=True):
        assert (row[2] == "not determined") == unknown
    assert "No log was held out" in " ".join(page.words)
    assert "inf" not in {c for r in rows for c in r} and "nan" not in {c for r in rows for c in r}


def test_many_long_logs_stay_small(validation):
    fit = friction_fit()
    content = fit_content(fit, [validation] * 12, [])
    text = report_text(fit, [validation] * 12)
    assert sum(line.count(",") for line in re.findall(r'points="(.*?)"', text)) < 1.2 * POINTS
    assert len(content.traces) == 12 and len(text) < 3_000_000


def test_thinning_keeps_extremes_and_ends():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 10_007))
    rows = thinned(400, [x, y])
    assert len(rows) <= 402 and (np.diff(rows) > 0).all() and rows[0] == 0 and rows[-1] == 10_006
    for series in (x, y):
        assert {series.argmin(), series.argmax()} <= set(rows.tolist())
    assert np.array_equal(thinned(MOST, [x[:50]]), np.arange(50))


@pytest.mark.parametrize(
    "values", [np.zeros(5), np.full(5, 3.0), np.array([np.nan] * 5), np.array([1, np.nan, 2, 3, np.nan])]
)
def test_charts_of_odd_data(values):
    text = chart("<j>", "N m", np.arange(5.0), [Line("measured", "measured", values)], 'a"b')
    Page(text)
    assert "nan" not in text and text.count("<polyline") == (
        0 if np.isnan(values).all() else 2 if np.isnan(values).any() else 1
    )
    low, high = extent([values])
    assert low < high


@pytest.mark.parametrize(("low", "high"), [(0, 1), (-3, 7), (1e-9, 3e-9), (1e6, 1e6 + 1), (-0.037, 0.021)])
def test_ticks_are_round_and_inside(low, high):
    marks = ticks(low, high, 5)
    assert 3 <= len(marks) <= 8 and min(marks) >= low - 1e-9 * abs(low) and max(marks) <= high + 1e-9 * abs(high)
    steps = np.diff(marks)
    assert np.allclose(steps, steps[0], rtol=1e-6) and f"{steps[0]:.0e}"[0] in "125"


def test_files_and_bad_arguments(tmp_path, validation):
    path = tmp_path / "report.html"
    tp.report(friction_fit(), path, validation)
    first = path.read_bytes()
    with pytest.raises(TaupiError, match="exists already"):
        tp.report(friction_fit(), path)
    tp.report(friction_fit(), str(path), [validation], force=True)
    assert path.read_bytes() == first
    with pytest.raises(TaupiError, match=r"ending in \.html"):
        tp.report(friction_fit(), tmp_path / "report.pdf")
    with pytest.raises(TaupiError, match="expected a Fit"):
        tp.report(3, tmp_path / "other.html")
    with pytest.raises(TaupiError, match="expected a Log or the path"):
        tp.report(friction_fit(), tmp_path / "other.html", [3])
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]


def test_sections_can_be_left_out():
    text = report_text(friction_fit(), sections=[s for s in FIT_SECTIONS if s.name == "summary"])
    assert Page(text).ids == ["summary"]


class Count:
    """A section with its template in the class."""

    name, title, template = "count", "How many", "<p>$count of them</p>"

    def fields(self, content):
        return {"count": str(len(content.parameters))}


class Silent(Count):
    name = "silent"

    def fields(self, content):
        return None


def test_a_section_of_ones_own():
    page = Page(report_text(friction_fit(), sections=[Count(), Silent()]))
    assert page.ids == ["count"] and f"{len(friction_fit().values)} of them" in page.words


def test_a_section_of_ones_own_with_a_template_beside_it(tmp_path, monkeypatch):
    """Its template is the file of its name beside its module, as in the package."""
    source = "class Hello:\n    name, title = 'hello', 'Hello'\n    fields = lambda self, content: {'robot': content.robot}\n"
    (tmp_path / "my_section.py").write_text(source)
    (tmp_path / "hello.html").write_text("<p>Hello, $robot!</p>")
    monkeypatch.syspath_prepend(tmp_path)
    section = importlib.import_module("my_section").Hello()
    assert "Hello, elbow2r!" in Page(report_text(friction_fit(), sections=[section])).words


@pytest.mark.parametrize("kind", ["fit", "run", "excitation", "fleet", "payload"])
def test_a_page_has_every_section_of_its_file_once(kind):
    """And one that all pages share, at the end."""
    module = importlib.import_module(f"taupi.reporting.sections.{kind}")
    pages = [value for name, value in vars(module).items() if name.endswith("_SECTIONS")]
    own = {name for name, value in vars(module).items() if isinstance(value, type) and name.endswith("Section")}
    assert {type(s).__name__ for sections in pages for s in sections} == own - {"Section"}
    for *sections, last in pages:
        assert last.name == "provenance" and len({s.name for s in sections}) == len(sections)


def test_picture_of_a_validation(validation, tmp_path):
    figure = tp.plot(validation, tmp_path / "v.png")
    assert (tmp_path / "v.png").read_bytes().startswith(b"\x89PNG")
    assert len(figure.axes) == 4
    for j in range(2):
        upper, lower = figure.axes[2 * j : 2 * j + 2]
        drawn = {line.get_label(): line.get_data() for line in (*upper.lines, *lower.lines)}
        assert np.array_equal(drawn["measured"][1], validation.measured[:, j])
        assert np.array_equal(drawn["predicted"][1], validation.predicted[:, j])
        assert np.array_equal(drawn["residual"][1], validation.residual[:, j])
        assert f"{validation.joints[j].relative:.2%}" in upper.get_title(loc="left")


def test_picture_of_a_fit():
    fit = friction_fit()
    figure = tp.plot(fit)
    labels = [t.get_text() for a in figure.axes for t in a.get_yticklabels()]
    assert sorted(labels) == sorted(fit.names)
    at = {}
    for axes in figure.axes:
        names = dict(zip(axes.get_yticks().tolist(), (t.get_text() for t in axes.get_yticklabels()), strict=True))
        for bars in axes.containers:
            line, _, (spans,) = bars.lines
            for x, y, span in zip(*line.get_data(), spans.get_segments(), strict=True):
                at[names[float(y)]] = (x, *span[:, 0])
    low, high = fit.intervals().T
    for k, name in enumerate(fit.names):
        assert at[name] == pytest.approx((fit.values[k], low[k], high[k]))


def test_the_evidence_for_a_cause_is_drawn_block_by_block(tmp_path):
    arm, t = tp.load("elbow2r"), np.arange(4000)[:, None] / 200
    w = np.array([1.0, 1.7])
    q, qd, qdd = np.sin(w * t), w * np.cos(w * t), -w * w * np.sin(w * t)
    tau = tp.inverse_dynamics(arm)(q, qd, qdd) + 0.05 * np.random.default_rng(0).normal(size=q.shape)
    with pytest.warns(tp.TaupiWarning):
        fit = tp.identify(arm, tp.Log(t[:, 0], q * [1, -1], tau=tau), terms=("viscous",))
    (reason,) = (r for r in fit.verdict.details if r.blocks)
    before, after = np.array(reason.blocks).T
    assert reason.cause == "sign" and (after < 0.1 * before).all()
    tp.report(fit, tmp_path / "fit.html")
    text = (tmp_path / "fit.html").read_text(encoding="utf-8")
    assert text.count("block 1, as recorded") == 1 and text.count(", mended: ") == len(reason.blocks)
    assert "Usable" not in text  # what is wrong is not called usable
    assert type(fit.verdict).from_dict(fit.verdict.to_dict()).details == fit.verdict.details


def test_only_what_the_logs_determine_alone_looks_like_a_result():
    """A cart is weighed, with an error; the mass of what turns on it is not: both rows say so, and have no digits of noise."""
    cart = tp.Robot.from_dh([{"joint": "prismatic"}], links=[{"m": 3.0}], gravity=(0, 0, -9.81), name="cart")
    t = np.arange(0, 10, 0.01)
    log = tp.Log(t, 0.2 * np.sin(3 * t)[:, None], names=cart.joint_names)
    qdd = -1.8 * np.sin(3 * t)[:, None]
    noise = 0.1 * np.random.default_rng(0).normal(size=qdd.shape)
    log = log.with_(tau=tp.inverse_dynamics(cart)(log.q, 0.6 * np.cos(3 * t)[:, None], qdd) + noise)
    fit = tp.identify(cart, log, terms=(), cutoff_hz=15)
    content = fit_content(fit, [], [])
    mass, *others = content.standard
    assert mass.determined and mass.stderr == pytest.approx(float(fit.stderr[0]))
    assert not any(row.determined for row in others) and all(np.isinf(row.stderr) for row in others)
    combined = [row for row in fit_content(friction_fit(), [], []).standard if row.kind == "combined"]
    assert combined and not any(row.determined for row in combined)


def test_charts_count_time_from_the_first_sample_of_the_file(tmp_path):
    """As --from and --to do, whatever the log's own clock says, and if only a part was read."""
    log = friction_log(2)
    tp.write_log(log.with_(time=log.time + 1.7e9), tmp_path / "late.csv")
    part = tp.read_log(tmp_path / "late.csv", begin=2.0, end=6.0)
    assert part.origin == pytest.approx(1.7e9 + log.time[0]) and part.time[0] - part.origin == pytest.approx(2.0)
    with pytest.warns(tp.TaupiWarning, match="faster"):
        validation = friction_fit().validate(part)
    assert 2.0 <= validation.elapsed[0] < 3.0
    assert 5.0 < validation.elapsed[-1] < 6.0
    assert np.array_equal(fit_content(friction_fit(), [validation], []).traces[0].time, validation.elapsed)
