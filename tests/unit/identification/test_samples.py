"""Posterior samples: robots that exist, as uncertain as the fit says, and the arrays and loaders that hand them over."""

import numpy as np
import pytest

import taupi as tp
from taupi.errors import TaupiError
from taupi.identification.physical.region import is_consistent
from taupi.identification.results.samples import _Coordinates
from taupi.model.parameters import Parameters
from taupi.model.scalars import exact

TERMS = ("rotor", "viscous", "coulomb")


def fitted(name, noise=0.02, estimator="consistent", **friction):
    """A fit of a simulated arm, with noise of a share of each joint's largest torque."""
    arm = tp.load(name)
    truth = arm.with_friction(viscous=2.0, coulomb=3.0, **friction).with_transmissions(rotor_inertia=0.2)
    rng, n = np.random.default_rng(0), arm.n
    t, phase = np.arange(1500)[:, None] / 75, np.linspace(0, 5, n)
    motion = [np.zeros((len(t), n)) for _ in range(3)]
    for size, w in ((1.0, np.linspace(1.0, 2.3, n)), (0.5, np.linspace(2.7, 4.9, n))):
        s, c = size * np.sin(w * t + phase), size * np.cos(w * t + phase)
        for k, part in enumerate((s, w * c, -w * w * s)):
            motion[k] += part
    tau = tp.inverse_dynamics(truth, terms=TERMS)(*motion)
    tau += noise * np.abs(tau).max(axis=0) * rng.standard_normal(tau.shape)
    log = tp.Log(t[:, 0], motion[0], tau=tau, names=arm.joint_names)
    return tp.identify(arm, log, terms=TERMS, cutoff_hz=10, estimator=estimator), motion


@pytest.fixture(scope="module")
def ur10():
    fit, motion = fitted("ur10")
    return fit, motion, tp.samples(fit, 150, seed=3)


def test_every_robot_is_possible(ur10):
    fit, _, drawn = ur10
    layout = fit.basis.standard.layout
    assert len(drawn) == 151 and np.array_equal(drawn.parameters[0], fit.parameters.values)
    for row in drawn.parameters:
        assert is_consistent(Parameters(layout, tuple(exact(float(v)) for v in row)))
    robot = drawn[7]
    assert robot.parameters.values == pytest.approx(drawn.links[7])
    assert float(robot.joints[2].friction.viscous) == pytest.approx(
        drawn.parameters[7][drawn.names.index("elbow_joint.viscous")]
    )


def test_torques_are_as_uncertain_as_the_covariance_says(ur10):
    """Their spread is 0.7 to 1.1 of it, joint by joint: consistency takes some away. Ranges would be wider."""
    fit, motion, drawn = ur10
    Y = fit.basis.regressor()(*(x[::15] for x in motion))
    deviations = np.einsum("tib,kb->kti", Y, drawn.base[1:] - fit.values)
    spread = np.sqrt(np.mean(deviations**2, axis=(0, 1)))
    expected = np.sqrt(np.einsum("tib,bc,tic->i", Y, fit.covariance, Y) / len(Y))
    assert np.all((spread / expected > 0.7) & (spread / expected < 1.1))
    assert 0.7 < float(drawn.spread) < 1.1
    rng = np.random.default_rng(0)
    low, high = np.array(list(drawn.ranges().values())).T
    alone = fit.basis.project(low + (high - low) * rng.uniform(size=(150, len(low)))) - fit.values
    assert np.sqrt(np.mean(np.einsum("tib,kb->kti", Y, alone) ** 2)) > 1.5 * np.sqrt(np.mean(deviations**2))


def test_the_same_seed_gives_the_same_robots(ur10):
    fit, _, drawn = ur10
    again = tp.samples(fit, 150, seed=3)
    assert np.array_equal(again.parameters, drawn.parameters)
    assert not np.allclose(tp.samples(fit, 5, seed=4).parameters[1:], drawn.parameters[1:6])


def test_derivatives_are_those_of_differences(ur10):
    coordinates = _Coordinates.of(ur10[0])
    rng = np.random.default_rng(1)
    rows, x = rng.standard_normal((7, len(ur10[0].parameters))), 0.3 * rng.standard_normal((2, coordinates.size))
    step, x = 1e-6, np.maximum(x, coordinates.least + 0.01)  # away from where friction would fall below zero
    seen = coordinates.derivative(rows, x)
    for k in rng.choice(coordinates.size, 20, replace=False):
        e = step * np.eye(coordinates.size)[k]
        difference = (coordinates.parameters(x + e) - coordinates.parameters(x - e)) @ rows.T / (2 * step)
        assert seen[:, :, k] == pytest.approx(difference, rel=1e-5, abs=1e-6)


def test_the_estimate_is_at_the_origin_of_the_links(ur10):
    fit = ur10[0]
    coordinates = _Coordinates.of(fit)
    links = len(fit.robot.parameters)
    at = coordinates.parameters(np.zeros((1, coordinates.size)))[0, :links]
    assert at == pytest.approx(fit.parameters.values[:links], rel=1e-6, abs=1e-6)


def test_what_logs_leave_open_stays_open():
    """A joint that does not move: masses of links spread by the prior, base parameters as much as the logs say."""
    arm, t = tp.load("elbow2r"), np.arange(1500)[:, None] / 75
    q = np.concatenate([np.sin(t) + 0.5 * np.sin(2.7 * t), 0 * t], axis=1)
    qd = np.concatenate([np.cos(t) + 1.35 * np.cos(2.7 * t), 0 * t], axis=1)
    qdd = np.concatenate([-np.sin(t) - 3.645 * np.sin(2.7 * t), 0 * t], axis=1)
    tau = tp.inverse_dynamics(arm)(q, qd, qdd) + np.random.default_rng(0).normal(0, 0.05, q.shape)
    fit = tp.identify(arm, tp.Log(t[:, 0], q, tau=tau), cutoff_hz=10)
    drawn = tp.samples(fit, 80, anyway=True)
    undetermined = dict(zip(fit.names, fit.undetermined, strict=True))
    assert undetermined["elbow.viscous"] and drawn.converged.mean() > 0.9 and 0.7 < float(drawn.spread) < 1.1
    spread = dict(zip(drawn.names, drawn.parameters[1:].std(axis=0), strict=True))
    estimate = dict(zip(drawn.names, drawn.parameters[0], strict=True))
    assert spread["forearm.m"] > 0.1 * estimate["forearm.m"] and spread["elbow.viscous"] < 1e-6
    ratio = drawn.base[1:].std(axis=0)[:6] / fit.stderr[:6]
    assert np.all((ratio > 0.5) & (ratio < 1.3))


def test_bad_input(ur10):
    for arguments, argument in (((ur10[0], 0), "count"), ((ur10[0], 5, "one"), "seed"), ((tp.load("ur10"),), "fit")):
        with pytest.raises(TaupiError) as caught:
            tp.samples(*arguments)
        assert caught.value.argument == argument
    for level in (1.5, "0.9"):
        with pytest.raises(TaupiError) as caught:
            ur10[2].ranges(level)
        assert caught.value.argument == "level"


# Handed over ----------------------------------------------------------------------------------------------------------


def loaded(export):
    """The function that a target's loader defines, its samples read from the folder of an export."""
    text = (
        (export.folder / "load_samples.py")
        .read_text()
        .replace('"samples.npz"', repr(str(export.folder / "samples.npz")))
    )
    assert len(text.splitlines()) <= 30
    names = {}
    exec(text, names)
    return names


def test_mujoco_has_the_torque_of_a_sample(ur10, tmp_path):
    mujoco = pytest.importorskip("mujoco")
    fit, motion, _ = ur10
    export = tp.export(fit, tmp_path / "out", target="mujoco", samples=5, seed=3)
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "out" / "ur10.xml"))
    loaded(export)["set_sample"](model, 4)
    model.dof_frictionloss[:] = 0
    data, k = mujoco.MjData(model), 700
    data.qpos[:], data.qvel[:], data.qacc[:] = (x[k] for x in motion)
    mujoco.mj_inverse(model, data)
    again = tp.samples(fit, 5, seed=3)
    robot = again[4].with_friction(coulomb=0)
    assert data.qfrc_inverse == pytest.approx(
        tp.inverse_dynamics(robot, terms=TERMS)(*(x[k] for x in motion)), rel=1e-9
    )
    places = [again.names.index(f"{name}.coulomb") for name in fit.robot.joint_names]
    assert np.array_equal(tp.bridges.sample_arrays(again)["coulomb"], again.parameters[:, places])


def test_drake_has_the_torque_of_a_sample(ur10, tmp_path):
    pytest.importorskip("pydrake")
    from taupi.bridges.targets.drake import DrakePlant

    fit, motion, _ = ur10
    export = tp.export(fit, tmp_path / "out", target="drake", samples=5, seed=3)
    plant = DrakePlant.of(tmp_path / "out" / "ur10.urdf", export.passport)
    loaded(export)["set_sample"](plant.plant, plant.context, 4)
    robot, at = tp.samples(fit, 5, seed=3)[4].with_friction(coulomb=0), [x[700:702] for x in motion]
    assert plant(*at) == pytest.approx(tp.inverse_dynamics(robot, terms=TERMS)(*at), rel=1e-9)


def test_newton_has_the_mass_matrix_of_a_sample(ur10, tmp_path):
    newton = pytest.importorskip("newton")
    fit = ur10[0]
    export = tp.export(fit, tmp_path / "out", target="newton", samples=5, seed=3)
    names = {"__file__": str(tmp_path / "out" / "ur10_newton.py")}
    exec((tmp_path / "out" / "ur10_newton.py").read_text(), names)
    model = names["build"]()
    loaded(export)["set_sample"](model, 4)
    M = newton.eval_mass_matrix(model, model.state()).numpy()[0]
    expected = tp.mass_matrix(tp.samples(fit, 5, seed=3)[4], terms=("rotor",))(np.zeros(6))
    assert np.abs(M - expected).max() < 1e-5 * np.abs(expected).max()


@pytest.mark.parametrize("target", ["isaaclab", "genesis", "mjlab"])
def test_other_loaders_are_python(ur10, target, tmp_path):
    export = tp.export(ur10[0], tmp_path / "out", target=target, samples=2)
    compile((tmp_path / "out" / "load_samples.py").read_text(), target, "exec")
    with np.load(tmp_path / "out" / "samples.npz") as file:
        arrays = dict(file)
    assert arrays["mass"].shape == (3, 6) and arrays["quat"].shape == (3, 6, 4) and int(arrays["seed"]) == 0
    assert np.isnan(arrays["kp"]).all() and "samples.npz" in export.files


def test_a_study_takes_the_robots_of_a_fit(ur10):
    _, _, drawn = ur10
    law = tp.ComputedTorque(drawn[0])
    study = tp.ensembles.robustness(drawn[0], [law], duration=0.5, rate=250, roll_outs=8, samples=drawn)
    assert (
        study.links == pytest.approx(drawn.links[1:9])
        and study.sampled
        and "as much as its fit leaves open" in repr(study)
    )
    with pytest.raises(TaupiError) as caught:
        tp.ensembles.robustness(tp.load("elbow2r"), duration=0.5, samples=drawn)
    assert caught.value.argument == "samples"
