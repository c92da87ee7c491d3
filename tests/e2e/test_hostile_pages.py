"""Hostile names on every page, and in what notebooks show: they stay text, and a browser runs our script alone."""

import re
from xml.etree import ElementTree

import pytest
from command_line import taupi
from fits import friction_log
from hostile import ARM, CHROMIUM, JOINTS, Elements, check_page, opened
from pages import Page

import taupi as tp
from taupi.reporting.report import report_text
from taupi.robustness.page import study_page
from taupi.signals.log import LogSource

ARMS = ("</td><script>EVIL</script>", "b\"><img src=x onerror='EVIL'>", "../../EVIL", "\u202eEVIL" + "x" * 3000)
LIMITS = {"lower": -1, "upper": 1, "velocity": 2, "acceleration": 9, "effort": 900}
MOTION = tp.MinimumJerk([[0, 0], [0.3, 0.2]], [0, 0.5])


def log_of(seed, arm="run"):
    return friction_log(seed, duration=4.0).with_(
        names=JOINTS, source=LogSource(f"{arm}</td><script>EVIL</script>.csv")
    )


@pytest.fixture(scope="module")
def fit():
    return tp.identify(ARM, log_of(1), terms=("viscous", "coulomb"), cutoff_hz=15)


@pytest.fixture(scope="module")
def results(fit):
    """What can be reported, by kind."""
    run = tp.simulate(tp.RigidPlant(ARM), tp.PDGravity(ARM), MOTION, duration=0.3, rate=100)
    logs = {arm: [log_of(k)] for k, arm in enumerate(ARMS)}
    return {
        "fit": fit,
        "run": run,
        "runs": [run, tp.simulate(tp.RigidPlant(ARM), tp.SlotineLi(ARM), MOTION, duration=0.3, rate=500)],
        "payload": tp.identify_payload(fit, log_of(7)),
        "fleet": tp.identify_fleet(ARM, logs, own=("viscous", "coulomb"), terms=("viscous", "coulomb"), cutoff_hz=15),
        "excitation": tp.excite(ARM, duration=2.0, limits=LIMITS, capsules="none", starts=1),
    }


KINDS = ("fit", "run", "runs", "payload", "fleet", "excitation")


@pytest.mark.parametrize("kind", KINDS)
def test_every_page_has_one_script_and_allows_no_other(results, kind):
    text = report_text(results[kind])
    check_page(text)
    assert any("EVIL" in word for word in Page(text).words)


def test_the_page_of_a_study():
    study = tp.ensembles.robustness(ARM, [tp.SlotineLi(ARM)], roll_outs=3, duration=0.3, rate=500)
    check_page(study_page(study))


@pytest.mark.parametrize("what", ["regressor", "gravity-torque"])
def test_a_page_of_formulas_runs_nothing(tmp_path, what):
    tp.write_toml(ARM, tmp_path / "arm.toml")
    done = taupi("explicit", "arm.toml", "--what", what, "--format", "html", cwd=tmp_path)
    elements = Elements(done.stdout)
    assert done.returncode == 0, done.stderr
    assert elements.policy.split("; ") == ["default-src 'none'", "style-src 'unsafe-inline'"]
    assert not elements.scripts and not elements.handlers


@pytest.mark.skipif(CHROMIUM is None, reason="needs a browser")
@pytest.mark.parametrize("kind", KINDS)
def test_a_browser_shows_names_and_runs_none(tmp_path, results, kind):
    path = tmp_path / "page.html"
    path.write_text(report_text(results[kind]), encoding="utf-8")
    dom = opened(path)
    assert not re.search(r"<title>\s*EVIL\s*</title>", dom) and "onerror" not in "".join(re.findall(r"<img[^>]*>", dom))
    assert not [s for s in Elements(dom).scripts if "EVIL" in s] and "EVIL" in dom


# Notebooks --------------------------------------------------------------------------------------------------------------


SHOWN = {
    "robot": lambda fit: ARM,
    "log": lambda fit: log_of(1),
    "fit": lambda fit: fit,
    "validation": lambda fit: fit.validate(log_of(2)),
    "program": lambda fit: tp.regressor(ARM),
    "base": lambda fit: tp.base_parameters(ARM),
    "bounds": lambda fit: tp.bounds(ARM),
    "run": lambda fit: tp.simulate(tp.RigidPlant(ARM), tp.PDGravity(ARM), MOTION, duration=0.1, rate=100),
    "payload": lambda fit: tp.identify_payload(fit, log_of(7)),
    "conditioning": lambda fit: tp.check_log(log_of(1)),
}


@pytest.mark.parametrize("kind", SHOWN)
def test_notebooks_show_names_as_text(fit, kind):
    value = SHOWN[kind](fit)
    show = getattr(value, "_repr_html_", None)
    if show is None:
        assert "\x1b" not in repr(value)
        return
    elements = Elements(show())
    assert not elements.scripts and not elements.handlers
    assert not re.search(r"<(img|iframe|object|embed|link|base|form)\b", show())


PICTURES = {
    "robot": lambda results: ARM,
    "log": lambda results: log_of(1),
    "validation": lambda results: results["fit"].validate(log_of(2)),
    **{kind: lambda results, kind=kind: results[kind] for kind in ("fit", "run", "excitation")},
}


@pytest.mark.parametrize("kind", PICTURES)
def test_pictures_hold_names_as_text(tmp_path, results, kind):
    """Matplotlib reads what stands between dollars as a formula, and fails on one that is none."""
    tp.plot(PICTURES[kind](results), path=tmp_path / "a.svg")
    for node in ElementTree.parse(tmp_path / "a.svg").iter():
        assert node.tag.rpartition("}")[2] not in ("script", "img", "foreignObject")
        assert not [key for key in node.attrib if key.startswith("on")]
