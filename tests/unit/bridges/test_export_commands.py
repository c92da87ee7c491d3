"""Fits from commands, written for simulators: the drive is in the file, MuJoCo moves as the fit, and what is lost has a cost."""

from __future__ import annotations

import dataclasses
import re
from functools import lru_cache

import numpy as np
import pytest
from command_line import taupi

import taupi as tp
from taupi.bridges.identified import unreal
from taupi.dynamics.driven import STEP_DEFAULTS, StepValues
from taupi.dynamics.driven_rollout import Commands, DrivenRobot
from taupi.errors import TaupiError
from taupi.model.body import with_real_inertia

ARM = tp.load("elbow2r")
KP, KD = (1200.0, 600.0), (60.0, 25.0)
TRUTH = {"rotor": (0.3, 0.2), "viscous": (2.0, 1.2), "coulomb": (1.5, 0.8), "offset": (0.4, -0.3), "delay": 0.0073}
GIVEN = ("rotor", "viscous", "coulomb", "offset")


def record(phase=0.0, limit=None, **more):
    """What encoders of the arm show, driven by chirps, by steps of 0.2 ms."""
    t, values = np.arange(1600) / 200, StepValues(ARM)
    sweep = 2 * np.pi * (0.2 * t + 0.12 * t**2) + phase
    wanted = np.stack([0.5 * np.sin(sweep), 0.4 * np.sin(1.3 * sweep + 1)], axis=1)
    theta, zero = np.zeros(values.size), np.zeros_like(wanted)
    for name, value in {**STEP_DEFAULTS, **TRUTH, "kp": KP, "kd": KD, "limit": limit or 1e30, **more}.items():
        theta[values.delay if name == "delay" else values.joints(name)] = value
    theta[values.bodies] = ARM.parameters.values
    robot = DrivenRobot(ARM, "pd", limit is not None, None)
    q = robot.roll(theta, Commands(t, wanted, zero, zero, zero + 1, zero), wanted[0], np.zeros(2), 2e-4).q
    q = q + np.random.default_rng(0).normal(0, 1e-4, q.shape)
    drive = tp.Drive(kp=KP, kd=KD, torque_limit=limit or ())
    return tp.Log(t, q, qdes=wanted, names=ARM.joint_names, drive=drive)


@lru_cache
def fitted(terms=GIVEN, **more):
    return tp.identify(ARM, record(**more), terms=terms)


def test_mujoco_moves_as_the_fit_does(tmp_path):
    """The gains, the delay and the friction are in the file in full; the engine's own motion is off by little more than ours."""
    mujoco = pytest.importorskip("mujoco")
    fit = fitted()
    written = tp.export(fit, tmp_path / "arm", target="mujoco", timestep=0.001)
    model = mujoco.MjModel.from_xml_path(str(next((tmp_path / "arm").glob("*.xml"))))
    assert np.array_equal(model.actuator_gainprm[:, 0], KP) and np.array_equal(
        model.actuator_biasprm[:, 2], -np.array(KD)
    )
    assert np.array_equal(model.actuator_delay, [fit.delay] * 2)
    assert model.actuator_history[0, 0] == int(np.ceil(fit.delay / 0.001))
    assert np.array_equal(model.dof_armature, fit.of_kind("rotor"))
    assert written.lost == ()
    seen = tp.bridges.check_export(written, record(phase=1.0))
    assert list(seen.others) == ["mujoco"]
    apart = seen.others["mujoco"].predicted - seen.fit.predicted
    assert np.abs(apart).max() < 3e-3 and abs(seen.lag) < 1e-3
    # A delay of half of it would be noticed.
    drives = {n: dataclasses.replace(d, delay=fit.delay / 2) for n, d in written.passport.drives.items()}
    early = tp.export(fit, tmp_path / "early", target="mujoco", timestep=0.001, drives=drives)
    assert tp.bridges.check_export(early, record(phase=1.0)).lag == pytest.approx(seen.lag - fit.delay / 2, abs=5e-4)


def test_an_unknown_damping_gain_is_written_as_stated(tmp_path):
    """It acts like viscous friction, which is fitted beside what was stated: without it, joints would lose most damping."""
    log = record()
    log = log.with_(drive=dataclasses.replace(log.drive, unknown=("kd",)))
    written = tp.export(tp.identify(ARM, log, terms=GIVEN), tmp_path / "arm")
    assert tuple(d.kd for d in written.passport.drives.values()) == KD


@pytest.mark.filterwarnings("ignore:The fit is doubtful")
def test_limits_of_torque_act_in_the_engine(tmp_path):
    pytest.importorskip("mujoco")
    log = record(limit=110.0)
    fit = tp.identify(ARM, log, terms=GIVEN)
    written = tp.export(fit, tmp_path / "arm", target="mujoco", timestep=0.001)
    assert 'forcerange="-110.0 110.0"' in next((tmp_path / "arm").glob("*.xml")).read_text()
    seen = tp.bridges.check_export(written, log)
    assert (seen.others["mujoco"].position_error < 3 * seen.fit.position_error + 2e-3).all()


def test_what_is_lost_is_named_with_its_position_error(tmp_path):
    """Friction that bends with position has no place; a spring about the middle of the range is one about zero, and an offset."""
    pytest.importorskip("mujoco")
    bent = {"spring": (20.0, 12.0), "coulomb_slope": (2.0, 1.5), "centre": (0.0, 0.0)}
    fit = fitted((*GIVEN, "position"), **bent)
    written = tp.export(fit, tmp_path / "arm", target="mujoco", timestep=0.001)
    assert set(written.lost) == {f"{name}.coulomb_slope" for name in ARM.joint_names}
    for name, values in written.passport.joints.items():
        k = ARM.joint_names.index(name)
        spring = fit.of_kind("spring")[k]
        assert values.stiffness == spring
        assert values.offset == pytest.approx(fit.of_kind("offset")[k] - spring * fit.model.scales.centre[k])
    seen = tp.bridges.check_export(written, record(phase=1.0, **bent))
    assert list(seen.others) == ["placed", "mujoco"]
    assert (seen.others["placed"].position_error > seen.fit.position_error).all()
    for name in ARM.joint_names:
        assert re.search(rf"without {name}.coulomb_slope, the position error of {name} goes from .* to ", repr(seen))
    plain = tp.export(fit, tmp_path / "plain", target="urdf")
    assert {f"{n}.spring" for n in ARM.joint_names} | {f"{n}.rotor" for n in ARM.joint_names} <= set(plain.lost)


def test_a_delay_below_zero_has_no_place(tmp_path):
    pytest.importorskip("mujoco")
    fit = fitted(delay=-0.004)
    written = tp.export(fit, tmp_path / "arm", target="mujoco")
    assert any("delay of commands -0.004" in name or "delay of commands -0.003" in name for name in written.lost)
    seen = tp.bridges.check_export(written, record(delay=-0.004))
    assert seen.others["placed"].position_error.mean() > 2 * seen.fit.position_error.mean()


def test_targets_that_do_not_move_here_are_refused(tmp_path):
    written = tp.export(fitted(), tmp_path / "arm", target="urdf")
    with pytest.raises(TaupiError, match=r"URDF is not driven by commands here.*mujoco, mjlab can be checked"):
        tp.bridges.check_export(written, record())
    with pytest.raises(TaupiError):
        tp.export(fitted().robot, tmp_path / "more", target="mujoco", samples=5)


def test_a_body_that_does_not_exist_gets_the_nearest_inertia():
    rng = np.random.default_rng(0)
    for _ in range(50):
        body = np.concatenate([[rng.uniform(0.1, 3)], rng.normal(0, 0.3, 3), [0.02, 0, 0, 0.03, 0, 0.025]])
        real = with_real_inertia(body)
        assert np.array_equal(real[:4], body[:4])
        assert not unreal(real)
        assert with_real_inertia(real) == pytest.approx(real, abs=1e-9)


@pytest.mark.parametrize(("target", "timestep"), [("mujoco", 0.004), ("mjlab", 0.005)])
def test_drives_fitted_with_the_steps_of_the_target_move_it_as_measured(tmp_path, target, timestep):
    """Long steps, and friction that has no place: on another log, the target is closer with numbers of its own."""
    pytest.importorskip("mujoco")
    bent = {"spring": (20.0, 12.0), "coulomb_slope": (2.0, 1.5), "centre": (0.0, 0.0)}
    fit, other = fitted((*GIVEN, "position"), **bent), record(phase=1.0, **bent)
    plain = tp.export(fit, tmp_path / "plain", target=target, timestep=timestep)
    again = tp.export(fit, tmp_path / "again", target=target, timestep=timestep, refit=record(**bent))
    errors = [tp.bridges.check_export(e, other).others[target].position_error for e in (plain, again)]
    assert (errors[1] < 0.6 * errors[0]).all()
    refit = again.passport.refit
    assert (refit.after < 0.6 * refit.before).all() and refit.after == pytest.approx(errors[1], rel=0.3)
    assert plain.lost == again.lost and plain.passport.drives != again.passport.drives
    assert "makes up for it" not in repr(tp.bridges.check_export(again, other))
    delay = again.passport.drives["elbow"].delay
    assert delay >= 0 and (target == "mujoco" or delay / timestep == round(delay / timestep))


def test_only_fits_from_commands_are_fitted_again(tmp_path):
    with pytest.raises(TaupiError, match="for fits from commands"):
        tp.export(ARM, tmp_path / "arm", target="mujoco", refit=record())
    with pytest.raises(TaupiError, match="URDF is not driven by commands here"):
        tp.export(fitted(), tmp_path / "arm", target="urdf", refit=record())
    assert not (tmp_path / "arm").exists()


def test_the_command_line_fits_drives_again_and_checks_them(tmp_path):
    pytest.importorskip("mujoco")
    tp.write_fit(fitted(), tmp_path / "fit.json")
    (tmp_path / "drive.toml").write_text(f'[drive]\nlaw = "pd"\nkp = {list(KP)}\nkd = {list(KD)}\n')
    for name, phase in (("run.csv", 0.0), ("other.csv", 1.0)):
        tp.write_log(dataclasses.replace(record(phase=phase), drive=None), tmp_path / name)
    options = ("--timestep", "0.004", "--columns", "drive.toml")
    logs = ("--refit", "run.csv", "--check", "other.csv")
    done = taupi("export", "fit.json", "--for", "mujoco", "-o", "arm", *options, *logs, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "fitted again with MuJoCo's own steps of 4 ms, to run.csv" in done.stderr
    assert (
        "were fitted to run.csv with its own steps" in done.stdout and "other.csv: mean position error" in done.stdout
    )
    done = taupi("export", "fit.json", "--for", "usd", "-o", "usd", *options, "--refit", "run.csv", cwd=tmp_path)
    assert done.returncode == 3 and "not driven by commands" in done.stderr and not (tmp_path / "usd").exists()
