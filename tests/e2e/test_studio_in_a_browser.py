"""The studio in a real browser: an odd log is mapped, a fit runs and is cancelled, names stay text, keys suffice."""

import re
from pathlib import Path

import numpy as np
import pytest
from browser import PATIENCE, chromium, opened, spacing, until
from odd_logs import HEADING, write_odd_log

import taupi as tp
from taupi.signals.mapping.columns import Columns
from taupi.studio import jobs
from taupi.studio.server import serve

FORMS = ("robot", "columns", "fit", "excite", "files")
EVIL = "<img src=x onerror=\"document.title='EVIL'\">"


@pytest.fixture(scope="module")
def browser():
    with chromium() as started:
        yield started


@pytest.fixture
def studio(tmp_path):
    served = serve(tmp_path, 8950)
    yield served
    served.close()


def at(studio, form):
    return studio.url + form


def wait_for_job(page, command, state="done"):
    page.locator(f"#job[data-state={state}]", has_text=command).wait_for()


def table_of(page, log):
    """Show the columns of a log."""
    page.locator("[name=log]").fill(log)
    page.locator("[name=log]").press("Tab")
    page.locator("tr[data-row]").first.wait_for()


def test_from_an_odd_log_to_the_page_of_its_fit(browser, studio, tmp_path):
    """Text columns, names in German, degrees and milliseconds: two choices and two buttons, then the mapping is saved."""
    log = write_odd_log(tmp_path / "messung.csv", rows=600)
    write_odd_log(tmp_path / "messung2.csv", seed=2, rows=600)
    page, mistakes, fetched = opened(browser, at(studio, "robot"))
    page.locator("[name=robot]").fill("elbow2r")
    page.locator("#command", has_text="taupi info elbow2r").wait_for()
    page.get_by_role("link", name="Columns").click()
    table_of(page, "messung.csv")
    assert page.locator("tr.text th").all_text_contents() == ["Betriebsart", "Bemerkung"]
    assert page.locator("svg.spark polyline").count() == 5
    page.get_by_role("button", name="Take time in ms").click()
    page.get_by_role("button", name="Take Achse1_Ist for q").click()
    assert page.get_by_label("signal of Achse2_Ist").input_value() == "q"  # follows, for the next joint
    assert page.get_by_label("joint of Achse2_Ist").input_value() == "1"
    offer = page.get_by_role("button", name="Take q in deg")
    offer.wait_for()
    assert "degrees?" in page.locator("#answer").text_content()
    offer.click()
    page.locator("#answer", has_text="no problems found").wait_for()
    page.get_by_role("button", name="Save the mapping").click()
    page.locator("#saved", has_text="saved as columns.toml").wait_for()
    read = tp.read_log(tmp_path / "messung.csv", tp.load("elbow2r"), tmp_path / "columns.toml")
    assert np.abs(read.q - log.q).max() < 1e-6 and np.abs(read.tau - log.tau).max() < 1e-5
    assert np.abs(read.time - log.time).max() < 1e-9
    page.get_by_role("link", name="Fit").click()
    page.get_by_role("row", name="messung.csv").get_by_label("fit", exact=True).check()
    page.get_by_role("row", name="messung2.csv").get_by_label("hold out").check()
    command = "taupi identify elbow2r messung.csv --validate messung2.csv --columns columns.toml -o fit"
    page.locator("#command", has_text=command).wait_for()
    page.get_by_role("button", name="Identify").click()
    wait_for_job(page, command)
    assert "verdict: good" in page.locator("#job").text_content()
    with page.expect_popup() as opening:
        page.get_by_role("link", name="Open fit/report.html").click()
    report = opening.value
    report.locator("h1", has_text="Identification of elbow2r").wait_for()
    assert report.locator("figure.chart").count() > 0
    assert mistakes == [] and all(address.startswith(studio.url) for address in fetched)
    page.close()


@pytest.fixture
def endless(tmp_path, monkeypatch):
    """A log of six joints, whose fit takes seconds, and does not end before it is cancelled."""
    waits = "import time, taupi.files; taupi.files.write_folder = lambda *_, **__: time.sleep(3600); "
    monkeypatch.setattr(jobs, "_RUN", waits + jobs._RUN)
    arm, t = tp.load("puma560"), np.arange(0, 80, 0.004)
    q, qd, qdd = tp.BSpline.random([-1.0] * 6, [1.0] * 6, count=40, duration=80.0, seed=1)(t)
    tp.write_log(tp.Log(t, q, tau=tp.inverse_dynamics(arm)(q, qd, qdd), names=arm.joint_names), tmp_path / "run.npz")


def test_a_fit_shows_how_far_it_is_and_is_cancelled(browser, studio, tmp_path, endless):
    page, mistakes, _ = opened(browser, at(studio, "fit"))
    page.locator("[name=robot]").fill("puma560")
    page.get_by_label("fit", exact=True).check()
    page.locator("#command", has_text="taupi identify puma560 run.npz -o fit").wait_for()
    page.get_by_role("button", name="Identify").click()
    page.locator("#job progress").first.wait_for()
    assert "identify" in page.locator("#job").text_content()
    page.get_by_role("button", name="Cancel").click()
    wait_for_job(page, "taupi identify", "cancelled")
    assert not (tmp_path / "fit").exists() and not studio.studio.jobs.last.running
    assert page.get_by_role("button", name="Identify").is_enabled() and mistakes == []
    page.close()


def test_a_motion_is_designed_and_its_film_opens(browser, studio, tmp_path):
    (tmp_path / "limits.toml").write_text(
        "lower = -1.5\nupper = 1.5\nvelocity = 2.0\nacceleration = 10.0\neffort = 60.0\n"
    )
    page, mistakes, _ = opened(browser, at(studio, "excite"))
    page.locator("[name=robot]").fill("elbow2r")
    page.locator("[name=duration]").fill("4")
    page.locator("[name=limits]").fill("limits.toml")
    page.locator("[name=motion_more]").fill("--starts 1")
    page.get_by_label("ros2", exact=True).check()
    page.locator("#command", has_text="--formats csv,ros2 -o motion --starts 1").wait_for()
    page.get_by_role("button", name="Design a motion").click()
    wait_for_job(page, "taupi excite")
    with page.expect_popup() as opening:
        page.get_by_role("link", name="Open motion/report.html").click()
    film = opening.value
    film.locator("figure.film").wait_for()
    film.get_by_role("button", name="Play").first.click()  # its own script runs in the sandbox
    assert mistakes == []
    page.get_by_role("link", name="Files").click()
    page.get_by_role("link", name="motion/report.html", exact=True).wait_for()
    page.close()


def test_hostile_names_are_shown_and_do_nothing(browser, studio, tmp_path):
    """Names of files, columns and joints that would be markup; a page in the folder that wants to act as the studio."""
    heading = HEADING.replace("Achse1_Ist", EVIL.replace(" ", "/")).replace("Bemerkung", "</td><script>EVIL</script>")
    write_odd_log(tmp_path / f"{EVIL.replace('/', '')}.csv", rows=60, heading=heading)
    (tmp_path / "-o.csv").write_text("t,q1,q2\n0,1,2\n1,2,3\n")
    steal = (
        "<script>document.title='ran'; fetch('{0}robot/run', {{method: 'POST', body: 'robot=elbow2r'}})"
        ".then(() => document.title = 'EVIL', () => document.title = 'refused');</script>"
    )
    (tmp_path / "page.html").write_text(steal.format(studio.url))
    page, mistakes, _ = opened(browser, at(studio, "columns"))
    table_of(page, f"{EVIL}.csv")
    assert page.locator("main img").count() == 0 and "EVIL" not in page.title()
    assert EVIL.replace(" ", "/") in page.locator("#table").text_content()
    page.get_by_label(f"signal of {EVIL.replace(' ', '/')}").select_option("q")
    page.locator("#mapping", has_text="onerror").wait_for()
    for form in FORMS:
        page.goto(at(studio, form))
        assert page.locator("main img, main script").count() == 0 and "EVIL" not in page.title()
    page.goto(at(studio, "fit"))
    page.get_by_role("row", name="-o.csv").get_by_label("fit", exact=True).check()
    page.locator("[name=robot]").fill("elbow2r")
    page.locator("#command", has_text="elbow2r ./-o.csv").wait_for()
    page.goto(at(studio, "files"))
    with page.expect_popup() as opening:
        page.get_by_role("link", name="page.html").click()
    opening.value.wait_for_load_state()
    assert until(page, lambda: opening.value.title() in ("refused", "EVIL"))
    assert opening.value.title() == "refused" and studio.studio.jobs.last is None
    assert mistakes == []
    page.close()


def test_a_page_of_another_address_can_do_nothing(browser, studio, tmp_path):
    other = serve(tmp_path, 8990)  # the same machine, another port
    page, _, _ = opened(browser, at(other, "robot"))
    done = "([path]) => fetch(path, {method: 'POST', mode: 'no-cors', body: 'robot=elbow2r'}).then(() => 1, () => 0)"
    page.evaluate(done, [at(studio, "robot/run")])
    assert studio.studio.jobs.last is None
    page.close()
    other.close()


def test_the_keyboard_is_enough(browser, studio, tmp_path):
    """From the first key to the mapped column: what has the focus is always visible, and has a name."""
    write_odd_log(tmp_path / "messung.csv", rows=60)
    page, _, _ = opened(browser, at(studio, "columns"))
    page.keyboard.press("Tab")
    assert page.locator(":focus").text_content() == "To the content"
    page.locator("[name=log]").focus()
    page.keyboard.type("messung.csv")
    page.keyboard.press("Tab")
    page.locator("tr[data-row]").first.wait_for()
    seen = []
    for _ in range(60):
        page.keyboard.press("Tab")
        box = page.locator(":focus")
        name = box.evaluate("e => e.ariaLabel || e.labels?.[0]?.textContent || e.textContent")
        assert name.strip(), box.evaluate("e => e.outerHTML")
        assert box.evaluate("e => getComputedStyle(e).outlineStyle") != "none", name
        seen.append(name)
        if name == "signal of Achse1_Ist":
            page.keyboard.press("q")
            page.locator("#mapping", has_text="Achse1_Ist").wait_for()
        if name == "Check the whole log":
            break
    assert "signal of Achse1_Ist" in seen and "Save the mapping" in seen and seen[-1] == "Check the whole log"
    page.close()


@pytest.mark.parametrize("form", FORMS)
def test_every_page_fits_and_follows_the_scheme(browser, studio, tmp_path, form):
    write_odd_log(tmp_path / "messung.csv", rows=60)
    for width in (1400, 400):
        for scheme in ("light", "dark"):
            page, mistakes, fetched = opened(browser, at(studio, form), width, scheme)
            if form == "columns":
                page.locator("[name=robot]").fill("elbow2r")
                table_of(page, "messung.csv")
            assert spacing(page, width) <= 0, (width, scheme)
            paper, ink = (page.evaluate(f"getComputedStyle(document.body).{k}") for k in ("backgroundColor", "color"))
            light = [sum(map(int, re.findall(r"\d+", colour)[:3])) for colour in (paper, ink)]
            assert (light[0] > light[1]) == (scheme == "light")
            unnamed = (
                "[...document.querySelectorAll('input, select, textarea, button')].filter(e => e.type !== 'hidden' && "
            )
            unnamed += "!(e.ariaLabel || e.labels?.length || e.textContent.trim())).length"
            assert page.evaluate(unnamed) == 0
            assert mistakes == [] and all(address.startswith(studio.url) for address in fetched)
            page.close()


def test_commands_are_copied(browser, studio):
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    context.set_default_timeout(1000 * PATIENCE)
    page = context.new_page()
    page.goto(at(studio, "robot"))
    page.locator("[name=robot]").fill("panda")
    page.locator("#command", has_text="panda").wait_for()
    # The button says so for a second and a half.
    noting = (
        "e => { window.said = []; new MutationObserver(() => said.push(e.textContent)).observe(e, {childList: true}); }"
    )
    page.locator("[data-copy=command]").evaluate(noting)
    page.locator("[data-copy=command]").click()
    assert until(page, lambda: "Copied" in page.evaluate("said"))
    assert page.evaluate("navigator.clipboard.readText()") == "taupi info panda"
    context.close()


def test_what_was_typed_last_is_there_on_the_next_page(browser, studio):
    page, _, _ = opened(browser, at(studio, "robot"))
    page.locator("[name=robot]").fill("panda")
    page.get_by_role("link", name="Fit").click()  # sooner than the page asks the server what the robot means
    page.locator("h2", has_text="Identify a robot from logs").wait_for()
    assert page.locator("[name=robot]").input_value() == "panda"
    page.close()


def test_what_is_typed_before_the_script_runs_counts(browser, studio, tmp_path):
    """As on a page that is slow to load: a text, a tick and a choice."""
    (tmp_path / "run.csv").write_text("t,q1,q2\n0,1,2\n1,2,3\n")
    page = browser.new_page()
    page.context.set_default_timeout(1000 * PATIENCE)
    held = []
    page.route("**/studio.js", lambda route: held.extend([route]))
    page.goto(at(studio, "fit"), wait_until="commit")
    page.locator("[name=robot]").fill("elbow2r")
    page.get_by_label("fit", exact=True).check()
    page.locator("[name=estimator]").select_option("ols")
    assert until(page, lambda: held)
    held[0].continue_()
    page.locator("#command", has_text="taupi identify elbow2r run.csv --estimator ols -o fit").wait_for()
    page.close()


def test_answers_that_come_late_undo_nothing(browser, studio, tmp_path):
    """Two answers, the first of which waits: the page ends with what was typed last, and keeps what is typed meanwhile."""
    (tmp_path / "run.csv").write_text("t,q1,q2\n0,1,2\n1,2,3\n")
    page, mistakes, _ = opened(browser, at(studio, "columns"))
    table_of(page, "run.csv")
    held = []
    page.route("**/columns/live", lambda route: route.continue_() if held else held.append(route))
    save = page.locator("[name=save]")
    save.fill("map.toml")
    assert until(page, lambda: held)
    save.press("End")
    save.press_sequentially("x")  # while the page waits for its first answer
    held[0].continue_()
    assert until(page, lambda: page.locator("#live").get_attribute("aria-busy") is None)
    assert (
        save.input_value() == "map.tomlx"
        and save.evaluate("e => e === document.activeElement && e.selectionStart") == 9
    )
    page.locator("[name=log]").fill("none.csv")
    held.clear()
    page.route("**/columns/table", lambda route: route.continue_() if held else held.append(route))
    page.locator("[name=log]").press("Tab")
    assert until(page, lambda: held)
    page.locator("[name=log]").fill("run.csv")
    page.locator("[name=log]").press("Tab")
    page.wait_for_timeout(300)  # in which the second answer would arrive, if it did not wait for the first
    held[0].continue_()
    page.locator("tr[data-row]").first.wait_for()
    assert page.locator("#table .problem").count() == 0 and mistakes == []
    page.close()


def test_a_button_that_is_pressed_for_long_is_clicked(browser, studio, endless):
    """Longer than a part of the page stays that shows how far a command is."""
    page, mistakes, _ = opened(browser, at(studio, "fit"))
    page.locator("[name=robot]").fill("puma560")
    page.get_by_label("fit", exact=True).check()
    page.locator("#command", has_text="taupi identify puma560 run.npz -o fit").wait_for()
    page.get_by_role("button", name="Identify").click()
    page.get_by_role("button", name="Cancel").click(delay=1200)
    wait_for_job(page, "taupi identify", "cancelled")
    assert mistakes == []
    page.close()


def test_the_end_of_the_studio_is_said(browser, tmp_path):
    served = serve(tmp_path, 8970)
    page, _, _ = opened(browser, at(served, "robot"))
    served.close()
    page.locator("[name=robot]").fill("panda")
    page.get_by_text("does not answer").wait_for()
    page.close()


def test_mappings_of_the_folder_are_offered(browser, studio, tmp_path):
    (tmp_path / "columns.toml").write_text('q = "q{i}"\n')
    (tmp_path / "limits.toml").write_text("lower = -1\n")
    page, _, _ = opened(browser, at(studio, "fit"))
    offered = page.locator("[name=columns] option").all_text_contents()
    assert offered == ["guess from the headers", "columns.toml"]
    assert Columns.of(Path(tmp_path, "columns.toml")).channels["q"].columns == "q{i}"
    page.close()
