"""Descriptions held against logs: what is wrong is found, what is right stays, and what logs do not show is not judged."""

import json

import numpy as np
import pytest
from command_line import taupi

import taupi as tp
from taupi.errors import TaupiError

ARM = tp.load("elbow2r")
PREPARATION = tp.Preparation(cutoff_hz=10)


def recorded(truth, terms=(), still=()):
    """A log of an arm that moves all joints but those that stand still."""
    n, t = truth.n, np.arange(1200)[:, None] / 75
    motion, phase = [np.zeros((len(t), n)) for _ in range(3)], np.linspace(0, 5, n)
    for size, w in ((1.0, np.linspace(1.0, 2.3, n)), (0.5, np.linspace(2.7, 4.9, n))):
        s, c = size * np.sin(w * t + phase), size * np.cos(w * t + phase)
        for k, part in enumerate((s, w * c, -w * w * s)):
            motion[k] += part
    for part in motion:
        part[:, list(still)] = 0
    tau = tp.inverse_dynamics(truth, terms=terms)(*motion)
    tau += 0.01 * np.abs(tau).max(axis=0) * np.random.default_rng(0).standard_normal(tau.shape)
    return tp.Log(t[:, 0], motion[0], tau=tau, names=truth.joint_names)


def names(check, answer):
    return {p.name for p in check.those(answer)}


def test_a_right_description_is_supported():
    seen = tp.check_model(ARM, recorded(ARM), preparation=PREPARATION)
    assert str(seen.verdict.level) == "good" and not seen.those("contradicted")
    assert {"upper_arm.mxR", "forearm.mxR", "forearm.IzzR"} <= names(seen, "supported")
    assert seen.described[0].relative < 1.05 * seen.fitted[0].relative


def test_exactly_the_missing_friction_is_contradicted():
    truth = ARM.with_friction(viscous=8.0, coulomb=14.0)
    seen = tp.check_model(ARM, recorded(truth, ("viscous", "coulomb")), preparation=PREPARATION)
    expected = {f"{joint}.{kind}" for joint in ARM.joint_names for kind in ("viscous", "coulomb")}
    assert names(seen, "contradicted") == expected
    viscous = next(p for p in seen.parameters if p.name == "elbow.viscous")
    assert viscous.described == 0 and abs(viscous.estimate - 8) < viscous.half
    assert "parameters" in seen.verdict.causes


def test_a_heavier_link_is_found():
    pi = ARM.parameters.values.reshape(-1, 10).copy()
    pi[1] *= 1.1
    seen = tp.check_model(ARM.with_parameters(pi.ravel()), recorded(ARM), preparation=PREPARATION)
    assert "forearm.mxR" in names(seen, "contradicted") and str(seen.verdict.level) == "doubtful"
    assert not any("viscous" in name or "coulomb" in name for name in names(seen, "contradicted"))
    data = seen.to_dict()
    assert json.loads(json.dumps(data))["verdict"]["level"] == "doubtful"
    assert data["torque"][0]["described"] > 5 * data["torque"][0]["fitted"]


def test_what_a_log_does_not_show_is_not_judged():
    seen = tp.check_model(ARM, recorded(ARM, still=(1,)), preparation=PREPARATION)
    still = [p for p in seen.parameters if p.name.startswith("elbow.viscous")]
    assert [p.answer for p in still] == ["cannot be told"]


def test_logs_are_read_as_they_are_asked_to_be(tmp_path):
    """Columns of a mapping and a pattern hold for the comparison with the logs, too."""
    log = recorded(ARM)
    columns = {"time": log.time, **{f"w{j}": np.degrees(log.q[:, j]) for j in range(2)}}
    columns |= {f"m{j}": log.tau[:, j] for j in range(2)}
    np.savetxt(
        tmp_path / "odd.csv", np.column_stack([*columns.values()]), header=",".join(columns), delimiter=",", comments=""
    )
    (tmp_path / "odd.toml").write_text(
        'time = "time"\nq = {columns = ["w0", "w1"], unit = "deg"}\ntau = ["m0", "m1"]\n'
    )
    reading = tp.Reading(columns=tmp_path / "odd.toml")
    seen = tp.check_model(ARM, tmp_path / "*.csv", reading=reading, preparation=PREPARATION)
    same = tp.check_model(ARM, log, preparation=PREPARATION)
    assert seen.described[0].relative == pytest.approx(same.described[0].relative, rel=1e-6)


def test_from_the_command_line(tmp_path):
    tp.write_log(recorded(ARM), tmp_path / "run.csv")
    done = taupi("check", "elbow2r", "run.csv", "--cutoff", "10", cwd=tmp_path)
    assert done.returncode == 0 and "verdict: good" in done.stdout and "supported" in done.stdout
    tp.write_toml(ARM.with_parameters(0.3 * ARM.parameters.values), tmp_path / "light.toml")
    done = taupi("check", "light.toml", "run.csv", "--cutoff", "10", "--json", cwd=tmp_path)
    assert done.returncode == 4 and json.loads(done.stdout)["verdict"]["level"] == "wrong"


def test_bad_input():
    with pytest.raises(TaupiError):
        tp.check_model("nowhere.urdf", recorded(ARM))
