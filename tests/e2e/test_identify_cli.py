"""`taupi identify`, `validate`, `compare` and `report` from outside: results, refusals, exit codes, interruptions."""

import hashlib
import json
import signal
import subprocess
import sys
import time
import warnings
from html.parser import HTMLParser

import numpy as np
import pytest

import taupi as tp
from taupi.cli.main import run

RESULTS = ["fit.json", "fit.txt", "report.html"]
TERMS = ("rotor", "viscous", "coulomb", "offset")  # the defaults
COUNT = tp.base_parameters(tp.load("elbow2r"), TERMS).count


def motion(seed, n=2, duration=8.0, rate=200.0):
    """A random Fourier series a joint: time, q, qd, qdd."""
    rng = np.random.default_rng(seed)
    t = np.arange(0, duration, 1 / rate)
    w = 2 * np.pi / duration * np.arange(1, 5)
    a = rng.normal(size=(4, n)) / w[:, None]
    wt = np.outer(t, w)
    return t, np.sin(wt) @ a, (np.cos(wt) * w) @ a, -(np.sin(wt) * w**2) @ a


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    """An arm with friction, its description, and recorded runs: three good ones, a foreign one, and bad ones."""
    folder = tmp_path_factory.mktemp("logs")
    arm = tp.load("elbow2r").with_friction(viscous=[0.5, 0.3], coulomb=[0.4, 0.2], offset=[0.1, -0.1])
    tp.write_toml(tp.load("elbow2r"), folder / "arm.toml")
    rng = np.random.default_rng(0)
    for k in (1, 2, 3):
        t, q, qd, qdd = motion(k)
        tau = tp.inverse_dynamics(arm, terms=TERMS)(q, qd, qdd)
        log = tp.Log(t, q, tau=tau + 0.02 * rng.normal(size=tau.shape), names=arm.joint_names)
        tp.write_log(log, folder / f"run{k}.csv")
    rows = zip(1000 * t, *np.degrees(q).T, *tau.T, strict=True)
    lines = "\n".join(",".join(f"{v:.9g}" for v in row) for row in rows)
    (folder / "foreign.csv").write_text("stamp,upper,fore,effort_a,effort_b\n" + lines + "\n")
    (folder / "map.toml").write_text(
        'time = {columns = "stamp", unit = "ms"}\nq = {columns = ["upper", "fore"], unit = "deg"}\n'
        'tau = {columns = ["effort_a", "effort_b"]}\n'
    )
    tp.write_log(tp.Log(t, q, names=arm.joint_names), folder / "silent.csv")
    tp.write_log(tp.Log(t[:20], q[:20], tau=tau[:20], names=arm.joint_names), folder / "short.csv")
    tp.write_log(tp.Log(t, np.full_like(q, 0.3), tau=tau, names=arm.joint_names), folder / "still.csv")
    (folder / "empty.csv").write_text("")
    return folder


@pytest.fixture
def command(monkeypatch, capsys, logs):
    """Run `taupi ...` in this process, in the folder of the logs; return exit code, stdout, stderr."""

    def call(*arguments):
        monkeypatch.chdir(logs)
        monkeypatch.setattr(sys, "argv", ["taupi", *map(str, arguments)])
        monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
        with pytest.raises(SystemExit) as end:
            run()
        printed = capsys.readouterr()
        return end.value.code or 0, printed.out, printed.err

    return call


@pytest.fixture(scope="module")
def done(logs, tmp_path_factory):
    """A whole run as a user has it, in a process of its own."""
    out = tmp_path_factory.mktemp("results") / "out"
    arguments = [
        "identify",
        "arm.toml",
        "run1.csv",
        "run2.csv",
        "--validate",
        "run3.csv",
        "-o",
        str(out),
        "--cutoff",
        "15",
    ]
    command = [sys.executable, "-m", "taupi", *arguments]
    return subprocess.run(command, cwd=logs, capture_output=True, text=True, check=False), out, arguments


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
    assert f"next: open {out}/report.html" in process.stderr
    assert process.stderr.splitlines()[1:] == ["verdict: good"]
    fit = tp.load_fit(out)
    assert (out / "fit.txt").read_text().startswith(f"verdict: good\n\n{first}")
    truth = fit.basis.project(
        tp.base_parameters(
            tp.load("elbow2r").with_friction(viscous=[0.5, 0.3], coulomb=[0.4, 0.2], offset=[0.1, -0.1]), TERMS
        ).standard
    )
    # Noise of 0.02 N m averaged over some thousand samples; friction's steps, smeared by the filter, leave more.
    assert np.abs(fit.values - truth).max() < 0.05
    words = Words()
    words.feed((out / "report.html").read_text(encoding="utf-8"))
    assert not words.open
    assert {"run3.csv ", "run1.csv ", "run2.csv "} <= set(words.words)
    assert f"{fit.values[0]:.5g}" in words.words
    record = fit.provenance
    assert record["command"] == "taupi " + " ".join(arguments) and record["version"] == tp.__version__
    assert [run["sha256"] for run in record["runs"]] == [
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
        "joints", "validation", "notes",
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


URDF = """<robot name="two"><link name="world"/>
<joint name="shoulder" type="revolute"><parent link="world"/><child link="upper"/><axis xyz="0 0 1"/>
<limit lower="-3" upper="3" effort="9" velocity="9"/></joint>
<link name="upper"><inertial><origin xyz="0.4 0 0"/><mass value="1.5"/>
<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
<joint name="elbow" type="revolute"><origin xyz="1 0 0"/><parent link="upper"/><child link="fore"/><axis xyz="0 1 0"/>
<limit lower="-3" upper="3" effort="9" velocity="9"/></joint>
<link name="fore"><inertial><origin xyz="0.3 0 0"/><mass value="0.8"/>
<inertia ixx="0.05" ixy="0" ixz="0" iyy="0.05" iyz="0" izz="0.05"/></inertial></link></robot>
"""


def test_the_identified_robot_is_exported(command, tmp_path):
    """As URDF, TOML and C: what is written predicts what the fit predicts, and heavier links are found heavier."""
    (tmp_path / "two.urdf").write_text(URDF)
    described = tp.load(tmp_path / "two.urdf")
    true = described.with_parameters(described.parameters.values * 1.3)
    t, q, qd, qdd = motion(5)
    log = tp.Log(t, q, tau=tp.inverse_dynamics(true)(q, qd, qdd), names=true.joint_names)
    tp.write_log(log, tmp_path / "run.csv")
    arguments = [
        "identify",
        tmp_path / "two.urdf",
        tmp_path / "run.csv",
        "--terms",
        "viscous",
        "--estimator",
        "feasible",
    ]
    out = tmp_path / "out"
    code, _, err = command(*arguments, "-o", out, "--cutoff", "15", "--urdf", "--toml", "--c")
    assert code == 0, err
    assert sorted(p.name for p in out.iterdir()) == ["c", *RESULTS[:2], "model.toml", "model.urdf", RESULTS[2]]
    ready = tp.prepare(log, cutoff_hz=15)
    predicted = tp.load_fit(out).predict(ready)
    written = tp.inverse_dynamics(tp.load(out / "model.toml"), terms=("viscous",))(ready.q, ready.qd, ready.qdd)
    assert np.abs(written - predicted).max() < 1e-6 * np.abs(written).max()
    rigid = tp.inverse_dynamics(tp.load(out / "model.urdf"))(q, qd, qdd)
    assert np.abs(rigid - log.tau).max() < 0.02 * np.abs(log.tau).max()
    assert "inverse_dynamics" in (out / "c" / "inverse_dynamics.h").read_text()
    # A later result without exports leaves no old ones beside it.
    assert command(*arguments, "-o", out, "--cutoff", "15", "--force")[0] == 0
    assert sorted(p.name for p in out.iterdir()) == RESULTS


@pytest.fixture
def two(command, tmp_path):
    """A robot from a URDF, identified from a log of it, or of it with the torque flipped; the URDF is gone by then."""

    def identified(sign):
        (tmp_path / "two.urdf").write_text(URDF)
        robot = tp.load(tmp_path / "two.urdf")
        t, q, qd, qdd = motion(5)
        log = tp.Log(t, q, tau=sign * 1.2 * tp.inverse_dynamics(robot)(q, qd, qdd), names=robot.joint_names)
        tp.write_log(log, tmp_path / "run.csv")
        arguments = [
            "identify",
            tmp_path / "two.urdf",
            tmp_path / "run.csv",
            "--terms",
            "none",
            "--estimator",
            "feasible",
        ]
        assert command(*arguments, "-o", tmp_path / "out", "--cutoff", "15")[0] == (0 if sign > 0 else 4)
        (tmp_path / "two.urdf").unlink()
        return tmp_path / "out", log

    return identified


def test_a_fit_is_exported_from_its_file(command, two, tmp_path):
    fit, log = two(1)
    for name in ("new.urdf", "new.toml", "c"):
        code, out, err = command("export", fit, "-o", tmp_path / name)
        assert (code, out) == (0, "") and err.splitlines()[-1] == f"wrote {tmp_path / name}", err
    ready = tp.prepare(log, cutoff_hz=15)
    for name in ("new.urdf", "new.toml"):
        torque = tp.inverse_dynamics(tp.load(tmp_path / name))(ready.q, ready.qd, ready.qdd)
        assert np.abs(torque - ready.tau).max() < 0.01 * np.abs(ready.tau).max()
    assert (tmp_path / "c" / "inverse_dynamics.h").exists()
    code, _, err = command("export", fit, "-o", tmp_path / "new.urdf")
    assert code == 3 and "exists already" in err and "--force" in err
    assert command("export", fit, "-o", tmp_path / "new.urdf", "--force")[0] == 0
    code, _, err = command("export", fit, "-o", tmp_path / "new.xml")
    assert code == 3 and "expected a name ending in .urdf or .toml" in err and not (tmp_path / "new.xml").exists()


def test_a_fit_of_a_flipped_torque_is_not_exported(command, two, tmp_path):
    fit, _ = two(-1)
    for name in ("new.urdf", "new.toml", "c"):
        code, out, err = command("export", fit, "-o", tmp_path / name)
        assert (code, out) == (4, "") and len(err.strip().splitlines()) == 1
        assert "wrong sign" in err and "--anyway exports it all the same" in err
        assert not (tmp_path / name).exists()
    code, _, err = command("export", fit, "-o", tmp_path / "new.urdf", "--anyway")
    assert code == 0 and err.startswith("warning: ") and (tmp_path / "new.urdf").exists()
    (tmp_path / "two.urdf").write_text(URDF)
    arguments = ["identify", tmp_path / "two.urdf", tmp_path / "run.csv", "--estimator", "feasible", "--terms", "none"]
    code, _, err = command(*arguments, "-o", tmp_path / "more", "--urdf", "--cutoff", "15")
    assert code == 4 and "verdict: wrong" in err and "model.urdf is not written; --anyway" in err
    assert sorted(path.name for path in (tmp_path / "more").iterdir()) == RESULTS
    assert command(*arguments, "-o", tmp_path / "more", "--urdf", "--cutoff", "15", "--anyway", "--force")[0] == 0
    assert (tmp_path / "more" / "model.urdf").exists()


def test_what_cannot_be_exported_is_refused_and_nothing_is_written(command, tmp_path):
    code, _, err = command(
        "identify", "arm.toml", "run1.csv", "-o", tmp_path / "out", "--urdf", "--estimator", "feasible"
    )
    assert code == 3 and "URDF" in err and len(err.strip().splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_an_export_that_differs_from_the_estimate_says_so(command, tmp_path):
    t, q, qd, qdd = motion(5)
    tau = -tp.inverse_dynamics(tp.load("elbow2r"))(q, qd, qdd)  # a sign that somebody got wrong
    tp.write_log(tp.Log(t, q, tau=tau, names=("shoulder", "elbow")), tmp_path / "wrong.csv")
    out = tmp_path / "out"
    code, _, err = command("identify", "arm.toml", tmp_path / "wrong.csv", "--terms", "none", "-o", out, "--toml")
    assert code == 4 and "verdict: wrong" in err and "tau of all joints has the wrong sign, it seems" in err
    assert "model.toml is not written; --anyway" in err and not (out / "model.toml").exists()
    assert json.loads((out / "fit.json").read_text())["verdict"]["level"] == "wrong"


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
from taupi.identification.results.fit import Outcome, Status
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
    assert (
        end.stderr.strip()
        == "taupi: stubborn: did not converge. Begin nearer to the robot's values, or raise iterations."
    )
    assert not list(tmp_path.iterdir())


# Say where we are and wait to be stopped: before the results change places, or after it.
HANGING = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background inherits one that is ignored
from taupi import files
exchange, moment = files._exchange, sys.argv.pop(1)
def slow(a, b):
    if moment == "after": exchange(a, b)
    print("now", flush=True)
    time.sleep(60)
files._exchange = slow
from taupi.cli.main import run
run()
"""


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("way", [signal.SIGKILL, signal.SIGINT], ids=["killed", "interrupted"])
def test_an_interrupted_run_leaves_the_old_result_or_the_new_one(logs, done, tmp_path, moment, way):
    out = tmp_path / "out"
    out.mkdir()
    old = {name: (done[1] / name).read_bytes() for name in RESULTS}
    for name, content in old.items():
        (out / name).write_bytes(content)
    arguments = ["identify", "arm.toml", "run3.csv", "-o", str(out), "--force"]
    with subprocess.Popen(
        [sys.executable, "-c", HANGING, moment, *arguments],
        cwd=logs,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdout.readline() == "now\n"
        time.sleep(0.05)
        child.send_signal(way)
        child.wait(30)
    assert child.returncode in ((-9,) if way == signal.SIGKILL else (130, -2))
    files = {p.name: p.read_bytes() for p in out.iterdir()}
    assert sorted(files) == RESULTS
    if moment == "before":
        assert files == old
    else:
        assert all(files[name] != old[name] for name in RESULTS)
        assert [run["name"] for run in tp.load_fit(out).provenance["runs"]] == ["run3.csv"]
    if way == signal.SIGINT:
        assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_validate_compare_and_report(command, done, tmp_path):
    fit = done[1]
    code, out, _ = command("validate", fit, "run3.csv")
    assert code == 0 and out.startswith("run3.csv: relative error")
    (data,) = json.loads(command("validate", fit / "fit.json", "run3.csv", "--json")[1])
    assert data == json.loads(json.dumps(tp.load_fit(fit).validate("run3.csv").to_dict()))
    assert command("identify", "arm.toml", "run1.csv", "--estimator", "ols", "-o", tmp_path / "ols")[0] == 0
    code, out, _ = command("compare", tmp_path / "ols", fit, "run3.csv")
    assert code == 0 and "first (ols)" in out and "second (consistent)" in out
    (data,) = json.loads(command("compare", tmp_path / "ols", fit, "run3.csv", "--json")[1])
    assert set(data) == {"first", "second", "parameters"} and len(data["parameters"]) == COUNT
    page = tmp_path / "page.html"
    assert command("report", fit, "-o", page, "--validate", "run3.csv", "--fitted", "run1.csv")[0] == 0
    assert page.read_text().count("<figure") == 2 * 2 * 2
    code, _, err = command("report", fit, "-o", page)
    assert code == 3 and "exists already" in err and "--force" in err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["validate", "nothing.json", "run1.csv"], "No file 'nothing.json'"),
        (["validate", "run1.csv", "run2.csv"], "is not JSON"),
        (["report", "FIT", "-o", "page.pdf"], "ending in .html"),
        (["validate", "FIT", "silent.csv"], "tau is missing"),
        (["compare", "FIT", "nothing", "run1.csv"], "No file 'nothing'"),
        (["report", "FIT", "-o", "page.html", "--validate", "missing.csv"], "No file 'missing.csv'"),
    ],
    ids=lambda v: " ".join(v) if isinstance(v, list) else "",
)
def test_bad_input_of_the_others(command, done, logs, arguments, sentence):
    code, out, err = command(*(str(done[1]) if a == "FIT" else a for a in arguments))
    assert (code, out) == (3, "") and sentence in err and len(err.strip().splitlines()) == 1
    assert not list(logs.glob("page.*"))
