"""Identified robots taken elsewhere: URDF and TOML read back by us and by others, C compiled."""

import subprocess

import numpy as np
import pytest
from problems import FRICTION, problem_of, real_truth, states

import taupi as tp
from taupi.errors import TaupiError, TaupiWarning

pin = pytest.importorskip("pinocchio")
mujoco = pytest.importorskip("mujoco")

# Mass, centre of mass and inertia are written as doubles: a few roundings, relative to the largest torque.
WRITTEN = 1e-9
ROBOTS = {"ur5": "ur_description/urdf/ur5_robot.urdf", "z1": "z1_description/urdf/z1.urdf"}


def rigid(fit, motion):
    """The torque that the fit predicts, without the terms."""
    plain = np.zeros_like(fit.parameters.values)
    plain[: len(fit.robot.parameters)] = fit.parameters.values[: len(fit.robot.parameters)]
    return fit.basis.regressor()(*motion) @ fit.basis.project(plain)


@pytest.fixture(params=ROBOTS)
def fit(request, robots_dir):
    robot = tp.load(robots_dir / ROBOTS[request.param])
    truth = np.concatenate([robot.parameters.values * 1.1, np.full(4 * robot.n, 0.5)])
    return tp.estimators.Feasible().fit(problem_of(robot, truth, noise=0.1, samples=150))


def test_a_urdf_of_a_fit_means_the_same_to_us_and_to_pinocchio(fit, tmp_path):
    path = tmp_path / "identified.urdf"
    tp.write_urdf(fit, path)
    motion = states(fit.robot, 20, 7)
    expected = rigid(fit, motion)
    tolerance = WRITTEN * np.abs(expected).max()
    assert np.abs(tp.inverse_dynamics(tp.load(path))(*motion) - expected).max() < tolerance
    model = pin.buildModelFromUrdf(str(path))
    data = model.createData()
    theirs = np.array([pin.rnea(model, data, q, v, a) for q, v, a in zip(*motion, strict=True)])
    assert np.abs(theirs - expected).max() < tolerance
    for inertia in list(model.inertias)[1:]:
        moments = np.linalg.eigvalsh(inertia.inertia)
        assert inertia.mass > 0 and moments[0] > 0 and moments[0] + moments[1] >= moments[2] * (1 - 1e-9)


def test_mujoco_accepts_the_inertias(robots_dir, tmp_path):
    from test_mujoco import without_shapes

    robot = tp.load(robots_dir / ROBOTS["ur5"])
    truth = np.concatenate([robot.parameters.values, np.full(4 * robot.n, 0.5)])
    for noise, sign in ((0.1, 1.0), (1.0, 1.0), (0.1, -1.0)):
        path = tmp_path / f"{noise}{sign}.urdf"
        tp.write_urdf(tp.estimators.Feasible().fit(problem_of(robot, truth, noise, 60, sign=sign)), path, anyway=True)
        assert mujoco.MjModel.from_xml_string(without_shapes(path)).nv == robot.n  # it refuses what no body has


def test_the_identified_robot_predicts_what_the_fit_predicts(fit, tmp_path):
    robot = fit.robot_identified()
    motion = states(fit.robot, 20, 8)
    expected = fit.basis.regressor()(*motion) @ fit.values
    tolerance = WRITTEN * np.abs(expected).max()
    assert np.abs(tp.inverse_dynamics(robot, terms=fit.terms)(*motion) - expected).max() < tolerance
    tp.write_toml(fit, tmp_path / "identified.toml")
    again = tp.load(tmp_path / "identified.toml")
    assert np.abs(tp.inverse_dynamics(again, terms=FRICTION)(*motion) - expected).max() < tolerance


def test_c_of_the_identified_model(tmp_path):
    arm = tp.load("ur10")
    fit = tp.estimators.Feasible().fit(problem_of(arm, real_truth(arm, np.random.default_rng(0)), noise=0.05))
    files = tp.emit(tp.inverse_dynamics(fit.robot_identified(), terms=fit.terms), "c", tmp_path, name="identified")
    source = next(p for p in files if p.suffix == ".c")
    built = subprocess.run(
        ["cc", "-std=c99", "-c", str(source), "-o", str(tmp_path / "identified.o")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr


def test_gears_divide_the_rotor():
    arm = tp.load("ur10").with_transmissions(gear_ratio=101)
    truth = np.concatenate([arm.parameters.values, np.full(4 * arm.n, 0.5)])
    robot = tp.estimators.Feasible().fit(problem_of(arm, truth)).robot_identified()
    # The first rotors are one with the links' own inertias.
    assert np.allclose([float(j.transmission.rotor_inertia) for j in robot.joints[2:]], 0.5 / 101**2, rtol=1e-6)


def test_terms_without_a_place_are_named(tmp_path):
    arm = tp.load("elbow2r")
    terms = ("viscous", "spring")
    truth = np.concatenate([arm.parameters.values, np.full(4, 0.5)])
    fit = tp.estimators.Feasible().fit(problem_of(arm, truth, terms=terms))
    message = r"2 parameters have no place in a description: shoulder\.spring, elbow\.spring"
    for take in (fit.robot_identified, lambda: tp.write_toml(fit, tmp_path / "arm.toml")):
        with pytest.raises(TaupiError, match=message + r".*predicts a different torque.*anyway=True"):
            take()
    assert not list(tmp_path.iterdir())
    with pytest.warns(TaupiWarning, match=message):
        robot = fit.robot_identified(anyway=True)
    assert [float(j.friction.viscous) for j in robot.joints] == pytest.approx([0.5, 0.5], rel=1e-6)


def test_what_no_body_has_is_not_exported(tmp_path):
    import dataclasses

    arm = tp.load("ur10")
    truth = np.concatenate([arm.parameters.values, np.full(4 * arm.n, 0.5)])
    fit = tp.estimators.Feasible().fit(problem_of(arm, truth))
    wrong = fit.standard.copy()
    wrong[24] = -1.0  # forearm Ixx
    spoiled = dataclasses.replace(fit, standard=wrong)
    for write, name in ((tp.write_urdf, "x.urdf"), (tp.write_toml, "x.toml")):
        with pytest.raises(TaupiError, match=r"Link 'forearm_link'.*estimator='feasible'"):
            write(spoiled, tmp_path / name)
    assert not list(tmp_path.iterdir())
    with pytest.raises(TaupiError, match="comes from"):
        tp.write_urdf(fit, tmp_path / "x.urdf")


def test_other_things_are_refused(tmp_path):
    for write in (tp.write_urdf, tp.write_toml):
        with pytest.raises(TaupiError, match="expected a robot or a fit"):
            write("ur10", tmp_path / "x.urdf")


def wrong_logs(log):
    """A log as people get it wrong, each with a word of what is said of its fit."""
    tau = log.tau
    return {
        "flipped": (log.with_(tau=-tau), "would weigh|far worse than the estimate"),
        "millinewtons": (
            log.with_(tau=1000 * tau),
            r"would weigh \S+ kg, but its|tau is (99\d|100\d|1e\+03) times what the masses",
        ),
        "another unit": (
            log.with_(tau=tau / 100),
            r"links would weigh less than 3%|tau is 0\.0(099\d*|1\S*) times what the masses",
        ),
        "other joints": (
            log.with_(tau=tau[:, ::-1]),
            "tau of shoulder_pan_joint and wrist_3_joint is swapped, it seems",
        ),
        "noise": (
            log.with_(tau=np.random.default_rng(0).normal(size=tau.shape)),
            "leaves 9[0-9] % of the torque|leaves 100 %",
        ),
    }


@pytest.mark.parametrize("estimator", ["wls", "feasible"])
@pytest.mark.parametrize("kind", ["flipped", "millinewtons", "another unit", "other joints", "noise"])
def test_a_fit_that_is_plainly_wrong_is_not_exported(robots_dir, tmp_path, kind, estimator):
    from excite import fourier

    robot = tp.load(robots_dir / "ur_description/urdf/ur10_robot.urdf")
    ones = np.ones(robot.n)
    arm = robot.with_friction(viscous=ones, coulomb=ones).with_transmissions(rotor_inertia=0.2 * ones)
    good = fourier(arm, FRICTION, 0, 4000, 200.0, noise=0.5)
    log, words = wrong_logs(good)[kind]
    fit = tp.identify(robot, log, estimator, cutoff_hz=10)
    for write in (tp.write_urdf, tp.write_toml):
        with pytest.raises(TaupiError, match=f"({words}).*(Check |unit = ).*anyway=True"):
            write(fit, tmp_path / "x")
    assert not list(tmp_path.iterdir())
    with pytest.warns(TaupiWarning, match=words):
        tp.write_urdf(fit, tmp_path / "x.urdf", anyway=True)
    assert tp.load(tmp_path / "x.urdf").n == 6


def test_a_good_fit_with_a_heavy_tool_is_exported(robots_dir, tmp_path):
    """Thirty times the last link that was described: a tool, and no reason to refuse. Not all of its mass can be told."""
    robot = tp.load(robots_dir / "ur_description/urdf/ur10_robot.urdf")
    truth = robot.parameters.values.copy()
    truth[-10:] *= 30
    fit = tp.estimators.Feasible().fit(
        problem_of(robot, np.concatenate([truth, np.full(4 * robot.n, 0.5)]), noise=0.01)
    )
    tp.write_urdf(fit, tmp_path / "x.urdf")
    assert float(tp.load(tmp_path / "x.urdf").parameters["wrist_3_link.m"]) > 4 * robot.parameters.values[-10]


def test_a_fit_from_its_file_exports_the_same(fit, tmp_path):
    """The URDF that the robot came from is in the file, so that it need not lie where it lay."""
    tp.write_fit(fit, tmp_path / "fit.json")
    loaded = tp.load_fit(tmp_path / "fit.json")
    for write, name in ((tp.write_urdf, "urdf"), (tp.write_toml, "toml")):
        write(fit, tmp_path / f"a.{name}")
        write(loaded, tmp_path / f"b.{name}")
        assert (tmp_path / f"a.{name}").read_bytes() == (tmp_path / f"b.{name}").read_bytes()
    assert loaded.robot.source == fit.robot.source


def test_a_locked_robot_from_its_file(robots_dir, tmp_path):
    robot = tp.Robot.from_urdf(robots_dir / "panda_description/urdf/panda.urdf", lock={"panda_finger_joint1": 0.02})
    truth = np.concatenate([robot.parameters.values, np.full(4 * robot.n, 0.5)])
    fit = tp.estimators.Feasible().fit(problem_of(robot, truth, noise=0.01))
    tp.write_fit(fit, tmp_path / "fit.json")
    loaded = tp.load_fit(tmp_path / "fit.json")
    tp.write_urdf(loaded, tmp_path / "b.urdf")
    again = tp.Robot.from_urdf(tmp_path / "b.urdf", lock={"panda_finger_joint1": 0.02})
    assert np.allclose(again.parameters.values, fit.parameters.values[: len(robot.parameters)], atol=1e-9)
