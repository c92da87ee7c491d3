"""A real browser for tests of pages: an installed Chromium, driven by Playwright; tests are skipped where either is missing."""

import contextlib
import io
import os
import shutil
import time
from pathlib import Path

import numpy as np
import pytest

PATIENCE = 180.0  # s: how long a page may take on a busy machine before a test gives up
# Without a graphics card WebGL is done in software.
ARGUMENTS = ["--no-sandbox", "--use-gl=swiftshader", "--enable-unsafe-swiftshader"]


@contextlib.contextmanager
def chromium():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if path is None:
        pytest.skip("no Chromium is installed")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=ARGUMENTS, timeout=1000 * PATIENCE)
        yield browser
        browser.close()


def opened(browser, address, width=1400, scheme="light"):
    """Return a page, and lists of what it said went wrong and of what it fetched beside its own address."""
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.context.set_default_timeout(1000 * PATIENCE)  # also of pages that this one opens
    mistakes, fetched = [], []
    page.on("pageerror", lambda e: mistakes.append(str(e)))
    page.on("console", lambda m: mistakes.append(m.text) if m.type == "error" else None)
    page.on("request", lambda r: fetched.append(r.url))
    page.goto(address)
    return page, mistakes, fetched


def until(page, holds):
    """Wait until `holds()` is true, while events of the page arrive; return whether it is."""
    end = time.monotonic() + PATIENCE
    while not (held := holds()) and time.monotonic() < end:
        page.wait_for_timeout(50)
    return held


# Pictures that load when they are scrolled to are loaded now; then all are there and can be drawn.
_DRAWN = """() => {
    document.querySelectorAll('img').forEach((e) => { e.loading = 'eager'; });
    return Promise.all([document.fonts.ready, ...Array.from(document.images, (e) => e.decode().catch(() => null))]);
}"""


# Pictures of pages are kept at a tenth of their size in shades of grey: other fonts then change little, another layout much.
REFERENCES = Path(__file__).parent / "data" / "screens"
SHRINK, SHADES, TALLEST = 10, 32, 2600
TALLER = 0.06  # of the height: what other fonts may add
# The share of what is drawn that may be elsewhere, in blocks of 40 pixels: a serif font of the same widths makes 0.1, the same
# page 0.005, a page without its lines 0.2, one without its charts 0.5 or more.
BLOCK, UNLIKE = 4, 0.15
# Fonts of other widths break lines elsewhere. The width of a text in the font of the page tells them, in pixels at 16 pixels.
_WIDTH_OF_TEXT = """() => {
    const pen = document.createElement('canvas').getContext('2d');
    pen.font = '16px ' + getComputedStyle(document.body).fontFamily;
    return pen.measureText('What is measured, and what is predicted: 0123456789').width;
}"""


def small_picture(page):
    """Return a page, its first 2600 pixels, as a small picture (height, width) between 0 and 1."""
    pillow = pytest.importorskip("PIL.Image", reason="pillow is not installed")
    page.evaluate(_DRAWN)
    tall = page.evaluate("document.documentElement.scrollHeight")
    clip = {"x": 0, "y": 0, "width": page.viewport_size["width"], "height": min(TALLEST, tall)}
    shot = pillow.open(io.BytesIO(page.screenshot(full_page=True, clip=clip))).convert("L")
    size = max(1, shot.width // SHRINK), max(1, shot.height // SHRINK)
    grey = np.asarray(shot.resize(size, pillow.Resampling.BOX), dtype=float) / 255
    return np.rint(grey * (SHADES - 1)) / (SHADES - 1)


def assert_looks_like(page, name):
    """Compare a page with the picture kept under a name; TAUPI_WRITE_SCREENS=1 writes it anew, to be looked at.

    On a machine whose fonts have other widths than those of the pictures there is nothing to compare.
    """
    pillow = pytest.importorskip("PIL.Image", reason="pillow is not installed")
    from PIL.PngImagePlugin import PngInfo

    now, path, width = small_picture(page), REFERENCES / f"{name}.png", page.evaluate(_WIDTH_OF_TEXT)
    if os.environ.get("TAUPI_WRITE_SCREENS"):
        REFERENCES.mkdir(exist_ok=True)
        about = PngInfo()
        about.add_text("width", repr(width))
        pillow.fromarray(np.rint(now * 255).astype(np.uint8)).save(path, optimize=True, pnginfo=about)
    kept = pillow.open(path)
    if abs(float(kept.text["width"]) / width - 1) > 0.01:
        return
    assert kept.width == now.shape[1] and abs(kept.height / now.shape[0] - 1) < TALLER, (
        f"{name}: {kept.size}, {now.shape}"
    )
    wanted = np.asarray(kept.resize(now.shape[::-1], pillow.Resampling.BILINEAR), dtype=float) / 255
    off, ink = np.abs(_blocks(now) - _blocks(wanted)).sum(), np.abs(_blocks(wanted) - np.median(wanted)).sum()
    assert off < UNLIKE * ink, f"{name} looks otherwise: {off / ink:.0%} of what is drawn is elsewhere"


def _blocks(grey):
    """Return the mean of each block of 4 x 4 places: a word that is a little longer is then where it was."""
    rows, columns = (size // BLOCK * BLOCK for size in grey.shape)
    return grey[:rows, :columns].reshape(rows // BLOCK, BLOCK, columns // BLOCK, BLOCK).mean(axis=(1, 3))


def spacing(page, width):
    """Return by how much a page is wider than the window: nothing, if all of it can be read without moving it sideways."""
    return page.evaluate("document.documentElement.scrollWidth") - width
