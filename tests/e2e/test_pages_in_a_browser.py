"""Pages in a real browser: nothing goes wrong or is fetched, zoom and readout do what they say, and they fit on a phone."""

import re

import numpy as np
import pytest
from browser import chromium, opened

import taupi as tp

NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")


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


def test_nothing_goes_wrong_and_it_fits(browser, run_page):
    for width in (1400, 400):
        for scheme in ("light", "dark"):
            page, mistakes, fetched = opened(browser, run_page[0], width, scheme)
            assert mistakes == [] and fetched == [run_page[0]]
            assert page.evaluate("document.documentElement.scrollWidth") <= width, (width, scheme)
            paper, ink = (page.evaluate(f"getComputedStyle(document.body).{k}") for k in ("backgroundColor", "color"))
            light = [sum(map(int, re.findall(r"\d+", colour)[:3])) for colour in (paper, ink)]
            assert (light[0] > light[1]) == (scheme == "light")
            page.close()


def test_zoom_moves_all_charts_and_a_double_click_brings_them_back(browser, run_page):
    page, mistakes, _ = opened(browser, run_page[0])
    views = "Array.from(document.querySelectorAll('figure.chart .view'), v => v.getAttribute('viewBox').split(' ')[2])"
    before = page.evaluate(views)
    chart = page.locator("figure.chart svg").first
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 0.4 * box["width"], y)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.6 * box["width"], y, steps=4)
    page.mouse.up()
    zoomed = page.evaluate(views)
    readout = page.locator("figure.chart output").first
    after_zooming = readout.text_content()
    page.mouse.move(box["x"] + 0.6 * box["width"] + 0.01, y)  # where it was: the readout was right already
    said = [[float(v) for v in NUMBER.findall(text)] for text in (after_zooming, readout.text_content())]
    assert said[0] and said[0] == pytest.approx(said[1], rel=1e-3)
    assert all(float(new) < 0.4 * float(old) for new, old in zip(zoomed, before, strict=True))
    page.mouse.dblclick(box["x"] + 0.5 * box["width"], y)
    assert page.evaluate(views) == before and mistakes == []
    page.close()


def test_the_readout_is_the_run(browser, run_page):
    page, _, _ = opened(browser, run_page[0])
    run = run_page[1].run
    figure = page.locator("#drives figure.chart").first
    figure.scroll_into_view_if_needed()
    box = figure.locator("svg").first.bounding_box()
    page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + box["height"] / 2)
    text = figure.locator("output").text_content()
    t, *values = (float(v) for v in NUMBER.findall(text))
    assert 0.4 < t < 0.8
    shown = np.interp(t, run.time, run.tau[:, 0])
    assert min(abs(v - shown) for v in values) < 0.02 * np.ptp(run.tau[:, 0]), text
    page.close()


def test_the_payload_is_on_the_page(browser, run_page):
    page, _, _ = opened(browser, run_page[0])
    assert page.get_by_text("kg, estimated payload at last; it is 1 kg").count() == 1
    assert page.get_by_text(f"{run_page[1].summary()['payload_estimate']:.3g}", exact=True).count() >= 1
    page.close()
