"""A real browser for tests of pages: an installed Chromium, driven by Playwright; tests are skipped where either is missing."""

import contextlib
import shutil

import pytest

# Without a graphics card WebGL is done in software.
ARGUMENTS = ["--no-sandbox", "--use-gl=swiftshader", "--enable-unsafe-swiftshader"]


@contextlib.contextmanager
def chromium():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if path is None:
        pytest.skip("no Chromium is installed")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser
        browser.close()


def opened(browser, address, width=1400, scheme="light"):
    """Return a page, and lists of what it said went wrong and of what it fetched beside its own address."""
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    mistakes, fetched = [], []
    page.on("pageerror", lambda e: mistakes.append(str(e)))
    page.on("console", lambda m: mistakes.append(m.text) if m.type == "error" else None)
    page.on("request", lambda r: fetched.append(r.url))
    page.goto(address)
    return page, mistakes, fetched
