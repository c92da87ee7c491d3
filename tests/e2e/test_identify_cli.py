"""`taupi identify` from outside: results, what is printed, every setting, refusals, exit codes."""

import hashlib
import json
import subprocess
import sys
from html.parser import HTMLParser

import numpy as np
import pytest
from cli_runs import COUNT, RESULTS

import taupi as tp
from taupi.identification.equations.joints import RigidJoints
from taupi.tables import with_error


class Words(HTMLParser):
    """The text of a page, and whether its tags close."""

    void = frozenset(("meta", "br", "link"))

    def __init__(self):
        super().__init__()
        self.open, self.words = [], []

    def handle_starttag(self, tag, attributes):
        if tag not in self.void:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def test_files_and_what_is_printed(done, logs):
    process, out, arguments = done
    assert process.returncode == 0, process.stderr
    assert sorted(p.name for p in out.iterdir()) == RESULTS and [p.name for p in out.parent.iterdir()] == ["out"]
    first, second = process.stdout.splitlines()
    assert first.startswith(f"{COUNT} base parameters of elbow2r by consistent") and second.startswith(
        "held out: run3.csv"
    )
    lines = process.stderr.splitlines()
    assert f"next: open {out}/report.html" in lines[-1] and lines[-2].startswith("verdict: good. ")
    faster = [line for line in lines if line.startswith("warning: ")]
    assert all(
        line.startswith("warning: run3.csv moves faster") for line in faster
    )  # shoulder: 3.8 instead of 2.7 rad/s
    fit = tp.load_fit(out)
    assert (out / "fit.txt").read_text().startswith("verdict: good. ")
    truth = fit.basis.project(
        tp.base_parameters(
            tp.load("elbow2r").with_friction(viscous=[0.5, 0.3], coulomb=[0.4, 0.2], offset=[0.1, -0.1]),
            RigidJoints.default_terms,
        ).standard
    )
    # Noise of 0.02 N m averaged over some thousand samples; friction's steps, smeared by the filter, leave more.
    assert np.abs(fit.values - truth).max() < 0.05
    words = Words()
    words.feed((out / "report.html").read_text(encoding="utf-8"))
    assert not words.open
    assert {"run3.csv ", "run1.csv ", "run2.csv "} <= set(words.words)
    assert with_error(fit.values[0], fit.stderr[0])[0] in words.words
    record = fit.provenance
    assert record["command"] == "taupi " + " ".join(arguments) and record["version"] == tp.__version__
    assert [run["sha256"] for run in record["logs"]] == [
        hashlib.sha256((logs / f"run{k}.csv").read_bytes()).hexdigest() for k in (1, 2)
    ]
    assert record["description_sha256"] == hashlib.sha256((logs / "arm.toml").read_bytes()).hexdigest()
    assert record["seed"] == 0


def test_the_same_result_from_python(done, logs):
    paths = [logs / "run1.csv", logs / "run2.csv"]
    fit = tp.identify(tp.load(logs / "arm.toml"), paths, cutoff_hz=15)
    assert np.array_equal(fit.values, tp.load_fit(done[1]).values)


def test_every_setting_is_an_option(command, logs, done, tmp_path):
    """What the options say is what Python gets: the same fit, and the same record of its settings."""
    settings = {
        "cutoff_hz": 12.0, "decimate": 5, "order": 3, "derivatives": "central", "velocity": "position", "trim": False,
        "short_gap": 0.1, "long_gaps": "longest", "slow": (0.1, 0.2), "threshold": 0.02, "leave_out": "sample",
        "torque": "sampled", "encoder_delay": None,
    }  # fmt: skip
    words = [
        "--cutoff",
        12,
        "--decimate",
        5,
        "--order",
        3,
        "--derivatives",
        "central",
        "--velocity",
        "position",
        "--no-trim",
    ]
    words += [
        "--short-gap",
        0.1,
        "--gaps",
        "longest",
        "--slow",
        "0.1,0.2",
        "--threshold",
        0.02,
        "--leave-out",
        "sample",
    ]
    words += ["--torque", "sampled", "--whole"]
    code, _, err = command("identify", "arm.toml", "run1.csv", *words, "-o", tmp_path / "out")
    assert code == 0, err
    fit = tp.load_fit(tmp_path / "out")
    assert tp.Preparation.from_dict(fit.settings["preparation"]) == tp.Preparation(**settings)
    same = tp.identify(tp.load(logs / "arm.toml"), logs / "run1.csv", **settings)
    assert np.array_equal(fit.values, same.values)
    # Validation begins with the fit's own settings, and changes those that are named.
    code, out, err = command("validate", done[1], "run3.csv", "--cutoff", 5, "--velocity", "position", "--json")
    assert code == 0, err
    want = tp.load_fit(done[1]).validate(logs / "run3.csv", cutoff_hz=5.0, velocity="position")
    assert json.loads(out) == [json.loads(json.dumps(want.to_dict()))]
    assert want.relative != tp.load_fit(done[1]).validate(logs / "run3.csv").relative


def test_json_is_one_documented_object(command, tmp_path):
    code, out, err = command(
        "identify",
        "arm.toml",
        "run1.csv",
        "--validate",
        "run2.csv",
        "-o",
        tmp_path / "out",
        "--json",
        "--estimator",
        "ols",
    )
    assert code == 0
    data = json.loads(out)
    assert list(data) == [
        "schema", "summary", "verdict", "files", "estimator", "parameters", "not_determined", "not_significant", "relative_error",
        "joints", "springs", "validation", "notes",
    ]  # fmt: skip
    assert data["schema"] == "taupi.identify/1" and data["estimator"] == "ols" and data["parameters"] == COUNT
    assert data["files"] == [str(tmp_path / "out" / name) for name in RESULTS]
    assert [j["name"] for j in data["joints"]] == ["shoulder", "elbow"] and 0 < data["relative_error"] < 0.1
    (held_out,) = data["validation"]
    assert held_out["log"] == "run2.csv" and 0 < held_out["relative"] < 0.1
    assert "next: open" in err


def test_a_mapping_terms_and_the_next_command(command, tmp_path):
    code, out, err = command(
        "identify", "arm.toml", "foreign.csv", "--columns", "map.toml", "--terms", "viscous", "-o", tmp_path / "out"
    )
    assert code == 0 and out.startswith("8 base parameters")
    assert f"next: taupi validate {tmp_path / 'out'} ANOTHER_LOG" in err
    fit = tp.load_fit(tmp_path / "out")
    assert [t.name for t in fit.terms] == ["viscous"] and fit.provenance["columns"] == "map.toml"
    assert "No log was held out" in (tmp_path / "out" / "report.html").read_text()
    code, out, _ = command("identify", "arm.toml", "run1.csv", "--terms", "none", "-o", tmp_path / "bare")
    assert code == 0 and out.startswith("6 base parameters")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["arm.toml", "missing.csv"], "No file 'missing.csv'"),
        (["arm.toml", "run1.csv", "--validate", "missing.csv"], "No file 'missing.csv'"),
        (["nobody", "run1.csv"], "nobody"),
        (["puma560", "run1.csv"], "No joint 'joint1' in run1.csv"),
        (["arm.toml", "empty.csv"], "empty.csv"),
        (["arm.toml", "foreign.csv"], "No joint 'shoulder' in foreign.csv"),
        (["arm.toml", "run1.csv", "--columns", "no.toml"], "No file 'no.toml'"),
        (["arm.toml", "silent.csv"], "tau is missing in silent.csv"),
        (["arm.toml", "short.csv", "--cutoff", "5"], "too few"),
        (["arm.toml", "still.csv"], "q does not move"),
        (["arm.toml", "run1.csv", "--estimator", "wsl"], "Did you mean 'wls'?"),
        (["arm.toml", "run1.csv", "--terms", "viscus"], "Did you mean 'viscous'?"),
        (["arm.toml", "run1.csv", "--cutoff", "-1"], "--cutoff is -1"),
        (["arm.toml", "run1.csv", "--decimate", "0"], "0, expected a whole number"),
        (["arm.toml", "run1.csv", "--rate-hz", "-5"], "--rate-hz is -5"),
        (["arm.toml", "run1.csv", "--lock", "nobody"], "lock"),
    ],
    ids=lambda v: " ".join(v) if isinstance(v, list) else "",
)
def test_bad_input_is_one_sentence_exit_3_and_no_output(command, tmp_path, arguments, sentence):
    code, out, err = command("identify", *arguments, "-o", tmp_path / "out")
    assert (code, out) == (3, ""), err
    assert sentence in err and len(err.strip().splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_wrong_usage_is_exit_2(command, tmp_path):
    assert command("identify", "arm.toml", "-o", tmp_path / "out")[0] == 2
    assert command("identify", "arm.toml", "run1.csv")[0] == 2


def test_results_are_kept_unless_forced(command, tmp_path):
    out = tmp_path / "out"
    assert command("identify", "arm.toml", "run1.csv", "-o", out)[0] == 0
    before = {p.name: p.read_bytes() for p in out.iterdir()}
    code, printed, err = command("identify", "arm.toml", "run2.csv", "-o", out)
    assert code == 3 and not printed and "holds fit.json, fit.txt, report.html already" in err and "--force" in err
    assert {p.name: p.read_bytes() for p in out.iterdir()} == before
    (out / "notes.md").write_text("mine")
    assert command("identify", "arm.toml", "run2.csv", "-o", out, "--force")[0] == 0
    assert (out / "fit.json").read_bytes() != before["fit.json"] and (out / "notes.md").read_text() == "mine"
    code, _, err = command("identify", "arm.toml", "run2.csv", "-o", ".", "--force")
    assert code == 3 and "current directory" in err


def test_a_threshold_that_is_missed_is_exit_5(command, done, tmp_path):
    code, out, err = command("identify", "arm.toml", "run1.csv", "-o", tmp_path / "out", "--max-error", "1e-6")
    assert code == 5 and out and "above --max-error 1e-06: the fitted logs" in err
    assert (tmp_path / "out" / "fit.json").exists()
    assert command("validate", done[1], "run3.csv", "--max-error", "0.5")[0] == 0
    code, out, err = command("validate", done[1], "run3.csv", "run1.csv", "--max-error", "1e-6")
    assert code == 5 and "run3.csv" in err and "run1.csv" in err


STUBBORN = """
import sys
from taupi.identification import estimators
from taupi.identification.results import assemble
from taupi.identification.results.status import Outcome, Status
from taupi.identification.solve import solve
from taupi.identification.rows.factors import stack_factors

class Stubborn:
    def fit(self, problem):
        solution = solve(stack_factors(problem.factors), problem.prior_base, problem.metric)
        return assemble.assemble(problem, "stubborn", {}, solution, status=Status(Outcome.NOT_CONVERGED))

sys.modules["stubborn"] = sys.modules["__main__"]
estimators.ESTIMATORS["stubborn"] = "stubborn:Stubborn"
from taupi.cli.main import run
run()
"""


def test_not_converged_is_exit_4(logs, tmp_path):
    arguments = ["identify", "arm.toml", "run1.csv", "--estimator", "stubborn", "-o", str(tmp_path / "out")]
    end = subprocess.run(
        [sys.executable, "-c", STUBBORN, *arguments], cwd=logs, capture_output=True, text=True, check=False
    )
    assert end.returncode == 4 and not end.stdout
    assert end.stderr.strip() == "taupi: stubborn: did not converge. Begin nearer to the robot's values."
    assert not list(tmp_path.iterdir())
