"""A lecture on robot dynamics, part 2: the planar arm of two point masses, its terms, properties, bounds and simulation."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from taupi.analysis.bounds import bounds
from taupi.dynamics.coriolis import coriolis_matrix
from taupi.dynamics.inverse import bias_torque, gravity_torque, inverse_dynamics
from taupi.dynamics.kinematics import jacobian, jacobian_derivative
from taupi.dynamics.mass_matrix import christoffel_symbols, mass_matrix
from taupi.dynamics.operational import operational_mass
from taupi.model.load import load
from taupi.model.robot import Robot
from taupi.papers.formulas import differing, readable
from taupi.papers.lecture.properties import property_rows
from taupi.papers.study import (
    SAME_FORMULA,
    Picture,
    PublishedStudy,
    Reproduction,
    Step,
    StudyRow,
    StudyTable,
    figure,
    holding,
    in_part,
    off,
    own_runs,
    statement,
)
from taupi.program.program import Program
from taupi.regressors.classical import regressor
from taupi.simulation.plants.rigid_plant import RigidPlant
from taupi.simulation.run import Run
from taupi.simulation.simulate import simulate

ARM = {"L1": 0.8, "L2": 0.6, "m1": 1.5, "m2": 1.1, "g": 9.81}
N, N_RES, DT = 6, 4, 0.02
TAU = [[7.9108, 4.1721], [3.8001, -2.8876], [4.3667, 1.5135], [-0.1085, -7.6791], [-6.7736, 2.4153], [-6.7949, 6.1686]]
FORCE = [  # x and y at the tip, on the environment
    *([-1.6601, 1.3118], [0.3143, 0.4742], [0.3475, -1.903], [0.4821, -0.7212], [1.4031, -0.3508], [-1.9448, 0.1987])
]
START = ([0.3099, 0.5524], [0.8761, 0.7747])
# theta and its rate after the last interval; a first-order scheme has its own error, as it should.
ENDS = {
    "Euler, n_res = 4": ("0.35806739415395283", "0.6643652965197939", "-0.07214195994785358", "1.6965067910205804"),
    "adaptive": ("0.3556238030463823", "0.6670804612726675", "-0.07299917796782597", "1.7020606121910002"),
}
TOLERANCE = {"Euler, n_res = 4": (1e-11, "rounding"), "adaptive": (1e-9, "error of two adaptive integrators")}
NAMES = ("theta_1", "theta_2", "dtheta_1", "dtheta_2")


def lecture_run(integrator: str, substeps: int = 1) -> Run:
    """Return the run by an integrator; torque and force are held over each interval."""
    wrench = np.zeros((N, 6))
    wrench[:, 3:5] = FORCE
    plant = RigidPlant(load("lecture2r").bind(**ARM), wrench=wrench)

    def held(t: float, q: object, qd: object) -> list[float]:
        return TAU[round(t / DT)]

    settings: dict[str, Any] = {"substeps": substeps} if integrator == "euler" else {"tolerance": 1e-11}
    return simulate(plant, held, None, DT * (N - 1), 1 / DT, integrator, initial=START, **settings)


def simulation() -> tuple[list[StudyRow], StudyTable, Picture]:
    """Return the end of both runs beside the reference run's, the runs themselves, and a picture."""
    resolutions = {f"Euler, n_res = {k}": k for k in (N_RES, 16, 64)}
    runs = {name: lecture_run("euler", k) for name, k in resolutions.items()} | {"adaptive": lecture_run("dop853")}
    rows = []
    for name, printed in ENDS.items():
        allowed, reason = TOLERANCE[name]
        end = np.concatenate([runs[name].q[-1], runs[name].qd[-1]])
        for what, text, value in zip(NAMES, printed, end, strict=True):
            unit = "rad" if what.startswith("theta") else "rad/s"
            rows.append(figure(f"{name}: {what} after 0.1 s", text, float(value), unit, "", allowed, reason=reason))
    samples = [
        (name, float(t), *map(float, q), *map(float, qd))
        for name, run in runs.items()
        for t, q, qd in zip(run.time, run.q, run.qd, strict=True)
    ]
    table = StudyTable("The runs", ("scheme", "time, s", *NAMES), tuple(samples))
    exact = runs["adaptive"]
    lines = {name: 1000 * (runs[name].qd - exact.qd)[:, 1] for name in resolutions}
    picture = Picture("dtheta_2, error of the Euler scheme", "mrad/s", exact.time, lines)
    return own_runs(rows), table, picture


K = "m2*L1*L2"
# The correct terms of the example, entry by entry; all but one as printed.
TERMS = {
    "mass_matrix": [
        *("m1*L1**2 + m2*(L1**2 + 2*L1*L2*cos(q2) + L2**2)", "m2*(L1*L2*cos(q2) + L2**2)"),
        *("m2*(L1*L2*cos(q2) + L2**2)", "m2*L2**2"),
    ],
    "velocity_torque": [f"-{K}*sin(q2)*(2*qd1*qd2 + qd2**2)", f"{K}*qd1**2*sin(q2)"],
    "gravity_torque": ["(m1 + m2)*L1*g*cos(q1) + m2*g*L2*cos(q1 + q2)", "m2*g*L2*cos(q1 + q2)"],
    "mass_matrix_derivative": [f"-2*qd2*{K}*sin(q2)", f"-qd2*{K}*sin(q2)", f"-qd2*{K}*sin(q2)", "0"],
    "christoffel_symbols": ["0", f"-{K}*sin(q2)", f"-{K}*sin(q2)", f"-{K}*sin(q2)", f"{K}*sin(q2)", "0", "0", "0"],
}
U = ["0", "0", f"-(2*qd1 + qd2)*{K}*sin(q2)", f"-qd1*{K}*sin(q2)"]
# Factors of m2 L1 L2 sin(theta_2).
CORIOLIS = {
    "christoffel": ["-qd2", "-(qd1 + qd2)", "qd1", "0"],
    "mdot_minus_half_u": ["-2*qd2", "-qd2", "qd1 - qd2/2", "qd1/2"],
    "ut_minus_half_u": ["0", "-(2*qd1 + qd2)", "qd1 + qd2/2", "-qd1/2"],
}
CORIOLIS_PRINTED = CORIOLIS | {"ut_minus_half_u": [*CORIOLIS["ut_minus_half_u"][:3], "qd1/2"]}
CORIOLIS_TITLES = {
    "christoffel": "C = (Mdot + U' - U) / 2",
    "mdot_minus_half_u": "C = Mdot - U / 2",
    "ut_minus_half_u": "C = U' - U / 2",
}
UNKNOWN = ["m1", "m2", "Fs1", "Fv1", "Fs2", "Fv2"]
# The regressor of these six, row by row; s1, s2 are the signs of the rates.
REGRESSOR = [
    "L1**2*qdd1 + g*L1*cos(q1)",
    "(L1**2 + L2**2 + 2*L1*L2*cos(q2))*qdd1 + (L2**2 + L1*L2*cos(q2))*qdd2 - L1*L2*(2*qd1*qd2 + qd2**2)*sin(q2)"
    " + g*L1*cos(q1) + g*L2*cos(q1 + q2)",
    *("s1", "qd1", "0", "0"),
    "0",
    "(L2**2 + L1*L2*cos(q2))*qdd1 + L2**2*qdd2 + L1*L2*qd1**2*sin(q2) + g*L2*cos(q1 + q2)",
    *("0", "0", "s2", "qd2"),
]
QUARTER = (-math.pi / 2, math.pi / 2)
EXAMPLE = "2R example"


def coriolis(form: str, printed: bool = False) -> list[str]:
    """Return the entries of one factor of c, corrected or as printed."""
    return [f"{K}*sin(q2)*({e})" for e in (CORIOLIS_PRINTED if printed else CORIOLIS)[form]]


def _formula(what: str, program: Program, entries: list[str], printed: list[str] | None = None) -> StudyRow:
    wrong = differing(program, entries)
    ours = "equal" if not wrong else f"entries {', '.join(str(k + 1) for k in wrong)} of {len(entries)} differ"
    return statement(what, readable(printed or entries), ours, not wrong, EXAMPLE, rule=SAME_FORMULA)


def term_rows(arm: Robot) -> list[StudyRow]:
    """Return the terms of the example, symbol by symbol."""
    weightless = bias_torque(arm.with_gravity((0, 0, 0)))
    factor = coriolis_matrix(arm, form="mdot_minus_half_u")
    rate = TERMS["mass_matrix_derivative"]
    half = [f"{m} - ({u})/2" for m, u in zip(rate, U, strict=True)]
    rows = [
        _formula("M", mass_matrix(arm), TERMS["mass_matrix"]),
        _formula("c", weightless, TERMS["velocity_torque"]),
        _formula("g", gravity_torque(arm), TERMS["gravity_torque"]),
        _formula("U, in Mdot - U / 2", factor, half, U),
        _formula("Gamma_1, Gamma_2", christoffel_symbols(arm), TERMS["christoffel_symbols"]),
    ]
    for form, title in CORIOLIS_TITLES.items():
        program = coriolis_matrix(arm, form=form)
        wrong, left = differing(program, coriolis(form, printed=True)), differing(program, coriolis(form))
        ours = "equal" if not wrong else f"{len(wrong)} of 4 entries differ; {len(left)} after correction"
        sign = "entry (2, 2) has a minus: with the plus C qd is not c" if wrong else ""
        rows.append(
            statement(title, ", ".join(CORIOLIS_PRINTED[form]), ours, not wrong, EXAMPLE, sign, rule=SAME_FORMULA)
        )
    return rows


def linear_rows(arm: Robot) -> list[StudyRow]:
    """Return the regressor of the masses and the friction: formulas exactly, signs at random rates."""
    columns = ("link1.m", "link2.m", "joint1.coulomb", "joint1.viscous", "joint2.coulomb", "joint2.viscous")
    rough = arm.with_friction(viscous=[0.3, 0.1], coulomb=[0.5, 0.1])
    Y = regressor(rough, terms=("coulomb", "viscous"), columns=columns)
    smooth = [k for k in range(12) if k % 6 not in (2, 4)]
    state = np.random.default_rng(0).uniform(-1, 1, (3, 20, 2))
    values = Y(*state)
    signs = np.zeros((20, 2, 2))
    signs[:, 0, 0], signs[:, 1, 1] = np.sign(state[1]).T
    tau = inverse_dynamics(rough, terms=("coulomb", "viscous"))(*state)
    pi = np.array([2.0, 1.0, 0.5, 0.3, 0.1, 0.1])
    return [
        _formula("Y of m1, m2, Fv1, Fv2", Y.take([0, 1, 3, 5]), [REGRESSOR[k] for k in smooth]),
        *holding(
            EXAMPLE,
            [
                ("Y of Fs1, Fs2, at random rates", "sgn of the rates", off(values[..., [2, 4]], signs)),
                ("tau, at random states", "Y pi", off(values @ pi, tau)),
            ],
        ),
    ]


def motion_rows(arm: Robot) -> list[StudyRow]:
    """Return the accelerations at (0, pi/2), and the mass that a hand at the tip feels."""
    q, qd = [0.0, math.pi / 2], np.array([0.7, -1.3])
    known = dict(arm.symbols)
    L1, L2 = (float(known[n] or 0) for n in ("L1", "L2"))
    acceleration = jacobian_derivative(arm, task="xy")(q, qd) @ qd
    printed = [-L1 * qd[0] ** 2, -L2 * (qd[0] ** 2 + qd[1] ** 2) - 2 * L2 * qd[0] * qd[1]]
    unit = arm.bind(L1=1, L2=1, m1=1, m2=1)
    masses = [operational_mass(unit, task="xy", form=form)(q) for form in ("congruence", "inverse")]
    felt = ", ".join(f"{v:.6g}" for v in np.round(masses[0], 12).ravel() + 0.0)
    size = " x ".join(map(str, jacobian(arm)(q).shape))
    unit_mass, turned = "M_C of the unit arm at (0, 90 deg)", "J is 6 x n, so that J' F has n entries"
    facts = [
        ("acceleration of m2 at (0, pi/2)", "centripetal and Coriolis parts", off(acceleration, printed)),
        ("J^-T M J^-1", "(J M^-1 J')^-1", off(masses[1], masses[0])),
    ]
    return [
        *holding(EXAMPLE, facts),
        *own_runs([statement(unit_mass, "1, 0, 0, 2", felt, felt == "1, 0, 0, 2", rule="to six digits")]),
        statement("size of J", "n x 6", size, size == "2 x 6", "closed form", turned, rule="the same shape"),
    ]


def bound_rows(arm: Robot) -> list[StudyRow]:
    """Return the bounds for joints within +-pi/2: our guaranteed enclosures beside the printed closed forms."""
    known = {n: float(v or 0) for n, v in dict(arm.symbols).items()}
    L1, L2, m1, m2, g = (known[n] for n in ("L1", "L2", "m1", "m2", "g"))
    k, low = m2 * L1 * L2, (m1 + m2) * L1**2 + 2 * m2 * L2**2
    least = "(m1 + m2) L1^2 + 2 m2 L2^2"
    printed = {
        "M_1_min": ("least ||M||_1", least, low),
        "M_1_max": ("largest ||M||_1", f"{least} + 3 m2 L1 L2", low + 3 * k),
        "c_1": ("c_b of the 1-norm", "m2 L1 L2", k),
        "g_1": ("g_b of the 1-norm", "(m1 + m2) g L1 + 2 m2 g L2", (m1 + m2) * g * L1 + 2 * m2 * g * L2),
        "c_2_n2": ("c_b of the 2-norm, n^2 max |Gamma|", "4 m2 L1 L2", 4 * k),
    }
    computed = bounds(arm, QUARTER, tolerance=1e-9)
    width = "the certain enclosure is so narrow"
    rows = []
    for name, (what, formula, value) in printed.items():
        row = figure(what, f"{value:.10g}", computed[name].value, "", EXAMPLE, 1e-7, reason=width)
        rows.append(replace(row, what=f"{what}, joints within 90 deg", stated=f"{formula} = {value:.10g}"))
    largest = np.abs(christoffel_symbols(arm)([0.0, math.pi / 2])).ravel() / k
    expected = [0, 1, 1, 1, 1, 0, 0, 0]
    shown = ", ".join(f"{v:.3g}" for v in largest)
    rows.append(
        statement(
            "max |Gamma_kij| / (m2 L1 L2), eight",
            ", ".join(map(str, expected)),
            shown,
            off(largest, expected) < 1e-12,
            EXAMPLE,
            rule="off by less than 1e-12: rounding",
        )
    )
    rows += own_runs([figure("least c_b of the 2-norm / (m2 L1 L2)", "1.64449", computed["c_2"].value / k)])
    return rows


NOTES = (
    "The lecture has no numbers for its arm. Formulas are compared symbol by symbol, bounds with m1 = 2, m2 = L1 = L2 = 1 and "
    "g = 9.81. The numbers of the simulation, of the unit arm's M_C and of the least c_b are reference values "
    "(tests/data/spec-dynamics-and-regressors.json, tests/reference/test_known_bounds.py).",
    "The bounds are tight, and need the joint limits: over a full turn ||M||_1 goes below its bound.",
    "c_b = n^2 max |Gamma| holds, but is loose: n^(3/2) will do, and the least one is 1.644 m2 L1 L2 in place of 4.",
    "The drawing of accelerations and forces at the tip: taupi.plot(taupi.operational.mass_ellipses(...), arrows=8).",
)


def run(step: Step) -> Reproduction:
    """Compare formulas, bounds, properties and the simulation."""
    arm = load("lecture2r")
    step("formulas")
    terms, linear, motion = term_rows(arm), linear_rows(arm), motion_rows(arm)
    step("bounds")
    limits = bound_rows(arm)
    step("properties")
    properties = property_rows()
    step("simulation")
    simulated, table, picture = simulation()
    rows = [
        *in_part("The arm of two links, symbol by symbol", terms),
        *in_part("Linearity in the parameters", linear),
        *in_part("Accelerations, and mass at the tip", motion),
        *in_part("Bounds", limits),
        *in_part("Properties and algorithms, on the PUMA 560 and the arm of two links", properties),
        *in_part("Simulation with held torques and tip forces", simulated),
    ]
    return Reproduction(STUDY, tuple(rows), {"simulation": table}, (picture,), NOTES)


STUDY = PublishedStudy(
    name="lecture",
    document="Lecture on robot dynamics, part 2: dynamic equations, their properties, linearity in the parameters",
    reruns="the arm of two links: formulas, bounds, regressor with friction; properties; a simulation",
    seconds=5,
    steps=4,
    run=run,
)
