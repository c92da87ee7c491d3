"""The package in examples/own_parts, copied and installed: its term, law, estimator and log format work by name, everywhere."""

import importlib
import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from command_line import taupi

import taupi as tp
from taupi.dynamics.terms import TERMS
from taupi.extensions import Extensions
from taupi.signals import formats

TEMPLATE = Path(__file__).parents[2] / "examples" / "own_parts"
PAGE = TEMPLATE.parents[1] / "docs" / "howto" / "own-parts.md"
TEETH = 6
RIPPLE = 0.4


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder in which a copy of the template is installed."""
    copy, folder = tmp_path_factory.mktemp("copy") / "own_parts", tmp_path_factory.mktemp("site")
    shutil.copytree(TEMPLATE, copy)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q", "install", "--no-index", "--no-deps"]
    done = subprocess.run(
        [*pip, "--no-build-isolation", "--target", folder, copy], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def installed(site, monkeypatch):
    """This process finds the package, and knew nothing of it before."""

    def forget():
        for name in [name for name in sys.modules if name.partition(".")[0] == "own_parts"]:
            del sys.modules[name]
        TERMS.pop("ripple", None)
        formats._registered.cache_clear()

    forget()
    monkeypatch.syspath_prepend(site)
    importlib.invalidate_caches()
    yield forget
    forget()


@pytest.fixture
def logs(installed, tmp_path):
    """Two runs of an arm whose gears ripple, in the package's own format."""
    t = np.arange(0, 12, 0.01)[:, None]
    for k, w in enumerate(np.array([[1.1, 1.7], [0.9, 1.3]])):
        q = np.sin(w * t) + 0.5 * np.sin(2.3 * w * t)
        qd = w * np.cos(w * t) + 0.5 * 2.3 * w * np.cos(2.3 * w * t)
        qdd = -w * w * np.sin(w * t) - 0.5 * (2.3 * w) ** 2 * np.sin(2.3 * w * t)
        tau = tp.inverse_dynamics(tp.load("elbow2r"))(q, qd, qdd) + 0.5 * qd + RIPPLE * np.cos(TEETH * q)
        tp.write_log(tp.Log(t[:, 0], q, tau=tau), tmp_path / f"run{k}.jsonl")
    return tmp_path


@pytest.mark.parametrize("file", sorted((TEMPLATE / "src" / "own_parts").glob("[a-z]*.py")), ids=lambda file: file.stem)
def test_the_page_shows_the_files_of_the_template(file):
    assert file.read_text().replace("from __future__ import annotations\n\n", "").strip() in PAGE.read_text()


def test_term_estimator_and_format_by_name_from_a_log_to_a_report(logs, installed):
    fitted = ["--terms", "viscous,ripple", "--estimator", "towards-prior", "--json"]
    done = taupi("identify", "elbow2r", "run0.jsonl", *fitted, "--validate", "run1.jsonl", "-o", "out", cwd=logs)
    assert done.returncode == 0, done.stderr
    data = json.loads(done.stdout)
    assert data["estimator"] == "towards-prior"
    installed()  # as in another process: a saved fit finds its term again
    fit = tp.load_fit(logs / "out" / "fit.json")
    values = dict(zip(fit.names, fit.values, strict=True))
    # The pull towards a description without ripple is 1e-4 of the log's information.
    assert values["elbow.ripple"] == pytest.approx(RIPPLE, rel=0.02)
    assert fit.validate(logs / "run1.jsonl").relative < 0.02
    assert taupi("report", "out", "-o", "again.html", cwd=logs).returncode == 0
    assert "ripple" in (logs / "again.html").read_text()


def test_law_by_name_simulated_compared_and_emitted(installed, tmp_path):
    goal = ["--reference", "[[0,0],[0.3,-0.2]]", "--duration", "0.5"]
    done = taupi("simulate", "elbow2r", "--law", "saturated-pd", "--gain", "Kp=60", *goal, "-o", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert tp.Run.load(tmp_path / "out" / "run.parquet").provenance["controller"] == "saturated_pd"
    done = taupi("control", "elbow2r", "--law", "saturated-pd,pd-gravity", *goal, "-o", "both", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    done = taupi("emit", "elbow2r", "controller", "--law", "saturated-pd", "-o", "source", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "tanh" in (tmp_path / "source" / "saturated_pd.c").read_text()


def test_the_laws_lyapunov_function_falls_as_it_claims(installed):
    law = tp.laws.law_class("saturated-pd")(tp.load("elbow2r"), Kp=40.0, Kd=9.0)
    rng, rest = np.random.default_rng(3), np.zeros((20, 2))
    q, qd, goal = rng.normal(size=(3, 20, 2))
    pi = law.parameters.values
    V, V_1, claimed, rate = tp.laws.lyapunov(law)(q, qd, goal, rest, rest, pi, pi)
    # A test of its own: V by NumPy, its rate by the work of the damping.
    M = tp.mass_matrix(law.robot)(q)
    own = np.einsum("ki,kij,kj->k", qd, M, qd) / 2 + 40 * np.log(np.cosh(q - goal)).sum(axis=1)
    assert np.allclose(V, own, rtol=1e-12) and (V_1 <= V).all()
    assert np.allclose(claimed, -9 * (qd**2).sum(axis=1), rtol=1e-12) and np.allclose(rate, claimed, atol=1e-9)


@dataclass(frozen=True, eq=False)
class Unproven(tp.laws.FixedLaw):
    """Damp the joints, and claim nothing."""

    name: ClassVar[str] = "unproven"

    def control(self, constants, signals, x):
        return -tp.laws.times(self.Kd, signals.qd), self.held()


def test_a_law_without_a_proof_has_a_report_that_says_so(tmp_path):
    arm = tp.load("elbow2r")
    law, plant = Unproven(arm), tp.RigidPlant(arm)
    motion = tp.Sinusoids([0.0, 0.5], [[0.4], [0.3]], [[1.0], [1.4]])
    trial = tp.laws.Trial(tp.simulate(plant, law, motion, duration=0.2), law, plant)
    assert trial.lyapunov is None and any("no Lyapunov function" in remark for remark in trial.remarks)
    tp.report(trial, tmp_path / "trial.html")
    assert "no Lyapunov function" in (tmp_path / "trial.html").read_text()
    with pytest.raises(tp.TaupiError):
        tp.laws.lyapunov(law)


def test_names_that_no_package_has_and_classes_that_are_no_laws(site, installed, tmp_path):
    for find in (
        tp.laws.law_class,
        lambda name: tp.identify(tp.load("elbow2r"), tp.Log([0, 1], np.zeros((2, 2))), name),
    ):
        with pytest.raises(tp.TaupiError) as refused:
            find("towards-nothing")
        assert "towards-nothing" in refused.value.values.values()
    assert Extensions("law", "taupi.laws").names() == ["saturated-pd"]
    entries = next(site.glob("own_parts-*.dist-info")) / "entry_points.txt"
    text = entries.read_text()
    try:
        entries.write_text(text.replace("saturated_pd:SaturatedPD", "ripple:Ripple"))
        importlib.invalidate_caches()
        with pytest.raises(tp.TaupiError) as refused:
            tp.laws.law_class("saturated-pd")
        assert refused.value.values["missing"] == ["control", "choice"]
    finally:
        entries.write_text(text)
