"""`taupi control` and `taupi emit ROBOT controller` from outside."""

import json
import shlex

import numpy as np
import pytest
from command_line import taupi
from emitted import need, run
from pages import Page

import taupi as tp
from taupi.cli.laws import LAW_GAINS, NO_GAINS, settings_of
from taupi.control.laws import law_class
from taupi.simulation.motion_limits import gentle_sines


def test_laws_side_by_side(tmp_path):
    laws = ("--law", "slotine-li", "--law", "niemeyer-slotine")
    done = taupi("control", "elbow2r", *laws, "--duration", "2", "--json", "-o", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    one, other = json.loads(done.stdout)["runs"]
    assert one["rms_error_last"] < 0.5 * one["rms_error_first"]
    assert one["V_last"] < one["V_first"]
    for key in ("rms_error_first", "rms_error_last", "largest_torque", "V_last"):
        assert other[key] == pytest.approx(one[key], rel=1e-6)
    run_ = tp.Run.load(tmp_path / "out" / "slotine-li" / "run.parquet")
    assert run_.parameters.shape == (2001, 20)
    out = tmp_path / "out"
    files = sorted(str(p.relative_to(out)) for p in out.rglob("*") if p.is_file())
    each = [
        f"{law}/{file}"
        for law in ("niemeyer-slotine", "slotine-li")
        for file in ("report.html", "run.parquet", "run.png")
    ]
    assert files == ["arm.svg", *each[:3], "report.html", *each[3:]]
    _, *rows = Page((out / "report.html").read_text()).table("law")
    assert [row[0] for row in rows] == ["slotine-li", "niemeyer-slotine"]
    assert rows[0][1] == f"{one['rms_error_first']:.3g}"
    assert "next: open out/report.html in a browser" in done.stderr
    again = taupi("control", "elbow2r", *laws, "-o", "out", cwd=tmp_path)
    assert again.returncode == 3 and "--force" in again.stderr


def test_help_lists_the_gains_of_each_law():
    for law, gains in LAW_GAINS.items():
        assert set(gains.split(", ")) == settings_of(law_class(law)) - NO_GAINS, law
    words = " ".join(taupi("control", "--help").stdout.split())
    assert "walker: Lambda, gamma, Gamma_inv" in words


def test_what_learning_brings(tmp_path):
    words = ["--law", "slotine-li,natural", "--held", "--known", "0.3", "--duration", "1", "-o", "out"]
    done = taupi("control", "elbow2r", *words, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    learning, natural = json.loads(done.stdout)["runs"]
    assert learning["rms_error_held"] > 3 * learning["rms_error_last"] and "rms_error_held" not in natural
    _, row, other = Page((tmp_path / "out" / "report.html").read_text()).table("law")
    assert row[3] == f"{learning['rms_error_held']:.3g}" and other[3] == "-"


@pytest.mark.parametrize(("robot", "law"), [("puma560", "slotine-li"), ("puma560", "walker"), ("panda", "slotine-li")])
def test_default_gains_let_learning_be_seen(robot, law, tmp_path):
    """The bar is a factor of three between fifths of the default run, whose motion repeats in each."""
    done = taupi("control", robot, "--known", "0.3", "--law", law, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (run_,) = json.loads(done.stdout)["runs"]
    assert run_["rms_error_first"] > 3 * run_["rms_error_last"]
    assert run_["seconds"] == 20.0 and not run_["remarks"]


def test_the_default_motion_repeats_within_limits():
    for name in ("panda", "puma560", "ur10", "planar3r"):
        robot = tp.load(name)
        motion, t = gentle_sines(robot), np.linspace(0.0, 4.0, 401)
        here, later = motion(t), motion(t + 4.0)
        assert np.allclose(here.q, later.q) and np.allclose(here.qdd, later.qdd, atol=1e-9)
        limits = [joint.limits for joint in robot.driving_joints]
        for k, limit in enumerate(limits):
            assert limit.lower is None or (here.q[:, k] > float(limit.lower)).all()
            assert limit.upper is None or (here.q[:, k] < float(limit.upper)).all()
            assert not limit.velocity or np.abs(here.qd[:, k]).max() <= 0.5 * float(limit.velocity) + 1e-12
        assert np.linalg.matrix_rank(here.q - here.q.mean(axis=0)) == min(robot.n, 6)  # three harmonics, two phases


def test_a_payload_in_words(tmp_path):
    done = taupi("control", "elbow2r", "--duration", "1", "--payload-at", "0.5s:1kg", "-o", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0].startswith("law ")
    assert done.stdout.splitlines()[2].startswith("slotine-li ")
    assert done.stdout.splitlines()[2].endswith(" of V")  # the load changed V: its start is no measure
    assert "payload, kg" in done.stdout.splitlines()[0]
    page = Page((tmp_path / "out" / "report.html").read_text())
    assert "kg, estimated payload at last; it is 1 kg" in page.words
    assert "elbow2r under slotine-li" in page.words and "--payload-at 0.5s:1kg" in " ".join(page.words)
    assert (tmp_path / "out" / "arm.svg").read_text().startswith("<svg")


def test_gains_limits_delays_and_sensors_in_words(tmp_path):
    words = [
        "--gain",
        "Lambda=4",
        "--gain",
        "walker.gamma=9",
        "--torque-limit",
        "60,20",
        "--rate-limit",
        "1e5",
        "--delay",
        "1ms",
    ]
    words += [
        "--noise",
        "1e-5",
        "--velocity",
        "filter:80",
        "--sensor-delay",
        "1ms",
        "--seed",
        "3",
        "--initial",
        "[0.1, 0.2]",
    ]
    words += ["--disturbance", "0.1,0", "--terms", "viscous", "--known", "0.8"]
    done = taupi(
        "control", "elbow2r", "--law", "walker,pd-gravity", *words, "--duration", "0.5", "-o", "out", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    page = Page((tmp_path / "out" / "report.html").read_text())
    gains = {row[0]: row[1:] for row in page.table("law")[1:]} | {
        row[0]: row[1:] for t in page.tables if t[0] == ["law", "walker", "pd-gravity"] for row in t[1:]
    }
    assert gains["Lambda"] == ["4", "-"] and gains["gamma"] == ["9", "-"] and gains["Kp"][0] == "-"
    plant = {row[0]: row[1] for row in page.table("plant")[1:]}
    assert plant["torque_limits"] == "60, 20" and plant["rate_limits"] == "1e+05" and plant["delay"] == "0.001"
    run_ = tp.Run.load(tmp_path / "out" / "walker" / "run.parquet")
    assert run_.q[0].tolist() == [0.1, 0.2] and run_.measured is not None
    assert "delay=0.001" in run_.provenance["sensors"] and run_.provenance["seed"] == 3


@pytest.mark.parametrize(
    ("reference", "kind"),
    [
        ("planar2", "Sinusoids"),
        ('{"offset": [0, 0], "amplitude": [[0.1], [0.2]], "omega": [[2], [3]]}', "Sinusoids"),
        ("minjerk:[[0,0],[0.2,0.1]]", "MinimumJerk"),
        ("bspline:[[0,0],[0.2,0.1],[0.1,0.3]]", "BSpline"),
    ],
)
def test_kinds_of_references(reference, kind, tmp_path):
    done = taupi("control", "elbow2r", "--reference", reference, "--duration", "0.2", "-o", "o", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    run_ = tp.Run.load(tmp_path / "o" / "slotine-li" / "run.parquet")
    assert run_.provenance["reference"] == kind and run_.reference is not None


def test_a_loop_that_diverges_is_kept_and_shown(tmp_path):
    done = taupi("control", "elbow2r", "--gain", "K=[1e5,1e5]", "--duration", "1", "-o", "out", cwd=tmp_path)
    assert done.returncode == 4 and "The loop diverged after" in done.stderr
    run_ = tp.Run.load(tmp_path / "out" / "slotine-li" / "run.parquet")
    assert not run_.complete and len(run_) > 2
    assert "then it diverged" in Page((tmp_path / "out" / "report.html").read_text()).words


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["control", "elbow2r", "--law", "slotine"], "No law 'slotine'. Did you mean 'slotine-li'?"),
        (["control", "elbow2r", "--reference", "none"], "expected a motion to follow"),
        (["control", "elbow2r", "--reference", "{}"], "expected a JSON object with offset"),
        (["control", "elbow2r", "--reference", "bspline:[[0,0]]"], "expected at least two way-points"),
        (["control", "elbow2r", "--gain", "K"], "expected NAME=VALUE"),
        (["control", "elbow2r", "--gain", "K=fast"], "expected a number or a JSON list"),
        (["control", "elbow2r", "--gain", "K=-3"], "K has an entry of -3, expected positive"),
        (["control", "elbow2r", "--gain", "K=[1,2,3]"], "K has shape (3,)"),
        (["control", "elbow2r", "--gain", "gamma=1"], "No gain 'gamma' in slotine-li"),
        (["control", "elbow2r", "--gain", "walker.gamma=1"], "No law 'walker' in --gain"),
        (["control", "elbow2r", "--torque-limit", "1,2,3"], "--torque-limit has 3 numbers, expected one, or 2"),
        (["control", "elbow2r", "--torque-limit", "description"], "states no effort"),
        (["control", "elbow2r", "--delay", "soon"], "--delay is 'soon', expected a number"),
        (["control", "elbow2r", "--delay", "0.4ms"], "expected a whole number of control periods"),
        (["control", "elbow2r", "--velocity", "filter"], "expected filter:HZ"),
        (["control", "elbow2r", "--velocity", "guess"], "--velocity is 'guess'"),
        (["control", "elbow2r", "--initial", "[1]"], "--initial is '[1]', expected 2 numbers"),
        (["emit", "elbow2r", "controller", "-o", "x"], "A controller needs a law: --law slotine-li"),
        (["emit", "elbow2r", "controller", "--law", "walkr", "-o", "x"], "Did you mean 'walker'?"),
        (
            ["emit", "elbow2r", "regressor", "--law", "walker", "-o", "x"],
            "--law and --gain go with the program controller",
        ),
        (["emit", "elbow2r", "controller", "--law", "walker", "--dtype", "float32", "-o", "x"], "written in float64"),
        (["emit", "elbow2r", "control", "-o", "x"], "Did you mean 'controller'?"),
    ],
)
def test_bad_requests_are_one_sentence(arguments, sentence, tmp_path):
    done = taupi(*arguments, cwd=tmp_path)
    assert done.returncode == 3, done.stderr
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


def test_an_emitted_controller_passes_its_own_test(tmp_path):
    words = ("--law", "slotine-li", "--gain", "Lambda=4", "--language", "c")
    done = taupi("emit", "puma560", "controller", *words, "-o", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[0] == "out/slotine_li.c"
    need("cc")
    command = done.stderr.partition("next: ")[2].strip()
    assert "largest difference" in run("bash", "-c", command, cwd=tmp_path)


def test_elastic_joints_have_their_own_law(tmp_path):
    done = taupi("control", "zollo2r", "--duration", "1", "--known", "1", "--json", "-o", "own", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)["runs"]
    assert row["law"] == "elastic-pd-gravity" and row["complete"] and row["rms_error_last"] < 0.05
    assert "2 elastic joints: simulating links and motors" in done.stderr
    written = sorted(str(p.relative_to(tmp_path / "own")) for p in (tmp_path / "own").rglob("*.*"))
    assert written == ["arm.svg", "elastic-pd-gravity/run.parquet", "elastic-pd-gravity/run.png", "report.html"]
    # A law for rigid arms excites the springs.
    lost = taupi("control", "zollo2r", "--law", "computed-torque", "--known", "1", "--duration", "2", cwd=tmp_path)
    assert lost.returncode == 4 and "diverged" in lost.stderr and "the law is that of a rigid arm" in lost.stderr
    words = [
        "--law",
        "elastic-pd-gravity,pd-gravity",
        "--gain",
        "elastic-pd-gravity.Kp=[3000,1800]",
        "--duration",
        "0.2",
    ]
    both = taupi("control", "zollo2r", *words, "--torque-limit", "200", "--substeps", "3", "-o", "out", cwd=tmp_path)
    assert both.returncode == 0, both.stderr
    page = Page((tmp_path / "out" / "report.html").read_text())
    assert "joint1, deflection" in " ".join(page.words)
    stiff = taupi("control", "zollo2r", "--rigid", "--duration", "0.1", "--json", cwd=tmp_path)
    assert json.loads(stiff.stdout)["runs"][0]["law"] == "slotine-li" and "motors" not in stiff.stderr


def test_what_sensors_saw_is_a_log_and_a_late_payload_is_said(tmp_path):
    words = ("--resolution", "1e-3", "--payload-at", "5s:2kg", "--duration", "0.2", "-o", "o")
    done = taupi("control", "elbow2r", *words, cwd=tmp_path)
    assert done.returncode == 0 and "--payload-at 5s is after the end of the run, 0.2 s" in done.stderr
    seen = tp.read_log(tmp_path / "o" / "slotine-li" / "measured.parquet")
    truth = tp.read_log(tmp_path / "o" / "slotine-li" / "run.parquet")
    assert np.allclose(seen.q / 1e-3, np.rint(seen.q / 1e-3)) and not np.allclose(
        truth.q / 1e-3, np.rint(truth.q / 1e-3)
    )


def test_the_example_of_a_task_in_the_help_runs(tmp_path):
    lines = taupi("control", "--help").stdout.replace("\\\n", " ").splitlines()
    (line,) = [line for line in lines if "--task planar" in line]
    done = taupi(*shlex.split(line)[1:], "--duration", "0.5", cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_a_law_of_a_task(tmp_path):
    """Aldana's adaptive law: the task follows what way-points of the joints do to it, and learns."""
    way = "[[0.3, 0.9, -0.4], [0.6, 1.3, -0.8], [0.2, 0.8, 0.3]]"
    words = ["control", "planar3r", "--law", "operational-slotine-li", "--task", "planar", "--duration", "2"]
    done = taupi(*words, "--reference", way, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (run,) = json.loads(done.stdout)["runs"]
    assert run["complete"] and run["V_last"] < run["V_first"] and run["rms_error_last"] < 0.05
    stretched = taupi(*words, cwd=tmp_path)
    assert stretched.returncode == 3 and "is singular" in stretched.stderr and "way-points" in stretched.stderr
    other = taupi("control", "planar3r", "--law", "slotine-li", "--task", "planar", cwd=tmp_path)
    assert other.returncode == 3 and "--task is for the law operational-slotine-li" in other.stderr
