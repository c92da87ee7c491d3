"""Fleets: links that arms share, friction of their own, arms with a fault, and arms that do not belong."""

import json
import pickle
import re

import numpy as np
import pytest
from command_line import taupi
from refusals import refused
from runs_of_arms import arm, recorded

import taupi as tp
from taupi.cli.commands.fleet import _file_names
from taupi.identification.fleet.arm_rows import ArmTriangle, solve_arrow
from taupi.identification.fleet.drift import drift_of, random_walk
from taupi.identification.fleet.population import odd_arms, spread_of

SETTINGS = {"cutoff_hz": 10, "slow": 0.02}
ARMS, FAULTY, STRANGE = 9, "arm-3", "arm-6"


def friction(k):
    rng = np.random.default_rng(k)
    return 0.5 * np.exp(0.15 * rng.normal(size=2)), 0.4 * np.exp(0.15 * rng.normal(size=2)), 0.1 * rng.normal(size=2)


def log_of(k, seed, factor=1.0):
    viscous, coulomb, offset = friction(k)
    robot = arm(viscous, coulomb * np.array([1.0, factor]), offset)
    if f"arm-{k}" == STRANGE:
        robot = robot.with_parameters(robot.parameters.values * 1.5)
    return recorded(seed, robot, noise=0.05)


@pytest.fixture(scope="module")
def logs():
    """Two logs of each arm; one arm's elbow gets a fault before its second log, another has other links."""
    factors = {k: (1.0, 4.0 if f"arm-{k}" == FAULTY else 1.0) for k in range(ARMS)}
    return {f"arm-{k}": [log_of(k, 2 * k + i, factors[k][i]) for i in range(2)] for k in range(ARMS)}


@pytest.fixture(scope="module")
def fleet(logs):
    return tp.identify_fleet(tp.load("elbow2r"), logs, **SETTINGS)


def test_a_fleet_can_be_sent_to_another_process(fleet):
    other = pickle.loads(pickle.dumps(fleet))
    assert list(other) == list(fleet) and repr(other) == repr(fleet)
    assert all(np.array_equal(other[arm].values, fleet[arm].values) for arm in fleet)


def test_eliminating_own_parameters_is_least_squares_of_all_at_once():
    rng = np.random.default_rng(0)
    own, shared, arms = 2, 3, 4
    rows = [rng.normal(size=(20, own + shared + 1)) for _ in range(arms)]
    solution = solve_arrow([ArmTriangle.of(r, own) for r in rows], [True] * arms, np.zeros(shared), np.zeros(own))
    full = np.zeros((20 * arms, own * arms + shared))
    for k, r in enumerate(rows):
        at = slice(20 * k, 20 * (k + 1))
        full[at, own * k : own * (k + 1)], full[at, own * arms :] = r[:, :own], r[:, own:-1]
    z = np.concatenate([r[:, -1] for r in rows])
    expected = np.linalg.lstsq(full, z, rcond=None)[0]
    covariance = np.linalg.inv(full.T @ full)
    assert np.allclose(np.concatenate([solution.own.ravel(), solution.shared.x]), expected, atol=1e-12)
    for k in range(arms):
        at = slice(own * k, own * (k + 1))
        assert np.allclose(solution.covariances[k], covariance[at, at], atol=1e-12)
        assert np.allclose(solution.cross[k], covariance[at, own * arms :], atol=1e-12)


def test_an_arm_with_other_links_is_found_and_none_in_a_sound_fleet():
    rng = np.random.default_rng(1)
    x, arms = rng.normal(size=3), []
    for k in range(8):
        y = rng.normal(size=(60, 4))
        tau = y @ np.concatenate([[k], x + (0.8 if k == 5 else 0.0)]) + rng.normal(size=60)
        arms.append(ArmTriangle.of(np.column_stack([y, tau]), 1))
    assert list(odd_arms(arms, [56.0] * 8)) == [5]
    sound = [a for k, a in enumerate(arms) if k != 5]
    assert odd_arms(sound, [56.0] * 7) == {}
    assert odd_arms(arms[4:7], [56.0] * 3) == {}  # of three, nobody knows which


def test_the_spread_is_that_between_arms_without_errors_of_estimates():
    rng = np.random.default_rng(2)
    truth = rng.normal(scale=0.3, size=400)
    v = rng.uniform(0.1, 0.5, 400) ** 2
    spread = spread_of("offset", truth + np.sqrt(v) * rng.normal(size=400), v)
    assert not spread.logarithmic
    assert abs(spread.deviation - 0.3) < 0.05
    assert spread_of("offset", np.ones(4), np.ones(4)).deviation == np.inf


def test_faults_and_strangers_are_named_and_since_when(fleet, logs):
    assert list(fleet.odd_arms) == [STRANGE]
    worst = fleet.outliers()[0]
    assert (worst.arm, worst.parameter, worst.when) == (FAULTY, "elbow.coulomb", 1.0)
    assert {o.arm for o in fleet.outliers(5.0)} == {FAULTY}
    assert [(each.arm, each.parameter) for each in fleet.changes()] == [(FAULTY, "elbow.coulomb")]
    drift = fleet.drift("elbow.coulomb")[0]
    assert drift.arm == FAULTY
    assert drift.z > 5
    assert abs(drift.slope - 3 * friction(3)[1][1]) < 0.3 * drift.slope


def test_shared_links_are_nearer_to_the_truth_than_those_of_single_arms(fleet, logs):
    robot = tp.load("elbow2r")
    basis = fleet["arm-0"].basis
    truth = basis.project(basis.standard.values)
    shared = [basis.names.index(name) for name in fleet.shared]
    pooled = np.linalg.norm(fleet["arm-0"].values[shared] - truth[shared])
    terms = ("rotor", "viscous", "coulomb", "offset")
    alone = [tp.identify(robot, logs[f"arm-{k}"], "wls", terms, **SETTINGS) for k in range(3)]
    assert pooled < 0.5 * np.mean([np.linalg.norm(fit.values[shared] - truth[shared]) for fit in alone])
    for name, (value, stderr) in fleet.shared.items():
        assert abs(value - truth[basis.names.index(name)]) < 5 * stderr
        assert value == fleet["arm-1"].values[basis.names.index(name)]


def test_own_friction_is_within_its_errors(fleet):
    z = []
    for k in range(ARMS):
        if f"arm-{k}" in (FAULTY, STRANGE):
            continue
        fit, (viscous, coulomb, offset) = fleet[f"arm-{k}"], friction(k)
        truth = {"viscous": viscous, "coulomb": coulomb, "offset": offset}
        for kind, values in truth.items():
            for joint, value in zip(("shoulder", "elbow"), values, strict=True):
                i = fit.basis.names.index(f"{joint}.{kind}")
                z.append((fit.values[i] - value) / fit.stderr[i])
    assert 0.5 < np.sqrt(np.mean(np.square(z))) < 1.6
    assert np.mean(np.abs(z) < 1.96) > 0.8


def test_a_fit_of_an_arm_is_as_any_other(fleet, logs, tmp_path):
    fit = fleet["arm-2"]
    assert fit.validate(logs["arm-2"][0]).relative < 0.05
    tp.write_fit(fit, tmp_path / "fit.json")
    assert np.array_equal(tp.load_fit(tmp_path / "fit.json").values, fit.values)
    assert len(fit.logs) == 2
    with pytest.raises(tp.TaupiError, match="No arm 'arm-99'"):
        fleet["arm-99"]
    with pytest.raises(tp.TaupiError, match=r"elbow\.coulomb"):
        fleet.drift("elbow.coulom")


def test_a_picture_shows_each_arm_and_what_stands_out_in_red(fleet):
    figure = tp.plot(fleet)
    assert len(figure.axes) == len(fleet.own)
    for axes, name in zip(figure.axes, fleet.own, strict=True):
        usual, red = (container.lines[0].get_ydata() for container in axes.containers)
        standing_out = [each.value for each in fleet.outliers() if each.parameter == name]
        assert sorted(red) == pytest.approx(sorted(standing_out)) and len(usual) + len(red) == ARMS - 1
        assert axes.get_ylabel() and STRANGE not in [label.get_text() for label in axes.get_xticklabels()]


def test_the_command_line_and_the_report(logs, tmp_path):
    for name, several in logs.items():
        (tmp_path / name).mkdir()
        for i, log in enumerate(several):
            tp.write_log(log, tmp_path / name / f"run-{i}.csv")
    options = ["--cutoff", "10", "--slow", "0.02"]
    done = taupi("fleet", "elbow2r", "--by", "{arm}/run-*.csv", "-o", "by", *options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    data = json.loads((tmp_path / "by" / "fleet.json").read_text())
    assert list(data["odd_arms"]) == [STRANGE]
    assert data["outliers"][0]["first_seen"] == "arm-3/run-1.csv"
    page = (tmp_path / "by" / "report.html").read_text()
    assert f"{FAULTY}, elbow: Coulomb friction is" in page
    assert "first seen in arm-3/run-1.csv (at 1)" in page
    assert f"{FAULTY}, elbow: Coulomb friction changed from" in page
    assert f"{STRANGE} does not have the links of the others" in page
    out = re.findall(r'<g class="out"><title>([^:]+): ([\d.]+) ', page)
    assert {arm for arm, _ in out} == {each["arm"] for each in data["outliers"]}  # red dots are the arms listed above
    shown = {float(value) for _, value in out}
    assert all(any(abs(each["value"] / v - 1) < 1e-3 for v in shown) for each in data["outliers"])
    lines = [f'{name} = ["{name}/run-*.csv"]' for name in list(logs)[:3]]
    (tmp_path / "fleet.toml").write_text("\n".join(lines))
    done = taupi("fleet", "elbow2r", "fleet.toml", "-o", "out", *options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(tp.load_fit(tmp_path / "out" / "fits" / "arm-1.json").logs) == 2
    again = taupi("fleet", "elbow2r", "fleet.toml", "-o", "out", *options, cwd=tmp_path)
    assert again.returncode == 3
    assert "--force" in again.stderr
    neither = taupi("fleet", "elbow2r", "-o", "none", cwd=tmp_path)
    assert "either a file of arms or --by" in neither.stderr


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"logs": {}}, "expected a mapping from arms to their logs"),
        ({"own": ("viscos",)}, "viscos"),
        ({"own": ()}, "expected the names of terms"),
        ({"terms": ("viscous", "coulomb", "load")}, "depends on load"),
        ({"when": {"arm-0": [1.0]}}, "expected 2 numbers, one for each log"),
    ],
)
def test_wrong_fleets_are_refused(logs, change, message):
    keywords = {"robot": tp.load("elbow2r"), "logs": logs} | SETTINGS | change
    with pytest.raises(tp.TaupiError, match=message):
        tp.identify_fleet(**keywords)


def test_a_centre_that_is_not_known_is_not_taken_for_known():
    """Offsets that gravity hides are hidden on every arm alike: being drawn to their common error makes none of them surer."""
    rng = np.random.default_rng(3)
    arms = []
    for _ in range(12):
        y = (
            rng.normal(size=(40, 2)) * [0.0, 0.01] + 1.0
        )  # the columns of the own and of the shared parameter are nearly equal
        arms.append(ArmTriangle.of(np.column_stack([y, y @ [rng.normal(), 5.0] + rng.normal(size=40)]), 1))
    free = solve_arrow(arms, [True] * 12, np.zeros(1), np.zeros(1))
    drawn = [arm.with_centres(np.array([1e3])) for arm in arms]
    together = solve_arrow(drawn, [True] * 12, np.zeros(2), np.zeros(1))
    assert np.ptp(together.own) < 0.01 < np.ptp(free.own)
    assert (together.covariances[:, 0, 0] > 0.5 * free.covariances[:, 0, 0].min()).all()
    assert (free.apart([True] * 12)[:, 0] < 0.1 * free.covariances[:, 0, 0]).all()


def test_intervals_of_own_friction_cover_the_truth_as_often_as_they_say():
    """95 % intervals over four fleets of 30 arms with short logs, and noise as large as friction and correlated in time."""
    covered = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        friction = 0.5 * np.exp(0.25 * rng.normal(size=(30, 2, 2)))
        logs = {}
        for k in range(30):
            log = recorded(100 * seed + k, arm(friction[k, 0], friction[k, 1], (0.0, 0.0)), noise=0.0)
            noise = rng.normal(size=(len(log) + 20, 2))
            correlated = sum(0.8**lag * noise[20 - lag : len(noise) - lag] for lag in range(20))
            logs[f"arm-{k}"] = tp.Log(log.time, log.q, tau=log.tau + 0.3 * correlated, names=log.names)
        fleet = tp.identify_fleet(tp.load("elbow2r"), logs, **SETTINGS)
        for k, fit in enumerate(fleet.values()):
            for i, kind in enumerate(("viscous", "coulomb")):
                for j, joint in enumerate(("shoulder", "elbow")):
                    place = fit.basis.names.index(f"{joint}.{kind}")
                    low, high = fit.intervals(0.95)[place]
                    covered.append(low < friction[k, i, j] < high)
    # Of 480 intervals, and shared parameters that are wrong together: three standard deviations of a binomial are 3 %.
    assert 0.91 < np.mean(covered) < 0.985


def test_a_jump_is_told_from_noise_and_dated():
    rng = np.random.default_rng(5)
    t, noise = np.arange(12.0), 0.1
    for jump in (0.0, 1.0):
        y = 1.0 + jump * (t >= 7) + noise * rng.normal(size=12)
        y[4] = np.nan
        drift = drift_of("arm", "joint1.viscous", t, y, np.where(np.isnan(y), np.nan, noise**2))
        assert drift.since == (7.0 if jump else None)
        error = np.array(drift.smoothed) - (1.0 + jump * (t >= 7))
        assert np.sqrt(np.mean(error**2)) < noise
        assert np.mean(np.abs(error) < 1.96 * np.array(drift.smoothed_stderr)) > 0.8
    assert drift_of("arm", "p", t[:1], np.ones(1), np.ones(1)).since is None


def test_a_random_walk_is_the_smoother_of_its_covariance():
    """For a step of one size: x given y of the joint normal distribution, by dense matrices."""
    rng = np.random.default_rng(6)
    t = np.sort(rng.uniform(0, 10, 9))
    y, v = rng.normal(size=9).cumsum(), rng.uniform(0.05, 0.3, 9) ** 2
    x, variance, step = random_walk(t, y, v)
    from taupi.identification.fleet import drift as module

    grid = np.linspace(0.0, module._LARGEST * np.ptp(y) / np.sqrt(np.median(np.diff(t))), module._STEPS)
    scores, means = [], []
    for s in grid:
        walk = s**2 * np.minimum(t[:, None] - t[0], t[None] - t[0]) + 1e6  # begins anywhere
        total = walk + np.diag(v)
        scores.append(-0.5 * (np.linalg.slogdet(total)[1] + y @ np.linalg.solve(total, y)))
        means.append(walk @ np.linalg.solve(total, y))
    share = np.exp(np.array(scores) - max(scores))
    share /= share.sum()
    assert np.allclose(x, share @ np.array(means), atol=1e-3)
    assert abs(step - share @ grid) < 1e-3 * step
    assert (variance > 0).all()


@pytest.mark.parametrize(
    "text", ["arms = [1, 2]", "arms = 'x'", "a = [[1]]", "a = 3", "[a]\nb = 1", "a = " + "[" * 200]
)
def test_files_of_arms_that_are_none(tmp_path, text):
    (tmp_path / "fleet.toml").write_text(text)
    done = taupi("fleet", "elbow2r", "fleet.toml", "-o", "out", cwd=tmp_path)
    assert done.returncode == 3 and "fleet.toml" in done.stderr and "Traceback" not in done.stderr


def test_each_arm_has_a_file_of_its_own():
    arms = ["a/b", "a_b", "A_B", "../../x", "é" * 300, "é" * 400, ""]
    files = _file_names(arms)
    assert list(files) == arms and len({name.lower() for name in files.values()}) == len(arms)
    assert all("/" not in name and len(name) < 120 for name in files.values()) and files["a/b"] == "a_b"


def test_as_many_strangers_are_named_as_leave_a_majority():
    """Three of seven arms have other links, each its own."""
    rng = np.random.default_rng(4)
    x, arms = rng.normal(size=3), []
    for k in range(7):
        y = rng.normal(size=(60, 4))
        links = x + (2.0 * rng.normal(size=3) if k in (1, 3, 4) else 0.0)
        arms.append(ArmTriangle.of(np.column_stack([y, y @ np.concatenate([[k], links]) + rng.normal(size=60)]), 1))
    assert set(odd_arms(arms, [56.0] * 7)) == {1, 3, 4}


def test_slow_noise_widens_the_errors_of_every_own_parameter(monkeypatch):
    """Noise that lasts for a tenth of a second has ten times the power of white noise of the same size at low frequencies."""
    from taupi.identification.fleet import identify_fleet as module

    seen = []
    inflation = module.inflation
    monkeypatch.setattr(module, "inflation", lambda *args: seen.append(inflation(*args)) or seen[-1])
    for width in (1, 40):
        logs = {}
        for k in range(6):
            log = log_of(k, 100 + k)
            noise = np.random.default_rng(k).normal(size=(len(log) + width - 1, 2))
            slow = np.stack([np.convolve(noise[:, j], np.ones(width), "valid") for j in range(2)], axis=1)
            logs[f"arm-{k}"] = [log.with_(tau=log.tau + 0.1 * slow / np.sqrt(width))]
        tp.identify_fleet(tp.load("elbow2r"), logs, **SETTINGS)
    (white, _), (slow, _) = seen
    assert (white < 2.5).all() and (slow > 1.5 * white).all()


@pytest.mark.parametrize("limit", [0, -1, np.nan, "far"])
def test_a_limit_of_outliers_is_positive(fleet, limit):
    with refused("limit"):
        fleet.outliers(limit)


def test_logs_of_the_same_name_are_told_apart(tmp_path):
    """Each arm has a folder with a run.csv; that of one is empty."""
    arms = {}
    for k in range(5):
        path = tmp_path / f"arm-{k}" / "run.csv"
        path.parent.mkdir()
        tp.write_log(log_of(k, 200 + k), path)
        arms[f"arm-{k}"] = [path]
    (tmp_path / "arm-2" / "run.csv").write_text("")
    fleet = tp.identify_fleet(tp.load("elbow2r"), arms, skip_bad=True, **SETTINGS)
    assert list(fleet) == ["arm-0", "arm-1", "arm-3", "arm-4"]
    assert [each["name"] for each in fleet.record["skipped"]] == ["arm-2/run.csv"]
    assert [each.log_names for each in fleet.estimates.values()] == [(f"arm-{k}/run.csv",) for k in (0, 1, 3, 4)]
