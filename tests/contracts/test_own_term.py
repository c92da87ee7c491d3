"""A friction term that one file adds works everywhere: regressor, fit, report, simulation, C, command line, files."""

import importlib.metadata
import subprocess
import sys

import numpy as np
import pytest
from emitted import by_c
from support import error

import taupi as tp
from taupi.dynamics.terms import TERMS

# The whole of it: no other place knows of it.
DRAG = '''
from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import casadi as cs

from taupi.terms import Term, register


@register
@dataclass(frozen=True)
class Drag(Term):
    """tau = c qd |qd|: grease that churns."""

    name: ClassVar[str] = "drag"
    label: ClassVar[str] = "drag of grease"
    heading: ClassVar[str] = "drag"
    symbol: ClassVar[str] = "c_{d}"
    sign: ClassVar[str] = "nonnegative"

    def unit(self, prismatic):
        return "N s^2/m^2" if prismatic else "N m s^2/rad^2"

    def value(self, joint):
        return Fraction(1, 4)

    def column(self, q, qd, qdd):
        return qd * cs.fabs(qd)

    def through(self, ratio):
        return abs(ratio) ** 3
'''
VALUE = 0.25


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """A folder with the file and its entry point, as an installed package has it."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "greasy.py").write_text(DRAG)
    meta = folder / "greasy-1.0.dist-info"
    meta.mkdir()
    (meta / "METADATA").write_text("Metadata-Version: 2.1\nName: greasy\nVersion: 1.0\n")
    (meta / "entry_points.txt").write_text("[taupi.terms]\ndrag = greasy:Drag\n")
    return folder


@pytest.fixture
def drag(package, monkeypatch):
    """The term is not known here before its name is used."""
    monkeypatch.syspath_prepend(package)
    importlib.invalidate_caches()
    sys.modules.pop("greasy", None)
    TERMS.pop("drag", None)
    yield "drag"
    TERMS.pop("drag", None)


ARM = tp.load("elbow2r").with_friction(viscous=[0.4, 0.3])
TERM_NAMES = ("viscous", "drag")


def log(seconds=12.0):
    t, w = np.arange(0, seconds, 0.01)[:, None], np.array([1.1, 1.7])
    q = np.sin(w * t) + 0.5 * np.sin(2.3 * w * t)
    qd = w * np.cos(w * t) + 0.5 * 2.3 * w * np.cos(2.3 * w * t)
    qdd = -w * w * np.sin(w * t) - 0.5 * (2.3 * w) ** 2 * np.sin(2.3 * w * t)
    return tp.Log(t[:, 0], q, tau=tp.inverse_dynamics(ARM, terms=TERM_NAMES)(q, qd, qdd), names=ARM.joint_names)


def test_programs_and_simulation(drag, tmp_path):
    q, qd, qdd = np.array([[0.3, -0.4], [0.7, -1.2], [0.5, 0.6]])
    y = tp.regressor(ARM, terms=TERM_NAMES)
    own = VALUE * qd * np.abs(qd)
    assert y.parameters.names[-2:] == ("shoulder.drag", "elbow.drag")
    tau = y(q, qd, qdd) @ y.parameters.values
    assert error(tau - tp.inverse_dynamics(ARM, terms="viscous")(q, qd, qdd), own) < 1e-12
    assert error(tp.forward_dynamics(ARM, terms=TERM_NAMES)(q, qd, tau), qdd) < 1e-9
    assert error(tp.RigidPlant(ARM, terms=TERM_NAMES).program()(q, qd, tau), qdd) < 1e-9
    batch = [np.stack([x, x]) for x in (q, qd, qdd)]
    assert error(by_c(tp.inverse_dynamics(ARM, terms=TERM_NAMES), tmp_path)(*batch), np.stack([tau, tau])) < 1e-12
    assert tp.base_parameters(ARM, terms=TERM_NAMES).names[-1] == "elbow.drag"


def test_fit_report_and_saved_fit(drag, tmp_path):
    fit = tp.identify(ARM, log(), terms=TERM_NAMES, cutoff_hz=10)
    values = dict(zip(fit.names, fit.values, strict=True))
    assert values["elbow.drag"] == pytest.approx(VALUE, rel=0.02)
    tp.write_fit(fit, tmp_path / "fit.json")
    TERMS.pop("drag")  # as in another process, which finds it by its entry point again
    sys.modules.pop("greasy")
    again = tp.load_fit(tmp_path / "fit.json")
    assert [t.name for t in again.terms] == [t.name for t in fit.terms]
    assert again.values == pytest.approx(fit.values)
    tp.report(fit, tmp_path / "report.html")
    assert "drag" in (tmp_path / "report.html").read_text()
    # A description has no place for it, and says so.
    with pytest.raises(tp.TaupiError, match="drag"):
        tp.write_toml(fit, tmp_path / "arm.toml")
    # Nor has MuJoCo: damping stands in for it, and the export names what is lost.
    export = tp.write_mjcf(fit, tmp_path / "arm.xml")
    assert export.lost == ("shoulder.drag", "elbow.drag") and "drag" in " ".join(export.notes)
    viscous = tp.load(tmp_path / "arm.xml").joints[1].friction.viscous
    assert float(viscous) > values["elbow.viscous"] + 0.1


def test_a_term_that_drifts_may_change_between_logs(drag, monkeypatch):
    """What has changed is friction at the largest speed, where the term's own column says how much that is."""
    tp.regressor(ARM, terms=drag)
    kind = TERMS[drag]
    monkeypatch.setattr(kind, "drift", 0.2)
    fit = tp.identify(ARM, log(), terms=TERM_NAMES, cutoff_hz=10)
    later = log()
    qd = np.gradient(later.q[:, 1], later.time)
    changes = tp.what_changed(fit, later.with_(tau=later.tau + np.outer(qd * np.abs(qd), [0.0, 0.4])))
    (change,) = (c for c in changes.changes if c.kind == "friction" and c.owner == "elbow")
    assert change.value == pytest.approx(0.4 * fit.speeds["elbow"] ** 2, rel=0.1)


def test_an_unknown_name_is_still_unknown(drag):
    with pytest.raises(tp.TaupiError) as refusal:
        tp.regressor(ARM, terms="drug")
    assert "drug" in str(refusal.value)


def test_entry_points_are_read_for_unknown_names_only(monkeypatch):
    def fail(**_):
        raise AssertionError("entry points were read")

    monkeypatch.setattr(importlib.metadata, "entry_points", fail)
    tp.regressor(ARM, terms=("viscous", "coulomb"))


def test_command_line(drag, package, tmp_path):
    """In processes of their own, where nothing has imported the file: a fit by its name, and the fit read back."""
    tp.write_log(log(8.0), tmp_path / "run.csv")
    command = "import sys; sys.path.insert(0, sys.argv.pop(1)); from taupi.cli.main import run; run()"

    def taupi(*words):
        typed = [sys.executable, "-c", command, str(package), *words]
        done = subprocess.run(typed, capture_output=True, text=True, check=False, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return done.stdout

    taupi("identify", "elbow2r", "run.csv", "--terms", "viscous,drag", "--cutoff", "10", "-o", "out")
    assert "drag" in (tmp_path / "out" / "report.html").read_text()
    assert "run.csv" in taupi("validate", "out", "run.csv")
    taupi("emit", "elbow2r", "inverse-dynamics", "--terms", "viscous,drag", "-o", "source")
    assert "fabs" in (tmp_path / "source" / "inverse_dynamics.c").read_text()


def test_a_class_without_the_base_is_registered_too(tmp_path):
    class Plain:
        name = "plain"

        def unit(self, prismatic):
            return "N m"

        def value(self, joint):
            return 2

        def column(self, q, qd, qdd):
            return q

    try:
        tp.terms.register(Plain)
        assert tp.regressor(ARM, terms="plain").parameters.names[-1] == "elbow.plain"
    finally:
        TERMS.pop("plain")
