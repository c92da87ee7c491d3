"""Every dynamics, regressor and operational-mass case of the specification's frozen vectors (50-digit computations)."""

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from support import SPEC, SPEC_INVERSE, error

import taupi as tp
from taupi.dynamics.chain import trace_robot
from taupi.dynamics.kinematics import task_jacobian
from taupi.dynamics.operational import square_inverse
from taupi.program import Port

VECTORS = json.loads((Path(__file__).parents[1] / "data" / "spec-dynamics-and-regressors.json").read_text())
CASES = {c["id"]: c for c in VECTORS["cases"]}
DH = [k for k, c in CASES.items() if c["kind"].startswith("dh_regressor")]
LECTURE = [k for k, c in CASES.items() if c["kind"] == "lecture_2R"]
JOINT = {"R": "revolute", "P": "prismatic"}


@cache
def robot(case: str) -> tp.Robot:
    inputs = CASES[case]["inputs"]
    rows = [
        {"a": r["a"], "alpha": r["alpha"], "d": r["d"], "theta": r["theta_offset"], "joint": JOINT[r["type"]]}
        for r in inputs["dh"]
    ]
    if "links" in inputs:
        links = [{"m": k["m"], "com": k["p"], "inertia": k["I_G"]} for k in inputs["links"]]
        return tp.Robot.from_dh(rows, gravity=inputs["g0"], links=links)
    return tp.Robot.from_dh(rows, gravity=inputs["g0"], parameters=inputs["pi"])


def state(case: str, *names: str) -> list[np.ndarray]:
    return [np.array(CASES[case]["inputs"][n]) for n in names]


def expected(case: str, name: str) -> np.ndarray:
    return np.array(CASES[case]["expected"][name], dtype=float)


@pytest.mark.parametrize("algorithm", ["recursive", "lagrangian"])
@pytest.mark.parametrize("case", DH)
def test_regressors(case, algorithm):
    arm = robot(case)
    q, qd, qdd, qrd, qrdd = state(case, "q", "qd", "qdd", "qrd", "qrdd")
    assert error(tp.regressor(arm, algorithm=algorithm)(q, qd, qdd), expected(case, "Y")) < SPEC
    assert error(tp.slotine_li_regressor(arm, algorithm=algorithm)(q, qd, qrd, qrdd), expected(case, "Yr")) < SPEC


@pytest.mark.parametrize("algorithm", ["recursive", "closed_form", "lagrange"])
@pytest.mark.parametrize("case", DH)
def test_inverse_dynamics(case, algorithm):
    tau = tp.inverse_dynamics(robot(case), algorithm=algorithm)(*state(case, "q", "qd", "qdd"))
    assert error(tau, expected(case, "tau")) < SPEC


@pytest.mark.parametrize("case", DH)
def test_reference_torque(case):
    arm = robot(case)
    q, qd, qrd, qrdd = state(case, "q", "qd", "qrd", "qrdd")
    tau = tp.mass_matrix(arm)(q) @ qrdd + tp.coriolis_matrix(arm)(q, qd) @ qrd + tp.gravity_torque(arm)(q)
    assert error(tau, expected(case, "tau_r")) < SPEC


@pytest.mark.parametrize("algorithm", ["composite", "links", "closed_form"])
@pytest.mark.parametrize("case", DH)
def test_mass_matrix(case, algorithm):
    assert error(tp.mass_matrix(robot(case), algorithm=algorithm)(*state(case, "q")), expected(case, "B")) < SPEC


@pytest.mark.parametrize("case", DH)
def test_velocity_and_gravity_terms(case):
    arm, (q, qd) = robot(case), state(case, "q", "qd")
    assert error(tp.coriolis_matrix(arm)(q, qd), expected(case, "C_christoffel")) < SPEC
    assert error(tp.mass_matrix_derivative(arm)(q, qd), expected(case, "Bdot")) < SPEC
    assert error(tp.gravity_torque(arm)(q), expected(case, "G")) < SPEC
    if "Gamma_kij" in CASES[case]["expected"]:
        assert error(tp.christoffel_symbols(arm)(q), expected(case, "Gamma_kij")) < SPEC


@pytest.mark.parametrize("case", DH)
def test_zero_columns(case):
    arm = robot(case)
    kept = tp.regressor(arm).reduced().parameters.names
    zero = [k + 1 for k, name in enumerate(arm.parameters.names) if name not in kept]
    assert zero == CASES[case]["expected"]["zero_columns_here_1based"]


@pytest.mark.parametrize("case", ["elbow_1", "elbow_2"])
def test_blocks_of_the_explicit_route(case):
    x, w, _ = tp.closed_form.lagrangian_blocks(robot(case))(*state(case, "q", "qd", "qrd", "qrdd"))
    blocks = CASES[case]["expected"]["link2_blocks"]
    for got, name in ((x[1][:, 0], "X0r"), (x[1][:, 1:4], "X1r"), (w[1][:, 0], "W0r"), (w[1][:, 1:4], "W1r")):
        assert error(got, blocks[name]) < SPEC


@pytest.mark.parametrize("case", ["elbow_1", "elbow_2"])
def test_reduced_regressor(case):
    arm = robot(case)
    kept = [arm.parameters.names[k - 1] for k in CASES[case]["expected"]["kept_columns_1based"]]
    assert list(tp.slotine_li_regressor(arm).reduced().parameters.names) == kept
    q, qd, qdd, qrd, qrdd = state(case, "q", "qd", "qdd", "qrd", "qrdd")
    assert error(tp.regressor(arm, columns=kept)(q, qd, qdd), expected(case, "Y_reduced")) < SPEC
    assert error(tp.slotine_li_regressor(arm, columns=kept)(q, qd, qrd, qrdd), expected(case, "Yr_reduced")) < SPEC


@pytest.mark.parametrize("case", [k for k in DH if "pi" in CASES[k]["expected"]])
def test_parameters_from_centre_of_mass(case):
    assert error(robot(case).parameters.values, expected(case, "pi")) < SPEC


@pytest.mark.parametrize("case", ["closed_form_RPR", "closed_form_RRR"])
def test_stacked_newton_euler(case):
    arm = robot(case)
    q, qd, qdd, wrench = state(case, "q", "qd", "qdd", "F_tip_moment_force")
    a, _, _, transfer = tp.closed_form.newton_euler_matrices(arm)(q)
    assert error(a, expected(case, "NE_A")) < SPEC
    assert error(transfer, expected(case, "NE_L")) < SPEC
    assert error(tp.jacobian(arm, kind="body")(q), expected(case, "body_jacobian")) < SPEC
    assert error(tp.jacobian(arm, kind="body")(q).T @ wrench, expected(case, "JT_F")) < SPEC
    assert error(tp.coriolis_matrix(arm)(q, qd) @ qd, expected(case, "c")) < SPEC
    tau = tp.inverse_dynamics(arm, tip_wrench="body")(q, qd, qdd, wrench)
    assert error(tau, expected(case, "tau_with_tip")) < SPEC


@pytest.mark.parametrize("form", ["inverse", "congruence"])
@pytest.mark.parametrize("case", ["puma560_1", "puma560_2"])
def test_puma_operational_mass(case, form):
    arm, (q,) = robot(case), state(case, "q")
    assert error(tp.jacobian(arm)(q), expected(case, "J_omega_v_at_O6_base_axes")) < SPEC
    assert error(tp.operational.mass(arm, task="twist", form=form)(q), expected(case, "M_C")) < SPEC_INVERSE


@pytest.mark.parametrize("algorithm", ["articulated", "cholesky"])
@pytest.mark.parametrize("case", DH)
def test_forward_dynamics_inverts(case, algorithm):
    q, qd, qdd = state(case, "q", "qd", "qdd")
    got = tp.forward_dynamics(robot(case), algorithm=algorithm)(q, qd, expected(case, "tau"))
    assert error(got, qdd) < SPEC_INVERSE


def lecture(case: str) -> tp.Robot:
    inputs = CASES[case]["inputs"]
    values = {k: inputs[k] for k in ("L1", "L2", "m1", "m2", "g") if k in inputs}
    arm = tp.load("lecture2r").bind(**values)
    if "friction" in inputs:
        f = inputs["friction"]
        arm = arm.with_friction(coulomb=[f["Fs1"], f["Fs2"]], viscous=[f["Fv1"], f["Fv2"]])
    return arm


@pytest.mark.parametrize("case", LECTURE)
def test_lecture_terms(case):
    arm = lecture(case)
    q, qd, qdd = state(case, "theta", "dtheta", "ddtheta")
    assert error(tp.mass_matrix(arm)(q), expected(case, "M")) < SPEC
    assert error(tp.mass_matrix_derivative(arm)(q, qd), expected(case, "Mdot")) < SPEC
    assert error(tp.christoffel_symbols(arm)(q), expected(case, "Gamma_kij")) < SPEC
    forms = {"christoffel": "C_standard", "mdot_minus_half_u": "C_alt1_Mdot_minus_halfU"}
    forms["ut_minus_half_u"] = "C_alt2_UT_minus_halfU"
    for form, key in forms.items():
        assert error(tp.coriolis_matrix(arm, form=form)(q, qd), expected(case, key)) < SPEC
    u = 2 * (tp.mass_matrix_derivative(arm)(q, qd) - tp.coriolis_matrix(arm, form="mdot_minus_half_u")(q, qd))
    assert error(u, expected(case, "U")) < SPEC
    assert error(tp.gravity_torque(arm)(q), expected(case, "g")) < SPEC
    assert error(tp.bias_torque(arm)(q, qd), expected(case, "h")) < SPEC
    assert error(tp.inverse_dynamics(arm)(q, qd, qdd), expected(case, "tau_frictionless")) < SPEC
    friction = tp.inverse_dynamics(arm, terms=("coulomb", "viscous"))
    assert error(friction(q, qd, qdd), expected(case, "tau_with_friction")) < SPEC


@pytest.mark.parametrize("case", LECTURE)
def test_lecture_tip_force_energy_and_operational_mass(case):
    arm = lecture(case)
    q, qd, qdd, force = state(case, "theta", "dtheta", "ddtheta", "f_tip_xy_on_environment")
    wrench = np.array([0, 0, 0, *force, 0])
    tau = tp.inverse_dynamics(arm, tip_wrench="geometric")(q, qd, qdd, wrench)
    assert error(tau, expected(case, "tau_frictionless_with_tip")) < SPEC
    back = tp.forward_dynamics(arm, tip_wrench="geometric")(q, qd, tau, wrench)
    assert error(back, expected(case, "forward_dynamics_from_tau_frictionless_with_tip")) < SPEC_INVERSE
    j = tp.jacobian(arm, task="xy")(q)
    assert error(j, expected(case, "J_xy")) < SPEC
    acceleration = j @ qdd + tp.jacobian_derivative(arm, task="xy")(q, qd) @ qd
    assert error(acceleration, expected(case, "xy_acc_of_m2")) < SPEC
    mass = tp.operational.mass(arm, task="xy")(q)
    assert error(mass, expected(case, "M_C")) < SPEC_INVERSE
    assert error(np.linalg.eigvalsh(mass), expected(case, "M_C_eigenvalues")) < SPEC_INVERSE
    assert error(tp.kinetic_energy(arm)(q, qd), expected(case, "kinetic_energy")) < SPEC
    assert error(tp.potential_energy(arm)(q), expected(case, "potential_energy_y_up_zero_at_base")) < SPEC


@pytest.mark.parametrize("case", LECTURE)
def test_lecture_friction_regressor(case):
    """pi = [m1, m2, Fs1, Fv1, Fs2, Fv2]: the masses sit at the frames' origins, so their columns are ours."""
    terms = ("coulomb", "viscous")
    names = ["link1.m", "link2.m", "joint1.coulomb", "joint1.viscous", "joint2.coulomb", "joint2.viscous"]
    y = tp.regressor(lecture(case), terms=terms, columns=names)(*state(case, "theta", "dtheta", "ddtheta"))
    assert error(y, expected(case, "Y_friction")) < SPEC


def test_lecture_unit_operational_mass():
    case = CASES["lecture2R_MC_unit"]
    arm = lecture("lecture2R_MC_unit")
    q = np.deg2rad(case["inputs"]["theta_deg"])
    assert error(tp.mass_matrix(arm)(q), case["expected"]["M"]) < SPEC
    for form in ("inverse", "congruence"):
        assert error(tp.operational.mass(arm, task="xy", form=form)(q), case["expected"]["M_C"]) < SPEC_INVERSE


def test_redundant_operational_mass():
    case = CASES["opmass_redundant_3R_xy"]["inputs"]
    want = CASES["opmass_redundant_3R_xy"]["expected"]
    names = {f"{s}{i + 1}": case[k][i] for s, k in (("m", "m"), ("I", "I"), ("l", "l"), ("lc", "lc")) for i in range(3)}
    arm = tp.load("planar3r").bind(**names)
    assert error(tp.mass_matrix(arm)(case["q"]), want["M"]) < SPEC
    assert error(tp.jacobian(arm, task="xy")(case["q"]), want["J_xy"]) < SPEC
    assert error(tp.operational.mass(arm, task="xy")(case["q"]), want["M_C"]) < SPEC_INVERSE
    with pytest.raises(tp.TaupiError, match="square J"):
        tp.operational.mass(arm, task="xy", form="congruence")


def rate_of_inverse(chain, q, qd):
    """d(J^-1)/dt of the planar task, by differentiating the inverse itself."""
    return chain.time_derivative(square_inverse(task_jacobian(chain, q, "planar", "tip")), q, qd)


@pytest.mark.parametrize("case", [k for k, c in CASES.items() if c["kind"] == "planar_3R_operational"])
def test_planar3r_joint_space(case):
    inputs, want = CASES[case]["inputs"], CASES[case]["expected"]
    groups = (("m", "m"), ("I", "I_com"), ("l", "l"), ("lc", "lc"))
    values = {f"{s}{i + 1}": inputs[k][i] for s, k in groups for i in range(3)}
    arm = tp.load("planar3r").bind(g=inputs["g"], **values)
    q, qd, qdd = inputs["q"], inputs["dq"], inputs["ddq"]
    assert error(tp.mass_matrix(arm)(q), want["Mbar"]) < SPEC
    assert error(tp.coriolis_matrix(arm)(q, qd), want["Cbar"]) < SPEC
    assert error(tp.gravity_torque(arm)(q), want["gbar"]) < SPEC
    assert error(tp.inverse_dynamics(arm)(q, qd, qdd), want["tau"]) < SPEC
    assert error(tp.jacobian(arm, task="planar")(q), want["J"]) < SPEC
    assert error(tp.jacobian_derivative(arm, task="planar")(q, qd), want["Jdot"]) < SPEC
    r = tp.operational.task_coordinates(arm, task="planar")(q)
    assert error(r[:2], want["r"][:2]) < SPEC
    assert error(np.exp(1j * r[2]).real, np.cos(want["r"][2])) < SPEC  # the angle up to whole turns
    assert error(np.exp(1j * r[2]).imag, np.sin(want["r"][2])) < SPEC
    assert error(np.linalg.det(tp.jacobian(arm, task="planar")(q)), want["detJ"]) < SPEC
    assert error(inputs["l"][0] * inputs["l"][1] * np.sin(q[1]), want["detJ"]) < SPEC
    rate = trace_robot("rate", arm, rate_of_inverse, ["q", "qd"], [Port("B", (3, 3))])
    assert error(rate(q, qd), want["dJinv_dt"]) < SPEC_INVERSE
    for form in ("inverse", "congruence"):
        assert error(tp.operational.mass(arm, task="planar", form=form)(q), want["M_r"]) < SPEC_INVERSE
    model = tp.operational_dynamics(arm, task="planar")(q, qd)
    for got, key in zip(model, ("M_r", "C_r", "g_r"), strict=True):
        assert error(got, want[key]) < SPEC_INVERSE
    y = tp.operational_regressor(arm, task="planar")
    pi = arm.parameters.values
    force = tp.operational.force(arm, task="planar")
    assert error(y(q, qd, inputs["V"], inputs["dV"]) @ pi, want["Y_V_dV_Theta"]) < SPEC_INVERSE
    assert error(force(q, qd, inputs["V"], inputs["dV"]), want["Y_V_dV_Theta"]) < SPEC_INVERSE
    assert error(y(q, qd, want["rdot"], want["rddot"]) @ pi, want["u"]) < SPEC_INVERSE
    assert error(force(q, qd, want["rdot"], want["rddot"]), want["u"]) < SPEC_INVERSE
    j = tp.jacobian(arm, task="planar")(q)
    assert error(j @ qd, want["rdot"]) < SPEC
    assert error(j @ qdd + tp.jacobian_derivative(arm, task="planar")(q, qd) @ qd, want["rddot"]) < SPEC
