"""Robots without torque: truths simulated by fine steps come back, intervals hold, and aliases are named."""

from __future__ import annotations

import dataclasses
import json
from fractions import Fraction
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
from scipy.signal import lfilter

import taupi as tp
from taupi.bridges.identified import BEYOND_TOOLS
from taupi.bridges.samples_file import sample_arrays
from taupi.bridges.targets.passport import JointDrive, drives_of_fit
from taupi.dynamics.driven import JOINT_VALUES, STEP_DEFAULTS, StepValues
from taupi.dynamics.driven_rollout import Commands, DrivenRobot
from taupi.errors import NotIdentifiedError, TaupiError
from taupi.identification.commands.model import FIRST_OF_SERVO, KINDS
from taupi.identification.commands.solver import _bounded_step
from taupi.identification.commands.stretches import stretches_of
from taupi.identification.estimators.closed_loop import search_of
from taupi.identification.inputs import FitInputs
from taupi.identification.physical.region import is_consistent
from taupi.identification.results.command_samples import CommandSamples

ARM = tp.load("elbow2r")
VALUES = StepValues(ARM)
TRUTH = {
    "rotor": (0.3, 0.2),
    "viscous": (2.0, 1.2),
    "coulomb": (1.5, 0.8),
    "offset": (0.4, -0.3),
    "delay": 0.008,
}
DRIVE = {"kp": (1200.0, 600.0), "kd": (60.0, 25.0)}
NOISE = 3e-4
GIVEN = ("rotor", "viscous", "coulomb", "offset")


def record(
    seconds: float = 10.0,
    rate: float = 200.0,
    seed: int = 0,
    noise: float = NOISE,
    jitter: float = 0.0,
    drive: dict[str, object] | None = None,
    still: bool = False,
    phase: float = 0.0,
    robot: tp.Robot = ARM,
    **more: object,
) -> tp.Log:
    """Return what encoders of the arm show, driven by chirps: simulated by steps of 0.1 ms, with noise."""
    rng = np.random.default_rng(seed)
    stated = {**DRIVE, **(drive or {})}
    t = np.arange(round(seconds * rate)) / rate
    t = t + jitter / rate * rng.uniform(-1, 1, len(t))
    sweep = 2 * np.pi * (0.2 * t + (2.0 / seconds) * t**2 / 2) + phase
    wanted = np.stack([0.5 * np.sin(sweep), (0.0 if still else 0.4) * np.sin(1.3 * sweep + 1)], axis=1)
    theta = np.zeros(VALUES.size)
    law = tp.Drive.of(stated)
    kinds = {**STEP_DEFAULTS, **TRUTH, "kp": law.per_joint("kp", 2), "kd": law.per_joint("kd", 2), **more}
    kinds["limit"] = np.minimum(law.per_joint("torque_limit", 2), 1e30)
    for name, value in kinds.items():
        theta[VALUES.delay if name == "delay" else VALUES.joints(name)] = value
    theta[VALUES.bodies] = robot.parameters.values
    zero = np.zeros_like(wanted)
    commands = Commands(t, wanted, zero, zero, zero + 1, zero)
    driven = DrivenRobot(robot, law.law, "torque_limit" in stated, law.rate_hz)
    start = wanted[0] + (0.0 if not still else np.array([0.0, 0.02]))
    q = driven.roll(theta, commands, start, np.zeros(2), 1e-4).q
    return tp.Log(t, q + noise * rng.normal(size=q.shape), qdes=wanted, names=ARM.joint_names, drive=tp.Drive(**stated))


@lru_cache
def fitted(**options: object) -> tp.CommandFit:
    """Return the fit of a recording."""
    terms = options.pop("terms", GIVEN)
    fit = tp.identify(ARM, record(**options), terms=terms)
    assert isinstance(fit, tp.CommandFit)
    return fit


def truth(fit: tp.CommandFit) -> np.ndarray:
    """Return the true values of the parameters of a fit that were given."""
    table = {f"{j}.{k}": np.broadcast_to(v, 2)[i] for k, v in TRUTH.items() for i, j in enumerate(ARM.joint_names)}
    return np.array([table.get(name, TRUTH.get(name, 0.0)) for name in fit.names])


def test_a_simulated_truth_comes_back() -> None:
    fit = fitted()
    assert fit.verdict.level == "good"
    assert not fit.model_error
    assert not fit.undetermined.any()
    assert np.abs(fit.values - truth(fit)).max() < 0.03
    assert fit.delay == pytest.approx(0.008, abs=3e-4)
    assert np.abs((fit.values - truth(fit)) / fit.stderr).max() < 4
    assert fit.held_out is not None
    # What is left where nothing was fitted is the encoder's noise, whose mean absolute value is 0.8 of its deviation.
    assert fit.held_out.mae == pytest.approx(0.8 * NOISE, rel=0.25)
    assert (fit.held_out.description > 10 * fit.held_out.mae).all()
    assert {"kd", "viscous"} in [set(alias.names) for alias in fit.aliases]


@pytest.mark.long
@pytest.mark.parametrize("correlated", [0.0, 0.1], ids=["white", "coloured"])
def test_intervals_hold_as_often_as_they_say(correlated: float) -> None:
    """With noise that changes from sample to sample, and with noise that is correlated over 0.1 s."""
    clean, inside = record(noise=0.0), []
    keep = np.exp(-1 / (200 * correlated)) if correlated else 0.0
    for seed in range(20):
        noise = NOISE * np.sqrt(1 - keep**2) * np.random.default_rng(seed).normal(size=(4000, 2))
        noise = lfilter([1.0], [1.0, -keep], noise, axis=0)[2000:]
        fit = tp.identify(ARM, clean.with_(q=clean.q + noise), terms=GIVEN)
        low, high = fit.intervals().T
        inside.append((low < truth(fit)) & (truth(fit) < high))
    assert 0.90 <= np.mean(inside) <= 0.99


@pytest.mark.parametrize("delay", [0.0073, -0.004])
def test_a_delay_is_continuous_and_may_be_negative(delay: float) -> None:
    fit = tp.identify(ARM, record(delay=delay), terms=GIVEN)
    assert fit.delay == pytest.approx(delay, abs=1.5e-4)


def test_terms_are_kept_where_they_help_and_left_out_where_not() -> None:
    fit = tp.identify(ARM, record(noise=1e-4, spring=(3.0, 2.0), coulomb_slope=(1.0, 0.6), centre=(0.0, 0.0)))
    kept = {name for name, _, is_kept in fit.tried if is_kept}
    assert {"offset", "position"} <= kept
    assert fit.of_kind("spring") == pytest.approx([3.0, 2.0], abs=0.5)
    plain = tp.identify(ARM, record(offset=(0.0, 0.0)))
    assert not {"load", "stribeck"} & {name for name, _, is_kept in plain.tried if is_kept}


def test_friction_by_load_is_found() -> None:
    """Also where the search begins at none: |load tau| has no slope by the load there."""
    log = record(load=(0.15, 0.1))
    fit = tp.identify(ARM, log, terms=(*GIVEN, "load"))
    assert fit.of_kind("load") == pytest.approx([0.15, 0.1], abs=0.01)
    assert fit.of_kind("coulomb") == pytest.approx(TRUTH["coulomb"], abs=0.1)
    chosen = tp.identify(ARM, log)
    # An offset does not help while friction by load is missing, and is tried again once it is there.
    assert {"offset", "load"} <= {name for name, _, is_kept in chosen.tried if is_kept}
    assert len({name for name, _, _ in chosen.tried}) == len(chosen.tried)


def test_what_only_a_prior_holds_has_no_standard_error() -> None:
    """Nothing in a plane shows first moments across it."""
    fit = tp.identify(ARM, record(), terms=(*GIVEN, "masses"))
    missing = {name for name, u in zip(fit.names, fit.undetermined, strict=True) if u}
    assert {"upper_arm.mz", "forearm.mz"} <= missing
    assert np.isinf(fit.stderr[fit.undetermined]).all()
    # Combinations that share parameters are named together, once.
    named = [name for alias in fit.aliases for name in alias.names if name in missing]
    assert set(named) == missing
    assert len(named) == len(set(named))


def test_samples_are_as_uncertain_as_the_fit_and_possible(tmp_path: Path) -> None:
    fit = tp.identify(ARM, record(5.0), terms=(*GIVEN, "masses"))
    drawn = tp.samples(fit, 400, seed=0)
    assert isinstance(drawn, CommandSamples)
    assert len(drawn) == 401
    assert drawn.base[0] == pytest.approx(fit.values)
    known = np.isfinite(fit.stderr)
    assert drawn.base[1:, known].std(axis=0) == pytest.approx(fit.stderr[known], rel=0.15)
    assert drawn.base[1:, ~known].std(axis=0).min() > 0  # what logs do not show is as open as its prior
    assert np.isnan(drawn.spread).all()
    assert drawn[3].n == 2
    assert all(is_consistent(drawn[k].parameters) for k in range(0, 401, 20))
    taken = tp.export(fit, tmp_path / "arm", target="mujoco", samples=20)
    assert "samples.npz" in taken.files
    with np.load(tmp_path / "arm" / "samples.npz") as file:
        assert file["delay_s"].std(axis=0).min() > 0
        assert file["armature"].shape == (21, 2)
    late = {name: JointDrive(kp=1000.0, delay=0.02) for name in ARM.joint_names}
    stated = sample_arrays(drawn, late)
    assert stated["delay_s"][0] == pytest.approx([0.02, 0.02])  # as stated, and as uncertain as the fit's
    assert stated["delay_s"].std(axis=0) == pytest.approx([drawn.delays.std()] * 2)
    unknown = tp.identify(ARM, record(5.0, drive={"unknown": ("kp",)}), terms=GIVEN)
    with pytest.raises(TaupiError):
        tp.samples(unknown, 10)


@pytest.mark.parametrize("delay", [0.3, -0.1])
def test_delays_far_from_what_is_usual_are_found(delay: float) -> None:
    assert tp.identify(ARM, record(delay=delay), terms=GIVEN).delay == pytest.approx(delay, abs=2e-3)


def test_another_log_is_simulated_from_its_commands_alone() -> None:
    fit, other = fitted(), record(seed=5, phase=1.0)
    seen = fit.validate(other)
    assert seen.position_error.shape == (2,)
    assert seen.position_error.max() < 1.2 * NOISE
    # Positions after the first state of a log do not matter: only commands do.
    blind = other.with_(q=np.vstack([other.q[:10], other.q[10:] + 0.5]))
    assert np.abs(fit.predict(blind) - fit.predict(other)).max() == 0
    gap = other.rows(np.r_[0:500, 700:1500])
    assert np.isfinite(fit.predict(gap)).all()
    assert fit.validate(gap).position_error.max() < 1.5 * NOISE


def test_what_was_identified_is_simulated_to_the_digit() -> None:
    fit, other = fitted(), record(4.0, seed=5, phase=1.0)
    run = tp.simulate(tp.laws.DrivenPlant.of(fit), reference=other)
    assert (run.q == fit.predict(other)).all()
    gains = tp.Drive(kp=(600.0, 300.0), kd=(40.0, 15.0))
    softer = tp.simulate(tp.laws.DrivenPlant.of(fit, gains), reference=other)
    assert (softer.q == fit.predict(dataclasses.replace(other, drive=gains))).all()
    assert np.abs(softer.q - run.q).max() > 0.01


def test_positions_of_sliding_joints_are_lengths() -> None:
    parts = np.zeros((4, 2)), np.full((4, 2), 2e-3) * [1.0, 0.5], np.ones((4, 2))
    seen = tp.results.CommandValidation("log", ("turn", "slide"), ("rad", "m"), np.arange(4.0), *parts)
    assert "2 mrad and 1 mm on average, 2 mrad (turn) and 1 mm (slide) at worst" in seen.summary
    assert "1 mm" in str(seen).splitlines()[-1]


def test_a_saved_fit_reads_back_and_says_the_same(tmp_path: Path) -> None:
    fit, other = fitted(), record(2.0, seed=5)
    tp.write_fit(fit, tmp_path / "fit.json")
    tp.write_fit(fit, tmp_path / "fit.txt")
    back = tp.load_fit(tmp_path)
    assert isinstance(back, tp.CommandFit)
    assert (back.values == fit.values).all()
    assert (back.covariance == fit.covariance).all()
    assert (back.predict(other) == fit.predict(other)).all()
    assert back.to_dict() == fit.to_dict()
    assert "held-out positions" in (tmp_path / "fit.txt").read_text()
    data = json.loads((tmp_path / "fit.json").read_text())
    data["model"]["values"] = data["model"]["values"][:-1]
    (tmp_path / "fit.json").write_text(json.dumps(data))
    with pytest.raises(TaupiError, match="Identify again"):
        tp.load_fit(tmp_path / "fit.json")
    with pytest.raises(TaupiError, match="this needs one from logs with torque"):
        data["model"]["values"].append(0.0)
        (tmp_path / "fit.json").write_text(json.dumps(data))
        tp.identify_payload(tmp_path / "fit.json", other)


def test_the_page_shows_positions_friction_and_aliases(tmp_path: Path) -> None:
    tp.report(fitted(), tmp_path / "page.html", record(seed=5), fitted=record())
    page = (tmp_path / "page.html").read_text()
    for name in ("verdict", "positions", "parameters", "friction", "aliases", "terms"):
        assert f'<section id="{name}">' in page
    assert page.count("<polyline") >= 2 * 2 * 4


def test_a_notebook_shows_the_name_of_the_robot_as_it_is() -> None:
    named = dataclasses.replace(fitted(), robot=dataclasses.replace(ARM, name="a&lt;b"))
    assert " of a&amp;lt;b from commands" in named._repr_html_()


def test_the_identified_robot_has_the_drives() -> None:
    fit = fitted()
    robot = fit.robot_identified()
    assert [float(j.friction.viscous) for j in robot.joints] == pytest.approx(fit.of_kind("viscous").tolist())
    state = np.array([0.3, -0.2]), np.array([0.5, 0.4]), np.array([1.0, -1.0])
    torque = tp.inverse_dynamics(robot, terms=("rotor", "viscous", "coulomb"))(*state)
    own = tp.inverse_dynamics(ARM)(*state) + fit.of_kind("rotor") * state[2] + fit.of_kind("viscous") * state[1]
    assert torque == pytest.approx(own + fit.of_kind("coulomb"))


def test_the_drive_goes_into_a_simulator(tmp_path: Path) -> None:
    fit = fitted()
    export = tp.export(fit, tmp_path / "out", target="isaaclab")
    joints = json.loads((tmp_path / "out" / "passport.json").read_text())["joints"]
    for k, name in enumerate(ARM.joint_names):
        assert joints[name]["armature"] == pytest.approx(fit.of_kind("rotor")[k])
        assert (
            joints[name]["kp"] == fit.drive.per_joint("kp", 2)[k]
            and joints[name]["kd"] == fit.drive.per_joint("kd", 2)[k]
        )
    assert any("delay" in name for name in export.lost) == (fit.delay < 0)


def test_a_gain_that_is_not_known_leaves_units_of_it() -> None:
    drive = {"kp": (900.0, 500.0), "unknown": "kp"}
    log = dataclasses.replace(record(), drive=tp.Drive(**{**DRIVE, **drive}))
    fit = tp.identify(ARM, log, terms=GIVEN)
    assert fit.in_units_of_kp
    assert not any(name.endswith(".kp") for name in fit.names)
    assert set(fit.units) <= {"kp s^2", "kp s", "kp rad", "s"}
    found = dict(zip(fit.names, fit.values, strict=True))
    # The ratio to kp is what is known, whatever was guessed.
    assert found[f"{ARM.joint_names[0]}.coulomb"] == pytest.approx(1.5 / 1200, rel=0.05)
    with pytest.raises(TaupiError, match="multiples of kp"):
        _ = fit.parameters


def test_a_known_mass_makes_gains_known() -> None:
    """Guesses of the gains 20 % off, and masses of the description 10 % off; a second run carries 2 kg more."""
    guess = {**DRIVE, "kp": (1440.0, 720.0), "unknown": "kp"}
    runs = [(record(), {}), (record(seed=1, phase=0.7, robot=ARM.with_payload(2)), {"payload": 2.0})]
    logs = [dataclasses.replace(log, drive=tp.Drive(**guess, **carried)) for log, carried in runs]
    heavier = np.array(ARM.parameters.values, dtype=float) * 1.1
    fit = tp.identify(ARM, logs, prior=heavier)
    assert not fit.in_units_of_kp
    assert fit.of_kind("kp") == pytest.approx([1200, 600], rel=0.01)
    assert fit.of_kind("rotor") == pytest.approx([0.3, 0.2], abs=0.06)
    assert fit.drive.payload == 0
    assert any("known mass" in note for note in fit.notes)
    assert fit.validate(logs[1]).position_error.max() < 1.5 * NOISE
    assert tp.Drive.of(logs[1].drive.table()) == logs[1].drive
    drawn = tp.samples(fit, 50, seed=0)
    arrays = sample_arrays(drawn, drives_of_fit(fit))  # what gains and inertias have in common stays together
    assert arrays["kp"][0] == pytest.approx(fit.of_kind("kp"))
    assert np.array_equal(arrays["kp"][:, 1], drawn.gains[ARM.joint_names[1]])
    assert arrays["kp"].std(axis=0).min() > 0
    assert (sample_arrays(drawn, dict.fromkeys(ARM.joint_names, JointDrive(kp=1000.0)))["kp"] == 1000).all()


def test_zeros_of_encoders_are_named_where_nothing_shows_them() -> None:
    """Gravity shows the zeros of both encoders; without gravity, nothing shows that of the first."""
    fit = tp.identify(
        ARM, record(encoder=(0.02, -0.03), offset=(0.0, 0.0)), terms=("rotor", "viscous", "coulomb", "encoder")
    )
    assert fit.of_kind("encoder") == pytest.approx([0.02, -0.03], abs=5e-3)
    floating = dataclasses.replace(ARM, gravity=(Fraction(0), Fraction(0), Fraction(0)))
    free = tp.identify(floating, record(robot=floating), terms=("rotor", "viscous", "coulomb", "encoder"))
    missing = [name for name, u in zip(free.names, free.undetermined, strict=True) if u]
    assert missing == [f"{ARM.joint_names[0]}.encoder"]
    assert np.isinf(free.stderr[free.undetermined]).all()
    assert np.isfinite(free.stderr[~free.undetermined]).all()


def test_a_model_that_is_wrong_is_said_to_be() -> None:
    fit = tp.identify(ARM, record(stribeck=(15.0, 8.0), stribeck_velocity=(0.1, 0.1)), terms=GIVEN)
    assert fit.model_error
    assert any(note.startswith("Model error dominates") for note in fit.notes)


@pytest.mark.parametrize("limit", [250.0, 60.0], ids=["seldom", "often"])
def test_limits_that_are_reached(limit: float) -> None:
    fit = tp.identify(ARM, record(drive={"torque_limit": limit}), terms=GIVEN)
    shares = [joint.at_limit for joint in fit.joints]
    if max(shares) > 0.2:
        assert "limits" in fit.verdict.causes
    else:
        assert np.abs((fit.values - truth(fit)) / fit.stderr).max() < 4.5


def test_a_law_on_the_host_and_times_that_jitter() -> None:
    host = tp.identify(ARM, record(drive={"law": "pd_host", "rate_hz": 200.0}), terms=GIVEN)
    assert np.abs(host.values - truth(host)).max() < 0.15
    jittered = tp.identify(ARM, record(jitter=0.4), terms=GIVEN)
    assert np.abs((jittered.values - truth(jittered)) / jittered.stderr).max() < 4


@pytest.mark.parametrize("noise", [0.0, NOISE], ids=["quiet", "noisy"])
def test_a_joint_that_never_leaves_stiction_is_named(noise: float) -> None:
    log = record(still=True, coulomb=(1.5, 1e3), noise=noise)
    fit = tp.identify(ARM, log, terms=GIVEN)
    assert [joint.moves for joint in fit.joints] == [True, False]
    assert "still" in fit.verdict.causes
    assert np.abs(fit.values).max() < 1e7  # what rounding alone shows is not divided by it
    own = [u for name, u in zip(fit.names, fit.undetermined, strict=True) if name.startswith(ARM.joint_names[1])]
    assert all(own)


def test_several_logs_and_one_that_cannot_be_used(tmp_path: Path) -> None:
    logs = [record(4.0, seed=seed, phase=seed) for seed in range(3)]
    fit = tp.identify(ARM, logs, terms=GIVEN)
    assert len(fit.logs) == 3
    assert np.abs((fit.values - truth(fit)) / fit.stderr).max() < 4.5
    bad = logs[0].with_(q=np.full_like(logs[0].q, np.nan))
    with pytest.raises(TaupiError):
        tp.identify(ARM, [logs[1], bad], terms=GIVEN)
    kept = tp.identify(ARM, [logs[1], bad], terms=GIVEN, skip_bad=True)
    assert len(kept.logs) == 1
    assert len(kept.record["skipped"]) == 1


def test_a_base_of_which_nothing_is_known_is_taken_as_bolted() -> None:
    """A description may float, as those of legged robots do; a log of commands and encoders is one of a stand."""
    log = record(4.0)
    with pytest.warns(tp.TaupiWarning, match="taken as bolted"):
        fit = tp.identify(ARM.floating_base(), log, terms=GIVEN)
    assert not fit.robot.floating
    assert fit.values == pytest.approx(tp.identify(ARM, log, terms=GIVEN).values)
    still = tp.floating.BaseMotion(*np.zeros((2, len(log), 3)))
    with pytest.raises(TaupiError, match="how the base"):
        tp.identify(ARM.fixed_base(), log.with_(base=still), terms=GIVEN)


def test_a_joint_that_was_not_recorded_is_to_be_locked(tmp_path: Path) -> None:
    log = record(2.0)
    columns = {"t": log.time, "q_shoulder": log.q[:, 0], "qdes_shoulder": log.qdes[:, 0]}
    table = np.stack(list(columns.values()), axis=1)
    np.savetxt(tmp_path / "run.csv", table, delimiter=",", header=",".join(columns), comments="")
    with pytest.raises(TaupiError, match="not recorded") as refused:
        tp.identify(
            ARM, tmp_path / "run.csv", columns={"drive": {"kp": 100.0}, "q": "q_shoulder", "qdes": "qdes_shoulder"}
        )
    assert "lock" in str(refused.value)


def test_what_cannot_be_is_refused_in_a_sentence() -> None:
    log = record(4.0)
    with pytest.raises(TaupiError, match="swapped"):
        tp.identify(ARM, log.with_(qdes=log.qdes[:, ::-1]))
    with pytest.raises(NotIdentifiedError, match="never move"):
        tp.identify(ARM, log.with_(qdes=np.zeros_like(log.qdes)))
    noise = log.q[:1] + NOISE * np.random.default_rng(0).normal(size=log.q.shape)
    with pytest.raises(NotIdentifiedError):  # the log ended before the first command arrived
        tp.identify(ARM, log.with_(q=noise))
    for wrong in (
        {"qdes": np.degrees(log.qdes)},
        {"q": log.qdes},
        {"time": 1e3 * log.time},
        {"q": np.where(np.arange(len(log))[:, None] == 7, 1e300, log.q)},
    ):
        with pytest.raises(TaupiError):
            tp.identify(ARM, log.with_(**wrong))
    with pytest.raises(TaupiError) as missing:
        tp.identify(ARM, log.with_(qdes=None))
    assert "qdes" in str(missing.value)
    assert "tau" not in str(missing.value)
    qdes = log.qdes.copy()
    qdes[300:303] = np.nan
    assert tp.identify(ARM, log.with_(qdes=qdes), terms=GIVEN).verdict.level == "good"
    for options in (
        {"estimator": "wls"},
        {"elastic": True},
        {"cutoff_hz": 5.0},
        {"contact": "base"},
        {"workers": 2},
        {"stream": True},
        {"terms": "springs"},
    ):
        with pytest.raises(TaupiError):
            tp.identify(ARM, log, **options)


def test_gains_in_wrong_units_make_a_wrong_verdict() -> None:
    log = record(5.0)
    weak = dataclasses.replace(log, drive=tp.Drive(kp=(1200 / 57.3, 600 / 57.3), kd=(60 / 57.3, 25 / 57.3)))
    with pytest.warns(tp.TaupiWarning):
        fit = tp.identify(ARM, weak)
    assert fit.verdict.level != "good"
    strong = dataclasses.replace(log, drive=tp.Drive(kp=(1200 * 57.3, 600 * 57.3), kd=(60 * 57.3, 25 * 57.3)))
    with pytest.warns(tp.TaupiWarning):
        fit = tp.identify(ARM, strong)
    assert fit.verdict.level == "wrong"
    (reason,) = [reason for reason in fit.verdict.details if reason.cause == "gains"]
    assert 20 < reason.numbers["factor"] < 120
    double = dataclasses.replace(log, drive=tp.Drive(kp=(2400.0, 1200.0), kd=(120.0, 50.0)))
    assert "gains" not in tp.identify(ARM, double).verdict.causes


def test_logs_of_high_rates_are_thinned_without_a_delay() -> None:
    """What is sent has the same integral up to every sample that is kept, so that a thinned log moves as the whole one."""
    stretch = stretches_of(record(2.0, rate=1000.0, noise=0.0), ARM)[0]
    thin = stretch.thinned(5e-3)
    assert len(thin) == 400
    assert np.diff(thin.time) == pytest.approx(5e-3)
    sent = thin.commands.position[:-1] - stretch.commands.position[:-5].reshape(-1, 5, 2).mean(axis=1)[: len(thin) - 1]
    assert np.abs(sent).max() < 1e-12
    model = search_of(tp.estimators.ClosedLoop(), FitInputs(ARM, [record(2.0)], GIVEN), [record(2.0)]).model
    x = np.array([np.broadcast_to(TRUTH[p.kind], 2)[p.joint or 0] for p in model.parameters])
    assert np.abs(model.residual(x, thin, 5e-3)).max() < 5e-4
    assert stretch.thinned(1e-3) is stretch


def test_a_step_within_bounds_is_the_best_one() -> None:
    """Beside an exact solver of the same problem: entries are held at bounds, and let go where others make them useful again."""
    from scipy.optimize import lsq_linear

    rng = np.random.default_rng(0)
    for _ in range(50):
        factor, right = rng.normal(size=(12, 6)), rng.normal(size=12)
        least, most = -rng.uniform(0, 0.3, 6), rng.uniform(0, 0.3, 6)
        step = _bounded_step(factor.T @ factor, -factor.T @ right, least, most)
        assert step == pytest.approx(lsq_linear(factor, right, (least, most), method="bvls", tol=1e-14).x, abs=1e-9)


def servo_log(seed: int, kp: float, off: bool) -> tp.Log:
    """Return what the encoder of a pendulum on a servo shows; its torque may be switched off for the last third."""
    arm = tp.Robot.from_dh(
        [{"a": 0, "alpha": 0, "d": 0, "theta": 0}], links=[{"m": 0.5, "com": (0.1, 0, 0)}], gravity=(9.81, 0, 0)
    )
    values = StepValues(arm)
    t = np.arange(1200) / 200
    wanted = (0.9 * np.sin(1.5 * t + seed) + 0.4 * np.sin(4.1 * t))[:, None]
    enabled = np.ones((1200, 1))
    enabled[800 if off else 1200 :] = 0
    theta = np.zeros(values.size)
    kinds = {**STEP_DEFAULTS, "rotor": 0.002, "viscous": 0.004, "coulomb": 0.01, "load": 0.15, "load_external": 0.15}
    kinds |= {"torque_per_volt": 0.11, "braking": 0.035, "kp": kp, "limit": 0.6, "delay": 0.006}
    for name, value in kinds.items():
        theta[values.delay if name == "delay" else values.joints(name)] = value
    theta[values.bodies] = arm.parameters.values
    zero = np.zeros_like(wanted)
    commands = Commands(t, wanted, zero, zero, enabled, zero + 7.4)
    q = DrivenRobot(arm, "duty", True).roll(theta, commands, wanted[0], np.zeros(1), 1e-4).q
    q = q + 5e-4 * np.random.default_rng(seed).normal(size=q.shape)
    drive = tp.Drive(law="duty", kp=kp, kt=0.3, resistance=3.0, volts=7.4, unknown=("kt", "resistance"))
    return tp.Log(t, q, qdes=wanted, enabled=enabled, names=arm.joint_names, drive=drive)


@pytest.mark.parametrize("terms", ["m1", "m2", "m3", "m4", "m5", "m6"])
def test_models_of_servos_by_their_names(terms: str) -> None:
    """Each has the parameters of that model, at least those of the one before, and what is left out is not there at all."""
    arm = tp.Robot.from_dh(
        [{"a": 0, "alpha": 0, "d": 0, "theta": 0}], links=[{"m": 0.5, "com": (0.1, 0, 0)}], gravity=(9.81, 0, 0)
    )
    search = search_of(
        tp.estimators.ClosedLoop(), FitInputs(arm, [servo_log(0, 1.2, True)], terms), [servo_log(0, 1.2, True)]
    )
    model = search.model
    shares = {"m1": 0, "m2": 0, "m3": 1, "m4": 2, "m5": 4, "m6": 6}[terms]
    stribeck = 3 if terms in ("m2", "m4", "m5", "m6") else 0
    kinds = set(model.kinds) - set(FIRST_OF_SERVO)
    assert len(kinds) == shares + stribeck
    theta = model.theta(model.column("start"), search.drive)
    assert set(BEYOND_TOOLS) <= set(KINDS)  # what other tools have no place for is taken out place by place
    assert {place for kind in BEYOND_TOOLS for place in KINDS[kind].places} <= set(JOINT_VALUES)
    lost = [theta[model.values.joints(kind)][0] for kind in ("load", "load_external")]
    assert lost == ([0.05, 0.05] if shares else [0.0, 0.0])
    assert theta[model.values.joints("stribeck_shape")][0] == 1.0
    with pytest.raises(TaupiError, match="servo"):
        tp.identify(ARM, record(2.0), terms=("coulomb", "load_external"))


def test_a_servo_comes_back_from_its_goals(tmp_path: Path) -> None:
    arm = tp.Robot.from_dh(
        [{"a": 0, "alpha": 0, "d": 0, "theta": 0}], links=[{"m": 0.5, "com": (0.1, 0, 0)}], gravity=(9.81, 0, 0)
    )
    logs = [servo_log(seed, kp, off) for seed, (kp, off) in enumerate([(0.6, False), (1.2, True), (2.3, True)])]
    fit = tp.identify(arm, logs, terms=("rotor", "viscous", "coulomb", "load"))
    other = fit.validate(servo_log(7, 1.2, True))
    assert other.position_error[0] < 5e-3
    tp.write_fit(fit, tmp_path / "fit.json")
    again, log = tp.load_fit(tmp_path / "fit.json"), servo_log(7, 1.2, True)
    assert isinstance(again, tp.CommandFit)
    assert (again.predict(log) == fit.predict(log)).all()
    assert (tp.simulate(tp.laws.DrivenPlant.of(again, log.drive), reference=log).q == fit.predict(log)).all()
    assert fit.of_kind("torque_per_volt")[0] == pytest.approx(0.11, rel=0.05)
    assert fit.of_kind("load")[0] == pytest.approx(0.15, abs=0.03)
    assert any("searches" in note for note in fit.notes)
