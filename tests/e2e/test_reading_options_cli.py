"""What users reach for on the command line: parts of logs, suggestions, known torques, bounds, priors; and how it is refused."""

import json

import numpy as np
import pytest
from command_line import taupi

import taupi as tp

ARM = tp.load("elbow2r").with_friction(viscous=[2.0, 1.0], coulomb=[1.0, 0.5])


def recorded(phase, spring=0.0, speed=1.0):
    t, w = np.arange(4000)[:, None] / 100, speed * np.array([1.0, 1.7])
    q, qd, qdd = np.sin(w * t + phase), w * np.cos(w * t + phase), -w * w * np.sin(w * t + phase)
    tau = tp.inverse_dynamics(ARM, terms=("viscous", tp.terms.Coulomb(0.05)))(q, qd, qdd)
    tau[:, 1] -= spring * np.sin(q[:, 1])
    tau[:500] = 50.0  # the brakes are still on
    return tp.Log(100 + t[:, 0], q, tau=tau + np.random.default_rng(0).normal(0, 0.01, q.shape), names=ARM.joint_names)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reach")
    tp.write_toml(ARM, folder / "arm.toml")
    for name, log in {
        "run1": recorded(0),
        "run2": recorded(1),
        "balanced": recorded(0, 5.0),
        "fast": recorded(1, 0, 2),
    }.items():
        tp.write_log(log, folder / f"{name}.csv")
    (folder / "bounds.toml").write_text("[forearm]\nmass = [1.05, 1.2]\n")
    (folder / "heavy.toml").write_text("[forearm]\nmass = [2.9, 3.1]\n")
    (folder / "spring.toml").write_text('[known_torque]\nelbow = "5*sin(q2)"\n')
    return folder


def identified(folder, *arguments, out="out"):
    done = taupi(
        "identify", "arm.toml", *arguments, "--estimator", "feasible", "-o", out, "--force", "--json", cwd=folder
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_from_and_to_leave_the_rest_out(folder):
    assert identified(folder, "run1.csv", "--anyway")["relative_error"] > 0.1  # its verdict is wrong: the brakes
    part = identified(folder, "run1.csv", "--from", 5, "--to", 35)
    assert part["relative_error"] < 0.01
    streamed = identified(folder, "run1.csv", "--from", 5, "--to", 35, "--stream", "--block", 700)
    assert streamed["relative_error"] == pytest.approx(part["relative_error"], rel=1e-6)
    rows = identified(folder, "run1.csv", "--rows", "500:3500")
    assert rows["relative_error"] == pytest.approx(part["relative_error"], rel=1e-6)
    done = taupi("validate", "out", "run2.csv", "--from", 5, "--json", cwd=folder)
    assert json.loads(done.stdout)[0]["relative"] < 0.01
    assert json.loads(taupi("validate", "out", "run2.csv", "--json", cwd=folder).stdout)[0]["relative"] > 0.1


def test_logs_held_out_are_read_to_their_ends(folder):
    data = identified(folder, "run1.csv", "--from", 5, "--to", 35, "--validate", "run2.csv")
    assert data["validation"][0]["relative"] > 0.1  # with its brakes


def test_a_known_torque_by_option_and_by_mapping(folder):
    plain = identified(folder, "balanced.csv", "--from", 5)
    for stated in (("--known-torque", "elbow = 5*sin(q2)"), ("--columns", "spring.toml")):
        data = identified(folder, "balanced.csv", "--from", 5, *stated, out="balanced")
        assert data["relative_error"] < 0.01 and data["relative_error"] < 0.5 * plain["relative_error"]
        done = taupi("validate", "balanced", "balanced.csv", "--from", 5, "--json", cwd=folder)
        assert json.loads(done.stdout)[0]["relative"] < 0.01
    fit = tp.load_fit(folder / "balanced")
    assert fit.preparation.known_torque == ("elbow = 5*sin(q2)",)


def test_bounds_prior_and_weight(folder):
    for bounds, (lower, upper), anyway in (("bounds", (1.05, 1.2), ()), ("heavy", (2.9, 3.1), ("--anyway",))):
        # The forearm weighs 1 kg: bounds that contradict the log by far are kept, but the verdict says so.
        identified(folder, "run1.csv", "--from", 5, "--bounds", f"{bounds}.toml", *anyway, out=bounds)
        fit = tp.load_fit(folder / bounds)
        tolerance = 1e-6  # of the solver
        assert lower - tolerance <= fit.parameters.values[fit.parameters.names.index("forearm.m")] <= upper + tolerance
        assert (fit.verdict.level == "wrong") == bool(anyway)
    identified(folder, "run1.csv", "--from", 5, "--prior", "arm.toml", "--prior-weight", 0.05, out="near")
    assert tp.load_fit(folder / "near").settings["prior_weight"] == 0.05


def test_a_faster_log_is_predicted_with_a_warning(folder):
    identified(folder, "run1.csv", "--from", 5, out="slow")
    done = taupi("validate", "slow", "fast.csv", "--from", 5, cwd=folder)
    assert done.returncode == 0 and "warning: fast.csv moves faster than the fitted logs" in done.stderr
    assert "shoulder up to" in done.stderr and "elbow up to" in done.stderr
    assert not taupi("validate", "slow", "run2.csv", "--from", 5, cwd=folder).stderr


def test_a_suggestion_is_written_and_read(folder):
    done = taupi("log", "run1.csv", "--suggest", "columns.toml", "--robot", "arm.toml", "--force", cwd=folder)
    assert done.returncode == 0 and not done.stdout
    assert "next: taupi log run1.csv --columns columns.toml --robot arm.toml" in done.stderr
    again = taupi("log", "run1.csv", "--columns", "columns.toml", "--robot", "arm.toml", "--json", cwd=folder)
    assert json.loads(again.stdout)["joints"] == ["shoulder", "elbow"]
    (folder / "gap.csv").write_text("q0,q1,q3\n" + "1,2,3\n" * 5)
    done = taupi("log", "gap.csv", "--suggest", "gap.toml", cwd=folder)
    assert "to complete: q2 is missing among the columns of q." in done.stderr and (folder / "gap.toml").exists()


def test_a_robot_of_a_log_may_be_locked(folder):
    joint = '<joint name="{}" type="revolute"><parent link="{}"/><child link="{}"/></joint>'
    links = "".join(f'<link name="{name}"/>' for name in ("base", "upper", "fore"))
    joints = joint.format("shoulder", "base", "upper") + joint.format("elbow", "upper", "fore")
    (folder / "arm.urdf").write_text(f'<robot name="arm">{links}{joints}</robot>')
    tp.write_log(recorded(0).select(["shoulder"]), folder / "one.csv")
    for which in (("--lock", "elbow"), ("--tip", "upper")):
        done = taupi("log", "one.csv", "--robot", "arm.urdf", *which, "--json", cwd=folder)
        assert done.returncode == 0 and json.loads(done.stdout)["joints"] == ["shoulder"], done.stderr
    done = taupi("log", "one.csv", "--robot", "arm.urdf", cwd=folder)
    assert done.returncode == 3 and "No joint 'elbow'" in done.stderr


def test_rules_are_spelled_for_the_shell(folder):
    log = recorded(0)
    tp.write_log(log.rows(np.r_[0:1000, 1050:4000]), folder / "holed.csv", force=True)
    text = taupi("log", "holed.csv", cwd=folder).stdout
    assert (
        "interpolates gaps up to --short-gap; refuses longer ones unless --gaps interpolate or --gaps longest" in text
    )
    assert "short_gap" not in text and "prepare(" not in text and "log.select" not in text
    assert (
        "--gaps longest" in json.loads(taupi("log", "holed.csv", "--json", cwd=folder).stdout)["findings"][0]["clean"]
    )


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["log", "run1.csv", "--from", 90],
            "No sample lies within --from 90.0: the log has 4000 rows, 39.99 s counted",
        ),
        (["log", "run1.csv", "--from", 3, "--to", 2], "--from is 3 and --to is 2: nothing lies between"),
        (["log", "run1.csv", "--rows", "7"], "--rows is '7', expected first:stop"),
        (["log", "run1.csv", "--lock", "elbow"], "name it with --robot"),
        (["log", "run1.csv", "--suggest", "bounds.toml"], "bounds.toml exists already. Use another name, or --force"),
        (["log", "run1.csv", "--suggest", "x.csv"], "expected the name of a file that ends in .toml"),
        (
            ["log", "run1.csv", "--suggest", "x.toml", "--columns", "spring.toml"],
            "--suggest and --columns are both given",
        ),
        (["log", "missing.csv", "--suggest", "x.toml"], "No file 'missing.csv'"),
        (
            ["identify", "arm.toml", "run1.csv", "-o", "o", "--known-torque", "elbow = exp(q1)"],
            "--known-torque of elbow is 'exp(q1)'",
        ),
        (
            ["identify", "arm.toml", "run1.csv", "-o", "o", "--bounds", "spring.toml"],
            "No key 'elbow' in spring.toml: known_torque",
        ),
        (
            ["identify", "arm.toml", "run1.csv", "-o", "o", "--bounds", "bounds.toml", "--estimator", "wls"],
            "--bounds has no meaning for the estimator wls. Use --estimator consistent or --estimator feasible.",
        ),
        (["identify", "arm.toml", "run1.csv", "-o", "o", "--prior-weight", "-1"], "--prior-weight is -1"),
        (
            ["identify", "arm.toml", "run1.csv", "-o", "o", "--known-torque", "wrist = q1"],
            "--known-torque: No joint 'wrist'",
        ),
        (
            ["identify", "arm.toml", "run1.csv", "-o", "o", "--derivatives", "x"],
            "--derivatives is 'x', expected one of central",
        ),
        (
            ["identify", "arm.toml", "run1.csv", "-o", "o", "--encoder-offset", "1,2,3"],
            "--encoder-offset is (1.0, 2.0, 3.0)",
        ),
        (["control", "elbow2r", "--gain", "Lambda=-1", "--duration", "0.1"], "--gain Lambda has an entry of -1"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_3(folder, arguments, sentence):
    done = taupi(*arguments, cwd=folder)
    assert done.returncode == 3 and not done.stdout, done.stderr
    assert sentence in done.stderr and len(done.stderr.strip().splitlines()) == 1
    assert not (folder / "o").exists()


def test_few_rows_are_said_with_the_option(folder):
    done = taupi(
        "identify",
        "arm.toml",
        "run1.csv",
        "--rows",
        ":600",
        "--decimate",
        "200",
        "-o",
        "o",
        "--cutoff",
        "5",
        cwd=folder,
    )
    assert done.returncode == 4 and "Give longer logs, or a smaller --decimate." in done.stderr
