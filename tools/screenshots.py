"""Make every page that the package writes, take a screenshot in Chromium, and put the pictures into the documents.

`python tools/screenshots.py` writes docs/images/pages/NAME.png, NAME-phone.png for a phone in the dark, view.png and studio.png.
Nothing is written if Playwright or Chromium is missing: the documents then keep their present pictures.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import taupi as tp

FOLDER = Path(__file__).parents[1] / "docs" / "images" / "pages"
SIZES = {"": (1200, 1500, "light"), "-phone": (400, 800, "dark")}
SCALE = 0.6  # of a pixel of the screen
ARGUMENTS = ["--no-sandbox", "--use-gl=swiftshader", "--enable-unsafe-swiftshader"]
TERMS = ("viscous", "coulomb")
LIMITS = {"lower": -1.5, "upper": 1.5, "velocity": 2.0, "acceleration": 10.0, "effort": 90.0}


def arm(**friction: Any) -> tp.Robot:
    """Return the arm of all pages, with friction."""
    return tp.load("elbow2r").with_friction(**({"viscous": [0.5, 0.3], "coulomb": [0.8, 0.4]} | friction))


def log(robot: tp.Robot, seed: int, duration: float = 12.0) -> tp.Log:
    """Return a noisy log of an arm."""
    rng, t = np.random.default_rng(seed), np.arange(0, duration, 0.01)
    q, qd, qdd = tp.BSpline.random([0.0, 0.0], [1.6, 1.6], count=20, duration=duration, seed=seed)(t)
    tau = tp.inverse_dynamics(robot, terms=TERMS)(q, qd, qdd)
    return tp.Log(t, q, tau=tau + 0.1 * rng.normal(size=tau.shape), names=robot.joint_names)


def fit(path: Path) -> None:
    """Write the page of a fit."""
    files = [str(path.parent / name) for name in ("monday.csv", "tuesday.csv")]
    for seed, file in enumerate(files, start=1):
        tp.write_log(log(arm(), seed), file, force=True)
    known = tp.identify(tp.load("elbow2r"), files[0], terms=TERMS)
    tp.report(known, path, files[1], fitted=files[0])


def excitation(path: Path) -> None:
    """Write the page of an exciting motion."""
    tp.report(tp.excite(tp.load("elbow2r"), 5.0, terms=TERMS, limits=LIMITS, starts=1, seed=1), path)


def control(path: Path) -> None:
    """Write the page of two laws."""
    puma = tp.load("puma560")
    motion = tp.Sinusoids.document("puma560")
    trials = []
    for name, law in {"learning": tp.SlotineLi(puma), "held": tp.SlotineLi(puma, Gamma_inv=0.0)}.items():
        plant, start = tp.RigidPlant(puma), 0.4 * law.parameters.values
        run = tp.simulate(plant, law, motion, duration=4.0, parameters=start)
        trials.append(tp.laws.Trial(run, law, plant, name=name))
    tp.report(trials, path)


def payload(path: Path) -> None:
    """Write the page of a payload."""
    known = tp.identify(tp.load("elbow2r"), log(arm(), 1), terms=TERMS)
    assert isinstance(known, tp.Fit)
    loaded = log(arm().with_payload(1.2, (0.05, 0.02, 0.0)), 3)
    tp.report(tp.identify_payload(known, loaded, gain_uncertainty=0), path)


def fleet(path: Path) -> None:
    """Write the page of a fleet."""
    rng, logs = np.random.default_rng(0), {}
    for k in range(8):
        worn = np.exp(0.1 * rng.normal(size=4))
        each = arm(viscous=[0.5, 0.3] * worn[:2], coulomb=[0.8, 1.5 if k == 3 else 0.4] * worn[2:])
        logs[f"arm-{k}"] = str(path.parent / f"arm-{k}.csv")
        tp.write_log(log(each, k), logs[f"arm-{k}"], force=True)
    tp.report(tp.identify_fleet(tp.load("elbow2r"), logs, own=TERMS, cutoff_hz=10), path)


def study(path: Path) -> None:
    """Write the page of a robustness study."""
    tp.ensembles.robustness(tp.load("puma560"), roll_outs=64).write(path)


PAGES: dict[str, Callable[[Path], None]] = {
    "fit": fit,
    "excitation": excitation,
    "control": control,
    "payload": payload,
    "fleet": fleet,
    "study": study,
}


def photograph(browser: Any, name: str, address: str) -> None:
    """Write the pictures of one page."""
    for ending, (width, height, scheme) in SIZES.items():
        size = {"width": width, "height": height}
        context = browser.new_context(
            viewport=size, color_scheme=scheme, device_scale_factor=SCALE * (1 + bool(ending))
        )
        page = context.new_page()
        page.goto(address)
        page.wait_for_timeout(300)
        page.screenshot(path=FOLDER / f"{name}{ending}.png")
        context.close()


def photograph_view(browser: Any) -> None:
    """Write the picture of `taupi view`: an arm that follows a motion, with inertias, torques and the mass felt at its tip."""
    puma = tp.load("puma560")
    motion = tp.Sinusoids.document("puma560")
    run = tp.simulate(tp.RigidPlant(puma), tp.ComputedTorque(puma), motion, duration=4.0)
    view = tp.view(puma, run, port=8123)
    view.seek(1.5)
    page = browser.new_page(viewport={"width": 1200, "height": 800}, device_scale_factor=SCALE)
    page.goto(view.url)
    page.get_by_text("cond(M)").wait_for(timeout=60_000)
    for name in ("frames", "inertia ellipsoids", "torques"):
        page.get_by_role("checkbox", name=name).check(force=True)
    page.wait_for_timeout(2000)
    for notice in page.locator(
        ".mantine-Notification-closeButton"
    ).all():  # drawn in software on a machine without a GPU
        notice.click()
    page.wait_for_timeout(500)
    page.screenshot(path=FOLDER / "view.png")
    page.close()
    view.close()


def photograph_studio(browser: Any, folder: Path) -> None:
    """Write the picture of `taupi studio`: a log of a machine, with degrees and milliseconds that the check has seen."""
    from taupi.studio.server import serve

    recorded = log(arm(), 1)
    head, rows = "Zeitstempel;Betriebsart;Achse1_Ist;Achse2_Ist;Moment_A1;Moment_A2", []
    for t, q, tau in zip(recorded.time, np.degrees(recorded.q), recorded.need("tau")[0], strict=True):
        rows.append(";".join([f"{1e3 * t:.0f}", "AUTO", *(f"{v:.4f}".replace(".", ",") for v in (*q, *tau))]))
    (folder / "messung.csv").write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")
    studio = serve(folder)
    page = browser.new_page(viewport={"width": 1200, "height": 1150}, device_scale_factor=SCALE)
    page.goto(f"{studio.url}columns")
    page.locator("[name=robot]").fill("elbow2r")
    page.locator("[name=log]").fill("messung.csv")
    page.locator("[name=log]").press("Tab")
    page.get_by_role("button", name="Take time in ms").click(timeout=60_000)
    page.get_by_label("signal of Achse1_Ist").select_option("q")
    page.get_by_role("button", name="Take q in deg").wait_for()
    page.screenshot(path=FOLDER / "studio.png")
    page.close()
    studio.close()


def main() -> None:
    """Write all pictures."""
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        path = None
    if path is None:
        sys.exit("screenshots: Chromium or Playwright is missing, the pictures of the documents stay as they are")
    FOLDER.mkdir(exist_ok=True)
    warnings.simplefilter("ignore", tp.TaupiWarning)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=ARGUMENTS)
        for name, write in PAGES.items():
            page = Path(folder) / f"{name}.html"
            write(page)
            photograph(browser, name, page.as_uri())
            print(f"{name}: {FOLDER.relative_to(FOLDER.parents[2])}/{name}.png")
        photograph_view(browser)
        print(f"view: {FOLDER.relative_to(FOLDER.parents[2])}/view.png")
        (Path(folder) / "studio").mkdir()
        photograph_studio(browser, Path(folder) / "studio")
        print(f"studio: {FOLDER.relative_to(FOLDER.parents[2])}/studio.png")
        browser.close()


if __name__ == "__main__":
    main()
