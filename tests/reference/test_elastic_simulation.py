"""Elastic plants and their control against the specification's vectors, SciPy, and MuJoCo with rotors as bodies of their own."""

import elastic
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.signal import sos2tf
from support import error

import taupi as tp
from taupi.signals.filtering.filters import _sections

OPERATORS = elastic.VECTORS["operators"]
VECTOR = elastic.VECTORS["elastic_simulation"][0]
SIMULATED = 1e-7  # the specification's tolerance for simulations


def test_stribeck_values_of_the_specification():
    vector = OPERATORS["stribeck"]
    thetad = np.array(vector["thetad"])[:, None] * np.ones(2)
    assert error(tp.terms.StribeckCurve.document().torque(thetad).T, np.array(vector["F"])) < elastic.VECTOR


@pytest.mark.parametrize(("velocity", "name"), [(False, "u_regulation"), (True, "u_tracking")])
def test_control_law_of_the_specification(velocity, name):
    vector = OPERATORS["pd_gravity"]
    law = tp.laws.ElasticPDGravity(elastic.arm(vector["robot"]), vector["KP"], vector["KD"], velocity=velocity)
    u = law.torque(vector["theta"], vector["thetad"], vector["q_des"], vector["qd_des"], [0.0, 0.0])
    assert error(u, np.array(vector[name])) < elastic.VECTOR


def closed_loop(**options):
    """The specification's closed loop."""
    arm = elastic.arm(VECTOR["robot"])
    law = tp.laws.ElasticPDGravity(arm, VECTOR["KP"], VECTOR["KD"], velocity=VECTOR["velocity_reference"])
    motion = tp.BSpline(VECTOR["control_points"], VECTOR["T"], VECTOR["degree"], rest=False)
    return tp.simulate(tp.ElasticPlant(arm, terms="viscous"), law, motion, VECTOR["T"], control="continuous", **options)


def test_simulation_of_the_specification():
    run = closed_loop(rate=5000)
    rows = [round(t * 5000) for t in VECTOR["t"]]
    for name, want in (("q", "q"), ("theta", "theta"), ("qd", "qd"), ("thetad", "thetad"), ("tau", "u")):
        assert error(getattr(run, name)[rows], np.array(VECTOR[want])) < SIMULATED
    assert error(run.reference.q[rows], np.array(VECTOR["q_des"])) < 1e-12
    assert np.abs(run.residual).max() < 1e-10  # J


def test_points_that_repeat_are_the_same_as_rest():
    vector = tp.BSpline(VECTOR["control_points"], VECTOR["T"], rest=False)
    ours = tp.BSpline(VECTOR["control_points"][2:-2], VECTOR["T"])
    t = np.linspace(0, VECTOR["T"], 50)
    assert all(error(a, b) < 1e-12 for a, b in zip(vector(t), ours(t), strict=True))


def test_another_integrator_and_the_document_matrices():
    """SciPy's Radau on B a = (0, u) - C v - g - K_e x - friction: no articulated bodies, no compiled loop."""
    arm = elastic.arm("spatial3")
    n, K = arm.n, np.array([float(j.transmission.stiffness) for j in arm.joints])
    curve = tp.terms.StribeckCurve((3.0, 2.5, 1.1), (1.5, 1.2, 0.7), 0.3, 0.2, 0.4, 8.0)
    motion = tp.Sinusoids([0.2, -0.4, 0.5], [[0.4], [0.3], [0.5]], [[2.0], [3.0], [2.5]], [[0.3], [0.5], [0.1]])
    law = tp.laws.ElasticPDGravity(arm, [900.0, 700.0, 300.0], [80.0, 60.0, 20.0])
    plant = tp.ElasticPlant(arm, terms=(curve,), smoothing=0.05)
    run = tp.simulate(plant, law, motion, 0.1, rate=5000, control="continuous")
    B, C, g, Ke = (
        f(arm)
        for f in (
            tp.elastic.mass_matrix,
            tp.elastic.coriolis_matrix,
            tp.elastic.gravity_torque,
            tp.elastic.stiffness_matrix,
        )
    )
    gravity = tp.gravity_torque(arm)

    def control(t, theta, thetad):
        q_des, qd_des, _ = motion(t)
        step = 1e-5
        sag = gravity(q_des) / K
        rate = (gravity(q_des + step * qd_des) - gravity(q_des - step * qd_des)) / (2 * step) / K + qd_des
        return law.Kp * (q_des + sag - theta) + law.Kd * (rate - thetad) + gravity(theta - sag)

    def rate(t, y):
        p, v = y[: 2 * n], y[2 * n :]
        speed = np.abs(v[n:]) + 1e-30
        dry = np.array(curve.coulomb) - 0.3 * np.exp(-speed / 0.2) - 0.4 * np.exp(-1 / (8.0 * speed))
        friction = curve.viscous * v[n:] + np.tanh(v[n:] / 0.05) * dry
        force = np.concatenate([np.zeros(n), control(t, p[n:], v[n:]) - friction])
        return np.concatenate([v, np.linalg.solve(B(p[:n]), force - C(p[:n], v[:n], v[n:]) @ v - g(p[:n]) - Ke() @ p)])

    q0, qd0, _ = motion(0.0)
    start = np.concatenate([q0, q0 + gravity(q0) / K, qd0, qd0])
    done = solve_ivp(rate, (0.0, 0.1), start, "Radau", rtol=1e-8, atol=1e-10, t_eval=[0.05, 0.1])
    ours = np.concatenate([run.q, run.theta, run.qd, run.thetad], axis=1)[[250, 500]]
    assert error(ours, done.y.T) < 1e-6
    assert error(run.tau[-1], control(0.1, run.theta[-1], run.thetad[-1])) < 1e-8


# Two links and two rotors as four bodies. Link 2 turns about its parent's y; the rotor of its motor about a tilted axis.
GEAR, TILT = np.array([5.0, -3.0]), np.array([0.6, 0.0, 0.8])
ROTORS, STIFFNESS, DAMPING, FRICTION = (np.array(v) for v in ([0.05, 0.03], [500, 300], [0.4, 0.2], [0.5, 0.09]))
ACROSS = 0.02 * np.eye(3) + (ROTORS[1] - 0.02) * np.outer(TILT, TILT)
FULL = " ".join(str(ACROSS[k]) for k in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)))
MJCF = f"""
<mujoco><compiler angle="radian"/>
<option gravity="0 0 -9.81" timestep="1e-4" integrator="RK4"><flag contact="disable"/></option><worldbody>
<body><joint name="shaft1" axis="0 0 1" damping="{FRICTION[0] / GEAR[0] ** 2}"/>
  <inertial pos="0 0 0" mass="0.3" diaginertia="0.03 0.03 {ROTORS[0]}"/></body>
<body><joint name="q1" axis="0 0 1"/>
  <inertial pos="0.2 0.01 0.03" mass="2" diaginertia="0.02 0.03 0.04"/>
  <body pos="0.4 0 0"><joint name="shaft2" axis="0.6 0 0.8" damping="{FRICTION[1] / GEAR[1] ** 2}"/>
    <inertial pos="0 0 0" mass="0.5" fullinertia="{FULL}"/>
  </body>
  <body pos="0.4 0 0"><joint name="q2" axis="0 1 0"/>
    <inertial pos="0.15 0 0.02" mass="1.2" diaginertia="0.01 0.02 0.02"/></body>
</body></worldbody>
<tendon>
<fixed stiffness="{STIFFNESS[0]}" damping="{DAMPING[0]}" springlength="0">
  <joint joint="q1" coef="1"/><joint joint="shaft1" coef="{-1 / GEAR[0]}"/></fixed>
<fixed stiffness="{STIFFNESS[1]}" damping="{DAMPING[1]}" springlength="0">
  <joint joint="q2" coef="1"/><joint joint="shaft2" coef="{-1 / GEAR[1]}"/></fixed>
</tendon></mujoco>
"""


def separate_bodies():
    """The same arm for us: link 1 holds the whole of motor 2, and its rotor's inertia is stated once more."""

    def at(mass, com, inertia, point):
        r = np.array(com) - point
        return np.array(inertia) + mass * (r @ r * np.eye(3) - np.outer(r, r))

    com1, motor = np.array([0.2, 0.01, 0.03]), np.array([0.4, 0.0, 0.0])
    com = (2 * com1 + 0.5 * motor) / 2.5
    tensor = at(2, com1, np.diag([0.02, 0.03, 0.04]), com) + at(0.5, motor, ACROSS, com)
    # Frame 1 is at the joint of link 2, turned about x so that its z is that joint's axis, y of link 1.
    turned = np.array([[1.0, 0, 0], [0, 0, 1], [0, -1, 0]])
    six = [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)]
    first = turned.T @ tensor @ turned
    links = [
        {"name": "l1", "m": 2.5, "com": (turned.T @ (com - motor)).tolist(), "inertia": [first[k] for k in six]},
        {"name": "l2", "m": 1.2, "com": (0.15 - 0.3, -0.02, 0), "inertia": (0.01, 0, 0, 0.02, 0, 0.02)},
    ]
    arm = tp.Robot.from_dh([{"a": 0.4, "alpha": "-pi/2"}, {"a": 0.3}], links=links, gravity=(0, 0, -9.81))
    return arm.with_transmissions(
        stiffness=STIFFNESS,
        rotor_inertia=ROTORS,
        gear_ratio=GEAR,
        motor_axis=[(0, 0, 1), (turned.T @ TILT).tolist()],
        damping=DAMPING,
        viscous=FRICTION,
    )


def test_mujoco_with_rotors_as_bodies():
    """In MuJoCo a rotor is a body on its link, its angle that of the shaft, k theta; a tendon is the spring."""
    mujoco = pytest.importorskip("mujoco")
    model = mujoco.MjModel.from_xml_string(MJCF)
    data, plant = mujoco.MjData(model), tp.ElasticPlant(separate_bodies())
    names = [mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_JOINT, k) for k in range(4)]
    place, gear = [names.index(k) for k in ("q1", "q2", "shaft1", "shaft2")], np.array([1, 1, *GEAR])
    rng, program = np.random.default_rng(1), plant.program()
    for _ in range(5):
        x, v, u = rng.uniform(-1, 1, 4), rng.uniform(-3, 3, 4), rng.uniform(-5, 5, 2)
        data.qpos[place], data.qvel[place] = gear * x, gear * v
        data.qfrc_applied[place] = [0.0, 0.0, *(u / GEAR)]
        mujoco.mj_forward(model, data)
        got = np.concatenate(program(x[:2], v[:2], x[2:], v[2:], u))
        assert error(got, data.qacc[place] / gear) < 1e-8
    start, u = np.array([0.3, -0.2, 0.32, -0.21]), np.array([8.0, 2.0])
    data.qpos[place], data.qvel[place], data.qfrc_applied[place] = gear * start, 0.0, [0, 0, *(u / GEAR)]
    run = tp.simulate(plant, lambda *_: u, duration=0.2, rate=10000, initial=start)
    for _ in range(2000):
        mujoco.mj_step(model, data)
    assert error(np.concatenate([run.q[-1], run.theta[-1]]), data.qpos[place] / gear) < 1e-7
    assert np.abs(run.residual).max() < 1e-9  # J


def test_the_filter_of_the_specification():
    vector = OPERATORS["butterworth"]
    b, a = (v[:6] for v in sos2tf(_sections(vector["fs"], vector["fc"], vector["order"])))
    assert error(b, np.array(vector["b"])) < elastic.VECTOR and error(a, np.array(vector["a"])) < elastic.VECTOR
    assert error(b / np.array(vector["b"]), np.ones(6)) < 1e-8  # the numerator is of the size 1e-6


def least_squares(run, Y):
    """The parameters of a regressor from the exact signals of a run, away from standstill and from its ends."""
    rows = (np.abs(run.thetad) >= 0.5).all(axis=1)
    rows[:300] = rows[-300:] = False
    W = Y(*(getattr(run, k)[rows] for k in ("q", "qd", "qdd", "theta", "thetad", "thetadd")))
    T = np.concatenate([0 * run.tau[rows], run.tau[rows]], axis=1)
    size = np.linalg.norm(W, axis=(0, 1))
    return np.linalg.lstsq((W / size).reshape(-1, len(size)), T.ravel(), rcond=None)[0] / size, rows.mean()


@pytest.mark.parametrize("seed", [100, 103])
def test_the_experiment_of_the_document(seed):
    """The floor of the two-joint study with exact signals: B7's bands, and the truth where the model has the plant's friction."""
    arm, curve = elastic.arm("planar2"), tp.terms.StribeckCurve.document()
    motion = tp.BSpline.triangles([-np.pi / 2, 0.0], 1.9, 8.9, seed=seed)
    law, base = tp.laws.ElasticPDGravity(arm, [3000.0, 1800.0], [150.0, 60.0]), tp.base_parameters(arm, elastic=True)
    truth = base.project(tp.elastic_regressor(arm).parameters.values)
    static = np.array(["coulomb" in name for name in base.names])

    def errors(terms, base=base, truth=truth):
        plant = tp.ElasticPlant(arm, terms=terms, smoothing=0.0)
        run = tp.simulate(plant, law, motion, 8.9, rate=1000, substeps=10, control="continuous")
        values, kept = least_squares(run, base.regressor())
        assert 0.8 < kept < 0.9  # the document discards 15 %
        return np.abs(values - truth) / np.where(truth == 0, 1.0, np.abs(truth))

    assert errors(("coulomb", "viscous")).mean() < 1e-10
    rough = errors((curve,))
    assert 0.120 < rough.mean() < 0.140 and 0.008 < rough[~static].mean() < 0.020
    named = tp.base_parameters(arm, elastic=True, terms=curve.columns)
    by_name = dict(zip(named.standard.names, named.standard.values, strict=True))
    for i in range(2):
        by_name[f"joint{i + 1}.stribeck_rise"], by_name[f"joint{i + 1}.stribeck_fall"] = curve.rise[i], curve.fall[i]
    full = named.project(np.array(list(by_name.values())))
    # Of f_3 a ten-thousandth is left above 0.5 rad/s.
    rise = np.array(["rise" in name for name in named.names])
    exact = errors((curve,), named, full)
    assert exact[~rise].mean() < 1e-10 and exact[rise].max() < 1e-5
