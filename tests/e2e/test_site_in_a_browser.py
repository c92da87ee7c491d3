"""The site in a real browser, from its files and over http: nothing goes wrong, search answers, formulas are set."""

import functools
import http.server
import threading
from pathlib import Path

import pytest
from browser import assert_looks_like, chromium, opened, spacing, until

SITE = Path(__file__).parents[2] / "site"
PAGES = (
    "index.html",
    "notebooks/index.html",
    "notebooks/formulas.html",
    "notebooks/fleet.html",
    "coming-from/pinocchio.html",
    "howto/explicit-formulas.html",
    "howto/pages.html",
    "api/model.html",
)
pytestmark = pytest.mark.skipif(not (SITE / "index.html").is_file(), reason="the site is not built: make docs")


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def browser():
    with chromium() as started:
        yield started


@pytest.fixture(scope="module", params=["file", "http"])
def root(request):
    if request.param == "file":
        yield SITE.as_uri()
        return
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=SITE))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("name", PAGES)
def test_nothing_goes_wrong_and_nothing_is_fetched_from_elsewhere(browser, root, name):
    page, mistakes, fetched = opened(browser, f"{root}/{name}")
    page.wait_for_load_state("networkidle")
    assert mistakes == [] and all(url.startswith((root, "data:", "blob:")) for url in fetched)
    assert page.locator("article h1").count() == 1
    pictures = (
        "Array.from(document.querySelectorAll('article img:not([loading])'), e => e.complete && e.naturalWidth > 0)"
    )
    assert all(page.evaluate(pictures))
    page.close()


def test_search_answers(browser, root):
    page, mistakes, _ = opened(browser, f"{root}/index.html")
    page.wait_for_load_state("networkidle")
    # The page listens for keys, as a person presses them: a text put in at once is seen only if the worker starts after it.
    page.get_by_role("textbox", name="Search").press_sequentially("payload")
    page.locator(".md-search-result__item", has_text="payload").first.wait_for()
    assert mistakes == []
    page.close()


def test_jobs_are_tabs_and_lead_to_their_pages(browser, root):
    page, mistakes, _ = opened(browser, f"{root}/index.html")
    tabs = [text.strip() for text in page.locator(".md-tabs__link").all_text_contents()]
    jobs = ["Get formulas", "Excite", "Identify", "Control", "Go fast", "Extend"]
    assert [tab for tab in tabs if tab in jobs] == jobs
    page.locator(".md-tabs__link", has_text="Identify").click()
    page.locator("h1", has_text="Identify a robot from logs").wait_for()
    assert mistakes == []
    page.close()


def test_every_card_of_the_gallery_has_its_picture_and_its_page(browser):
    page, mistakes, _ = opened(browser, f"{SITE.as_uri()}/notebooks/index.html")
    page.evaluate("document.querySelectorAll('.card img').forEach(e => e.loading = 'eager')")
    shown = "Array.from(document.querySelectorAll('.card'), e => e.querySelector('img').naturalWidth > 0)"
    assert until(page, lambda: all(page.evaluate(shown)))
    links = page.evaluate("Array.from(document.querySelectorAll('.card'), e => e.getAttribute('href'))")
    assert len(links) > 30 and all((SITE / "notebooks" / link).is_file() for link in links) and mistakes == []
    page.close()


def test_one_dot_and_two_can_be_told_apart(browser):
    """Browsers set what stands over a symbol at seven tenths of its size, or less: too small for dots."""
    page, _, _ = opened(browser, f"{SITE.as_uri()}/index.html")
    sizes = page.evaluate(
        "Array.from(document.querySelectorAll('math .dots'), e => parseFloat(getComputedStyle(e).fontSize))"
    )
    base = page.evaluate("parseFloat(getComputedStyle(document.querySelector('.formula math')).fontSize)")
    assert len(sizes) >= 2 and min(sizes) > 0.85 * base
    page.close()


def test_formulas_are_set_and_scroll_where_they_are_wide(browser, root):
    page, _, _ = opened(browser, f"{root}/howto/explicit-formulas.html", 400)
    assert page.locator("article math").count() > 5
    boxes = "Array.from(document.querySelectorAll('.formula'), e => getComputedStyle(e).overflowX)"
    assert set(page.evaluate(boxes)) == {"auto"}
    page.close()


@pytest.mark.parametrize("name", PAGES)
def test_it_fits_on_a_phone(browser, name):
    page, mistakes, _ = opened(browser, f"{SITE.as_uri()}/{name}", 400)
    assert until(page, lambda: spacing(page, 400) <= 0) and mistakes == []  # the page's script makes wide tables scroll
    page.close()


@pytest.mark.parametrize("width", [1400, 400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_front_page_looks_as_it_did(browser, width, scheme):
    page, _, _ = opened(browser, f"{SITE.as_uri()}/index.html", width, scheme)
    page.wait_for_load_state("networkidle")
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (paper == "rgb(255, 255, 255)") == (scheme == "light")
    assert_looks_like(page, f"site-{width}-{scheme}")
    page.close()
