"""`taupi identify` and `taupi validate` on logs of a robot whose base moves freely, from files."""

import json

import numpy as np
import pytest
from command_line import taupi
from floating import states

import taupi as tp


@pytest.fixture(scope="module")
def flown(tmp_path_factory):
    """Logs of the elbow arm on a free base, whose wrench at the base is measured; and of one whose torques are missing."""
    folder = tmp_path_factory.mktemp("flown")
    arm = tp.load("elbow2r", floating=True)
    for k, name in enumerate(("run", "other")):
        q, qd, qdd = states(arm, 400, seed=k)
        tau = tp.inverse_dynamics(arm)(q, qd, qdd)
        log = tp.floating.log_from_states(
            arm, np.arange(400) / 100, q, qd, qdd, tau[:, 6:], wrench={"base": tau[:, :6]}
        )
        tp.write_log(log, folder / f"{name}.parquet")
    tp.write_log(log.with_(wrench={}, contact={"forearm": np.ones(400)}, tau=None), folder / "bare.csv")
    return folder


def test_a_floating_robot_from_files(flown, tmp_path):
    out = tmp_path / "out"
    options = ("--estimator", "wls", "--terms", "none", "--floating", "--json")
    run = taupi(
        "identify", "elbow2r", flown / "run.parquet", "--validate", flown / "other.parquet", *options, "-o", out
    )
    assert run.returncode == 0, run.stderr
    assert "verdict: good" in run.stderr and json.loads(run.stdout)["validation"][0]["relative"] < 1e-6
    fit = tp.load_fit(out)
    arm = tp.load("elbow2r", floating=True)
    assert np.abs(fit.values - fit.basis.project(arm.parameters)).max() < 1e-6
    assert fit.logs[0].name == "run.parquet" and len(fit.logs[0].sha256) == 64
    page = (out / "report.html").read_text()
    assert "base.vz" in page and "measured wrenches at base are part of the equations" in page
    again = taupi("validate", out, flown / "other.parquet")
    assert again.returncode == 0 and "relative error 0.00%" in again.stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "tau is missing in the log"),
        (("--contact", "guessed"), "No --contact 'guessed'"),
        (("--contact", "measured"), "no wrench of forearm, which touch the ground. Use --contact projected"),
        (("--feet", "round"), "No --feet 'round'"),
        (("--stream",), "--stream is not for elbow2r"),
        (("--estimator", "huber"), "--estimator is 'huber', expected one of consistent, wls"),
    ],
)
def test_refusals_are_one_sentence(flown, tmp_path, options, message):
    run = taupi("identify", "elbow2r", flown / "bare.csv", "--floating", *options, "-o", tmp_path / "out")
    assert run.returncode in (2, 3) and message in run.stderr and "Traceback" not in run.stderr
