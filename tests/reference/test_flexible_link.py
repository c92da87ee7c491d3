"""A recorded flexible link, identified from the command line with default settings and judged on the half that was not fitted.

The peer's figures, in its baseline.json, are ||tau - tau_hat|| / ||tau|| of the motor and the relative error of the link's
acceleration, both behind its own filter. The recording is no part of the project; without it these tests are skipped.
"""

import gzip
import json
import os
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import taupi as tp
from taupi.cli.main import app

DATA = Path(os.environ.get("TAUPI_RECORDINGS") or Path(__file__).parents[3] / "shared" / "data") / "quanser_flexlink"

pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="the recordings are not beside the checkout")

ARM = """
[robot]
name = "flexlink"
gravity = [0, 0, -9.81]

[[joint]]
name = "base"
transmission = {{ stiffness = {K_s}, rotor_inertia = {J_eq} }}
link = {{ name = "arm", m = {m_l}, com = [{com}, 0, 0], inertia = [[0, 0, 0], [0, {own}, 0], [0, 0, {own}]] }}
"""
COLUMNS = """
time = {{ columns = "t_s" }}
q = {{ columns = ["theta_deg", "alpha_deg"], unit = "deg", matrix = [[1, 1]] }}
theta = {{ columns = "theta_deg", unit = "deg" }}
voltage = {{ columns = "motor_voltage_V" }}

[motor]
torque_per_volt = {a}
volts_per_speed = {b}
"""
# The peer's filter, and the rows of the second half that it counts.
PEER_HZ, FIRST, LAST = 10.0, 1250, 2450


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("flexlink")
    p = json.loads((DATA / "model.json").read_text())["parameters_from_source"]
    half, own = p["L_l"] / 2, p["m_l"] * p["L_l"] ** 2 / 12
    (folder / "arm.toml").write_text(ARM.format(**p, com=half, own=own))
    gain = p["eta_g"] * p["k_g"] * p["eta_m"] * p["k_t"] / p["R_m"]
    (folder / "columns.toml").write_text(COLUMNS.format(a=gain, b=p["k_g"] * p["k_m"]))
    head, *rows = gzip.decompress((DATA / "exp.csv.gz").read_bytes()).decode().splitlines()
    for name, part in (("first", rows[:FIRST]), ("second", rows[FIRST:]), ("both", rows)):
        (folder / f"{name}.csv").write_text("\n".join([head, *part]) + "\n")
    return folder


@pytest.fixture(scope="module")
def fitted(files):
    words = ["identify", files / "arm.toml", files / "first.csv", "--validate", files / "second.csv"]
    words += ["--columns", files / "columns.toml", "-o", files / "out", "--json"]
    answer = CliRunner().invoke(app, [str(w) for w in words])
    assert answer.exit_code == 0, answer.output
    return json.loads(answer.stdout)


def test_held_out_errors_are_below_the_peers(fitted):
    baseline = json.loads((DATA / "baseline.json").read_text())["first half->second half"]
    errors = {j["name"]: j["relative"] for j in fitted["validation"][0]["joints"]}
    assert (
        errors["base.motor"] <= 1.01 * baseline["motor_torque_rel"]["test"]
    )  # behind our filter; behind the peer's see below
    assert errors["base.link"] <= baseline["link_acc_rel"]["test"]


def test_behind_the_peers_filter_too(files, fitted):
    """The same rows and the same cutoff as the peer's; the link's torque over its inertia is its acceleration."""
    baseline = json.loads((DATA / "baseline.json").read_text())["first half->second half"]
    fit = tp.load_fit(files / "out")
    log = tp.read_log(files / "both.csv", fit.robot, files / "columns.toml")
    seen = fit.validate(log, cutoff_hz=PEER_HZ, trim=False, decimate=1)
    rows = (seen.time >= log.time[FIRST] - 1e-9) & (seen.time < log.time[LAST] - 1e-9)
    assert rows.sum() > 0.98 * (LAST - FIRST)  # less what two filters leave out at the end
    left = np.linalg.norm(seen.residual[rows], axis=0)
    inertial = np.linalg.norm(seen.predicted[rows, 0])  # Izz qdd: the arm turns in a plane without gravity
    assert left[1] / np.linalg.norm(seen.measured[rows, 1]) <= baseline["motor_torque_rel"]["test"]
    assert left[0] / inertial <= baseline["link_acc_rel"]["test"]


def test_the_spring_agrees_with_what_was_published(files, fitted):
    """The link's own frequency, sqrt(K / J), which deflection and acceleration alone decide."""
    p = json.loads((DATA / "model.json").read_text())["parameters_from_source"]
    fit = tp.load_fit(files / "out")
    known = dict(zip(fit.names, fit.values, strict=True))
    published = np.sqrt(p["K_s"] / p["J_l"])
    assert np.sqrt(known["base.stiffness"] / known["arm.Izz"]) == pytest.approx(published, rel=0.1)
    assert known["base.rotor_inertia"] == pytest.approx(p["J_eq"], rel=0.3)


def test_motors_alone_tell_the_spring(files):
    """From the command line, by output error: the link's side is not read, and stiffness and rotor come out as published."""
    words = ["identify", files / "arm.toml", files / "first.csv", "--columns", files / "motors.toml", "--cutoff", 8]
    words += ["--estimator", "output_error", "--validate", files / "second.csv", "-o", files / "motors", "--json"]
    text = (files / "columns.toml").read_text()
    link = next(line for line in text.splitlines() if line.startswith("q = "))
    (files / "motors.toml").write_text(text.replace(link, ""))
    answer = CliRunner().invoke(app, [str(w) for w in words])
    assert answer.exit_code == 0, answer.output
    p = json.loads((DATA / "model.json").read_text())["parameters_from_source"]
    fit = tp.load_fit(files / "motors")
    known = dict(zip(fit.names, fit.values, strict=True))
    assert known["base.stiffness"] == pytest.approx(p["K_s"], rel=0.1)
    assert known["base.rotor_inertia"] == pytest.approx(p["J_eq"], rel=0.15)
    assert json.loads(answer.stdout)["validation"][0]["relative"] < 0.15
