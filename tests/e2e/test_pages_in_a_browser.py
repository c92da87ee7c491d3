"""Pages in a real browser: nothing goes wrong or is fetched, zoom, readout and keys do what they say, and they fit on a phone."""

import itertools
import re
from pathlib import Path

import numpy as np
import pytest
from browser import assert_looks_like, chromium, opened, spacing, until
from fits import friction_fit, friction_log

import taupi as tp

NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
LIMITS = {"lower": -1.5, "upper": 1.5, "velocity": 2.0, "acceleration": 10.0, "effort": 60.0}
VIEWS = "Array.from(document.querySelectorAll('figure.chart .view'), v => v.getAttribute('viewBox').split(' ')[2])"

TOPS = "Array.from(document.querySelectorAll('{}'), e => e.getBoundingClientRect().top + scrollY)"
# How many pixels of a film are not empty.
PAINTED = """(() => {
    const c = document.querySelector('.film canvas'), data = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
    return data.filter((v, i) => i % 4 === 3 && v > 0).length;
})()"""


@pytest.fixture(scope="module")
def browser():
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def run_page(tmp_path_factory):
    arm = tp.load("elbow2r")
    law, plant = tp.SlotineLi(arm), tp.RigidPlant(arm, payloads=[(0.5, tp.Payload(1.0))])
    motion = tp.Sinusoids([0.0, 0.5], [[0.4], [0.3]], [[1.0], [1.4]])
    run = tp.simulate(plant, law, motion, duration=1.0, parameters=0.5 * law.parameters.values)
    trial = tp.laws.Trial(run, law, plant)
    path = tmp_path_factory.mktemp("page") / "run.html"
    tp.report(trial, path)
    return path.as_uri(), trial


@pytest.fixture(scope="module")
def fit_page(tmp_path_factory):
    fit = friction_fit()
    with pytest.warns(tp.TaupiWarning, match="faster"):
        validation = fit.validate(friction_log(2))
    path = tmp_path_factory.mktemp("page") / "fit.html"
    tp.report(fit, path, validation, fitted=friction_log(1))
    return path.as_uri(), validation


@pytest.fixture(scope="module")
def excitation_page(tmp_path_factory):
    plan = tp.excite(tp.load("elbow2r"), 4.0, limits=LIMITS, starts=1, seed=1)
    path = tmp_path_factory.mktemp("page") / "excitation.html"
    tp.report(plan, path)
    return path.as_uri(), plan


def arm_log(seed, **friction):
    """Return a noisy log of the arm with friction of its own."""
    robot, t = tp.load("elbow2r").with_friction(**friction), np.arange(0, 12, 0.01)
    q, qd, qdd = tp.BSpline.random([0.0, 0.0], [1.6, 1.6], count=20, duration=12.0, seed=seed)(t)
    tau = tp.inverse_dynamics(robot, terms=("viscous", "coulomb"))(q, qd, qdd)
    return tp.Log(t, q, tau=tau + 0.1 * np.random.default_rng(seed).normal(size=q.shape), names=robot.joint_names)


@pytest.fixture(scope="module")
def fleet_page(tmp_path_factory):
    rng = np.random.default_rng(0)
    logs = {
        f"arm-{k}": arm_log(k, viscous=0.5 * np.exp(0.1 * rng.normal(size=2)), coulomb=[0.4, 1.5 if k == 3 else 0.4])
        for k in range(6)
    }
    fleet = tp.identify_fleet(tp.load("elbow2r"), logs, own=("viscous", "coulomb"), cutoff_hz=10)
    path = tmp_path_factory.mktemp("page") / "fleet.html"
    tp.report(fleet, path)
    return path.as_uri(), fleet


@pytest.fixture(scope="module")
def study_page(tmp_path_factory):
    study = tp.ensembles.robustness(tp.load("elbow2r"), duration=2.0, rate=500, roll_outs=16)
    path = tmp_path_factory.mktemp("page") / "study.html"
    study.write(path)
    return path.as_uri(), study


@pytest.fixture(scope="module")
def payload_page(tmp_path_factory):
    arm = tp.load("elbow2r")
    motion = tp.BSpline.random([0.0, 0.0], [1.6, 1.6], count=20, duration=12.0, seed=1)
    t, logs = np.arange(0, 12, 0.01), []
    for k, robot in enumerate((arm, arm.with_payload(1.2, (0.05, 0.02, 0.0)))):
        q, qd, qdd = motion(t)
        tau = tp.inverse_dynamics(robot)(q, qd, qdd) + 0.1 * np.random.default_rng(k).normal(size=q.shape)
        logs.append(tp.Log(t, q, tau=tau, names=arm.joint_names))
    load = tp.identify_payload(tp.identify(arm, logs[0], terms=()), logs[1], gain_uncertainty=0)
    path = tmp_path_factory.mktemp("page") / "payload.html"
    tp.report(load, path)
    return path.as_uri(), load


@pytest.fixture(params=["fit_page", "run_page", "excitation_page", "fleet_page", "study_page", "payload_page"])
def any_page(request):
    return request.param.removesuffix("_page"), request.getfixturevalue(request.param)[0]


def dragged(page, chart, start, stop):
    """Drag the pointer over a chart from one share of its width to another; return its height on the page."""
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + start * box["width"], y)
    page.mouse.down()
    page.mouse.move(box["x"] + stop * box["width"], y, steps=4)
    page.mouse.up()
    return box, y


def numbers(text):
    return [float(v) for v in NUMBER.findall(text)]


def test_nothing_goes_wrong_it_fits_and_looks_as_it_did(browser, any_page):
    name, address = any_page
    for width in (1400, 400):
        for scheme in ("light", "dark"):
            page, mistakes, fetched = opened(browser, address, width, scheme)
            assert mistakes == [] and fetched == [address]
            assert spacing(page, width) <= 0, (width, scheme)
            paper, ink = (page.evaluate(f"getComputedStyle(document.body).{k}") for k in ("backgroundColor", "color"))
            light = [sum(map(int, re.findall(r"\d+", colour)[:3])) for colour in (paper, ink)]
            assert (light[0] > light[1]) == (scheme == "light")
            assert_looks_like(page, f"{name}-{width}-{scheme}")
            page.close()


def test_tables_show_their_last_columns_on_a_laptop(browser, any_page):
    page, _, _ = opened(browser, any_page[1], 1200)
    over = "[...document.querySelectorAll('.wide')].map((e) => e.scrollWidth - e.clientWidth)"
    assert max(page.evaluate(over), default=0) <= 0
    page.close()


def test_labels_can_be_read_on_a_phone(browser, fit_page):
    page, _, _ = opened(browser, fit_page[0], 400)
    heights = page.evaluate(
        "Array.from(document.querySelectorAll('.axes text.y'), t => t.getBoundingClientRect().height)"
    )
    assert heights and min(heights) > 11
    page.close()


def test_zoom_moves_all_charts_and_a_double_click_brings_them_back(browser, run_page):
    page, mistakes, _ = opened(browser, run_page[0])
    before = page.evaluate(VIEWS)
    box, y = dragged(page, page.locator("figure.chart svg").first, 0.4, 0.6)
    zoomed = page.evaluate(VIEWS)
    readout = page.locator("figure.chart output").first
    after_zooming = readout.text_content()
    page.mouse.move(box["x"] + 0.6 * box["width"] + 0.01, y)  # where it was: the readout was right already
    said = [numbers(text) for text in (after_zooming, readout.text_content())]
    assert said[0] and said[0] == pytest.approx(said[1], rel=1e-3)
    assert all(float(new) < 0.4 * float(old) for new, old in zip(zoomed, before, strict=True))
    page.mouse.dblclick(box["x"] + 0.5 * box["width"], y)
    assert page.evaluate(VIEWS) == before and mistakes == []
    page.close()


def test_charts_of_one_log_zoom_together_and_others_stay(browser, fit_page):
    page, _, _ = opened(browser, fit_page[0])
    before = page.evaluate(VIEWS)
    dragged(page, page.locator("#torque figure.chart svg").first, 0.3, 0.6)
    after = page.evaluate(VIEWS)
    moved = [a != b for a, b in zip(after, before, strict=True)]
    assert moved == [True] * 4 + [False] * 4  # two joints, torque and difference, of the first of two logs
    page.close()


@pytest.mark.parametrize("zoomed", [False, True])
def test_the_readout_is_the_fit(browser, fit_page, zoomed):
    """Time, torque measured and predicted and their difference below the pointer, before and after zooming."""
    page, _, _ = opened(browser, fit_page[0])
    validation = fit_page[1]
    pair = page.locator("#torque .pair").first
    chart = pair.locator("svg[role=img]").first
    if zoomed:
        dragged(page, chart, 0.3, 0.5)
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + box["height"] / 2)
    t, measured, predicted, difference = numbers(pair.locator("output").last.text_content())
    (a, _, wide, _), span = (
        [float(v) for v in NUMBER.findall(text)] for text in (chart.locator(".view").get_attribute("viewBox"), "100000")
    )
    frame = chart.locator(".frame").bounding_box()
    share = (box["x"] + 0.6 * box["width"] - frame["x"]) / frame["width"]
    first, last = validation.time[0], validation.time[-1]
    assert t == pytest.approx(first + (last - first) * (a + share * wide) / span[0], abs=0.02)
    for shown, line in (
        (measured, validation.measured),
        (predicted, validation.predicted),
        (difference, validation.residual),
    ):
        near = line[np.abs(validation.time - t) < 0.03, 0]
        assert near.min() - 0.02 * np.ptp(line[:, 0]) <= shown <= near.max() + 0.02 * np.ptp(line[:, 0])
    page.close()


def test_the_readout_is_the_run(browser, run_page):
    page, _, _ = opened(browser, run_page[0])
    run = run_page[1].run
    figure = page.locator("#drives figure.chart").first
    figure.scroll_into_view_if_needed()
    box = figure.locator("svg").first.bounding_box()
    page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + box["height"] / 2)
    text = figure.locator("output").text_content()
    t, *values = numbers(text)
    assert 0.4 < t < 0.8
    shown = np.interp(t, run.time, run.tau[:, 0])
    assert min(abs(v - shown) for v in values) < 0.02 * np.ptp(run.tau[:, 0]), text
    page.close()


def test_the_readout_covers_nothing(browser, fit_page):
    """Neither the curves nor the legend move or are covered when it appears."""
    for width in (1400, 400):
        page, _, _ = opened(browser, fit_page[0], width)
        chart = page.locator("#torque figure.chart svg[role=img]").first
        chart.scroll_into_view_if_needed()
        places = TOPS.format(".chart svg[role=img], .key, h2")
        before, box = page.evaluate(places), chart.bounding_box()
        page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 0.5 * box["height"])
        out = page.locator("#torque .pair output").nth(1).bounding_box()
        assert page.locator("#torque .pair output").nth(1).text_content() and page.evaluate(places) == before
        below = page.locator("#torque .pair").first.locator("svg[role=img]").last.bounding_box()
        assert out["y"] >= below["y"] + below["height"] - 1
        page.close()


def test_charts_by_keys(browser, fit_page):
    page, mistakes, _ = opened(browser, fit_page[0])
    chart = page.locator("#torque figure.chart svg[role=img]").first
    readout, before = page.locator("#torque .pair output").nth(1), page.evaluate(VIEWS)
    chart.focus()
    page.keyboard.press("ArrowRight")
    first = numbers(readout.text_content())[0]
    page.keyboard.press("Shift+ArrowRight")
    assert numbers(readout.text_content())[0] > first
    page.keyboard.press("+")
    assert float(page.evaluate(VIEWS)[0]) == pytest.approx(0.5 * float(before[0]))
    page.keyboard.press("Escape")
    assert page.evaluate(VIEWS) == before
    page.keyboard.press("Tab")
    assert readout.text_content() == "" and mistakes == []
    page.close()


def test_numbers_on_the_page_are_those_of_the_fit(browser, fit_page):
    page, _, _ = opened(browser, fit_page[0])
    fit = friction_fit()
    rows = page.locator("#parameters table").first.locator("tbody tr")
    assert rows.count() == len(fit.values)
    for k, (name, value) in enumerate(zip(fit.names, fit.values, strict=True)):
        cells = rows.nth(k).locator("td")
        shown = cells.nth(1).text_content()
        last = 10.0 ** -len(shown.partition(".")[2])  # what is shown is rounded to its error
        assert cells.nth(0).text_content() == name and float(shown) == pytest.approx(value, abs=0.5001 * last)
        assert float(cells.nth(2).text_content()) > last
    assert "Good" in page.locator("#verdict").text_content()
    page.close()


def test_the_table_of_parameters_does_not_jump(browser, fit_page):
    page, _, _ = opened(browser, fit_page[0], 1000)
    places = TOPS.format("#parameters tr")
    cells = page.locator("#parameters td.short")
    cells.first.scroll_into_view_if_needed()
    before = page.evaluate(places)
    for k in range(min(6, cells.count())):
        cells.nth(k).hover()
        assert page.evaluate(places) == before
    page.close()


def test_bodies_turn(browser, fit_page):
    page, mistakes, _ = opened(browser, fit_page[0])
    shapes = "Array.from(document.querySelectorAll('.bodies ellipse'), e => e.getAttribute('transform') + e.getAttribute('ry'))"
    still = page.evaluate(shapes)
    picture = page.locator(".bodies svg")
    dragged(page, picture, 0.4, 0.6)
    turned = page.evaluate(shapes)
    picture.focus()
    page.keyboard.press("ArrowUp")
    assert still and turned != still and page.evaluate(shapes) != turned and mistakes == []
    page.close()


def test_the_film_opens_at_its_first_frame_plays_and_turns(browser, run_page):
    page, mistakes, _ = opened(browser, run_page[0])
    clock, slider = page.locator(".film output"), page.locator(".film input")
    assert clock.text_content() == "0.00 s" and float(slider.input_value()) == 0
    ink = "document.querySelector('.film canvas').toDataURL()"
    assert page.evaluate(PAINTED) > 2000
    first = page.evaluate(ink)
    page.get_by_role("button", name="play or stop").click()
    assert until(page, lambda: numbers(clock.text_content())[0] > 0.3)
    assert page.evaluate(ink) != first and mistakes == []
    page.get_by_role("button", name="play or stop").click()  # on a busy machine it has ended, and begins again
    slider.fill("0.5")
    assert clock.text_content() == "0.50 s"
    page.close()


def test_it_prints_without_what_a_sheet_cannot_do(browser, run_page):
    page, _, _ = opened(browser, run_page[0], scheme="dark")
    page.emulate_media(media="print")
    assert not page.locator("nav").is_visible() and not page.locator(".film").is_visible()
    assert page.locator("svg.strip").is_visible()
    paper = page.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--paper')")
    assert paper.strip() == "#ffffff"  # ink on white paper, whatever the screen is
    page.close()


def test_nothing_is_cut_off_on_paper(browser, any_page):
    """Tables are as wide as a sheet at most, and charts of one group lie side by side."""
    page, _, _ = opened(browser, any_page[1], 700)  # A4 without its margins
    page.emulate_media(media="print")
    assert spacing(page, 700) <= 0
    boxes = "Array.from(document.querySelectorAll('.wide'), e => e.scrollWidth - e.clientWidth)"
    assert all(over <= 0 for over in page.evaluate(boxes))
    edges = page.evaluate("Array.from(document.querySelectorAll('td, th, svg'), e => e.getBoundingClientRect().right)")
    assert max(edges) <= 701
    lefts = page.evaluate("Array.from(document.querySelectorAll('.charts .axes'), e => e.getBoundingClientRect().left)")
    assert not lefts or len({round(v) > 300 for v in lefts}) == 2
    page.close()


def test_a_fleet_shows_its_arms_and_says_which_stands_out(browser, fleet_page):
    page, _, _ = opened(browser, fleet_page[0])
    fleet = fleet_page[1]
    assert page.locator("#findings").text_content().count("arm-3, elbow: Coulomb friction is") == 1
    assert page.locator(".arms svg").count() == len(fleet.own)
    assert page.locator(".arms .in circle, .arms .out circle").count() == len(fleet.own) * len(fleet)
    assert page.locator(".arms .out").count() == len(fleet.outliers())
    said = page.locator(".arms .out title").first.text_content()
    worst = fleet.outliers()[0]
    assert said.startswith(f"{worst.arm}: ") and numbers(said.split(": ")[1])[0] == pytest.approx(worst.value, rel=1e-3)
    page.close()


def test_a_study_says_first_what_became_of_the_arms(browser, study_page):
    page, mistakes, _ = opened(browser, study_page[0])
    study = study_page[1]
    best = max(study.summaries, key=study.share)
    assert f"{best} brings {100 * study.share(best):.6g} %" in page.locator("section").first.text_content()
    chart = page.locator("#errors figure.chart svg").first
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 0.5 * box["height"])
    share, *errors = numbers(page.locator("#errors output").text_content())
    wanted = [study.errors(law)[min(int(share / 100 * 16), 15)] for law in study.summaries]
    assert errors == pytest.approx(wanted, rel=0.35) and mistakes == []  # a step of the distribution is one of 16 arms
    assert page.locator("#errors .axes text", has_text="100 %").count() == 1
    page.close()


def test_a_screen_reader_finds_its_way(browser, any_page):
    """Every picture has words, every table its headings, every control a name, and headings come in order."""
    page, _, _ = opened(browser, any_page[1])
    parts = "Array.from(document.querySelectorAll('svg[role=img], canvas, button, input'), e => e.ariaLabel || e.textContent)"
    assert all(page.evaluate(parts))
    assert page.evaluate("Array.from(document.querySelectorAll('thead th')).every(e => e.scope === 'col')")
    levels = page.evaluate("Array.from(document.querySelectorAll('h1, h2, h3'), e => Number(e.tagName[1]))")
    assert levels[0] == 1 and levels.count(1) == 1 and all(b <= a + 1 for a, b in itertools.pairwise(levels))
    assert page.locator("main").count() == 1 and page.locator("nav[aria-label]").count() == 1
    assert page.evaluate("document.documentElement.lang") == "en"
    page.close()


def test_no_other_script_runs(browser, fit_page, tmp_path):
    """The content security policy holds back a script that somebody put into the page."""
    text = Path(fit_page[0].removeprefix("file://")).read_text(encoding="utf-8")
    spoilt = tmp_path / "spoilt.html"
    spoilt.write_text(
        text.replace("</main>", "<script>document.title = 'taken over'</script></main>"), encoding="utf-8"
    )
    page, mistakes, _ = opened(browser, spoilt.as_uri())
    assert until(page, lambda: any("Content Security Policy" in m for m in mistakes)) and page.title() != "taken over"
    page.close()


def test_the_payload_is_on_the_page(browser, run_page):
    page, _, _ = opened(browser, run_page[0])
    assert page.get_by_text("kg, estimated payload at last; it is 1 kg").count() == 1
    assert page.get_by_text(f"{run_page[1].summary()['payload_estimate']:.3g}", exact=True).count() >= 1
    page.close()
