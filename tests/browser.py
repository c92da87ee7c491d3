"""A real browser for tests of pages: an installed Chromium, driven by Playwright; tests are skipped where either is missing."""

import contextlib
import io
import os
import shutil
from pathlib import Path

import numpy as np
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


# Pictures of pages are kept at a tenth of their size in shades of grey: other fonts then change little, another layout much.
REFERENCES = Path(__file__).parent / "data" / "screens"
SHRINK, SHADES, TALLEST = 10, 32, 2600
TALLER = 0.06  # of the height: what other fonts may add
MEAN, APART, SHARE = (
    0.03,
    0.3,
    0.02,
)  # of black to white: the mean difference, and the share of places that differ by more


def small_picture(page):
    """Return a page, its first 2600 pixels, as a small picture (height, width) between 0 and 1."""
    pillow = pytest.importorskip("PIL.Image", reason="pillow is not installed")
    tall = page.evaluate("document.documentElement.scrollHeight")
    clip = {"x": 0, "y": 0, "width": page.viewport_size["width"], "height": min(TALLEST, tall)}
    shot = pillow.open(io.BytesIO(page.screenshot(full_page=True, clip=clip))).convert("L")
    size = max(1, shot.width // SHRINK), max(1, shot.height // SHRINK)
    grey = np.asarray(shot.resize(size, pillow.Resampling.BOX), dtype=float) / 255
    return np.rint(grey * (SHADES - 1)) / (SHADES - 1)


def assert_looks_like(page, name):
    """Compare a page with the picture kept under a name; TAUPI_WRITE_SCREENS=1 writes it anew, to be looked at."""
    pillow = pytest.importorskip("PIL.Image", reason="pillow is not installed")
    now, path = small_picture(page), REFERENCES / f"{name}.png"
    if os.environ.get("TAUPI_WRITE_SCREENS"):
        REFERENCES.mkdir(exist_ok=True)
        pillow.fromarray(np.rint(now * 255).astype(np.uint8)).save(path, optimize=True)
    kept = pillow.open(path)
    assert kept.width == now.shape[1] and abs(kept.height / now.shape[0] - 1) < TALLER, (
        f"{name}: {kept.size}, {now.shape}"
    )
    wanted = np.asarray(kept.resize(now.shape[::-1], pillow.Resampling.BILINEAR), dtype=float) / 255
    off = np.abs(now - wanted)
    far = (off > APART).mean()
    assert off.mean() < MEAN and far < SHARE, f"{name} looks otherwise: {off.mean():.3f} on average, {far:.1%} far off"


def spacing(page, width):
    """Return by how much a page is wider than the window: nothing, if all of it can be read without moving it sideways."""
    return page.evaluate("document.documentElement.scrollWidth") - width
