"""The regressors as programs: classical, Slotine-Li, energy."""

from __future__ import annotations

from typing import Any

import casadi as cs
import numpy as np

from taupi.dynamics.chain import Chain, builder, trace_robot
from taupi.dynamics.energy import link_motions
from taupi.dynamics.spatial import SX, inertia_columns
from taupi.dynamics.terms import TermsLike, resolve_terms, term_columns, term_parameters
from taupi.errors import TaupiError, unknown
from taupi.model.robot import Robot
from taupi.program.program import Port, Program
from taupi.regressors.lagrangian import lagrangian_regressor
from taupi.regressors.recursive import link_regressor

ALGORITHMS = {"recursive": link_regressor, "lagrangian": lagrangian_regressor}


def _regressor(
    robot: Robot, name: str, terms: TermsLike, columns: tuple[str, ...] | str | None, algorithm: str, reference: bool
) -> Program:
    if algorithm not in ALGORITHMS:
        raise unknown("algorithm", algorithm, ALGORITHMS)
    chosen = resolve_terms(terms)
    parameters = robot.parameters + term_parameters(robot, chosen)

    def body(chain: Chain, q: Any, qd: Any, *more: Any) -> Any:
        qrd, qrdd = more if reference else (qd, more[0])
        return cs.horzcat(ALGORITHMS[algorithm](chain, q, qd, qrd, qrdd), term_columns(chain, chosen, q, qrd, qrdd))

    inputs = ["q", "qd", "qrd", "qrdd"] if reference else ["q", "qd", "qdd"]
    program = trace_robot(name, robot, body, inputs, [Port("Y", (robot.n, len(parameters)))], parameters)
    return program if columns is None else program.columns(columns)


@builder
def regressor(
    robot: Robot, terms: TermsLike = (), columns: tuple[str, ...] | str | None = None, algorithm: str = "recursive"
) -> Program:
    """Return the classical regressor Y(q, qd, qdd), n x p, with tau = Y pi (spec 1.5).

    pi is ten parameters a link (`robot.parameters`), then one a joint for each of `terms`, term after term; `Y.parameters`
    names them and holds the robot's values. `columns` keeps the named parameters only ("link2.m", "*.mx", "link3.*").
    `algorithm`: "recursive", or "lagrangian", the explicit route of Gabiccini et al. (2009).

    >>> import taupi as tp
    >>> Y = tp.regressor(tp.load("elbow2r"), terms=("viscous",))
    >>> Y([0.1, 0.2], [0.3, 0.4], [0.5, 0.6]).shape
    (2, 22)
    >>> Y.parameters.names[-2:]
    ('shoulder.viscous', 'elbow.viscous')
    """
    return _regressor(robot, "regressor", terms, columns, algorithm, reference=False)


@builder
def slotine_li_regressor(
    robot: Robot, terms: TermsLike = (), columns: tuple[str, ...] | str | None = None, algorithm: str = "recursive"
) -> Program:
    """Return Slotine and Li's regressor Y_r(q, qd, qrd, qrdd), n x p: Y_r pi = M qrdd + C(q, qd) qrd + g (spec 1.6).

    C is the Christoffel matrix, so that dM/dt - 2C is skew-symmetric. Terms are taken at the reference velocity and
    acceleration: a friction that grows with speed then adds damping.

    >>> import taupi as tp
    >>> arm = tp.load("elbow2r")
    >>> q, qd, qdd = [0.1, 0.2], [0.3, 0.4], [0.5, 0.6]
    >>> bool(abs(tp.slotine_li_regressor(arm)(q, qd, qd, qdd) - tp.regressor(arm)(q, qd, qdd)).max() < 1e-14)
    True
    """
    return _regressor(robot, "slotine_li_regressor", terms, columns, algorithm, reference=True)


@builder
def energy_regressor(robot: Robot, which: str = "total") -> Program:
    """Return the row e(q, qd), with E = e pi: "kinetic", "potential" or "total" energy (p,).

    K: [ |pd|^2 / 2, (pd x w)^T R, w^T L(w) / 2 ],  P: [ -g . p, -g^T R, 0 ] per link.

    >>> import taupi as tp
    >>> arm = tp.load("puma560")
    >>> q, qd = [0.1] * 6, [0.2] * 6
    >>> energy = tp.energy_regressor(arm)(q, qd) @ arm.parameters.values
    >>> bool(abs(energy - tp.kinetic_energy(arm)(q, qd) - tp.potential_energy(arm)(q)) < 1e-12)
    True
    """
    kinds = ("total", "kinetic", "potential")
    if which not in kinds:
        raise unknown("energy", which, kinds)

    def body(chain: Chain, q: Any, qd: Any) -> Any:
        blocks = []
        for r, p, w, pd in link_motions(chain, q, qd):
            kinetic = cs.horzcat(cs.dot(pd, pd) / 2, cs.cross(r.T @ pd, w).T, w.T @ inertia_columns(w) / 2)
            potential = cs.horzcat(-cs.dot(chain.gravity, p), -(r.T @ chain.gravity).T, SX.zeros(1, 6))
            blocks.append(kinetic if which == "kinetic" else potential if which == "potential" else kinetic + potential)
        return cs.horzcat(*blocks).T

    return trace_robot(
        "energy_regressor", robot, body, ["q", "qd"], [Port("e", (len(robot.parameters),))], robot.parameters
    )


def reference_motion(
    q: Any, qd: Any, q_des: Any, qd_des: Any, qdd_des: Any, Lambda: Any = 1.0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return qrd = qd_des - Lambda (q - q_des), qrdd = qdd_des - Lambda (qd - qd_des) and s = qd - qrd (spec 1.7).

    Lambda is a positive number, one a joint, or a matrix with positive eigenvalues; arrays are (..., n).

    >>> qrd, qrdd, s = reference_motion([0.1], [0.0], [0.0], [1.0], [0.0], Lambda=5.0)
    >>> qrd.tolist(), qrdd.tolist(), s.tolist()
    ([0.5], [5.0], [-0.5])
    """
    gain = np.asarray(Lambda, dtype=float)
    positive = np.linalg.eigvals(gain).real if gain.ndim == 2 else gain
    if gain.ndim > 2 or not np.all(positive > 0):
        raise TaupiError(f"Lambda is {Lambda!r}, expected positive: a number, one per joint, or a matrix.")
    q, qd, q_des, qd_des, qdd_des = (np.asarray(x, dtype=float) for x in (q, qd, q_des, qd_des, qdd_des))
    error, rate = q - q_des, qd - qd_des
    if gain.ndim == 2:
        error, rate = error @ gain.T, rate @ gain.T
    else:
        error, rate = gain * error, gain * rate
    qrd = qd_des - error
    return qrd, qdd_des - rate, qd - qrd
