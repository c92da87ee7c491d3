"""Robots with closed loops from logs: forces of the loops are projected out, motors alone may be recorded."""

import mujoco
import numpy as np
import pytest
from floating import states

import taupi as tp
from taupi.errors import TaupiError

FOURBAR = """<mujoco model="fourbar"><compiler angle="radian"/><option gravity="0 -9.81 0" timestep=".001" tolerance="1e-14"/>
<worldbody><body name="crank"><joint name="crank" axis="0 0 1" damping=".2" armature=".01"/>
<inertial mass="1" pos=".12 .02 0" diaginertia=".01 .02 .025"/>
<body name="coupler" pos=".3 0 0"><joint name="coupler" axis="0 0 1"/>
<inertial mass="2" pos=".3 -.03 0" diaginertia=".02 .06 .07"/>
<site name="tip" pos=".7 0 0"/></body></body>
<body name="rocker" pos=".6 0 0"><joint name="rocker" axis="0 0 1"/>
<inertial mass="1.5" pos=".22 .01 0" diaginertia=".01 .04 .045"/>
<site name="end" pos=".5 0 0"/></body></worldbody>
<equality><connect name="pin" site1="tip" site2="end"/></equality></mujoco>"""
GUESS = np.array([0.6, 0.5, 1.6])
TERMS = ("rotor", "viscous")


@pytest.fixture(scope="module")
def robot(tmp_path_factory):
    file = tmp_path_factory.mktemp("loops") / "fourbar.xml"
    file.write_text(FOURBAR)
    return tp.load(file, snap=False)


@pytest.fixture(scope="module")
def log(robot):
    """A motor drives the crank in MuJoCo, whose own solver keeps the loop closed; its joints, accelerations and torque."""
    model = mujoco.MjModel.from_xml_string(FOURBAR)
    data = mujoco.MjData(model)
    data.qpos[:] = tp.loops.ClosedLoops(robot, ("crank",)).close([[0.6]], GUESS)[0]
    rows = []
    for k in range(4000):
        t = k / 1000
        target = 0.6 + 0.4 * np.sin(2.1 * t) + 0.2 * np.sin(5.3 * t)
        torque = 300 * (target - data.qpos[0]) - 20 * data.qvel[0]
        data.qfrc_applied[0] = torque
        mujoco.mj_forward(model, data)
        if k % 5 == 0:
            rows.append((t, *data.qpos, *data.qvel, *data.qacc, torque))
        mujoco.mj_step(model, data)
    table = np.array(rows)
    tau = np.concatenate([table[:, 10:], np.zeros((len(table), 2))], axis=1)
    return tp.Log(table[:, 0], table[:, 1:4], table[:, 4:7], table[:, 7:10], tau, names=robot.joint_names)


def left(fit, log):
    return fit.validate(log).relative


def test_the_description_explains_mujocos_loop(robot, log):
    fit = tp.identify(robot, log, "ols", terms=TERMS)
    assert any("forces of 1 closed loops are projected out" in note for note in fit.notes)
    assert any("Of 13 base parameters of the tree, 12 combinations show with the loops closed" in n for n in fit.notes)
    assert left(fit, log) < 1e-9
    truth = fit.basis.project(tp.base_parameters(robot, terms=TERMS).standard)
    # What the loop shows of the parameters is found; what it hides is that of the description.
    assert np.linalg.norm(fit.values - truth) < 1e-6 * np.linalg.norm(truth)


def test_a_wrong_description_is_put_right(robot, log):
    factors = np.random.default_rng(0).uniform(0.8, 1.25, 3).repeat(10)
    wrong = robot.with_parameters(robot.parameters.values * factors)
    rng = np.random.default_rng(1)
    noisy = log.with_(tau=log.tau + np.array([0.1, 0, 0]) * rng.standard_normal(log.tau.shape))
    fit = tp.identify(wrong, noisy.rows(slice(0, 500)), "wls", terms=TERMS)
    assert left(fit, log.rows(slice(500, None))) < 0.01
    assert fit.verdict.level == "good"


def test_motors_alone_are_recorded(robot, log, tmp_path):
    at = slice(0, 120)
    crank = log.rows(at).select(["crank"])
    # Newton's method closes the loop; MuJoCo's own is open by its soft constraint, some micrometres.
    fit = tp.identify(robot, crank.with_(q=crank.q), "ols", terms=TERMS)
    assert left(fit, crank) < 0.02
    tp.write_log(crank, tmp_path / "crank.csv")
    again = tp.identify(robot, tmp_path / "crank.csv", "ols", terms=TERMS)
    assert np.allclose(again.values, fit.values) and again.logs[0].name == "crank.csv"


def test_positions_alone_are_differentiated(robot, log):
    bare = log.with_(qd=None, qdd=None)
    fit = tp.identify(robot, bare, "ols", terms=TERMS, cutoff_hz=12)
    assert left(fit, bare) < 0.01


def test_a_floating_robot_with_a_loop(tmp_path):
    """Forces of contacts and loops leave no trace in the rows, of a body that moves freely."""
    text = FOURBAR.replace("<worldbody>", '<worldbody><body name="hull" pos="0 0 1"><freejoint/><geom size=".1"/>')
    (tmp_path / "robot.xml").write_text(text.replace("</worldbody>", "</body></worldbody>"))
    robot = tp.load(tmp_path / "robot.xml", snap=False)
    q, qd, qdd = states(robot, 60, seed=2)
    force = 50 * np.random.default_rng(3).standard_normal((60, 3))
    pull = np.einsum("nij,ni->nj", tp.loops.loop_jacobian(robot)(q), force)
    tau = tp.inverse_dynamics(robot)(q, qd, qdd) - pull
    base = {"hull": tau[:, :6]}  # the wrench of whoever holds the hull
    log = tp.floating.log_from_states(robot, np.arange(60) / 100, q, qd, qdd, tau[:, 6:], wrench=base)
    fit = tp.identify(robot, log, "ols", terms=())
    assert left(fit, log) < 1e-9
    truth = fit.basis.project(robot.parameters)
    assert np.linalg.norm(fit.values - truth) < 1e-6 * np.linalg.norm(truth)


BAD = {
    "huber": (lambda r, g: tp.identify(r, g, "huber"), "expected one of consistent, wls.* for closed loops"),
    "output error": (lambda r, g: tp.identify(r, g, "output_error"), "for closed loops"),
    "contacts": (lambda r, g: tp.identify(r, g, contact="projected"), "bolted to the ground: contacts"),
    "other joints": (lambda r, g: tp.identify(r, g.with_(names=("a", "b", "c"))), "Give the joints their names"),
    "motors that fight": (lambda r, g: tp.identify(r, g.select(["crank", "rocker"])), "leave 1 joints|cannot be closed"),
    "predictions": (lambda r, g: tp.identify(r, g, "ols", terms=()).predict(g), "cannot be predicted"),
}  # fmt: skip


@pytest.mark.parametrize("what", BAD)
def test_refusals_are_one_sentence(robot, log, what):
    call, message = BAD[what]
    with pytest.raises(TaupiError, match=message):
        call(robot, log.rows(slice(0, 200)))
